"""Label generation clustering: a convex mix of labellings that a support vector machine fits."""

from separatrix.estimators.base import BaseDiscriminativeClustering
from separatrix.estimators.label_mixture import LABELLING_CONSTRAINTS, LabellingsMixin
from separatrix.solvers.label_mixtures import Machine

__all__ = ["LabelGenerationMarginClustering"]


class LabelGenerationMarginClustering(LabellingsMixin, BaseDiscriminativeClustering):
    r"""Clusters by the tightest convex relaxation of maximum margin clustering.

    Instead of one labelling, look for a mix of labellings whose combined kernel a support vector
    machine with the squared hinge loss finds hardest to do without [1]_: a problem of multiple
    kernel learning. Its labellings are generated one by one, each the one that the solution so far
    violates most.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    C : float, default=1.0
        Weight of the mean loss against the margin; the paper's C is 2 C / n_samples.
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
        objective. It is the same in the units of the paper, whose multipliers sum to one.
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
    OptimalMarginDistributionClustering : The same with a loss that looks at all margins.

    References
    ----------
    .. [1] Y.-F. Li, I. W. Tsang, J. T. Kwok, Z.-H. Zhou, "Tighter and convex maximum margin
       clustering", AISTATS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LabelGenerationMarginClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = LabelGenerationMarginClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: dict = {
        **BaseDiscriminativeClustering._parameter_constraints,
        **LABELLING_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C=1.0,
        balance=0.2,
        kernel="rbf",
        gamma=("mean", 0.5),
        degree=3,
        coef0=1,
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
        self.balance = balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.readout = readout
        self.max_labellings = max_labellings
        self.n_search = n_search
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _machine(self):
        return Machine(self.C)
