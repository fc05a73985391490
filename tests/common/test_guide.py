"""Figures that the user guide states are true."""

import numpy as np
import pytest
from scipy.stats import norm

from separatrix.metrics import separation_probability_score


@pytest.mark.parametrize(("reg", "stated"), [(0.0, 0.64), (0.1, 0.58), (0.3, 0.49)])
def test_separation_of_a_gaussian_cut_in_half(reg, stated):
    """Each half has mean sqrt(2/pi) and variance 1 - 2/pi; the other feature has no part."""
    kappa = np.sqrt(2 / np.pi) / np.sqrt(1 - 2 / np.pi + reg)
    assert round(kappa**2 / (1 + kappa**2), 2) == stated
    grid = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    score = separation_probability_score(grid[:, None], grid > 0, reg=reg)
    assert score == pytest.approx(kappa**2 / (1 + kappa**2), abs=1e-3)
