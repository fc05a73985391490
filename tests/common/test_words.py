"""One word, one meaning: shared parameters and attributes have one text in all estimators."""

import inspect
import re
import warnings
from collections import defaultdict
from functools import cache

import numpy as np
import pytest
from numpydoc.docscrape import NumpyDocString
from sklearn.base import is_clusterer
from sklearn.datasets import load_iris
from sklearn.utils._testing import assert_docstring_consistency

import separatrix
from separatrix.estimators import representatives
from separatrix.tables import RowBlocks
from support import few_rounds

pytestmark = pytest.mark.usefixtures("few_tables")

ESTIMATORS = [
    getattr(separatrix, name)
    for name in separatrix.__all__
    if isinstance(getattr(separatrix, name), type)
]
# Shared names whose values differ from method to method: their texts begin with one sentence, and
# go on with what is particular.
PARTICULAR = {
    "C",
    "affinity",
    "gamma",
    "init",
    "max_samples",
    "min_size",
    "multiway",
    "n_clusters",
    "n_jobs",
    "n_neighbors",
    "reg",
    "solver",
    "coef_",
    "gap_",
    "history_",
    "labels_",
    "reg_",
}
# Attributes that measure what the method is about, and so differ by nature.
OF_THE_METHOD = {
    "affinity_matrix_",
    "boundary_sides_",
    "objective_",
    "pairwise_separation_",
    "response_",
    "separation_probability_",
}


def flowers():
    """A third of the iris flowers, of each kind as many."""
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


def shared(section):
    """Names that several docstrings list in a section, and the estimators whose these are."""
    owners = defaultdict(list)
    for estimator in ESTIMATORS:
        for entry in NumpyDocString(inspect.getdoc(estimator))[section]:
            owners[entry.name].append(estimator)
    return {name: found for name, found in owners.items() if len(found) > 1}


def first_sentence(estimator, section, name):
    entries = NumpyDocString(inspect.getdoc(estimator))[section]
    text = next(" ".join(entry.desc) for entry in entries if entry.name == name)
    return re.match(r".*?[.](?= |$)", text).group()


def check(section, name, owners):
    include = {"include_params" if section == "Parameters" else "include_attrs": [name]}
    pattern = None
    if name in PARTICULAR:
        pattern = "^" + re.escape(first_sentence(owners[0], section, name))
    assert_docstring_consistency(
        owners, **include, ignore_types=(name,), descr_regex_pattern=pattern
    )


@pytest.mark.parametrize(
    ("name", "owners"), shared("Parameters").items(), ids=lambda x: str(x)[:20]
)
def test_parameters_have_one_text(name, owners):
    check("Parameters", name, owners)


@pytest.mark.parametrize(
    ("name", "owners"),
    [item for item in shared("Attributes").items() if item[0] not in OF_THE_METHOD],
    ids=lambda x: str(x)[:20],
)
def test_attributes_have_one_text(name, owners):
    check("Attributes", name, owners)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_docstrings_list_the_parameters_in_order(estimator):
    documented = [entry.name for entry in NumpyDocString(inspect.getdoc(estimator))["Parameters"]]
    assert documented == list(inspect.signature(estimator).parameters)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_docstrings_state_the_defaults(estimator):
    for entry in NumpyDocString(inspect.getdoc(estimator))["Parameters"]:
        default = inspect.signature(estimator).parameters[entry.name].default
        stated = eval(entry.type.split("default=")[1])
        assert stated == default or stated is default


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_fitted_attributes_are_those_of_the_docstring(estimator, monkeypatch):
    """Every attribute that a fit sets is documented, and documented ones come of some fit."""
    X, y = flowers()
    documented = {e.name for e in NumpyDocString(inspect.getdoc(estimator))["Attributes"]}
    found = set()
    several = {"n_clusters": 3, "outliers": 0.1}
    for params in ({}, {"kernel": "rbf"}, {"kernel": "linear"}, several):
        model = estimator(**few_rounds(estimator))
        if set(params) <= set(model.get_params()):
            found |= {
                name for name in vars(model.set_params(**params).fit(X, y)) if name[-1] == "_"
            }
    if "representatives_" in documented:
        blocks = RowBlocks(lambda: iter([X]), X.shape)
        found |= set(vars(estimator().fit(blocks)))
        monkeypatch.setattr(representatives, "N_REPRESENTATIVES", 40)
        monkeypatch.setattr(representatives, "LEAST_LANDMARKS", 20)
        found |= set(vars(estimator().fit(blocks)))
        found = {name for name in found if name[-1] == "_"}
    assert found - documented == set()
    assert documented - found <= {"feature_names_in_"}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_resolved_values_are_attributes(estimator):
    """What "auto", "scale" or another rule stands for can be read off a fitted estimator."""
    X, y = flowers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator(**few_rounds(estimator)).fit(X, y)
    for name in ("gamma", "reg", "C", "n_neighbors"):
        value = getattr(model, name, 1.0)
        if isinstance(value, str | tuple) or (name == "gamma" and hasattr(model, "gamma")):
            resolved = getattr(model, f"{name}_")
            assert resolved is None or isinstance(resolved, int | float)


@cache
def of_three_clusters(estimator):
    return estimator(3, **few_rounds(estimator)).fit(flowers()[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if is_clusterer(e())])
def test_no_seed_is_the_seed_zero(estimator):
    seeded = estimator(3, random_state=0, **few_rounds(estimator)).fit(flowers()[0])
    np.testing.assert_array_equal(seeded.labels_, of_three_clusters(estimator).labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if is_clusterer(e())])
def test_the_history_counts_the_iterations(estimator):
    model = of_three_clusters(estimator)
    if hasattr(model, "history_"):
        assert model.n_iter_ == len(model.history_)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_scores_around_each_cluster_are_linear(estimator):
    """One boundary around each cluster: decision_function is X @ coef_.T + intercept_."""
    X, y = flowers()
    model = estimator()
    params = model.get_params()
    wanted = {"kernel": "linear", "n_clusters": 3, "multiway": "one-vs-rest"}
    model.set_params(**{name: value for name, value in wanted.items() if name in params})
    try:
        model.fit(X, y)
    except ValueError:
        model.set_params(multiway="auto").fit(X, y)  # where there are only splits
    sides = getattr(model, "boundary_sides_", None)
    if sides is None or not np.array_equal(sides, 2 * np.eye(3) - 1):
        pytest.skip("no boundary around each cluster")
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(X))
