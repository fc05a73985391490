"""Symmetries against brute force, and the paper's claims on stability and error, one by one."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq

from separatrix import stability
from separatrix.metrics import hamming_clustering_distance
from separatrix.stability import (
    _InvolutionSearch,
    _pairs,
    clustering_error_bound,
    finite_sample_stability,
)

SIGMA = 1 / math.sqrt(2)
SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]
RECTANGLE = [[0, 0], [1, 0], [1, 0.5], [0, 0.5]]
A, B = math.sqrt(math.log(5 / 3)), math.sqrt(math.log(2))
KITE = [[0, 0], [A, 0], [math.sqrt(math.log(10 / 3)), 0], [A, B]]


def gaussian(points, sigma=SIGMA):
    points = np.asarray(points, dtype=float)
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * sigma**2))


def random_symmetric(rng, n, n_values=None):
    """Of real numbers, or of few whole ones, which makes symmetries by chance."""
    Q = rng.normal(size=(n, n)) if n_values is None else rng.integers(0, n_values, size=(n, n))
    return np.triu(Q) + np.triu(Q, 1).T + n * np.eye(n)


def all_involutions(n):
    """Every permutation that is its own inverse, but the identity."""
    for phi in itertools.permutations(range(n)):
        if any(phi[k] != k for k in range(n)) and all(phi[phi[k]] == k for k in range(n)):
            yield phi


def brute_symmetries(Q):
    return {
        phi
        for phi in all_involutions(len(Q))
        if np.allclose(Q[np.ix_(phi, phi)], Q, rtol=0, atol=1e-9 * np.abs(Q).max())
    }


def found_symmetries(Q):
    search = _InvolutionSearch(Q, 1e-9 * np.abs(Q).max())
    found = [tuple(phi.tolist()) for phi in search.swapping(_pairs(np.ones(Q.shape, bool)))]
    assert not search.gave_up
    assert len(set(found)) == len(found)
    return set(found)


def planted(rng, n):
    """A random matrix made symmetric under a random involution, with the involution."""
    order = rng.permutation(n)
    phi = np.arange(n)
    n_pairs = int(rng.integers(1, n // 2 + 1))
    first, second = order[:n_pairs], order[n_pairs : 2 * n_pairs]
    phi[first], phi[second] = second, first
    Q = random_symmetric(rng, n)
    return (Q + Q[np.ix_(phi, phi)]) / 2, phi


def si_symmetric(Q, tol=1e-10):
    """Definition 5 as it stands: all sign vectors, all proper subsets K."""
    n = len(Q)
    assert n <= 10
    for delta in itertools.product([-1, 1], repeat=n):
        for in_K in itertools.product([False, True], repeat=n):
            if not any(in_K) or all(in_K):
                continue
            a = np.where(in_K, delta, 0)
            if abs(a @ Q @ (delta - a)) <= tol * np.abs(Q).max():
                return True
    return False


def objective(h, Q, reg):
    return -2 * np.abs(h).sum() + reg * h @ Q @ h


def stationary(Q, reg, y):
    """Unit h with (reg Q - eta I) h = y, and eta below reg times the least eigenvalue."""
    values, vectors = np.linalg.eigh(Q)
    y = np.asarray(y, dtype=float)
    along = vectors.T @ y

    def excess(eta):
        return np.sum((along / (reg * values - eta)) ** 2) - 1

    top = reg * values[0]
    eta = brentq(excess, top - 2 * np.linalg.norm(y), top - 1e-10)
    return vectors @ (along / (reg * values - eta)), eta


def minimum(Q, reg, y, max_iter=100):
    """A stationary point whose signs agree with y, by repetition from a start."""
    for _ in range(max_iter):
        h, eta = stationary(Q, reg, y)
        if np.array_equal(np.sign(h), y):
            return h, eta
        y = np.sign(h)
    raise AssertionError("no fixed point")


# Isolated samples and eigenvalues.


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_isolated_samples(convert):
    Q = np.eye(5) * [1, 2, 3, 4, 0]
    Q[0, 2] = Q[2, 0] = 0.5
    found = finite_sample_stability(convert(Q))
    # Sample 4 has no positive diagonal, so Definition 4 does not call it isolated.
    assert found.isolated.tolist() == [1, 3]
    assert not found.irreducible
    assert "Isolated: 1, 3." in str(found)
    assert finite_sample_stability(convert(Q + 0.1)).irreducible


def test_links_below_the_tolerance_are_none():
    Q = np.array([[1.0, 0.5, 1e-12], [0.5, 2.0, 0.0], [1e-12, 0.0, 1.0]])
    assert finite_sample_stability(Q).isolated.tolist() == [2]
    assert finite_sample_stability(Q, tol=1e-13).irreducible


def test_anisotropy_is_the_relative_gap_of_eigenvalues():
    basis, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))

    def with_eigenvalues(values):
        return finite_sample_stability(basis * values @ basis.T)

    distinct = with_eigenvalues([1, 2, 3, 10])
    assert distinct.anisotropic
    assert distinct.smallest_gap == pytest.approx(0.1)
    assert not with_eigenvalues([1, 2, 2, 10]).anisotropic
    assert not with_eigenvalues([1, 2, 2 + 1e-9, 10]).anisotropic
    assert with_eigenvalues([-10, 2, 2 + 1e-7, 3]).anisotropic
    assert finite_sample_stability([[3.0]]).anisotropic
    assert not finite_sample_stability(np.zeros((3, 3))).anisotropic


def test_eigenvalues_of_large_matrices_are_left_out(monkeypatch):
    monkeypatch.setattr(stability, "_MAX_SPECTRUM", 3)
    found = finite_sample_stability(np.eye(4))
    assert found.anisotropic is None
    assert found.smallest_gap is None
    assert "not computed" in str(found)


# Symmetries.


@pytest.mark.parametrize("n", range(1, 8))
def test_search_lists_exactly_the_symmetries(n):
    rng = np.random.default_rng(n)
    for trial in range(12):
        Q = random_symmetric(rng, n, n_values=[2, 3, None][trial % 3])
        assert found_symmetries(Q) == brute_symmetries(Q)
        if n > 1:
            Q, phi = planted(rng, n)
            symmetries = found_symmetries(Q)
            assert symmetries == brute_symmetries(Q)
            assert tuple(phi.tolist()) in symmetries


@pytest.mark.parametrize("n", [4, 5, 6, 7])
def test_twin_is_found_where_brute_force_finds_one(n):
    rng = np.random.default_rng(n)
    n_twins = 0
    for trial in range(30):
        Q = planted(rng, n)[0] if trial % 2 else random_symmetric(rng, n, n_values=2)
        h = rng.normal(size=n)
        symmetries = brute_symmetries(Q)
        twins = [phi for phi in symmetries if hamming_clustering_distance(h, h[list(phi)])]
        found = finite_sample_stability(Q, h)
        assert found.axisymmetry_checked
        assert found.twin_checked
        assert (found.axisymmetry is not None) == bool(symmetries)
        assert (found.twin is not None) == bool(twins)
        if found.twin is not None:
            n_twins += 1
            twin = h[found.axisymmetry]
            np.testing.assert_array_equal(found.twin, np.sign(twin))
            assert hamming_clustering_distance(h, found.twin) >= 1
            assert objective(twin, Q, 0.7) == pytest.approx(objective(h, Q, 0.7), rel=1e-12)
    assert 5 < n_twins < 30


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_symmetries_hold_up_to_the_tolerance(convert):
    rng = np.random.default_rng(3)
    Q, phi = planted(rng, 12)
    noise = random_symmetric(rng, 12) / np.abs(random_symmetric(rng, 12)).max()
    within = finite_sample_stability(convert(Q + 1e-11 * noise))
    np.testing.assert_array_equal(within.axisymmetry, phi)
    beyond = finite_sample_stability(convert(Q + 1e-5 * noise))
    assert beyond.axisymmetry is None
    assert beyond.axisymmetry_checked
    assert "No symmetry: no swap" in str(beyond)


def test_a_chain_of_close_entries_makes_no_symmetry():
    """Neighbours in 0, 0.9, 1.8 are within a tolerance of 1, the ends are not."""
    Q = np.array([[100, 0.9, 0.0], [0.9, 100, 1.8], [0.0, 1.8, 150]])
    found = finite_sample_stability(Q, tol=1 / 150)
    assert found.axisymmetry is None
    assert found.axisymmetry_checked
    Q[1, 2] = Q[2, 1] = 0.9
    assert finite_sample_stability(Q, tol=1 / 150).axisymmetry.tolist() == [1, 0, 2]


def highly_symmetric():
    n = 60
    angles = 2 * np.pi * np.arange(n) / n
    grid = np.array(list(itertools.product(range(6), range(10))))
    cells = np.array([(i, j, (i + j) % 7) for i in range(7) for j in range(7)])
    return {
        "all equal": np.eye(n) + 1,
        "identity": np.eye(n),
        "zero": np.zeros((n, n)),
        "ring": gaussian(np.c_[np.cos(angles), np.sin(angles)]),
        "grid": gaussian(grid),
        "cube": gaussian(list(itertools.product(range(2), repeat=5))),
        "blocks": np.kron(np.eye(6), np.ones((10, 10))) + np.eye(n),
        "Latin square": (cells[:, None] == cells).sum(axis=2).astype(float),
    }


@pytest.mark.parametrize("name", highly_symmetric())
def test_highly_symmetric_matrices_end(name):
    Q = highly_symmetric()[name]
    h = np.random.default_rng(0).normal(size=len(Q))
    assert finite_sample_stability(Q).axisymmetry is not None
    found = finite_sample_stability(Q, h)
    phi = found.axisymmetry
    np.testing.assert_array_equal(phi[phi], np.arange(len(Q)))
    np.testing.assert_allclose(Q[np.ix_(phi, phi)], Q, atol=1e-9)
    assert hamming_clustering_distance(h, found.twin) >= 1


def test_the_exception_of_the_twin_theorem_is_certain_at_once():
    """Blocks that swap as a whole: 30! symmetries, each of them flips all signs."""
    Q = np.kron(np.eye(2), np.ones((30, 30))) + np.eye(60)
    found = finite_sample_stability(Q, np.repeat([0.3, -0.2], 30))
    assert found.axisymmetry is not None
    assert found.twin is None
    assert found.twin_checked
    assert "No symmetry turns the partition" in str(found)


def test_what_is_not_searched_is_not_claimed(monkeypatch):
    Q, h = np.eye(6) + 1, np.array([1.0, -1, 1, -1, 1, 1])
    found = finite_sample_stability(Q, h, max_samples=5)
    assert found.axisymmetry is None
    assert found.twin is None
    assert not found.axisymmetry_checked
    assert found.twin_checked is False
    assert "Symmetry: not known" in str(found)
    assert "is not known" in str(found).splitlines()[-1]
    assert finite_sample_stability(Q, max_samples=5).twin_checked is None

    monkeypatch.setattr(
        stability, "_InvolutionSearch", lambda *args: _InvolutionSearch(*args, max_nodes=2)
    )
    found = finite_sample_stability(Q, h)
    assert not found.axisymmetry_checked
    assert found.twin_checked is False


def test_search_ends_at_the_node_limit():
    search = _InvolutionSearch(np.eye(60) + 1, 1e-9, max_nodes=500)
    found = list(search.swapping(_pairs(np.ones((60, 60), bool))))
    assert search.gave_up
    assert search.nodes_left == 0
    assert len(found) > 10


@pytest.mark.parametrize(
    ("Q", "options", "message"),
    [
        (np.ones((2, 3)), {}, r"Q has shape \(2, 3\)"),
        (np.array([[1.0, 2.0], [3.0, 1.0]]), {}, "Q differs from its transpose by 1,"),
        (np.eye(3), {"h": [1.0, 2.0]}, "h has 2 entries for 3 samples"),
        (np.eye(2), {"h": [1.0, np.nan]}, "h has 1 of 2 entries NaN or infinite"),
        (np.eye(2), {"h": np.eye(2)}, r"h has shape \(2, 2\)"),
        (np.eye(2), {"tol": -1.0}, "tol=-1.0 must lie in"),
    ],
)
def test_what_cannot_be_searched_is_refused(Q, options, message):
    with pytest.raises(ValueError, match=message):
        finite_sample_stability(Q, **options)


# The claims of the paper.


def test_figure_2_square():
    Q = gaussian(SQUARE)
    mirrors = {(1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0)}
    assert found_symmetries(Q) == mirrors | {(0, 3, 2, 1), (2, 1, 0, 3)}
    assert si_symmetric(Q)
    found = finite_sample_stability(Q, [1.0, -1, -1, 1])
    assert found.irreducible
    assert not found.anisotropic
    assert hamming_clustering_distance(found.twin, [1, 1, -1, -1]) == 0
    assert "The partition is not unique" in str(found)


def test_figure_2_rectangle():
    Q = gaussian(RECTANGLE)
    assert found_symmetries(Q) == {(1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0)}
    assert si_symmetric(Q)
    for h in ([1.0, -1, -1, 1], [1.0, 1, -1, -1], [1.0, -1, 1, -1]):
        found = finite_sample_stability(Q, h)
        assert found.irreducible
        assert found.anisotropic
        assert found.axisymmetry is not None
        assert found.twin is None
        assert found.twin_checked


@pytest.mark.parametrize(
    ("laplacian", "best"),
    # Of the even partitions. The paper names the first, which is not that of a kernel matrix.
    [(True, [1, -1, -1, 1]), (False, [1, -1, 1, -1])],
)
def test_figure_2_rectangle_has_one_best_even_partition(laplacian, best):
    Q = gaussian(RECTANGLE)
    if laplacian:
        Q = np.diag(Q.sum(axis=1)) - Q
    evens = [[1, -1, -1, 1], [1, 1, -1, -1], [1, -1, 1, -1]]
    values = sorted((objective(stationary(Q, 0.1, y)[0], Q, 0.1), y) for y in evens)
    assert values[0][1] == best
    assert values[0][0] < values[1][0] - 1e-3


def test_figure_2_kite():
    Q = gaussian(KITE)
    assert Q[0, 1] == pytest.approx(Q[0, 2] + Q[0, 3])
    assert si_symmetric(Q)
    found = finite_sample_stability(Q)
    assert found.irreducible
    assert found.anisotropic
    assert found.axisymmetry is None
    assert found.axisymmetry_checked
    assert not si_symmetric(gaussian(KITE, sigma=1.0))


def test_figure_2_kite_is_si_symmetric_at_other_widths():
    """The paper: "SI-asymmetric whenever sigma differs from 1/sqrt 2". It is not."""

    def balance(sigma):
        Q = gaussian(KITE, sigma)
        return Q[1, 2] - Q[1, 0] - Q[1, 3]

    sigma = brentq(balance, 0.5, 0.7, xtol=1e-15)
    assert sigma == pytest.approx(0.569275, abs=1e-6)
    assert si_symmetric(gaussian(KITE, sigma))


@pytest.mark.parametrize("n", [3, 4, 5])
def test_theorem_10(n):
    rng = np.random.default_rng(n)
    assert not si_symmetric(random_symmetric(rng, n))
    assert si_symmetric(planted(rng, n)[0])
    reducible = random_symmetric(rng, n)
    reducible[0, 1:] = reducible[1:, 0] = 0
    assert si_symmetric(reducible)


def test_theorem_10_needs_three_samples():
    Q = np.array([[1.0, 0.5], [0.5, 1.0]])
    found = finite_sample_stability(Q)
    assert found.axisymmetry is not None
    assert not si_symmetric(Q)
    assert found.si_symmetry is None
    assert found.si_symmetry_checked


def si_difference(Q, pair):
    """Both sides of (19) for the samples in which two partitions differ: left less right."""
    delta, inside = pair[0], pair[0] == pair[1]
    links, alike = Q[np.ix_(inside, ~inside)], delta[inside][:, None] == delta[~inside]
    assert 0 < inside.sum() < len(Q)
    return links[alike].sum() - links[~alike].sum()


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_si_symmetry_is_that_of_definition_5(n, convert):
    """Where brute force over all signs and sets finds some, so does the report, with a witness."""
    answers = set()
    for seed in range(8):
        rng = np.random.default_rng(100 * n + seed)
        Q = random_symmetric(rng, n, n_values=None if seed % 2 else 50).astype(float)
        found = finite_sample_stability(convert(Q))
        assert found.si_symmetry_checked
        answers.add(found.si_symmetry is not None)
        assert (found.si_symmetry is not None) == si_symmetric(Q, tol=1e-9)
        if found.si_symmetry is None:
            assert "SI-asymmetric" in str(found)
        else:
            assert abs(si_difference(Q, found.si_symmetry)) <= 1e-7
            assert "SI-symmetric" in str(found)
            y, z = found.si_symmetry
            assert y @ Q @ y == pytest.approx(z @ Q @ z)
    assert answers == {False} if n <= 2 else False in answers


def test_the_kite_is_si_symmetric_without_a_mirror():
    found = finite_sample_stability(gaussian(KITE))
    assert found.axisymmetry is None
    assert abs(si_difference(gaussian(KITE), found.si_symmetry)) <= 1e-9
    assert finite_sample_stability(gaussian(KITE, sigma=1.0)).si_symmetry is None


def test_si_symmetry_of_many_samples_is_what_theorem_10_says():
    rng = np.random.default_rng(0)
    Q, _ = planted(rng, 20)
    mirrored = finite_sample_stability(Q)
    assert abs(si_difference(Q, mirrored.si_symmetry)) <= 1e-9 * len(Q)
    Q = random_symmetric(rng, 20)
    plain = finite_sample_stability(Q)
    assert plain.si_symmetry is None
    assert not plain.si_symmetry_checked
    assert "SI-symmetry: not known" in str(plain)
    Q[3, :3] = Q[3, 4:] = Q[:3, 3] = Q[4:, 3] = 0
    isolated = finite_sample_stability(Q)
    assert isolated.si_symmetry_checked
    assert abs(si_difference(Q, isolated.si_symmetry)) <= 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_theorem_11_on_gaussian_kernels(seed):
    Q = gaussian(np.random.default_rng(seed).normal(size=(5, 2)))
    assert not si_symmetric(Q)
    assert finite_sample_stability(Q).anisotropic


def test_theorem_11_fails_for_tight_frames():
    """Five plane vectors of equal length whose outer products add up to a multiple of I.

    I plus their Gram matrix has a constant diagonal and two eigenvalues, but no SI-symmetry.
    """
    doubled = np.array([0.0, 1.0, 2.6])
    rest = -np.exp(1j * doubled).sum()
    half = np.arccos(abs(rest) / 2)
    doubled = np.append(doubled, [np.angle(rest) - half, np.angle(rest) + half])
    frame = np.c_[np.cos(doubled / 2), np.sin(doubled / 2)]
    Q = np.eye(5) + 0.4 * frame @ frame.T
    np.testing.assert_allclose(np.diag(Q), 1.4)
    np.testing.assert_allclose(np.linalg.eigvalsh(Q), [1, 1, 1, 2, 2])
    assert not si_symmetric(Q, tol=1e-3)
    assert not finite_sample_stability(Q).anisotropic


def test_theorem_13_fails_for_small_reg():
    """Neither symmetry nor equal eigenvalues, and yet every partition is a local minimum."""
    Q = gaussian(np.random.default_rng(0).normal(size=(5, 2)))
    assert not si_symmetric(Q, tol=1e-6)
    assert finite_sample_stability(Q).anisotropic
    reg, rng = 0.05, np.random.default_rng(1)
    for y in itertools.product([-1.0, 1.0], repeat=5):
        h, eta = stationary(Q, reg, y)
        np.testing.assert_array_equal(np.sign(h), y)
        assert eta < reg * np.linalg.eigvalsh(Q)[0]
        for _ in range(20):
            near = h + 1e-3 * rng.normal(size=5)
            assert objective(near / np.linalg.norm(near), Q, reg) > objective(h, Q, reg)


# The bound on the error.


def clustered(rng, n, spread=0.5):
    """Laplacian with a ridge, true labels, and a stationary point of the criterion."""
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    K = gaussian(np.c_[2 * y, np.zeros(n)] + spread * rng.normal(size=(n, 2)), sigma=2.0)
    Q = 5 * (np.diag(K.sum(axis=1)) - K) / n + 0.1 * np.eye(n)
    h, eta = minimum(Q, 1.0, y)
    return Q, y, h, eta


def test_each_part_against_its_formula():
    rng = np.random.default_rng(0)
    n, m, delta, margin = 30, 12, 0.1, 0.25
    Q, y, h, eta = clustered(rng, n, spread=2.0)
    known = rng.choice(n, m, replace=False)
    bound = clustering_error_bound(
        h, y[known], known, Q=Q, reg=1.0, eta=eta, delta=delta, margin=margin
    )

    losses = {+1: 0.0, -1: 0.0}
    for i in known:
        for side in losses:
            losses[side] += min(1.0, max(0.0, 1 - side * h[i] * y[i] / margin))
    assert bound.empirical == pytest.approx(n / m * min(losses.values()), rel=1e-12)
    c0 = math.sqrt(32 * math.log(4 * math.e) / 3)
    assert bound.sizes == pytest.approx(c0 * n / math.sqrt(m), rel=1e-12)
    # From u sqrt(S (1/m + 1/u) / 2 ln(1/delta)), the form in El-Yaniv and Pechyony.
    u = n - m
    S = n / ((n - 1 / 2) * (1 - 1 / (2 * max(m, u))))
    confidence = u * math.sqrt(S * (1 / m + 1 / u) / 2 * math.log(1 / delta))
    assert bound.confidence == pytest.approx(confidence, rel=1e-12)
    P = np.linalg.inv(Q - eta * np.eye(n))
    mu = np.sign(h) @ P @ np.sign(h)
    assert mu == pytest.approx(np.abs(h).sum())
    members = [math.sqrt(n), math.sqrt(n * np.sum(P**2)), math.sqrt(mu * np.trace(P))]
    complexity = math.sqrt(2 * u / m) * min(members) / margin
    assert bound.complexity == pytest.approx(complexity, rel=1e-8)

    parts = bound.empirical + bound.sizes + bound.confidence + bound.complexity
    assert bound.total == pytest.approx(parts, rel=1e-12)
    assert bound.rate == pytest.approx(parts / n, rel=1e-12)


def test_the_constant_is_that_of_el_yaniv_and_pechyony():
    assert 5.04 < stability._C0 < 5.05


@pytest.mark.parametrize(("n", "m"), [(20, 11), (20, 15), (20, 19), (501, 400)])
def test_parts_are_no_less_than_in_el_yaniv_and_pechyony_with_most_labels_known(n, m):
    """The paper has min(m, u) = m and max(m, u) = u, which is looser for m > u."""
    h = np.ones(n) / math.sqrt(n)
    bound = clustering_error_bound(h, np.ones(m), np.arange(m), reg=1.0, eta=-1.0)
    u = n - m
    S = n / ((n - 1 / 2) * (1 - 1 / (2 * max(m, u))))
    rates = 1 / m + 1 / u
    assert bound.sizes >= u * stability._C0 * rates * math.sqrt(min(m, u))
    assert bound.confidence >= u * math.sqrt(S * rates / 2 * math.log(20))


def test_complexity_bounds_the_rademacher_average():
    """Lemma 18: each member against the average of the supremum, which is a norm."""
    rng = np.random.default_rng(0)
    n, m = 24, 9
    Q, _, h, eta = clustered(rng, n)
    P = np.linalg.inv(Q - eta * np.eye(n))
    p = m * (n - m) / n**2
    sigma = rng.choice([1.0, -1.0, 0.0], p=[p, p, 1 - 2 * p], size=(4000, n))
    suprema = [
        np.linalg.norm(sigma, axis=1),
        math.sqrt(n) * np.linalg.norm(sigma @ P, axis=1),
        np.sqrt(np.abs(h).sum() * np.sum(sigma @ P * sigma, axis=1)),
    ]
    least = min(n / (m * (n - m)) * values.mean() for values in suprema)
    bound = clustering_error_bound(h, np.ones(m), np.arange(m), Q=Q, reg=1.0, eta=eta)
    assert least <= bound.complexity / (n - m) <= 1.1 * least


def test_eigenvalues_serve_for_the_matrix_at_a_stationary_point():
    rng = np.random.default_rng(1)
    Q, y, h, eta = clustered(rng, 20)
    known, options = np.arange(5, 15), {"reg": 1.0, "eta": eta}
    values = np.linalg.eigvalsh(Q)
    expected = clustering_error_bound(h, y[known], known, Q=Q, **options).complexity
    for given in (
        {"eigenvalues": values},
        {"eigenvalues": values, "Q": Q},
        {"Q": sparse.csr_array(Q)},
    ):
        bound = clustering_error_bound(h, y[known], known, **given, **options)
        assert bound.complexity == pytest.approx(expected, rel=1e-6)
    alone = clustering_error_bound(h, y[known], known, **options).complexity
    assert alone == pytest.approx(math.sqrt(2 * 10 / 10) * math.sqrt(20))
    assert expected < alone


def test_the_matrix_makes_the_bound_hold_off_stationary_points():
    """There h is P w with w other than sign(h), and the members are those of w."""
    rng = np.random.default_rng(2)
    n = 20
    Q, _, _, eta = clustered(rng, n)
    P = np.linalg.inv(Q - eta * np.eye(n))
    h = rng.normal(size=n)
    w = np.linalg.solve(P, h)
    bound = clustering_error_bound(h, np.ones(10), np.arange(10), Q=Q, reg=1.0, eta=eta)
    members = [
        math.sqrt(n) * np.linalg.norm(h),
        np.linalg.norm(w) * np.linalg.norm(P),
        math.sqrt(w @ P @ w * np.trace(P)),
    ]
    assert bound.complexity == pytest.approx(math.sqrt(2) * min(members), rel=1e-9)


@pytest.mark.parametrize("spread", [0.5, 3.0])
def test_margin_one_says_nothing_for_unit_responses(spread):
    """The empirical part is at least n - n / sqrt(m), the second 5.05 n / sqrt(m)."""
    rng = np.random.default_rng(0)
    Q, y, h, eta = clustered(rng, 40, spread)
    for m in (1, 10, 39):
        known = rng.choice(40, m, replace=False)
        bound = clustering_error_bound(h, y[known], known, Q=Q, reg=1.0, eta=eta)
        assert bound.empirical >= 40 - 40 / math.sqrt(m) - 1e-9
        assert bound.total > 40
        assert bound.is_vacuous
        assert "says nothing" in str(bound)


@pytest.mark.parametrize(("n", "m"), [(12, 5), (40, 30)])
def test_the_bound_holds_on_small_problems(n, m):
    rng = np.random.default_rng(n)
    Q, y, h, eta = clustered(rng, n, spread=2.0)
    h[: n // 6] *= -1  # some errors for certain
    distance = hamming_clustering_distance(h, y)
    assert distance >= 2
    delta, held = 0.2, 0
    for _ in range(100):
        known = rng.choice(n, m, replace=False)
        bound = clustering_error_bound(
            h, y[known], known, Q=Q, reg=1.0, eta=eta, delta=delta, margin=0.1
        )
        held += distance <= bound.total
    assert held >= 100 * (1 - delta)


def test_the_bound_holds_where_it_says_something():
    """The eigenvalues are those of I - s s' / n, of which s / sqrt n is stationary."""
    rng = np.random.default_rng(0)
    n, m, reg = 3000, 1000, 1e5
    signs = rng.choice([-1.0, 1.0], size=n)
    h, eta = signs / math.sqrt(n), -math.sqrt(n)
    y = np.where(rng.uniform(size=n) < 0.1, -signs, signs)
    distance = hamming_clustering_distance(h, y)
    eigenvalues = np.append(0.0, np.ones(n - 1))
    held = 0
    for _ in range(200):
        known = rng.choice(n, m, replace=False)
        bound = clustering_error_bound(
            h,
            y[known],
            known,
            eigenvalues=eigenvalues,
            reg=reg,
            eta=eta,
            margin=1 / math.sqrt(n),
        )
        assert not bound.is_vacuous
        assert bound.empirical == pytest.approx(n / m * np.sum(y[known] != signs[known]))
        held += distance <= bound.total
    assert held >= 190
    assert "says nothing" not in str(bound)


def test_bound_falls_with_delta_and_with_known_labels():
    h = np.ones(50) / math.sqrt(50)

    def bound(m, delta):
        return clustering_error_bound(
            h, np.ones(m), np.arange(m), reg=1.0, eta=-1.0, delta=delta, margin=0.1
        )

    by_delta = [bound(20, delta) for delta in (1e-6, 0.01, 0.05, 0.5, 0.99)]
    assert all(a.total > b.total for a, b in itertools.pairwise(by_delta))
    assert len({(b.empirical, b.sizes, b.complexity) for b in by_delta}) == 1
    by_size = [bound(m, 0.05) for m in range(1, 49)]
    assert all(a.sizes > b.sizes for a, b in itertools.pairwise(by_size))
    assert all(a.complexity > b.complexity for a, b in itertools.pairwise(by_size))


def test_names_of_labels_and_form_of_known_do_not_matter():
    rng = np.random.default_rng(0)
    h = rng.normal(size=30) / 5
    y = np.where(h + 0.1 * rng.normal(size=30) > 0, 1, -1)
    known = np.sort(rng.choice(30, 10, replace=False))
    mask = np.isin(np.arange(30), known)
    options = {"reg": 1.0, "eta": -1.0, "margin": 0.2}
    expected = clustering_error_bound(h, y[known], known, **options)
    assert clustering_error_bound(h, y[mask], mask, **options) == expected
    assert clustering_error_bound(-h, -y[known], known, **options) == expected
    assert clustering_error_bound(h, -y[known], known.tolist(), **options) == expected
    names = np.array(["east", "west"])[(y[known] > 0).astype(int)]
    assert clustering_error_bound(h, names, known, **options) == expected
    shuffled = known[::-1]
    other = clustering_error_bound(h, y[shuffled], shuffled, **options)
    assert other.total == pytest.approx(expected.total, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"known": [0, 1, 1]}, "known has 3 indices but 2 distinct"),
        ({"known": [0, 1, -5]}, "known has 3 indices but 2 distinct"),
        ({"known": [0, 1, 6]}, "known has indices from 0 to 6 for 6 samples"),
        ({"known": [0.0, 1.0, 2.0]}, "known has dtype float64"),
        ({"known": np.zeros(6, bool)}, "known has 0 of 6 samples"),
        ({"known": np.arange(6), "y_known": np.ones(6)}, "known has 6 of 6 samples"),
        ({"known": np.ones(5, bool)}, "known, a mask, has 5 entries for 6 samples"),
        ({"y_known": [1, 2]}, "y_known has 2 labels but known has 3 samples"),
        ({"y_known": [1, 2, 3]}, "y_known has 3 distinct labels"),
        ({"delta": 0}, r"delta=0 must lie in \(0, 1\)"),
        ({"delta": 1.0}, r"delta=1.0 must lie in \(0, 1\)"),
        ({"reg": 0.0}, "reg=0.0 must be positive"),
        ({"margin": -1.0}, "margin=-1.0 must be positive"),
        ({"h": [1.0, np.inf, 0, 0, 0, 0]}, "h has 1 of 6 entries NaN or infinite"),
        ({"Q": np.eye(5)}, "Q has 5 entries for 6 samples"),
        ({"Q": np.eye(6), "eta": 1.0}, "eta=1 must be below reg times .* 1:"),
        ({"eigenvalues": np.ones(6), "eta": 2.5, "reg": 2.0}, "eta=2.5 must be below .* 2:"),
        ({"eigenvalues": np.ones(4)}, "eigenvalues has 4 entries for 6 samples"),
        ({"eigenvalues": np.ones(6), "Q": 2 * np.eye(6)}, "eigenvalues add up to 6 but"),
    ],
)
def test_what_cannot_be_bounded_is_refused(changes, message):
    arguments = {
        "h": np.array([1.0, -1, 1, -1, 1, -1]),
        "y_known": [0, 1, 0],
        "known": [0, 1, 2],
        "reg": 1.0,
        "eta": -1.0,
    }
    with pytest.raises(ValueError, match=message):
        clustering_error_bound(**(arguments | changes))
