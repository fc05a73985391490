"""What a solver returns, and the progress it reports."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from separatrix._sklearn import is_dask, is_numpy, like, namespace_of, to_numpy, widest_float

__all__ = [
    "Iterations",
    "Labelling",
    "Model",
    "ObservedProgress",
    "Problem",
    "Progress",
    "SolverResult",
    "Status",
    "aligned",
    "decoded",
    "numbered",
    "renumbered",
]


# --- what estimators, problems and models agree on ----------------------------------------------


class Problem(Protocol):
    """What all starts of a fit share. Each kind of problem is a frozen dataclass."""

    @property
    def X(self) -> Any:
        """The samples in the solver's form."""

    def labels_of(self, rule: Any) -> Any:
        """Labels that what a solver found gives to these samples."""

    def completed(self, rule: Any) -> "Model":
        """The model of samples as users pass them, from what a solver found."""


class Model(Protocol):
    """What predicts clusters: frozen, with all that prediction needs."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""

    def scores(self, X: Any) -> Any:
        """One value per sample for two clusters, otherwise a column per cluster."""

    def labels(self, X: Any) -> Any:
        """Cluster of each sample: that of the largest score."""

    def renumbered(self, order: Any) -> "Model":
        """The same model, its cluster i being what was cluster `order[i]`."""


# --- labels -------------------------------------------------------------------------------------


def decoded(scores):
    """Clusters or classes given by scores: the sign of one column, the largest of several."""
    xp, _ = namespace_of(scores)
    labels = scores > 0 if scores.ndim == 1 else xp.argmax(scores, axis=1)
    return xp.astype(labels, xp.int32)


def renumbered(labels, order):
    """Labels in the numbering in which cluster i is what they call `order[i]`."""
    xp, _ = namespace_of(labels)
    return xp.take(like(np.argsort(order).astype(np.int32), labels), xp.astype(labels, xp.int32))


def aligned(labels, shares, costs=0.0):
    """Labels with the clusters numbered so that they agree best with shares of each cluster.

    `costs` of shape (n_clusters, n_clusters) are those of a cluster's numbers, in samples.
    """
    n_clusters = shares.shape[1]
    together = np.array([shares[labels == cluster].sum(axis=0) for cluster in range(n_clusters)])
    return linear_sum_assignment(costs - together)[1][labels]


def numbered(labels):
    """Labels numbered by first appearance: the same for all that differ in numbering."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


# Digits up to which shares of clusters are equal: sums in another order differ in later ones.
EQUAL_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Labelling:
    """Labels of samples, and the total weight of each cluster.

    Attributes
    ----------
    labels : array of shape (n_samples,)
        Cluster of each sample, 0 to n_clusters - 1, in the array namespace of the data.
    n_clusters : int
        Number of clusters, empty ones among them.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    """

    labels: Any
    n_clusters: int
    sample_weight: Any = None

    @cached_property
    def weights(self):
        """Total weight of each cluster; of labels that are not in memory it takes a pass."""
        if is_dask(self.labels):
            return self._weights_of_blocks()
        if not is_numpy(self.labels):
            return self._weights_on_device()
        return np.bincount(
            self.labels, weights=to_numpy(self.sample_weight), minlength=self.n_clusters
        ).astype(np.float64)

    def _weights_of_blocks(self):
        """The same for a dask array: one number per cluster comes back from each block."""
        import dask

        weight, start, counts = self.sample_weight, 0, []
        for size, block in zip(self.labels.chunks[0], self.labels.to_delayed(), strict=True):
            part = None if weight is None else weight[start : start + size]
            counts.append(dask.delayed(np.bincount)(block, part, self.n_clusters))
            start += size
        return np.sum(dask.compute(*counts), axis=0, dtype=np.float64)

    def _weights_on_device(self):
        """The same without a copy of all labels: one number per cluster comes back."""
        xp, device = namespace_of(self.labels)
        weight, sums = self.sample_weight, []
        if weight is not None and is_numpy(weight):  # of samples that were given on the host
            weight = xp.asarray(weight, device=device)
        for cluster in range(self.n_clusters):
            inside = self.labels == cluster
            if weight is None:
                sums.append(xp.count_nonzero(inside))
            else:
                here = weight * xp.astype(inside, weight.dtype)
                sums.append(xp.sum(here, dtype=widest_float(weight)))
        return to_numpy(xp.stack(sums)).astype(np.float64, copy=False)

    @property
    def empty(self):
        """Mask of the clusters without samples, up to rounding of their weights."""
        weights = self.weights
        return weights <= 1e-12 * weights.sum()

    @property
    def order(self):
        """Clusters by weight, largest first; ties, up to rounding, by first appearance."""
        weights = self.weights
        weights = np.round(weights / max(weights.sum(), np.finfo(np.float64).tiny), EQUAL_DIGITS)
        appearance = np.zeros(len(weights), dtype=np.intp)
        _, group, size = np.unique(weights, return_inverse=True, return_counts=True)
        for cluster in np.flatnonzero(
            size[group] > 1
        ):  # a pass over all labels only if it matters
            appearance[cluster] = np.argmax(to_numpy(self.labels) == cluster)
        return np.lexsort((appearance, -weights))


# --- results ------------------------------------------------------------------------------------


class Status(enum.Enum):
    """How a solver ended; the value is the sentence a user reads."""

    CONVERGED = "The labels are a fixed point of the updates, up to tol."
    STOPPED = "A callback stopped the fit."
    CYCLED = (
        "The label updates run in a cycle, so no labelling is a fixed point; the best labels "
        "found are returned. Other parameters or another `init` may avoid this."
    )
    STALLED = "Labels still changed but the criterion no longer improved; the best are returned."
    MAX_ITER = "The labels still changed after max_iter updates; increase max_iter or tol."
    GAP_LEFT = (
        "The certified gap to the optimum, gap_, is above gap_tol; increase max_steps, or gap_tol "
        "if rounding allows no smaller gap."
    )
    MIX_LEFT = (
        "The weights of the labellings are farther from the best ones than gap_tol: gap_ says by "
        "how much. Increase gap_tol, or use solver='newton' in place of 'mirror-descent'."
    )
    LABELLINGS_LEFT = (
        "A labelling was still found that would improve the mix by more than gap_tol: violation_ "
        "says by how much. Increase max_rounds and max_labellings, decrease C, or increase "
        "gap_tol."
    )
    NO_EXCESS = (
        "No margin exceeds 1 + theta and some are far below 1 - theta, so nu has no effect and "
        "the criterion is that of LabelGenerationMarginClustering; increase C, or decrease theta "
        "where it is not zero."
    )
    DEGENERATE = (
        "Fewer clusters were found than n_clusters asked for: a cluster lost all of its "
        "samples. Ask for fewer clusters, or try another `init` or other parameters."
    )
    BROKEN_OFF = (
        "Algorithm 1 stopped because its multiplier left the range in which a step is defined; "
        "the responses before that step are returned. Use solver='sphere' or a smaller reg."
    )
    SIZES_UNMET = (
        "No boundary keeps the cluster sizes asked for, because equal samples are never separated "
        "or links bind too many; the nearest was taken. Allow other sizes."
    )
    UNBALANCED = (
        "No boundary keeps the balance asked for, because equal samples are never separated, "
        "single samples weigh too much or links bind too many; the nearest was taken. Increase "
        "`balance`."
    )

    @property
    def is_silent(self):
        """Whether a user who only wants labels needs no warning."""
        return self in (Status.CONVERGED, Status.STALLED, Status.STOPPED)


@dataclass(frozen=True)
class SolverResult:
    """Labels with the model that predicts them.

    Attributes
    ----------
    labelling : Labelling
        The labels, in the order of the samples of the problem.
    model : object
        What predicts them from the problem's `X`; its `renumbered(order)` is the same model with
        the clusters numbered otherwise.
    objective : float
        Value of the criterion.
    history : list of float
        Criterion at each iteration.
    status : Status
        How the solver ended.
    details : object
        What the criterion's own fitted attributes are made from.
    keeps_labels : bool
        Whether the labels are kept even where the model predicts others: because links bind, or
        because another pass over all samples would double the time of a fit.
    """

    labelling: Labelling
    model: Any
    objective: float
    history: list
    status: Status
    details: Any = None
    keeps_labels: bool = False

    @classmethod
    def of_responses(cls, rule, *, objective, history, status, details=None, counts=None):
        """Result of a rule whose `responses` are the scores of the samples.

        These may be nodes, of `counts` samples each.
        """
        labelling = Labelling(decoded(rule.responses), rule.n_clusters, counts)
        status = Status.DEGENERATE if labelling.empty.any() else status
        return cls(labelling, rule, objective, history, status, details)

    @property
    def labels(self):
        """Cluster of each sample."""
        return self.labelling.labels

    @property
    def n_iter(self):
        """Iterations done."""
        return max(1, len(self.history))


# --- progress -----------------------------------------------------------------------------------


class Iterations:
    """Loop counter of a solver: ``for _ in iterations: ... iterations.record(objective)``.

    It keeps the history and, after the loop, why it ended. Each pass ends with `record`, and only
    then may the solver break. A subclass reports each pass to callbacks, so that solvers do not
    depend on them.
    """

    def __init__(self, max_iter):
        self.max_iter = max_iter
        self.history: list[float] = []
        self.status = Status.MAX_ITER

    def __iter__(self):
        return iter(range(self.max_iter))

    def record(self, objective, model=None):
        """End the running iteration with the criterion, and the model, that it has reached."""
        self.history.append(objective)

    @property
    def stopped(self):
        """Whether a callback asks for an end after this pass."""
        return False

    @property
    def n_iter(self):
        """Iterations that recorded something."""
        return len(self.history)


class Progress:
    """Source of a solver's loop counters; this one reports nothing."""

    def subtask(self, name, max_subtasks):
        """Progress of a part of the task that has iterations of its own."""
        return self

    def iterations(self, max_iter):
        """Loop counter of at most `max_iter` passes."""
        return Iterations(max_iter)

    def close(self, model=None):
        """End the task with the model it found; True if its siblings should not follow."""
        return False


class _ObservedIterations(Iterations):
    """Loop counter that opens a callback task for each pass and closes it after."""

    def __init__(self, max_iter, progress):
        super().__init__(max_iter)
        self._progress = progress

    def __iter__(self):
        for iteration in range(self.max_iter):
            self._task = self._progress.subtask("iteration", 0)
            self._stop = False
            yield iteration
            if self._stop:
                self.status = Status.STOPPED
                return

    @property
    def stopped(self):
        return self._stop

    def record(self, objective, model=None):
        super().record(objective)
        self._stop = self._task.close(model)


class ObservedProgress(Progress):
    """Progress for scikit-learn's callbacks: a task of the estimator's task tree.

    `attributes_of` gives the fitted attributes that a model would have; None before it is known.
    """

    def __init__(self, estimator, context, X, attributes_of: Callable | None = None):
        self._estimator = estimator
        self._context = context
        self._X = X
        self.attributes_of = attributes_of
        context.call_on_fit_task_begin(estimator=estimator, X=X)

    def subtask(self, name, max_subtasks):
        context = self._context.subcontext(name, max_subtasks=max_subtasks)
        return ObservedProgress(self._estimator, context, self._X, self.attributes_of)

    def iterations(self, max_iter):
        return _ObservedIterations(max_iter, self)

    def close(self, model=None):
        attributes = None
        if model is not None and self.attributes_of is not None:
            attributes_of = self.attributes_of

            def attributes():
                return attributes_of(model)

        return self._context.call_on_fit_task_end(
            estimator=self._estimator, X=self._X, reconstruction_attributes=attributes
        )
