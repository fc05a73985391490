"""The consensus of candidates: what a fit promises, and what it tells."""

import pickle
import warnings

import numpy as np
import pytest
from numpydoc.validate import validate
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from separatrix.selection import auto, consensus
from separatrix.selection.auto import AutoClustering
from separatrix.selection.candidates import Comparison
from separatrix.validity.structure import Structure
from support import Recorder


@pytest.fixture(scope="module")
def fitted(blobs):
    return AutoClustering(3).fit(blobs[0])


@pytest.mark.parametrize("name", ["candidates.Comparison", "candidates.Comparison.to_dataframe"])
def test_docstrings_follow_numpydoc(name):
    errors = validate(f"separatrix.selection.{name}")["errors"]
    assert [e for e in errors if e[0] not in {"ES01", "SA01", "EX01", "RT02"}] == []


def test_few_methods_may_find_clusters_that_lie_apart():
    """Two rings within each other, of which most candidates see halves."""
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X, y = np.vstack([ring, 1.3 * ring]), np.repeat([0, 1], 100)
    model = AutoClustering(2).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.spacing_ > 1
    assert model.structure_.has_clusters
    assert model.candidates_.family_agreement < 0.85
    assert model.agreement_words_.startswith("strong: the ")
    n_voted = np.count_nonzero(model.candidates_.votes)
    assert f"{n_voted} of {len(model.candidates_.names)} candidates" in model.agreement_words_
    assert not model.candidates_.apart.all()


NOISE = {
    "uniform": lambda rng: rng.random((100, 1)),
    "stretched": lambda rng: rng.normal(size=(150, 3)) * [6, 1, 1],
}


@pytest.mark.parametrize("kind", NOISE)
def test_one_cluster_is_an_answer(kind):
    X = NOISE[kind](np.random.default_rng(0))
    model = AutoClustering().fit(X)
    assert model.n_clusters_ == model.plausible_n_clusters_[0] == 1
    assert not model.labels_.any()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert not model.structure_.has_clusters
    assert model.agreement_words_ == f"none: {model.structure_.words}"
    assert model.n_clusters_words_.startswith("1: no clusters found")
    np.testing.assert_allclose(model.confidence_, 1)


def test_labels_that_were_asked_for_come_with_the_warning_in_words():
    X = NOISE["stretched"](np.random.default_rng(0))
    model = AutoClustering(2).fit(X)
    assert len(np.unique(model.labels_)) == 2
    assert model.agreement_words_.startswith("none: no clusters found")
    assert not hasattr(model, "plausible_n_clusters_")


@pytest.mark.usefixtures("few_tables")
def test_the_test_for_structure_changes_no_cluster(blobs, monkeypatch):
    expected = AutoClustering(3).fit(blobs[0])
    nothing = Structure(0.0, np.array([]), 1.0)
    monkeypatch.setattr(auto, "structure_of_samples", lambda X, n_jobs, rng: nothing)
    found = AutoClustering(3).fit(blobs[0])
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.candidates_.votes, expected.candidates_.votes)


@pytest.mark.usefixtures("few_tables")
def test_agreement_is_that_of_the_voters_with_the_result():
    X, _ = make_moons(150, noise=0.15, random_state=1)
    model = AutoClustering(2).fit(X)
    found = model.candidates_
    scores = [adjusted_rand_score(model.labels_, labels) for labels in found.labels]
    assert model.agreement_ == pytest.approx(np.sum(found.votes * scores))
    assert model.agreement_ != pytest.approx(found.family_agreement)


def test_fit_sets_what_it_promises(blobs, fitted):
    X, y = blobs
    assert adjusted_rand_score(y, fitted.labels_) == 1
    sizes = np.bincount(fitted.labels_)
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert fitted.n_clusters_ == 3
    assert isinstance(fitted.candidates_, Comparison)
    assert fitted.best_candidate_ in fitted.candidates_.names
    assert adjusted_rand_score(y, fitted.best_candidate_labels_) == 1
    assert fitted.agreement_ > 0.9
    assert fitted.structure_.p_value < 0.01
    assert fitted.agreement_words_.startswith("strong")
    assert not hasattr(fitted, "selection_curve_")
    assert fitted.confidence_.shape == (len(X),)
    assert (fitted.confidence_ > 0).all()
    assert (fitted.confidence_ <= 1).all()
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X + 0.1), fitted.predict(X + 0.1))
    again = clone(fitted).fit(X, np.arange(len(X)))
    np.testing.assert_array_equal(again.labels_, fitted.labels_)


@pytest.mark.usefixtures("few_tables")
def test_confidence_is_the_vote_share_of_families():
    X, _ = make_moons(150, noise=0.15, random_state=1)
    model = AutoClustering(2).fit(X)
    found = model.candidates_
    used = np.flatnonzero(found.usable)
    weights = consensus.family_weights([found.families[i] for i in used])
    expected = np.zeros(len(X))
    for i, weight in zip(used, weights, strict=True):
        same = found.labels[i] == model.labels_
        expected += weight * (same if same.mean() >= 0.5 else ~same)
    np.testing.assert_allclose(model.confidence_, expected, atol=1e-6)


@pytest.mark.usefixtures("few_tables")
def test_samples_beyond_the_most_follow_the_boundary():
    X, y = make_blobs(900, centers=[[0, 0], [0, 9], [9, 0]], random_state=2)
    model = AutoClustering(3, max_samples=150).fit(X)
    assert (model.confidence_ > 0.5).all()
    assert len(model.sample_indices_) == 150
    assert model.candidates_.labels.shape[1] == 150
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert adjusted_rand_score(y[model.sample_indices_], model.best_candidate_labels_) == 1


@pytest.mark.usefixtures("few_tables")
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_scores_and_probabilities_follow_the_boundary(blobs, n_clusters):
    X, _ = blobs
    model = AutoClustering(n_clusters).fit(X)
    new = X + np.random.default_rng(0).normal(size=X.shape)
    for rows in (X, new):
        scores, probabilities = model.decision_function(rows), model.predict_proba(rows)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert probabilities.shape == (len(rows), n_clusters)
        np.testing.assert_array_equal(probabilities.argmax(axis=1), model.predict(rows))
        if n_clusters == 2:
            np.testing.assert_array_equal(scores > 0, model.predict(rows) == 1)
        else:
            np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(rows))
    assert model.boundary_.rule in model.boundary_.accuracies


@pytest.mark.usefixtures("few_tables")
def test_many_features_are_turned_into_few():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 200)) + 3 * np.outer(y, rng.normal(size=200) > 0)
    model = AutoClustering(2).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.usefixtures("few_tables")
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_unit_and_place_do_not_matter(scale):
    # of rounded samples several are as near as the last neighbour, and rounding tells which counts
    X, _ = make_blobs(150, 4, cluster_std=3, random_state=0)
    expected = AutoClustering(3).fit(X).labels_
    np.testing.assert_array_equal(AutoClustering(3).fit(scale * (X + 1)).labels_, expected)


@pytest.mark.usefixtures("few_tables")
def test_one_cluster_is_no_question(blobs):
    model = AutoClustering(1).fit(blobs[0])
    assert not model.labels_.any()
    assert np.isnan(model.agreement_)
    assert model.best_candidate_ == "one cluster"
    np.testing.assert_allclose(model.confidence_, 1)
    np.testing.assert_array_equal(model.predict(blobs[0][:5]), 0)


def test_missing_clusters_are_told():
    X = np.repeat([[0.0, 0.0], [1.0, 2.0]], [30, 20], axis=0)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        model = AutoClustering(3).fit(X)
    assert len(np.unique(model.labels_)) == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 200}, "n_samples=120 .* n_clusters=200"),
        ({"n_clusters": 30, "max_samples": 20}, "max_samples=20 .* n_clusters=30"),
        ({"tier": "slow"}, "'tier' parameter"),
    ],
)
def test_what_cannot_work_is_refused(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoClustering(**parameters).fit(blobs[0])


@pytest.mark.usefixtures("few_tables")
def test_callbacks_see_candidates(blobs):
    recorder = Recorder()
    model = AutoClustering(3).set_callbacks(recorder).fit(blobs[0])
    names = [path[-1][0] for path in recorder.begun]
    assert names == ["fit"] + ["candidate"] * len(model.candidates_.names)


@pytest.mark.usefixtures("few_tables")
def test_thorough_tier_runs_more(blobs):
    X, y = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AutoClustering(3, tier="thorough").fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert len(model.candidates_.names) > len(AutoClustering(3).fit(X).candidates_.names)


@pytest.mark.parametrize("n_samples", [2, 3, 5, 9, 12])
@pytest.mark.parametrize("n_clusters", [None, 2])
def test_few_samples_are_clustered_or_the_warning_is_clear(n_samples, n_clusters):
    X = np.random.default_rng(n_samples).normal(size=(n_samples, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = AutoClustering(n_clusters).fit(X)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if len(np.unique(model.labels_)) < model.n_clusters_:
        assert "Fewer clusters" in str(caught[0].message)


def test_constant_samples_are_told():
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        AutoClustering(2).fit(np.ones((12, 3)))
