"""Classifiers whose model is a set of boundaries."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import DOC_LINK, check_same_namespace, is_dask, namespace_of, to_numpy
from separatrix._typing import Array, Samples
from separatrix.data.gate import check_labels, check_length, check_samples, naming
from separatrix.models.boundaries import Boundaries
from separatrix.similarity.kernels import Kernel


class BoundaryClassifier(ClassifierMixin, BaseEstimator):
    """Prediction of classes by boundaries."""

    coef_: Array
    intercept_: Array
    boundary_sides_: Array
    gamma_: float
    n_features_in_: int
    feature_names_in_: Array

    _model: Boundaries
    classes_: np.ndarray
    _doc_link_module, _doc_link_template = "separatrix", DOC_LINK

    def decision_function(self, X: Samples) -> Array:
        """Signed scores of samples: how far inside each class they lie.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; their kernel with the training samples where that is precomputed.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            For two classes one value, positive for the second. Otherwise a column per class; the
            largest decides. Lazy for a dask array.
        """
        X = self._validate_new(X, "decision_function")
        return self._model.scores_of_rows(X)

    def predict(self, X: Samples) -> Array:
        """Class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; their kernel with the training samples where that is precomputed.

        Returns
        -------
        y : array of shape (n_samples,)
            Classes. Lazy for a dask array.
        """
        X = self._validate_new(X, "predict")
        codes = self._model.labels_of_rows(X)
        if is_dask(codes):
            return codes.map_blocks(self.classes_.take, dtype=self.classes_.dtype)
        if not np.issubdtype(self.classes_.dtype, np.number):
            return self.classes_[to_numpy(codes)]
        xp, device = namespace_of(codes)
        return xp.take(xp.asarray(self.classes_, device=device), xp.astype(codes, xp.int64))

    def _validate_new(self, X, method):
        check_is_fitted(self)
        X = check_samples(self, X, reset=False)
        if not is_dask(X):
            check_same_namespace(X, self, attribute="intercept_", method=method)
        return X

    def __sklearn_tags__(self):
        return Kernel.of(self).describe(super().__sklearn_tags__())


def class_codes(estimator, X, y):
    """The classes, and the number of the class of each sample."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    y = class_labels(X, y)
    with naming("y"):
        check_classification_targets(y)
    return np.unique(y, return_inverse=True)


def class_labels(X, y):
    """The class of each sample, as it is called."""
    y = check_labels(y, "y", column=True)
    assert_all_finite(y, input_name="y")
    check_length("y", len(y), "X", X.shape[0])
    return y


def check_classes(estimator, classes, codes, weights):
    """Refuse fewer than two classes, and classes without weight."""
    present = np.bincount(codes, weights=weights, minlength=len(classes)) > 0
    if len(classes) < 2 or not present.all():
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes in y, each with "
            f"positive weight; got {int(present.sum())} of {len(classes)} classes."
        )
