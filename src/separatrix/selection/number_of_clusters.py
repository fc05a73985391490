"""Evidence for the number of clusters."""

import numpy as np

from separatrix._sklearn import one_thread
from separatrix.selection.candidates import families_of, have_failed, run_candidates
from separatrix.selection.consensus import agreement_between_families, agreement_matrix
from separatrix.selection.gaps import chance_gap, gap_between, is_degenerate
from separatrix.selection.pool import CURVE_CANDIDATES, UNEVENNESS, default_candidates
from separatrix.similarity.geometry import Geometry
from separatrix.similarity.spanning_trees import joined_labels
from separatrix.validity.features import Measures, labelling_features, sample_features
from separatrix.validity.learned import learned_validity
from separatrix.validity.structure import LEVEL

__all__ = ["choice_words", "if_any", "likeliest_number", "plausible_numbers", "selection_curve"]
# Samples that the number of clusters is chosen on.
CURVE_SAMPLES = 2_000
# Candidates whose validity counts, the best of each number of clusters.
N_BEST = 5
# Weights of the normalised cut relative to the agreement, and of both relative to the validity.
CUT_WEIGHT = 4
AGREEMENT_WEIGHT = 0.5
# How much more evidence e times as many clusters need.
COST_OF_CLUSTERS = 0.1
# No more numbers are tried after so many in a row with evidence so far below the most.
N_FALLEN = 3
FALLEN = 0.2
# Numbers of clusters whose evidence differs by no more than this are both plausible.
PLAUSIBLE = 0.02
# p-values of the test for structure from which on one cluster is plausible, and several are not.
DOUBTFUL = (0.01, 0.2)


# --- the number of clusters ---------------------------------------------------------------------


@one_thread  # few samples, on which threads would only wait for each other
def selection_curve(geometry, max_clusters, n_jobs, rng, task):
    r"""Evidence for each number of clusters.

    .. math:: e(k) = v(k) + \tfrac12 \big(a(k) - 4 \min_m c_m(k)\big) - \tfrac1{10} \log k

    v is the mean validity of the five best candidates, a the agreement across families, and c the
    mean share of their similarities that clusters lose to others; so among numbers with similar
    evidence the smaller wins. One is added for the largest number of clusters with wide gaps
    between them, even if few methods find these. Beyond that number, the curve ends where it has
    clearly fallen.
    """
    if geometry.n_samples > CURVE_SAMPLES:
        drawn = np.sort(rng.permutation(geometry.n_samples)[:CURVE_SAMPLES])
        geometry = Geometry(geometry.X[drawn])
    most = max(2, min(max_clusters, geometry.n_samples // 4))
    geometry.prepare(most)
    measures = Measures(geometry, rng)
    candidates = default_candidates()
    candidates = families_of({name: candidates[name] for name in CURVE_CANDIDATES})
    families = [family for family, _ in candidates.values()]
    isolated = most_isolated(geometry.tree, range(2, most + 1))
    curve: dict[int, float] = {}
    for n_clusters in range(2, most + 1):
        step = task()
        labels, _, notes, _ = run_candidates(
            candidates, geometry.X, geometry, n_clusters=n_clusters, n_jobs=n_jobs, rng=rng
        )
        kept = np.flatnonzero(~have_failed(notes) & (labels.max(axis=1) > 0))
        curve[n_clusters] = evidence(
            [labelling_features(measures, one) for one in labels[kept]],
            sample_features(measures, n_clusters),
            agreement_matrix(labels[kept]),
            [families[i] for i in kept],
        )
        if step.close() or (has_fallen(curve) and n_clusters > (isolated or 0)):
            break
    if isolated in curve:
        curve[isolated] += 1
    return curve


def has_fallen(curve):
    """Whether the last numbers of clusters have clearly less evidence than others."""
    values = list(curve.values())
    return len(values) > N_FALLEN and max(values[-N_FALLEN:]) < max(values) - FALLEN


def evidence(features, sample, agreement, families):
    """Evidence for a number of clusters, from measures of the candidates."""
    if not features:  # all samples are equal
        return 0.0
    values = learned_validity().of_each(features, sample)
    agree = np.nan_to_num(agreement_between_families(agreement, families))
    cut = min(one["graph cut"] for one in features)
    best = np.mean(np.sort(values)[-N_BEST:])
    cost = COST_OF_CLUSTERS * sample["log k"]
    return float(best + AGREEMENT_WEIGHT * (agree - CUT_WEIGHT * cut) - cost)


def most_isolated(tree, numbers):
    """Largest of several numbers of clusters with gaps beyond chance between all; None if none."""
    for n_clusters in sorted(numbers, reverse=True):
        labels = joined_labels(tree, n_clusters, unevenness=UNEVENNESS)
        chance = chance_gap(tree.n_samples, n_clusters)
        if not is_degenerate(labels, n_clusters) and gap_between(labels, tree) > chance:
            return n_clusters
    return None


def in_order(curve):
    """Numbers of clusters, that of the most evidence first.

    Of equal evidence the larger number comes first: its clusters can be joined.
    """
    return sorted(curve, key=lambda k: (-round(curve[k], 3), -k))


def likeliest_number(curve):
    """The number of clusters if there are any: that of the most evidence, one without a curve."""
    return next(iter(in_order(curve)), 1)


def plausible_numbers(curve, p_value=0.0):
    """Numbers of clusters whose evidence is near the most, the best first, at most three.

    One cluster is the best where tables without clusters have as much structure, by the p-value
    of a test, and plausible where that is nearly so.
    """
    near = [k for k in in_order(curve)[:3] if curve[k] >= max(curve.values()) - PLAUSIBLE]
    if p_value >= DOUBTFUL[1]:
        return [1]
    if p_value >= LEVEL:
        return [1, *near[:1]]
    return [*near[:2], 1] if p_value >= DOUBTFUL[0] else near


def if_any(likeliest):
    """The likeliest number of clusters where none were found, in words; none are there for one."""
    return f"if there are any, {likeliest} is the likeliest number" if likeliest > 1 else ""


def choice_words(plausible, structure, likeliest):
    """How certain the choice of a number of clusters is, in words."""
    best, *others = plausible
    if best == 1:
        return f"1: {'; '.join(filter(None, (structure.words, if_any(likeliest))))}."
    close = "no other number comes close"
    if others:
        close = f"{' or '.join(map(str, others))} is nearly as plausible"
    return f"{best}: {close}. A guess: on data with known classes it is often wrong."
