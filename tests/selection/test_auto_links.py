"""AutoClustering keeps links, learns from known labels and passes weights on."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from separatrix import AutoClustering
from separatrix.labels.links import Links
from separatrix.selection import pool
from separatrix.selection.pool import Given, default_candidates

pytestmark = pytest.mark.usefixtures("few_tables")


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    """Two that learn and two that do not: all would take long, and show no more."""
    names = ("k-means", "separation", "mixture", "tree cut")
    some = {name: default_candidates()[name] for name in names}
    monkeypatch.setattr(
        "separatrix.selection.auto.default_candidates", lambda tier, n_clusters: some
    )


def overlapping():
    return make_blobs(90, centers=3, cluster_std=3.0, random_state=1)


def test_links_are_kept_and_known_labels_are_numbers():
    X, y = overlapping()
    pairs = np.random.default_rng(0).integers(90, size=(12, 2))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    known = np.where(np.arange(90) % 9 == 0, 2 - y, -1)
    links = {"must_link": pairs[same], "cannot_link": pairs[~same], "known_labels": known}
    model = AutoClustering(3, random_state=0).fit(X, **links)
    assert Links.of(90, 3, **links).violations(model.labels_) == 0
    np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])
    for labels in model.candidates_.labels:
        assert Links.of(90, 3, **links).violations(labels) == 0


def test_links_of_samples_that_candidates_do_not_see_are_kept():
    X, y = overlapping()
    known = np.where(np.arange(90) % 5 == 0, y, -1)
    against = {"cannot_link": [[1, 2], [3, 4]], "must_link": [[6, 7], [8, 9]]}
    model = AutoClustering(3, max_samples=40, random_state=0)
    model.fit(X, known_labels=known, **against)
    links = Links.of(90, 3, known_labels=known, **against)
    assert links.violations(model.labels_) == 0
    np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])


def test_known_labels_teach_and_ask_for_as_many_clusters():
    rng = np.random.default_rng(0)
    corner = np.repeat(np.arange(4), 20)
    above = corner // 2
    X = np.column_stack([6.0 * (corner % 2), 4.0 * above]) + rng.normal(size=(80, 2)) / 2
    known = np.where(np.arange(80) % 7 == 0, above, -1)
    free = AutoClustering(2, random_state=0).fit(X).labels_
    taught = AutoClustering(2, random_state=0).fit(X, known_labels=known).labels_
    assert adjusted_rand_score(above, free) < 0.2
    assert adjusted_rand_score(above[known < 0], taught[known < 0]) > 0.8
    some, known = X[::4], np.r_[4, 3, 2, 1, 0, np.full(15, -1)]
    model = AutoClustering(max_clusters=2, random_state=0).fit(some, known_labels=known)
    assert model.n_clusters_ == 5


def test_weights_are_passed_on_and_samples_without_weight_are_not_seen(monkeypatch):
    X, _ = overlapping()
    weight, seen = np.arange(90) % 3, []
    candidate = pool.Candidate(
        "spy",
        lambda geometry, k, rng, sample_weight, **links: (
            seen.append(sample_weight) or np.arange(len(sample_weight)) % k
        ),
        learns=True,
    )
    monkeypatch.setattr(
        "separatrix.selection.auto.default_candidates",
        lambda tier, n_clusters: {"spy": candidate, **default_candidates()},
    )
    model = AutoClustering(3, random_state=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.sample_indices_, np.flatnonzero(weight))
    np.testing.assert_array_equal(seen[0], weight[weight > 0])
    assert model.labels_.shape == (90,)


def test_a_labelling_of_too_many_clusters_is_left_as_it_is():
    given = Given(links=Links.of(4, 2, cannot_link=[[0, 1]]))
    labels = np.array([0, 0, 1, 2])
    assert given.kept(labels) is labels
    assert given.links.violations(given.kept(np.array([0, 0, 1, 1]))) == 0


@pytest.mark.parametrize(
    ("argument", "value", "word"),
    [
        ("known_labels", [0.5] * 90, "known_labels has dtype float64"),
        ("known_labels", [0] * 89, r"known_labels has shape \(89,\)"),
        ("must_link", [[0, 90]], "must_link has 90 in row 0"),
        ("sample_weight", -np.ones(90), "sample_weight has minimum -1"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(argument, value, word):
    X, _ = overlapping()
    with pytest.raises(ValueError, match=word):
        AutoClustering(3).fit(X, **{argument: value})
