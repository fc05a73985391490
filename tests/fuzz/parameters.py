"""Parameters within their constraints, at their bounds, and beyond."""

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import make_constraint

from separatrix._sklearn import Interval, StrOptions

from .pieces import BAD, EDGE, FINE, Piece, estimator_of

# So that a fit takes milliseconds.
QUICK = {
    "C_path": 2,
    "max_iter": 5,
    "max_labellings": 2,
    "max_rounds": 1,
    "max_steps": 30,
    "n_combinations": 3,
    "n_init": 1,
    "n_roundings": 2,
}
QUICK_OF = {
    "MaximumMarginClustering": {"C": 1.0, "balance": 0.3},
    "SquaredLossMutualInformationClustering": {"n_neighbors": 3},
}
# Options with which even twenty samples take minutes.
SLOW = ("triangles",)
FINE_COUNTS = {
    "max_samples": (200, 300),
    "max_size": (60, 80),
    "max_steps": (20, 40),
    "n_components": (20, 50),
    "n_neighbors": (2, 6),
}
# Options that do not go with all others, and so may be refused.
PARTICULAR = {
    "affinity",
    "balance",
    "max_size",
    "min_size",
    "multiway",
    "neighbors",
    "outliers",
    "reg",
    "response_bound",
    "shares",
    "solver",
}
SIGMOID = "sigmoid"
WITHIN = "within bounds"


def inner_product(a, b):
    """A kernel of two samples, dense or sparse."""
    a, b = (row.toarray().ravel() if sp.issparse(row) else row for row in (a, b))
    return float(a @ b) + 1.0


def not_a_number(a, b):
    return np.nan


def fine_value(rng, name, constraint, default):
    """A value within the constraint and far from its bounds."""
    if name == "n_jobs":
        return None
    if isinstance(constraint, StrOptions):
        options = sorted(constraint.options - {"precomputed", "mirror-descent"})
        return options[rng.integers(len(options))]
    if name == "degree":  # no other power of a negative number is real
        return int(rng.integers(1, 4))
    if isinstance(constraint, Interval) and constraint.type is Integral:
        low, high = FINE_COUNTS.get(name, (2, 4))
        return int(rng.integers(low, high))
    if isinstance(constraint, Interval):
        if constraint.right is not None and constraint.right <= 1:
            return float(rng.uniform(0.1, 0.5))
        scale = default if isinstance(default, float) else 1.0
        low = 0.0 if constraint.left is None else float(constraint.left)
        return low + scale * 10 ** rng.uniform(-1, 1)
    if constraint is callable:
        return inner_product
    if constraint is tuple:
        return ("auto" if name == "reg" else "mean", float(rng.uniform(0.3, 3)))
    if constraint == "boolean":
        return bool(rng.integers(2))
    if constraint == "random_state":
        return int(rng.integers(1000))
    return default


def edge_values(name, constraint, n_samples):
    """Values at the bounds of a constraint, or of odd types."""
    if name == "n_jobs":
        return [0, 1, np.int8(1), True]
    if isinstance(constraint, StrOptions):
        return sorted(constraint.options - {"precomputed"})
    if isinstance(constraint, Interval) and constraint.type is Integral:
        low = 0 if constraint.left is None else constraint.left
        values = [low, low + 1, np.int8(low + 2), np.uint64(low + 1), True]
        large = [n_samples - 1, n_samples, n_samples + 1, 10**6, 2**31, 10**18]
        return values if name in QUICK else values + large
    if isinstance(constraint, Interval):
        low, high = constraint.left, constraint.right
        values = [5e-324, 1e-300, 1e-100, 1e-16, 1, np.float32(0.5), np.float16(0.5)]
        values += [np.longdouble(0.5), 1e16, 1e100, 1e300, 1.7e308, -1.0, -1e300]
        values += [bound for bound in (low, high) if bound is not None]
        values += [] if high is None else [float(np.nextafter(high, -1))]
        return [value for value in values if _satisfies(value, constraint)]
    if constraint is callable:
        return [not_a_number]
    if constraint is tuple:
        return [
            (),
            ("mean",),
            ("mean", 0.0),
            ("mean", -1.0),
            ("mean", np.nan),
            ("mean", 1e-300),
        ] + [("mean", 1e300), ("mean", "x"), ("nonsense", 1.0), (1, 2, 3), ("auto", 1e-300)]
    if constraint == "boolean":
        return [np.True_, np.False_]
    if constraint == "random_state":
        return [None, np.random.RandomState(3), np.int64(7), 2**32 - 1]
    if constraint in (Real, str):
        return [-1, "?", 0.5, np.nan, np.inf]
    return [None]


def bad_values(constraints):
    """Values that no constraint allows."""
    values = [None, np.nan, np.inf, -np.inf, -1, 0, 2.5, -2, 1.0, 2.0, 10**30, "nonsense", "2", ""]
    values += [[], {}, 1j, object(), np.array([1, 2]), np.array(2), b"rbf", 2**40]
    checked = [make_constraint(constraint) for constraint in constraints]
    return [v for v in values if not any(_satisfies(v, constraint) for constraint in checked)]


def _satisfies(value, constraint):
    try:
        with np.errstate(all="ignore"):  # half precision is compared with large bounds
            return constraint.is_satisfied_by(value)
    except (TypeError, ValueError, OverflowError):
        return False


def parameter(rng, name, constraints, default, n_samples, hostile):
    """A value of one parameter as a piece."""
    constraint = constraints[rng.integers(len(constraints))]
    if not hostile:
        value = fine_value(rng, name, constraint, default)
        doubtful = name in PARTICULAR or value == SIGMOID
        return Piece(value, EDGE if doubtful else FINE, WITHIN)
    choices = edge_values(name, constraint, n_samples), bad_values(constraints)
    grade = BAD if rng.random() < 0.4 and choices[1] else EDGE
    values = choices[grade is BAD]
    return Piece(values[rng.integers(len(values))], grade, "at or beyond bounds")


def n_clusters(rng, n_samples, hostile):
    """Number of clusters as a piece."""
    if not hostile:
        value = int(rng.choice([2, 3, 3]))
    else:
        values = [0, 1, 1, 2, 3, 4, 5, n_samples - 1, n_samples, n_samples + 1]
        value = values[rng.integers(len(values))]
        kind = rng.choice([int, int, np.int8, np.int64])
        value = kind(value) if value < 128 else int(value)
    bad = value < 1 or value > n_samples
    return Piece(value, BAD if bad else EDGE if hostile or n_samples < 8 else FINE, "a number")


def labels_to_start_from(rng, n_samples, k, solver):
    """Labels for `init`, as a piece."""
    labels = np.arange(n_samples) % max(k, 1)
    if n_samples < max(k, 2):
        return Piece(labels, EDGE, "labels")
    kinds = {
        "labels": (labels, FINE),
        "a list": (labels.tolist(), FINE),
        "permuted": (rng.permutation(labels), FINE),
        "floats": (labels.astype(float), EDGE),
        "one label": (np.zeros(n_samples, dtype=int), BAD),
        "too short": (labels[:-1], BAD),
        "too large": (labels + 1, BAD),
        "negative": (labels - 1, BAD),
        "fractions": (labels + 0.5, BAD),
        "None": ([None] * n_samples, BAD),
        "text": (labels.astype(str).astype(object), EDGE),
        "a table": (np.column_stack([labels, labels]), BAD),
        "nan": (np.full(n_samples, np.nan), BAD),
        "empty": ([], BAD),
    }
    told = list(kinds)[min(rng.integers(2 * len(kinds)), len(kinds)) - 1]
    value, grade = kinds[told]
    unused = k == 1 or solver in ("eig", "eig-paper")
    return Piece(value, EDGE if unused else grade, told)


def shares(rng, k):
    """Sizes of clusters, as a piece."""
    values = [np.full(k, 1 / max(k, 1)), [1.0], [0.5, 0.6], [0.9, 0.1], [1.0, 0.0], [2.0, -1.0]]
    values += [[np.nan, np.nan], ["a", "b"], [None, None], [[0.5, 0.5]], [1e-300, 1.0], []]
    return Piece(values[rng.integers(len(values))], EDGE, "an array")


def parameters(rng, name, n_samples, hostile):
    """Parameters by name, as pieces."""
    _, defaults, constraints, _ = estimator_of(name)
    quick = {**{k: v for k, v in QUICK.items() if k in defaults}, **QUICK_OF.get(name, {})}
    pieces = {key: Piece(value, FINE, "quick") for key, value in quick.items()}
    others = [key for key in defaults if key not in ("n_clusters", *SLOW)]
    chosen = set(rng.choice(others, size=1 + rng.integers(2))) if "parameter" in hostile else ()
    if "n_clusters" in defaults:
        chooses = defaults["n_clusters"] is None and rng.random() < 0.3
        pieces["n_clusters"] = (
            Piece(None, EDGE, "to be chosen")
            if chooses
            else n_clusters(rng, n_samples, "n_clusters" in hostile)
        )
    for key in others:
        if key in chosen or rng.random() < 0.2:
            pieces[key] = parameter(
                rng, key, constraints[key], defaults[key], n_samples, key in chosen
            )
    k = number_of_clusters(pieces)
    if "init" in defaults and rng.random() < 0.15:
        solver = pieces["solver"].value if "solver" in pieces else None
        pieces["init"] = labels_to_start_from(rng, n_samples, k, solver)
    if "shares" in chosen:
        pieces["shares"] = shares(rng, k)
    return pieces


def number_of_clusters(params):
    """Number of clusters asked for; 2 where none is."""
    asked = params["n_clusters"].value if "n_clusters" in params else None
    return 2 if asked is None else int(asked)
