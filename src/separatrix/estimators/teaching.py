"""Whether known labels tell where the other samples belong, for one method and its clusters."""

import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score

from separatrix.data.ordering import canonical_order
from separatrix.data.rows import rows_at
from separatrix.labels.links import Links
from separatrix.models.scores import in_memory
from separatrix.result import Progress

__all__ = ["numbers_of_known", "teaching_pays"]


def teaching_pays(estimator, X, sample_weight, links):
    """Whether a method that learns known labels tells more of them than its usual clusters do.

    Labels of half of the known samples are held back, and the method learns the others; then the
    other way round. What it says of those held back is compared, by the adjusted Rand index, with
    what it says without any labels. Where links bind other samples, too, where a cluster has
    fewer than two known labels, and where the usual clusters are fewer, known labels teach anyway.
    """
    known = links.known_labels
    rows = np.flatnonzero(known >= 0)
    counts = np.bincount(known[rows], minlength=links.n_clusters)
    only_known = links.n_clusters > 1 and np.isin(links.pairs, rows).all()
    if not only_known or counts.min() < 2:
        return True
    usual = _labels(estimator, X, sample_weight, None)
    if len(np.unique(usual)) < links.n_clusters:
        return True
    taught, untaught = 0.0, 0.0
    for held in _halves(X, known, rows):
        others = known.copy()
        others[held] = -1
        half = Links.of(links.n_samples, links.n_clusters, known_labels=others)
        labels = _labels(estimator, X, sample_weight, half)
        taught += adjusted_rand_score(known[held], labels[held])
        untaught += adjusted_rand_score(known[held], usual[held])
    return taught > untaught


def _halves(X, known, rows):
    """Known samples in two halves, of each cluster alike, whatever the order of the samples."""
    rows = rows[canonical_order(rows_at(X, rows))]
    rows = rows[np.argsort(known[rows], kind="stable")]
    return rows[::2], rows[1::2]


def _labels(estimator, X, sample_weight, links):
    """Labels of a fit that nobody is told of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator._fit_samples(X, sample_weight, links, None, Progress(), learns=True)
    return in_memory(estimator.labels_)


def numbers_of_known(labels, links, sample_weight):
    """Clusters in the order of the known labels that they agree with best."""
    weight = np.ones(links.n_samples) if sample_weight is None else in_memory(sample_weight)
    return links.columns(np.eye(links.n_clusters)[labels], weight)
