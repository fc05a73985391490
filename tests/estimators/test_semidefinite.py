"""Estimators by semidefinite programs: their clusters, forms of input and refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from separatrix import GeneralizedMarginClustering, SemidefiniteMarginClustering
from separatrix.solvers.label_programs import MAX_SAMPLES

ESTIMATORS = [SemidefiniteMarginClustering, GeneralizedMarginClustering]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, centers=[[0, 0], [6, 0]], random_state=0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_separated_clusters_are_found(estimator, kernel, blobs):
    X, y = blobs
    model = estimator(kernel=kernel).fit(X)
    assert len(set(zip(y, model.labels_, strict=True))) == 2
    assert model.gap_ <= 1e-6
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.predict([[-1.0, 0]]) != model.predict([[7.0, 0]])
    assert model.history_[-1] == pytest.approx(model.objective_)
    assert model.n_iter_ == len(model.history_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_number_of_clusters(estimator, kernel):
    X, y = make_blobs(75, centers=[[0, 0], [8, 0], [4, 12]], random_state=0)
    one = estimator(1, kernel=kernel).fit(X)
    assert (one.labels_ == 0).all()
    assert one.gap_ == 0
    assert (one.decision_function(X) == 0).all()
    three = estimator(3, kernel=kernel).fit(X)
    assert len(set(zip(y, three.labels_, strict=True))) == 3
    np.testing.assert_array_equal(three.predict(X), three.labels_)
    assert three.decision_function(X).shape == (75, 3)
    assert three.gap_ <= 1e-6


def test_no_gamma_where_the_kernel_has_none(blobs):
    assert np.isnan(SemidefiniteMarginClustering(kernel="linear").fit(blobs[0]).gamma_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_forms_of_input_agree(estimator, blobs):
    X, _ = blobs
    expected = estimator(gamma=0.1).fit(X)
    K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    for model, data in (
        (estimator(gamma=0.1), sp.csr_array(X)),
        (estimator(kernel="precomputed"), K),
        (estimator(gamma=0.1), X.astype(np.float32)),
    ):
        model.fit(data)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)
        np.testing.assert_array_equal(model.predict(data), model.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_linear_boundary_is_an_affine_function_that_moves_with_the_samples(estimator, blobs):
    X, _ = blobs
    model = estimator(kernel="linear").fit(X)
    values = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-9)
    far = estimator(kernel="linear").fit(X + 1e3)
    np.testing.assert_allclose(far.coef_, model.coef_, rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(far.labels_, model.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_duplicates_stay_together_and_results_repeat(estimator, blobs):
    X = np.repeat(blobs[0][:30], 2, axis=0)
    model = estimator().fit(X)
    np.testing.assert_array_equal(model.labels_[::2], model.labels_[1::2])
    np.testing.assert_array_equal(estimator().fit(X).labels_, model.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_refusals_name_the_remedy(estimator):
    import dask.array as da

    rng = np.random.RandomState(0)
    with pytest.raises(ValueError, match=f"n_samples={MAX_SAMPLES + 1} needs .* GB"):
        estimator().fit(np.arange(MAX_SAMPLES + 1.0)[:, None])
    with pytest.raises(ValueError, match="constant to the kernel"):
        estimator(gamma=1e-30).fit(rng.standard_normal((10, 2)))
    with pytest.raises(ValueError, match="kernel is not positive semidefinite"):
        estimator(kernel="sigmoid", gamma=5.0, coef0=-3).fit(rng.standard_normal((20, 2)))
    with pytest.raises(ValueError, match="square matrix"):
        estimator(kernel="precomputed").fit(rng.standard_normal((20, 2)))
    with pytest.raises(TypeError, match="dask array"):
        estimator().fit(da.zeros((20, 2)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_program_must_fit_memory(estimator, blobs, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)  # ten kilobytes
    with pytest.raises(ValueError, match=r"25 matrices .* 60 samples need .* fit a sample"):
        estimator().fit(blobs[0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_gap_above_gap_tol_is_not_silent(estimator, blobs):
    X, _ = blobs
    message = r"certified gap .* above gap_tol; increase max_steps"
    with pytest.warns(ConvergenceWarning, match=message):
        model = estimator(max_steps=2).fit(X)
    assert model.gap_ > 1e-6
    assert len(np.unique(model.labels_)) == 2
