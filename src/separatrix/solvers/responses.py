"""Best responses to given signs: responses of length one that are smooth and agree with them.

They minimise ``reg * h'Qh - 2 * signs'h`` on the unit sphere, within a bound on their sum: by one
eigendecomposition for all signs where the matrix is small or dense (`DenseResponder`), by
multigrid on a large sparse graph (`GraphResponder`). Where a node represents several samples, its
signs and its share in the sum are weighted, as in `Form`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.models.graph_responses import signs_of
from separatrix.similarity.quadratic_forms import (
    LOW_VECTORS,
    Spectrum,
    hierarchy_of,
    needs_multigrid,
    spread_of,
)
from separatrix.solvers.sphere import minimize_on_sphere, second_minimum_on_sphere

# Updates of the signs on a simpler matrix, which sort out the starts on a large graph, and how
# many of them are followed to the end.
SCREENING_UPDATES = 5
PROMISING_STARTS = 5
# Starts of Algorithm 1: so many eigenvectors at most, with eigenvalues so close to the second.
PAPER_STARTS = 10
PAPER_CLOSENESS = 1e-4


@dataclass(frozen=True)
class Responses:
    """Responses of length one, one column per start, with their multipliers.

    They solve ``reg * Q @ h - eta * h - weights * signs = omega * weights``.
    """

    h: np.ndarray
    eta: np.ndarray
    omega: np.ndarray

    def column(self, start):
        """Responses and multipliers of one start."""
        return self.h[:, start], float(self.eta[start]), float(self.omega[start])


def responder_of(form, bound, *, dense=False):
    """The responder that suits a form."""
    if bound is not None and bound >= form.n_samples**0.5:
        bound = None  # no responses of length one have a larger sum
    if dense or not needs_multigrid(form):
        return DenseResponder(form, bound)
    return GraphResponder(form, bound)


class DenseResponder:
    """Best responses by eigendecompositions of the whole matrix.

    Parameters
    ----------
    form : Form
        The matrix.
    bound : float or None
        Largest absolute sum of responses.
    """

    def __init__(self, form, bound):
        self.form = form
        self.bound = bound
        self.Q = form.Q.toarray() if sp.issparse(form.Q) else form.Q

    @cached_property
    def free(self):
        """Spectrum of Q."""
        return Spectrum.of(self.Q)

    @cached_property
    def balanced(self):
        """Spectrum of Q on responses that sum to zero."""
        return Spectrum.balanced(self.Q, self.form.roots)

    @cached_property
    def low(self):
        """The smallest nontrivial eigenvalues and eigenvectors."""
        if self.bound is not None:
            values, vectors = self.balanced.values, self.balanced.vectors
        else:
            # the first one of a graph has no sign change
            first = int(self.form.is_laplacian or self.form.name == "dissimilarity")
            values, vectors = self.free.values[first:], self.free.vectors[:, first:]
        return Spectrum(values[:LOW_VECTORS], vectors[:, :LOW_VECTORS])

    @property
    def scale(self):
        """Scale of an automatic `reg`: how far apart the low eigenvalues are."""
        return spread_of(self.low.values)

    def candidates(self, n_random, reg, rng):
        """Signs of eigenvectors and random combinations of them."""
        vectors = oriented(self.low.vectors, self.form.roots)
        return cut_responses(with_combinations(vectors, n_random, rng), self.form)

    def respond(self, signs, reg, previous=None):
        """Responses of least ``reg * h'Qh - 2 * signs'h`` within the bound on their sum."""
        if self.bound == 0:
            return self._with_sum(signs, reg, 0.0)
        targets = self.free.vectors.T @ self._weighted(signs)
        x, eta = minimize_on_sphere(reg * self.free.values, targets)
        found = Responses(self.free.vectors @ x, eta, np.zeros_like(eta))
        if self.bound is None:
            return found
        outside = np.abs(self._sums(found.h)) > self.bound
        if outside.any():
            bounded = self._bounded(signs[:, outside], reg)
            for name in ("h", "eta", "omega"):
                getattr(found, name)[..., outside] = getattr(bounded, name)
        return found

    def _weighted(self, signs):
        """Signs with the weights of nodes."""
        return self.form.roots[:, None] * signs

    def _sums(self, h):
        """Sums of responses over all samples."""
        return self.form.roots @ h

    def _bounded(self, signs, reg):
        """Best responses within the bound, if the best of all are not.

        They are at one of its ends or, rarely, the second local minimum on the sphere.
        """
        targets = self.free.vectors.T @ self._weighted(signs)
        x, eta = second_minimum_on_sphere(reg * self.free.values, targets)
        second = Responses(self.free.vectors @ x, eta, np.zeros_like(eta))
        options = [self._with_sum(signs, reg, total) for total in (-self.bound, self.bound)]
        costs = [self.quadratic(signs, option.h, reg) for option in (*options, second)]
        costs[2][~(np.abs(self._sums(second.h)) <= self.bound)] = np.inf  # or there is none
        best = np.argmin(costs, axis=0)
        return Responses(
            *(
                np.choose(best, [getattr(option, name) for option in (*options, second)])
                for name in ("h", "eta", "omega")
            )
        )

    def _with_sum(self, signs, reg, total):
        """Best responses among those of a given sum.

        Their mean is known, and what is left is a problem on responses that sum to zero.
        """
        roots, n_samples = self.form.roots, self.form.n_samples
        mean = total / n_samples
        values, vectors = self.balanced.values, self.balanced.vectors
        targets = self._weighted(signs)
        pull = targets - reg * mean * (self.Q @ roots)[:, None]
        radius = (1 - total * mean) ** 0.5
        x, eta = minimize_on_sphere(reg * values, vectors.T @ pull, radius)
        h = vectors @ x + mean * roots[:, None]
        omega = roots @ (reg * (self.Q @ h) - eta * h - targets) / n_samples
        return Responses(h, eta, omega)

    def quadratic(self, signs, h, reg):
        """The function that responses minimise."""
        return reg * (h * (self.Q @ h)).sum(axis=0) - 2 * (self._weighted(signs) * h).sum(axis=0)

    def objective(self, h, reg, signs=None):
        """The criterion, (4) of the paper, unless links require other signs."""
        return self.quadratic(signs_of(h) if signs is None else signs, h, reg)


def cut_signs(vectors):
    """Starting signs: columns of `vectors` cut at their means, (9) of the paper."""
    xp, _ = namespace_of(vectors)
    return signs_of(vectors - xp.mean(vectors, axis=0))


def cut_responses(vectors, form):
    """The same for vectors of a form whose nodes may be several samples."""
    if form.counts is None:
        return cut_signs(vectors)
    return signs_of(form.to_samples(vectors) - form.roots @ vectors / form.n_samples)


def starts_near_second(spectrum, form):
    """The paper's starts: eigenvectors whose eigenvalues are close to the second, ten at most."""
    second = min(1, len(spectrum.values) - 1)
    near = np.abs(spectrum.values - spectrum.values[second]) < PAPER_CLOSENESS
    near[:second] = False
    return cut_responses(spectrum.vectors[:, np.flatnonzero(near)[:PAPER_STARTS]], form)


def oriented(vectors, roots):
    """Eigenvectors, with signs such that their responses are skewed to the positive side.

    Their original signs depend on the order of the samples, and so would combinations of them.
    """
    xp, _ = namespace_of(vectors)
    skews = xp.sum(vectors**3 / roots[:, None], axis=0)
    return vectors * -signs_of(-skews)


def with_combinations(vectors, n_random, rng):
    """Columns of `vectors` and random combinations of them, in which the first ones prevail."""
    n_vectors = vectors.shape[1]
    mix = rng.standard_normal((n_vectors, n_random)) / np.arange(1, n_vectors + 1)[:, None]
    xp, _ = namespace_of(vectors)
    return xp.concat([vectors, vectors @ like(mix, vectors)], axis=1)


class GraphResponder:
    """Best responses by multigrid on a sparse graph, or on a device; one start at a time.

    Parameters
    ----------
    form : Form
        A Laplacian.
    bound : float or None
        Largest absolute sum of responses.
    """

    # of the length of responses, and of the residuals of linear systems
    LENGTH_TOL = 0.01
    SOLVE_TOL = 1e-3
    MAX_SHIFTS = 6

    def __init__(self, form, bound):
        self.form = form
        self.bound = bound
        self._hierarchy = hierarchy_of(form)
        self._weights = form.roots
        self._to_signs = self._to_weights = None

    @cached_property
    def low(self):
        """The smallest eigenvalues and eigenvectors that are not trivial."""
        values, vectors = self._hierarchy.eigenpairs(LOW_VECTORS)
        return Spectrum(values + self.form.lift, vectors)

    @property
    def scale(self):
        """Scale of an automatic `reg`: how far apart the low eigenvalues are."""
        return spread_of(self.low.values)

    def candidates(self, n_random, reg, rng):
        """Signs of the most promising eigenvectors and combinations, tried on a simpler matrix."""
        vectors = oriented(self.low.vectors, self._weights)
        return self._screened(with_combinations(vectors, n_random, rng), reg)

    def _screened(self, vectors, reg):
        """Signs of the most promising of some starts, tried on a simpler matrix.

        Its eigenvalues are all equal but the lowest. Starts that lead to the same count once.
        """
        U, weights = self.low.vectors, self._weights[:, None]
        rest_level = max(self.form.mean_eigenvalue, self.low.values[-1])
        values = reg * np.append(self.low.values, rest_level)
        signs = cut_signs(vectors)
        xp, _ = namespace_of(U)
        for _ in range(SCREENING_UPDATES):
            targets = weights * signs
            low = U.T @ targets
            rest = targets - U @ low
            size = to_numpy(xp.sqrt(xp.sum(rest * rest, axis=0)))
            x, _ = minimize_on_sphere(values, np.vstack([to_numpy(low), size]))
            along = x[-1] / np.maximum(size, np.finfo(np.float64).tiny)
            h = U @ like(x[:-1], U) + rest * like(along, U)
            if self.bound is not None:
                h = h - weights * (xp.sum(weights * h, axis=0) / xp.sum(weights**2))
            signs = signs_of(h)
        costs = values @ x**2 - 2 * to_numpy(xp.sum(weights * xp.abs(h), axis=0))
        _, distinct = np.unique(np.round(costs / np.abs(costs).max(), 9), return_index=True)
        return xp.take(signs, like(distinct[:PROMISING_STARTS], signs), axis=1)

    def respond(self, signs, reg, previous=None):
        """Responses of least ``reg * h'Qh - 2 * signs'h`` within the bound on their sum.

        They solve ``reg * (L + shift * I) h = weights * (signs + omega)``; the shift is the
        unknown of the secular equation, and systems are solved from the last solution.
        """
        targets = self._weights * signs[:, 0]
        first_value = float(self.low.values[0] - self.form.lift)
        least = 1e-3 * first_value + np.finfo(np.float64).tiny
        if previous is None:
            along = abs(float(self.low.vectors[:, 0] @ targets))
            shift = max(along / reg - first_value, least)
        else:
            shift = self.form.lift - float(previous.eta[0]) / reg
        lengths: dict[float, float] = {}
        for _ in range(self.MAX_SHIFTS):
            h, omega = self._shifted(targets, reg, shift)
            lengths[shift] = float(h @ h) ** 0.5
            if abs(lengths[shift] - 1) <= self.LENGTH_TOL:
                break
            better = max(_next_shift(lengths, first_value), least)
            if better == shift:  # too short even there: the first eigenvector would be added
                break
            shift = better
        h = h / lengths[shift]
        eta = reg * (self.form.lift - shift)
        return Responses(h[:, None], np.array([eta]), np.array([omega]))

    def _shifted(self, targets, reg, shift):
        """Solution of the linear system, with omega such that the sum stays in bounds."""
        self._to_signs = self._solved(targets, shift, self._to_signs)
        total = float(self._weights @ self._to_signs) / reg
        if self.bound is None or abs(total) <= self.bound:
            return self._to_signs / reg, 0.0
        self._to_weights = self._solved(self._weights, shift, self._to_weights)
        aim = float(np.copysign(self.bound, total))
        omega = reg * (aim - total) / float(self._weights @ self._to_weights)
        return (self._to_signs + omega * self._to_weights) / reg, omega

    def _solved(self, right, shift, start):
        return self._hierarchy.solve(right, shift, start=start, tol=self.SOLVE_TOL)

    def objective(self, h, reg, signs=None):
        """The criterion, (4) of the paper, unless links require other signs."""
        h, signs = h[:, 0], signs_of(h[:, 0]) if signs is None else signs[:, 0]
        smooth = h @ self.form.product(h)  # without the links that join components
        return np.array([reg * float(smooth) - 2 * float(self._weights @ (signs * h))])


def _next_shift(lengths, first_value):
    """Shift at which the secant through the reciprocal lengths of the last two is one."""
    shifts = list(lengths)
    last = shifts[-1]
    if len(shifts) > 1:
        change = 1 / lengths[last] - 1 / lengths[shifts[-2]]
        if change * (last - shifts[-2]) > 0:
            return last + (1 - 1 / lengths[last]) * (last - shifts[-2]) / change
    # as if all were along the first eigenvector
    return (last + first_value) * lengths[last] - first_value
