"""Stochastic mirror descent for the weights of labellings, the solver of the paper."""

from dataclasses import dataclass

import numpy as np

from separatrix._numba import njit
from separatrix.solvers.label_mixtures import Machine, find_saddle, mixed_kernel
from separatrix.solvers.margin_distribution import KernelSpace

# Steps of mirror descent that an estimator takes in each round.
MIRROR_STEPS = 20_000
# Practical steps: the factor by which those of the weights exceed what noise suggests, and the
# number of steps at full length for the multipliers.
WEIGHT_PACE = 3.0
FULL_STEPS = 1_000
# Below this, the cost of excess margins is lost in rounding.
LEAST_NU = 1e-100


# --- the paper's solver -------------------------------------------------------------------------


@dataclass(frozen=True)
class Dual:
    """The dual objective (3) of the paper in its 2m variables.

    Attributes
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    signs : ndarray of shape (n_machines, n_labellings, n_samples)
        Labellings.
    machine : Machine
        The machine.
    """

    K: np.ndarray
    signs: np.ndarray
    machine: Machine

    @property
    def ridges(self):
        """Weights of the squares of each zeta and beta in (3), times two."""
        machine = self.machine
        ridge = (1 - machine.theta) ** 2 / (2 * machine.strength * self._shares)
        return ridge, ridge / max(machine.nu, LEAST_NU)

    @property
    def _shares(self):
        """Shares of the samples in the mean loss."""
        m, weight = len(self.K), self.machine.sample_weight
        return np.full(m, 1 / m) if weight is None else weight / weight.sum()

    def values(self, zeta, beta):
        """G of each labelling, at multipliers of shape (n_machines, n_samples)."""
        theta, ridges = self.machine.theta, self.ridges
        W = self.signs * (zeta - beta)[:, None]
        squares = 0.5 * np.einsum("mij,mij->i", W @ self.K, W)
        shared = (1 - theta) * zeta.sum() - (1 + theta) * beta.sum()
        shared -= 0.5 * (np.sum(ridges[0] * zeta**2) + np.sum(ridges[1] * beta**2))
        return shared - squares

    @property
    def bound(self):
        """A box that holds the solution, the paper's tau: above lambda, zero would be better."""
        largest = np.sqrt(len(self.K)) * self._shares.max()
        return 2 * self.machine.strength * largest / (1 - self.machine.theta)

    def lipschitz(self):
        """Bounds L1 of G and L2 of the norm of its gradient in the box."""
        theta, ridges, tau = self.machine.theta, self.ridges, self.bound
        n_machines, _, m = self.signs.shape
        rows = np.abs(self.K).sum(axis=1)
        largest = n_machines * tau * (0.5 * tau * (rows.sum() + np.sum(ridges)) + 2 * m)
        pulls = [tau * (rows + ridges[0]) + 1 - theta, tau * (rows + ridges[1]) + 1 + theta]
        return largest, float(np.sqrt(n_machines * np.sum(np.square(pulls))))

    def gap(self, weights, zeta, beta):
        """Duality gap (9) of a pair, exact, and the objective of its weights."""
        ones = np.ones(len(self.K))
        mixed = (mixed_kernel(self.K, S, weights) for S in self.signs)
        objective = sum(self.machine.fit(KernelSpace(M), ones).objective for M in mixed)
        return objective - float(self.values(zeta, beta).min()), objective


@dataclass(frozen=True)
class Averages:
    """Averaged iterates of mirror descent.

    Attributes
    ----------
    weights : ndarray of shape (n_labellings,)
        Weights mu.
    zeta, beta : ndarray of shape (n_machines, n_samples)
        Multipliers alpha of what margins miss, and of what they have in excess.
    """

    weights: np.ndarray
    zeta: np.ndarray
    beta: np.ndarray


def theorem_steps(dual, n_steps):
    """Lengths of steps by Theorem 1: those of the weights and of the multipliers."""
    n_machines, n_labellings, m = dual.signs.shape
    largest, steepest = dual.lipschitz()
    eta = np.sqrt(2 / n_steps)
    a = n_labellings * largest / np.sqrt(np.log(n_labellings))
    # the paper counts m multipliers, but there are two for each sample
    b = np.sqrt(2) * steepest / (np.sqrt(2 * m * n_machines) * dual.bound)
    return eta / a, eta / b


def practical_steps(dual, n_steps):
    """Lengths of steps by typical sizes instead of worst-case bounds.

    Theorem 1 needs bounds on G and its gradient over the whole box, which are attained far from
    the saddle point, if at all. Here the steps of the weights follow the differences of G between
    labellings at equal weights, and those of the multipliers the curvature of G.
    """
    _, n_labellings, _ = dual.signs.shape
    equal = find_saddle(dual.K, dual.signs, dual.machine, max_iter=0)
    # labellings that symmetry makes equal at first differ later
    spread = max(np.ptp(equal.squares), 1e-2 * equal.squares.max())
    differences = n_labellings * spread / np.sqrt(np.log(n_labellings))
    curvature = np.linalg.norm(dual.K, 2) + np.max(dual.ridges)
    few = min(1.0, np.sqrt(FULL_STEPS / n_steps))
    return WEIGHT_PACE * np.sqrt(2 / n_steps) / differences, few / curvature


def mirror_descent(K, signs, machine, *, n_steps, steps, rng):
    r"""Weights of labellings at the saddle point, by Algorithm 1 of the paper.

    .. math:: \mu_{t+1} \propto \mu_t \exp(-\eta\, \partial_\mu \tilde\varphi / a), \qquad
              \alpha_{t+1} = \min(\max(\alpha_t + \eta\, \partial_\alpha \tilde\varphi / b, 0),
              \tau)

    with one labelling drawn at random for either gradient. Practical steps also subtract the value
    of G at the second from that of the first: gradients on the simplex stay the same, with less
    noise. The averages of the iterates are returned, as in Theorem 1: their duality gap is at most
    :math:`(|B| L_1 \sqrt{\log |B|} + L_2 \tau \sqrt{m}) \sqrt{2 / T}` in expectation, with the
    number 2m of multipliers where the paper has m.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    signs : ndarray of shape (n_machines, n_labellings, n_samples)
        Labellings, two at least.
    machine : Machine
        The machine.
    n_steps : int
        Steps T.
    steps : {"theorem", "practical"}
        Lengths of steps.
    rng : RandomState
        Draws labellings.

    Returns
    -------
    averages : Averages
    """
    dual = Dual(K, signs, machine)
    practical = steps == "practical"
    lengths = (practical_steps if practical else theorem_steps)(dual, n_steps)
    n_machines, n_labellings, m = signs.shape
    drawn = rng.randint(n_labellings, size=n_steps), rng.uniform(size=n_steps)
    weights = np.full(n_labellings, 1 / n_labellings)
    zeta, beta = np.zeros((n_machines, m)), np.zeros((n_machines, m))
    means = np.zeros(n_labellings), np.zeros((n_machines, m)), np.zeros((n_machines, m))
    _descend(
        K,
        np.ascontiguousarray(signs.swapaxes(0, 1)),
        *drawn,
        *lengths,
        *dual.ridges,
        machine.theta,
        dual.bound,
        practical,
        weights,
        zeta,
        beta,
        *means,
    )
    return Averages(*means)


@njit
def _value(
    K,  # IN
    signs,  # IN
    zeta,  # IN
    beta,  # IN
    zeta_ridge,  # IN
    beta_ridge,  # IN
    theta,
):
    """G of one labelling."""
    value = 0.0
    for c in range(len(signs)):
        turned = signs[c] * (zeta[c] - beta[c])
        value -= 0.5 * (turned @ (K @ turned))
        value += (1 - theta) * zeta[c].sum() - (1 + theta) * beta[c].sum()
        value -= 0.5 * ((zeta_ridge * zeta[c]) @ zeta[c] + (beta_ridge * beta[c]) @ beta[c])
    return value


@njit
def _descend(
    K,  # IN
    signs,  # IN, by labelling
    uniform,  # IN
    chances,  # IN
    weight_step,
    multiplier_step,
    zeta_ridge,  # IN
    beta_ridge,  # IN
    theta,
    bound,
    differences,
    weights,  # INOUT
    zeta,  # INOUT
    beta,  # INOUT
    mean_weights,  # OUT
    mean_zeta,  # OUT
    mean_beta,  # OUT
):
    """Run Algorithm 1 and average its iterates."""
    n_steps, (n_labellings, n_machines, m) = len(uniform), signs.shape
    for t in range(n_steps):
        # 1. Averages of what was before the step.
        mean_weights += weights / n_steps
        mean_zeta += zeta / n_steps
        mean_beta += beta / n_steps
        # 2. Labellings: one drawn evenly for the weights, one by the weights for the multipliers.
        i = uniform[t]
        j = min(np.searchsorted(np.cumsum(weights), chances[t]), n_labellings - 1)
        # 3. The step of the weights, onto the simplex.
        value = _value(K, signs[i], zeta, beta, zeta_ridge, beta_ridge, theta)
        if differences:
            value -= _value(K, signs[j], zeta, beta, zeta_ridge, beta_ridge, theta)
        weights[i] *= np.exp(-weight_step * n_labellings * value)
        weights /= weights.sum()
        # 4. The step of the multipliers, into the box.
        for c in range(n_machines):
            pull = signs[j, c] * (K @ (signs[j, c] * (zeta[c] - beta[c])))
            for s in range(m):
                up = 1 - theta - pull[s] - zeta_ridge[s] * zeta[c, s]
                down = pull[s] - 1 - theta - beta_ridge[s] * beta[c, s]
                zeta[c, s] = min(max(zeta[c, s] + multiplier_step * up, 0.0), bound)
                beta[c, s] = min(max(beta[c, s] + multiplier_step * down, 0.0), bound)


def mirror_saddle(K, signs, machine, *, weights, start, tol, rng):
    """Saddle point with the weights of mirror descent and the best machines for them."""
    if signs.shape[1] > 1:
        found = mirror_descent(K, signs, machine, n_steps=MIRROR_STEPS, steps="practical", rng=rng)
        weights = found.weights
    return find_saddle(K, signs, machine, weights=weights, start=start, tol=tol, max_iter=0)
