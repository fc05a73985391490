"""The report: its numbers against other ways to get them, its page in a real browser."""

import base64
import hashlib
import html
import json
import os
import re
import shutil
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.base import clone, is_clusterer
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_blobs, make_circles
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import (
    AutoClustering,
    KernelKMeans,
    LDAKMeans,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MaximumVolumeClustering,
)
from separatrix.metrics import separation_probability_score
from separatrix.report import pages, write_report
from separatrix.selection.comparison import Comparison
from separatrix.selection.consensus import APART, agreement_words

CLUSTERERS = [
    getattr(separatrix, name)
    for name in separatrix.__all__
    if isinstance(getattr(separatrix, name), type) and is_clusterer(getattr(separatrix, name)())
]
IRIS = load_iris(as_frame=True).data
ATTACK = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'&{}$x"
SECTIONS = [
    "summary",
    "projection",
    "sizes",
    "quality",
    "explanation",
    "nearest",
    "making",
    "loading",
]


class Page(HTMLParser):
    """Tags, attributes, tables and text of a page; complains of tags that are not closed."""

    VOID = {"meta", "link", "input", "br", "img"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.tables, self.texts = [], [], [], []
        self.feed(text)
        assert self.open == []
        self.text = " ".join(" ".join(self.texts).split())
        self.style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
        self.data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data

    def table(self, *head):
        """Rows of the table whose first headings are these, by their first cell."""
        (found,) = (rows for rows in self.tables if rows[0][: len(head)] == list(head))
        return {row[0]: row[1:] for row in found[1:]}

    def ids(self):
        return [attrs["id"] for tag, attrs in self.tags if tag == "section"]


def report(estimator, X, folder, **kwargs):
    path = write_report(estimator, X, folder / "report.html", **kwargs)
    return Page(path.read_text(encoding="utf-8"))


def fitted(estimator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X)


@pytest.fixture(scope="module")
def iris_model():
    return MaximinSeparationClustering(2).fit(IRIS)


def comparison(X=IRIS):
    """What a comparison of four clusterings has to tell, by names that need escaping."""
    estimators = [
        MaximinSeparationClustering(3),
        MaximumMarginClustering(3, random_state=0),
        LDAKMeans(3),
        LDAKMeans(2),
    ]
    labels = np.array([clone(estimator).fit_predict(X) for estimator in estimators])
    labels[0] = (labels[0] + 1) % 3
    agreement = np.array([[adjusted_rand_score(a, b) for b in labels] for a in labels])
    return Comparison(
        names=["separation", "margin", "means <b>three</b>", "means, two"],
        families=["separation", "margin", "means", "means"],
        labels=labels,
        scores={"neighbors": np.array([0.8, 0.9, 0.7, 0.6])},
        ranks=np.array([0.75, 1.0, 0.5, 0.25]),
        agreement=agreement,
        usable=np.array([True, True, True, False]),
        seconds=np.zeros(4),
        notes=["", "", "it <i>warned</i>", ""],
        estimators=estimators,
    )


# --- what every report is -----------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
@pytest.mark.parametrize("clusterer", CLUSTERERS)
def test_every_clusterer_has_a_report(clusterer, n_clusters, tmp_path):
    X = IRIS.iloc[::3]
    model = fitted(clusterer(n_clusters), X)
    page = report(model, X, tmp_path)
    of_the_consensus = ["candidates"] * (clusterer is AutoClustering and n_clusters > 1)
    assert page.ids() == SECTIONS[:6] + of_the_consensus + SECTIONS[6:]
    assert "nan" not in page.text
    sizes = {f"cluster {c}": f"{size}" for c, size in enumerate(np.bincount(model.labels_))}
    assert {name: row[0] for name, row in page.table("cluster", "rows").items()} == sizes
    assert page.data["labellings"] == [["", model.labels_.tolist()]]


def test_file_loads_nothing_and_runs_one_script(iris_model, tmp_path):
    path = write_report(iris_model, IRIS, tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    for _, attributes in page.tags:
        assert not {"src", "style", "onload", "onclick"} & set(attributes)
        assert attributes.get("href", "#").startswith(("#", "data:"))
    policy = page.tags[[tag for tag, _ in page.tags].index("link") - 1][1]["content"]
    for kind, tag in (("script", "<script>"), ("style", "<style>")):
        (content,) = re.findall(f"{tag}(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_same_input_gives_the_same_file(tmp_path):
    X = np.random.default_rng(0).normal(size=(3500, 4))
    model = MaximinSeparationClustering(2).fit(X)
    texts = [write_report(model, X, tmp_path / name).read_bytes() for name in "ab"]
    assert texts[0] == texts[1]
    page = Page(texts[0].decode())
    rows = [int(row) for row in page.data["tips"][0][1]]
    assert len(page.data["points"]) == len(set(rows)) == 3000
    assert page.data["labellings"][0][1] == model.labels_[rows].tolist()


@pytest.mark.parametrize("scheme", ["estimator", "comparison"])
def test_everything_is_escaped(scheme, tmp_path):
    class Hostile(MaximinSeparationClustering):
        pass

    Hostile.__name__ = ATTACK
    X = pd.DataFrame(IRIS.to_numpy(), columns=[f"{ATTACK}{j}" for j in range(4)])
    X.index = [f"{ATTACK}{i}" for i in range(len(X))]
    model = Hostile(2).fit(X) if scheme == "estimator" else comparison(X)
    page = report(model, X, tmp_path, title=ATTACK, model_path=ATTACK)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("script") == 2
    assert not {"img", "b", "i"} & set(tags)
    (title,) = re.findall("<title>(.*?)</title>", (tmp_path / "report.html").read_text())
    assert html.unescape(title) == ATTACK
    assert any(f"{ATTACK}0" in name for name, _ in page.data["tips"])


def test_file_is_replaced_at_once_or_not_at_all(iris_model, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*args):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            write_report(iris_model, IRIS, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    assert write_report(iris_model, IRIS, str(path)) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]
    missing = tmp_path / "missing" / "report.html"
    with pytest.raises(FileNotFoundError, match="make it first") as caught:
        write_report(iris_model, IRIS, missing)
    assert str(missing) in str(caught.value)
    assert ".part" not in str(caught.value)


# --- the numbers --------------------------------------------------------------------------------


def shown(number):
    """A number as tables show it."""
    return f"{number:.3g}"


def test_features_are_explained_by_means_variances_and_weights(iris_model, tmp_path):
    labels = iris_model.labels_
    rows = report(iris_model, IRIS, tmp_path).table("feature", "weight", "towards")
    means = IRIS.groupby(labels).mean()
    residuals = IRIS - means.loc[labels].to_numpy()
    explained = 1 - residuals.var(ddof=0) / IRIS.var(ddof=0)
    weights = iris_model.coef_[0] * IRIS.std(ddof=0)
    shares = abs(weights) / abs(weights).sum()
    assert list(rows) == list(shares.sort_values(ascending=False).index)
    for name, (weight, towards, told, *cells) in rows.items():
        assert float(weight.rstrip("%")) == pytest.approx(100 * shares[name], abs=0.5)
        assert towards == f"cluster {int(weights[name] > 0)}"
        assert float(told.rstrip("%")) == pytest.approx(100 * explained[name], abs=0.5)
        assert cells == [shown(mean) for mean in means[name]]


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_nearest_rows_are_those_of_the_smallest_lead(n_clusters, tmp_path):
    model = MaximinSeparationClustering(n_clusters).fit(IRIS)
    scores = model.decision_function(IRIS)
    scores = scores if scores.ndim == 2 else np.column_stack([-scores / 2, scores / 2])
    order = np.sort(scores, axis=1)
    leads = order[:, -1] - order[:, -2]
    others = np.argsort(scores, axis=1)[:, -2]
    rows = report(model, IRIS, tmp_path).table("row", "cluster")
    nearest = np.argsort(leads)[:12]
    assert list(rows) == [str(row) for row in nearest]
    for row in nearest:
        cluster, other, lead, *_ = rows[str(row)]
        assert cluster == f"cluster {model.labels_[row]}"
        assert other == f"cluster {others[row]}"
        assert lead == shown(leads[row])


def test_quality_is_the_metric(iris_model, tmp_path):
    page = report(iris_model, IRIS, tmp_path)
    rows = page.table("measure", "value")
    score = separation_probability_score(IRIS, iris_model.labels_)
    assert rows["separation score, at reg=0.1"] == [shown(score)]
    assert rows["iterations"] == [str(iris_model.n_iter_)]
    assert f"separation score of {score:.2f}" in page.text


def test_a_halved_cloud_scores_what_the_report_says(tmp_path):
    X = np.column_stack([norm.ppf((np.arange(4000) + 0.5) / 4000), np.tile([-1.0, 1.0], 2000)])
    labels = (X[:, 0] > 0).astype(int)
    score = separation_probability_score(X[:, :1], labels)
    assert score == pytest.approx(pages.HALVED_CLOUD, abs=2e-3)
    cloud = np.random.default_rng(0).normal(size=(600, 2))
    page = report(MaximinSeparationClustering(2).fit(cloud), cloud, tmp_path)
    assert "no sign of two groups" in page.text
    apart = np.vstack([cloud, cloud + 20])
    page = report(MaximinSeparationClustering(2).fit(apart), apart, tmp_path)
    assert "no sign of two groups" not in page.text


@pytest.mark.parametrize("n_features", [2, 4])
def test_line_parts_the_clusters(n_features, tmp_path):
    X = IRIS.iloc[:, :n_features]
    model = MaximinSeparationClustering(2).fit(X)
    data = report(model, X, tmp_path).data
    a, b, c = data["line"]
    sides = np.array(data["points"]) @ [a, b] + c
    np.testing.assert_allclose(sides, model.decision_function(X), atol=1e-5)


def test_no_line_for_a_curved_boundary(tmp_path):
    model = KernelKMeans(2, kernel="rbf").fit(IRIS)
    page = report(model, IRIS, tmp_path)
    assert page.data["line"] is None
    assert page.table("feature", "explained")


def test_what_looks_wrong_is_told(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = MaximinSeparationClustering(2).fit(X, cannot_link=[[0, 1], [2, 3], [4, 5], [6, 7]])
    n_moved = int((model.labels_ != model.predict(X)).sum())
    assert n_moved > 0
    assert f"In {n_moved} row" in report(model, X, tmp_path).text
    with pytest.warns(ConvergenceWarning):
        model = MaximinSeparationClustering(2, max_iter=1).fit(X)
    assert "may not have converged" in report(model, X, tmp_path).text


def test_consensus_facts_are_told(iris_model, tmp_path):
    model = MaximinSeparationClustering(2).fit(IRIS)
    model.agreement_ = 0.91
    model.confidence_ = np.linspace(0, 1, len(IRIS))
    model.best_candidate_, model.duality_gap_ = "margin", 0.0125
    page = report(model, IRIS, tmp_path)
    rows = page.table("measure", "value")
    assert rows["best single candidate"] == ["margin"]
    assert rows["duality gap of the method"] == ["0.0125"]
    assert rows["rows with a confidence of 0.95 or more"] == ["5.3%"]
    assert f"methods is 0.91 , {agreement_words(0.91)}" in page.text
    assert [name for name, _ in page.data["tips"][1:3]] == ["lead", "confidence"]


def test_consensus_tells_its_candidates_and_its_doubts(tmp_path):
    model = AutoClustering(max_clusters=4, random_state=0).fit(IRIS)
    page = report(model, IRIS, tmp_path)
    assert page.ids() == [*SECTIONS[:6], "candidates", "number", *SECTIONS[6:]]
    candidates = model.candidates_
    order = np.argsort(-candidates.ranks, kind="stable")
    rows = page.table("clustering", "family")
    assert list(rows) == [candidates.names[i] for i in order]
    assert [row[2] for row in rows.values()] == [f"{candidates.ranks[i]:.2f}" for i in order]
    evidence = page.table("clusters", "evidence")
    assert evidence == {str(k): [f"{e:.2f}"] for k, e in model.selection_curve_.items()}
    assert model.n_clusters_words_ in page.text
    assert f"methods is {model.agreement_:.2f} , {agreement_words(model.agreement_)}" in page.text
    assert "One is added for the largest number of clusters with a wide gap" in page.text


def test_agreement_and_gap_do_not_contradict(tmp_path):
    X, _ = make_circles(300, factor=0.4, noise=0.03, random_state=0)
    model = AutoClustering(2, random_state=0).fit(X)
    assert model.agreement_words_ == APART
    text = report(model, X, tmp_path).text
    assert f"is {model.agreement_:.2f} , {agreement_words(model.agreement_)}." in text
    assert "The clusters lie apart: no chain of near rows joins them." in text
    assert APART not in text
    for gap, parted in ((1.2, True), (0.9, False)):
        model.gap_ = gap
        text = report(model, X, tmp_path).text
        assert "The clusters lie apart" not in text
        assert ("A gap parts the clusters" in text) == parted


def test_rows_that_the_candidates_saw_are_told(tmp_path):
    model = AutoClustering(3, max_samples=100, random_state=0).fit(IRIS)
    some, others = report(model, IRIS, tmp_path), report(model, IRIS[:60], tmp_path)
    all_of_them = report(model.fit(IRIS[:90]), IRIS[:90], tmp_path)
    assert "The candidates saw 100 of the 150 rows; the others follow" in some.text
    of_whom = {
        "All rows judged here are rows the clusters were chosen on": all_of_them,
        "Of the rows judged here 100 are rows the clusters were chosen on": some,
        "The rows judged here are not those that the clusters were chosen on": others,
    }
    for words, page in of_whom.items():
        assert [one for one in of_whom.values() if words in one.text] == [page]
    assert "The candidates saw" not in all_of_them.text + others.text


def test_only_what_holds_is_said(iris_model, tmp_path):
    straight = report(iris_model, IRIS, tmp_path).text
    model = AgglomerativeClustering(2).fit(IRIS)
    plain = report(model, IRIS, tmp_path).text
    for words in ("Weight: the share", "The lead of a row", "The objective is in units"):
        assert words in straight
        assert words not in plain
    for words in ("Confidence is a share", "Agreement is the mean"):
        assert words not in straight
    model.confidence_ = np.linspace(0, 1, len(IRIS))
    assert "Confidence is a share" in report(model, IRIS, tmp_path).text


def test_nothing_is_said_of_absent_tables(tmp_path):
    distances = pairwise_distances(IRIS)
    labels_alone = DBSCAN(eps=1, metric="precomputed").fit(distances)
    for model, X in ((AutoClustering(1).fit(IRIS), IRIS), (labels_alone, distances)):
        page = report(model, X, tmp_path)
        heads = [rows[0][0] for rows in page.tables]
        assert not {"feature", "row"} & set(heads)
        for words in ("Explained: the share", "look at these rows first", "The lead of a row"):
            assert words not in page.text
        assert all(len(rows) > 1 for rows in page.tables)
    assert page.table("what", "value")["data"] == ["150 rows, and their similarities"]
    assert "gap between clusters" not in report(AutoClustering(1).fit(IRIS), IRIS, tmp_path).text


# --- noise --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    rows = [rng.normal(center, 0.2, (size, 2)) for center, size in ((0, 20), (3, 25))]
    return np.vstack([[[9, 9], [-9, 9]], *rows, [[9, -9]]])


def test_noise_is_no_cluster(noisy, tmp_path):
    model = DBSCAN(eps=1).fit(noisy)
    page = report(model, noisy, tmp_path)
    assert "divided 48 rows into 2 clusters, of 20 (42%), 25 (52%) rows." in page.text
    assert "Noise, rows in no cluster: 3 (6.2%)." in page.text
    assert "DBSCAN: 2 clusters" in page.text
    sizes = {name: row[0] for name, row in page.table("cluster", "rows").items()}
    assert sizes == {"cluster 0": "20", "cluster 1": "25", "noise": "3"}
    assert page.data["clusters"] == ["cluster 0", "cluster 1", "noise"]
    assert page.data["labellings"][0][1] == np.where(model.labels_ < 0, 2, model.labels_).tolist()
    kept = model.labels_ >= 0
    score = separation_probability_score(noisy[kept], model.labels_[kept])
    assert page.table("measure")["separation score, at reg=0.1"] == [shown(score)]
    of_clusters = report(DBSCAN(eps=1).fit(noisy[kept]), noisy[kept], tmp_path)
    for name, row in of_clusters.table("feature", "explained").items():
        assert page.table("feature", "explained")[name][: len(row)] == row
    colors = [re.search(rf"\.c{code}{{--cluster:(.*?)}}", page.style)[1] for code in range(3)]
    assert len(set(colors)) == 3


def test_noise_alone_has_a_report(noisy, tmp_path):
    page = report(DBSCAN(eps=1e-6).fit(noisy), noisy, tmp_path)
    assert "divided 48 rows into 0 clusters." in page.text
    assert set(page.table("cluster", "rows")) == {"noise"}


def test_only_what_the_model_can_do_is_advised(iris_model, noisy, tmp_path):
    assert "model.predict(X_new)" in report(iris_model, IRIS, tmp_path).text
    assert "predict(" not in report(DBSCAN(eps=1).fit(noisy), noisy, tmp_path).text


def test_model_is_loaded_in_one_way(iris_model, tmp_path):
    unsaved = report(iris_model, IRIS, tmp_path).text
    assert 'joblib.dump(model, "model.joblib")' in unsaved
    assert "separatrix predict" not in unsaved
    saved = report(iris_model, IRIS, tmp_path, model_path="my model.skops").text
    assert "separatrix predict new.csv 'my model.skops' --out" in saved
    assert "load_model('my model.skops')" in saved
    assert "joblib" not in saved


# --- what goes in -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [np.asarray, sp.csr_array, sp.csr_matrix, pl.from_pandas, lambda X: X.to_numpy().tolist()],
)
def test_forms_of_data_give_the_same_report(form, tmp_path):
    names = [f"column {j}" for j in range(4)]
    expected = report(
        MaximinSeparationClustering(2).fit(IRIS), IRIS, tmp_path, feature_names=names
    )
    X = form(IRIS)
    page = report(MaximinSeparationClustering(2).fit(X), X, tmp_path, feature_names=names)
    for head in (("feature", "weight"), ("row", "cluster")):
        assert page.table(*head) == expected.table(*head)
    np.testing.assert_allclose(page.data["points"], expected.data["points"], atol=1e-6)


def test_rows_and_columns_keep_their_names(iris_model, tmp_path):
    X = IRIS.set_axis([f"plant {i}" for i in range(len(IRIS))], axis=0)
    page = report(iris_model, X, tmp_path)
    assert set(page.table("row", "cluster")) <= set(X.index)
    assert set(page.table("feature", "weight")) == set(IRIS.columns)
    assert page.data["tips"][0] == ["row", list(X.index)]


def test_rows_take_names(iris_model, tmp_path):
    names = np.array([f"plant {i}" for i in range(len(IRIS))])
    page = report(iris_model, IRIS, tmp_path, row_names=names)
    assert page.data["tips"][0] == ["row", names.tolist()]
    assert set(page.table("row", "cluster")) <= set(names)
    with pytest.raises(ValueError, match="row_names has 3 names but X has 150 rows"):
        report(iris_model, IRIS, tmp_path, row_names=names[:3])
    series = pd.Series(names, index=range(7, 7 + len(names)))
    assert report(iris_model, IRIS, tmp_path, row_names=series).data == page.data


def test_other_rows_than_those_of_the_fit_are_predicted(iris_model, tmp_path):
    X = IRIS.iloc[5:60]
    page = report(iris_model, X, tmp_path)
    assert page.data["labellings"][0][1] == iris_model.predict(X).tolist()


@pytest.mark.parametrize("model", [KMeans(3, random_state=0, n_init=1), AutoClustering(3)])
def test_other_data_than_those_of_the_fit_are_noticed(model, tmp_path):
    X = IRIS.to_numpy()
    model.fit(X)
    words = "the label is not what the model predicts"
    assert words not in report(model, X, tmp_path).text
    assert words not in report(model, IRIS, tmp_path).text  # names are for readers
    permuted = X[np.random.default_rng(0).permutation(len(X))]
    n_moved = np.count_nonzero(model.predict(permuted) != model.labels_)
    assert f"In {n_moved} rows of 150 {words}" in report(model, permuted, tmp_path).text
    with pytest.raises(ValueError, match=r"X has 2 columns but .* was fitted on 4; pass the data"):
        report(model, X[:, :2], tmp_path)


def test_other_rows_need_a_model_that_predicts(tmp_path):
    model = AgglomerativeClustering(2).fit(IRIS)
    with pytest.raises(ValueError, match=r"X has 60 rows but .* was fitted on 150 .* pass the"):
        report(model, IRIS[:60], tmp_path)


def test_pipeline_that_scales_is_explained_in_the_units_of_the_data(tmp_path):
    model = make_pipeline(StandardScaler(), MaximinSeparationClustering(2)).fit(IRIS)
    page = report(model, IRIS, tmp_path)
    means = IRIS.groupby(model[-1].labels_).mean()
    for name, row in page.table("feature", "weight").items():
        assert row[-2:] == [shown(mean) for mean in means[name]]
    assert page.table("what", "value")["step standardscaler"] == ["StandardScaler()"]
    renamed = report(model, IRIS, tmp_path, feature_names=list("abcd"))
    assert set(renamed.table("feature", "weight")) == set("abcd")


def test_pipeline_that_makes_other_columns_names_them(tmp_path):
    model = make_pipeline(PCA(3), MaximinSeparationClustering(2)).fit(IRIS)
    assert set(report(model, IRIS, tmp_path).table("feature")) == {"pca0", "pca1", "pca2"}
    texts = ["red wine dry", "red wine sweet", "white bread", "white bread fresh", "rye bread"]
    model = make_pipeline(TfidfVectorizer(), KernelKMeans(2, kernel="linear")).fit(texts)
    assert "wine" in report(model, texts, tmp_path).table("feature")


def test_precomputed_kernel_has_no_features_to_show(tmp_path):
    X = IRIS.to_numpy()[::3]
    model = KernelKMeans(2, kernel="precomputed").fit(X @ X.T)
    page = report(model, X @ X.T, tmp_path)
    assert page.data.keys() == {"clusters", "markers"}
    assert page.text.count("there are no features to show") == 2
    assert len(page.table("row", "cluster")) == 12


def test_one_feature_and_labels_alone_will_do(tmp_path):
    X = IRIS[["petal length (cm)"]]
    page = report(MaximinSeparationClustering(2).fit(X), X, tmp_path)
    assert page.data["axes"] == ["petal length (cm)", "row"]
    page = report(AgglomerativeClustering(3).fit(IRIS), IRIS, tmp_path)
    assert "No boundary is known here" in page.text
    assert page.data["axes"][0].startswith("leading principal component")


def test_rows_that_are_all_equal_have_no_separation(tmp_path):
    X = np.ones((20, 3))
    page = report(AgglomerativeClustering(2).fit(X), X, tmp_path)
    assert "separation score, at reg=0.1" not in page.text
    assert np.isfinite(page.data["points"]).all()


def test_confidence_stands_in_for_scores(tmp_path):
    model = AgglomerativeClustering(3).fit(IRIS)
    model.confidence_ = np.random.default_rng(0).permutation(len(IRIS)) / len(IRIS)
    rows = report(model, IRIS, tmp_path).table("row", "cluster", "confidence")
    assert list(rows) == [str(row) for row in np.argsort(model.confidence_)[:12]]


def test_dask_rows_are_computed(iris_model, tmp_path):
    array = pytest.importorskip("dask.array").from_array(IRIS.to_numpy(), chunks=(50, 4))
    model = MaximinSeparationClustering(2).fit(array)
    page = report(model, array, tmp_path)
    assert page.data["labellings"][0][1] == iris_model.labels_.tolist()


def test_bad_input_is_refused(iris_model, tmp_path):
    with pytest.raises(ValueError, match="feature_names has 2 names but X has 4 columns"):
        report(iris_model, IRIS, tmp_path, feature_names=["a", "b"])
    with pytest.raises(TypeError, match="StandardScaler has no labels_: pass a fitted clusterer"):
        report(StandardScaler().fit(IRIS), IRIS, tmp_path)
    with pytest.raises(TypeError, match="MaximumVolumeClustering has no labels_"):
        report(MaximumVolumeClustering(2), IRIS, tmp_path)
    with pytest.raises(ValueError, match="labels of 150 rows but X has 100"):
        report(comparison(), IRIS[:100], tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- comparisons --------------------------------------------------------------------------------


def test_comparison_lists_clusterings_by_rank(tmp_path):
    compared = comparison()
    page = report(compared, IRIS, tmp_path)
    assert page.ids() == ["summary", "projection", "candidates", "agreement", "making"]
    order = ["margin", "separation", "means <b>three</b>", "means, two"]
    rows = page.table("clustering", "family")
    assert list(rows) == order
    assert rows["margin"] == ["margin", "3", "1.00", "0.90", ""]
    assert rows["means <b>three</b>"][-1] == "it <i>warned</i>"
    assert rows["means, two"][-1] == "not used"
    matrix = page.table("clustering", "margin")
    assert matrix["separation"][:2] == [f"{compared.agreement[0, 1]:.2f}", "1.00"]
    overall = compared.family_agreement
    assert f"methods is {overall:.2f} , {agreement_words(overall)}" in page.text
    parameters = page.table("parameter", "value")
    assert parameters == {k: [repr(v)] for k, v in compared.estimators[1].get_params().items()}
    assert parameters["random_state"] == ["0"]
    assert "The parameters are those of margin, the best by rank." in page.text
    bare = report(replace(compared, estimators=[]), IRIS, tmp_path)
    assert "The parameters" not in bare.text


def test_clusters_of_a_comparison_are_matched_to_the_first(tmp_path):
    compared = comparison()
    labellings = dict(report(compared, IRIS, tmp_path).data["labellings"])
    reference = np.array(labellings["margin"])
    for name, labels in zip(compared.names, compared.labels, strict=True):
        codes = np.array(labellings[name])
        assert adjusted_rand_score(codes, labels) == 1
        most = max((np.take(p, labels) == reference).sum() for p in permutations(range(3)))
        assert (codes == reference).sum() == most


# --- in a browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    """Chromium, if it and playwright are installed; SEPARATRIX_REQUIRE_BROWSER=1 insists."""
    programs = map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))
    program = next(filter(None, programs), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        missing = "needs Chromium and playwright"
        if os.environ.get("SEPARATRIX_REQUIRE_BROWSER") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a report; after the test nothing may have complained or been asked for."""
    troubles, contexts = [], []

    def open_report(estimator, X, *, color_scheme="light", **kwargs):
        path = write_report(estimator, X, tmp_path / "report.html", **kwargs)
        contexts.append(browser.new_context(color_scheme=color_scheme))
        page = contexts[-1].new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(path.as_uri())
        page.on("request", lambda request: troubles.append(request.url))
        return page

    yield open_report
    assert troubles == []
    for context in contexts:
        context.close()


def counts(page, n_clusters):
    """Number of marks of each cluster in the plot."""
    return [page.locator(f"#plot .mark.c{code}").count() for code in range(n_clusters)]


def test_toggles_hide_and_show_clusters(opened):
    model = MaximinSeparationClustering(3).fit(IRIS)
    sizes = np.bincount(model.labels_).tolist()
    page = opened(model, IRIS)
    assert counts(page, 3) == sizes
    assert not page.locator("#choice").is_visible()
    page.get_by_label("cluster 1").uncheck()
    assert counts(page, 3) == [sizes[0], 0, sizes[2]]
    page.get_by_role("button", name="None").click()
    assert counts(page, 3) == [0, 0, 0]
    page.get_by_label("cluster 2").focus()
    page.keyboard.press("Space")
    assert counts(page, 3) == [0, 0, sizes[2]]
    page.get_by_role("button", name="All").click()
    assert counts(page, 3) == sizes


def test_marks_tell_what_they_are(opened, iris_model):
    page = opened(iris_model, IRIS)
    tip = page.locator("#tip")
    assert not tip.is_visible()
    page.locator("#plot").scroll_into_view_if_needed()
    mark = page.locator("#plot .mark").nth(7).bounding_box()
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    assert tip.is_visible()
    assert tip.inner_text().startswith(f"cluster {iris_model.labels_[7]}\nrow: 7\nlead: ")
    page.mouse.move(1, 1)
    assert not tip.is_visible()


@pytest.mark.parametrize("width", [1000, 400])
def test_tip_of_the_rightmost_mark_is_readable(opened, iris_model, width):
    page = opened(iris_model, IRIS)
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("#plot").scroll_into_view_if_needed()
    boxes = [mark.bounding_box() for mark in page.locator("#plot .mark").all()]
    mark = max(boxes, key=lambda box: box["x"])
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    tip = page.locator("#tip").bounding_box()
    assert tip["width"] >= 120
    assert tip["x"] >= 0
    assert tip["x"] + tip["width"] <= mark["x"] + mark["width"] < width


SCALES = {"": 1, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


@pytest.mark.parametrize("width", [1000, 400])
@pytest.mark.parametrize("size", [1e-7, 1, 1e6, 1e11, 1e17])
def test_axes_are_readable(opened, size, width):
    X, _ = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    names = ["short", "a_long_name_without_a_gap_" * 5]
    page = opened(MaximinSeparationClustering(2).fit(X * size), X * size, feature_names=names)
    page.set_viewport_size({"width": width, "height": 800})
    plot = page.locator("#plot").bounding_box()
    texts = page.locator("#plot text").evaluate_all(
        "all => all.map(e => [e.firstChild.data, e.lastChild.textContent, "
        "...['x', 'y', 'right', 'bottom'].map(side => e.getBoundingClientRect()[side])])"
    )
    for *_, left, top, right, bottom in texts:
        assert plot["x"] - 1 <= left
        assert plot["y"] - 1 <= top
        assert right <= plot["x"] + plot["width"] + 1
        assert bottom <= plot["y"] + plot["height"] + 1
    for i, (*_, left, top, right, bottom) in enumerate(texts):
        for *_, a, b, c, d in texts[:i]:
            assert a >= right or c <= left or b >= bottom or d <= top
    *ticks, (x_name, _, *_), (y_name, full_name, *_) = texts
    assert x_name == "short"
    assert y_name.endswith("…")
    assert names[1].startswith(y_name[:-1])
    assert len(y_name) > 20
    assert full_name == names[1]
    split = 1 + max(i for i, tick in enumerate(ticks) if tick[3] == ticks[0][3])
    for axis, labels in ((2, ticks[:split]), (5, ticks[split:])):  # the places go with the values
        values = [
            float(t[0].rstrip("KMBT")) * SCALES[t[0].lstrip("-.e0123456789")] for t in labels
        ]
        places = [t[axis] + t[axis + 2] if axis == 2 else t[axis] for t in labels]
        assert len(set(values)) == len(labels) >= 3
        assert abs(np.corrcoef(values, places)[0, 1]) == pytest.approx(1, abs=1e-3)
        assert max(values) < 12 * size


def test_keys_go_from_mark_to_mark(opened, iris_model):
    page = opened(iris_model, IRIS)
    points = np.array(Page(page.content()).data["points"])
    page.locator("#plot").focus()
    for key, order in (("ArrowRight", points[:, 0]), ("ArrowUp", points[:, 1])):
        heard = []
        for _ in range(5):
            page.keyboard.press(key)
            heard.append(int(re.search(r"row: (\d+)", page.inner_text("#spoken"))[1]))
        assert (np.diff(order[heard]) >= 0).all()
        assert len(set(heard)) == 5
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_every_control_is_reached_by_tab(opened, iris_model):
    page = opened(iris_model, IRIS)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"A", "INPUT", "all", "none", "plot", "DIV"} <= reached


def test_another_clustering_is_chosen(opened):
    compared = comparison()
    page = opened(compared, IRIS)
    assert page.locator("#choice").is_visible()
    assert counts(page, 3) == np.bincount(compared.labels[1]).tolist()
    page.locator("#labelling").select_option("means, two")
    assert sorted(counts(page, 3)) == [0, *sorted(np.bincount(compared.labels[3]))]


def test_hostile_names_do_nothing(opened):
    X = pd.DataFrame(IRIS.to_numpy(), columns=[f"{ATTACK}{j}" for j in range(4)])
    page = opened(MaximinSeparationClustering(2).fit(X), X, title=ATTACK)
    page.locator("#plot").focus()
    page.keyboard.press("ArrowRight")
    assert f"{ATTACK}0: " in page.locator("#tip").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.title() == ATTACK


def luminance(color):
    channels = np.array([int(c) for c in re.findall(r"\d+", color)[:3]]) / 255
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_text_has_contrast(opened, iris_model, color_scheme):
    page = opened(iris_model, IRIS, color_scheme=color_scheme)

    def style(selector, name):
        return page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{name}")

    paper = luminance(style("body", "backgroundColor"))
    assert (paper > 0.5) == (color_scheme == "light")
    inks = [("body", "color"), ("a[href='#sizes']", "color"), ("caption", "color")]
    for selector, name in [*inks, ("figcaption", "color"), ("#plot text", "fill")]:
        low, high = sorted([paper, luminance(style(selector, name))])
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize(("media", "width"), [("print", 700), ("screen", 400)])
def test_long_names_do_not_widen_the_page(opened, media, width):
    rng = np.random.default_rng(0)
    names = [f"{'annual_household_income_before_taxes_and_transfers':_<58}_{j}" for j in range(6)]
    X = pd.DataFrame(rng.normal(size=(90, 6)) + np.repeat([0, 9, 18], 30)[:, None], columns=names)
    X.index = [f"{'row_of_a_table_that_has_a_very_long_name':_<58}{i}" for i in range(90)]
    page = opened(MaximinSeparationClustering(3).fit(X), X)
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(media=media)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    count_lines = """e => {
        const range = document.createRange();
        range.selectNodeContents(e);
        return range.getClientRects().length;
    }"""
    assert page.locator("thead th", has_text="explained").evaluate(count_lines) == 1
    assert page.locator("thead th", has_text="annual").first.evaluate(count_lines) > 1


def test_paper_shows_the_plot_and_no_controls(opened, iris_model):
    page = opened(iris_model, IRIS, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("#plot").is_visible()
    assert not page.locator("nav").is_visible()
    assert not page.get_by_role("button", name="None").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
