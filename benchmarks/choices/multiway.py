"""Which way to k clusters should be the default? Mean ARI of three ways on a dozen data sets.

Each way is run with the default and three other values of `reg` on standardised features, from
the same start. The choice is made over data sets, not on any one of them.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from separatrix import MaximinSeparationClustering

sys.path.insert(0, str(Path(__file__).parent.parent))
from data import load

WAYS = ("pairwise", "one-vs-rest", "bisection")
REGS = (0.03, 0.1, 0.3, 1.0)
SUITE = "clustering_v1/"


def data_sets():
    yield "iris", *load_iris(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)
    for name in ("satimage", "vehicle", "thyroid_new"):
        yield name, *load(name)[:2]
    for name in ("uci-ecoli", "uci-statlog", "fcps-tetra", "fcps-lsun", "sipu-s1", "other-iris5"):
        yield name, *load(SUITE + name)[:2]
    X, y = load("usps")[:2]
    rows = np.random.RandomState(0).permutation(len(X))[:3000]
    yield "usps, 3000", X[rows], y[rows]
    X, y = load("letter")[:2]
    yield "letters A-F", X[y < 6], y[y < 6]


def main():
    warnings.simplefilter("ignore")  # degenerate and unfinished runs count as they are
    print(f"{'':14}{'k-means':>9}" + "".join(f"{way:>28}" for way in WAYS))
    print(f"{'reg':14}{'':9}" + "".join(f"{reg:7g}" for _ in WAYS for reg in REGS))
    rows = []
    for name, X, y in data_sets():
        X = StandardScaler().fit_transform(np.asarray(X, dtype=float))
        k = len(np.unique(y))
        kmeans = KMeans(k, n_init=10, random_state=0).fit_predict(X)
        scores = [adjusted_rand_score(y, kmeans)]
        for way in WAYS:
            for reg in REGS:
                model = MaximinSeparationClustering(k, multiway=way, reg=reg, random_state=0)
                scores.append(adjusted_rand_score(y, model.fit_predict(X)))
        rows.append(scores)
        print(f"{name:14}{scores[0]:9.2f}" + "".join(f"{s:7.2f}" for s in scores[1:]), flush=True)
    means = np.mean(rows, axis=0)
    print(f"{'mean':14}{means[0]:9.2f}" + "".join(f"{s:7.2f}" for s in means[1:]))


if __name__ == "__main__":
    main()
