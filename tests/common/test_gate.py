"""One gate for all that users pass: taken in any form, or refused in words that name it."""

import datetime
import inspect
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.utils import get_tags

import separatrix
from separatrix import compare_clusterings, datasets, metrics, plots, segment_image, stability
from separatrix.report import write_report

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(1, 0.3, (8, 3)), RNG.normal(3, 0.3, (8, 3))]).clip(0)
X = X.astype(np.float32).astype(np.float64)  # so that singles are equal
Y = np.repeat([0, 1], 8)
ESTIMATORS = [
    getattr(separatrix, name)
    for name in separatrix.__all__
    if isinstance(getattr(separatrix, name), type)
]
# Those that bring samples to a unit of their own.
SCALE_FREE = {
    "ApproximateVolumeRegularization",
    "AutoClustering",
    "HardMaximumVolumeClustering",
    "MaximumVolumeClustering",
    "TreeCutClustering",
}
# Those that take no dask arrays.
IN_MEMORY = {
    "ApproximateVolumeRegularization",
    "GeneralizedMarginClustering",
    "HardMaximumVolumeClustering",
    "OptimalMarginDistributionMachine",
    "SemidefiniteMarginClustering",
}
# Those that compute in double precision, whatever the samples have.
DOUBLE = {"OptimalMarginDistributionMachine", "SquaredLossMutualInformationClustering"}

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.usefixtures("few_tables"),
]


def with_parameter(name):
    return [one for one in ESTIMATORS if name in inspect.signature(one).parameters]


def with_argument(name):
    return [one for one in ESTIMATORS if name in inspect.signature(one.fit).parameters]


def over(estimators):
    return pytest.mark.parametrize("estimator", estimators, ids=lambda one: one.__name__)


def quick(estimator, **params):
    known = inspect.signature(estimator).parameters
    least = {"max_iter": 3, "max_steps": 20, "n_init": 1, "C_path": 2, "max_rounds": 2}
    least = {name: value for name, value in (least | {"n_clusters": 2}).items() if name in known}
    return estimator(**{**least, **params})


def fitted(estimator, samples=X, **params):
    return quick(estimator, **params).fit(samples, Y)


@cache
def plainly_fitted(estimator):
    """The model of the samples as they are, for tests that do not change it."""
    return fitted(estimator)


def read_only(samples):
    samples = np.asfortranarray(samples)
    samples.setflags(write=False)
    return samples


class HeldArray:
    """An array in the manner of xarray: with the methods of dask, but without a graph."""

    def __init__(self, values):
        self.values, self.shape, self.dtype, self.ndim = values, values.shape, values.dtype, 2

    def __dask_graph__(self):
        return None

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)


# --- samples ------------------------------------------------------------------------------------

CONTAINERS = [
    np.ndarray.tolist,
    read_only,
    pd.DataFrame,
    HeldArray,
    lambda samples: np.asfortranarray(samples, dtype=np.float32),
    lambda samples: samples.astype(object),
    lambda samples: samples.astype(">f8"),
    lambda samples: samples.astype(np.longdouble),
    lambda samples: np.ma.masked_array(samples, mask=np.zeros(samples.shape, dtype=bool)),
]


@over(ESTIMATORS)
def test_containers_do_not_matter(estimator):
    expected = plainly_fitted(estimator).predict(X)
    for contain in CONTAINERS:
        model = fitted(estimator, contain(X))
        np.testing.assert_array_equal(model.predict(X), expected)
        np.testing.assert_array_equal(plainly_fitted(estimator).predict(contain(X)), expected)


@over(ESTIMATORS)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16])
def test_small_dtypes_are_those_of_doubles(estimator, dtype):
    small = (2 * X if dtype is not bool else X > 2).astype(dtype)
    expected = fitted(estimator, small.astype(np.float64))
    np.testing.assert_array_equal(fitted(estimator, small).predict(small), expected.predict(small))


TEXT = {
    "words": np.full(X.shape, "word"),
    "bytes": X.astype(bytes),
    "numerals": X.astype(str),
    "a column": pd.DataFrame({"a": X[:, 0], "b": "word"}),
    "objects": np.full(X.shape, "word", dtype=object),
    "a word": "samples",
    "a list": [[1.0, "a"]] * 16,
    "dates": np.full(X.shape, "2020-01-01", dtype="datetime64[D]"),
    "durations": np.ones(X.shape, dtype="timedelta64[s]"),
    "a column of dates": pd.DataFrame({"a": X[:, 0], "b": pd.date_range("2020", periods=16)}),
    "columns of dates": pd.DataFrame({"b": pd.date_range("2020", periods=16)}),
    "objects of dates": [[datetime.datetime(2020, 1, 1)] * 3] * 16,
}
BAD = {
    "complex": X + 1j,
    "sparse complex": sp.csr_array(X + 1j),
    "NaN": np.where(X > 3, np.nan, X),
    "infinity": np.where(X > 3, np.inf, X),
    "missing": pd.DataFrame(X).astype("Float64").mask(X > 3),
    "masked": np.ma.masked_greater(X, 3),
    "beyond doubles": X.astype(np.longdouble) * np.longdouble("1e400"),
    "huge integers": [[10**400] * 3] * 16,
    "None": None,
    "a number": 3.0,
    "a dict": {"a": [1.0]},
    "a vector": X[:, 0],
    "a cube": X[:, :, None],
    "no samples": X[:0],
    "no features": X[:, :0],
    "nothing": [],
    "ragged": [[1.0, 2.0], [3.0]],
}


@over(ESTIMATORS)
def test_bad_samples_are_refused_by_name(estimator):
    model = plainly_fitted(estimator)
    for samples in (TEXT | BAD).values():
        for call in (model.fit, lambda samples, y: model.predict(samples)):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X .*feature names")
                with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
                    call(samples, Y)


@over(ESTIMATORS)
def test_text_and_dates_get_the_same_hint_everywhere(estimator):
    hint = r"^X must be numeric.*Encode text columns and dates as numbers first\.$"
    for samples in TEXT.values():
        with pytest.raises((TypeError, ValueError), match=hint):
            estimator().fit(samples, Y)


@over(ESTIMATORS)
@pytest.mark.parametrize(
    ("dtype", "scale", "words"),
    [
        (np.float64, 1e200, "X has values up to .*, too large .* scale X down to 1e.140"),
        (np.float64, 1e-200, "X has no values above .* too small .* scale X up to 1e-140"),
        (np.float32, 1e25, "X has values up to .*, too large .* scale X down to 1e.17"),
        (np.float32, 1e-25, "X has no values above .* too small .* scale X up to 1e-17"),
    ],
)
def test_values_whose_squares_leave_the_range(estimator, dtype, scale, words):
    """They are refused, unless the method has a unit of its own or computes in doubles."""
    samples = (X * scale).astype(dtype)
    if estimator.__name__ in SCALE_FREE:
        expected = plainly_fitted(estimator).predict(X)
        np.testing.assert_array_equal(fitted(estimator, samples).predict(samples), expected)
    elif dtype is np.float64 or estimator.__name__ not in DOUBLE:
        with pytest.raises(ValueError, match=words):
            fitted(estimator, samples)
    else:
        fitted(estimator, samples)


@over(ESTIMATORS)
def test_new_values_whose_squares_leave_the_range(estimator):
    model, large = plainly_fitted(estimator), "X has values up to .*, too large"
    with pytest.raises(ValueError, match=large):
        model.predict(1e200 * X)
    with pytest.raises(ValueError, match=large):
        fitted(estimator, X / X.max() * 1.7e308)
    assert len(model.predict(1e-200 * X)) == 16


@over([one for one in ESTIMATORS if one.__name__ in SCALE_FREE])
def test_the_unit_is_that_of_the_last_fit(estimator):
    model = fitted(estimator, 1e200 * X)
    assert len(model.predict(1e210 * X)) == 16
    with pytest.raises(ValueError, match=r"n_samples=1|2 classes"):
        model.fit(X[:1], Y[:1])
    assert len(model.predict(1e210 * X)) == 16
    with pytest.raises(ValueError, match="too large"):
        model.fit(X, Y).predict(1e210 * X)


# --- samples and kernels ------------------------------------------------------------------------


@over(with_parameter("kernel"))
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_sparse_samples_after_a_dense_fit(estimator, kernel):
    model = fitted(estimator, kernel=kernel)
    expected = model.decision_function(X)
    for form in (sp.csr_matrix, sp.csc_matrix, sp.csr_array):
        scores = model.decision_function(form(X))
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-9)


@over(with_parameter("kernel"))
def test_kernels_of_histograms_take_frames_and_no_sparse_samples(estimator):
    model = fitted(estimator, kernel="chi2")
    expected = model.decision_function(X)
    for contain in (pd.DataFrame, read_only):
        found = fitted(estimator, contain(X), kernel="chi2").decision_function(contain(X))
        np.testing.assert_allclose(found, expected, atol=1e-12)
    for call in (model.predict, quick(estimator, kernel="chi2").fit):
        with pytest.raises(TypeError, match=r"kernel='chi2' needs dense samples"):
            call(sp.csr_array(X), *[Y][: call.__name__ == "fit"])


@over([one for one in ESTIMATORS if not get_tags(quick(one)).array_api_support])
def test_arrays_of_other_libraries_are_refused_where_only_numpy_will_do(estimator):
    strict = pytest.importorskip("array_api_strict")
    with (
        config_context(array_api_dispatch=True),
        pytest.raises(TypeError, match=r"X is an array of array_api_strict, but .* convert it"),
    ):
        fitted(estimator, strict.asarray(X))


@over(with_parameter("kernel"))
def test_kernels_that_overflow_are_refused_without_other_warnings(estimator):
    model = fitted(estimator, kernel="poly")
    with pytest.raises(ValueError, match=r"kernel='poly' has values that are not finite"):
        model.predict(1e120 * X)


# --- frames of dask -----------------------------------------------------------------------------


@over(ESTIMATORS)
def test_names_of_lazy_columns_are_kept_and_compared(estimator):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    lazy = dd.from_pandas(frame, npartitions=2)
    if estimator.__name__ in IN_MEMORY:
        with pytest.raises(TypeError, match=r"needs all samples in memory.*X\.compute"):
            fitted(estimator, lazy)
        return
    model = fitted(estimator, lazy)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    expected = fitted(estimator, frame).predict(frame)
    np.testing.assert_array_equal(np.asarray(model.predict(lazy)), expected)
    for other in (lazy[["c", "b", "a"]], frame[["c", "b", "a"]]):
        with pytest.raises(
            ValueError, match=r"(?s)X cannot be used: The feature names.*same order"
        ):
            model.predict(other)


# --- weights ------------------------------------------------------------------------------------


@over(with_argument("sample_weight"))
def test_weights_are_taken_or_refused_by_name(estimator):
    one = quick(estimator).fit(X, Y, sample_weight=np.full(16, 2.0))
    for weight in (np.int8(2), np.full(16, 2, dtype=np.float16), pd.Series([2] * 16)):
        other = quick(estimator).fit(X, Y, sample_weight=weight)
        np.testing.assert_array_equal(other.predict(X), one.predict(X))
        assert getattr(other, "objective_", None) == getattr(one, "objective_", None)
    for weight in BAD_WEIGHTS.values():
        with pytest.raises((TypeError, ValueError), match=r"^sample_weight\b"):
            quick(estimator).fit(X, Y, sample_weight=weight)


BAD_WEIGHTS = {
    "negative": -np.ones(16),
    "a negative number": -1.0,
    "zero": np.zeros(16),
    "NaN": np.where(Y, np.nan, 1.0),
    "infinity": np.where(Y, np.inf, 1.0),
    "text": ["a"] * 16,
    "numerals": ["1"] * 16,
    "a word": "balanced",
    "dates": np.full(16, "2020-01-01", dtype="datetime64[D]"),
    "complex": np.ones(16) + 1j,
    "missing": [None] * 16,
    "short": np.ones(3),
    "a column": np.ones((16, 1)),
    "nothing": [],
    "ragged": [[1.0], [1.0, 2.0]],
    "sparse": sp.csr_array(np.ones((16, 1))),
    "large": np.full(16, 1e300),
    "small": np.full(16, 1e-300),
}


# --- parameters ---------------------------------------------------------------------------------


def numpy_kin(value):
    """The narrowest NumPy scalar that is equal."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return np.int8(value) if abs(value) < 128 else np.int64(value)
    if isinstance(value, float):
        return np.float32(value) if np.float32(value) == value else np.longdouble(value)
    return value


@over(ESTIMATORS)
def test_numbers_of_numpy_are_those_of_python(estimator):
    model = plainly_fitted(estimator)
    params = {name: numpy_kin(value) for name, value in model.get_params().items()}
    assert any(isinstance(value, np.generic) for value in params.values())
    other = clone(model).set_params(**params).fit(X, Y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert all(other.get_params()[name] is value for name, value in params.items())


@over(with_parameter("n_clusters"))
def test_truth_values_are_no_counts(estimator):
    with pytest.raises(ValueError, match=r"'n_clusters' parameter .* Got True"):
        estimator(n_clusters=True).fit(X)


@over(with_parameter("n_jobs"))
def test_no_jobs_are_refused(estimator):
    with pytest.raises(ValueError, match=r"'n_jobs' parameter .* Got 0"):
        estimator(n_jobs=0).fit(X, Y)


BAD_STARTS = [
    [None, None],
    [None] * 16,
    ["a", 1, None, 0] * 4,
    ["a", "b"] * 8,
    [np.nan] * 16,
    [[0], [0, 1]],
]


@over(with_parameter("init"))
def test_starts_that_are_no_labels_are_refused_by_name(estimator):
    for init in BAD_STARTS:
        with pytest.raises(ValueError, match=r"^init\b"):
            estimator(init=init).fit(X)
        with pytest.raises(ValueError, match=r"^init\b"):  # also where nothing is to be found
            estimator(init=init).fit(np.repeat(X[:2], 8, axis=0))


BAD_LINKS = [
    [[0, 16]],
    [[-1, 2]],
    [[0.0, 1.0]],
    [[0, 1, 2]],
    [0, 1],
    [[0], [1, 2]],
    [[True, False]],
    [np.nan] * 16,
    [None] * 16,
    [-5] * 16,
    "links",
    3,
    {"a": 1},
    [[0, 10**30]],
    np.full(16, "2020-01-01", dtype="datetime64[D]"),
]


@over(with_argument("must_link"))
@pytest.mark.parametrize("name", ["must_link", "cannot_link", "known_labels"])
def test_links_are_refused_by_name(estimator, name):
    for links in BAD_LINKS:
        with pytest.raises((TypeError, ValueError), match=rf"^{name}\b"):
            estimator().fit(X, **{name: links})


# --- labels -------------------------------------------------------------------------------------

BAD_LABELS = {
    "mixed": ["a", 1, None, "b"] * 4,
    "text and numbers": ["a", 1] * 8,
    "objects": np.array(["a", 1] * 8, dtype=object),
    "missing": [None, 1] * 8,
    "missing text": pd.Series(["a", "b"] * 7 + [None, "a"]),
    "missing integers": pd.Series([0, 1] * 7 + [None, 1], dtype="Int64"),
    "NaN": np.where(Y, np.nan, 1.0),
    "short": Y[6:10],
    "two columns": np.column_stack([Y, Y]),
    "a word": "labels",
    "a number": 3,
    "a dict": {},
    "nothing": [],
    "ragged": [[1], [1, 2]] * 8,
    "sparse": sp.csr_array(Y[:, None]),
}


BAD_CLASSES = BAD_LABELS | {
    "continuous": X[:, 0],
    "bytes": Y.astype(bytes),
    "one class": 0 * Y,
}


@over([one for one in ESTIMATORS if is_classifier(one())])
def test_classes_are_refused_by_name(estimator):
    for y in BAD_CLASSES.values():
        with pytest.raises((TypeError, ValueError), match=r"\by\b"):
            estimator().fit(X, y)


@over([one for one in ESTIMATORS if is_classifier(one())])
def test_classes_of_any_kind(estimator):
    expected = estimator().fit(X, Y).predict(X)
    for y in (Y.astype(object), Y > 0, pd.Series(Y).astype("category"), Y.tolist()):
        np.testing.assert_array_equal(estimator().fit(X, y).predict(X), expected)
    words = np.array(["no", "yes"])[Y]
    for y in (words, words.tolist(), words.astype(object), pd.Series(words)):
        found = estimator().fit(X, y).predict(X)
        np.testing.assert_array_equal(found, np.array(["no", "yes"])[expected])


# --- functions, displays and the report ---------------------------------------------------------

SIGNS = np.where(Y, 1.0, -1.0) / 4
Q = np.eye(16) - np.outer(SIGNS, SIGNS)


@pytest.fixture(scope="module")
def model():
    return separatrix.MaximinSeparationClustering().fit(X)


def bound(h=SIGNS, y_known=Y[4:12], known=range(4, 12), **options):
    options = {"reg": 1.0, "eta": -1.0} | options
    return stability.clustering_error_bound(h, y_known, known, **options)


OF_SAMPLES = {
    "generalized separation": lambda samples: metrics.generalized_separation_score(samples, Y),
    "separation": lambda samples: metrics.separation_probability_score(samples, Y),
    "lower bound": lambda samples: metrics.separation_lower_bound(samples, Y),
    "validity": lambda samples: metrics.validity_score(samples, Y),
    "comparison": lambda samples: compare_clusterings(samples, [KMeans(2)]),
}
DRAWN = {
    "boundary": plots.BoundaryDisplay.from_estimator,
    "sizes": plots.ClusterSizesDisplay.from_estimator,
    "margins": plots.MarginDistributionDisplay.from_estimator,
    "curve": plots.SelectionCurveDisplay.from_estimator,
    "report": lambda model, samples: write_report(model, samples, "no.html"),
}


@pytest.mark.parametrize("function", OF_SAMPLES)
def test_functions_refuse_bad_samples_by_name(function):
    for samples in (TEXT | BAD).values():
        with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
            OF_SAMPLES[function](samples)
    with pytest.raises(ValueError, match=r"X has values up to .*, too large"):
        OF_SAMPLES[function](X / X.max() * 1.7e308)
    for form in (read_only, pd.DataFrame, np.ndarray.tolist):
        assert str(OF_SAMPLES[function](form(X))).split()  # no error


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_displays_and_the_report_refuse_bad_samples_by_name(kind, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for samples in (TEXT | BAD).values():
        with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
            DRAWN[kind](model, samples)
    with pytest.raises(ValueError, match=r"X has values up to .*, too large"):
        DRAWN[kind](model, 1e200 * X)
    assert not list(tmp_path.iterdir())


def test_weights_of_features_refuse_bad_samples_by_name(model):
    for samples in [*TEXT.values(), BAD["complex"], BAD["ragged"], 1e200 * X]:
        with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
            plots.WeightsDisplay.from_estimator(model, samples)


OF_LABELS = {
    "y_true": lambda labels: metrics.clustering_accuracy(labels, Y),
    "y_pred": lambda labels: metrics.balanced_clustering_error(Y, labels),
    "h": lambda labels: metrics.hamming_clustering_distance(labels, Y),
    "labels": lambda labels: metrics.separation_probability_score(X, labels),
    "labels of validity": lambda labels: metrics.validity_score(X, labels),
    "labels of distances": lambda labels: metrics.generalized_separation_score(X, labels),
    "y_known": lambda labels: bound(np.repeat(SIGNS, 2), labels, np.arange(16)),
    "labels of an agreement": lambda labels: plots.AgreementDisplay.from_labels(
        {"a": labels, "b": Y}
    ),
    "labels of a coassociation": lambda labels: plots.CoassociationDisplay.from_labels(
        [labels, Y]
    ),
    "labels of points": lambda labels: plots.BoundaryDisplay(X[:, :2], labels),
    "labels of margins": lambda labels: plots.MarginDistributionDisplay(X[:, 0], labels),
}


@pytest.mark.parametrize("name", OF_LABELS)
def test_labels_are_refused_by_name(name):
    for labels in BAD_LABELS.values():
        with pytest.raises((TypeError, ValueError), match=rf"\b{name.split()[0]}\b"):
            OF_LABELS[name](labels)


@pytest.mark.parametrize(
    "score",
    [
        lambda **weights: metrics.clustering_accuracy(Y, Y[::-1], **weights),
        lambda **weights: metrics.balanced_clustering_error(Y, Y[::-1], **weights),
        lambda **weights: metrics.separation_probability_score(X, Y, **weights),
        lambda **weights: metrics.separation_lower_bound(X, Y, **weights),
    ],
)
def test_scores_take_or_refuse_weights(score):
    assert score(sample_weight=2) == pytest.approx(score())
    for weight in BAD_WEIGHTS.values():
        with pytest.raises((TypeError, ValueError), match=r"^sample_weight\b"):
            score(sample_weight=weight)


NUMBERS = {
    "margin": lambda value: metrics.separation_from_margin(value, 2.0, 0.5),
    "sigma_max": lambda value: metrics.separation_from_margin(0.1, value, 0.5),
    "share": lambda value: metrics.separation_from_margin(0.1, 2.0, value),
    "separation_probability": lambda value: metrics.relative_margin_share(value, 0.5),
    "rho": lambda value: metrics.relative_margin_share(0.5, value),
    "reg": lambda value: metrics.separation_probability_score(X, Y, reg=value),
    "tol": lambda value: stability.finite_sample_stability(Q, tol=value),
    "delta": lambda value: bound(delta=value),
    "eta": lambda value: bound(Q=Q, eta=value),
    "margin of a bound": lambda value: bound(margin=value),
    "noise": lambda value: datasets.make_two_moons(6, noise=value, random_state=0),
    "factor": lambda value: datasets.make_two_circles(6, factor=value, random_state=0),
}
COUNTS = {
    "max_samples": lambda value: metrics.validity_score(X, Y, max_samples=value),
    "n_samples": datasets.make_two_moons,
    "n_segments": lambda value: segment_image(np.arange(12.0).reshape(3, 4), value),
    "n_clusters": lambda value: compare_clusterings(X, [KMeans(2)], n_clusters=value),
    "max_samples of a plot": lambda value: plots.CoassociationDisplay.from_labels(
        [Y, Y], max_samples=value
    ),
    "max_features": lambda value: plots.WeightsDisplay(X[0], "abc", max_features=value),
}


@pytest.mark.parametrize("name", NUMBERS | COUNTS)
def test_what_is_no_number_is_refused_by_name(name):
    for value in ("a", 1j, [0.5], np.array([0.5]), np.nan, -np.inf):
        with pytest.raises((TypeError, ValueError), match=rf"^{name.split()[0]}="):
            (NUMBERS | COUNTS)[name](value)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_numpy_are_those_of_python_in_functions(name):
    value = -0.5 if name == "eta" else 0.5
    expected = NUMBERS[name](value)
    for kind in (np.float16, np.float32, np.longdouble):
        assert str(NUMBERS[name](kind(value))) == str(expected)


@pytest.mark.parametrize("seed", ["a", -1, 0.5, [0.5]], ids=str)
def test_seeds_are_refused_by_name(seed):
    for call in (
        lambda: metrics.validity_score(X, Y, random_state=seed),
        lambda: datasets.make_two_gaussians(6, random_state=seed),
        lambda: compare_clusterings(X, [KMeans(2)], random_state=seed),
    ):
        with pytest.raises(ValueError, match=r"^random_state cannot be used"):
            call()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: compare_clusterings(X, [KMeans(2)], n_jobs=0), "n_jobs=0"),
        (lambda: compare_clusterings(X, [KMeans(2)], n_jobs="a"), "n_jobs='a'"),
        (lambda: segment_image(np.arange(6.0).reshape(2, 3), estimator="a"), "estimator='a'"),
        (lambda: segment_image([[1, 2], [3]]), "image has rows of different lengths"),
        (lambda: stability.finite_sample_stability(Q + 1j), "Q must be real"),
        (lambda: stability.finite_sample_stability(Q.astype(str)), "Q must be numeric"),
        (lambda: stability.finite_sample_stability(Q, ["a"] * 16), "h must be numeric"),
        (lambda: bound(eigenvalues=["a"] * 16), "eigenvalues must be numeric"),
        (lambda: metrics.separation_lower_bound(X, Y, coef=["a"] * 3), "coef must be numeric"),
        (lambda: plots.ClusterSizesDisplay(["a"] * 16, Y), "confidence must be numeric"),
        (lambda: plots.ClusterSizesDisplay(None, ["a"] * 16), "labels must be numeric"),
        (lambda: plots.MarginDistributionDisplay.from_predictions(["a"], [0]), "scores must be"),
        (lambda: plots.MarginDistributionDisplay.from_predictions([np.nan], [0]), "scores has"),
        (lambda: plots.LabelImageDisplay([["a"]]), "labels must be numeric"),
        (lambda: plots.LabelImageDisplay([0, 1]), r"labels has shape \(2,\)"),
        (lambda: plots.LabelImageDisplay([[1e300]]), r"labels has 1e\+300"),
        (lambda: stability.finite_sample_stability(1e300 * Q), "Q has values up to"),
        (lambda: plots.LabelImageDisplay([[0, 1]], image=[[1]]), "beside an image of"),
        (lambda: plots.AgreementDisplay.from_labels([Y, Y]), "labels cannot be used"),
        (lambda: plots.HistoryDisplay(["a"]), "history must be numeric"),
    ],
)
def test_other_arguments_are_refused_by_name(call, name):
    with pytest.raises((TypeError, ValueError), match=name):
        call()
