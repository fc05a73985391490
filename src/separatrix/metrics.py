"""Scores of a clustering: against known classes, and from the data alone."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import pairwise_distances_chunked
from sklearn.utils import check_random_state

from separatrix._typing import ArrayLike, RandomState, Samples, Weights
from separatrix.data.frames import Frame
from separatrix.data.gate import (
    FLOATS,
    check_count,
    check_labels,
    check_length,
    check_number,
    check_rows,
    check_values,
    check_weights,
    naming,
    weights_of,
)
from separatrix.data.rows import beside
from separatrix.drift import assignment_drift
from separatrix.solvers.minimax import MomentProblem, Sides, pairwise_kappa, separation_probability

if TYPE_CHECKING:
    from separatrix.validity.structure import Structure

__all__ = [
    "assignment_drift",
    "balanced_clustering_error",
    "clustering_accuracy",
    "clustering_error",
    "generalized_separation_score",
    "hamming_clustering_distance",
    "relative_margin_share",
    "separation_from_margin",
    "separation_lower_bound",
    "separation_probability_score",
    "structure_test",
    "validity_score",
]


def _several_clusters(labels, name="labels"):
    """Return the names of the clusters, two or more, and the number of each sample's."""
    clusters, codes = np.unique(check_labels(labels, name), return_inverse=True)
    if clusters.size < 2:
        raise ValueError(
            f"{name} holds one cluster only (every label is {clusters.tolist()[0]!r}): "
            "the score compares clusters and needs at least two."
        )
    return clusters, codes


def _contingency(y_true, y_pred, sample_weight):
    """Return the total weight of each (class, cluster), classes in rows."""
    classes, rows = np.unique(check_labels(y_true, "y_true"), return_inverse=True)
    clusters, columns = np.unique(check_labels(y_pred, "y_pred"), return_inverse=True)
    check_length("y_true", rows.size, "y_pred", columns.size)
    if sample_weight is not None:
        sample_weight = weights_of(sample_weight, rows.size, of="y_true")
    shape = classes.size, clusters.size
    cells = np.ravel_multi_index((rows, columns), shape)
    table = np.bincount(cells, sample_weight, minlength=shape[0] * shape[1]).reshape(shape)
    # A weight of zero means no repetition: a class of such samples alone is absent.
    return table[table.any(axis=1)]


def clustering_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: Weights = None
) -> float:
    r"""Share of samples that agree with the best one-to-one matching of clusters to classes.

    .. math:: \max_{\pi} \frac{1}{\sum_i v_i} \sum_i v_i \, [\pi(\hat y_i) = y_i]

    where :math:`\pi` maps clusters to classes one to one and :math:`v` are the weights.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The known classes, of any type that can be sorted.
    y_pred : array-like of shape (n_samples,)
        The clusters. Their names need not be those of the classes, nor their number.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Nonnegative weights; weight 2 equals a repeated sample, weight 0 a missing one.

    Returns
    -------
    float
        Between 0 and 1; 1 where the two partitions are the same.

    See Also
    --------
    clustering_error : One minus this accuracy.
    balanced_clustering_error : The error where each class weighs the same.

    Notes
    -----
    The matching is found by the Hungarian method [1]_ on the contingency table. A cluster left
    without a class, where there are more clusters than classes, counts as wrong, as does a
    class left without a cluster.

    References
    ----------
    .. [1] H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research
       Logistics Quarterly 2, 1955.

    Examples
    --------
    >>> from separatrix.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    table = _contingency(y_true, y_pred, sample_weight)
    matching = linear_sum_assignment(table, maximize=True)
    matched = table[matching].sum()
    # The denominator adds up the same terms, so that a perfect match is 1 to the last bit.
    table[matching] = 0
    return float(matched / (matched + table.sum()))


def clustering_error(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Share of samples that disagree with the best one-to-one matching of clusters to classes.

    This is one minus :func:`clustering_accuracy`, whose notes describe the matching.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The known classes, of any type that can be sorted.
    y_pred : array-like of shape (n_samples,)
        The clusters. Their names need not be those of the classes, nor their number.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Nonnegative weights; weight 2 equals a repeated sample, weight 0 a missing one.

    Returns
    -------
    float
        Between 0 and 1; 0 where the two partitions are the same.

    See Also
    --------
    balanced_clustering_error : The error where each class weighs the same.
    hamming_clustering_distance : This error as a count, for two clusters.

    Examples
    --------
    >>> from separatrix.metrics import clustering_error
    >>> clustering_error(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.25
    """
    return 1.0 - clustering_accuracy(y_true, y_pred, sample_weight=sample_weight)


def balanced_clustering_error(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: Weights = None
) -> float:
    r"""Clustering error averaged over the classes, so that each class weighs the same.

    .. math::
        \min_{\pi} \frac{1}{C} \sum_{c=1}^{C}
        \frac{\sum_{i : y_i = c} v_i \, [\pi(\hat y_i) \ne c]}{\sum_{i : y_i = c} v_i}

    where :math:`\pi` maps clusters to the :math:`C` classes one to one and :math:`v` are the
    weights. The matching minimises this average itself, and may differ from the matching of
    :func:`clustering_error`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The known classes, of any type that can be sorted.
    y_pred : array-like of shape (n_samples,)
        The clusters. Their names need not be those of the classes, nor their number.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Nonnegative weights; weight 2 equals a repeated sample, weight 0 a missing one.

    Returns
    -------
    float
        Between 0 and 1. With fewer clusters than classes, each class left over adds 1/C.

    See Also
    --------
    clustering_error : The error where each sample weighs the same.

    Examples
    --------
    One cluster for all is right for nine samples in ten, but for one class in two:

    >>> from separatrix.metrics import balanced_clustering_error, clustering_error
    >>> y_true, y_pred = [0] * 9 + [1], [0] * 10
    >>> round(clustering_error(y_true, y_pred), 3)
    0.1
    >>> balanced_clustering_error(y_true, y_pred)
    0.5
    """
    table = _contingency(y_true, y_pred, sample_weight)
    shares = table / table.sum(axis=1, keepdims=True)
    return float(1.0 - shares[linear_sum_assignment(shares, maximize=True)].sum() / len(shares))


def _first_side(h, name):
    """Return which samples lie in one of the (at most) two clusters of a labelling."""
    h = check_labels(h, name)
    values = np.unique(h)
    if values.size <= 2:
        return h == values[0]
    if h.dtype.kind != "f":
        raise ValueError(
            f"{name} holds {values.size} distinct values of type {h.dtype}: pass labels of two "
            "values, or soft responses as floats; clustering_error takes more than two clusters."
        )
    return h <= 0


def hamming_clustering_distance(h: ArrayLike, y: ArrayLike) -> int:
    r"""Hamming clustering distance of two labellings with two clusters.

    .. math::
        d_H(h, y) = \tfrac{1}{2} \min\bigl(
        \lVert \operatorname{sign}(h) + \operatorname{sign}(y) \rVert_1, \;
        \lVert \operatorname{sign}(h) - \operatorname{sign}(y) \rVert_1 \bigr)

    the number of samples on which the two partitions differ once their clusters are matched
    (Definition 3 of [1]_).

    Parameters
    ----------
    h : array-like of shape (n_samples,)
        Labels of at most two values, whatever they are, or real soft responses, of which the
        signs count. A float array with more than two distinct values is taken as responses;
        any other array with more than two values is refused.
    y : array-like of shape (n_samples,)
        The other labelling, read in the same way.

    Returns
    -------
    int
        Between 0 and half the number of samples.

    See Also
    --------
    clustering_error : For two clusters, this distance over the number of samples.

    Notes
    -----
    The paper leaves open what the sign of a zero response is. Here it is -1, the cluster which
    a classifier in scikit-learn predicts at a zero decision, so that the distance stays a
    whole number. Exact zeros apart, the distance does not change when ``h`` becomes ``-h``.

    References
    ----------
    .. [1] G. Niu, B. Dai, L. Shang and M. Sugiyama, "Maximum volume clustering: a new
       discriminative clustering approach", Journal of Machine Learning Research 14, 2013.

    Examples
    --------
    >>> from separatrix.metrics import hamming_clustering_distance
    >>> hamming_clustering_distance([0.9, 0.2, -0.4, -1.3], [1, 1, 1, 2])
    1
    """
    first, second = _first_side(h, "h"), _first_side(y, "y")
    check_length("h", first.size, "y", second.size)
    n_different = int(np.count_nonzero(first != second))
    return min(n_different, first.size - n_different)


def generalized_separation_score(
    X: Samples, labels: ArrayLike, *, metric: str | Callable[..., Any] = "euclidean"
) -> float:
    r"""Generalised minimum separation probability of a clustering, from distances alone.

    .. math::
        \tilde p = \frac{\tilde\kappa^2}{1 + \tilde\kappa^2}, \qquad
        \tilde\kappa = \frac{
        \frac{1}{N_1 N_2} \sum_{i \in X_1} \sum_{j \in X_2} s(x_i, x_j)}{
        \sum_{k=1,2} \frac{1}{N_k} \sqrt{\sum_{i \in X_k} \sum_{j \in X_k} s^2(x_i, x_j)}}

    for a distance :math:`s` (equation (1) in the supplement of [1]_). With more than two
    clusters, the smallest value over the pairs of clusters.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        The samples, or their distances if ``metric="precomputed"``.
    labels : array-like of shape (n_samples,)
        The clusters, two at least.
    metric : str or callable, default="euclidean"
        A metric of :func:`sklearn.metrics.pairwise_distances`. "precomputed" takes `X` as the
        distances: square, symmetric, nonnegative, with a zero diagonal.

    Returns
    -------
    float
        Between 0 and 1, larger is better: 1 where all distances within the clusters are zero,
        0 where two clusters coincide in one point.

    See Also
    --------
    separation_from_margin : Bound on the separation probability itself, from a margin.

    Notes
    -----
    Multiplying all distances by a constant leaves the score as it is; shorter distances within
    clusters or longer ones between them never lower it; and for every partition into two
    clusters some distance makes it the best one. The last holds for distances
    :math:`\varepsilon < 1/(\sqrt 2 n)` within and 1 between clusters: any other partition has
    a mixed pair in some cluster and so :math:`\tilde\kappa \le n/\sqrt 2`, less than
    :math:`1/(2\varepsilon)`. The distances 1 and 2 of the paper's proof do not show it, since
    that proof counts :math:`s(x, x)` as 1: with :math:`s(x, x) = 0`, splitting one sample off
    a cluster of two scores better from six samples on.

    A single sample has no spread, so that clusters of one sample each score 1: compare
    partitions with the same number of clusters.

    On a line the term of a cluster in the denominator is :math:`\sqrt 2` times its standard
    deviation. For two clusters that do not overlap there, :math:`\tilde\kappa` is thus the
    :math:`\kappa` of the minimum separation probability over :math:`\sqrt 2`, not equal to it.

    The distances are computed in blocks of rows, of the size set by
    ``sklearn.config_context(working_memory=...)``, and no block is kept.

    References
    ----------
    .. [1] G. Huang, J. Zhang, S. Song and Z. Chen, "Maximin separation probability
       clustering", AAAI Conference on Artificial Intelligence, 2015.

    Examples
    --------
    >>> from separatrix.metrics import generalized_separation_score
    >>> X = [[0.0], [2.0], [9.0], [11.0]]
    >>> round(generalized_separation_score(X, [0, 0, 1, 1]), 3)
    0.91
    >>> round(generalized_separation_score(X, [0, 1, 1, 1]), 3)
    0.644
    """
    clusters, codes = _several_clusters(labels)
    precomputed = metric == "precomputed"
    X = check_rows(
        X,
        sparse=not precomputed,
        dtype=FLOATS if precomputed else "numeric",
        scale_free=precomputed,
        copy=precomputed,  # the blocks of distances are overwritten below
        ensure_all_finite="allow-nan" if metric == "nan_euclidean" else True,
    )
    check_length("X", X.shape[0], "labels", codes.size)
    if precomputed:
        _check_distances(X)
    elif metric == "euclidean" and isinstance(X, np.ndarray):
        # Distances from inner products lose their digits far from the origin; from the first
        # sample, equal samples are at distance zero exactly.
        X = np.subtract(X, X[0], dtype=np.float64)

    members = np.eye(clusters.size)[codes]
    sums = np.zeros((clusters.size, clusters.size))
    squares = np.zeros(clusters.size)
    scale, start = 0.0, 0
    for distances in pairwise_distances_chunked(X, metric=metric):
        rows = members[start : start + len(distances)]
        start += len(distances)
        largest = float(distances.max())
        if not largest < np.inf or (callable(metric) and distances.min() < 0):
            raise ValueError(
                f"metric={metric!r} gave distances from {distances.min():g} to {largest:g}: "
                "they must be finite and nonnegative; use another metric or other samples."
            )
        # All sums are in units of the largest distance so far, so that squares do not overflow.
        if largest > scale:
            sums *= scale / largest
            squares *= (scale / largest) ** 2
            scale = largest
        if scale > 0:
            distances /= scale
            sums += rows.T @ (distances @ members)
            np.square(distances, out=distances)
            squares += np.einsum("ik,ik->k", rows, distances @ members)

    sizes = np.bincount(codes)
    spread = np.sqrt(squares) / sizes
    a, b = np.triu_indices(clusters.size, 1)
    between = sums[a, b] / (sizes[a] * sizes[b])
    within = spread[a] + spread[b]
    norm = np.hypot(between, within)
    scores = np.divide(between, norm, out=np.zeros_like(norm), where=norm > 0) ** 2
    return float(scores.min())


def _check_distances(X):
    """Refuse a precomputed matrix that holds no distances."""
    rounding = 100 * np.finfo(X.dtype).eps * np.abs(X).max()
    if X.shape[0] != X.shape[1]:
        problem = f"square, got shape {X.shape}"
    elif X.min() < 0:
        problem = f"nonnegative, got {X.min():g}"
    elif X.diagonal().max() > rounding:
        problem = f"zero on the diagonal, got {X.diagonal().max():g}"
    elif (asymmetry := np.abs(X - X.T).max()) > rounding:
        problem = f"symmetric, got entries that differ from their mirror by {asymmetry:g}"
    else:
        return
    raise ValueError(
        f"X with metric='precomputed' must be {problem}: pass the distances of all pairs of "
        "samples, neither features nor similarities."
    )


def separation_from_margin(margin: float, sigma_max: float, share: float) -> float:
    r"""Lower bound on the minimum separation probability of two clusters with a margin.

    .. math::
        p \ge \frac{1}{2 (r_1 \wedge r_2)^{-1} (\sigma_{\max} / \delta)^2
        - 2 (r_1 \vee r_2) + 1}

    with :math:`\delta` the `margin`, :math:`r_1` the `share` and :math:`r_2 = 1 - r_1`
    (Theorem 4 of [1]_, without regularisation).

    Parameters
    ----------
    margin : float
        The distance between the two parallel hyperplanes that bound the clusters, no sample
        between them: ``2 / norm(w)`` for a linear support vector machine. Half of it, the
        distance to the separating hyperplane, gives a valid but weaker bound.
    sigma_max : float
        Square root of the largest eigenvalue of the covariance of all samples, with divisor
        n; with n - 1 the bound is valid but weaker.
    share : float
        Share of the samples in one of the two clusters, strictly between 0 and 1.

    Returns
    -------
    float
        Between 0 and 1; 0 for a margin of 0.

    See Also
    --------
    relative_margin_share : The converse, from a separation probability to a margin.

    Notes
    -----
    Two clusters whose means lie :math:`\delta` apart along a direction have a variance of
    at least :math:`r_1 r_2 \delta^2` along it. A margin above
    :math:`\sigma_{\max} / \sqrt{r_1 r_2}` thus belongs to no data and is refused; at that
    value, where neither cluster has any spread along the direction, the bound is 1.

    References
    ----------
    .. [1] G. Huang, J. Zhang, S. Song and Z. Chen, "Maximin separation probability
       clustering", AAAI Conference on Artificial Intelligence, 2015.

    Examples
    --------
    >>> from separatrix.metrics import separation_from_margin
    >>> separation_from_margin(2.0, 2.0, 0.5)
    0.25
    >>> separation_from_margin(2.0, 1.0, 0.5)
    1.0
    """
    margin, sigma_max = check_number(margin, "margin"), check_number(sigma_max, "sigma_max")
    share = check_number(share, "share")
    if not 0 <= margin < np.inf:
        raise ValueError(f"margin={margin} must be finite and at least 0: pass a width.")
    if not 0 <= sigma_max < np.inf:
        raise ValueError(
            f"sigma_max={sigma_max} must be finite and at least 0: pass a standard deviation."
        )
    if not 0 < share < 1:
        raise ValueError(
            f"share={share} must lie strictly between 0 and 1: pass the size of one of the two "
            "clusters over the number of samples."
        )
    smaller, larger = min(share, 1 - share), max(share, 1 - share)
    widest = sigma_max / np.sqrt(smaller * larger)
    if margin > widest * (1 + 1e-8):  # the slack is for rounding in the two inputs
        raise ValueError(
            f"margin={margin} is impossible with sigma_max={sigma_max} and share={share}, which "
            f"allow {widest:g} at most: pass the square root of the largest eigenvalue of the "
            "covariance of all samples, in the units of the margin."
        )
    if margin == 0:
        return 0.0
    ratio = (min(margin, widest) / sigma_max) ** 2
    return float(min(1.0, ratio / (2 / smaller + (1 - 2 * larger) * ratio)))


def relative_margin_share(separation_probability: float, rho: float) -> float:
    r"""Least share of each cluster that lies beyond a given part of the mean margin.

    .. math::
        1 - r = \frac{(1 - \rho)^2 / 4}{(p^{-1} - 1) + (1 - \rho)^2 / 4}

    for a minimum separation probability :math:`p` (Theorem 5 of [1]_). With :math:`w` the
    direction that attains :math:`p` and :math:`\Delta = |w^\top (\mu_1 - \mu_2)|`, at least
    this share of each cluster lies on its own side of the hyperplane midway between the means,
    at :math:`|w^\top x + b| \ge \rho \Delta / 2`.

    Parameters
    ----------
    separation_probability : float
        The minimum separation probability, between 0 and 1, without regularisation.
    rho : float
        The part of the half distance :math:`\Delta / 2` to keep clear, between 0 and 1.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    separation_from_margin : The converse, from a margin to a separation probability.

    Notes
    -----
    The hyperplane is that of the proof, :math:`b = -w^\top (\mu_1 + \mu_2) / 2`, in general
    not the one of the minimax probability machine, which guarantees the larger share
    :math:`p` for ``rho=0``. For :math:`p = 1` all samples of a cluster project on its mean, so
    that the share is 1 even for ``rho=1``, where the formula reads 0/0.

    References
    ----------
    .. [1] G. Huang, J. Zhang, S. Song and Z. Chen, "Maximin separation probability
       clustering", AAAI Conference on Artificial Intelligence, 2015.

    Examples
    --------
    >>> from separatrix.metrics import relative_margin_share
    >>> round(relative_margin_share(0.95, 0.0), 3)
    0.826
    >>> round(relative_margin_share(0.95, 0.5), 3)
    0.543
    """
    p = check_number(separation_probability, "separation_probability")
    rho = check_number(rho, "rho")
    if not 0 <= p <= 1:
        raise ValueError(f"separation_probability={p} must lie in [0, 1]: pass a probability.")
    if not 0 <= rho <= 1:
        raise ValueError(
            f"rho={rho} must lie in [0, 1]: pass a distance to the middle hyperplane as a part "
            "of half the distance between the means."
        )
    if p == 1:
        return 1.0
    part = p * (1 - rho) ** 2 / 4
    return float(part / (1 - p + part))


def _labelled(X, labels, reg, sample_weight):
    """Return the separation problem of `X` with the partition that `labels` make of it."""
    reg = check_number(reg, "reg")
    if not 0 <= reg < np.inf:
        raise ValueError(f"reg={reg} is negative or not finite: pass 0 or more.")
    clusters, codes = np.unique(check_labels(labels), return_inverse=True)
    X = check_rows(X, lazy=True)
    check_length("labels", codes.size, "X", X.shape[0])
    if sample_weight is not None:
        sample_weight = check_weights(X, sample_weight)
        kept, codes_kept = np.unique(codes[sample_weight > 0], return_inverse=True)
        codes[sample_weight > 0], codes[sample_weight == 0] = codes_kept, 0
        clusters = clusters[kept]
    if clusters.size < 2:
        raise ValueError(
            f"labels has {clusters.size} cluster of positive weight: separation needs 2 or more."
        )
    problem = MomentProblem.of(
        X, sample_weight, reg=reg, isotropic=False, rng=check_random_state(0)
    ).check_varies()
    partition = problem.partition(clusters.size)
    partition.assign(beside(codes.astype(np.int32), problem.X))
    return problem, partition


def separation_probability_score(
    X: Samples, labels: ArrayLike, *, reg: float = 0.1, sample_weight: Weights = None
) -> float:
    r"""Minimum separation probability (MSP) of a labelling.

    .. math:: p = \frac{\kappa^2}{1 + \kappa^2}, \qquad
              \kappa = \max_w \frac{|w^\top(\mu_1 - \mu_2)|}
              {\sum_k \sqrt{w^\top (\Sigma_k + \lambda\Lambda) w}}

    With `reg` zero it is the share of each cluster that is certain to lie on its side of the best
    hyperplane, for every distribution with the means and covariances of the clusters [1]_.

    Parameters
    ----------
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        Samples.
    labels : array-like of shape (n_samples,)
        Any labelling into two or more clusters. With more than two, the worst pair counts.
    reg : float, default=0.1
        The paper's lambda; Lambda is the diagonal of the total covariance.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Nonnegative weights.

    Returns
    -------
    float
        Between 0 and 1; larger is better separated.

    See Also
    --------
    separation_lower_bound : A cheaper lower bound.
    generalized_separation_score : A similar score for arbitrary distances.

    Notes
    -----
    Compare labellings of the same data at the same `reg` only. Among two-cluster tasks of the same
    kind the score rises and falls with accuracy; across data sets, methods or numbers of clusters
    it says little, so do not use it to choose among those.

    References
    ----------
    .. [1] G. Huang, J. Zhang, S. Song, Z. Chen, "Maximin separation probability clustering",
       AAAI 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix.metrics import separation_probability_score
    >>> X, y = load_iris(return_X_y=True)
    >>> separation_probability_score(X, y == 0) > separation_probability_score(X, y == 1)
    True
    """
    problem, partition = _labelled(X, labels, reg, sample_weight)
    return float(separation_probability(np.nanmin(pairwise_kappa(problem, partition))))


def separation_lower_bound(
    X: Samples,
    labels: ArrayLike,
    *,
    coef: ArrayLike = None,
    reg: float = 0.1,
    sample_weight: Weights = None,
) -> float:
    r"""Lower bound on the separation probability of two clusters along one direction.

    Theorem 2 of [1]_: with shares :math:`r_1, r_2` and total covariance :math:`\Sigma`,

    .. math:: \kappa^2 \ge \frac{(w^\top\delta)^2}
              {2 (r_1 \wedge r_2)^{-1} w^\top (\Sigma + \lambda\Lambda) w
               - 2 (r_1 \vee r_2) (w^\top\delta)^2}, \qquad \delta = \mu_1 - \mu_2,

    with equality where the clusters have equal shares and equal variances along w and lambda is
    zero.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples, of at most 2,048 features.
    labels : array-like of shape (n_samples,)
        Labelling into two clusters.
    coef : array-like of shape (n_features,), default=None
        Direction w. None takes the one that maximises the bound.
    reg : float, default=0.1
        The paper's lambda.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Nonnegative weights.

    Returns
    -------
    float
        Bound on the probability, between 0 and 1.

    References
    ----------
    .. [1] G. Huang, J. Zhang, S. Song, Z. Chen, "Maximin separation probability clustering",
       AAAI 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix.metrics import separation_lower_bound, separation_probability_score
    >>> X, y = load_iris(return_X_y=True)
    >>> separation_lower_bound(X, y == 0) <= separation_probability_score(X, y == 0)
    True
    """
    problem, partition = _labelled(X, labels, reg, sample_weight)
    if partition.n_clusters != 2 or problem.total.diagonal:
        raise ValueError(
            f"labels has {partition.n_clusters} clusters and X {problem.X.shape[1]} features: the "
            "bound is for 2 clusters and at most 2048 features."
        )
    sides = Sides.of(problem, partition, np.array([-1, 1]))
    active = sides.units.active
    total = sides.covariance(problem.total)
    difference = sides.difference[active]
    if coef is None:
        w = cho_solve(cho_factor(total), difference)
    else:
        coef = check_values(coef, "coef")
        if coef.shape != active.shape:
            raise ValueError(f"coef has shape {coef.shape} but X has {active.size} features.")
        w = sides.in_units(coef)[active]
    smaller = min(sides.plus.weight, sides.minus.weight) / problem.total.weight
    gap = (w @ difference) ** 2
    kappa_squared = gap / (2 * (w @ total @ w) / smaller - 2 * (1 - smaller) * gap)
    return float(separation_probability(np.sqrt(kappa_squared)))


def validity_score(
    X: ArrayLike, labels: ArrayLike, *, max_samples: int = 10_000, random_state: RandomState = None
) -> float:
    """Predicted agreement of a labelling with the unknown classes.

    Boosted trees predict the adjusted Rand index (ARI) of `labels` with the classes, minus that of
    a typical labelling of the same samples. They use some fifty features of the labelling, such as
    silhouettes, modularity, cuts, likelihoods of Gaussian clusters and gaps in spanning trees.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples, at least three.
    labels : array-like of shape (n_samples,)
        Any labelling into two or more clusters, fewer than samples. A label of -1 is a cluster
        like any other.
    max_samples : int, default=10_000
        Largest number of samples to use, at least 3; from more, as many are drawn without
        replacement.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the samples, and for halving them for one of the features. None means seed
        0, so that all labellings are scored on the same samples.

    Returns
    -------
    float
        Larger is better. About zero for a typical labelling of `X`, most often between -1 and 1.

    See Also
    --------
    separation_probability_score : How well a hyperplane separates two clusters.
    generalized_separation_score : A similar score for arbitrary distances.

    Notes
    -----
    Compare labellings of the same `X` only, with the same `max_samples` and `random_state`. A
    labelling that scores 0.1 better than another is expected to have an ARI 0.1 to 0.2 larger. A
    single score says nothing, nor do scores of different data sets.

    The trees were grown on synthetic data alone, in which the classes are groups of near or
    connected samples. They use the Euclidean geometry of the features as given, not what the
    features mean: scale features that have different units, and do not rely on the score where
    distances do not show the classes. Of more than 50 features, the first 50 principal components
    count.

    The score does not prove structure: some labelling of noise scores best, too.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_moons
    >>> from separatrix.metrics import validity_score
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> halves = KMeans(2, random_state=0).fit_predict(X)
    >>> validity_score(X, y) > validity_score(X, halves)
    True
    """
    # these load numba, which no other score needs
    from separatrix.similarity.geometry import Geometry
    from separatrix.validity.features import Measures, labelling_features, sample_features
    from separatrix.validity.learned import learned_validity

    clusters, codes = _several_clusters(labels)
    X = check_rows(X, dtype=np.float64, sparse=False, scale_free=True)
    n_samples = len(X)
    check_length("X", n_samples, "labels", codes.size)
    if clusters.size == n_samples:
        raise ValueError(
            f"labels has {clusters.size} clusters for {n_samples} samples: pass a labelling in "
            "which some samples share a cluster."
        )
    max_samples = check_number(max_samples, "max_samples")
    if not max_samples >= 3:
        raise ValueError(
            f"max_samples={max_samples} of {n_samples} samples are too few to score: pass 3 or "
            "more."
        )
    with naming("random_state"):
        rng = check_random_state(0 if random_state is None else random_state)
    if n_samples > max_samples:
        drawn = np.sort(rng.permutation(n_samples)[: int(max_samples)])
        X, codes = X[drawn], np.unique(codes[drawn], return_inverse=True)[1]
        if not codes.any():
            raise ValueError(
                f"max_samples={max_samples} of {n_samples} samples were drawn, all from one of "
                f"the {clusters.size} clusters of labels: pass a larger max_samples."
            )
    codes = codes.astype(np.int32)
    measures = Measures(Geometry(Frame.of(X)(X)), rng)
    sample = sample_features(measures, int(codes.max()) + 1)
    return float(learned_validity().of_each([labelling_features(measures, codes)], sample)[0])


def structure_test(
    X: ArrayLike,
    clustering: Any,
    *,
    n_draws: int | None = None,
    level: float = 0.15,
    max_samples: int = 2_000,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> "Structure":
    r"""Test whether clusters are more than chance would show in a table without clusters.

    Any clusterer finds clusters in noise. The test draws tables like `X` that have none, clusters
    them, and compares three measures: how far the density falls between neighbouring clusters
    along their discriminant, how long the links of a spanning tree between clusters are, and how
    few neighbours belong to different clusters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    clustering : clusterer or array-like of shape (n_samples,)
        A clusterer, whose clones cluster `X` and the tables without clusters; or labels from any
        source, which are compared with those that k-means, single linkage that keeps sizes even,
        and cuts of a spanning tree give these tables, for the same number of clusters. A label of
        -1 is a cluster like any other.
    n_draws : int or None, default=None
        Number of tables without clusters of each of three kinds, at least 8. None draws 8, or 16
        to 24 if these leave a doubt, more if there are few samples. The test ends as soon as one
        kind looks like `X`.
    level : float, default=0.15
        The test finds clusters if the p-value is below this level. The largest p-value of the
        three kinds of tables counts, so at 0.15 it finds clusters in about four of a hundred
        tables without any.
    max_samples : int, default=2_000
        Largest number of samples to use; from more, as many are drawn without replacement.
    n_jobs : int, default=None
        Number of tables that are clustered at the same time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Draws the samples and the tables. None is the seed 0.

    Returns
    -------
    structure : Structure
        It prints as a table; `has_clusters`, `p_value` and `words` give the result.

    See Also
    --------
    validity_score : Which of two labellings is likely to be better.

    Notes
    -----
    The tables without clusters have as many samples as `X`. There are three kinds: columns with
    one mode each and the correlations of `X` (a Gaussian copula); independent principal
    coordinates with one mode each; and the covariances and distances from the mean of `X`, with a
    density that is constant on ellipsoids and falls outwards. Each measure is divided by its
    standard deviation over these tables, and the statistic is the norm of the excesses over their
    means. The p-value comes from the extreme value distribution with the mean and variance of the
    statistic on these tables, and the largest of the three kinds counts. So a stretched axis, a
    skewed column, correlated columns or a ball do not count as clusters. Columns of few values are
    spread out first, and one-hot columns remain one-hot: levels and categories by themselves are
    not clusters either. Data that are neither a group nor like these tables, such as one curved
    band, may be mistaken for clusters.

    Scale features that have different units. Of more than 50 features, the first 50 principal
    components count.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from separatrix.metrics import structure_test
    >>> X = load_iris().data
    >>> structure_test(X, KMeans(3, n_init=3)).has_clusters
    True
    >>> noise = np.random.default_rng(0).normal(size=X.shape)
    >>> structure_test(noise, KMeans(3, n_init=3)).has_clusters
    False
    """
    # these load numba, which few scores need
    from separatrix.validity import structure

    X = check_rows(X, dtype=np.float64, sparse=False, scale_free=True)
    if n_draws is not None:
        n_draws = check_count(n_draws, "n_draws", least=8)
    if not 0 < check_number(level, "level") < 1:
        raise ValueError(f"level={level!r} must lie between 0 and 1.")
    max_samples = check_count(max_samples, "max_samples", least=structure.MIN_SAMPLES)
    with naming("random_state"):
        rng = check_random_state(0 if random_state is None else random_state)
    drawn = np.sort(rng.permutation(len(X))[:max_samples])
    if hasattr(clustering, "fit_predict"):
        of_samples = of_tables = partial(structure.labels_of_clusterer, clustering)
    else:
        clusters, codes = _several_clusters(clustering, "clustering")
        check_length("X", len(X), "clustering", codes.size)
        of_samples = partial(structure.given_labels, codes[drawn])
        of_tables = partial(structure.cheap_clusterings, [len(clusters)])
    return structure.structure_of(
        X[drawn], of_samples, of_tables, n_draws=n_draws, level=level, n_jobs=n_jobs, rng=rng
    )
