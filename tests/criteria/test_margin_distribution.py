"""Optimal margin distribution clustering against Clarabel and the machine for known labels."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from separatrix import (
    LabelGenerationMarginClustering,
    OptimalMarginDistributionClustering,
    OptimalMarginDistributionMachine,
)
from support import fit_quietly, groups

IRIS = load_iris().data[::3]
WINE = StandardScaler().fit_transform(load_wine().data)[::4]
CLOUD = np.random.default_rng(0).normal(size=(40, 3))


def machine_of(model, K, labels):
    """The machine of one labelling, with the parameters of the clustering."""
    machine = OptimalMarginDistributionMachine(
        C=model.C_, nu=model.nu, theta=model.theta, kernel="precomputed", fit_intercept=False
    )
    return machine.fit(K, labels)


def value_of_the_paper(K, y, model):
    """(1) of the paper at the signs y, its slacks and all, by Clarabel."""
    m, theta = len(y), model.theta
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0))
    w, xi, epsilon = cp.Variable(m), cp.Variable(m), cp.Variable(m)
    margins = cp.multiply(y, features @ w)
    cost = m * model.C_ / (m * (1 - theta) ** 2)  # lambda is m times C
    losses = cost * (cp.sum_squares(xi) + model.nu * cp.sum_squares(epsilon))
    limits = [margins >= 1 - theta - xi, margins <= 1 + theta + epsilon]
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + losses), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of digits beyond those that are compared
        return program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)


def signs_of_labels(labels):
    """One against the rest for each cluster, or one for two clusters."""
    clusters = [1] if labels.max() == 1 else range(labels.max() + 1)
    return [np.where(labels == cluster, 1.0, -1.0) for cluster in clusters]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("readout", ["consensus", "vote", "best"])
def test_the_objective_is_that_of_the_paper_at_the_labels(n_clusters, readout):
    """In which C is the weight of the sum of losses; with a machine for each of more clusters."""
    X = groups(2, n=30, n_groups=n_clusters)
    K = rbf_kernel(X, gamma=0.1)
    for C, nu, theta in [("scale", 0.5, 0.0), (0.02, 1.0, 0.2), (5.0, 0.2, 0.6)]:
        parameters = {"C": C, "nu": nu, "theta": theta, "gamma": 0.1, "max_rounds": 2}
        model = OptimalMarginDistributionClustering(n_clusters, readout=readout, **parameters)
        model.fit(X)
        expected = [value_of_the_paper(K, y, model) for y in signs_of_labels(model.labels_)]
        assert model.objective_ == pytest.approx(sum(expected), rel=1e-5)
        machine = machine_of(model, K, model.labels_)
        assert model.objective_ == pytest.approx(machine.objective_, rel=1e-6)


def test_the_objective_is_that_of_the_labels_where_equal_rows_keep_them_out_of_balance():
    X = np.repeat(groups(4, n=2), [3, 15], axis=0)
    with pytest.warns(ConvergenceWarning, match="balance"):
        model = OptimalMarginDistributionClustering(gamma=0.1, max_rounds=2).fit(X)
    machine = machine_of(model, rbf_kernel(X, gamma=0.1), model.labels_)
    assert model.objective_ == pytest.approx(machine.objective_, rel=1e-6)


def margins_of(model, X):
    """Margins of the machines of the labels, by the classifier for known labels."""
    machine = machine_of(model, rbf_kernel(X, gamma=model.gamma_), model.labels_)
    scores = machine.decision_function(rbf_kernel(X, gamma=model.gamma_))
    return np.array(signs_of_labels(model.labels_)).T * scores.reshape(len(X), -1)


def test_the_default_weight_of_losses_is_free_of_units():
    """Of a linear kernel: with all features in other units, the labels stay and so do margins."""
    one, other = (
        fit_quietly(OptimalMarginDistributionClustering(kernel="linear"), unit * CLOUD)[0]
        for unit in (1.0, 1024.0)
    )
    scatter = np.sum((CLOUD - CLOUD.mean(axis=0)) ** 2)
    assert one.C_ * scatter == pytest.approx(other.C_ * 1024.0**2 * scatter, rel=1e-9)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(
        one.decision_function(CLOUD), other.decision_function(1024.0 * CLOUD), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("X", [IRIS, WINE, CLOUD], ids=["iris", "wine", "cloud"])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_both_branches_of_the_loss_act_by_default(X, n_clusters):
    model, words = fit_quietly(OptimalMarginDistributionClustering(n_clusters), X)
    assert words is None or "No margin exceeds" not in words
    margins = margins_of(model, X)
    assert np.mean(margins > 1 + model.theta) > 0.02
    assert np.mean(margins < 1 - model.theta) > 0.02


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_margins_none_of_which_is_in_excess_are_told(n_clusters):
    """Then nu has no effect: the criterion is the other's, in units of the zone's lower end."""
    told = []
    for C, theta in [(1 / 40, 0.2), (5 / 40, 0.0), (5.0, 0.0)]:
        chosen = {"C": C, "theta": theta, "gamma": 0.4, "gap_tol": 0.9, "max_rounds": 2}
        model, words = fit_quietly(
            OptimalMarginDistributionClustering(n_clusters, **chosen), CLOUD
        )
        is_told = words is not None and "No margin exceeds 1 + theta" in words
        margins = margins_of(model, CLOUD)
        assert is_told == (margins.max() <= 1 + theta)
        assert margins.min() < 0.7 * (1 - theta)
        told.append(is_told)
        if is_told:
            other = OptimalMarginDistributionClustering(n_clusters, nu=1.0, **chosen)
            other = fit_quietly(other, CLOUD)[0]
            np.testing.assert_array_equal(other.labels_, model.labels_)
            assert other.objective_ == pytest.approx(model.objective_, rel=1e-9)
            unit = (1 - theta) ** 2
            hinge = LabelGenerationMarginClustering(n_clusters, C=C / unit, readout="best")
            hinge.set_params(gamma=0.4, gap_tol=0.9, max_rounds=2).fit(CLOUD)
            assert model.objective_ == pytest.approx(unit * hinge.objective_, rel=1e-6)
    assert set(told) == {False, True}


def test_margins_that_are_nearly_all_of_one_size_are_no_news():
    """Those of groups that are tight and far apart: none is in excess, but none misses much."""
    X = 6.0 * np.eye(2)[np.arange(20) % 2] + 0.1 * np.random.default_rng(3).normal(size=(20, 2))
    model = OptimalMarginDistributionClustering().fit(X)
    margins = margins_of(model, X)
    assert 0.9 < margins.min() <= margins.max() < 1
    with pytest.warns(ConvergenceWarning, match="No margin exceeds"):
        model.set_params(C=1 / 20).fit(X)


def test_mirror_descent_that_ends_above_the_tolerance_is_told():
    told = []
    for gap_tol in (0.5, 1e-6):
        model = OptimalMarginDistributionClustering(solver="mirror-descent", max_rounds=1)
        words = fit_quietly(model.set_params(gap_tol=gap_tol, C=1.0), CLOUD)[1]
        told.append(words is not None and "gap_ says by how much" in words)
        assert told[-1] == (model.gap_ > gap_tol)
    assert told == [False, True]


@pytest.mark.filterwarnings("ignore:No margin exceeds")
@pytest.mark.parametrize("solver", ["newton", "mirror-descent"])
def test_the_bound_is_one_where_a_single_labelling_is_best(solver):
    rng = np.random.default_rng(20)
    truth = rng.permutation(np.arange(20) % 2)
    X = 6.0 * np.eye(2)[truth] + 0.1 * rng.normal(size=(20, 2))
    limits = {"C": 1 / 20, "gamma": 0.1, "gap_tol": 0.05}
    model = OptimalMarginDistributionClustering(solver=solver, **limits).fit(X)
    K = rbf_kernel(X, gamma=0.1)
    best = min(machine_of(model, K, labels).objective_ for labels in model.labellings_)
    assert 0.9 * best <= model.lower_bound_ <= best * (1 + 1e-9)
