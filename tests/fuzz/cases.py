"""Random cases: an estimator, its parameters, samples, and what else `fit` takes.

A case is made of the name of an estimator and an integer, given the constraints of its parameters.
Each of its pieces has a grade. What is fine must be accepted and what is bad must be refused. What
is at the edge, such as samples of one value or a parameter at its bound, may be either, as long as
the words of a refusal are clear.
"""

import copy
import zlib
from dataclasses import dataclass, field, replace
from itertools import count, islice

import numpy as np

import separatrix

from .arguments import arguments
from .parameters import WITHIN, number_of_clusters, parameters
from .pieces import BAD, EDGE, ESTIMATORS, FINE, LINKS, PRECOMPUTED, SIZES, Piece, estimator_of
from .samples import contained, probe, seen_by, similarities, table_and_shape

# A fit of all candidates takes a hundred times that of the others.
RARE = {"AutoClustering": 20}
MAX_ROWS = {
    "AutoClustering": 16,
    "LabelGenerationMarginClustering": 14,
    "MaximumMarginClustering": 14,
    "OptimalMarginDistributionClustering": 14,
    "SemidefiniteMarginClustering": 16,
}


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator and all that is passed to it.

    Attributes
    ----------
    name, seed : str and int
        What the case is made of.
    params : dict of str to Piece
        Parameters of the estimator; those not listed keep their defaults.
    rows : ndarray of shape (n_samples, n_features)
        The samples in double precision, before they went into their container.
    X : Piece
        The samples as they are passed to `fit`.
    given : dict of str to Piece
        Other arguments of `fit`: y, sample_weight, must_link, ...
    callback : str or None
        What a callback does at the end of the first task: "stops" or "raises".
    probe : Piece
        Samples to predict after the fit.
    choice : int
        Draws the invariances that are looked at.
    """

    name: str
    seed: int
    params: dict[str, Piece]
    rows: np.ndarray
    X: Piece
    given: dict[str, Piece]
    callback: str | None
    probe: Piece
    choice: int = field(repr=False)

    @property
    def pieces(self):
        """All that `fit` takes, by name."""
        return {"X": self.X, **self.params, **self.given}

    @property
    def grade(self):
        """The worst of all pieces."""
        return max(piece.grade for piece in self.pieces.values())

    @property
    def is_moderate(self):
        """Whether the samples are fine and no parameter is at its bounds."""
        return self.X.grade is FINE and all(
            piece.grade is FINE or piece.words == WITHIN for piece in self.pieces.values()
        )

    @property
    def precomputed(self):
        """Whether the samples are a matrix of similarities."""
        return any(self.passes(name, "precomputed") for name in PRECOMPUTED)

    @property
    def is_linked(self):
        """Whether links are passed."""
        return any(name in self.given for name in LINKS)

    @property
    def is_bounded(self):
        """Whether clusters have bounds of their sizes."""
        bounds = [self.params[name].value for name in SIZES if name in self.params]
        return any(bound is not None for bound in bounds)

    def passes(self, name, word):
        """Whether a parameter is a certain word."""
        return name in self.params and str(self.params[name].value) == word

    def arguments(self):
        """What `fit` takes beside X, by name."""
        return {name: copy.deepcopy(piece.value) for name, piece in self.given.items()}

    def estimator(self, **changed):
        """The estimator, not fitted."""
        params = {name: copy.deepcopy(piece.value) for name, piece in self.params.items()}
        return getattr(separatrix, self.name)(**{**params, **changed})

    def describe(self):
        """The case in words, a line for each piece."""
        lines = [f"{self.name}:{self.seed}"]
        for name, piece in {**self.pieces, "probe": self.probe}.items():
            value = repr(piece.value)
            value = value if len(value) < 400 else value[:400] + " ..."
            lines.append(f"  {name} ({piece.grade.name.lower()}, {piece.words}): {value}")
        if self.callback:
            lines.append(f"  a callback {self.callback}")
        return "\n".join(lines)


def make_case(name, seed):
    """The case of an estimator and an integer."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    _, defaults, constraints, known = estimator_of(name)
    is_clusterer = "n_clusters" in defaults
    aspects = ["values", "values", "shape", "container", "parameter", "parameter", "probe"]
    aspects += ["n_clusters"] if is_clusterer else ["classes"]
    aspects += ["weights"] if "sample_weight" in known else []
    aspects += ["links"] if "must_link" in known else []
    hostile = set(rng.choice(aspects, size=rng.choice(3, p=[0.35, 0.45, 0.2]), replace=False))
    rows, grade, told = table_and_shape(rng, hostile, MAX_ROWS.get(name, 25))
    params = parameters(rng, name, len(rows), hostile)
    matrices = [n for n in PRECOMPUTED if n in constraints and n not in params]
    precomputed = bool(matrices) and rows.size > 0 and rng.random() < 0.08
    if precomputed:
        params[matrices[0]] = Piece("precomputed", FINE, "drawn")
        rows, grade, told = similarities(rng, rows, told, grade, hostile)
    if "kernel" in params and isinstance(params["kernel"].value, str):
        rows, grade = seen_by(params["kernel"].value, rows, grade)
    X = contained(rng, rows, grade, told, hostile)
    k = number_of_clusters(params)
    callback = None
    if is_clusterer and rng.random() < 0.06:
        callback = ("stops", "raises")[rng.integers(2)]
    given = arguments(rng, name, len(rows), k, hostile)
    if precomputed and matrices[0] != "kernel" and "sample_weight" in given:
        # the matrix says how samples weigh, and weights beside it are refused
        given["sample_weight"] = replace(given["sample_weight"], grade=BAD)
    is_chosen = "n_clusters" in params and params["n_clusters"].value is None
    if is_chosen and "known_labels" in given and given["known_labels"].words == "too large":
        # a number of clusters that is to be chosen is at least that which labels name
        given["known_labels"] = replace(given["known_labels"], grade=EDGE)
    return Case(
        name=name,
        seed=seed,
        params=params,
        rows=rows,
        X=X,
        given=given,
        callback=callback,
        probe=probe(rng, rows, X, precomputed, "probe" in hostile),
        choice=int(rng.integers(2**31)),
    )


def schedule(n_cases, seed, names=ESTIMATORS):
    """Names and seeds of so many cases: the estimators in turn, the slow ones rarely."""
    turns = (
        (name, seed + turn) for turn in count() for name in names if turn % RARE.get(name, 1) == 0
    )
    return islice(turns, n_cases)
