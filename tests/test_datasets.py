"""Artificial data against the distributions that they are drawn from."""

import numpy as np
import pytest
from scipy import stats

from separatrix.datasets import make_two_circles, make_two_gaussians, make_two_moons

GENERATORS = [make_two_gaussians, make_two_moons, make_two_circles]
MANY = 20_000
# Tests of drawn samples fail by chance once in a million; the seeds are fixed.
CHANCE = 1e-6


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("n_samples", [2, 7, 50])
def test_shapes_and_class_counts(make, n_samples):
    X, y = make(n_samples, random_state=0)
    assert X.shape == (n_samples, 3 if make is make_two_gaussians else 2)
    assert X.dtype == np.float64
    assert y.shape == (n_samples,)
    assert np.bincount(y).tolist() == [(n_samples + 1) // 2, n_samples // 2]


@pytest.mark.parametrize(
    ("make", "n_samples"), list(zip(GENERATORS, [300, 400, 315], strict=True))
)
def test_default_sizes_are_those_of_the_paper(make, n_samples):
    assert len(make(random_state=0)[0]) == n_samples


@pytest.mark.parametrize("make", GENERATORS)
def test_the_seed_decides(make):
    first, again, other = (make(40, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])
    state = make(40, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(first[0], state[0])


@pytest.mark.parametrize("make", GENERATORS)
def test_classes_come_in_random_order(make):
    """As many changes of class between neighbouring rows as in a shuffled deck."""
    _, y = make(MANY, random_state=0)
    changes = np.count_nonzero(np.diff(y))
    assert stats.binomtest(changes, MANY - 1, 0.5).pvalue > CHANCE


def test_two_gaussians_have_the_paper_s_moments():
    X, y = make_two_gaussians(MANY, random_state=0)
    assert set(X[y == 0, 2]) == {3.0}
    assert set(X[y == 1, 2]) == {-3.0}
    for cluster, deviations in ((0, (10, 2)), (1, (2, 10))):
        inside = X[y == cluster, :2]
        for column, deviation in zip(inside.T, deviations, strict=True):
            assert stats.kstest(column / deviation, "norm").pvalue > CHANCE
        assert stats.pearsonr(*inside.T).pvalue > CHANCE


def test_two_moons_lie_on_two_half_circles():
    X, y = make_two_moons(MANY, noise=0.0, random_state=0)
    for cluster, centre, side in ((0, (0, 0), 1), (1, (1, 0.5), -1)):
        arms = X[y == cluster] - centre
        np.testing.assert_allclose(np.linalg.norm(arms, axis=1), 1, rtol=1e-12)
        assert (side * arms[:, 1] >= -1e-12).all()
        angles = np.arccos(np.clip(arms[:, 0], -1, 1))
        assert stats.kstest(angles / np.pi, "uniform").pvalue > CHANCE


def test_two_circles_have_their_radii():
    X, y = make_two_circles(MANY, factor=0.6, noise=0.0, random_state=0)
    for cluster, radius in ((0, 1.0), (1, 0.6)):
        inside = X[y == cluster]
        np.testing.assert_allclose(np.linalg.norm(inside, axis=1), radius, rtol=1e-12)
        angles = np.arctan2(inside[:, 1], inside[:, 0]) % (2 * np.pi)
        assert stats.kstest(angles / (2 * np.pi), "uniform").pvalue > CHANCE


@pytest.mark.parametrize("make", [make_two_moons, make_two_circles])
def test_noise_is_normal_of_the_given_deviation(make):
    clean, y = make(MANY, noise=0.0, random_state=0)
    noisy, same_y = make(MANY, noise=0.3, random_state=0)
    np.testing.assert_array_equal(y, same_y)
    for column in ((noisy - clean) / 0.3).T:
        assert stats.kstest(column, "norm").pvalue > CHANCE


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("n_samples", [1, 2.5, "50"])
def test_too_few_samples_are_refused(make, n_samples):
    with pytest.raises(ValueError, match=f"n_samples={n_samples!r} must be an integer"):
        make(n_samples)


@pytest.mark.parametrize("make", [make_two_moons, make_two_circles])
@pytest.mark.parametrize("noise", [-0.1, np.inf, np.nan, None])
def test_no_noise_below_zero(make, noise):
    with pytest.raises(ValueError, match=r"noise=.* must be a number, at least 0"):
        make(10, noise=noise)


@pytest.mark.parametrize("factor", [0, 1, 1.5, -0.2])
def test_the_inner_ring_is_inside(factor):
    with pytest.raises(ValueError, match=f"factor={factor} must be between 0 and 1"):
        make_two_circles(10, factor=factor)
