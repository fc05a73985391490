"""Samples that belong to no cluster, as users of HDBSCAN ask for them."""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from separatrix import (
    AutoClustering,
    HardMaximumVolumeClustering,
    InformationMaximizationClustering,
    KernelKMeans,
    LDAKMeans,
    MaximinSeparationClustering,
    MaximumVolumeClustering,
    RegularizedLeastSquaresClustering,
    SemidefiniteMarginClustering,
    TreeCutClustering,
)

from .cases import CENTERS, CLUSTERERS, each, fitting_with, groups, taking

trimming = each(taking("outliers"))
# A consensus takes seconds: the tests of a single fit alone.
single = each([one for one in taking("outliers") if one is not AutoClustering])
# HardMaximumVolumeClustering takes links of two clusters alone.
linking = each(
    [
        one
        for one in fitting_with("known_labels")
        if one not in (AutoClustering, HardMaximumVolumeClustering)
    ]
)
bounded = each([one for one in taking("max_size") if one is not AutoClustering])
FAR = np.array([[40.0, -30.0], [-35.0, 25.0]])


def with_far_samples():
    """Groups and two samples far from all of them, at the end."""
    X, y = groups()
    return np.vstack([X, FAR]), y


@cache
def trimmed(estimator):
    X, _ = with_far_samples()
    return estimator(3, outliers=2 / len(X), random_state=0).fit(X)


def test_every_clusterer_has_outliers():
    assert taking("outliers") == CLUSTERERS


@trimming
def test_far_samples_belong_to_no_cluster(estimator):
    X, y = with_far_samples()
    model = trimmed(estimator)
    np.testing.assert_array_equal(model.labels_, np.append(y, [-1, -1]))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.labels_.dtype == np.int32
    assert model.outlier_scores_.shape == (len(X),)
    assert model.outlier_scores_[-2:].min() > model.outlier_scores_[:-2].max()


@trimming
def test_new_samples_may_be_outliers(estimator):
    model = trimmed(estimator)
    new = np.vstack([CENTERS, [[300.0, 300.0]]])
    np.testing.assert_array_equal(model.predict(new), [0, 1, 2, -1])
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(new), [0, 1, 2, -1])


@single
def test_the_clusters_are_those_of_the_other_samples(estimator):
    X, _ = groups()
    model, other = trimmed(estimator), estimator(3, random_state=0).fit(X)
    assert set(vars(model)) - set(vars(other)) == {"outlier_scores_", "_outliers"}
    if estimator is MaximumVolumeClustering:  # from the clusters of all it finds better ones
        assert model.objective_ <= other.objective_
        return
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-9)
    scores, expected = model.decision_function(X), other.decision_function(X)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-8)


@single
def test_the_tail_of_clusters_is_a_limit(estimator):
    """Far samples lie beyond it, and none of groups that are spread evenly."""
    X, y = with_far_samples()
    model = estimator(3, outliers="auto", random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, np.append(y, [-1, -1]))
    assert (estimator(3, outliers="auto", random_state=0).fit_predict(X[:-2]) >= 0).all()


@single
def test_no_share_leaves_no_sample_out(estimator):
    X, y = groups()
    model = estimator(3, outliers=0.0, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, y)
    assert not hasattr(estimator(3, random_state=0).fit(X), "outlier_scores_")


@single
def test_attributes_of_samples_cover_outliers(estimator):
    X, _ = with_far_samples()
    model = trimmed(estimator)
    for name in {"response_", "probabilities_"} & set(vars(model)):
        assert len(getattr(model, name)) == len(X)
    for name in {"sample_indices_", "cut_links_"} & set(vars(model)):
        assert (getattr(model, name) < len(X) - 2).all()  # the outliers come last


def bars_with_noise():
    """Long groups side by side in noise, to which least squares has more than one answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) * [4.0, 0.5] + np.repeat([[0, 0], [0, 4], [0, 8]], 30, axis=0)
    return np.vstack([X, rng.uniform(-20, 25, size=(8, 2))])


@each([KernelKMeans, MaximumVolumeClustering, RegularizedLeastSquaresClustering])
def test_the_clusters_of_all_samples_stand(estimator):
    """The fit without outliers goes on from them, so that it is near, and no worse than a step."""
    X = bars_with_noise()
    free, model = (estimator(3, outliers=o, random_state=0).fit(X) for o in (None, 0.08))
    rest = model.labels_ >= 0
    assert adjusted_rand_score(free.labels_[rest], model.labels_[rest]) > 0.9
    assert "_start" not in vars(model)


def test_clusters_that_a_fit_of_all_lacks_are_no_reason_to_forget_the_others(monkeypatch):
    """Mutual information may find fewer clusters than were asked for, and goes on from these."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(150, 2)) * [4, 1], rng.uniform(-9, 9, size=(20, 2))])
    fit, starts = InformationMaximizationClustering._fit_samples, []

    def noted(self, *given, **learns):
        starts.append(self.init)
        return fit(self, *given, **learns)

    monkeypatch.setattr(InformationMaximizationClustering, "_fit_samples", noted)
    with pytest.warns(ConvergenceWarning, match="clusters"):
        model = InformationMaximizationClustering(6, outliers=0.1).fit(X)
    assert len(np.unique(model.labels_)) < 7
    assert [isinstance(start, str) for start in starts[:3]] == [True, True, False]
    assert not isinstance(starts[-1], str)


def moons_with_noise():
    rng = np.random.default_rng(3)
    angle, side = rng.uniform(0, np.pi, 120), np.arange(120) % 2
    moons = np.column_stack([np.cos(angle), np.sin(angle) - 0.4 * side]) * (1 - 2 * side)[:, None]
    moons += np.column_stack([side, np.zeros(120)]) + 0.12 * rng.normal(size=(120, 2))
    return np.vstack([moons, rng.uniform([-2, -1.5], [3, 2], size=(14, 2))])


def test_a_consensus_of_all_samples_stands_where_candidates_agree_more():
    X = moons_with_noise()
    model = AutoClustering(3, outliers=0.1).fit(X)
    without = AutoClustering(3).fit(X[model.sample_indices_])
    assert model.agreement_ > without.agreement_ + 0.1
    assert model.candidates_.labels.shape[1] == len(model.sample_indices_)
    rest = model.labels_ >= 0
    free = AutoClustering(3).fit(X).labels_
    assert adjusted_rand_score(free[rest], model.labels_[rest]) > 0.9


def test_a_consensus_that_outliers_spoil_does_not_stand():
    """However much candidates agree on it: one of its clusters consists of them."""
    rng = np.random.default_rng(0)
    centers = np.repeat([[0.0, 0.0], [6.0, 0.0], [300.0, 300.0]], [50, 50, 6], axis=0)
    X = centers + rng.normal(size=(106, 2))
    model = AutoClustering(2, outliers=0.07).fit(X)
    np.testing.assert_array_equal(model.labels_[100:], -1)
    assert adjusted_rand_score(np.arange(100) // 50, model.labels_[:100]) > 0.9


# --- invariances --------------------------------------------------------------------------------

some = each([KernelKMeans, MaximinSeparationClustering, MaximumVolumeClustering])


def noisy(seed=0):
    """A dense group, a sparse one, and some samples between and around."""
    rng = np.random.default_rng(seed)
    dense, sparse = rng.normal(size=(60, 2)), 5 * rng.normal(size=(40, 2)) + [40, 0]
    return np.vstack([dense, sparse, rng.uniform(-30, 70, size=(8, 2))])


@some
@pytest.mark.parametrize("share", [0.0, 0.03, 0.1, 0.31, 0.49])
def test_the_share_is_exact(estimator, share):
    X = noisy()
    model = estimator(2, outliers=share, random_state=0).fit(X)
    assert (model.labels_ == -1).sum() == int(share * len(X))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@some
@pytest.mark.parametrize("outliers", [0.1, "auto"])
def test_neither_order_nor_place_nor_unit_matters(estimator, outliers):
    X = noisy()
    out = estimator(2, outliers=outliers, random_state=0).fit_predict(X) < 0
    order = np.random.default_rng(1).permutation(len(X))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for other, expected in (
        (X[order], out[order]),
        (X @ turn + [3.0, 7.0], out),
        (1e6 * X, out),
    ):
        labels = estimator(2, outliers=outliers, random_state=0).fit_predict(other)
        np.testing.assert_array_equal(labels < 0, expected)


def test_a_sparse_cluster_may_have_wide_gaps():
    """Without clusters its samples would be taken for outliers of the dense one."""
    X = noisy()
    out = KernelKMeans(2, kernel="linear", outliers=8 / 108).fit_predict(X) < 0
    assert out[:60].sum() == 0
    assert out[-8:].sum() >= 6


@pytest.mark.parametrize("estimator", [KernelKMeans, MaximumVolumeClustering, TreeCutClustering])
def test_a_weight_is_a_repeated_sample(estimator):
    X = noisy()
    weight = 1 + np.arange(len(X)) % 3
    repeated = np.repeat(np.arange(len(X)), weight)
    one = estimator(2, outliers=0.1, random_state=0).fit(X, sample_weight=weight)
    other = estimator(2, outliers=0.1, random_state=0).fit(X[repeated])
    np.testing.assert_array_equal(one.labels_[repeated], other.labels_)
    np.testing.assert_allclose(one.outlier_scores_[repeated], other.outlier_scores_)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-8)
    assert weight[one.labels_ < 0].sum() <= 0.1 * weight.sum()


def test_samples_without_weight_change_no_fit():
    """Whether they are outliers, too, is no reason to fit again."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.normal(size=(24, 2)) + 4 * rng.integers(2, size=(24, 1))
        start, weight = np.arange(24) % 2, np.r_[np.ones(18), np.zeros(6)]
        rough = {"max_iter": 5, "tol": 0.3, "outliers": 0.25}
        one = LDAKMeans(2, **rough, init=start).fit(X, sample_weight=weight)
        other = LDAKMeans(2, **rough, init=start[:18]).fit(X[:18])
        np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_a_start_that_outliers_empty_is_refused():
    X = with_far_samples()[0]
    init = np.r_[np.arange(len(X) - 2) % 2, 2, 2].astype(float)
    with pytest.raises(ValueError, match=r"outliers=0\.1 leaves no sample of label 2 in init"):
        KernelKMeans(3, outliers=0.1, init=init).fit(X)


@pytest.mark.parametrize("estimator", [KernelKMeans, MaximumVolumeClustering])
def test_absent_samples_are_labelled_like_new_ones(estimator):
    X, y = with_far_samples()
    weight = np.ones(len(X))
    weight[[np.argmax(y == 2), -1]] = 0.0
    model = estimator(3, outliers=0.04, random_state=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, np.append(y, [-1, -1]))


# --- what goes along ----------------------------------------------------------------------------


@linking
def test_samples_that_links_name_are_no_outliers(estimator):
    X, y = with_far_samples()
    known = np.full(len(X), -1)
    known[-1] = 2
    for label in range(3):
        known[np.flatnonzero(y == label)[0]] = label
    model = estimator(3, outliers=2 / len(X), random_state=0).fit(X, known_labels=known)
    assert model.labels_[-1] == 2
    assert model.labels_[-2] == -1
    assert (model.labels_[known >= 0] == known[known >= 0]).all()


@bounded
def test_bounds_count_the_other_samples(estimator):
    X, _ = with_far_samples()
    bounds = {"min_size": 10, "max_size": 10, "outliers": 2 / len(X)}
    model = estimator(3, random_state=0, **bounds).fit(X)
    np.testing.assert_array_equal(np.bincount(model.labels_ + 1), [2, 10, 10, 10])
    with pytest.raises(ValueError, match=r"min_size=11 .* needs 3 \* 11 = 33 samples, got 30"):
        estimator(3, **(bounds | {"min_size": 11, "max_size": None})).fit(X)


def test_a_consensus_keeps_links_and_bounds():
    X, y = with_far_samples()
    known = np.where(np.arange(len(X)) < 6, np.append(y, [-1, -1]), -1)
    known[-1] = 0
    model = AutoClustering(3, outliers=2 / len(X), max_size=12, random_state=0)
    labels = model.fit(X, known_labels=known).labels_
    assert (labels[known >= 0] == known[known >= 0]).all()
    assert labels[-2] == -1
    assert np.bincount(labels + 1)[1:].max() <= 12


def test_a_refit_keeps_numbers_and_forgets_outliers():
    X, y = with_far_samples()
    model = KernelKMeans(3, outliers=2 / len(X), warm_start=True, random_state=0).fit(X)
    swapped = np.concatenate([X[:-2][y != 0], X[:-2][y == 0][:3]])  # the first is the smallest now
    np.testing.assert_array_equal(model.set_params(outliers=None).fit(swapped).labels_[-3:], 0)
    assert not hasattr(model, "outlier_scores_")
    assert (model.predict(FAR) >= 0).all()


def test_a_start_by_labels_is_cut_to_the_other_samples():
    X, y = with_far_samples()
    start = np.append(y, [0, 1])
    model = KernelKMeans(3, outliers=2 / len(X), init=start).fit(X)
    np.testing.assert_array_equal(model.labels_[:-2], y)
    np.testing.assert_array_equal(model.init, start)
    start[:-2] %= 2
    start[-2:] = 2
    with pytest.raises(ValueError, match="leaves no sample of label 2 in init"):
        KernelKMeans(3, outliers=2 / len(X), init=start).fit(X)


# --- refusals, warnings, callbacks --------------------------------------------------------------


@trimming
@pytest.mark.parametrize("share", [-0.1, 0.5, True, "few"])
def test_bad_shares_are_refused(estimator, share):
    with pytest.raises(ValueError, match="'outliers' parameter"):
        estimator(3, outliers=share).fit(groups()[0])


@single
def test_too_few_samples_are_refused(estimator):
    with pytest.raises(ValueError, match=r"outliers=0\.4 leaves 3 .* n_clusters=4"):
        estimator(4, outliers=0.4).fit(groups()[0][:5])


def test_what_has_no_distances_is_refused():
    X, _ = groups()
    with pytest.raises(ValueError, match=r"outliers=0\.1 needs distances .* precomputed"):
        KernelKMeans(3, kernel="precomputed", outliers=0.1).fit(X @ X.T)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"outliers=0\.1 needs all samples in memory"):
        KernelKMeans(3, outliers=0.1).fit(dask.from_array(X))


def test_new_samples_in_blocks_may_be_outliers():
    dask = pytest.importorskip("dask.array")
    X, _ = with_far_samples()
    model = trimmed(MaximinSeparationClustering)
    found = model.predict(dask.from_array(X, chunks=(7, 2)))
    np.testing.assert_array_equal(found.compute(), model.labels_)


def test_sparse_samples_may_be_outliers():
    import scipy.sparse as sp

    X, y = with_far_samples()
    model = KernelKMeans(3, outliers=2 / len(X)).fit(sp.csr_array(X))
    np.testing.assert_array_equal(model.labels_, np.append(y, [-1, -1]))
    np.testing.assert_array_equal(model.predict(sp.csr_array(X)), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    dense = trimmed(KernelKMeans)
    np.testing.assert_array_equal(dense.predict(sp.csr_array(X)), dense.labels_)


def test_warnings_are_told_once_and_point_to_the_line_that_fits():
    X = noisy()
    model = SemidefiniteMarginClustering(max_steps=2, outliers=0.31)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    assert [one.filename for one in caught if "max_steps" in str(one.message)] == [__file__]


def test_a_callback_stops_the_rounds():
    from support import Recorder

    X = noisy()
    recorder = Recorder(stop_at=[("round", 0)])
    model = KernelKMeans(2, outliers=0.31).set_callbacks(recorder).fit(X)
    assert len(recorder.of("round")) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    whole = Recorder()
    KernelKMeans(2, outliers=0.31).set_callbacks(whole).fit(X)
    assert len(whole.of("round")) > 1


def test_least_squares_keeps_bounds_in_its_search():
    X, _ = with_far_samples()
    params = {"min_size": 9, "max_size": 11, "outliers": 2 / len(X)}
    model = RegularizedLeastSquaresClustering(3, **params).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
