"""Choosing without labels: scores against their definitions, votes against brute force."""

import pickle
import warnings

import numpy as np
import pytest
from numpydoc.validate import validate
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.callback import FitCallback
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix.criteria.volume import MaximumVolumeClustering
from separatrix.selection import auto as selection
from separatrix.selection import consensus, number_of_clusters, validity
from separatrix.selection.auto import AutoClustering
from separatrix.selection.candidates import default_candidates, named_candidates, run_candidates
from separatrix.selection.comparison import Comparison, compare_clusterings
from separatrix.selection.linkage import chained_labels
from separatrix.similarity.graphs import similarity_graph

CENTERS = [[0, 0], [0, 9], [9, 0]]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=CENTERS, random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    return AutoClustering(3).fit(blobs[0])


# --- scores -------------------------------------------------------------------------------------


HOMES = {"AutoClustering": "auto", "Comparison": "comparison", "compare_clusterings": "comparison"}


def test_scores_are_what_they_are_called():
    X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=1)
    found = validity.scores_of(X, [y], np.random.RandomState(0))
    neighbors, modularity, cut, likelihood, _ = (found[name][0] for name in found)
    halves = np.array_split(np.random.RandomState(0).permutation(60), 2)
    agree = [
        KNeighborsClassifier(10).fit(X[b], y[b]).predict(X[a]) == y[a]
        for a, b in (halves, halves[::-1])
    ]
    assert neighbors == pytest.approx(np.mean(np.concatenate(agree)))
    W = similarity_graph(X, affinity="local", graph="union", n_neighbors=10).W.toarray()
    degrees, together = W.sum(axis=1), y[:, None] == y
    expected = W - np.outer(degrees, degrees) / W.sum()
    assert modularity == pytest.approx((expected * together).sum() / W.sum())
    lost = [W[y == c][:, y != c].sum() / W[y == c].sum() for c in range(3)]
    assert cut == pytest.approx(-sum(lost))
    ridge = validity.RIDGE * X.var(axis=0).mean() * np.eye(2)
    density = [
        multivariate_normal(X[y == c].mean(axis=0), np.cov(X[y == c].T, ddof=0) + ridge).logpdf(
            X[y == c]
        )
        + np.log(np.mean(y == c))
        for c in range(3)
    ]
    assert likelihood == pytest.approx(np.mean(np.concatenate(density)))


def test_scores_do_not_depend_on_the_numbering():
    X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=1)
    numbered = [y, np.array([2, 0, 1])[y]]
    scores = validity.scores_of(X, numbered, np.random.RandomState(0))
    for name, (a, b) in scores.items():
        assert a == pytest.approx(b, abs=1e-9), name


@pytest.mark.parametrize("distance", [0.5, 3.0, 8.0])
def test_gap_is_the_distance_of_clusters_in_their_own_steps(distance):
    """Two clusters: their least distance over the longest step of the tighter one's own tree."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * np.repeat([[1.0], [0.3]], 30, axis=0)
    X[30:, 0] += distance
    y = np.repeat([0, 1], 30)
    between = cdist(X[:30], X[30:]).min()
    longest = min(
        minimum_spanning_tree(squareform(pdist(part))).max() for part in (X[:30], X[30:])
    )
    found = validity.gap_between(y, validity.links_of(X))
    ends, _ = validity.links_of(X)
    apart = (y[ends[:, 0]] != y[ends[:, 1]]).sum() == 1
    assert found == pytest.approx(between / longest if apart else 0.0)
    assert (found > 1) == (distance > 1)


def test_gap_of_special_clusterings():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [5.0], [5.0]])
    links = validity.links_of(X)
    assert validity.gap_between(np.zeros(6, int), links) == 0
    assert validity.gap_between(np.array([0, 0, 1, 1, 2, 2]), links) == np.inf
    assert validity.gap_between(np.array([0, 0, 0, 0, 1, 1]), links) == np.inf
    assert validity.gap_between(np.array([0, 0, 1, 1, 0, 0]), links) == 0  # 0 is in two pieces
    assert np.isnan(validity.gap_between(np.zeros(6, int), None))
    many = np.vstack([np.arange(30.0)[:, None], [[90.0], [90.1]]])
    few = np.repeat([0, 1], [30, 2])  # a pair is no cluster beside thirty
    assert validity.gap_between(few, validity.links_of(many)) == 0


def test_few_methods_may_find_clusters_that_lie_apart():
    """Two rings within each other, of which most candidates see halves."""
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X, y = np.vstack([ring, 1.3 * ring]), np.repeat([0, 1], 100)
    model = AutoClustering(2).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.gap_ > 1
    assert model.agreement_ < 0.85
    assert model.agreement_words_ == consensus.APART
    assert model.candidates_.apart[model.candidates_.names.index(model.best_candidate_)]
    assert not model.candidates_.apart.all()


@pytest.mark.parametrize(("n_samples", "n_clusters"), [(20, 2), (50, 3), (100, 2), (300, 6)])
def test_chance_makes_gaps(n_samples, n_clusters):
    """Along a line the cuts at the longest links have a gap above one, but seldom this wide."""
    rng = np.random.default_rng(0)
    gaps = []
    for X in rng.random((100, n_samples, 1)):
        links = validity.links_of(X)
        gaps.append(validity.gap_between(chained_labels(links[0], n_clusters), links))
    assert np.mean(np.greater(gaps, 1)) > 0.2
    assert np.mean(gaps > validity.chance_gap(n_samples, n_clusters)) < 0.1


@pytest.mark.parametrize("n_clusters", [2, None])
def test_no_structure_is_not_called_strong(n_clusters):
    for seed in range(3):
        X = np.random.default_rng(seed).random((100, 1))
        words = AutoClustering(n_clusters).fit(X).agreement_words_
        assert words != consensus.APART
    assert AutoClustering(11).fit(X[:12]).agreement_words_ != consensus.APART


def test_degenerate_clusterings():
    assert validity.is_degenerate(np.zeros(10, int), 2)
    assert validity.is_degenerate(np.array([0] * 99 + [1]), 2)  # less than a twentieth of 50
    assert not validity.is_degenerate(np.array([0] * 97 + [1] * 3), 2)


# --- agreement and votes ------------------------------------------------------------------------


def test_agreement_counts_each_pair_of_families_once():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(4, 50))
    families = ["a", "a", "b", "c"]
    matrix = consensus.agreement_matrix(labels)
    for i in range(4):
        for j in range(4):
            assert matrix[i, j] == pytest.approx(adjusted_rand_score(labels[i], labels[j]))
    expected = np.mean(
        [(matrix[0, 2] + matrix[1, 2]) / 2, (matrix[0, 3] + matrix[1, 3]) / 2, matrix[2, 3]]
    )
    assert consensus.agreement_between_families(matrix, families) == pytest.approx(expected)
    assert np.isnan(consensus.agreement_between_families(np.eye(2), ["a", "a"]))


@pytest.mark.parametrize(("one", "other"), [(1, 1), (1, 3), (2, 2), (7, 3), (40, 1), (40, 40)])
def test_adjusted_rand_index_is_that_of_sklearn(one, other):
    rng = np.random.default_rng(one)
    a, b = rng.permutation(np.arange(40) % one), rng.permutation(np.arange(40) % other)
    for labels in ((a, b), (a, a)):
        expected = adjusted_rand_score(*labels)
        assert consensus.adjusted_rand_index(*labels) == pytest.approx(expected)


def test_support_is_the_mean_over_other_families():
    agreement = consensus.agreement_matrix(np.random.default_rng(1).integers(3, size=(5, 40)))
    families, usable = ["a", "a", "b", "c", "c"], np.array([True, True, True, True, False])
    found = consensus.support_by_others(agreement, families, usable)
    assert found[0] == pytest.approx(np.mean([agreement[0, 2], agreement[0, 3]]))
    expected = np.mean([(agreement[2, 0] + agreement[2, 1]) / 2, agreement[2, 3]])
    assert found[2] == pytest.approx(expected)
    alone = consensus.support_by_others(np.eye(2), ["a", "a"], np.ones(2, dtype=bool))
    np.testing.assert_array_equal(alone, 0)


def test_kinds_of_evidence_count_alike():
    rows = dict.fromkeys(validity.SCORES, np.zeros(3))
    rows |= {"neighbors": [1, 2, 3], "modularity": [1, 3, 2], "likelihood": [3, 1, 2]}
    rows = {name: np.asarray(row, dtype=float) for name, row in rows.items()}
    found = consensus.mean_ranks(rows, np.ones(3, dtype=bool))
    np.testing.assert_allclose(found, [(1 + 3 + 2) / 9, (2.5 + 1 + 2) / 9, (2.5 + 2 + 2) / 9])
    rows["gap"] = np.array([0.0, 2.0, 2.0])
    first, second, third = consensus.mean_ranks(rows, np.array([True, True, False]))
    assert second > 1 > first
    assert third == 0


def test_words_cover_all_agreements_in_order():
    values = np.linspace(-0.5, 1, 61)
    words = [consensus.agreement_words(value).split(":")[0] for value in values]
    assert list(dict.fromkeys(words)) == ["none", "weak", "moderate", "strong"]
    assert consensus.agreement_words(np.nan).startswith("unknown")
    assert consensus.agreement_words(0.2, gap=3.0, chance=2.0) == consensus.APART
    assert consensus.agreement_words(0.2, gap=1.5, chance=2.0) == consensus.PARTED
    assert consensus.agreement_words(0.6, gap=1.5, chance=2.0).startswith("moderate")
    assert consensus.agreement_words(0.9, gap=3.0, chance=2.0) == consensus.WORDS[0][1]


def test_a_copy_of_a_candidate_in_its_family_changes_no_other_weight():
    scores = dict(zip(validity.SCORES, np.random.default_rng(0).normal(size=(6, 3)), strict=True))
    ranks = consensus.mean_ranks({**scores, "gap": np.zeros(3)}, np.ones(3, dtype=bool))
    weights = consensus.family_weights(["a", "b", "c"])
    np.testing.assert_allclose(weights, 1 / 3)
    np.testing.assert_allclose(consensus.family_weights(["a", "a", "b"]), [0.25, 0.25, 0.5])
    heavier = consensus.consensus_weights(ranks, ["a", "b", "c"])
    assert heavier.sum() == pytest.approx(1)
    np.testing.assert_array_equal(np.argsort(heavier), np.argsort(ranks))


def test_consensus_minimises_the_weighted_disagreement():
    """Against all splits of nine samples in two."""
    rng = np.random.default_rng(3)
    labels = (rng.random((5, 9)) < 0.3) ^ np.array([0, 0, 0, 0, 1, 1, 1, 1, 1], bool)
    labels, weights = labels.astype(int), rng.dirichlet(np.ones(5))
    differ = sum(w * (y[:, None] != y) for y, w in zip(labels, weights, strict=True))

    def scatter(split):
        return sum(
            differ[np.ix_(split == c, split == c)].sum() / max(1, (split == c).sum())
            for c in (0, 1)
        )

    splits = [np.array(list(f"{number:09b}")).astype(int) for number in range(1, 256)]
    found = consensus.consensus_labels(labels, weights, 2, np.random.RandomState(0))
    assert scatter(found) == pytest.approx(min(map(scatter, splits)))


def test_equal_candidates_are_their_own_consensus():
    y = np.repeat([0, 1, 2], [5, 7, 9])
    turned = np.array([1, 2, 0])[y]
    found = consensus.consensus_labels([y, turned], [0.5, 0.5], 3, np.random.RandomState(0))
    assert adjusted_rand_score(found, y) == 1
    shares = consensus.vote_shares(y, [y, turned], [0.5, 0.5], 3)
    np.testing.assert_allclose(shares, np.eye(3)[y])


def test_vote_shares_count_the_matched_votes():
    elected = np.array([0, 0, 0, 1, 1, 1])
    other = np.array([1, 1, 0, 0, 0, 0])  # numbered the other way, and one sample elsewhere
    shares = consensus.vote_shares(elected, [elected, other], [0.75, 0.25], 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[np.arange(6), elected], [1, 1, 0.75, 1, 1, 1])


# --- comparison ---------------------------------------------------------------------------------


def test_comparison_holds_what_the_candidates_find(blobs):
    X, _ = blobs
    seen = []
    found = compare_clusterings(
        X,
        {"k-means": KMeans(n_init=3), "volume": MaximumVolumeClustering()},
        n_clusters=3,
        random_state=0,
        on_candidate=lambda *args: seen.append(args),
    )
    assert found.names == ["k-means", "volume"]
    assert found.families == ["KMeans", "MaximumVolumeClustering"]
    assert found.labels.shape == (2, len(X))
    assert set(found.scores) == set(validity.SCORES)
    assert seen == [("k-means", 1, 2), ("volume", 2, 2)]
    table = str(found)
    assert all(name in table for name in [*found.names, *found.scores, "agreement"])
    frame = found.to_dataframe()
    assert set(frame.index) == set(found.names)
    assert frame["rank"].is_monotonic_decreasing
    assert frame.index[0] == found.best


def test_comparison_prefers_what_follows_the_gaps():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    estimators = [KMeans(2, n_init=3), MaximumVolumeClustering(2)]
    assert compare_clusterings(X, estimators, random_state=0).best == "MaximumVolumeClustering"


def test_number_of_jobs_changes_nothing(blobs):
    X = blobs[0][::2]
    estimators = [KMeans(n_init=1), KMeans(n_init=2)]
    a, b = (
        compare_clusterings(X, estimators, n_clusters=4, n_jobs=jobs, random_state=3)
        for jobs in (1, 2)
    )
    assert a.names == b.names == ["KMeans", "KMeans 2"]
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.ranks, b.ranks)


def test_candidates_that_fail_are_named_and_not_used(blobs):
    class Failing(KMeans):
        def fit_predict(self, X, y=None):
            raise ValueError("no such luck")

    estimators = [Failing(3), KMeans(3, n_init=1)]
    for n_clusters in (3, None):
        found = compare_clusterings(blobs[0], estimators, n_clusters=n_clusters)
        np.testing.assert_array_equal(found.usable, [False, True])
        np.testing.assert_array_equal(found.failed, [True, False])
        assert found.notes[0] == "failed: no such luck"
        assert found.ranks[0] == 0
        assert all(np.isnan(column[0]) for column in found.scores.values())
        assert "not used" in str(found)
        assert np.isnan(found.family_agreement)
    poor = compare_clusterings(blobs[0], [Failing(), KMeans(1)], n_clusters=None)
    assert poor.best == "KMeans"  # of no use, but better than nothing
    with pytest.raises(ValueError, match="All 2 candidates failed; the first failed: no such"):
        compare_clusterings(blobs[0], [Failing(), Failing()])


def test_a_warning_is_no_failure(blobs):
    class Worried(KMeans):
        def fit_predict(self, X, y=None):
            warnings.warn("failed to converge", stacklevel=2)
            return super().fit_predict(X)

    found = compare_clusterings(blobs[0], [Worried(3), KMeans(3)], random_state=0)
    assert found.notes[0] == "failed to converge"
    np.testing.assert_array_equal(found.usable, True)


def test_labels_of_a_wrong_shape_fail(blobs):
    class Short(KMeans):
        def fit_predict(self, X, y=None):
            return np.zeros(7)

    found = compare_clusterings(blobs[0], [Short(), KMeans(3)])
    assert found.notes[0] == "failed: labels of shape (7,) for 120 samples"


def test_estimators_keep_their_own_number_of_clusters(blobs):
    found = compare_clusterings(blobs[0], [KMeans(2), KMeans(5)])
    np.testing.assert_array_equal(found.n_clusters, [2, 5])
    assert set(found.to_dataframe()["n_clusters"]) == {2, 5}
    assert repr(found) == str(found)


def test_noise_is_told(blobs):
    X = np.vstack([blobs[0], [[50.0, 50.0], [-50.0, 50.0]]])
    found = compare_clusterings(X, [DBSCAN(eps=2.0), KMeans(3)])
    assert found.notes[0] == "2 samples are noise, here one cluster."


def test_pipelines_are_as_good_as_their_last_step(blobs):
    """Its family, its number of clusters, and seeds."""
    X, _ = blobs
    pipeline = make_pipeline(StandardScaler(), PCA(1), KMeans(7, n_init=1, init="random"))
    a, b = (
        compare_clusterings(X, {1: pipeline, "b": KMeans(7)}, n_clusters=3, random_state=0)
        for _ in range(2)
    )
    assert a.names == ["1", "b"]
    assert a.families == ["KMeans", "KMeans"]
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.n_clusters, 3)
    again = clone(a.estimators[0]).fit_predict(X)
    assert adjusted_rand_score(again, a.labels[0]) == 1
    assert a.estimators[0][1].n_components == 1
    assert a.estimators[0][-1].random_state is not None
    assert pipeline[-1].n_clusters == 7
    with pytest.raises(TypeError, match=r"list or a dict of clusterers, got Pipeline"):
        compare_clusterings(X, pipeline)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 must be at least 1"),
        ({"n_clusters": 500}, "at most n_samples=120"),
        ({}, "pass n_clusters or estimators"),
        ({"estimators": []}, "estimators is empty"),
    ],
)
def test_what_cannot_be_compared_is_refused(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        compare_clusterings(blobs[0], **arguments)


def test_values_too_large_to_compute_with_are_refused(blobs):
    with pytest.raises(ValueError, match=r"values up to 1\.\d+e\+201, too large .* scale X"):
        compare_clusterings(1e200 * blobs[0], n_clusters=3)
    with pytest.raises(ValueError, match=r"scale X down to 1e\+300"):
        AutoClustering(3).fit(1e306 * blobs[0])
    assert compare_clusterings(1e138 * blobs[0], n_clusters=3, random_state=0).usable.any()


def test_comparison_plots_its_agreement(fitted):
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("separatrix.plots")
    display = fitted.candidates_.plot()
    np.testing.assert_array_equal(display.agreement, fitted.candidates_.agreement)
    plt.close("all")


def test_tiers_have_families_of_their_own(blobs):
    fast, thorough = (default_candidates(blobs[0], 3, tier) for tier in ("fast", "thorough"))
    assert set(fast) < set(thorough)
    assert len({family for family, _ in fast.values()}) >= 5
    assert named_candidates([KMeans(), KMeans()]).keys() == {"KMeans", "KMeans 2"}


def test_every_candidate_finds_blobs(blobs):
    X, y = blobs
    candidates = default_candidates(X, 3, "thorough")
    labels, _, notes, _ = run_candidates(
        candidates,
        X,
        n_clusters=3,
        n_jobs=None,
        rng=np.random.RandomState(0),
    )
    scores = {
        name: adjusted_rand_score(y, one) for name, one in zip(candidates, labels, strict=True)
    }
    assert {name: score for name, score in scores.items() if score < 0.9} == {}
    assert not any(note.startswith("failed") for note in notes)


# --- the estimator ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([AutoClustering()])
def test_sklearn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name",
    [
        "AutoClustering",
        "AutoClustering.fit",
        "AutoClustering.predict",
        "Comparison",
        "Comparison.plot",
        "Comparison.to_dataframe",
        "compare_clusterings",
    ],
)
def test_docstrings_follow_numpydoc(name):
    errors = validate(f"separatrix.selection.{HOMES[name.split('.')[0]]}.{name}")["errors"]
    assert [e for e in errors if e[0] not in {"ES01", "SA01", "EX01", "RT02"}] == []


def test_fit_sets_what_it_promises(blobs, fitted):
    X, y = blobs
    assert adjusted_rand_score(y, fitted.labels_) == 1
    sizes = np.bincount(fitted.labels_)
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert fitted.n_clusters_ == 3
    assert isinstance(fitted.candidates_, Comparison)
    assert fitted.best_candidate_ in fitted.candidates_.names
    assert adjusted_rand_score(y, fitted.best_candidate_labels_) == 1
    assert fitted.agreement_ == fitted.candidates_.family_agreement > 0.85
    assert fitted.agreement_words_.startswith("strong")
    assert not hasattr(fitted, "selection_curve_")
    assert fitted.confidence_.shape == (len(X),)
    assert (fitted.confidence_ > 0).all()
    assert (fitted.confidence_ <= 1).all()
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X + 0.1), fitted.predict(X + 0.1))
    again = clone(fitted).fit(X, np.arange(len(X)))
    np.testing.assert_array_equal(again.labels_, fitted.labels_)


def test_confidence_is_the_vote_share_of_families():
    X, _ = make_moons(150, noise=0.15, random_state=1)
    model = AutoClustering(2).fit(X)
    found = model.candidates_
    used = np.flatnonzero(found.usable)
    weights = consensus.family_weights([found.families[i] for i in used])
    expected = np.zeros(len(X))
    for i, weight in zip(used, weights, strict=True):
        same = found.labels[i] == model.labels_
        expected += weight * (same if same.mean() >= 0.5 else ~same)
    np.testing.assert_allclose(model.confidence_, expected, atol=1e-6)


def test_samples_beyond_the_most_follow_their_neighbours():
    X, y = make_blobs(900, centers=CENTERS, random_state=2)
    model = AutoClustering(3, max_samples=150).fit(X)
    assert len(model.sample_indices_) == 150
    assert model.candidates_.labels.shape[1] == 150
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    vote = KNeighborsClassifier(selection.N_VOTERS, weights=lambda d: 1 / np.maximum(d, 1e-9) ** 2)
    seen = model.sample_indices_
    expected = vote.fit(X[seen], model.labels_[seen]).predict(X)
    np.testing.assert_array_equal(model.labels_, expected)


def test_many_features_are_turned_into_few():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 200)) + 3 * np.outer(y, rng.normal(size=200) > 0)
    model = AutoClustering(2).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_unit_and_place_do_not_matter(scale):
    X = load_iris().data
    expected = AutoClustering(3).fit(X).labels_
    np.testing.assert_array_equal(AutoClustering(3).fit(scale * (X + 1)).labels_, expected)


def test_number_of_clusters_is_found_where_it_is_plain(blobs):
    model = AutoClustering().fit(blobs[0])
    assert model.n_clusters_ == model.plausible_n_clusters_[0] == 3
    assert model.n_clusters_words_.startswith("3: no other number comes near")
    assert list(model.selection_curve_) == list(range(2, 11))
    model.set_params(n_clusters=2).fit(blobs[0])
    assert not hasattr(model, "selection_curve_")


def test_most_isolated_clusters_are_counted():
    """Three rings within each other, which are two clusters, or three, with a wide gap."""
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    rings = np.vstack([ring, 2 * ring, 3 * ring])
    assert number_of_clusters.most_isolated(rings, [2, 3, 4, 5]) == 3
    assert number_of_clusters.most_isolated(rings, [2]) == 2
    assert number_of_clusters.most_isolated(ring, [2, 3]) is None
    assert AutoClustering(max_clusters=5).fit(rings).n_clusters_ == 3


def test_plausible_numbers_are_near_the_best():
    curve = {2: 0.5, 3: 0.55, 4: 0.1, 5: 0.52, 6: 0.51}
    assert selection.plausible_numbers(curve) == [3, 5, 6]
    assert selection.plausible_numbers({2: 1.0, 3: 1.0 - 1e-9, 4: 0.0}) == [3, 2]
    assert selection.plausible_numbers({2: 0.9, 3: 0.1}) == [2]


def test_one_cluster_is_no_question(blobs):
    model = AutoClustering(1).fit(blobs[0])
    assert not model.labels_.any()
    assert np.isnan(model.agreement_)
    assert model.best_candidate_ == "one cluster"
    np.testing.assert_allclose(model.confidence_, 1)
    np.testing.assert_array_equal(model.predict(blobs[0][:5]), 0)


def test_missing_clusters_are_told():
    X = np.repeat([[0.0, 0.0], [1.0, 2.0]], [30, 20], axis=0)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        model = AutoClustering(3).fit(X)
    assert len(np.unique(model.labels_)) == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 200}, "n_samples=120 .* n_clusters=200"),
        ({"n_clusters": 30, "max_samples": 20}, "max_samples=20 .* n_clusters=30"),
        ({"tier": "slow"}, "'tier' parameter"),
    ],
)
def test_what_cannot_work_is_refused(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoClustering(**parameters).fit(blobs[0])


def test_callbacks_see_candidates(blobs):
    class Recorder(FitCallback):
        def __init__(self):
            self.names = []

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            self.names.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            return False

    recorder = Recorder()
    model = AutoClustering(3).set_callbacks(recorder).fit(blobs[0])
    assert recorder.names == ["fit"] + ["candidate"] * len(model.candidates_.names)


def test_thorough_tier_runs_more(blobs):
    X, y = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AutoClustering(3, tier="thorough").fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert len(model.candidates_.names) > 11


@pytest.mark.parametrize("n_samples", [2, 3, 5, 9, 12])
@pytest.mark.parametrize("n_clusters", [None, 2])
def test_few_samples_are_clustered_or_the_warning_is_clear(n_samples, n_clusters):
    X = np.random.default_rng(n_samples).normal(size=(n_samples, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = AutoClustering(n_clusters).fit(X)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if len(np.unique(model.labels_)) < model.n_clusters_:
        assert "Fewer clusters" in str(caught[0].message)


def test_constant_samples_are_told():
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        AutoClustering(2).fit(np.ones((12, 3)))
