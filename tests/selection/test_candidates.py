"""Candidates side by side: what is compared, named, refused and told."""

import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix.criteria.volume import MaximumVolumeClustering
from separatrix.metrics import validity_score
from separatrix.selection.auto import AutoClustering
from separatrix.selection.candidates import (
    SCORES,
    compare_clusterings,
    families_of,
    named_candidates,
    run_candidates,
)
from separatrix.selection.pool import default_candidates
from separatrix.similarity.geometry import Geometry


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
    assert set(found.scores) == set(SCORES)
    assert seen == [("k-means", 1, 2), ("volume", 2, 2)]
    table = str(found)
    assert all(name in table for name in [*found.names, *found.scores, "agreement"])
    frame = found.to_dataframe()
    assert set(frame.index) == set(found.names)
    assert frame["vote"].is_monotonic_decreasing
    assert found.votes.sum() == pytest.approx(1)
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
    np.testing.assert_array_equal(a.votes, b.votes)


def test_no_seed_is_the_seed_zero(blobs):
    estimators = [KMeans(7, n_init=1, init="random"), KMeans(5, n_init=1, init="random")]
    a, b, c = (compare_clusterings(blobs[0], estimators, random_state=s) for s in (None, 0, 1))
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.scores["neighbors"], b.scores["neighbors"])
    assert (a.labels != c.labels).any()


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
        assert found.votes[0] == 0
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


def test_notebooks_show_the_same_table(blobs):
    found = compare_clusterings(blobs[0], {"<few>": KMeans(2), "many & more": KMeans(5)})
    page = found._repr_html_()
    root = ElementTree.fromstring(f"<div>{page}</div>")
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    lines = str(found).splitlines()
    assert [" ".join(row).split() for row in rows] == [line.split() for line in lines[:-1]]
    assert root.find("p").text == lines[-1]


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


def test_comparison_plots_its_agreement(blobs):
    plt = pytest.importorskip("matplotlib.pyplot")
    plots = pytest.importorskip("separatrix.plots")
    found = compare_clusterings(blobs[0], [KMeans(3, n_init=1), KMeans(5, n_init=1)])
    display = plots.AgreementDisplay.from_comparison(found)
    np.testing.assert_array_equal(display.agreement, found.agreement)
    plt.close("all")


def test_tiers_have_families_of_their_own(blobs):
    fast, thorough = (default_candidates(tier) for tier in ("fast", "thorough"))
    assert set(fast) < set(thorough)
    assert len({one.family for one in fast.values()}) >= 5
    assert named_candidates([KMeans(), KMeans()]).keys() == {"KMeans", "KMeans 2"}


def test_every_candidate_finds_blobs(blobs):
    X, y = blobs
    candidates = families_of(default_candidates("thorough"))
    labels, _, notes, _ = run_candidates(
        candidates,
        X,
        Geometry(X),
        n_clusters=3,
        n_jobs=None,
        rng=np.random.RandomState(0),
    )
    scores = {
        name: adjusted_rand_score(y, one) for name, one in zip(candidates, labels, strict=True)
    }
    # ranks keep the order of the samples in each feature, but not the gaps
    assert {name for name, score in scores.items() if score < 0.9 and "ranks" not in name} == set()
    assert not any(note.startswith("failed") for note in notes)


def test_many_clusters_have_fewer_candidates_of_most_kinds():
    few, many = (default_candidates(n_clusters=k) for k in (20, 21))
    assert few.keys() == default_candidates().keys()
    assert many.keys() < few.keys()
    lost = {few[name].family for name in few.keys() - many.keys()}
    lost -= {one.family for one in many.values()}
    assert lost == {"mixture", "volume", "information"}
    X = np.random.default_rng(0).normal(size=(200, 2))
    assert compare_clusterings(X, n_clusters=21, random_state=0).names == [*many]


def test_the_default_candidates_can_be_compared_too(blobs):
    found = compare_clusterings(blobs[0], n_clusters=3, random_state=0)
    assert found.names == [*default_candidates()]
    assert found.estimators == []
    again = compare_clusterings(blobs[0], n_clusters=3, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(again.labels, found.labels)
    np.testing.assert_allclose(again.votes, found.votes)


def test_validity_of_a_candidate_is_the_public_score(blobs):
    found = compare_clusterings(blobs[0], [KMeans(3), KMeans(5)], random_state=0)
    for labels, validity in zip(found.labels, found.scores["validity"], strict=True):
        assert validity == pytest.approx(validity_score(blobs[0], labels), abs=0.05)
    assert found.scores["validity"][0] > found.scores["validity"][1]
