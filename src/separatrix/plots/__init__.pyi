"""Written by `make stub`, from the names and their homes in __init__.py."""

from separatrix.plots.agreement import AgreementDisplay as AgreementDisplay
from separatrix.plots.boundary import BoundaryDisplay as BoundaryDisplay
from separatrix.plots.cluster_sizes import ClusterSizesDisplay as ClusterSizesDisplay
from separatrix.plots.coassociation import CoassociationDisplay as CoassociationDisplay
from separatrix.plots.history import HistoryDisplay as HistoryDisplay
from separatrix.plots.label_image import LabelImageDisplay as LabelImageDisplay
from separatrix.plots.margin_distribution import (
    MarginDistributionDisplay as MarginDistributionDisplay,
)
from separatrix.plots.selection_curve import SelectionCurveDisplay as SelectionCurveDisplay
from separatrix.plots.weights import WeightsDisplay as WeightsDisplay

__all__ = [
    "AgreementDisplay",
    "BoundaryDisplay",
    "ClusterSizesDisplay",
    "CoassociationDisplay",
    "HistoryDisplay",
    "LabelImageDisplay",
    "MarginDistributionDisplay",
    "SelectionCurveDisplay",
    "WeightsDisplay",
]
