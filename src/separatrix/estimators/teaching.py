"""Whether known labels help to place the other samples, for one method and its clusters."""

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
    """Whether a method that learns from known labels predicts others better than without them.

    Half of the known labels are held back while the method learns from the rest, and vice versa.
    Its predictions for those held back are compared, by the adjusted Rand index, with its clusters
    without any labels. If links bind other samples too, if a cluster has fewer than two known
    labels, or if the usual clusters are fewer, the method learns without this test.
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
    """Known samples in two halves, stratified by cluster, whatever the order of the samples."""
    rows = rows[canonical_order(rows_at(X, rows))]
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
