"""Defaults of maximum margin clustering, measured on data sets with known classes.

One parameter at a time is moved from the default; the figure is the adjusted Rand index, mean over
two-class sets and over sets of more classes. Labels only score the result, and a default is chosen
over all sets, never on one of them. Pixels and the like stay as they are, other features are
standardised; at most 1,000 rows of a set are drawn.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from separatrix import MaximumMarginClustering

sys.path.insert(0, str(Path(__file__).parent.parent))
from data import load, pair

MAX_ROWS = 1_000
CHOICES = {
    "loss": ("laplacian", "square", "hinge"),
    "C": (1.0, 10.0, 100.0, 500.0),
    "C_path": (1, 3, 5, 9),
    "balance": (0.03, 0.06, 0.1, 0.2, 0.3, 0.5),
    "gamma": ("scale", "median", ("mean", 0.5), ("mean", 1.0), ("mean", 2.0), ("mean", 4.0)),
    "kernel": ("rbf", "linear", "poly"),
    "multiway": ("one-vs-rest", "bisection"),
    "init": ("k-means", "spectral"),
}


def two_classes():
    X, y = load_digits(return_X_y=True)
    for a, b in ((3, 8), (3, 9), (1, 7), (4, 9), (1, 8), (5, 9)):
        chosen = np.isin(y, (a, b))
        yield f"digits {a}-{b}", X[chosen], y[chosen], False
    yield "usps 4-9", *pair("usps", 4, 9), False
    yield "mnist 3-8", *pair("mnist", 3, 8), False
    yield "letter A-B", *pair("letter", "A", "B"), True
    yield "satimage 1-2", *pair("satimage", 1, 2), True
    yield "breast cancer", *load_breast_cancer(return_X_y=True), True
    for name in (
        "breast_wisconsin",
        "ionosphere",
        "diabetes",
        "svmguide1",
        "ringnorm",
        "twonorm",
        "heart_statlog",
        "spambase",
        "house_votes",
    ):
        yield name, *load(name)[:2], True


def more_classes():
    yield "iris", *load_iris(return_X_y=True), True
    yield "wine", *load_wine(return_X_y=True), True
    yield "digits", *load_digits(return_X_y=True), False
    yield "usps", *load("usps")[:2], False
    X, y = load("letter")[:2]
    yield "letters A-F", X[y < 6], y[y < 6], True
    for name in ("satimage", "vehicle", "thyroid_new"):
        yield name, *load(name)[:2], True
    for name in ("uci-ecoli", "uci-statlog", "fcps-tetra", "fcps-lsun"):
        yield name, *load("clustering_v1/" + name)[:2], True


def prepared(sets):
    for name, X, y, mixed_units in sets:
        rows = np.random.RandomState(0).permutation(len(y))[:MAX_ROWS]
        X = np.asarray(X, dtype=float)[rows]
        yield name, StandardScaler().fit_transform(X) if mixed_units else X, y[rows]


def mean_scores(sets, **params):
    """Mean adjusted Rand index over some sets, and the seconds it took."""
    begin = time.perf_counter()
    scores = []
    for _, X, y in sets:
        model = MaximumMarginClustering(len(np.unique(y)), random_state=0).set_params(**params)
        scores.append(adjusted_rand_score(y, model.fit_predict(X)))
    return np.array(scores), time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("choices", nargs="*", default=list(CHOICES), help="parameters to move")
    parser.add_argument("--sets", action="store_true", help="print each data set")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # degenerate and unfinished runs count as they are
    groups = {"two": list(prepared(two_classes())), "more": list(prepared(more_classes()))}
    for group, sets in groups.items():
        scores = [
            adjusted_rand_score(
                y, KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(X)
            )
            for _, X, y in sets
        ]
        print(f"k-means on {len(sets)} sets of {group} classes: {np.mean(scores):.3f}")
    defaults = MaximumMarginClustering().get_params() | {"multiway": "one-vs-rest"}  # "auto"
    for name in arguments.choices:
        print(f"\n{name:26}{'two classes':>14}{'seconds':>9}{'more':>10}{'seconds':>9}")
        for value in CHOICES[name]:
            mark = " (default)" if value == defaults[name] else ""
            line = f"  {f'{value}{mark}':24}"
            for group, sets in groups.items():
                if name == "multiway" and group == "two":
                    line += f"{'-':>14}{'-':>9}"
                    continue
                scores, seconds = mean_scores(sets, **{name: value})
                line += f"{scores.mean():{14 if group == 'two' else 10}.3f}{seconds:9.1f}"
                if arguments.sets:
                    print(name, value, " ".join(f"{s:.2f}" for s in scores))
            print(line, flush=True)


if __name__ == "__main__":
    main()
