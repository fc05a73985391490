"""What the criteria that mix labellings promise, on all kinds of data."""

import itertools
import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LabelGenerationMarginClustering, OptimalMarginDistributionClustering
from separatrix.estimators.sampled_search import search_order
from separatrix.labels.links import Links
from separatrix.labels.sizes import size_bounds
from separatrix.similarity.kernels import Kernel
from separatrix.solvers.label_mixtures import Band, signs_of
from separatrix.solvers.margin_distribution import KernelSpace
from support import Recorder, fit_quietly, same_partition

# Searches that end early, for speed, say so; which is tested in one place.
pytestmark = pytest.mark.filterwarnings(
    "ignore:A labelling was still found:sklearn.exceptions.ConvergenceWarning",
    "ignore:No margin exceeds:sklearn.exceptions.ConvergenceWarning",
)
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
    """Objectives of the machines of labellings of what was seen, for the Gaussian kernel."""
    machine = model._machine(model.C_ * len(X))
    space = KernelSpace(rbf_kernel(X[model.sample_indices_], gamma=model.gamma_))
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


# The estimators


@BOTH
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_labels_sizes_bounds_and_predictions(criterion, n_clusters):
    for n, balance, C in [(36, 0.1, "scale"), (35, 0.2, 100 / 35)]:
        X = cloud(n_clusters, n)
        model = criterion(n_clusters, balance=balance, C=C, gamma=0.4, max_rounds=4).fit(X)
        assert model.gamma_ == 0.4
        if C != "scale":
            assert pytest.approx(C, rel=1e-12) == model.C_
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert (np.diff(np.bincount(model.labels_)) <= 0).all()
        assert model.gap_ <= model.gap_tol
        assert model.n_iter_ == len(model.history_) <= 4
        assert len(model.labelling_weights_) == len(model.labellings_)
        for labels in [model.labels_, *model.labellings_]:
            assert within_band(labels, n_clusters, balance)
        objective, *others = objectives_of(model, X, [model.labels_, *model.labellings_])
        assert model.objective_ == pytest.approx(objective, rel=1e-6)
        assert model.lower_bound_ <= min(others) * (1 + 1e-9)


@BOTH
@pytest.mark.parametrize("readout", ["consensus", "vote", "best"])
@pytest.mark.parametrize("bounds", [{"max_size": [20, 12, 9]}, {"min_size": 11, "max_size": 13}])
def test_all_labellings_are_within_bounds_on_sizes(criterion, readout, bounds):
    """By their numbers; where samples are equal, they are separated, and the objective knows."""
    n_clusters = 3
    for X in (cloud(n_clusters, 36), np.round(cloud(n_clusters, 36))):
        model = criterion(n_clusters, gamma=0.4, max_rounds=4, readout=readout, **bounds).fit(X)
        least, most = size_bounds(36, n_clusters, *map(bounds.get, ("min_size", "max_size")))
        for labels in [model.labels_, *model.labellings_]:
            sizes = np.bincount(labels, minlength=n_clusters)
            assert ((least <= sizes) & (sizes <= most)).all()
        objective, *others = objectives_of(model, X, [model.labels_, *model.labellings_])
        assert model.objective_ == pytest.approx(objective, rel=1e-6)
        assert model.lower_bound_ <= min(others) * (1 + 1e-9)


@BOTH
def test_bounds_in_each_labelling_reach_the_exhaustive_minimum(criterion):
    """Of all labels of eight to ten samples in the first cluster and two to four in the second."""
    chosen = [c for m in (2, 3, 4) for c in itertools.combinations(range(12), m)]
    every = np.zeros((len(chosen), 12), dtype=int)
    for labels, second in zip(every, chosen, strict=True):
        labels[list(second)] = 1
    reached = 0
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(12, 2))
        sizes = {"min_size": [8, 2], "max_size": [10, 4], "balance": 0.9}
        model = criterion(gamma=0.4, readout="best", **sizes).fit(X)
        best = objectives_of(model, X, every).min()
        assert model.objective_ >= best * (1 - 1e-6)
        assert model.lower_bound_ <= best * (1 + 1e-6)
        reached += model.objective_ <= best * (1 + 1e-6)
    assert reached >= 4


@BOTH
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_that_are_not_searched_keep_bounds(criterion, n_clusters, weighted):
    X = cloud(n_clusters, 90)
    weight = np.arange(90) % 3 if weighted else None
    most = [60, 32, 20] if n_clusters == 3 else [60, 35]
    model = criterion(n_clusters, max_size=most, max_samples=40, max_rounds=2)
    model.fit(X, sample_weight=weight)
    assert (np.bincount(model.labels_, minlength=n_clusters) <= most).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@BOTH
@pytest.mark.parametrize("readout", ["consensus", "vote", "best"])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_far_groups_are_found_in_any_order_and_form(criterion, n_clusters, readout):
    X, truth = corners(n_clusters, n=24)
    model = criterion(n_clusters, readout=readout, max_rounds=2)
    for samples in (1e6 + X, 1e-6 * X, sparse.csr_array(X)):
        assert adjusted_rand_score(truth, clone(model).fit(samples).labels_) == 1.0
    order = np.random.default_rng(1).permutation(len(X))
    singles = X[order].astype(np.float32)
    assert adjusted_rand_score(truth[order], clone(model).fit(singles).labels_) == 1.0


@BOTH
@pytest.mark.parametrize("max_samples", [30, 2000])
@pytest.mark.parametrize("form", ["pairs", "ids", "known"])
def test_links_are_kept_without_exception(criterion, form, max_samples):
    for n_clusters, n in [(2, 60), (3, 61)]:
        given = links_of(n, n_clusters, form)
        model = criterion(n_clusters, max_samples=max_samples, max_rounds=2).fit(
            cloud(n, n), **given
        )
        links = Links.of(n, n_clusters, **given)
        assert not links.is_empty
        assert links.violations(model.labels_) == 0
        # around the shares that known labels tell, else around even ones
        least, most = Band(links, model.balance).sizes
        sizes = np.bincount(model.labels_, minlength=n_clusters)
        assert (least <= sizes).all()
        assert (sizes <= most).all()
        searched = links.restricted(model.sample_indices_)
        if form != "known":  # of which a search may learn nothing, if that does not pay
            assert not any(searched.violations(one) for one in model.labellings_)


@BOTH
def test_links_that_cannot_be_kept_or_leave_one_cluster_are_not_silent(criterion):
    for n_clusters in (1, 2, 3):
        with pytest.raises(ValueError, match=r"0 = 1 = 2|2 = 1 = 0"):
            criterion(n_clusters).fit(cloud(), must_link=[[0, 1], [1, 2]], cannot_link=[[0, 2]])
    with pytest.warns(ConvergenceWarning):
        model = criterion(max_rounds=1).fit(cloud(n=12), must_link=np.zeros(12, dtype=int))
    assert not model.labels_.any()


@BOTH
@pytest.mark.parametrize("max_samples", [25, 2000])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_linear_boundaries(criterion, n_clusters, max_samples):
    X, _ = corners(n_clusters, n=60)
    model = criterion(n_clusters, kernel="linear", max_samples=max_samples, max_rounds=2).fit(X)
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
    named = criterion(n_clusters, gamma=0.1, max_rounds=2).fit(X)
    given = criterion(n_clusters, kernel="precomputed", max_rounds=2).fit(rbf_kernel(X, gamma=0.1))
    np.testing.assert_array_equal(given.labels_, named.labels_)
    assert given.objective_ == pytest.approx(named.objective_, rel=1e-6)
    values = given.decision_function(rbf_kernel(new, X, gamma=0.1))
    np.testing.assert_allclose(values, named.decision_function(new), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="max_samples >= 36"):
        given.set_params(max_samples=20).fit(rbf_kernel(X))


@BOTH
@pytest.mark.parametrize("max_samples", [30, 31])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_some_samples_speak_for_the_others(criterion, n_clusters, max_samples):
    """Also where an odd number of them cannot be split as evenly as all of them can."""
    X, truth = corners(n_clusters, n=120)
    for balance in (0.0, 0.2):
        model = criterion(n_clusters, max_samples=max_samples, balance=balance, max_rounds=1).fit(
            X
        )
        assert adjusted_rand_score(truth, model.labels_) == 1.0
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert len(model.sample_indices_) == model.labellings_.shape[1] == max_samples


@BOTH
def test_links_travel_through_pipelines_and_searches(criterion):
    X, given = cloud(8, n=48), links_of(48, 2, "ids")
    links, names = Links.of(48, 2, **given), ("must_link", "cannot_link", "known_labels")
    given["known_labels"] = np.full(48, -1)
    with config_context(enable_metadata_routing=True):
        model = criterion(max_rounds=1).set_fit_request(**dict.fromkeys(names, True))
        pipe = make_pipeline(StandardScaler(), model).fit(X, **given)
        assert links.violations(pipe[-1].labels_) == 0
        grid = {"C": [1 / 48, 10 / 48]}
        search = GridSearchCV(model, grid, cv=2, scoring=lambda model, X: -model.C)
        assert links.violations(search.fit(X, **given).best_estimator_.labels_) == 0


@BOTH
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("max_samples", [20, 2000])
def test_fitting_keeps_parameters_and_models_travel(criterion, kernel, max_samples):
    X = cloud(9)
    model = criterion(3, kernel=kernel, max_samples=max_samples, max_rounds=2)
    before = dict(model.get_params())
    labels = model.fit(X).labels_
    assert model.get_params() == before
    np.testing.assert_array_equal(clone(model).fit(X).labels_, labels)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    alone = model.set_params(n_clusters=1).fit(X)
    assert not alone.labels_.any()
    assert not alone.predict(X[:3]).any()
    assert not hasattr(alone, "labellings_")


@BOTH
def test_a_callback_stops_the_rounds(criterion):
    recorder = Recorder()
    model = criterion(C=100 / 36, gamma=0.3).set_callbacks(recorder).fit(cloud(10))
    assert len(recorder.of("iteration")) == model.n_iter_ > 1
    assert {path[:-1] for path, _ in recorder.of("iteration")} == {(("fit", 0),)}
    assert recorder.announced[("fit", 0),] == model.max_rounds
    stopped = clone(model).set_callbacks(Recorder(stop_at=[("iteration", 0)])).fit(cloud(10))
    assert stopped.n_iter_ == 1
    assert len(stopped.labellings_) == len(stopped.labelling_weights_)


# The order of the rows


def in_any_order(model, X, n_orders=2, **given):
    """Labels of the samples from fits on them in several orders, in their own order."""
    for seed in range(n_orders):
        order = np.random.default_rng(seed).permutation(X.shape[0])
        rows = X[order][:, order] if model.kernel == "precomputed" else X[order]
        moved = {name: values[order] for name, values in given.items()}
        yield clone(model).fit(rows, **moved).labels_[np.argsort(order)]


@BOTH
@pytest.mark.parametrize(
    "case", ["iris", "wine", "cloud", "many features", "equal rows", "sparse", "a sample"]
)
def test_the_order_of_the_rows_does_not_matter(criterion, case):
    """Nor does it where groups overlap, samples are drawn, or rows are equal."""
    X, model = {
        "iris": (load_iris().data, criterion(4)),
        "wine": (StandardScaler().fit_transform(load_wine().data), criterion(3)),
        "cloud": (cloud(1, n=60), criterion(3, C=30 / 60)),
        "many features": (cloud(2, n=60, d=8), criterion(4)),
        "equal rows": (np.round(cloud(2, n=60)), criterion(3)),
        "sparse": (sparse.csr_array(np.maximum(cloud(3, n=50, d=8), 0)), criterion(4)),
        "a sample": (load_iris().data, criterion(3, max_samples=60)),
    }[case]
    model.set_params(max_rounds=2)
    expected = fit_quietly(model, X)[0].labels_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for labels in in_any_order(model, X):
            assert same_partition(labels, expected)


def test_what_is_drawn_does_not_depend_on_the_order_of_the_features():
    X, kernel = cloud(5, n=30, d=4), Kernel("rbf")
    weight = 1.0 + np.arange(30) % 3
    for given in (None, weight):
        order = search_order(X, kernel, 30, given)
        np.testing.assert_array_equal(search_order(X[:, ::-1], kernel, 30, given), order)
    # nor on whether samples weigh twice as much or are repeated
    copies = np.repeat(np.arange(30), weight.astype(int))
    repeated = copies[search_order(X[copies], kernel, 100)]
    np.testing.assert_array_equal(list(dict.fromkeys(repeated)), order)


@BOTH
def test_the_order_of_kernel_matrices_and_of_links_does_not_matter(criterion):
    X = cloud(4, n=48)
    K = rbf_kernel(X, gamma=0.5)
    model = criterion(3, kernel="precomputed", max_rounds=2).fit(K)
    for labels in in_any_order(model, K):
        assert same_partition(labels, model.labels_)
    given = links_of(48, 3, "ids")
    model = criterion(3, gamma=0.5, max_rounds=2).fit(X, **given)
    for labels in in_any_order(model, X, **given):
        assert same_partition(labels, model.labels_)


@BOTH
def test_labellings_are_those_of_the_samples_they_are_said_to_be_of(criterion):
    """Where machines can fit them, those of new samples nearby are the same."""
    X, truth = corners(3, n=60)
    for max_samples in (25, 2000):
        model = criterion(3, max_samples=max_samples, max_rounds=1).fit(X)
        assert (np.diff(model.sample_indices_) > 0).all()
        best = model.labellings_[np.argmin(objectives_of(model, X, model.labellings_))]
        assert same_partition(best, truth[model.sample_indices_])


# Warnings


@BOTH
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_labellings_that_are_left_are_told(criterion, n_clusters):
    told = []
    for C, max_rounds, gap_tol in [(1 / 40, 10, 1e-3), (1, 1, 1e-3), (1, 3, 0.9), (1, 3, 1e-4)]:
        limits = {"C": C, "max_rounds": max_rounds, "gap_tol": gap_tol}
        model, words = fit_quietly(criterion(n_clusters, **limits), cloud(5, n=40))
        assert model.gap_ <= gap_tol
        is_told = words is not None and "violation_ says by how much" in words
        assert is_told == (model.violation_ > gap_tol)
        told.append(is_told)
    assert set(told) == {False, True}


# Readouts


@BOTH
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_no_labelling_has_a_smaller_objective_than_the_best(criterion, n_clusters):
    """It is the best of those generated, or what this becomes when the machine relabels it."""
    n_same = 0
    for seed in range(4):
        X = cloud(seed, n=30)
        model = criterion(n_clusters, C=1.0, readout="best", max_rounds=3).fit(X)
        objectives = objectives_of(model, X, model.labellings_)
        best = model.labellings_[objectives.argmin()]
        assert model.objective_ <= objectives.min() * (1 + 1e-9)
        if same_partition(model.labels_, best):
            n_same += 1
        else:
            assert model.objective_ < objectives.min() * (1 - 1e-9)
    assert n_same >= 2


@BOTH
def test_the_vote_is_the_sign_of_the_weighted_sum(criterion):
    """As the paper has it, of labellings turned towards the heaviest, where that is in balance."""
    n_compared = 0
    for seed in range(6):
        X = cloud(seed, n=40)
        model = criterion(C=1.0, readout="vote", max_rounds=3).fit(X)
        y = 2.0 * model.labellings_ - 1
        weights, heaviest = model.labelling_weights_, y[model.labelling_weights_.argmax()]
        towards = np.sign(y @ heaviest)  # zero where either turn will do
        total = weights @ (y * towards[:, None])
        is_clear = np.abs(total).min() > weights[towards == 0].sum()
        if is_clear and within_band((total > 0).astype(int), 2, model.balance):
            assert same_partition(model.labels_, total > 0)
            n_compared += 1
        assert within_band(model.labels_, 2, model.balance)
    assert n_compared >= 3


@BOTH
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.filterwarnings("ignore:.*balance:sklearn.exceptions.ConvergenceWarning")
def test_the_vote_does_not_part_equal_samples(criterion, form):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        place = np.r_[np.zeros(9, dtype=int), np.arange(6)]  # one weighs more than balance allows
        X = rng.normal(size=(6, 2))[place]
        model = criterion(2 + seed % 2, readout="vote", max_rounds=1, max_labellings=2)
        labels = model.fit(form(X)).labels_
        assert len(np.unique(np.column_stack([place, labels]), axis=0)) == 6


# Bad and odd input


@BOTH
def test_bad_input_is_refused_with_a_remedy_that_helps(criterion):
    with pytest.raises(ValueError, match="X is constant to the kernel"):
        criterion(kernel="rbf", gamma=1e-30).fit(cloud())
    # so far from the origin, inner products differ by less than what they are rounded to
    with pytest.raises(ValueError, match=r"X is constant to the kernel.*subtract their means"):
        criterion(kernel="poly", gamma=1.0, degree=1).fit(cloud() + 1e9)
    for n in (3, 7, 9):
        with pytest.raises(ValueError, match=f"n_samples={n} is odd") as refused:
            criterion(balance=0.0).fit(cloud(n=n))
        remedy = float(re.findall(r"balance\D*(\d\.\d+)", str(refused.value))[-1])
        assert np.ptp(np.bincount(criterion(balance=remedy).fit(cloud(n=n)).labels_)) == 1
    with pytest.raises(ValueError, match=r"max_samples=3.*n_clusters=5"):
        criterion(5, max_samples=3).fit(cloud())


@BOTH
@pytest.mark.parametrize("n_clusters", [2, 3, 4, 5])
def test_as_many_clusters_as_samples(criterion, n_clusters):
    for kernel in ("linear", "rbf"):
        model = criterion(n_clusters, kernel=kernel, max_rounds=2).fit(cloud(2, n=n_clusters))
        assert sorted(model.labels_) == list(range(n_clusters))


@BOTH
@pytest.mark.parametrize(("n_clusters", "counts"), [(2, [3, 17]), (3, [5, 15]), (3, [2, 2, 16])])
def test_duplicates_that_sizes_would_part_are_not_silent(criterion, n_clusters, counts):
    X = np.repeat(cloud(3, n=len(counts)), counts, axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = criterion(n_clusters, max_rounds=2).fit(X)
    assert [(w.category, w.filename) for w in caught] == [(ConvergenceWarning, __file__)]
    assert len(set(zip(map(tuple, X), model.labels_, strict=True))) == len(counts)
    assert (np.diff(np.bincount(model.labels_, minlength=n_clusters)) <= 0).all()


@BOTH
@pytest.mark.filterwarnings("ignore:The weights of the labellings")  # rounding leaves a gap
@pytest.mark.parametrize(
    ("kernel", "scale"), [("linear", 1e-100), ("linear", 1e8), ("poly", 1e4), ("rbf", 1e-9)]
)
def test_any_units(criterion, kernel, scale):
    for gap_tol in (0.0, 1e-3):
        model = criterion(kernel=kernel, gamma="mean", gap_tol=gap_tol, max_rounds=2)
        if kernel == "poly":
            model.set_params(gamma=0.5)
        labels = model.fit(scale * cloud(4, n=16, d=3)).labels_
        assert within_band(labels, 2, model.balance)
