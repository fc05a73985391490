"""Model files of this version, and what they predict: writes a folder of tests/golden/models.

    python tests/golden/regenerate_models.py

Run it once for each release. All later versions must load the files and predict the same labels,
so those of a release are never written again; those of a version in the making are.
"""

import json
import re
import shutil
from contextlib import suppress
from pathlib import Path

import separatrix
from separatrix.cli import main
from separatrix.cli.columns import read_again
from separatrix.cli.models import load_model

GOLDEN = Path(__file__).with_name("models")
TABLE = GOLDEN / "table.csv"  # three groups; a column of texts, and one with missing values
NUMBERS = "--columns width,height"
OPTIONS = {
    "separation": "-k 3 -m separation --impute mean",
    "separation-rbf": f"-k 3 -m separation --set kernel=rbf {NUMBERS}",
    "volume": f"-k 3 -m volume {NUMBERS}",
    "hard-volume": f"-k 2 -m hard-volume {NUMBERS}",
    "mutual-information": f"-k 3 -m mutual-information {NUMBERS}",
    "tree-cut": f"-k 3 -m tree-cut {NUMBERS}",
    "auto": f"-k 3 --no-standardize {NUMBERS}",
}


if __name__ == "__main__":
    # all versions in the making of a release share a folder
    folder = GOLDEN / re.sub(r"\.dev\d+.*", ".dev0", separatrix.__version__)
    if folder.exists() and "dev" not in separatrix.__version__:
        raise SystemExit(f"{folder} is there: the files of a release are kept as they are")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    labels = {}
    for name, options in OPTIONS.items():
        path = str(folder / f"{name}.skops")
        with suppress(SystemExit):
            main(["cluster", str(TABLE), *options.split(), "--out", "", "--model", path])
        pipeline, _ = load_model(path)
        labels[name] = pipeline.predict(read_again(str(TABLE), pipeline).data).tolist()
    (folder / "labels.json").write_text(json.dumps(labels) + "\n")
