"""What known labels teach: ARI of the other samples without and with a tenth of the labels.

    python benchmarks/choices/known_labels.py --rows 1000 --methods MaximumMarginClustering

Every clusterer that takes known labels, on 15 sets of the data folder, features standardised,
beside scikit-learn's label spreading and self-training with the same labels. A tenth of each
class, at least one sample, is known; figures are means over draws of rows and labels. How known
labels teach was tuned on the draws of the seeds 0 to 3, so these are left out by default; when the
number of ways to halve labels was chosen, seeds 12 to 19 were compared for two methods.

With --keep, the results are added to those in benchmarks/results/teaching/known_labels.json, from
which docs/fill_figures.py writes the table of docs/links.md.
"""

import argparse
import inspect
import json
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

import separatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import data
from output import heading

SETS = (
    "australian",
    "banana",
    "breast_wisconsin",
    "coil20",
    "diabetes",
    "heart_statlog",
    "house_votes",
    "image_ida",
    "ionosphere",
    "iris",
    "optdigits",
    "satimage",
    "thyroid_new",
    "usps",
    "vehicle",
)
SHARE = 0.1
CHANCE = 2  # standard errors of the gain, paired over draws
RESULTS = Path(__file__).resolve().parents[1] / "results" / "teaching" / "known_labels.json"
EXPORTS = [getattr(separatrix, name) for name in separatrix.__all__]
METHODS = {
    one.__name__: one
    for one in EXPORTS
    if hasattr(one, "fit") and "known_labels" in inspect.signature(one.fit).parameters
}


def drawn(name, rows, seed):
    """Standardised samples of a set, their classes, and a tenth of these with -1 elsewhere."""
    X, y, _ = data.load(name)
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.permutation(len(y))[:rows])
    X = StandardScaler().fit_transform(data.without_constant_features(X[kept]))
    classes, y = np.unique(y[kept], return_inverse=True)
    known = np.full(len(y), -1)
    for label in range(len(classes)):
        members = rng.permutation(np.flatnonzero(y == label))
        known[members[: max(1, round(SHARE * len(members)))]] = label
    return X, y, known


def scored(labels, y, known):
    """ARI of the samples whose labels were not known."""
    return adjusted_rand_score(y[known < 0], np.asarray(labels)[known < 0])


def classifiers(name, rows, seeds):
    """Mean ARI of label spreading and of self-training."""
    warnings.simplefilter("ignore")
    found = []
    for seed in seeds:
        X, y, known = drawn(name, rows, seed)
        spread = LabelSpreading(kernel="knn", n_neighbors=7).fit(X, known)
        trained = SelfTrainingClassifier(SVC(probability=True, random_state=0)).fit(X, known)
        found.append(
            [scored(spread.transduction_, y, known), scored(trained.predict(X), y, known)]
        )
    return np.mean(found, axis=0)


def measured(method, name, rows, seeds):
    """Mean ARI of a method without and with known labels, and the standard error of the gain."""
    warnings.simplefilter("ignore")
    found = []
    for seed in seeds:
        X, y, known = drawn(name, rows, seed)
        model = METHODS[method](n_clusters=int(y.max()) + 1)
        without = scored(model.fit(X).labels_, y, known)
        found.append([without, scored(model.fit(X, known_labels=known).labels_, y, known)])
    gains = np.diff(found, axis=1)
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
    return np.append(np.mean(found, axis=0), error)


def main(methods, sets, rows, seeds, jobs, keeps=False, peers=True):
    run = joblib.Parallel(n_jobs=jobs)
    others = np.full((len(sets), 2), np.nan)
    if peers:
        others = run(joblib.delayed(classifiers)(name, rows, seeds) for name in sets)
        if keeps:
            kept("classifiers", rows, len(seeds), sets, others)
    for method in methods:
        heading(f"{method}: ARI of the other samples with {SHARE:.0%} of the labels known")
        print(
            f"  {'':18}{'without':>8}{'with':>8}{'gain':>8}{'error':>8}"
            f"{'spreading':>11}{'self-training':>15}"
        )
        table = np.array(run(joblib.delayed(measured)(method, name, rows, seeds) for name in sets))
        for name, row, (spread, trained) in zip(sets, table, others, strict=True):
            without, taught, error = row
            gain = f"{without:8.3f}{taught:8.3f}{taught - without:+8.3f}{error:8.3f}"
            print(f"  {name:18}{gain}{spread:11.3f}{trained:15.3f}")
        if keeps:
            kept(method, rows, len(seeds), sets, table)
        gain = table[:, 1] - table[:, 0]
        print(
            f"  {'mean':18}{table[:, 0].mean():8.3f}{table[:, 1].mean():8.3f}{gain.mean():+8.3f}, "
            f"raised on {(gain > 0).sum()} of {len(sets)}, lowered by more than .01 on "
            f"{(gain < -0.01).sum()}, and by more than chance on "
            f"{(gain + CHANCE * table[:, 2] < -0.01).sum()}",
            flush=True,
        )


def kept(name, rows, draws, sets, table):
    """Keep figures of each set, with what they are means of."""
    found = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    sets = {one: [float(value) for value in row] for one, row in zip(sets, table, strict=True)}
    found[name] = {"rows": rows, "draws": draws, "sets": sets}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--first", type=int, default=4, help="seed of the first draw")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true", help="without the classifiers")
    parser.add_argument("--keep", action="store_true", help="keep the results for the docs")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.draws)
    main(args.methods, args.sets, args.rows, seeds, args.jobs, args.keep, peers=not args.no_peers)
