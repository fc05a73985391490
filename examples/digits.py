"""Handwritten digits, two at a time and all ten, by the methods here and by scikit-learn's.

Every method gets the 64 raw pixel values and no labels; labels only score the result.
"""

import time
import warnings
from itertools import combinations

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from separatrix import (
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MaximumVolumeClustering,
    OptimalMarginDistributionClustering,
    RegularizedLeastSquaresClustering,
)
from separatrix.metrics import clustering_error


def methods(n_clusters):
    """Name and estimator of each row of the table."""
    separation, margin = MaximinSeparationClustering, MaximumMarginClustering
    return {
        "KMeans (scikit-learn)": KMeans(n_clusters, n_init=10, random_state=0),
        "SpectralClustering (scikit-learn)": SpectralClustering(
            n_clusters, affinity="nearest_neighbors", random_state=0
        ),
        "MaximinSeparation, mpm": separation(n_clusters, solver="mpm", random_state=0),
        "MaximinSeparation, gep": separation(n_clusters, solver="gep", random_state=0),
        "MaximinSeparation, eig": separation(n_clusters, solver="eig", random_state=0),
        "MaximumMargin, laplacian": margin(n_clusters, loss="laplacian", random_state=0),
        "MaximumMargin, square": margin(n_clusters, loss="square", random_state=0),
        "MaximumVolume": MaximumVolumeClustering(n_clusters, random_state=0),
        "RegularizedLeastSquares": RegularizedLeastSquaresClustering(n_clusters, random_state=0),
        "OptimalMarginDistribution": OptimalMarginDistributionClustering(
            n_clusters, random_state=0
        ),
    }


def timed_labels(estimator, X):
    begin = time.perf_counter()
    with warnings.catch_warnings():
        # the neighbour graphs of some pairs have two parts, which does not matter here
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        labels = estimator.fit_predict(X)
    return labels, time.perf_counter() - begin


def main():
    X, digits = load_digits(return_X_y=True)
    pairs = list(combinations(range(10), 2))
    print(f"scikit-learn's handwritten digits: {X.shape[0]} images of {X.shape[1]} pixels\n")
    print(f"{'':34}{'45 pairs of digits':>24}   {'all ten digits':>18}")
    print(f"{'method':34}{'mean error %':>14}{'seconds':>10}   {'ARI':>8}{'seconds':>10}")
    print("-" * 79)
    for name, for_ten in methods(10).items():
        errors, pair_seconds = [], 0.0
        for pair in pairs:
            chosen = np.isin(digits, pair)
            labels, spent = timed_labels(methods(2)[name], X[chosen])
            errors.append(clustering_error(digits[chosen], labels))
            pair_seconds += spent
        labels, ten_seconds = timed_labels(for_ten, X)
        ari = adjusted_rand_score(digits, labels)
        print(
            f"{name:34}{100 * np.mean(errors):14.2f}{pair_seconds:10.2f}   "
            f"{ari:8.3f}{ten_seconds:10.2f}"
        )
    print("-" * 79)
    print("Error: share of images off the best matching with the digits, mean over the pairs.")
    print("ARI: adjusted Rand index, 1 is perfect, 0 is chance. Default parameters throughout.")


if __name__ == "__main__":
    main()
