"""Optimal margin distribution clustering against the machine for known labels."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import OptimalMarginDistributionClustering, OptimalMarginDistributionMachine
from support import groups


def machine_of(model, K, labels):
    """The machine of one labelling, with the parameters of the clustering."""
    machine = OptimalMarginDistributionMachine(
        C=model.C_, nu=model.nu, theta=model.theta, kernel="precomputed", fit_intercept=False
    )
    return machine.fit(K, labels)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_the_objective_is_that_of_the_machine_of_the_labels(n_clusters):
    """In which C is the weight of the sum of losses; with a machine for each of more clusters."""
    X = groups(2, n=36, n_groups=n_clusters)
    K = rbf_kernel(X, gamma=0.1)
    for C, nu, theta in [("scale", 0.5, 0.2), (0.02, 1.0, 0.0), (5.0, 0.2, 0.6)]:
        parameters = {"C": C, "nu": nu, "theta": theta, "gamma": 0.1, "max_rounds": 2}
        model = OptimalMarginDistributionClustering(n_clusters, **parameters).fit(X)
        assert (1 / 36 if C == "scale" else C) == model.C_
        expected = machine_of(model, K, model.labels_).objective_
        assert model.objective_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("solver", ["newton", "mirror-descent"])
def test_the_bound_is_one_where_a_single_labelling_is_best(solver):
    rng = np.random.default_rng(20)
    truth = rng.permutation(np.arange(20) % 2)
    X = 6.0 * np.eye(2)[truth] + 0.1 * rng.normal(size=(20, 2))
    model = OptimalMarginDistributionClustering(solver=solver, gamma=0.1, gap_tol=0.05).fit(X)
    K = rbf_kernel(X, gamma=0.1)
    best = min(machine_of(model, K, labels).objective_ for labels in model.labellings_)
    assert 0.9 * best <= model.lower_bound_ <= best * (1 + 1e-9)
