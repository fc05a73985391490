"""Models on graphs: what happens to responses of exactly zero, on two sides and in a tree."""

import numpy as np

from graph_support import parts
from separatrix.models.boundaries import Split
from separatrix.models.graph_responses import Tree, TwoSided
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
