"""What candidates find on a data set, and what can be told of it without the classes."""

import warnings

import numpy as np

from separatrix.data.frames import Frame
from separatrix.selection.candidates import families_of, have_failed, run_candidates
from separatrix.selection.consensus import adjusted_rand_index, agreement_matrix
from separatrix.selection.pool import CURVE_CANDIDATES, default_candidates
from separatrix.similarity.geometry import Geometry
from separatrix.validity.features import Measures, labelling_features, sample_features


def measured(X, y, counts, *, seed, tier, other_numbers=()):
    """Records of a data set, by number of clusters.

    Parameters
    ----------
    X, y, counts
        Samples, classes, and which samples have one.
    seed : int
        Seeds the candidates.
    tier : {"fast", "thorough"}
        Candidates for the true number of classes.
    other_numbers : sequence of int
        Other numbers of clusters, which fewer candidates are run for.

    Returns
    -------
    records : dict of int to dict
        Names, families, labels, features (a dict of each), sample features, agreement, adjusted
        Rand index with the classes and processor seconds of the candidates.
    """
    n_classes = len(np.unique(y[counts]))
    rng = np.random.RandomState(seed)
    geometry = Geometry(Frame.of(X)(X))
    geometry.prepare(max([n_classes, *other_numbers]))
    measures = Measures(geometry, rng)
    records = {}
    for k in [n_classes, *other_numbers]:
        candidates = families_of(default_candidates(tier))
        if k != n_classes:
            candidates = {name: candidates[name] for name in CURVE_CANDIDATES}
        records[k] = record(geometry, measures, candidates, k, y, counts, rng)
    return records


def record(geometry, measures, candidates, n_clusters, y, counts, rng):
    """What candidates find for one number of clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, seconds, notes, _ = run_candidates(
            candidates, geometry.X, geometry, n_clusters=n_clusters, n_jobs=None, rng=rng
        )
    kept = np.flatnonzero(~have_failed(notes) & (labels.max(axis=1) > 0))
    names, labels = [[*candidates][i] for i in kept], labels[kept]
    classes = np.unique(y[counts], return_inverse=True)[1].astype(np.int32)
    return {
        "names": names,
        "families": [candidates[name][0] for name in names],
        "labels": labels.astype(np.uint8 if labels.max() < 256 else np.int32),
        "features": [labelling_features(measures, one) for one in labels],
        "sample": sample_features(measures, n_clusters),
        "agreement": agreement_matrix(labels),
        "ARI": np.array([adjusted_rand_index(classes, one[counts]) for one in labels]),
        "seconds": seconds[kept],
    }
