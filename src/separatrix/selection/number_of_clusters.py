"""Evidence for the number of clusters."""

import numpy as np

from separatrix.selection.candidates import compared, default_candidates
from separatrix.selection.validity import (
    chained_labels,
    chance_gap,
    gap_between,
    is_degenerate,
    links_of,
)

__all__ = ["choice_words", "plausible_numbers", "selection_curve"]
# Samples and candidates that the number of clusters is chosen on.
CURVE_SAMPLES = 500
CURVE_CANDIDATES = ("k-means", "mixture", "Ward", "spectral", "least squares")
CUT_WEIGHT = 4
# Evidence that two numbers of clusters may differ by and be hard to tell apart.
PLAUSIBLE = 0.1


# --- the number of clusters ---------------------------------------------------------------------


def selection_curve(X, max_clusters, n_jobs, rng, task):
    r"""Evidence for each number of clusters.

    .. math:: e(k) = a(k) - \frac4k \min_m \mathrm{ncut}_m(k)

    a is the agreement across five families of cheap candidates, ncut the normalised cut of the
    graph of nearest neighbours, over k the mean share that clusters lose to others: clusters
    should be found by most methods, and be apart. One is added for the largest number of clusters
    with a wide gap between them, which few methods may find.
    """
    rows = X[rng.permutation(len(X))[:CURVE_SAMPLES]]
    curve = {}
    for n_clusters in range(2, max(2, min(max_clusters, len(rows) // 4)) + 1):
        step = task()
        candidates = default_candidates(rows, n_clusters)
        candidates = {name: candidates[name] for name in CURVE_CANDIDATES}
        found = compared(rows, candidates, n_clusters, n_jobs, rng)
        lost = -found.scores["cut"][found.usable].max(initial=-n_clusters) / n_clusters
        curve[n_clusters] = float(np.nan_to_num(found.family_agreement) - CUT_WEIGHT * lost)
        step.close()
    isolated = most_isolated(rows, curve)
    if isolated:
        curve[isolated] += 1
    return curve


def most_isolated(X, numbers):
    """Largest of several numbers of clusters with gaps beyond chance between all; None if none."""
    links = links_of(X)
    for n_clusters in sorted(numbers, reverse=True):
        labels = chained_labels(links[0], n_clusters)
        chance = chance_gap(len(X), n_clusters)
        if not is_degenerate(labels, n_clusters) and gap_between(labels, links) > chance:
            return n_clusters
    return None


def plausible_numbers(curve):
    """Numbers of clusters whose evidence is near the most, the best first, at most three.

    Of equal evidence the larger number comes first: its clusters can be joined.
    """
    ordered = sorted(curve, key=lambda k: (-round(curve[k], 2), -k))
    return [k for k in ordered[:3] if curve[k] >= max(curve.values()) - PLAUSIBLE]


def choice_words(plausible):
    """How sure the choice of a number of clusters is, in words."""
    best, *others = plausible
    close = "no other number comes near"
    if others:
        close = f"{' and '.join(map(str, others))} can hardly be told from it"
    return f"{best}: {close}. A guess: on data with known classes about half are right."
