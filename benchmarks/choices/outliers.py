"""Outliers found in sets with noise, beside HDBSCAN: precision, recall and ARI of the rest.

    python benchmarks/choices/outliers.py --methods KernelKMeans TreeCutClustering --sets hdbscan

The sets of the suite whose labels tell noise, and others with a share of uniform noise planted in
a box around them; of larger ones 500 rows. `outliers` is the true share, or "auto"; HDBSCAN has
its default and two other least sizes of clusters. A method is told the number of clusters. The ARI
is that of the rows that are neither noise nor called outliers, with the fit that leaves outliers
out and, on the same rows, with that which does not. Beside it stands what a method gains if just
the noise is left out by hand: no search for outliers can be better. Figures are means over draws
of the rows and of the noise, and the error is that of the mean gain. Clean samples, Gaussian and
evenly spread, tell how many rows "auto" calls outliers where there are none.

Without --sets, the results are kept in benchmarks/results/outliers/noise.json, from which
docs/fill_figures.py writes the tables of docs/outliers.md. The relaxations by semidefinite
programs, the mixtures of labellings and cutting planes are not among the methods: they are slow.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

import separatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import data
from output import heading

# Development: the measure and its number of neighbours were chosen on the first two alone.
NOISY = ("ring_noisy", "chameleon_t4_8k", "ring_outliers", "chameleon_t7_10k", "hdbscan")
PLANTED = ("lsun", "tetra", "x3", "iris", "wine")
SHARE, BOX = 0.05, 1.5  # of the rows that are planted, in units of the range of features
MOST_ROWS = 500
CHANCE = 2  # standard errors of the gain, paired over draws
METHODS = (
    "AutoClustering",
    "DiscriminativeKMeans",
    "InformationMaximizationClustering",
    "KernelKMeans",
    "LDAKMeans",
    "MaximinSeparationClustering",
    "MaximumMarginClustering",
    "MaximumVolumeClustering",
    "RegularizedLeastSquaresClustering",
    "SquaredLossMutualInformationClustering",
    "TreeCutClustering",
)
LEAST_SIZES = (5, 15, 50)
RESULTS = Path(__file__).resolve().parents[1] / "results" / "outliers" / "noise.json"


def loaded(name):
    """Samples and their classes, -1 for noise."""
    folder = data.folder() / "clustering_v1"
    (path,) = sorted(folder.glob(f"*-{name}.npz"))
    with np.load(path) as file:
        labels = [file[key] for key in file if key.startswith("y")]
        X = file["X"].astype(np.float64)
    y = next((one for one in labels if (one == 0).any()), labels[0])
    return X, y.astype(int) - 1


def planted(name, seed=0):
    """A set with uniform noise around it."""
    X, y = loaded(name)
    rng = np.random.default_rng(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    middle, half = (low + high) / 2, BOX * (high - low) / 2
    noise = rng.uniform(-1, 1, size=(round(SHARE * len(X)), X.shape[1])) * half + middle
    return np.vstack([X, noise]), np.append(y, np.full(len(noise), -1))


def told(labels, y):
    """Precision and recall of outliers, and the rows that are neither noise nor outliers."""
    called, noise = labels < 0, y < 0
    hits = (called & noise).sum()
    return hits / max(1, called.sum()), hits / noise.sum(), ~called & ~noise


def given(name, seed=0):
    """A set with noise, no more than so many rows of it."""
    X, y = loaded(name) if name in NOISY else planted(name, seed)
    kept = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
    return X[kept], y[kept]


def clean(seed):
    """Groups without noise: three Gaussian clouds, and three squares spread evenly."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 100)
    center = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])[y]
    yield "gaussian", center + np.array([1.0, 2.0, 0.5])[y, None] * rng.normal(size=(300, 2)), y
    yield "uniform", center + 4 * rng.uniform(size=(300, 2)), y


def false_alarms(method, draws=2):
    """Mean shares of clean samples that "auto" calls outliers, by kind."""
    found = {}
    for seed in range(draws):
        for kind, X, _ in clean(seed):
            labels = getattr(separatrix, method)(3, outliers="auto").fit(X).labels_
            found.setdefault(kind, []).append(np.mean(labels < 0))
    return {kind: float(np.mean(shares)) for kind, shares in found.items()}


def of_peers(X, y):
    """Precision, recall and ARI of the rest by HDBSCAN, by its least size of a cluster."""
    found = {}
    for least in LEAST_SIZES:
        labels = HDBSCAN(min_cluster_size=least, copy=True).fit(X).labels_
        precision, recall, rest = told(labels, y)
        score = adjusted_rand_score(y[rest], labels[rest])
        found[f"HDBSCAN {least}"] = {"precision": precision, "recall": recall, "ari": score}
    return found


def by_hand(method, X, y, plain):
    """ARI of the rows that are no noise, of a fit to these alone and of the labels of all."""
    rest = y >= 0
    labels = getattr(separatrix, method)(int(y.max()) + 1).fit(X[rest]).labels_
    score, without = (adjusted_rand_score(y[rest], one) for one in (labels, plain[rest]))
    return {"ari": score, "without": without}


def measured(method, X, y):
    """Precision, recall, ARI of the rest, and that without outliers, for the share and "auto".

    And the two latter if the noise is left out by hand.
    """
    n_clusters, estimator = int(y.max()) + 1, getattr(separatrix, method)
    plain, found = estimator(n_clusters).fit(X).labels_, {}
    for name, outliers in (("share", float(np.mean(y < 0))), ("auto", "auto")):
        labels = estimator(n_clusters, outliers=outliers).fit(X).labels_
        precision, recall, rest = told(labels, y)
        score, without = (adjusted_rand_score(y[rest], one[rest]) for one in (labels, plain))
        found[name] = {"precision": precision, "recall": recall, "ari": score, "without": without}
    return found | {"by hand": by_hand(method, X, y, plain)}


def over_draws(results):
    """Means of figures over draws, and the standard error of what is gained over `without`."""
    found = {}
    for kind in results[0]:
        cells = [one[kind] for one in results]
        found[kind] = {key: float(np.mean([cell[key] for cell in cells])) for key in cells[0]}
        if "without" in cells[0] and len(cells) > 1:
            gains = [cell["ari"] - cell["without"] for cell in cells]
            found[kind]["error"] = float(np.std(gains, ddof=1) / np.sqrt(len(gains)))
    return found


def is_lowered(cell):
    """Whether the ARI is lower than without outliers by more than .01 and more than chance."""
    return cell["ari"] - cell["without"] + CHANCE * cell.get("error", 0.0) < -0.01


def shown(name, one):
    line = (
        f"{name:50}  {one.get('precision', 1):9.3f} {one.get('recall', 1):6.3f} {one['ari']:6.3f}"
    )
    if "without" in one:
        line += f" {one['without']:6.3f} {one['ari'] - one['without']:+.3f}"
    if "error" in one:
        line += f" ± {one['error']:.3f}"
    print(line, flush=True)


def main(methods, sets, draws=1, keeps=False):
    warnings.simplefilter("ignore")
    found = json.loads(RESULTS.read_text("utf-8")) if keeps and RESULTS.exists() else {}
    found["draws"] = draws
    cells = []
    for name in sets:
        samples = [given(name, seed) for seed in range(draws)]
        noise = np.mean([np.mean(y < 0) for _, y in samples])
        heading(f"{name}: {len(samples[0][0])} rows, {noise:.1%} noise, {draws} draws")
        print(f"{'':50}  precision recall  ARI of the rest, and without")
        of_set = found.setdefault("sets", {}).setdefault(name, {})
        of_set["peers"] = over_draws([of_peers(*one) for one in samples])
        for peer, one in of_set["peers"].items():
            shown(peer, one)
        for method in methods:
            of_set[method] = over_draws([measured(method, *one) for one in samples])
            for kind, one in of_set[method].items():
                shown(f"{method}, {kind}", one)
                if kind != "by hand":
                    cells.append(one)
        if keeps:
            kept(found)
    for method in methods:
        found.setdefault("clean", {})[method] = alarms = false_alarms(method)
        shares = ", ".join(f"{share:.2%} of {kind}" for kind, share in alarms.items())
        print(f"{method:40} calls {shares} samples outliers")
    if keeps:
        kept(found)
    gains = np.array([cell["ari"] - cell["without"] for cell in cells])
    print(
        f"\nARI of the rest: mean {gains.mean():+.3f}, lowered by more than .01 in "
        f"{(gains < -0.01).sum()} of {len(cells)} cases, by more than chance in "
        f"{sum(map(is_lowered, cells))}"
    )


def kept(found):
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--draws", type=int, default=1, help="draws of rows and noise")
    args = parser.parse_args()
    main(args.methods, args.sets or [*NOISY, *PLANTED], args.draws, keeps=not args.sets)
