"""Files of the package that one fit crosses, for every estimator.

Run it on another checkout by ``PYTHONPATH=<checkout>/src python benchmarks/traces.py``;
``--files`` names the files.
"""

import argparse
import sys
import warnings
from pathlib import Path

from sklearn.base import is_clusterer
from sklearn.datasets import make_blobs

import separatrix

ROOT = str(Path(separatrix.__file__).parent)


def crossed(estimator, X, y):
    """Files whose functions run in a fit."""
    files = set()

    def note(frame, event, arg):
        if frame.f_code.co_filename.startswith(ROOT):
            files.add(frame.f_code.co_filename[len(ROOT) + 1 :])

    sys.setprofile(note)
    try:
        estimator.fit(X, y)
    finally:
        sys.setprofile(None)
    return sorted(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="name the files")
    named = parser.parse_args().files
    warnings.simplefilter("ignore")
    X, y = make_blobs(60, centers=3, random_state=0)
    for name in separatrix.__all__:
        cls = getattr(separatrix, name)
        if isinstance(cls, type):
            params = {"n_clusters": 3} if is_clusterer(cls()) else {}
            cls(**params).fit(X, y)  # imports and compilation are no part of it
            files = crossed(cls(**params), X, y)
            print(f"{name:40} {len(files):3}  {' '.join(files) if named else ''}".rstrip())


if __name__ == "__main__":
    main()
