"""An order of samples by their places."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from separatrix._sklearn import is_numpy, namespace_of, to_numpy
from separatrix.data.ordering import canonical_order
from separatrix.data.rows import in_doubles, map_rows, rows_beside


def order_of_places(X, sample_weight=None, *, pairs=False):
    """Permutation that orders samples by their places.

    They are ordered by their distance from the mean, and canonically if that is equal, so that
    neither the order of rows and features nor a rigid motion of the samples changes anything,
    except for rounding.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples.
    sample_weight : ndarray of shape (n_samples,), default=None
        Their weights in the mean.
    pairs : bool, default=False
        Whether X is a symmetric matrix of pairs of samples, such as a kernel. Then rows are
        ordered by their values, wherever in the row these stand.

    Returns
    -------
    order : ndarray of int of shape (n_samples,)
        Indices of the rows. Those of pairs that have the same values keep their order.
    """
    if pairs:
        return canonical_order(_sorted_rows(X))
    order = canonical_order(X)
    if not is_numpy(X):
        return order[to_numpy(_order_from_mean(rows_beside(X, order)))]
    rows = X[order]
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if sample_weight is not None:
        mean = np.asarray(sample_weight[order] @ rows).ravel() / sample_weight.sum()
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite distance is one, too
        if sp.issparse(rows):  # the square of the mean is the same for all
            distances = row_norms(rows, squared=True) - 2 * (rows @ mean)
        else:
            distances = row_norms(rows - mean, squared=True)
    return order[np.argsort(distances, kind="stable")]


def _order_from_mean(rows):
    """Order of rows by their distance from the mean, where they are."""
    xp, _ = namespace_of(rows)
    mean = xp.mean(in_doubles(rows), axis=0)

    def squares(chunk):
        return xp.sum((in_doubles(chunk) - mean) ** 2, axis=1)

    return xp.argsort(map_rows(squares, rows, width=rows.shape[1]), stable=True)


def _sorted_rows(matrix):
    """The matrix with the values of each row in ascending order; those of a sparse one alone."""
    if not sp.issparse(matrix):
        return np.sort(matrix, axis=1)
    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    values = matrix.data[np.lexsort((matrix.data, rows))]
    places = np.arange(len(values)) - matrix.indptr[rows]
    return sp.csr_array((values, places, matrix.indptr), matrix.shape)
