"""Clustering around means, in features or coordinates of some kind."""

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from separatrix._sklearn import is_lazy, namespace_of
from separatrix.data.memory import physical_memory
from separatrix.estimators.base import (
    BoundaryClustering,
    best_of_starts,
    fit_with_weights_and_links,
)
from separatrix.estimators.parameters import INIT, N_CLUSTERS, RESTARTS
from separatrix.models.starts import solve_from_start, taught_weight
from separatrix.similarity.kernels import Kernel
from separatrix.solvers.lloyd import solve_lloyd

# Share of a kernel that its features should hold.
LEAST_HELD = 0.5


class MeansClustering(BoundaryClustering):
    """Clustering by updates of means and labels from several starts."""

    init: Any
    n_init: int
    max_iter: int
    tol: float

    _weighs_known = True
    _parameter_constraints: dict = {**N_CLUSTERS, **RESTARTS, **INIT}

    fit = fit_with_weights_and_links

    @abstractmethod
    def _means_problem(self, X, sample_weight, rng):
        """The problem of samples."""

    def _problem(self, X, sample_weight, links, progress, rng):
        problem = self._means_problem(X, taught_weight(links, sample_weight, X), rng)
        return replace(problem, links=links)

    def _update(self, problem, start, progress):
        """Means and labels in turn, from a start; return a SolverResult."""
        return solve_lloyd(problem, start, progress=progress, **self._limits)

    @property
    def _limits(self):
        return {"n_clusters": self.n_clusters, "max_iter": self.max_iter, "tol": self.tol}

    def _n_tasks(self):
        return self.n_init

    def _solve(self, problem, progress, rng):
        return best_of_starts(
            lambda restart, task: solve_from_start(
                problem,
                self._update,
                self.init,
                self.n_clusters,
                restart=restart,
                progress=task,
                rng=rng,
            ),
            self.n_init,
            progress=progress,
            max_subtasks=self.max_iter,
            largest=self._maximizes,
        )


def features_for_means(estimator, X, sample_weight, rng):
    """Features of an estimator's kernel, the kernel and the map, as fields of a problem.

    Warns where most samples lie next to the origin: few features hold little of a narrow kernel.
    """
    kernel, n_components = Kernel.of(estimator), estimator.n_components
    in_memory = not (kernel.is_linear or is_lazy(X))
    if in_memory:
        check_features_fit(X.shape[0], min(n_components, X.shape[0]))
    features, kernel, feature_map = kernel.features(
        X, sample_weight, n_components=n_components, rng=rng
    )
    if in_memory and kernel.has_unit_diagonal:
        xp, _ = namespace_of(features)
        flat = xp.reshape(features, (-1,))
        held = float(flat @ flat) / features.shape[0]
        if held < LEAST_HELD:
            warnings.warn(
                f"n_components={n_components} features hold {held:.0%} of the kernel, so samples "
                "far from all others fall into one cluster; use a smaller gamma or more "
                "n_components.",
                ConvergenceWarning,
                stacklevel=8,
            )
    return {"X": features, "kernel": kernel, "feature_map": feature_map}


def check_features_fit(n_samples, n_components):
    """Refuse features that memory cannot hold."""
    needed = 2 * 8 * n_samples * n_components
    if needed > physical_memory():
        raise ValueError(
            f"n_components={n_components} features of n_samples={n_samples} samples need "
            f"{needed / 1e9:.3g} GB, more than this machine has; use fewer n_components, or "
            "pass X as a dask array."
        )
