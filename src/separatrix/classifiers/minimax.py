"""The minimax probability machine, a classifier for known labels."""

from typing import Self

import numpy as np

from separatrix._sklearn import fit_context, to_numpy
from separatrix._typing import Array, ArrayLike, Samples, Weights
from separatrix.data.gate import check_samples, check_weights
from separatrix.data.rows import beside
from separatrix.estimators.base import kept_on_failure, random_state_of, set_fitted
from separatrix.estimators.classifier import BoundaryClassifier, check_classes, class_codes
from separatrix.estimators.parameters import KERNEL, N_COMPONENTS, NONNEGATIVE
from separatrix.models.boundaries import Boundaries, pairwise_code
from separatrix.solvers.minimax import (
    minimax_steps,
    moment_problem,
    pairwise_matrix,
    separation_probability,
)

__all__ = ["MinimaxProbabilityMachine"]


class MinimaxProbabilityMachine(BoundaryClassifier):
    """Classifier with the best worst-case accuracy for given class means and covariances.

    It takes the hyperplane with the largest probability that a sample lies on the correct side, in
    the worst case over all distributions with the means and covariances of the classes [1]_. More
    than two classes are separated by one hyperplane per pair.

    Parameters
    ----------
    reg : float, default=0.1
        Weight of the regularisation. Share of the total variances that is added to the covariances
        of each class.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default="scale"
        Kernel coefficient: a number, or 1 / width**2 by a rule. "mean" takes the mean distance of
        two samples as the width, "median" the median distance, ("mean", 0.5) half of the mean
        distance; "scale" is 1 / (n_features * X.var()).
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_components : int, default=300
        Largest number of features that approximate a kernel whose whole matrix is not used.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing samples and starts. None means seed 0, so the same data give the same
        result each time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    separation_probability_ : float
        Guaranteed accuracy for the worst pair of classes, for distributions with the moments of
        the training data.
    pairwise_separation_ : array of shape (n_classes, n_classes)
        The same for each pair; nan on the diagonal.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_classes)
        Side of each boundary that each class lies on: 1 or -1, and 0 where it does not matter.
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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

    separation_probability_: float
    pairwise_separation_: Array

    _parameter_constraints: dict = {
        **KERNEL,
        **N_COMPONENTS,
        "reg": NONNEGATIVE,
        "random_state": ["random_state"],
    }

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
    def fit(self, X: Samples, y: ArrayLike, sample_weight: Weights = None) -> Self:
        """Fit the hyperplanes.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Nonnegative weights. A weight of two equals a repeated sample, zero an absent one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with kept_on_failure(self):
            return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        X = check_samples(self, X, reset=True)
        classes, codes = class_codes(self, X, y)
        sample_weight = check_weights(X, sample_weight)
        check_classes(self, classes, codes, to_numpy(sample_weight))
        problem = moment_problem(self, X, sample_weight, random_state_of(self))
        partition = problem.partition(len(classes))
        partition.assign(beside(codes.astype(np.int32), problem.X))
        code = pairwise_code(len(classes))
        steps = minimax_steps(problem, partition, code)
        model = problem.completed(Boundaries.of_steps(steps, code))
        separation = separation_probability(pairwise_matrix(code, [s.value for s in steps]))
        fitted = {
            "classes_": classes,
            "gamma_": problem.kernel.coefficient,
            "pairwise_separation_": beside(separation, X),
            "separation_probability_": float(np.nanmin(separation)),
            **model.attributes(X),
        }
        set_fitted(self, fitted)
        return self
