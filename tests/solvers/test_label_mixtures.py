"""Labellings and their saddle point against Clarabel, brute force and finite differences."""

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.labels.links import Links, linked_labels
from separatrix.result import Iterations, aligned
from separatrix.solvers import label_mixtures
from separatrix.solvers.label_mixtures import Band, Candidates, Machine, find_saddle, signs_of
from separatrix.solvers.margin_distribution import KernelSpace

GRID = [(1.0, 0.5, 0.2), (100.0, 0.2, 0.6), (10.0, 1.0, 0.0), (10.0,), (1000.0,)]
MACHINES = [Machine(*parameters) for parameters in GRID]


def kernel_of(seed, n, gamma=0.5):
    return rbf_kernel(np.random.default_rng(seed).normal(size=(n, 2)), gamma=gamma)


def problem(seed, n_clusters, n=12, n_labellings=5):
    """A kernel matrix, and signs of random labellings of even sizes."""
    rng = np.random.default_rng(seed)
    labels = [rng.permutation(np.arange(n) % n_clusters) for _ in range(n_labellings)]
    return kernel_of(seed, n), signs_of(np.array(labels), n_clusters)


def value_by_clarabel(K, signs, machine):
    """(4) of the paper in its 2m variables; there is no beta where excess costs nothing."""
    n_machines, n_labellings, m = signs.shape
    values, vectors = np.linalg.eigh(K)
    half = (vectors * np.sqrt(np.maximum(values, 0))).T
    ridge, theta = m * (1 - machine.theta) ** 2 / (4 * machine.strength), machine.theta
    zeta, beta = cp.Variable((n_machines, m), nonneg=True), 0.0
    shared = (1 - theta) * cp.sum(zeta) - ridge * cp.sum_squares(zeta)
    if machine.nu > 0:
        beta = cp.Variable((n_machines, m), nonneg=True)
        shared -= (1 + theta) * cp.sum(beta) + ridge / machine.nu * cp.sum_squares(beta)
    root = cp.Variable()  # of twice the largest quadratic term
    constraints = [
        cp.norm(cp.multiply(signs[:, k], zeta - beta) @ half.T, "fro") <= root
        for k in range(n_labellings)
    ]
    program = cp.Problem(cp.Maximize(shared - 0.5 * cp.square(root)), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of digits beyond those that are compared
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return program.value


def squares_of(K, signs, alpha):
    """Quadratic terms by their definition."""
    turned = signs * alpha[:, None]
    return 0.5 * np.einsum("mki,ij,mkj->k", turned, K, turned)


def objective_of(K, labels, machine, n_clusters):
    """Objective of the machines of one labelling."""
    fits = [machine.fit(KernelSpace(K), y) for y in signs_of(labels, n_clusters)]
    return sum(fit.objective for fit in fits)


def is_member(labels, band):
    """Whether a labelling belongs to B."""
    sizes, (least, most) = np.bincount(labels, minlength=band.n_clusters), band.sizes
    within = (least <= sizes).all() and (sizes <= most).all()
    return within and not band.links.violations(labels)


def numbered(labels):
    """Labels by first appearance."""
    seen: dict = {}
    return tuple(seen.setdefault(int(label), len(seen)) for label in labels)


# The saddle point


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_saddle_point_is_that_of_clarabel(machine, n_clusters):
    """From any weights; and the gap bounds what is missing, also before the first step.

    Labellings may be repeated, or turned, or be one.
    """
    for seed, chosen in enumerate([[0, 1, 2, 3, 4], [0, 0, 1, 2, 2], [0]]):
        K, signs = problem(seed, n_clusters)
        signs = signs[:, chosen]
        if n_clusters == 2:
            signs[:, ::4] *= -1
        value, rng = value_by_clarabel(K, signs, machine), np.random.default_rng(seed)
        size = len(chosen)
        starts = [None, rng.dirichlet(np.full(size, 0.2)), np.eye(size)[-1]]
        for weights, max_iter in itertools.product(starts, (50, 0)):
            limits = {"weights": weights, "tol": 1e-6, "max_iter": max_iter}
            found = find_saddle(K, signs, machine, **limits)
            missing = (found.objective - value) / found.objective
            assert -1e-7 <= missing <= found.gap + 1e-7
            assert found.weights.min() >= 0
            assert found.weights.sum() == pytest.approx(1)
            expected = squares_of(K, signs, found.alpha)
            np.testing.assert_allclose(found.squares, expected, rtol=1e-10)
            violation = (expected.max() - found.weights @ expected) / found.objective
            assert found.violation(expected.max()) == pytest.approx(violation)
            assert found.gap == pytest.approx(violation, abs=1e-9)
            assert found.gap <= 1e-6 or found.n_iter == max_iter == 0


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_slopes_and_curvature_are_those_of_finite_differences(machine, n_clusters, monkeypatch):
    K, signs = problem(3, n_clusters)
    seen, minimum = [], label_mixtures.simplex_minimum

    def spy(*model):
        seen.append(model)
        return minimum(*model)

    monkeypatch.setattr(label_mixtures, "MACHINE_TOL", 1e-11)
    monkeypatch.setattr(label_mixtures, "simplex_minimum", spy)
    find_saddle(K, signs, machine, tol=1e-12, max_iter=1)
    weights, squares, hessian = seen[0]
    for k, step in enumerate(1e-5 * np.eye(5)):
        ahead, behind = (
            find_saddle(K, signs, machine, weights=weights + move, max_iter=0)
            for move in (step, -step)
        )
        assert -squares[k] == pytest.approx((ahead.objective - behind.objective) / 2e-5, rel=1e-5)
        bend = (behind.squares - ahead.squares) / 2e-5
        np.testing.assert_allclose(hessian[k], bend, rtol=1e-3, atol=1e-6 * hessian.max())


# The labellings


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_candidates_that_differ_in_numbering_count_as_one(n_clusters):
    """Also where a labelling agrees with the first one equally well in two numberings."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.integers(n_clusters, size=(30, 6))
        found = Candidates(labels, n_clusters)
        assert found.add(rng.permutation(n_clusters)[one] for one in labels) == 0
        assert len(found) == len({numbered(one) for one in labels})
        first = np.eye(n_clusters)[found.labels[0]]
        for one in found.labels:
            best = aligned(one, first)
            assert np.sum(one == found.labels[0]) == np.sum(best == found.labels[0])


def test_violated_labellings_are_those_of_brute_force_mostly(record_property):
    """For two clusters; for more, never more than brute force, and half of it at least."""
    shares: dict[int, list[bool]] = {2: [], 3: []}
    for seed in range(9):
        n_clusters = 3 if seed % 3 == 0 else 2
        n = 7 if n_clusters == 3 else 7 + seed % 4
        K, rng = kernel_of(seed, n, gamma=(0.2, 1.0)[seed % 2]), np.random.RandomState(seed)
        given = {"must_link": [[0, 1]], "cannot_link": [[2, 3]]} if seed % 4 == 0 else {}
        band = Band(Links.of(n, n_clusters, **given), 0.2)
        every = np.array(
            [one for one in itertools.product(range(n_clusters), repeat=n) if is_member(one, band)]
        )
        for machine in MACHINES[::2]:
            some = Candidates(every[rng.randint(len(every), size=5)], n_clusters)
            alpha = find_saddle(K, some.signs, machine).alpha
            starts = label_mixtures.ascent_starts(K, alpha, some.signs, rng)
            labels, squares = label_mixtures.most_violated(K, alpha, starts, band)
            best = squares_of(K, signs_of(every, n_clusters), alpha).max()
            assert all(is_member(one, band) for one in labels)
            assert 0.5 * best <= squares[0] <= best * (1 + 1e-9)
            shares[n_clusters].append(squares[0] >= best * (1 - 1e-9))
    record_property("shares", [float(np.mean(shares[k])) for k in (2, 3)])
    assert np.mean(shares[2]) >= 0.75


def test_the_saddle_point_is_the_same_where_spaces_are_made_again(monkeypatch):
    K, signs = problem(1, 4, n=20)
    expected = find_saddle(K, signs, MACHINES[1], tol=1e-7)
    monkeypatch.setattr(label_mixtures, "FEW_CLUSTERS", 3)
    found = find_saddle(K, signs, MACHINES[1], tol=1e-7)
    assert found.n_iter == expected.n_iter > 0
    np.testing.assert_array_equal(found.weights, expected.weights)


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_ascent_rises_to_fixed_points(n_clusters):
    for seed in range(6):
        K, signs = problem(seed, n_clusters, n=24)
        given = (
            {"must_link": [[0, 1], [5, 6]], "cannot_link": [[1, 2], [3, 4]]} if seed % 2 else {}
        )
        band = Band(Links.of(24, n_clusters, **given), 0.2)
        alpha = find_saddle(K, signs, MACHINES[1]).alpha
        starts = label_mixtures.ascent_starts(K, alpha, signs, np.random.RandomState(seed))
        labels, squares = label_mixtures.most_violated(K, alpha, starts, band)
        reached = signs_of(labels, n_clusters)
        np.testing.assert_allclose(squares, squares_of(K, reached, alpha), rtol=1e-10)
        assert (np.diff(squares) <= 0).all()
        before = signs_of(np.array([band.nearest(start) for start in starts]), n_clusters)
        risen = squares - np.sort(squares_of(K, before, alpha))[::-1]
        assert risen.min() >= -1e-9 * squares.max()
        slopes = ((reached * alpha[:, None]) @ K) * alpha[:, None]
        after = np.array([band.nearest(slope.T) for slope in slopes.swapaxes(0, 1)])
        further = squares_of(K, signs_of(after, n_clusters), alpha)
        assert (further <= squares * (1 + 1e-9)).all()


def test_starts_that_fall_behind_stop(monkeypatch):
    """Not those that a round would add: they are as good as without the others."""
    K, signs = problem(0, 3, n=24)
    band = Band(Links.of(24, 3), 0.2)
    alpha = find_saddle(K, signs, MACHINES[1]).alpha
    starts = label_mixtures.ascent_starts(K, alpha, signs, np.random.RandomState(0))
    _, all_squares = label_mixtures.most_violated(K, alpha, starts, band)
    monkeypatch.setattr(label_mixtures, "NEW_LABELLINGS", 4)
    labels, squares = label_mixtures.most_violated(K, alpha, starts, band)
    assert len(labels) == len(starts)
    np.testing.assert_allclose(squares, squares_of(K, signs_of(labels, 3), alpha), rtol=1e-10)
    assert (np.diff(squares) <= 0).all()
    assert (squares <= all_squares * (1 + 1e-12)).all()
    reached = label_mixtures.most_violated(K, alpha, np.eye(3)[labels[:1]], band)[1]
    assert reached[0] == pytest.approx(squares[0])


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("machine", MACHINES[::2], ids=str)
def test_generated_labellings(machine, n_clusters, linked):
    given = {"must_link": [[0, 1], [1, 5]], "cannot_link": [[1, 2], [3, 4]]} if linked else {}
    for seed, balance in enumerate((0.0, 0.2)):
        K, band = kernel_of(seed, 24), Band(Links.of(24, n_clusters, **given), balance)
        iterations, rng = Iterations(4), np.random.RandomState(0)
        limits = {"max_labellings": 20, "tol": 1e-4, "iterations": iterations, "rng": rng}
        found = label_mixtures.generate(K, machine, band, solve=find_saddle, **limits)
        labels, saddle = found.candidates.labels, found.saddle
        # 1. The objective falls, up to the gap that the solver leaves, until nothing violates it.
        history = np.array(iterations.history)
        assert (history[1:] <= history[:-1] * (1 + 1e-4)).all()
        assert saddle.objective == history[-1]
        assert saddle.gap <= 1e-4
        assert found.violation <= 1e-4 or iterations.n_iter == 4 or len(labels) >= 20
        # 2. No labelling beats it by more than the gap.
        objectives = [objective_of(K, one, machine, n_clusters) for one in labels]
        assert min(objectives) >= saddle.objective * (1 - saddle.gap - 1e-9)
        # 3. All are different members of B.
        assert len({numbered(one) for one in labels}) == len(labels) == len(saddle.weights)
        assert all(is_member(one, band) for one in labels)


def test_many_clusters_are_found_from_few_starts():
    """As many machines as clusters are fitted from each start, so that twenty starts take long."""
    n_clusters, rng = 25, np.random.default_rng(0)
    truth = np.arange(150) % n_clusters
    X = 4.0 * np.stack([truth % 5, truth // 5], axis=1) + rng.normal(size=(150, 2))
    K, band = rbf_kernel(X, gamma=0.1), Band(Links.of(150, n_clusters), 0.3)
    found = label_mixtures.pool(K, MACHINES[3], band, np.random.RandomState(0))
    assert len(found) <= 4
    assert all(is_member(one, band) for one in found.labels)
    assert max(adjusted_rand_score(truth, one) for one in found.labels) > 0.6
    signs = signs_of(np.array(found.labels), n_clusters)
    assert len(label_mixtures.ascent_starts(K, np.ones((25, 150)), signs, rng)) == len(found)


# The readouts


def ballots(seed, n_clusters, n=41):
    """Noisy copies of one labelling in random numberings, and their weights."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % n_clusters)
    copies = np.where(rng.random((7, n)) < 0.25, rng.integers(n_clusters, size=(7, n)), truth)
    renamed = [rng.permutation(n_clusters)[one] for one in copies]
    return np.array(renamed), rng.dirichlet(np.ones(7))


def test_readouts_of_two_clusters_are_an_eigenvector_and_the_sign_of_a_sum():
    for seed in range(10):
        labels, weights = ballots(seed, 2)
        y = 2.0 * labels - 1
        leading = np.linalg.eigh((y.T * weights) @ y)[1][:, -1]
        found = np.diff(label_mixtures.consensus(labels, weights, 2))[:, 0]
        assert abs(found @ leading) == pytest.approx(np.linalg.norm(found), rel=1e-6)
        turned = y * np.sign(y @ y[weights.argmax()])[:, None]
        shares = label_mixtures.vote(labels, weights, 2)
        np.testing.assert_allclose(np.diff(shares)[:, 0], weights @ turned, atol=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_the_best_labelling_is_that_of_brute_force(machine, n_clusters):
    """Also far from the saddle point; bounds hold wherever it is sought."""
    for seed, max_iter in itertools.product(range(3), (0, 50)):
        rng = np.random.default_rng(seed)
        labels = [rng.permutation(np.arange(12) % n_clusters) for _ in range(8)]
        K, signs = kernel_of(seed, 12), signs_of(np.array(labels), n_clusters)
        saddle = find_saddle(K, signs, machine, max_iter=max_iter)
        objectives = np.array([objective_of(K, one, machine, n_clusters) for one in labels])
        assert (saddle.lower_bounds <= objectives * (1 + 1e-9)).all()
        found = label_mixtures.best_labelling(KernelSpace(K), machine, labels, saddle, n_clusters)
        np.testing.assert_array_equal(found, labels[objectives.argmin()])


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_first_step_bounds_the_objective_of_a_labelling(machine, n_clusters):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        labels = [rng.permutation(np.arange(12) % n_clusters) for _ in range(4)]
        K = kernel_of(seed, 12)
        steps, bounds = label_mixtures.first_steps(KernelSpace(K), machine, labels, n_clusters)
        objectives = np.array([objective_of(K, one, machine, n_clusters) for one in labels])
        assert (bounds <= objectives * (1 + 1e-9)).all()
        for coef, one in zip(steps, labels, strict=True):
            fitted = machine.fit_labels(KernelSpace(K), one, n_clusters, list(coef))
            total = label_mixtures.objective_of(fitted)
            assert total == pytest.approx(objective_of(K, one, machine, n_clusters), rel=1e-6)


def test_a_first_step_bounds_closely_where_few_margins_are_large():
    """So that most labellings need no fit."""
    machine = Machine(5.0, nu=0.5, theta=0.2)
    labels = [np.random.default_rng(seed).permutation(np.arange(40) % 4) for seed in range(5)]
    K = kernel_of(0, 40)
    _, bounds = label_mixtures.first_steps(KernelSpace(K), machine, labels, 4)
    objectives = np.array([objective_of(K, one, machine, 4) for one in labels])
    assert (bounds <= objectives * (1 + 1e-9)).all()
    np.testing.assert_allclose(bounds, objectives, rtol=0.01)


@pytest.mark.parametrize("rule", [label_mixtures.vote, label_mixtures.consensus])
@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_readouts_do_not_depend_on_numbering_and_order(n_clusters, rule):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        labels, weights = ballots(seed, n_clusters)
        expected = numbered(rule(labels, weights, n_clusters).argmax(axis=1))
        renamed = np.array([rng.permutation(n_clusters)[one] for one in labels])
        order = rng.permutation(len(labels))
        turned = rule(renamed[order], weights[order], n_clusters)
        assert numbered(turned.argmax(axis=1)) == expected


def sizes_of(labellings):
    """Sizes of both clusters of labellings."""
    return np.column_stack([(labellings == cluster).sum(axis=1) for cluster in (0, 1)])


@pytest.mark.parametrize("balance", [0.0, 0.2, 0.6, 1.0])
def test_labels_without_links_are_those_of_brute_force_and_of_the_search_with_links(balance):
    """Ties and zeros too: whole scores have many."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 10))
        scores = rng.integers(-2, 3, size=(6, n, 1)) + (seed % 2) * rng.normal(size=(6, n, 1))
        links = Links.of(n, 2)
        band = Band(links, balance)
        least, most = band.sizes
        tried = np.array(list(itertools.product((0, 1), repeat=n)))
        tried = tried[[np.all((least <= size) & (size <= most)) for size in sizes_of(tried)]]
        for labels, score in zip(band.nearest_of_each(scores), scores[:, :, 0], strict=True):
            (size,) = sizes_of(labels[None])
            assert np.all((least <= size) & (size <= most))
            assert labels @ score == pytest.approx((tried @ score).max(), abs=1e-12)
            linked = linked_labels(score, links, min_size=least, max_size=most)
            np.testing.assert_array_equal(labels, linked.labels)


@pytest.mark.parametrize("balance", [0.0, 0.2, 0.6])
def test_labels_of_three_clusters_are_those_of_brute_force(balance):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 8))
        scores = rng.integers(-2, 3, size=(3, n, 3)) + (seed % 2) * rng.normal(size=(3, n, 3))
        band = Band(Links.of(n, 3), balance)
        every = itertools.product(range(3), repeat=n)
        tried = np.array([one for one in every if is_member(np.array(one), band)])
        for labels, score in zip(band.nearest_of_each(scores), scores, strict=True):
            assert is_member(labels, band)
            best = score[np.arange(n), tried].sum(axis=1).max()
            assert score[np.arange(n), labels].sum() == pytest.approx(best)


@pytest.mark.parametrize("balance", [0.0, 0.2, 0.6])
def test_groups_that_are_bound_go_where_brute_force_sends_them(balance):
    """As near to balance as they can be, and of those labellings the one of the largest score."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        place = np.r_[np.arange(6), rng.integers(rng.integers(1, 7), size=8)]
        scores = rng.normal(size=(14, 1))
        band = Band(Links.of(14, 2), balance)
        found = band.binding(place).nearest(scores)

        tried = np.array(list(itertools.product((0, 1), repeat=6)))[:, place]
        sizes = sizes_of(tried)
        least, most = band.sizes
        outside = np.maximum(np.maximum(least - sizes, sizes - most), 0).max(axis=1)
        nearest = tried[outside == outside.min()]
        np.testing.assert_array_equal(found, nearest[(nearest @ scores[:, 0]).argmax()])


@pytest.mark.parametrize("size", [0.0, 1e-320, 1e-300, 1.0, 1e300])
def test_the_minimum_on_the_simplex_without_curvature(size):
    weights, descent = np.full(3, 1 / 3), size * np.array([0.0, 2.0, 1.0])
    found = label_mixtures.simplex_minimum(weights, descent, np.zeros((3, 3)))
    expected = weights if size == 0 else [0.0, 1.0, 0.0]
    np.testing.assert_allclose(found, expected, atol=1e-6)
