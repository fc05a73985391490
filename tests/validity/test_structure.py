"""The test for structure: what is measured, and what is found where."""

from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from scipy.special import ndtri
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from separatrix.metrics import structure_test
from separatrix.validity import structure as module
from separatrix.validity.structure import Structure, neighboring_clusters, valley_between, valleys

two_means = KMeans(2, n_init=2, random_state=0)
quick = partial(structure_test, n_draws=8)


def rings(n=80):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    noise = 0.05 * np.random.default_rng(0).normal(size=(2 * n, 2))
    return np.vstack([ring, 3 * ring]) + noise, np.repeat([0, 1], n)


# --- what is measured ---------------------------------------------------------------------------


def test_one_peak_has_no_valley_and_two_have():
    normal = ndtri((np.arange(500) + 0.5) / 500)  # without the noise of a sample
    assert valley_between(normal, normal > 0) == pytest.approx(0, abs=1e-9)
    depths = []
    for distance in (0.0, 3.0, 4.0, 8.0):
        values = np.concatenate([normal, normal + distance])
        depths.append(valley_between(values, values > distance / 2))
    assert depths == sorted(depths)
    assert depths[0] == pytest.approx(0, abs=1e-9)
    assert depths[-1] > 5


def exact_valley(values, first):
    """The formula, with a kernel for each value."""
    groups = values[first], values[~first]
    within = np.sqrt(sum(len(one) * one.var() for one in groups) / len(values))
    bandwidth = 0.9 * within * len(values) ** -0.2
    places = np.linspace(groups[0].mean(), groups[1].mean(), module.N_PLACES)
    f = np.exp(-0.5 * ((values[:, None] - places) / bandwidth) ** 2).sum(axis=0)
    depths = []
    for t in range(len(places)):
        peak = min(f[: t + 1].max(), f[t:].max())
        depths.append((peak - f[t]) / np.sqrt(peak + f[t]))
    return max(depths)


@pytest.mark.parametrize("n", [30, 500])
@pytest.mark.parametrize("distance", [1.0, 3.0, 9.0])
def test_rounded_values_have_the_valley_of_the_formula(n, distance):
    rng = np.random.default_rng(n)
    values = rng.standard_t(3, size=n)  # some of them far away
    values[rng.random(n) < 0.4] += distance
    first = values > distance / 2
    assert valley_between(values, first) == pytest.approx(exact_valley(values, first), abs=0.005)


def test_place_unit_and_names_of_groups_do_not_matter_to_a_valley():
    values = np.random.default_rng(0).normal(size=200)
    first = values > 0.1
    expected = valley_between(values, first)
    assert valley_between(7 - 3 * values, first) == pytest.approx(expected)
    assert valley_between(values, ~first) == pytest.approx(expected)


def test_groups_of_equal_values():
    values = np.repeat([0.0, 1.0], 8)
    assert valley_between(values, values > 0) == 4
    assert valley_between(np.ones(8), np.arange(8) > 3) == 0


def test_groups_of_one_mean_that_nothing_lies_near_have_no_valley():
    values = np.tile([-9.0, 9.0], 10_000)
    assert valley_between(values, np.arange(len(values)) < 10_000) == 0


@pytest.mark.parametrize("distance", [1e4, 1e9, 1e15])
def test_groups_however_far_apart_have_the_valley_of_near_ones(distance):
    values, first = np.random.default_rng(0).normal(size=100), np.arange(100) < 40
    expected = valley_between(values + 1e3 * ~first, first)
    assert valley_between(values + distance * ~first, first) == pytest.approx(expected, rel=0.1)


def test_stretching_an_axis_changes_no_valley(monkeypatch):
    monkeypatch.setattr(module, "RIDGE", 1e-12)
    X, labels = make_blobs(200, centers=3, n_features=3, random_state=0)
    turned = X @ np.random.default_rng(0).normal(size=(3, 3)) * 5
    assert valleys(turned, labels) == pytest.approx(valleys(X, labels), rel=1e-6)


def test_the_least_valley_of_each_cluster_counts():
    X, labels = make_blobs(150, centers=[[0, 0], [0, 4], [9, 0]], random_state=0)
    found = np.full((3, 3), np.inf)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = (labels == i) | (labels == j)
        found[i, j] = found[j, i] = valleys(X[both], (labels[both] == j).astype(int))
    # the ridge of a pair alone differs a little
    expected = np.bincount(labels) @ found.min(axis=1) / len(X)
    assert valleys(X, labels) == pytest.approx(expected, rel=0.05)


def test_neighbours_of_clusters_are_the_nearest():
    centers = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
    pairs = neighboring_clusters(centers)
    assert (0, 1) in pairs
    assert (0, 4) not in pairs
    assert len(neighboring_clusters(centers[:3])) == 3


# --- the test -----------------------------------------------------------------------------------


def test_clusters_are_found():
    X, labels = make_blobs(120, centers=[[0, 0], [6, 0]], random_state=0)
    for asked in (labels, np.array(["a", "b"])[labels], two_means):
        found = quick(X, asked)
        assert found.has_clusters
        assert found.words.startswith("clusters found")
    X, labels = rings()
    assert quick(X, labels).has_clusters


def test_labels_that_ignore_the_clusters_are_no_clusters():
    X, _ = make_blobs(120, centers=[[0, 0], [6, 0]], random_state=0)
    assert not quick(X, np.arange(120) % 2).has_clusters


def category(rng, n):
    return np.eye(4)[rng.integers(4, size=n)]


def ball(rng, n, d):
    X = rng.normal(size=(n, d))
    return X * rng.random((n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True)


NOISE = {
    "stretched": lambda rng: rng.normal(size=(150, 3)) * [9, 1, 1],
    "uniform": lambda rng: rng.random((150, 2)),
    "a ball": lambda rng: ball(rng, 400, 3),
    "heavy tails": lambda rng: rng.standard_t(3, size=(150, 3)),
    "skewed": lambda rng: rng.lognormal(size=(150, 3)),
    "one-hot": lambda rng: np.hstack([category(rng, 150), category(rng, 150)]),
    "a flag": lambda rng: np.column_stack([rng.normal(size=(150, 2)), rng.random(150) < 0.5]),
}


@pytest.mark.parametrize("kind", NOISE)
def test_no_clusters_are_found_in_noise(kind):
    X = NOISE[kind](np.random.default_rng(1)).astype(float)
    found = quick(X, two_means)
    assert not found.has_clusters
    assert found.words.startswith("no clusters found")


def test_p_values_of_noise_are_not_small():
    drawn = [np.random.default_rng(seed).normal(size=(60, 2)) for seed in range(8)]
    values = [quick(X, two_means).p_value for X in drawn]
    assert np.sum(np.array(values) < 0.05) <= 1
    assert np.mean(values) > 0.3


def test_the_seed_decides_and_neither_jobs_nor_units_do():
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = quick(X, two_means, random_state=3)
    assert quick(X, two_means, random_state=3).p_value == found.p_value
    with parallel_config(backend="threading"):
        assert quick(X, two_means, random_state=3, n_jobs=2).p_value == found.p_value
    assert quick(1e6 * (X + 1), two_means, random_state=3).p_value == pytest.approx(found.p_value)
    assert quick(X, two_means, random_state=4).p_value != found.p_value


def test_more_tables_are_drawn_where_few_leave_a_doubt(monkeypatch):
    X, labels = make_blobs(120, centers=[[0, 0], [9, 0]], random_state=0)
    assert len(structure_test(X, labels).null_statistics) == module.FIRST_DRAWS
    monkeypatch.setattr(module, "CLEAR", (0.0, 1.0))
    found, most = structure_test(X[:60], two_means), module.N_DRAWS[1]
    assert len(found.null_statistics) == most
    assert found.p_value == structure_test(X[:60], two_means, n_draws=most).p_value


def test_a_clusterer_sees_the_units_of_the_samples():
    X, _ = make_blobs(100, centers=[[0, 0], [9, 0]], random_state=0)
    clusterer = make_pipeline(FunctionTransformer(), DBSCAN(eps=3_000))
    assert quick(1_000 * X + 5, clusterer).has_clusters


def test_few_samples_and_equal_ones_have_no_clusters():
    for X in (np.arange(8.0)[:, None], np.ones((30, 2))):
        found = quick(X, np.arange(len(X)) % 2)
        assert found.p_value == 1
        assert found.words == "no clusters found, too few different samples to tell"
        assert str(found).endswith(found.words)


def test_many_samples_are_drawn_from():
    X, labels = make_blobs(300, centers=[[0, 0], [9, 0]], random_state=0)
    assert quick(X, labels, max_samples=60).has_clusters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_draws": 3}, "n_draws=3 must be at least 8"),
        ({"level": 1.5}, "level=1.5 must lie between 0 and 1"),
        ({"max_samples": 5}, "max_samples=5 must be at least 10"),
        ({"clustering": np.zeros(20)}, "clustering holds one cluster only"),
        ({"clustering": [0, 1]}, "X has 20 samples but clustering has 2"),
    ],
)
def test_what_cannot_work_is_refused(options, message):
    options = {"clustering": np.arange(20) % 2, **options}
    with pytest.raises(ValueError, match=message):
        structure_test(np.zeros((20, 2)), **options)


def test_a_result_prints_as_a_table():
    measures = {"valley": (3.0, 1.0, 0.5), "tree": (0.0, 0.0, 1.0), "graph": (-0.1, -0.2, 0.1)}
    found = Structure(4.0, np.zeros(16), 0.0004, "columns", measures)
    assert found.has_clusters
    assert "p < 0.001" in found.words
    text, page = str(found), found._repr_html_()
    assert "density falls between neighbouring clusters" in text
    assert "1.00 +- 0.50" in text
    assert page.startswith("<table>")
    assert "p &lt; 0.001" in page
    table = found.to_frame()
    assert list(table.index) == ["valley", "tree", "graph"]
    assert list(table.loc["valley"]) == [3.0, 1.0, 0.5]
    assert Structure(0.0, np.array([]), 1.0).to_frame().empty


@pytest.mark.parametrize(("p_value", "is_clear"), [(0.0005, True), (0.6, False), (0.9, True)])
def test_few_tables_are_enough_only_where_more_would_hardly_change_the_finding(
    monkeypatch, p_value, is_clear
):
    seen = []

    def tested(found, without, kind, level):
        seen.append(len(without))
        return Structure(0.0, np.zeros(len(without)), p_value, kind, {}, level)

    monkeypatch.setattr(module, "_test", tested)
    X = np.random.default_rng(0).normal(size=(30, 2))
    module.structure_of_samples(X, None, np.random.RandomState(0))
    assert (max(seen) == module.FIRST_DRAWS) == is_clear


@pytest.mark.parametrize(
    ("p_value", "told"),
    [(0.0004, "clusters found"), (0.05, "clusters likely"), (0.14, "clusters likely"),
     (0.15, "no clusters found")],
)  # fmt: skip
def test_words_claim_less_the_more_tables_look_alike(p_value, told):
    found = Structure(4.0, np.zeros(16), p_value)
    assert found.words.startswith(told)
    assert found.has_clusters == (p_value < 0.15)


def test_samples_of_two_values_have_no_three_clusters_and_cause_no_warning():
    X = np.repeat([0.41202404, -0.08273423], [8, 6])[:, None]
    found = module.structure_of_samples(X, None, np.random.RandomState(0))
    assert 0 <= found.p_value <= 1


def test_a_level_of_one_compares_with_all_kinds_of_tables():
    X = np.random.default_rng(0).normal(size=(60, 2))
    of_level = {
        level: module.structure_of_samples(X, None, np.random.RandomState(0), level)
        for level in (0.15, 1.0)
    }
    assert not of_level[0.15].has_clusters
    assert of_level[1.0].has_clusters
    assert of_level[1.0].p_value >= of_level[0.15].p_value
