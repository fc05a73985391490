"""From samples to the features of a kernel: what estimators with a `kernel` parameter share."""

from numbers import Integral, Real
from typing import Any

import scipy.sparse as sp

from separatrix._sklearn import Interval, StrOptions, to_numpy
from separatrix.data.chunks import is_dask
from separatrix.data.sampling import SAMPLE_SIZE, sample_rows
from separatrix.estimators.base import BoundaryPredictorMixin
from separatrix.similarity.bandwidths import resolved_gamma
from separatrix.similarity.kernels import check_symmetric, fit_kernel_map

__all__ = ["GAMMA_CONSTRAINTS", "KERNEL_CONSTRAINTS", "KernelFeaturesMixin"]

GAMMA_CONSTRAINTS = [
    StrOptions({"scale", "mean", "median"}),
    Interval(Real, 0, None, closed="neither"),
    tuple,
]

# Kernels that need none of gamma, degree and coef0.
WITHOUT_PARAMETERS = ("precomputed", "linear", "cosine")
KERNEL_CONSTRAINTS = {
    "kernel": [
        StrOptions(
            {"linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed"}
        ),
        callable,
    ],
    "gamma": GAMMA_CONSTRAINTS,
    "degree": [Interval(Real, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "n_components": [Interval(Integral, 1, None, closed="left")],
}


class KernelFeaturesMixin(BoundaryPredictorMixin):
    """Checks and parameters of kernels, and maps of samples to low-rank features."""

    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    n_components: int

    def _check_precomputed(self, X):
        """Refuse what is no kernel matrix, before any work on it."""
        if self.kernel != "precomputed":
            return
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs X to be the square matrix of kernel values between "
                f"the samples, got shape {X.shape}; pass kernel='linear' for a feature matrix."
            )
        if sp.issparse(X) or is_dask(X):
            raise TypeError("kernel='precomputed' needs a dense array; convert X first.")
        check_symmetric(to_numpy(X), parameter="kernel")

    def _kernel_params(self, rows, weights):
        """Parameters of the kernel by the names of scikit-learn."""
        if self.kernel in WITHOUT_PARAMETERS or callable(self.kernel):
            return {}
        gamma = resolved_gamma(self.gamma, rows, weights)
        return {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}

    def _fit_feature_map(self, X, sample_weight, rng, *, max_rank):
        """Features whose inner products are the kernel, from at most 20,000 of the samples."""
        if self.kernel == "precomputed":
            rows, params = to_numpy(X), {}
        else:
            rows, weights = sample_rows(X, sample_weight, size=SAMPLE_SIZE, rng=rng)
            params = self._kernel_params(rows, weights)
        return self._kernel_map(rows, params, max_rank=max_rank)

    def _kernel_map(self, rows, params, *, max_rank):
        """Features whose inner products are the kernel of `rows`, which must not be zero."""
        found = fit_kernel_map(rows, kernel=self.kernel, params=params, max_rank=max_rank)
        if found.rank == 0:
            raise ValueError(
                f"kernel={self.kernel!r} is zero for all samples of X, so nothing tells them "
                "apart; check X or use another kernel."
            )
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.array_api_support = self.kernel == "linear"
        return tags
