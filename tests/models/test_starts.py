"""Starts by name, labels that are refused as a start, and what a sample of many rows is for."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.cluster import SpectralClustering

import separatrix.data.rows
from separatrix.models.boundaries import Boundaries
from separatrix.models.starts import (
    SampledProblem,
    _kmeans,
    _two_least_distances,
    _with_moved_centers,
    check_init,
    drawn_rows,
    kmeans_start,
    known_start,
    labels_of_start,
    random_start,
    solve_from_start,
    start_of,
)
from separatrix.result import Labelling, Progress, SolverResult, Status
from separatrix.solvers.minimax import MomentProblem
from separatrix.solvers.ridge import FeatureBasis, KernelBasis, MarginProblem
from support import groups, same_partition

NAMES = ["k-means", "random", "spectral"]


def problem_of(X, sample_weight=None, seed=0):
    drawn = drawn_rows(X, sample_weight, np.random.RandomState(seed))
    return SampledProblem(X=X, sample_weight=sample_weight, **drawn)


def labels_of(init, problem, n_clusters, *, restart=0, seed=0, **kwargs):
    rng = np.random.RandomState(seed)
    start = start_of(init, problem, n_clusters, restart=restart, rng=rng, **kwargs)
    return labels_of_start(start, problem, n_clusters)


# By name


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("init", NAMES)
def test_each_name_finds_groups_far_apart(init, n_clusters):
    truth = np.arange(60) % n_clusters
    X = 20.0 * np.eye(n_clusters)[truth] + np.random.default_rng(0).normal(size=(60, n_clusters))
    found = [
        same_partition(labels_of(init, problem_of(X), n_clusters, restart=i, seed=i), truth)
        for i in range(12)
    ]
    # two of the random samples may be of one group
    assert any(found) if init == "random" else all(found)


def test_two_clusters_of_the_spectral_start_are_the_signs_of_the_second_eigenvector():
    """The normalised cut of Gaussian similarities whose width is the mean distance."""
    n_other = 0
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(60, 3))
        distances = np.linalg.norm(X[:, None] - X, axis=2)
        width = distances.sum() / (60 * 59)
        W = np.exp(-np.square(distances / width))
        roots = np.sqrt(W.sum(axis=1))
        second = np.linalg.eigh(W / np.outer(roots, roots))[1][:, -2]
        assert same_partition(labels_of("spectral", problem_of(X), 2), second > 0)
        other = SpectralClustering(2, affinity="precomputed", assign_labels="cluster_qr")
        n_other += not same_partition(other.fit_predict(W), second > 0)
    assert n_other > 0  # otherwise nothing was shown


def test_the_scale_invariant_start_does_not_depend_on_units():
    X = groups(1, n_groups=3)
    problem, scaled = (
        MomentProblem.of(X * units, None, reg=0.01, isotropic=False, rng=np.random.RandomState(0))
        for units in (1.0, np.array([1e-3, 1.0, 50.0, 1e4]))
    )
    for n_clusters in (2, 3):
        for restart in (0, 1):
            labels = labels_of("scale-invariant", problem, n_clusters, restart=restart)
            same = labels_of("scale-invariant", scaled, n_clusters, restart=restart)
            np.testing.assert_array_equal(same, labels)
            assert len(np.unique(labels)) == n_clusters


@pytest.mark.parametrize("library", ["numpy", "array_api_strict"])
@pytest.mark.parametrize(("n_clusters", "dtype"), [(3, "int8"), (130, "int32")])
def test_labels_are_a_start_as_they_are(n_clusters, dtype, library):
    xp = pytest.importorskip(library)
    given = np.arange(200) % n_clusters
    with config_context(array_api_dispatch=True):
        problem = problem_of(xp.asarray(groups(n=200)))
        labels = labels_of(given.tolist(), problem, n_clusters)
    assert type(labels) is type(problem.X)
    assert labels.dtype == getattr(xp, dtype)
    np.testing.assert_array_equal(np.asarray(labels), given)


def test_the_first_start_by_kmeans_draws_nothing():
    X = groups(2, n=90, n_groups=6, apart=1.0)
    order = np.random.default_rng(0).permutation(90)
    rng = np.random.RandomState(0)
    state = rng.get_state()[1].copy()
    start = start_of("k-means", problem_of(X), 4, restart=0, rng=rng)
    np.testing.assert_array_equal(rng.get_state()[1], state)
    first = start.labels(X)
    shuffled = labels_of("k-means", problem_of(X[order]), 4, seed=1)
    assert same_partition(shuffled, first[order])
    counts = np.arange(90) % 3
    weighted = labels_of("k-means", problem_of(X, counts * 1.0), 4)
    rows = np.repeat(np.arange(90), counts)
    assert same_partition(labels_of("k-means", problem_of(X[rows]), 4), weighted[rows])


@pytest.mark.parametrize("init", ["k-means", "random"])
def test_further_starts_follow_the_random_state(init):
    X = groups(2, n=90, n_groups=6, apart=1.0)
    restarts = {seed: labels_of(init, problem_of(X), 5, restart=1, seed=seed) for seed in range(6)}
    again = labels_of(init, problem_of(X), 5, restart=1, seed=3)
    np.testing.assert_array_equal(again, restarts[3])
    assert not all(same_partition(labels, again) for labels in restarts.values())


def test_more_runs_of_kmeans_are_no_worse():
    X = groups(2, n=90, n_groups=8, apart=1.0)

    def inertia(labels):
        return sum(np.square(X[labels == c] - X[labels == c].mean(axis=0)).sum() for c in range(8))

    few, many = (
        [
            inertia(labels_of("k-means", problem_of(X), 8, restart=1, seed=seed, n_init=n_init))
            for seed in range(4)
        ]
        for n_init in (1, 10)
    )
    assert max(many) <= min(few)


def test_random_starts_are_the_nearest_of_distinct_rows():
    samples = groups(3, n=6)
    X = np.repeat(samples, 20, axis=0)
    for rows in (X, sparse.csr_array(X)):
        start = random_start(rows, 4, np.random.RandomState(0))
        drawn = [np.flatnonzero((samples == row).all(axis=1)) for row in start.coef]
        assert len({int(*index) for index in drawn}) == 4
        np.testing.assert_array_equal(np.unique(start.labels(X)), range(4))


@pytest.mark.parametrize("init", ["k-means", "random"])
def test_fewer_distinct_rows_than_clusters_leave_clusters_empty(init):
    X = np.repeat([[0.0, 0.0], [1.0, 2.0]], 5, axis=0)
    labels = labels_of(init, problem_of(X), 4)
    assert len(np.unique(labels)) == 2
    assert same_partition(labels, np.repeat([0, 1], 5))


# Labels that do not fit


@pytest.mark.parametrize(
    ("init", "sample_weight", "message"),
    [
        (np.zeros(5, dtype=int), None, r"init has shape \(5,\) but X has 6 samples"),
        (np.zeros((6, 2), dtype=int), None, r"init has shape \(6, 2\) but X has 6 samples"),
        ([0, 1, 0, 1, 0, 1], None, "init must use each label from 0 to n_clusters-1=2"),
        ([0, 1, 2, 3, 0, 1], None, r"and no other, .* got \[0 1 2 3\]"),
        ([-1, 1, 2, 0, 0, 1], None, r"got \[-1  0  1  2\]"),
        ([0, 0, 0, 1, 1, 2], [1.0, 1, 1, 1, 1, 0], "on samples of positive weight"),
        ([0, 0, 0, 1, 1, 2], [1.0, 1, 1, 1, 1, 1e-14], "on samples of positive weight"),
    ],
)
def test_labels_that_do_not_fit_are_refused(init, sample_weight, message):
    weight = None if sample_weight is None else np.array(sample_weight)
    with pytest.raises(ValueError, match=message):
        check_init(init, np.zeros((6, 1)), weight, 3)


def test_names_and_labels_that_fit_pass():
    X = np.zeros((6, 1))
    for name in [*NAMES, "scale-invariant"]:
        check_init(name, X, None, 3)
    check_init([2, 1, 0, 0, 0, 0], X, None, 3)
    check_init([2, 1, 0, 0, 0, 2], X, np.array([1.0, 1, 1, 0, 0, 0]), 3)


# On a sample first


@dataclass(frozen=True, kw_only=True)
class DrawnProblem(SampledProblem):
    """Samples with the problem of those that starts are found on."""

    def sampled(self, rng):
        return problem_of(self.rows)


class Solver:
    """Notes what it is asked, and answers with the boundary of a status."""

    def __init__(self, *statuses):
        self.calls = []
        self.statuses = list(statuses)

    def __call__(self, problem, start, progress):
        self.calls.append((problem, start, progress))
        labels = labels_of_start(start, problem, 2)
        return SolverResult(
            Labelling(labels, 2),
            Boundaries.nearest(np.array([[0.0] * 4, [1.0] * 4])),
            0.0,
            [],
            self.statuses.pop(0),
        )


def solved(problem, solver, init="k-means", **kwargs):
    progress = Progress()
    result = solve_from_start(
        problem,
        solver,
        init,
        2,
        restart=0,
        progress=progress,
        rng=np.random.RandomState(0),
        **kwargs,
    )
    assert solver.calls[-1][0] is problem
    assert solver.calls[-1][2] is progress
    assert not solver.statuses
    return result


@pytest.fixture
def many(monkeypatch):
    """Problem of more rows than starts are found on."""
    monkeypatch.setattr(separatrix.data.rows, "SAMPLE_SIZE", 50)
    X = groups(n=200)
    problem = DrawnProblem(
        X=X, sample_weight=None, **drawn_rows(X, None, np.random.RandomState(0))
    )
    assert problem.is_sampled
    assert problem.rows.shape == (50, 4)
    return problem


def test_few_rows_are_solved_at_once():
    X = groups(n=200)
    problem = DrawnProblem(
        X=X, sample_weight=None, **drawn_rows(X, None, np.random.RandomState(0))
    )
    assert not problem.is_sampled
    solver = Solver(Status.CONVERGED)
    solved(problem, solver)
    ((_, start, _),) = solver.calls
    expected = start_of("k-means", problem, 2, restart=0, rng=np.random.RandomState(0))
    np.testing.assert_array_equal(start.coef, expected.coef)


def test_many_rows_start_from_what_a_sample_says(many):
    solver = Solver(Status.MAX_ITER, Status.CONVERGED)
    result = solved(many, solver)
    (part, start, progress), (_, following, _) = solver.calls
    assert part.X is many.rows
    expected = start_of("k-means", part, 2, restart=0, rng=np.random.RandomState(0))
    np.testing.assert_array_equal(start.coef, expected.coef)
    assert type(progress) is Progress
    np.testing.assert_array_equal(following.coef, result.model.coef)
    assert result.labels.shape == (200,)


def test_the_result_on_the_sample_may_resume_otherwise(many):
    solver = Solver(Status.CONVERGED, Status.CONVERGED)
    labels = np.arange(200) % 2
    result = solved(many, solver, resume=lambda rough: (rough.labels.shape == (50,)) * labels)
    np.testing.assert_array_equal(result.labels, labels)


def test_a_sample_that_lost_a_cluster_is_left_aside(many):
    solver = Solver(Status.DEGENERATE, Status.CONVERGED)
    solved(many, solver)
    (part, _, _), (_, start, _) = solver.calls
    assert part.X is many.rows
    expected = start_of("k-means", many, 2, restart=0, rng=np.random.RandomState(0))
    np.testing.assert_array_equal(start.coef, expected.coef)


def test_labels_of_all_samples_need_no_sample(many):
    labels = np.arange(200) % 2
    solver = Solver(Status.CONVERGED)
    np.testing.assert_array_equal(solved(many, solver, init=labels).labels, labels)


def test_a_whole_kernel_matrix_is_never_sampled(monkeypatch):
    monkeypatch.setattr(separatrix.data.rows, "SAMPLE_SIZE", 50)
    X = groups(n=200)
    drawn = drawn_rows(X, None, np.random.RandomState(0))
    for basis, is_sampled in (
        (FeatureBasis.of(X, **drawn), True),
        (KernelBasis(X @ X.T, X), False),
    ):
        problem = MarginProblem.of(samples=X, X=X, sample_weight=None, basis=basis, **drawn)
        assert problem.is_sampled == is_sampled


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_as_many_samples_as_clusters_are_cut_without_a_word(n_clusters):
    X = np.random.default_rng(0).normal(size=(n_clusters, 3))
    problem = problem_of(X)
    rng = np.random.RandomState(0)
    start = start_of("spectral", problem, n_clusters, restart=0, rng=rng)
    assert len(np.unique(labels_of_start(start, problem, n_clusters))) == n_clusters


@pytest.mark.filterwarnings("error")
def test_a_mean_at_one_end_does_not_end_the_splits():
    """Rounding puts the mean of weights so uneven on their heaviest sample."""
    X, weight = np.array([[0.1], [0.2], [0.7]]), np.array([1e-14, 1.0, 1e-15])
    start = start_of("k-means", problem_of(X, weight), 3, restart=0, rng=None)
    np.testing.assert_array_equal(np.sort(start.labels(X)), [0, 1, 2])


# Many clusters


def squares_in_the_plane(n_per_side=6, n_each=8, seed=0):
    """Groups at the points of a grid, far apart."""
    side = np.arange(n_per_side) * 10.0
    centers = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    y = np.repeat(np.arange(len(centers)), n_each)
    return centers[y] + np.random.default_rng(seed).normal(size=(len(y), 2)), y


@pytest.mark.parametrize("seed", range(4))
def test_centres_move_from_halved_groups_to_joined_ones(seed):
    """From centres of which some share a group, so that k-means ends in the wrong places."""
    X, y = squares_in_the_plane(seed=seed)
    rng = np.random.default_rng(seed)
    means = np.array([X[y == label].mean(axis=0) for label in range(36)])
    wrong = means.copy()
    wrong[:3] = means[rng.choice(np.arange(6, 36), 3, replace=False)] + 0.1  # nobody is near these
    stuck = _kmeans(X, None, 36, wrong, n_init=1)
    found = _with_moved_centers(stuck, X, None)
    best = sum(np.square(X[y == label] - means[label]).sum() for label in range(36))
    assert stuck.inertia_ > 1.5 * best
    assert same_partition(found.labels_, y)
    np.testing.assert_allclose(found.inertia_, best)


def test_the_rise_without_a_centre_is_that_of_the_second_nearest():
    X, y = squares_in_the_plane(n_per_side=3)
    centers = np.array([X[y == label].mean(axis=0) for label in range(9)])
    nearest, second = _two_least_distances(X, centers)
    squares = np.sort(cdist(X, centers, "sqeuclidean"), axis=1)
    np.testing.assert_allclose(np.transpose([nearest, second]), squares[:, :2])


def test_moved_centres_treat_weight_as_repetition():
    X, y = squares_in_the_plane(seed=1)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    weighted = kmeans_start(X, weight, 36)
    same = kmeans_start(repeated, None, 36)
    np.testing.assert_array_equal(weighted.labels(repeated), same.labels(repeated))


def test_equal_rows_have_no_halves():
    X = np.repeat(np.arange(25.0)[:, None], 4, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule = kmeans_start(X, None, 25)
    assert same_partition(rule.labels(X), np.repeat(np.arange(25), 4))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_many_clusters_start_where_their_groups_are(convert):
    X, y = squares_in_the_plane(seed=2)
    assert same_partition(kmeans_start(convert(X), None, 36).labels(convert(X)), y)


# From known labels


def known_of(y, counts):
    """The first labels of each group, as many as are counted."""
    known = np.full(len(y), -1)
    for label, count in enumerate(counts):
        known[np.flatnonzero(y == label)[:count]] = label
    return known


@pytest.mark.parametrize("counts", [(1, 1, 1), (0, 3, 3), (0, 0, 0)])
def test_labels_that_cannot_be_held_back_make_no_start(counts):
    y = np.arange(60) % 3
    X = 20.0 * np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3))
    assert known_start(X, known_of(y, counts), None, 3) is None


@pytest.mark.parametrize("counts", [(1, 2, 4), (1, 1, 3), (5, 6, 7)])
def test_the_only_known_label_of_a_cluster_is_always_learned(counts):
    """Groups far apart are told right, so all that is held back is."""
    y = np.arange(60) % 3
    X = 20.0 * np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3))
    known = known_of(y, counts)
    taught = known_start(X, known, None, 3)
    single = [label for label in range(3) if counts[label] == 1]
    tested = np.flatnonzero((known >= 0) & ~np.isin(known, single))
    np.testing.assert_array_equal(np.sort(taught.tested), tested)
    assert taught.n_right == len(tested)
    np.testing.assert_array_equal(taught.rule.labels(X), y)
