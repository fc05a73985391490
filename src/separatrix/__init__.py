"""Discriminative clustering: clusters found by the boundary between them."""

import importlib
from typing import NamedTuple


class _Public(NamedTuple):
    """Where a public name is defined, and what the command line, files and reports call it."""

    home: str
    short_name: str | None = None


# The registry. Public names are resolved on first use (PEP 562), so importing the package
# loads neither numba nor any criterion. Common tests, benchmarks and the command line
# iterate it: a new criterion is one line here. Type checkers and editors read __init__.pyi, which
# `make stub` writes from it.
_REGISTRY = {
    "ApproximateVolumeRegularization": _Public("classifiers.volume_regularization"),
    "AutoClustering": _Public("selection.auto", "auto"),
    "CuttingPlaneMarginClustering": _Public("criteria.cutting_plane", "cutting-plane"),
    "DiscriminativeKMeans": _Public("classics.discriminative_kmeans", "discriminative-kmeans"),
    "GeneralizedMarginClustering": _Public("criteria.generalized_margin", "generalized-margin"),
    "HardMaximumVolumeClustering": _Public("criteria.hard_volume", "hard-volume"),
    "InformationMaximizationClustering": _Public("criteria.information", "information"),
    "KernelKMeans": _Public("classics.kernel_kmeans", "kernel-kmeans"),
    "LDAKMeans": _Public("classics.lda_kmeans", "lda-kmeans"),
    "LabelGenerationMarginClustering": _Public("criteria.label_generation", "label-generation"),
    "MaximinSeparationClustering": _Public("criteria.separation", "separation"),
    "MaximumMarginClustering": _Public("criteria.margin", "margin"),
    "MaximumVolumeClustering": _Public("criteria.volume", "volume"),
    "MinimaxProbabilityMachine": _Public("classifiers.minimax"),
    "OptimalMarginDistributionClustering": _Public(
        "criteria.margin_distribution", "margin-distribution"
    ),
    "OptimalMarginDistributionMachine": _Public("classifiers.margin_distribution"),
    "RegularizedLeastSquaresClustering": _Public("criteria.least_squares", "least-squares"),
    "SemidefiniteMarginClustering": _Public("criteria.semidefinite_margin", "semidefinite-margin"),
    "SquaredLossMutualInformationClustering": _Public(
        "classics.mutual_information", "mutual-information"
    ),
    "TreeCutClustering": _Public("classics.tree_cut", "tree-cut"),
    "align_labels": _Public("labels.numbering"),
    "compare_clusterings": _Public("selection.candidates"),
    "explain": _Public("explanations"),
    "profile": _Public("profiles"),
    "register_onnx_converters": _Public("onnx"),
    "segment_image": _Public("images"),
    "skops_trusted_types": _Public("saving"),
    "write_report": _Public("report"),
}
_MODULES = ("datasets", "metrics", "plots", "stability", "tables")
# The classes that fitted clusterers hold, with their homes. Model files name the classes of this
# library without a module, so that they load after one has moved to another file. Classes in
# neither table are not saved and not loaded; no name is in both.
_PARTS = {
    "ApproximateSearch": "similarity.forest",
    "Boundaries": "models.boundaries",
    "Calibration": "models.calibration",
    "CandidateClustering": "cli.candidates",
    "CategoryFeatures": "tables.features",
    "Comparison": "selection.candidates",
    "DateFeatures": "tables.features",
    "ExactSearch": "similarity.neighbors",
    "Finding": "tables.findings",
    "Form": "similarity.quadratic_forms",
    "Extension": "models.extensions",
    "Frame": "data.frames",
    "GivenGraph": "similarity.graphs",
    "GraphModel": "models.graph_responses",
    "HardSides": "models.graph_responses",
    "Kernel": "similarity.kernels",
    "KernelMap": "similarity.kernels",
    "KernelRule": "models.extensions",
    "KnownRows": "data.distinct",
    "LandmarkGraph": "similarity.landmarks",
    "LowSpectrum": "similarity.quadratic_forms",
    "NearestSample": "models.nearest_samples",
    "NumberFeatures": "tables.features",
    "LinearRule": "models.extensions",
    "NeighborRule": "models.extensions",
    "OutlierRule": "models.outliers",
    "Posterior": "models.graph_responses",
    "QuadraticRule": "models.extensions",
    "Rotated": "models.graph_responses",
    "Similarity": "similarity.graphs",
    "SimilarityGraph": "similarity.graphs",
    "Split": "models.boundaries",
    "Structure": "validity.structure",
    "TablePreparer": "tables.preparer",
    "Tree": "models.graph_responses",
    "TwoSided": "models.graph_responses",
}

__all__ = sorted([*_REGISTRY, *_MODULES])


def __getattr__(name):
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version(__name__)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _REGISTRY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_REGISTRY[name].home}"), name)


def _short_name(estimator):
    """What the command line, files and reports call an estimator; None if it is not ours."""
    public = _REGISTRY.get(type(estimator).__name__)
    if public is None or type(estimator).__module__ != f"{__name__}.{public.home}":
        return None
    return public.short_name


def __dir__():
    return __all__ + ["__version__"]
