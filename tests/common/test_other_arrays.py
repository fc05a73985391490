"""Arrays of other libraries, as those on a GPU are: the same answers, in the same library."""

from inspect import signature

import numpy as np
import pytest
from sklearn import config_context
from sklearn.utils import get_tags

import separatrix
from device_support import as_numpy, strict_on_a_device, torch
from separatrix import plots
from support import fit_quietly

CLUSTERERS = [
    getattr(separatrix, name)
    for name, public in separatrix._REGISTRY.items()
    if public.short_name is not None
]
CASES = [
    (estimator, kernel)
    for estimator in CLUSTERERS
    for kernel in ("linear", "rbf", "poly", "cosine")
    if "kernel" in estimator().get_params()
    and get_tags(estimator(kernel=kernel)).array_api_support
]


def groups(n_groups):
    rng = np.random.default_rng(0)
    centers = np.array([[6.0, 0, 1, 0], [0, 6, 0, 1], [-5, -5, 0, 0]])[:n_groups]
    return np.concatenate([center + rng.normal(size=(20, 4)) for center in centers])


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize(
    ("estimator", "kernel"),
    [pytest.param(*case, id=f"{case[0].__name__}-{case[1]}") for case in CASES],
)
def test_other_arrays_get_the_same_answers(estimator, kernel, n_clusters, library):
    xp = pytest.importorskip(library)
    X = groups(n_clusters)
    params = {"kernel": kernel, "random_state": 0}
    if "low_rank" in estimator().get_params() and kernel != "linear":
        params["low_rank"] = "cholesky"  # as on devices, of however few samples
    if "max_labellings" in estimator().get_params():
        params["max_labellings"] = 4  # the same steps, fewer of them
    local, _ = fit_quietly(estimator(n_clusters, **params), X)
    with config_context(array_api_dispatch=True):
        rows = xp.asarray(X)
        model, _ = fit_quietly(estimator(n_clusters, **params), rows)
        said = model.predict(rows)
        scores = model.decision_function(rows)
    for values in (model.labels_, said, scores, model.intercept_):
        assert type(values) is type(rows)
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)
    np.testing.assert_array_equal(np.asarray(said), local.labels_)
    expected = local.decision_function(X)
    tolerance = 1e-6 * np.abs(expected).max()
    np.testing.assert_allclose(np.asarray(scores), expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize(
    "estimator",
    [
        one
        for one in CLUSTERERS
        if get_tags(one()).array_api_support and "sample_weight" in signature(one().fit).parameters
    ],
)
def test_weights_of_other_arrays_get_the_same_answers(estimator, library):
    """Weights on the host are taken, too."""
    xp = pytest.importorskip(library)
    X, weight = groups(2), np.random.default_rng(0).integers(1, 4, 40).astype(float)
    local = fit_quietly(estimator(2, random_state=0), X, sample_weight=weight)[0]
    with config_context(array_api_dispatch=True):
        for given in (weight, xp.asarray(weight)):
            model = fit_quietly(estimator(2, random_state=0), xp.asarray(X), sample_weight=given)[
                0
            ]
            np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)


@pytest.mark.usefixtures("few_tables")
@pytest.mark.parametrize("library", [strict_on_a_device, torch])
@pytest.mark.parametrize(
    "estimator",
    [separatrix.MaximinSeparationClustering(3), separatrix.AutoClustering(3, max_samples=40)],
    ids=lambda one: type(one).__name__,
)
def test_what_explains_clusters_takes_them(estimator, library, tmp_path):
    """Samples may be on the device of the fit or not; what is shown is on the host."""
    figure = pytest.importorskip("matplotlib.figure").Figure
    convert, X = library(), groups(3)
    with config_context(array_api_dispatch=True):
        there = convert(X)
        model = estimator.fit(there)
        labels = as_numpy(model.labels_)
        for rows in (there, X):
            path = separatrix.write_report(model, rows, tmp_path / "report.html")
            assert "60 rows" in path.read_text()
            found = separatrix.explain(model, rows)
            assert [one.size for one in found.clusters] == np.bincount(labels).tolist()
            found = separatrix.profile(rows, model.labels_)
            assert [one.size for one in found.clusters] == np.bincount(labels).tolist()
            drawn = plots.BoundaryDisplay.from_estimator(model, rows, ax=figure().subplots())
            np.testing.assert_array_equal(drawn.labels, labels)
            sizes = plots.ClusterSizesDisplay.from_estimator(model, rows, ax=figure().subplots())
            np.testing.assert_array_equal(sizes.labels, labels)
            shown = plots.MarginDistributionDisplay.from_estimator(
                model, rows, ax=figure().subplots()
            )
            assert len(shown.margins) == len(X)
        curve = plots.SelectionCurveDisplay.from_estimator(
            model, there, n_clusters=[2, 3], ax=figure().subplots()
        )
        assert np.isfinite(curve.scores).all()
        compared = separatrix.compare_clusterings(there, [model], random_state=0)
    np.testing.assert_array_equal(np.bincount(compared.labels[0]), np.bincount(labels))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
def test_sparse_tensors_are_refused():
    torch = pytest.importorskip("torch")
    X = torch.eye(20, dtype=torch.float64)
    with config_context(array_api_dispatch=True):
        for sparse in (X.to_sparse(), X.to_sparse_csr()):
            with pytest.raises(TypeError, match=r"X is a sparse tensor: pass X.to_dense\(\)"):
                separatrix.MaximinSeparationClustering().fit(sparse)
