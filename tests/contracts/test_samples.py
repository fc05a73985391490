"""Types and containers of samples, as test_k_means.py and test_hdbscan.py ask for them."""

from functools import cache

import numpy as np
import pandas
import pytest
import scipy.sparse as sp

from separatrix.estimators.base import BoundaryClustering

from .cases import CENTERS, CLUSTERERS, each, fitted, groups

every_clusterer = each(CLUSTERERS)
SPARSE = [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix]


def takes_sparse(estimator):
    return estimator().__sklearn_tags__().input_tags.sparse


@every_clusterer
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_other_types_of_numbers_give_the_same_clusters(estimator, dtype):
    X, y = groups()
    X = np.round(10 * X + 20)
    model = estimator(3, random_state=0).fit(X.astype(dtype))
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.predict(X.astype(dtype)), y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.predict(X).dtype == np.int32


@each([one for one in CLUSTERERS if issubclass(one, BoundaryClustering)])
def test_boundaries_have_the_type_of_the_samples(estimator):
    X, _ = groups((11, 10))
    params = {"kernel": "linear"} if "kernel" in estimator().get_params() else {}
    for dtype in (np.float32, np.float64):
        model = estimator(2, random_state=0, **params).fit(X.astype(dtype))
        assert model.coef_.dtype == dtype
        assert model.intercept_.dtype == dtype


@every_clusterer
def test_containers_give_the_same_model(estimator):
    X, y = groups()
    expected = fitted(estimator).decision_function(X)
    wide = np.zeros((60, 4))
    wide[::2, ::2] = X
    for same in (X.tolist(), wide[::2, ::2]):
        again = estimator(3, random_state=0).fit(same)
        np.testing.assert_array_equal(again.labels_, y)
        np.testing.assert_array_equal(again.predict(same), y)
        np.testing.assert_allclose(again.decision_function(same), expected, rtol=1e-6, atol=1e-8)


def groups_with_zeros():
    """The three groups with zeros that sparse matrices do not store."""
    X, y = groups()
    X[:5] = CENTERS[y[:5]]
    return X, y


@cache
def fitted_to_zeros(estimator):
    return estimator(3, random_state=0).fit(groups_with_zeros()[0])


@each([one for one in CLUSTERERS if takes_sparse(one)])
@pytest.mark.parametrize("kind", SPARSE, ids=lambda kind: kind.__name__)
def test_sparse_samples_equal_dense_ones(estimator, kind):
    """In fits and in predictions, each in the other's place too.

    Scores agree to the tolerance of the solvers: their arithmetic differs in the last digit.
    """
    X, y = groups_with_zeros()
    dense, sparse = fitted_to_zeros(estimator), estimator(3, random_state=0).fit(kind(X))
    np.testing.assert_array_equal(sparse.labels_, y)
    for model in (dense, sparse):
        np.testing.assert_array_equal(model.predict(X), y)
        np.testing.assert_array_equal(model.predict(kind(X)), y)
    np.testing.assert_allclose(
        sparse.decision_function(X), dense.decision_function(X), rtol=1e-3, atol=1e-4
    )


@each([one for one in CLUSTERERS if not takes_sparse(one)])
def test_sparse_samples_are_refused_in_words(estimator):
    X, _ = groups()
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        estimator(3).fit(sp.csr_array(X))


@every_clusterer
def test_features_are_counted_and_their_names_kept(estimator):
    X, y = groups()
    frame = pandas.DataFrame(X, columns=["width", "height"])
    model = estimator(3, random_state=0).fit(frame)
    assert model.n_features_in_ == 2
    assert list(model.feature_names_in_) == ["width", "height"]
    np.testing.assert_array_equal(model.predict(frame), y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["height", "width"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X)
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match=r"X has 1 features.*expecting 2"):
        model.predict(X[:, :1])


@every_clusterer
@pytest.mark.parametrize("missing", [np.nan, np.inf, -np.inf])
def test_missing_values_are_refused(estimator, missing):
    """There is no cluster of outliers, so samples that lie nowhere have no label."""
    X, _ = groups()
    X[3, 1] = missing
    for method in (estimator(3).fit, fitted(estimator).predict):
        with pytest.raises(ValueError, match=r"\bX\b"):
            method(X)


@every_clusterer
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_matrices_of_numpy_are_refused(estimator):
    X, _ = groups()
    with pytest.raises(TypeError, match=r"np.matrix is not supported.*np\.asarray"):
        estimator(3).fit(np.asmatrix(X))


@every_clusterer
def test_units_and_origin_of_separated_groups_do_not_matter(estimator):
    """Powers of two and whole numbers, so that rounding has no say."""
    X, y = groups()
    X = np.round(64 * X) / 64
    for same in (4 * X[:, ::-1], X / 4 + 16):
        np.testing.assert_array_equal(estimator(3, random_state=0).fit(same).labels_, y)


@every_clusterer
def test_order_of_separated_samples_does_not_matter(estimator):
    X, y = groups()
    order = np.random.default_rng(1).permutation(len(X))
    model = estimator(3, random_state=0).fit(X[order])
    np.testing.assert_array_equal(model.labels_, y[order])
