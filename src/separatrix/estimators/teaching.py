"""How much known labels help to place the other samples, for one method and its clusters."""

import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score

from separatrix.data.ordering import canonical_order
from separatrix.data.rows import rows_at
from separatrix.labels.links import GENTLY, MOST_TAUGHT, Links
from separatrix.models.scores import in_memory
from separatrix.result import Progress, renumbered

__all__ = ["numbers_of_known", "strength_of_teaching"]

# A fit that learns half of the labels does worse than one that learns them all, so its adjusted
# Rand index may be lower by this.
CLEARLY_LOWER = 0.05
# Ways to halve the known labels, times ways to learn from them.
N_HALVINGS = 2


def strength_of_teaching(estimator, X, sample_weight, links):
    """Largest factor of the weights of known labels; zero where they do not influence others.

    Half of the known labels are held back while the method learns from the rest, and vice versa:
    with known labels that weigh more than others, and gently, with the same weights. A method that
    knows no difference has two ways to halve them instead. What predicts the most of the labels
    held back is chosen, the gentlest way to learn where several do. The usual clusters, which take
    their numbers from the other half, have to predict more. Many right labels of a large cluster
    may hide that a small one is lost, so the adjusted Rand index must not be clearly lower than
    theirs either. Without this test the method learns, gently if it can, where links bind other
    samples too or a cluster has fewer than two known labels.
    """
    if links is None or not links.teaches:
        return MOST_TAUGHT
    strengths = (MOST_TAUGHT, GENTLY) if estimator._weighs_known else (MOST_TAUGHT,)
    known, n_clusters = links.known_labels, links.n_clusters
    rows = np.flatnonzero(known >= 0)
    counts = np.bincount(known[rows], minlength=n_clusters)
    only_known = n_clusters > 1 and np.isin(links.pairs, rows).all()
    if not only_known or counts.min() < 2:
        return strengths[-1]
    usual = _labels(estimator, X, sample_weight, None)
    least = adjusted_rand_score(known[rows], usual[rows]) - CLEARLY_LOWER
    # for each strength, as for none, predictions of all known labels, a row for each halving
    n_splits = N_HALVINGS // len(strengths)
    told = {one: np.full((n_splits, len(known)), -1) for one in (0.0, *strengths)}
    for split in range(n_splits):
        for held in _halves(X, known, rows, split):
            others = known.copy()
            others[held] = -1
            half = Links.of(links.n_samples, n_clusters, known_labels=others)
            numbers = numbers_of_known(usual, half, sample_weight)
            told[0.0][split, held] = renumbered(usual, numbers)[held]
            for strength in strengths:
                taught = _labels(estimator, X, sample_weight, half.teaching(strength))
                told[strength][split, held] = taught[held]
    best, most_right = 0.0, np.sum(told[0.0][:, rows] == known[rows])
    for strength in strengths:
        n_right = np.sum(told[strength][:, rows] == known[rows])
        index = np.mean([adjusted_rand_score(known[rows], one[rows]) for one in told[strength]])
        if n_right >= most_right and index > least:
            best, most_right = strength, n_right
    return best


def _halves(X, known, rows, split=0):
    """Known samples in two halves, stratified by cluster, whatever the order of the samples."""
    rows = rows[canonical_order(rows_at(X, rows))]
    rows = rows[np.random.RandomState(split).permutation(len(rows))]
    rows = rows[np.argsort(known[rows], kind="stable")]
    return rows[::2], rows[1::2]


def _labels(estimator, X, sample_weight, links):
    """Labels of a fit without warnings or progress."""
    told = MOST_TAUGHT if links is None else links.most_taught
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator._fit_samples(X, sample_weight, links, None, Progress(), taught=told)
    return in_memory(estimator.labels_)


def numbers_of_known(labels, links, sample_weight):
    """Clusters in the order of the known labels that they agree with best."""
    weight = np.ones(links.n_samples) if sample_weight is None else in_memory(sample_weight)
    return links.columns(np.eye(links.n_clusters)[labels], weight)
