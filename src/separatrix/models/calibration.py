"""How certain scores are, judged by how well they predict held-back labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from separatrix._sklearn import is_dask, one_thread, to_numpy
from separatrix.data.distinct import row_hashes
from separatrix.data.frames import Frame
from separatrix.data.rows import rows_beside
from separatrix.models.scores import cluster_columns, dense, leads, log_odds
from separatrix.result import decoded

__all__ = ["Calibration"]

# Largest number of samples, and of values, from which the temperature is found.
MAX_SAMPLES, MAX_NUMBERS = 4_000, 2**24
# Scores farther behind than this, in median leads, count as lost.
FARTHEST = 1e6
# Range of the offset and the slope that make probabilities those of other fits.
AGREEMENT = ((-20.0, 20.0), (0.0, 10.0))


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""Temperature of a model's scores, found when it is first needed.

    A boundary learned from the clusters of one half of some samples predicts those of the other
    half, and vice versa. The temperature is that at which these predictions :math:`y'` are
    likeliest:

    .. math:: \max_T \sum_i \log \frac{\exp(f_{i y'_i} / T)}{\sum_c \exp(f_{ic} / T)}

    Only the temperature is saved, not the samples.

    Attributes
    ----------
    model : Model
        Gives the scores f.
    X : {ndarray, sparse matrix, array, dask array} of shape (n_rows, n_features)
        Some of the training samples.
    weight : ndarray of shape (n_rows,)
        Their weights. Equal samples are one of their summed weight.
    """

    model: Any
    X: Any
    weight: np.ndarray

    @classmethod
    def of(cls, model, X, sample_weight=None):
        """The calibration of a model by some of its samples of positive weight."""
        most = min(MAX_SAMPLES, max(2, MAX_NUMBERS // X.shape[1]))
        if sample_weight is None:
            drawn = _drawn(X.shape[0], most)
            return cls(model, rows_beside(X, drawn), np.ones(len(drawn)))
        weight = to_numpy(sample_weight)
        present = np.flatnonzero(weight > 0)
        drawn = present[_drawn(len(present), most)]
        return cls(model, rows_beside(X, drawn), weight[drawn])

    @cached_property
    def temperature(self):
        """What scores are divided by before their softmax."""
        # rules search neighbours, which load numba
        from separatrix.models.extensions import best_rule, held_back_scores

        n_clusters = self.model.n_clusters
        if n_clusters == 1:
            return 1.0
        X, weight = self._distinct()
        halves = np.arange(0, len(weight), 2), np.arange(1, len(weight), 2)
        labels = to_numpy(decoded(self.model.scores(X)))
        places = dense(X).astype(np.float64)
        if not np.ptp(places, axis=0).any():  # links separate samples that are all equal
            return 1.0
        learn = one_thread(held_back_scores)
        held_back = learn(Frame.of(places)(places), labels, n_clusters, halves)
        predicted = held_back[best_rule(held_back, labels)[0]].argmax(axis=1)
        columns = np.zeros((len(weight), n_clusters))
        for half in halves:
            columns[half] = self._columns_as_new(rows_beside(X, half))
        return likeliest_temperature(columns, predicted, weight)

    def _distinct(self):
        """Distinct samples in an order of their own, so that repetition is weight."""
        X = self.X.compute() if is_dask(self.X) else self.X
        _, first, place = np.unique(
            row_hashes(to_numpy(X)), return_index=True, return_inverse=True
        )
        return rows_beside(X, first), np.bincount(place, self.weight)

    def _columns_as_new(self, X):
        """Scores of training samples as if they were new to the model."""
        scores = to_numpy(forgetting(self.model, X).scores(X)).astype(np.float64)
        return cluster_columns(scores, self.model.n_clusters)

    def __getstate__(self):
        """The temperature alone: a saved model holds no samples for it."""
        return {"temperature": self.temperature}


def forgetting(model, X):
    """A model to which samples are new, if it holds the samples of its fit."""
    return model.forgetting(X) if hasattr(model, "forgetting") else model


def likeliest_temperature(columns, labels, weight=None):
    """Temperature of scores, a column for each cluster, at which labels are likeliest."""
    from separatrix.models.extensions import likeliest_factor

    unit = float(np.median(leads(columns).max(axis=1))) or 1.0
    behind = (columns - columns.max(axis=1, keepdims=True)) / unit
    factor = likeliest_factor(np.maximum(behind, -FARTHEST), labels, weight)
    return max(unit / factor, float(np.finfo(np.float64).tiny))


def likeliest_agreement(probabilities, agree):
    r"""Offset and slope of the log-odds at which what other fits agree on is likeliest.

    .. math:: \max_{a, b \ge 0} \sum_{i, r} z_{ri} (a + b x_i) - \log(1 + \exp(a + b x_i)), \qquad
              x_i = \log \frac{p_i}{1 - p_i}

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_clusters)
        What a fit says of samples as if they were new to it; :math:`p_i` is the largest.
    agree : ndarray of bool of shape (n_rounds, n_samples)
        Whether other fits give them the same cluster: :math:`z_{ri}`.

    Returns
    -------
    offset, slope : float
    """
    x, shares = log_odds(probabilities), agree.mean(axis=0)

    def loss(parameters):
        offset, slope = parameters
        logits = offset + slope * x
        wrong = (expit(logits) - shares) / len(x)
        return np.mean(np.logaddexp(0, logits) - shares * logits), [wrong.sum(), wrong @ x]

    found = minimize(loss, [0.0, 1.0], jac=True, method="L-BFGS-B", bounds=AGREEMENT)
    return float(found.x[0]), float(found.x[1])


def _drawn(n_samples, most):
    """Indices of some samples, the same each time."""
    if n_samples <= most:
        return np.arange(n_samples)
    # not by the estimator's own generator, which may be the user's
    return np.unique(np.random.RandomState(0).randint(n_samples, size=most))
