"""The minimax probability machine, a classifier for known labels."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from separatrix._sklearn import fit_context, namespace_of, to_numpy
from separatrix.data.chunks import beside, is_dask
from separatrix.estimators.moment_features import MomentFeaturesMixin
from separatrix.models.boundaries import Boundaries, pairwise_code
from separatrix.solvers.minimax import separation_probability
from separatrix.solvers.minimax_sides import Sides, minimax_step, pairwise_matrix

__all__ = ["MinimaxProbabilityMachine"]


class MinimaxProbabilityMachine(MomentFeaturesMixin, ClassifierMixin, BaseEstimator):
    """Classifier with the best worst-case accuracy for given class means and covariances.

    Of all hyperplanes it takes the one for which the probability of a correct side, in the worst
    case over all distributions with the means and covariances of the classes, is largest [1]_.
    More than two classes are told apart by one hyperplane per pair.

    Parameters
    ----------
    reg : float, default=0.1
        Weight of the total variances that are added to the covariances of each class.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. Other kernels than the linear one work through at most
        `n_components` features and have no `coef_`.
    gamma : float, {"scale", "mean", "median"} or tuple, default="scale"
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_components : int, default=300
        Largest rank of a nonlinear kernel's features.
    random_state : int, RandomState instance or None, default=None
        Draws the samples that span the kernel features, if there are more than 20,000.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    separation_probability_ : float
        Guaranteed share of correct sides of the worst pair of classes, for distributions with
        the moments of the training data.
    pairwise_separation_ : array of shape (n_classes, n_classes)
        The same for each pair; nan on the diagonal.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the hyperplanes, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the hyperplanes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    MaximinSeparationClustering : Finds the labels too.

    References
    ----------
    .. [1] G. R. G. Lanckriet, L. El Ghaoui, C. Bhattacharyya, M. I. Jordan, "A robust minimax
       approach to classification", Journal of Machine Learning Research 3, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import MinimaxProbabilityMachine
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxProbabilityMachine().fit(X, y)
    >>> model.score(X, y) > model.separation_probability_
    True
    """

    def __init__(
        self,
        *,
        reg=0.1,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        n_components=300,
        random_state=None,
    ):
        self.reg = reg
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the hyperplanes.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights. A weight of two equals a repeated sample, zero an absent one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X = self._validate_X(X, reset=True)
        codes = self._class_codes(X, y)
        sample_weight = self._validate_weights(X, sample_weight)
        n_classes = len(self.classes_)
        self._check_classes(codes, to_numpy(sample_weight))
        problem = self._problem(X, sample_weight, check_random_state(self.random_state))
        partition = problem.partition(n_classes)
        partition.assign(beside(codes.astype(np.int32), problem.X))
        code = pairwise_code(n_classes)
        steps = [minimax_step(Sides.of(problem, partition, side)) for side in code]
        self._set_model(Boundaries.of_steps(steps, code), X)
        separation = separation_probability(pairwise_matrix(code, [s.value for s in steps]))
        self.pairwise_separation_ = beside(separation, X)
        self.separation_probability_ = float(np.nanmin(separation))
        return self

    def _class_codes(self, X, y):
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if is_dask(y):
            y = y.compute()
        y = column_or_1d(to_numpy(y), warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if y.shape[0] != X.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]}, "
                f"y has {y.shape[0]}."
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def predict(self, X):
        """Class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : array of shape (n_samples,)
            Classes. Lazy for a dask array.
        """
        codes = self._predict_codes(X)
        if is_dask(codes):
            return codes.map_blocks(self.classes_.take, dtype=self.classes_.dtype)
        if not np.issubdtype(self.classes_.dtype, np.number):
            return self.classes_[to_numpy(codes)]
        xp, device = namespace_of(codes)
        return xp.take(xp.asarray(self.classes_, device=device), xp.astype(codes, xp.int64))
