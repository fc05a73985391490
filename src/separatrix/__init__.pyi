"""Written by `make stub`, from the names and their homes in __init__.py."""

from typing import NamedTuple

from separatrix import datasets as datasets
from separatrix import metrics as metrics
from separatrix import plots as plots
from separatrix import stability as stability
from separatrix import tables as tables
from separatrix.classics.discriminative_kmeans import DiscriminativeKMeans as DiscriminativeKMeans
from separatrix.classics.kernel_kmeans import KernelKMeans as KernelKMeans
from separatrix.classics.lda_kmeans import LDAKMeans as LDAKMeans
from separatrix.classics.mutual_information import (
    SquaredLossMutualInformationClustering as SquaredLossMutualInformationClustering,
)
from separatrix.classics.tree_cut import TreeCutClustering as TreeCutClustering
from separatrix.classifiers.margin_distribution import (
    OptimalMarginDistributionMachine as OptimalMarginDistributionMachine,
)
from separatrix.classifiers.minimax import MinimaxProbabilityMachine as MinimaxProbabilityMachine
from separatrix.classifiers.volume_regularization import (
    ApproximateVolumeRegularization as ApproximateVolumeRegularization,
)
from separatrix.criteria.cutting_plane import (
    CuttingPlaneMarginClustering as CuttingPlaneMarginClustering,
)
from separatrix.criteria.generalized_margin import (
    GeneralizedMarginClustering as GeneralizedMarginClustering,
)
from separatrix.criteria.hard_volume import (
    HardMaximumVolumeClustering as HardMaximumVolumeClustering,
)
from separatrix.criteria.information import (
    InformationMaximizationClustering as InformationMaximizationClustering,
)
from separatrix.criteria.label_generation import (
    LabelGenerationMarginClustering as LabelGenerationMarginClustering,
)
from separatrix.criteria.least_squares import (
    RegularizedLeastSquaresClustering as RegularizedLeastSquaresClustering,
)
from separatrix.criteria.margin import MaximumMarginClustering as MaximumMarginClustering
from separatrix.criteria.margin_distribution import (
    OptimalMarginDistributionClustering as OptimalMarginDistributionClustering,
)
from separatrix.criteria.semidefinite_margin import (
    SemidefiniteMarginClustering as SemidefiniteMarginClustering,
)
from separatrix.criteria.separation import (
    MaximinSeparationClustering as MaximinSeparationClustering,
)
from separatrix.criteria.volume import MaximumVolumeClustering as MaximumVolumeClustering
from separatrix.explanations import explain as explain
from separatrix.images import segment_image as segment_image
from separatrix.labels.numbering import align_labels as align_labels
from separatrix.onnx import register_onnx_converters as register_onnx_converters
from separatrix.profiles import profile as profile
from separatrix.report import write_report as write_report
from separatrix.saving import skops_trusted_types as skops_trusted_types
from separatrix.selection.auto import AutoClustering as AutoClustering
from separatrix.selection.candidates import compare_clusterings as compare_clusterings

__all__ = [
    "ApproximateVolumeRegularization",
    "AutoClustering",
    "CuttingPlaneMarginClustering",
    "DiscriminativeKMeans",
    "GeneralizedMarginClustering",
    "HardMaximumVolumeClustering",
    "InformationMaximizationClustering",
    "KernelKMeans",
    "LDAKMeans",
    "LabelGenerationMarginClustering",
    "MaximinSeparationClustering",
    "MaximumMarginClustering",
    "MaximumVolumeClustering",
    "MinimaxProbabilityMachine",
    "OptimalMarginDistributionClustering",
    "OptimalMarginDistributionMachine",
    "RegularizedLeastSquaresClustering",
    "SemidefiniteMarginClustering",
    "SquaredLossMutualInformationClustering",
    "TreeCutClustering",
    "align_labels",
    "compare_clusterings",
    "datasets",
    "explain",
    "metrics",
    "plots",
    "profile",
    "register_onnx_converters",
    "segment_image",
    "skops_trusted_types",
    "stability",
    "tables",
    "write_report",
]

__version__: str

class _Public(NamedTuple):
    home: str
    short_name: str | None = ...

_REGISTRY: dict[str, _Public]
_MODULES: tuple[str, ...]
_PARTS: dict[str, str]

def _short_name(estimator: object) -> str | None: ...
