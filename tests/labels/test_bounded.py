"""Labels within bounds of sizes: optimal, whatever the ties and however they are found."""

import numpy as np
import pytest

from separatrix.labels import bounded
from separatrix.labels.bounded import bounded_labels
from separatrix.labels.sizes import size_bounds
from transport_support import best_total


def bounded_case(seed, n=None):
    """Scores, some of them with many ties or equal rows, and bounds that some sizes meet."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    n = int(rng.integers(k, 25)) if n is None else n
    scores = rng.normal(size=(n, k)) * 2
    if seed % 3 == 0:
        scores = scores.round()
    if seed % 5 == 0:
        scores = scores[rng.integers(0, n, n)]
    sizes = rng.multinomial(n, rng.dirichlet(np.ones(k)))
    low = np.maximum(sizes - rng.integers(0, 3, k), 0)
    high = sizes + rng.integers(0, 3, k)
    if seed % 4 == 1:
        low = np.zeros(k, dtype=int)
    if seed % 4 == 2:
        high = np.full(k, n)
    return scores, low, high


def total_within(scores, low, high):
    """Total score of the labels found, which must be within the bounds."""
    labels = bounded_labels(scores, low, high)
    sizes = np.bincount(labels, minlength=len(low))
    assert ((low <= sizes) & (sizes <= high)).all()
    return scores[np.arange(len(labels)), labels].sum()


def test_labels_are_those_of_the_integer_program():
    for seed in range(60):
        case = bounded_case(seed)
        assert total_within(*case) == pytest.approx(best_total(*case), abs=1e-9)


def test_few_movable_samples_find_the_labels_that_all_of_them_find(monkeypatch):
    """Prices of a sample, and rounds in which few samples may move, only make it faster."""
    for seed in range(12):
        case = bounded_case(seed, n=400)
        monkeypatch.setattr(bounded, "FIRST_SAMPLES", 10**6)
        monkeypatch.setattr(bounded, "FIRST_MOVABLE", 10**6)
        at_once = total_within(*case)
        monkeypatch.setattr(bounded, "FIRST_SAMPLES", 20)
        monkeypatch.setattr(bounded, "FIRST_MOVABLE", 10)
        assert total_within(*case) == pytest.approx(at_once, rel=1e-12)


def test_labels_within_the_bounds_stay():
    scores, *_ = bounded_case(1, n=50)
    best = scores.argmax(axis=1)
    sizes = np.bincount(best, minlength=scores.shape[1])
    np.testing.assert_array_equal(bounded_labels(scores, sizes, sizes), best)


def test_scores_of_any_unit_have_the_same_labels():
    scores, low, high = bounded_case(4, n=60)
    labels = bounded_labels(scores, low, high)
    for unit in (2.0**-300, 2.0**300):
        np.testing.assert_array_equal(bounded_labels(unit * scores, low, high), labels)


@pytest.mark.parametrize(
    ("low", "high", "least", "most"),
    [
        (None, None, [0, 0], [10, 10]),
        (0.3, 0.7, [3, 3], [7, 7]),
        (0.25, 0.75, [3, 3], [7, 7]),
        ([0.2, 3], [4, 0.8], [2, 3], [4, 8]),
        (1, 1e300, [1, 1], [11, 11]),
    ],
)
def test_bounds_are_counts_or_shares(low, high, least, most):
    found = size_bounds(10, 2, low, high)
    np.testing.assert_array_equal(found[0], least)
    np.testing.assert_array_equal(found[1], most)


def test_bounds_that_no_sizes_meet_are_told():
    with pytest.raises(ValueError, match="no sizes of 5 samples are within"):
        bounded_labels(np.eye(5)[:, :2], np.array([3, 3]), np.array([5, 5]))


def test_scores_that_are_nearly_tied_do_not_move_samples_round_and_round():
    """Two columns agree up to rounding, so that samples of one cluster cost nothing in another."""
    scores = np.array(
        [
            [-7.36620869699607e-05, -7.334940905588281e-05, -7.334940905588108e-05],
            [0.0002675535559071967, 0.0002676045692433214, 0.0002676045692433215],
            [0.00021370714977565547, 0.0002138858434823808, 0.0002138858434823814],
            [-1.68283580457521e-05, -1.6374731299889666e-05, -1.6374731299889083e-05],
            [0.00042047013940252527, 0.0004202280225089037, 0.0004202280225089033],
            [-0.9999998501199463, -0.99999985020038, -0.9999998502003798],
        ]
    )
    bounds = np.array([0, 5, 0]), np.array([1, 5, 1])
    assert total_within(scores, *bounds) == pytest.approx(best_total(scores, *bounds), abs=1e-9)
