"""Similarity graphs of arrays on devices."""

import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.similarity.device_forest import approximate_others
from separatrix.similarity.device_search import BlockedSearch


@dataclass(frozen=True, eq=False)
class DeviceMatrix:
    """A sparse matrix in compressed rows, of arrays on a device.

    Attributes
    ----------
    starts : array of int of shape (n_rows + 1,)
        Where rows begin.
    columns : array of int of shape (n_entries,)
    values : array of shape (n_entries,)
    """

    starts: Any
    columns: Any
    values: Any

    @property
    def shape(self):
        """Numbers of rows and columns; it is square."""
        return (self.starts.shape[0] - 1,) * 2

    @cached_property
    def native(self):
        """The same as a sparse matrix of the array's own library, or of SciPy if that has none."""
        parts = (self.values, self.columns, self.starts)
        library = namespace_of(self.values)[0].__name__
        if "torch" in library:
            import torch

            with warnings.catch_warnings():  # it calls such matrices new
                warnings.simplefilter("ignore", UserWarning)
                starts, columns, values = reversed(parts)
                return torch.sparse_csr_tensor(starts, columns, values, size=self.shape)
        if "cupy" in library:
            from cupyx.scipy.sparse import csr_matrix

            return csr_matrix(parts, shape=self.shape)
        return sp.csr_array(tuple(map(to_numpy, parts)), shape=self.shape)

    def __matmul__(self, x):
        """Products with the columns of a matrix."""
        if sp.issparse(self.native):  # SciPy's
            return like(self.native @ to_numpy(x), x)
        return self.native @ x

    @cached_property
    def sums(self):
        """Sums of rows."""
        xp, device = namespace_of(self.values)
        ones = xp.ones((self.shape[0], 1), dtype=self.values.dtype, device=device)
        return (self @ ones)[:, 0]

    def scaled(self, scale):
        """The matrix times a diagonal one on both sides."""
        xp, device = namespace_of(self.values)
        entries = xp.arange(self.values.shape[0], device=device)
        rows = xp.searchsorted(self.starts, entries, side="right") - 1
        both = xp.take(scale, rows) * xp.take(scale, self.columns)
        return DeviceMatrix(self.starts, self.columns, both * self.values)

    def to_scipy(self):
        """The same in the memory of the host."""
        parts = (self.values, self.columns, self.starts)
        return sp.csr_array(tuple(map(to_numpy, parts)), shape=self.shape)


@dataclass(frozen=True, eq=False)
class NeighborRows:
    """Rows of a sparse matrix that have as many entries each: similarities to neighbours."""

    columns: Any
    values: Any

    @property
    def sums(self):
        """Sums of rows."""
        return namespace_of(self.values)[0].sum(self.values, axis=1)

    def scaled(self, left, right):
        """The rows times `left`, and their columns times `right`."""
        xp, _ = namespace_of(self.values)
        there = xp.reshape(xp.take(right, xp.reshape(self.columns, (-1,))), self.columns.shape)
        return NeighborRows(self.columns, left[:, None] * self.values * there)

    def __matmul__(self, x):
        """Product with a vector, or with the columns of a matrix."""
        xp, _ = namespace_of(self.values)
        if x.ndim == 1:
            return (self @ x[:, None])[:, 0]
        there = xp.take(x, xp.reshape(self.columns, (-1,)), axis=0)
        there = xp.reshape(there, (*self.columns.shape, x.shape[1]))
        return xp.sum(self.values[:, :, None] * there, axis=1)


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """Similarities of neighbours with local scales, as `SimilarityGraph` has them, on a device.

    All rows are distinct. Their similarities are in the widest precision of the device.

    Attributes
    ----------
    W : DeviceMatrix
        Similarities of the samples.
    unit : float
        What samples are multiplied by, so that no square overflows.
    n_neighbors : int
        Number of neighbours, of new samples too.
    search : BlockedSearch
        Finds neighbours of new samples.
    sigma : array of shape (n_samples,)
        Local scales.
    """

    W: DeviceMatrix
    unit: float
    n_neighbors: int
    search: BlockedSearch
    sigma: Any
    place = counts = None
    has_samples = True
    is_matrix = False
    own = 0.0
    gamma = np.nan

    @classmethod
    def of(cls, X, n_neighbors, *, is_approximate=False):
        """The graph of samples that are among the nearest of each other, one way or both."""
        (graph,) = cls.several(X, [n_neighbors], is_approximate=is_approximate)
        return graph

    @classmethod
    def several(cls, X, numbers, *, is_approximate=False):
        """Yield such graphs for several numbers of neighbours, by one search."""
        n_samples, unit = X.shape[0], unit_of(X)
        search = BlockedSearch(unit * X)
        others = partial(approximate_others, search.rows) if is_approximate else search.others
        neighbors, distances = others(min(max(numbers), n_samples - 1))
        for number in numbers:
            nearest = neighbors[:, :number], distances[:, :number]
            sigma = positive(nearest[1][:, -1])
            W = union_of(nearest[0], similarities(*nearest, sigma, sigma))
            yield cls(W, unit, number, search, sigma)

    @property
    def n_isolated(self):
        """Number of samples that no similarity tells anything about."""
        xp, _ = namespace_of(self.sigma)
        return int(xp.count_nonzero(self.W.sums <= 0))

    def known_and_new(self, X):
        """What is known of samples.

        Returns
        -------
        nearest : array of int of shape (n,)
            The nearest training sample.
        is_known : array of bool of shape (n,)
            Whether it is equal.
        similarities : NeighborRows
            Similarities to neighbours. The local scale of a sample is the distance to the last.
        """
        xp, _ = namespace_of(X)
        count, rows = min(self.n_neighbors, self.W.shape[0]), self.search.rows
        X = xp.astype(X, rows.dtype, copy=False)  # new samples may be in another precision
        neighbors, distances = self.search.nearest(self.unit * X, count)
        sigma = positive(distances[:, -1])
        values = similarities(neighbors, distances, sigma, self.sigma)
        return neighbors[:, 0], distances[:, 0] == 0, NeighborRows(neighbors, values)


def unit_of(X):
    """Power of two that brings the largest value near one, as far as powers of two go."""
    xp, _ = namespace_of(X)
    largest = max(float(xp.max(X)), -float(xp.min(X)))
    most = 120 if X.dtype == xp.float32 else 1000
    return 2.0 ** float(np.clip(-np.frexp(largest)[1], -most, most))


def positive(sigma):
    """Scales with the smallest positive one in the place of zeros, which only underflow makes."""
    xp, _ = namespace_of(sigma)
    least = xp.min(xp.where(sigma > 0, sigma, xp.full_like(sigma, np.inf)))
    least = xp.where(xp.isfinite(least), least, xp.ones_like(least))
    return xp.where(sigma > 0, sigma, least)


def similarities(neighbors, distances, sigma, sigma_of_neighbors):
    """Gaussian similarities of rows to their neighbours, with the local scales of both."""
    xp, _ = namespace_of(distances)
    there = xp.reshape(xp.take(sigma_of_neighbors, xp.reshape(neighbors, (-1,))), neighbors.shape)
    return xp.exp(-0.5 * ((distances / sigma[:, None]) * (distances / there)))


def union_of(neighbors, values):
    """Symmetric matrix of the values of all pairs of rows and neighbours, either way."""
    xp, device = namespace_of(values)
    n_rows = neighbors.shape[0]
    here = xp.reshape(neighbors, (-1,))
    rows = xp.reshape(
        xp.broadcast_to(xp.arange(n_rows, device=device)[:, None], neighbors.shape), (-1,)
    )
    keys = xp.concat([rows * n_rows + here, here * n_rows + rows])
    order = xp.argsort(keys)
    keys = xp.take(keys, order)
    is_first = xp.concat([xp.ones(1, dtype=xp.bool, device=device), keys[1:] != keys[:-1]])
    values = xp.reshape(values, (-1,))
    values = xp.take(xp.concat([values, values]), order)
    # similarities that underflow to zero are kept: they change no sum
    keys, values = keys[is_first], values[is_first]
    starts = xp.searchsorted(keys, n_rows * xp.arange(n_rows + 1, device=device))
    return DeviceMatrix(starts, keys % n_rows, values)
