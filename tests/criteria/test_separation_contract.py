"""Maximin separation clustering: the contract of its estimator, kernels and bad input."""

import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from separatrix import MaximinSeparationClustering
from separatrix.metrics import separation_probability_score
from separatrix.similarity.kernels import Kernel
from separatrix.solvers import minimax
from support import correlated_groups, fit_quietly, same_partition

SOLVERS = ["mpm", "gep", "eig"]


@pytest.fixture(scope="module")
def counts():
    """Sparse-looking nonnegative data: two groups of words, and words of both."""
    rng = np.random.default_rng(0)
    rates = np.array([[2.0] * 6 + [0.2] * 6 + [0.5] * 3, [0.2] * 6 + [2.0] * 6 + [0.5] * 3])
    return rng.poisson(rates[np.arange(90) % 2]).astype(float)


# The contract


# of more than two clusters `eig` refuses all but splits, as test_bad_input_is_named shows
WAYS = [
    (solver, n_clusters, multiway)
    for solver in SOLVERS
    for n_clusters in (1, 2, 3, 5)
    for multiway in ("auto", "pairwise", "one-vs-rest", "bisection")
    if solver != "eig" or n_clusters <= 2 or multiway in ("auto", "bisection")
]


@pytest.mark.parametrize(("solver", "n_clusters", "multiway"), WAYS)
def test_labels_are_predicted_and_numbered_by_size(solver, n_clusters, multiway, wine):
    model = MaximinSeparationClustering(n_clusters, solver=solver, multiway=multiway)
    model, warning = fit_quietly(model, wine)
    labels = model.labels_
    np.testing.assert_array_equal(model.predict(wine), labels)
    np.testing.assert_array_equal(model.fit_predict(wine) if warning is None else labels, labels)
    sizes = np.bincount(labels, minlength=n_clusters)
    assert (np.diff(sizes) <= 0).all()
    assert (sizes.min() == 0) == (warning is not None and "Fewer clusters" in warning)
    scores = model.decision_function(wine)
    assert scores.shape == ((178,) if n_clusters <= 2 else (178, n_clusters))
    if n_clusters == 1:
        assert (scores == 0).all()
        return
    decided = scores > 0 if n_clusters == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(decided, labels)


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
@pytest.mark.parametrize("multiway", ["pairwise", "one-vs-rest"])
def test_scores_are_those_of_the_boundaries_of_each_cluster(multiway, n_clusters, iris):
    """Rows of `coef_` are clusters, or pairs with the later cluster on the positive side.

    The value of a cluster's own boundary is its score, or its smallest margin in all pairs.
    """
    model, _ = fit_quietly(MaximinSeparationClustering(n_clusters, multiway=multiway), iris)
    margins = iris @ model.coef_.T + model.intercept_
    scores = model.decision_function(iris)
    if n_clusters == 2:
        np.testing.assert_allclose(scores, margins[:, 0], rtol=1e-12)
        return
    if multiway == "one-vs-rest":
        np.testing.assert_array_equal(model.boundary_sides_, 2 * np.eye(n_clusters) - 1)
        np.testing.assert_allclose(scores, margins, rtol=1e-12)
        return
    sides = np.array(
        [
            [(c == high) * 1 - (c == low) * 1 for c in range(n_clusters)]
            for low, high in itertools.combinations(range(n_clusters), 2)
        ]
    )
    np.testing.assert_array_equal(model.boundary_sides_, sides)
    assert margins.shape[1] == len(sides)
    for cluster in range(n_clusters):
        involved = sides[:, cluster] != 0
        expected = (margins[:, involved] * sides[involved, cluster]).min(axis=1)
        np.testing.assert_allclose(scores[:, cluster], expected, rtol=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_separation_probability_is_the_score_of_the_labels(n_clusters, wine):
    """Of the worst pair; each pair is judged by its own samples alone."""
    model = MaximinSeparationClustering(n_clusters, reg=0.2).fit(wine)
    labels = model.labels_
    pairs = model.pairwise_separation_
    assert pairs.shape == (n_clusters, n_clusters)
    assert np.isnan(np.diag(pairs)).all()
    for a, b in itertools.combinations(range(n_clusters), 2):
        keep = np.isin(labels, [a, b])
        expected = separation_probability_score(wine[keep], labels[keep], reg=0.2)
        assert pairs[a, b] == pairs[b, a] == pytest.approx(expected, rel=1e-8)
    assert model.separation_probability_ == np.nanmin(pairs)
    assert model.separation_probability_ == pytest.approx(
        separation_probability_score(wine, labels, reg=0.2)
    )


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("init", ["k-means", "scale-invariant"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_equals_dense(solver, init, n_clusters, counts):
    model = MaximinSeparationClustering(n_clusters, solver=solver, init=init)
    dense = fit_quietly(clone(model), counts)[0]
    for container in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        X = container(counts)
        fitted = fit_quietly(clone(model), X)[0]
        np.testing.assert_array_equal(fitted.labels_, dense.labels_)
        np.testing.assert_array_equal(fitted.predict(X), dense.labels_)
        np.testing.assert_allclose(fitted.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
        assert fitted.separation_probability_ == pytest.approx(dense.separation_probability_)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_single_precision_differs_at_the_boundary_at_most(solver, n_clusters, wine):
    double = MaximinSeparationClustering(n_clusters, solver=solver).fit(wine)
    single = MaximinSeparationClustering(n_clusters, solver=solver).fit(wine.astype(np.float32))
    assert single.coef_.dtype == np.float32
    assert single.decision_function(wine.astype(np.float32)).dtype == np.float32
    differs = double.labels_ != single.labels_
    scores = double.decision_function(wine)[differs]
    gap = np.abs(scores) if n_clusters == 2 else np.diff(np.sort(scores)[:, -2:])
    # wine's largest feature has the value 1680, of which single precision keeps 1e-4
    assert (gap < 1e-3).all()
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_give_their_names(library, iris):
    frames = pytest.importorskip(library)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = frames.DataFrame(dict(zip(names, iris.T, strict=True)))
    for solver in SOLVERS:
        model = MaximinSeparationClustering(3, solver=solver).fit(frame)
        expected = MaximinSeparationClustering(3, solver=solver).fit(iris)
        assert list(model.feature_names_in_) == names
        assert not hasattr(expected, "feature_names_in_")
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(frame), expected.labels_)
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame[names[::-1]])


@pytest.mark.parametrize("multiway", ["auto", "bisection"])
@pytest.mark.parametrize("init", ["k-means", "scale-invariant"])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_weight_is_repetition(solver, n_clusters, init, multiway):
    params = {"solver": solver, "init": init, "multiway": multiway}
    for seed in range(3):
        X = correlated_groups(seed, n=70)
        weight = np.random.default_rng(seed).integers(0, 4, size=70)
        kept = weight > 0
        weighted, told = fit_quietly(
            MaximinSeparationClustering(n_clusters, **params), X, sample_weight=weight
        )
        repeated, told_too = fit_quietly(
            MaximinSeparationClustering(n_clusters, **params), np.repeat(X, weight, axis=0)
        )
        assert told == told_too
        expected = np.repeat(weighted.labels_, weight)
        np.testing.assert_array_equal(repeated.labels_, expected)
        assert weighted.separation_probability_ == pytest.approx(repeated.separation_probability_)
        absent, _ = fit_quietly(
            MaximinSeparationClustering(n_clusters, **params), X[kept], sample_weight=weight[kept]
        )
        np.testing.assert_array_equal(absent.labels_, weighted.labels_[kept])
        if solver != "gep":  # whose cut may lie beside a sample without weight
            np.testing.assert_array_equal(absent.predict(X), weighted.labels_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_given_labels_may_be_weighted(solver):
    X = correlated_groups(4, n=50)
    weight = np.random.default_rng(0).integers(0, 3, size=50)
    start = np.arange(50) % 2
    weighted = MaximinSeparationClustering(init=start, solver=solver).fit(X, sample_weight=weight)
    repeated = MaximinSeparationClustering(init=np.repeat(start, weight), solver=solver)
    repeated.fit(np.repeat(X, weight, axis=0))
    np.testing.assert_array_equal(repeated.labels_, np.repeat(weighted.labels_, weight))


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_labels(solver, wine):
    params = {"solver": solver, "init": "random", "n_init": 3}
    for n_clusters in (2, 3):
        runs = [
            fit_quietly(
                MaximinSeparationClustering(n_clusters, random_state=seed, **params), wine
            )[0]
            for seed in (5, 5, np.random.RandomState(5))
        ]
        for other in runs[1:]:
            np.testing.assert_array_equal(runs[0].labels_, other.labels_)
            assert runs[0].history_ == other.history_


@pytest.mark.parametrize("init", ["k-means", "scale-invariant", "random"])
def test_restarts_keep_the_best(init):
    """More of them never end lower, and somewhere end higher: they are different starts."""
    gained = 0
    for seed in range(4, 7):
        X = correlated_groups(seed, n_groups=5)
        objectives = []
        for n_init in (1, 2, 6):
            model = MaximinSeparationClustering(3, init=init, n_init=n_init, random_state=0)
            objectives.append(fit_quietly(model, X)[0].objective_)
        assert (np.diff(objectives) >= 0).all()
        gained += objectives[-1] > objectives[0]
    assert gained > 0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_clone_pickle_and_parameters(solver, kernel, wine):
    start = np.arange(178) % 2
    model = MaximinSeparationClustering(2, solver=solver, kernel=kernel, gamma=1e-5, init=start)
    before = pickle.dumps(model.get_params())
    X = wine.copy()
    model.fit(X)
    assert pickle.dumps(model.get_params()) == before
    np.testing.assert_array_equal(X, wine)
    np.testing.assert_array_equal(clone(model).fit(wine).labels_, model.labels_)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(wine), model.labels_)
    np.testing.assert_array_equal(restored.decision_function(wine), model.decision_function(wine))


def test_y_is_ignored(iris):
    labels = MaximinSeparationClustering(3).fit(iris).labels_
    y = np.arange(150) % 3
    np.testing.assert_array_equal(MaximinSeparationClustering(3).fit(iris, y).labels_, labels)


# Wide data


def forbidden(*args, **kwargs):
    raise AssertionError("a covariance matrix was formed")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_wide_data_get_the_same_labels(solver, n_clusters, container, counts, monkeypatch):
    X = container(counts)
    weight = np.random.default_rng(0).integers(1, 3, size=len(counts))
    model = MaximinSeparationClustering(n_clusters, solver=solver)
    for kwargs in ({}, {"sample_weight": weight}):
        narrow, told = fit_quietly(clone(model), X, **kwargs)
        with monkeypatch.context() as patch:
            patch.setattr(minimax, "WIDE", 2)
            patch.setattr(minimax.Sides, "covariance", forbidden)
            wide, told_too = fit_quietly(clone(model), X, **kwargs)
        assert told == told_too
        np.testing.assert_array_equal(wide.labels_, narrow.labels_)
        np.testing.assert_array_equal(wide.predict(X), narrow.labels_)
        np.testing.assert_allclose(
            wide.pairwise_separation_, narrow.pairwise_separation_, rtol=1e-5
        )


@pytest.mark.parametrize("solver", SOLVERS)
def test_wide_data_need_no_square_matrix(solver):
    rng = np.random.default_rng(0)
    d = 3000
    X = sparse.random_array((60, d), density=0.02, rng=rng).tocsr()
    tracemalloc.start()
    MaximinSeparationClustering(solver=solver).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * d**2 / 4


# Kernels


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        ("rbf", {"gamma": 0.1}),
        ("rbf", {"gamma": 5.0}),
        ("poly", {"gamma": 0.2, "degree": 2, "coef0": 1}),
        ("linear", {}),
        ("cosine", {}),
        ("laplacian", {"gamma": 0.3}),
        ("chi2", {"gamma": 0.3}),
        ("precomputed", {}),
    ],
)
def test_features_reproduce_the_kernel(kernel, params, container):
    X = np.abs(correlated_groups(0, n=50, d=3))
    K = pairwise_kernels(X, metric="rbf" if kernel == "precomputed" else kernel, **params)
    if kernel == "precomputed" or (kernel == "chi2" and container is not np.asarray):
        container = np.asarray  # chi2 is for dense data
    sample = container(K if kernel == "precomputed" else X)
    kernel = Kernel(kernel, **params)
    kernel_map = kernel.low_rank_map(sample, max_rank=50)
    features = kernel_map(sample)
    assert features.shape[1] <= np.linalg.matrix_rank(K)
    # a positive semidefinite remainder is nowhere larger than on its diagonal
    scale = np.diag(K).max()
    assert np.abs(features @ features.T - K).max() <= 2e-6 * scale
    small = kernel.low_rank_map(sample, max_rank=2)
    assert small(sample).shape == (50, min(2, features.shape[1]))
    remainder = K - small(sample) @ small(sample).T
    assert np.linalg.eigvalsh(remainder).min() >= -1e-6 * scale


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_precomputed_kernel_equals_the_kernel(solver, n_clusters):
    X, new = correlated_groups(0, n=80), correlated_groups(1, n=30)
    gamma = 0.05
    by_name = MaximinSeparationClustering(n_clusters, solver=solver, kernel="rbf", gamma=gamma)
    given_matrix = MaximinSeparationClustering(n_clusters, solver=solver, kernel="precomputed")
    by_function = MaximinSeparationClustering(
        n_clusters, solver=solver, kernel=lambda a, b: np.exp(-gamma * ((a - b) ** 2).sum())
    )
    K = rbf_kernel(X, gamma=gamma)
    expected = fit_quietly(by_name, X)[0]
    fit_quietly(given_matrix, K)
    fit_quietly(by_function, X)
    assert not hasattr(expected, "coef_")
    np.testing.assert_array_equal(expected.predict(X), expected.labels_)
    for model, rows, new_rows in (
        (given_matrix, K, rbf_kernel(new, X, gamma=gamma)),
        (by_function, X, new),
    ):
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(rows), expected.labels_)
        np.testing.assert_array_equal(model.predict(new_rows), expected.predict(new))
        np.testing.assert_allclose(
            model.decision_function(new_rows), expected.decision_function(new), atol=1e-5
        )


@pytest.mark.parametrize("solver", ["mpm", "gep"])
def test_linear_kernel_matrix_equals_whitened_features(solver):
    """With a spherical total covariance one unit for all features is each feature's own."""
    X = correlated_groups(2, n=90, d=4)
    X -= X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T + 0.7
    np.testing.assert_allclose(np.cov(X.T, bias=True), np.eye(4), atol=1e-12)
    start = np.random.default_rng(0).permutation(90) % 2
    by_features = MaximinSeparationClustering(solver=solver, init=start).fit(X)
    by_matrix = MaximinSeparationClustering(solver=solver, init=start, kernel="precomputed")
    by_matrix.fit(X @ X.T)
    np.testing.assert_array_equal(by_matrix.labels_, by_features.labels_)
    np.testing.assert_allclose(by_matrix.history_, by_features.history_, rtol=1e-7)
    assert by_matrix.separation_probability_ == pytest.approx(by_features.separation_probability_)


@pytest.mark.parametrize("seed", range(3))
def test_kernel_labels_do_not_depend_on_a_rotation(seed):
    X = correlated_groups(seed, n=60)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    model = MaximinSeparationClustering(3, kernel="poly", degree=2)
    expected = fit_quietly(model, X)[0].labels_
    assert same_partition(fit_quietly(model, X @ Q)[0].labels_, expected)


# Bad input

RNG = np.random.default_rng(0)
GOOD = RNG.normal(size=(20, 3))
DEPENDENT = np.hstack([GOOD, GOOD[:, :1]])
SQUARE = RNG.normal(size=(20, 20))


def spoilt(value):
    X = GOOD.copy()
    X[3, 1] = value
    return X


def weights(**kwargs):
    return {"sample_weight": np.full(kwargs.get("n", 20), kwargs.get("value", 1.0))}


NEXT_TO_CONSTANT = np.full((20, 3), 7.3)
NEXT_TO_CONSTANT[0, 0] += 1e-15
BAD_INPUT = {
    "NaN": ({}, spoilt(np.nan), {}, "Input X contains NaN"),
    "infinity": ({}, spoilt(np.inf), {}, "Input X contains infinity"),
    "strings": (
        {},
        [["a", "b"], ["c", "d"]],
        {},
        r"X must be numeric, but it holds text .*Encode text columns",
    ),
    "one dimension": ({}, GOOD[:, 0], {}, r"X has shape \(20,\), but needs a row per sample"),
    "no features": ({}, GOOD[:, :0], {}, r"0 feature\(s\)"),
    "one sample": ({}, GOOD[:1], {}, "n_samples=1 should be >= n_clusters=2"),
    "few samples": ({"n_clusters": 21}, GOOD, {}, "n_samples=20 should be >= n_clusters=21"),
    "constant": ({}, NEXT_TO_CONSTANT, {}, "X is constant: none of its 3 features varies"),
    "zero weights": ({}, GOOD, weights(value=0.0), "sample_weight is zero for all samples"),
    "negative weights": ({}, GOOD, weights(value=-1.0), "sample_weight has minimum -1"),
    "NaN weights": ({}, GOOD, weights(value=np.nan), "sample_weight has 20 of 20 entries NaN"),
    "weights of other length": (
        {},
        GOOD,
        weights(n=19),
        "sample_weight has 19 samples but X has 20",
    ),
    "few positive weights": (
        {"n_clusters": 3},
        GOOD,
        {"sample_weight": np.r_[1.0, 2.0, np.zeros(18)]},
        "n_samples=2 with positive sample_weight should be >= n_clusters=3",
    ),
    "kernel not square": (
        {"kernel": "precomputed"},
        GOOD,
        {},
        r"kernel='precomputed' needs X to be the square .* got shape \(20, 3\)",
    ),
    "kernel not symmetric": (
        {"kernel": "precomputed"},
        SQUARE,
        {},
        "kernel='precomputed' needs a symmetric matrix, but X differs",
    ),
    "kernel indefinite": (
        {"kernel": "precomputed"},
        SQUARE + SQUARE.T,
        {},
        "kernel is not positive semidefinite",
    ),
    "kernel indefinite later": (
        {"kernel": "precomputed"},
        np.ones((20, 20)) + 2 * np.eye(20)[::-1] + np.eye(20),
        {},
        "kernel is not positive semidefinite: its quadratic form falls to -2.5 or less",
    ),
    "kernel sparse": (
        {"kernel": "precomputed"},
        sparse.csr_array(GOOD @ GOOD.T),
        {},
        "kernel='precomputed' needs a dense array",
    ),
    "negative X": ({"kernel": "chi2"}, GOOD, {}, "X contains negative values"),
    "solver": ({"solver": "sdp"}, GOOD, {}, "The 'solver' parameter .* Got 'sdp'"),
    "multiway": ({"multiway": "tree"}, GOOD, {}, "The 'multiway' parameter .* Got 'tree'"),
    "kernel": ({"kernel": "gauss"}, GOOD, {}, "The 'kernel' parameter .* Got 'gauss'"),
    "init": ({"init": "pca"}, GOOD, {}, "The 'init' parameter .* Got 'pca'"),
    "init of other length": ({"init": [0, 1]}, GOOD, {}, "init has shape .2,. but X has 20"),
    "init lacks a label": ({"init": [0] * 20}, GOOD, {}, r"init must use each label .* got \[0\]"),
    "init from 1": ({"init": [1, 2] * 10}, GOOD, {}, r"init must use each label .* got \[1 2\]"),
    "init on absent samples": (
        {"init": [0] * 19 + [1]},
        GOOD,
        {"sample_weight": np.r_[np.ones(19), 0.0]},
        "init must use each label .* on samples of positive weight",
    ),
    "init for splits": (
        {"n_clusters": 3, "multiway": "bisection", "init": np.arange(20) % 3},
        GOOD,
        {},
        "init as labels needs multiway='pairwise' or 'one-vs-rest'",
    ),
    "eig against the rest": (
        {"n_clusters": 3, "solver": "eig", "multiway": "one-vs-rest"},
        GOOD,
        {},
        "multiway='one-vs-rest' does not work with solver='eig'.* use multiway='bisection'",
    ),
    "eig in pairs": (
        {"n_clusters": 3, "solver": "eig", "multiway": "pairwise"},
        GOOD,
        {},
        "multiway='pairwise' does not work with solver='eig'",
    ),
    "no clusters": ({"n_clusters": 0}, GOOD, {}, "The 'n_clusters' parameter .* Got 0"),
    "half a cluster": ({"n_clusters": 2.5}, GOOD, {}, "The 'n_clusters' parameter .* Got 2.5"),
    "negative reg": ({"reg": -0.1}, GOOD, {}, "The 'reg' parameter .* Got -0.1"),
    "NaN reg": ({"reg": np.nan}, GOOD, {}, "The 'reg' parameter .* Got nan"),
    "singular": ({"reg": 0}, DEPENDENT, {}, "reg=0 leaves .* singular .* use a larger reg"),
    "tol": ({"tol": -1e-3}, GOOD, {}, "The 'tol' parameter .* Got -0.001"),
    "n_init": ({"n_init": 0}, GOOD, {}, "The 'n_init' parameter .* Got 0"),
    "max_iter": ({"max_iter": 0}, GOOD, {}, "The 'max_iter' parameter .* Got 0"),
    "gamma": ({"kernel": "rbf", "gamma": 0}, GOOD, {}, "The 'gamma' parameter .* Got 0"),
    "n_components": ({"n_components": 0}, GOOD, {}, "The 'n_components' parameter .* Got 0"),
    "random_state": ({"random_state": "x"}, GOOD, {}, "The 'random_state' parameter .* Got 'x'"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_named(case):
    params, X, kwargs, message = BAD_INPUT[case]
    with pytest.raises((ValueError, TypeError), match=message):
        MaximinSeparationClustering(**params).fit(X, **kwargs)


def test_bad_input_of_predict_is_named(iris):
    model = MaximinSeparationClustering()
    with pytest.raises(ValueError, match="not fitted yet"):
        model.predict(iris)
    model.fit(iris)
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=r"X has 3 features.* expecting 4 features"):
            method(iris[:, :3])
        with pytest.raises(ValueError, match="Input X contains NaN"):
            method(np.full((2, 4), np.nan))


@pytest.mark.parametrize("multiway", ["pairwise", "one-vs-rest"])
@pytest.mark.parametrize("solver", ["mpm", "gep"])
def test_missing_clusters_are_told(solver, multiway):
    X = np.repeat([[0.0, 0.0], [1.0, 2.0]], [6, 4], axis=0)
    model = MaximinSeparationClustering(3, solver=solver, multiway=multiway)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters were found than n_clusters"):
        model.fit(X)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], [6, 4]))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_distinct=st.integers(12, 30),
    n_repeated=st.integers(0, 10),
    n_features=st.integers(1, 6),
    n_constant=st.integers(0, 2),
    exponent=st.integers(-15, 15),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_clusters=st.integers(1, 4),
    solver=st.sampled_from(SOLVERS),
    init=st.sampled_from(["k-means", "scale-invariant", "random"]),
    reg=st.sampled_from([1e-3, 0.3, 10.0]),
)
def test_any_data_keep_the_contract(
    seed,
    n_distinct,
    n_repeated,
    n_features,
    n_constant,
    exponent,
    dtype,
    n_clusters,
    solver,
    init,
    reg,
):
    """Repeated samples, constant features, huge and tiny values, both precisions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_distinct, n_features)) * 10.0**exponent
    X = np.hstack([X, np.full((n_distinct, n_constant), 0.1)])
    X = X[np.r_[np.arange(n_distinct), rng.integers(n_distinct, size=n_repeated)]].astype(dtype)
    model = MaximinSeparationClustering(
        n_clusters, solver=solver, init=init, reg=reg, random_state=0
    )
    model, warning = fit_quietly(model, X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    sizes = np.bincount(model.labels_, minlength=n_clusters)
    assert (np.diff(sizes) <= 0).all()
    if warning is None or "Fewer clusters" not in warning:
        assert sizes.min() > 0
    for value in (model.coef_, model.intercept_, model.history_, model.decision_function(X)):
        assert np.isfinite(value).all()
    if n_clusters > 1:
        # in the degenerate model of the nearest centre it is the same in all boundaries
        constant = model.coef_[:, n_features:]
        assert (constant == (constant[:1] if warning else 0)).all()
        assert 0 <= model.separation_probability_ < 1


def test_well_separated_blobs_are_found():
    """What any method must do, for all ways to get more than two clusters."""
    X, y = make_blobs(200, centers=5, cluster_std=0.05, n_features=3, random_state=3)
    for solver, multiway in itertools.product(SOLVERS, ["auto", "bisection"]):
        model = MaximinSeparationClustering(5, solver=solver, multiway=multiway).fit(X)
        assert same_partition(model.labels_, y)
