"""Label updates against brute force over all cuts and against the transport problem."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, linprog, milp
from sklearn import config_context

from separatrix.labels.sizes import (
    Sizes,
    balanced_offsets,
    balanced_threshold,
    bounded_threshold,
    check_halves,
    rounded,
    size_bounds,
)

LOSSES = {
    "laplacian": lambda f, y: np.abs(f - y),
    "square": lambda f, y: (f - y) ** 2,
    "hinge": lambda f, y: np.maximum(0.0, 1 - y * f),
}


def loss_at(scores, weight, threshold, loss):
    """Summed loss of the labels that a threshold gives, straight from its definition."""
    values = LOSSES[loss](scores - threshold, np.where(scores > threshold, 1.0, -1.0))
    return float(weight @ values)


def all_cuts(scores, weight, loss):
    """Threshold, imbalance as a share, and loss of each midpoint of neighbouring scores."""
    scores = scores.astype(np.float64)
    values = np.unique(scores[weight > 0])
    cuts = []
    for low, high in itertools.pairwise(values):
        t = (low + high) / 2
        signs = np.where(scores > t, 1.0, -1.0)
        cuts.append((t, abs(weight @ signs) / weight.sum(), loss_at(scores, weight, t, loss)))
    return np.array(cuts).reshape(-1, 3)


def random_case(seed):
    """Scores, weights or None, and a balance, of all kinds that occur."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    scores = rng.normal(size=n) * rng.choice([0.3, 1.0, 3.0]) + rng.choice([0.0, 0.7, -20.0])
    if seed % 3 == 0:  # ties
        scores = np.round(4 * scores) / 4
    if seed % 4 == 3:
        scores = np.concatenate([scores[: n // 2] - 3, scores[n // 2 :] + 3])
    weight = None
    if seed % 2:
        weight = rng.integers(0, 4, size=n).astype(float)
        if seed % 5 == 0:
            weight *= rng.uniform(size=n)
        weight[rng.integers(n)] = 1.0
    return scores, weight, float(rng.choice([0.0, 0.05, 0.1, 0.3, 0.6, 0.95]))


def check_against_brute_force(cut, scores, weight, loss, balance, rtol):
    """Assert that no other cut is better; return whether there was any in the band."""
    weight = np.ones(len(scores)) if weight is None else weight
    cuts = all_cuts(scores, weight, loss)
    if len(cuts) == 0:
        assert np.isnan(cut.threshold)
        assert not cut.within
        return False
    inside = cuts[cuts[:, 1] <= balance + 1e-9]
    assert cut.within == (len(inside) > 0)
    nearest = cuts[cuts[:, 1] <= cuts[:, 1].min() + 1e-9]
    allowed = inside if cut.within else nearest
    scale = 1 + np.abs(scores).max()
    chosen = np.abs(allowed[:, 0] - cut.threshold) <= rtol * scale
    assert chosen.any()
    best = allowed[:, 2].min()
    tolerance = rtol * scale**2 * weight.sum()
    assert allowed[chosen][:, 2].min() <= best + tolerance
    assert cut.loss == pytest.approx(best, abs=tolerance)
    return bool(cut.within)


@pytest.mark.parametrize("loss", LOSSES)
def test_threshold_equals_brute_force(loss):
    within = 0
    for seed in range(600):
        scores, weight, balance = random_case(seed)
        cut = balanced_threshold(scores, weight, loss=loss, balance=balance)
        within += check_against_brute_force(cut, scores, weight, loss, balance, 1e-12)
    assert 300 < within < 600  # both kinds were met


@pytest.mark.parametrize("loss", LOSSES)
def test_threshold_of_single_precision_equals_brute_force(loss):
    for seed in range(200):
        scores, weight, balance = random_case(seed)
        scores = scores.astype(np.float32)
        cut = balanced_threshold(scores, weight, loss=loss, balance=balance)
        check_against_brute_force(cut, scores, weight, loss, balance, 1e-6)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("loss", LOSSES)
def test_threshold_of_other_arrays_equals_brute_force(loss, library):
    xp = pytest.importorskip(library)
    with config_context(array_api_dispatch=True):
        for seed in range(60):
            scores, weight, balance = random_case(seed)
            given = None if weight is None else xp.asarray(weight)
            cut = balanced_threshold(xp.asarray(scores), given, loss=loss, balance=balance)
            check_against_brute_force(cut, scores, weight, loss, balance, 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_threshold_of_counted_samples_equals_brute_force(loss):
    """Counts of samples without weight among them; where ties leave no cut, it is at the tie."""
    n_cut = 0
    for seed in range(120):
        scores, weight, _ = random_case(seed)
        n = len(scores)
        rng = np.random.default_rng(seed)
        least = np.array([int(rng.integers(0, n // 2 + 1)), int(rng.integers(0, n - n // 2))])
        most = np.maximum(least, n - least[::-1] - rng.integers(0, 3))
        if least.sum() > n or most.sum() < n:
            continue
        cut = bounded_threshold(scores, weight, loss=loss, least=least, most=most)
        values = np.unique(scores)
        weights = np.ones(n) if weight is None else weight
        losses = {}
        for low, high in itertools.pairwise(values):
            t = (low + high) / 2
            sizes = np.array([np.sum(scores <= t), np.sum(scores > t)])
            if (least <= sizes).all() and (sizes <= most).all():
                losses[t] = loss_at(scores, weights, t, loss)
        assert cut.within == bool(losses)
        if losses:
            n_cut += 1
            assert cut.loss == pytest.approx(min(losses.values()), abs=1e-9 * weights.sum())
            assert loss_at(scores, weights, cut.threshold, loss) == pytest.approx(cut.loss)
        else:  # labels of the samples there decide the sizes
            below, above = np.sum(scores < cut.threshold), np.sum(scores > cut.threshold)
            assert (np.array([below, above]) <= most).all()
    assert n_cut > 60


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_equal_repetition_for_the_threshold(loss):
    for seed in range(100):
        scores, _, balance = random_case(seed)
        counts = np.random.default_rng(seed).integers(0, 4, size=len(scores))
        counts[:2] = 1
        repeated = np.repeat(scores, counts)
        weighted = balanced_threshold(scores, counts.astype(float), loss=loss, balance=balance)
        whole = balanced_threshold(repeated, loss=loss, balance=balance)
        assert weighted.within == whole.within
        assert weighted.loss == pytest.approx(whole.loss, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_scores_are_never_parted_though_the_balance_asks_for_it(loss):
    scores = np.array([0.0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2])
    cut = balanced_threshold(scores, loss=loss, balance=0.1)
    assert not cut.within
    assert cut.threshold == 1.5  # 9 to 2 is nearer to the band than 1 to 10
    jitter = scores + 1e-16 * np.arange(11)  # what rounding makes of equal samples
    assert balanced_threshold(jitter, loss=loss, balance=0.1).threshold == pytest.approx(1.5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("value", [0.0, -3.0, 1e9])
def test_all_equal_scores_have_no_threshold(value, loss):
    cut = balanced_threshold(np.full(5, value), loss=loss, balance=0.5)
    assert np.isnan(cut.threshold)
    assert not cut.within
    one = balanced_threshold(np.array([0.0, 1.0]), np.array([0.0, 1.0]), loss=loss, balance=0.5)
    assert np.isnan(one.threshold)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_band_that_is_met_exactly_counts_as_met(loss):
    """Sums of weights such as 0.1 round; 6 to 4 is a balance of 0.2."""
    scores = np.arange(10.0)
    weight = np.full(10, 0.1)
    for balance, sizes in ((0.2, {4, 5, 6}), (0.0, {5}), (0.4, {3, 4, 5, 6, 7})):
        cut = balanced_threshold(scores, weight, loss=loss, balance=balance)
        assert cut.within
        assert int((scores > cut.threshold).sum()) in sizes
    lopsided = np.concatenate([np.linspace(0, 1, 4), np.linspace(9, 10, 6)])
    cut = balanced_threshold(lopsided, weight, loss="square", balance=0.2)
    assert 1 < cut.threshold < 9


# Offsets


def transport_program(scores, weight):
    """Gains of each sample in each cluster, and the sums that are one and that are sizes."""
    n, k = scores.shape
    one_each = sparse.kron(sparse.eye_array(n), np.ones((1, k)))
    sizes = sparse.kron(weight[None, :], sparse.eye_array(k))
    return (weight[:, None] * scores).ravel(), one_each, sizes


def transport_optimum(scores, weight, low, high):
    """Most summed score under the bounds, of whole samples."""
    gains, one_each, sizes = transport_program(scores, weight)
    result = milp(
        -gains,
        integrality=np.ones_like(gains),
        bounds=(0, 1),
        constraints=[LinearConstraint(one_each, 1, 1), LinearConstraint(sizes, low, high)],
    )
    return -result.fun if result.success else None


def optimum_of_shares(scores, weight, low, high):
    """The same where samples may be parted, which is a linear program."""
    gains, one_each, sizes = transport_program(scores, weight)
    k = scores.shape[1]
    result = linprog(
        -gains,
        A_ub=sparse.vstack([sizes, -sizes]),
        b_ub=np.repeat([high, -low], k),
        A_eq=one_each,
        b_eq=np.ones(len(scores)),
    )
    return -result.fun


def offsets_case(seed, weighted=False, n=None):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(9, 40)) if n is None else n, int(rng.integers(3, 5))
    scores = rng.normal(size=(n, k)) + rng.normal(size=k)
    weight = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    balance = rng.choice([0.05, 0.1, 0.3])
    size = weight.sum() / k
    return scores, weight, np.floor((1 - balance) * size), np.ceil((1 + balance) * size)


def labels_and_sizes(scores, weight, offsets):
    labels = (scores + offsets).argmax(axis=1)
    return labels, np.bincount(labels, weights=weight, minlength=scores.shape[1])


def summed(scores, weight, labels):
    return float(weight @ scores[np.arange(len(scores)), labels])


@pytest.mark.parametrize("weighted", [False, True])
def test_offsets_keep_the_sizes_and_never_beat_the_transport_problem(weighted, record_property):
    """`within` says what is true, and is said of nearly all cases; each has a labelling."""
    n_cases, within, optimal = 60, 0, 0
    for seed in range(n_cases):
        scores, weight, low, high = offsets_case(seed, weighted)
        given = weight if weighted else None
        found = balanced_offsets(scores, given, min_size=low, max_size=high)
        labels, sizes = labels_and_sizes(scores, weight, found.offsets)
        assert found.within == bool((sizes >= low - 1e-9).all() and (sizes <= high + 1e-9).all())
        best = transport_optimum(scores, weight, low, high)
        assert best is not None
        if found.within:
            within += 1
            assert summed(scores, weight, labels) <= best + 1e-9
            optimal += summed(scores, weight, labels) >= best - 1e-9
    record_property("share_within", float(within / n_cases))
    record_property("share_optimal", float(optimal / n_cases))
    print(f"within {within}, optimal {optimal} of {n_cases}")
    assert within >= 0.9 * n_cases


def test_offsets_reach_the_transport_optimum():
    """With 300 samples a split one is no excuse: the least price of balance, up to a sample."""
    for seed in range(10):
        scores, weight, low, high = offsets_case(seed, n=300)
        found = balanced_offsets(scores, min_size=low, max_size=high)
        assert found.within
        labels, _ = labels_and_sizes(scores, weight, found.offsets)
        best = optimum_of_shares(scores, weight, low, high)
        price = scores.max(axis=1).sum() - summed(scores, weight, labels)
        assert price <= scores.max(axis=1).sum() - best + scores.std()


def test_offsets_do_not_cost_more_than_none_where_none_are_needed():
    scores = np.repeat(np.eye(3), 2, axis=0)
    scores = np.vstack([scores, [[0.1, 0, 0]]])
    found = balanced_offsets(scores, min_size=1, max_size=3)
    assert found.within
    labels, _ = labels_and_sizes(scores, np.ones(7), found.offsets)
    assert summed(scores, np.ones(7), labels) == pytest.approx(6.1)


@pytest.mark.parametrize("equal", [False, True])
def test_offsets_of_many_samples_keep_their_bounds(equal, monkeypatch):
    """Found on some of the samples, drawn and undecided ones, and then right for all."""
    monkeypatch.setattr("separatrix.labels.offsets.FLOW_SAMPLES", 300)
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((4_000, 5)) + rng.standard_normal(5)
    low, high = (800, 800) if equal else (760, 840)
    found = balanced_offsets(scores, min_size=low, max_size=high)
    labels, sizes = labels_and_sizes(scores, np.ones(4_000), found.offsets)
    assert found.within
    assert (sizes >= low).all()
    assert (sizes <= high).all()
    best = optimum_of_shares(scores, np.ones(4_000), low, high)
    assert summed(scores, np.ones(4_000), labels) >= best - 0.01 * abs(best)


def test_offsets_leave_scores_in_balance_alone():
    scores = np.repeat(np.eye(3), 4, axis=0)
    found = balanced_offsets(scores, min_size=3, max_size=5)
    assert found.within
    np.testing.assert_array_equal(found.offsets, 0.0)


def test_offsets_that_cannot_be_are_told():
    """Equal samples go together, so four of six leave no way to make three pairs."""
    scores = np.vstack([np.tile([[0.5, 0.0, -0.3]], (4, 1)), [[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]])
    found = balanced_offsets(scores, min_size=2, max_size=2)
    assert not found.within
    _, sizes = labels_and_sizes(scores, np.ones(6), found.offsets)
    assert sizes.max() == 4


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_offsets_of_other_arrays_are_the_same(library):
    xp = pytest.importorskip(library)
    for seed in range(10):
        scores, weight, low, high = offsets_case(seed, weighted=seed % 2 == 1)
        expected = balanced_offsets(scores, weight, min_size=low, max_size=high)
        with config_context(array_api_dispatch=True):
            found = balanced_offsets(
                xp.asarray(scores), xp.asarray(weight), min_size=low, max_size=high
            )
        np.testing.assert_allclose(found.offsets, expected.offsets)
        assert found.within == expected.within


# Sizes


@pytest.mark.parametrize(
    ("parameters", "least", "most"),
    [
        (("equal", None, None), [3, 3, 3], [4, 4, 4]),
        (([0.5, 0.3, 0.2], None, None), [5, 3, 2], [5, 3, 2]),
        (([0.45, 0.45, 0.1], None, None), [5, 4, 1], [5, 4, 1]),
        (("free", None, None), [1, 1, 1], [10, 10, 10]),
        (("free", 2, None), [2, 2, 2], [10, 10, 10]),
        (("free", None, 4), [0, 0, 0], [4, 4, 4]),
    ],
)
def test_sizes_that_clusters_may_have(parameters, least, most):
    sizes = Sizes.of(10, 3, *parameters)
    np.testing.assert_array_equal(sizes.least, least)
    np.testing.assert_array_equal(sizes.most, most)
    assert sizes.targets.sum() == pytest.approx(10)
    assert sizes.met_by(np.array(least))
    assert sizes.met_by(np.array(most))
    assert not sizes.met_by(np.array(most) + [0, 0, 1])
    assert not sizes.met_by(np.array(least) - [1, 0, 0])
    assert sizes.scaled(10) is sizes


def test_sizes_of_a_sample_are_in_proportion_and_leave_no_cluster_empty():
    few = Sizes.of(100, 2, "free", 10, 80).scaled(25)
    np.testing.assert_array_equal(few.targets, [12.5, 12.5])
    np.testing.assert_array_equal(few.least, [2, 2])
    np.testing.assert_array_equal(few.most, [20, 20])
    np.testing.assert_array_equal(
        Sizes.of(100, 2, [0.99, 0.01], None, None).scaled(10).least, [9, 1]
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (("equal", 2, None), "min_size=2 and max_size=None need shares='free'"),
        (([0.5, 0.5], None, None), r"shares has shape \(2,\) but n_clusters=3"),
        (([0.5, 0.3, 0.3], None, None), "shares must be positive and sum to 1, got .* sum 1.1"),
        (("free", 5, 4), "min_size=5 must not exceed max_size=4"),
        (
            ("free", 4, None),
            r"min_size=4 is infeasible: n_clusters=3 needs 3 \* 4 = 12 samples, got 10",
        ),
        (("free", None, 3), r"max_size=3 is infeasible: n_clusters=3 has room for 3 \* 3 = 9"),
    ],
)
def test_sizes_that_cannot_be_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        Sizes.of(10, 3, *parameters)


def test_bounds_that_leave_one_way_only_are_allowed():
    for parameters in ((4, 4), (4, None), (None, 4)):
        sizes = Sizes.of(12, 3, "free", *parameters)
        assert sizes.met_by(np.array([4, 4, 4]))
        assert not sizes.met_by(np.array([4, 3, 5]))
    np.testing.assert_array_equal(Sizes.of(12, 3, "equal", None, None).least, 4)
    np.testing.assert_array_equal(Sizes.of(12, 3, "equal", None, None).most, 4)
    np.testing.assert_array_equal(Sizes.of(100, 3, "free", None, None).least, 16)


def test_shares_sum_to_one_up_to_rounding():
    for shares in ([0.5, 0.5 + 5e-7], [0.5, 0.5 - 5e-7]):
        np.testing.assert_array_equal(Sizes.of(10, 2, shares, None, None).least, [5, 5])
    for shares in ([0.5, 0.5 + 5e-6], [0.5, 0.5 - 5e-6], [0.0, 1.0], [1.5, -0.5]):
        with pytest.raises(ValueError, match="shares must be positive and sum to 1"):
            Sizes.of(10, 2, shares, None, None)


@pytest.mark.parametrize("n_samples", [7, 10, 23])
def test_whole_sizes_are_the_nearest_of_their_sum(n_samples):
    for seed in range(30):
        shares = np.random.default_rng(seed).dirichlet(np.ones(3))
        sizes = rounded(n_samples * shares)
        every = itertools.product(range(n_samples + 1), repeat=3)
        whole = np.array([one for one in every if sum(one) == n_samples])
        distance = np.abs(whole - n_samples * shares).sum(axis=1)
        np.testing.assert_array_equal(sizes, whole[distance.argmin()])
    np.testing.assert_array_equal(rounded(np.array([2.5, 2.5, 2.0])), [3, 2, 2])


def test_halves_of_odd_numbers_need_a_balance_of_a_sample():
    check_halves(0.0, 10)
    check_halves(0.2, 5)
    with pytest.raises(
        ValueError, match=r"balance=0.1 .*n_samples=5 is odd.*not by 0.5; use"
    ) as e:
        check_halves(0.1, 5)
    assert "balance=0.2 or more" in str(e.value)
    for n_samples in (3, 7, 999):
        with pytest.raises(ValueError, match="is infeasible") as refused:
            check_halves(0.0, n_samples)
        least = float(str(refused.value).split("use balance=")[1].split()[0])
        check_halves(least, n_samples)
        assert (least - 1e-4) * n_samples < 1


def test_bounds_beyond_all_counts_are_refused_in_words():
    with pytest.raises(ValueError, match=r"min_size=1\.7e\+308"):
        size_bounds(10, 3, 1.7e308, None)


def test_scores_closer_than_rounding_all_the_way_are_cut_within_the_balance():
    scores = np.linspace(0.5, 1.0, 600_000, dtype=np.float32)
    rounding = 32 * np.finfo(np.float32).eps
    assert np.diff(scores).max() < rounding
    cut = balanced_threshold(scores, loss="hinge", balance=0.1)
    assert cut.within
    assert abs(np.mean(np.sign(scores - np.float32(cut.threshold)))) <= 0.1 + 1e-5
    # equal samples, which rounding made different, stay together
    scores = np.float32(1.0) + np.float32(1e-7) * np.arange(4, dtype=np.float32)
    assert not balanced_threshold(scores, loss="hinge", balance=0.1).within
