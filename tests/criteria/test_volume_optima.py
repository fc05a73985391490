"""What maximum volume clustering finds: fixed points, exhaustive optima, limits of its weight."""

import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from graph_support import (
    balanced_best,
    criterion,
    dense_responder,
    moons,
    random_definite,
    random_similarities,
    solved,
    sphere_values,
)
from separatrix import MaximumVolumeClustering
from separatrix.criteria.volume import limit_matrix, solve_sphere
from separatrix.result import Progress, Status
from separatrix.similarity.quadratic_forms import form_of
from separatrix.solvers.responses import DenseResponder
from separatrix.solvers.volume_sqp import solve_sqp


@pytest.mark.parametrize("bound", [0.0, 0.3, None])
def test_the_driver_ends_in_a_fixed_point(bound):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 30))
        Q = random_definite(rng, n)
        reg = 10 ** rng.uniform(-1, 2)
        responder = dense_responder(Q, bound)
        result = solved(responder, reg)
        assert result.status in (Status.CONVERGED, Status.DEGENERATE)
        assert (np.diff(result.history) <= 0).all()
        assert result.objective == result.history[-1]
        h = result.model.h
        assert result.objective == pytest.approx(criterion(Q, h, reg), rel=1e-12)
        signs = np.where(h > 0, 1.0, -1.0)
        residual = reg * Q @ h - result.model.eta * h - signs - result.model.omega
        assert np.abs(residual).max() <= 1e-11 * (1 + reg * np.abs(Q).max() * n)
        assert bound is None or abs(h.sum()) <= bound + 1e-12


def test_each_start_has_a_history_that_never_rises():
    rng = np.random.default_rng(0)
    Q = form_of(random_similarities(rng, 40), "normalized", 0.0).Q
    responder = dense_responder(Q, 0.0)
    starts = responder.candidates(20, 50.0, np.random.RandomState(0))
    lasts, longest = [], 0
    for start in starts.T:
        result = solve_sphere(
            responder, start[:, None], reg=50.0, max_iter=50, tol=0.0, progress=Progress()
        )
        assert (np.diff(result.history) <= 0).all()
        lasts.append(result.objective)
        longest = max(longest, result.n_iter)
    together = solve_sphere(responder, starts, reg=50.0, max_iter=50, tol=0.0, progress=Progress())
    assert together.objective == pytest.approx(min(lasts), rel=1e-12)
    assert together.n_iter == longest > 2


def test_solvers_leave_the_starts_alone():
    rng = np.random.default_rng(0)
    responder = dense_responder(random_definite(rng, 12), 0.0)
    starts = rng.choice([-1.0, 1.0], size=(12, 5))
    for solve in (solve_sphere, solve_sqp):
        before = starts.copy()
        solve(responder, starts, reg=3.0, max_iter=50, progress=Progress())
        np.testing.assert_array_equal(starts, before)


@pytest.mark.parametrize("bound", [0.0, 0.4, None])
@pytest.mark.parametrize("solve", [solve_sphere, solve_sqp])
def test_opposite_starts_give_opposite_responses(solve, bound):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        responder = dense_responder(random_definite(rng, 15), bound)
        signs = rng.choice([-1.0, 1.0], size=(15, 1))
        a, b = (
            solve(responder, side * signs, reg=2.0, max_iter=50, progress=Progress())
            for side in (1, -1)
        )
        np.testing.assert_allclose(a.model.h, -b.model.h, atol=1e-9)
        assert a.objective == pytest.approx(b.objective, rel=1e-12)


# Brute force over all signs


def all_signs(n):
    """Every partition in two, one of each pair of opposite signs."""
    codes = np.arange(2 ** (n - 1))
    S = np.where(codes[None, :] >> np.arange(n - 1)[:, None] & 1, 1.0, -1.0)
    return np.vstack([S, -np.ones(S.shape[1])])


def tiny_case(seed, bound):
    """Eight to eleven samples and a weight: a Laplacian where sums are bounded, else any matrix.

    Without a bound, the best responses on a Laplacian put all samples in one cluster.
    """
    rng = np.random.default_rng(seed)
    n = 8 + seed % 4
    reg = 10 ** rng.uniform(-0.5, 1.5)
    if bound is None:
        return form_of(random_definite(rng, n), "precomputed", 0.0), reg
    X = rng.normal(size=(n, 2))
    X[: n // 2] += 2.0 * (seed % 3 == 0)
    W = rbf_kernel(X, gamma=0.5)
    W = (W + W.T) / 2
    np.fill_diagonal(W, 0.0)
    return form_of(W, ["normalized", "unnormalized"][seed % 2], 0.0), reg


@pytest.mark.parametrize("bound", [0.0, None])
def test_starts_reach_the_exhaustive_optimum(bound, record_property):
    """The optimum of (4) is the least over all signs. Most reach it; none may claim less."""
    n_cases, reached, partition = 40, {"sphere": 0, "sqp": 0}, {"sphere": 0, "sqp": 0}
    value_of = balanced_best if bound == 0 else sphere_values
    for seed in range(n_cases):
        form, reg = tiny_case(seed, bound)
        S = all_signs(form.n_samples)
        values = value_of(form.Q, S, reg)
        best = S[:, values.argmin()] > 0
        responder = DenseResponder(form, bound)
        for name, solve in (("sphere", solve_sphere), ("sqp", solve_sqp)):
            result = solved(responder, reg, solve=solve, n_random=30, seed=seed)
            in_bounds = bound is None or abs(result.model.h.sum()) < 1e-6
            if in_bounds:  # Algorithm 1 may break off at a start that is not balanced
                assert result.objective >= values.min() - 1e-9 * abs(values.min())
            reached[name] += int(in_bounds and result.objective <= values.min() + 1e-6)
            side = result.model.h > 0
            partition[name] += int((side == best).all() or (side != best).all())
    shares = f"of {n_cases} cases, bound={bound}: optimum {reached}, its partition {partition}"
    record_property("share_of_optima_reached", shares)
    print(shares)
    assert min(partition.values()) > n_cases / 2, shares
    assert reached["sphere"] > n_cases / 2, shares


@pytest.mark.parametrize("bound", [0.0, None])
def test_the_optimum_is_a_fixed_point(bound):
    for seed in range(20):
        form, reg = tiny_case(seed, bound)
        S = all_signs(form.n_samples)
        values = (balanced_best if bound == 0 else sphere_values)(form.Q, S, reg)
        best = S[:, [values.argmin()]]
        found = solve_sphere(
            DenseResponder(form, bound), best, reg=reg, max_iter=9, tol=0.0, progress=Progress()
        )
        assert found.objective == pytest.approx(values.min(), rel=1e-9)
        np.testing.assert_array_equal(found.model.h > 0, best[:, 0] > 0)


# Limits of a large weight, section 4 of the paper


def angle(a, b):
    """1 - |cos| of two vectors, from their difference, which loses no digits."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return min(np.linalg.norm(a - b), np.linalg.norm(a + b)) ** 2 / 2


def limit_of(Q, bound, reg=1e9):
    reg = reg / np.ptp(np.linalg.eigvalsh(Q))
    return solved(dense_responder(Q, bound), reg).model.h


def test_the_limit_is_unnormalised_spectral_clustering():
    for seed in range(3):
        X, _ = moons(60, seed=seed)
        W = rbf_kernel(X, gamma=5.0)
        second = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, 1]
        Q = form_of(W, "unnormalized", 0.0).Q
        assert angle(limit_of(Q, 0.0), second) <= 1e-10


def test_the_distance_to_the_limit_falls_with_the_square_of_the_weight():
    X, _ = moons(60)
    W = rbf_kernel(X, gamma=5.0)
    second = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, 1]
    Q = form_of(W, "unnormalized", 0.0).Q
    near, nearer = (angle(limit_of(Q, 0.0, reg), second) for reg in (1e5, 1e6))
    assert near / nearer == pytest.approx(100, rel=0.05)


def test_the_limit_is_kernel_pca():
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(50, 3))
        K = rbf_kernel(X, gamma=0.3)
        first = KernelPCA(1, kernel="precomputed").fit_transform(K)[:, 0]
        Q = limit_matrix("kernel-k-means", K)
        assert np.linalg.eigvalsh(Q)[0] > 0
        for bound in (0.0, None):
            assert angle(limit_of(Q, bound), first) <= 1e-10


def test_the_limit_is_pca():
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(50, 3)) * [3, 2, 1] + 5
        first = PCA(1).fit_transform(X)[:, 0]
        Q = limit_matrix("kernel-k-means", X @ X.T)
        for bound in (0.0, None):
            assert angle(limit_of(Q, bound), first) <= 1e-10


def test_the_limit_is_squared_loss_mutual_information_clustering():
    """Its first two responses are the first eigenvectors of the kernel matrix."""
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(40, 2))
        K = rbf_kernel(X, gamma=0.7)
        vectors = np.linalg.eigh(K)[1]
        first = limit_of(limit_matrix("mutual-information", K), None)
        assert angle(first, vectors[:, -1]) <= 1e-10
        Q = limit_matrix("mutual-information", K, after=first)
        assert np.linalg.eigvalsh(Q)[0] > 0
        assert angle(limit_of(Q, None), vectors[:, -2]) <= 1e-10


def test_limits_through_the_estimator():
    X, _ = moons(60)
    W = rbf_kernel(X, gamma=5.0)
    W = (W + W.T) / 2
    second = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, 1]
    model = MaximumVolumeClustering(
        matrix="unnormalized", affinity="precomputed", reg=1e8, random_state=0
    )
    assert angle(model.fit(W).response_, second) <= 1e-10
    K = rbf_kernel(X, gamma=0.3)
    model = MaximumVolumeClustering(matrix="precomputed", reg=1e8, random_state=0)
    model.fit(limit_matrix("kernel-k-means", K))
    first = KernelPCA(1, kernel="precomputed").fit_transform(K)[:, 0]
    assert angle(model.response_, first) <= 1e-10


def test_an_unknown_limit_is_refused():
    with pytest.raises(ValueError, match=r"method='spectral' must be .* matrix='unnormalized'"):
        limit_matrix("spectral", np.eye(3))
