"""Approximate volume regularization: the classifier behind maximum volume clustering."""

from numbers import Real
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import DOC_LINK, StrOptions, fit_context, refuse_dask
from separatrix._typing import Array, ArrayLike, Samples
from separatrix.data.gate import naming
from separatrix.data.rows import check_fits_memory
from separatrix.estimators.base import (
    check_graph_samples,
    kept_on_failure,
    precomputed_parameter,
    set_fitted,
    similarities_of,
)
from separatrix.estimators.classifier import class_labels
from separatrix.estimators.parameters import GRAPH, POSITIVE
from separatrix.models.graph_responses import GraphModel, Spread
from separatrix.result import decoded
from separatrix.similarity.graphs import GivenGraph, summed_columns
from separatrix.similarity.quadratic_forms import MATRICES, form_of, resolved_rho
from separatrix.solvers.responses import responder_of

__all__ = ["ApproximateVolumeRegularization"]


class ApproximateVolumeRegularization(ClassifierMixin, BaseEstimator):
    r"""Classifier that spreads known labels over a similarity graph of all samples.

    It is for few labels among many samples. Every sample gets a response, which is close to its
    label where that is known, and similar for similar samples. For labels y of m samples, and zero
    for the others, it solves [1]_

    .. math:: \min_h \; -\tfrac{1}{m} h^\top y + \gamma h^\top Q h
              \quad \text{s.t.} \quad \|h\|_2 = t

    by the secular equation that `MaximumVolumeClustering` solves for signs that it guesses. With
    more than two classes, each is separated from the rest, and the largest response decides.

    Parameters
    ----------
    matrix : str, default="normalized"
        The paper's Q, made of the similarities W: the normalised Laplacian plus I/n; the plain
        Laplacian plus a little I; W + I/n, which suits hard labels but otherwise separates similar
        samples; nI - W; or X itself, any symmetric matrix.
    affinity : {"local", "rbf", "cosine", "precomputed"}, default="local"
        Similarity of two samples. "local" is Gaussian, with the distance to the `n_neighbors`-th
        neighbour as the width at each sample; "rbf" is Gaussian of one width. "cosine" is the
        cosine, and "precomputed" takes X itself, a dense or sparse matrix of similarities.
    graph : {"union", "mutual", "full"}, default="union"
        Which samples are connected: those of which one is among the other's nearest neighbours
        ("union"), those where this holds both ways ("mutual"), or all ("full"), in a dense matrix.
    n_neighbors : int, default=10
        Number of neighbours.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.5)
        Kernel coefficient: a number, or 1 / width**2 by a rule. "mean" takes the mean distance of
        two samples as the width, "median" the median distance, ("mean", 0.5) half of the mean
        distance; "scale" is 1 / (n_features * X.var()). For `affinity="rbf"`.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are searched: all of them are found ("exact"), or most, much faster, by
        random trees and neighbours of neighbours ("approximate"). "auto" is approximate beyond
        10,000 samples of more than 6 features.
    reg : float, "auto" or tuple, default="auto"
        Weight of the regularisation. It weighs smoothness, the paper's gamma. "auto" weighs the
        ninth nontrivial eigenvalue of the matrix twice as much as the labels; ("auto", 0.5) half
        as much.
    radius : float, default=1.0
        Length of the responses, the paper's t. Only its product with `reg` matters for classes.
    unlabeled : int, str or None, default=None
        Value in y that marks samples whose class is not known, such as -1. None treats all labels
        as known.
    n_jobs : int or None, default=None
        Number of jobs that run at the same time, as in joblib. They search for neighbours.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    transduction_ : ndarray of shape (n_samples,)
        Class of each sample of `fit`, known or not.
    response_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Responses, `decision_function` of these samples.
    reg_ : float
        Weight of the regularisation that was used; nan if none was.
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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

    classes_: Array
    transduction_: Array
    response_: Array
    reg_: float
    gamma_: float
    n_features_in_: int
    feature_names_in_: Array
    _doc_link_module, _doc_link_template = "separatrix", DOC_LINK

    _parameter_constraints: dict = {
        **GRAPH,
        "matrix": [StrOptions({*MATRICES, "precomputed"})],
        "reg": [StrOptions({"auto"}), *POSITIVE, tuple],
        "radius": POSITIVE,
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
        neighbors="auto",
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
    def fit(self, X: Samples, y: ArrayLike) -> Self:
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
        with kept_on_failure(self):
            return self._fit(X, y)

    def _fit(self, X, y):
        X, y = self._validate_X_y(X, y)
        known = np.ones(len(y), dtype=bool) if self.unlabeled is None else y != self.unlabeled
        with naming("y"):
            check_classification_targets(y[known])
        classes = np.unique(y[known])
        if len(classes) < 2:
            raise ValueError(
                f"y must have known labels of at least 2 classes, got {len(classes)} class "
                f"in {known.sum()} known labels of n_samples={len(y)}; label samples of another "
                "class."
            )
        rho, graph = resolved_rho(self.reg), self._graph_of(X)
        if graph.W.shape[0] == 1:
            raise ValueError(
                f"all {X.shape[0]} samples of X are equal, so no graph can separate classes; "
                "check that X holds the features."
            )
        form = form_of(graph.W, self.matrix, graph.own, graph.counts)
        responder = responder_of(form, None)
        # (25) per unit of length: reg * radius * h'Qh - 2 * (y / 2m)'h on the unit sphere
        labels = sign_columns(y, known, classes) / (2 * known.sum())
        reg = float(self.reg) if rho is None else self._scaled_reg(rho, labels, responder)
        if graph.counts is not None:  # equal samples have one response, whatever their labels
            labels = summed_columns(labels.T, graph.place).T / graph.counts[:, None]
        found = [
            responder.respond(labels[:, [column]], reg * self.radius)
            for column in range(labels.shape[1])
        ]
        eta = np.array([responses.eta[0] for responses in found]) / self.radius
        columns = self.radius * np.column_stack([responses.h for responses in found])
        model = GraphModel(graph, Spread(form, columns, eta, reg))
        fitted = {
            "_model": model,
            "classes_": classes,
            "reg_": reg,
            "gamma_": graph.gamma,
            "response_": model.responses,
            "transduction_": classes[decoded(model.responses)],
        }
        set_fitted(self, fitted)
        return self

    def _graph_of(self, X):
        if self.matrix == "precomputed":
            return GivenGraph.of_matrix(X)
        if self.matrix not in ("normalized", "unnormalized"):
            check_fits_memory(X.shape[0], remedy="use a sparse graph and matrix='normalized'")
        return similarities_of(self, X, stacklevel=6)

    def _validate_X_y(self, X, y):
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: {type(self).__name__} needs "
                "some labels."
            )
        X = check_graph_samples(self, X, reset=True)
        return X, class_labels(X, y)

    def _scaled_reg(self, rho, labels, responder):
        """The weight with which smoothness matters as much as it does among guessed signs."""
        length = np.linalg.norm(labels[:, 0])
        return float(rho * length / (responder.scale * self.radius))

    def decision_function(self, X: Samples) -> Array:
        """Soft responses of samples.

        A sample that equals one of `fit` has the response of that one. Any other gets the response
        that is optimal while those of `fit` are held fixed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; where similarities or Q are precomputed, those of the new samples to the
            samples of `fit`, one row per new sample.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one value, positive for the second. Otherwise a column per class; the
            largest decides.
        """
        check_is_fitted(self)
        refuse_dask(self, X, instead="MinimaxProbabilityMachine")
        return self._model.scores(check_graph_samples(self, X, reset=False))

    def predict(self, X: Samples) -> Array:
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
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = precomputed_parameter(self) is not None
        return tags


def sign_columns(y, known, classes):
    """Targets of each class against the rest, zero for unknown samples; one column for two."""
    if len(classes) == 2:
        classes = classes[1:]
    columns = 2.0 * (y[:, None] == classes) - 1
    columns[~known] = 0
    return columns
