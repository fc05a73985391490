"""Artificial data of the papers: known clusters that are not round.

The sets are those of section 8.2 of [1]_. The first is drawn as the paper says; of the other two
it only shows a picture, and here they are drawn by the usual formulas.

References
----------
.. [1] G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative
   clustering approach", Journal of Machine Learning Research 14, 2013, 2641-2687.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from separatrix._typing import Array, RandomState
from separatrix.data.gate import naming

__all__ = ["make_two_circles", "make_two_gaussians", "make_two_moons"]


def make_two_gaussians(
    n_samples: int = 300, *, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Two elongated Gaussians that cross, one above the other: 2gaussians of the paper.

    The first cluster is long in the first coordinate, with variances 100 and 4, and lies at
    height 3; the second is long in the second coordinate and lies at height -3.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples. If it is odd, the first cluster has one more.
    random_state : int, RandomState instance or None, default=None
        Draws the samples and their order.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        Samples, in random order.
    y : ndarray of shape (n_samples,)
        Their clusters, 0 and 1.

    Examples
    --------
    >>> from separatrix.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(6, random_state=0)
    >>> X[:, 2][y == 0]
    array([3., 3., 3.])
    """
    rng, y = _clusters(n_samples, random_state)
    X = rng.standard_normal((n_samples, 3))
    X[:, 0] *= np.where(y == 0, 10.0, 2.0)
    X[:, 1] *= np.where(y == 0, 2.0, 10.0)
    X[:, 2] = np.where(y == 0, 3.0, -3.0)
    return X, y


def make_two_moons(
    n_samples: int = 400, *, noise: float = 0.1, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Two crescents that reach into each other: 2moons of the paper.

    The first cluster lies along the upper half of the unit circle, the second along the lower
    half of the unit circle around (1, 0.5).

    Parameters
    ----------
    n_samples : int, default=400
        Number of samples. If it is odd, the first cluster has one more.
    noise : float, default=0.1
        Standard deviation of the normal noise that is added to both coordinates.
    random_state : int, RandomState instance or None, default=None
        Draws the samples and their order.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples, in random order.
    y : ndarray of shape (n_samples,)
        Their clusters, 0 and 1.

    See Also
    --------
    sklearn.datasets.make_moons : The same crescents, with evenly spaced samples.

    Examples
    --------
    >>> from separatrix.datasets import make_two_moons
    >>> X, y = make_two_moons(100, noise=0.0, random_state=0)
    >>> bool((X[y == 0, 1] >= 0).all())
    True
    """
    _check_noise(noise)
    rng, y = _clusters(n_samples, random_state)
    angle = rng.uniform(0, np.pi, n_samples)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y == 1] = [1.0, 0.5] - X[y == 1]
    return X + float(noise) * rng.standard_normal(X.shape), y


def make_two_circles(
    n_samples: int = 315,
    *,
    factor: float = 0.3,
    noise: float = 0.05,
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """A ring around a smaller ring: 2circles of the paper.

    Parameters
    ----------
    n_samples : int, default=315
        Number of samples. If it is odd, the first cluster, the outer ring, has one more.
    factor : float, default=0.3
        Radius of the inner ring, between 0 and 1; that of the outer ring is one.
    noise : float, default=0.05
        Standard deviation of the normal noise that is added to both coordinates.
    random_state : int, RandomState instance or None, default=None
        Draws the samples and their order.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples, in random order.
    y : ndarray of shape (n_samples,)
        Their clusters, 0 and 1.

    See Also
    --------
    sklearn.datasets.make_circles : The same rings, with evenly spaced samples.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.datasets import make_two_circles
    >>> X, y = make_two_circles(5, noise=0.0, random_state=0)
    >>> np.linalg.norm(X[y == 1], axis=1)
    array([0.3, 0.3])
    """
    if not (isinstance(factor, Real) and 0 < float(factor) < 1):
        raise ValueError(
            f"factor={factor!r} must be between 0 and 1, the radius of the outer ring."
        )
    _check_noise(noise)
    rng, y = _clusters(n_samples, random_state)
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y == 1] *= float(factor)
    return X + float(noise) * rng.standard_normal(X.shape), y


def _clusters(n_samples, random_state):
    """Random generator, and clusters of equal size in random order."""
    if not (isinstance(n_samples, Integral) and int(n_samples) >= 2):
        raise ValueError(f"n_samples={n_samples!r} must be an integer, at least 2.")
    with naming("random_state"):
        rng = check_random_state(random_state)
    return rng, rng.permutation(np.arange(int(n_samples)) % 2)


def _check_noise(noise):
    if not (isinstance(noise, Real) and 0 <= float(noise) < np.inf):
        raise ValueError(f"noise={noise!r} must be a number, at least 0.")
