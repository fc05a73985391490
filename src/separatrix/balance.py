"""Label updates along one direction: where to cut."""

import numpy as np

__all__ = ["lower_bound_cut"]


def lower_bound_cut(projections, sample_weight, spread):
    r"""Cut of projected samples that maximises the lower bound of the separation.

    For a cut with shares :math:`r_1, r_2` and means :math:`m` apart the bound, eq. (4) of the
    paper by Huang et al. (2015), is

    .. math:: \kappa^2 \ge \frac{m^2}{2 t / (r_1 \wedge r_2) - 2 (r_1 \vee r_2) m^2},

    with t the regularised variance of all projections. All cuts between distinct values are
    tried in O(n log n).

    Parameters
    ----------
    projections : ndarray of shape (n_samples,)
        Values of the samples along the direction.
    sample_weight : ndarray of shape (n_samples,) or None
        Nonnegative weights.
    spread : float
        Regularised variance t along the direction.

    Returns
    -------
    threshold : float
        Cut, midway between the neighbouring values; nan if all values are equal.
    bound : float
        Lower bound of kappa squared at the cut.
    """
    if sample_weight is not None:  # samples without weight have no say in where the cut lies
        projections, sample_weight = (
            projections[sample_weight > 0],
            sample_weight[sample_weight > 0],
        )
    order = np.argsort(projections, kind="stable")
    values = projections[order]
    if sample_weight is None:
        below = np.arange(1.0, len(values))
        total = float(len(values))
        sums = np.cumsum(values, dtype=np.float64)
    else:
        weights = sample_weight[order]
        below = np.cumsum(weights)[:-1]
        total = float(weights.sum())
        sums = np.cumsum(weights * values, dtype=np.float64)
    above = total - below
    # only between distinct values can a threshold tell the sides apart, and samples of next to no
    # weight at either end make no cluster
    tiny = 1e-12 * total
    allowed = (values[1:] > values[:-1]) & (below > tiny) & (above > tiny)
    if not allowed.any():
        return np.nan, 0.0
    cuts = np.flatnonzero(allowed)
    below, above, sums_below = below[cuts], above[cuts], sums[cuts]
    gap = (sums[-1] - sums_below) / above - sums_below / below
    smaller = np.minimum(below, above) / total
    bounds = gap**2 / (2 * spread / smaller - 2 * (1 - smaller) * gap**2)
    best = int(np.argmax(bounds))
    threshold = 0.5 * (values[cuts[best]] + values[cuts[best] + 1])
    return float(threshold), float(bounds[best])
