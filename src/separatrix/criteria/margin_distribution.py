"""Optimal margin distribution clustering: labellings whose margins are all about equal."""

from functools import partial
from numbers import Real

import numpy as np

from separatrix._sklearn import Interval, StrOptions
from separatrix.estimators.label_mixture import LabelMixtureClustering
from separatrix.solvers.label_mixtures import Machine, find_saddle
from separatrix.solvers.mirror_descent import mirror_saddle

__all__ = ["OptimalMarginDistributionClustering"]

# C="scale" in units of one over the squared distances from the mean. Below it no margin is in
# excess on many data sets; above it the relaxation becomes loose.
SCALE = 25.0


class OptimalMarginDistributionClustering(LabelMixtureClustering):
    r"""Clusters of similar size whose samples all have margins of about the same size.

    The smallest margin depends on few samples. Here margins are to have a large mean and a small
    variance [1]_: a sample costs nothing while its margin lies between 1 - theta and 1 + theta,
    and otherwise the square of the shortfall or excess. As in label generation clustering, the
    labelling is replaced by a mix of generated ones, which makes the problem convex.

    With the defaults, margins on both sides of one are penalised on most data, which is the point
    of the method. The paper chose its parameters by the true classes: lambda from 1 to 1000, nu
    and theta from 0.2 to 0.8, and the kernel. At lambda = 1 and theta = 0.2 no margin is ever in
    excess, so nu has no effect. Here lambda is about 30, theta is zero, and the labels are the
    best of those generated, where the paper takes a vote of all; see `C`, `theta` and `readout`.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    C : float or "scale", default="scale"
        Weight of the sum of the losses against half the squared norm, as in `sklearn.svm.SVC`.
        "scale" is 25 over the sum of the squared distances of the samples from their mean, in the
        space of the kernel. The paper's lambda is n_samples times this.
    nu : float, default=0.5
        Weight of the excess of margins relative to their shortfall; 0 < nu <= 1.
    theta : float, default=0.0
        Half the width of the zone around one in which margins cost nothing; 0 <= theta < 1.
    balance : float, default=0.2
        Largest difference in size of two clusters as a share of all samples: each of k clusters
        holds (1 - balance) / k to (1 + balance) / k of them, up to one sample. With repeated
        splits in two, this holds for each split.
    min_size : int, float or array-like of shape (n_clusters,), default=None
        Smallest number of samples in each cluster. A whole number, or a share of the samples if it
        is below 1, for all clusters or one for each; None sets no bound. `labels_` and `assign`
        keep the bounds exactly; `predict` need not. So does each labelling that the search
        generates. Clusters are in `balance` as well, or as near to it as the bounds allow. Both
        count samples, whatever their weights.
    max_size : int, float or array-like of shape (n_clusters,), default=None
        Largest number of samples in each cluster, given like `min_size`.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.5)
        Kernel coefficient: a number, or 1 / width**2 by a rule. "mean" takes the mean distance of
        two samples as the width, "median" the median distance, ("mean", 0.5) half of the mean
        distance; "scale" is 1 / (n_features * X.var()). For more than 10 clusters such a distance
        shrinks in proportion to the clusters of k-means.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    solver : {"newton", "mirror-descent"}, default="newton"
        Algorithm that looks for the solution. "newton" finds the weights of labellings by Newton's
        method to a certified gap, "mirror-descent" by the noisy steps of the paper, 20,000 in each
        round, of practical length.
    readout : {"consensus", "vote", "best"}, default="best"
        How many labellings become one. "consensus" is a vote in which a labelling counts the more,
        the better it agrees with the outcome; "vote" is the weighted vote of Zhang and Zhou, with
        the clusters of all labellings matched to those of the one with the largest weight; "best"
        takes the labelling with the lowest objective. "consensus" and "best" are then updated
        until machine and labels agree. "vote" stays as it is, or moves to the nearest balanced
        labels, so `predict` may differ for some samples. It depends on all labellings that the
        search found, so a sample of weight two may get another label than a sample that is
        repeated. With more than two clusters, rounding can change which labellings are found, and
        so the result of "consensus" or "vote"; "best" hardly depends on that.
    max_labellings : int, default=200
        Largest number of labellings to generate, in addition to the spectral splits, k-means
        clusterings and fixed points of alternating updates at the beginning.
    max_samples : int, default=1000
        Largest number of samples that the search uses. From more, it draws a random sample of this
        size, and the result labels the others.
    n_components : int, default=300
        Largest number of features that approximate a kernel whose whole matrix is not used.
    max_rounds : int, default=50
        Largest number of rounds, each of which adds up to 20 labellings.
    gap_tol : float, default=1e-2
        Certified gap to the optimum, as a share of the objective, at which the solver stops.
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
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first. The same as `predict` of the training
        data, except where links bind or bounds on sizes separate equal samples, or by a vote.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel. One for two clusters, otherwise one for
        each cluster.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Objective of the machines of the labels: smaller is better. It is nan for one cluster, or
        for fewer distinct samples than clusters.
    lower_bound_ : float
        Objective of the mix: no labelling among those generated has a smaller one. It is nan for
        one cluster, or for fewer distinct samples than clusters.
    gap_ : float
        Proven bound on the distance from the optimum of the problem solved, as a share of its
        objective. That problem is the best mix of the generated labellings.
    violation_ : float
        The same distance for the most violated labelling that could still be found.
    labellings_ : ndarray of shape (n_labellings, n_seen)
        The labellings, of the samples that the search used.
    labelling_weights_ : ndarray of shape (n_labellings,)
        Their weights.
    sample_indices_ : ndarray of shape (n_seen,)
        Indices of the samples that the search used.
    history_ : list of float
        Objective at each iteration. An iteration is a round; the objective is that of the mix.
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    C_ : float
        Weight of the sum of the losses that was used; nan if none was.
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
    LabelGenerationMarginClustering : The same with the loss of support vector machines.
    OptimalMarginDistributionMachine : The classifier for known labels.

    Notes
    -----
    The paper has two clusters and leaves open where the candidate labellings come from. For more
    clusters there is one machine for each against the rest, and the objectives add up. The larger
    `C`, the looser the relaxation: `violation_` then shows that labellings were still being found
    when `max_labellings` or `max_rounds` ended the search. A ConvergenceWarning reports this,
    mirror descent that ended above `gap_tol`, and fits without any excess margin, unless all
    margins are as large as wanted, or nearly so.

    The search sorts samples by their values, so the order of the rows makes no difference, except
    for dask arrays, from which samples are drawn by their positions.

    For more than 20 clusters, and more samples than the search uses, the machines that label the
    others are those of least squares, which are updated on up to 100 samples per cluster, or
    10,000 altogether.

    For the linear kernel samples are centred.

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import OptimalMarginDistributionClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = OptimalMarginDistributionClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: dict = {
        **LabelMixtureClustering._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "solver": [StrOptions({"newton", "mirror-descent"})],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C="scale",
        nu=0.5,
        theta=0.0,
        balance=0.2,
        min_size=None,
        max_size=None,
        kernel="rbf",
        gamma=("mean", 0.5),
        degree=3,
        coef0=1,
        solver="newton",
        readout="best",
        max_labellings=200,
        max_samples=1000,
        n_components=300,
        max_rounds=50,
        gap_tol=1e-2,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.nu = nu
        self.theta = theta
        self.balance = balance
        self.min_size = min_size
        self.max_size = max_size
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.readout = readout
        self.max_labellings = max_labellings
        self.max_samples = max_samples
        self.n_components = n_components
        self.max_rounds = max_rounds
        self.gap_tol = gap_tol
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    def _machine(self, strength):
        return Machine(strength, self.nu, self.theta)

    def _scale(self, problem):
        # the mean squared distance from the mean, which makes margins independent of units
        means = np.average(problem.K, axis=1, weights=problem.row_weight)
        squares = np.average(np.diag(problem.K) - means, weights=problem.row_weight)
        return SCALE / squares

    def _saddle_solver(self, rng):
        return find_saddle if self.solver == "newton" else partial(mirror_saddle, rng=rng)
