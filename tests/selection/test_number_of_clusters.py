"""Evidence for the number of clusters."""

import numpy as np
import pytest

from separatrix.selection import number_of_clusters
from separatrix.selection.auto import AutoClustering
from separatrix.selection.number_of_clusters import (
    choice_words,
    likeliest_number,
    plausible_numbers,
)
from separatrix.similarity.geometry import Geometry
from separatrix.similarity.spanning_trees import joined_labels, spanning_tree
from separatrix.validity.features import Measures, labelling_features, sample_features
from separatrix.validity.learned import learned_validity
from separatrix.validity.structure import Structure


def test_most_isolated_clusters_are_counted():
    """Three rings within each other, which are two clusters, or three, with a wide gap."""
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    rings = np.vstack([ring, 2 * ring, 3 * ring])
    assert number_of_clusters.most_isolated(spanning_tree(rings), [2, 3, 4, 5]) == 3
    assert number_of_clusters.most_isolated(spanning_tree(rings), [2]) == 2
    assert number_of_clusters.most_isolated(spanning_tree(ring), [2, 3]) is None
    assert AutoClustering(max_clusters=5).fit(rings).n_clusters_ == 3


def test_plausible_numbers_are_near_the_best():
    curve = {2: 0.52, 3: 0.55, 4: 0.1, 5: 0.54, 6: 0.535}
    assert plausible_numbers(curve) == [3, 5, 6]
    assert plausible_numbers({2: 1.0, 3: 1.0 - 1e-9, 4: 0.0}) == [3, 2]
    assert plausible_numbers({2: 0.9, 3: 0.1}) == [2]


@pytest.mark.parametrize(
    ("p_value", "expected"),
    [(0.001, [3, 5, 6]), (0.03, [3, 5, 1]), (0.17, [1, 3]), (0.5, [1])],
)
def test_one_cluster_is_plausible_where_structure_is_in_doubt(p_value, expected):
    curve = {2: 0.52, 3: 0.55, 4: 0.1, 5: 0.54, 6: 0.535}
    assert plausible_numbers(curve, p_value) == expected
    assert plausible_numbers({}, 0.5) == [1]


def test_words_say_what_is_as_plausible():
    found = Structure(1.0, np.zeros(16), 0.17)
    words = choice_words([1, 3], found, 3)
    assert words == f"1: {found.words}; if there are any, 3 is the likeliest number."
    assert choice_words([1], found, 1) == f"1: {found.words}."
    assert choice_words([3, 1], found, 3).startswith("3: 1 is nearly as plausible.")


def test_the_likeliest_number_has_the_most_evidence():
    assert likeliest_number({2: 0.52, 3: 0.55, 4: 0.1}) == 3
    assert likeliest_number({2: 1.0, 3: 1.0 - 1e-9, 4: 0.0}) == 3
    assert likeliest_number({}) == 1


def test_the_number_if_there_are_clusters_is_given_either_way(blobs):
    """Noise is divided as the curve would have it; where there are clusters both numbers agree."""
    noise = np.random.default_rng(0).normal(size=(150, 2))
    none = AutoClustering(max_clusters=4).fit(noise)
    assert none.n_clusters_ == 1
    curve = none.selection_curve_
    assert none.n_clusters_if_any_ == max(curve, key=curve.get)
    assert f"if there are any, {none.n_clusters_if_any_} is" in none.n_clusters_words_
    some = AutoClustering(max_clusters=4).fit(blobs[0])
    assert some.n_clusters_if_any_ == some.n_clusters_ == 3
    few = AutoClustering(max_clusters=4).fit(noise[:9])
    assert (few.n_clusters_, few.n_clusters_if_any_, few.selection_curve_) == (1, 1, {})


def test_number_of_clusters_is_found_where_it_is_plain(blobs):
    model = AutoClustering().fit(blobs[0])
    assert model.n_clusters_ == model.plausible_n_clusters_[0] == 3
    assert model.n_clusters_words_.startswith("3: no other number comes close")
    assert list(model.selection_curve_) == list(range(2, 7))  # it has clearly fallen
    asked = AutoClustering(3).fit(blobs[0])
    np.testing.assert_array_equal(asked.labels_, model.labels_)
    np.testing.assert_array_equal(asked.confidence_, model.confidence_)
    model.set_params(n_clusters=2).fit(blobs[0])
    assert not hasattr(model, "selection_curve_")


def test_evidence_grows_with_agreement_and_falls_with_cuts(blobs):
    X, _ = blobs
    geometry = Geometry(X - X.mean(axis=0))
    measures = Measures(geometry, np.random.RandomState(0))
    labels = joined_labels(geometry.tree, 3, unevenness=0.3)
    told = labelling_features(measures, labels)
    sample = sample_features(measures, 3)
    valid = learned_validity().of_each([told], sample)[0]
    expected = valid + 0.5 * (0.6 - 4 * told["graph cut"]) - 0.1 * np.log(3)
    agreement = np.array([[1.0, 0.6], [0.6, 1.0]])
    found = number_of_clusters.evidence([told, told], sample, agreement, ["a", "b"])
    np.testing.assert_allclose(found, expected)
    assert number_of_clusters.evidence([], sample, np.empty((0, 0)), []) == 0
