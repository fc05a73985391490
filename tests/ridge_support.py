"""What the tests of ridge regressions and of machines share: samples with signs, and ridges."""

import numpy as np

from separatrix.solvers.ridge import FeatureRidge, KernelRidge


def noisy_signs(seed, n=40, d=3):
    """Samples, noisy signs and random positive counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, size=d) + rng.normal(size=d)
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def feature_ridge(X, weight=None):
    return FeatureRidge(X, weight, shift=np.average(X, axis=0, weights=weight))


def kernel_ridge(K, weight=None):
    return KernelRidge(np.array(K), weight, to_coef=lambda alpha: alpha)
