"""Clustering by the saddle point over generated labellings."""

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from separatrix._sklearn import Interval, StrOptions, one_blas_thread, to_numpy
from separatrix.estimators.base import LinkedFitMixin
from separatrix.estimators.kernel_features import KERNEL_CONSTRAINTS
from separatrix.estimators.sampled_search import SEARCH_CONSTRAINTS, SearchedMixin
from separatrix.labels.links import Links
from separatrix.models.boundaries import Boundaries, one_vs_rest_code
from separatrix.result import SolverResult, Status
from separatrix.solvers.label_mixtures import (
    Band,
    Generated,
    alternate,
    consensus,
    generate,
    signs_of,
    solve_saddle,
    vote,
)
from separatrix.solvers.margin_distribution import FeatureSpace, KernelSpace

__all__ = ["LabellingsMixin"]

# Samples up to which threads of BLAS only wait for each other.
ONE_THREAD_ROWS = 1_000

LABELLING_CONSTRAINTS = {
    **KERNEL_CONSTRAINTS,
    **SEARCH_CONSTRAINTS,
    "C": [Interval(Real, 0, None, closed="neither")],
    "balance": [Interval(Real, 0, 1, closed="left")],
    "readout": [StrOptions({"consensus", "vote", "best"})],
    "max_labellings": [Interval(Integral, 0, None, closed="left")],
}


@dataclass(frozen=True)
class LabellingsProblem:
    """Samples with all that is computed of them once.

    Attributes
    ----------
    X : array
        All samples.
    rows : ndarray or sparse matrix
        Those that are searched.
    chosen : ndarray of int or None
        Which they are; None if all.
    K : ndarray of shape (n_rows, n_rows)
        Kernel matrix of them.
    band : Band
        Balance and links of all samples.
    links : Links or None
        Links of all samples.
    """

    X: Any
    rows: Any
    chosen: Any
    K: np.ndarray
    band: Band
    links: Links | None

    @property
    def searched_band(self):
        """Balance and links of the searched samples."""
        if self.chosen is None:
            return self.band
        links = self.band.links
        if self.links is None:
            return Band(Links.of(len(self.chosen), links.n_clusters), self.band.balance)
        return Band(links.restricted(self.chosen), self.band.balance)


@dataclass(frozen=True)
class LabellingsOutcome:
    """Cluster sizes, and what was generated."""

    weights: np.ndarray
    generated: Generated


class LabellingsMixin(LinkedFitMixin, SearchedMixin):
    """Clustering by the saddle point over generated labellings.

    A criterion says which machine labels are fitted with, `_machine()`, and may bring its own
    solver, `_solver(rng)`.
    """

    balance: float
    readout: str
    max_labellings: int
    max_iter: int
    tol: float
    _smaller_is_better = True
    _default_seed: int | None = 0

    def _machine(self):
        """The machine that labels are fitted with."""
        raise NotImplementedError

    def _solver(self, rng):
        """What solves for the weights of labellings."""
        return solve_saddle

    def _prepare(self, X, sample_weight, progress, rng, links=None):
        self._check_precomputed(X)
        n_samples = X.shape[0]
        if self.n_clusters == 2 and n_samples % 2 and self.balance * n_samples < 1:
            raise ValueError(
                f"balance={self.balance:g} is infeasible: n_samples={n_samples} is odd, so two "
                f"clusters differ by at least 1 sample and not by {self.balance * n_samples:.3g}; "
                f"use balance={np.ceil(1e4 / n_samples) / 1e4:g} or more."
            )
        rows, chosen = self._searched(X, rng)
        self._kernel_params_ = self._kernel_params(rows, None)
        K = self._kernel(rows, self._kernel_params_)
        scale = np.abs(K).max()
        if np.ptp(K) <= 1e-12 * scale:
            raise ValueError(
                "X is constant to the kernel: its samples do not differ beyond rounding in the "
                "kernel's space, so no boundary can separate clusters. Check that X holds the "
                "features; if they differ little, scale them up or use a larger gamma."
            )
        band = Band(Links.of(n_samples, self.n_clusters) if links is None else links, self.balance)
        return LabellingsProblem(X, rows, chosen, K, band, links)

    def _n_restarts(self):
        return 1  # diverse starts are part of a single search

    def _fit_once(self, problem, restart, progress, rng):
        small = len(problem.K) <= ONE_THREAD_ROWS
        solve = one_blas_thread(self._solve) if small else self._solve
        return solve(problem, progress, rng)

    def _solve(self, problem, progress, rng):
        machine, band = self._machine(), problem.searched_band
        # 1. Labellings, and their weights at the saddle point.
        iterations = progress.iterations(self.max_iter)
        generated = generate(
            problem.K,
            machine,
            band,
            solve=self._solver(rng),
            max_labellings=self.max_labellings,
            tol=self.tol,
            iterations=iterations,
            rng=rng,
        )
        # 2. One labelling of the searched samples, with machines that agree with it.
        labels = self._read_out(problem.K, machine, band, generated)
        labels, machines = alternate(KernelSpace(problem.K), labels, machine, band)
        # 3. The clusters of all samples.
        boundaries, labels = self._classified(problem, machine, labels, machines)
        sizes = np.bincount(to_numpy(labels), minlength=self.n_clusters)
        least, most = problem.band.sizes
        status = Status.CONVERGED
        if iterations.stopped:
            status = Status.STOPPED
        elif (sizes == 0).any():
            status = Status.DEGENERATE
        elif (sizes < least).any() or (sizes > most).any():
            status = Status.UNBALANCED
        return SolverResult(
            labels,
            boundaries,
            objective=float(sum(found.objective for found in machines)),
            history=iterations.history,
            n_iter=iterations.n_iter,
            status=status,
            partition=LabellingsOutcome(sizes.astype(np.float64), generated),
        )

    def _read_out(self, K, machine, band, generated):
        """One labelling from many."""
        labels, weights = generated.candidates.labels, generated.saddle.weights
        if self.readout == "best":
            space = KernelSpace(K)
            objectives = [
                sum(machine.fit(space, y).objective for y in signs_of(one, self.n_clusters))
                for one in labels
            ]
            return labels[int(np.argmin(objectives))]
        rule = vote if self.readout == "vote" else consensus
        return band.nearest(rule(labels, weights, self.n_clusters))

    def _classified(self, problem, machine, labels, machines):
        """Boundaries of machines, and the labels that these give to all samples."""
        if problem.chosen is None or self.kernel == "linear":
            multipliers = np.column_stack([found.coef for found in machines])
            coef, intercept = self._model_of_multipliers(problem.rows, multipliers)
        else:
            signs = signs_of(labels, self.n_clusters)
            coef, intercept = self._model_of_features(
                problem.rows, partial(weights_of_features, machine=machine, signs=signs)
            )
        boundaries = Boundaries(coef, intercept, one_vs_rest_code(self.n_clusters))
        return self._sized(problem, boundaries, *problem.band.sizes)

    def _attributes(self, problem, partition, order):
        if problem is None:
            self._kernel_params_ = {}
            for name in ("searched_", "labellings_", "labelling_weights_"):  # of an earlier fit
                self.__dict__.pop(name, None)
            return {
                "gamma_": np.nan,
                "duality_gap_": 0.0,
                "violation_": 0.0,
                "lower_bound_": np.nan,
            }
        generated = partition.generated
        saddle, chosen = generated.saddle, problem.chosen
        numbers = np.argsort(order)
        return {
            "gamma_": float(self._kernel_params_.get("gamma", np.nan)),
            "duality_gap_": float(saddle.gap),
            "violation_": generated.violation,
            "lower_bound_": float(saddle.objective * (1 - saddle.gap)),
            "labellings_": numbers[np.array(generated.candidates.labels)],
            "labelling_weights_": saddle.weights,
            "searched_": np.arange(len(problem.K)) if chosen is None else chosen,
        }


def weights_of_features(Z, *, machine, signs):
    """Weights of features in machines of signs."""
    space = FeatureSpace(Z)
    return np.column_stack([machine.fit(space, y).coef for y in signs])
