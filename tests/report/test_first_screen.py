"""What a reader sees first: what each cluster is, how far to trust it, and what was prepared."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from report_support import ATTACK, IRIS, report
from separatrix import AutoClustering, MaximinSeparationClustering, profile
from separatrix.report import evidence
from separatrix.report.markup import strip
from separatrix.report.words import ordinal
from separatrix.tables import TablePreparer

LARGE = 40


@pytest.fixture(scope="module")
def shops():
    """A table as people have it: ids, gaps, categories, dates, and a column that is the same."""
    rng = np.random.default_rng(0)
    large = np.arange(100) < LARGE
    return pd.DataFrame(
        {
            "shop": [f"S{i:03}" for i in range(100)],
            "sales": np.where(large, 90.0, 20.0) + rng.normal(size=100),
            "staff": np.where(
                np.arange(100) % 7 == 0, np.nan, np.where(large, 9.0, 2.0) + rng.random(100)
            ),
            "kind": np.where(large, "mall", rng.choice(["street", "station"], 100)),
            "opened": pd.to_datetime("2015-01-01")
            + pd.to_timedelta(rng.integers(0, 3000, 100), "D"),
            "country": "FR",
        }
    )


@pytest.fixture(scope="module")
def shop_model(shops):
    return make_pipeline(TablePreparer(), KMeans(2, n_init=2, random_state=0)).fit(shops)


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(0).normal(size=(120, 3))


def typical_of(page):
    return [row[-1] for row in page.table("cluster", "rows", "share", "what is typical").values()]


# --- what each cluster is -----------------------------------------------------------------------


def test_profiles_are_those_of_python(shops, shop_model, iris_model, tmp_path):
    used = shops[["sales", "staff", "kind", "opened"]]
    expected = profile(used, shop_model[-1].labels_)
    assert typical_of(report(shop_model, shops, tmp_path)) == [c.text for c in expected.clusters]
    expected = profile(IRIS, iris_model.labels_)
    assert typical_of(report(iris_model, IRIS, tmp_path)) == [c.text for c in expected.clusters]


def test_other_pipelines_tell_in_the_columns_of_the_table(tmp_path):
    model = make_pipeline(PCA(2), MaximinSeparationClustering(2)).fit(IRIS)
    expected = profile(IRIS, model[-1].labels_)
    assert typical_of(report(model, IRIS, tmp_path)) == [c.text for c in expected.clusters]


def test_heat_map_has_means_in_units_and_shares_of_categories(shops, shop_model, tmp_path):
    labels = shop_model[-1].labels_
    page = report(shop_model, shops, tmp_path)
    rows = page.table("column", "cluster 0", "cluster 1")
    bare = {name: [re.sub("[▲▼]", "", cell) for cell in row] for name, row in rows.items()}
    for name in ("sales", "staff"):
        assert bare[name] == [f"{mean:.3g}" for mean in shops.groupby(labels)[name].mean()]
    shares = (shops["kind"] == "mall").groupby(labels).mean()
    assert bare["kind = mall"] == [f"{100 * share:.0f} %" for share in shares]
    assert "shop" not in bare
    assert "country" not in bare


def test_signs_of_the_heat_map_count_half_deviations(tmp_path):
    values = np.linspace(-3, 3, 60)
    means = {"none": 0.1, "one": 1.2, "two": 6.0}
    X = pd.DataFrame(
        {name: np.tile(values[::2], 2) + np.repeat([0.0, by], 30) for name, by in means.items()}
    )
    model = AgglomerativeClustering(2)
    model.labels_ = np.repeat([0, 1], 30)
    rows = report(model, X, tmp_path).table("column", "cluster 0", "cluster 1")
    for name in rows:
        spread = X[name].std(ddof=0)
        effect = (X[name][30:].mean() - X[name][:30].mean()) / spread
        n_signs = min(int(2 * effect), 2)
        assert rows[name][0].count("▼") == rows[name][1].count("▲") == n_signs
    assert "none" not in rows
    assert len(rows) == 2


def test_one_of_two_categories_is_enough(tmp_path):
    X = pd.DataFrame({"has": ["yes"] * 20 + ["no"] * 20, "size": np.arange(40.0)})
    model = make_pipeline(TablePreparer(), KMeans(2, n_init=1, random_state=0)).fit(X)
    rows = report(model, X, tmp_path).table("column", "cluster 0")
    assert len([name for name in rows if name.startswith("has")]) == 1


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_typical_rows_are_nearest_to_the_mean(n_clusters, tmp_path):
    X = IRIS.to_numpy()
    model = KMeans(n_clusters, n_init=1, random_state=0).fit(X)
    page = report(model, IRIS, tmp_path)
    (rows,) = (rows for rows in page.tables if rows[0][0] == "row")
    expected = []
    for cluster in range(n_clusters):
        members = np.flatnonzero(model.labels_ == cluster)
        away = np.linalg.norm(X[members] - X[members].mean(axis=0), axis=1)
        expected += [str(row) for row in members[np.argsort(away)[:3]]]
    assert [row[0] for row in rows[1:]] == expected


def test_cells_are_those_of_the_table(shops, shop_model, tmp_path):
    names = shops["shop"].tolist()
    page = report(shop_model, shops, tmp_path, row_names=names)
    (rows,) = (rows for rows in page.tables if rows[0][0] == "row")
    header, *rows = rows
    shown = shops.set_index("shop")
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        original = shown.loc[cells["row"]]
        assert cells["kind"] == original["kind"]
        assert cells["sales"] == f"{original['sales']:.3g}"
        missing = np.isnan(original["staff"])
        assert cells["staff"] == ("missing" if missing else f"{original['staff']:.3g}")
        assert cells.get("opened", str(original["opened"])[:10]) == str(original["opened"])[:10]


def test_many_rows_are_judged_by_the_model_itself(monkeypatch, tmp_path):
    monkeypatch.setattr(evidence, "MAX_POINTS", 40)
    model = AutoClustering(3, random_state=0).fit(IRIS.to_numpy())
    asked, decide = [], AutoClustering.decision_function

    def watched(self, X):
        asked.append(len(X))
        return decide(self, X)

    monkeypatch.setattr(AutoClustering, "decision_function", watched)
    page = report(model, IRIS, tmp_path)
    assert sum(asked) < len(IRIS)
    doubtful = page.table("row", "cluster", "or rather", "confidence")
    least = np.sort(model.confidence_)[: len(doubtful)]
    np.testing.assert_allclose([float(row[2]) for row in doubtful.values()], least, atol=1e-3)
    scores = decide(model, IRIS.to_numpy())
    for row, (own, other, *_) in doubtful.items():
        assert own == f"cluster {model.labels_[int(row)]}"
        assert scores[int(row), int(other[-1])] == np.sort(scores[int(row)])[-2]


# --- how far to trust it ------------------------------------------------------------------------


def test_nothing_found_is_said_in_a_box(noise, tmp_path):
    model = AutoClustering(random_state=0).fit(noise)
    assert model.n_clusters_ == 1
    page = report(model, noise, tmp_path)
    if_any = f"If there are any, {model.n_clusters_if_any_} is the likeliest number."
    assert page.with_class("box") == [f"N{model.structure_.words[1:]}. {if_any}"]
    assert "found no clusters in 120 rows" in page.text


def test_clusters_of_noise_are_not_to_be_relied_on(noise, tmp_path):
    model = AutoClustering(3, random_state=0).fit(noise)
    (box,) = report(model, noise, tmp_path).with_class("box")
    assert box == f"Do not rely on these clusters: {model.structure_.words}."


def test_one_cluster_that_was_asked_for_is_no_finding(noise, tmp_path):
    page = report(KMeans(1, n_init=1).fit(noise), noise, tmp_path)
    assert page.with_class("box") == [
        "One cluster was asked for, so that the rows are not divided."
    ]


def test_clusters_that_are_there_have_no_box(tmp_path):
    X, _ = make_blobs(150, centers=[[0, 0], [0, 9], [9, 0]], random_state=0)
    model = AutoClustering(random_state=0).fit(X)
    page = report(model, X, tmp_path)
    assert page.with_class("box") == []
    assert model.structure_.words[1:] in page.text
    assert "p < 0.001" in page.text


def test_the_picture_is_a_histogram_with_the_result_at_its_place():
    values, mark = np.random.default_rng(0).normal(size=50), 4.0
    picture = strip(values, mark, "words", ("this result", "less", "more"))
    heights = [float(h) for h in re.findall(r'height="([\d.]+)"/>', picture)]
    places = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', picture)]
    low, high = values.min(), mark
    edges = (low - 0.04 * (high - low), high + 0.04 * (high - low))
    counts, _ = np.histogram(values, bins=24, range=edges)
    np.testing.assert_allclose(heights, 90 * counts[counts > 0] / counts.max(), atol=0.1)
    np.testing.assert_allclose(places, 25 * np.flatnonzero(counts) + 1, atol=0.1)
    at = float(re.search(r'class="result" d="M([\d.]+) ', picture)[1])
    assert at == pytest.approx(600 * (mark - edges[0]) / (edges[1] - edges[0]), abs=0.1)


@pytest.mark.parametrize("values", [np.zeros(5), np.full(3, 2.0)])
def test_a_picture_of_equal_values_has_finite_places(values):
    picture = strip(values, values[0], "words", ("this result", "less", "more"))
    assert "nan" not in picture
    assert "inf" not in picture


def test_ordinals():
    said = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th"}
    said |= {21: "21st", 22: "22nd", 101: "101st", 111: "111th", 112: "112th", 120: "120th"}
    assert {number: ordinal(number) for number in said} == said


# --- what was prepared --------------------------------------------------------------------------


def test_preparation_is_told_with_counts(shops, shop_model, tmp_path):
    page = report(shop_model, shops, tmp_path)
    assert "preparation" in page.ids()
    n_missing = int(shops["staff"].isna().sum())
    told = f"4 columns of 6 used. Left out: shop, country. Filled: {n_missing} missing values."
    assert told in page.text
    rows = page.table("column", "done", "because it")
    findings = {one.column: one for one in shop_model[0].findings_}
    assert rows == {
        name: ["left out" if one.left_out else "filled", one.text]
        for name, one in findings.items()
    }
    assert "divided by their standard deviation" in page.text
    plain = make_pipeline(TablePreparer(standardize=False), KMeans(2, n_init=1, random_state=0))
    assert "Numbers kept their units" in report(plain.fit(shops), shops, tmp_path).text
    assert (
        "preparation" not in report(shop_model[-1], shop_model[0].transform(shops), tmp_path).ids()
    )


def test_a_column_that_makes_the_clusters_is_told(shops, shop_model, tmp_path):
    page = report(shop_model, shops, tmp_path)
    assert "Warning: kind decides the cluster by itself." in page.text
    model = make_pipeline(
        TablePreparer(drop=["kind", "sales"]), KMeans(3, n_init=1, random_state=0)
    )
    assert "decides the cluster" not in report(model.fit(shops), shops, tmp_path).text


def test_a_preparer_names_the_features(shops, shop_model, tmp_path):
    with pytest.raises(ValueError, match=r"feature_names=.* rename the columns of X before"):
        report(shop_model, shops, tmp_path, feature_names=list("abcdef"))


def test_names_and_cells_of_a_table_stay_text(tmp_path):
    X = pd.DataFrame({f"{ATTACK}{j}": np.arange(30.0) * (-1) ** j for j in range(2)})
    X[f"{ATTACK}kind"] = np.where(np.arange(30) < 15, f"{ATTACK}a", f"{ATTACK}b")
    X[f"{ATTACK}same"] = ATTACK
    model = make_pipeline(TablePreparer(), KMeans(2, n_init=1, random_state=0)).fit(X)
    page = report(model, X, tmp_path, row_names=[ATTACK] * 30)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert f"{ATTACK}kind = {ATTACK}" in page.text
