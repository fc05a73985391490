"""How far to trust the clusters found, in words."""

import numpy as np

from separatrix.selection.consensus import adjusted_rand_index
from separatrix.selection.gaps import lie_apart

__all__ = ["agreement_with", "trust_words"]

# Least agreement with the result for each word, and what it says of the candidates that voted.
SCALE = (
    (0.9, "strong: {} find nearly the same clusters"),
    (0.75, "moderate: {} find similar clusters with different borders"),
    (0.5, "weak: {} have only part of the clusters in common"),
    (-1.0, "none: {} find different clusters"),
)
# Largest share of tables without clusters with as much structure where trust is strong, and what
# is said instead of candidates that agree as much where it is larger.
STRONG_LEVEL = 0.01
DOUBTED = "moderate: {} find nearly the same clusters, but tables without clusters may look alike"
APART = "strong: the clusters lie apart, no chain of near samples joins them; {} find them"
PARTED = "unsure: a gap separates the clusters, but chance makes gaps as wide; {} find them"


def agreement_with(labels, found):
    """Mean adjusted Rand index of labels with the candidates that voted, by their votes."""
    voted = np.flatnonzero(found.votes > 0)
    if len(voted) == 0:
        return np.nan
    agreement = [adjusted_rand_index(labels, found.labels[i]) for i in voted]
    return float(np.average(agreement, weights=found.votes[voted]))


def voters(found):
    """Who voted, as the subject of a sentence."""
    n_voted, n_candidates = np.count_nonzero(found.votes > 0), len(found.names)
    if n_voted == n_candidates:
        return f"all {n_candidates} candidates"
    return f"the {n_voted} of {n_candidates} candidates that voted"


def trust_words(agreement, found, structure, *, gap=0.0, chance=np.inf):
    """What structure, agreement and a gap between clusters mean, in words.

    Parameters
    ----------
    agreement : float
        Agreement of the result with the candidates that voted.
    found : Comparison
        The candidates.
    structure : Structure
        The result compared with tables without clusters.
    gap, chance : float
        Gap between the clusters, and what chance makes.
    """
    if not structure.has_clusters:
        return f"none: {structure.words}"
    if np.count_nonzero(found.votes > 0) < 2:
        return "unknown: there are not two candidates to compare"
    is_certain = structure.p_value < STRONG_LEVEL
    scale = SCALE if is_certain else ((SCALE[0][0], DOUBTED), *SCALE[1:])
    words = next(words for least, words in scale if agreement >= least)
    if is_certain and gap > chance and words != SCALE[0][1]:
        words = APART
    elif lie_apart(gap) and not agreement >= SCALE[1][0]:
        words = PARTED
    return words.format(voters(found))
