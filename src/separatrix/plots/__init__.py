"""Displays of clusterings, in scikit-learn's convention.

A Display takes its data in `__init__`, draws it in `plot(ax=None)`, and is most often made by
`from_estimator` or another `from_...`, which also draws. Drawing needs matplotlib, which comes
with ``pip install "separatrix[plot]"``; importing this package does not load it.
"""

from separatrix.plots.agreement import AgreementDisplay
from separatrix.plots.boundary import BoundaryDisplay
from separatrix.plots.cluster_sizes import ClusterSizesDisplay
from separatrix.plots.coassociation import CoassociationDisplay
from separatrix.plots.history import HistoryDisplay
from separatrix.plots.label_image import LabelImageDisplay
from separatrix.plots.margin_distribution import MarginDistributionDisplay
from separatrix.plots.selection_curve import SelectionCurveDisplay
from separatrix.plots.weights import WeightsDisplay

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
