"""The minimax direction against a cone program, a scalar bound and its own definition."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import LinAlgError, eigh
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from separatrix import MaximinSeparationClustering, MinimaxProbabilityMachine
from separatrix.metrics import separation_probability_score
from separatrix.models.boundaries import one_vs_rest_code, pairwise_code
from separatrix.solvers import minimax
from separatrix.solvers.minimax import (
    MomentProblem,
    Sides,
    minimax_direction,
    minimax_direction_by_passes,
)

REGS = [1e-3, 0.1, 1.0, 1e3]


# The criterion, and two solutions of it that share nothing with ours


def kappa_along(w, S_plus, S_minus, difference):
    """Equation (2) as it is written."""
    return w @ difference / (np.sqrt(w @ S_plus @ w) + np.sqrt(w @ S_minus @ w))


def kappa_by_cone_program(S_plus, S_minus, difference):
    """Optimal value of min |S_plus^1/2 w| + |S_minus^1/2 w|, w'd = 1, and the kappa of its w.

    The program is stated in the variable L'w with LL' = S_plus + S_minus, of unit scale.
    """
    cp = pytest.importorskip("cvxpy")
    inverse = np.linalg.inv(np.linalg.cholesky(S_plus + S_minus))
    target = inverse @ difference
    length = np.linalg.norm(target)
    roots = []
    for S in (S_plus, S_minus):
        values, vectors = eigh(inverse @ S @ inverse.T)
        roots.append(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
    v = cp.Variable(len(difference))
    objective = cp.Minimize(sum(cp.norm(root @ v) for root in roots))
    program = cp.Problem(objective, [v @ (target / length) == 1])
    with warnings.catch_warnings():
        # tolerances below what it can certify: it returns its last iterate and says so
        warnings.simplefilter("ignore", UserWarning)
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    w = inverse.T @ v.value
    return length / program.value, kappa_along(w, S_plus, S_minus, difference)


def kappa_upper_bound(S_plus, S_minus, difference):
    """Largest value of the concave dual in one variable, by simultaneous diagonalisation."""
    ratios, vectors = eigh(S_plus, S_plus + S_minus)
    ratios = np.clip(ratios, 0.0, 1.0)
    masses = (vectors.T @ difference) ** 2

    def dual(theta):
        return masses @ (theta * (1 - theta) / (ratios * (1 - theta) + (1 - ratios) * theta))

    found = minimize_scalar(
        lambda theta: -dual(theta),
        bounds=(1e-12, 1 - 1e-12),
        method="bounded",
        options={"xatol": 1e-13},
    )
    return np.sqrt(dual(found.x))


def moments_of(A, B, reg):
    """Regularised covariances of two classes and the difference of their means, by NumPy."""
    ridge = reg * np.diag(np.vstack([A, B]).var(axis=0))
    S_plus, S_minus = (np.atleast_2d(np.cov(Z.T, bias=True)) + ridge for Z in (A, B))
    return S_plus, S_minus, A.mean(axis=0) - B.mean(axis=0)


def random_classes(seed):
    rng = np.random.default_rng(seed)
    d = rng.integers(1, 12)
    sizes = rng.integers(2, 30, size=2)
    A, B = (rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) for n in sizes)
    return A + rng.normal(size=d), B


def real_classes(name):
    """Two classes of a real data set, without the features that are constant in both."""
    data, first, second = name.split("-")
    load = {"cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}[data]
    X, y = load(return_X_y=True)
    if data == "digits":
        X = X[:, 16:44]
    A, B = X[y == int(first)], X[y == int(second)]
    varies = np.vstack([A, B]).std(axis=0) > 1e-2 * X.std()
    return A[:, varies], B[:, varies]


REAL = ["cancer-0-1", "wine-0-1", "wine-0-2", "wine-1-2", "digits-3-8", "digits-1-7"]


def two_points_against_many():
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, 4)), rng.normal(size=(20, 4)) + 1


def more_features_than_samples():
    rng = np.random.default_rng(1)
    return rng.normal(size=(6, 25)), rng.normal(size=(3, 25))


CASES = {
    **{f"random-{seed}": lambda seed=seed: random_classes(seed) for seed in range(8)},
    **{name: lambda name=name: real_classes(name) for name in REAL},
    "two-points": two_points_against_many,
    "wide": more_features_than_samples,
}


def check_is_optimal(direction, S_plus, S_minus, difference):
    """The direction has the kappa it claims, and no other direction has a larger one."""
    w = direction.coef
    assert kappa_along(w, S_plus, S_minus, difference) == pytest.approx(direction.kappa, rel=1e-10)
    assert direction.sigma == pytest.approx(
        (np.sqrt(w @ S_plus @ w), np.sqrt(w @ S_minus @ w)), rel=1e-9
    )
    assert sum(direction.sigma) == pytest.approx(1.0, rel=1e-12)
    value, attained = kappa_by_cone_program(S_plus, S_minus, difference)
    bound = kappa_upper_bound(S_plus, S_minus, difference)
    assert attained <= bound * (1 + 1e-8)  # the two oracles agree with each other
    assert direction.kappa == pytest.approx(value, rel=1e-8)
    assert attained * (1 - 1e-8) <= direction.kappa <= bound * (1 + 1e-8)


@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("case", CASES)
def test_kappa_is_the_optimum_of_the_cone_program(case, reg):
    moments = moments_of(*CASES[case](), reg)
    check_is_optimal(minimax_direction(*moments), *moments)


@pytest.mark.parametrize("seed", range(8))
def test_kappa_is_optimal_without_regularisation(seed):
    rng = np.random.default_rng(seed)
    d = rng.integers(1, 7)
    A, B = (rng.normal(size=(d + n, d)) @ rng.normal(size=(d, d)) for n in (2, 20))
    moments = moments_of(A + 1, B, 0.0)
    check_is_optimal(minimax_direction(*moments), *moments)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("name", ["wine-0-1", "digits-3-8"])
def test_constant_features_are_left_out(name, reg, container):
    # Two constants, neither of them a binary fraction, stand between the features that vary.
    A, B = real_classes(name)
    X, y = np.vstack([A, B]), np.repeat([1, 0], [len(A), len(B)])
    padded = container(np.insert(X, [0, 3], [0.1, 1e6 / 3], axis=1))
    _, kappa = kappa_by_cone_program(*moments_of(A, B, reg))
    expected = kappa**2 / (1 + kappa**2)
    model = MinimaxProbabilityMachine(reg=reg).fit(padded, y)
    assert model.separation_probability_ == pytest.approx(expected, rel=1e-8)
    assert separation_probability_score(padded, y, reg=reg) == pytest.approx(expected, rel=1e-8)
    assert (model.coef_[0, [0, 4]] == 0).all()
    assert (np.delete(model.coef_[0], [0, 4]) != 0).all()


@pytest.mark.parametrize("case", CASES)
def test_one_cholesky_factor_is_enough(case, monkeypatch):
    factored = []

    def counting(*args, **kwargs):
        factored.append(args[0].shape)
        return original(*args, **kwargs)

    original = minimax.cholesky
    monkeypatch.setattr(minimax, "cholesky", counting)
    minimax_direction(*moments_of(*CASES[case](), 0.1))
    assert len(factored) == 1


# The same direction from passes over the data


def sides_of(X, y, reg, sample_weight=None):
    problem = MomentProblem.of(
        X, sample_weight, reg=reg, isotropic=False, rng=np.random.RandomState(0)
    )
    partition = problem.partition(2)
    partition.assign(np.asarray(y, dtype=np.int8))
    return Sides.of(problem, partition, np.array([-1, 1]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("reg", [0.03, 0.3, 10.0])
@pytest.mark.parametrize("case", ["random-1", "random-4", "wine-0-1", "digits-3-8", "wide"])
def test_passes_find_the_same_kappa_as_matrices(case, reg, container, weighted):
    A, B = CASES[case]()
    X, y = np.vstack([A, B]), np.repeat([1, 0], [len(A), len(B)])
    weight = np.random.default_rng(0).uniform(0.5, 3, size=len(y)) if weighted else None
    sides = sides_of(container(X), y, reg, weight)
    by_matrix = minimax_direction(
        sides.covariance(sides.plus), sides.covariance(sides.minus), sides.difference
    )
    by_passes = minimax_direction_by_passes(sides.implicit(), reg)
    assert by_passes.kappa == pytest.approx(by_matrix.kappa, rel=1e-6)
    moments = (sides.covariance(sides.plus), sides.covariance(sides.minus), sides.difference)
    # a value can only be claimed by a direction that has it
    assert kappa_along(by_passes.coef, *moments) == pytest.approx(by_passes.kappa, rel=1e-8)
    assert by_passes.kappa <= kappa_upper_bound(*moments) * (1 + 1e-8)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_implicit_products_are_those_of_the_matrices(container):
    A, B = random_classes(3)
    X, y = np.vstack([A, B]) + 2.0, np.repeat([1, 0], [len(A), len(B)])
    rng = np.random.default_rng(0)
    sides = sides_of(container(X), y, 0.0, rng.uniform(0.5, 2, size=len(y)))
    v = rng.normal(size=X.shape[1])
    products = sides.implicit().products(v)
    for i, part in enumerate((sides.plus, sides.minus)):
        S = sides.covariance(part)
        np.testing.assert_allclose(products[i], S @ v, rtol=1e-9, atol=1e-12)


# Ends of the range


@pytest.mark.parametrize("d", [1, 5])
def test_equal_means_are_not_separated(d):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, d + 4, d))
    S_plus, S_minus, _ = moments_of(A, B, 0.1)
    direction = minimax_direction(S_plus, S_minus, np.zeros(d))
    assert direction.kappa == 0.0
    assert np.isfinite(direction.coef).all()
    assert sum(direction.sigma) == pytest.approx(1.0)


def test_singular_covariances_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    X = np.hstack([X, X[:, :1] + X[:, 1:2]])  # the last feature is a sum of two
    y = np.arange(12) % 2
    with pytest.raises(LinAlgError):
        minimax_direction(*moments_of(X[y == 1], X[y == 0], 0.0))
    for fit in (
        lambda: MinimaxProbabilityMachine(reg=0).fit(X, y),
        lambda: MaximinSeparationClustering(reg=0).fit(X),
        lambda: separation_probability_score(X, y, reg=0),
    ):
        with pytest.raises(ValueError, match=r"reg=0 leaves the covariances .* singular"):
            fit()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 6), stretch=st.floats(0, 2))
def test_kappa_is_invariant_to_invertible_maps(seed, d, stretch):
    rng = np.random.default_rng(seed)
    A, B = (rng.normal(size=(2 * d + 4, d)) for _ in range(2))
    moments = moments_of(A + rng.normal(size=d), B, 0.0)
    # singular values up to 10^stretch apart in either direction
    U, V = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    P = U * 10.0 ** rng.uniform(-stretch, stretch, size=d) @ V
    S_plus, S_minus, difference = moments
    mapped = (P.T @ S_plus @ P, P.T @ S_minus @ P, P.T @ difference)
    kappa = minimax_direction(*moments).kappa
    # squared condition numbers up to 10^(4 stretch) cost that many digits of sixteen
    assert minimax_direction(*mapped).kappa == pytest.approx(
        kappa, rel=1e-13 * 10 ** (4 * stretch) + 1e-9
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-120, 120))
def test_kappa_has_no_unit(seed, exponent):
    moments = moments_of(*random_classes(seed), 0.1)
    unit = 10.0**exponent
    S_plus, S_minus, difference = moments
    scaled = minimax_direction(unit**2 * S_plus, unit**2 * S_minus, unit * difference)
    assert scaled.kappa == pytest.approx(minimax_direction(*moments).kappa, rel=1e-9)


# Many boundaries at once


@pytest.mark.parametrize("isotropic", [False, True])
@pytest.mark.parametrize("make_code", [pairwise_code, one_vs_rest_code])
def test_boundaries_that_are_solved_together_are_those_of_each(make_code, isotropic, monkeypatch):
    """Features that vary in some clusters alone, and pairs of equal means, too."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 15)
    X = rng.normal(size=(len(labels), 4)) + 2 * rng.normal(size=(12, 4))[labels]
    X[:, 3] = np.where(labels < 4, X[:, 3], 7.0)  # constant beside the first clusters
    X[labels == 11] = X[labels == 10] + [0, 0, 1, 0]
    problem = MomentProblem.of(X, None, reg=0.3, isotropic=isotropic, rng=None)
    partition, code = problem.partition(12), make_code(12)
    partition.assign(labels)
    together = minimax.minimax_steps(problem, partition, code)
    assert not any(step is None for step in minimax.stacked_steps(problem, partition, code))
    for side, step in zip(code, together, strict=True):
        alone = minimax.minimax_step(Sides.of(problem, partition, side))
        np.testing.assert_allclose(step.value, alone.value, rtol=1e-9)
        # kappa is exact to 1e-12, so that directions are to the root of it
        np.testing.assert_allclose(step.coef, alone.coef, atol=1e-5 * np.abs(alone.coef).max())
        np.testing.assert_allclose(step.offset, alone.offset, rtol=1e-5, atol=1e-5)


def test_boundaries_without_a_factor_are_left_to_the_usual_way():
    """Equal clusters separate in no direction; without reg, flat ones have no factor."""
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 12, axis=0)
    labels = np.tile(np.arange(12), 20)
    problem = MomentProblem.of(X, None, reg=0.3, isotropic=False, rng=None)
    partition = problem.partition(12)
    partition.assign(labels)
    steps = minimax.minimax_steps(problem, partition, pairwise_code(12))
    np.testing.assert_allclose([step.value for step in steps], 0.0, atol=1e-12)
    X = np.column_stack([np.arange(240.0), np.zeros(240)])
    X[:, 1] = labels
    problem = MomentProblem.of(X, None, reg=0.0, isotropic=False, rng=None)
    partition = problem.partition(12)
    partition.assign(labels)
    with pytest.raises(ValueError, match="reg=0"):
        minimax.minimax_steps(problem, partition, pairwise_code(12))
