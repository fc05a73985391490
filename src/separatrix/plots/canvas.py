"""What all displays share: axes, notes, and the choice of samples to draw."""

import numpy as np

from separatrix.plots.colors import MUTED

__all__ = ["axes_for", "chosen_rows", "counted", "feature_names", "note", "require_matplotlib"]


def require_matplotlib(name):
    """Import matplotlib's pyplot for the display of this name, or say where to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{name} needs matplotlib to draw; install it with pip install "separatrix[plot]".'
        ) from error
    return plt


def axes_for(display, ax, *, frame=True):
    """Axes to draw on, remembered by the display; new ones if `ax` is None."""
    plt = require_matplotlib(type(display).__name__)
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
        ax.spines[["top", "right"]].set_visible(frame)
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def note(ax, text):
    """Write a small remark above the axes, on the right."""
    ax.set_title(text, loc="right", fontsize="small", color=MUTED)


def chosen_rows(n_samples, max_samples):
    """At most `max_samples` rows in their order, the same ones in every call."""
    if n_samples <= max_samples:
        return np.arange(n_samples)
    return np.sort(np.random.RandomState(0).permutation(n_samples)[:max_samples])


def counted(n_drawn, n_samples):
    """How many samples a picture shows, if not all of them."""
    return "" if n_drawn == n_samples else f"{n_drawn:,} of {n_samples:,} samples"


def feature_names(estimator):
    """Names of the features that an estimator was fitted on, made up if they had none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"feature {j}" for j in range(estimator.n_features_in_)]
    return list(names)
