"""What explanations say of models whose reasons are known."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from separatrix import (
    AutoClustering,
    KernelKMeans,
    MaximinSeparationClustering,
    MaximumVolumeClustering,
    explain,
)
from separatrix.tables import TablePreparer

pytestmark = pytest.mark.usefixtures("few_tables")


@pytest.fixture(scope="module")
def flowers():
    return load_iris(as_frame=True).data[::2]


class Divided(ClusterMixin, BaseEstimator):
    """Clusters by a rule that is known; `decide` makes labels of rows."""

    def __init__(self, decide):
        self.decide = decide

    def fit(self, X, y=None):
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        return self.decide(np.asarray(X)).astype(int)


# --- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [StandardScaler()],
        [MinMaxScaler(), PCA(3)],
        [make_column_transformer((StandardScaler(), [1, 0]), remainder="passthrough")],
        [TablePreparer()],
    ],
    ids=lambda steps: "+".join(type(one).__name__ for one in steps),
)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, np.asarray])
def test_weights_are_in_the_units_of_the_table(flowers, steps, make):
    X = flowers.to_numpy() if make is np.asarray else make(flowers.to_dict("list"))
    model = make_pipeline(*steps, MaximinSeparationClustering(2)).fit(X)
    (boundary,) = explain(model, X).boundaries
    values = flowers.to_numpy() @ boundary.weights + boundary.intercept
    np.testing.assert_allclose(values, model.decision_function(X), atol=1e-8)
    deviations = flowers.to_numpy().std(axis=0)
    np.testing.assert_allclose(boundary.per_deviation, boundary.weights * deviations)
    assert (boundary.negative, boundary.positive) == ([0], [1])


def test_units_change_weights_and_not_what_features_matter(flowers):
    def explained(X):
        model = make_pipeline(StandardScaler(), MaximinSeparationClustering(3)).fit(X)
        return explain(model, X).boundaries

    for before, after in zip(explained(flowers), explained(flowers * 10), strict=True):
        np.testing.assert_allclose(after.weights, before.weights / 10, rtol=1e-6)
        np.testing.assert_allclose(after.per_deviation, before.per_deviation, rtol=1e-6)


def test_each_boundary_names_its_clusters(flowers):
    model = MaximinSeparationClustering(3).fit(flowers)
    found = explain(model, flowers)
    np.testing.assert_array_equal([one.weights for one in found.boundaries], model.coef_)
    for one, code in zip(found.boundaries, model.boundary_sides_, strict=True):
        assert (code[one.negative] == -1).all()
        assert (code[one.positive] == 1).all()
    assert found.boundaries[0].name in found.to_frame().columns
    assert found.to_frame().loc["petal width (cm)"].iloc[0] == model.coef_[0, 3]


def test_sparse_rows_of_a_linear_model(flowers):
    X = sp.csr_array(np.where(flowers > 1, flowers, 0))
    model = MaximinSeparationClustering(2).fit(X)
    found = explain(model, X, feature_names=list("abcd"))
    np.testing.assert_array_equal(found.boundaries[0].weights, model.coef_[0])
    assert found.clusters[0].rules.rules[0].conditions[0].name in "abcd"


def test_steps_that_are_not_affine_have_no_weights(flowers):
    model = make_pipeline(FunctionTransformer(np.log), MaximinSeparationClustering(2)).fit(flowers)
    found = explain(model, flowers)
    assert not found.boundaries
    assert found.importance.max() > 0


# --- importance ---------------------------------------------------------------------------------


def test_importance_of_a_column_that_decides_alone():
    """A shuffled row has the cluster of any row: it changes with probability 1 - sum p_k^2."""
    X = np.random.default_rng(0).random((400, 3))
    model = Divided(lambda X: np.digitize(X[:, 1], [0.2, 0.7])).fit(X)
    shares = np.bincount(model.labels_) / 400
    found = explain(model, X, n_repeats=30)
    error = 4 * found.importance_deviation[1] / np.sqrt(30)
    assert found.importance[1] == pytest.approx(1 - np.sum(shares**2), abs=error)
    assert found.importance[[0, 2]].tolist() == [0, 0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_importance_of_frames_is_that_of_arrays(flowers, make):
    frame = make(flowers.sample(frac=1, random_state=0).to_dict("list"))
    if make is pd.DataFrame:
        frame.index = frame.index[::-1]  # which must not undo the shuffling
    model = MaximumVolumeClustering(2).fit(frame)
    of_frame = explain(model, frame)
    of_array = explain(model, frame.to_numpy())
    np.testing.assert_array_equal(of_frame.importance, of_array.importance)
    assert of_frame.importance.max() > 0.1
    assert of_frame.feature_names == of_array.feature_names == list(flowers.columns)


def test_kernel_models_and_a_vote_are_explained_by_importance(flowers):
    for model in (KernelKMeans(3), AutoClustering(3)):
        found = explain(model.fit(flowers), flowers)
        assert not found.boundaries
        assert flowers.columns[found.importance.argmax()] == "petal length (cm)"
        assert "petal length (cm)" in str(found).split("\n")[2]


# --- rules --------------------------------------------------------------------------------------


def corner(X):
    return (X[:, 0] > 3) & (X[:, 2] <= 600)


def corner_rows(n_rows, seed=0):
    return np.random.default_rng(seed).random((n_rows, 4)) * [5, 1, 1000, 1]


def test_the_rule_that_made_the_clusters_is_found():
    X = corner_rows(1500)
    found = explain(Divided(corner).fit(X), X).clusters[1].rules
    assert len(found.rules) == 1
    told = {one.name: (one.low, one.high) for one in found.rules[0].conditions}
    assert set(told) == {"feature 0", "feature 2"}
    assert told["feature 0"] == pytest.approx((3, np.inf), abs=0.05)
    assert told["feature 2"][1] == pytest.approx(600, abs=10)
    assert min(found.precision, found.recall) > 0.97


def test_fidelity_is_that_on_other_rows():
    """Clusters that rules describe roughly: stated precision and recall against fresh rows."""
    X = np.random.default_rng(1).normal(size=(4000, 2))
    model = Divided(lambda X: X[:, 0] + X[:, 1] > 1).fit(X)
    found = explain(model, X, max_samples=4000).clusters[1].rules
    fresh = np.random.default_rng(2).normal(size=(20_000, 2))
    inside = model.predict(fresh) == 1
    covered = np.any([rule.covers(fresh) for rule in found.rules], axis=0)
    n_checked = 1000 * inside.mean()
    error = 4 * np.sqrt(0.25 / n_checked)
    assert found.precision == pytest.approx(inside[covered].mean(), abs=error)
    assert found.recall == pytest.approx(covered[inside].mean(), abs=error)
    assert found.precision < 1


def test_rules_for_chance_are_not_praised():
    X = np.random.default_rng(3).normal(size=(1200, 5))
    labels = np.random.default_rng(4).integers(0, 2, 1200)
    chance = DBSCAN().fit(X)
    chance.labels_ = labels
    for one in explain(chance, X, max_depth=6).clusters:
        n_covered = one.rules.recall * np.mean(labels == one.cluster) * one.rules.n_checked
        if n_covered >= 1:
            assert abs(one.rules.precision - 0.5) < 4 * np.sqrt(0.25 / n_covered)


def test_a_deeper_rule_is_told_only_if_it_is_better():
    X = corner_rows(800)
    simple = explain(Divided(lambda X: X[:, 1] > 0.5).fit(X), X, max_depth=6)
    for one in simple.clusters:
        assert [len(rule.conditions) for rule in one.rules.rules] == [1]
    shallow = explain(Divided(corner).fit(X), X, max_depth=1).clusters[1].rules
    assert all(len(rule.conditions) == 1 for rule in shallow.rules)


def test_limits_are_as_round_as_the_rows_allow():
    X = np.r_[np.linspace(0, 10, 40), np.linspace(20, 30, 40)][:, None] + 1e6
    found = explain(Divided(lambda X: X[:, 0] > 1e6 + 15).fit(X), X).clusters
    low, high = (one.rules.rules[0].conditions[0] for one in found)
    assert low.text == f"feature 0 ≤ {low.high:,.12g}"
    assert high.text == f"feature 0 > {low.high:,.12g}"
    assert 1e6 + 10 <= low.high < 1e6 + 20
    assert low.high == round(low.high)
    assert [one.rules.precision for one in found] == [1, 1]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_categories_and_missing_values(make):
    rng = np.random.default_rng(5)
    plan = rng.choice(["family", "solo", None], 300)
    spend = np.where(rng.random(300) < 0.1, np.nan, rng.normal(size=300))
    columns = {"plan": plan.tolist(), "spend": spend.tolist()}
    columns["joined"] = pd.date_range("2020-01-01", periods=300).tolist()
    X = make(columns)
    model = make_pipeline(
        TablePreparer(drop=["joined", "spend"]), MaximinSeparationClustering(2)
    ).fit(X)
    found = explain(model, X)
    assert found.importance[0] > 0.1
    assert found.importance[1:].tolist() == [0, 0]
    for one in found.clusters:
        values = set(plan[model.predict(X) == one.cluster])
        others = set(plan) - values
        words = {f"plan = {v or 'missing'}" for v in values if len(values) == 1}
        words |= {f"plan ≠ {v or 'missing'}" for v in others if len(others) == 1}
        assert one.rules.text in words
        assert (one.rules.precision, one.rules.recall) == (1, 1)


def test_small_clusters_are_not_judged():
    X = corner_rows(40)
    X[7, 1] = 99
    found = explain(Divided(lambda X: X[:, 1] > 50).fit(X), X).clusters[1]
    assert found.size == 1
    assert np.isnan(found.rules.recall)


# --- rows ---------------------------------------------------------------------------------------


def test_typical_rows_lie_deepest_and_doubtful_ones_nearest(flowers):
    model = make_pipeline(StandardScaler(), MaximinSeparationClustering(2)).fit(flowers)
    scores = model.decision_function(flowers)
    first, second = explain(model, flowers, n_rows=4).clusters
    assert second.typical == np.argsort(-scores)[:4].tolist()
    assert first.typical == np.argsort(scores)[:4].tolist()
    assert second.boundary[0] == np.where(scores > 0, scores, np.inf).argmin()
    assert first.boundary[0] == np.where(scores > 0, -np.inf, scores).argmax()


def test_without_scores_the_medoid_is_typical(flowers):
    model = DBSCAN(0.9).fit(flowers)
    for one in explain(model, flowers).clusters:
        members = np.flatnonzero(model.labels_ == one.cluster)
        rows = StandardScaler().fit_transform(flowers)[members]
        totals = np.linalg.norm(rows[:, None] - rows, axis=2).sum(axis=1)
        assert one.typical == members[np.argsort(totals)[:3]].tolist()
        assert one.boundary == []


# --- what users see -----------------------------------------------------------------------------


def test_the_same_each_time_and_as_the_seed_says(flowers):
    model = KernelKMeans(3).fit(flowers)
    assert str(explain(model, flowers)) == str(explain(model, flowers, random_state=0))
    assert str(explain(model, flowers)) != str(explain(model, flowers, random_state=1))


def test_text_html_and_frames_tell_the_same(flowers):
    X = flowers.rename(columns={"petal length (cm)": "<b>length"})
    found = explain(MaximinSeparationClustering(3).fit(X), X)
    table = found.to_frame("clusters")
    shown = found._repr_html_()
    assert "<b>" not in shown
    for one in found.clusters:
        assert one.rules.text in str(found)
        assert one.rules.text.replace("<", "&lt;").replace(">", "&gt;") in shown
        assert table.loc[one.cluster, "rule"] == one.rules.text
        assert table.loc[one.cluster, "precision"] == one.rules.precision
    assert table["rows"].tolist() == [one.size for one in found.clusters]


def test_many_boundaries_are_shortened():
    X = np.repeat(np.arange(6.0)[:, None], 8, axis=0) * [10, -7] + corner_rows(48)[:, [1, 3]]
    found = explain(MaximinSeparationClustering(6).fit(X), X)
    left = len(found.boundaries) - 6
    assert left > 0
    assert f"{left} more boundaries are in to_frame()." in str(found)
    assert found.to_frame().shape == (2, 2 * len(found.boundaries))


def test_rows_of_no_cluster_are_not_explained(flowers):
    model = DBSCAN(0.4).fit(flowers)
    assert (model.labels_ == -1).any()
    clusters = [one.cluster for one in explain(model, flowers).clusters]
    assert clusters == sorted(set(model.labels_) - {-1})


def test_what_cannot_be_explained_is_refused(flowers, monkeypatch):
    model = KernelKMeans(2).fit(flowers)
    with pytest.raises(TypeError, match="X is sparse, and KernelKMeans has no weights"):
        explain(model, sp.csr_array(flowers))
    with pytest.raises(ValueError, match="feature_names has 1 names but X has 4 columns"):
        explain(model, flowers, feature_names=["a"])
    with pytest.raises(ValueError, match="feature_names has 1 names but X has 4 columns"):
        explain(model, sp.csr_array(flowers), feature_names=["a"])
    with pytest.raises(ValueError, match="n_rows=0 must be at least 1"):
        explain(model, flowers, n_rows=0)
    with pytest.raises(ValueError, match="DBSCAN predicts no rows and has 75 labels_, but X"):
        explain(DBSCAN(1.0).fit(flowers), flowers[:9])
    with pytest.raises(ValueError, match="DBSCAN assigns no row of X to a cluster"):
        explain(DBSCAN(1e-9).fit(flowers), flowers)
    kernel = flowers.to_numpy() @ flowers.to_numpy().T
    with pytest.raises(ValueError, match="similarities of pairs of rows"):
        explain(KernelKMeans(2, kernel="precomputed").fit(kernel), kernel)
    found = explain(model, flowers)
    with pytest.raises(ValueError, match="of='rows' must be 'features' or 'clusters'"):
        found.to_frame("rows")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        found.to_frame()
