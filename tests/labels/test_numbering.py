"""Numbers of clusters that follow a reference, against all ways to number them."""

from itertools import permutations

import numpy as np
import pytest

from separatrix import align_labels
from separatrix.labels.numbering import order_within


def drawn(seed, n_reference, n_clusters, n_samples=14):
    """A reference and labels, some of which are of no cluster."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-1, n_reference, n_samples),
        rng.integers(-1, n_clusters, n_samples),
    )


def n_agreeing(reference, labels):
    return np.sum((reference == labels) & (labels != -1))


def best_agreement(reference, labels):
    """Most samples on which numbers of the reference, each used once, can agree."""
    clusters = np.unique(labels[labels != -1])
    numbers = range(max(reference.max() + 1, 0) + len(clusters))
    return max(
        sum(
            n_agreeing(reference[labels == cluster], np.full((labels == cluster).sum(), number))
            for cluster, number in zip(clusters, chosen, strict=True)
        )
        for chosen in permutations(numbers, len(clusters))
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n_reference", "n_clusters"), [(3, 3), (2, 4), (4, 2), (1, 3)])
def test_no_numbering_agrees_better(seed, n_reference, n_clusters):
    reference, labels = drawn(seed, n_reference, n_clusters)
    aligned = align_labels(reference, labels)
    assert n_agreeing(reference, aligned) == best_agreement(reference, labels)


@pytest.mark.parametrize("seed", range(20))
def test_clusters_stay_and_new_ones_take_the_next_numbers(seed):
    reference, labels = drawn(seed, n_reference=3, n_clusters=6)
    aligned = align_labels(reference, labels)
    np.testing.assert_array_equal(aligned == -1, labels == -1)
    pairs = set(zip(labels.tolist(), aligned.tolist(), strict=True))
    assert len(pairs) == len(set(labels.tolist())) == len(set(aligned.tolist()))
    new = np.unique(aligned[aligned > reference.max()])
    np.testing.assert_array_equal(new, reference.max() + 1 + np.arange(len(new)))
    sizes = [np.sum(aligned == number) for number in new]
    assert sizes == sorted(sizes, reverse=True)
    for number in np.unique(aligned[(aligned != -1) & (aligned <= reference.max())]):
        assert np.any((aligned == number) & (reference == number))


@pytest.mark.parametrize("seed", range(20))
def test_names_of_clusters_do_not_matter(seed):
    reference, labels = drawn(seed, n_reference=4, n_clusters=4)
    aligned = align_labels(reference, labels)
    names = np.random.default_rng(seed + 100).permutation(4)
    renamed = np.where(labels == -1, -1, names[labels] + 10)
    np.testing.assert_array_equal(align_labels(reference, renamed), aligned)
    np.testing.assert_array_equal(align_labels(reference, aligned), aligned)
    if (labels != -1).all():
        texts = np.array(["p", "q", "r", "s"])[names[labels]]
        np.testing.assert_array_equal(align_labels(reference, texts), aligned)


def test_the_reference_agrees_with_itself_whatever_its_numbers():
    reference = np.array([7, 7, 2, 2, -1, 5])
    np.testing.assert_array_equal(align_labels(reference, reference), reference)
    np.testing.assert_array_equal(align_labels(reference, np.full(6, -1)), np.full(6, -1))
    np.testing.assert_array_equal(align_labels(np.full(3, -1), [4, 9, 9]), [1, 0, 0])
    np.testing.assert_array_equal(align_labels([10**12, 0, 0], [1, 2, 2]), [10**12, 0, 0])


@pytest.mark.parametrize(
    ("reference", "labels", "told"),
    [
        ([0, 1], [0, 1, 1], "reference has 2 samples but labels has 3"),
        (["a", "b"], [0, 1], "reference has labels such as .* numbers of clusters from 0"),
        ([0.5, 1.0], [0, 1], "reference has labels such as"),
        ([-2, 1], [0, 1], "reference has labels such as .*-2"),
        ([[0, 1]], [0, 1], "reference has shape"),
    ],
)
def test_what_cannot_be_aligned_is_refused(reference, labels, told):
    with pytest.raises(ValueError, match=told):
        align_labels(reference, labels)


def test_clusters_take_numbers_whose_bounds_their_sizes_are_within():
    """If any numbering has them within, one is found; the one given if it does."""
    rng = np.random.default_rng(0)
    n_changed = 0
    for _ in range(200):
        k = int(rng.integers(1, 5))
        sizes = rng.integers(0, 12, k)
        least, most = np.sort(rng.integers(0, 12, (2, k)), axis=0)
        order = np.argsort(-sizes, kind="stable")

        def out(numbers, sizes=sizes, least=least, most=most):
            return np.maximum(np.maximum(least - sizes[numbers], sizes[numbers] - most), 0).sum()

        found = order_within(order, sizes, least, most)
        assert sorted(found) == list(range(k))
        assert out(found) == min(out(np.array(other)) for other in permutations(range(k)))
        if out(order) == 0:
            np.testing.assert_array_equal(found, order)
        n_changed += (found != order).any()
    assert n_changed > 20
