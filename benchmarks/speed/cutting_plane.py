"""Speed, memory and clusters of margin clustering by cutting planes, measured in one run.

Three questions. How does the time of a fit grow with the number of samples, from 10,000 to a
million sparse rows of 50 features? What does it cost there in fits of KMeans(n_init=1), and how
much memory beyond X? How good are ten clusters of digits and 26 of letters beside k-means? Every
timing is the median of several runs that take turns.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from gauges import peak_bytes, seconds
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from separatrix import CuttingPlaneMarginClustering

sys.path.insert(0, str(Path(__file__).parent.parent))
from data import load

# What the project promises; the measured figures are printed beside these.
EXPONENT_LIMIT = 1.1
FIT_LIMITS = {2: 3.0, 5: 15.0}
MEMORY_LIMIT = 4.0


def documents(n_samples, n_features=50, n_topics=2, n_words=5, seed=0):
    """Counts of words, half of them of the document's topic and half of any; their topics too."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, n_topics, n_samples)
    per_topic = n_features // n_topics
    own = topics[:, None] * per_topic + rng.integers(0, per_topic, (n_samples, n_words))
    words = rng.integers(0, n_features, (n_samples, n_words))
    words = np.where(rng.random(words.shape) < 0.5, own, words).astype(np.int32)
    ends = np.arange(0, words.size + 1, n_words, dtype=np.int32)
    X = sp.csr_array((np.ones(words.size), words.ravel(), ends), shape=(n_samples, n_features))
    X.sum_duplicates()
    return X, topics


def bytes_of(X):
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def growth(n_clusters, sizes, repeats):
    """Time over the number of samples, against KMeans."""
    print(f"\n{n_clusters} clusters of sparse documents, 50 features, {repeats} runs")
    print(
        f"{'samples':>10}{'seconds':>10}{'KMeans':>10}{'ratio':>8}{'iterations':>12}{'planes':>8}"
        f"{'ARI':>8}{'KMeans':>8}"
    )
    fits = []
    for n_samples in sizes:
        X, topics = documents(n_samples, n_topics=n_clusters)
        ours, theirs = [], []
        for _ in range(repeats):
            model = CuttingPlaneMarginClustering(n_clusters, random_state=0)
            ours.append(seconds(lambda model=model, X=X: model.fit(X)))
            kmeans = KMeans(n_clusters, n_init=1, random_state=0)
            theirs.append(seconds(lambda kmeans=kmeans, X=X: kmeans.fit(X)))
        fits.append(np.median(ours))
        ratio = fits[-1] / np.median(theirs)
        print(
            f"{n_samples:10,}{fits[-1]:10.3f}{np.median(theirs):10.3f}{ratio:7.1f}x"
            f"{model.n_iter_:12d}{model.n_planes_:8d}"
            f"{adjusted_rand_score(topics, model.labels_):8.3f}"
            f"{adjusted_rand_score(topics, kmeans.labels_):8.3f}",
            flush=True,
        )
    # what does not grow with n, a start on 20,000 rows above all, flattens the first of these
    for first in (0, 2):
        exponent = np.polyfit(np.log(sizes[first:]), np.log(fits[first:]), 1)[0]
        report(f"exponent of n from {sizes[first]:,}", exponent, EXPONENT_LIMIT)
    report(f"fit / KMeans at {sizes[-1]:,}", ratio, FIT_LIMITS[n_clusters])
    fit = CuttingPlaneMarginClustering(n_clusters, random_state=0).fit
    memory = peak_bytes(lambda: fit(X))
    if memory is not None:
        report("peak memory beyond X / X", memory / bytes_of(X), MEMORY_LIMIT)


def report(what, value, limit):
    verdict = "ok" if value <= limit else "MISSED"
    print(f"  {what:28}{value:8.2f}   promised <= {limit:<5g}{verdict}", flush=True)


def many_clusters():
    """Adjusted Rand index of multi-class machines, beside k-means."""
    digits = load_digits()
    letters, letter, _ = load("letter")
    sets = {
        "digits, 10 clusters": (digits.data, digits.target),
        "letters, 26 clusters": (StandardScaler().fit_transform(letters), letter),
    }
    print(f"\n{'adjusted Rand index':30}{'KMeans(n_init=10)':>20}{'linear':>16}{'rbf':>16}")
    for name, (X, y) in sets.items():
        k = len(np.unique(y))
        line = f"{name:30}"
        for model, width in (
            (KMeans(k, n_init=10, random_state=0), 20),
            (CuttingPlaneMarginClustering(k, random_state=0), 16),
            (CuttingPlaneMarginClustering(k, kernel="rbf", random_state=0), 16),
        ):
            spent = seconds(lambda model=model, X=X: model.fit(X))
            score = adjusted_rand_score(y, model.labels_)
            line += f"{f'{score:.3f} in {spent:.1f} s':>{width}}"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="up to 300,000 samples")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000][: 4 if arguments.quick else 5]
    for n_clusters in FIT_LIMITS:
        growth(n_clusters, sizes, arguments.repeats)
    many_clusters()


if __name__ == "__main__":
    main()
