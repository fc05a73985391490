"""k-means in coordinates that vary alike."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from separatrix._sklearn import one_blas_thread
from separatrix.solvers.lloyd import KMeansProblem, Means

__all__ = ["WhitenedProblem", "whitening_of"]
# Share of the largest variance below which there is none.
ROUNDING = 1e-12


# --- k-means in other coordinates ----------------------------------------------------------------


@one_blas_thread
def whitening_of(covariance, reg):
    r"""Map A with :math:`A A^\top = (\Sigma + \lambda I)^{-1}`, on the directions that vary.

    :math:`\lambda` is `reg` times the variance along principal directions, averaged over the
    variance.
    """
    variances, directions = eigh(covariance)
    active = variances > ROUNDING * max(variances[-1], 0.0)
    variances, directions = variances[active], directions[:, active]
    typical = variances @ (variances / variances.sum()) if active.any() else 0.0
    return directions / np.sqrt(variances + reg * typical)


@dataclass(frozen=True)
class WhitenedProblem(KMeansProblem):
    r"""Samples whose distances are measured in other coordinates :math:`A^\top x`.

    With :math:`T = \Sigma + \lambda I`, :math:`A A^\top = T^{-1}` and the covariance B between
    clusters, k-means in them maximises :math:`\mathrm{tr}(T^{-1} B)`, which is the kernel k-means
    of [1]_ with :math:`X (X^\top X + n \lambda I)^{-1} X^\top = I - (I + X X^\top /
    n\lambda)^{-1}`. For given labels it is the largest :math:`\mathrm{tr}((W^\top T W)^{-1}
    W^\top B W)` over all subspaces W.

    Attributes
    ----------
    whitening : ndarray of shape (n_features, n_coordinates)
        The map A.
    """

    whitening: np.ndarray

    def from_coordinates(self, rule):
        """Linear scores of the features from those of the coordinates."""
        return replace(rule, coef=rule.coef @ self.whitening.T)

    def coordinates(self, partition):
        """Mean of each cluster less the mean of all samples, in the coordinates."""
        return self.centers(partition) @ self.whitening

    def means(self, partition):
        """Rule that gives each sample the cluster of the nearest mean, in the coordinates."""
        means = self.from_coordinates(Means.of(self.coordinates(partition)))
        return means.shifted(self.shift + self.total.mean)

    def objective(self, partition):
        """Share of the scatter that lies between clusters, summed over coordinates."""
        squares = np.square(self.coordinates(partition)).sum(axis=1)
        return float(partition.weights @ squares / self.total.weight)
