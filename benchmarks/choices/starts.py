"""Starts of maximum margin and of least squares clustering: ARI and time by start, on many sets.

    python benchmarks/choices/starts.py --rows 1500 --jobs 2

The sets are those of selection.py, prepared in the same way. The objective is compared too: a
share of sets on which a start leads to a better one than the first column.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import joblib
import numpy as np

from separatrix import MaximumMarginClustering, RegularizedLeastSquaresClustering

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import selection
from output import heading

METHODS = {
    "margin": (
        MaximumMarginClustering,
        {"k-means": {"init": "k-means"}, "auto": {"init": "auto"}},
    ),
    "least squares": (
        RegularizedLeastSquaresClustering,
        {"one start": {"n_init": 1}, "the default": {}},
    ),
}


def measured(method, name, rows):
    """ARI, seconds and objective of a method from each of its starts on a set."""
    warnings.simplefilter("ignore")
    X, y, counts = selection.read(name, rows)
    k, score = len(np.unique(y[counts])), selection.scorer(y, counts)
    estimator, starts = METHODS[method]
    found = []
    for params in starts.values():
        begin = time.process_time()
        model = estimator(k, **params).fit(X)
        found.append((score(model.labels_), time.process_time() - begin, model.objective_))
    return found


def main(names, rows, jobs, methods):
    for method in methods:
        starts = list(METHODS[method][1])
        heading(f"{method}: mean ARI, mean seconds, share of sets with a lower objective")
        run = joblib.Parallel(n_jobs=jobs)
        all_of = {
            part: np.array(run(joblib.delayed(measured)(method, name, rows) for name in some))
            for part, some in names.items()
        }
        all_of["all"] = np.concatenate(list(all_of.values()))
        for part, values in all_of.items():
            print(f"{part} ({len(values)} sets)")
            for i, start in enumerate(starts):
                ari, seconds, objective = values[:, i].T
                lower = np.mean(objective < values[:, 0, 2] * (1 - 1e-3))
                print(f"  {start:12} {ari.mean():6.3f} {seconds.mean():8.2f} s {lower:6.0%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sets", type=int, default=None, help="of each part, the first so many")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    args = parser.parse_args()
    main(
        {part: names[: args.sets] for part, names in selection.PARTS.items()},
        args.rows,
        args.jobs,
        args.methods,
    )
