"""Metrics against brute force, the papers' definitions, and independent solutions."""

import doctest
import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn import config_context
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import pairwise_distances
from sklearn.svm import SVC

from separatrix import metrics
from separatrix.data.frames import Frame
from separatrix.metrics import (
    balanced_clustering_error,
    clustering_accuracy,
    clustering_error,
    generalized_separation_score,
    hamming_clustering_distance,
    relative_margin_share,
    separation_from_margin,
    separation_lower_bound,
    separation_probability_score,
    validity_score,
)
from separatrix.similarity.geometry import Geometry
from separatrix.validity.features import Measures, labelling_features, sample_features
from separatrix.validity.learned import learned_validity

SEEDS = range(8)


def test_examples():
    result = doctest.testmod(metrics)
    assert result.attempted > 0
    assert result.failed == 0


# Matching of clusters with classes


def labellings(n_classes, n_clusters, seed, n=25):
    """Every class and cluster occurs, in uneven numbers."""
    rng = np.random.default_rng(seed)
    y_true = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n) ** 2 // n_classes]
    y_pred = np.r_[rng.integers(n_clusters, size=n), np.arange(n_classes) % n_clusters]
    return y_true, y_pred, rng.integers(1, 4, size=y_true.size)


def brute_force_errors(y_true, y_pred, weight):
    """Smallest mean error over the samples, and over the classes, of all matchings."""
    classes, clusters = np.unique(y_true), np.unique(y_pred)
    # A cluster may also go to a class that does not exist, and is wrong then.
    targets = [*classes.tolist(), *([-1] * clusters.size)]
    best = best_balanced = 1.0
    for assigned in set(itertools.permutations(targets, clusters.size)):
        wrong = y_true != np.array(assigned)[np.searchsorted(clusters, y_pred)]
        best = min(best, np.average(wrong, weights=weight))
        per_class = [np.average(wrong[y_true == c], weights=weight[y_true == c]) for c in classes]
        best_balanced = min(best_balanced, np.mean(per_class))
    return best, best_balanced


@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (2, 2), (2, 4), (3, 2), (3, 3), (4, 3), (4, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_errors_equal_the_best_of_all_matchings(sizes, seed):
    y_true, y_pred, weight = labellings(*sizes, seed)
    for w in (None, weight):
        error, balanced = brute_force_errors(
            y_true, y_pred, np.ones(len(y_true)) if w is None else w
        )
        kw = {"sample_weight": w}
        assert clustering_accuracy(y_true, y_pred, **kw) == pytest.approx(1 - error, abs=1e-12)
        assert clustering_error(y_true, y_pred, **kw) == pytest.approx(error, abs=1e-12)
        assert balanced_clustering_error(y_true, y_pred, **kw) == pytest.approx(
            balanced, abs=1e-12
        )


def test_balanced_error_has_a_matching_of_its_own():
    # Cluster 1 holds most samples of class 0, and all of the small class 1.
    y_true = np.repeat([0, 1], [100, 4])
    y_pred = np.repeat([0, 1, 1], [45, 55, 4])
    assert clustering_error(y_true, y_pred) == pytest.approx(49 / 104)
    assert balanced_clustering_error(y_true, y_pred) == pytest.approx(55 / 100 / 2)


@pytest.mark.parametrize(
    "score", [clustering_accuracy, clustering_error, balanced_clustering_error]
)
class TestMatchingScores:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_names_and_order_do_not_matter(self, score, seed):
        y_true, y_pred, weight = labellings(4, 3, seed)
        expected = score(y_true, y_pred, sample_weight=weight)
        order = np.random.default_rng(seed).permutation(len(y_true))
        classes, clusters = np.array(["fox", "ant", "owl", "bee"]), np.array([3.5, -1.0, 7.0])
        actual = score(
            classes[y_true][order], clusters[y_pred][order], sample_weight=weight[order]
        )
        assert actual == pytest.approx(expected, abs=1e-12)
        assert score(classes[y_true].tolist(), y_pred.tolist()) == score(y_true, y_pred)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_weight_is_repetition(self, score, seed):
        y_true, y_pred, weight = labellings(4, 3, seed)
        weight[y_true == 2] = 0  # a class that vanishes
        repeated = score(np.repeat(y_true, weight), np.repeat(y_pred, weight))
        assert score(y_true, y_pred, sample_weight=weight) == pytest.approx(repeated, abs=1e-12)
        assert score(y_true, y_pred, sample_weight=weight / 7) == pytest.approx(
            repeated, abs=1e-12
        )

    def test_same_partition_is_perfect_to_the_last_bit(self, score):
        y = np.arange(300) % 30
        perfect = 1.0 if score is clustering_accuracy else 0.0
        for seed in SEEDS:
            weight = np.random.default_rng(seed).random(300)
            assert score(y, (7 * y + 1) % 30, sample_weight=weight) == perfect

    @pytest.mark.parametrize(
        ("args", "weight", "message"),
        [
            (([0, 1], [0, 1, 1]), None, "y_true has 2 samples but y_pred has 3"),
            (([], []), None, r"y_true has shape \(0,\)"),
            (([0, 1], [[0, 1]]), None, r"y_pred has shape \(1, 2\)"),
            (([0, np.nan], [0, 1]), None, "y_true has NaN in 1 of 2"),
            ((["a", "b"], np.array(["a", np.nan], dtype=object)), None, "y_pred has NaN"),
            (([0, 1], [0, 1]), [1, -2], "sample_weight has minimum -2"),
            (([0, 1], [0, 1]), [0, 0], "sample_weight is zero for all"),
            (([0, 1], [0, 1]), [1, np.inf], "sample_weight has 1 of 2 entries NaN or inf"),
            (([0, 1], [0, 1]), [1, np.nan], "sample_weight has 1 of 2 entries NaN"),
            (([0, 1], [0, 1]), [1], "sample_weight has 1 samples but y_true has 2"),
            (([0, 1], [0, 1]), [[1, 2]], r"sample_weight has shape \(1, 2\)"),
        ],
    )
    def test_bad_input_is_named(self, score, args, weight, message):
        with pytest.raises(ValueError, match=message):
            score(*args, sample_weight=weight)


# Hamming clustering distance


def hamming_by_definition(h, y):
    """Definition 3 of Niu et al., for vectors without zeros."""
    h, y = np.sign(h), np.sign(y)
    return min(np.abs(h + y).sum(), np.abs(h - y).sum()) / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_hamming_distance_is_the_definition(seed):
    rng = np.random.default_rng(seed)
    h, g = rng.normal(size=(2, 31))
    y = np.where(rng.random(31) < 0.3, 1, -1)
    for a, b in [(h, g), (h, y), (y, h), (y, -y), (h, np.ones(31))]:
        d = hamming_clustering_distance(a, b)
        assert d == hamming_by_definition(a, b)
        assert isinstance(d, int)
        assert d == hamming_clustering_distance(-a, b) == hamming_clustering_distance(b, a)
        assert d == pytest.approx(31 * clustering_error(np.sign(a), np.sign(b)))


@pytest.mark.parametrize(
    "values", [(0, 1), (1, 2), (-1, 0), (0.3, 0.7), ("no", "yes"), (True, False)]
)
def test_hamming_distance_takes_labels_of_any_two_values(values):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=20)
    h = rng.normal(size=20)
    expected = hamming_by_definition(h, 2 * y - 1)
    assert hamming_clustering_distance(h, np.array(values)[y]) == expected


def test_hamming_distance_counts_a_zero_response_as_negative():
    assert hamming_clustering_distance([0.0, -1.5, 2.0, 3.0], [-1, -1, 1, 1]) == 0
    assert hamming_clustering_distance([0.0, -1.5, 2.0, 3.0], [1, -1, 1, 1]) == 1


def test_hamming_distance_reaches_half_the_samples():
    # The paper writes "smaller than n/2"; the half itself is attained.
    assert hamming_clustering_distance([1, 1, -1, -1], [1, -1, 1, -1]) == 2


def test_hamming_distance_refuses_three_clusters_and_lengths():
    with pytest.raises(ValueError, match="y holds 3 distinct values"):
        hamming_clustering_distance([0, 1, 1], [0, 1, 2])
    with pytest.raises(ValueError, match="h holds 3 distinct values"):
        hamming_clustering_distance(["a", "b", "c"], [0, 1, 1])
    with pytest.raises(ValueError, match="h has 2 samples but y has 3"):
        hamming_clustering_distance([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="h has NaN"):
        hamming_clustering_distance([0.5, -1.0, np.nan], [0, 1, 1])


# Generalised separation score


def plain_score(D, labels):
    """Equation (1) of the supplement of Huang et al., term by term, for k clusters."""
    scores = []
    for a, b in itertools.combinations(np.unique(labels), 2):
        groups = [np.flatnonzero(labels == c) for c in (a, b)]
        between = D[np.ix_(*groups)].mean()
        within = sum(np.sqrt((D[np.ix_(g, g)] ** 2).sum()) / g.size for g in groups)
        kappa2 = (between / within) ** 2 if within > 0 else np.inf
        scores.append(1.0 if kappa2 == np.inf else kappa2 / (1 + kappa2))
    return min(scores)


def random_distances(rng, n):
    """A symmetric matrix with a zero diagonal; the axioms need no triangle inequality."""
    D = np.triu(rng.gamma(1.0, size=(n, n)), 1)
    return D + D.T


def precomputed_score(D, labels):
    return generalized_separation_score(D, labels, metric="precomputed")


@pytest.mark.parametrize("n_clusters", [2, 4])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "sqeuclidean", "callable"])
def test_blocks_of_rows_equal_the_whole_matrix(n_clusters, metric):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[20:] *= 50  # the largest distance grows from block to block
    labels = np.r_[np.arange(n_clusters), rng.integers(n_clusters, size=60 - n_clusters)]
    if metric == "callable":

        def metric(a, b):
            return np.abs(a - b).max()

    expected = plain_score(pairwise_distances(X, metric=metric), labels)
    with config_context(working_memory=0.005):  # 10 rows of 60 distances
        blocks = generalized_separation_score(X, labels, metric=metric)
    assert blocks == pytest.approx(expected, rel=1e-12)
    assert generalized_separation_score(X, labels, metric=metric) == pytest.approx(blocks)
    order = rng.permutation(60)
    names = np.array(list("dacb"))[labels]
    renamed = generalized_separation_score(X[order], names[order], metric=metric)
    assert renamed == pytest.approx(expected, rel=1e-12)


def test_precomputed_and_sparse_equal_the_features():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    labels = rng.integers(3, size=30)
    expected = generalized_separation_score(X, labels)
    D = pairwise_distances(X)
    D.flags.writeable = False
    assert precomputed_score(D, labels) == pytest.approx(expected)
    rounded = D.astype(np.float32) * (1 + np.triu(np.full(D.shape, 1e-6, dtype=np.float32)))
    assert precomputed_score(rounded, labels) == pytest.approx(expected, rel=1e-5)
    assert generalized_separation_score(sparse.csr_array(X), labels) == pytest.approx(expected)


def test_missing_features_are_left_to_the_metric():
    X = np.random.default_rng(1).normal(size=(9, 4))
    X[2, 1] = X[5, 0] = np.nan
    labels = np.arange(9) % 2
    expected = plain_score(pairwise_distances(X, metric="nan_euclidean"), labels)
    score = generalized_separation_score(X, labels, metric="nan_euclidean")
    assert score == pytest.approx(expected)
    X[2] = np.nan  # no distance to sample 2 at all
    with pytest.raises(ValueError, match="metric='nan_euclidean' gave distances from nan"):
        generalized_separation_score(X, labels, metric="nan_euclidean")


def test_no_square_matrix_is_kept():
    n = 1500
    X = np.random.default_rng(0).normal(size=(n, 2))
    with config_context(working_memory=0.5):
        tracemalloc.start()
        generalized_separation_score(X, np.arange(n) % 3)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8 * n**2 / 4


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 9),
    n_clusters=st.integers(2, 4),
    exponent=st.floats(-250, 250),
)
def test_axiom_scale_invariance(seed, n, n_clusters, exponent):
    rng = np.random.default_rng(seed)
    D = random_distances(rng, n)
    labels = np.arange(n) % n_clusters
    score = precomputed_score(D, labels)
    assert score == pytest.approx(plain_score(D, labels), rel=1e-10)
    assert precomputed_score(D * 10.0**exponent, labels) == pytest.approx(score, rel=1e-10)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9), n_clusters=st.integers(2, 4))
def test_axiom_consistency(seed, n, n_clusters):
    rng = np.random.default_rng(seed)
    D = random_distances(rng, n)
    labels = np.arange(n) % n_clusters
    same = labels[:, None] == labels
    factor = np.triu(np.where(same, rng.random((n, n)), 1 + rng.exponential(size=(n, n))))
    factor[rng.random((n, n)) < 0.5] = 1.0  # some pairs stay as they are
    factor = np.triu(factor) + np.triu(factor, 1).T
    assert precomputed_score(D * factor, labels) >= precomputed_score(D, labels) - 1e-12


def two_labellings(n):
    """All partitions of n samples into two clusters, sample 0 in cluster 0."""
    for bits in itertools.product([0, 1], repeat=n - 1):
        if any(bits):
            yield np.array([0, *bits])


def two_valued_distances(labels, within, between):
    D = np.where(labels[:, None] == labels, within, between).astype(float)
    np.fill_diagonal(D, 0)
    return D


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_axiom_richness(n):
    for size in range(1, n):  # the samples are exchangeable, so that the size says it all
        target = (np.arange(n) >= size).astype(int)
        D = two_valued_distances(target, 0.99 / (np.sqrt(2) * n), 1.0)
        others = [y for y in two_labellings(n) if (y != target).any()]
        assert len(others) == 2 ** (n - 1) - 2
        best = precomputed_score(D, target)
        assert all(precomputed_score(D, y) < best for y in others)


def test_richness_is_not_shown_by_the_distances_of_the_paper():
    # Distances 1 and 2 single out most partitions, but not 2 samples against 4: splitting one
    # sample off the pair leaves a cluster without spread. The proof takes s(x, x) as 1.
    for n, size, holds in [(4, 2, True), (5, 2, True), (6, 3, True), (6, 2, False), (8, 2, False)]:
        target = (np.arange(n) >= size).astype(int)
        D = two_valued_distances(target, 1.0, 2.0)
        others = [y for y in two_labellings(n) if (y != target).any()]
        best = precomputed_score(D, target)
        assert all(precomputed_score(D, y) < best for y in others) == holds
        assert (precomputed_score(D, (np.arange(n) > 0).astype(int)) < best) == holds


def test_on_a_line_the_within_term_is_root_two_standard_deviations():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 1, size=20), rng.uniform(5, 9, size=13)
    kappa = (b.mean() - a.mean()) / (a.std() + b.std())  # of the separation probability
    score = generalized_separation_score(np.r_[a, b][:, None], np.repeat([0, 1], [20, 13]))
    assert score == pytest.approx(kappa**2 / 2 / (1 + kappa**2 / 2))


def test_more_clusters_score_as_their_worst_pair():
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(40, 2)), np.arange(40) % 4
    X[labels == 3] += 30
    pairs = [
        generalized_separation_score(X[keep], labels[keep])
        for a, b in itertools.combinations(range(4), 2)
        for keep in [(labels == a) | (labels == b)]
    ]
    assert max(pairs) > 2 * min(pairs)
    assert generalized_separation_score(X, labels) == pytest.approx(min(pairs))


def test_degenerate_distances():
    labels = [0, 0, 1, 1]
    point = np.array([1.1, 2.3, 1e6])
    assert generalized_separation_score(np.tile(point, (4, 1)), labels) == 0.0
    apart = np.array([[0.0], [0.0], [3.0], [3.0]])
    assert generalized_separation_score(apart, labels) == 1.0
    assert generalized_separation_score([[0.0], [1.0]], ["a", "b"]) == 1.0
    # Two of three clusters in one point: the worst pair counts.
    assert precomputed_score([[0, 0, 1], [0, 0, 1], [1, 1, 0]], [0, 1, 2]) == 0.0


def test_distances_keep_their_digits_far_from_the_origin():
    X = np.arange(12.0).reshape(6, 2) ** 2
    labels = [0, 0, 0, 1, 1, 1]
    near = generalized_separation_score(X, labels)
    assert generalized_separation_score(X + 2.0**30, labels) == pytest.approx(near, rel=1e-12)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        (np.ones((2, 3)), r"square, got shape \(2, 3\)"),
        ([[0, 1], [2, 0]], "symmetric, got entries that differ from their mirror by 1"),
        ([[0, -3], [-3, 0]], "nonnegative, got -3"),
        ([[0, 1], [1, 0.5]], "zero on the diagonal, got 0.5"),
        ([[0, np.nan], [np.nan, 0]], "X contains NaN"),
    ],
)
def test_precomputed_refuses_what_is_no_distance(D, message):
    with pytest.raises(ValueError, match=message):
        precomputed_score(D, [0, 1])


def test_separation_score_names_bad_input():
    X = [[0.0], [1.0], [2.0]]
    with pytest.raises(ValueError, match=r"labels holds one cluster only \(every label is 'a'\)"):
        generalized_separation_score(X, ["a", "a", "a"])
    with pytest.raises(ValueError, match="X has 3 samples but labels has 2"):
        generalized_separation_score(X, [0, 1])
    with pytest.raises(ValueError, match="X contains NaN"):
        generalized_separation_score([[0.0], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="labels has NaN"):
        generalized_separation_score(X, [0, 1, np.nan])
    with pytest.raises(ValueError, match=r"gave distances from -1 to -1"):
        generalized_separation_score(X, [0, 1, 1], metric=lambda a, b: -1.0)
    with pytest.raises(ValueError, match="'metric' parameter"):
        generalized_separation_score(X, [0, 1, 1], metric="nearness")


# Margins


def minimax_probability_machine(A, B):
    """Separation probability and direction, from the scalar problem that is dual to (2).

    (s_1 + s_2)^2 is the smallest s_1^2 / t + s_2^2 / (1 - t), so that kappa^2 is the largest
    d' (S_1 / t + S_2 / (1 - t))^-1 d, concave in t.
    """
    d = A.mean(axis=0) - B.mean(axis=0)
    S, T = np.cov(A.T, bias=True), np.cov(B.T, bias=True)

    def direction(t):
        return np.linalg.solve(S / t + T / (1 - t), d)

    t = minimize_scalar(lambda t: -d @ direction(t), bounds=(1e-9, 1 - 1e-9), method="bounded").x
    w = direction(t)
    kappa2 = (w @ d / (np.sqrt(w @ S @ w) + np.sqrt(w @ T @ w))) ** 2
    return kappa2 / (1 + kappa2), w


def two_groups(seed, gap):
    rng = np.random.default_rng(seed)
    d = rng.integers(2, 5)
    n = rng.integers(d + 3, 40, size=2)
    A, B = (rng.normal(size=(m, d)) @ rng.normal(size=(d, d)) for m in n)
    normal = rng.normal(size=d)
    normal /= np.linalg.norm(normal)
    # Moved apart until a slab of width `gap` lies between them.
    return A + ((B @ normal).max() - (A @ normal).min() + gap) * normal, B


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("gap", [0.3, 3.0, 100.0])
def test_margin_bounds_the_separation_probability(seed, gap):
    A, B = two_groups(seed, gap)
    X, y = np.r_[A, B], np.repeat([1, 0], [len(A), len(B)])
    w = SVC(kernel="linear", C=1e6).fit(X / X.std(), y).coef_[0]
    margin = ((A @ w).min() - (B @ w).max()) / np.linalg.norm(w)
    assert margin >= 0.99 * gap
    sigma_max = np.sqrt(np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1])
    bound = separation_from_margin(margin, sigma_max, y.mean())
    assert bound == pytest.approx(separation_from_margin(margin, sigma_max, 1 - y.mean()))
    p, _ = minimax_probability_machine(A, B)
    assert 0 < bound <= p
    assert separation_from_margin(margin / 2, sigma_max, y.mean()) < bound


def test_margin_bound_is_attained_by_balanced_clusters_of_equal_spread():
    # Theorem 2, of which Theorem 4 is a case, is then an equality in the distance of the means.
    a = np.random.default_rng(0).normal(size=15)
    x = np.r_[a, a + 4.0]
    kappa = 4.0 / (2 * a.std())
    bound = separation_from_margin(4.0, x.std(), 0.5)
    assert bound == pytest.approx(kappa**2 / (1 + kappa**2), rel=1e-12)


@pytest.mark.parametrize("share", np.linspace(0.02, 0.98, 25))
def test_margin_bound_at_its_ends(share):
    widest = 1.7 / np.sqrt(share * (1 - share))  # two points, no spread within the clusters
    assert separation_from_margin(widest, 1.7, share) == pytest.approx(1.0, abs=1e-12)
    assert separation_from_margin(widest, 1.7, share) <= 1.0
    assert separation_from_margin(0.0, 1.7, share) == 0.0
    assert separation_from_margin(0.0, 0.0, share) == 0.0
    with pytest.raises(ValueError, match=r"margin=.* is impossible with sigma_max=1.7 and share="):
        separation_from_margin(1.001 * widest, 1.7, share)
    with pytest.raises(ValueError, match=r"impossible with sigma_max=0.0"):
        separation_from_margin(1.0, 0.0, share)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("gap", [-2.0, 0.3, 3.0])
def test_relative_margin_holds_for_the_samples_of_each_cluster(seed, gap):
    # The empirical distribution is one of those the theorem speaks of: no sampling error.
    A, B = two_groups(seed, gap)
    p, w = minimax_probability_machine(A, B)
    delta = w @ (A.mean(axis=0) - B.mean(axis=0))
    middle = w @ (A.mean(axis=0) + B.mean(axis=0)) / 2
    for rho in (0.0, 0.2, 0.5, 0.8, 1.0):
        share = relative_margin_share(p, rho)
        for side in (A @ w - middle, middle - B @ w):
            assert np.mean(side >= rho * delta / 2) >= share


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
def test_relative_margin_is_attained(rho):
    # Cluster 2 is a point at -1/2. Cluster 1 has mean 1/2, a part q of it just short of rho/2
    # and the rest at one point beyond: the distribution for which Chebyshev's bound is tight.
    q = 0.2
    low = rho / 2 - 1e-9
    high = (0.5 - q * low) / (1 - q)
    kappa = 1.0 / np.sqrt(q * (low - 0.5) ** 2 + (1 - q) * (high - 0.5) ** 2)
    share = relative_margin_share(kappa**2 / (1 + kappa**2), rho)
    assert share <= 1 - q  # what lies at rho/2 or farther
    assert share == pytest.approx(1 - q, abs=1e-6)


def test_relative_margin_at_its_ends():
    assert relative_margin_share(0.0, 0.0) == 0.0
    assert relative_margin_share(0.9, 1.0) == 0.0
    assert relative_margin_share(1.0, 0.5) == 1.0
    assert relative_margin_share(1.0, 1.0) == 1.0


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (separation_from_margin, (-1.0, 1.0, 0.5), "margin=-1.0"),
        (separation_from_margin, (np.inf, 1.0, 0.5), "margin=inf"),
        (separation_from_margin, (np.nan, 1.0, 0.5), "margin=nan"),
        (separation_from_margin, (1.0, -1.0, 0.5), "sigma_max=-1.0"),
        (separation_from_margin, (1.0, np.nan, 0.5), "sigma_max=nan"),
        (separation_from_margin, (1.0, 1.0, 0.0), "share=0.0"),
        (separation_from_margin, (1.0, 1.0, 1.0), "share=1.0"),
        (separation_from_margin, (1.0, 1.0, 12), "share=12"),
        (relative_margin_share, (1.5, 0.5), "separation_probability=1.5"),
        (relative_margin_share, (-0.1, 0.5), "separation_probability=-0.1"),
        (relative_margin_share, (np.nan, 0.5), "separation_probability=nan"),
        (relative_margin_share, (0.5, 1.5), "rho=1.5"),
        (relative_margin_share, (0.5, -0.5), "rho=-0.5"),
        (relative_margin_share, (0.5, np.nan), "rho=nan"),
    ],
)
def test_numbers_out_of_range_are_named(function, args, message):
    with pytest.raises(ValueError, match=message):
        function(*args)


# Separation probability of samples


def labelled_samples(seed=0, n=60, n_clusters=2):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_clusters
    return rng.normal(size=(n, 3)) + 2 * rng.normal(size=(n_clusters, 3))[labels], labels


def test_separation_is_that_of_the_worst_pair_by_the_minimax_probability_machine():
    X, labels = labelled_samples(n_clusters=3)
    pairs = [
        minimax_probability_machine(X[labels == a], X[labels == b])[0]
        for a, b in itertools.combinations(range(3), 2)
    ]
    assert max(pairs) > 1.1 * min(pairs)
    score = separation_probability_score(X, labels, reg=0)
    assert isinstance(score, float)
    assert score == pytest.approx(min(pairs), rel=1e-6)
    names = np.array(["fox", "ant", "owl"])[labels]
    assert separation_probability_score(X, names, reg=0) == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("score", [separation_probability_score, separation_lower_bound])
class TestSeparationOfSamples:
    def test_weight_is_repetition_and_zero_is_absence(self, score):
        X, labels = labelled_samples()
        weight = np.random.default_rng(1).integers(0, 3, size=len(X))
        labels[:5], weight[:5] = 2, 0  # a third cluster without weight does not count
        repeated = score(np.repeat(X, weight, axis=0), np.repeat(labels, weight))
        assert score(X, labels, sample_weight=weight) == pytest.approx(repeated, rel=1e-9)
        assert score(X, labels + (labels == 0) * 9, sample_weight=weight) == pytest.approx(
            repeated, rel=1e-9
        )

    def test_more_regularisation_separates_less(self, score):
        X, labels = labelled_samples()
        scores = [score(X, labels, reg=reg) for reg in (0, 0.1, 1.0, 10.0)]
        assert (np.diff(scores) < -1e-3).all()
        assert score(X, labels) == scores[1]

    @pytest.mark.parametrize("reg", [-1e-9, np.inf, np.nan])
    def test_reg_out_of_range_is_named(self, score, reg):
        with pytest.raises(ValueError, match=f"reg={reg} is negative or not finite"):
            score(*labelled_samples(), reg=reg)

    def test_one_cluster_is_refused(self, score):
        X, labels = labelled_samples()
        with pytest.raises(ValueError, match="labels has 1 cluster of positive weight"):
            score(X, np.zeros(len(X)))
        with pytest.raises(ValueError, match="labels has 1 cluster of positive weight"):
            score(X, labels, sample_weight=labels == 1)
        with pytest.raises(ValueError, match="labels has 59 samples but X has 60"):
            score(X, labels[1:])


def test_lower_bound_names_what_it_cannot_bound():
    X, labels = labelled_samples()
    with pytest.raises(ValueError, match="labels has 3 clusters and X 3 features"):
        separation_lower_bound(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match=r"coef has shape \(2,\) but X has 3 features"):
        separation_lower_bound(X, labels, coef=[1.0, 2.0])


def test_lower_bound_along_a_direction_knows_no_length():
    X, labels = labelled_samples()
    coef = np.array([1.0, -2.0, 0.5])
    bound = separation_lower_bound(X, labels, coef=coef)
    assert 0 < bound < separation_lower_bound(X, labels)
    assert separation_lower_bound(X, labels, coef=-7 * coef) == pytest.approx(bound, rel=1e-9)
    along = separation_lower_bound((X @ coef)[:, None], labels, reg=0)
    assert separation_lower_bound(X, labels, coef=coef, reg=0) == pytest.approx(along, rel=1e-9)


# Predicted validity


def validity_from_parts(X, y, rng):
    measures = Measures(Geometry(Frame.of(X)(X)), rng)
    y = np.unique(y, return_inverse=True)[1].astype(np.int32)
    sample = sample_features(measures, int(y.max()) + 1)
    return learned_validity().of_each([labelling_features(measures, y)], sample)[0]


def four_clouds(n=120):
    return make_blobs(n, centers=4, cluster_std=1.5, random_state=1)


def test_validity_is_what_the_trees_say_of_the_features():
    X, y = four_clouds()
    for seed in (0, 1, 7):
        expected = validity_from_parts(X, y, np.random.RandomState(seed))
        assert validity_score(X, y, random_state=seed) == expected
        assert validity_score(X, y, max_samples=len(X), random_state=seed) == expected
        assert validity_score(X, y, random_state=np.random.RandomState(seed)) == expected
    assert validity_score(X, y) == validity_score(X, y, random_state=0)
    assert validity_score(X.tolist(), y.tolist()) == validity_score(X, y)


def test_validity_of_many_samples_is_that_of_some():
    X, y = four_clouds(300)
    rng = np.random.RandomState(5)
    drawn = np.sort(rng.permutation(300)[:90])
    expected = validity_from_parts(X[drawn], y[drawn], rng)
    assert validity_score(X, y, max_samples=90, random_state=5) == expected
    X[~np.isin(np.arange(300), drawn)] = 0  # the others do not matter
    assert validity_score(X, y, max_samples=90, random_state=5) == expected


@pytest.mark.parametrize("make", [four_clouds, make_circles, make_moons], ids=lambda m: m.__name__)
def test_classes_are_more_valid_than_chance(make):
    X, y = make(200)
    rng = np.random.default_rng(0)
    chance = [validity_score(X, rng.permutation(y)) for _ in range(3)]
    assert validity_score(X, y) > max(chance)


def test_validity_takes_labels_of_any_name():
    X, y = four_clouds()
    expected = validity_score(X, y)
    for names in ([7, 5, -1, 6], ["fox", "ant", "owl", "bee"], [0.5, -3.0, 2.0, 1.0]):
        assert validity_score(X, np.array(names)[y]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("factor", "shift"), [(1e200, 0.0), (1e-200, 0.0), (1.0, 1e4)])
def test_place_and_unit_do_not_change_the_validity(factor, shift):
    X, y = four_clouds()
    before = X.copy()
    assert validity_score(factor * X + shift, y) == pytest.approx(validity_score(X, y), abs=1e-6)
    np.testing.assert_array_equal(X, before)


def test_validity_of_few_or_equal_samples_is_a_number():
    assert np.isfinite(validity_score([[0.0], [1.0], [5.0]], [0, 0, 1]))
    assert np.isfinite(validity_score(np.full((50, 60), 0.1), np.arange(50) % 3))


@pytest.mark.parametrize(
    ("X", "labels", "kwargs", "message"),
    [
        (np.eye(3), [0, 0, 0], {}, r"labels holds one cluster only \(every label is 0\)"),
        (np.eye(3), [0, 1, 2], {}, "labels has 3 clusters for 3 samples: pass"),
        (np.eye(3), [0, 1], {}, "X has 3 samples but labels has 2"),
        (np.eye(3), [[0, 1, 1]], {}, r"labels has shape \(1, 3\)"),
        (np.eye(3), [0, 1, np.nan], {}, "labels has NaN in 1 of 3"),
        ([[0.0], [np.nan], [1.0]], [0, 1, 1], {}, "X contains NaN"),
        ([[0.0], [np.inf], [1.0]], [0, 1, 1], {}, "X contains infinity"),
        ([[0.0], [1e301], [1.0]], [0, 1, 1], {}, r"values up to 1e\+301.*scale X down to 1e\+300"),
        (np.eye(3), [0, 1, 1], {"max_samples": 2}, "max_samples=2 of 3 samples are too few"),
        (np.eye(3), [0, 1, 1], {"max_samples": np.nan}, "max_samples=nan of 3 samples"),
        (
            np.eye(40),
            [0] * 39 + [1],
            {"max_samples": 3},
            "max_samples=3 of 40 samples were drawn, all from one of the 2 clusters",
        ),
    ],
)
def test_validity_names_what_it_cannot_score(X, labels, kwargs, message):
    with pytest.raises(ValueError, match=message):
        validity_score(X, labels, **kwargs)


def test_validity_refuses_sparse_samples():
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        validity_score(sparse.eye_array(4).tocsr(), [0, 0, 1, 1])
