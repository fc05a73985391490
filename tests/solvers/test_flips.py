"""The search by single moves against its definition and plain loops; the hat matrix."""

import numpy as np
import pytest

from least_squares_support import (
    KERNELS,
    SOLVERS,
    bounded_modes,
    criterion,
    kernel_of,
    loss_matrix,
    plus_minus,
)
from separatrix.labels.sizes import Sizes
from separatrix.solvers import flips
from separatrix.solvers.flips import (
    State,
    descend_by_flips,
    hat_matrix,
    random_labels,
    sums_of,
)
from support import groups


def problem(seed, n=14, kernel="rbf", reg=0.5):
    """Kernel matrix of random samples, the matrix of (7) and the hat matrix."""
    X = np.abs(np.random.default_rng(seed).normal(size=(n, 3)))
    K = kernel_of(X, kernel)
    return K, loss_matrix(K, reg), hat_matrix(K, reg)


def sums_by_hand(R, labels, n_clusters):
    """The hat matrix summed over the samples of each cluster."""
    return (np.asarray(labels) == np.arange(n_clusters)[:, None]).astype(float) @ R


def state(R, labels, n_clusters, least=0, most=None):
    """What the compiled functions of the search work on, for samples without links."""
    labels, n = np.array(labels, dtype=np.int64), len(R)
    return State(
        R,
        sums_by_hand(R, labels, n_clusters),
        labels,
        np.bincount(labels, minlength=n_clusters),
        size=np.ones(n, dtype=np.int64),
        indptr=np.zeros(n + 1, dtype=np.int64),
        indices=np.zeros(0, dtype=np.int64),
        least=np.full(n_clusters, least),
        most=np.full(n_clusters, n if most is None else most),
    )


# Caches against the definition


@pytest.mark.parametrize("n_clusters", [2, 3, 4, 5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_caches_and_gains_are_those_of_the_definition_after_every_move(kernel, n_clusters):
    reg = 0.7
    _, A, R = problem(n_clusters, kernel=kernel, reg=reg)
    rng = np.random.default_rng(0)
    now = state(R, rng.integers(n_clusters, size=14), n_clusters)
    value = criterion(A, now.labels, n_clusters)
    for _ in range(150):
        j = int(rng.integers(14))
        d = int((now.labels[j] + rng.integers(1, n_clusters)) % n_clusters)
        gain = flips._gain(now, j, d)
        expected = now.labels.copy()
        expected[j] = d
        flips._move(now, j, d)
        np.testing.assert_array_equal(now.labels, expected)
        np.testing.assert_array_equal(now.counts, np.bincount(expected, minlength=n_clusters))
        following = criterion(A, now.labels, n_clusters)
        assert value - following == pytest.approx(8 * gain, abs=1e-9)
        value = following
        assert np.abs(now.sums - sums_by_hand(R, now.labels, n_clusters)).max() < 1e-10


@pytest.mark.parametrize("n_clusters", [2, 3, 4, 5])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_objective_of_a_search_is_that_of_its_labels(solver, n_clusters):
    for seed, kernel in enumerate(KERNELS):
        for shares in (
            "free",
            "equal",
            np.arange(1, n_clusters + 1) / np.arange(n_clusters + 1).sum(),
        ):
            _, A, R = problem(seed, n=30, kernel=kernel)
            sizes = Sizes.of(30, n_clusters, shares, None, None)
            start = random_labels(sizes, np.random.RandomState(seed))
            kept = start.copy()
            found = descend_by_flips(R, start, sizes, solver=solver)
            np.testing.assert_array_equal(start, kept)
            expected = criterion(A, found.labels, n_clusters)
            assert found.objective == pytest.approx(expected, rel=1e-9)
            np.testing.assert_allclose(
                found.sums, sums_by_hand(R, found.labels, n_clusters), atol=1e-9
            )
            counts = np.bincount(found.labels, minlength=n_clusters)
            assert (sizes.least <= counts).all()
            assert (counts <= sizes.most).all()


# Searches against plain loops on the definition


class Plain:
    """Labels with the definition at hand, which every candidate is judged by."""

    def __init__(self, A, labels, n_clusters):
        self.A, self.labels, self.n_clusters = A, np.array(labels), n_clusters
        self.n_moves = 0

    def gain(self, j, d):
        other = self.labels.copy()
        other[j] = d
        now = criterion(self.A, self.labels, self.n_clusters)
        return now - criterion(self.A, other, self.n_clusters)

    def size(self, cluster):
        return np.count_nonzero(self.labels == cluster)

    def move(self, j, d):
        self.labels[j] = d
        self.n_moves += 1

    def allowed(self, least, most):
        """Moves that keep the bounds."""
        for j, c in enumerate(self.labels):
            for d in range(self.n_clusters):
                if d != c and self.size(c) > least[c] and self.size(d) < most[d]:
                    yield j, d

    def shake(self, targets, n_shakes):
        for i in range(n_shakes + 1):
            for d in range(self.n_clusters):
                alpha = targets[d] / 2**i + targets[d] - self.size(d)
                for _ in range(int(np.floor(max(alpha, 0) + 1e-9))):
                    others = np.flatnonzero(self.labels != d)
                    if len(others) == 0:
                        break
                    self.move(max(others, key=lambda j, d=d: self.gain(j, d)), d)

    def settle(self, least, most):
        while True:
            useful = [
                (j, d)
                for j, d in self.allowed(least, most)
                if self.size(self.labels[j]) > most[self.labels[j]] or self.size(d) < least[d]
            ]
            if not useful:
                return
            self.move(*max(useful, key=lambda move: self.gain(*move)))

    def descend(self, least, most, max_moves):
        for _ in range(max_moves):
            moves = list(self.allowed(least, most))
            best = max(moves, key=lambda move: self.gain(*move), default=None)
            if best is None or self.gain(*best) <= 1e-9:
                return
            self.move(*best)

    def sweep(self, least, most, max_sweeps):
        for _ in range(max_sweeps):
            before = self.n_moves
            for j in range(len(self.labels)):
                moves = [move for move in self.allowed(least, most) if move[0] == j]
                best = max(moves, key=lambda move: self.gain(*move), default=None)
                if best is not None and self.gain(*best) > 1e-9:
                    self.move(*best)
            if self.n_moves == before:
                return


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
@pytest.mark.parametrize("name", ["shake", "settle", "descend", "sweep"])
def test_each_search_makes_the_moves_of_a_plain_loop(name, n_clusters):
    """Cut short after each step, so that the sequences of moves are compared."""
    moved = 0
    for seed, kernel in enumerate(["rbf", "linear", "laplacian"]):
        _, A, R = problem(10 * n_clusters + seed, n=11, kernel=kernel)
        rng = np.random.default_rng(seed)
        start = rng.integers(n_clusters, size=11)
        least, most = np.full(n_clusters, 2), np.full(n_clusters, 6)
        targets = 11 * rng.dirichlet(np.full(n_clusters, 4.0))
        for steps in (0, 1, 2, 3, 30):
            arguments = {
                "shake": (targets, min(steps, 5)),
                "settle": (),
                "descend": (steps,),
                "sweep": (steps,),
            }[name]
            plain, bounds = Plain(A, start, n_clusters), () if name == "shake" else (least, most)
            getattr(plain, name)(*bounds, *arguments)
            end = state(R, start, n_clusters, least, most)
            smallest = (1.0,) if name == "shake" else ()
            n_moves = getattr(flips, f"_{name}")(end, *arguments, *smallest)
            np.testing.assert_array_equal(end.labels, plain.labels)
            assert n_moves == plain.n_moves
            expected = sums_by_hand(R, end.labels, n_clusters)
            np.testing.assert_allclose(end.sums, expected, atol=1e-10)
            sizes = np.bincount(end.labels, minlength=n_clusters)
            np.testing.assert_array_equal(end.counts, sizes)
            moved += n_moves
    assert moved > 0 or name == "settle"  # nothing to settle in these starts is no error


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_the_printed_algorithm_is_its_plain_loop_and_nothing_more(n_clusters):
    for seed in range(4):
        _, A, R = problem(seed, n=12)
        sizes = Sizes.of(12, n_clusters, "equal", None, None)
        start = random_labels(sizes, np.random.RandomState(seed))
        kept = start.copy()
        plain = Plain(A, start, n_clusters)
        plain.shake(sizes.targets, 5)
        found = descend_by_flips(R, start, sizes, solver="printed", n_shakes=5)
        np.testing.assert_array_equal(found.labels, plain.labels)
        np.testing.assert_array_equal(start, kept)
        assert found.n_moves == plain.n_moves
        assert found.objective == pytest.approx(criterion(A, found.labels, n_clusters), rel=1e-9)


def test_settling_ends_within_the_bounds():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 5))
        _, A, R = problem(seed, n=15)
        start = np.minimum(rng.integers(3 * k, size=15), k - 1)  # most of them in the last
        start[:k] = np.arange(k)  # two clusters without samples would be equally cheap
        sizes = rng.multinomial(15, np.full(k, 1 / k))
        least, most = np.maximum(sizes - 1, 0), sizes + 1
        end = state(R, start, k, least, most)
        n_moves = flips._settle(end)
        plain = Plain(A, start, k)
        plain.settle(least, most)
        np.testing.assert_array_equal(end.labels, plain.labels)
        counts = np.bincount(end.labels, minlength=k)
        assert (counts >= least).all()
        assert (counts <= most).all()
        outside = np.maximum(np.bincount(start, minlength=k) - most, 0).sum()
        missing = np.maximum(least - np.bincount(start, minlength=k), 0).sum()
        assert max(outside, missing) <= n_moves <= outside + missing  # no move too many


# Minima


@pytest.mark.parametrize("mode", ["free", "equal", "given", "between"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_no_single_move_within_the_bounds_improves(solver, mode):
    for seed in range(12):
        n_clusters = 2 + seed % 4
        _, A, R = problem(seed, n=25, kernel=["rbf", "linear", "poly"][seed % 3])
        _, sizes = bounded_modes(25, n_clusters)[mode]
        found = descend_by_flips(
            R, random_labels(sizes, np.random.RandomState(seed)), sizes, solver=solver
        )
        end = Plain(A, found.labels, n_clusters)
        moves = list(end.allowed(sizes.least, sizes.most))
        assert all(end.gain(*move) <= 1e-9 for move in moves)
        assert moves or mode in ("equal", "given")


def test_classifiers_agree_with_a_minimum_of_single_moves():
    """There the fitted value of the own cluster is the largest, by 2 R_jj at least."""
    for seed in range(10):
        n_clusters = 2 + seed % 4
        K, _, R = problem(seed, n=40)
        sizes = Sizes(np.full(n_clusters, 10.0), np.zeros(n_clusters), np.full(n_clusters, 40.0))
        found = descend_by_flips(
            R,
            random_labels(
                Sizes.of(40, n_clusters, "equal", None, None), np.random.RandomState(seed)
            ),
            sizes,
            solver="steepest",
        )
        fitted = K @ np.linalg.solve(K + 0.5 * np.eye(40), plus_minus(found.labels, n_clusters))
        rows = np.arange(40)
        own = fitted[rows, found.labels]
        fitted[rows, found.labels] = -np.inf
        assert (own - fitted.max(axis=1) >= 2 * np.diag(R) - 1e-9).all()


# Starts


def test_random_starts_have_the_sizes_aimed_at():
    rng = np.random.RandomState(0)
    for k in range(2, 8):
        for n in range(k, 40):
            sizes = Sizes.of(n, k, "equal", None, None)
            counts = np.bincount(random_labels(sizes, rng), minlength=k)
            assert counts.sum() == n
            assert np.ptp(counts) <= 1


def test_shaking_two_clusters_forgets_where_it_started():
    """Which is why it is started once: a cluster that aims at half of the samples claims all."""
    _, _, R = problem(0, n=60)
    sizes = Sizes.of(60, 2, "free", None, None)
    starts = [random_labels(sizes, np.random.RandomState(seed)) for seed in range(10)]
    found = [descend_by_flips(R, start, sizes, solver="shaking").objective for start in starts]
    np.testing.assert_allclose(found, found[0])


@pytest.mark.parametrize("solver", ["steepest", "stochastic"])
@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_the_names_of_clusters_do_not_matter(n_clusters, solver):
    """A search from renamed labels makes the same moves; clusters of shaking take turns."""
    for seed in range(5):
        _, _, R = problem(seed, n=40)
        sizes = Sizes.of(40, n_clusters, "free", None, None)
        rng = np.random.RandomState(seed)
        start, names = random_labels(sizes, rng), rng.permutation(n_clusters)
        found = descend_by_flips(R, start, sizes, solver=solver)
        renamed = descend_by_flips(R, names[start], sizes, solver=solver)
        np.testing.assert_array_equal(renamed.labels, names[found.labels])
        assert renamed.objective == pytest.approx(found.objective)
        assert renamed.n_moves == found.n_moves > 0


# The hat matrix


@pytest.mark.parametrize("reg", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_hat_matrix_by_eigenvalues(kernel, reg):
    K = kernel_of(np.abs(groups(1, n=40)), kernel)
    kept = K.copy()
    R = hat_matrix(K, reg)
    np.testing.assert_array_equal(K, kept)
    values, vectors = np.linalg.eigh(K)
    np.testing.assert_allclose(R, (vectors * (values / (values + reg))) @ vectors.T, atol=1e-9)
    np.testing.assert_array_equal(R, R.T)
    assert R.flags.c_contiguous


def test_the_hat_matrix_of_weights_is_that_of_repetitions_summed():
    """And so is the criterion, at any labels: a weight of two is a repeated sample."""
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(12, 3)), rng.integers(1, 4, size=12)
    copies = np.repeat(np.arange(12), weight)
    members = (copies == np.arange(12)[:, None]).astype(float)
    many = hat_matrix((X @ X.T)[np.ix_(copies, copies)], 0.7)
    R = hat_matrix(X @ X.T, 0.7, weight.astype(float))
    np.testing.assert_allclose(R, members @ many @ members.T, atol=1e-12)
    labels = rng.integers(3, size=12)
    weighted = flips.criterion(sums_of(R, labels, 3), labels, weight.sum())
    repeated = flips.criterion(sums_of(many, labels[copies], 3), labels[copies], len(copies))
    assert weighted == pytest.approx(repeated, rel=1e-10)
