"""Label generation clustering against Clarabel and LIBLINEAR; what both such criteria promise."""

import pickle
import re
import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.callback import FitCallback
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from separatrix import LabelGenerationMarginClustering, OptimalMarginDistributionClustering
from separatrix.labels.links import Links
from separatrix.solvers.label_mixtures import Machine, signs_of, solve_saddle
from separatrix.solvers.margin_distribution import KernelSpace

BOTH = pytest.mark.parametrize(
    "criterion", [LabelGenerationMarginClustering, OptimalMarginDistributionClustering]
)


def cloud(seed=0, n=36, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


def corners(n_groups, n=40, spread=0.4):
    """Groups that are far apart, in shuffled order, and which is which."""
    rng = np.random.default_rng(n)
    truth = rng.permutation(np.arange(n) % n_groups)
    return 6.0 * np.eye(n_groups)[truth] + spread * rng.normal(size=(n, n_groups)), truth


def within_band(labels, n_clusters, balance):
    sizes, n = np.bincount(labels, minlength=n_clusters), len(labels)
    if n_clusters == 2:
        return np.ptp(sizes) <= balance * n + 1e-9
    low, high = (1 - balance) * n / n_clusters, (1 + balance) * n / n_clusters
    return np.floor(low + 1e-9) <= sizes.min() and sizes.max() <= np.ceil(high - 1e-9)


def objectives_of(model, X, labellings):
    """Objectives of the machines of labellings, for the Gaussian kernel."""
    machine, space = model._machine(), KernelSpace(rbf_kernel(X, gamma=model.gamma))
    signs = [signs_of(one, model.n_clusters) for one in labellings]
    return np.array([sum(machine.fit(space, y).objective for y in one) for one in signs])


def links_of(n, n_clusters, form):
    """Links of a tenth of the samples, which some labels agree with."""
    rng = np.random.default_rng(n)
    hidden = rng.permutation(np.arange(n) % n_clusters)
    pairs = rng.permutation(n)[: 2 * (n // 20)].reshape(-1, 2)
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    if form == "pairs":
        return {"must_link": pairs[same], "cannot_link": pairs[~same]}
    if form == "known":
        return {"known_labels": np.where(np.isin(np.arange(n), pairs), hidden, -1)}
    ids = np.full((2, n), -1)
    for number, pair in enumerate(pairs):
        ids[0 if same[number] else 1, pair] = number
    return {"must_link": ids[0], "cannot_link": ids[1]}


# The machine and the mix


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_the_machine_is_a_support_vector_machine_with_squared_hinge_loss(C):
    for seed in range(12):
        X = np.hstack([cloud(seed, n=24), np.ones((24, 1))])
        y = np.where(np.random.default_rng(seed).random(24) < 0.5, -1.0, 1.0)
        svm = LinearSVC(loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10)
        w = svm.set_params(C=C / 24, max_iter=100_000).fit(X, y).coef_[0]
        found = Machine(C).fit(KernelSpace(X @ X.T), y)
        value = 0.5 * w @ w + C * np.mean(np.maximum(1 - y * (X @ w), 0) ** 2)
        assert found.objective == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(X.T @ found.coef, w, rtol=1e-3, atol=1e-4)


def test_negative_multipliers_are_no_solution():
    """A start that meets all conditions of the squared hinge loss but the sign of a multiplier."""
    K, first = np.array([[1.0, 5.0], [5.0, 30.0]]), 0.7
    margins = K @ [first, -0.01]
    assert first == pytest.approx(2 * (1 - margins[0]))
    assert margins[1] > 1
    found = Machine(2.0).fit(KernelSpace(K), np.ones(2), np.array([first, -0.01]))
    cold = Machine(2.0).fit(KernelSpace(K), np.ones(2))
    assert found.objective == pytest.approx(cold.objective, rel=1e-9)
    assert found.alpha.min() >= -1e-9


@pytest.mark.parametrize("C", [0.5, 10.0, 200.0])
def test_the_mix_is_that_of_multiple_kernel_learning(C):
    """The paper's problem, in which multipliers sum to one and C is 2 C / n_samples."""
    m = 14
    for seed in range(3):
        rng, K = np.random.default_rng(seed), rbf_kernel(cloud(seed, n=m), gamma=0.5)
        Y = np.array([rng.permutation(np.repeat([-1.0, 1.0], m // 2)) for _ in range(4)])
        kernels = [K * np.outer(y, y) + m / (2 * C) * np.eye(m) for y in Y]
        a, worst = cp.Variable(m, nonneg=True), cp.Variable()
        limits = [0.5 * cp.quad_form(a, cp.psd_wrap(Q)) <= worst for Q in kernels]
        program = cp.Problem(cp.Maximize(-worst), [cp.sum(a) == 1, *limits])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of digits beyond those that are compared
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11)
        found = solve_saddle(K, Y[None], Machine(C), tol=1e-6)
        assert found.objective == pytest.approx(-1 / (4 * program.value), rel=1e-6)
        np.testing.assert_allclose(found.alpha[0] / found.alpha.sum(), a.value, atol=1e-4)
        weights = [np.ravel(limit.dual_value)[0] for limit in limits]
        np.testing.assert_allclose(found.weights, weights, atol=2e-3)
        # the gap in units of the paper, far from the solution
        first = solve_saddle(K, Y[None], Machine(C), max_iter=0)
        shares = first.alpha[0] / first.alpha.sum()
        terms = np.array([shares @ Q @ shares for Q in kernels])
        assert first.gap == pytest.approx(terms.max() / (first.weights @ terms) - 1, abs=1e-8)


# The estimators


@BOTH
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_labels_sizes_bounds_and_predictions(criterion, n_clusters):
    for n, balance, C in [(36, 0.1, 1.0), (35, 0.2, 100.0)]:
        X = cloud(n_clusters, n)
        model = criterion(n_clusters, balance=balance, C=C, gamma=0.4, max_iter=4).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert (np.diff(np.bincount(model.labels_)) <= 0).all()
        assert model.duality_gap_ <= model.tol
        assert model.n_iter_ == len(model.history_) <= 4
        assert len(model.labelling_weights_) == len(model.labellings_)
        for labels in [model.labels_, *model.labellings_]:
            assert within_band(labels, n_clusters, balance)
        objective, *others = objectives_of(model, X, [model.labels_, *model.labellings_])
        assert model.objective_ == pytest.approx(objective, rel=1e-6)
        assert model.lower_bound_ <= min(others) * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["newton", "mirror-descent"])
def test_the_bound_is_one_where_a_single_labelling_is_best(solver):
    X, _ = corners(2, n=20, spread=0.1)
    model = OptimalMarginDistributionClustering(solver=solver, gamma=0.1, tol=0.05).fit(X)
    best = objectives_of(model, X, model.labellings_).min()
    assert 0.9 * best <= model.lower_bound_ <= best * (1 + 1e-9)


@BOTH
@pytest.mark.parametrize("readout", ["consensus", "vote", "best"])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_far_groups_are_found_in_any_order_and_form(criterion, n_clusters, readout):
    X, truth = corners(n_clusters)
    model = criterion(n_clusters, readout=readout, max_iter=2)
    for samples in (X, 1e6 + X, 1e-6 * X, X.astype(np.float32), sparse.csr_array(X)):
        assert adjusted_rand_score(truth, clone(model).fit(samples).labels_) == 1.0
    order = np.random.default_rng(1).permutation(len(X))
    assert adjusted_rand_score(truth[order], clone(model).fit(X[order]).labels_) == 1.0


@BOTH
@pytest.mark.parametrize("n_search", [30, 2000])
@pytest.mark.parametrize("form", ["pairs", "ids", "known"])
def test_links_are_kept_without_exception(criterion, form, n_search):
    for n_clusters, n in [(2, 60), (3, 61)]:
        given = links_of(n, n_clusters, form)
        model = criterion(n_clusters, n_search=n_search, max_iter=2).fit(cloud(n, n), **given)
        links = Links.of(n, n_clusters, **given)
        assert not links.is_empty
        assert links.violations(model.labels_) == 0
        assert within_band(model.labels_, n_clusters, model.balance)
        searched = links.restricted(model.searched_)
        assert not any(searched.violations(one) for one in model.labellings_)


@BOTH
def test_links_that_cannot_be_kept_or_leave_one_cluster_are_not_silent(criterion):
    for n_clusters in (1, 2, 3):
        with pytest.raises(ValueError, match=r"0 = 1 = 2|2 = 1 = 0"):
            criterion(n_clusters).fit(cloud(), must_link=[[0, 1], [1, 2]], cannot_link=[[0, 2]])
    with pytest.warns(ConvergenceWarning):
        model = criterion(max_iter=1).fit(cloud(n=12), must_link=np.zeros(12, dtype=int))
    assert not model.labels_.any()


@BOTH
@pytest.mark.parametrize("n_search", [25, 2000])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_linear_boundaries(criterion, n_clusters, n_search):
    X, _ = corners(n_clusters, n=60)
    model = criterion(n_clusters, kernel="linear", n_search=n_search, max_iter=2).fit(X)
    scores = X @ model.coef_.T + model.intercept_
    scores = scores[:, 0] if n_clusters == 2 else scores
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    labels = scores > 0 if n_clusters == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(clone(model).fit(sparse.csr_array(X)).labels_, labels)


@BOTH
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_a_kernel_matrix_equals_its_kernel(criterion, n_clusters):
    X, _ = corners(n_clusters, spread=1.0)
    X, new = X[:36], X[36:]
    named = criterion(n_clusters, gamma=0.1, max_iter=2).fit(X)
    given = criterion(n_clusters, kernel="precomputed", max_iter=2).fit(rbf_kernel(X, gamma=0.1))
    np.testing.assert_array_equal(given.labels_, named.labels_)
    assert given.objective_ == pytest.approx(named.objective_, rel=1e-6)
    values = given.decision_function(rbf_kernel(new, X, gamma=0.1))
    np.testing.assert_allclose(values, named.decision_function(new), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="n_search >= 36"):
        given.set_params(n_search=20).fit(rbf_kernel(X))


@BOTH
@pytest.mark.parametrize("n_search", [30, 31])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_some_samples_speak_for_the_others(criterion, n_clusters, n_search):
    """Also where an odd number of them cannot be split as evenly as all of them can."""
    X, truth = corners(n_clusters, n=120)
    for balance in (0.0, 0.2):
        model = criterion(n_clusters, n_search=n_search, balance=balance, max_iter=1).fit(X)
        assert adjusted_rand_score(truth, model.labels_) == 1.0
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert len(model.searched_) == model.labellings_.shape[1] == n_search


@BOTH
def test_links_travel_through_pipelines_and_searches(criterion):
    X, given = cloud(8, n=48), links_of(48, 2, "ids")
    links, names = Links.of(48, 2, **given), ("must_link", "cannot_link", "known_labels")
    given["known_labels"] = np.full(48, -1)
    with config_context(enable_metadata_routing=True):
        model = criterion(max_iter=1).set_fit_request(**dict.fromkeys(names, True))
        pipe = make_pipeline(StandardScaler(), model).fit(X, **given)
        assert links.violations(pipe[-1].labels_) == 0
        grid = {"C": [1.0, 10.0]}
        search = GridSearchCV(model, grid, cv=2, scoring=lambda model, X: -model.C)
        assert links.violations(search.fit(X, **given).best_estimator_.labels_) == 0


@BOTH
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_search", [20, 2000])
def test_fitting_keeps_parameters_and_models_travel(criterion, kernel, n_search):
    X = cloud(9)
    model = criterion(3, kernel=kernel, n_search=n_search, max_iter=2)
    before = dict(model.get_params())
    labels = model.fit(X).labels_
    assert model.get_params() == before
    np.testing.assert_array_equal(clone(model).fit(X).labels_, labels)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    alone = model.set_params(n_clusters=1).fit(X)
    assert not alone.labels_.any()
    assert not alone.predict(X[:3]).any()
    assert not hasattr(alone, "labellings_")


class StopAtOnce(FitCallback):
    """Asks for an end after the first round."""

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context, **kwargs): ...

    def on_fit_task_end(self, estimator, context, **kwargs):
        return True


@BOTH
def test_a_callback_stops_the_rounds(criterion):
    model = criterion(C=100.0, gamma=0.3).fit(cloud(10))
    assert model.n_iter_ > 1
    stopped = clone(model).set_callbacks(StopAtOnce()).fit(cloud(10))
    assert stopped.n_iter_ == 1
    assert len(stopped.labellings_) == len(stopped.labelling_weights_)


# Bad and odd input


@BOTH
def test_bad_input_is_refused_with_a_remedy_that_helps(criterion):
    for kernel, value in [("linear", 0.0), ("rbf", 1.0), ("linear", 1e8), ("rbf", 1e8)]:
        with pytest.raises(ValueError, match="X is constant to the kernel"):
            criterion(kernel=kernel).fit(np.full((10, 2), value))
    for n in (3, 7, 9):
        with pytest.raises(ValueError, match=f"n_samples={n} is odd") as refused:
            criterion(balance=0.0).fit(cloud(n=n))
        remedy = float(re.findall(r"balance\D*(\d\.\d+)", str(refused.value))[-1])
        assert np.ptp(np.bincount(criterion(balance=remedy).fit(cloud(n=n)).labels_)) == 1
    with pytest.raises(ValueError, match=r"n_search=3.*n_clusters=5"):
        criterion(5, n_search=3).fit(cloud())


@BOTH
@pytest.mark.parametrize("n_clusters", [2, 3, 4, 5])
def test_as_many_clusters_as_samples(criterion, n_clusters):
    for kernel in ("linear", "rbf"):
        model = criterion(n_clusters, kernel=kernel, max_iter=2).fit(cloud(2, n=n_clusters))
        assert sorted(model.labels_) == list(range(n_clusters))


@BOTH
@pytest.mark.parametrize(("n_clusters", "counts"), [(2, [3, 17]), (3, [5, 15]), (3, [2, 2, 16])])
def test_duplicates_that_sizes_would_part_are_not_silent(criterion, n_clusters, counts):
    X = np.repeat(cloud(3, n=len(counts)), counts, axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = criterion(n_clusters, max_iter=2).fit(X)
    assert [warning.category for warning in caught] == [ConvergenceWarning]
    assert len(set(zip(map(tuple, X), model.labels_, strict=True))) == len(counts)
    assert (np.diff(np.bincount(model.labels_, minlength=n_clusters)) <= 0).all()


@BOTH
@pytest.mark.parametrize(
    ("kernel", "scale"), [("linear", 1e-100), ("linear", 1e8), ("poly", 1e4), ("rbf", 1e-9)]
)
def test_any_units(criterion, kernel, scale):
    for tol in (0.0, 1e-3):
        model = criterion(kernel=kernel, gamma="mean", tol=tol, max_iter=2)
        if kernel == "poly":
            model.set_params(gamma=0.5)
        labels = model.fit(scale * cloud(4, n=30, d=3)).labels_
        assert within_band(labels, 2, model.balance)
