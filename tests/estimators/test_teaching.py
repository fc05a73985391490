"""Known labels teach where a method tells more of those held back than without them."""

import numpy as np
import pytest
from scipy.stats import fisher_exact
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
from separatrix.estimators.teaching import (
    HARDLY_BY_CHANCE,
    _chance_of_sizes,
    _halves,
    strength_of_teaching,
)
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
    # other samples are linked, or nothing can be held back: no fit is tried
    single = Links.of(90, 2, known_labels=np.where(np.arange(90) < 1, y, -1))
    mixed = Links.of(90, 2, known_labels=known, must_link=[[1, 2]])
    for one in (single, mixed):
        for gently, expected in ((None, MOST_TAUGHT), (bad, GENTLY)):
            pupil = Pupil(usual=y, taught=bad, gently=gently)
            assert strength(pupil, one) == expected
            assert pupil.seen == []
    assert strength(Pupil(usual=np.zeros(90, dtype=int), taught=y)) == MOST_TAUGHT


@pytest.mark.parametrize("n_strengths", [1, 2])
def test_what_is_held_back(n_strengths):
    """Both halves of the known labels, in two ways."""
    X, y = groups(3)
    known = np.where(np.arange(90) % 5 == 0, y, -1)
    rows = np.flatnonzero(known >= 0)
    pupil = Pupil(usual=y, taught=y, gently=y if n_strengths == 2 else None)
    strength_of_teaching(pupil, X, None, Links.of(90, 3, known_labels=known))
    none, *halves, whole = pupil.seen
    assert none is None
    np.testing.assert_array_equal(whole, known)
    assert len(halves) == 4 * n_strengths
    if n_strengths == 2:  # of the same labels
        np.testing.assert_array_equal(halves[0], halves[1])
    one, other, again = halves[0], halves[n_strengths], halves[2 * n_strengths]
    np.testing.assert_array_equal((one >= 0)[rows], (other < 0)[rows])
    assert (one != again).any()
    for half in halves:
        np.testing.assert_array_equal(half[half >= 0], known[half >= 0])


def test_weights_have_to_tell_clearly_more():
    """By half the root of the number of labels on which the two ways differ."""
    X, y = groups(2)
    known = np.where(np.arange(90) % 2 == 0, y, -1)
    links, rows = Links.of(90, 2, known_labels=known), np.flatnonzero(known >= 0)
    for n_worse, n_better in ((0, 0), (4, 5), (8, 10), (4, 6), (0, 1), (3, 2)):
        gently, weighted = y.copy(), y.copy()
        weighted[rows[:n_worse]] = 1 - y[rows[:n_worse]]
        others = rows[n_worse : n_worse + n_better]
        gently[others] = 1 - y[others]
        pupil = Pupil(usual=1 - (np.arange(90) % 3 > 0), taught=weighted, gently=gently)
        more = 2 * (n_better - n_worse) > np.sqrt(n_better + n_worse)
        expected = MOST_TAUGHT if more else GENTLY
        assert strength_of_teaching(pupil, X, None, links) == expected


def test_sizes_that_contradict_the_shares_of_known_labels():
    """Clusters that shrink around the known labels are refused, unless the usual ones are worse.

    One half of the samples is in each group, and one tenth of those whose labels are not known in
    the small cluster. By the exact test for a table of two by two that is no chance, either.
    """
    y = np.arange(200) % 2
    X = np.random.default_rng(0).normal(size=(200, 2))
    known = np.where(np.arange(200) < 40, y, -1)
    links = Links.of(200, 2, known_labels=known)
    shrunk = np.where(np.arange(200) < 56, y, 0)
    other = np.where(np.arange(200) < 40, y, np.arange(200) % 8 == 0)
    assert fisher_exact([[20, 20], [152, 8]]).pvalue < 1e-6
    assert strength_of_teaching(Pupil(usual=y, taught=shrunk), X, None, links) == 0
    assert strength_of_teaching(Pupil(usual=y, taught=y), X, None, links) == MOST_TAUGHT
    # as far from the shares as the usual clusters, or nearer
    assert strength_of_teaching(Pupil(shrunk, shrunk), X, None, links) == MOST_TAUGHT
    assert strength_of_teaching(Pupil(shrunk, other), X, None, links) == MOST_TAUGHT


@pytest.mark.parametrize("n_known", [10, 40, 100])
def test_chance_rarely_contradicts(n_known):
    """Of labels drawn at random with the right shares about one in twenty is refused."""
    rng = np.random.default_rng(n_known)
    refused = 0
    for _ in range(1000):
        labels = rng.permutation(np.repeat([0, 1, 2], [100, 200, 300]))
        known = np.where(np.arange(600) < n_known, labels, -1)
        refused += _chance_of_sizes(labels, known, 3) < HARDLY_BY_CHANCE
    # for few known labels the likelihood ratio is somewhat larger than its limit
    assert 25 < refused < 90


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
