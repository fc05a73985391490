"""What a report is made of: forms of data, names, pipelines, and comparisons."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from report_support import IRIS, comparison, report, shown
from separatrix import (
    AutoClustering,
    KernelKMeans,
    MaximinSeparationClustering,
    MaximumVolumeClustering,
)

pytestmark = pytest.mark.usefixtures("few_tables")


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
    for head in (("feature", "weight"), ("row", "cluster", "or rather")):
        assert page.table(*head) == expected.table(*head)
    np.testing.assert_allclose(page.data["points"], expected.data["points"], atol=1e-6)


def test_rows_and_columns_keep_their_names(iris_model, tmp_path):
    X = IRIS.set_axis([f"plant {i}" for i in range(len(IRIS))], axis=0)
    page = report(iris_model, X, tmp_path)
    assert set(page.table("row", "cluster", "or rather")) <= set(X.index)
    assert set(page.table("feature", "weight")) == set(IRIS.columns)
    assert page.data["tips"][0] == ["row", list(X.index)]


def test_rows_take_names(iris_model, tmp_path):
    names = np.array([f"plant {i}" for i in range(len(IRIS))])
    page = report(iris_model, IRIS, tmp_path, row_names=names)
    assert page.data["tips"][0] == ["row", names.tolist()]
    assert set(page.table("row", "cluster", "or rather")) <= set(names)
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
    assert "No boundary between clusters is known here" in page.text
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


def test_comparison_lists_clusterings_by_votes(tmp_path):
    compared = comparison()
    page = report(compared, IRIS, tmp_path)
    assert page.ids() == ["summary", "projection", "candidates", "agreement", "making"]
    order = ["margin", "separation", "means <b>three</b>", "means, two"]
    rows = page.table("clustering", "place")
    assert list(rows) == order
    assert rows["margin"] == ["1st of 4", "margin", "3", "1.00", "0.90", "0.00", ""]
    assert rows["means <b>three</b>"][-1] == "it <i>warned</i>"
    assert rows["means, two"][-1] == "not used"
    matrix = page.table("clustering", "1", "2", "3", "4")
    assert matrix["2. separation"][:2] == [f"{compared.agreement[0, 1]:.2f}", "1.00"]
    assert f"methods of different kinds is {compared.family_agreement:.2f}." in page.text
    assert compared.agreement_words[1:] in page.text
    parameters = page.table("parameter", "value")
    assert parameters == {k: [repr(v)] for k, v in compared.estimators[1].get_params().items()}
    assert parameters["random_state"] == ["0"]
    assert "The parameters are those of margin, which has the most votes." in page.text
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
