"""Machines of all samples against ridge regressions on explicit features."""

import numpy as np
import pytest

import separatrix.data.rows as rows_of_data
from separatrix.models.boundaries import Boundaries, one_vs_rest_code
from separatrix.similarity.kernels import Kernel
from separatrix.solvers.extended_margin import ExtendedProblem
from separatrix.solvers.ridge import FeatureBasis, MarginProblem


def problem_of(X, weight, feature_map):
    """All samples, of which the first forty are the few, and machines settle on a hundred."""
    parts = []
    for size in (40, 100):
        rows = X[:size]
        basis = FeatureBasis.of(rows, rows, None, feature_map)
        fields = {"samples": rows, "rows": rows, "row_weight": None, "sample_weight": None}
        fields |= {"kernel": feature_map.kernel, "feature_map": feature_map}
        parts.append(MarginProblem.of(X=basis.Z, basis=basis, **fields))
    return ExtendedProblem(X=X, sample_weight=weight, part=parts[0], settling=parts[1])


def least_squares(Z, y, weight, C):
    """Weights and intercept of a ridge regression, from stacked least squares."""
    roots = np.sqrt(C * weight)
    system = np.column_stack([roots[:, None] * Z, roots])
    penalty = np.eye(Z.shape[1], Z.shape[1] + 1)
    right = np.append(roots * y, np.zeros(Z.shape[1]))
    solution = np.linalg.lstsq(np.vstack([system, penalty]), right, rcond=None)[0]
    return solution[:-1], solution[-1]


@pytest.mark.parametrize("n_clusters", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_machines_of_all_samples(weighted, n_clusters, monkeypatch):
    monkeypatch.setattr(rows_of_data, "CHUNK_SIZE", 500)  # dozens of chunks
    rng = np.random.default_rng(n_clusters)
    X = rng.normal(size=(300, 3)) + 5.0
    weight = rng.integers(0, 3, size=300).astype(float) if weighted else None
    feature_map = Kernel("rbf", 0.2).low_rank_map(X[:40], max_rank=15)
    problem = problem_of(X, weight, feature_map)
    Z, code = feature_map(X), one_vs_rest_code(n_clusters)
    rule = Boundaries(rng.normal(size=(len(code), Z.shape[1])), np.zeros(len(code)), code)
    found = problem.machines_of_all(rule, 3.0)
    labels = rule.labels(Z)
    for i, side in enumerate(code):
        w, b = least_squares(Z, side[labels], np.ones(300) if weight is None else weight, 3.0)
        values = problem.landmarks(X) @ found.boundaries.coef[i] + found.boundaries.intercept[i]
        np.testing.assert_allclose(values, Z @ w + b, rtol=1e-6, atol=1e-8)
        assert found.norms[i] == pytest.approx(w @ w, rel=1e-6)


def test_first_labels_are_those_of_the_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 6.0 * (np.arange(300) % 2)[:, None]
    problem = problem_of(X, None, Kernel("rbf", 0.05).low_rank_map(X[:40], max_rank=15))
    found = problem.first_labels((np.arange(40) % 2).astype(np.int8), one_vs_rest_code(2), 10.0)
    np.testing.assert_array_equal(found, np.arange(100) % 2)
