"""Generalized maximum margin clustering: a smaller convex program, with an intercept."""

from dataclasses import replace

import numpy as np

from separatrix.estimators.base import fit_with_weights
from separatrix.estimators.parameters import OUTLIERS, POSITIVE, WARM_START
from separatrix.estimators.semidefinite import FoldedRows, SemidefiniteClustering
from separatrix.result import Progress
from separatrix.similarity.kernels import double_centred
from separatrix.solvers.interior_point import optimize_program
from separatrix.solvers.label_programs import GeneralizedProgram

__all__ = ["GeneralizedMarginClustering", "generalized_kernel", "relax_generalized_margin"]

# Bounds, this value and its inverse, on the penalty of a sum relative to the kernel's values.
SMALLEST = 1e-10


class GeneralizedMarginClustering(SemidefiniteClustering):
    """Two clusters of widest margin, by a small convex program, with a certified optimum.

    Generalized maximum margin clustering [1]_ looks for the values of a machine with an intercept
    at the samples: all at least one in absolute value, with a sum near zero and the least norm.
    Its relaxation, (24) of [2]_, has only one variable for each sample.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    C : float, default=0.5
        Weight of the sum of the losses against half the squared norm, as in `sklearn.svm.SVC`. The
        loss of a sample is one minus its squared value, where that is positive. The paper's
        C_delta is twice this.
    sum_penalty : float, default=1e4
        Weight of the squared sum of all values, the paper's C_e, which keeps both clusters in use.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 1.0)
        Kernel coefficient: a number, or 1 / width**2 by a rule. "mean" takes the mean distance of
        two samples as the width, "median" the median distance, ("mean", 0.5) half of the mean
        distance; "scale" is 1 / (n_features * X.var()). For more than 10 clusters such a distance
        shrinks in proportion to the clusters of k-means.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    multiway : {"auto", "bisection"}, default="auto"
        How more than two clusters are separated. By repeated splits in two ("bisection"), which is
        also "auto". Each time the most scattered cluster is split.
    n_roundings : int, default=10
        Roundings of the relaxed labels in addition to the one by the first eigenvector: this many
        rotate it into the second in equal steps, and as many are random. The labels whose machine
        has the lowest objective are kept. Zero leaves the rounding by the first eigenvector, as in
        the papers.
    max_steps : int, default=100
        Largest number of steps of the solver.
    gap_tol : float, default=1e-6
        Certified gap to the optimum, as a share of the objective, at which the solver stops.
    min_size : int, float or array-like of shape (n_clusters,), default=None
        Smallest number of samples in each cluster. A whole number, or a share of the samples if it
        is below 1, for all clusters or one for each; None sets no bound. `labels_` and `assign`
        keep the bounds exactly; `predict` need not. With two clusters so do all roundings; with
        more, neither half of a split is smaller than the smallest cluster may be, and the bounds
        are kept at the end. They count samples, whatever their weights.
    max_size : int, float or array-like of shape (n_clusters,), default=None
        Largest number of samples in each cluster, given like `min_size`.
    outliers : float, {"auto"} or None, default=None
        Largest share of the samples, below 0.5, that belong to no cluster: `labels_` and `predict`
        give them -1. They are the samples farthest from those of clusters, relative to the usual
        distances within the nearest cluster. "auto" takes the samples beyond the tail of a
        Gaussian cluster, mostly less than 1 % where there are no outliers. None leaves no sample
        out.
    warm_start : bool, default=False
        Whether another fit keeps the numbers of the clusters, so that they agree best with what
        the earlier fit predicts for the new samples. An estimator with `init` also starts from
        these predictions.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing samples and starts. None means seed 0, so the same data give the same
        result each time.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster first. The same as `predict` of the training
        data, except where bounds on sizes bind.
    coef_ : ndarray of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : ndarray of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Upper bound on the optimum of the program; for more than two clusters, the mean over all
        splits. It is nan for one cluster, or for fewer distinct samples than clusters.
    gap_ : float
        Proven bound on the distance from the optimum of the problem solved, as a share of its
        objective. The largest of all splits.
    history_ : list of float
        Objective at each iteration.
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    n_iter_ : int
        Iterations, the length of `history_`.
    outlier_scores_ : array of shape (n_samples,)
        Distance of each sample from those of clusters, in units of the usual distance within the
        nearest cluster; infinite where all samples of that cluster are equal. Only if `outliers`
        is not None.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    SemidefiniteMarginClustering : The program of the first paper, with a balance of sizes.
    MaximumMarginClustering : Alternating updates, for many samples.

    Notes
    -----
    Cluster sizes are not bounded: only the sum of values is kept near zero, and one far sample
    can balance many near ones.

    The solver usually takes 10 to 30 steps. The papers take labels from the eigenvector whose
    eigenvalue is zero at the optimum, of which there are often several; here the machines of
    several cuts of the matrix of products are compared.

    Equal samples are one of the sum of their weights in the program, which has the same optimum.

    The order of the rows does not matter. With a precomputed kernel it may, if samples have the
    same values in another order.

    References
    ----------
    .. [1] H. Valizadegan, R. Jin, "Generalized maximum margin clustering and unsupervised kernel
       learning", Advances in Neural Information Processing Systems 19, 2007.
    .. [2] G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative
       clustering approach", Journal of Machine Learning Research 14, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import GeneralizedMarginClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GeneralizedMarginClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: dict = {
        **SemidefiniteClustering._parameter_constraints,
        "sum_penalty": POSITIVE,
        **OUTLIERS,
        **WARM_START,
    }

    fit = fit_with_weights  # type: ignore[assignment]

    def __init__(
        self,
        n_clusters=2,
        *,
        C=0.5,
        sum_penalty=1e4,
        kernel="rbf",
        gamma=("mean", 1.0),
        degree=3,
        coef0=1,
        multiway="auto",
        n_roundings=10,
        max_steps=100,
        gap_tol=1e-6,
        min_size=None,
        max_size=None,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.sum_penalty = sum_penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multiway = multiway
        self.n_roundings = n_roundings
        self.max_steps = max_steps
        self.gap_tol = gap_tol
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    @property
    def _price(self):
        return 2 * self.C

    def _folded(self, X, sample_weight):
        return FoldedRows.of(X, sample_weight)

    def _machine_kernel(self, K, weight):
        return generalized_kernel(K, self.sum_penalty, weight)

    def _relax(self, K, G, weight, progress, bounds):
        return relax_generalized_margin(
            G,
            C=self.C,
            tol=self.gap_tol,
            max_steps=self.max_steps,
            progress=progress,
            weight=weight,
            lift=lift_of(K, weight),
        )

    def _signs(self, scores):
        return np.where(scores > 0, 1.0, -1.0)

    def _rule(self, K, response, weight):
        # values are those of the centred kernel, plus the little that the penalty leaves of their
        # sum
        total = response.sum()
        multipliers = response - weight * (total / weight.sum())
        left = total * freedom_of_sum(K, self.sum_penalty, weight)
        return multipliers, left - np.average(K @ multipliers, weights=weight), True


def generalized_kernel(K, sum_penalty, weight=None):
    r"""Kernel matrix G with which a machine without intercept is that of problem (23).

    There, values w have the cost :math:`\min_\lambda (w + \lambda 1)^\top K^{-1} (w + \lambda 1)
    + C_e (1^\top w)^2`, which is :math:`w^\top G^{-1} w` with :math:`G = H K H + 1 1^\top / (C_e
    n^2)` and the centring matrix H. So no matrix needs to be inverted. As in the experiments of
    Niu et al. (2013), K is lifted first, by its mean diagonal entry over n.

    With weights this is the matrix of `GeneralizedProgram`, in which a sample stands for its
    copies: rows and columns have the roots of the weights as factors. The lift, which each copy
    has for itself, has none.
    """
    weight = np.ones(len(K)) if weight is None else weight
    roots = np.sqrt(weight)
    of_sums = double_centred(K, weight) + freedom_of_sum(K, sum_penalty, weight)
    centring = np.eye(len(K)) - np.outer(roots, roots) / weight.sum()
    return roots[:, None] * of_sums * roots + lift_of(K, weight) * centring


def lift_of(K, weight):
    """What a kernel is lifted by; weights below one count as one in the number of samples."""
    return mean_diagonal(K, weight) / max(weight.sum(), len(weight))


def mean_diagonal(K, weight):
    """Weighted mean of the kernel values of samples with themselves."""
    return float(np.average(np.diag(K), weights=weight))


def freedom_of_sum(K, sum_penalty, weight):
    """What the penalty of their sum adds to products of values.

    It is bounded relative to the kernel's own values, so that rounding loses neither of the two:
    beyond these bounds, a penalty acts like none, or like an infinite one.
    """
    size = mean_diagonal(K, weight)
    return min(max(1 / (sum_penalty * weight.sum() ** 2), SMALLEST * size), size / SMALLEST)


def relax_generalized_margin(
    G, *, C, tol=1e-6, max_steps=100, progress=None, weight=None, lift=0.0
):
    r"""Generalized maximum margin clustering.

    .. math:: \max_\gamma \; \gamma^\top 1 \quad \text{s.t.} \quad
              G^{-1} - \operatorname{diag} \gamma \succeq 0, \; 0 \le \gamma \le 2 C

    Problem (24) of Niu et al. (2013), where the offset of the machine, the last row and column of
    their W, is eliminated beforehand (see `generalized_kernel`). It relaxes the least
    :math:`\tfrac12 w^\top G^{-1} w + C \sum_i (1 - w_i^2)_+` over all values w, whose products M
    stands for. For :math:`C = \infty` it is `relax_semidefinite_margin` without balance, for the
    kernel G: put :math:`d_i = \alpha_i^2 / \gamma_i` there.

    Parameters
    ----------
    G : ndarray of shape (n, n)
        Positive definite matrix, of `generalized_kernel`.
    C : float
        Weight of the losses: half of the largest gamma, the paper's C_delta.
    tol : float, default=1e-6
        Certified gap to reach.
    max_steps : int, default=100
        Most steps.
    progress : Progress, default=None
        Where the loop counter comes from.
    weight : ndarray of shape (n,), default=None
        Weights of the samples, each of which stands for its copies: G is then that of
        `generalized_kernel` with weights. None for ones.
    lift : float, default=0.0
        What the kernel was lifted by. Where the values of copies differ, only it limits them: its
        product with gamma is at most one.

    Returns
    -------
    relaxation : Relaxation
        Its x is gamma, and the roots of the weights are factors of its products of values.
    """
    largest = 2 * C
    if weight is not None and largest * lift > 1:
        largest = np.where(weight > 1, 1 / lift, largest)
    program = GeneralizedProgram(G, largest, weight)
    found = optimize_program(
        program, tol=tol, max_steps=max_steps, progress=progress or Progress()
    )
    return replace(found, M=program.products(found.M))
