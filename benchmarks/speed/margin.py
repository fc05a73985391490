"""Speed and memory of maximum margin clustering, as ratios measured in one run.

Three questions. How much faster is the whole alternation of support vector regression and label
updates than the same loop around scikit-learn's SVR, with equal labels? What do a million samples
of 50 features cost in fits of KMeans(n_init=1)? How much memory do a million samples with 200
Nystroem features take?
"""

import argparse
import time
import warnings

import numpy as np
from gauges import peak_bytes, seconds
from separation import overlapping_clusters
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from separatrix import MaximumMarginClustering
from separatrix.labels.sizes import balanced_threshold
from separatrix.similarity.kernels import distance_gamma

# What the project promises; the measured ratios are printed beside these.
PIXELS_LIMIT, TWONORM_LIMIT = 300, 20
SQUARE_LIMIT, LAPLACIAN_LIMIT = 3, 10
NYSTROEM_GIGABYTES = 6

C, EPSILON = 500.0, 0.05


def pixels(photograph, n_samples=5_000):
    """Colours of random pixels of a photograph."""
    colours = load_sample_image(photograph).reshape(-1, 3).astype(float)
    return colours[np.random.default_rng(2).choice(len(colours), n_samples, replace=False)]


def twonorm(n_samples=2_000, n_features=20):
    """Breiman's twonorm: two round Gaussians of unit variance, four standard deviations apart."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, n_samples) * 2 - 1
    return rng.standard_normal((n_samples, n_features)) + 2 * side[:, None] / n_features**0.5


def alternate_with_svr(X, labels, *, gamma, balance, path):
    """Algorithm 2 of the paper around scikit-learn's SVR, stopped at a fixed point or a cycle."""
    K = rbf_kernel(X, gamma=gamma)
    for strength in path:
        seen = set()
        for update in range(100):
            machine = SVR(kernel="precomputed", C=strength, epsilon=EPSILON, cache_size=1000)
            machine.fit(K, 2.0 * labels - 1)
            scores = K[:, machine.support_] @ machine.dual_coef_[0]
            cut = balanced_threshold(scores, loss="laplacian", balance=balance)
            old, labels = labels, (scores > cut.threshold).astype(int)
            if (labels == old).all() or labels.tobytes() in seen:
                break
            seen.add(labels.tobytes())
            if strength != path[-1] and update == 9:
                break
    return labels


def against_svr(name, X, *, gamma, balance, limit):
    start = KMeans(2, n_init=10, random_state=0).fit_predict(X)
    for C_path in (1, 5):
        model = MaximumMarginClustering(
            C=C,
            epsilon=EPSILON,
            gamma=gamma,
            balance=balance,
            C_path=C_path,
            init=start,
            tol=0,
        )
        with threadpool_limits(1):  # LIBSVM has one thread, so should we
            model.fit(X)  # once to warm up
            ours = np.median([seconds(lambda model=model: model.fit(X)) for _ in range(5)])
        path = C * np.geomspace(1, 1e-4, C_path)[::-1]
        begin = time.perf_counter()
        labels = alternate_with_svr(X, start, gamma=gamma, balance=balance, path=path)
        theirs = time.perf_counter() - begin
        differ = np.mean(labels != model.labels_)
        print(
            f"{name:28}{C_path:5d}{ours:10.3f}{theirs:12.2f}{theirs / ours:9.0f}x"
            f"{f'>= {limit}x':>10}{round(min(differ, 1 - differ) * len(X)):14d}",
            flush=True,
        )


def against_kmeans(n_samples, n_features, repeats):
    X = overlapping_clusters(n_samples, n_features)
    timings = {"KMeans(n_init=1)": [], "square": [], "laplacian": []}
    iterations = {}
    for _ in range(repeats):
        model = KMeans(2, n_init=1, random_state=0)
        timings["KMeans(n_init=1)"].append(seconds(lambda model=model: model.fit(X)))
        iterations["KMeans(n_init=1)"] = model.n_iter_
        for loss in ("square", "laplacian"):
            model = MaximumMarginClustering(kernel="linear", loss=loss, C=1.0, random_state=0)
            timings[loss].append(seconds(lambda model=model: model.fit(X)))
            iterations[loss] = model.n_iter_
    kmeans = np.median(timings["KMeans(n_init=1)"])
    print(f"\n{n_samples:,} samples, {n_features} features, linear kernel")
    print(f"{'':26}{'seconds':>10}{'ratio':>9}{'promised':>10}{'iterations':>12}")
    for name, limit in (
        ("KMeans(n_init=1)", None),
        ("square", SQUARE_LIMIT),
        ("laplacian", LAPLACIAN_LIMIT),
    ):
        spent = np.median(timings[name])
        promised = f"<= {limit}x" if limit else ""
        print(
            f"{name:26}{spent:10.2f}{spent / kmeans:8.2f}x{promised:>10}{iterations[name]:12d}",
            flush=True,
        )


def memory_with_nystroem(n_samples, n_features):
    X = overlapping_clusters(n_samples, n_features)
    for loss in ("square", "laplacian"):
        model = MaximumMarginClustering(
            loss=loss, low_rank="nystroem", n_components=200, random_state=0
        )
        begin = time.perf_counter()
        peak = peak_bytes(lambda model=model: model.fit(X))
        spent = time.perf_counter() - begin
        gigabytes = "not measured" if peak is None else f"{(peak + X.nbytes) / 1e9:.2f} GB"
        print(
            f"\n{n_samples:,} samples, 200 Nystroem features, {loss} loss: {spent:.1f} s, "
            f"{gigabytes} with X (promised < {NYSTROEM_GIGABYTES} GB), {model.n_iter_} iterations",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-svr", action="store_true", help="leave out scikit-learn's loop")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if not arguments.skip_svr:
        print("whole alternation, Laplacian loss, against the same loop around scikit-learn's SVR")
        print(
            f"{'':26}{'C_path':>7}{'seconds':>10}{'SVR loop':>12}{'ratio':>10}{'promised':>10}"
            f"{'labels differ':>14}"
        )
        for photograph in ("china.jpg", "flower.jpg"):
            against_svr(
                f"5,000 pixels of {photograph}",
                pixels(photograph),
                gamma=1 / 500**2,
                balance=0.6,
                limit=PIXELS_LIMIT,
            )
        X = twonorm()
        gamma = distance_gamma(X, multiple=2.0)
        against_svr(
            "twonorm 2,000, full kernel", X, gamma=gamma, balance=0.06, limit=TWONORM_LIMIT
        )
        print("C_path=1 is the paper's loop. Where labels differ, SVR's own labels differ as much")
        print("between its tolerances 1e-3, the default used here, and 1e-4.")
    against_kmeans(arguments.samples, 50, arguments.repeats)
    memory_with_nystroem(arguments.samples, 50)


if __name__ == "__main__":
    main()
