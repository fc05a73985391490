r"""Support vector machines of one labelling after another.

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + C \sum_i s_i L(w^\top x_i + b, y_i),
          \qquad y_i \in \{-1, 1\}

with the hinge loss max(0, 1 - yf), the epsilon-insensitive Laplacian loss max(0, abs(f - y) -
epsilon) or half the square loss. A machine keeps the solution for the last labels, which is likely
to be near that for the next ones.

The square loss is one ridge regression. For the other two the problem is split,

.. math:: \min_{w, b, z} \; \tfrac12 \|w\|^2 + C \sum_i s_i L(z_i, y_i)
          \quad \text{subject to} \quad z_i = w^\top x_i + b,

and solved by a method of multipliers, with scaled multipliers u. In the span of a whole kernel
matrix (w, b) and z take turns (`SplitMachine`, the alternating direction method), since a ridge
regression with the same factor is cheap there. On features both move together (`NewtonMachine`):
z is eliminated, which leaves a smooth function of w that Newton's method minimises in ten to
thirty passes over the samples, where taking turns needs hundreds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from separatrix._sklearn import like, namespace_of, one_blas_thread, to_numpy
from separatrix.data.rows import join_rows, map_chunks
from separatrix.labels.links import linked_labels, linked_signs
from separatrix.labels.sizes import balanced_offsets, balanced_threshold, bounded_threshold
from separatrix.models.scores import score_features
from separatrix.solvers.ridge import FeatureRidge, RidgeModel

# Relative residual of z = f at which a machine is good enough: at three times this, one label of
# 5,000 pixels differs from those of LIBSVM.
TOL = 1e-4
MAX_STEPS = 1_000
TINY = 1e-30
# Range of the weight of the quadratic term: beyond it, residuals are only rounding.
LEAST_RHO, MOST_RHO = 1e-6, 1e6
# Added to the diagonal of the matrix of a Newton step, whose entries are then one.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Fit:
    """A machine with its values at the samples and its objective."""

    model: RidgeModel
    fitted: Any
    objective: float


def machines_of(ridge, n_machines, *, loss, epsilon):
    """Machines of a loss on what the ridge regression `ridge` runs on."""
    if loss == "square":
        return [SquareMachine(ridge) for _ in range(n_machines)]
    if isinstance(ridge, FeatureRidge):
        return [NewtonMachine(ridge, loss=loss, epsilon=epsilon) for _ in range(n_machines)]
    penalty = Penalty()
    return [
        SplitMachine(ridge, loss=loss, epsilon=epsilon, penalty=penalty) for _ in range(n_machines)
    ]


def fit_all(machines, signs, C):
    """Fits of machines to one column of signs each, together if they share a factor."""
    if len(machines) > 1 and hasattr(machines[0], "fit_together"):
        return machines[0].fit_together(machines, signs, C)
    return [machine.fit(signs[:, i], C) for i, machine in enumerate(machines)]


def _of_one_side(ridge, y):
    """The machine of signs that are all the same, which costs nothing; None if they differ."""
    xp, _ = namespace_of(y)
    share = _sum(xp.astype(y > 0, y.dtype), ridge.sample_weight) / ridge.weight
    if 1e-12 < share < 1 - 1e-12:
        return None
    value = 1.0 if share > 0.5 else -1.0
    return Fit(ridge.constant(value), xp.full_like(y, value), 0.0)


# --- losses -------------------------------------------------------------------------------------


def _slack(f, y, *, loss, epsilon):
    """How far values are off, positive where they cost, and the direction off."""
    xp, _ = namespace_of(f)
    if loss == "hinge":
        return 1 - y * f, -y
    distance = f - y
    return xp.abs(distance) - epsilon, xp.sign(distance)


def objective_of(f, y, sample_weight, *, norm, C, loss, epsilon):
    """Objective of a machine with the values `f`, and a normal of squared length `norm`."""
    if loss == "square":
        losses = 0.5 * (f - y) ** 2
    else:
        losses = _positive(_slack(f, y, loss=loss, epsilon=epsilon)[0])
    return 0.5 * norm + C * _sum(losses, sample_weight)


def _positive(values):
    xp, _ = namespace_of(values)
    return xp.maximum(values, xp.zeros_like(values[:1]))


def _clip(values, upper):
    """Values between zero and `upper`."""
    xp, _ = namespace_of(values)
    return xp.minimum(_positive(values), xp.zeros_like(values[:1]) + upper)


def _sum(values, weight):
    xp, _ = namespace_of(values)
    return float(xp.sum(values if weight is None else weight * values))


def _norm(values, weight):
    return _sum(values * values, weight) ** 0.5


# --- the square loss ----------------------------------------------------------------------------


class SquareMachine:
    """Least-squares support vector machine: one ridge regression."""

    def __init__(self, ridge):
        self._ridge = ridge

    def resume(self, model):
        """Values of a model at the samples; there is nothing to keep of it."""
        return self._ridge.fitted(model)

    def fit(self, y, C):
        """Fit to the signs `y`."""
        model, fitted = self._ridge.fit(y, C)
        return self._fit_of(model, fitted, y, C)

    @staticmethod
    def fit_together(machines, signs, C):
        """Fit machines of one ridge regression to a column of signs each."""
        models, fitted = machines[0]._ridge.fit_columns(signs, C)
        return [
            machine._fit_of(model, fitted[:, i], signs[:, i], C)
            for i, (machine, model) in enumerate(zip(machines, models, strict=True))
        ]

    def _fit_of(self, model, fitted, y, C):
        error = _norm(fitted - y, self._ridge.sample_weight)
        return Fit(model, fitted, 0.5 * model.norm + 0.5 * C * error**2)


# --- the kernel matrix --------------------------------------------------------------------------


@dataclass
class Penalty:
    """Weight rho of the quadratic term, which machines on the same factor share."""

    rho: float = 2.0

    def adapted(self, primal, dual):
        """Change rho if one kind of residual lags behind; return old rho over new rho."""
        ratios = np.log(np.maximum(primal, TINY) / np.maximum(dual, TINY))
        change = float(np.exp(0.5 * ratios.mean()))
        if 1 / 3 < change < 3:
            return 1.0
        last, change = self.rho, min(max(change, 0.1), 10.0)
        self.rho = min(max(last * change, LEAST_RHO), MOST_RHO)
        return last / self.rho


class SplitMachine:
    """Support vector machine in the span of a kernel matrix, by alternating directions.

    A ridge regression on z - u, the proximal point z of the loss for each sample, and a step of
    u. The weight rho of the quadratic term decides which of the two residuals falls faster; it is
    adapted, rarely, because it costs a factor of the kernel matrix.
    """

    RELAX = 1.7
    ADAPT_EVERY = 10

    def __init__(self, ridge, *, loss, epsilon, penalty=None):
        self._ridge = ridge
        self._loss = {"loss": loss, "epsilon": epsilon}
        self._penalty = Penalty() if penalty is None else penalty
        self._y = self._z = self._slopes = None

    def fit(self, y, C):
        """Fit to the signs `y`."""
        (found,) = self.fit_together([self], y[:, None], C)
        return found

    @classmethod
    def fit_together(cls, machines, signs, C):
        """Fit machines that share a factor to one column of signs each, until all are done."""
        ridge, penalty, loss = machines[0]._ridge, machines[0]._penalty, machines[0]._loss
        fits = [_of_one_side(ridge, y) for y in signs.T]
        at_work = [i for i, fit in enumerate(fits) if fit is None]
        if not at_work:
            return fits
        y = signs[:, at_work]
        starts = [machines[i]._start(signs[:, i]) for i in at_work]
        z, u = (np.stack(columns, axis=1) for columns in zip(*starts, strict=True))
        for step in range(1, MAX_STEPS + 1):
            alphas, intercepts, fitted = ridge.coefficients_of(z - u, penalty.rho * C)
            relaxed = cls.RELAX * fitted + (1 - cls.RELAX) * z + u
            slack, direction = _slack(relaxed, y, **loss)
            # as _clip, for NumPy alone: this is most of what a step costs for few samples
            u = direction * np.minimum(np.maximum(slack, 0), 1 / penalty.rho)
            before, z = z, relaxed - u
            primal = _primal_residuals(fitted, z, ridge.sample_weight)
            adapts = step % cls.ADAPT_EVERY == 0
            if not ((primal <= TOL).any() or adapts or step == MAX_STEPS):
                continue
            dual = _dual_residuals(z, before, u, ridge.sample_weight)
            done = (primal <= TOL) & (dual <= TOL)
            if done.any() or step == MAX_STEPS:
                models = ridge.models_of(alphas, intercepts, fitted)
                for i in range(len(at_work)) if step == MAX_STEPS else np.flatnonzero(done):
                    column = (models[i], fitted[:, i], y[:, i], z[:, i], u[:, i])
                    fits[at_work[i]] = machines[at_work[i]]._ended(*column, C)
                if step == MAX_STEPS or done.all():
                    break
                at_work = [i for i, ended in zip(at_work, done, strict=True) if not ended]
                y, z, u, primal, dual = (values[..., ~done] for values in (y, z, u, primal, dual))
            if adapts:
                u = u * penalty.adapted(primal, dual)
        return fits

    def _start(self, y):
        """Values and multipliers to begin with."""
        if self._y is None:
            return y.copy(), np.zeros_like(y)
        turned = (
            y * self._y
        )  # residuals and slopes of the loss stay, and turn where the label does
        return y + turned * (self._z - self._y), turned * self._slopes / self._penalty.rho

    def _ended(self, model, fitted, y, z, u, C):
        """Keep what the next fit begins with, and return this one."""
        slopes = self._penalty.rho * u
        self._y, self._z, self._slopes = y, z, slopes
        # the Lagrangian: what is left of the residual z - f would cost C times as much otherwise
        slack, _ = _slack(z, y, **self._loss)
        losses = _sum(_positive(slack) + slopes * (fitted - z), self._ridge.sample_weight)
        return Fit(model, fitted, 0.5 * model.norm + C * losses)


def _primal_residuals(fitted, z, weight):
    """Relative residual of z = f, for each column."""
    largest = np.maximum(_norms(fitted, weight), _norms(z, weight))
    return _norms(fitted - z, weight) / np.maximum(largest, TINY)


def _dual_residuals(z, before, u, weight):
    """Relative residual of the multipliers, for each column."""
    return _norms(z - before, weight) / np.maximum(_norms(u, weight), TINY)


def _norms(columns, weight):
    squares = columns * columns if weight is None else weight[:, None] * columns * columns
    return np.sqrt(squares.sum(axis=0))


# --- features -----------------------------------------------------------------------------------


class NewtonMachine:
    r"""Support vector machine on features, by Newton's method of multipliers.

    With z eliminated the augmented Lagrangian is

    .. math:: \Phi(w, b) = \tfrac12 \|w\|^2 + C \sum_i s_i \min_z \Big[ L(z, y_i)
              + \tfrac\rho2 (w^\top x_i + b + u_i - z)^2 \Big],

    a smooth convex function with second derivatives almost everywhere. Only samples that lie
    within 1 / rho of a kink of the loss have curvature, a few in a hundred, so a Newton step costs
    little more than a pass over the samples. After each minimum u moves to the slopes of the
    loss there.
    """

    # Few samples lie near the hinge's kink, and many near the two of the Laplacian loss.
    RHO = {"laplacian": 50.0, "hinge": 5.0}
    # A minimum is good enough when a Newton step promises less than this share of its value.
    DECREMENT = 1e-6
    # Less than this rounding would hide.
    LEAST_DECREMENT = 1e-12

    def __init__(self, ridge, *, loss, epsilon):
        self._ridge = ridge
        self._loss = {"loss": loss, "epsilon": epsilon}
        self._rho = self._least_rho = self.RHO[loss]
        self._y = self._u = self._model = self._fitted = None
        self._damping = 1.0

    def resume(self, model):
        """Start from another machine on the same features; return its fitted values."""
        self._model = model
        self._fitted = self._ridge.fitted(model)
        return self._fitted

    def fit(self, y, C):
        """Fit to the signs `y`."""
        same = _of_one_side(self._ridge, y)
        if same is not None:
            return same
        weight = self._ridge.sample_weight
        self._adapt(C)
        point, decrement = self._start(y, C), self.DECREMENT
        for _ in range(MAX_STEPS):
            model = point.model
            point = self._minimum(point, y, C, decrement)
            if point.model is model:  # otherwise multipliers would keep changing slowly
                decrement = max(0.01 * decrement, self.LEAST_DECREMENT)
            old, self._u = self._u, point.slopes
            residual = _norm(point.slopes - old, weight)
            if residual <= TOL * min(_norm(point.fitted, weight), self._ridge.weight**0.5):
                break
            point = self._at(point.model, y, C)
        self._y, self._model = y, point.model
        # the Lagrangian: what is left of the residual would cost C times as much otherwise
        objective = point.value - 0.5 * C * self._rho * _norm(old, weight) ** 2
        return Fit(point.model, point.fitted, objective)

    def _adapt(self, C):
        """Widen the kinks no further than values spread, which is little at a small C.

        Otherwise multipliers would take very many steps there.
        """
        spread = C * self._ridge.scatter / self._ridge.weight
        rho = max(self._least_rho, 1 / max(spread, TINY))
        if self._u is not None:
            self._u = self._u * (self._rho / rho)
        self._rho = rho

    def _start(self, y, C):
        """Where to begin, which sets the multipliers."""
        xp, _ = namespace_of(y)
        if self._y is not None:  # multipliers turn where the label does
            self._u = self._u * (y * self._y)
        elif self._model is not None:  # at the optimum multipliers are slopes of the loss
            slack, direction = _slack(self._fitted, y, **self._loss)
            self._u = direction * xp.astype(slack > 0, y.dtype) / self._rho
        else:
            self._model = self._ridge.solve(y, C)
            self._u = xp.zeros_like(y)
        return self._at(self._model, y, C)

    def _minimum(self, point, y, C, decrement):
        """Minimise the augmented Lagrangian by Newton steps, damped as far as needed."""
        for _ in range(MAX_STEPS):
            step, promise = _newton_step(point, self._ridge, self._rho * C, self._damping)
            if promise <= decrement * point.value and self._damping <= 1:
                break
            following = self._at(_moved(point.model, step, self._ridge), y, C)
            decrease = point.value - following.value
            if decrease < 0.1 * promise:  # a quadratic function would fall by at least a half
                self._damping *= 10
                if self._damping > 1e10:  # rounding is all that is left
                    self._damping = 1.0
                    break
            else:
                self._damping = max(self._damping / 5, 1e-3)
            if decrease > 0:
                point = following
        return point

    def _at(self, model, y, C):
        """The augmented Lagrangian with its derivatives, in one pass over the samples."""
        parts = map_chunks(
            _newton_chunk,
            self._ridge.X,
            y,
            self._u,
            self._ridge.sample_weight,
            coef=model.coef,
            intercept=model.intercept,
            mean=self._ridge.mean,
            rho=self._rho,
            rereads=True,
            **self._loss,
        )
        fitted, slopes, *sums = zip(*parts, strict=True)
        loss, first, total, curvature = (sum(partials) for partials in sums)
        return _Point(
            model,
            join_rows(fitted),
            join_rows(slopes),
            0.5 * model.norm + C * loss,
            first - total * self._ridge.mean,
            total,
            curvature,
        )


@dataclass(frozen=True)
class _Point:
    """Value and derivatives of the augmented Lagrangian at a model.

    `first` and `total` are sums of slopes times centred samples and of slopes, `curvature` the
    sum of outer products of the centred samples, with a one appended, that lie near a kink.
    """

    model: RidgeModel
    fitted: Any
    slopes: Any
    value: float
    first: np.ndarray
    total: float
    curvature: np.ndarray


def _newton_chunk(X, y, u, weight, *, coef, intercept, mean, rho, loss, epsilon):
    """Fitted values and slopes of some rows, and the sums that derivatives are made of."""
    xp, _ = namespace_of(y)
    fitted = X @ (coef if sp.issparse(X) else like(coef, X)) + intercept
    slack, direction = _slack(fitted + u, y, loss=loss, epsilon=epsilon)
    near = _clip(slack, 1 / rho)  # distance from the kink that z stays on
    slopes = direction * near
    losses = _positive(slack - near) + 0.5 * rho * near * near
    weighted = slopes if weight is None else slopes * weight
    (kinked,) = xp.nonzero((slack > 0) & (slack < 1 / rho))
    return (
        fitted,
        slopes,
        _sum(losses, weight),
        to_numpy(X.T @ weighted).astype(np.float64),
        float(xp.sum(weighted)),
        _augmented_scatter(X, kinked, weight, mean),
    )


def _augmented_scatter(X, rows, weight, mean):
    """Sum of outer products of some rows less the mean, with a one appended."""
    xp, _ = namespace_of(X)
    if sp.issparse(X):
        chosen = X[rows].toarray() - mean
    else:
        chosen = xp.take(X, rows, axis=0) - like(mean, X)
    if weight is None:
        ones = xp.ones_like(chosen[:, :1])
    else:
        ones = xp.astype(xp.take(weight, rows)[:, None] ** 0.5, chosen.dtype)
        chosen = chosen * ones
    augmented = xp.concat([chosen, ones], axis=1)
    return to_numpy(augmented.T @ augmented).astype(np.float64)


def _solve(matrix, right):
    """Solution of a positive definite system, whatever the units of its unknowns."""
    scale = 1 / np.sqrt(np.diag(matrix))
    matrix = scale[:, None] * matrix * scale
    matrix[np.diag_indices_from(matrix)] += ROUNDING
    factor = cho_factor(matrix, check_finite=False, overwrite_a=True)
    return scale * cho_solve(factor, scale * right, check_finite=False)


_solve_on_one_thread = one_blas_thread(_solve)


def _newton_step(point, ridge, strength, damping):
    """Newton step of weights and intercept, and twice the decrease that it promises.

    All samples contribute curvature, in total `damping` times that of the samples near a kink, of
    which there may be few or none.
    """
    gradient = np.append(point.model.coef + strength * point.first, strength * point.total)
    H = point.curvature.copy()
    lent = damping * max(H[-1, -1] / ridge.weight, 1e-4)
    H[:-1, :-1] += lent * ridge.scatter_matrix
    H[-1, -1] += lent * ridge.weight
    H *= strength
    diagonal = np.arange(len(H) - 1)
    H[diagonal, diagonal] += 1.0
    # BLAS uses one thread for small matrices anyway, and telling it to takes longer
    solve = _solve if len(H) <= 64 else _solve_on_one_thread
    step = -solve(H, gradient)
    return step, -float(gradient @ step)


def _moved(model, step, ridge):
    """The model after a step of weights and of the intercept at the mean of the samples."""
    coef = model.coef + step[:-1]
    intercept = model.intercept + step[-1] - ridge.mean @ step[:-1]
    return RidgeModel(coef, float(intercept), float(coef @ coef))


# --- labels of a machine ------------------------------------------------------------------------


def signs_of(labels, side, dtype):
    """Targets of a machine: on which side of its boundary clusters lie, by a row of the code."""
    xp, _ = namespace_of(labels)
    positive = xp.zeros_like(labels, dtype=xp.bool)
    for cluster in np.flatnonzero(side > 0):
        positive = positive | (labels == int(cluster))
    return 2 * xp.astype(positive, dtype) - 1


def sign_columns(labels, code, dtype):
    """Targets of all machines, a column for each row of the code."""
    xp, _ = namespace_of(labels)
    return xp.stack([signs_of(labels, side, dtype) for side in code], axis=1)


def weight_of(rows, sample_weight):
    """Summed weight of the rows in a mask."""
    xp, _ = namespace_of(rows)
    if sample_weight is None:
        return float(xp.count_nonzero(rows))
    return float(xp.sum(sample_weight[rows]))


@dataclass(frozen=True)
class Step:
    """New labels, what was added to fitted values for them, and whether they are in balance."""

    labels: Any
    shifts: np.ndarray
    within: bool


class LabelUpdate:
    """Labels of the values that machines have, of least loss among those in balance.

    With `sizes`, they are of least loss among those whose clusters have counts within these.
    """

    def __init__(self, sample_weight, n_clusters, *, loss, balance, links=None, sizes=None):
        self._weight = sample_weight
        self._links = links
        self._n_clusters = n_clusters
        self._loss = loss
        self._balance = balance
        self._bounds = sizes

    def _sizes(self, n_samples):
        """Smallest and largest weights of clusters, around the shares of known labels."""
        xp = np if self._weight is None else namespace_of(self._weight)[0]
        total = n_samples if self._weight is None else float(xp.sum(self._weight))
        size, shares = total / self._n_clusters, np.ones(self._n_clusters)
        if self._links is not None:
            shares = self._n_clusters * self._links.known_shares(to_numpy(self._weight))
        least, most = (shares - self._balance) * size, (shares + self._balance) * size
        return {"min_size": np.floor(least), "max_size": np.ceil(most)}

    def __call__(self, fitted):
        """Label the samples by the values of one machine, or of one for each cluster."""
        xp, _ = namespace_of(fitted[0])
        if self._bounds is not None:
            return self._bounded_step(fitted)
        if self._n_clusters == 2 and self._links is not None and self._links.teaches:
            return self._taught_step(fitted[0])
        if self._n_clusters == 2:
            cut = balanced_threshold(
                fitted[0], self._weight, loss=self._loss, balance=self._balance
            )
            threshold = cut.threshold
            if np.isnan(threshold):  # a machine that separates nothing
                threshold = float(fitted[0][0])
            if self._links is not None:
                return self._linked_step(fitted[0] - threshold, -threshold)
            labels = xp.astype(fitted[0] > threshold, xp.int8)
            return Step(labels, np.array([-threshold]), cut.within)
        scores = xp.stack(fitted, axis=1)
        bounds = self._sizes(scores.shape[0])
        if self._links is None:
            found = balanced_offsets(scores, self._weight, **bounds)
            labels = xp.argmax(scores + like(found.offsets, scores), axis=1)
        else:
            weight = to_numpy(self._weight)
            found = linked_labels(scores, self._links, sample_weight=weight, **bounds)
            labels = like(found.labels, scores)
        dtype = xp.int8 if self._n_clusters < 128 else xp.int32
        return Step(xp.astype(labels, dtype), found.offsets, found.within)

    def _bounded_step(self, fitted):
        """Labels whose clusters have counts within bounds, which may separate equal samples."""
        from separatrix.labels.bounded import bounded_transport

        sizes, values, shifts = self._bounds.scaled(fitted[0].shape[0]), fitted[0], None
        if self._n_clusters == 2:
            cut = bounded_threshold(
                values, self._weight, loss=self._loss, least=sizes.least, most=sizes.most
            )
            shifts, values = np.array([-cut.threshold]), values - cut.threshold
        else:
            values = namespace_of(values)[0].stack(fitted, axis=1)
        columns = to_numpy(score_features(values, self._n_clusters))
        found = bounded_transport(columns, *sizes.bounds)
        dtype = np.int8 if self._n_clusters < 128 else np.int32
        labels = like(found.labels.astype(dtype), values)
        return Step(labels, found.prices if shifts is None else shifts, within=True)

    def _linked_step(self, margins, shift):
        """Labels of two clusters with the least loss among those that keep balance and links."""
        weight, gains = to_numpy(self._weight), self._gains(margins)
        gains = gains if weight is None else weight * gains
        found = linked_signs(gains, self._links, balance=self._balance, sample_weight=weight)
        labels = like((found.y > 0).astype(np.int8), margins)
        return Step(labels, np.array([shift]), found.within)

    def _taught_step(self, values):
        """The same with sizes around those of known labels, which the machine fits too."""
        found = linked_labels(
            self._gains(values),
            self._links,
            sample_weight=to_numpy(self._weight),
            **self._sizes(len(values)),
        )
        labels = like(found.labels.astype(np.int8), values)
        return Step(labels, found.offsets[1:], found.within)

    def _gains(self, margins):
        """Half of the loss at -1 minus the loss at 1."""
        f = to_numpy(margins)
        return {
            "square": f,
            "laplacian": np.clip(f, -1, 1),
            "hinge": 0.5 * (np.maximum(0, 1 + f) - np.maximum(0, 1 - f)),
        }[self._loss]


def linked(problem, values, n_clusters, *, loss, balance):
    """Labels of all samples, nearest to those of the boundaries' values, that keep links."""
    update = LabelUpdate(
        problem.sample_weight,
        n_clusters,
        loss=loss,
        balance=balance,
        links=problem.links,
    )
    return update(values).labels
