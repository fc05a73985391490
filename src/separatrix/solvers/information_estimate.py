"""Mutual information of samples and labels, estimated without the kernel that labelled them."""

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

# Most samples, most kernels at samples of a cluster, and folds of cross-validation.
MAX_SAMPLES = 1_000
MAX_KERNELS = 50
N_FOLDS = 5
# What cross-validation chooses from: widths as multiples of the median distance, weights of norms.
WIDTHS = (0.3, 0.6, 1.0, 2.0, 4.0)
REGS = np.array([1e-3, 1e-2, 1e-1, 1.0])


def least_squares_mutual_information(X, labels, *, random_state=None):
    r"""Squared-loss mutual information of samples and labels, estimated by least squares.

    .. math:: \frac12 \sum_y p(y) \int p(x) (r_y(x) - 1)^2 \, dx, \qquad
              r_y(x) = \frac{p(x, y)}{p(x) p(y)}

    The ratio of densities is fitted as a whole, by a sum of Gaussian kernels at the samples of
    each cluster [1]_. Their width and the weight of their norms are chosen by cross-validation.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples; at most 1,000 of them are used.
    labels : array-like of shape (n_samples,)
        Their clusters.
    random_state : int, RandomState instance or None, default=None
        Draws samples and folds.

    Returns
    -------
    information : float
        Zero for labels that are independent of the samples, and (c - 1) / 2 for c clusters of the
        same size that do not overlap.

    References
    ----------
    .. [1] T. Suzuki, M. Sugiyama, T. Kanamori, J. Sese, "Mutual information estimation reveals
       global associations between stimuli and biological processes", BMC Bioinformatics 10, 2009.
    """
    labels = np.asarray(labels)
    drawn = drawn_samples(len(labels), random_state)
    return information_of(X[drawn], labels[drawn])


def drawn_samples(n_samples, random_state):
    """Indices of the samples that are used."""
    return check_random_state(random_state).permutation(n_samples)[:MAX_SAMPLES]


def information_of(X, labels):
    """The estimate from samples that have been drawn."""
    squares, n_samples = euclidean_distances(X, squared=True), len(labels)
    fold = np.arange(n_samples) % N_FOLDS
    median = np.median(squares[squares > 0]) if (squares > 0).any() else 1.0
    everyone = np.ones(n_samples, dtype=bool)
    best = (-np.inf, 0.0)
    for width in WIDTHS:
        L = np.exp(-squares / (2 * width**2 * median))
        judged = [
            ratio_fits(L, labels, fold != held_out, fold == held_out)
            for held_out in range(min(N_FOLDS, n_samples))
        ]
        by_reg = np.sum(judged, axis=0)
        reg = int(np.argmax(by_reg))
        if by_reg[reg] > best[0]:
            best = (by_reg[reg], ratio_fits(L, labels, everyone, everyone)[reg] - 0.5)
    return float(best[1])


def ratio_fits(L, labels, fitted, judged):
    r"""How well the ratios fitted on some samples fit others, for each weight of norms.

    .. math:: \sum_y h_y^\top \theta_y - \tfrac12 \theta_y^\top H_y \theta_y, \qquad
              \theta_y = (H_y + \delta I)^{-1} h_y
    """
    fit = np.zeros(len(REGS))
    for label in np.unique(labels[fitted]):
        inside = labels == label
        kernels = L[:, np.flatnonzero(inside & fitted)[:MAX_KERNELS]]

        def moments(some, inside=inside, kernels=kernels):
            """H and h from `some` of the samples."""
            rows = kernels[some]
            H = inside[some].mean() / len(rows) * (rows.T @ rows)
            return H, kernels[some & inside].sum(axis=0) / len(rows)

        H, h = moments(fitted)
        values, vectors = eigh(H)
        theta = vectors @ ((vectors.T @ h)[:, None] / (values[:, None] + REGS))
        H, h = moments(judged)
        fit += h @ theta - 0.5 * np.sum(theta * (H @ theta), axis=0)
    return fit
