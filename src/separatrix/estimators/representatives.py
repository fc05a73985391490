"""Methods on graphs and trees for samples that are not in memory: few points stand for all.

On a graph of neighbours these are landmarks, which all samples join. For trees, and for graphs of
all pairs, some samples represent all, and the others follow them as new samples do.
"""

import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.utils.random import sample_without_replacement

from separatrix._sklearn import lazy_kind
from separatrix.data.gate import check_samples, check_weights
from separatrix.data.rows import answers, rows_at

# Up to this many samples are clustered as they are. A search among them, or among landmarks, for
# every other sample takes most of the time.
N_REPRESENTATIVES = 5_000
# Landmarks: one for so many samples, within these bounds. Where few samples are around each, the
# graph falls into parts.
SAMPLES_PER_LANDMARK, LEAST_LANDMARKS, MOST_LANDMARKS = 20, 2_000, 5_000
# Samples that are drawn for each landmark, which moves into the middle of those nearest to it.
DRAWN_PER_LANDMARK = 10
OF_ALL = ("min_size", "max_size", "outliers")
LINKED = ("must_link", "cannot_link", "known_labels")


def fit_to_few(estimator, X, sample_weight, linked, rng):
    """Fit an estimator to landmarks or representatives of a dask array, or of blocks.

    Parameters
    ----------
    estimator : BaseClustering
        The estimator, whose model is that of the landmarks or representatives.
    X : dask array or RowBlocks
        All samples.
    sample_weight : array-like or None
        Their weights, in proportion to which samples are drawn.
    linked : tuple
        Links and known labels.
    rng : RandomState
        Draws the samples.
    """
    check_needs_no_other(estimator, X, linked)
    X = check_samples(estimator, X, reset=True)
    weight = check_weights(X, sample_weight)
    names = getattr(estimator, "feature_names_in_", None)
    n_present = X.shape[0] if weight is None else np.count_nonzero(weight)
    joins = n_present > N_REPRESENTATIVES and estimator.n_clusters > 1
    joins = joins and estimator._joins_landmarks
    attributes = (_fit_to_landmarks if joins else _fit_to_drawn)(estimator, X, weight, rng)
    if names is not None:
        estimator.feature_names_in_ = names
    vars(estimator).update(attributes)
    estimator.labels_ = answers(estimator._model.labels, X, dtype=np.int32)
    return estimator


def _fit_to_drawn(estimator, X, weight, rng):
    """Fit an estimator to some samples; its attribute that tells them."""
    drawn, weight = representatives(X.shape[0], weight, N_REPRESENTATIVES, rng)
    estimator._fit(estimator._validate_X(rows_at(X, drawn), reset=True), weight)
    return {"representatives_": drawn}


def _fit_to_landmarks(estimator, X, weight, rng):
    """Fit an estimator to landmarks that all samples join; its attribute that tells them."""
    from separatrix.similarity.landmarks import centred_landmarks, landmark_graphs

    n_wanted = int(np.clip(X.shape[0] // SAMPLES_PER_LANDMARK, LEAST_LANDMARKS, MOST_LANDMARKS))
    drawn, own_weight = representatives(X.shape[0], weight, DRAWN_PER_LANDMARK * n_wanted, rng)
    rows = estimator._validate_X(rows_at(X, drawn), reset=True)
    start, _ = representatives(len(rows), own_weight, n_wanted, rng)
    landmarks = centred_landmarks(rows, own_weight, start)
    if len(landmarks) <= estimator.n_clusters:  # hardly any samples are distinct
        return _fit_to_drawn(estimator, X, weight, rng)
    choices = estimator._landmark_choices(landmarks)
    graphs = landmark_graphs(X, weight, landmarks, **choices)
    is_used = np.all([graph.counts > 0 for graph in graphs.values()], axis=0)
    if not is_used.all():  # rare: no sample has the mean of others among its nearest
        landmarks = landmarks[is_used]
        graphs = landmark_graphs(X, weight, landmarks, **choices)
    _warn_of_isolated(graphs)
    with _joined_by(estimator, graphs):
        estimator._fit(landmarks, next(iter(graphs.values())).counts)
    return {"landmarks_": landmarks}


@contextmanager
def _joined_by(estimator, graphs):
    """Let an estimator cluster landmarks by graphs that all samples have made."""
    estimator._landmarks = graphs
    try:
        yield
    finally:
        del estimator._landmarks


def _warn_of_isolated(graphs):
    """Warn of landmarks that are joined to no other, where neighbours are fewest."""
    graph = list(graphs.values())[-1]
    if graph.n_isolated:
        warnings.warn(
            f"{graph.n_isolated} of {len(graph.counts)} landmarks have no sample in common with "
            "others, so the clusters of their samples are arbitrary; decrease gamma or increase "
            "n_neighbors.",
            UserWarning,
            stacklevel=6,
        )


def check_needs_no_other(estimator, X, linked):
    """Refuse what concerns all samples, of which a few points do not know the others."""
    asked = [name for name in OF_ALL if getattr(estimator, name, None) is not None]
    asked += [name for name, value in zip(LINKED, linked, strict=True) if value is not None]
    asked += [
        f"{name}='precomputed'"
        for name in ("matrix", "affinity")
        if getattr(estimator, name, None) == "precomputed"
    ]
    if asked:
        kind, remedy = lazy_kind(X)
        raise TypeError(
            f"{asked[0]} needs all samples in memory, got {kind}, for which "
            f"{type(estimator).__name__} clusters at most {N_REPRESENTATIVES:,} points: pass "
            f"{remedy}, or leave out {asked[0]}."
        )


def representatives(n_samples, weight, n_wanted, rng):
    """Indices of the samples that represent all, in increasing order, and their weights."""
    if weight is not None:
        present = np.flatnonzero(weight)
        if len(present) <= n_wanted:
            return present, weight[present]
        ends = np.cumsum(weight)
        drawn = np.searchsorted(ends, rng.uniform(0, ends[-1], n_wanted), side="right")
        return np.sort(drawn), None
    if n_samples <= n_wanted:
        return np.arange(n_samples), None
    drawn = sample_without_replacement(n_samples, n_wanted, random_state=rng)
    return np.sort(drawn), None
