"""Mistakes that type checkers tell, in the lines marked so; nothing else of it is told.

Attributes that do not exist are told by pyright only: mypy knows no types of scikit-learn, which
estimators derive from.
"""

import numpy as np

import separatrix
from separatrix import MaximinSeparationClustering, MaximumMarginClustering, TreeCutClustering
from separatrix.metrics import validity_score
from separatrix.plots import BoundaryDisplay


def mistakes(X: np.ndarray) -> None:
    from separatrix import MaximumMarginClusterin  # wrong: no such name

    print(MaximumMarginClusterin)
    model = MaximinSeparationClustering(2).fit(X)
    print(model.label_)  # wrong for pyright: no such attribute
    print(model.labels_.shap)  # wrong: an array has a shape
    model.fit(X, sample_weights=None)  # wrong: no such parameter
    model.separation_probability_.upper()  # wrong: a number
    print(TreeCutClustering(2).fit(X).coef_)  # wrong for pyright: it has no boundaries
    MaximumMarginClustering(2).fit(X, must_links=[[0, 1]])  # wrong: no such parameter
    validity_score(X, [0, 0, 1, 1], max_samples="all")  # wrong: a number
    print(BoundaryDisplay.from_estimator(model, X).axes_)  # wrong: ax_
    print(separatrix.plot)  # wrong: plots
