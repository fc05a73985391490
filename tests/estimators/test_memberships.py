"""Features, probabilities and scores of samples, for every clusterer."""

import pickle
import warnings
from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, log_softmax
from sklearn.base import ClusterMixin, clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import separatrix
from separatrix import KernelKMeans, MaximumVolumeClustering, TreeCutClustering
from separatrix.data.distinct import KnownRows, row_hashes
from separatrix.data.frames import Frame
from separatrix.models.calibration import Calibration
from separatrix.models.extensions import best_rule, held_back_scores
from separatrix.models.nearest_samples import in_units
from separatrix.models.scores import (
    agreed_shares,
    cluster_columns,
    probabilities_of,
    score_features,
)
from separatrix.result import decoded

pytestmark = pytest.mark.usefixtures("few_tables")

CLUSTERERS = [
    one
    for one in (getattr(separatrix, name) for name in separatrix._REGISTRY)
    if isinstance(one, type) and issubclass(one, ClusterMixin)
]
FLOWERS = load_iris().data[::3]
NEW = FLOWERS[::2] + 0.05

every = pytest.mark.parametrize("estimator", CLUSTERERS, ids=lambda one: one.__name__)


@cache
def fitted(estimator, n_clusters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(n_clusters, random_state=0).fit(FLOWERS)


@every
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_features_and_probabilities_speak_for_what_is_predicted(estimator, n_clusters):
    model = fitted(estimator, n_clusters)
    for X in (FLOWERS, NEW):
        labels, features = model.predict(X), model.transform(X)
        probabilities = model.predict_proba(X)
        assert features.shape == probabilities.shape == (len(X), n_clusters)
        assert np.isfinite(features).all()
        np.testing.assert_array_equal(features.argmax(axis=1), labels)
        np.testing.assert_array_equal(probabilities.argmax(axis=1), labels)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert model.score(X) == pytest.approx(probabilities.max(axis=1).mean())
    scores = model.decision_function(NEW)
    if n_clusters == 2:
        np.testing.assert_allclose(np.diff(model.transform(NEW)).ravel(), scores)
    if n_clusters == 3:
        np.testing.assert_array_equal(model.transform(NEW), scores)


@every
def test_what_is_saved_keeps_the_probabilities_and_no_samples_for_them(estimator):
    model = fitted(estimator, 3)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    assert not hasattr(getattr(loaded, "_calibration", None), "X")


def test_what_is_saved_before_any_probability_was_asked_for_has_them_too():
    model = KernelKMeans(3).fit(FLOWERS)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))


def test_features_have_names_and_go_on_in_a_pipeline():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = KernelKMeans(3).set_output(transform="pandas")
    features = model.fit_transform(X)
    assert list(features.columns) == list(model.get_feature_names_out())
    assert list(features.columns) == ["kernelkmeans0", "kernelkmeans1", "kernelkmeans2"]
    assert make_pipeline(clone(model), LogisticRegression()).fit(X, y).score(X, y) > 0.8


def test_a_model_of_an_older_file_says_that_it_has_no_probabilities():
    model = copy(fitted(KernelKMeans, 3))
    del model._calibration
    with pytest.raises(ValueError, match=r"KernelKMeans was saved by a version .* fit it again"):
        model.predict_proba(NEW)
    assert model.transform(NEW).shape == (len(NEW), 3)


# --- scores of any kind -------------------------------------------------------------------------


def test_a_cluster_that_was_never_split_off_has_the_lowest_score_and_no_probability():
    scores = np.array([[1.0, -np.inf, 0.5], [0.0, -np.inf, 2.0]])
    np.testing.assert_array_equal(score_features(scores, 3), [[1, 0.5, 0.5], [0, 0, 2]])
    np.testing.assert_array_equal(probabilities_of(scores, 3)[:, 1], 0.0)
    two = np.array([np.inf, -np.inf])
    np.testing.assert_array_equal(score_features(two, 2), [[-0.5, 0.5], [0.5, -0.5]])


def test_ties_are_decided_as_predictions_are():
    rng = np.random.default_rng(0)
    base = rng.integers(-2, 3, size=(200, 4)).astype(float)
    last_digits = np.nextafter(base, base + rng.normal(size=base.shape))
    for scores in (base, last_digits, base[:, 0], last_digits[:, 0]):
        n_clusters = 2 if scores.ndim == 1 else 4
        for temperature in (1e-3, 1.0, 1e6, 1e300):
            found = probabilities_of(scores, n_clusters, temperature)
            np.testing.assert_array_equal(found.argmax(axis=1), decoded(scores))
            np.testing.assert_allclose(found.sum(axis=1), 1.0)


# --- the temperature ----------------------------------------------------------------------------


def clouds(n_samples=400, seed=0):
    return make_blobs(n_samples, 8, centers=4, cluster_std=4.0, random_state=seed)[0]


some = pytest.mark.parametrize(
    "estimator", [KernelKMeans, MaximumVolumeClustering, TreeCutClustering]
)


@some
def test_sureness_does_not_depend_on_units(estimator):
    """But for the halves, which other values of the features draw otherwise."""
    X, unit = clouds(), 2.0**40
    sureness = estimator(4, random_state=0).fit(X).score(X)
    assert estimator(4, random_state=0).fit(unit * X).score(unit * X) == pytest.approx(
        sureness, abs=0.02
    )


@some
def test_sureness_does_not_depend_on_the_order_of_rows_and_weight_is_repetition(estimator):
    X, rng = clouds(), np.random.default_rng(0)
    model, counts = estimator(4, random_state=0).fit(X)._model, rng.integers(0, 3, len(X))
    weighted = Calibration.of(model, X, counts.astype(float))
    repeated = Calibration.of(model, rng.permutation(np.repeat(X, counts, axis=0)))
    assert weighted.temperature == pytest.approx(repeated.temperature, rel=1e-6)


def test_the_temperature_is_the_likeliest_for_labels_that_were_held_back():
    """Against a grid, with the predictions of the best rule taken from its parts."""
    X = clouds()
    X = X[np.argsort(row_hashes(X))]
    model = KernelKMeans(4, random_state=0).fit(X)
    halves = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    held_back = held_back_scores(Frame.of(X)(X), model.predict(X), 4, halves)
    predicted = held_back[best_rule(held_back, model.predict(X))[0]].argmax(axis=1)
    columns = cluster_columns(model.decision_function(X), 4)

    def likelihood(temperature):
        return log_softmax(columns / temperature, axis=1)[np.arange(len(X)), predicted].mean()

    found = model._calibration.temperature
    grid = found * np.geomspace(0.01, 100, 201)
    assert likelihood(found) >= max(likelihood(one) for one in grid) - 1e-9


def test_probabilities_are_as_sure_as_a_boundary_of_other_samples():
    """Mean confidence beside the share of new labels that a boundary relearned of half finds."""
    X, new = np.split(clouds(1_200), 2)
    model = KernelKMeans(4, random_state=0).fit(X)
    half = LogisticRegression(C=1e-2).fit(X[::2], model.predict(X[::2]))
    agreement = np.mean(half.predict(new) == model.predict(new))
    assert abs(model.score(new) - agreement) < 0.05


def test_a_model_that_forgets_samples_is_that_of_the_others():
    """Training samples lie at distance zero: sureness must come of samples that are new."""
    X, new = np.split(clouds(800), 2)
    model = TreeCutClustering(4, n_neighbors=1, smallest_share=0.5).fit(X)
    others = replace(
        model._model,
        rows=in_units(X[100:], model._model.exponent),
        radii=np.zeros(300),
        clusters=model.predict(X[100:]),
        known=KnownRows.of(X[100:]),
    )
    for rows in (X, new):
        found = model._model.forgetting(X[:100]).scores(rows)
        np.testing.assert_allclose(found, others.scores(rows), rtol=1e-12)
    assert model._model.forgetting(X) is model._model


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_probabilities_of_equal_samples_that_labels_part():
    X, known = np.full((16, 1), 5.0), np.array([2, 0, -1, 0, 1] + [-1] * 11)
    model = KernelKMeans(3).fit(X, known_labels=known)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_calibrated_probabilities_are_likeliest_for_what_other_fits_find():
    """Against a grid of offsets and slopes, where fits of halves disagree on many samples."""
    X = np.random.default_rng(0).uniform(size=(300, 2))
    model = KernelKMeans(5, random_state=0).fit(X)
    labels, before, plain = model.predict(X), model.score(X), model.predict_proba(X)
    assert model.calibrate(X) is model
    agree = np.empty((3, 300))
    for split in range(3):
        one, other = np.array_split(np.random.RandomState(split).permutation(300), 2)
        for half, rest in ((one, other), (other, one)):
            refit = clone(model).fit(X[np.sort(rest)])
            found = separatrix.align_labels(labels, refit.predict(X))
            agree[split, half] = (found == labels)[half]
    others = np.sort(plain, axis=1)[:, :-1].sum(axis=1) / plain.max(axis=1)
    odds = -np.log(np.maximum(others, 1e-9))  # the same for all that are next to certain

    def likelihood(offset, slope):
        shares = expit(offset + slope * odds)
        return np.mean(agree * np.log(shares) + (1 - agree) * np.log(1 - shares))

    offset, slope = model._agreement
    assert slope > 0
    best = likelihood(offset, slope)
    for away in np.linspace(-1, 1, 21):
        assert best >= likelihood(offset + away, slope) - 1e-8
        assert best >= likelihood(offset, slope + slope * away) - 1e-8
    share = agree.mean()
    # no other cluster may win, which keeps a few probabilities above what was found
    assert share - 1e-6 < model.score(X) < share + 0.02
    assert abs(model.score(X) - share) < abs(before - share)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), labels)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(model.fit(X).predict_proba(X), plain)


@every
def test_every_clusterer_can_be_calibrated(estimator):
    """But for the one that chooses among others; clusters and sums stay what they were."""
    if estimator is separatrix.AutoClustering:
        return
    model = copy(fitted(estimator, 3))
    plain, labels = model.predict_proba(NEW), model.predict(NEW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrated = model.calibrate(FLOWERS).predict_proba(NEW)
    np.testing.assert_array_equal(calibrated.argmax(axis=1), labels)
    np.testing.assert_allclose(calibrated.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted(estimator, 3).predict_proba(NEW), plain)


def test_other_clusters_keep_their_ratios_and_never_win():
    rng = np.random.default_rng(0)
    plain = rng.dirichlet(np.ones(4), size=200)
    plain[0], plain[1] = [0, 1, 0, 0], [0.25, 0.25, 0.25, 0.25]
    np.testing.assert_allclose(agreed_shares(plain, 0.0, 1.0)[1:], plain[1:])
    for offset, slope in ((0.7, 0.5), (-20.0, 0.0), (20.0, 10.0), (-3.0, 2.0)):
        found = agreed_shares(plain, offset, slope)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        np.testing.assert_array_equal(found.argmax(axis=1), plain.argmax(axis=1))
    found = agreed_shares(plain, 2.0, 0.5)
    top = plain.argmax(axis=1)
    rows = np.arange(2, 200)
    p, q = plain[rows, top[rows]], found[rows, top[rows]]
    np.testing.assert_allclose(q / (1 - q), np.exp(2.0) * (p / (1 - p)) ** 0.5)
    for row in rows:
        others = np.arange(4) != top[row]
        ratios = plain[row, others] / plain[row, others].sum()
        np.testing.assert_allclose(found[row, others] / found[row, others].sum(), ratios)
    np.testing.assert_array_equal(agreed_shares(np.ones((3, 1)), 1.0, 1.0), 1.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"init": np.arange(50) % 3},
        {"min_size": 16},
        {"min_size": 0.32, "max_size": 17},
        {"max_size": [25, 15, 10]},
    ],
)
def test_halves_of_the_samples_have_their_half_of_a_start_and_of_bounds(settings):
    model = KernelKMeans(3, **settings).fit(FLOWERS)
    labels = model.predict(NEW)
    calibrated = model.calibrate(FLOWERS).predict_proba(NEW)
    np.testing.assert_array_equal(calibrated.argmax(axis=1), labels)
    if "init" not in settings:
        model.calibrate(FLOWERS[:30])


def test_what_cannot_be_calibrated_is_refused_before_any_fit():
    X = FLOWERS
    with pytest.raises(ValueError, match="must be a feature matrix in memory"):
        KernelKMeans(2, kernel="precomputed").fit(X @ X.T).calibrate(X @ X.T)
    with pytest.raises(ValueError, match=r"n_samples=7 is less than 4 \* n_clusters=8"):
        KernelKMeans(2).fit(X).calibrate(X[:7])
    with pytest.raises(ValueError, match="init, which has 50 labels, but X has 40 samples"):
        KernelKMeans(3, init=np.arange(50) % 3).fit(X).calibrate(X[:40])
    one = KernelKMeans(1).fit(X).calibrate(X)
    np.testing.assert_array_equal(one.predict_proba(X), 1.0)


def test_a_temperature_that_single_precision_cannot_hold():
    scores = np.array([[0.0, 1e-3, 1.0], [0.5, 0.5, 0.0]], dtype=np.float32)
    probabilities = probabilities_of(scores, 3, 1e-60)
    np.testing.assert_allclose(probabilities, [[0, 0, 1], [0.5, 0.5, 0]], atol=1e-6)
