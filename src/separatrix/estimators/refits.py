"""A fit that continues an earlier one: it starts from its labels and keeps their numbers."""

from contextlib import contextmanager

from separatrix.data.rows import map_rows
from separatrix.models.scores import in_memory
from separatrix.result import Labelling


def earlier_labels(estimator, X):
    """What the earlier fit of an estimator predicts for new samples; None without `warm_start`."""
    if not getattr(estimator, "warm_start", False) or not hasattr(estimator, "_model"):
        return None
    check_columns(estimator, X)
    model = estimator._model
    return in_memory(map_rows(model.labels, X, width=max(X.shape[1], model.n_clusters)))


def check_columns(estimator, X):
    """Refuse samples that an earlier fit cannot predict."""
    n_columns = getattr(estimator, "_n_columns", X.shape[1])  # older files lack it
    if n_columns != X.shape[1]:
        raise ValueError(
            f"warm_start=True continues a fit of {n_columns} columns, but X has {X.shape[1]}; "
            "pass the same columns, or set warm_start=False."
        )


@contextmanager
def started_from(estimator, labels, sample_weight):
    """Let an estimator start from labels, where it takes a start and no cluster is empty."""
    init = getattr(estimator, "init", None)
    if labels is None or not isinstance(init, str) or labels.max() >= estimator.n_clusters:
        yield
        return
    if Labelling(labels, estimator.n_clusters, sample_weight).empty.any():
        yield
        return
    estimator.init = labels
    try:
        yield
    finally:
        estimator.init = init
