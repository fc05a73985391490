"""Samples: tables of numbers, the containers that hold them, and others to predict."""

import warnings

import dask.array
import numpy as np
import pandas
import polars
import scipy.sparse as sp

from .pieces import BAD, EDGE, FINE, Piece

# --- tables -------------------------------------------------------------------------------------


def blobs(rng, n, d):
    return 8 * rng.normal(size=(3, d))[np.arange(n) % 3] + rng.normal(size=(n, d))


def cloud(rng, n, d):
    return rng.normal(size=(n, d))


def duplicates(rng, n, d):
    return rng.normal(size=(rng.integers(2, 6), d))[rng.integers(2, size=n)]


def few_distinct(rng, n, d):
    n_distinct = int(rng.integers(3, 8))
    return rng.normal(size=(n_distinct, d))[rng.integers(n_distinct, size=n)]


def constant(rng, n, d):
    return np.full((n, d), rng.choice([0.0, 1.0, -3.7, 1e150]))


def one_hot(rng, n, d):
    return np.eye(max(d, 1))[np.arange(n) % max(d, 1)][:, :d]


def blocks(rng, n, d):
    return np.kron(np.eye(3), np.ones((n // 3 + 1, d // 3 + 1)))[:n, :d]


def collinear(rng, n, d):
    return np.outer(rng.normal(size=n), rng.normal(size=d))


def lattice(rng, n, d):
    return rng.integers(-2, 3, size=(n, d)).astype(float)


def outlier(rng, n, d):
    X = cloud(rng, n, d)
    X[:1] = 1e8
    return X


def far_away(rng, n, d):
    return cloud(rng, n, d) + 1e9


def constant_column(rng, n, d):
    X = cloud(rng, n, d)
    X[:, :1] = 5.0
    return X


def scaled(scale):
    def table(rng, n, d):
        return blobs(rng, n, d) * scale

    table.__name__ = f"blobs times {scale:g}"
    return table


def mixed_scales(rng, n, d):
    return cloud(rng, n, d) * 10.0 ** rng.integers(-200, 200, size=d)


def holed(value):
    def table(rng, n, d):
        X = cloud(rng, n, d)
        X.flat[rng.integers(X.size)] = value
        return X

    table.__name__ = f"one {value}"
    return table


FINE_TABLES = [blobs, blobs, cloud]
EDGE_TABLES = [
    duplicates,
    few_distinct,
    constant,
    one_hot,
    blocks,
    collinear,
    lattice,
    outlier,
    far_away,
    constant_column,
    mixed_scales,
    *map(scaled, (1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300)),
]
BAD_TABLES = [holed(np.nan), holed(np.inf), holed(-np.inf)]

EDGE_SHAPES = [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (4, 2), (5, 40), (60, 6), (60, 1)]
BAD_SHAPES = [(0, 0), (0, 3), (3, 0)]


def table_and_shape(rng, hostile, max_rows):
    """Samples in double precision, their grade and what they are."""
    n, d = int(rng.integers(8, max_rows)), int(rng.integers(1, 7))
    tables, grade = FINE_TABLES, FINE
    if "values" in hostile:
        tables, grade = (BAD_TABLES, BAD) if rng.random() < 0.15 else (EDGE_TABLES, EDGE)
    if "shape" in hostile:
        shapes, worse = (BAD_SHAPES, BAD) if rng.random() < 0.3 else (EDGE_SHAPES, EDGE)
        n, d = shapes[rng.integers(len(shapes))]
        grade = max(grade, worse)
    table = tables[rng.integers(len(tables))]
    if n * d == 0:
        return np.zeros((n, d)), BAD, f"{n} x {d}"
    return table(rng, n, d), grade, f"{n} x {d} {table.__name__}"


def seen_by(kernel, rows, grade):
    """Samples that a kernel takes, and their grade."""
    if kernel == "chi2":
        return abs(rows), grade
    if kernel == "cosine" and rows.shape[1] == 1:
        # of a single feature it sees the sign only, so that positive samples are all one to it
        return rows, max(grade, EDGE)
    return rows, grade


# --- containers ---------------------------------------------------------------------------------


def strided(X):
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


def backwards(X):
    return X[::-1, ::-1].copy()[::-1, ::-1]


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def frame(X):
    return pandas.DataFrame(X, columns=[f"feature {i}" for i in range(X.shape[1])])


def frame_with_text(X):
    return frame(X).assign(words=["a", "b"] * (len(X) // 2) + ["c"] * (len(X) % 2))


def frame_with_missing(X):
    table = frame(X).astype("Float64")
    table.iloc[0, 0] = pandas.NA
    return table


def dask_blocks(X):
    return dask.array.from_array(X, chunks=(max(1, len(X) // 2), max(1, X.shape[1])))


def dask_tiles(X):
    return dask.array.from_array(X, chunks=(max(1, len(X) // 2), 1))


def cast(dtype):
    def container(X):
        with np.errstate(all="ignore"):
            return X.astype(dtype)

    container.__name__ = str(dtype)
    return container


def words(X):
    return np.full(X.shape, "word")


def timestamps(X):
    with np.errstate(all="ignore"):
        return X.astype(np.int64).astype("datetime64[s]")


def objects(X):
    return X.astype(object)


def objects_with_none(X):
    X = X.astype(object)
    X[0, 0] = None
    return X


def masked(X):
    return np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool))


def matrix(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(X)


def rows_of_different_length(X):
    rows = X.tolist()
    rows[0] = rows[0] + [1.0]
    return rows


def first_column(X):
    return X[:, 0]


def cube(X):
    return X[:, :, None]


def scalar(X):
    return 3.0


def nothing(X):
    return None


def a_word(X):
    return "samples"


def as_list(X):
    return X.tolist()


# The values stay the same, and so must the answer be.
FINE_CONTAINERS = [np.asfortranarray, strided, backwards, read_only, frame, polars.DataFrame]
FINE_CONTAINERS += [as_list, objects]
SPARSE = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.lil_array]
FORGETFUL = [timestamps, *map(cast, ["int64", "int8", "uint8", "bool"])]  # of what is not finite
EDGE_CONTAINERS = [*SPARSE, dask_blocks, dask_tiles, masked, *FORGETFUL]
EDGE_CONTAINERS += map(cast, ["float32", "float16", "longdouble", "U"])
BAD_CONTAINERS = [words, cast("complex"), objects_with_none, frame_with_text, frame_with_missing]
BAD_CONTAINERS += [first_column, cube, scalar, nothing, a_word, rows_of_different_length, matrix]


def contained(rng, rows, grade, told, hostile):
    """Samples in a container, as a piece."""
    if "container" not in hostile:
        return Piece(rows, grade, told)
    draw = rng.random()
    kinds, worse = (
        (FINE_CONTAINERS, FINE)
        if draw < 0.35
        else (EDGE_CONTAINERS, EDGE)
        if draw < 0.8 or rows.size == 0
        else (BAD_CONTAINERS, BAD)
    )
    kind = kinds[rng.integers(len(kinds))]
    if kind not in FORGETFUL or rows.size == 0:
        worse = max(grade, worse)
    return Piece(kind(rows), worse, f"{told} as {kind.__name__}")


# --- similarities -------------------------------------------------------------------------------


def similarities(rng, rows, told, grade, hostile):
    """A matrix of similarities of the samples, for precomputed kernels and graphs."""
    with np.errstate(all="ignore"):
        distance = ((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
        typical = distance.mean() if distance.size and np.isfinite(distance).all() else 0.0
        K = np.exp(-distance / (typical or 1.0))
    if "values" in hostile and len(K) > 1 and np.isfinite(K).all():
        kinds = {
            "not symmetric": np.triu(K + 0.5),
            "negative": -K,
            "indefinite": K - 0.5,
            "zero": np.zeros_like(K),
            "identity": np.eye(len(K)),
            "blocks": np.kron(np.eye(2), np.ones((len(K), len(K))))[::2, ::2],
            "huge": K * 1e300,
            "tiny": K * 1e-300,
            "not square": K[:, :-1],
        }
        told = list(kinds)[rng.integers(len(kinds))]
        bad = told in ("not square", "not symmetric")
        return kinds[told], BAD if bad else EDGE, f"similarities, {told}"
    return K, max(grade, FINE if np.isfinite(K).all() else BAD), f"similarities of {told}"


# --- samples to predict -------------------------------------------------------------------------


def probe(rng, case_rows, X, precomputed, hostile):
    """Samples to predict after the fit, as a piece."""
    if precomputed or case_rows.size == 0:
        return Piece(case_rows, FINE, "the same")
    if not hostile:
        kinds = [*FINE_CONTAINERS, *SPARSE[:3]]
        kind = kinds[rng.integers(len(kinds))]
        edge = kind in SPARSE or X.value is not case_rows
        return Piece(kind(case_rows), EDGE if edge else FINE, f"the same as {kind.__name__}")
    d = case_rows.shape[1]
    kinds = {
        "new samples": (rng.normal(size=(7, d)), EDGE),
        "one sample": (case_rows[:1], EDGE),
        "huge": (rng.normal(size=(3, d)) * 1e300, EDGE),
        "large": (rng.normal(size=(3, d)) * 1e100, EDGE),
        "tiny": (rng.normal(size=(3, d)) * 1e-300, EDGE),
        "float32": (rng.normal(size=(3, d)).astype(np.float32), EDGE),
        "whole numbers": (rng.integers(-3, 3, size=(4, d)), EDGE),
        "dask": (dask_blocks(rng.normal(size=(5, d))), EDGE),
        "none": (np.zeros((0, d)), BAD),
        "other width": (np.zeros((3, d + 1)), BAD),
        "nan": (np.full((3, d), np.nan), BAD),
        "infinite": (np.full((3, d), np.inf), BAD),
        "text": (np.full((3, d), "word"), BAD),
        "one dimension": (np.zeros(d), BAD),
        "complex": (np.ones((3, d)) * 1j, BAD),
        "nothing": (None, BAD),
    }
    told = list(kinds)[rng.integers(len(kinds))]
    return Piece(*kinds[told], told)
