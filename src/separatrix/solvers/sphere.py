"""Quadratic functions on a sphere, minimised globally by one equation in one unknown."""

import numpy as np

# Most Newton steps on the secular equation; ten are usual.
MAX_STEPS = 200


def minimize_on_sphere(values, targets, radius=1.0):
    r"""Minimise a diagonal quadratic function over vectors of a given length.

    .. math:: \min_x \; \sum_i \lambda_i x_i^2 - 2 c^\top x
              \quad \text{subject to} \quad \|x\|_2 = r

    The solution is :math:`x_i = c_i / (\lambda_i - \eta)` with :math:`\eta \le \lambda_1`, where
    the secular equation :math:`\sum_i c_i^2 / (\lambda_i - \eta)^2 = r^2` holds. Its reciprocal
    root is concave in :math:`\eta`, so Newton's steps from the long side meet it without
    overshooting. In the hard case c has no part in the first eigenspace and even
    :math:`\eta = \lambda_1` leaves x too short: then the missing length is added along the first
    axis.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Ascending :math:`\lambda`.
    targets : ndarray of shape (n, n_problems)
        A column c for each problem.
    radius : float, default=1.0
        Length r.

    Returns
    -------
    x : ndarray of shape (n, n_problems)
        The solutions.
    eta : ndarray of shape (n_problems,)
        The multipliers.
    """
    above = (values - values[0])[:, None]
    # x is at least as long as each of its parts, so the root lies at or beyond these
    drop = np.maximum((np.abs(targets) / radius - above).max(axis=0), 0.0)
    for _ in range(MAX_STEPS):
        x = _divided(targets, above + drop)
        length = _lengths(x)
        slope = (x * _divided(x, above + drop)).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(slope > 0, (length / radius - 1) * length**2 / slope, 0.0)
        moved = drop + np.maximum(step, 0.0)
        if (moved <= drop * (1 + 1e-15)).all():
            break
        drop = moved
    x = _divided(targets, above + drop)
    missing = radius**2 - _lengths(x) ** 2
    hard = (drop == 0) & (missing > 0)
    x[0, hard] += np.sqrt(missing[hard])
    return x * (radius / _lengths(x)), values[0] - drop


def second_minimum_on_sphere(values, targets, radius=1.0):
    r"""The local minimum of the problem of `minimize_on_sphere` that is not global.

    There is at most one [1]_. It lies across the first axis from the global one, at the lower
    root of the secular equation between :math:`\lambda_1` and :math:`\lambda_2`, where the sum of
    squares falls and is convex, so that Newton's steps from below do not overshoot. In the hard
    case the two minima are equal.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Ascending :math:`\lambda`.
    targets : ndarray of shape (n, n_problems)
        A column c for each problem.
    radius : float, default=1.0
        Length r.

    Returns
    -------
    x : ndarray of shape (n, n_problems)
        The minima, NaN where there is none.
    eta : ndarray of shape (n_problems,)
        The multipliers, NaN where there is none.

    References
    ----------
    .. [1] J. M. Martínez, "Local minimizers of quadratic functions on Euclidean balls and
       spheres", SIAM Journal on Optimization 4, 1994, 159-176.
    """
    first, rest = np.abs(targets[0]), targets[1:]
    gaps = (values[1:] - values[0])[:, None]
    # the first part is not longer than the whole, so the root lies at or above this
    rise = first / radius
    with np.errstate(all="ignore"):
        for _ in range(MAX_STEPS):
            x = rest / (gaps - rise)
            length = np.where(first > 0, first / rise, 0.0)
            excess = length**2 + (x**2).sum(axis=0) - radius**2
            slope = 2 * length**2 / rise - 2 * (x**2 / (gaps - rise)).sum(axis=0)
            moved = rise + np.where(first > 0, np.maximum(excess, 0.0) / slope, 0.0)
            exists = (excess <= 0) | ((slope > 0) & (moved < gaps.min(initial=np.inf)))
            if (~exists | (moved <= rise * (1 + 1e-15))).all():
                break
            rise = np.where(exists, moved, np.nan)
        rise = np.where(exists, rise, np.nan)
        x = rest / (gaps - rise)
        missing = np.sqrt(radius**2 - (x**2).sum(axis=0))
    side = np.where(targets[0] >= 0, -1.0, 1.0)
    return np.vstack([side * missing, x]), values[0] + rise


def _divided(numerators, denominators):
    """Quotients, zero where both are zero."""
    return np.divide(
        numerators, denominators, out=np.zeros_like(numerators), where=denominators > 0
    )


def _lengths(columns):
    """Euclidean lengths of columns."""
    return np.sqrt(np.einsum("ij,ij->j", columns, columns))
