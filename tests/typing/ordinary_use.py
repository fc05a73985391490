"""What users write every day. Type checkers read it, and the tests run it."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from matplotlib.axes import Axes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import (
    AutoClustering,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MaximumVolumeClustering,
    MinimaxProbabilityMachine,
    RegularizedLeastSquaresClustering,
    TreeCutClustering,
    compare_clusterings,
)
from separatrix.metrics import clustering_error, separation_probability_score, validity_score
from separatrix.plots import BoundaryDisplay, WeightsDisplay
from separatrix.tables import TablePreparer


def clusters_of_new_rows(X: np.ndarray) -> np.ndarray:
    model = MaximinSeparationClustering(n_clusters=2, init="scale-invariant").fit(X)
    print(f"{model.separation_probability_:.2f}", model.coef_.shape, model.n_iter_ + 1)
    return model.predict(X[:5])


def labels_at_once(X: np.ndarray) -> list[np.ndarray]:
    models = [
        MaximumMarginClustering(3, kernel="rbf", gamma=0.5, random_state=0),
        MaximumVolumeClustering(3, n_neighbors=10),
        RegularizedLeastSquaresClustering(3, random_state=np.random.RandomState(0)),
        TreeCutClustering(3),
    ]
    return [model.fit_predict(X) for model in models]


def known_pairs(X: np.ndarray) -> np.ndarray:
    model = MaximumMarginClustering(2).fit(X, must_link=[[0, 1]], cannot_link=[[0, 149]])
    return model.labels_


def weighted(X: np.ndarray) -> float:
    weight = np.ones(len(X))
    model = MaximinSeparationClustering(2, reg=0.1).fit(X, sample_weight=weight)
    return model.objective_ + model.history_[-1]


def tables(X: pd.DataFrame) -> pd.Series:
    pipeline = make_pipeline(StandardScaler(), MaximinSeparationClustering(3))
    return pd.Series(pipeline.fit_predict(X), index=X.index)


def kept_columns(X: pd.DataFrame) -> list[str]:
    preparer = TablePreparer(drop=["shop"], keep=["age"], standardize=False).fit(X)
    return [one.column for one in preparer.findings_ if not one.left_out]


def sparse_rows(X: np.ndarray) -> np.ndarray:
    return MaximinSeparationClustering(2).fit(sp.csr_array(X)).labels_


def known_classes(X: np.ndarray, y: np.ndarray) -> float:
    machine = MinimaxProbabilityMachine().fit(X, y)
    return float(np.mean(machine.predict(X) == y)) + machine.score(X, y)


def methods_that_vote(X: np.ndarray) -> str:
    model = AutoClustering(3, random_state=0).fit(X)
    doubtful = model.confidence_ < 0.6
    return f"{model.agreement_:.2f} {model.agreement_words_} {doubtful.sum()}"


def compared(X: np.ndarray) -> pd.DataFrame:
    found = compare_clusterings(X, [MaximinSeparationClustering(3), TreeCutClustering(3)])
    print(found.names, found.best, found.agreement)
    return found.to_dataframe()


def scores(X: np.ndarray, labels: np.ndarray, y: np.ndarray) -> list[float]:
    return [
        validity_score(X, labels),
        clustering_error(y, labels),
        separation_probability_score(X, labels),
        separatrix.metrics.validity_score(X, labels),
    ]


def pictures(X: np.ndarray) -> Axes:
    model = MaximinSeparationClustering(2).fit(X)
    WeightsDisplay.from_estimator(model)
    display = BoundaryDisplay.from_estimator(model, X)
    return display.plot().ax_


def main() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 4)) + 5 * np.eye(3, 4)[y]
    print(clusters_of_new_rows(X), labels_at_once(X)[0].shape, known_pairs(X).shape, weighted(X))
    print(kept_columns(pd.DataFrame({"shop": y, "age": X[:, 0], "visits": X[:, 1]})))
    print(tables(pd.DataFrame(X)).shape, sparse_rows(X).shape, known_classes(X, y == 0))
    print(methods_that_vote(X), compared(X).shape, pictures(X).get_title())
    print(scores(X, MaximinSeparationClustering(3).fit_predict(X), y), separatrix.__version__)


if __name__ == "__main__":
    main()
