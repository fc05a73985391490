"""Whether known labels help to place the other samples, for one method and its clusters."""

import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score

from separatrix.data.ordering import canonical_order
from separatrix.data.rows import rows_at
from separatrix.labels.links import Links
from separatrix.models.scores import in_memory
from separatrix.result import Progress, renumbered

__all__ = ["known_labels_teach", "numbers_of_known", "teaching_pays"]

# Ways to halve the known samples. A fit that learns half of the labels does worse than one that
# learns them all, so its adjusted Rand index may be lower by this.
N_SPLITS, CLEARLY_LOWER = 2, 0.05


def known_labels_teach(estimator, X, sample_weight, links):
    """Whether a fit learns from known labels; one that has none may, which changes nothing."""
    is_told = links is not None and links.teaches
    return not is_told or teaching_pays(estimator, X, sample_weight, links)


def teaching_pays(estimator, X, sample_weight, links):
    """Whether a method that learns from known labels predicts others better than without them.

    Half of the known labels are held back while the method learns from the rest, and vice versa,
    for two ways to halve them. It has to predict more of those held back than the usual clusters
    do, which take their numbers from the other half. Many right labels of a large cluster may hide
    that a small one is lost, so the adjusted Rand index must not be clearly lower either. If links
    bind other samples too, if a cluster has fewer than two known labels, or if the usual clusters
    are fewer, the method learns without this test.
    """
    known, n_clusters = links.known_labels, links.n_clusters
    rows = np.flatnonzero(known >= 0)
    counts = np.bincount(known[rows], minlength=n_clusters)
    only_known = n_clusters > 1 and np.isin(links.pairs, rows).all()
    if not only_known or counts.min() < 2:
        return True
    usual = _labels(estimator, X, sample_weight, None)
    if len(np.unique(usual)) < n_clusters:
        return True
    n_more, index_lost, taught = 0, 0.0, np.full(len(known), -1)
    for split in range(N_SPLITS):
        for held in _halves(X, known, rows, split):
            others = known.copy()
            others[held] = -1
            half = Links.of(links.n_samples, n_clusters, known_labels=others)
            taught[held] = _labels(estimator, X, sample_weight, half)[held]
            untaught = renumbered(usual, numbers_of_known(usual, half, sample_weight))
            n_more += np.sum(taught[held] == known[held]) - np.sum(untaught[held] == known[held])
        index_lost += adjusted_rand_score(known[rows], usual[rows])
        index_lost -= adjusted_rand_score(known[rows], taught[rows])
    return bool(n_more > 0 and index_lost < N_SPLITS * CLEARLY_LOWER)


def _halves(X, known, rows, split=0):
    """Known samples in two halves, stratified by cluster, whatever the order of the samples."""
    rows = rows[canonical_order(rows_at(X, rows))]
    rows = rows[np.random.RandomState(split).permutation(len(rows))]
    rows = rows[np.argsort(known[rows], kind="stable")]
    return rows[::2], rows[1::2]


def _labels(estimator, X, sample_weight, links):
    """Labels of a fit without warnings or progress."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator._fit_samples(X, sample_weight, links, None, Progress(), learns=True)
    return in_memory(estimator.labels_)


def numbers_of_known(labels, links, sample_weight):
    """Clusters in the order of the known labels that they agree with best."""
    weight = np.ones(links.n_samples) if sample_weight is None else in_memory(sample_weight)
    return links.columns(np.eye(links.n_clusters)[labels], weight)
