"""Known labels teach where a method tells more of those held back than without them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from separatrix import (
    KernelKMeans,
    LDAKMeans,
    MaximumVolumeClustering,
    RegularizedLeastSquaresClustering,
    SquaredLossMutualInformationClustering,
)
from separatrix.data.distinct import row_hashes
from separatrix.estimators import outliers
from separatrix.estimators.teaching import _halves, strength_of_teaching
from separatrix.labels.links import GENTLY, MOST_TAUGHT, Links

each = pytest.mark.parametrize(
    "estimator",
    [
        KernelKMeans,
        LDAKMeans,
        MaximumVolumeClustering,
        RegularizedLeastSquaresClustering,
        SquaredLossMutualInformationClustering,
    ],
)


def groups(n_clusters=3):
    return make_blobs(90, centers=n_clusters, cluster_std=0.6, random_state=4)


def told(y, numbers, every=6):
    """Known labels of some samples, by the numbers of their groups, the last of them wrong."""
    known = np.where(np.arange(len(y)) % every == 0, numbers[y], -1)
    last = np.flatnonzero(known >= 0)[-1]
    known[last] = (known[last] + 1) % len(numbers)
    return known, last


@each
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_clusters_that_are_right_stay_as_they_are(estimator, n_clusters):
    """One wrong label is kept, and moves no other sample; the numbers are those of the labels."""
    X, y = groups(n_clusters)
    numbers = np.roll(np.arange(n_clusters), 1)
    known, wrong = told(y, numbers)
    model = estimator(n_clusters, random_state=0).fit(X, known_labels=known)
    expected = np.where(np.arange(90) == wrong, known, numbers[y])
    np.testing.assert_array_equal(model.labels_, expected)
    others = np.arange(90) != wrong  # of which a graph tells what it knows, and boundaries do not
    np.testing.assert_array_equal(model.predict(X)[others], expected[others])


@each
def test_labels_without_meaning_teach_nothing(estimator):
    """The other samples stay in the clusters of a fit without labels, whatever they are called."""
    X, _ = make_blobs(80, centers=2, cluster_std=2.0, random_state=0)
    rng = np.random.default_rng(3)
    known = np.where(np.arange(80) % 4 == 0, rng.integers(2, size=80), -1)
    model = estimator(2, random_state=0)
    links = Links.of(80, 2, known_labels=known)
    usual = model.fit(X).labels_
    strength = strength_of_teaching(model, X, None, links)
    labels = model.fit(X, known_labels=known).labels_
    np.testing.assert_array_equal(labels[known >= 0], known[known >= 0])
    if strength == 0:
        same = labels[known < 0] == usual[known < 0]
        assert same.all() or not same.any()


class Pupil:
    """A stand-in with other clusters for each strength of teaching."""

    def __init__(self, usual, taught, gently=None):
        self.labels = {0: usual, MOST_TAUGHT: taught, GENTLY: gently}
        self._weighs_known, self.seen = gently is not None, []

    def _fit_samples(self, X, sample_weight, links, earlier, progress, taught):
        self.seen.append(None if links is None else links.known_labels)
        self.labels_ = self.labels[0 if links is None else links.most_taught]


def test_the_choice_is_that_of_the_labels_held_back():
    X, y = groups(2)
    known = np.where(np.arange(90) % 5 == 0, y, -1)
    links = Links.of(90, 2, known_labels=known)

    def strength(pupil, links=links):
        return strength_of_teaching(pupil, X, None, links)

    bad = np.arange(90) % 2
    assert strength(Pupil(usual=bad, taught=y)) == MOST_TAUGHT
    assert strength(Pupil(usual=y, taught=bad)) == 0
    assert strength(Pupil(usual=bad, taught=y, gently=bad)) == MOST_TAUGHT
    assert strength(Pupil(usual=bad, taught=bad, gently=y)) == GENTLY
    assert strength(Pupil(usual=y, taught=bad, gently=bad)) == 0
    # what tells as much as the usual clusters teaches, as gently as it can
    assert strength(Pupil(usual=y, taught=y)) == MOST_TAUGHT
    assert strength(Pupil(usual=y, taught=y, gently=y)) == GENTLY
    assert strength(Pupil(usual=y, taught=bad, gently=y)) == GENTLY
    pupil = Pupil(usual=y, taught=bad, gently=bad)
    strength(pupil)
    none, *halves = pupil.seen
    assert none is None
    assert len(halves) == 4
    rows = np.flatnonzero(known >= 0)
    np.testing.assert_array_equal((halves[0] >= 0)[rows], (halves[2] < 0)[rows])
    np.testing.assert_array_equal(halves[0], halves[1])
    pupil = Pupil(usual=y, taught=bad)  # with one way to learn there are two to halve the labels
    strength(pupil)
    _, *halves = pupil.seen
    for first, second in (halves[:2], halves[2:]):
        np.testing.assert_array_equal((first >= 0)[rows], (second < 0)[rows])
    assert (halves[0] != halves[2]).any()
    # nothing can be held back, or other samples are linked: no fit is tried
    single = Links.of(90, 2, known_labels=np.where(np.arange(90) < 1, y, -1))
    mixed = Links.of(90, 2, known_labels=known, must_link=[[1, 2]])
    for one in (single, mixed):
        for gently, expected in ((None, MOST_TAUGHT), (bad, GENTLY)):
            pupil = Pupil(usual=y, taught=bad, gently=gently)
            assert strength(pupil, one) == expected
            assert pupil.seen == []
    assert strength(Pupil(usual=np.zeros(90, dtype=int), taught=y)) == MOST_TAUGHT


def test_gentle_teaching_weighs_known_labels_like_others():
    links = Links.of(20, 2, known_labels=np.r_[0, 1, np.full(18, -1)])
    weight = np.arange(20.0) + 1
    assert (links.taught(weight)[:2] == 10 * weight[:2]).all()
    gentle = links.teaching(GENTLY)
    np.testing.assert_array_equal(gentle.taught(weight), weight)
    np.testing.assert_array_equal(gentle.restricted(np.arange(12)).taught(None), np.ones(12))
    assert links.teaching(MOST_TAUGHT) is links


def test_a_small_cluster_that_is_lost_outweighs_many_right_labels():
    """Two thirds of a large group are told right by learning, but the small group is given up."""
    y = np.repeat([0, 1], [120, 12])
    known = np.where(np.arange(132) % 2 == 0, y, -1)
    X = np.random.default_rng(0).normal(size=(132, 2))
    usual = np.where(np.arange(132) % 8 == 0, 1, y)  # some of the large group are astray

    links = Links.of(132, 2, known_labels=known)
    told, rows = np.zeros(132, dtype=int), known >= 0
    assert np.sum(told[rows] == y[rows]) > np.sum(usual[rows] == y[rows])
    assert strength_of_teaching(Pupil(usual, told, told), X, None, links) == 0


def test_whether_labels_teach_is_decided_once_beside_outliers(monkeypatch):
    """Not in each round of the search for outliers, and for the samples that are left in."""
    X, y = groups(3)
    X = np.vstack([X, [[90.0, 90.0], [-90.0, 60.0], [-60.0, -90.0]]])
    known = np.append(np.where(np.arange(90) % 5 == 0, y, -1), [-1, -1, -1])
    asked, hashed = [], []

    def strength(estimator, X, sample_weight, links):
        asked.append(len(X))
        return MOST_TAUGHT

    def hashes(X):
        hashed.append(X.shape[0])
        return row_hashes(X)

    monkeypatch.setattr(outliers, "strength_of_teaching", strength)
    monkeypatch.setattr(outliers, "row_hashes", hashes)
    model = KernelKMeans(3, outliers=3 / 93, random_state=0).fit(X, known_labels=known)
    np.testing.assert_array_equal(np.flatnonzero(model.labels_ < 0), [90, 91, 92])
    assert asked == [90]
    assert hashed == [93]


def test_halves_do_not_depend_on_the_order_of_the_samples():
    X, y = groups(3)
    known = np.where(np.arange(90) % 4 == 0, y, -1)
    order = np.random.default_rng(0).permutation(90)
    halves = _halves(X, known, np.flatnonzero(known >= 0))
    again = _halves(X[order], known[order], np.flatnonzero(known[order] >= 0))
    for one, other in zip(halves, again, strict=True):
        np.testing.assert_array_equal(np.sort(one), np.sort(order[other]))
    counts = [np.bincount(known[half], minlength=3) for half in halves]
    assert np.abs(counts[0] - counts[1]).max() <= 1
