"""Maximum margin clustering by a semidefinite program: convex, so the start does not matter."""

import numpy as np

from separatrix.estimators.parameters import BALANCE, OUTLIERS, WARM_START
from separatrix.estimators.semidefinite import SemidefiniteClustering
from separatrix.labels.sizes import balanced_threshold
from separatrix.result import Progress
from separatrix.solvers.label_programs import LabelProgram, label_bound, optimize_labels

__all__ = ["SemidefiniteMarginClustering", "relax_semidefinite_margin"]


class SemidefiniteMarginClustering(SemidefiniteClustering):
    """Two clusters of widest margin by a convex relaxation, with a certified optimum.

    This is the first form of maximum margin clustering [1]_. The products of all pairs of labels
    form a positive semidefinite matrix, which turns the search over labellings into a semidefinite
    program, (22) of [2]_ and (6) of [3]_. Its optimum is unique, so there are no starts, and the
    gap to it is certified. Labels are then read off the matrix.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    C : float, default=1.0
        Weight of the sum of the losses against half the squared norm, as in `sklearn.svm.SVC`.
    balance : float, default=0.5
        Largest difference in size of two clusters as a share of all samples: each of k clusters
        holds (1 - balance) / k to (1 + balance) / k of them, up to one sample. With repeated
        splits in two, this holds for each split.
    triangles : bool, default=False
        Whether the relaxed labels of any three samples keep the triangle constraints of Xu et al.
        (2005), as all labels do. The bound is tighter and the fit takes much longer, so at most
        100 samples are allowed.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.25)
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
        are kept at the end. Clusters are in `balance` as well, or as near to it as the bounds
        allow.
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
        Upper bound on the optimum of the program. Minus the certified gap, it is a lower bound on
        twice the objective of a machine without intercept for any balanced labels. For more than
        two clusters, the mean over all splits. It is nan for one cluster, or for fewer distinct
        samples than clusters.
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
    GeneralizedMarginClustering : A program in fewer variables, whose boundaries have an offset.
    MaximumMarginClustering : The same objective by alternating updates, for many samples.

    Notes
    -----
    A step costs a few products of n-by-n matrices, so time grows with n^3 and memory with n^2.
    More than 5,000 samples are refused.

    For the linear kernel samples are centred, because boundaries of the program pass through the
    origin. The solver usually takes 10 to 30 steps.

    Without balance, one cluster of all samples would be the optimum. The papers bound the sum of
    each row of the matrix; here it is the sum of all, which is tighter (see
    `relax_semidefinite_margin`). The machines of several cuts of the matrix into two balanced
    clusters are compared, where the papers take one.

    There is no `sample_weight`, because a weight would not always mean repetition: where the
    balance binds, the relaxation may give copies of a sample different rows, which one weighted
    sample cannot have. The guide on relaxations has the proof.

    The order of the rows does not matter. With a precomputed kernel it may, if samples have the
    same values in another order.

    References
    ----------
    .. [1] L. Xu, J. Neufeld, B. Larson, D. Schuurmans, "Maximum margin clustering", Advances in
       Neural Information Processing Systems 17, 2005.
    .. [2] G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative
       clustering approach", Journal of Machine Learning Research 14, 2013.
    .. [3] K. Zhang, I. W. Tsang, J. T. Kwok, "Maximum margin clustering made practical", IEEE
       Transactions on Neural Networks 20(4), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import SemidefiniteMarginClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = SemidefiniteMarginClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: dict = {
        **SemidefiniteClustering._parameter_constraints,
        **BALANCE,
        "triangles": ["boolean"],
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C=1.0,
        balance=0.5,
        triangles=False,
        kernel="rbf",
        gamma=("mean", 0.25),
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
        self.balance = balance
        self.triangles = triangles
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
    def _has_triangles(self):
        return self.triangles

    @property
    def _price(self):
        return self.C

    def _machine_kernel(self, K, weight):
        return K

    def _relax(self, K, G, weight, progress, bounds):
        return relax_semidefinite_margin(
            K,
            C=self.C,
            balance=self.balance if bounds is None else bounds.balance,
            triangles=self.triangles,
            tol=self.gap_tol,
            max_steps=self.max_steps,
            progress=progress,
        )

    def _cut(self, scores, loss):
        balance = label_bound(self.balance, len(scores)) / len(scores)
        return balanced_threshold(scores, loss=loss, balance=balance)

    def _signs(self, scores):
        return np.where(scores > self._cut(scores, "square").threshold, 1.0, -1.0)

    def _rule(self, K, response, weight):
        # the machine of the program has no intercept, and needs one only out of balance: at a
        # small C all values are far below one, and the loss is least at the edge of the balance
        scores = K @ response
        if abs(np.where(scores > 0, 1, -1).sum()) <= label_bound(self.balance, len(scores)):
            return response, 0.0, True
        cut = self._cut(scores, "hinge")
        threshold = 0.0 if np.isnan(cut.threshold) else cut.threshold  # all values are equal
        return response, -threshold, cut.within


# --- the programs -------------------------------------------------------------------------------


def relax_semidefinite_margin(
    K, *, C, balance, triangles=False, tol=1e-6, max_steps=100, progress=None
):
    r"""Maximum margin clustering as a semidefinite program.

    .. math:: \min_M \max_{0 \le \alpha \le C} \; 2 \alpha^\top 1 - \alpha^\top (K \circ M) \alpha
              \quad \text{s.t.} \quad M \succeq 0, \; \operatorname{diag} M = 1, \;
              1^\top M 1 \le l^2

    Problem (22) of Niu et al. (2013), which is (6) of Zhang, Tsang and Kwok (2009) without the
    Schur complement. Their band :math:`-l 1 \le M 1 \le l 1` is replaced by the last constraint:
    for :math:`M = y y^\top` both mean :math:`|1^\top y| \le l`, but it excludes more of the other
    M, since :math:`|(M 1)_i| \le (M_{ii} \, 1^\top M 1)^{1/2}`, and it has one multiplier instead
    of n. The other two groups of Remark 21 there, the triangle constraints of Xu et al. (2005),
    are an option: see `TriangleCuts`.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix.
    C : float
        Weight of the losses.
    balance : float
        Largest difference of cluster sizes as a share of n; l is n times that, and at least one.
    triangles : bool, default=False
        Whether triangle constraints hold; those that are violated are added until none is.
    tol : float, default=1e-6
        Certified gap to reach.
    max_steps : int, default=100
        Most steps.
    progress : Progress, default=None
        Where the loop counter comes from.

    Returns
    -------
    relaxation : Relaxation
        Its x holds alpha, the multipliers of the diagonal, that of the balance, and those of the
        triangles that were added.
    """
    return optimize_labels(
        LabelProgram(K, C=C, bound=label_bound(balance, len(K))),
        triangles=triangles,
        tol=tol,
        max_steps=max_steps,
        progress=progress or Progress(),
    )
