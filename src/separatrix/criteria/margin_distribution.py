"""Optimal margin distribution clustering: labellings whose margins are all of one size."""

from dataclasses import dataclass
from functools import partial
from numbers import Real

import numpy as np

from separatrix._numba import njit
from separatrix._sklearn import Interval, StrOptions
from separatrix.base import BaseDiscriminativeClustering
from separatrix.criteria.label_generation import LABELLING_CONSTRAINTS, LabellingsMixin
from separatrix.criteria.margin_distribution_machine import KernelSpace
from separatrix.labellings import Machine, mixed_kernels, solve_saddle

__all__ = ["OptimalMarginDistributionClustering", "mirror_descent"]

# Steps of mirror descent that an estimator takes in each round.
MIRROR_STEPS = 20_000
# Practical steps: how much longer those of the weights are than noise suggests, and up to how many
# of them those of the multipliers have full length.
WEIGHT_PACE = 3.0
FULL_STEPS = 1_000


class OptimalMarginDistributionClustering(LabellingsMixin, BaseDiscriminativeClustering):
    r"""Clusters of similar size whose samples all have margins of about the same size.

    The smallest margin depends on few samples. Here margins are to have a large mean and a small
    variance [1]_: a sample costs nothing while its margin lies between 1 - theta and 1 + theta,
    and the square of what is missing or in excess otherwise. As in label generation clustering,
    the labelling is replaced by a mix of generated ones, which makes the problem convex.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    C : float, default=1.0
        Weight of the mean loss against the margin, the paper's lambda.
    nu : float, default=0.5
        Weight of what margins are in excess, relative to what they miss; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone in which margins cost nothing; 0 <= theta < 1.
    balance : float, default=0.2
        Largest difference in size of two clusters as a share of all samples. More than two hold
        (1 - balance) / k to (1 + balance) / k of the samples each, up to one sample.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. For the linear kernel samples are centred.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.5)
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    solver : {"newton", "mirror-descent"}, default="newton"
        What finds the weights of labellings: Newton's method to a certified gap, or the noisy
        steps of the paper, 20,000 in each round, of practical length.
    readout : {"consensus", "vote", "best"}, default="consensus"
        How one labelling comes of many: by a vote in which labellings count the more, the better
        they agree with its outcome; by the weighted vote of the paper, with labellings turned
        towards the one of the largest weight; or the one of the least objective.
    max_labellings : int, default=50
        Most labellings to generate, beside the spectral splits, k-means clusterings and fixed
        points of alternating updates to begin with.
    n_search : int, default=1000
        Up to this many samples the search is exact on all. Beyond, it runs on a random sample of
        as many, at most 2,000, whose classifiers label the others.
    n_components : int, default=200
        Most features that stand for a kernel beyond `n_search` samples.
    max_iter : int, default=10
        Most rounds, each of which adds up to five labellings.
    tol : float, default=1e-3
        Largest duality gap relative to the objective.
    random_state : int, RandomState instance or None, default=None
        Draws samples and starts; None draws the same ones each time.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first; `predict` of the training data, except
        where links bind.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel; one row for two clusters.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    objective_ : float
        Objective of the machines of the labels: smaller is better.
    lower_bound_ : float
        Objective of the mix: no labelling among those generated has a smaller one.
    duality_gap_ : float
        Distance of the mix from the best mix of the generated labellings, relative to its
        objective.
    violation_ : float
        The same for the most violated labelling that could still be found.
    labellings_ : ndarray of shape (n_labellings, n_searched)
        The labellings.
    labelling_weights_ : ndarray of shape (n_labellings,)
        Their weights.
    searched_ : ndarray of shape (n_searched,)
        Indices of the samples that were searched.
    history_ : list of float
        Objective of the mix after each round.
    gamma_ : float
        Kernel coefficient; nan for kernels without one.
    n_iter_ : int
        Rounds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    LabelGenerationMarginClustering : The same with the loss of support vector machines.
    OptimalMarginDistributionMachine : The classifier for known labels.

    Notes
    -----
    The paper has two clusters and leaves open where the candidate labellings come from. For more
    clusters there is one machine for each against the rest, and the objectives add up. The larger
    C, the looser is the relaxation: `violation_` then says that labellings were still being found
    when `max_labellings` or `max_iter` ended the search.

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import OptimalMarginDistributionClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = OptimalMarginDistributionClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: dict = {
        **BaseDiscriminativeClustering._parameter_constraints,
        **LABELLING_CONSTRAINTS,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "solver": [StrOptions({"newton", "mirror-descent"})],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C=1.0,
        nu=0.5,
        theta=0.2,
        balance=0.2,
        kernel="rbf",
        gamma=("mean", 0.5),
        degree=3,
        coef0=1,
        solver="newton",
        readout="consensus",
        max_labellings=50,
        n_search=1000,
        n_components=200,
        max_iter=10,
        tol=1e-3,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.nu = nu
        self.theta = theta
        self.balance = balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.readout = readout
        self.max_labellings = max_labellings
        self.n_search = n_search
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _machine(self):
        return Machine(self.C, self.nu, self.theta)

    def _solver(self, rng):
        return solve_saddle if self.solver == "newton" else partial(mirror_saddle, rng=rng)


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
        """Weights of the squares of zeta and of beta in (3), times two."""
        m, machine = len(self.K), self.machine
        ridge = m * (1 - machine.theta) ** 2 / (2 * machine.C)
        return ridge, ridge / machine.nu

    def values(self, zeta, beta):
        """G of each labelling, at multipliers of shape (n_machines, n_samples)."""
        theta, ridges = self.machine.theta, self.ridges
        W = self.signs * (zeta - beta)[:, None]
        squares = 0.5 * np.einsum("mij,mij->i", W @ self.K, W)
        shared = (1 - theta) * zeta.sum() - (1 + theta) * beta.sum()
        shared -= 0.5 * (ridges[0] * np.sum(zeta**2) + ridges[1] * np.sum(beta**2))
        return shared - squares

    @property
    def bound(self):
        """A box that holds the solution, the paper's tau: an objective above C is worse than 0."""
        return 2 * self.machine.C / (np.sqrt(len(self.K)) * (1 - self.machine.theta))

    def lipschitz(self):
        """Bounds L1 of G and L2 of the norm of its gradient in the box."""
        theta, ridges, tau = self.machine.theta, self.ridges, self.bound
        n_machines, _, m = self.signs.shape
        rows = np.abs(self.K).sum(axis=1)
        largest = n_machines * tau * (0.5 * tau * rows.sum() + m * (2 + 0.5 * tau * sum(ridges)))
        pulls = [tau * (rows + ridges[0]) + 1 - theta, tau * (rows + ridges[1]) + 1 + theta]
        return largest, float(np.sqrt(n_machines * np.sum(np.square(pulls))))

    def gap(self, weights, zeta, beta):
        """Duality gap (9) of a pair, exact, and the objective of its weights."""
        ones = np.ones(len(self.K))
        mixed = mixed_kernels(self.K, self.signs, weights)
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
    """Lengths of steps with sizes that occur in place of those that cannot be excluded.

    Theorem 1 asks for bounds of G and of its gradient on the whole box. They are met far from the
    saddle point, if at all. Here the weights go by how much G differs between labellings at equal
    weights, and the multipliers by the curvature of G.
    """
    _, n_labellings, _ = dual.signs.shape
    equal = solve_saddle(dual.K, dual.signs, dual.machine, max_iter=0)
    # labellings that symmetry makes equal at first differ later
    spread = max(np.ptp(equal.squares), 1e-2 * equal.squares.max())
    differences = n_labellings * spread / np.sqrt(np.log(n_labellings))
    curvature = np.linalg.norm(dual.K, 2) + max(dual.ridges)
    few = min(1.0, np.sqrt(FULL_STEPS / n_steps))
    return WEIGHT_PACE * np.sqrt(2 / n_steps) / differences, few / curvature


def mirror_descent(K, signs, machine, *, n_steps, steps, rng):
    r"""Weights of labellings at the saddle point, by Algorithm 1 of the paper.

    .. math:: \mu_{t+1} \propto \mu_t \exp(-\eta\, \partial_\mu \tilde\varphi / a), \qquad
              \alpha_{t+1} = \min(\max(\alpha_t + \eta\, \partial_\alpha \tilde\varphi / b, 0),
              \tau)

    with one labelling drawn at random for either gradient. Practical steps, moreover, take from G
    of the first its value at the second: gradients stay the same on the simplex, with less noise.
    Returned are the averages of the
    iterates, which Theorem 1 speaks of: their duality gap is at most
    :math:`(|B| L_1 \sqrt{\log |B|} + L_2 \tau \sqrt{m}) \sqrt{2 / T}` in expectation, with
    the number 2m of multipliers where the paper has m.

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
    zeta_ridge,
    beta_ridge,
    theta,
):
    """G of one labelling."""
    value = 0.0
    for c in range(len(signs)):
        turned = signs[c] * (zeta[c] - beta[c])
        value -= 0.5 * (turned @ (K @ turned))
        value += (1 - theta) * zeta[c].sum() - (1 + theta) * beta[c].sum()
        value -= 0.5 * (zeta_ridge * (zeta[c] @ zeta[c]) + beta_ridge * (beta[c] @ beta[c]))
    return value


@njit
def _descend(
    K,  # IN
    signs,  # IN, by labelling
    uniform,  # IN
    chances,  # IN
    weight_step,
    multiplier_step,
    zeta_ridge,
    beta_ridge,
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
                up = 1 - theta - pull[s] - zeta_ridge * zeta[c, s]
                down = pull[s] - 1 - theta - beta_ridge * beta[c, s]
                zeta[c, s] = min(max(zeta[c, s] + multiplier_step * up, 0.0), bound)
                beta[c, s] = min(max(beta[c, s] + multiplier_step * down, 0.0), bound)


def mirror_saddle(K, signs, machine, *, weights, start, tol, rng):
    """Saddle point with the weights of mirror descent and the machines that answer them."""
    if signs.shape[1] > 1:
        found = mirror_descent(K, signs, machine, n_steps=MIRROR_STEPS, steps="practical", rng=rng)
        weights = found.weights
    return solve_saddle(K, signs, machine, weights=weights, start=start, tol=tol, max_iter=0)
