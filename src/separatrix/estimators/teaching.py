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
# Ways to halve the known labels.
N_HALVINGS = 2
# Clearly more labels are right: by so many standard errors of the difference.
CLEARLY_MORE = 0.5
# Sizes of clusters contradict the shares of known labels if chance alone explains their difference
# with a smaller probability than this.
HARDLY_BY_CHANCE = 0.05


def strength_of_teaching(estimator, X, sample_weight, links):
    """Largest factor of the weights of known labels; zero where they do not influence others.

    Half of the known labels are held back while the method learns from the rest, and vice versa,
    for several ways to halve them: gently, with the same weights for all samples, and with known
    labels that weigh more than others, if the method knows this difference. Larger weights have to
    predict clearly more of the labels held back. Whatever is chosen must predict as many as the
    usual clusters do, which take their numbers from the other half. Many right labels of a large
    cluster may hide that a small one is lost, so

    - the adjusted Rand index must not be clearly lower than that of the usual clusters, and
    - what is learned from all known labels must not give the other samples clusters whose sizes
      contradict the shares of these labels, if those of the usual clusters do so less.

    Without this test the method learns, gently if it can, where links bind other samples too or a
    cluster has fewer than two known labels.
    """
    if links is None or not links.teaches:
        return MOST_TAUGHT
    strengths = (GENTLY, MOST_TAUGHT) if estimator._weighs_known else (MOST_TAUGHT,)
    known, n_clusters = links.known_labels, links.n_clusters
    rows = np.flatnonzero(known >= 0)
    counts = np.bincount(known[rows], minlength=n_clusters)
    only_known = n_clusters > 1 and np.isin(links.pairs, rows).all()
    if not only_known or counts.min() < 2:
        return strengths[0]
    usual = _labels(estimator, X, sample_weight, None)
    told = _told(estimator, X, sample_weight, links, usual, rows, strengths)
    best = _most_right(known[rows], usual[rows], told)
    if best == 0:
        return best
    taught = _labels(estimator, X, sample_weight, links.teaching(best))
    usual = renumbered(usual, numbers_of_known(usual, links, sample_weight))
    chance = _chance_of_sizes(taught, known, n_clusters)
    contradicted = chance < min(HARDLY_BY_CHANCE, _chance_of_sizes(usual, known, n_clusters))
    return 0.0 if contradicted else best


def _told(estimator, X, sample_weight, links, usual, rows, strengths):
    """What each strength, and the usual clusters as zero, predict of known labels held back.

    Returns
    -------
    told : dict of ndarray of int of shape (N_HALVINGS, len(rows))
        Predicted labels of these rows by strength, zero first.
    """
    known = links.known_labels
    told = {one: np.full((N_HALVINGS, len(known)), -1) for one in (0.0, *strengths)}
    for split in range(N_HALVINGS):
        for held in _halves(X, known, rows, split):
            others = known.copy()
            others[held] = -1
            half = Links.of(links.n_samples, links.n_clusters, known_labels=others)
            numbers = numbers_of_known(usual, half, sample_weight)
            told[0.0][split, held] = renumbered(usual, numbers)[held]
            for strength in strengths:
                taught = _labels(estimator, X, sample_weight, half.teaching(strength))
                told[strength][split, held] = taught[held]
    return {one: labels[:, rows] for one, labels in told.items()}


def _most_right(known, usual, told):
    """The strength that predicts most of the known labels; zero if the usual clusters do."""
    right = {one: np.mean(labels == known, axis=0) for one, labels in told.items()}
    least = adjusted_rand_score(known, usual) - CLEARLY_LOWER
    best = 0.0
    for strength in list(told)[1:]:
        index = np.mean([adjusted_rand_score(known, labels) for labels in told[strength]])
        if index <= least or right[strength].sum() < right[0.0].sum():
            continue
        more = right[strength] - right[best]
        if best == 0 or more.sum() > CLEARLY_MORE * np.sqrt(np.square(more).sum()):
            best = strength
    return best


def _chance_of_sizes(labels, known, n_clusters):
    """Probability that clusters of the other samples differ as much from the known labels.

    It is that of the likelihood ratio test for equal shares, if the samples whose labels are known
    were drawn at random.
    """
    from scipy.stats import chi2_contingency  # which few fits need

    parts = known[known >= 0], labels[known < 0]
    counts = np.array([np.bincount(part, minlength=n_clusters) for part in parts])
    counts = counts[:, counts.any(axis=0)]
    if counts.sum(axis=1).min() == 0 or counts.shape[1] == 1:
        return 1.0
    return chi2_contingency(counts, correction=False, lambda_="log-likelihood").pvalue


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
