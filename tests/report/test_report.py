"""The report: what every one is, and its numbers against other ways to get them."""

import base64
import hashlib
import html
import os
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import ClusterMixin, clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from report_support import ATTACK, IRIS, Page, comparison, report, shown
from separatrix import (
    AutoClustering,
    CuttingPlaneMarginClustering,
    KernelKMeans,
    LabelGenerationMarginClustering,
    LDAKMeans,
    MaximinSeparationClustering,
    SemidefiniteMarginClustering,
)
from separatrix.metrics import separation_probability_score
from separatrix.report import trust, write_report
from separatrix.selection.consensus import agreement_words
from support import few_rounds, fit_quietly

CLUSTERERS = [
    getattr(separatrix, name)
    for name in separatrix.__all__
    if isinstance(getattr(separatrix, name), type)
    and issubclass(getattr(separatrix, name), ClusterMixin)
]
SECTIONS = ["summary", "rows", "trust", "projection", "explanation", "making", "loading"]


# --- what every report is -----------------------------------------------------------------------


@pytest.mark.usefixtures("few_tables")
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
@pytest.mark.parametrize("clusterer", CLUSTERERS)
def test_every_clusterer_has_a_report(clusterer, n_clusters, tmp_path):
    X = IRIS.iloc[::3]
    model, _ = fit_quietly(clusterer(n_clusters, **few_rounds(clusterer)), X)
    page = report(model, X, tmp_path)
    of_the_consensus = ["candidates"] * (clusterer is AutoClustering and n_clusters > 1)
    assert page.ids() == SECTIONS[:5] + of_the_consensus + SECTIONS[5:]
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


def test_known_classes_are_compared_with_the_clusters(tmp_path):
    centers = np.repeat([[0.0, 1.0], [4.0, 3.0], [9.0, 0.0]], 5, axis=0)
    X = centers + np.arange(30).reshape(15, 2) / 99
    model = MaximinSeparationClustering(3, init=np.repeat([0, 1, 2], 5)).fit(X)
    kinds = [*"aaaaabbbbbcccc", None]
    page = report(model, X, tmp_path, truth={ATTACK: kinds, "half": np.arange(15) < 8})
    assert "truth" in page.ids()
    codes = page.data["labellings"][0][1]
    found = page.table(ATTACK, "cluster 0")
    for kind in (*"abc", None):
        here = [code for code, one in zip(codes, kinds, strict=True) if one == kind]
        assert found[kind or "missing"] == [str(here.count(code)) for code in range(3)]
    assert set(page.table("half", "cluster 0")) == {"True", "False"}
    index = adjusted_rand_score([str(kind) for kind in kinds], codes)
    assert f"The adjusted Rand index of clusters and {ATTACK} is {index:.2f}." in page.text
    assert "truth" not in report(model, X, tmp_path).ids()
    with pytest.raises(ValueError, match=r"truth\['kind'\] has 14 values but X has 15 rows; pass"):
        report(model, X, tmp_path, truth={"kind": kinds[1:]})
    many = MaximinSeparationClustering(2).fit(IRIS)
    with pytest.raises(ValueError, match=r"has 150 different values, more than 20; pass classes"):
        report(many, IRIS, tmp_path, truth={"kind": range(150)})
    with pytest.raises(ValueError, match="a comparison of clusterings takes no truth"):
        report(comparison(), IRIS, tmp_path, truth={"kind": [0] * 150})


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
    rows = report(model, IRIS, tmp_path).table("row", "cluster", "or rather")
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
    assert f"the worst pair counts: here it has {score:.2f}." in page.text


def test_a_halved_cloud_scores_what_the_report_says(tmp_path):
    X = np.column_stack([norm.ppf((np.arange(4000) + 0.5) / 4000), np.tile([-1.0, 1.0], 2000)])
    labels = (X[:, 0] > 0).astype(int)
    score = separation_probability_score(X[:, :1], labels)
    assert score == pytest.approx(trust.HALVED_CLOUD, abs=2e-3)
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
    assert "all the iterations that max_iter allows; it may not" in report(model, X, tmp_path).text


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        (LabelGenerationMarginClustering(2, max_rounds=1, gap_tol=0.0), "max_rounds"),
        (SemidefiniteMarginClustering(2, max_steps=2), "max_steps"),
        (CuttingPlaneMarginClustering(2, max_iter=1), "max_iter"),
    ],
)
def test_a_proof_of_the_optimum_is_told_and_where_it_ended(model, limit, tmp_path):
    X = IRIS.iloc[::5]
    page = report(fit_quietly(model, X)[0], X, tmp_path)
    assert page.table("measure")[trust.MEASURES["gap_"]] == [shown(model.gap_)]
    assert "A distance near zero does not show that these are the best." in page.text
    assert f"all the iterations that {limit} allows; it may not have converged" in page.text
    finished = clone(model).set_params(**{limit: 500})
    if limit == "max_rounds":
        finished.set_params(gap_tol=0.01)
    page = report(fit_quietly(finished, X)[0], X, tmp_path)
    assert "may not have converged" not in page.text
    one = report(clone(model).set_params(n_clusters=1).fit(X), X, tmp_path)
    assert "distance from the optimum" not in one.text
    assert "distance from the optimum" not in report(LDAKMeans(2).fit(X), X, tmp_path).text


def test_methods_have_the_names_of_the_registry(iris_model, tmp_path):
    told = "name on the command line"
    scaled = make_pipeline(StandardScaler(), LDAKMeans(2)).fit(IRIS)
    for model, name in ((iris_model, "separation"), (scaled, "lda-kmeans")):
        assert report(model, IRIS, tmp_path).table("what", "value")[told] == [name]

    class KernelKMeans(AgglomerativeClustering):  # of another library, by the same name
        pass

    for other in (KernelKMeans(2).fit(IRIS), AgglomerativeClustering(2).fit(IRIS)):
        assert told not in report(other, IRIS, tmp_path).table("what", "value")


def told_trust(words, agreement):
    """How a report says how far methods agree."""
    first = f"{words[0].upper()}{words[1:]}"
    return f"{first} . The agreement of methods is {agreement:.2f}: 1 is the same clusters"


def test_consensus_facts_are_told(iris_model, tmp_path):
    model = MaximinSeparationClustering(2).fit(IRIS)
    model.agreement_ = 0.91
    model.confidence_ = np.linspace(0, 1, len(IRIS))
    model.best_candidate_, model.gap_ = "margin", 0.0125
    page = report(model, IRIS, tmp_path)
    rows = page.table("measure", "value")
    assert rows["best single candidate"] == ["margin"]
    assert rows[trust.MEASURES["gap_"]] == ["0.0125"]
    assert rows["rows with a confidence of 0.95 or more"] == ["5.3%"]
    assert told_trust(agreement_words(0.91), 0.91) in page.text
    assert [name for name, _ in page.data["tips"][1:3]] == ["lead", "confidence"]


def test_consensus_tells_its_candidates_and_its_doubts(tmp_path):
    model = AutoClustering(max_clusters=4, random_state=0).fit(IRIS)
    page = report(model, IRIS, tmp_path)
    assert page.ids() == [*SECTIONS[:5], "candidates", "number", *SECTIONS[5:]]
    candidates = model.candidates_
    order = candidates.order
    rows = page.table("clustering", "place", "family")
    assert list(rows) == [candidates.names[i] for i in order]
    assert [row[0] for row in rows.values()][:3] == [f"{n} of 26" for n in ("1st", "2nd", "3rd")]
    assert [row[3] for row in rows.values()] == [f"{candidates.votes[i]:.2f}" for i in order]
    with_result = [adjusted_rand_score(candidates.labels[i], model.labels_) for i in order]
    assert [row[4] for row in rows.values()] == [f"{one:z.2f}" for one in with_result]
    evidence = page.table("clusters", "evidence")
    assert evidence == {str(k): [f"{e:.2f}"] for k, e in model.selection_curve_.items()}
    assert model.n_clusters_words_ in page.text
    assert told_trust(model.agreement_words_, model.agreement_) in page.text
    assert "One is added for the largest number of clusters with a wide gap" in page.text


def test_agreement_and_gap_do_not_contradict(tmp_path):
    X, _ = make_circles(300, factor=0.4, noise=0.03, random_state=0)
    model = AutoClustering(2, random_state=0).fit(X)
    words = model.agreement_words_
    assert words != agreement_words(model.agreement_)
    text = report(model, X, tmp_path).text
    assert told_trust(words, model.agreement_) in text
    assert "Do not rely on these clusters" not in text


@pytest.mark.usefixtures("few_tables")
def test_rows_that_the_candidates_saw_are_told(tmp_path):
    model = AutoClustering(3, max_samples=100, random_state=0).fit(IRIS)
    some, others = report(model, IRIS, tmp_path), report(model, IRIS[:60], tmp_path)
    all_of_them = report(model.fit(IRIS[:90]), IRIS[:90], tmp_path)
    assert "The candidates used 100 of the 150 rows; the others follow" in some.text
    of_whom = {
        "All rows judged here were used to find the clusters": all_of_them,
        "Of the rows judged here, 100 were used to find the clusters": some,
        "The rows judged here are not, or not all, those that were used": others,
    }
    for words, page in of_whom.items():
        assert [one for one in of_whom.values() if words in one.text] == [page]
    assert "The candidates used" not in all_of_them.text + others.text


def test_only_what_holds_is_said(iris_model, tmp_path):
    straight = report(iris_model, IRIS, tmp_path).text
    model = AgglomerativeClustering(2).fit(IRIS)
    plain = report(model, IRIS, tmp_path).text
    for words in ("Weight: the share", "The lead of a row", "The objective has its own units"):
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
        assert "feature" not in heads
        assert "Doubtful rows" not in page.text
        for words in ("Explained: the share", "look at these rows first", "The lead of a row"):
            assert words not in page.text
        assert all(len(rows) > 1 for rows in page.tables)
    assert page.table("what", "value")["data"] == ["150 rows, and their similarities"]
    assert "gap between clusters" not in report(AutoClustering(1).fit(IRIS), IRIS, tmp_path).text


# --- outliers -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    rows = [rng.normal(center, 0.2, (size, 2)) for center, size in ((0, 20), (3, 25))]
    return np.vstack([[[9, 9], [-9, 9]], *rows, [[9, -9]]])


def test_outliers_are_no_cluster(noisy, tmp_path):
    model = DBSCAN(eps=1).fit(noisy)
    page = report(model, noisy, tmp_path)
    assert "DBSCAN found 2 clusters in 48 rows." in page.text
    assert "Outliers, rows in no cluster: 3 (6.2%)." in page.text
    assert "DBSCAN: 2 clusters" in page.text
    sizes = {name: row[0] for name, row in page.table("cluster", "rows").items()}
    assert sizes == {"cluster 0": "20", "cluster 1": "25", "outliers": "3"}
    assert page.data["clusters"] == ["cluster 0", "cluster 1", "outliers"]
    assert page.data["labellings"][0][1] == np.where(model.labels_ < 0, 2, model.labels_).tolist()
    kept = model.labels_ >= 0
    score = separation_probability_score(noisy[kept], model.labels_[kept])
    assert page.table("measure")["separation score, at reg=0.1"] == [shown(score)]
    of_clusters = report(DBSCAN(eps=1).fit(noisy[kept]), noisy[kept], tmp_path)
    for name, row in of_clusters.table("feature", "explained").items():
        assert page.table("feature", "explained")[name][: len(row)] == row
    colors = [re.search(rf"\.c{code}{{--cluster:(.*?)}}", page.style)[1] for code in range(3)]
    assert len(set(colors)) == 3


def test_outliers_alone_have_a_report(noisy, tmp_path):
    page = report(DBSCAN(eps=1e-6).fit(noisy), noisy, tmp_path)
    assert "DBSCAN found 0 clusters in 48 rows." in page.text
    assert set(page.table("cluster", "rows")) == {"outliers"}


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
