"""Matrices of quadratic criteria against their definitions, and their spectra."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import null_space
from scipy.sparse import csgraph
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.similarity.quadratic_forms import MATRICES, Spectrum, form_of, spread_of

# The matrices


def similarities(n=12, seed=0, own=False):
    rng = np.random.default_rng(seed)
    W = rbf_kernel(rng.normal(size=(n, 2)))
    W = (W + W.T) / 2
    W[W < 0.3] = 0.0
    if not own:
        np.fill_diagonal(W, 0.0)
    return W


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_matrices_equal_their_definitions(kind, own):
    W = similarities(own=own)
    n, d = len(W), W.sum(axis=1)
    root = np.diag(d**-0.5)
    expected = {
        "normalized": np.eye(n) - root @ W @ root + np.eye(n) / n,
        "unnormalized": np.diag(d) - W + 1e-6 * d.mean() * np.eye(n),
        "similarity": W + np.eye(n) / n,
        "dissimilarity": n * np.eye(n) - W,
        "precomputed": W,
    }
    for name, Q in expected.items():
        form = form_of(kind(W), name, float(own))
        assert sparse.issparse(form.Q) == sparse.issparse(kind(W))
        found = form.Q.toarray() if sparse.issparse(form.Q) else form.Q
        np.testing.assert_allclose(found, Q, rtol=1e-14, atol=1e-15)
        np.testing.assert_array_equal(found, found.T)


def test_laplacians_agree_with_scipy():
    W = similarities(20, seed=1)
    for name, normed in (("normalized", True), ("unnormalized", False)):
        form = form_of(W, name, 0.0)
        expected = csgraph.laplacian(W, normed=normed)
        np.testing.assert_allclose(form.Q - form.lift * np.eye(20), expected, atol=1e-14)


def test_laplacians_are_positive_definite():
    for seed in range(5):
        W = similarities(seed=seed)
        W[3] = W[:, 3] = 0.0  # an isolated sample
        for name in ("normalized", "unnormalized"):
            form = form_of(W, name, 0.0)
            smallest = np.linalg.eigvalsh(form.Q)[0]
            assert smallest == pytest.approx(form.lift, rel=1e-6)
            assert smallest > 0


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize("name", [*MATRICES, "precomputed"])
def test_a_form_of_some_samples_is_that_of_their_similarities(name, kind):
    W = similarities(14)
    members = np.array([1, 2, 5, 8, 9, 13])
    part = form_of(kind(W), name, 0.0).restricted(members)
    alone = form_of(kind(W[np.ix_(members, members)]), name, 0.0)
    difference = part.Q - alone.Q
    assert abs(difference).max() == 0


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize("own", [0.0, 1.0])
@pytest.mark.parametrize("name", ["normalized", "unnormalized", "similarity", "dissimilarity"])
def test_rows_of_new_samples_are_those_of_a_larger_form(name, own, kind):
    """Of one sample more, but for its share in the degrees of the others and in the lift."""
    W = similarities(10, own=own > 0)
    W[-1, :3] = W[:3, -1] = 0.5  # the new sample has some neighbours
    known, new = W[:-1, :-1], W[-1:, :-1]
    form = form_of(kind(known), name, own)
    rows, diagonal = form.to_new(kind(new))
    rows = rows.toarray() if sparse.issparse(rows) else rows
    degree, others = W[-1].sum(), known.sum(axis=1)
    sign = {"similarity": 1.0}.get(name, -1.0)
    scale = 1 / np.sqrt(degree * others) if name == "normalized" else 1.0
    np.testing.assert_allclose(rows[0], sign * new[0] * scale, rtol=1e-14)
    full = form_of(W, name, own)
    expected = full.Q[-1, -1] - full.lift + form.lift
    np.testing.assert_allclose(diagonal, expected, rtol=1e-12)


def test_a_new_sample_without_similarities_has_an_empty_row():
    for name in MATRICES:
        form = form_of(similarities(), name, 0.0)
        rows, diagonal = form.to_new(np.zeros((2, 12)))
        assert (rows == 0).all()
        np.testing.assert_array_equal(diagonal, form.lift)


# Their spectra


def random_symmetric(rng, n):
    A = rng.normal(size=(n, n))
    return A + A.T


@pytest.mark.parametrize("n", [2, 3, 8, 30])
def test_the_balanced_spectrum_is_that_of_the_form_on_a_basis(n):
    rng = np.random.default_rng(n)
    Q = random_symmetric(rng, n)
    basis = null_space(np.ones((1, n)))
    found = Spectrum.balanced(Q)
    assert found.values.shape == (n - 1,)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(basis.T @ Q @ basis), atol=1e-12)
    np.testing.assert_allclose(found.vectors.sum(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(n - 1), atol=1e-13)
    energy = found.vectors.T @ Q @ found.vectors
    np.testing.assert_allclose(energy, np.diag(found.values), atol=1e-12 * n)


@pytest.mark.parametrize("scale", [1e-250, 1e-20, 1e-10, 1.0, 1e10, 1e250])
def test_spectra_keep_their_digits_at_any_scale(scale):
    Q = random_symmetric(np.random.default_rng(0), 9)
    for of in (Spectrum.of, Spectrum.balanced):
        plain, scaled = of(Q), of(Q * scale)
        np.testing.assert_allclose(scaled.values / scale, plain.values, rtol=1e-12)
        np.testing.assert_allclose(
            np.abs(scaled.vectors.T @ plain.vectors), np.eye(len(plain.values)), atol=1e-12
        )


def test_the_balanced_spectrum_of_nothing():
    found = Spectrum.balanced(np.zeros((4, 4)))
    np.testing.assert_allclose(found.values, 0, atol=1e-15)
    np.testing.assert_allclose(found.vectors.sum(axis=0), 0, atol=1e-15)


def test_the_balanced_spectrum_leaves_out_constants_however_low_they_lie():
    """And however high: only their place in the spectrum would change."""
    rng = np.random.default_rng(0)
    Q = random_symmetric(rng, 7)
    expected = Spectrum.balanced(Q).values
    for weight in (-100.0, 100.0):
        found = Spectrum.balanced(Q + weight * np.ones((7, 7)))
        np.testing.assert_allclose(found.values, expected, atol=1e-10)
        np.testing.assert_allclose(found.vectors.sum(axis=0), 0, atol=1e-12)


def test_equal_eigenvalues_have_a_spread_of_their_size():
    assert spread_of([1.0, 3.0]) == 2.0
    assert spread_of([3.0, 3.0 + 4e-16]) == pytest.approx(3.0)
    assert spread_of([0.0, 0.0]) == spread_of([]) == 1.0


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize("name", MATRICES)
def test_a_form_of_nodes_is_that_of_their_samples(name, kind):
    rng = np.random.default_rng(0)
    W, place = similarities(), np.r_[np.arange(12), 3, 3, 7]
    P = np.eye(12)[place]
    counts = P.sum(axis=0).astype(int)
    whole = form_of(kind(P @ W @ P.T), name, 0.5)
    merged = form_of(kind(P.T @ (P @ W @ P.T) @ P), name, 0.5, counts)
    assert merged.n_samples == 15
    assert merged.n_nodes == 12
    h = rng.normal(size=12)
    g = merged.to_samples(h)[place]
    assert g @ g == pytest.approx(h @ h)
    assert g @ (whole.Q @ g) == pytest.approx(h @ (merged.Q @ h))
    np.testing.assert_allclose(merged.product(h), merged.Q @ h)
    np.testing.assert_allclose(merged.expanded(place).product(g), whole.product(g))
    new = rng.uniform(size=(4, 15))
    rows, diagonal = whole.to_new(kind(new))
    merged_rows, merged_diagonal = merged.to_new(kind(new @ P))
    np.testing.assert_allclose(merged_rows @ h, rows @ g)
    np.testing.assert_allclose(merged_diagonal, diagonal)
    some = np.arange(5)
    kept = np.isin(place, some)
    part = merged.restricted(some)
    inner = form_of(kind((P @ W @ P.T)[kept][:, kept]), name, 0.5)
    g = part.to_samples(h[:5])[place[kept]]
    assert g @ (inner.Q @ g) == pytest.approx(h[:5] @ (part.Q @ h[:5]))
