"""Models on graphs: responses of exactly zero, and labels of nodes that links bind."""

from itertools import product

import numpy as np
import pytest

from graph_support import parts
from separatrix.labels.links import Links
from separatrix.models.boundaries import Split
from separatrix.models.graph_responses import LinkedNodes, Tree, TwoSided
from separatrix.result import decoded
from separatrix.similarity.quadratic_forms import form_of


def test_responses_of_exactly_zero_have_a_side():
    """They are negative, and stay where they are when the clusters change their numbers."""
    form = form_of(parts([2, 2], between=0.1)[0], "normalized", 0.0)
    model = TwoSided(form, np.array([0.5, 0.0, -0.5, 0.0]), reg=1.0, eta=0.0, omega=0.3)
    np.testing.assert_array_equal(decoded(model.responses), [1, 0, 0, 0])
    turned = model.renumbered([1, 0])
    assert turned.omega == -0.3
    np.testing.assert_array_equal(decoded(turned.responses), [0, 1, 1, 1])
    assert model.renumbered([0, 1]) is model
    part = form.restricted([1, 2, 3])
    inner = TwoSided(part, np.array([0.0, 0.0, 0.4]), reg=1.0, eta=0.0, omega=0.0)
    splits = [
        Split(0, 1, np.arange(4), model),
        Split(0, 2, np.array([1, 2, 3]), inner),
    ]
    tree = Tree(4, 3, splits)
    np.testing.assert_array_equal(decoded(tree.responses), [1, 0, 0, 2])
    order = np.array([2, 0, 1])
    renumbered = decoded(tree.renumbered(order).responses)
    np.testing.assert_array_equal(order[renumbered], [1, 0, 0, 2])


def test_responses_without_a_bound_are_numbers():
    """Where the multiplier reaches the diagonal, the response is as large as it may be."""
    form = form_of(parts([2, 2], between=0.1)[0], "dissimilarity", 1.0)
    similarities = np.array([[5.0, 5.0, 0.0, 0.0], [0.0, 0.0, 5.0, 5.0]])
    for dtype in (np.float64, np.float32):
        h = np.array([4.0, 4.0, -4.0, -4.0], dtype)
        model = TwoSided(form, h, reg=1.0, eta=9.0, omega=0.0)
        responses = model.to_new(similarities.astype(dtype))
        assert np.isfinite(responses).all()
        np.testing.assert_array_equal(np.sign(responses), [1, -1])


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_labels_of_linked_nodes_are_the_best_of_all_that_keep_the_links(n_clusters, seed):
    """Against all labellings; two clusters by signs, and more by columns in any order."""
    rng = np.random.default_rng(seed)
    n, known = 6, np.array([0, -1, -1, 1, -1, -1])
    links = Links.of(n, n_clusters, cannot_link=[[1, 2], [2, 4]], known_labels=known)
    pulls = rng.uniform(1, 3, size=n)
    nodes = LinkedNodes(links, pulls, links, None)
    roots, H = np.sqrt(rng.integers(1, 4, size=n)), rng.normal(size=(n, n_clusters))
    if n_clusters == 2:
        signs = nodes.signs(H[:, :1], roots)[:, 0]
        np.testing.assert_allclose(np.abs(signs), pulls)
        found, columns = (signs > 0).astype(int), np.array([0, 1])
        H = np.column_stack([-H[:, 0], H[:, 0]])
    else:
        found, columns = nodes.labels(H, roots * pulls), links.columns(H, roots * pulls)

    def gain(labels):
        keeps = (labels[[0, 3]] == columns[[0, 1]]).all() and links.violations(labels) == 0
        return roots * pulls @ H[np.arange(n), labels] if keeps else -np.inf

    labellings = map(np.array, product(range(n_clusters), repeat=n))
    assert np.isclose(gain(found), max(map(gain, labellings)))
