"""Agreement of many clusterings of the same samples, and their vote."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics.cluster import contingency_matrix

__all__ = [
    "adjusted_rand_index",
    "agreement_between_families",
    "agreement_matrix",
    "agreement_words",
    "consensus_labels",
    "family_weights",
    "kmeans_runs",
    "standing_of",
    "support_by_others",
    "vote_shares",
    "vote_weights",
]
# Clusters beyond which time is saved.
MANY_CLUSTERS = 20
# Features up to which shapes can be seen, so that predictions are good.
FEW_FEATURES = 3
# Difference in predicted validity that divides the weight of a vote by e, for few features and for
# more, and the least weight.
TEMPERATURES = (0.045, 0.1)
LEAST_WEIGHT = 0.05
# What is added for mixtures of Gaussians where there are more than a few features: the trees,
# which know synthetic data only, predict too little for them on measured tables.
CREDIT, MIXTURES = 0.03, ("mixture", "GaussianMixture")
# Agreement from which on a word holds.
WORDS = (
    (0.85, "strong: methods of different kinds find nearly the same clusters"),
    (0.5, "moderate: methods find similar clusters with different borders"),
    (0.3, "weak: methods have only part of the clusters in common"),
    (-1.0, "none: methods of different kinds find different clusters"),
)
APART = (
    "strong: the clusters lie apart, no chain of near samples joins them, even if methods that "
    "look for round clusters disagree"
)
PARTED = (
    "unsure: a gap separates the clusters, even if few methods find them, but chance makes gaps "
    "as wide"
)


# --- agreement ----------------------------------------------------------------------------------


def agreement_matrix(labellings):
    """Adjusted Rand index of each pair of clusterings."""
    agreement = np.eye(len(labellings))
    for i, one in enumerate(labellings):
        for j in range(i):
            agreement[i, j] = agreement[j, i] = adjusted_rand_index(one, labellings[j])
    return agreement


def adjusted_rand_index(one, other):
    """The same as scikit-learn's, twenty times as fast for labels from 0; it is called often."""
    n_columns = int(other.max()) + 1
    table = np.bincount(one * n_columns + other, minlength=(int(one.max()) + 1) * n_columns)
    table = table.reshape(-1, n_columns).astype(np.float64)
    both, first, second, pairs = (
        np.sum(counts * (counts - 1))
        for counts in (table, table.sum(axis=1), table.sum(axis=0), table.sum(keepdims=True))
    )
    expected = first * second / max(pairs, 1.0)
    most = (first + second) / 2
    return 1.0 if most == expected else float((both - expected) / (most - expected))


def agreement_between_families(agreement, families):
    """Mean agreement of pairs from different families, each pair of families counting once."""
    families = np.asarray(families)
    names = np.unique(families)
    pairs = [
        agreement[np.ix_(families == one, families == other)].mean()
        for i, one in enumerate(names)
        for other in names[:i]
    ]
    return float(np.mean(pairs)) if pairs else np.nan


def support_by_others(agreement, families, usable):
    """Mean agreement of each candidate with usable ones of other families, which count alike.

    Zero where there are none.
    """
    families, weights = np.asarray(families), np.zeros(len(families))
    weights[usable] = family_weights(families[usable])
    weights = np.where(families[:, None] == families, 0.0, weights)
    totals = weights.sum(axis=1)
    return (agreement * weights).sum(axis=1) / np.where(totals > 0, totals, 1.0)


def agreement_words(agreement, *, gap=0.0, chance=np.inf):
    """What an agreement across families means, in words, given a gap and that of chance."""
    if gap > chance and not agreement >= WORDS[0][0]:
        return APART
    if gap > 1 and not agreement >= WORDS[1][0]:
        return PARTED
    if np.isnan(agreement):
        return "unknown: there are not two families to compare"
    return next(words for least, words in WORDS if agreement >= least)


# --- the vote -----------------------------------------------------------------------------------


def standing_of(alone, among, families, n_features):
    """How good each candidate is predicted to be, by itself and among the others."""
    standing = (alone + among) / 2
    if n_features > FEW_FEATURES:
        standing = standing + CREDIT * np.isin(families, MIXTURES)
    return standing


def vote_weights(standing, n_features):
    """Shares of candidates in the vote, by how good each is predicted to be; they sum to one.

    One that is worse by a temperature has 1/e of the weight; far worse ones have none. With more
    than a few features, where less can be predicted, votes differ less.
    """
    temperature = TEMPERATURES[n_features > FEW_FEATURES]
    weights = np.exp((standing - standing.max()) / temperature)
    weights[weights < LEAST_WEIGHT] = 0.0
    return weights / weights.sum()


def family_weights(families):
    """Weights of candidates that give each family the same; they sum to one."""
    names, family, size = np.unique(families, return_inverse=True, return_counts=True)
    return 1 / (size[family] * len(names))


def consensus_labels(labellings, weights, n_clusters, rng):
    r"""Clustering nearest to the weighted vote of clusterings.

    .. math:: \min_y \sum_c \sum_{i \in c} \| z_i - \bar z_c \|^2, \qquad
              \|z_i - z_j\|^2 = 2 \sum_m w_m [y_m(i) \ne y_m(j)]

    k-means on the labels as indicators, so that no matrix of pairs of samples is needed.
    """
    columns = [
        np.sqrt(weight) * np.eye(labels.max() + 1)[labels]
        for labels, weight in zip(labellings, weights, strict=True)
    ]
    places, inverse, counts = np.unique(
        np.hstack(columns), axis=0, return_inverse=True, return_counts=True
    )
    if len(places) <= n_clusters:
        return inverse.ravel()
    model = KMeans(n_clusters, n_init=kmeans_runs(n_clusters), random_state=rng)
    return model.fit(places, sample_weight=counts).labels_[inverse.ravel()]


def kmeans_runs(n_clusters):
    """Runs of k-means in spaces of as many dimensions as clusters, or more; fewer for many."""
    return 10 if n_clusters <= MANY_CLUSTERS else 3


def vote_shares(consensus, labellings, weights, n_clusters):
    """Weighted votes for each cluster at each sample, clusters matched to the consensus.

    They sum to less than one where a candidate's cluster has no match.
    """
    shares = np.zeros((len(consensus), n_clusters))
    clusters = np.unique(consensus)
    for labels, weight in zip(labellings, weights, strict=True):
        own, matched = linear_sum_assignment(contingency_matrix(labels, consensus), maximize=True)
        for cluster, vote in zip(own, clusters[matched], strict=True):
            shares[labels == cluster, vote] += weight
    return np.minimum(shares, 1.0)
