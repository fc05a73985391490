"""Classifiers of many clusters, settled on more samples than were searched."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import adjusted_rand_score

from separatrix import (
    LabelGenerationMarginClustering,
    OptimalMarginDistributionClustering,
    RegularizedLeastSquaresClustering,
)
from separatrix.estimators.sampled_search import SearchProblem
from separatrix.solvers.flips import targets_of
from support import fit_quietly

ESTIMATORS = [
    LabelGenerationMarginClustering,
    OptimalMarginDistributionClustering,
    RegularizedLeastSquaresClustering,
]
N_CLUSTERS = 25


def crowded(n=2_500, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % N_CLUSTERS
    grid = 8.0 * np.stack(np.divmod(np.arange(N_CLUSTERS), 5), axis=1)
    return grid[y] + spread * rng.normal(size=(n, 2)), y


@pytest.fixture
def settlings(monkeypatch):
    """What `settled` is called with, and what it returns."""
    calls = []
    settled = SearchProblem.settled

    def spied(problem, labels, **options):
        calls.append((problem, labels, options, settled(problem, labels, **options)))
        return calls[-1][-1]

    monkeypatch.setattr(SearchProblem, "settled", spied)
    return calls


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_classifiers_are_ridge_regressions_on_labels_of_more_samples(
    estimator, weighted, settlings
):
    """Each score is that of scikit-learn's Ridge, fitted to the labels that it leads to."""
    X, _ = crowded(spread=0.6)
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float) if weighted else None
    model = estimator(N_CLUSTERS, max_samples=500)
    fit_quietly(model, X, sample_weight=weight)
    ((problem, _, options, rule),) = settlings
    own = np.ones(len(X)) if weight is None else problem.sample_weight
    n_searched = 500 if problem.row_weight is None else problem.row_weight.sum()
    Z = problem._features(problem.X)
    scores = (
        problem._features(problem.X)
        @ np.linalg.lstsq(problem._low_rank.projection, rule.coef.T, rcond=None)[0]
    )
    labels = scores.argmax(axis=1)  # sizes are within their bounds, so that offsets are zero
    ridge = Ridge(options["reg"] * own.sum() / n_searched, fit_intercept=False)
    ridge.fit(Z, targets_of(labels, N_CLUSTERS), sample_weight=own)
    np.testing.assert_allclose(ridge.predict(Z), scores, atol=0.02 * np.abs(scores).max())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_order_of_the_samples_makes_no_difference(estimator):
    X, y = crowded(spread=1.5)
    order = np.random.default_rng(2).permutation(len(X))
    models = [
        fit_quietly(estimator(N_CLUSTERS, max_samples=500), rows)[0] for rows in (X, X[order])
    ]
    # clusters of equal sizes are numbered as they come
    assert adjusted_rand_score(models[0].labels_[order], models[1].labels_) == 1.0
    assert adjusted_rand_score(y, models[0].labels_) > 0.6


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_nothing_settles_where_all_samples_are_searched_or_clusters_are_few(estimator, settlings):
    X, _ = crowded(n=600)
    fit_quietly(estimator(N_CLUSTERS, max_samples=600), X)
    fit_quietly(estimator(5, max_samples=300), X)
    fit_quietly(estimator(N_CLUSTERS, max_samples=300, kernel="linear"), X)
    assert not settlings
