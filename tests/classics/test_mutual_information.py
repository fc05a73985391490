"""Mutual information clustering against its closed form, and its estimate against plain sums."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.classics import mutual_information
from separatrix.classics.mutual_information import SquaredLossMutualInformationClustering
from separatrix.data.places import order_of_places
from separatrix.solvers import information_estimate
from separatrix.solvers.information_estimate import least_squares_mutual_information, ratio_fits

GAMMA = 0.3


def samples(seed, n=80, n_groups=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 3 * rng.normal(size=(n_groups, 2))[np.arange(n) % n_groups]


def with_gaussian(n_clusters, **parameters):
    return SquaredLossMutualInformationClustering(
        n_clusters, affinity="rbf", gamma=GAMMA, **parameters
    )


def closed_form(K, n_clusters, normalize):
    """Responses by the letter: the eigenvectors of K^2 of largest eigenvalues, clipped."""
    if normalize:
        D = np.diag(K.sum(axis=1))
        K = np.linalg.inv(np.sqrt(D)) @ K @ np.linalg.inv(np.sqrt(D))
    _, vectors = np.linalg.eigh(K @ K)
    responses = []
    for phi in vectors.T[::-1][:n_clusters]:
        phi = phi * np.sign(phi.sum())
        phi = np.maximum(phi, 0)
        responses.append(phi / phi.sum())
    return np.array(responses).T


# The closed form


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_closed_form(normalize, n_clusters, seed):
    X = samples(seed)
    responses = closed_form(rbf_kernel(X, gamma=GAMMA), n_clusters, normalize)
    model = with_gaussian(n_clusters, normalize=normalize).fit(X)
    assert adjusted_rand_score(model.labels_, responses.argmax(axis=1)) == 1.0
    expected = np.sort(responses / responses.sum(axis=1, keepdims=True), axis=1)
    np.testing.assert_allclose(np.sort(model.probabilities_, axis=1), expected, atol=1e-6)


def test_no_other_weights_share_more_information():
    """The eigenvectors maximise eq. (16) of Niu et al. over all orthonormal weights."""
    X = samples(0)
    K = rbf_kernel(X, gamma=GAMMA)
    model = with_gaussian(3, normalize=False).fit(X)

    def information(alpha):
        return 3 / (2 * len(X)) * np.trace(alpha.T @ K @ K @ alpha) - 0.5

    rng = np.random.default_rng(0)
    leading = np.linalg.eigh(K)[1][:, -3:]
    assert model.objective_ == pytest.approx(information(leading))
    for noise in (1e-3, 0.1, 1.0, 10.0):
        near = np.linalg.qr(leading + noise * rng.normal(size=leading.shape) / len(X) ** 0.5)[0]
        assert information(near) < model.objective_


def test_many_clusters_are_told_apart_at_the_same_information():
    """Eigenvectors of nearly equal eigenvalues mix clusters; turned ones do not."""
    X, y = make_blobs(600, centers=30, cluster_std=0.3, random_state=0)
    model = SquaredLossMutualInformationClustering(30).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert model.n_neighbors_ == 10
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    # the sum of the squared leading eigenvalues, whatever the rotation
    K = model._model.graph.W + sp.eye_array(600)
    D = sp.diags_array(1 / np.sqrt(K.sum(axis=1)))
    values = np.linalg.eigvalsh((D @ K @ D).toarray())[-30:]
    assert model.objective_ == pytest.approx(30 / 1200 * np.sum(values**2) - 0.5)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_new_samples_have_the_sums_of_kernels(normalize, n_clusters):
    X, new = samples(0), samples(1, n=30)
    model = with_gaussian(n_clusters, normalize=normalize).fit(X)
    K, K_new = rbf_kernel(X, gamma=GAMMA), rbf_kernel(new, X, gamma=GAMMA)
    degree, degree_new = K.sum(axis=1), K_new.sum(axis=1)
    if normalize:
        K = K / np.sqrt(np.outer(degree, degree))
        K_new = K_new / np.sqrt(np.outer(degree_new, degree))
    values, vectors = np.linalg.eigh(K)
    phi = vectors[:, -n_clusters:] * np.sign(vectors[:, -n_clusters:].sum(axis=0))
    sums = np.maximum(phi, 0).sum(axis=0)
    expected = np.maximum(K_new @ phi / values[-n_clusters:], 0) / sums
    expected = np.sort(expected / expected.sum(axis=1, keepdims=True), axis=1)
    np.testing.assert_allclose(np.sort(model.predict_proba(new), axis=1), expected, atol=1e-6)


def test_probabilities_belong_to_labels():
    X = load_iris().data
    for n_clusters in (2, 3):
        model = SquaredLossMutualInformationClustering(n_clusters).fit(X)
        for some in (X, X + 0.05, X + 1e3):
            probabilities = model.predict_proba(some)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
            assert probabilities.min() >= 0
            np.testing.assert_array_equal(model.predict(some), probabilities.argmax(axis=1))
        np.testing.assert_array_equal(model.predict_proba(X), model.probabilities_)


@pytest.mark.parametrize("normalize", [True, False])
def test_sparse_and_dense_decompositions_agree(normalize, monkeypatch):
    X, _ = make_moons(300, noise=0.1, random_state=0)
    for n_clusters in (2, 4):
        model = SquaredLossMutualInformationClustering(
            n_clusters, n_neighbors=12, normalize=normalize
        )
        dense = model.fit(X).probabilities_
        monkeypatch.setattr(mutual_information, "DENSE_SAMPLES", 10)
        np.testing.assert_allclose(model.fit(X).probabilities_, dense, atol=1e-6)
        monkeypatch.undo()


@pytest.mark.parametrize("n_groups", [1, 3])
def test_multigrid_finds_the_leading_eigenvectors(n_groups):
    """Also where several parts, whose eigenvalue is one, are known beforehand."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2)) * [1, 3] + 100 * (np.arange(1500) % n_groups)[:, None]
    model = SquaredLossMutualInformationClustering(n_groups + 2, n_neighbors=10).fit(X)
    K = model._model.graph.W + sp.eye_array(1500)
    scale = sp.diags_array(1 / np.sqrt(K.sum(axis=1)))
    values = np.linalg.eigvalsh((scale @ K @ scale).toarray())[-n_groups - 2 :]
    assert (values > 1 - 1e-12).sum() == n_groups
    expected = (n_groups + 2) / (2 * 1500) * np.sum(values**2) - 0.5  # (16) of the paper
    assert model.objective_ == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("n_groups", [2, 3, 4])
def test_unconnected_groups_are_the_clusters(n_groups):
    """Their eigenvalues are equal, so that the eigenvectors alone could be any mixture."""
    centers = 100 * np.eye(4)[:n_groups]
    X, y = make_blobs([30, 25, 20, 15][:n_groups], 4, centers=centers, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    for rows in (slice(None), order):
        model = SquaredLossMutualInformationClustering(n_groups, n_neighbors=5).fit(X[rows])
        np.testing.assert_array_equal(model.labels_, y[rows])
        assert (model.probabilities_.max(axis=1) == 1).all()


def test_samples_of_no_cluster_join_the_nearest():
    """Two clusters are asked of four groups: the lighter two are nobody's own."""
    X, y = make_blobs(
        [30, 25, 8, 8], centers=[[0, 0], [500, 0], [0, 100], [500, 100]], random_state=0
    )
    model = SquaredLossMutualInformationClustering(2, n_neighbors=5).fit(X)
    np.testing.assert_array_equal(model.labels_, y % 2)


def test_precomputed_similarities():
    X, new = samples(0), samples(1, n=20)
    K, K_new = rbf_kernel(X, gamma=GAMMA), rbf_kernel(new, X, gamma=GAMMA)
    model = with_gaussian(3).fit(X)
    for convert in (np.asarray, sp.csr_array):
        given = SquaredLossMutualInformationClustering(3, affinity="precomputed").fit(convert(K))
        np.testing.assert_array_equal(given.labels_, model.labels_)
        np.testing.assert_allclose(
            given.predict_proba(convert(K_new)), model.predict_proba(new), atol=1e-6
        )


def test_rigid_motions_change_nothing():
    X = samples(2)
    angle = 0.7
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for affinity in ("local", "rbf"):
        model = SquaredLossMutualInformationClustering(3, affinity=affinity).fit(X)
        moved = SquaredLossMutualInformationClustering(3, affinity=affinity).fit(X @ rotation + 50)
        np.testing.assert_array_equal(moved.labels_, model.labels_)
        assert moved.mutual_information_ == pytest.approx(model.mutual_information_, rel=1e-6)


def test_equal_samples_are_predicted_alike():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(80, 2)).astype(float)
    model = SquaredLossMutualInformationClustering(3).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


# The choice of the similarities


@pytest.mark.parametrize("affinity", ["local", "rbf"])
def test_the_similarities_of_most_information_are_chosen(affinity):
    X, _ = make_moons(200, noise=0.07, random_state=0)
    model = SquaredLossMutualInformationClustering(2, affinity=affinity, random_state=3).fit(X)
    seed = np.random.RandomState(3).randint(2**31 - 1)
    informations, order = {}, order_of_places(X)
    for chosen in model._candidates(X[order], None):
        one = SquaredLossMutualInformationClustering(2, affinity=affinity, **chosen).fit(X)
        assert np.isnan(one.mutual_information_)  # nothing was to be chosen
        informations[chosen.get("n_neighbors") or chosen["gamma"]] = (
            least_squares_mutual_information(X[order], one.labels_[order], random_state=seed)
        )
    best = max(informations, key=informations.get)
    assert (model.n_neighbors_ or model.gamma_) == best
    assert model.mutual_information_ == pytest.approx(informations[best])


def test_ratios_are_fitted_by_least_squares():
    """Against the estimate written with loops and one linear system per cluster."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    labels = rng.integers(3, size=40)
    L = rbf_kernel(X, gamma=1.0)
    fitted = np.arange(40) < 30
    expected = np.zeros(len(information_estimate.REGS))
    for position, reg in enumerate(information_estimate.REGS):
        theta = {}
        for label in range(3):
            centers = [j for j in range(30) if labels[j] == label]
            share = len(centers) / 30
            H = sum(share * np.outer(L[i, centers], L[i, centers]) for i in range(30)) / 30
            h = sum(L[i, centers] for i in centers) / 30
            theta[label] = centers, np.linalg.solve(H + reg * np.eye(len(centers)), h)
        for label, (centers, weights) in theta.items():
            ratio = L[:, centers] @ weights
            held_out = np.arange(30, 40)
            share = np.mean(labels[held_out] == label)
            expected[position] -= 0.5 * share * np.mean(ratio[held_out] ** 2)
            expected[position] += np.mean(ratio[held_out] * (labels[held_out] == label))
    np.testing.assert_allclose(ratio_fits(L, labels, fitted, ~fitted), expected)


def test_information_tells_dependent_from_independent_labels():
    X, y = make_blobs(300, centers=3, random_state=1)
    estimates = [least_squares_mutual_information(X, y, random_state=0)]
    rng = np.random.default_rng(0)
    for share in (0.2, 0.5, 1.0):  # ever more labels lose their meaning
        moved = np.flatnonzero(rng.uniform(size=300) < share)
        spoilt = y.copy()
        spoilt[moved] = rng.permutation(y[moved])
        estimates.append(least_squares_mutual_information(X, spoilt, random_state=0))
    assert (np.diff(estimates) < 0).all()
    # of three groups that do not overlap at most (3 - 1) / 2, of independent ones nothing
    assert abs(estimates[0] - 1.0) < 0.1
    assert abs(estimates[-1]) < 0.1
    names = np.array([7, 2, 5])[y]
    renamed = least_squares_mutual_information(X, names, random_state=0)
    assert renamed == pytest.approx(estimates[0])


def test_information_is_estimated_on_a_sample_of_many():
    X, y = make_blobs(3_000, centers=2, random_state=0)
    estimate = least_squares_mutual_information(X, y, random_state=0)
    others = np.random.RandomState(0).permutation(3_000)[information_estimate.MAX_SAMPLES :]
    y[others] = 1 - y[others]
    assert least_squares_mutual_information(X, y, random_state=0) == estimate


# What cannot work


def test_what_cannot_work_is_refused(monkeypatch):
    X = samples(0)
    model = SquaredLossMutualInformationClustering(2)
    with pytest.raises(TypeError, match="Sparse data"):
        model.fit(sp.csr_array(X))
    precomputed = SquaredLossMutualInformationClustering(2, affinity="precomputed")
    with pytest.raises(ValueError, match="square matrix"):
        precomputed.fit(X)
    with pytest.raises(ValueError, match="nonnegative"):
        precomputed.fit(-np.eye(10))
    with pytest.raises(ValueError, match="gamma="):
        SquaredLossMutualInformationClustering(2, affinity="rbf", gamma=("mean", -1)).fit(X)
    monkeypatch.setattr("os.sysconf", lambda name: 100)  # ten kilobytes
    with pytest.raises(ValueError, match=r"80 samples need .* use affinity='local'"):
        with_gaussian(2).fit(X)
    model.fit(X)  # a kernel between neighbours needs less


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [2, 3, 4])
def test_information_of_a_few_samples(n):
    X = np.arange(float(n))[:, None]
    assert np.isfinite(least_squares_mutual_information(X, np.arange(n) % 2, random_state=0))


def test_one_heavy_sample_needs_no_copies_without_end():
    X = make_blobs(24, random_state=0)[0]
    weight = np.ones(len(X))
    weight[0] = 1e12
    model = SquaredLossMutualInformationClustering(2, n_neighbors=3).fit(X, sample_weight=weight)
    assert len(model.labels_) == len(X)


def test_similarities_below_rounding_do_not_connect():
    """Eigenvalues that differ by rounding alone would have any vectors."""
    X = np.repeat([0.0, 7.0, 14.0], [3, 2, 4]) + np.random.default_rng(0).normal(size=9) * 0.3
    for gamma in 1.0, 2.0, 3.0, 4.0:
        model = SquaredLossMutualInformationClustering(2, affinity="rbf", gamma=gamma)
        labels = model.fit_predict(X[:, None])
        assert len(set(labels[:3])) == len(set(labels[5:])) == 1
        assert labels[0] != labels[8]  # the heaviest parts
