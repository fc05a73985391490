"""What the words of AutoClustering are worth: on tables without clusters, and on labelled sets.

    python benchmarks/choices/selection.py measure --fast
    python benchmarks/choices/trust.py measure [--part P] [--nulls 200]
    python benchmarks/choices/trust.py report --part development

`measure` fits AutoClustering to tables without clusters and keeps what it says in
benchmarks/results/trust, one JSON file each, beside the p-values of labelled sets. `report` reads
them, and what `selection.py measure` kept of the labelled sets (with --fast it measures no more
than that), prints the figures and writes them to trust.json. The test for structure does not
depend on the number of clusters that is asked for, so that one fit tells what another number would
have been told. The curve at the end shows what another level of the test would have made of the
numbers of clusters. Its p-values are against all kinds of tables without clusters, where the test
itself ends at the first kind that looks like the samples.

Rules are settled on the development half, tables of even numbers and the development part of
selection.py; the confirmation half is read once, at the end. It has kinds of tables that the
development half has not, and each look at it is noted as by selection.py.
"""

import argparse
import json
import sys
import warnings
from functools import partial
from pathlib import Path

import joblib
import numpy as np

from separatrix import AutoClustering
from separatrix.selection.auto import MAX_SAMPLES
from separatrix.validity.structure import LEVEL, structure_of_samples

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from output import heading
from selection import PARTS, VISIBLE, note_look, read, stored

RESULTS = Path(__file__).resolve().parent.parent / "results" / "trust"
HALVES = {"development": ["development"], "confirmation": ["confirmation", "third"]}
# Tables of the confirmation half have numbers from here on.
FRESH = 1_000
LEVELS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0)
WORDS = ("strong", "moderate", "weak", "unsure", "unknown", "none")
TRUSTED = WORDS[:2]


# --- tables without clusters --------------------------------------------------------------------


def stretched(rng, n, d):
    """One Gaussian, some axes of which are longer than the others."""
    X = rng.normal(size=(n, d))
    X[:, : rng.integers(1, max(2, d // 3) + 1)] *= rng.uniform(2, 8)
    return X @ np.linalg.qr(rng.normal(size=(d, d)))[0] if rng.random() < 0.5 else X


def uniform(rng, n, d):
    """A box of equal or different sides."""
    sides = np.exp(rng.uniform(-1, 1, size=d)) if rng.random() < 0.5 else 1
    return rng.random((n, d)) * sides


def heavy_tails(rng, n, d):
    """A t-distribution of three to six degrees of freedom, of the rows or of each column."""
    freedom = int(rng.integers(3, 7))
    shape = (n, 1) if rng.random() < 0.5 else (n, d)
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(freedom, size=shape) / freedom)


def correlated(rng, n, d):
    """Columns of unit variance with a few common factors."""
    n_factors = max(1, d // 4)
    factors = rng.normal(size=(n, n_factors)) @ rng.normal(size=(n_factors, d))
    X = rng.normal(size=(n, d)) + rng.uniform(0.5, 2) * factors
    return X / X.std(axis=0)


def categories(rng, n, n_categories):
    """Categories of two to six levels, one-hot, independent of each other."""
    columns = []
    for _ in range(n_categories):
        n_levels = int(rng.integers(2, 7))
        level = rng.choice(n_levels, n, p=rng.dirichlet(np.full(n_levels, 3.0)))
        columns.append(np.eye(n_levels)[level] if n_levels > 2 else level[:, None])
    return np.hstack(columns).astype(np.float64)


def one_hot(rng, n, d):
    X = categories(rng, n, max(2, d // 3))
    return X / np.maximum(X.std(axis=0), 1e-9) if rng.random() < 0.5 else X


def mixed(rng, n, d):
    """Normal, skewed and uniform columns of unit variance beside categories."""
    kinds = [rng.normal(size=(n, d)), rng.lognormal(sigma=0.6, size=(n, d)), rng.random((n, d))]
    numbers = np.array(kinds)[rng.integers(3, size=d), :, np.arange(d)].T
    return np.hstack([numbers / numbers.std(axis=0), one_hot(rng, n, max(1, d // 4))])


def skewed(rng, n, d):
    """Gamma distributions, each of a shape of its own."""
    return rng.gamma(rng.uniform(0.7, 4, size=d), size=(n, d))


def ball(rng, n, d):
    """The inside of a ball."""
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def contaminated(rng, n, d):
    """A Gaussian, of which some samples are spread wider."""
    return rng.normal(size=(n, d)) * np.where(rng.random((n, 1)) < 0.1, 3, 1)


def counts(rng, n, d):
    """Poisson counts with a common rate for each sample."""
    rates = np.exp(rng.normal(size=(n, 1)) * rng.uniform(0, 0.5) + rng.uniform(0, 3, size=d))
    return rng.poisson(rates).astype(np.float64)


NULLS = {
    "stretched": stretched,
    "uniform": uniform,
    "t": heavy_tails,
    "correlated": correlated,
    "one-hot": one_hot,
    "mixed": mixed,
}
# Kinds that nothing was settled on.
OTHER_NULLS = {"skewed": skewed, "ball": ball, "contaminated": contaminated, "counts": counts}


def null_table(number):
    """Kind and samples of a table without clusters."""
    rng = np.random.default_rng(number)
    n_samples = int(np.exp(rng.uniform(np.log(100), np.log(2_000))))
    n_features = round(np.exp(rng.uniform(np.log(2), np.log(30))))
    kinds = NULLS if number < FRESH else NULLS | OTHER_NULLS
    kind = list(kinds)[number // 2 % len(kinds)]
    X = kinds[kind](rng, n_samples, n_features)
    return kind, X[:, X.std(axis=0) > 0]


# --- measuring ----------------------------------------------------------------------------------


def told_by(model):
    """What a fitted model says."""
    return {
        "word": model.agreement_words_.split(":")[0],
        "words": model.agreement_words_,
        "n_clusters": model.n_clusters_,
        "plausible": getattr(model, "plausible_n_clusters_", None),
        "agreement": model.agreement_,
        "family agreement": model.candidates_.family_agreement,
        "spacing": model.spacing_,
        "p": model.structure_.p_value,
        "statistic": model.structure_.statistic,
        "measures": model.structure_.measures,
    }


def measure_null(number):
    """What is said of a table without clusters; of two clusters, if there are some."""
    kind, X = null_table(number)
    model = AutoClustering().fit(X)
    record = {"name": f"null {number}", "kind": kind, "shape": X.shape, "any": told_by(model)}
    two = told_by(AutoClustering(2).fit(X)) if model.structure_.has_clusters else record["any"]
    return record | {"two": two, "largest p": largest_p_value(X, model.structure_.p_value)}


def largest_p_value(X, p_value):
    """The p-value of a test had it been compared with all kinds of tables, where levels differ."""
    if p_value < LEVEL or p_value >= LEVELS[-2]:  # all were, or others change no finding
        return p_value
    rng = np.random.RandomState(0)  # as an AutoClustering without a seed of its own
    seen = np.sort(rng.permutation(len(X))[: MAX_SAMPLES["fast"]])
    return max(p_value, structure_of_samples(X[seen], None, rng, level=1.0).p_value)


def measure_set(name, rows):
    p_value = joblib.load(stored(name, rows, 0))["fast"]["p"]
    return {"name": name, "largest p": largest_p_value(read(name, rows)[0], p_value)}


def measure(part, n_nulls, rows):
    warnings.simplefilter("ignore")  # degenerate runs count as they are
    RESULTS.mkdir(parents=True, exist_ok=True)
    numbers = numbers_of(part, n_nulls)
    tasks = {f"null_{number}": partial(measure_null, number) for number in numbers}
    names = [name for own in HALVES[part] for name in PARTS[own]]
    known = [name for name in names if stored(name, rows, 0).exists()]
    tasks |= {path_of_set(name).stem: partial(measure_set, name, rows) for name in known}
    for name, task in tasks.items():
        path = RESULTS / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(task()))
            print("measured", path.stem, flush=True)


def path_of_set(name):
    return RESULTS / f"set_{name.replace(':', '_')}.json"


def numbers_of(part, n_nulls):
    """Numbers of half of the tables."""
    first = 0 if part == "development" else FRESH
    return range(first, first + n_nulls, 2)


# --- reading ------------------------------------------------------------------------------------


def share(values):
    values = list(values)
    return float(np.mean(values)) if values else np.nan


def labelled_set(name, part, rows):
    """What was found in a labelled set; None where it was not measured."""
    path, tested = stored(name, rows, 0), path_of_set(name)
    if not path.exists() or not tested.exists():
        print(f"not measured{' by selection.py' * (not path.exists())}: {name}")
        return None
    one = joblib.load(path)
    found = one["fast"]
    return {
        "name": name,
        "part": part,
        "k": one["k"],
        "ARI": one["ARI"]["fast"],
        "best ARI": float(found["ARI"].max()),
        "word": found["words"].split(":")[0],
        "p": found["p"],
        "largest p": json.loads(tested.read_text())["largest p"],
        "number": one.get("choice", {}).get("without the test"),
    }


def report(part, n_nulls, rows):
    """Print the figures of a half, and return them."""
    paths = [RESULTS / f"null_{number}.json" for number in numbers_of(part, n_nulls)]
    nulls = [json.loads(path.read_text()) for path in paths if path.exists()]
    names = [(name, own) for own in HALVES[part] for name in PARTS[own]]
    sets = [one for named in names if (one := labelled_set(*named, rows)) is not None]
    heading(f"{part}: {len(nulls)} tables without clusters, {len(sets)} labelled sets")
    figures = {"level": LEVEL, "n_nulls": len(nulls), "n_sets": len(sets)}
    figures |= null_figures(nulls) | labelled_figures(sets)
    for name, value in figures.items():
        print(f"{name:64}{value:8.3f}" if isinstance(value, float) else f"{name:64}{value!s:>8}")
    for one in nulls:
        if one["any"]["n_clusters"] > 1:
            p, words = one["any"]["p"], (one["any"]["word"], one["two"]["word"])
            print(f"  clusters in {one['name']}, {one['kind']}, {one['shape']}: p {p:.3f}", *words)
    for one in sets:
        if one["p"] >= LEVEL:
            scores = f"{one['best ARI']:.2f}, result {one['ARI']:.2f}"
            print(f"  no clusters in {one['name']}: p {one['p']:.3f}, best candidate {scores}")
    return figures | {"levels": level_figures(nulls, sets)}


def level_figures(nulls, sets):
    """Print what each level of the test would make of tables and numbers of clusters."""
    known = [one for one in sets if one["number"]]
    parts = list(dict.fromkeys(one["part"] for one in known))
    visible = [one for one in sets if one["best ARI"] > VISIBLE]
    print("of tables without clusters: none; of sets: right number, of those that candidates find "
          f"(ARI above {VISIBLE}) and of those with clusters by the test")  # fmt: skip
    print(f"{'level':>7}{'none':>7}", *(f"{part:>13}" for part in parts), end=" ")
    print(f"{'all':>7}{'that are found':>16}{'with clusters':>15}{'found but none':>16}")
    figures = {}
    for level in LEVELS:

        def right(sets, level=level):
            return share(one["number"] == one["k"] and one["largest p"] < level for one in sets)

        row = {"none": share(one["largest p"] >= level for one in nulls)}
        row |= {part: right([one for one in known if one["part"] == part]) for part in parts}
        row |= {
            "all": right(known),
            "that are found": right([one for one in known if one["best ARI"] > VISIBLE]),
            "with clusters": right([one for one in known if one["largest p"] < level]),
            "found but none": share(one["largest p"] >= level for one in visible),
        }
        figures[level] = row
        print(f"{level:7}{row['none']:7.1%}", *(f"{row[part]:13.1%}" for part in parts), end=" ")
        print(f"{row['all']:7.1%}{row['that are found']:16.1%}{row['with clusters']:15.1%}"
              f"{row['found but none']:16.1%}")  # fmt: skip
    return figures


def null_figures(nulls):
    figures = {}
    for asked, text in (("two", "n_clusters=2"), ("any", "n_clusters=None")):
        words = [one[asked]["word"] for one in nulls]
        figures[f"nulls: strong, {text}"] = share(word == "strong" for word in words)
        figures[f"nulls: strong or moderate, {text}"] = share(word in TRUSTED for word in words)
    figures["nulls: no clusters, n_clusters=None"] = share(
        one["any"]["n_clusters"] == 1 for one in nulls
    )
    figures["nulls: several clusters and no other number comes near"] = share(
        one["any"]["n_clusters"] > 1 and len(one["any"]["plausible"]) == 1 for one in nulls
    )
    for kind in dict.fromkeys(one["kind"] for one in nulls):
        own = [one for one in nulls if one["kind"] == kind]
        figures[f"nulls: no clusters, {kind}"] = share(
            one["any"]["n_clusters"] == 1 for one in own
        )
    return figures


def labelled_figures(sets):
    figures = {}
    for word in WORDS:
        own = [one["ARI"] for one in sets if one["word"] == word]
        figures[f"labelled: sets called {word}"] = len(own)
        figures[f"labelled: mean ARI where {word}"] = share(own)
    found = [one for one in sets if one["ARI"] > 0.8]
    figures["labelled: sets with ARI above .8"] = len(found)
    figures["labelled: of these strong or moderate"] = share(
        one["word"] in TRUSTED for one in found
    )
    visible = [one for one in sets if one["best ARI"] > VISIBLE]
    figures["labelled: sets that a candidate finds with ARI above .5"] = len(visible)
    figures["labelled: of these no clusters, n_clusters=None"] = share(
        one["p"] >= LEVEL for one in visible
    )
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["measure", "report"])
    parser.add_argument("--part", choices=list(HALVES), default="development")
    parser.add_argument("--rows", type=int, default=10_000, help="as selection.py measured")
    parser.add_argument("--nulls", type=int, default=200, help="tables without clusters, in all")
    parser.add_argument("--again", help="why a half is read with other rules than before")
    options = parser.parse_args()
    if options.action == "measure":
        measure(options.part, options.nulls, options.rows)
        return
    for part in HALVES[options.part]:
        note_look(part, options.again)
    path = RESULTS / "trust.json"
    figures = json.loads(path.read_text()) if path.exists() else {}
    figures[options.part] = report(options.part, options.nulls, options.rows)
    path.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
