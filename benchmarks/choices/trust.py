"""What the words of AutoClustering are worth: on tables without clusters, and on labelled sets.

    python benchmarks/choices/trust.py measure [--part P] [--rows 1000] [--nulls 200]
    python benchmarks/choices/trust.py report --part development

`measure` fits AutoClustering to tables without clusters and to labelled sets and keeps what it
says in benchmarks/results/trust, one JSON file each. `report` reads them, prints the figures and
writes them to trust.json. The test for structure does not depend on the number of clusters that
is asked for, so that one fit tells what another number would have been told. Numbers of clusters
without the test are those that selection.py measured, where it did.

Rules are settled on the development half, tables of even numbers and the development part of
selection.py; the confirmation half is read once, at the end.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
from sklearn.metrics import adjusted_rand_score

from separatrix import AutoClustering
from separatrix.validity.structure import LEVEL

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from output import heading
from selection import MAX_CLUSTERS, PARTS, read, stored

RESULTS = Path(__file__).resolve().parent.parent / "results" / "trust"
HALVES = {
    "development": PARTS["development"],
    "confirmation": [name for part in PARTS if part != "development" for name in PARTS[part]],
}
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


NULLS = {
    "stretched": stretched,
    "uniform": uniform,
    "t": heavy_tails,
    "correlated": correlated,
    "one-hot": one_hot,
    "mixed": mixed,
}


def null_table(number):
    """Kind and samples of a table without clusters."""
    rng = np.random.default_rng(number)
    n_samples = int(np.exp(rng.uniform(np.log(100), np.log(2_000))))
    n_features = round(np.exp(rng.uniform(np.log(2), np.log(30))))
    kind = list(NULLS)[number // 2 % len(NULLS)]
    X = NULLS[kind](rng, n_samples, n_features)
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
    return record | {"two": two}


def measure_set(name, rows):
    X, y, counts = read(name, rows)
    n_classes = len(np.unique(y[counts]))

    def score(labels):
        return adjusted_rand_score(y[counts], labels[counts])

    model = AutoClustering(n_classes).fit(X)
    candidates = [score(labels) for labels in model.candidates_.labels]
    record = {"name": name, "kind": "labelled", "shape": X.shape, "k": n_classes}
    record |= {"ARI": score(model.labels_), "best ARI": max(candidates)}
    return record | {"given": told_by(model), "chosen": chosen_before(name)}


def chosen_before(name):
    """Number of clusters that selection.py measured; None where it did not."""
    path = stored(name, 10_000, 0)
    return joblib.load(path).get("choice", {}).get("chosen") if path.exists() else None


def measure(part, rows, n_nulls):
    warnings.simplefilter("ignore")  # degenerate runs count as they are
    RESULTS.mkdir(parents=True, exist_ok=True)
    tasks = {f"null_{i}": (measure_null, i) for i in numbers_of(part, n_nulls)}
    tasks |= {name.replace(":", "_"): (measure_set, name, rows) for name in HALVES[part]}
    for name, (task, *arguments) in tasks.items():
        path = RESULTS / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(task(*arguments)))
            print("measured", name, flush=True)


def numbers_of(part, n_nulls):
    return range(0 if part == "development" else 1, n_nulls, 2)


# --- reading ------------------------------------------------------------------------------------


def share(values):
    values = list(values)
    return float(np.mean(values)) if values else np.nan


def report(part, n_nulls):
    """Print the figures of a half, and return them."""
    names = [f"null_{i}" for i in numbers_of(part, n_nulls)]
    names += [name.replace(":", "_") for name in HALVES[part]]
    paths = [RESULTS / f"{name}.json" for name in names]
    records = [json.loads(path.read_text()) for path in paths if path.exists()]
    nulls = [one for one in records if one["kind"] != "labelled"]
    sets = [one for one in records if one["kind"] == "labelled"]
    heading(f"{part}: {len(nulls)} tables without clusters, {len(sets)} labelled sets")
    figures = {"n_nulls": len(nulls), "n_sets": len(sets)}
    figures |= null_figures(nulls) | labelled_figures(sets)
    for name, value in figures.items():
        print(f"{name:64}{value:8.3f}" if isinstance(value, float) else f"{name:64}{value!s:>8}")
    for one in nulls:
        if one["any"]["n_clusters"] > 1:
            p, words = one["any"]["p"], (one["any"]["word"], one["two"]["word"])
            print(f"  clusters in {one['name']}, {one['kind']}, {one['shape']}: p {p:.3f}", *words)
    for one in sets:
        if not has_clusters(one):
            p, scores = one["given"]["p"], f"{one['best ARI']:.2f}, result {one['ARI']:.2f}"
            print(f"  no clusters in {one['name']}: p {p:.3f}, best candidate {scores}")
    return figures


def has_clusters(one):
    """Whether the test found clusters in a labelled set."""
    return one["given"]["p"] < LEVEL


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
    for kind in NULLS:
        own = [one for one in nulls if one["kind"] == kind]
        figures[f"nulls: no clusters, {kind}"] = share(
            one["any"]["n_clusters"] == 1 for one in own
        )
    return figures


def labelled_figures(sets):
    figures = {}
    for word in WORDS:
        own = [one["ARI"] for one in sets if one["given"]["word"] == word]
        figures[f"labelled: sets called {word}"] = len(own)
        figures[f"labelled: mean ARI where {word}"] = share(own)
    found = [one for one in sets if one["ARI"] > 0.8]
    figures["labelled: sets with ARI above .8"] = len(found)
    figures["labelled: of these strong or moderate"] = share(
        one["given"]["word"] in TRUSTED for one in found
    )
    visible = [one for one in sets if one["best ARI"] > 0.5]
    figures["labelled: sets that a candidate finds with ARI above .5"] = len(visible)
    figures["labelled: of these no clusters, n_clusters=None"] = share(
        not has_clusters(one) for one in visible
    )
    known = [one for one in sets if one["k"] <= MAX_CLUSTERS and one["chosen"]]
    figures["labelled: sets of at most ten classes"] = len(known)
    figures["labelled: right number of clusters"] = share(
        one["chosen"] == one["k"] and has_clusters(one) for one in known
    )
    figures["labelled: right number without the test"] = share(
        one["chosen"] == one["k"] for one in known
    )
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["measure", "report"])
    parser.add_argument("--part", choices=list(HALVES), default="development")
    parser.add_argument("--rows", type=int, default=1_000, help="most rows of a labelled set")
    parser.add_argument("--nulls", type=int, default=200, help="tables without clusters, in all")
    options = parser.parse_args()
    if options.action == "measure":
        measure(options.part, options.rows, options.nulls)
        return
    path = RESULTS / "trust.json"
    figures = json.loads(path.read_text()) if path.exists() else {}
    figures[options.part] = report(options.part, options.nulls)
    path.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
