"""Mirror descent against its theorem, a plain twin and the dual's definition."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.solvers import mirror_descent as mirror
from separatrix.solvers.label_mixtures import Machine, find_saddle, mixed_kernel, signs_of
from separatrix.solvers.margin_distribution import KernelSpace
from separatrix.solvers.mirror_descent import Dual, mirror_descent, mirror_saddle

MACHINES = [Machine(1.0, 0.5, 0.2), Machine(20.0, 0.2, 0.6), Machine(0.05, 1.0, 0.0)]


def on_all(test):
    """Run a test with each machine, for two and for more clusters."""
    several = pytest.mark.parametrize("n_clusters", [2, 3])
    return several(pytest.mark.parametrize("machine", MACHINES, ids=str)(test))


def dual_of(machine, n_clusters=2, seed=0, n=12, n_labellings=4):
    """The dual of random labellings of even sizes."""
    rng = np.random.default_rng(seed)
    K = rbf_kernel(rng.normal(size=(n, 2)), gamma=0.5)
    labels = [rng.permutation(np.arange(n) % n_clusters) for _ in range(n_labellings)]
    return Dual(K, signs_of(np.array(labels), n_clusters), machine)


def drawn_in_box(dual, rng, corners=False):
    """Multipliers zeta and beta of the box."""
    shape = (2, len(dual.signs), len(dual.K))
    return dual.bound * (rng.integers(2, size=shape) if corners else rng.random(shape))


def slopes_of(dual, k, zeta, beta):
    """Gradient of G of one labelling by zeta and by beta."""
    theta, ridges, y = dual.machine.theta, dual.ridges, dual.signs[:, k]
    pull = y * ((y * (zeta - beta)) @ dual.K)
    return 1 - theta - pull - ridges[0] * zeta, pull - 1 - theta - ridges[1] * beta


def gaps_of(dual, n_steps, steps, n_seeds):
    """Duality gaps of averaged iterates."""
    gaps = []
    for seed in range(n_seeds):
        chance = {"steps": steps, "rng": np.random.RandomState(seed)}
        found = mirror_descent(dual.K, dual.signs, dual.machine, n_steps=n_steps, **chance)
        gaps.append(dual.gap(found.weights, found.zeta, found.beta)[0])
    return np.array(gaps)


# The dual


@on_all
def test_dual_is_that_of_the_paper(machine, n_clusters):
    dual = dual_of(machine, n_clusters)
    zeta, beta = drawn_in_box(dual, np.random.default_rng(1))
    m, theta = len(dual.K), machine.theta
    square = np.append(np.ones(m), np.full(m, 1 / machine.nu))
    linear = np.append(np.full(m, theta - 1), np.full(m, theta + 1))
    expected = np.zeros(4)
    for c, k in np.ndindex(dual.signs.shape[:2]):
        alpha, Q = np.append(zeta[c], beta[c]), dual.K * np.outer(*dual.signs[[c, c], k])
        expected[k] -= 0.5 * alpha @ np.block([[Q, -Q], [-Q, Q]]) @ alpha + linear @ alpha
        expected[k] -= m * (1 - theta) ** 2 / (4 * machine.strength) * alpha @ (square * alpha)
    np.testing.assert_allclose(dual.values(zeta, beta), expected, rtol=1e-12)


@on_all
def test_bounds_hold_in_the_box_and_the_box_holds_all_responses(machine, n_clusters):
    dual, rng = dual_of(machine, n_clusters), np.random.default_rng(2)
    largest, steepest = dual.lipschitz()
    for draw in range(40):
        zeta, beta = drawn_in_box(dual, rng, corners=draw % 2 == 0)
        assert np.abs(dual.values(zeta, beta)).max() <= largest
        for k in range(4):
            assert np.linalg.norm(slopes_of(dual, k, zeta, beta)) <= steepest
    for weights in [*np.eye(4), *rng.dirichlet(np.ones(4), size=10)]:
        for S in dual.signs:
            M = mixed_kernel(dual.K, S, weights)
            alpha = machine.fit(KernelSpace(M), np.ones(len(M))).alpha
            assert np.abs(alpha).max() <= dual.bound


@on_all
def test_gap_of_a_pair_is_that_of_the_saddle_point(machine, n_clusters):
    dual, rng = dual_of(machine, n_clusters), np.random.default_rng(3)
    for max_iter in (0, 1, 50):
        found = find_saddle(dual.K, dual.signs, machine, tol=1e-7, max_iter=max_iter)
        parts = np.maximum(found.alpha, 0), np.maximum(-found.alpha, 0)
        gap, objective = dual.gap(found.weights, *parts)
        assert objective == pytest.approx(found.objective, rel=1e-9)
        assert gap / objective == pytest.approx(found.gap, abs=1e-8)
    for _ in range(5):
        gap, objective = dual.gap(rng.dirichlet(np.ones(4)), *drawn_in_box(dual, rng))
        assert gap >= objective - found.objective >= -1e-6 * objective


# Mirror descent


def drawn_slopes(dual, i, j, zeta, beta, differences):
    """Noisy gradients of Algorithm 1, by the weights, by zeta and by beta."""
    values = dual.values(zeta, beta)
    by_weights = np.zeros(len(values))
    by_weights[i] = len(values) * (values[i] - differences * values[j])
    return by_weights, *slopes_of(dual, j, zeta, beta)


def plain_descent(dual, lengths, n_steps, rng, differences):
    """Averages of Algorithm 1, one line of the paper at a time."""
    n_machines, n_labellings, m = dual.signs.shape
    evenly, chances = rng.randint(n_labellings, size=n_steps), rng.uniform(size=n_steps)
    mu, zeta, beta = np.full(n_labellings, 1 / n_labellings), *np.zeros((2, n_machines, m))
    iterates = []
    for i, chance in zip(evenly, chances, strict=True):
        iterates.append((mu, zeta, beta))
        j = min(np.sum(np.cumsum(mu) < chance), n_labellings - 1)
        by_weights, by_zeta, by_beta = drawn_slopes(dual, i, j, zeta, beta, differences)
        mu = mu * np.exp(-lengths[0] * by_weights)
        mu = mu / mu.sum()
        zeta = np.clip(zeta + lengths[1] * by_zeta, 0, dual.bound)
        beta = np.clip(beta + lengths[1] * by_beta, 0, dual.bound)
    return [np.mean(parts, axis=0) for parts in zip(*iterates, strict=True)]


@on_all
@pytest.mark.parametrize("steps", ["theorem", "practical"])
def test_compiled_steps_are_those_of_a_plain_loop(machine, steps, n_clusters):
    dual, rng = dual_of(machine, n_clusters), np.random.RandomState(5)
    lengths = getattr(mirror, f"{steps}_steps")(dual, 300)
    found = mirror_descent(dual.K, dual.signs, machine, n_steps=300, steps=steps, rng=rng)
    rng = np.random.RandomState(5)
    expected = plain_descent(dual, lengths, 300, rng, steps == "practical")
    for part, other in zip((found.weights, found.zeta, found.beta), expected, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-8, atol=1e-12)


@on_all
def test_drawn_slopes_are_unbiased(machine, n_clusters):
    """Practical ones up to a constant, which the simplex does not see."""
    dual, rng = dual_of(machine, n_clusters, n=6), np.random.default_rng(4)
    (zeta, beta), mu = drawn_in_box(dual, rng), rng.dirichlet(np.ones(4))
    by_alpha = np.zeros((2, *zeta.shape))
    for place in np.ndindex(by_alpha.shape):  # exact for a quadratic function, but for rounding
        move = np.zeros_like(by_alpha)
        move[place] = 1e-3 * dual.bound
        ahead, behind = (dual.values(zeta + s * move[0], beta + s * move[1]) for s in (1, -1))
        by_alpha[place] = mu @ (ahead - behind) / (2 * move[place])
    for differences in (False, True):
        means: list = [0, 0, 0]
        for i, j in np.ndindex(4, 4):
            drawn = drawn_slopes(dual, i, j, zeta, beta, differences)
            means = [mean + mu[j] / 4 * part for mean, part in zip(means, drawn, strict=True)]
        error, size = means[0] - dual.values(zeta, beta), np.abs(means[0]).max()
        assert np.ptp(error) <= 1e-10 * size
        assert differences or np.abs(error).max() <= 1e-10 * size
        np.testing.assert_allclose(means[1:], by_alpha, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("n_clusters", "strength"), [(2, 0.05), (3, 0.2)])
def test_averages_keep_the_bound_of_the_theorem(n_clusters, strength):
    """At numbers of steps where the bound lies below the gap of the start."""
    dual = dual_of(Machine(strength, 1.0, 0.0), n_clusters, n=6, n_labellings=2)
    n_machines, n_labellings, m = dual.signs.shape
    largest, steepest = dual.lipschitz()
    # half the number of multipliers, two for each sample and machine, where the paper has m / 2
    both = n_labellings * largest * np.sqrt(np.log(n_labellings))
    both += steepest * dual.bound * np.sqrt(n_machines * m)
    start, _ = dual.gap(np.full(2, 0.5), *np.zeros((2, n_machines, m)))
    for n_steps in (12_000, 50_000):
        bound = both * np.sqrt(2 / n_steps)
        assert gaps_of(dual, n_steps, "theorem", n_seeds=10).mean() <= bound < start


def test_gap_of_practical_steps_falls_with_the_root_of_their_number(record_property):
    numbers, slopes = [300, 1_000, 3_000, 10_000, 30_000], []
    for seed, (machine, n_clusters) in enumerate(
        [(MACHINES[0], 2), (Machine(10.0, 0.5, 0.2), 2), (Machine(1.0, 0.2, 0.4), 3)]
    ):
        dual = dual_of(machine, n_clusters, seed=seed, n=24, n_labellings=5)
        gaps = [gaps_of(dual, number, "practical", n_seeds=4).mean() for number in numbers]
        slopes.append(float(np.polyfit(np.log(numbers), np.log(gaps), 1)[0]))
    record_property("exponents", slopes)
    assert np.mean(slopes) <= -0.45


def test_labellings_that_symmetry_makes_equal():
    """Three halves of a hexagon, whose quadratic terms are equal at equal weights."""
    angles = np.pi / 3 * np.arange(6)
    K = rbf_kernel(np.column_stack([np.cos(angles), np.sin(angles)]), gamma=0.5)
    halves = np.array([np.roll([0, 0, 0, 1, 1, 1], turn) for turn in range(3)])
    for signs in (signs_of(halves, 2), signs_of(halves[:1], 2)):
        given = {"weights": None, "start": None, "tol": 1e-3, "rng": np.random.RandomState(0)}
        found = mirror_saddle(K, signs, MACHINES[0], **given)
        assert found.weights.sum() == pytest.approx(1)
        assert found.gap <= 1e-2
