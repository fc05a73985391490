"""Discriminative clustering: clusters found by the boundary between them."""

import importlib

__version__ = "0.1.0.dev0"

# The registry. Public names are resolved on first use (PEP 562), so importing the package
# loads neither numba nor any criterion. Common tests, benchmarks and the command line
# iterate `__all__`: a new criterion is one line here.
_HOMES = {
    "ApproximateVolumeRegularization": "criteria.volume_regularization",
    "AutoClustering": "selection",
    "CuttingPlaneMarginClustering": "criteria.cutting_plane",
    "DiscriminativeKMeans": "classics.discriminative_kmeans",
    "GeneralizedMarginClustering": "criteria.semidefinite",
    "HardMaximumVolumeClustering": "criteria.volume_hard",
    "KernelKMeans": "classics.kernel_kmeans",
    "LDAKMeans": "classics.lda_kmeans",
    "LabelGenerationMarginClustering": "criteria.label_generation",
    "MaximinSeparationClustering": "criteria.separation",
    "MaximumMarginClustering": "criteria.margin",
    "MaximumVolumeClustering": "criteria.volume",
    "MinimaxProbabilityMachine": "criteria.minimax",
    "OptimalMarginDistributionClustering": "criteria.margin_distribution",
    "OptimalMarginDistributionMachine": "criteria.margin_distribution_machine",
    "RegularizedLeastSquaresClustering": "criteria.least_squares",
    "SemidefiniteMarginClustering": "criteria.semidefinite",
    "SquaredLossMutualInformationClustering": "classics.mutual_information",
    "compare_clusterings": "selection",
    "datasets": None,
    "metrics": None,
    "plots": None,
    "segment_image": "images",
    "stability": None,
    "write_report": "report",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if home is None:
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__():
    return __all__ + ["__version__"]
