"""Clusterers of different kinds, run side by side on the same samples."""

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.parallel import Parallel, delayed

import separatrix
from separatrix.selection.linkage import GiniLinkage
from separatrix.selection.validity import ridge_of

__all__ = ["default_candidates", "have_failed", "named_candidates", "run_candidates"]

# How the note of a candidate begins that found nothing.
FAILED = "failed: "
# Clusters up to which candidates need not save time.
FEW_CLUSTERS = 5


def default_candidates(X, n_clusters, tier="fast"):
    """Families and clusterers by name: of different kinds, and cheap on a thousand samples."""
    k = n_clusters
    # for many clusters a boundary for each pair is too dear, and so are many starts
    multiway, n_init = ("pairwise", 5) if k <= FEW_CLUSTERS else ("one-vs-rest", 2)
    mixture = partial(GaussianMixture, k, reg_covar=ridge_of(X), n_init=(n_init + 1) // 2)
    nearest = partial(kneighbors_graph, n_neighbors=min(10, len(X) - 1), include_self=False)
    least_squares = partial(separatrix.RegularizedLeastSquaresClustering, k)
    volume = partial(separatrix.MaximumVolumeClustering, k)
    margin = partial(separatrix.MaximumMarginClustering, k)
    separation = partial(separatrix.MaximinSeparationClustering, k, multiway=multiway)
    information = separatrix.SquaredLossMutualInformationClustering
    spectral = partial(SpectralClustering, k, affinity="nearest_neighbors")
    fast = {
        "k-means": ("means", KMeans(k, n_init=10)),
        "LDA-k-means": ("means", separatrix.LDAKMeans(k)),
        "mixture": ("mixture", mixture()),
        "diagonal mixture": ("mixture", mixture(covariance_type="diag")),
        "Ward": ("linkage", AgglomerativeClustering(k)),
        "chains": ("chains", GiniLinkage(k)),
        "spectral": ("spectral", spectral(n_neighbors=min(10, len(X)))),
        "volume": ("volume", volume(n_init=n_init)),
        "least squares": ("least squares", least_squares(n_init=n_init)),
        "margin": ("margin", margin(loss="square")),
        "separation": ("separation", separation()),
    }
    if tier == "fast":
        return fast
    return fast | {
        "kernel k-means": ("means", separatrix.KernelKMeans(k)),
        "Ward on a graph": ("linkage", AgglomerativeClustering(k, connectivity=nearest)),
        "tied mixture": ("mixture", mixture(covariance_type="tied")),
        "spectral, 20 neighbours": ("spectral", spectral(n_neighbors=min(20, len(X)))),
        "volume by bisection": ("volume", volume(multiway="bisection")),
        "least squares, narrow": ("least squares", least_squares(gamma=("mean", 0.4), reg=0.5)),
        "margin, Laplacian loss": ("margin", margin()),
        "linear margin": ("margin", margin(kernel="linear", loss="square")),
        "separation, scale-invariant": ("separation", separation(init="scale-invariant")),
        "mutual information": ("information", information(k)),
    }


def clusterer_of(estimator):
    """The estimator, or the last step of a pipeline."""
    return clusterer_of(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def named_candidates(estimators):
    """Families and clusterers by name, from a list or a dict of clusterers."""
    if hasattr(estimators, "fit"):
        raise TypeError(
            f"estimators should be a list or a dict of clusterers, got {estimators!r}; pass it in "
            "a list."
        )
    if isinstance(estimators, dict):
        return {
            str(name): (type(clusterer_of(one)).__name__, one) for name, one in estimators.items()
        }
    named: dict[str, tuple[str, Any]] = {}
    for one in estimators:
        family = type(clusterer_of(one)).__name__
        same = sum(known == family for known, _ in named.values())
        named[family if not same else f"{family} {same + 1}"] = (family, one)
    return named


def prepared(estimator, n_clusters, rng):
    """Clone with the number of clusters and a seed, where it takes them and has none."""
    estimator = clone(estimator)
    clusterer = clusterer_of(estimator)
    if n_clusters is not None:
        # mixtures call it otherwise
        for name in ("n_clusters", "n_components"):
            if name in clusterer.get_params():
                clusterer.set_params(**{name: n_clusters})
                break
    for name, value in sorted(estimator.get_params().items(), key=lambda item: item[0]):
        if name.split("__")[-1] == "random_state" and value is None:
            estimator.set_params(**{name: int(rng.randint(2**31 - 1))})
    return estimator


def _run(number, estimator, X):
    """Number of a candidate, its labels from 0, its seconds, and what went wrong."""
    begin = time.process_time()
    # samples are NumPy's here, whatever they were, and not all candidates know other arrays
    with (
        config_context(array_api_dispatch=False),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            labels = np.asarray(estimator.fit_predict(X))
            if labels.shape != (len(X),):
                raise ValueError(f"labels of shape {labels.shape} for {len(X)} samples")
            note = str(caught[0].message) if caught else ""
            n_noise = np.count_nonzero(labels == -1)
            if n_noise:
                note = f"{n_noise} samples are noise, here one cluster. {note}".rstrip()
        except Exception as error:  # one that fails should not end the others
            labels, note = np.zeros(len(X)), f"{FAILED}{error}"
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    return number, labels, time.process_time() - begin, note.split("\n")[0]


def have_failed(notes):
    """Whether each of the candidates that left these notes raised an error."""
    return np.array([note.startswith(FAILED) for note in notes])


def run_candidates(candidates, X, *, n_clusters, n_jobs, rng, on_candidate=None):
    """Labels, seconds, notes and clusterers as they ran, with their seeds.

    The labels of a candidate that fails are all zero; its note says why. Seeds are drawn
    beforehand, so that the number of jobs changes nothing.
    """
    names = list(candidates)
    estimators = [prepared(estimator, n_clusters, rng) for _, estimator in candidates.values()]
    jobs = [delayed(_run)(number, clone(one), X) for number, one in enumerate(estimators)]
    results: list[Any] = [None] * len(jobs)
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for done, (number, *result) in enumerate(run(jobs), start=1):
        results[number] = result
        if on_candidate is not None:
            on_candidate(names[number], done, len(names))
    labels, seconds, notes = zip(*results, strict=True)
    return np.array(labels), np.array(seconds), list(notes), estimators
