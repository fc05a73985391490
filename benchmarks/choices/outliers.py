"""Outliers found in sets with noise, beside HDBSCAN: precision, recall and ARI of the rest.

    python benchmarks/choices/outliers.py --methods KernelKMeans TreeCutClustering --sets hdbscan

The sets of the suite whose labels tell noise, and others with a share of uniform noise planted in
a box around them. `outliers` is the true share, or "auto"; HDBSCAN has its default and two other
least sizes of clusters. A method is told the number of clusters. The ARI is that of the rows that
are neither noise nor called outliers, with the fit that leaves outliers out and, on the same rows,
with that which does not.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

import separatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import data
from output import heading

# Development: the measure and its number of neighbours were chosen on the first two alone.
NOISY = ("ring_noisy", "chameleon_t4_8k", "ring_outliers", "chameleon_t7_10k", "hdbscan")
PLANTED = ("lsun", "tetra", "x3", "s1", "iris", "wine", "g2mg_16_30", "smile")
SHARE, BOX = 0.05, 1.5  # of the rows that are planted, in units of the range of features
METHODS = (
    "AutoClustering",
    "InformationMaximizationClustering",
    "KernelKMeans",
    "LDAKMeans",
    "MaximinSeparationClustering",
    "MaximumVolumeClustering",
    "RegularizedLeastSquaresClustering",
    "SquaredLossMutualInformationClustering",
    "TreeCutClustering",
)
LEAST_SIZES = (5, 15, 50)


def loaded(name):
    """Samples and their classes, -1 for noise."""
    folder = data.folder() / "clustering_v1"
    (path,) = sorted(folder.glob(f"*-{name}.npz"))
    with np.load(path) as file:
        labels = [file[key] for key in file if key.startswith("y")]
        X = file["X"].astype(np.float64)
    y = next((one for one in labels if (one == 0).any()), labels[0])
    return X, y.astype(int) - 1


def planted(name, seed=0):
    """A set with uniform noise around it."""
    X, y = loaded(name)
    rng = np.random.default_rng(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    middle, half = (low + high) / 2, BOX * (high - low) / 2
    noise = rng.uniform(-1, 1, size=(round(SHARE * len(X)), X.shape[1])) * half + middle
    return np.vstack([X, noise]), np.append(y, np.full(len(noise), -1))


def told(labels, y):
    """Precision and recall of outliers, and the rows that are neither noise nor outliers."""
    called, noise = labels < 0, y < 0
    hits = (called & noise).sum()
    return hits / max(1, called.sum()), hits / noise.sum(), ~called & ~noise


def measured(method, X, y, outliers):
    """Precision, recall and ARI of the rest with outliers left out, and without."""
    n_clusters = int(y.max()) + 1
    estimator = getattr(separatrix, method)
    labels = estimator(n_clusters, outliers=outliers).fit(X).labels_
    precision, recall, rest = told(labels, y)
    plain = estimator(n_clusters).fit(X).labels_
    scores = [adjusted_rand_score(y[rest], one[rest]) for one in (labels, plain)]
    return precision, recall, *scores


def main(methods, sets):
    warnings.simplefilter("ignore")
    gains = []
    for name in sets:
        X, y = loaded(name) if name in NOISY else planted(name)
        share = float(np.mean(y < 0))
        heading(f"{name}: {len(X)} rows, {share:.1%} noise")
        print(f"{'':40} {'outliers':>9}  precision recall  ARI of the rest, and without")
        for least in LEAST_SIZES:
            labels = HDBSCAN(min_cluster_size=least, copy=True).fit(X).labels_
            precision, recall, rest = told(labels, y)
            score = adjusted_rand_score(y[rest], labels[rest])
            peer = f"HDBSCAN, clusters of {least}"
            print(f"{peer:50}  {precision:9.3f} {recall:6.3f} {score:6.3f}")
        for method in methods:
            for outliers in (share, "auto"):
                precision, recall, score, plain = measured(method, X, y, outliers)
                shown = "auto" if outliers == "auto" else f"{outliers:.3f}"
                print(
                    f"{method:40} {shown:>9}  {precision:9.3f} {recall:6.3f} {score:6.3f} "
                    f"{plain:6.3f} {score - plain:+.3f}",
                    flush=True,
                )
                gains.append(score - plain)
    print(
        f"\nARI of the rest: mean {np.mean(gains):+.3f}, lowered by more than .01 in "
        f"{np.sum(np.array(gains) < -0.01)} of {len(gains)} fits"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--sets", nargs="*", default=[*NOISY, *PLANTED])
    args = parser.parse_args()
    main(args.methods, args.sets)
