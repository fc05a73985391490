"""Clustering by the saddle point over generated labellings."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from separatrix._sklearn import Interval, StrOptions, one_blas_thread
from separatrix.estimators.base import BoundaryClustering, fit_with_links
from separatrix.estimators.parameters import (
    BALANCE,
    COUNT,
    GAP_TOL,
    KERNEL,
    N_CLUSTERS,
    SAMPLED_SEARCH,
    SCALED_C,
)
from separatrix.estimators.sampled_search import REMEDY, SearchProblem, search_fields
from separatrix.labels.links import Links
from separatrix.labels.sizes import check_halves
from separatrix.result import SolverResult, Status
from separatrix.similarity.kernels import Kernel, constant_to_kernel
from separatrix.solvers.label_mixtures import (
    Band,
    alternate,
    consensus,
    find_saddle,
    generate,
    signs_of,
    vote,
)
from separatrix.solvers.margin_distribution import FeatureSpace, KernelSpace

# Samples up to which threads of BLAS only wait for each other.
ONE_THREAD_ROWS = 1_000


@dataclass(frozen=True, kw_only=True)
class LabelMixtureProblem(SearchProblem):
    """Samples with the kernel matrix of those that are searched.

    Attributes
    ----------
    K : ndarray of shape (n_rows, n_rows)
        The matrix.
    band : Band
        Balance and links of all samples.
    """

    K: np.ndarray
    band: Band

    @property
    def searched_band(self):
        """Balance and links of the searched samples."""
        if self.drawn is None:
            return self.band
        links = self.searched_links
        if links is None:
            links = Links.of(len(self.drawn), self.band.n_clusters)
        return Band(links, self.band.balance)


class LabelMixtureClustering(BoundaryClustering):
    """Clustering by a convex mix of labellings that machines are fitted to."""

    C: Any
    balance: float
    readout: str
    max_labellings: int
    max_samples: int
    n_components: int
    max_rounds: int
    gap_tol: float
    _parameter_constraints: dict = {
        **N_CLUSTERS,
        **KERNEL,
        **SAMPLED_SEARCH,
        **SCALED_C,
        **BALANCE,
        **GAP_TOL,
        "readout": [StrOptions({"consensus", "vote", "best"})],
        "max_labellings": [Interval(Integral, 0, None, closed="left")],
        "max_rounds": COUNT,
    }

    fit = fit_with_links

    @abstractmethod
    def _machine(self, strength):
        """The machine that labels are fitted with, for a weight of its mean loss."""

    def _saddle_solver(self, rng):
        """What finds the weights of labellings."""
        return find_saddle

    def _problem(self, X, sample_weight, links, progress, rng):
        kernel = Kernel.of(self)
        kernel.check_samples(X)
        if self.n_clusters == 2:
            check_halves(self.balance, X.shape[0])
        fields = search_fields(self, X, links, rng)
        kernel = kernel.resolved(fields["rows"])
        K = kernel.matrix(fields["rows"], remedy=REMEDY)
        if np.ptp(K) <= 1e-12 * np.abs(K).max():
            raise constant_to_kernel()
        among_all = Links.of(X.shape[0], self.n_clusters) if links is None else links
        return LabelMixtureProblem(
            **fields,
            kernel=kernel,
            K=K,
            band=Band(among_all, self.balance),
        )

    def _resolved_C(self, problem):
        return 1 / problem.X.shape[0] if self.C == "scale" else float(self.C)

    def _n_tasks(self):
        return self.max_rounds

    def _solve(self, problem, progress, rng):
        small = len(problem.K) <= ONE_THREAD_ROWS
        return (one_blas_thread(solve_label_mixture) if small else solve_label_mixture)(
            problem,
            # a sample of the data bears the same weight as all
            self._machine(self._resolved_C(problem) * problem.X.shape[0]),
            find_weights=self._saddle_solver(rng),
            readout=self.readout,
            max_labellings=self.max_labellings,
            max_rounds=self.max_rounds,
            gap_tol=self.gap_tol,
            progress=progress,
            rng=rng,
        )

    def _attributes(self, problem, result, order):
        generated = result.details
        saddle, numbers = generated.saddle, np.argsort(order)
        return {
            "C_": self._resolved_C(problem),
            "gap_": float(saddle.gap),
            "violation_": generated.violation,
            "lower_bound_": float(saddle.objective * (1 - saddle.gap)),
            "labellings_": numbers[np.array(generated.candidates.labels)],
            "labelling_weights_": saddle.weights,
            "sample_indices_": problem.sample_indices,
        }

    def _attributes_without_solution(self):
        return {"C_": np.nan, "gap_": 0.0, "violation_": 0.0, "lower_bound_": np.nan}


def solve_label_mixture(
    problem,
    machine,
    *,
    find_weights,
    readout,
    max_labellings,
    max_rounds,
    gap_tol,
    progress,
    rng,
):
    """Generate labellings, weigh them at the saddle point, and read one labelling off.

    The objective is in the docstring of `separatrix.solvers.label_mixtures`.

    Parameters
    ----------
    problem : LabelMixtureProblem
        The data.
    machine : Machine
        The machine that labels are fitted with.
    find_weights : callable
        `find_saddle`, or what else finds the weights of labellings.
    readout : {"consensus", "vote", "best"}
        How one labelling comes of many.
    max_labellings : int
        Most labellings, not counting those to begin with.
    max_rounds : int
        Most rounds of generating labellings.
    gap_tol : float
        Largest duality gap, relative to the objective.
    progress : Progress
        Where the loop counter comes from; a pass is a round.
    rng : RandomState
        Draws starts.

    Returns
    -------
    result : SolverResult
        With what was generated as its details.
    """
    band = problem.searched_band
    # 1) labellings, and their weights at the saddle point
    iterations = progress.iterations(max_rounds)
    generated = generate(
        problem.K,
        machine,
        band,
        solve=find_weights,
        max_labellings=max_labellings,
        tol=gap_tol,
        iterations=iterations,
        rng=rng,
    )
    # 2) one labelling of the searched samples, with machines that agree with it
    labels = read_out(problem.K, machine, band, generated, readout)
    labels, machines = alternate(KernelSpace(problem.K), labels, machine, band)
    # 3) the clusters of all samples
    signs = signs_of(labels, band.n_clusters)
    least, most = problem.band.sizes
    boundaries, labelling = problem.sized(
        problem.classifiers(
            np.column_stack([found.coef for found in machines]),
            partial(weights_of_features, machine=machine, signs=signs),
        ),
        least,
        most,
    )
    sizes, status = labelling.weights, Status.CONVERGED
    if iterations.stopped:
        status = Status.STOPPED
    elif labelling.empty.any():
        status = Status.DEGENERATE
    elif (sizes < least).any() or (sizes > most).any():
        status = Status.UNBALANCED
    return SolverResult(
        labelling,
        boundaries,
        objective=float(sum(found.objective for found in machines)),
        history=iterations.history,
        status=status,
        details=generated,
        keeps_labels=problem.keeps_labels,
    )


def read_out(K, machine, band, generated, readout):
    """One labelling from many."""
    labels, weights = generated.candidates.labels, generated.saddle.weights
    if readout == "best":
        space = KernelSpace(K)
        objectives = [
            sum(machine.fit(space, y).objective for y in signs_of(one, band.n_clusters))
            for one in labels
        ]
        return labels[int(np.argmin(objectives))]
    rule = vote if readout == "vote" else consensus
    return band.nearest(rule(labels, weights, band.n_clusters))


def weights_of_features(Z, *, machine, signs):
    """Weights of features in machines of signs."""
    space = FeatureSpace(Z)
    return np.column_stack([machine.fit(space, y).coef for y in signs])
