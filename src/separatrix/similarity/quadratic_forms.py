"""The matrices of quadratic criteria on graphs, and their spectra."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from separatrix._sklearn import one_blas_thread
from separatrix.similarity.graphs import degrees, joined_components, laplacian
from separatrix.similarity.kernels import double_centred
from separatrix.similarity.multigrid import GraphHierarchy

# reg="auto" is this times sqrt(n) over the distance from the first to the ninth nontrivial
# eigenvalue.
RHO = 2.0
MATRICES = ("normalized", "unnormalized", "similarity", "dissimilarity")
# What makes the plain Laplacian positive definite, as a share of its mean degree.
LIFT = 1e-6


@dataclass(frozen=True)
class Form:
    """A symmetric matrix Q that says how samples pull at each other.

    Attributes
    ----------
    name : str
        One of `MATRICES`, or "precomputed" for a Q that a user brought.
    W : ndarray or CSR of shape (n, n)
        Similarities; Q itself if precomputed.
    own : float
        Similarity of a new sample to itself.
    lift : float
        Multiple of the identity in Q.
    """

    name: str
    W: Any
    own: float
    lift: float

    @property
    def n_samples(self):
        """Number of samples."""
        return self.W.shape[0]

    @cached_property
    def degrees(self):
        """Sums of similarities."""
        return degrees(self.W)

    @cached_property
    def Q(self):
        """The matrix, as dense or sparse as the similarities."""
        if self.name == "precomputed":
            return self.W
        if self.name == "normalized":
            return self._lifted(laplacian(self.W, "symmetric"))
        if self.name == "unnormalized":
            return self._lifted(laplacian(self.W, "unnormalized"))
        return self._lifted(self.W if self.name == "similarity" else -self.W)

    def _lifted(self, matrix):
        if sp.issparse(matrix):
            return (matrix + sp.diags_array(np.full(self.n_samples, self.lift))).tocsr()
        return matrix + self.lift * np.eye(self.n_samples)

    @property
    def is_laplacian(self):
        """Whether the smallest eigenvalue and its vector are known beforehand."""
        return self.name in ("normalized", "unnormalized")

    def product(self, h):
        """Q h, without making Q where that would double a sparse graph."""
        if self.name == "normalized":
            root = _inverse_root(self.degrees)
            return (self.degrees > 0) * h - root * (self.W @ (root * h)) + self.lift * h
        if self.name == "unnormalized":
            return self.degrees * h - self.W @ h + self.lift * h
        return self.Q @ h

    @property
    def mean_eigenvalue(self):
        """Mean eigenvalue of a Laplacian, without making it."""
        own = self.W.diagonal()
        if self.name == "normalized":
            own = own * _inverse_root(self.degrees) ** 2
            return float(((self.degrees > 0) - own).mean()) + self.lift
        return float((self.degrees - own).mean()) + self.lift

    def restricted(self, members):
        """The form of some of the samples alone."""
        W = self.W[members][:, members]
        return form_of(W.tocsr() if sp.issparse(W) else W, self.name, self.own)

    def to_new(self, similarities):
        """What rows of Q would be for new samples.

        Parameters
        ----------
        similarities : ndarray or CSR of shape (n_new, n)
            Similarities of new samples to those of the form; rows of Q if it is precomputed.

        Returns
        -------
        rows : ndarray or CSR of shape (n_new, n)
            Their entries of Q.
        diagonal : ndarray of shape (n_new,)
            Their diagonal entries.
        """
        n_new = similarities.shape[0]
        if self.name in ("precomputed", "similarity", "dissimilarity"):
            sign = -1.0 if self.name == "dissimilarity" else 1.0
            return sign * similarities, np.full(n_new, sign * self.own + self.lift)
        degree = degrees(similarities) + self.own
        if self.name == "unnormalized":
            return -similarities, degree - self.own + self.lift
        left, right = _inverse_root(degree), _inverse_root(self.degrees)
        if sp.issparse(similarities):
            rows = sp.diags_array(-left) @ similarities @ sp.diags_array(right)
        else:
            rows = -left[:, None] * similarities * right
        return rows, (degree > 0) - self.own * left**2 + self.lift


def resolved_rho(reg):
    """The factor of an automatic `reg`, "auto" or ("auto", rho); None if that is a number."""
    if not isinstance(reg, tuple):
        return RHO if isinstance(reg, str) else None
    known = len(reg) == 2 and reg[0] == "auto"
    if not (known and isinstance(reg[1], Real) and 0 < float(reg[1]) < np.inf):
        raise ValueError(
            f"reg={reg!r} must be a positive number, 'auto' or ('auto', rho) with a positive "
            "number rho."
        )
    return float(reg[1])


def _inverse_root(degree):
    """One over the square root, zero for zero."""
    return np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)


def form_of(W, name, own):
    """The matrix called `name` of similarities `W`.

    Parameters
    ----------
    W : ndarray or CSR of shape (n, n)
        Similarities, or Q itself for "precomputed".
    name : {"normalized", "unnormalized", "similarity", "dissimilarity", "precomputed"}
        The symmetric Laplacian plus I/n, the plain Laplacian plus a small multiple of I, the
        similarities plus I/n, or nI less the similarities.
    own : float
        Similarity of a new sample to itself.

    Returns
    -------
    form : Form
    """
    n_samples = W.shape[0]
    lift = {
        "normalized": 1 / n_samples,
        "unnormalized": LIFT * max(degrees(W).mean(), np.finfo(np.float64).tiny),
        "similarity": 1 / n_samples,
        "dissimilarity": float(n_samples),
        "precomputed": 0.0,
    }[name]
    return Form(name, W, own, lift)


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
