"""The matrices of quadratic criteria on graphs, and their spectra."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from separatrix._sklearn import namespace_of, one_blas_thread
from separatrix.similarity.device_graphs import DeviceMatrix
from separatrix.similarity.device_spectra import DeviceLaplacian
from separatrix.similarity.graphs import degrees, joined_components, laplacian
from separatrix.similarity.multigrid import GraphHierarchy

# reg="auto" is this times sqrt(n) over the distance from the first to the ninth nontrivial
# eigenvalue.
RHO = 2.0
MATRICES = ("normalized", "unnormalized", "similarity", "dissimilarity")
# What makes the plain Laplacian positive definite, as a share of its mean degree.
LIFT = 1e-6


@dataclass(frozen=True)
class Form:
    """A symmetric matrix Q of the interactions between samples.

    Attributes
    ----------
    name : str
        One of `MATRICES`, or "precomputed" for a Q that a user brought.
    W : ndarray or CSR of shape (n, n)
        Similarities; Q itself if precomputed. Sums of them where nodes are several samples.
    own : float
        Similarity of a new sample to itself.
    lift : float
        Multiple of the identity in Q.
    counts : ndarray of shape (n,) or None
        Samples of each node; None if each is one. Vectors h are then made of the roots of these
        times the responses of one sample: then Q, the length of h and the sum of its products
        with the roots are what they are for all samples.
    """

    name: str
    W: Any
    own: float
    lift: float
    counts: Any = None

    @property
    def n_nodes(self):
        """Number of nodes."""
        return self.W.shape[0]

    @cached_property
    def n_samples(self):
        """Number of samples."""
        return self.n_nodes if self.counts is None else self.counts.sum().item()

    @cached_property
    def roots(self):
        """Square roots of the numbers of samples."""
        return np.ones(self.n_nodes) if self.counts is None else np.sqrt(self.counts)

    def to_samples(self, h):
        """Responses of a sample of each node, from vectors of this form."""
        return h if self.counts is None else (h.T / self.roots).T

    @property
    def place(self):
        """Nodes of samples that come in the order of their nodes."""
        return np.repeat(np.arange(self.n_nodes), 1 if self.counts is None else self.counts)

    def expanded(self, place):
        """The form of the samples themselves, from the node of each."""
        if self.counts is None:
            return self
        mean = self._over_counts(self._over_counts(self.W))[place][:, place]
        return Form(self.name, mean, self.own, self.lift)

    @cached_property
    def degrees(self):
        """Sums of similarities."""
        return degrees(self.W)

    @cached_property
    def Q(self):
        """The matrix, as dense or sparse as the similarities."""
        if self.name == "precomputed":
            return self._over_counts(self.W)
        if self.name == "normalized":  # its degrees hold the numbers of samples
            return self._lifted(laplacian(self.W, "symmetric"))
        matrix = laplacian(self.W, "unnormalized") if self.name == "unnormalized" else self.W
        return self._lifted(self._over_counts(-matrix if self.name == "dissimilarity" else matrix))

    def _over_counts(self, matrix):
        """The matrix over the roots of the numbers of samples, on both sides."""
        if self.counts is None:
            return matrix
        if sp.issparse(matrix):
            scale = sp.diags_array(1 / self.roots)
            return (scale @ matrix @ scale).tocsr()
        return matrix / np.multiply.outer(self.roots, self.roots)

    def _lifted(self, matrix):
        if sp.issparse(matrix):
            return (matrix + sp.diags_array(np.full(self.n_nodes, self.lift))).tocsr()
        return matrix + self.lift * np.eye(self.n_nodes)

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
            g = self.to_samples(h)
            return self.to_samples(self.degrees * g - self.W @ g) + self.lift * h
        return self.Q @ h

    @property
    def mean_eigenvalue(self):
        """Mean eigenvalue of a Laplacian, without making it."""
        own = self.W.diagonal()
        if self.name == "normalized":
            own = own * _inverse_root(self.degrees) ** 2
            return float(((self.degrees > 0) - own).mean()) + self.lift
        return float(((self.degrees - own) / self.roots**2).mean()) + self.lift

    def restricted(self, members):
        """The form of some of the samples alone."""
        W = self.W[members][:, members]
        counts = None if self.counts is None else self.counts[members]
        return form_of(W.tocsr() if sp.issparse(W) else W, self.name, self.own, counts)

    def to_new(self, similarities):
        """Rows of Q for new samples, as needed for products with vectors h.

        Parameters
        ----------
        similarities : ndarray or CSR of shape (n_new, n)
            Similarities of new samples to those of the form, or sums over those of a node; rows
            of Q if it is precomputed.

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
            rows = self._over_roots(sign * similarities)
            return rows, np.full(n_new, sign * self.own + self.lift)
        degree = degrees(similarities) + self.own
        if self.name == "unnormalized":
            return self._over_roots(-similarities), degree - self.own + self.lift
        left, right = _inverse_root(degree), _inverse_root(self.degrees)
        if sp.issparse(similarities):
            rows = sp.diags_array(-left) @ similarities @ sp.diags_array(right)
        else:
            rows = -left[:, None] * similarities * right
        return rows, (degree > 0) - self.own * left**2 + self.lift

    def _over_roots(self, rows):
        """Columns over the roots of the numbers of samples."""
        if self.counts is None:
            return rows
        return rows @ sp.diags_array(1 / self.roots)


@dataclass(frozen=True)
class DeviceForm(Form):
    """A Laplacian on a device; every node is one sample."""

    @cached_property
    def roots(self):
        xp, device = namespace_of(self.W.values)
        return xp.ones(self.n_nodes, dtype=self.W.values.dtype, device=device)

    @cached_property
    def degrees(self):
        return self.W.sums

    @property
    def Q(self):
        """The matrix in the memory of the host."""
        return Form(self.name, self.W.to_scipy(), self.own, self.lift).Q

    @property
    def mean_eigenvalue(self):
        xp, _ = namespace_of(self.degrees)
        if self.name == "normalized":
            linked = xp.astype(self.degrees > 0, self.degrees.dtype)
            return float(xp.mean(linked)) + self.lift
        return float(xp.mean(self.degrees)) + self.lift

    @cached_property
    def _between(self):
        """Similarities as they stand in the matrix."""
        return (
            self.W.scaled(_inverse_root_on_device(self.degrees))
            if self.name == "normalized"
            else self.W
        )

    @cached_property
    def diagonal(self):
        """Diagonal of the Laplacian, without the lift."""
        xp, _ = namespace_of(self.degrees)
        if self.name == "normalized":
            return xp.astype(self.degrees > 0, self.degrees.dtype)
        return self.degrees

    def smoothness(self, h):
        """The Laplacian without the lift, times the columns of `h`."""
        return self.diagonal[:, None] * h - self._between @ h

    def product(self, h):
        if h.ndim == 1:
            return self.product(h[:, None])[:, 0]
        return self.smoothness(h) + self.lift * h

    def to_new(self, similarities):
        xp, _ = namespace_of(self.degrees)
        degree = similarities.sums
        if self.name == "unnormalized":
            rows = similarities.scaled(-xp.ones_like(degree), self.roots)
            return rows, degree + self.lift
        rows = similarities.scaled(
            -_inverse_root_on_device(degree), _inverse_root_on_device(self.degrees)
        )
        return rows, xp.astype(degree > 0, degree.dtype) + self.lift


def _inverse_root_on_device(degree):
    """One over the square root, zero for zero."""
    xp, _ = namespace_of(degree)
    safe = xp.where(degree > 0, degree, xp.ones_like(degree))
    return xp.where(degree > 0, 1.0 / xp.sqrt(safe), xp.zeros_like(degree))


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


def form_of(W, name, own, counts=None):
    """The matrix called `name` of similarities `W`.

    Parameters
    ----------
    W : ndarray, CSR or DeviceMatrix of shape (n, n)
        Similarities, or Q itself for "precomputed".
    name : {"normalized", "unnormalized", "similarity", "dissimilarity", "precomputed"}
        The symmetric Laplacian plus I/n, the plain Laplacian plus a small multiple of I, the
        similarities plus I/n, or nI less the similarities.
    own : float
        Similarity of a new sample to itself.
    counts : ndarray of shape (n,), default=None
        Samples of each node, over which W holds sums; None if each is one.

    Returns
    -------
    form : Form
    """
    n_samples = W.shape[0] if counts is None else counts.sum().item()
    on_device = isinstance(W, DeviceMatrix)
    sums = W.sums if on_device else degrees(W)
    mean_degree = float(namespace_of(sums)[0].sum(sums)) / n_samples
    lift = {
        "normalized": 1 / n_samples,
        "unnormalized": LIFT * max(mean_degree, np.finfo(np.float64).tiny),
        "similarity": 1 / n_samples,
        "dissimilarity": float(n_samples),
        "precomputed": 0.0,
    }[name]
    return (DeviceForm if on_device else Form)(name, W, own, lift, counts)


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
    def balanced(cls, Q, roots=None):
        """Eigenvectors of the quadratic form Q on vectors whose sum, times `roots`, is zero."""
        normal = np.ones(len(Q)) if roots is None else roots
        normal = normal / np.linalg.norm(normal)
        pull = Q @ normal
        pull -= 0.5 * (normal @ pull) * normal
        # the normal itself is moved to the end of the spectrum, where it is cut off
        largest = np.abs(Q).sum(axis=1).max()
        pull -= (largest if largest > 0 else 0.5) * normal
        values, vectors = _eigh(Q - np.outer(normal, pull) - np.outer(pull, normal))
        return cls(values[:-1], vectors[:, :-1])


def _eigh(matrix):
    if len(matrix) <= ONE_THREAD_ROWS:
        return one_blas_thread(eigh)(matrix, driver="evd")
    return eigh(matrix, driver="evd")


# Differences of eigenvalues, as shares of the largest, that count as none.
EQUAL = 1e-10
# Eigenvectors that starts are made of.
LOW_VECTORS = 9
# Error of eigenvectors that clusters are made of; from a hundredth on it moves one sample in 300.
EIGENVECTOR_TOL = 3e-3
# Up to this many samples all eigenvectors of a sparse graph's matrix are cheap.
DENSE_SAMPLES = 1_500


def spread_of(values):
    """Difference of the last and the first of ascending eigenvalues.

    Only differences count: a multiple of I in the matrix changes nothing on the sphere. Where all
    are equal except for rounding, smoothness does not matter, and their size serves as well.
    """
    values = np.asarray(values)
    if len(values) == 0:
        return 1.0
    size, spread = float(np.abs(values).max()), float(values[-1] - values[0])
    return (spread if spread > EQUAL * size else size) or 1.0


def needs_multigrid(form):
    """Whether the Laplacian of a form is too large for all of its eigenvectors."""
    if isinstance(form.W, DeviceMatrix):
        return True  # smaller graphs are made on the host
    return sp.issparse(form.W) and form.is_laplacian and form.n_nodes > DENSE_SAMPLES


def hierarchy_of(form):
    """Coarser and coarser versions of a form's graph, joined where it has several parts.

    On a device the graph is solved as it is.
    """
    if isinstance(form.W, DeviceMatrix):
        return DeviceLaplacian(form)
    normalized = form.name == "normalized"
    return GraphHierarchy(joined_components(form.W), normalized=normalized, masses=form.counts)


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
            values, vectors = hierarchy_of(form).eigenpairs(n_vectors - 1, tol=EIGENVECTOR_TOL)
            xp, _ = namespace_of(vectors)
            trivial = xp.sqrt(form.degrees) if form.name == "normalized" else form.roots
            trivial = trivial / xp.sqrt(xp.sum(trivial * trivial))
            values = np.append(0.0, values) + form.lift
            vectors = xp.concat([trivial[:, None], vectors], axis=1)
        else:
            spectrum = Spectrum.of(form.Q.toarray() if sp.issparse(form.Q) else form.Q)
            values, vectors = spectrum.values[:n_vectors], spectrum.vectors[:, :n_vectors]
        return cls(form, values, vectors, spread_of(values[1 : LOW_VECTORS + 1]))
