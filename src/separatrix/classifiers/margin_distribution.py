"""The optimal margin distribution machine, a classifier for known labels."""

import warnings
from dataclasses import replace
from numbers import Real
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from separatrix._sklearn import Interval, fit_context, refuse_dask
from separatrix._typing import Array, ArrayLike, Samples, Weights
from separatrix.data.gate import check_samples, check_weights
from separatrix.data.rows import check_fits_memory
from separatrix.estimators.base import kept_on_failure, set_fitted
from separatrix.estimators.classifier import BoundaryClassifier, check_classes, class_codes
from separatrix.estimators.parameters import COUNT, KERNEL, SCALED_C
from separatrix.models.boundaries import Boundaries, one_vs_rest_code
from separatrix.similarity.kernels import Kernel
from separatrix.solvers.margin_distribution import (
    FeatureSpace,
    KernelSpace,
    Losses,
    fit_in_space,
)

__all__ = ["OptimalMarginDistributionMachine"]
# A residual above this causes a warning, even if rounding does not allow a smaller one.
NOTICEABLE = 1e-5


# --- the classifier -----------------------------------------------------------------------------


def _centred_features(X, mean):
    """Space of samples less their mean, with a one appended."""
    ones = np.ones((X.shape[0], 1))
    if sp.issparse(X):
        return FeatureSpace(sp.csr_array(sp.hstack([X, ones])), np.append(mean, 0.0))
    return FeatureSpace(np.hstack([X - mean, ones]))


class OptimalMarginDistributionMachine(BoundaryClassifier):
    """Classifier that gives all samples margins of about the same size.

    A support vector machine makes the smallest margin large. This machine keeps the margin of
    every sample near one: a margin below 1 - `theta` costs the square of the shortfall, and a
    margin above 1 + `theta` costs `nu` times the square of the excess [1]_. With more than two
    classes, each is separated from the rest, and the largest score decides.

    Parameters
    ----------
    C : float or "scale", default="scale"
        Weight of the sum of the losses against half the squared norm, as in `sklearn.svm.SVC`.
        "scale" is 1 / n_samples. The paper's lambda is n_samples times this.
    nu : float, default=0.5
        Weight of the excess of margins relative to their shortfall; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone around one in which margins cost nothing; 0 <= theta < 1.
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
    fit_intercept : bool, default=True
        Whether to add a constant feature of value one, whose weight is the intercept and is
        penalised like the others. With the linear kernel the other features are centred first, so
        that adding a constant to X changes nothing. False is the machine of the paper, which has
        no intercept.
    max_steps : int, default=100
        Largest number of steps of the solver.
    kkt_tol : float, default=1e-8
        The solver stops when the square root of the duality gap over the objective is this small.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    margin_mean_ : ndarray of shape (n_boundaries,)
        Weighted mean of the margins of the training samples, for each boundary: one for two
        classes, otherwise one per class.
    margin_variance_ : ndarray of shape (n_boundaries,)
        Their variance.
    objective_ : float
        Sum of the objectives of all boundaries.
    support_ : ndarray of shape (n_support,)
        Training samples with a margin outside the zone of some boundary; the machine depends on
        these alone.
    dual_coef_ : ndarray of shape (n_boundaries, n_support)
        Weights of the kernel at these samples, for kernels other than the linear one.
    coef_ : ndarray of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : ndarray of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_objectives_ : ndarray of shape (n_boundaries,)
        Objective of each boundary.
    boundary_sides_ : ndarray of shape (n_boundaries, n_classes)
        Side of each boundary that each class lies on: 1 or -1.
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    C_ : float
        Weight of the sum of the losses that was used; nan if none was.
    n_steps_ : int
        Largest number of Newton steps of a boundary.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    MinimaxProbabilityMachine : Looks at means and covariances of the classes instead.
    sklearn.svm.LinearSVC : The same without cost of large margins, near `nu` = 0 and `theta` = 0.

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import OptimalMarginDistributionMachine
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OptimalMarginDistributionMachine(C=0.02).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.97
    True
    """

    margin_mean_: Array
    margin_variance_: Array
    objective_: float
    support_: Array
    dual_coef_: Array
    boundary_objectives_: Array
    C_: float
    n_steps_: int

    _parameter_constraints: dict = {
        **KERNEL,
        **SCALED_C,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "fit_intercept": ["boolean"],
        "max_steps": COUNT,
        "kkt_tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        *,
        C="scale",
        nu=0.5,
        theta=0.2,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        fit_intercept=True,
        max_steps=100,
        kkt_tol=1e-8,
    ):
        self.C = C
        self.nu = nu
        self.theta = theta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.max_steps = max_steps
        self.kkt_tol = kkt_tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Samples, y: ArrayLike, sample_weight: Weights = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, or the kernel matrix of the samples if that is precomputed.
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
        refuse_dask(self, X, instead="MinimaxProbabilityMachine")
        X = check_samples(self, X, reset=True, dtype=np.float64)
        kernel = Kernel.of(self)
        kernel.check_samples(X)
        classes, codes = class_codes(self, X, y)
        weights = check_weights(X, sample_weight)
        weights = np.ones(X.shape[0]) if weights is None else weights
        check_classes(self, classes, codes, weights)
        present = np.flatnonzero(weights)
        if len(present) < len(weights):
            X, codes, weights = X[present], codes[present], weights[present]
            X = X[:, present] if kernel.is_precomputed else X

        C = 1 / weights.sum() if self.C == "scale" else float(self.C)
        signs = one_vs_rest_code(len(classes))[:, codes].astype(np.float64)
        losses = [
            Losses.of(
                y,
                strength=C * weights.sum(),
                nu=self.nu,
                theta=self.theta,
                sample_weight=weights,
            )
            for y in signs
        ]
        fit = self._fit_linear if kernel.is_linear else self._fit_kernel
        fits, model, kernel, own = fit(X, kernel, losses, weights, present)
        margins = signs * np.array([found.scores for found in fits])
        mean = np.average(margins, axis=1, weights=weights)
        squares = (margins - mean[:, None]) ** 2
        fitted = {
            "classes_": classes,
            "C_": C,
            "gamma_": kernel.coefficient,
            "margin_mean_": mean,
            "margin_variance_": np.average(squares, axis=1, weights=weights),
            "objective_": float(sum(found.objective for found in fits)),
            "boundary_objectives_": np.array([found.objective for found in fits]),
            "n_steps_": max(1, *(found.n_iter for found in fits)),
            **own,
            **model.attributes(X),
        }
        set_fitted(self, fitted)
        self._warn_if_rough(max(found.kkt_residual for found in fits))
        return self

    def _warn_if_rough(self, residual):
        # where rounding does not allow kkt_tol, warn only of residuals that could change scores
        if residual <= max(self.kkt_tol, NOTICEABLE):
            return
        remedy = "Scale X down, or decrease C."
        if self.n_steps_ >= self.max_steps:
            remedy = f"Increase max_steps={self.max_steps}."
        warnings.warn(
            f"Newton's method ended with a residual of {residual:.3g}, where "
            f"kkt_tol={self.kkt_tol:g} was asked for. {remedy}",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _fit_kernel(self, X, kernel, losses, weights, present):
        """Machines in the span of a kernel matrix, their model, the kernel and own attributes."""
        kernel = kernel.resolved(X, weights)
        check_fits_memory(
            X.shape[0], remedy="fit a sample of the rows, or use kernel='linear' on features"
        )
        feature_map = kernel.at(X)
        if kernel.is_precomputed:
            K, feature_map = np.array(X), replace(feature_map, landmarks=present)
        else:
            K = np.array(feature_map.values(X), dtype=np.float64)
        kernel.check_positive(K, X)
        if self.fit_intercept:
            K += 1.0
        fits = self._fits(KernelSpace(K), losses)
        coef = np.array([found.coef for found in fits])
        support = support_of(fits)
        model = Boundaries(
            coef[:, support],
            coef.sum(axis=1) if self.fit_intercept else np.zeros(len(coef)),
            one_vs_rest_code(max(2, len(coef))),
            replace(feature_map, landmarks=feature_map.landmarks[support]),
        )
        own = {"support_": present[support], "dual_coef_": coef[:, support]}
        return fits, model, kernel, own

    def _fit_linear(self, X, kernel, losses, weights, present):
        """The same on the features themselves."""
        mean = weights @ X / weights.sum()
        features = _centred_features(X, mean) if self.fit_intercept else FeatureSpace(X)
        n_samples, n_features = features.X.shape
        check_fits_memory(
            min(n_samples, n_features), remedy="reduce the features, by TruncatedSVD for instance"
        )
        if n_features <= n_samples:
            fits = self._fits(features, losses)
            normals = np.array([found.coef for found in fits])
        else:
            fits = self._fits(KernelSpace(features.kernel()), losses)
            normals = np.array([features.normal(found.coef) for found in fits])
        intercept = np.zeros(len(normals))
        if self.fit_intercept:
            normals, intercept = normals[:, :-1], normals[:, -1] - normals[:, :-1] @ mean
        model = Boundaries.one_vs_rest(normals, intercept)
        return fits, model, kernel, {"support_": present[support_of(fits)]}

    def _fits(self, space, losses):
        """Machines of several losses."""
        return [
            fit_in_space(space, one, start=None, tol=self.kkt_tol, max_iter=self.max_steps)
            for one in losses
        ]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


def support_of(fits):
    """Rows that the machines depend on."""
    return np.flatnonzero(np.any([found.alpha != 0 for found in fits], axis=0))
