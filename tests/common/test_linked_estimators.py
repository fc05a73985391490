"""Every estimator that takes links keeps them without exception."""

import inspect
import warnings
from functools import cache

import hypothesis
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import DiscriminativeKMeans, KernelKMeans, LDAKMeans
from separatrix.labels.links import Links
from support import few_rounds, n_cases

ESTIMATORS = [
    estimator
    for name in separatrix.__all__
    if name != "AutoClustering"  # in tests/selection
    and hasattr(estimator := getattr(separatrix, name), "fit")
    and "must_link" in inspect.signature(estimator.fit).parameters
]
NAMES = {
    "HardMaximumVolumeClustering",
    "MaximumVolumeClustering",
    "SquaredLossMutualInformationClustering",
    "DiscriminativeKMeans",
    "InformationMaximizationClustering",
    "KernelKMeans",
    "LDAKMeans",
    "LabelGenerationMarginClustering",
    "MaximinSeparationClustering",
    "MaximumMarginClustering",
    "OptimalMarginDistributionClustering",
    "RegularizedLeastSquaresClustering",
    "TreeCutClustering",
}
# A program of two clusters, which repeated splits cannot keep links in.
TWO_CLUSTERS_ONLY = {separatrix.HardMaximumVolumeClustering}
FEW_CASES = 4
N_SAMPLES = 60  # an update of labels with links takes time that grows faster than these
N_CASES = n_cases(FEW_CASES)
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)


def made(estimator, n_clusters=2, **params):
    """An estimator that need not find the best of all labellings: each of them keeps links."""
    return estimator(n_clusters, random_state=0, **few_rounds(estimator), **params)


def blobs(n_clusters, n=N_SAMPLES):
    return make_blobs(n, centers=n_clusters, cluster_std=2.5, random_state=n_clusters)


def linked_tenth(y, rng):
    """A tenth of the samples in pairs, linked as the classes say."""
    pairs = rng.permutation(len(y))[: len(y) // 20 * 2].reshape(-1, 2)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return pairs[same], pairs[~same]


def fitted(model, X, **links):
    with warnings.catch_warnings():
        # sizes give way to links, and some methods say so
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **links)


def test_these_take_links():
    assert {estimator.__name__ for estimator in ESTIMATORS} == NAMES


@cache
def n_found_without_links(estimator, n_clusters):
    free = fitted(made(estimator, n_clusters), blobs(n_clusters)[0])
    return len(np.unique(free.labels_))


each_number = pytest.mark.parametrize(
    ("estimator", "n_clusters"),
    [(e, k) for e in ESTIMATORS for k in (2, 3) if k == 2 or e not in TWO_CLUSTERS_ONLY],
    ids=lambda value: getattr(value, "__name__", str(value)),
)


@each_number
@pytest.mark.parametrize("form", ["pairs", "against the classes", "ids", "known_labels"])
def test_no_link_is_violated(estimator, n_clusters, form):
    X, y = blobs(n_clusters)
    rng = np.random.default_rng(0)
    must, cannot = linked_tenth(y, rng)
    ids = np.full(len(y), -1)
    ids[must] = np.arange(len(must))[:, None]
    known = np.where(np.isin(np.arange(len(y)), rng.permutation(len(y))[:12]), y, -1)
    links = {
        "pairs": {"must_link": must, "cannot_link": cannot},
        "against the classes": {"must_link": cannot, "cannot_link": must},
        "ids": {"must_link": ids},
        "known_labels": {"known_labels": known},
    }[form]
    labels = fitted(made(estimator, n_clusters), X, **links).labels_
    assert Links.of(len(y), n_clusters, **links).violations(labels) == 0
    assert len(np.unique(labels)) >= n_found_without_links(estimator, n_clusters)


@each
def test_no_link_is_violated_where_few_samples_are_searched(estimator):
    if "max_samples" not in inspect.signature(estimator).parameters:
        pytest.skip("searches all samples")
    X, y = blobs(2, n=300)
    must, cannot = linked_tenth(y, np.random.default_rng(1))
    model = fitted(made(estimator, max_samples=60), X, must_link=cannot, cannot_link=must)
    assert Links.of(300, 2, must_link=cannot, cannot_link=must).violations(model.labels_) == 0


@each
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_a_contradiction_is_refused_with_its_chain(estimator, n_clusters):
    X, _ = blobs(2)
    with pytest.raises(ValueError, match=r"5 = 9 = 20 but 5 != 20"):
        estimator(n_clusters).fit(X, must_link=[[5, 9], [20, 9]], cannot_link=[[20, 5]])


@each
def test_links_that_the_clusters_keep_anyway_change_nothing(estimator):
    X, _ = make_blobs(80, centers=2, cluster_std=0.5, random_state=3)
    model = fitted(made(estimator), X)
    pairs = np.random.default_rng(0).integers(80, size=(6, 2))
    same = model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]]
    linked = fitted(made(estimator), X, must_link=pairs[same], cannot_link=pairs[~same])
    np.testing.assert_array_equal(linked.labels_, model.labels_)
    np.testing.assert_array_equal(linked.predict(X), model.labels_)


@each
def test_ids_are_routed_and_sliced_with_the_samples(estimator):
    X, y = blobs(2)
    ids = np.where(np.arange(N_SAMPLES) % 10 == 0, y, -1)
    with config_context(enable_metadata_routing=True):
        model = made(estimator).set_fit_request(known_labels=True)
        pipeline = fitted(make_pipeline(StandardScaler(), model), X, known_labels=ids)
        assert Links.of(N_SAMPLES, 2, known_labels=ids).violations(pipeline[-1].labels_) == 0
        search = GridSearchCV(
            model, {"random_state": [0]}, cv=2, scoring="adjusted_rand_score", refit=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(X, y, known_labels=ids)
    assert search.cv_results_["mean_test_score"][0] > 0


def rectangle(n_each=15, width=5.0, height=4.0, seed=0):
    """Samples at the corners of a rectangle, whether they lie above, and whether to the right."""
    rng = np.random.default_rng(seed)
    corner = np.repeat(np.arange(4), n_each)
    right, above = corner % 2, corner // 2
    X = np.column_stack([width * right, height * above]) + rng.normal(size=(4 * n_each, 2)) / 2
    return X, above, right


@each
def test_known_labels_teach_the_other_samples(estimator):
    """Which of two ways to part the samples is meant: the one that free clusters do not go.

    The test fails if known labels only bind the samples that have them.
    """
    X, *ways = rectangle()
    free = fitted(made(estimator), X).labels_
    meant = min(ways, key=lambda way: adjusted_rand_score(way, free))
    known = np.where(np.arange(len(X)) % 7 == 0, meant, -1)
    others = known < 0
    taught = fitted(made(estimator), X, known_labels=known).labels_
    assert adjusted_rand_score(meant[others], free[others]) < 0.3
    assert adjusted_rand_score(meant[others], taught[others]) > 0.8


@each_number
def test_known_labels_are_the_numbers_of_clusters(estimator, n_clusters):
    X, y = blobs(n_clusters, n=60 if n_clusters == 2 else 120)  # three of them overlap more
    for numbers in (np.arange(n_clusters), np.arange(n_clusters)[::-1]):
        known = np.where(np.arange(len(y)) % 8 == 0, numbers[y], -1)
        model = fitted(made(estimator, n_clusters), X, known_labels=known)
        np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])
        assert adjusted_rand_score(y, model.predict(X)) > 0.2
        assert (model.predict(X) == numbers[y]).mean() > 0.6


@each
@pytest.mark.parametrize("rows", [[7], [7, 0]], ids=["one label", "one of each cluster"])
def test_few_known_labels_are_the_numbers_of_their_clusters(estimator, rows):
    """They bind few samples, and must not make a start that is numbered otherwise a trap."""
    X, y = make_blobs(60, centers=[[0, 0], [9, 0]], random_state=0)
    assert y[0] != y[7]
    for numbers in (np.array([0, 1]), np.array([1, 0])):
        known = np.full(60, -1)
        known[rows] = numbers[y[rows]]
        labels = fitted(made(estimator), X, known_labels=known).labels_
        np.testing.assert_array_equal(labels, numbers[y])


@each
@settings(max_examples=N_CASES, deadline=None, derandomize=N_CASES <= FEW_CASES)
@hypothesis.given(
    seed=st.integers(0, 2**31 - 1), n_clusters=st.integers(2, 4), weighted=st.booleans()
)
def test_random_links_are_kept(estimator, seed, n_clusters, weighted):
    """Whatever links and labels a hidden labelling keeps, which need not be that of the groups."""
    n_clusters = 2 if estimator in TWO_CLUSTERS_ONLY else n_clusters
    weighted = weighted and "sample_weight" in inspect.signature(estimator.fit).parameters
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2)) + 3 * rng.normal(size=(n_clusters, 2))[np.arange(24) % n_clusters]
    hidden = np.append(np.arange(n_clusters), rng.integers(n_clusters, size=24 - n_clusters))
    pairs = rng.integers(24, size=(int(rng.integers(9)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    links = {
        "must_link": pairs[same],
        "cannot_link": pairs[~same],
        "known_labels": np.where(rng.uniform(size=24) < 0.2, hidden, -1),
    }
    weight = {"sample_weight": rng.integers(1, 4, size=24)} if weighted else {}
    labels = fitted(made(estimator, n_clusters), X, **links, **weight).labels_
    known = links["known_labels"]
    assert Links.of(24, n_clusters, **links).violations(labels) == 0
    np.testing.assert_array_equal(labels[known >= 0], known[known >= 0])


@pytest.mark.parametrize("estimator", [LDAKMeans, DiscriminativeKMeans, KernelKMeans])
def test_a_start_that_links_empty_is_told(estimator):
    X, init = np.arange(12.0)[:, None] ** 2, np.repeat([0, 1, 2], [6, 5, 1])
    with pytest.warns(ConvergenceWarning, match="a cluster lost all of its samples"):
        model = estimator(3, init=init).fit(X, must_link=[[0, 11]])
    assert len(np.unique(model.labels_)) == 2


@each
def test_links_of_a_dask_array_are_refused(estimator):
    array = pytest.importorskip("dask.array")
    X, _ = blobs(2)
    with pytest.raises(TypeError, match=r"needs? .*samples in memory"):
        estimator(2).fit(array.from_array(X, chunks=30), must_link=[[0, 1]])


@pytest.mark.parametrize(
    "estimator", [separatrix.MaximumMarginClustering, separatrix.MaximinSeparationClustering]
)
def test_links_hold_with_weights_and_of_samples_without_weight(estimator):
    X, y = blobs(3)
    rng = np.random.default_rng(2)
    must, cannot = linked_tenth(y, rng)
    weight = rng.integers(3, size=N_SAMPLES)
    links = {"must_link": cannot, "cannot_link": must}
    model = fitted(made(estimator, 3), X, sample_weight=weight, **links)
    assert Links.of(N_SAMPLES, 3, **links).violations(model.labels_) == 0


@pytest.mark.parametrize(
    "estimator",
    [
        separatrix.MaximumMarginClustering,
        separatrix.MaximinSeparationClustering,
        separatrix.MaximumVolumeClustering,
    ],
)
def test_bisection_takes_no_links(estimator):
    X, _ = blobs(3)
    with pytest.raises(ValueError, match=r"links need .*multiway="):
        estimator(3, multiway="bisection").fit(X, must_link=[[0, 1]])


@pytest.mark.parametrize("estimator", sorted(TWO_CLUSTERS_ONLY, key=lambda e: e.__name__))
def test_links_of_more_than_two_clusters_are_refused(estimator):
    X, _ = blobs(3)
    with pytest.raises(ValueError, match=r"links need n_clusters=2, got n_clusters=3"):
        estimator(3).fit(X, must_link=[[0, 1]])
