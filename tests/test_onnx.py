"""ONNX graphs return what predict and decision_function return."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import (
    DiscriminativeKMeans,
    KernelKMeans,
    LDAKMeans,
    MaximinSeparationClustering,
    register_onnx_converters,
)
from separatrix.estimators.base import BoundaryClustering

X = load_iris().data
# Two clusters, boundaries around each, between pairs, and of splits.
MODELS = [
    MaximinSeparationClustering(2),
    MaximinSeparationClustering(3),
    MaximinSeparationClustering(4, multiway="bisection"),
    MaximinSeparationClustering(3, multiway="one-vs-rest"),
    DiscriminativeKMeans(3),
    LDAKMeans(2),
    KernelKMeans(1, kernel="linear"),
    make_pipeline(StandardScaler(), KernelKMeans(3, kernel="linear")),
]


@pytest.fixture
def returned():
    """A function that runs the graph of a model on samples: labels and scores."""
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    register_onnx_converters()

    def run(model, samples, **options):
        graph = skl2onnx.to_onnx(model, samples[:1], **options).SerializeToString()
        session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        return session.run(None, {"X": samples})

    return run


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_graphs_return_labels_and_scores(model, returned):
    model.fit(X[::3])
    labels, scores = returned(model, X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("opset", [15, 18])
def test_single_precision_and_other_versions_of_the_format(opset, returned):
    singles = X.astype(np.float32)
    model = MaximinSeparationClustering(3).fit(singles[::3])
    labels, scores = returned(model, singles, target_opset=opset)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(labels, model.predict(singles))
    np.testing.assert_allclose(scores, model.decision_function(singles), rtol=1e-4, atol=1e-5)


def test_samples_on_a_boundary_have_the_label_of_predict(returned):
    grid = np.array([[-1.0], [0], [1], [0], [-2], [1], [0], [0], [-2], [1], [0], [-1], [1], [-1]])
    model = MaximinSeparationClustering(3, reg=10).fit(grid)
    np.testing.assert_array_equal(returned(model, grid)[0], model.predict(grid))


def test_models_without_linear_boundaries_are_refused(returned):
    model = KernelKMeans(2, kernel="rbf").fit(X[::9])
    with pytest.raises(ValueError, match=r"KernelKMeans with kernel='rbf' has no linear bound"):
        returned(model, X)


def test_every_clusterer_by_boundaries_is_registered(returned):
    known = pytest.importorskip("skl2onnx._supported_operators").sklearn_operator_name_map
    for name, entry in separatrix._REGISTRY.items():
        cls = getattr(separatrix, name)
        if entry.short_name and issubclass(cls, BoundaryClustering):
            assert known[cls] == f"Separatrix{name}"


def test_the_extra_is_named_where_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"needs skl2onnx: pip install 'separatrix\[onnx\]'"):
        register_onnx_converters()
