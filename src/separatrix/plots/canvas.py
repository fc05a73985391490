"""What all displays share: axes, notes, and the choice of samples to draw."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.data.gate import check_count
from separatrix.plots.colors import MUTED

__all__ = [
    "axes_for",
    "chosen_rows",
    "counted",
    "feature_names",
    "note",
    "plain",
    "require",
    "require_matplotlib",
    "styled",
]


def require_matplotlib(name):
    """Import matplotlib's pyplot for the display of this name, or say where to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{name} needs matplotlib to draw; install it with pip install "separatrix[plot]".'
        ) from error
    return plt


def require(estimator, attribute, remedy):
    """Refuse an estimator that is not fitted, or has no such attribute."""
    check_is_fitted(estimator)
    if not hasattr(estimator, attribute):
        raise ValueError(f"{type(estimator).__name__} has no {attribute}: {remedy}.")


def axes_for(display, ax, *, frame=True, figsize=None):
    """Axes to draw on, remembered by the display; new ones if `ax` is None."""
    plt = require_matplotlib(type(display).__name__)
    if ax is None:
        _, ax = plt.subplots(layout="constrained", figsize=figsize)
        ax.spines[["top", "right"]].set_visible(frame)
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def styled(artist, defaults, given):
    """Keywords of an artist: the defaults, and what was given under any name matplotlib knows."""
    from matplotlib.cbook import normalize_kwargs

    given = normalize_kwargs(given, artist)
    if "c" in given:  # no alias to matplotlib, since scatter takes values there too
        given["color"] = given.pop("c")
    return defaults | given


def plain(text):
    """Text that is drawn as it is: dollars of a name are no mathematics."""
    return str(text).replace("$", r"\$")


def note(ax, text):
    """Write a small remark above the axes, on the right."""
    ax.set_title(plain(text), loc="right", fontsize="small", color=MUTED)


def chosen_rows(n_samples, max_samples):
    """At most `max_samples` rows in their order, the same ones in every call."""
    if n_samples <= check_count(max_samples, "max_samples"):
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
