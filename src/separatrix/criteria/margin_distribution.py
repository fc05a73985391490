"""Optimal margin distribution clustering: labellings whose margins are all of one size."""

from functools import partial
from numbers import Real

from separatrix._sklearn import Interval, StrOptions
from separatrix.estimators.base import BaseDiscriminativeClustering
from separatrix.estimators.label_mixture import LABELLING_CONSTRAINTS, LabellingsMixin
from separatrix.solvers.label_mixtures import Machine, solve_saddle
from separatrix.solvers.mirror_descent import mirror_saddle

__all__ = ["OptimalMarginDistributionClustering"]


class OptimalMarginDistributionClustering(LabellingsMixin, BaseDiscriminativeClustering):
    r"""Clusters of similar size whose samples all have margins of about the same size.

    The smallest margin depends on few samples. Here margins are to have a large mean and a small
    variance [1]_: a sample costs nothing while its margin lies between 1 - theta and 1 + theta,
    and the square of what is missing or in excess otherwise. As in label generation clustering,
    the labelling is replaced by a mix of generated ones, which makes the problem convex.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    C : float, default=1.0
        Weight of the mean loss against the margin, the paper's lambda.
    nu : float, default=0.5
        Weight of what margins are in excess, relative to what they miss; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone in which margins cost nothing; 0 <= theta < 1.
    balance : float, default=0.2
        Largest difference in size of two clusters as a share of all samples. More than two hold
        (1 - balance) / k to (1 + balance) / k of the samples each, up to one sample.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. For the linear kernel samples are centred.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.5)
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    solver : {"newton", "mirror-descent"}, default="newton"
        What finds the weights of labellings: Newton's method to a certified gap, or the noisy
        steps of the paper, 20,000 in each round, of practical length.
    readout : {"consensus", "vote", "best"}, default="consensus"
        How one labelling comes of many: by a vote in which labellings count the more, the better
        they agree with its outcome; by the weighted vote of the paper, with labellings turned
        towards the one of the largest weight; or the one of the least objective.
    max_labellings : int, default=50
        Most labellings to generate, beside the spectral splits, k-means clusterings and fixed
        points of alternating updates to begin with.
    n_search : int, default=1000
        Up to this many samples the search is exact on all. Beyond, it runs on a random sample of
        as many, at most 2,000, whose classifiers label the others.
    n_components : int, default=200
        Most features that stand for a kernel beyond `n_search` samples.
    max_iter : int, default=10
        Most rounds, each of which adds up to five labellings.
    tol : float, default=1e-3
        Largest duality gap relative to the objective.
    random_state : int, RandomState instance or None, default=None
        Draws samples and starts; None draws the same ones each time.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first; `predict` of the training data, except
        where links bind.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel; one row for two clusters.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    objective_ : float
        Objective of the machines of the labels: smaller is better.
    lower_bound_ : float
        Objective of the mix: no labelling among those generated has a smaller one.
    duality_gap_ : float
        Distance of the mix from the best mix of the generated labellings, relative to its
        objective.
    violation_ : float
        The same for the most violated labelling that could still be found.
    labellings_ : ndarray of shape (n_labellings, n_searched)
        The labellings.
    labelling_weights_ : ndarray of shape (n_labellings,)
        Their weights.
    searched_ : ndarray of shape (n_searched,)
        Indices of the samples that were searched.
    history_ : list of float
        Objective of the mix after each round.
    gamma_ : float
        Kernel coefficient; nan for kernels without one.
    n_iter_ : int
        Rounds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    LabelGenerationMarginClustering : The same with the loss of support vector machines.
    OptimalMarginDistributionMachine : The classifier for known labels.

    Notes
    -----
    The paper has two clusters and leaves open where the candidate labellings come from. For more
    clusters there is one machine for each against the rest, and the objectives add up. The larger
    C, the looser is the relaxation: `violation_` then says that labellings were still being found
    when `max_labellings` or `max_iter` ended the search.

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
        **BaseDiscriminativeClustering._parameter_constraints,
        **LABELLING_CONSTRAINTS,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "solver": [StrOptions({"newton", "mirror-descent"})],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C=1.0,
        nu=0.5,
        theta=0.2,
        balance=0.2,
        kernel="rbf",
        gamma=("mean", 0.5),
        degree=3,
        coef0=1,
        solver="newton",
        readout="consensus",
        max_labellings=50,
        n_search=1000,
        n_components=200,
        max_iter=10,
        tol=1e-3,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.nu = nu
        self.theta = theta
        self.balance = balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.readout = readout
        self.max_labellings = max_labellings
        self.n_search = n_search
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _machine(self):
        return Machine(self.C, self.nu, self.theta)

    def _solver(self, rng):
        return solve_saddle if self.solver == "newton" else partial(mirror_saddle, rng=rng)
