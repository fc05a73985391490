"""What `fit` takes beside the samples: weights, links and classes."""

import numpy as np
import pandas

from .pieces import BAD, EDGE, FINE, LINKS, Piece, estimator_of


def weights(rng, n, hostile):
    """Weights as a piece."""
    if not hostile:
        return Piece(rng.integers(1, 4, size=n), FINE, "whole numbers")
    some = np.arange(n) % 3.0
    kinds = {
        "ones": (np.ones(n), EDGE),
        "some zero": (some, EDGE),
        "uniform": (rng.random(n), EDGE),
        "huge": (np.full(n, 1e300), EDGE),
        "tiny": (np.full(n, 1e-300), EDGE),
        "denormal": (np.full(n, 5e-324), EDGE),
        "of all sizes": (10.0 ** rng.integers(-150, 150, size=n), EDGE),
        "one heavy": (np.r_[1e12, np.ones(max(n - 1, 0))][:n], EDGE),
        "a list": (some.tolist(), EDGE),
        "a series": (pandas.Series(some, dtype=float), EDGE),
        "float32": (np.ones(n, dtype=np.float32), EDGE),
        "bool": (np.arange(n) % 2 == 0, EDGE),
        "a scalar": (2.0, EDGE),
        "zeros": (np.zeros(n), BAD),
        "a scalar of zero": (0, BAD),
        "text": (np.full(n, "heavy"), BAD),
        "a word": ("balanced", BAD),
        "nan": (np.full(n, np.nan), BAD),
        "infinite": (np.full(n, np.inf), BAD),
        "negative": (-np.ones(n), BAD),
        "too long": (np.ones(n + 1), BAD),
        "a table": (np.ones((n, 2)), BAD),
        "complex": (np.ones(n) * 1j, BAD),
        "None": ([None] * n, BAD),
        "timestamps": (np.zeros(n, dtype="datetime64[s]"), BAD),
    }
    told = list(kinds)[rng.integers(len(kinds))]
    return Piece(*kinds[told], told)


def links(rng, n, k, hostile):
    """Links as pieces by name: at least one of the three."""
    truth = rng.integers(max(k, 1), size=n)
    pairs = rng.integers(n, size=(int(rng.integers(1, 5)), 2)) if n else np.zeros((0, 2), int)
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    known = np.where(rng.random(n) < 0.2, truth, -1)
    fine = {
        "must_link": {"pairs": pairs[same], "no pairs": np.zeros((0, 2), int), "ids": known},
        "cannot_link": {"pairs": pairs[~same].tolist(), "none": []},
        "known_labels": {"known": known, "nothing known": np.full(n, -1)},
    }
    bad = {
        "must_link": {
            "out of range": [[0, n]],
            "negative": [[0, -2]],
            "fractions": [[0.5, 1.0]],
            "text": [["a", "b"]],
            "nan": [[np.nan, 0.0]],
            "triples": [[0, 1, 2]] * 2,
            "a scalar": 3,
        },
        "cannot_link": {"itself": [[0, 0]], "out of range": [[0, 10**9]], "a word": "apart"},
        "known_labels": {
            "too large": np.full(n, max(k, 1)),
            "below -1": np.full(n, -2),
            "too long": np.zeros(n + 1, int),
            "fractions": np.full(n, 0.5),
            "nan": np.full(n, np.nan),
            "None": [None] * n,
            "text": ["a"] * n,
        },
    }
    name = LINKS[rng.integers(len(LINKS))]
    if hostile and n > k and rng.random() < 0.2:
        apart = np.array([[i, j] for i in range(min(n, k + 1)) for j in range(i)])
        return {"cannot_link": Piece(apart, BAD, "more apart than there are clusters")}
    kinds, grade = (bad, BAD) if hostile and n else (fine, EDGE)
    told = list(kinds[name])[rng.integers(len(kinds[name]))]
    return {name: Piece(kinds[name][told], grade, told)}


def classes(rng, n, hostile):
    """Classes of samples as a piece."""
    codes, groups = np.arange(n) % 2, np.arange(n) % 3
    fine = {
        "two": codes,
        "three": groups,
        "text": np.array(["no", "maybe", "yes"])[groups],
        "bool": codes == 1,
        "floats": groups * 2.0 + 7,
        "a list": groups.tolist(),
        "a series": pandas.Series(groups),
    }
    edge = {
        "a column": codes[:, None],
        "one sample of a class": (np.arange(n) == 0).astype(int),
        "each its own": np.arange(n),
        "with unknown": np.where(np.arange(n) % 4 == 0, -1, codes),
        "objects": codes.astype(object),
        "large": codes + 10**15,
    }
    bad = {
        "one class": np.zeros(n, int),
        "fractions": np.linspace(0, 1, n) + 0.01,
        "nan": np.where(codes == 0, np.nan, 1.0),
        "infinite": np.where(codes == 0, np.inf, 1.0),
        "None": None,
        "list of None": [None] * n,
        "too long": np.arange(n + 1) % 2,
        "a table": np.column_stack([codes, 1 - codes]),
        "a scalar": 1,
        "complex": codes * 1j,
        "mixed types": np.array([["no", 1][c] for c in codes], dtype=object),
        "empty": [],
    }
    if not hostile:
        kinds, grade = fine, FINE if n >= 8 else EDGE
    else:
        kinds, grade = (bad, BAD) if rng.random() < 0.6 else (edge, EDGE)
    told = list(kinds)[rng.integers(len(kinds))]
    return Piece(kinds[told], grade, told)


def arguments(rng, name, n, k, hostile):
    """Arguments of `fit` beside X, as pieces by name."""
    _, _, _, known = estimator_of(name)
    given = {}
    if "sample_weight" in known and ("weights" in hostile or rng.random() < 0.15):
        given["sample_weight"] = weights(rng, n, "weights" in hostile)
    if "must_link" in known and ("links" in hostile or rng.random() < 0.15):
        given |= links(rng, n, k, "links" in hostile)
    if "n_clusters" not in estimator_of(name)[1]:
        given["y"] = classes(rng, n, "classes" in hostile)
    return given
