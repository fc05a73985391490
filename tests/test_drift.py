"""Tests for change: how often they err, what they find, and what they refuse."""

import sys

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.cluster import DBSCAN, KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import KernelKMeans, MaximinSeparationClustering
from separatrix.drift import drift_of_sizes
from separatrix.metrics import assignment_drift, separation_probability_score

CENTERS = np.array([[0.0, 0.0], [4.0, 4.0]])


def rows(rng, n_rows, share=0.5, noise=1.0):
    sides = (rng.random(n_rows) < share).astype(int)
    return CENTERS[sides] + rng.normal(scale=noise, size=(n_rows, 2))


@pytest.fixture(scope="module")
def model():
    return MaximinSeparationClustering(2).fit(rows(np.random.default_rng(0), 400))


def share_of_alarms(model, n_trials, **changed):
    rng = np.random.default_rng(1)
    return np.mean(
        [
            assignment_drift(model, rows(rng, 120, **changed), rows(rng, 150)).has_changed
            for _ in range(n_trials)
        ]
    )


def test_false_alarms_are_as_rare_as_the_level_says(model):
    n_trials, level = 120, 0.05
    # four standard errors of a share
    assert share_of_alarms(model, n_trials) <= level + 4 * np.sqrt(level / n_trials)


def test_false_alarms_are_rare_beside_the_rows_of_the_fit_too():
    rng, alarms = np.random.default_rng(2), []
    for _ in range(40):
        X = rows(rng, 100)
        found = MaximinSeparationClustering(2).fit(X)
        alarms.append(assignment_drift(found, rows(rng, 100), X).has_changed)
    assert np.mean(alarms) <= 0.05 + 4 * np.sqrt(0.05 / 40)


@pytest.mark.parametrize("changed", [{"share": 0.8}, {"noise": 2.5}], ids=["shares", "margins"])
def test_changes_are_found(model, changed):
    assert share_of_alarms(model, 20, **changed) >= 0.9


def test_the_words_name_what_has_changed(model):
    rng = np.random.default_rng(3)
    fit = rows(rng, 400)
    shares = assignment_drift(model, rows(rng, 400, share=0.9), fit)
    assert "of the new rows" in shares.words
    assert "median margin" not in shares.words
    margins = assignment_drift(model, rows(rng, 400, noise=2.0), fit)
    assert "median margin" in margins.words
    same = assignment_drift(model, rows(rng, 400), fit)
    assert same.words.startswith("no sign of change in 400 rows (p = ")


def test_the_same_rows_show_no_change(model):
    X = rows(np.random.default_rng(4), 90)
    found = assignment_drift(model, X, X[::-1])
    assert found.p_value == found.p_shares == found.p_margins == 1
    assert found.separation_fit == pytest.approx(found.separation_new)


def test_what_stands_side_by_side(model):
    rng = np.random.default_rng(5)
    fit, new = rows(rng, 100), rows(rng, 80, share=0.7)
    found = assignment_drift(model, new, fit)
    np.testing.assert_array_equal(found.sizes_new, np.bincount(model.predict(new)))
    np.testing.assert_allclose(found.shares_fit, np.bincount(model.predict(fit)) / 100)
    assert found.margin_new == pytest.approx(np.median(abs(model.decision_function(new))))
    assert found.separation_new == pytest.approx(
        separation_probability_score(new, model.predict(new))
    )
    table = found.to_frame()
    assert table["new rows"].tolist() == found.sizes_new.tolist()
    np.testing.assert_allclose(table["share in the fit"], found.shares_fit)
    assert "separation" in str(found)
    assert found.words in found._repr_html_()


def test_labels_of_the_fit_stand_for_its_rows(model):
    new = rows(np.random.default_rng(6), 200, share=0.7)
    found = assignment_drift(model, new)
    np.testing.assert_array_equal(found.sizes_fit, np.bincount(model.labels_))
    assert (found.p_margins, found.margin_fit, found.separation_fit) == (None, None, None)
    expected = drift_of_sizes(found.sizes_fit, found.sizes_new)
    assert found.p_value == expected.p_value


def test_shares_of_many_rows_by_permutation():
    """The chi-square approximation against shuffling which rows are new."""
    rng = np.random.default_rng(7)
    fit, new = np.repeat([0, 1, 2], [30, 50, 20]), np.repeat([0, 1, 2], [30, 30, 25])

    def distance(one, other):
        shares = [np.bincount(part, minlength=3) / len(part) for part in (one, other)]
        pooled = np.bincount(np.r_[one, other], minlength=3)
        return np.sum((shares[0] - shares[1]) ** 2 / pooled)

    seen, pooled = distance(fit, new), np.r_[fit, new]
    drawn = []
    for _ in range(2000):
        shuffled = rng.permutation(pooled)
        drawn.append(distance(shuffled[: len(fit)], shuffled[len(fit) :]))
    p_value = drift_of_sizes(np.bincount(fit), np.bincount(new)).p_shares
    assert p_value == pytest.approx(np.mean(np.array(drawn) >= seen), abs=0.03)


def test_shares_of_few_rows_are_exact():
    """Drawn tables against Fisher's test, which is the same where both have as many rows."""
    table = np.array([[6, 1], [1, 6]])
    p_value = drift_of_sizes(*table).p_shares
    assert p_value == pytest.approx(stats.fisher_exact(table).pvalue, abs=0.02)
    assert p_value > 1.5 * stats.chi2_contingency(table, correction=False).pvalue


def test_empty_clusters_and_a_single_one_are_no_change():
    assert drift_of_sizes([30, 0, 20], [30, 0, 20]).p_value == pytest.approx(1)
    assert drift_of_sizes([50], [7]).p_value == 1
    assert drift_of_sizes([50, 0], [0, 50]).has_changed


def test_pipelines_and_frames_tell_the_same():
    rng = np.random.default_rng(8)
    fit, new = rows(rng, 100), rows(rng, 60, share=0.8)
    scaler = StandardScaler().fit(fit)
    clusterer = MaximinSeparationClustering(2).fit(scaler.transform(fit))
    pipeline = make_pipeline(StandardScaler(), MaximinSeparationClustering(2))
    pipeline.fit(pl.DataFrame(fit, schema=["a", "b"]))
    of_pipeline = assignment_drift(pipeline, pl.DataFrame(new, schema=["a", "b"]), fit)
    of_clusterer = assignment_drift(clusterer, scaler.transform(new), scaler.transform(fit))
    assert str(of_pipeline) == str(of_clusterer)


def test_without_scores_or_features_less_is_told():
    rng = np.random.default_rng(9)
    fit, new = rows(rng, 80), rows(rng, 40)
    means = KMeans(2, random_state=0).fit(fit)
    found = assignment_drift(means, new, fit)
    assert found.p_margins is None
    assert found.separation_new > 0
    kernel = KernelKMeans(2, kernel="precomputed").fit(fit @ fit.T)
    found = assignment_drift(kernel, new @ fit.T, fit @ fit.T)
    assert found.separation_new is None
    assert 0 < found.p_margins <= 1


def test_what_cannot_be_compared_is_refused(model, monkeypatch):
    X = rows(np.random.default_rng(10), 20)
    with pytest.raises(TypeError, match="DBSCAN has no predict"):
        assignment_drift(DBSCAN(2.0).fit(X), X)
    with pytest.raises(ValueError, match=r"level=1\.5 must lie between 0 and 1"):
        assignment_drift(model, X, level=1.5)
    found = assignment_drift(model, X)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        found.to_frame()
