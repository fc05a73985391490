"""Frames: place and unit are taken away, distances are kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA

from separatrix.data.frames import MAX_FEATURES, Frame


def samples(n, n_features, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_features)) @ rng.normal(size=(n_features, n_features)) + 5.0


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 20),
    n_features=st.integers(1, 6),
    exponent=st.integers(-250, 299),
    seed=st.integers(0, 1_000),
)
def test_framed_samples_have_mean_zero_and_unit_spread(n, n_features, exponent, seed):
    X = samples(n, n_features, seed)
    huge = X / np.abs(X).max() * 10.0**exponent
    framed = Frame.of(huge)(huge)
    np.testing.assert_allclose(framed.mean(axis=0), 0, atol=1e-9)
    assert np.sqrt(np.mean(framed**2)) == pytest.approx(1)
    np.testing.assert_allclose(framed, Frame.of(X)(X), atol=1e-7)


def test_new_samples_are_placed_in_the_same_frame():
    X, new = samples(30, 4), samples(10, 4, seed=1)
    frame = Frame.of(X)
    deviations = X - X.mean(axis=0)
    expected = (new - X.mean(axis=0)) / np.sqrt(np.mean(deviations**2))
    np.testing.assert_allclose(frame(new), expected)


@pytest.mark.parametrize("n", [20, 200])
def test_many_features_become_principal_components(n):
    X = samples(n, MAX_FEATURES + 15)
    frame = Frame.of(X)
    framed = frame(X)
    expected = PCA(min(n, MAX_FEATURES), svd_solver="full").fit_transform(X) / frame.scale
    np.testing.assert_allclose(np.abs(framed), np.abs(expected), atol=1e-8)
    if n <= MAX_FEATURES:  # nothing is lost
        np.testing.assert_allclose(pdist(framed), pdist(X) / frame.scale)


def test_as_many_features_as_allowed_are_kept_as_they_are():
    X = samples(60, MAX_FEATURES)
    framed = Frame.of(X)(X)
    np.testing.assert_allclose(framed * Frame.of(X).scale, X - X.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("n_features", [1, MAX_FEATURES + 10])
@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e300])
def test_equal_samples_stay_equal(n, n_features, value):
    X = np.full((n, n_features), value)
    framed = Frame.of(X)(X)
    assert np.isfinite(framed).all()
    assert (framed == framed[0]).all()
