"""Sizes that clusters aim at, and bounds that they keep."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Sizes"]

# Of an even share, which a cluster of free size keeps at least.
FLOOR = 0.1


# --- the problem --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """How many samples clusters aim at, and how many they may have.

    Attributes
    ----------
    targets : ndarray of shape (n_clusters,)
        Sizes that shaking aims at.
    least, most : ndarray of shape (n_clusters,)
        Bounds.
    """

    targets: np.ndarray
    least: np.ndarray
    most: np.ndarray

    @classmethod
    def of(cls, n_samples, n_clusters, shares, min_size, max_size):
        """Sizes by the parameters of the estimator, which are checked."""
        bounded = min_size is not None or max_size is not None
        even = np.full(n_clusters, n_samples / n_clusters)
        if not (isinstance(shares, str) and shares == "free"):
            if bounded:
                raise ValueError(
                    f"min_size={min_size} and max_size={max_size} go with shares='free' only, got "
                    f"shares={shares!r}; pass one or the other."
                )
            if isinstance(shares, str):
                return cls(even, np.floor(even + 1e-9), np.ceil(even - 1e-9))
            sizes = rounded(n_samples * given_shares(shares, n_clusters))
            return cls(sizes, sizes, sizes)
        if not bounded:
            floor = np.maximum(1, np.floor(FLOOR * even))
            return cls(even, floor, np.full(n_clusters, float(n_samples)))
        least = 0 if min_size is None else min_size
        most = n_samples if max_size is None else max_size
        check_feasible(n_samples, n_clusters, min_size, max_size)
        return cls(even, np.full(n_clusters, float(least)), np.full(n_clusters, float(most)))

    def scaled(self, n_samples):
        """The same for a sample of the samples."""
        n_all = round(self.targets.sum())
        if n_samples == n_all:
            return self
        ratio = n_samples / n_all
        least = np.floor(ratio * self.least + 1e-9)
        most = np.ceil(ratio * self.most - 1e-9)
        return Sizes(ratio * self.targets, np.maximum(least, 1), most)

    def met_by(self, sizes):
        """Whether sizes are within the bounds."""
        return bool(((self.least <= sizes) & (sizes <= self.most)).all())


def given_shares(shares, n_clusters):
    """Shares of clusters as an array, or an error."""
    shares = np.asarray(shares, dtype=np.float64)
    if shares.shape != (n_clusters,):
        raise ValueError(
            f"shares has shape {shares.shape} but n_clusters={n_clusters}; pass one share per "
            "cluster."
        )
    if not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise ValueError(
            f"shares must be positive and sum to 1, got {shares} with sum {shares.sum():.6g}; "
            "divide them by their sum."
        )
    return shares / shares.sum()


def rounded(sizes):
    """Whole sizes of the same sum, by the largest remainders."""
    whole = np.floor(sizes + 1e-9)
    n_short = round(sizes.sum() - whole.sum())
    whole[np.argsort(whole - sizes, kind="stable")[:n_short]] += 1
    return whole


def check_feasible(n_samples, n_clusters, min_size, max_size):
    """Refuse bounds that no sizes meet."""
    if min_size is not None and max_size is not None and min_size > max_size:
        raise ValueError(f"min_size={min_size} must not exceed max_size={max_size}.")
    if min_size is not None and n_clusters * min_size > n_samples:
        raise ValueError(
            f"min_size={min_size} is infeasible: n_clusters={n_clusters} needs "
            f"{n_clusters * min_size} samples, got {n_samples}."
        )
    if max_size is not None and n_clusters * max_size < n_samples:
        raise ValueError(
            f"max_size={max_size} is infeasible: n_clusters={n_clusters} has room for "
            f"{n_clusters * max_size} samples, got {n_samples}."
        )
