"""Descriptions of the parameters of `fit`, written once for all docstrings."""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

__all__ = ["BOUNDARY_SAMPLES", "GRAPH_SAMPLES", "SAMPLES", "described"]

Fit = TypeVar("Fit", bound=Callable[..., Any])

SAMPLES = """X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples; the kernel matrix, or the similarities, where these are precomputed."""
BOUNDARY_SAMPLES = """X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
    Samples; the kernel matrix where that is precomputed."""
GRAPH_SAMPLES = """X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
    Samples; the similarities where these are precomputed, which take no weights. Of a dask array
    or `RowBlocks`, 5,000 random samples are clustered, and the others follow as new ones."""
PARAMETERS = {
    "y": """y : None
    Ignored.""",
    "sample_weight": """sample_weight : float or array-like of shape (n_samples,), default=None
    Nonnegative weights. A weight of two equals a repeated sample, zero an absent one.""",
    "must_link": """must_link : array-like of int, default=None
    Samples that belong together: pairs of row indices, or one id per sample, where equal ids are
    linked and -1 means no link. Cross-validation needs the form with ids.""",
    "cannot_link": """cannot_link : array-like of int, default=None
    Samples to keep apart, in either form.""",
    "known_labels": """known_labels : array-like of int of shape (n_samples,), default=None
    Known clusters of samples, -1 where unknown; clusters keep these numbers. Known labels also
    influence where the other samples belong.""",
}
RETURNS = """self : object
    The fitted estimator."""


def described(**texts: str) -> Callable[[Fit], Fit]:
    """Decorator that adds the parameters of a `fit` to the first line of its docstring.

    `texts` describes X, and other parameters where they differ from `PARAMETERS`.
    """

    def decorate(fit: Fit) -> Fit:
        if fit.__doc__ is None:  # python -OO
            return fit
        _, *names = signature(fit).parameters
        told = "\n".join({**PARAMETERS, **texts}[name] for name in names)
        fit.__doc__ += f"\n\nParameters\n----------\n{told}\n\nReturns\n-------\n{RETURNS}\n"
        return fit

    return decorate
