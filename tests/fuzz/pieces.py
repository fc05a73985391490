"""What cases are made of: values of three grades, and the estimators that take them."""

import enum
import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator

import separatrix

ESTIMATORS = [
    name
    for name in separatrix.__all__
    if isinstance(found := getattr(separatrix, name), type) and issubclass(found, BaseEstimator)
]
PRECOMPUTED = ("kernel", "affinity", "matrix")
LINKS = ("must_link", "cannot_link", "known_labels")
SIZES = ("min_size", "max_size")


class Grade(enum.IntEnum):
    """Whether a piece must be accepted, may be, or must not."""

    FINE = 0
    EDGE = 1
    BAD = 2


FINE, EDGE, BAD = Grade


@dataclass(frozen=True)
class Piece:
    """A value that is passed to an estimator, its grade, and what it is in words."""

    value: Any
    grade: Grade
    words: str = ""


@cache
def estimator_of(name):
    """Class, defaults and constraints of its parameters, and arguments of `fit`."""
    estimator = getattr(separatrix, name)
    defaults = {k: p.default for k, p in inspect.signature(estimator).parameters.items()}
    arguments = tuple(inspect.signature(estimator.fit).parameters)[2:]
    return estimator, defaults, estimator._parameter_constraints, arguments
