"""The optimal margin distribution machine, a classifier for known labels."""

import warnings
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._sklearn import Interval, fit_context
from separatrix.data.chunks import map_rows
from separatrix.data.memory import check_fits_memory
from separatrix.estimators.kernel_features import KERNEL_CONSTRAINTS, KernelFeaturesMixin
from separatrix.models.boundaries import decoded, one_vs_rest_code
from separatrix.similarity.kernels import KernelMap, kernel_matrix
from separatrix.solvers.margin_distribution import (
    FeatureSpace,
    KernelSpace,
    Losses,
    solve_in_space,
)

__all__ = ["OptimalMarginDistributionMachine"]
# Residual of a solution that users are told of, though rounding may not leave a smaller one.
NOTICEABLE = 1e-5


# --- the classifier -----------------------------------------------------------------------------


def _centred_features(X, mean):
    """Space of samples less their mean, with a one appended."""
    ones = np.ones((X.shape[0], 1))
    if sp.issparse(X):
        return FeatureSpace(sp.csr_array(sp.hstack([X, ones])), np.append(mean, 0.0))
    return FeatureSpace(np.hstack([X - mean, ones]))


def _check_symmetric(kernel, X):
    """Refuse a callable that is no kernel, as the first few samples tell."""
    # of one and the same array only half of the values would be computed
    K = kernel_matrix(X[:32], X[:32].copy(), kernel=kernel, params={})
    difference, scale = np.abs(K - K.T).max(), np.abs(K).max()
    if difference > 1e-6 * scale:
        raise ValueError(
            f"kernel={kernel!r} is not symmetric: its values change by {difference:.3g} when the "
            f"two samples change places, where the largest is {scale:.3g}. Use a valid kernel."
        )


class OptimalMarginDistributionMachine(KernelFeaturesMixin, ClassifierMixin, BaseEstimator):
    """Classifier that gives all samples margins of about the same size.

    A support vector machine makes the smallest margin large. This machine wants the margin of
    every sample near one: whatever lies below 1 - `theta` costs the square of what is missing,
    and whatever lies above 1 + `theta` costs `nu` times the square of the excess [1]_. With more
    than two classes, each is told from the rest, and the largest score wins.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the mean loss, the paper's lambda. The larger, the weaker the regularisation.
    nu : float, default=0.5
        Weight of deviations above the zone, relative to those below; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone around one in which margins cost nothing; 0 <= theta < 1. The
        larger, the fewer samples the machine is made of.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. Other kernels than the linear one need the matrix of all their
        values.
    gamma : float, {"scale", "mean", "median"} or tuple, default="scale"
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    fit_intercept : bool, default=True
        Whether to add a constant feature of value one, whose weight is the intercept and is
        penalised like the others. With the linear kernel the other features are centred first, so
        that adding a constant to X changes nothing. False is the machine of the paper, which has
        no intercept.
    max_iter : int, default=100
        Most Newton steps. Two to ten are usual.
    tol : float, default=1e-8
        Largest square root of the duality gap over the objective.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    margin_mean_ : ndarray of shape (n_boundaries,)
        Weighted mean of the margins of the training samples, for each boundary: one for two
        classes, otherwise one per class.
    margin_variance_ : ndarray of shape (n_boundaries,)
        Their variance.
    objective_ : ndarray of shape (n_boundaries,)
        Objective of each boundary.
    support_ : ndarray of shape (n_support,)
        Training samples with a margin outside of the zone of some boundary; the machine is made
        of these.
    dual_coef_ : ndarray of shape (n_boundaries, n_support)
        Weights of the kernel at these samples, for other kernels than the linear one.
    coef_ : ndarray of shape (n_boundaries, n_features)
        Weights of the features, for the linear kernel.
    intercept_ : ndarray of shape (n_boundaries,)
        Intercepts.
    n_iter_ : int
        Most Newton steps of a boundary.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
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
    >>> model = OptimalMarginDistributionMachine(C=10).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.97
    True
    """

    _parameter_constraints: dict = {
        **{name: KERNEL_CONSTRAINTS[name] for name in ("kernel", "gamma", "degree", "coef0")},
        "C": [Interval(Real, 0, None, closed="neither")],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        *,
        C=1.0,
        nu=0.5,
        theta=0.2,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        fit_intercept=True,
        max_iter=100,
        tol=1e-8,
    ):
        self.C = C
        self.nu = nu
        self.theta = theta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, or the kernel matrix of the samples if that is precomputed.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights. A weight of two equals a repeated sample, zero an absent one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self._check_precomputed(X)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = self._validate_weights(X, sample_weight)
        weights = np.ones(X.shape[0]) if weights is None else weights
        self._check_classes(codes, weights)
        present = np.flatnonzero(weights)
        if len(present) < len(weights):
            X, codes, weights = X[present], codes[present], weights[present]
            X = X[:, present] if self.kernel == "precomputed" else X

        signs = one_vs_rest_code(len(self.classes_))[:, codes].astype(np.float64)
        fits = self._fit_signs(X, signs, weights, present)
        margins = signs * np.array([fit.scores for fit in fits])
        self.margin_mean_ = np.average(margins, axis=1, weights=weights)
        deviations = margins - self.margin_mean_[:, None]
        self.margin_variance_ = np.average(deviations**2, axis=1, weights=weights)
        self.objective_ = np.array([fit.objective for fit in fits])
        self.n_iter_ = max(1, *(fit.n_iter for fit in fits))
        self._warn_if_rough(max(fit.kkt_residual for fit in fits))
        return self

    def _warn_if_rough(self, residual):
        # where tol is out of reach of rounding, only what could change scores is worth a word
        if residual <= max(self.tol, NOTICEABLE):
            return
        remedy = "Scale X down, or decrease C."
        if self.n_iter_ >= self.max_iter:
            remedy = f"Increase max_iter={self.max_iter}."
        warnings.warn(
            f"Newton's method ended with a residual of {residual:.3g}, where tol={self.tol:g} was "
            f"asked for. {remedy}",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _fit_signs(self, X, signs, weights, present):
        """Fit a boundary to each row of `signs` and set the model."""
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)
        if self.kernel == "linear":
            return self._fit_linear(X, signs, weights, present)
        check_fits_memory(
            X.shape[0], remedy="fit a sample of the rows, or use kernel='linear' on features"
        )
        if self.kernel == "precomputed":
            K, kernel_map = np.array(X), KernelMap("precomputed", {}, present)
        else:
            if callable(self.kernel):
                _check_symmetric(self.kernel, X)
            params = self._kernel_params(X, weights)
            kernel_map = KernelMap.of(X, kernel=self.kernel, params=params)
            K = np.array(kernel_map.values(X), dtype=np.float64)
        if self.fit_intercept:
            K += 1.0
        fits = self._fits(KernelSpace(K), signs, weights)
        coef = np.array([fit.coef for fit in fits])
        support = self._set_support(fits, present)
        self._feature_map = replace(kernel_map, landmarks=kernel_map.landmarks[support])
        self.dual_coef_ = coef[:, support]
        self.intercept_ = coef.sum(axis=1) if self.fit_intercept else np.zeros(len(coef))
        return fits

    def _fit_linear(self, X, signs, weights, present):
        mean = weights @ X / weights.sum()
        features = _centred_features(X, mean) if self.fit_intercept else FeatureSpace(X)
        n_samples, n_features = features.X.shape
        check_fits_memory(
            min(n_samples, n_features), remedy="reduce the features, by TruncatedSVD for instance"
        )
        if n_features <= n_samples:
            fits = self._fits(features, signs, weights)
            normals = np.array([fit.coef for fit in fits])
        else:
            fits = self._fits(KernelSpace(features.kernel()), signs, weights)
            normals = np.array([features.normal(fit.coef) for fit in fits])
        self._set_support(fits, present)
        self._feature_map = None
        self.coef_, self.intercept_ = normals, np.zeros(len(normals))
        if self.fit_intercept:
            self.coef_ = normals[:, :-1]
            self.intercept_ = normals[:, -1] - self.coef_ @ mean
        return fits

    def _fits(self, space, signs, weights):
        """Machines of the rows of `signs`."""
        fits = []
        for y in signs:
            losses = Losses.of(y, C=self.C, nu=self.nu, theta=self.theta, sample_weight=weights)
            fits.append(
                solve_in_space(
                    space, losses, C=self.C, start=None, tol=self.tol, max_iter=self.max_iter
                )
            )
        return fits

    def _set_support(self, fits, present):
        """Tell which samples the machines are made of; return their rows."""
        support = np.flatnonzero(np.any([fit.alpha != 0 for fit in fits], axis=0))
        self.support_ = present[support]
        return support

    def decision_function(self, X):
        """Signed scores of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; if the kernel is precomputed, its values at the new samples, one a row, and
            the samples of `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one value, positive for the second. Otherwise a column per class; the
            largest wins.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        if self._feature_map is None:
            scores = X @ self.coef_.T
        else:
            scores = map_rows(self._kernel_sums, X, width=len(self.support_))
        scores = scores + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _kernel_sums(self, X):
        return self._feature_map(X) @ self.dual_coef_.T

    def predict(self, X):
        """Class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, as for `decision_function`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        chosen = decoded(self.decision_function(X))
        return self.classes_[chosen]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags
