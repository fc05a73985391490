"""Damaged model files: each is refused by its name, or predicts the same labels.

Copies of the files in tests/golden/models have bytes that were changed, lost, zeroed or repeated,
or are cut off. Of a fifth more of them the header of an array is damaged and the checksum made to
fit, as only somebody on purpose would do; these may predict otherwise, but end in no raw error.
"""

import argparse
import random
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from pathlib import Path

from separatrix.cli import Refusal
from separatrix.cli.columns import read_again
from separatrix.cli.models import load_model

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path.insert(0, str(TESTS))
from model_support import damaged, repacked  # noqa: E402

MODELS = TESTS / "golden" / "models"
ENDS = ("refused", "equal", "otherwise", "unnamed", "raw error")
HEADER = 128  # bytes of an array


def damage_header(path, rng):
    """Change the header of an array, and the checksum with it."""
    with zipfile.ZipFile(path) as archive:
        name = rng.choice([one for one in archive.namelist() if one.endswith(".npy")])
        content = bytearray(archive.read(name))
    content[rng.randrange(min(HEADER, len(content)))] = rng.randrange(256)
    repacked(path, {name: bytes(content)})


def damage_bytes(path, rng):
    """Change, lose or repeat bytes of the file."""
    path.write_bytes(damaged(path.read_bytes(), rng))


def predicted(pipeline, card):
    """Labels that a model gives to the rows of the table."""
    return pipeline.predict(read_again(str(MODELS / "table.csv"), pipeline).data).tolist()


def end_of(path, expected):
    """What becomes of a damaged copy."""
    try:
        loaded = load_model(path)
    except Refusal as refusal:
        return "refused" if str(refusal).startswith(f"{path}: ") else "unnamed"
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        return "raw error"
    try:
        return "equal" if predicted(*loaded) == expected else "otherwise"
    except Exception:  # the command line refuses these as well
        return "otherwise"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--copies", type=int, default=1000, help="damaged copies of all models")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, files = random.Random(options.seed), sorted(MODELS.glob("*/*.skops"))
    expected = {path: predicted(*load_model(path)) for path in files}
    kinds = {
        "bytes": (damage_bytes, options.copies),
        "header": (damage_header, options.copies // 5),
    }
    violations = 0
    print(f"\nDamaged copies of {len(files)} model files")
    print(f"{'':8}{'copies':>8}", *(f"{end:>10}" for end in ENDS))
    for kind, (damage, n_copies) in kinds.items():
        counts: Counter = Counter()
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "model.skops")
            for number in range(n_copies):
                path = files[number % len(files)]
                copy.write_bytes(path.read_bytes())
                damage(copy, rng)
                counts[end_of(copy, expected[path])] += 1
        print(f"{kind:8}{n_copies:8}", *(f"{counts[end]:10}" for end in ENDS), flush=True)
        violations += counts["unnamed"] + counts["raw error"]
        violations += counts["otherwise"] * (kind == "bytes")
    print("violations:", violations)
    return violations > 0


if __name__ == "__main__":
    sys.exit(main())
