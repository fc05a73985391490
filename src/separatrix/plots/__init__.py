"""Displays of clusterings, in scikit-learn's convention.

A Display takes its data in `__init__`, draws it in `plot(ax=None)`, and is most often made by
`from_estimator` or another `from_...`, which also draws. Drawing needs matplotlib, which comes
with ``pip install "separatrix[plot]"``; importing this package does not load it.
"""

import importlib

# resolved on first use: the command line needs colours alone, which are among the displays
_HOMES = {
    "AgreementDisplay": "plots.agreement",
    "BoundaryDisplay": "plots.boundary",
    "ClusterSizesDisplay": "plots.cluster_sizes",
    "CoassociationDisplay": "plots.coassociation",
    "HistoryDisplay": "plots.history",
    "LabelImageDisplay": "plots.label_image",
    "MarginDistributionDisplay": "plots.margin_distribution",
    "SelectionCurveDisplay": "plots.selection_curve",
    "WeightsDisplay": "plots.weights",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"separatrix.{_HOMES[name]}"), name)
