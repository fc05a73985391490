"""Labels, their numbering, and what solvers return."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn import config_context

from separatrix.result import (
    Iterations,
    Labelling,
    Progress,
    SolverResult,
    Status,
    aligned,
    decoded,
    numbered,
    renumbered,
)

# Labellings


def test_weights_are_counts_or_sums():
    labels = np.array([0, 2, 2, 0, 2], dtype=np.int8)
    labelling = Labelling(labels, 4)
    np.testing.assert_array_equal(labelling.weights, [2.0, 0.0, 3.0, 0.0])
    assert labelling.weights.dtype == np.float64
    weighted = Labelling(labels, 4, np.array([0.5, 1.0, 0.0, 2.0, 0.25]))
    np.testing.assert_array_equal(weighted.weights, [2.5, 0.0, 1.25, 0.0])


def test_empty_clusters_have_no_weight_beyond_rounding():
    labels = np.array([0, 1, 2, 2])
    np.testing.assert_array_equal(Labelling(labels, 4).empty, [False, False, False, True])
    weighted = Labelling(labels, 4, np.array([0.0, 1e-14, 1.0, 1.0]))
    np.testing.assert_array_equal(weighted.empty, [True, True, False, True])


@pytest.mark.parametrize(
    ("labels", "n_clusters", "sample_weight", "order"),
    [
        ([0, 1, 1, 2, 2, 2], 3, None, [2, 1, 0]),
        ([1, 0, 1, 0], 2, None, [1, 0]),  # a tie: cluster 1 appears first
        ([2, 0, 0, 1, 2, 1, 1], 3, None, [1, 2, 0]),  # a tie for the second place
        ([3, 1, 2, 0], 4, None, [3, 1, 2, 0]),
        ([0, 1, 1, 1], 2, [5.0, 1.0, 1.0, 1.0], [0, 1]),
        ([1, 0, 0, 1], 2, [1.0, 2.0, 0.0, 1.0], [1, 0]),  # a tie of weights
        ([0, 1, 1], 2, [0.1, 0.0, 0.1], [0, 1]),
        ([2, 2, 1], 3, None, [2, 1, 0]),  # an empty cluster is the last
    ],
)
def test_order_is_by_weight_then_by_first_appearance(labels, n_clusters, sample_weight, order):
    weights = None if sample_weight is None else np.array(sample_weight)
    labelling = Labelling(np.array(labels), n_clusters, weights)
    np.testing.assert_array_equal(labelling.order, order)


@pytest.mark.parametrize("seed", range(5))
def test_order_does_not_depend_on_the_numbers_of_the_clusters(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(5, size=12)
    labels[:5] = np.arange(5)
    weight = rng.integers(1, 3, size=12) if seed % 2 else None
    names = rng.permutation(5)
    first = renumbered(labels, Labelling(labels, 5, weight).order)
    second = renumbered(names[labels], Labelling(names[labels], 5, weight).order)
    np.testing.assert_array_equal(first, second)


def test_labellings_take_other_arrays():
    xp = pytest.importorskip("array_api_strict")
    with config_context(array_api_dispatch=True):
        labelling = Labelling(xp.asarray([1, 0, 1, 0]), 3, xp.asarray([1.0, 2.0, 0.0, 1.0]))
        np.testing.assert_array_equal(labelling.weights, [3.0, 1.0, 0.0])
        np.testing.assert_array_equal(labelling.empty, [False, False, True])
        np.testing.assert_array_equal(labelling.order, [0, 1, 2])
        on_host = Labelling(labelling.labels, 3, np.array([1.0, 2.0, 0.0, 1.0]))
        np.testing.assert_array_equal(on_host.weights, labelling.weights)
        moved = renumbered(labelling.labels, np.array([1, 0, 2]))
        assert type(moved) is type(labelling.labels)
        np.testing.assert_array_equal(np.asarray(moved), [0, 1, 0, 1])


# Numbers of clusters


def test_renumbered_calls_cluster_i_what_was_order_i():
    order = np.array([2, 0, 1])
    labels = np.array([2, 2, 0, 1], dtype=np.int8)
    moved = renumbered(labels, order)
    np.testing.assert_array_equal(moved, [0, 0, 1, 2])
    np.testing.assert_array_equal(order[moved], labels)
    assert moved.dtype == np.int32


def test_decoded_takes_the_sign_or_the_largest():
    np.testing.assert_array_equal(decoded(np.array([-1.0, 0.0, 1e-300])), [0, 0, 1])
    scores = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 1.0], [-2.0, -1.0, -0.5]])
    np.testing.assert_array_equal(decoded(scores), [1, 0, 2])
    assert decoded(scores).dtype == decoded(scores[:, 0]).dtype == np.int32


def test_numbered_is_one_name_for_all_numberings():
    np.testing.assert_array_equal(numbered([3, 1, 3, 0, 1]), [0, 1, 0, 2, 1])
    np.testing.assert_array_equal(numbered(["b", "a", "b"]), [0, 1, 0])
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=30)
    names = rng.permutation(4)
    np.testing.assert_array_equal(numbered(names[labels]), numbered(labels))
    np.testing.assert_array_equal(numbered(numbered(labels)), numbered(labels))


@pytest.mark.parametrize("seed", range(3))
def test_aligned_agrees_best_with_the_shares(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4), size=40)
    labels = rng.integers(4, size=40)
    found = aligned(labels, shares)
    np.testing.assert_array_equal(numbered(found), numbered(labels))
    agreement = shares[np.arange(40), found].sum()
    table = np.array([shares[labels == cluster].sum(axis=0) for cluster in range(4)])
    assert agreement == pytest.approx(table[linear_sum_assignment(table, maximize=True)].sum())
    # labels that differ from the shares in their numbers alone come out as these say
    certain = np.eye(4)[labels]
    np.testing.assert_array_equal(aligned(rng.permutation(4)[labels], certain), labels)


# Results


@pytest.mark.parametrize(("history", "n_iter"), [([], 1), ([3.0], 1), ([3.0, 2.0, 2.0], 3)])
def test_a_result_counts_its_iterations(history, n_iter):
    labelling = Labelling(np.array([0, 1]), 2)
    result = SolverResult(labelling, None, 2.0, history, Status.CONVERGED)
    assert result.n_iter == n_iter
    assert result.labels is labelling.labels
    assert result.details is None
    assert not result.keeps_labels


@pytest.mark.parametrize(
    ("responses", "status"),
    [([0.5, -1.0], Status.CONVERGED), ([0.5, 1.0], Status.DEGENERATE)],
)
def test_a_result_of_responses_has_their_labels(responses, status):
    class Rule:
        n_clusters = 2

    Rule.responses = np.array(responses)
    result = SolverResult.of_responses(
        Rule, objective=1.0, history=[1.0], status=Status.CONVERGED, details="own"
    )
    np.testing.assert_array_equal(result.labels, (np.array(responses) > 0).astype(int))
    assert result.status is status
    assert result.model is Rule
    assert result.details == "own"


def test_iterations_know_why_they_ended():
    assert Iterations(0).status is Status.MAX_ITER
    iterations = Progress().subtask("restart", 3).iterations(3)
    assert isinstance(iterations, Iterations)
    for step in iterations:
        iterations.record(float(step))
        if step == 1:
            iterations.status = Status.CONVERGED
            break
    assert iterations.history == [0.0, 1.0]
    assert iterations.n_iter == 2
    assert not iterations.stopped
    assert not Progress().close()


def test_only_what_needs_a_remedy_is_told():
    silent = {status for status in Status if status.is_silent}
    assert silent == {Status.CONVERGED, Status.STALLED, Status.STOPPED}
