"""The minimax probability machine as a classifier: its guarantee, its offset and its contract."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import recall_score
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import MinimaxProbabilityMachine

DATA = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


def load(name):
    """Features of a full-rank covariance in every class, in units of about one, and classes."""
    X, y = DATA[name](return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def kappa_of(probability):
    return np.sqrt(probability / (1 - probability))


@pytest.mark.parametrize("reg", [0.01, 0.1, 3.0])
@pytest.mark.parametrize("name", DATA)
def test_each_pair_of_classes_has_its_own_machine(name, reg):
    """One hyperplane per pair, of the samples of the pair alone; the winner takes the sample."""
    X, y = load(name)
    model = MinimaxProbabilityMachine(reg=reg).fit(X, y)
    pairs = list(itertools.combinations(range(len(model.classes_)), 2))
    assert model.coef_.shape == (len(pairs), X.shape[1])
    margins = X @ model.coef_.T + model.intercept_
    votes = np.zeros((len(X), len(model.classes_)))
    for row, (low, high) in enumerate(pairs):
        keep = np.isin(y, [low, high])
        binary = MinimaxProbabilityMachine(reg=reg).fit(X[keep], y[keep])
        np.testing.assert_allclose(model.coef_[row], binary.coef_[0], rtol=1e-6, atol=1e-9)
        assert model.intercept_[row] == pytest.approx(binary.intercept_[0], rel=1e-6, abs=1e-9)
        separation = binary.separation_probability_
        assert model.pairwise_separation_[low, high] == pytest.approx(separation, rel=1e-8)
        assert model.pairwise_separation_[high, low] == pytest.approx(separation, rel=1e-8)
        votes[np.arange(len(X)), np.where(margins[:, row] > 0, high, low)] += 1
    assert model.separation_probability_ == np.nanmin(model.pairwise_separation_)
    decided = votes.max(axis=1) == len(model.classes_) - 1  # won all of its duels
    assert decided.mean() > 0.9
    np.testing.assert_array_equal(model.predict(X)[decided], votes.argmax(axis=1)[decided])


@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize(
    "names",
    [np.array(["setosa", "alba", "rosa"]), np.array([7, -3, 12]), np.array([10**12, 5, 6])],
)
def test_classes_may_have_any_names(name, names):
    X, y = load(name)
    codes = MinimaxProbabilityMachine().fit(X, y).predict(X)
    model = MinimaxProbabilityMachine().fit(X, names[y])
    np.testing.assert_array_equal(model.classes_, np.sort(names))
    np.testing.assert_array_equal(model.predict(X), names[codes])
    assert model.predict(X).dtype == names.dtype
    assert model.score(X, names[y]) == np.mean(codes == y)
    assert model.decision_function(X).shape == (len(X), 3)


def test_two_classes_may_be_logical():
    X, y = load("cancer")
    model = MinimaxProbabilityMachine().fit(X, y == 1)
    assert model.predict(X).dtype == bool
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)


@pytest.mark.parametrize("reg", [0.0, 0.1, 2.0])
@pytest.mark.parametrize(
    ("name", "classes"), [("iris", (1, 2)), ("wine", (0, 1)), ("cancer", (0, 1))]
)
def test_offset_makes_both_bounds_equal(name, classes, reg):
    """The hyperplane lies kappa standard deviations from either mean."""
    X, y = load(name)
    keep = np.isin(y, classes)
    X, y = X[keep], y[keep] == classes[1]
    model = MinimaxProbabilityMachine(reg=reg).fit(X, y)
    kappa = kappa_of(model.separation_probability_)
    w, b = model.coef_[0], model.intercept_[0]
    ridge = reg * np.diag(X.var(axis=0))
    for label, sign in ((True, 1), (False, -1)):
        rows = X[y == label]
        sigma = np.sqrt(w @ (np.cov(rows.T, bias=True) + ridge) @ w)
        assert w @ rows.mean(axis=0) + b == pytest.approx(sign * kappa * sigma, rel=1e-7)


@pytest.mark.parametrize("reg", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("name", DATA)
def test_guarantee_holds_for_the_training_data(name, reg):
    """The empirical distribution is one of those the guarantee is about: no sampling error."""
    X, y = load(name)
    for pair in itertools.combinations(np.unique(y), 2):
        keep = np.isin(y, pair)
        model = MinimaxProbabilityMachine(reg=reg).fit(X[keep], y[keep])
        recalls = recall_score(y[keep], model.predict(X[keep]), average=None)
        assert (recalls >= model.separation_probability_).all()


def worst_case(mean, covariance, w, kappa, slack):
    """Weighted points of given moments, as many as possible just across a plane.

    Along S w the distribution has two points, the near one kappa + slack standard deviations
    towards the plane; a symmetric cross in the other directions restores the covariance.
    """
    sigma = np.sqrt(w @ covariance @ w)
    axis = covariance @ w / sigma
    reach = kappa + slack
    share = 1 / (1 + reach**2)
    values, vectors = np.linalg.eigh(covariance - np.outer(axis, axis))
    spread = vectors * np.sqrt(np.maximum(values, 0.0) * len(values))
    cross = np.hstack([spread, -spread]).T
    toward = -np.sign(w @ mean) * axis  # the plane is w'x = 0
    points, weights = [], []
    for step, weight in ((reach, share), (-1 / reach, 1 - share)):
        points.append(mean + step * toward + cross)
        weights.append(np.full(len(cross), weight / len(cross)))
    return np.vstack(points), np.concatenate(weights)


@pytest.mark.parametrize("seed", range(6))
def test_guarantee_is_attained_by_the_worst_case(seed):
    """Of the distributions with the moments of the training data, one is classified no better."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    X = np.vstack([rng.normal(size=(40, d)) @ rng.normal(size=(d, d)) for _ in range(2)])
    y = np.repeat([0, 1], 40)
    X[y == 1] += rng.normal(size=d)
    model = MinimaxProbabilityMachine(reg=0).fit(X, y)
    p = model.separation_probability_
    w, b = model.coef_[0], model.intercept_[0]
    origin = -b * w / (w @ w)
    points, weights = zip(
        *(
            worst_case(
                X[y == c].mean(axis=0) - origin,
                np.atleast_2d(np.cov(X[y == c].T, bias=True)),
                w,
                kappa_of(p),
                1e-6,
            )
            for c in (0, 1)
        ),
        strict=True,
    )
    hard, weight = np.vstack(points) + origin, np.concatenate(weights)
    classes = np.repeat([0, 1], [len(part) for part in points])
    # the same moments, so the same machine
    same = MinimaxProbabilityMachine(reg=0).fit(hard, classes, sample_weight=weight)
    assert same.separation_probability_ == pytest.approx(p, rel=1e-6)
    for c in (0, 1):
        right = model.predict(hard[classes == c]) == c
        share = weight[classes == c] @ right
        assert share >= p
        assert share == pytest.approx(p, abs=1e-5)


@pytest.mark.parametrize("reg", [0.0, 0.1])
@pytest.mark.parametrize("name", DATA)
def test_predictions_do_not_depend_on_feature_scales(name, reg):
    X, y = load(name)
    model = MinimaxProbabilityMachine(reg=reg).fit(X, y)
    rng = np.random.default_rng(0)
    for scales in (
        2.0 ** rng.integers(-20, 20, size=X.shape[1]),
        10.0 ** rng.uniform(-6, 6, size=X.shape[1]),
    ):
        scaled = MinimaxProbabilityMachine(reg=reg).fit(X * scales, y)
        np.testing.assert_array_equal(scaled.predict(X * scales), model.predict(X))
        np.testing.assert_allclose(scaled.coef_ * scales, model.coef_, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_weight_is_repetition(name):
    X, y = load(name)
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = MinimaxProbabilityMachine().fit(X, y, sample_weight=weight)
    repeated = MinimaxProbabilityMachine().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_sparse_equals_dense():
    X, y = load_wine(return_X_y=True)
    dense = MinimaxProbabilityMachine().fit(X, y)
    model = MinimaxProbabilityMachine().fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), dense.predict(X))
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-6)


def test_precomputed_kernel_equals_the_kernel():
    X, y = load("iris")
    train, test = np.arange(150) % 3 > 0, np.arange(150) % 3 == 0
    by_name = MinimaxProbabilityMachine(kernel="rbf", gamma=0.2).fit(X[train], y[train])
    by_matrix = MinimaxProbabilityMachine(kernel="precomputed")
    by_matrix.fit(rbf_kernel(X[train], gamma=0.2), y[train])
    K = rbf_kernel(X[test], X[train], gamma=0.2)
    np.testing.assert_array_equal(by_matrix.predict(K), by_name.predict(X[test]))
    assert by_matrix.separation_probability_ == pytest.approx(by_name.separation_probability_)
    assert by_name.gamma_ == 0.2
    assert np.isnan(by_matrix.gamma_)


def test_a_second_fit_has_the_sides_of_its_own_classes():
    X, y = load("iris")
    model = MinimaxProbabilityMachine().fit(X, y)
    np.testing.assert_array_equal(model.boundary_sides_, [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]])
    model.fit(X, y == 0)
    np.testing.assert_array_equal(model.boundary_sides_, [[-1, 1]])
    np.testing.assert_array_equal(model.classes_, [False, True])


def test_clone_pickle_and_parameters():
    X, y = load("iris")
    names = np.array(["a", "b", "c"])[y]
    model = MinimaxProbabilityMachine(reg=0.2)
    before = model.get_params()
    model.fit(X, names)
    assert model.get_params() == before
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, names).coef_, model.coef_)


X_BAD, Y_BAD = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 2


@pytest.mark.parametrize(
    ("params", "X", "y", "weight", "message"),
    [
        ({}, X_BAD, None, None, "requires y to be passed"),
        ({}, X_BAD, np.zeros(12), None, "at least 2 classes in y"),
        ({}, X_BAD, Y_BAD, Y_BAD, "classes in y, each with positive weight"),
        ({}, X_BAD, Y_BAD[:7], None, "y has 7 samples but X has 12"),
        ({}, X_BAD, X_BAD[:, 0], None, "Unknown label type: continuous"),
        ({}, X_BAD, np.where(Y_BAD, np.nan, 1.0), None, "y has NaN in 6 of 12 entries"),
        ({}, np.full((12, 2), np.nan), Y_BAD, None, "Input X contains NaN"),
        ({}, X_BAD, Y_BAD, -np.ones(12), "sample_weight has minimum -1"),
        ({}, X_BAD, Y_BAD, np.ones(3), "sample_weight has 3 samples but X has 12"),
        ({"reg": -1}, X_BAD, Y_BAD, None, "The 'reg' parameter .* Got -1"),
        ({"reg": 0}, X_BAD[:, [0, 0]], Y_BAD, None, "reg=0 leaves .* singular"),
        ({"kernel": "precomputed"}, X_BAD, Y_BAD, None, "kernel='precomputed' needs X to be the"),
    ],
)
def test_bad_input_is_named(params, X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        MinimaxProbabilityMachine(**params).fit(X, y, sample_weight=weight)


def test_classes_of_one_sample_without_a_ridge_are_refused_in_words():
    X = np.arange(14.0)[:, None]
    with pytest.raises(ValueError, match="reg"):
        MinimaxProbabilityMachine(reg=5e-324).fit(X, np.arange(14))
