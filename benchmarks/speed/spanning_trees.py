"""Speed of spanning trees of mutual reachability, and their lengths.

The exact tree by Prim, the tree of neighbours and the tree of fast_hdbscan where that is
installed, each from the samples on, the search for neighbours included. Samples are ten groups,
not all apart. A tree that is not the shortest shows in its length; "inf" is a forest. Beside it:
the whole fit of `TreeCutClustering`.
"""

import argparse
import importlib.util
import time

import numpy as np

from separatrix import TreeCutClustering
from separatrix.similarity.neighbors import ExactSearch
from separatrix.similarity.spanning_trees import core_radii, neighbor_tree, spanning_tree

N_NEIGHBORS, GROUPS = 5, 10


def groups(n_samples, n_features):
    rng = np.random.default_rng(1)
    centers = 4 * rng.normal(size=(GROUPS, n_features))
    return rng.normal(size=(n_samples, n_features)) + centers[rng.integers(0, GROUPS, n_samples)]


def radii_of(X, neighbors):
    return core_radii(X, neighbors, np.ones(len(X), dtype=np.int64), N_NEIGHBORS)


def by_prim(X):
    neighbors = ExactSearch(X, None).others(N_NEIGHBORS)
    return spanning_tree(X, radii_of(X, neighbors)).lengths.sum()


def by_neighbors(X):
    neighbors = ExactSearch(X, None).others(2 * N_NEIGHBORS)
    radii = radii_of(X, neighbors)
    return neighbor_tree(X, radii, neighbors).lengths.sum()


def by_fast_hdbscan(X):
    from fast_hdbscan.hdbscan import compute_minimum_spanning_tree

    edges, *_ = compute_minimum_spanning_tree(X, min_samples=N_NEIGHBORS)
    return edges[:, 2].sum()


def by_estimator(X):
    return TreeCutClustering(GROUPS, n_neighbors=N_NEIGHBORS).fit(X)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, nargs="+", default=[3_000, 10_000, 100_000])
    parser.add_argument("--features", type=int, nargs="+", default=[2, 10, 50])
    arguments = parser.parse_args()
    ways = {"Prim": by_prim, "neighbours": by_neighbors}
    if importlib.util.find_spec("fast_hdbscan"):
        ways["fast_hdbscan"] = by_fast_hdbscan
    ways["whole fit"] = by_estimator
    for n_features in arguments.features:
        for way in ways.values():
            way(groups(200, n_features))  # what is compiled once
    print(f"{'samples':>9}{'features':>9}  {'tree':14}{'seconds':>9}{'ratio':>9}{'length':>15}")
    for n_samples in arguments.samples:
        for n_features in arguments.features:
            X = groups(n_samples, n_features)
            first = None
            for name, way in ways.items():
                begin = time.perf_counter()
                length = way(X)
                spent = time.perf_counter() - begin
                first = first or spent
                shown = "" if name == "whole fit" else f"{length:15.3f}"
                print(
                    f"{n_samples:9,}{n_features:9d}  {name:14}{spent:9.2f}{spent / first:8.2f}x"
                    f"{shown}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
