"""What must not change an answer.

Each function takes a case and its fitted model, and tells whether the law in its docstring holds,
or None where the law does not apply.
"""

import copy
import io
import pickle
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pandas
import scipy.sparse as sp
from sklearn.base import is_clusterer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from separatrix.cli import Refusal
from separatrix.cli.models import load_model, save_model

from .parameters import number_of_clusters
from .pieces import estimator_of

# What makes these free of the common unit of all features, by their docs.
UNIT_FREE = {
    "CuttingPlaneMarginClustering": {"C": "scale", "kernel": "linear"},
    "InformationMaximizationClustering": {"kernel": "linear"},
    "MaximinSeparationClustering": {"kernel": "linear", "init": "scale-invariant"},
}
EMPTY_CARD = {"shares": [], "id_column": None, "columns": {}, "features": [], "means": []}
EMPTY_CARD |= {"sizes": [], "share": [], "deviation": []}


def computed(values):
    """What a method returned, in memory."""
    return values.compute() if hasattr(values, "__dask_graph__") else values


def answer(model, X):
    """Labels, or predictions of classes, of the training samples."""
    return computed(model.labels_ if hasattr(model, "labels_") else model.predict(X))


# Parameters by which an answer does not hang on rounding: mixtures of labellings converge, from
# wherever they come, and no path begins next to no C, where there are ties that rounding turns.
SETTLED = {"max_labellings": 50, "max_rounds": 100, "gap_tol": 1e-3, "C_path": 1}


def settled(case):
    """Parameters of an estimator by which its answer does not hang on rounding."""
    return {name: SETTLED[name] for name in SETTLED if name in estimator_of(case.name)[1]}


def refitted(case, X=None, **changed):
    """The estimator, with some parameters changed, fitted again."""
    X = case.X.value if X is None else X
    return case.estimator(**changed).fit(X, **case.arguments())


def is_plain(case):
    """Whether the samples are features in an array, and nothing is extreme."""
    features = case.X.value is case.rows and not case.precomputed
    return case.is_moderate and features and not case.passes("kernel", "sigmoid")


def is_stable(case, model):
    """Whether rounding cannot turn the answer: groups that lie far apart were found."""
    if case.X.value is not case.rows or not case.is_moderate or "blobs" not in case.X.words:
        return False
    if "kernel" in case.params and not case.precomputed:  # of which the groups may be no optimum
        return False
    if is_voted(case):
        return False
    groups = np.arange(len(case.rows)) % 3  # those of the table of blobs
    return adjusted_rand_score(groups, answer(model, case.rows)) == 1


def is_voted(case):
    """Whether labellings of three or more clusters vote: rounding may turn which ones they are."""
    defaults = estimator_of(case.name)[1]
    if "readout" not in defaults or number_of_clusters(case.params) == 2:
        return False
    readout = case.params["readout"].value if "readout" in case.params else defaults["readout"]
    return readout != "best"


def agree(one, other, X, Y, tolerance=1e-5):
    """Whether two models agree, up to rounding that turns a tie."""
    if np.array_equal(answer(one, X), answer(other, Y)):
        return True
    objectives = getattr(one, "objective_", 0.0), getattr(other, "objective_", 1.0)
    return bool(np.isclose(*objectives, rtol=tolerance))


def same_seed(case, model):
    """A second fit gives the same labels."""
    return np.array_equal(answer(refitted(case), case.X.value), answer(model, case.X.value))


def failed_refit(case, model):
    """A refused refit leaves the model as it was."""
    before, names = computed(model.predict(case.X.value)), set(vars(model))
    wide = np.full((5, case.rows.shape[1] + 1), np.nan)
    try:
        model.fit(wide, *([[0, 1, 0, 1, 0]] if "y" in case.given else []))
    except ValueError:
        after = computed(model.predict(case.X.value))
        return set(vars(model)) == names and np.array_equal(before, after)
    return False


def copies(case, model):
    """Copies by pickle, joblib and copy predict the same."""
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    before = computed(model.predict(case.X.value))
    return all(
        np.array_equal(computed(copied.predict(case.X.value)), before)
        for copied in (pickle.loads(pickle.dumps(model)), joblib.load(file), copy.deepcopy(model))
    )


def model_files(case, model):
    """A model that was saved to a file predicts the same."""
    if not is_clusterer(model) or case.choice % 4:  # skops takes its time
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            save_model(path, make_pipeline(model), EMPTY_CARD)
        except Refusal:  # a function as the kernel, a generator of random numbers
            return None
        loaded, _ = load_model(path)
    X = case.X.value
    return np.array_equal(computed(loaded.predict(X)), computed(model.predict(X)))


def agrees_with(case, model, X, tolerance=1e-5):
    """Whether the samples in another form have the same clusters; None if that is not stable."""
    changed = settled(case)
    model = refitted(case, **changed) if changed else model
    if not is_stable(case, model):
        return None
    return agree(model, refitted(case, X, **changed), case.rows, X, tolerance)


def other_containers(case, model):
    """The same numbers in another container give the same clusters."""
    if not is_stable(case, model):
        return None
    kinds = [np.asfortranarray, np.ndarray.tolist, pandas.DataFrame, sp.csr_array]
    kind = kinds[case.choice % len(kinds)]
    try:
        return agrees_with(case, model, kind(case.rows))
    except TypeError:
        if kind is sp.csr_array:  # not all options take sparse samples
            return None
        raise


def single_precision(case, model):
    """Samples in single precision give the same clusters."""
    if not (is_plain(case) and is_stable(case, model)):
        return None
    return agrees_with(case, model, case.rows.astype(np.float32), tolerance=1e-3)


def other_columns(case, model):
    """The order of the features does not matter."""
    if not (is_plain(case) and is_stable(case, model)):
        return None
    return agrees_with(case, model, np.ascontiguousarray(case.rows[:, ::-1]))


def more_threads(case, model):
    """Threads do not change the labels."""
    if not hasattr(model, "n_jobs") or case.name == "AutoClustering":
        return None
    again = refitted(case, n_jobs=2)
    return np.array_equal(answer(again, case.X.value), answer(model, case.X.value))


def weights_repeat(case, model):
    """A weight of two is a repeated sample, a weight of zero an absent one."""
    _, defaults, _, known = estimator_of(case.name)
    if "sample_weight" not in known or case.is_linked or not is_plain(case):
        return None
    if case.is_bounded:  # bounds count samples, whatever they weigh
        return None
    if case.passes("readout", "vote"):  # which other labellings were met matters, as the docs say
        return None
    if case.name == "AutoClustering":  # some of whose candidates take no weights, as the docs say
        return None
    weight = 1 + np.arange(len(case.rows)) % 2
    weight[-1] = case.choice % 3
    repeated = np.repeat(np.arange(len(case.rows)), weight)
    start = np.arange(len(case.rows)) // 2 % number_of_clusters(case.params)
    changed = [settled(case), settled(case)]
    if "init" in defaults and not any(
        case.passes("solver", name) for name in ("eig", "eig-paper")
    ):  # k-means would start elsewhere
        starts = [start, start[repeated]]
        # splits take no labels
        alike = {"multiway": "one-vs-rest"} if "multiway" in defaults else {}
        changed = [{"init": init, **alike, **settled(case)} for init in starts]
    y = np.asarray(case.given["y"].value) if "y" in case.given else start
    try:
        one = case.estimator(**changed[0]).fit(case.rows, y, sample_weight=weight)
    except ValueError as error:
        if "in init" in str(error):  # outliers may take all samples of a label
            return None
        raise
    other = case.estimator(**changed[1]).fit(case.rows[repeated], y[repeated])
    if hasattr(one, "objective_"):
        return bool(np.isclose(one.objective_, other.objective_, rtol=1e-3))
    return np.array_equal(one.predict(case.rows), other.predict(case.rows))


def common_unit(case, model):
    """Where docs say that the unit of the samples does not matter, it does not."""
    if case.name not in UNIT_FREE or not is_plain(case):
        return None
    one = refitted(case, **UNIT_FREE[case.name])
    other = refitted(case, case.rows * 1024.0, **UNIT_FREE[case.name])
    return agree(one, other, case.rows, case.rows * 1024.0)


def translation(case, model):
    """Where docs say that a constant added to the samples does not matter, it does not."""
    if case.name != "OptimalMarginDistributionMachine" or not is_plain(case):
        return None
    changed = {"kernel": "linear", "fit_intercept": True}
    one, other = refitted(case, **changed), refitted(case, case.rows + 8.0, **changed)
    return bool(np.isclose(one.objective_, other.objective_, rtol=1e-5))


# Those that hold for every fit, and those that few cases are fit for.
GENERAL = [same_seed, failed_refit, copies, model_files, more_threads]
PARTICULAR = [
    other_containers,
    single_precision,
    other_columns,
    weights_repeat,
    common_unit,
    translation,
]
