"""Rules against scikit-learn and SciPy; the extension keeps what it knows and picks the best."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier

from separatrix.data import rows as rows_of_data
from separatrix.data.frames import Frame
from separatrix.models import extensions
from separatrix.models.extensions import (
    N_VOTERS,
    PENALTY,
    RIDGE,
    RULES,
    WIDTH,
    Extension,
    KernelRule,
    LinearRule,
    NeighborRule,
    QuadraticRule,
    likeliest_factor,
)
from separatrix.result import renumbered
from support import correlated_groups


@pytest.fixture(scope="module")
def labelled():
    """Samples, labels that overlap, and new samples."""
    X = correlated_groups(0, n=110)
    X = Frame.of(X)(X)
    labels = np.digitize(X[:, 0] + 0.5 * np.random.default_rng(0).normal(size=110), [-0.6, 0.4])
    return X[:80], labels[:80].astype(np.int32), X[80:]


def ridge_of(X):
    return RIDGE * X.var(axis=0).mean() * np.eye(X.shape[1])


def extended(X, labels, seed=0):
    labels = np.asarray(labels, dtype=np.int32)
    rng = np.random.RandomState(seed)
    return Extension.of(Frame.of(X), X, labels, int(labels.max()) + 1, rng)


def assert_consistent(extension, X, n_clusters):
    """Labels lead in scores and probabilities, and the latter are probabilities."""
    labels, scores = extension.labels(X), extension.scores(X)
    probabilities = extension.probabilities(X)
    assert labels.dtype == np.int32
    assert scores.shape == probabilities.shape == (len(X), n_clusters)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.min() >= 0
    np.testing.assert_array_equal(scores.argmax(axis=1), labels)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), labels)


# --- rules --------------------------------------------------------------------------------------


def test_neighbors_vote_by_inverse_squares(labelled):
    X, labels, new = labelled
    found = NeighborRule.of(X, labels, 3).scores(new)
    vote = KNeighborsClassifier(N_VOTERS, weights=lambda d: 1 / d**2).fit(X, labels)
    np.testing.assert_allclose(found, vote.predict_proba(new), atol=1e-9)


def test_a_neighbor_in_the_same_place_outvotes_all_others(labelled):
    X, labels, _ = labelled
    found = NeighborRule.of(X, labels, 3).scores(X)
    np.testing.assert_allclose(found, np.eye(3)[labels], atol=1e-6)


def test_linear_rule_is_discriminant_analysis_with_a_ridge(labelled):
    X, labels, new = labelled
    ridge = ridge_of(X)

    class Ridged:
        def fit(self, rows):
            self.covariance_ = np.cov(rows.T, ddof=0) + ridge

    oracle = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Ridged())
    expected = oracle.fit(X, labels).decision_function(new)
    np.testing.assert_allclose(LinearRule.of(X, labels, 3).scores(new), expected, atol=1e-9)


def test_quadratic_rule_is_a_density_for_each_cluster(labelled):
    X, labels, new = labelled
    ridge, constant = ridge_of(X), 0.5 * X.shape[1] * np.log(2 * np.pi)
    found = QuadraticRule.of(X, labels, 3).scores(new)
    for c in range(3):
        own = X[labels == c]
        density = multivariate_normal(own.mean(axis=0), np.cov(own.T, ddof=0) + ridge)
        expected = density.logpdf(new) + np.log(np.mean(labels == c)) + constant
        np.testing.assert_allclose(found[:, c], expected)


def test_kernel_rule_is_kernel_ridge_regression_on_all_landmarks(labelled):
    X, labels, new = labelled
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    gamma = 1 / (WIDTH * np.median(squares))
    members = np.eye(3)[labels]
    oracle = KernelRidge(alpha=PENALTY, kernel="rbf", gamma=gamma)
    expected = oracle.fit(X, members - members.mean(axis=0)).predict(new) + members.mean(axis=0)
    found = KernelRule.of(X, labels, 3)
    assert found.gamma == pytest.approx(gamma)
    # what keeps the matrix positive changes the fourth digit
    np.testing.assert_allclose(found.scores(new), expected, atol=1e-3)


def test_kernel_rule_on_some_landmarks_solves_its_problem(labelled, monkeypatch):
    """No other coefficients of these landmarks have a smaller penalised sum of squares."""
    X, labels, _ = labelled
    monkeypatch.setattr(extensions, "N_LANDMARKS", 20)
    rule = KernelRule.of(X, labels, 3)
    assert len(rule.landmarks) == 20
    assert {*map(tuple, rule.landmarks)} <= {*map(tuple, X)}
    features = np.exp(-rule.gamma * ((X[:, None] - rule.landmarks) ** 2).sum(axis=2))
    own = np.exp(-rule.gamma * ((rule.landmarks[:, None] - rule.landmarks) ** 2).sum(axis=2))
    residual = features @ rule.coef + rule.intercept - np.eye(3)[labels]
    gradient = features.T @ residual + PENALTY * own @ rule.coef
    assert np.abs(gradient).max() < 1e-5


@pytest.mark.parametrize("rule", RULES.values())
def test_rules_do_not_choose_clusters_without_samples(labelled, rule):
    X, labels, new = labelled
    scores = rule.of(X, np.where(labels == 2, 3, labels), 5).scores(new)
    np.testing.assert_array_equal(scores[:, [0, 1, 3]].argmax(axis=1), _position(scores))


def _position(scores):
    return np.array([0, 1, -1, 2, -1])[scores.argmax(axis=1)]


# --- the choice ---------------------------------------------------------------------------------


def test_accuracies_are_those_of_held_back_halves(labelled):
    X, labels, _ = labelled
    found = Extension.of(Frame.of(X), X, labels, 3, np.random.RandomState(5))
    rows = Frame.of(X)(X)
    a, b = np.array_split(np.random.RandomState(5).permutation(len(X)), 2)
    for name, rule in RULES.items():
        right = [
            rule.of(rows[one], labels[one], 3).scores(rows[other]).argmax(axis=1) == labels[other]
            for one, other in ((a, b), (b, a))
        ]
        assert found.accuracies[name] == pytest.approx(np.mean(np.concatenate(right)))
    assert found.accuracies[found.rule] == max(found.accuracies.values())
    assert isinstance(found.model, RULES[found.rule])


def test_concentric_clouds_ask_for_the_quadratic_rule():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 2)) * np.where(labels == 0, 1.0, 4.0)[:, None]
    found = extended(X, labels)
    assert found.rule == "quadratic"
    assert found.accuracies["quadratic"] > found.accuracies["linear"]


def test_equal_clouds_are_parted_half_way():
    """The best rule is the hyperplane in the middle; the one chosen says much the same."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 3))
    X[:, 0] += 2 * labels
    found = extended(X, labels)
    assert found.accuracies["linear"] > found.accuracies["neighbors"]
    new = rng.normal(size=(2_000, 3)) + np.array([1.0, 0, 0])
    assert np.mean(found.labels(new) == (new[:, 0] > 1)) > 0.9


def test_factor_is_the_likeliest():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 200)
    scores = 0.3 * np.eye(3)[labels] + 0.3 * rng.normal(size=(200, 3))

    def loss(factor):
        return -log_softmax(factor * scores, axis=1)[np.arange(200), labels].mean()

    found = likeliest_factor(scores, labels)
    assert loss(found) <= min(loss(factor) for factor in np.geomspace(1e-3, 1e3, 2_000)) + 1e-8
    assert likeliest_factor(100 * scores, labels) == pytest.approx(found / 100, rel=1e-2)


def test_scores_that_say_nothing_give_even_probabilities():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(400, 2)), np.arange(400) % 2
    probabilities = extended(X, labels).probabilities(rng.normal(size=(50, 2)))
    assert np.abs(probabilities - 0.5).max() < 0.2


# --- the extension ------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 20),
    n_features=st.integers(1, 3),
    n_values=st.integers(1, 9),
    n_clusters=st.integers(1, 5),
    seed=st.integers(0, 1_000),
)
def test_known_samples_keep_their_labels(n, n_features, n_values, n_clusters, seed):
    """Whatever the rule says: clusters without a pattern, of one sample, missing in a half."""
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(0, n_values, size=(n, n_features)).astype(float), axis=0)
    labels = rng.integers(0, n_clusters, len(X))
    labels = np.unique(labels, return_inverse=True)[1]
    extension = extended(X, labels)
    n_found = int(labels.max()) + 1
    np.testing.assert_array_equal(extension.labels(X), labels)
    assert_consistent(extension, X, n_found)
    assert_consistent(extension, rng.normal(scale=5, size=(30, n_features)), n_found)


def test_new_samples_follow_the_rule_in_any_slices(labelled, monkeypatch):
    X, labels, new = labelled
    extension = extended(X, labels)
    expected = extension.model.scores(extension.frame(new))
    np.testing.assert_allclose(extension.scores(new), expected, atol=1e-9)
    monkeypatch.setattr(rows_of_data, "CHUNK_SIZE", 7 * extensions.N_LANDMARKS)
    mixed = np.vstack([new, X])
    np.testing.assert_allclose(extension.scores(mixed)[: len(new)], expected, atol=1e-9)
    np.testing.assert_array_equal(extension.labels(mixed)[len(new) :], labels)


def test_one_cluster_is_certain():
    X = np.random.default_rng(0).normal(size=(12, 2))
    extension = extended(X, np.zeros(12))
    np.testing.assert_array_equal(extension.probabilities(X + 1), 1)


@pytest.mark.parametrize("n_features", [2, 60])
def test_equal_samples_are_labelled_as_the_first(n_features):
    X = np.full((15, n_features), 0.1)
    labels = np.r_[1, np.arange(14) % 3]
    extension = extended(X, labels)
    np.testing.assert_array_equal(extension.labels(X), 1)
    assert_consistent(extension, np.vstack([X, X + 1]), 3)


def test_copies_count_as_samples_of_their_own(labelled):
    X, labels, new = labelled
    extension = extended(np.vstack([X, X]), np.r_[labels, labels])
    np.testing.assert_array_equal(extension.labels(X), labels)
    assert_consistent(extension, new, 3)


def test_one_sample_far_off_breaks_no_rule():
    X = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), [[1e9, 0.0]]])
    labels = np.r_[np.arange(30) % 2, 0]
    extension = extended(X, labels)
    np.testing.assert_array_equal(extension.labels(X), labels)
    assert_consistent(extension, X + 1, 2)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
@pytest.mark.parametrize("rule", ["linear", "quadratic", "kernel"])
def test_a_rule_is_refitted_to_its_own_labels_of_more_samples(labelled, rule, order, monkeypatch):
    X, labels, more = labelled
    monkeypatch.setattr(extensions, "RULES", {rule: RULES[rule]})
    extension = extended(X, labels).renumbered(np.array(order))
    everything = np.vstack([X, more])
    given = extension.labels(everything)
    refitted = extension.refitted(everything)
    np.testing.assert_array_equal(given[: len(X)], renumbered(labels, order))
    np.testing.assert_array_equal(refitted.labels(X), given[: len(X)])  # keep their labels
    expected = RULES[rule].of(Frame.of(X)(everything), given, 3).scores(Frame.of(X)(more))
    np.testing.assert_allclose(refitted.scores(more), expected)


def test_neighbors_are_not_refitted(labelled, monkeypatch):
    X, labels, more = labelled
    monkeypatch.setattr(extensions, "RULES", {"neighbors": NeighborRule})
    extension = extended(X, labels)
    assert extension.refitted(np.vstack([X, more])) is extension


def test_refitting_recovers_what_few_samples_leave_uncertain():
    """For Gaussian clusters a step of their classification likelihood, on all samples."""
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.integers(3, size=2_000).astype(np.int32)
        X = 3.2 * np.eye(3, 20)[y] + rng.normal(size=(2_000, 20))
        extension = Extension.of(Frame.of(X), X[:300], y[:300], 3, np.random.RandomState(0))
        refitted = extension.refitted(X)
        errors.append([np.mean(one.labels(X[300:]) != y[300:]) for one in (extension, refitted)])
    change = np.diff(errors, axis=1)
    assert change.mean() < -2 * change.std() / np.sqrt(len(errors))
