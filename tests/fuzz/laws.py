"""What every outcome obeys.

A fit ends in one of three ways: a right answer, a right answer with a documented warning, or a
ValueError or TypeError that names what was wrong. Everything else is a violation: another
exception, an error that names nothing, a foreign or undocumented warning, labels out of range,
clusters that are missing without a word, numbers that are not finite where the docstring does not
say so, `predict` that contradicts `labels_`, equal samples in different clusters, a change of what
the caller passed.
"""

import inspect
import pickle
import re
import sys
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import scipy.sparse as sp
from numpydoc.docscrape import NumpyDocString
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.utils._param_validation import InvalidParameterError

import separatrix
from separatrix.labels.sizes import size_bounds

from .invariances import GENERAL, PARTICULAR, computed
from .pieces import BAD, FINE, SIZES, estimator_of

HOME = Path(separatrix.__file__).parent
# What docs say of bounds of sizes where `predict` does not keep them.
FREE_PREDICTION = "keep the bounds exactly; `predict` need not"
# Exactly these: a LinAlgError is a ValueError too, but no refusal.
REFUSALS = (ValueError, TypeError, InvalidParameterError)
# Names of parameters that are also words: in a message they count only where meant as names.
WORDS = {
    "affinity",
    "balance",
    "comparison",
    "degree",
    "graph",
    "kernel",
    "loss",
    "matrix",
    "neighbors",
    "normalize",
    "objective",
    "radius",
    "rule",
    "shares",
    "solver",
    "tier",
    "unevenness",
    "unlabeled",
}
# What a docstring says where numbers may not be finite.
NOT_FINITE = re.compile(r"\b(nan|inf|infinite|infinity)\b")
# What scikit-learn tells the users of all estimators.
FAMILIAR = re.compile("feature names|number of unique classes")
FEWER = "Fewer clusters were found"
METHODS = ("predict", "decision_function", "predict_proba")


@dataclass(frozen=True)
class Violation:
    """A law that an outcome breaks.

    Attributes
    ----------
    law : str
        The law.
    what : str
        What was found instead: the type of an exception or warning, the name of an attribute.
    where : str
        Innermost place in the package, "file.py:function:line"; empty if there is none.
    told : str
        Message, or traceback.
    """

    law: str
    what: str
    where: str = ""
    told: str = field(default="", compare=False)

    @classmethod
    def by(cls, law, error, *, whole=True):
        """The violation by an exception; its type and message, or only its type."""
        what = type(error).__name__ + (f": {_head(error)}" if whole else "")
        frames = [
            (frame.f_code.co_filename, line, frame.f_code.co_name)
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        told = "".join(traceback.format_exception(error))
        return cls(law, what, place_in_package(frames), told)

    @property
    def place(self):
        """The place without its line, which other changes move."""
        return self.where.rpartition(":")[0]


def _head(error):
    """The beginning of a message, without what differs from case to case."""
    return re.sub(r"[-\d.]+|'.*?'|\[.*", "#", str(error).split("\n")[0])[:60]


def place_in_package(frames):
    """The last of some frames that lies in the package, in words."""
    for filename, line, function in reversed(frames):
        if filename.startswith(str(HOME)):
            return f"{Path(filename).relative_to(HOME)}:{function}:{line}"
    return ""


@dataclass(frozen=True)
class Outcome:
    """How a case ended, "right", "warned" or "refused", and what was wrong with that.

    `invariances` are the names of those that were looked at.
    """

    kind: str
    violations: list[Violation]
    invariances: tuple[str, ...] = ()


# --- calls --------------------------------------------------------------------------------------


class CallbackError(Exception):
    """What a callback of a case raises."""


class Callback:
    """A callback that stops the fit or raises at the end of the first task."""

    max_propagation_depth = None

    def __init__(self, deed):
        self.deed = deed

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to clean up."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do yet."""

    def on_fit_task_end(self, estimator, context):
        """Stop or raise."""
        if self.deed == "raises":
            raise CallbackError
        return True


@dataclass(frozen=True)
class Told:
    """A warning, the file that it points to, who gave it and where in the package that was."""

    message: Warning
    points_to: str
    given_by: str
    where: str


OF_WARNINGS = {"warnings.py", "_py_warnings.py"}  # the latter from Python 3.14 on


@contextmanager
def recorded():
    """Collect all warnings, with the place that each comes from."""
    told: list[Told] = []

    def record(message, category, filename, lineno, file=None, line=None):
        frames, frame = [], sys._getframe(1)
        while frame is not None:
            frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        frames = [f for f in frames[::-1] if Path(f[0]).name not in OF_WARNINGS]
        told.append(Told(message, filename, frames[-1][0], place_in_package(frames)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = record
        yield told


@dataclass(frozen=True)
class Attempt:
    """What a call returned, or the exception that ended it, and the warnings that it gave."""

    result: Any
    error: Exception | None
    told: list[Told]


def attempt(call, *args, **kwargs):
    """Call something and keep whatever comes of it."""
    with recorded() as told:
        try:
            return Attempt(call(*args, **kwargs), None, told)
        except Exception as error:
            return Attempt(None, error, told)


def judge_attempt(case, made):
    """Violations by the exception and the warnings of a call."""
    for one in made.told:
        kind, words = type(one.message), str(one.message)
        own = one.given_by.startswith(str(HOME))
        if kind is DataConversionWarning or (kind is UserWarning and FAMILIAR.search(words)):
            continue
        if not (own and kind in (ConvergenceWarning, UserWarning)):
            yield Violation("no foreign warning", kind.__name__, one.where, words)
        elif one.points_to != __file__:
            yield Violation("warnings point to the caller", kind.__name__, one.where, words)
    error = made.error
    if error is None or isinstance(error, CallbackError):
        return
    if type(error) not in REFUSALS:
        yield Violation.by("errors are ValueError or TypeError", error, whole=False)
    elif not names_something(case.name, str(error)):
        yield Violation.by("errors name what is wrong", error)


def names_something(estimator, message):
    """Whether an error message names a parameter or an argument."""
    _, defaults, _, arguments = estimator_of(estimator)
    names = {*defaults, *arguments, "X", "y", "n_samples", "n_features", "feature names"}
    pattern = rf"(?<![\w.])({'|'.join(names - WORDS)})(?!\w)"
    if meant := "|".join(names & WORDS):
        pattern += rf"|^({meant})\b|[`'\"]({meant})[`'\"]|\b({meant})(=| must| has| should)"
    return re.search(pattern, message) is not None


# --- one case -----------------------------------------------------------------------------------


def judge(case):
    """The outcome of a case."""
    model = case.estimator()
    if case.callback is not None:
        model.set_callbacks(Callback(case.callback))
    X, arguments = case.X.value, case.arguments()
    before = content(X), content(arguments)
    fit = attempt(model.fit, X, **arguments)
    violations = list(judge_attempt(case, fit))
    if (content(X), content(arguments)) != before:
        violations.append(Violation("arguments are left as they are", "fit"))
    if fit.error is not None:
        violations += judge_failure(case, model, fit.error)
        return Outcome("refused", violations)
    violations += judge_success(case, model, fit.told)
    found = judge_invariances(case, model) if case.callback is None and not violations else {}
    violations += chain.from_iterable(found.values())
    return Outcome("warned" if fit.told else "right", violations, tuple(found))


def content(value):
    """Something that is equal as long as a value is not changed."""
    if hasattr(value, "__dask_graph__"):
        return None
    if sp.issparse(value):
        value = value.tocoo()
        value = (value.data, value.coords)
    elif isinstance(value, pandas.DataFrame):
        value = (value.to_numpy(), list(value.columns))
    return pickle.dumps(value)


def judge_failure(case, model, error):
    """Violations of a fit that did not end well."""
    if case.grade is FINE and not isinstance(error, CallbackError):
        yield Violation.by("fine cases are accepted", error)
    if left := sorted(fitted_attributes(model)):
        yield Violation("a fit that fails leaves nothing", str(left))


def judge_success(case, model, told):
    """Violations of a fit that ended well."""
    if case.grade is BAD:
        bad = [
            f"{name}, {piece.words}" for name, piece in case.pieces.items() if piece.grade is BAD
        ]
        return [Violation("bad cases are refused", "; ".join(bad))]
    if case.callback == "raises":
        return [Violation("errors of callbacks are not lost", "fit")]
    return [
        *judge_attributes(case, model),
        *judge_labels(case, model, told),
        *judge_training_samples(case, model),
        *judge_probe(case, model),
    ]


def judge_invariances(case, model):
    """Violations by two of the invariances that apply, drawn for the case, by their names."""
    rng, found = np.random.default_rng(case.choice), {}
    for kind in (GENERAL, PARTICULAR):
        for index in rng.permutation(len(kind)):
            broken = judge_invariance(kind[index], case, model)
            if broken is not None:
                found[kind[index].__name__] = broken
                break
    return found


def judge_invariance(invariance, case, model):
    """Violations by an invariance; None if it does not apply."""
    law = (invariance.__doc__ or "").rstrip(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            holds = invariance(case, model)
        except Exception as error:
            return [Violation.by(law, error)]
    return None if holds is None else [] if holds else [Violation(law, invariance.__name__)]


# --- fitted attributes --------------------------------------------------------------------------


@cache
def documented(name):
    """Descriptions of the fitted attributes of an estimator."""
    docs = NumpyDocString(inspect.getdoc(getattr(separatrix, name)))
    return {entry.name: " ".join(entry.desc) for entry in docs["Attributes"]}


def fitted_attributes(model):
    """Public fitted attributes by name."""
    return {n: v for n, v in vars(model).items() if n.endswith("_") and not n.startswith("_")}


def is_finite(value):
    """Whether all floats in a value, and in the containers in it, are finite."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return all(map(is_finite, value))
    if sp.issparse(value):
        value = value.data
    if isinstance(value, float | np.floating | np.ndarray):
        return np.asarray(value).dtype.kind != "f" or bool(np.isfinite(value).all())
    return True


def judge_attributes(case, model):
    """Violations of what docstrings say of fitted attributes."""
    docs = documented(case.name)
    for name, value in fitted_attributes(model).items():
        if name not in docs:
            yield Violation("fitted attributes are documented", name)
        if not (is_finite(value) or NOT_FINITE.search(docs.get(name, ""))):
            told = str(value)
            yield Violation("numbers are finite unless docs say otherwise", name, told=told)
    history = np.asarray(getattr(model, "history_", []), dtype=float)
    history = history[np.isfinite(history)]
    step, slack = np.diff(history), 1e-7 * np.abs(history[1:]) + 1e-12
    text = docs.get("history_", "")
    rises, falls = (step > slack).any(), (step < -slack).any()
    if ("never rises" in text and rises) or ("never falls" in text and falls):
        yield Violation("the history goes one way", "history_", told=str(history))


# --- labels -------------------------------------------------------------------------------------


def judge_labels(case, model, told):
    """Violations of what holds for the labels of any clusterer."""
    if not hasattr(model, "labels_"):
        return
    labels, n = computed(model.labels_), len(case.rows)
    k = n_clusters_of(model)
    if not isinstance(labels, np.ndarray) or labels.dtype.kind != "i" or labels.shape != (n,):
        yield Violation("labels are integers, one a sample", "labels_", told=repr(labels))
        return
    if labels.min() < least_label(model) or labels.max() >= k:
        yield Violation("labels are 0 to n_clusters - 1", "labels_", told=str(labels))
        return
    sizes = np.bincount(labels[labels >= 0], minlength=k)
    warned = any(FEWER in str(one.message) for one in told)
    if (sizes == 0).any() and not warned and case.callback is None:
        yield Violation("missing clusters are told", "labels_", told=str(labels))
    # known labels number clusters too, and bounds change sizes of clusters that have numbers
    by_size = not ({"sample_weight", "known_labels"} & set(case.given) or case.is_bounded)
    if by_size and (np.diff(sizes) > 0).any():
        yield Violation("the largest cluster comes first", "labels_", told=str(sizes))
    rows = dense(case.X.value)
    free = case.is_linked or case.is_bounded  # bounds may part equal samples
    if rows is not None and not free and not case.precomputed:
        _, group = np.unique(rows, axis=0, return_inverse=True)
        pairs = np.unique(np.column_stack([group.ravel(), labels]), axis=0)
        if len(np.unique(pairs[:, 0])) < len(pairs):
            yield Violation("equal samples are in one cluster", "labels_", told=str(labels))


def least_label(model):
    """Zero, or -1 for outliers where these are asked for."""
    return 0 if getattr(model, "outliers", None) is None else -1


def n_clusters_of(model):
    """Number of clusters that were asked for or chosen."""
    return getattr(model, "n_clusters_", model.n_clusters)


def dense(X):
    """Samples as an array of doubles; None where that has no meaning."""
    X = computed(X)
    try:
        X = np.asarray(X.toarray() if sp.issparse(X) else X)
        return None if X.dtype.kind == "c" else X.astype(np.float64)
    except (TypeError, ValueError):
        return None


# --- predictions --------------------------------------------------------------------------------


def predictions(model, X):
    """What all methods say of some samples, by name."""
    return {name: computed(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)}


def expected_labels(case, model):
    """What `predict` has to say of the training samples; None if nothing is promised."""
    # the paper's vote is no boundary's, nor are labels of bounded sizes where the docs say so
    docs = " ".join(inspect.getdoc(type(model)).split())
    free = case.is_bounded and FREE_PREDICTION in docs
    free = free or (case.is_bounded and not keeps_sizes(case, model))
    free = free or case.is_linked or case.passes("readout", "vote")
    # so far from the origin, kernels of inner products differ by less than they are rounded to
    free = free or ("far_away" in case.X.words and "kernel" in case.params)
    return computed(model.labels_) if hasattr(model, "labels_") and not free else None


def keeps_sizes(case, model):
    """Whether the predicted clusters of the training samples have the sizes asked for."""
    weight = np.ones(len(case.rows))
    if "sample_weight" in case.given:  # whose sums are sizes, in units of their mean
        weight = weight * np.asarray(case.given["sample_weight"].value, dtype=np.float64)
        weight = weight / weight.mean()
    labels = computed(model.predict(case.X.value))
    inside = labels >= 0  # outliers are in no cluster
    n_clusters = getattr(model, "n_clusters_", model.n_clusters)
    bounds = (getattr(model, name) for name in SIZES)
    least, most = size_bounds(int(inside.sum()), n_clusters, *bounds)
    sizes = np.bincount(labels[inside], weight[inside], minlength=n_clusters)
    return bool(((least <= sizes + 1e-9) & (sizes - 1e-9 <= most)).all())


def judge_predictions(model, said, n, expected, words):
    """Violations of predictions of `n` samples, whatever these are in words."""
    labels = said["predict"]
    if any(values.shape[0] != n for values in said.values()):
        yield Violation("a prediction for each sample", str({k: v.shape for k, v in said.items()}))
        return
    if hasattr(model, "classes_"):
        known = model.classes_
    else:
        known = np.arange(least_label(model), n_clusters_of(model))
    if not np.isin(labels, known).all():
        yield Violation("predictions are clusters or classes", "predict", told=str(labels))
    if expected is not None and not np.array_equal(labels, expected):
        told = f"predict: {labels}\nlabels_: {expected}"
        yield Violation("predict of the training samples is labels_", words, told=told)
    for method, scores in said.items():
        docs = inspect.getdoc(getattr(model, method)) or ""
        if method != "predict" and not (np.isfinite(scores).all() or NOT_FINITE.search(docs)):
            yield Violation(
                "scores are finite unless docs say otherwise", method, told=str(scores)
            )
        elif method == "predict_proba" and not np.allclose(scores.sum(axis=1), 1):
            yield Violation("probabilities sum to one", method, told=str(scores))


def judge_training_samples(case, model):
    """Violations of predictions of the training samples."""
    made = attempt(predictions, model, case.X.value)
    yield from judge_attempt(case, made)
    if made.error is None:
        expected = expected_labels(case, model)
        yield from judge_predictions(model, made.result, len(case.rows), expected, "as fitted")
    else:
        yield Violation.by("the training samples are predicted", made.error)


def is_rounded(model, rows):
    """Which samples lie on a linear boundary up to rounding of the products that are summed.

    Sparse and dense products add up in different orders.
    """
    if not len(getattr(model, "coef_", ())):
        return np.zeros(len(rows), dtype=bool)
    coef = np.atleast_2d(model.coef_)
    error = 8 * np.finfo(np.float64).eps * (np.abs(rows) @ np.abs(coef).T)
    values = rows @ coef.T + model.intercept_
    apart = values[:, :, None] - values[:, None, :] if len(coef) > 1 else values[:, :, None]
    apart = np.where(apart == 0, np.inf, np.abs(apart))
    nearest = np.minimum(apart.min(axis=(1, 2)), np.abs(values).min(axis=1))
    return nearest <= 2 * error.max(axis=1)


def judge_probe(case, model):
    """Violations of predictions of other samples, or of the same in another container."""
    probe, expected = case.probe, None
    rows = dense(probe.value)
    if probe.words.startswith("the same"):
        if not np.array_equal(rows, dense(case.X.value)):
            return  # the container of the training samples rounded them
        expected = expected_labels(case, model)
    made = attempt(predictions, model, probe.value)
    yield from judge_attempt(case, made)
    if expected is not None and made.error is None and sp.issparse(probe.value):
        expected = np.where(is_rounded(model, rows), made.result["predict"], expected)
    if made.error is None and probe.grade is BAD:
        yield Violation("bad samples are not predicted", probe.words)
    elif made.error is None:
        yield from judge_predictions(model, made.result, len(rows), expected, probe.words)
    elif probe.grade is FINE:
        yield Violation.by("fine samples are predicted", made.error)
