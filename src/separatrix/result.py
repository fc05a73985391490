"""What a solver returns, and the loop counter it runs on."""

import enum
from dataclasses import dataclass
from typing import Any

__all__ = ["Iterations", "Progress", "SolverResult", "Status"]


class Status(enum.Enum):
    """How a solver ended; the value is the sentence a user reads."""

    CONVERGED = "The labels are a fixed point of the updates, up to tol."
    STOPPED = "A callback stopped the fit."
    CYCLED = (
        "The label updates run in a cycle, so no labelling is a fixed point; the labels "
        "returned are the best of those met. Other parameters or another `init` may avoid it."
    )
    STALLED = "Labels still moved but the criterion no longer improved; the best are returned."
    MAX_ITER = "The labels still changed after max_iter updates; increase max_iter or tol."
    GAP_LEFT = (
        "The certified gap to the optimum, certified_gap_, is above tol; increase max_iter, or "
        "tol where rounding allows no more."
    )
    DEGENERATE = (
        "Fewer clusters were found than n_clusters asked for: a cluster lost all of its "
        "samples. Ask for fewer clusters, or try another `init` or other parameters."
    )
    BROKEN_OFF = (
        "Algorithm 1 broke off because its multiplier left the range in which a step is defined; "
        "the responses before that step are returned. Use solver='sphere' or a smaller reg."
    )
    SIZES_UNMET = (
        "No boundary keeps the cluster sizes asked for, because equal samples are never parted or "
        "links bind too many; the nearest was taken. Allow other sizes."
    )
    UNBALANCED = (
        "No boundary keeps the clusters in the balance asked for, because equal samples are never "
        "parted, single samples weigh too much or links bind too many; the nearest one was taken. "
        "Increase `balance`."
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
    labels : array of shape (n_samples,)
        Cluster of each sample, 0 to n_clusters - 1, in the array namespace of the data.
    model : object
        What predicts `labels`, such as `Boundaries`; its `renumbered(order)` is the same model
        with the clusters numbered otherwise.
    objective : float
        Value of the criterion.
    history : list of float
        Criterion at each iteration.
    n_iter : int
        Iterations done.
    status : Status
        How the solver ended.
    partition : object
        The labels again, with the total weight of each cluster as `weights` and whatever else
        the criterion computes its own fitted attributes from.
    """

    labels: Any
    model: Any
    objective: float
    history: list
    n_iter: int
    status: Status
    partition: Any = None


class Iterations:
    """Loop counter of a solver: ``for _ in iterations: ... iterations.record(objective)``.

    It keeps the history and knows after the loop why it ended. Each pass ends with `record`, and
    only then may the solver break. A subclass tells callbacks of each pass, so that solvers need
    not know of them.
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
    """Where a solver asks for its loop counters; this one tells nobody."""

    def subtask(self, name, max_subtasks):
        """Progress of a part of the task that has iterations of its own."""
        return self

    def iterations(self, max_iter):
        """Loop counter of at most `max_iter` passes."""
        return Iterations(max_iter)

    def close(self, model=None):
        """End the task with the model it found; True if its siblings should not follow."""
        return False
