"""Eigenvalues and eigenvectors of the matrices of graphs."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from separatrix._sklearn import one_blas_thread
from separatrix.similarity.kernels import double_centred
from separatrix.similarity.laplacians import joined_components
from separatrix.similarity.multigrid import GraphHierarchy
from separatrix.similarity.quadratic_forms import Form

__all__ = ["LowSpectrum", "Spectrum", "spread_of"]
# Rows up to which threads cost an eigendecomposition more than they gain.
ONE_THREAD_ROWS = 600


@dataclass(frozen=True)
class Spectrum:
    """Ascending eigenvalues of a matrix and its eigenvectors, one a column."""

    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, Q):
        """All eigenvectors of a dense matrix."""
        return cls(*_eigh(Q))

    @classmethod
    def balanced(cls, Q):
        """Eigenvectors of the quadratic form Q on vectors that sum to zero."""
        n_samples = Q.shape[0]
        centred = double_centred(Q)
        # the constant vector is moved to the end of the spectrum, where it is cut off
        largest = np.abs(Q).sum(axis=1).max()
        centred += (2 * largest if largest > 0 else 1.0) / n_samples
        values, vectors = _eigh(centred)
        return cls(values[:-1], vectors[:, :-1])


def _eigh(matrix):
    if len(matrix) <= ONE_THREAD_ROWS:
        return one_blas_thread(eigh)(matrix, driver="evd")
    return eigh(matrix, driver="evd")


# Eigenvectors that starts are made of.
LOW_VECTORS = 9
# Up to this many samples all eigenvectors of a sparse graph's matrix are cheap.
DENSE_SAMPLES = 1_500


def spread_of(values):
    """Difference of the last and the first of ascending eigenvalues, at least a rounding error.

    Only differences count: a multiple of I in the matrix changes nothing on the sphere.
    """
    values = np.asarray(values)
    if len(values) == 0:
        return 1.0
    rounding = np.finfo(np.float64).eps * np.abs(values).max()
    return float(max(values[-1] - values[0], rounding)) or 1.0


def needs_multigrid(form):
    """Whether the Laplacian of a form is too large for all of its eigenvectors."""
    return sp.issparse(form.W) and form.is_laplacian and form.n_samples > DENSE_SAMPLES


@dataclass(frozen=True)
class LowSpectrum:
    """The smallest eigenvalues of a form with their vectors, the trivial one among them."""

    form: Form
    values: np.ndarray
    vectors: np.ndarray
    scale: float

    @classmethod
    def of(cls, form, n_vectors):
        """The first `n_vectors`, or all if there are fewer."""
        if needs_multigrid(form):
            normalized = form.name == "normalized"
            hierarchy = GraphHierarchy(joined_components(form.W), normalized=normalized)
            values, vectors = hierarchy.eigenpairs(n_vectors - 1)
            trivial = np.sqrt(form.degrees) if normalized else np.ones(form.n_samples)
            values = np.append(0.0, values) + form.lift
            vectors = np.column_stack([trivial / np.linalg.norm(trivial), vectors])
        else:
            spectrum = Spectrum.of(form.Q.toarray() if sp.issparse(form.Q) else form.Q)
            values, vectors = spectrum.values[:n_vectors], spectrum.vectors[:, :n_vectors]
        return cls(form, values, vectors, spread_of(values[1 : LOW_VECTORS + 1]))
