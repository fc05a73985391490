"""A sample of weight two is two samples, and one of weight zero is none."""

import inspect
import warnings

import numpy as np
import pytest

import separatrix
from separatrix.labels.offsets import first_offsets
from separatrix.labels.sizes import balanced_offsets

KERNELS = [{"kernel": kernel} for kernel in ("linear", "rbf")]
OPTIONS = {
    "CuttingPlaneMarginClustering": KERNELS,
    "DiscriminativeKMeans": KERNELS,
    "GeneralizedMarginClustering": [
        *KERNELS,
        {"kernel": "linear", "C": 1e3},
        {"sum_penalty": 1.0},
    ],
    "InformationMaximizationClustering": [
        {"objective": objective, "comparison": comparison}
        for objective in ("information", "mmd", "wasserstein")
        for comparison in ("one-vs-all", "one-vs-one")
    ],
    "KernelKMeans": KERNELS,
    "LabelGenerationMarginClustering": [{**one, "max_labellings": 8} for one in KERNELS],
    "LDAKMeans": [{}],
    "MaximinSeparationClustering": [
        {"solver": "mpm", "multiway": "pairwise"},
        {"solver": "mpm", "multiway": "one-vs-rest"},
        {"solver": "gep", "multiway": "pairwise", "kernel": "rbf"},
        {"solver": "gep", "multiway": "one-vs-rest"},
        {"solver": "mpm", "multiway": "bisection"},
        {"solver": "eig"},
    ],
    "MaximumMarginClustering": [
        {"loss": loss, "multiway": multiway, **basis}
        for loss in ("laplacian", "square", "hinge")
        for multiway, basis in (
            ("one-vs-rest", {"kernel": "rbf", "low_rank": "none"}),
            ("one-vs-rest", {"kernel": "linear"}),
            ("bisection", {"kernel": "rbf", "low_rank": "cholesky"}),
        )
    ],
    "MaximumVolumeClustering": [
        {"matrix": "normalized"},
        {"matrix": "unnormalized", "affinity": "rbf"},
        {"graph": "full", "affinity": "rbf", "multiway": "bisection"},
        {"solver": "sqp"},
    ],
    "OptimalMarginDistributionClustering": [
        {"solver": "newton", "max_labellings": 8},
        {"solver": "mirror-descent", "kernel": "linear", "max_labellings": 8},
    ],
    "RegularizedLeastSquaresClustering": [
        {"solver": "shaking"},
        {"solver": "steepest", "kernel": "linear"},
        {"solver": "stochastic", "reg": "auto", "gamma": "auto"},
        {"shares": "equal"},
    ],
    "SquaredLossMutualInformationClustering": [
        {"affinity": "local"},
        {"affinity": "rbf", "normalize": False},
    ],
    "TreeCutClustering": [{"rule": "cut"}, {"rule": "join", "n_neighbors": 2}],
}
CASES = [(name, params) for name, options in OPTIONS.items() for params in options]


def groups_with_weights(seed, n_clusters, n=30):
    """Groups of samples, whole weights with zeros among them, and labels to start from."""
    rng = np.random.default_rng(seed)
    start = np.arange(n) % n_clusters
    X = rng.normal(size=(n, 3)) + 4 * rng.normal(size=(n_clusters, 3))[start]
    weight = rng.integers(0, 4, size=n)
    weight[:n_clusters] = 1
    return X, weight, start


def test_all_that_take_weights_are_here():
    taking = {
        name
        for name, public in separatrix._REGISTRY.items()
        if public.short_name is not None
        and "sample_weight" in inspect.signature(getattr(separatrix, name).fit).parameters
    }
    # some of whose candidates take no weights, as the docs say
    assert taking - {"AutoClustering"} == set(OPTIONS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "params"), CASES, ids=lambda value: str(value)[:60])
def test_weights_are_repetitions(name, params):
    for n_clusters in (2, 3):
        splits = n_clusters > 2 and (
            params.get("multiway") == "bisection" or params.get("solver") == "eig"
        )
        X, weight, start = groups_with_weights(4, n_clusters)

        def fitted(X, start, sample_weight=None, n_clusters=n_clusters, splits=splits):
            estimator = getattr(separatrix, name)
            takes_start = not splits and "init" in inspect.signature(estimator).parameters
            init = {"init": start} if takes_start else {}
            model = estimator(n_clusters, random_state=0, **init, **params)
            return model.fit(X, sample_weight=sample_weight)

        weighted = fitted(X, start, weight)
        repeated = fitted(np.repeat(X, weight, axis=0), np.repeat(start, weight))
        absent = fitted(X[weight > 0], start[weight > 0], weight[weight > 0])
        for other in (repeated, absent):
            assert weighted.objective_ == pytest.approx(other.objective_, rel=1e-8)
            np.testing.assert_array_equal(other.predict(X), weighted.labels_)


def test_offsets_of_weights_are_those_of_repetitions():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_clusters = rng.integers(2, 5)
        scores = rng.normal(size=(12, n_clusters)) + rng.normal(size=n_clusters)
        weight = rng.integers(0, 5, size=12).astype(float)
        size = weight.sum() / n_clusters
        least = np.full(n_clusters, np.floor(0.8 * size))
        most = np.full(n_clusters, np.ceil(1.2 * size))
        many = np.repeat(scores, weight.astype(int), axis=0)
        weighted = first_offsets(scores, weight, least, most)
        repeated = first_offsets(many, np.ones(len(many)), least, most)
        np.testing.assert_allclose(weighted, repeated, atol=1e-12)
        bounds = {"min_size": least, "max_size": most}
        found = balanced_offsets(scores, weight, **bounds)
        expected = balanced_offsets(many, **bounds)
        np.testing.assert_allclose(found.offsets, expected.offsets, atol=1e-12)
        assert found.within == expected.within


def test_weights_move_to_where_they_cost_least():
    """The transport of weights is that of the linear program."""
    from scipy.optimize import linprog

    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores, weight = rng.normal(size=(9, 3)), rng.uniform(0.1, 2.0, size=9)
        size = weight.sum() / 3
        offsets = first_offsets(scores, weight, np.full(3, 0.9 * size), np.full(3, 1.1 * size))
        # with the multipliers of the sizes, the dual program has the value of the primal one
        each = np.kron(np.eye(9), np.ones(3))
        of_cluster = np.kron(np.ones(9), np.eye(3))
        best = linprog(
            -scores.ravel(),
            A_ub=np.vstack([of_cluster, -of_cluster]),
            b_ub=np.r_[np.full(3, 1.1 * size), np.full(3, -0.9 * size)],
            A_eq=each,
            b_eq=weight,
        )
        bounds = np.where(offsets < 0, 1.1 * size, 0.9 * size)
        dual = weight @ (scores + offsets).max(axis=1) - offsets @ bounds
        assert dual == pytest.approx(-best.fun, rel=1e-9)


def test_splits_never_part_equal_samples():
    """A transport splits the last sample that moves; its copies go one way all the same."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.normal(size=(4, 3))
        many = np.repeat(scores, 7, axis=0)
        many += 1e-15 * rng.normal(size=many.shape)  # what rounding makes of equal ones
        found = balanced_offsets(many, min_size=9, max_size=10)
        labels = (many + found.offsets).argmax(axis=1).reshape(4, 7)
        assert (labels == labels[:, :1]).all()


def test_weights_next_to_nothing_are_none():
    X, _, start = groups_with_weights(0, 2)
    weight = np.where(np.arange(30) < 25, 1.0, 1e-40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = separatrix.MaximumMarginClustering(init=start, balance=0.3)
        model.fit(X, sample_weight=1e20 * weight)
        absent = separatrix.MaximumMarginClustering(init=start[:25], balance=0.3)
        absent.fit(X[:25], sample_weight=1e20 * weight[:25])
    assert model.objective_ == pytest.approx(absent.objective_)
