"""How should columns of different kinds be weighed? Mean ARI of four rules on mixed tables.

    python benchmarks/choices/tables.py            # ten measured tables, and made-up ones
    python benchmarks/choices/tables.py --smoke    # one of each, in seconds

Rules for the indicators of a category beside numbers of variance one: as they are; each of
variance one; scaled together so that the column has variance one; each of variance one over
their number, so that the column has variance one as well and rare categories count like others.
Each table is drawn several times, four fifths of its rows each time. The made-up tables have
three groups in six numbers, and categories of chance beside them.
"""

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from separatrix import AutoClustering
from separatrix.tables import TablePreparer

sys.path.insert(0, str(Path(__file__).parent.parent))
from data import folder

MEASURED = ("australian", "breast_cancer", "colic", "credit_a", "credit_g", "heart_c", "heart_h")
MEASURED += ("hepatitis", "solar_flare", "titanic")
LEVELS = (2, 6, 18)  # of the categories of chance
DRAWS = 3


def measured(name):
    """Table and classes of a data set; columns without an order are texts."""
    with np.load(folder() / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(float), file["y"]
        nominal = file["nominal"] if "nominal" in file else np.full(X.shape[1], name == "titanic")
    columns = {}
    for j, is_nominal in enumerate(nominal):
        two = len(np.unique(X[:, j])) == 2
        columns[f"c{j}"] = [f"v{value:g}" for value in X[:, j]] if is_nominal or two else X[:, j]
    return pd.DataFrame(columns), y


def made_up(n_levels, seed):
    """Three groups in six numbers, and two categories that have nothing to do with them."""
    rng = np.random.RandomState(seed)
    X, y = make_blobs(400, 6, centers=3, cluster_std=5.0, random_state=rng)
    table = pd.DataFrame({f"x{j}": column for j, column in enumerate(X.T)})
    for j in range(2):
        table[f"chance{j}"] = [f"v{value}" for value in rng.randint(n_levels, size=len(X))]
    return table, y


def as_they_are(spread):
    return np.ones_like(spread)


def each_one(spread):
    return spread


def together(spread):
    return np.full_like(spread, np.sqrt(np.sum(spread**2)))


def by_number(spread, share=1):
    return spread * np.sqrt(len(spread) / share)


RULES = {"as is": as_they_are, "each": each_one, "together": together, "by number": by_number}
RULES |= {"half": partial(by_number, share=1 / 2), "quarter": partial(by_number, share=1 / 4)}


def features(table, rule):
    """Features of a table, its indicators divided as a rule says."""
    preparer = TablePreparer(standardize=False).fit(table)
    values = preparer.in_units(table)
    values = values - values.mean(axis=0)
    spread = values.std(axis=0)
    unit = spread.copy()
    for column in np.unique(preparer.source_columns_[preparer.are_shares_]):
        own = preparer.source_columns_ == column
        unit[own] = RULES[rule](spread[own])
    return values / np.where(unit > 0, unit, 1)


def tables(smoke):
    """Names and tables with their classes, each table several times."""
    names, levels, draws = (MEASURED[5:6], LEVELS[:1], 1) if smoke else (MEASURED, LEVELS, DRAWS)
    for name in names:
        table, y = measured(name)
        rows = [np.random.RandomState(seed).permutation(len(y)) for seed in range(draws)]
        rows = [np.sort(one[: 4 * len(y) // 5]) for one in rows]
        yield name, [(table.iloc[one], y[one]) for one in rows]
    for n_levels in levels:
        yield f"chance, {n_levels}", [made_up(n_levels, seed) for seed in range(draws)]


def mean_score(method, rule, drawn):
    """Mean adjusted Rand index over the draws of a table."""
    scores = []
    for seed, (table, y) in enumerate(drawn):
        k = len(np.unique(y))
        model = (
            KMeans(k, n_init=10, random_state=seed)
            if method == "k-means"
            else AutoClustering(k, random_state=seed)
        )
        scores.append(adjusted_rand_score(y, model.fit_predict(features(table, rule))))
    return np.mean(scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="one table of each kind, once")
    smoke = parser.parse_args().smoke
    warnings.simplefilter("ignore")
    cells = [(method, rule) for method in ("k-means", "auto") for rule in RULES]
    print(f"{'':14}" + "".join(f"{method:>10}" for method, _ in cells))
    print(f"{'':14}" + "".join(f"{rule:>10}" for _, rule in cells))
    found = {}
    for name, drawn in tables(smoke):
        found[name] = [mean_score(*cell, drawn) for cell in cells]
        print(f"{name:14}" + "".join(f"{score:10.3f}" for score in found[name]), flush=True)
    for kind, is_made_up in (("measured", False), ("chance", True)):
        rows = [row for name, row in found.items() if name.startswith("chance") == is_made_up]
        print(f"{kind:14}" + "".join(f"{score:10.3f}" for score in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
