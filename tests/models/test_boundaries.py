"""Boundaries against their definition: scores, codes, trees of splits and new numbers."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from separatrix.models.boundaries import Boundaries, Split, one_vs_rest_code, pairwise_code
from separatrix.similarity.kernels import Kernel


def samples(seed=0, n=40, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


# Codes and scores


def test_codes_of_pairs_and_of_clusters_against_the_rest():
    np.testing.assert_array_equal(pairwise_code(2), [[-1, 1]])
    np.testing.assert_array_equal(pairwise_code(3), [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]])
    np.testing.assert_array_equal(one_vs_rest_code(2), [[-1, 1]])
    np.testing.assert_array_equal(one_vs_rest_code(3), [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


def test_two_clusters_have_one_score_and_its_sign_decides():
    X, model = samples(), Boundaries.one_vs_rest(samples(1, n=1), np.array([0.3]))
    assert model.n_clusters == 2
    np.testing.assert_allclose(model.scores(X), X @ model.coef[0] + 0.3)
    np.testing.assert_array_equal(model.labels(X), model.scores(X) > 0)
    on_it = Boundaries.one_vs_rest(np.array([[1.0]]), np.array([-2.0]))
    np.testing.assert_array_equal(on_it.labels(np.array([[2.0], [2.0 + 1e-15]])), [0, 1])


@pytest.mark.parametrize("n_clusters", [3, 5])
def test_boundaries_around_clusters_are_their_scores(n_clusters):
    X, intercept = samples(), np.linspace(-1, 1, n_clusters)
    model = Boundaries.one_vs_rest(samples(1, n=n_clusters), intercept)
    assert model.is_one_vs_rest
    assert model.n_clusters == n_clusters
    np.testing.assert_allclose(model.scores(X), X @ model.coef.T + intercept, rtol=1e-12)
    np.testing.assert_array_equal(model.labels(X), model.scores(X).argmax(axis=1))


@pytest.mark.parametrize("n_clusters", [3, 4])
def test_other_scores_are_the_smallest_margins(n_clusters):
    X, code = samples(), pairwise_code(n_clusters)
    model = Boundaries(samples(1, n=len(code)), np.linspace(-1, 1, len(code)), code)
    assert not model.is_one_vs_rest
    margins = X @ model.coef.T + model.intercept
    for cluster in range(n_clusters):
        signed = (margins * code[:, cluster])[:, code[:, cluster] != 0]
        np.testing.assert_allclose(model.scores(X)[:, cluster], signed.min(axis=1))


def test_one_cluster_has_no_boundary():
    model = Boundaries.of_one_cluster(3)
    X = samples()
    assert (model.n_clusters, model.coef.shape) == (1, (0, 3))
    np.testing.assert_array_equal(model.scores(X), np.zeros(40))
    np.testing.assert_array_equal(model.labels(X), np.zeros(40))


def test_labels_take_one_byte_where_that_is_enough():
    X = samples()
    assert Boundaries.nearest(samples(1, n=127)).labels(X).dtype == np.int8
    assert Boundaries.nearest(samples(1, n=128)).labels(X).dtype == np.int32


# Centres


@pytest.mark.parametrize("n_centers", [2, 5])
def test_nearest_gives_the_nearest_centre(n_centers):
    X, centers = samples(n=300), samples(1, n=n_centers)
    expected = np.square(X[:, None] - centers).sum(axis=2).argmin(axis=1)
    assert len(np.unique(expected)) == n_centers
    rule = Boundaries.nearest(centers)
    assert rule.n_clusters == n_centers
    assert len(rule.coef) == (1 if n_centers == 2 else n_centers)
    np.testing.assert_array_equal(rule.labels(X), expected)
    np.testing.assert_array_equal(rule.pairwise.code, pairwise_code(n_centers))
    np.testing.assert_array_equal(rule.pairwise.labels(X), expected)
    origin = np.array([10.0, -20.0, 30.0])
    np.testing.assert_array_equal(rule.shifted(origin).labels(X + origin), expected)


def test_of_equally_near_centres_the_first_is_taken():
    centers = np.array([[0.0], [2.0], [2.0], [4.0]])
    rule, X = Boundaries.nearest(centers), np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    np.testing.assert_array_equal(rule.labels(X), [0, 0, 1, 1, 3])
    np.testing.assert_array_equal(rule.pairwise.labels(X), [0, 0, 1, 1, 3])
    two = Boundaries.nearest(centers[:2])
    np.testing.assert_array_equal(two.labels(X), [0, 0, 1, 1, 1])


# Trees of splits


def tree():
    """Three splits of the plane, and the cluster of a sample by hand. The fifth one stays away."""

    def split(leaf, new, coef, intercept):
        model = Boundaries.one_vs_rest(np.array([coef]), np.array([intercept]))
        return Split(leaf, new, np.arange(0), model)

    splits = [
        split(0, 1, [1.0, 0.0], 0.0),
        split(1, 2, [0.0, 1.0], -1.0),
        split(0, 3, [0.0, 2.0], 2.0),
    ]

    def by_hand(x):
        if x[0] > 0:
            return 2 if x[1] > 1 else 1
        return 3 if x[1] > -1 else 0

    return Boundaries.of_splits(splits, 5, 2), by_hand


def test_a_tree_of_splits_is_the_tree():
    model, by_hand = tree()
    np.testing.assert_array_equal(
        model.code, [[-1, 1, 1, -1, 0], [0, -1, 1, 0, 0], [-1, 0, 0, 1, 0]]
    )
    np.testing.assert_array_equal(model.coef, [[1, 0], [0, 1], [0, 2]])
    np.testing.assert_array_equal(model.intercept, [0, -1, 2])
    X = np.vstack([3 * samples(n=200, d=2), list(itertools.product((-1.0, 0, 1), repeat=2))])
    expected = [by_hand(x) for x in X]
    assert set(expected) == {0, 1, 2, 3}
    np.testing.assert_array_equal(model.labels(X), expected)


def test_a_tree_without_a_split_is_one_cluster_of_many():
    model = Boundaries.of_splits([], 3, 2)
    assert (model.n_clusters, model.coef.shape) == (3, (0, 2))
    np.testing.assert_array_equal(model.labels(samples(d=2)), np.zeros(40))


# New numbers


def on_whole_samples(kind, seed):
    """Boundaries with whole coefficients, which samples of whole numbers may lie on exactly."""
    rng = np.random.default_rng(seed)
    if kind != "tree":
        centers = 2.0 * rng.permutation(list(itertools.product((-1, 0, 1), repeat=3)))
        return Boundaries.nearest(centers[: {"two": 2, "pairs": 4}[kind]]).pairwise
    coef, intercept = rng.integers(-2, 3, size=(3, 3)), rng.integers(-2, 3, size=3)
    return Boundaries(coef * 1.0, intercept * 1.0, tree()[0].code[:, :4])


@pytest.mark.parametrize("kind", ["two", "pairs", "tree"])
def test_new_numbers_leave_every_sample_in_its_cluster(kind):
    """Samples that lie exactly on a boundary, too."""
    X = np.array(list(itertools.product((-2.0, -1, 0, 1, 2), repeat=3)))
    n_between = 0
    for seed in range(5):
        model = on_whole_samples(kind, seed)
        n_between += (X @ model.coef.T + model.intercept == 0).sum()
        labels = model.labels(X)
        for order in itertools.permutations(range(model.n_clusters)):
            moved = model.renumbered(np.array(order))
            np.testing.assert_array_equal(np.array(order)[moved.labels(X)], labels)
            np.testing.assert_array_equal(moved.labels_of_rows(X), moved.labels(X))
    assert n_between > 50


@pytest.mark.parametrize("n_clusters", [3, 5])
def test_new_numbers_leave_boundaries_around_clusters_as_they_are(n_clusters):
    X, model = samples(), Boundaries.nearest(samples(1, n=n_clusters))
    order = np.random.default_rng(0).permutation(n_clusters)
    moved = model.renumbered(order)
    np.testing.assert_array_equal(moved.coef, model.coef[order])
    np.testing.assert_array_equal(moved.intercept, model.intercept[order])
    assert moved.is_one_vs_rest
    np.testing.assert_array_equal(order[moved.labels(X)], model.labels(X))


@pytest.mark.parametrize("kind", ["two", "pairs", "tree"])
def test_equal_partitions_have_equal_coefficients(kind):
    """However their clusters were numbered: rows and their signs have one canonical form."""
    model = on_whole_samples(kind, 0)
    model = model.renumbered(np.arange(model.n_clusters))
    for order in itertools.permutations(range(model.n_clusters)):
        moved = model.renumbered(np.array(order))
        back = moved.renumbered(np.argsort(order))
        np.testing.assert_array_equal(back.code, model.code)
        np.testing.assert_array_equal(back.coef, model.coef)
        np.testing.assert_allclose(back.intercept, model.intercept, rtol=1e-15, atol=1e-300)
        if kind != "tree":
            np.testing.assert_array_equal(moved.code, model.code)


# Features and other arrays


@pytest.mark.parametrize("n_clusters", [2, 4])
def test_boundaries_live_behind_their_feature_map(n_clusters):
    X, new = samples(), samples(1)
    feature_map = Kernel("rbf", gamma=0.5).low_rank_map(X, max_rank=8)
    plain = Boundaries.nearest(samples(2, n=n_clusters, d=8))
    model = Boundaries(plain.coef, plain.intercept, plain.code, feature_map)
    assert feature_map.rank == 8
    assert model.width == plain.width + 8
    for rule in (model, model.renumbered(np.arange(n_clusters))):
        np.testing.assert_allclose(rule.scores(new), plain.scores(feature_map(new)))
        np.testing.assert_array_equal(rule.labels(new), plain.labels(feature_map(new)))
    np.testing.assert_allclose(model.scores_of_rows(new), plain.scores(feature_map(new)))
    assert "coef_" not in model.attributes(X)
    np.testing.assert_array_equal(plain.attributes(X)["coef_"], plain.coef)
    np.testing.assert_array_equal(model.attributes(X)["boundary_sides_"], plain.code)


@pytest.mark.parametrize(
    "model",
    [
        Boundaries.nearest(samples(1, n=2)),
        Boundaries.nearest(samples(1, n=4)),
        Boundaries.nearest(samples(1, n=4)).pairwise,
    ],
    ids=["two", "around each", "pairs"],
)
def test_all_kinds_of_rows_get_the_same_labels(model):
    X = samples()
    scores, labels = model.scores(X), model.labels(X)
    thin = sparse.csr_array(X)
    np.testing.assert_allclose(model.scores_of_rows(thin), scores)
    np.testing.assert_array_equal(model.labels_of_rows(thin), labels)
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=((29, 1, 10), 3))
    for found, expected in (
        (model.scores_of_rows(lazy), scores),
        (model.labels_of_rows(lazy), labels),
    ):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.compute(), expected)
    xp = pytest.importorskip("array_api_strict")
    with config_context(array_api_dispatch=True):
        found = model.scores_of_rows(xp.asarray(X)), model.labels_of_rows(xp.asarray(X))
    assert type(found[0]) is type(found[1]) is type(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(found[0]), scores)
    np.testing.assert_array_equal(np.asarray(found[1]), labels)


# Tournaments


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_tournament_finds_the_labels_that_all_duels_make(dtype):
    """Of 25 clusters; of random boundaries, which most samples have no winner of all duels of."""
    X = samples(n=300, d=2).astype(dtype)
    nearest = Boundaries.nearest(samples(1, n=25, d=2)).pairwise
    random = Boundaries(samples(2, n=300, d=2), samples(3, n=300, d=1)[:, 0], pairwise_code(25))
    for model in (nearest, random):
        expected = model.scores(X).argmax(axis=1)
        np.testing.assert_array_equal(model.labels(X), expected)
        np.testing.assert_array_equal(model.labels_of_rows(X), expected)
    assert (random.scores(X).max(axis=1) < 0).any()
