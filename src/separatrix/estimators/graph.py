"""From samples to graphs: what estimators on graphs share."""

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from separatrix._sklearn import Interval, StrOptions
from separatrix.data.chunks import is_dask
from separatrix.data.memory import check_fits_memory
from separatrix.estimators.kernel_features import GAMMA_CONSTRAINTS
from separatrix.similarity.bandwidths import resolved_gamma
from separatrix.similarity.graphs import GivenGraph, similarity_graph
from separatrix.similarity.quadratic_forms import MATRICES, Form, form_of

__all__ = ["VolumeGraphMixin", "VolumeProblem"]

# reg="auto" is this times sqrt(n) over the distance from the first to the ninth nontrivial
# eigenvalue.
RHO = 2.0


# --- the estimator ------------------------------------------------------------------------------


class VolumeGraphMixin:
    """From samples to the matrix Q: what the estimators of this criterion share."""

    matrix: str
    affinity: str
    graph: str
    n_neighbors: int
    gamma: Any
    neighbors: str
    reg: Any
    n_jobs: int | None

    _parameter_constraints: dict = {
        "matrix": [StrOptions({*MATRICES, "precomputed"})],
        "affinity": [StrOptions({"local", "rbf", "cosine", "precomputed"})],
        "graph": [StrOptions({"union", "mutual", "full"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "gamma": GAMMA_CONSTRAINTS,
        "neighbors": [StrOptions({"exact", "approximate"})],
        "reg": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), tuple],
        "n_jobs": [Integral, None],
    }

    @property
    def _precomputed(self):
        """Name of the parameter that says that X is no feature matrix, or None."""
        if self.matrix == "precomputed":
            return "matrix"
        return "affinity" if self.affinity == "precomputed" else None

    def _validate_X(self, X, *, reset):
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} needs the whole graph in memory, got a dask array; pass "
                "X.compute(), or use MaximinSeparationClustering or MaximumMarginClustering."
            )
        dtype = np.float64 if self._precomputed else (np.float64, np.float32)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=dtype)
        if reset and self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{self._precomputed}='precomputed' needs X to be a square matrix with a row and "
                f"a column per sample, got shape {X.shape}; use another {self._precomputed} for "
                "a feature matrix."
            )
        return X

    def _form(self, X):
        """The matrix Q of samples; keeps the graph for new ones."""
        if self._needs_dense_matrix():
            check_fits_memory(
                X.shape[0],
                remedy="use a sparse graph, matrix='normalized' and solver='sphere'",
            )
        self._graph = self._similarity_graph(X)
        return form_of(self._graph.W, self.matrix, self._graph.own)

    def _needs_dense_matrix(self):
        """Whether the solver cannot do without a matrix of all pairs of samples."""
        return self.matrix not in ("normalized", "unnormalized")

    def _similarity_graph(self, X):
        if self.matrix == "precomputed":
            return GivenGraph.of_matrix(X)
        if self.affinity == "precomputed":
            found = GivenGraph.of_similarities(X)
        else:
            gamma = resolved_gamma(self.gamma, X, None) if self.affinity == "rbf" else None
            found = similarity_graph(
                X,
                affinity=self.affinity,
                graph=self.graph,
                n_neighbors=self.n_neighbors,
                gamma=gamma,
                neighbors=self.neighbors,
                n_jobs=self.n_jobs,
            )
            self._check_varies(found)
        warn_of_isolated(found.W)
        return found

    def _check_varies(self, graph):
        """Refuse samples that are all equal."""
        if graph.known.are_equal:
            wanted = f"n_clusters={self.n_clusters}" if hasattr(self, "n_clusters") else "classes"
            raise ValueError(
                f"X has 1 distinct sample of {graph.W.shape[0]}, which no graph can part into "
                f"{wanted}; check that X holds the features."
            )

    def _resolved_rho(self):
        """The factor of an automatic `reg`; None if `reg` is a number."""
        if not isinstance(self.reg, tuple):
            return RHO if isinstance(self.reg, str) else None
        known = len(self.reg) == 2 and self.reg[0] == "auto"
        if not (known and isinstance(self.reg[1], Real) and 0 < float(self.reg[1]) < np.inf):
            raise ValueError(
                f"reg={self.reg!r} must be a positive number, 'auto' or ('auto', rho) with a "
                "positive number rho."
            )
        return float(self.reg[1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._precomputed is not None
        return tags


@dataclass(frozen=True)
class VolumeProblem:
    """What restarts share."""

    form: Form
    X: Any


def warn_of_isolated(W):
    """Warn of samples that no similarity tells anything about."""
    sums = np.asarray(W.sum(axis=1)).ravel() - W.diagonal()
    n_isolated = int((sums <= 0).sum())
    if n_isolated == W.shape[0]:
        raise ValueError(
            "all similarities between samples are zero, so nothing tells them apart; decrease "
            "gamma, increase n_neighbors or use another affinity."
        )
    if n_isolated:
        warnings.warn(
            f"{n_isolated} of {W.shape[0]} samples are similar to no other, so their clusters are "
            "arbitrary; decrease gamma, increase n_neighbors or use graph='union'.",
            UserWarning,
            stacklevel=8,
        )
