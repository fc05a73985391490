"""Clustering by the saddle point over generated labellings."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from separatrix._sklearn import Interval, StrOptions, like, one_thread, to_numpy
from separatrix._typing import Array
from separatrix.data.distinct import DistinctRows
from separatrix.estimators.base import BoundaryClustering, fit_with_weights_and_links
from separatrix.estimators.parameters import (
    BALANCE,
    COUNT,
    GAP_TOL,
    KERNEL,
    N_CLUSTERS,
    OUTLIERS,
    SAMPLED_SEARCH,
    SCALED_C,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.estimators.sampled_search import REMEDY, SearchProblem, search_fields
from separatrix.labels.links import Links
from separatrix.labels.sizes import check_halves
from separatrix.result import SolverResult, Status
from separatrix.similarity.kernels import Kernel, constant_to_kernel, differ_in_kernel
from separatrix.solvers.label_mixtures import (
    Band,
    Generated,
    Machine,
    alternate,
    best_labelling,
    consensus,
    find_saddle,
    generate,
    objective_of,
    signs_of,
    vote,
)
from separatrix.solvers.margin_distribution import FeatureSpace, KernelSpace

# Up to this many samples, threads of BLAS and of k-means only wait for each other.
ONE_THREAD_ROWS = 1_000
# Most updates of the machines of many clusters, on more samples than were searched.
SETTLING_UPDATES = 10
# Gaps below this share of the objective are due to rounding.
ROUNDING = 1e-9
# A margin above this share of the smallest one that costs nothing nearly reaches it.
NEARLY = 0.8


@dataclass(frozen=True, kw_only=True)
class LabelMixtureProblem(SearchProblem):
    """Samples with the kernel matrix of those that are searched.

    Attributes
    ----------
    K : ndarray of shape (n_rows, n_rows)
        The matrix.
    band : Band
        Balance, bounds and links of all samples.
    """

    K: np.ndarray
    band: Band

    @property
    def searched_band(self):
        """Balance, bounds and links of the searched samples."""
        links = self.searched_links
        if links is None:
            links = Links.of(self.rows.shape[0], self.band.n_clusters)
        return Band(links, self.band.balance, self.row_weight, self.band.bounds)

    @property
    def voting_band(self):
        """The same with equal samples linked, since a vote has no boundary that treats them alike.

        If links are given, only these count; bounds on sizes may separate equal samples.
        """
        if self.links is not None or self.band.bounds is not None:
            return self.searched_band
        return self.searched_band.binding(DistinctRows.of(to_numpy(self.rows)).place)


@dataclass(frozen=True)
class LabelMixture:
    """What was found beside the labels.

    Attributes
    ----------
    generated : Generated
        The labellings and their weights.
    machine : Machine
        What labels are fitted with.
    margins : ndarray of shape (n_machines, n_rows)
        Margins of the searched samples in the machines of their labels.
    """

    generated: Generated
    machine: Machine
    margins: np.ndarray

    @property
    def is_one_sided(self):
        """Whether excess margins should cost something, but all margins fall far short.

        Some always fall short: otherwise the normal would be zero. For tight groups far apart, all
        may fall short by a little, which is as even as margins can be.
        """
        low, high = 1 - self.machine.theta, 1 + self.machine.theta
        none_in_excess = self.margins.max() <= high * (1 + ROUNDING)
        return self.machine.nu > 0 and none_in_excess and self.margins.min() < NEARLY * low


class LabelMixtureClustering(BoundaryClustering):
    """Clustering by a convex mix of labellings that machines are fitted to."""

    lower_bound_: float
    gap_: float
    violation_: float
    labellings_: Array
    labelling_weights_: Array
    sample_indices_: Array
    gamma_: float
    C_: float

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
        **SIZE_BOUNDS,
        **GAP_TOL,
        "readout": [StrOptions({"consensus", "vote", "best"})],
        "max_labellings": [Interval(Integral, 0, None, closed="left")],
        "max_rounds": COUNT,
        **OUTLIERS,
        **WARM_START,
    }

    _keeps_sizes = True

    fit = fit_with_weights_and_links

    @abstractmethod
    def _machine(self, strength):
        """The machine that labels are fitted with, for a weight of its mean loss."""

    def _saddle_solver(self, rng):
        """What finds the weights of labellings."""
        return find_saddle

    def _problem(self, X, sample_weight, links, progress, rng):
        kernel = Kernel.of(self)
        kernel.check_samples(X)
        bounds = self._sizes_in_bounds(X.shape[0])
        is_free = bounds is None and (links is None or not links.teaches)
        if self.n_clusters == 2 and sample_weight is None and is_free:
            check_halves(self.balance, X.shape[0])
        fields = search_fields(self, X, sample_weight, links, rng, merges=bounds is None)
        rows, weight = fields["rows"], fields["row_weight"]
        kernel = kernel.resolved(rows, weight)
        K = kernel.matrix(rows, weight, remedy=REMEDY)
        if not differ_in_kernel(K):
            raise constant_to_kernel()
        links = fields["links"]
        among_all = Links.of(X.shape[0], self.n_clusters) if links is None else links
        return LabelMixtureProblem(
            **fields,
            kernel=kernel,
            K=K,
            band=Band(among_all, self.balance, fields["sample_weight"], bounds),
        )

    def _strength(self, problem):
        """Weight of the mean loss."""
        return self._scale(problem) if self.C == "scale" else float(self.C) * problem.n_counted

    def _scale(self, problem):
        """Weight of the mean loss that C="scale" stands for."""
        return 1.0

    def _n_tasks(self):
        return self.max_rounds

    def _solve(self, problem, progress, rng):
        small = len(problem.K) <= ONE_THREAD_ROWS
        return (one_thread(solve_label_mixture) if small else solve_label_mixture)(
            problem,
            # a sample of the data has the same total weight as all of it
            replace(self._machine(self._strength(problem)), sample_weight=problem.loss_weight),
            find_weights=self._saddle_solver(rng),
            readout=self.readout,
            max_labellings=self.max_labellings,
            max_rounds=self.max_rounds,
            gap_tol=self.gap_tol,
            progress=progress,
            rng=rng,
        )

    def _attributes(self, problem, result, order):
        generated = result.details.generated
        saddle, numbers = generated.saddle, np.argsort(order)
        labellings = problem.as_given_of(np.array(generated.candidates.labels).T).T
        return {
            "C_": self._strength(problem) / problem.n_counted,
            "gap_": float(saddle.gap),
            "violation_": generated.violation,
            "lower_bound_": float(saddle.objective * (1 - saddle.gap)),
            "labellings_": numbers[labellings],
            "labelling_weights_": saddle.weights,
            "sample_indices_": problem.given_indices,
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
        With a `LabelMixture` as its details.
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
    # 2) one labelling of the searched samples, and its machines
    space, n_clusters = KernelSpace(problem.K), band.n_clusters
    voters = problem.voting_band if readout == "vote" else band
    labels = read_out(space, machine, voters, generated, readout)
    if readout == "vote":  # the paper's labels are left as they are
        machines = machine.fit_labels(space, labels, n_clusters)
    else:
        labels, machines = alternate(space, labels, machine, band)
    # 3) the clusters of all samples
    least, most = problem.band.sizes
    if problem.settles(n_clusters):
        # a Newton step from no machine is one of least squares
        reg = 0.5 * len(labels) / machine.strength
        rule = problem.settled(
            labels,
            n_clusters=n_clusters,
            reg=reg,
            least=least,
            most=most,
            max_updates=SETTLING_UPDATES,
        )
    else:
        rule = problem.classifiers(
            np.column_stack([found.coef for found in machines]),
            partial(weights_of_features, machine=machine, labels=labels, n_clusters=n_clusters),
        )
    is_bounded = problem.band.bounds is not None
    keep_sizes = problem.bounded if is_bounded else problem.sized
    boundaries, labelling = keep_sizes(rule, least, most)
    keeps_vote = readout == "vote" and problem.drawn is None  # the paper labels what it has seen
    if keeps_vote:
        voted = problem.samples_of(labels).astype(np.int32)
        labelling = replace(labelling, labels=like(voted, labelling.labels))
    # 4) the objective of these clusters, where they are not those that the machines were made for
    final = problem.rows_of(to_numpy(labelling.labels))
    if not np.array_equal(final, labels):
        starts = [found.coef for found in machines]
        machines = machine.fit_labels(space, final, n_clusters, starts)
    scores = np.array([found.scores for found in machines])
    mixture = LabelMixture(generated, machine, signs_of(final, n_clusters) * scores)
    ended = status_of(labelling, problem, mixture, gap_tol)
    return SolverResult(
        replace(labelling, labels=problem.as_given(labelling.labels)),
        boundaries,
        objective=objective_of(machines),
        history=iterations.history,
        status=Status.STOPPED if iterations.stopped else ended,
        details=mixture,
        keeps_labels=problem.keeps_labels or keeps_vote or is_bounded,
    )


def read_out(space, machine, band, generated, readout):
    """One labelling from many."""
    labels, saddle, n_clusters = generated.candidates.labels, generated.saddle, band.n_clusters
    if readout == "best":
        return best_labelling(space, machine, labels, saddle, n_clusters)
    rule = vote if readout == "vote" else consensus
    counted = 1.0 if band.counted is None else band.counted
    return band.nearest(rule(labels, saddle.weights, n_clusters, counted))


def status_of(labelling, problem, mixture, gap_tol):
    """How a search ended: the most important problem, if there is one."""
    (least, most), sizes = problem.band.sizes, problem.sizes_of(labelling)
    generated, tol = mixture.generated, max(gap_tol, ROUNDING)
    if labelling.empty.any():
        return Status.DEGENERATE
    is_free = problem.band.bounds is None
    if is_free and ((sizes < least).any() or (sizes > most).any()):
        return Status.UNBALANCED
    if generated.saddle.gap > tol:
        return Status.MIX_LEFT
    if generated.violation > tol:
        return Status.LABELLINGS_LEFT
    return Status.NO_EXCESS if mixture.is_one_sided else Status.CONVERGED


def weights_of_features(Z, *, machine, labels, n_clusters):
    """Weights of features in the machines of labels."""
    machines = machine.fit_labels(FeatureSpace(Z), labels, n_clusters)
    return np.column_stack([found.coef for found in machines])
