"""Features of labellings against scikit-learn, SciPy and loops; what they do not depend on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, multivariate_normal, skew
from sklearn.metrics import davies_bouldin_score, silhouette_samples, silhouette_score

from separatrix.data.frames import Frame
from separatrix.similarity.geometry import Geometry
from separatrix.similarity.spanning_trees import spanning_tree
from separatrix.validity.features import (
    N_SILHOUETTE,
    N_VOTERS,
    NEAR,
    RIDGE,
    Measures,
    center_features,
    labelling_features,
    log_likelihoods,
    sample_features,
    silhouette_features,
    tree_features,
)
from support import correlated_groups

SEED = 3


def samples(n=90, n_features=4):
    X = correlated_groups(SEED, n=n, d=n_features)
    return Frame.of(X)(X)


def uneven_labels(X, n_clusters=3):
    """Clusters of different sizes that follow the samples to some extent."""
    X = X - X.mean(axis=0)
    along = X[:, 0] + 0.4 * X[:, -1]
    limits = np.quantile(along, np.linspace(0, 1, n_clusters + 1)[1:-1] ** 0.6)
    return np.searchsorted(limits, along).astype(np.int32)


def measures_of(X, seed=SEED):
    return Measures(Geometry(X), np.random.RandomState(seed))


@pytest.fixture(scope="module")
def told():
    """Samples, labels, what they share, and the features."""
    X = samples()
    y = uneven_labels(X)
    measures = measures_of(X)
    return X, y, measures, labelling_features(measures, y)


def assert_same(found, expected, *, but=(), tol=1e-7):
    assert found.keys() == expected.keys()
    for name in found.keys() - set(but):
        assert found[name] == pytest.approx(expected[name], abs=tol, rel=tol), name


# --- sizes --------------------------------------------------------------------------------------


def test_sizes(told):
    _, y, _, found = told
    shares = np.bincount(y) / len(y)
    assert len(set(shares)) == 3
    assert found["evenness"] == pytest.approx(entropy(shares) / np.log(3))
    assert found["smallest"] == pytest.approx(3 * shares.min())
    assert found["largest"] == shares.max()


# --- neighbours ---------------------------------------------------------------------------------


def test_purity_is_the_share_of_neighbors_in_the_same_cluster(told):
    _, y, measures, found = told
    near = measures.geometry.neighbors
    of_each = {
        n: np.array([np.mean([y[j] == y[i] for j in near[i, :n]]) for i in range(len(y))])
        for n in NEAR
    }
    for n in NEAR:
        assert found[f"purity {n}"] == pytest.approx(of_each[n].mean())
    chance = sum(np.mean(y == c) ** 2 for c in range(3))
    expected = (of_each[10].mean() - chance) / (1 - chance)
    assert found["purity over chance"] == pytest.approx(expected)
    of_clusters = [of_each[10][y == c].mean() for c in range(3)]
    assert found["least purity"] == pytest.approx(min(of_clusters))
    assert found["mean purity"] == pytest.approx(np.mean(of_clusters))


def test_the_other_half_votes(told):
    _, y, measures, found = told
    order = np.random.RandomState(SEED).permutation(len(y))
    half = np.isin(np.arange(len(y)), order[: len(y) // 2])
    right = np.zeros(len(y))
    for i, near in enumerate(measures.geometry.neighbors):
        voters = [j for j in near if half[j] != half[i]][:N_VOTERS]
        counts = np.bincount(y[voters], minlength=3)
        winners = np.flatnonzero(counts == counts.max())
        right[i] = (y[i] in winners) / len(winners)
    assert 0 < right.mean() < 1
    assert found["confirmed"] == pytest.approx(right.mean())
    assert found["least confirmed"] == pytest.approx(min(right[y == c].mean() for c in range(3)))


def test_borders_are_pairs_of_near_samples_in_different_clusters(told):
    _, y, measures, found = told
    near = measures.geometry.neighbors[:, :10]
    away = measures.geometry.distances[:, :10]
    reach = away[:, -1]
    density, stretch, crossing = [], [], []
    for i in range(len(y)):
        for j, distance in zip(near[i], away[i], strict=True):
            density.append(min(-np.log(reach[i]), -np.log(reach[j])))
            stretch.append(distance / np.sqrt(reach[i] * reach[j]))
            crossing.append(y[i] != y[j])
    density, stretch, crossing = map(np.array, (density, stretch, crossing))
    at_border = crossing.reshape(near.shape).any(axis=1)
    assert 0 < at_border.mean() < 1
    assert found["border share"] == pytest.approx(at_border.mean())
    assert found["border density"] == pytest.approx(density[crossing].mean() - density.mean())
    expected = np.log(stretch[crossing].mean() / stretch.mean())
    assert found["border length"] == pytest.approx(expected)


def test_density_between_and_within_clusters(told):
    _, y, measures, found = told
    density = -np.log(measures.geometry.distances[:, 9])
    means, deviations = zip(
        *[(density[y == c].mean(), density[y == c].std()) for c in range(3)], strict=True
    )
    assert found["density between"] == pytest.approx(np.std(means))
    expected = np.average(deviations, weights=np.bincount(y))
    assert found["density within"] == pytest.approx(expected)


# --- graphs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["graph", "shared graph", "whitened graph"])
def test_modularity_and_cuts_of_the_dense_graph(told, name):
    _, y, measures, found = told
    geometry = measures.geometry
    W = {
        "graph": geometry.graph,
        "shared graph": geometry.shared_graph,
        "whitened graph": geometry.whitened.shared_graph,
    }[name].toarray()
    degrees, together = W.sum(axis=1), y[:, None] == y
    more = W - np.outer(degrees, degrees) / W.sum()
    assert found[f"{name} modularity"] == pytest.approx((more * together).sum() / W.sum())
    lost = [W[y == c][:, y != c].sum() / W[y == c].sum() for c in range(3)]
    assert found[f"{name} cut"] == pytest.approx(np.mean(lost))
    assert found[f"{name} largest cut"] == pytest.approx(max(lost))


# --- Gaussians ----------------------------------------------------------------------------------


def covariances_of(parts, kind):
    """Covariances of parts, without a ridge, of one kind."""
    own = [np.cov(part.T, ddof=0) for part in parts]
    if kind == "tied":
        return [np.average(own, axis=0, weights=[len(part) for part in parts])] * len(parts)
    if kind == "diagonal":
        return [np.diag(np.diagonal(one)) for one in own]
    if kind == "spherical":
        return [np.mean(np.diagonal(one)) * np.eye(len(one)) for one in own]
    return own


def mean_log_density(X, y, kind, ridge):
    """Mean log density of samples in their clusters, with the shares of the clusters."""
    parts = [X[y == c] for c in np.unique(y)]
    sums = 0.0
    for part, covariance in zip(parts, covariances_of(parts, kind), strict=True):
        gaussian = multivariate_normal(part.mean(axis=0), covariance + ridge * np.eye(X.shape[1]))
        sums += gaussian.logpdf(part).sum() + len(part) * np.log(len(part) / len(X))
    return sums / len(X)


KINDS = ("full", "diagonal", "spherical", "tied")


def test_likelihoods_are_those_of_scipy_but_for_a_constant():
    X = samples()
    y = uneven_labels(X)
    found = log_likelihoods(X, y, 3, 0.05)
    constant = 0.5 * X.shape[1] * np.log(2 * np.pi)
    expected = [mean_log_density(X, y, kind, 0.05) + constant for kind in KINDS]
    np.testing.assert_allclose(found, expected)


def test_likelihood_features_are_gains_over_one_cluster(told):
    X, y, _, found = told
    n_samples, n_features = X.shape
    ridge = RIDGE * X.var(axis=0).mean()
    for kind in KINDS:
        gain = mean_log_density(X, y, kind, ridge) - mean_log_density(X, 0 * y, kind, ridge)
        assert found[f"{kind} likelihood"] == pytest.approx(gain / n_features)
    n_more = 2 * (n_features + n_features * (n_features + 1) / 2)  # parameters of two clusters
    cost = 0.5 * n_more * np.log(n_samples) / n_samples
    expected = found["full likelihood"] - cost / n_features
    assert found["information criterion"] == pytest.approx(expected)


# --- centres and silhouettes --------------------------------------------------------------------


def test_davies_bouldin_is_that_of_scikit_learn_where_clusters_are_rings():
    """Radii are root mean squares here and means there: the same on circles."""
    rng = np.random.default_rng(0)
    angles = np.arange(12) * np.pi / 6
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    radii, centers = rng.uniform(0.5, 2, size=4), 3 * rng.normal(size=(4, 2))
    X = np.vstack([center + r * circle for center, r in zip(centers, radii, strict=True)])
    X -= X.mean(axis=0)
    y = np.repeat(np.arange(4, dtype=np.int32), 12)
    found = center_features(measures_of(X), y, 4)
    assert np.exp(found["log Davies-Bouldin"]) == pytest.approx(davies_bouldin_score(X, y))


def test_centers(told):
    X, y, _, found = told
    centers = np.array([X[y == c].mean(axis=0) for c in range(3)])
    squares = np.array([((X[y == c] - centers[c]) ** 2).sum() for c in range(3)])
    radii = np.sqrt(squares / np.bincount(y))
    away = np.linalg.norm(centers[:, None] - centers, axis=2)
    worst = [max((radii[a] + radii[b]) / away[a, b] for b in range(3) if b != a) for a in range(3)]
    assert np.exp(found["log Davies-Bouldin"]) == pytest.approx(np.mean(worst))
    total = ((X - X.mean(axis=0)) ** 2).sum()
    assert found["explained variance"] == pytest.approx(1 - squares.sum() / total)
    nearest = away[np.triu_indices(3, 1)].min() / np.median(radii)
    assert np.exp(found["nearest centers"]) == pytest.approx(nearest)


def test_silhouettes_are_those_of_scikit_learn(told):
    X, y, measures, found = told
    places = measures.geometry.embedding(3, "shared_graph")
    for rows, name in ((X, "silhouette"), (places, "embedded silhouette")):
        values = silhouette_samples(rows, y)
        assert found[name] == pytest.approx(silhouette_score(rows, y))
        expected = min(values[y == c].mean() for c in range(3))
        assert found[f"least {name}"] == pytest.approx(expected)


def test_silhouette_of_a_single_sample_is_zero(told):
    X, y, measures, _ = told
    y = y.copy()
    y[0] = 3
    found = silhouette_features(measures.distances, y, 4, "silhouette")
    values = silhouette_samples(X, y)
    assert values[0] == 0
    assert found["silhouette"] == pytest.approx(values.mean())


def test_silhouette_of_many_samples_looks_at_some():
    X = samples(N_SILHOUETTE + 200, n_features=2)
    y = uneven_labels(X)
    measures = measures_of(X)
    drawn = np.sort(np.random.RandomState(SEED).permutation(len(X))[:N_SILHOUETTE])
    np.testing.assert_array_equal(measures.drawn, drawn)
    found = silhouette_features(measures.distances, y[drawn], 3, "silhouette")
    assert found["silhouette"] == pytest.approx(silhouette_score(X[drawn], y[drawn]))


def test_silhouette_does_not_mind_clusters_of_which_no_sample_is_drawn(told):
    _, y, measures, _ = told
    found = silhouette_features(measures.distances, y, 3, "silhouette")
    assert silhouette_features(measures.distances, 2 * y, 6, "silhouette") == pytest.approx(found)
    alone = silhouette_features(measures.distances, 0 * y, 3, "silhouette")
    assert alone == {"silhouette": 0.0, "least silhouette": 0.0}


# --- trees --------------------------------------------------------------------------------------


def plain_tree_features(tree, y):
    """Features of a tree from lists of its links."""
    n_clusters, links = y.max() + 1, list(zip(tree.ends.tolist(), tree.lengths, strict=True))
    cut = [length for (i, j), length in links if y[i] != y[j]]
    places = [at for at, ((i, j), _) in enumerate(links) if y[i] != y[j]]
    middle = sorted(tree.lengths)[len(links) // 2]
    validity, gaps = 0.0, []
    for c in range(n_clusters):
        inside = sorted(length for (i, j), length in links if y[i] == c == y[j])
        leaving = [length for (i, j), length in links if (y[i] == c) != (y[j] == c)]
        typical = inside[min(int(0.95 * len(inside)), len(inside) - 1)] if inside else 0.0
        longest = inside[-1] if inside else 0.0
        shortest = min(leaving)
        validity += np.mean(y == c) * (shortest - typical) / max(shortest, typical)
        gaps.append(min(shortest / longest, 20) if longest else 20)
    return {
        "t cuts": np.log(len(cut) / (n_clusters - 1)),
        "t cut length": np.log(np.mean(cut) / middle),
        "t least cut": np.log(min(cut) / middle),
        "t cut place": (np.mean(places) + 0.5) / len(links),
        "t validity": validity,
        "t gap": np.log(max(min(gaps), 1e-3)),
    }


@settings(max_examples=30, deadline=None)
@given(n=st.integers(3, 25), n_clusters=st.integers(2, 5), seed=st.integers(0, 1_000))
def test_tree_features_are_those_of_lists_of_links(n, n_clusters, seed):
    rng = np.random.default_rng(seed)
    tree = spanning_tree(rng.normal(size=(n, 2)))
    y = np.unique(np.r_[0, 1, rng.integers(0, n_clusters, n - 2)], return_inverse=True)[1]
    y = y.astype(np.int32)
    shares = np.bincount(y) / n
    assert_same(tree_features(tree, y, shares, "t"), plain_tree_features(tree, y), tol=1e-6)


def test_both_trees_are_looked_at(told):
    _, y, measures, found = told
    shares = np.bincount(y) / len(y)
    for name, tree in (
        ("tree", measures.geometry.tree),
        ("core tree", measures.geometry.core_tree),
    ):
        expected = tree_features(tree, y, shares, name)
        assert {key: found[key] for key in expected} == expected


# --- the samples --------------------------------------------------------------------------------


def test_sample_features_are_what_they_are_called():
    X = samples(200)
    X[:20] = X[20:40]
    measures = measures_of(X)
    found = sample_features(measures, 4)
    for name, value in (("n", 200), ("d", 4), ("k", 4), ("n/k", 50)):
        assert found[f"log {name}"] == pytest.approx(np.log(value))
    assert found["distinct"] == 0.9
    assert found["skew"] == pytest.approx(np.abs(skew(X)).mean())
    reach = measures.geometry.distances[:, 9]
    assert found["spread of density"] == pytest.approx(np.log(reach).std())


@pytest.mark.parametrize("n_dimensions", [1, 2, 4])
def test_dimension_is_that_of_the_surface(n_dimensions):
    """Where density is uniform, log(r_k / r_j) is one over the dimension on average."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(8, n_dimensions)))[0]
    X = rng.random((2_000, n_dimensions)) @ turn.T
    found = sample_features(measures_of(X - X.mean(axis=0)), 2)
    assert np.exp(found["log dimension"]) == pytest.approx(n_dimensions, rel=0.2)


# --- what features do not depend on -------------------------------------------------------------


def features_of(X, y):
    X = Frame.of(X)(X)
    measures = measures_of(X)
    return labelling_features(measures, y), sample_features(measures, int(y.max()) + 1)


def test_numbers_of_clusters_do_not_matter(told):
    _, y, measures, found = told
    for order in ([2, 0, 1], [1, 0, 2]):
        renamed = np.array(order, dtype=np.int32)[y]
        assert_same(labelling_features(measures, renamed), found, tol=1e-9)


@settings(max_examples=10, deadline=None)
@given(shift=st.floats(-1e3, 1e3), exponent=st.integers(-60, 60))
def test_place_and_unit_do_not_matter(shift, exponent):
    X = samples(60)
    y = uneven_labels(X)
    for found, expected in zip(
        features_of((X + shift) * 10.0**exponent, y), features_of(X, y), strict=True
    ):
        assert_same(found, expected, tol=1e-5)


def test_a_turn_matters_to_single_columns_alone():
    X = samples()
    y = uneven_labels(X)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    for found, expected, but in zip(
        features_of(X @ turn, y),
        features_of(X, y),
        ({"diagonal likelihood"}, {"skew"}),
        strict=True,
    ):
        assert_same(found, expected, but=but, tol=1e-5)


# halves are drawn anew
OF_HALVES = {"confirmed", "least confirmed"}


def test_order_of_samples_matters_to_halves_alone():
    X = samples()
    y = uneven_labels(X)
    order = np.random.default_rng(0).permutation(len(y))
    found, sample = features_of(X[order], y[order])
    expected, expected_sample = features_of(X, y)
    assert_same(found, expected, but=OF_HALVES)
    assert_same(sample, expected_sample)


# --- few samples, equal samples -----------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(3, 16),
    n_features=st.integers(1, 3),
    n_values=st.integers(1, 5),
    n_clusters=st.integers(2, 16),
    seed=st.integers(0, 1_000),
)
def test_all_features_are_numbers(told, n, n_features, n_values, n_clusters, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, size=(n, n_features)).astype(float)
    labels = np.r_[0, 1, rng.integers(0, n_clusters, n - 2)]
    y = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    found, sample = features_of(X, y)
    assert found.keys() == told[-1].keys()
    for name, value in (found | sample).items():
        assert np.isfinite(value), name


@pytest.mark.parametrize("n_features", [1, 60])
def test_features_of_equal_samples_are_numbers(n_features):
    y = np.repeat(np.arange(3, dtype=np.int32), [400, 49, 1])
    found, sample = features_of(np.full((450, n_features), 0.1), y)
    assert np.isfinite([*found.values(), *sample.values()]).all()
    assert sample["distinct"] == pytest.approx(1 / 450)
    assert found["silhouette"] == 0


def test_one_sample_far_off_does_not_spoil_the_features():
    X = np.vstack([samples(60), np.full((1, 4), 1e9)])
    y = np.r_[uneven_labels(X[:60]), 3].astype(np.int32)
    found, sample = features_of(X, y)
    assert np.isfinite([*found.values(), *sample.values()]).all()
    assert found["smallest"] == pytest.approx(4 / 61)
