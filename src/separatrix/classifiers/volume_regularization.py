"""Approximate volume regularization: the classifier behind maximum volume clustering."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix._sklearn import Interval, fit_context
from separatrix.estimators.graph import VolumeGraphMixin
from separatrix.models.boundaries import decoded
from separatrix.models.graph_responses import extended
from separatrix.solvers.responses import responder_of

__all__ = ["ApproximateVolumeRegularization"]


class ApproximateVolumeRegularization(VolumeGraphMixin, ClassifierMixin, BaseEstimator):
    r"""Classifier that spreads known labels over a similarity graph of all samples.

    Few labels and many samples without: every sample gets a response, near the labels where they
    are known and smooth between similar samples. For labels y of m samples, and zero for the
    others, it solves [1]_

    .. math:: \min_h \; -\tfrac{1}{m} h^\top y + \gamma h^\top Q h
              \quad \text{s.t.} \quad \|h\|_2 = t

    by the same secular equation that `MaximumVolumeClustering` solves for the signs it guesses.
    With more than two classes, each is told from the rest, and the largest response wins.

    Parameters
    ----------
    matrix : {"normalized", "unnormalized", "similarity", "dissimilarity", "precomputed"}, \
            default="normalized"
        The paper's Q, made of the similarities W: the normalised Laplacian plus I/n; the plain
        Laplacian plus a little I; W + I/n; nI - W; or X itself, any symmetric matrix.
    affinity : {"local", "rbf", "cosine", "precomputed"}, default="local"
        Similarity of two samples, as in `MaximumVolumeClustering`.
    graph : {"union", "mutual", "full"}, default="union"
        Which samples are compared: nearest neighbours of one another, either way or both ways, or
        all.
    n_neighbors : int, default=10
        Number of neighbours.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.5)
        Coefficient of the "rbf" similarity, or the rule for it.
    neighbors : {"exact", "approximate"}, default="exact"
        Search for neighbours by scikit-learn, or by faiss for many samples of many features.
    reg : float, "auto" or tuple, default="auto"
        Weight of smoothness, the paper's gamma. "auto" weighs the ninth nontrivial eigenvalue of
        the matrix twice as much as the labels; ("auto", 0.5) half as much.
    radius : float, default=1.0
        Length of the responses, the paper's t. Only its product with `reg` matters for classes.
    unlabeled : int, str or None, default=None
        Value in y that marks samples whose class is not known, such as -1. None takes all labels
        for known.
    n_jobs : int or None, default=None
        Threads that search for neighbours.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    transduction_ : ndarray of shape (n_samples,)
        Class of each sample of `fit`, known or not.
    response_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Responses, `decision_function` of these samples.
    reg_ : float
        The weight of smoothness that was used.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    MaximumVolumeClustering : The same responses where no label is known.
    sklearn.semi_supervised.LabelSpreading : Without the constraint on their length.

    References
    ----------
    .. [1] R. El-Yaniv, D. Pechyony, V. Vapnik, "Large margin vs. large volume in transductive
       learning", Machine Learning 72(3), 2008; (25) and (26) of the paper of
       `MaximumVolumeClustering`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from separatrix import ApproximateVolumeRegularization
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> few = np.full(200, -1)
    >>> few[:10] = y[:10]
    >>> model = ApproximateVolumeRegularization(unlabeled=-1).fit(X, few)
    >>> float((model.transduction_ == y).mean())
    1.0
    """

    _parameter_constraints: dict = {
        **VolumeGraphMixin._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="neither")],
        "unlabeled": [Real, str, None],
    }

    def __init__(
        self,
        *,
        matrix="normalized",
        affinity="local",
        graph="union",
        n_neighbors=10,
        gamma=("mean", 0.5),
        neighbors="exact",
        reg="auto",
        radius=1.0,
        unlabeled=None,
        n_jobs=None,
    ):
        self.matrix = matrix
        self.affinity = affinity
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.neighbors = neighbors
        self.reg = reg
        self.radius = radius
        self.unlabeled = unlabeled
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Spread the labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples with and without labels; or their similarities, or the matrix Q, where these
            are precomputed.
        y : array-like of shape (n_samples,)
            Their classes, or `unlabeled`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validate_X_y(X, y)
        known = np.ones(len(y), dtype=bool) if self.unlabeled is None else y != self.unlabeled
        check_classification_targets(y[known])
        self.classes_ = np.unique(y[known])
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have known labels of at least 2 classes, got {len(self.classes_)} class "
                f"in {known.sum()} known labels of n_samples={len(y)}; label samples of another."
            )
        rho = self._resolved_rho()
        self._form_ = self._form(X)
        responder = responder_of(self._form_, None)
        # (25) per unit of length: reg * radius * h'Qh - 2 * (y / 2m)'h on the unit sphere
        labels = sign_columns(y, known, self.classes_) / (2 * known.sum())
        self.reg_ = float(self.reg) if rho is None else self._scaled_reg(rho, labels, responder)
        found = [
            responder.respond(labels[:, [column]], self.reg_ * self.radius)
            for column in range(labels.shape[1])
        ]
        self._eta = np.array([responses.eta[0] for responses in found]) / self.radius
        self._responses = self.radius * np.column_stack([responses.h for responses in found])
        self.response_ = self._squeezed(self._responses)
        self.transduction_ = self.classes_[decoded(self.response_)]
        return self

    def _validate_X_y(self, X, y):
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: {type(self).__name__} needs "
                "some labels."
            )
        X = self._validate_X(X, reset=True)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if len(y) != X.shape[0]:
            raise ValueError(
                f"y has {len(y)} labels but X has {X.shape[0]} samples; pass one per sample, "
                "`unlabeled` where a class is not known."
            )
        return X, y

    def _scaled_reg(self, rho, labels, responder):
        """The weight with which smoothness matters as much as it does among guessed signs."""
        length = np.linalg.norm(labels[:, 0])
        return float(rho * length / (responder.scale * self.radius))

    def decision_function(self, X):
        """Soft responses of samples.

        A sample that equals one of `fit` has its response, any other the one that the known
        responses, held fixed, make optimal.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; where similarities or Q are precomputed, those of the new samples, one a row,
            to the samples of `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one value, positive for the second. Otherwise a column per class; the
            largest wins.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        return self._squeezed(extended(self._graph, X, self._responses, self._to_new))

    def _to_new(self, similarities):
        rows, diagonal = self._form_.to_new(similarities)
        pull = -self.reg_ * np.asarray(rows @ self._responses)
        return pull / (self.reg_ * diagonal[:, None] - self._eta)

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

    def _squeezed(self, responses):
        return responses[:, 0] if len(self.classes_) == 2 else responses


def sign_columns(y, known, classes):
    """Targets of each class against the rest, zero for unknown samples; one column for two."""
    if len(classes) == 2:
        classes = classes[1:]
    columns = 2.0 * (y[:, None] == classes) - 1
    columns[~known] = 0
    return columns
