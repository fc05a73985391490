"""Maximum volume clustering of small and odd data, of all kinds of input, and what it refuses."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from graph_support import AFFINITIES, GRAPHS, moons, parts
from separatrix import MaximumVolumeClustering
from separatrix.result import Status
from separatrix.similarity.quadratic_forms import MATRICES, form_of
from support import fit_quietly, same_partition

# Small and degenerate data


@pytest.mark.parametrize("multiway", ["orthogonal", "bisection"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_as_many_clusters_as_samples(graph, multiway):
    for n in (2, 3, 5):
        X = np.random.default_rng(n).normal(size=(n, 2))
        model = MaximumVolumeClustering(n, graph=graph, multiway=multiway, random_state=0)
        assert sorted(model.fit_predict(X)) == list(range(n))
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("bound", [0.0, 0.5, None])
def test_two_and_three_samples(matrix, bound):
    for n in (2, 3):
        X = np.random.default_rng(n).normal(size=(n, 2))
        model = MaximumVolumeClustering(matrix=matrix, response_bound=bound, random_state=0)
        model, _ = fit_quietly(model, X)
        assert np.isfinite(model.objective_)
        assert np.linalg.norm(model.response_) == pytest.approx(1)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        if bound == 0:
            assert set(model.labels_) == {0, 1}


def test_copies_do_not_part_their_cluster():
    X, y = moons(100)
    many, labels = np.repeat(X, 4, axis=0), np.repeat(y, 4)
    for graph in GRAPHS:
        model = MaximumVolumeClustering(graph=graph, n_neighbors=5, random_state=0).fit(many)
        assert same_partition(model.labels_, labels)
        np.testing.assert_array_equal(model.predict(X), model.labels_[::4])


@pytest.mark.parametrize("Q", [np.eye(6), np.ones((6, 6)) - np.eye(6), np.eye(6) - 1 / 6])
def test_a_matrix_that_tells_nothing(Q):
    """All is arbitrary but that it is an answer."""
    for n_clusters, multiway in ((2, "orthogonal"), (3, "orthogonal"), (3, "bisection")):
        model = MaximumVolumeClustering(
            n_clusters, matrix="precomputed", multiway=multiway, random_state=0
        )
        model, words = fit_quietly(model, Q)
        assert np.isfinite(model.response_).all()
        assert np.isfinite(model.objective_)
        found_all = len(set(model.labels_)) == n_clusters
        assert found_all == (words != Status.DEGENERATE.value)


def test_a_refit_forgets_the_last_graph():
    X, _ = moons(40)
    model = MaximumVolumeClustering(random_state=0).fit(X)
    Q = form_of(model.affinity_matrix_, "normalized", 0.0).Q
    model.set_params(matrix="precomputed").fit(Q.toarray())
    assert not hasattr(model, "affinity_matrix_")
    model.set_params(matrix="normalized").fit(X)
    assert hasattr(model, "affinity_matrix_")
    model.set_params(n_clusters=1).fit(X)
    assert not hasattr(model, "affinity_matrix_")


def test_one_cluster():
    X, _ = moons(40)
    model = MaximumVolumeClustering(1).fit(X)
    for values in (model.labels_, model.predict(X), model.decision_function(X), model.response_):
        np.testing.assert_array_equal(values, np.zeros(40))
    assert np.isnan(model.objective_)


def test_without_a_bound_a_single_cluster_is_not_silent():
    """The limit of a large weight is the first eigenvector, whose signs are all the same."""
    X, _ = moons(60)
    model = MaximumVolumeClustering(response_bound=None, reg=1e6, random_state=0)
    model, words = fit_quietly(model, X)
    assert set(model.labels_) == {0}
    assert words == Status.DEGENERATE.value


# Kinds of input


@pytest.mark.parametrize(
    "params", [{}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}]
)
@pytest.mark.parametrize("affinity", AFFINITIES)
def test_sparse_samples_equal_dense_ones(affinity, params):
    rng = np.random.default_rng(0)
    rates = np.array(
        [[3.0] * 5 + [0.2] * 10, [0.2] * 5 + [3.0] * 5 + [0.2] * 5, [0.2] * 10 + [3.0] * 5]
    )
    counts = rng.poisson(rates[[0, 0, 0, 1, 1, 2] * 15])
    X = counts * rng.uniform(0.5, 1.5, size=(90, 15))  # no ties
    X, new = X[:60], X[60:]
    for graph in GRAPHS:
        model = MaximumVolumeClustering(
            affinity=affinity, graph=graph, n_neighbors=20, random_state=0, **params
        )
        dense, _ = fit_quietly(clone(model), X)
        for kind in (sparse.csr_array, sparse.csc_matrix):
            found, _ = fit_quietly(clone(model), kind(X))
            np.testing.assert_array_equal(found.labels_, dense.labels_)
            np.testing.assert_array_equal(found.predict(kind(X)), found.labels_)
            scores = found.decision_function(kind(new))
            np.testing.assert_allclose(scores, dense.decision_function(new), atol=1e-8)
            np.testing.assert_allclose(found.decision_function(new), scores, atol=1e-12)


def test_single_precision():
    X, _ = moons(120)
    X = X.astype(np.float32)
    for params in ({}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}):
        model = MaximumVolumeClustering(random_state=0, **params)
        single, double = clone(model).fit(X), clone(model).fit(X.astype(np.float64))
        np.testing.assert_array_equal(single.labels_, double.labels_)
        np.testing.assert_array_equal(single.predict(X), single.labels_)
        np.testing.assert_array_equal(single.predict(X.astype(np.float64)), single.labels_)


def test_feature_names():
    pd = pytest.importorskip("pandas")
    X, _ = moons(60)
    frame = pd.DataFrame(X, columns=["x", "y"])
    model = MaximumVolumeClustering(random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["x", "y"]
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["y", "x"]])


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"graph": "full"},
        {"solver": "sqp"},
        {"n_clusters": 3},
        {"n_clusters": 3, "multiway": "bisection"},
        {"n_clusters": 1},
    ],
)
def test_a_pickle_predicts_the_same(params):
    X, _ = moons(80)
    new, _ = moons(50, noise=0.2, seed=1)
    model = MaximumVolumeClustering(random_state=0, **params).fit(X)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize(
    "params", [{}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}]
)
def test_precomputed_similarities_equal_those_built_inside(params, matrix):
    X, _ = moons(80)
    for graph in GRAPHS:
        model = MaximumVolumeClustering(graph=graph, matrix=matrix, random_state=0, **params)
        inside, _ = fit_quietly(model, X)
        W = inside.affinity_matrix_
        given = clone(model).set_params(affinity="precomputed")
        for X_given in (W, W.toarray() if sparse.issparse(W) else sparse.csr_array(W)):
            found, _ = fit_quietly(clone(given), X_given)
            np.testing.assert_allclose(found.response_, inside.response_, atol=1e-7)
            np.testing.assert_array_equal(found.labels_, inside.labels_)
            np.testing.assert_array_equal(found.predict(X_given), found.labels_)


@pytest.mark.parametrize("matrix", MATRICES)
def test_precomputed_similarities_of_new_samples(matrix):
    X, _ = moons(80)
    new, _ = moons(30, seed=1)
    for params in ({}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}):
        model = MaximumVolumeClustering(
            affinity="rbf",
            gamma=3.0,
            graph="full",
            matrix=matrix,
            random_state=0,
            reg=2.0,
            **params,
        ).fit(X)
        given = clone(model).set_params(affinity="precomputed").fit(model.affinity_matrix_)
        scores = given.decision_function(rbf_kernel(new, X, gamma=3.0))
        np.testing.assert_allclose(scores, model.decision_function(new), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "params", [{}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}]
)
def test_a_precomputed_matrix_equals_that_built_inside(params):
    X, _ = moons(80)
    for matrix in ("normalized", "unnormalized"):
        inside = MaximumVolumeClustering(matrix=matrix, reg=30.0, random_state=0, **params).fit(X)
        Q = form_of(inside.affinity_matrix_, matrix, 0.0).Q
        given = MaximumVolumeClustering(matrix="precomputed", reg=30.0, random_state=0, **params)
        if params.get("multiway") == "bisection":
            # splits of parts differ: a part of Q is not the Laplacian of a part
            assert len(set(given.fit_predict(Q.toarray()))) == 3
            continue
        for kind in (Q, Q.toarray()):
            given.fit(kind)
            assert given.objective_ == pytest.approx(inside.objective_, rel=1e-9)
            np.testing.assert_array_equal(given.labels_, inside.labels_)
            np.testing.assert_array_equal(given.predict(kind), given.labels_)
            assert not hasattr(given, "affinity_matrix_")


@pytest.mark.parametrize("reg", [3.0, "auto", ("auto", 0.3)])
def test_a_multiple_of_the_identity_changes_no_partition(reg):
    """An indefinite matrix is as good as a definite one."""
    X, _ = moons(60)
    W = rbf_kernel(X, gamma=4.0)
    W = (W + W.T) / 2
    for n_clusters, multiway in ((2, "orthogonal"), (3, "orthogonal"), (3, "bisection")):
        model = MaximumVolumeClustering(
            n_clusters, matrix="precomputed", multiway=multiway, reg=reg, random_state=0
        )
        plain = clone(model).fit(-W)
        for c in (-40.0, 7.0, 40.0):
            moved = clone(model).fit(c * np.eye(60) - W)
            np.testing.assert_array_equal(moved.labels_, plain.labels_)
            assert moved.reg_ == pytest.approx(plain.reg_, rel=1e-6)
            if n_clusters == 2:
                expected = plain.objective_ + c * plain.reg_
                assert moved.objective_ == pytest.approx(expected, rel=1e-6)


def test_similarities_may_have_any_scale():
    X, _ = moons(80)
    W = MaximumVolumeClustering(random_state=0).fit(X).affinity_matrix_
    for matrix in ("normalized", "unnormalized"):
        for n_clusters in (2, 3):
            model = MaximumVolumeClustering(
                n_clusters, affinity="precomputed", matrix=matrix, random_state=0
            )
            plain = clone(model).fit(W)
            for scale in (1e-200, 1e-20, 1e20, 1e200):
                scaled = clone(model).fit(W * scale)
                np.testing.assert_array_equal(scaled.labels_, plain.labels_)
                assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-7)


# Errors


def broken(W, kind):
    W = W.copy()
    if kind == "asymmetric":
        W[0, 1] += 0.5
    elif kind == "negative":
        W[0, 1] = W[1, 0] = -0.25
    elif kind == "nan":
        W[2, 3] = W[3, 2] = np.nan
    elif kind == "inf":
        W[2, 3] = W[3, 2] = np.inf
    return W[:, :-1] if kind == "wide" else W


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("asymmetric", r"affinity='precomputed' needs a symmetric matrix.*\(X \+ X.T\) / 2"),
        ("negative", "affinity='precomputed' needs nonnegative similarities.*-0.25"),
        ("nan", "contains NaN"),
        ("inf", "contains infinity"),
        ("wide", r"affinity='precomputed' needs X to be a square matrix.*\(10, 9\)"),
    ],
)
def test_broken_similarities_are_refused(damage, words, kind):
    W, _ = parts([5, 5], between=0.1)
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(affinity="precomputed").fit(kind(broken(W, damage)))


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("asymmetric", r"matrix='precomputed' needs a symmetric matrix.*\(X \+ X.T\) / 2"),
        ("nan", "contains NaN"),
        ("wide", r"matrix='precomputed' needs X to be a square matrix.*\(10, 9\)"),
    ],
)
def test_broken_matrices_are_refused(damage, words, kind):
    W, _ = parts([5, 5], between=0.1)
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(matrix="precomputed").fit(kind(broken(W, damage)))


def test_algorithm_1_refuses_a_matrix_that_is_not_positive_definite():
    X, _ = moons(40)
    for matrix, data in (("similarity", X), ("precomputed", -np.eye(40))):
        with pytest.raises(ValueError, match=r"positive definite.*smallest eigenvalue is -"):
            MaximumVolumeClustering(matrix=matrix, solver="sqp").fit(data)


@pytest.mark.parametrize("reg", [0, 0.0, -1.0, np.inf, np.nan, "automatic", None])
def test_a_weight_that_is_no_positive_number_is_refused(reg):
    with pytest.raises(ValueError, match="The 'reg' parameter"):
        MaximumVolumeClustering(reg=reg).fit(np.eye(4))


@pytest.mark.parametrize(
    "reg",
    [
        ("auto",),
        ("auto", 0.0),
        ("auto", -1.0),
        ("auto", np.nan),
        ("auto", np.inf),
        ("auto", "1"),
        ("mean", 1.0),
        ("auto", 1.0, 2.0),
        (),
    ],
)
def test_a_rule_for_the_weight_that_is_none_is_refused(reg):
    with pytest.raises(ValueError, match=r"reg=\(.* must be a positive number, 'auto' or"):
        MaximumVolumeClustering(reg=reg).fit(np.eye(4))


@pytest.mark.parametrize("bound", [-0.1, np.inf, np.nan, "0"])
def test_a_bound_that_is_no_number_is_refused(bound):
    with pytest.raises(ValueError, match="The 'response_bound' parameter"):
        MaximumVolumeClustering(response_bound=bound).fit(np.eye(4))


def test_more_clusters_than_samples_are_refused():
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4"):
        MaximumVolumeClustering(4).fit(np.eye(3))


def test_algorithm_1_has_two_sides():
    X, _ = moons(40)
    with pytest.raises(ValueError, match=r"solver='sqp' finds two clusters.*'bisection'"):
        MaximumVolumeClustering(3, solver="sqp", multiway="orthogonal").fit(X)
    model = MaximumVolumeClustering(3, solver="sqp", multiway="bisection", random_state=0)
    assert set(fit_quietly(model, X)[0].labels_) == {0, 1, 2}


def test_a_bound_on_responses_is_about_two_clusters():
    """With more it holds in each split, or is refused."""
    X, _ = moons(60)
    with pytest.raises(ValueError, match=r"response_bound=0.1 .* two clusters.*'bisection'"):
        MaximumVolumeClustering(3, response_bound=0.1, multiway="orthogonal").fit(X)
    for bound in (0.0, 0.1):
        model = MaximumVolumeClustering(3, response_bound=bound).fit(X)
        splits = model._model.rule.splits
        assert len(splits) == 2
        assert all(abs(split.model.h.sum()) <= bound + 1e-9 for split in splits)
    free = MaximumVolumeClustering(3, response_bound=None).fit(X)
    automatic = MaximumVolumeClustering(3).fit(X)
    np.testing.assert_array_equal(free.response_, automatic.response_)


def test_the_automatic_bound_on_responses_is_zero():
    X, _ = moons(60)
    automatic = MaximumVolumeClustering().fit(X)
    zero = MaximumVolumeClustering(response_bound=0.0).fit(X)
    np.testing.assert_array_equal(automatic.response_, zero.response_)
    assert abs(zero.response_.sum()) <= 1e-9


@pytest.mark.parametrize(("solver", "multiway"), [("sphere", "orthogonal"), ("sqp", "bisection")])
def test_the_automatic_way_to_several_clusters(solver, multiway):
    X, _ = moons(60)
    by_itself, _ = fit_quietly(MaximumVolumeClustering(3, solver=solver), X)
    named, _ = fit_quietly(MaximumVolumeClustering(3, solver=solver, multiway=multiway), X)
    np.testing.assert_array_equal(by_itself.response_, named.response_)
    assert by_itself.n_iter_ == len(by_itself.history_)


def test_no_seed_is_the_seed_zero():
    X = np.random.default_rng(0).normal(size=(80, 3))
    for n_clusters in (2, 4):
        model = MaximumVolumeClustering(n_clusters)
        first, _ = fit_quietly(clone(model), X)
        second, _ = fit_quietly(clone(model).set_params(random_state=0), X)
        np.testing.assert_array_equal(first.response_, second.response_)


def test_the_coefficient_that_was_used():
    """Not a number where there is none."""
    X, _ = moons(60)
    apart = np.linalg.norm(X[:, None] - X, axis=2).sum() / (60 * 59)
    found = MaximumVolumeClustering(affinity="rbf", graph="full").fit(X)
    assert found.gamma_ == pytest.approx(1 / (0.5 * apart) ** 2)
    np.testing.assert_allclose(found.affinity_matrix_, rbf_kernel(X, gamma=found.gamma_))
    W = found.affinity_matrix_
    for params, data in (
        ({"affinity": "local"}, X),
        ({"affinity": "cosine"}, X),
        ({"affinity": "precomputed"}, W),
        ({"matrix": "precomputed"}, W),
        ({"n_clusters": 1, "affinity": "rbf"}, X),
    ):
        assert np.isnan(MaximumVolumeClustering(**params).fit(data).gamma_)


def test_warnings_point_to_the_call_of_fit():
    W, _ = parts([15, 15])
    W[3] = W[:, 3] = 0.0
    with pytest.warns(UserWarning, match="not similar to any other") as caught:
        MaximumVolumeClustering(affinity="precomputed").fit(W)
    assert [warning.filename for warning in caught] == [__file__]
    X = np.random.default_rng(0).normal(size=(80, 2))
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol") as caught:
        MaximumVolumeClustering(3, max_iter=1).fit(X)
    assert [warning.filename for warning in caught] == [__file__]


def test_new_samples_need_as_many_columns():
    X, _ = moons(40)
    model = MaximumVolumeClustering(random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"X has 3 features.* expecting 2 features"):
        model.predict(np.ones((2, 3)))
    given = MaximumVolumeClustering(affinity="precomputed", random_state=0)
    given.fit(model.affinity_matrix_)
    with pytest.raises(ValueError, match=r"X has 39 features.* expecting 40 features"):
        given.predict(np.ones((2, 39)))
