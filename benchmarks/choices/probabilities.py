"""How far probabilities of clusters can be trusted: their expected calibration error.

    python benchmarks/choices/probabilities.py --jobs 2

A method is fitted to one half of a set and gives probabilities to the other half. They promise
how often a boundary, relearned from the clusters of other samples, agrees: so a classifier learns
the clusters of half of the fitted samples (of three classifiers the one that predicts the rest of
these best), and labels the half that was held back. Beside it stands what they promise only after
`calibrate`: how often the method itself, fitted to the other half, agrees. Figures are pooled over
draws of the halves, since one refit may find the same clusters by luck, or others: on satimage
k-means has two optima of which halves find either, so that six draws are far too few.

With --keep, the results are added to those in benchmarks/results/probabilities/refits.json, from
which docs/fill_figures.py writes the table of docs/probabilities_and_sizes.md.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import separatrix
from separatrix import align_labels

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import data
from output import heading

SETS = ("digits", "satimage", "letter")
METHODS = (
    "AutoClustering",
    "DiscriminativeKMeans",
    "InformationMaximizationClustering",
    "KernelKMeans",
    "LDAKMeans",
    "MaximinSeparationClustering",
    "MaximumVolumeClustering",
    "RegularizedLeastSquaresClustering",
    "SquaredLossMutualInformationClustering",
    "TreeCutClustering",
)
CLASSIFIERS = (LogisticRegression(max_iter=1000), KNeighborsClassifier(5), SVC())
N_BINS = 10
RESULTS = Path(__file__).resolve().parents[1] / "results" / "probabilities" / "refits.json"


def halves(name, rows, seed):
    """Two halves of a set, or of some of its samples, and its number of classes."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X = X / 16
    else:
        X, y, _ = data.load(name)
        X = StandardScaler().fit_transform(X)
    some = np.random.RandomState(seed).permutation(len(X))[:rows]
    return *np.array_split(X[some], 2), len(np.unique(y))


def calibration_error(confidence, agrees):
    """Mean distance of confidence and agreement, over bins of equal width."""
    bins = np.minimum((N_BINS * confidence).astype(int), N_BINS - 1)
    gaps = [
        np.mean(bins == one) * abs(confidence[bins == one].mean() - agrees[bins == one].mean())
        for one in np.unique(bins)
    ]
    return float(np.sum(gaps))


def relearned(X, labels, new):
    """Labels of new samples by a boundary learned from half of the others."""
    taught, rest = slice(0, None, 2), slice(1, None, 2)
    if len(np.unique(labels[taught])) == 1:
        return np.full(len(new), labels[0])
    learned = [one.fit(X[taught], labels[taught]) for one in CLASSIFIERS]
    return max(learned, key=lambda one: one.score(X[rest], labels[rest])).predict(new)


def drawn(method, name, rows, seed):
    """Confidence before and after `calibrate`, and what a boundary and a refit agree on."""
    warnings.simplefilter("ignore")
    X, new, k = halves(name, rows, seed)
    model = getattr(separatrix, method)(k, random_state=0).fit(X)
    labels, confidence = model.predict(new), model.predict_proba(new).max(axis=1)
    calibrated = confidence
    if hasattr(model, "calibrate"):
        calibrated = model.calibrate(X).predict_proba(new).max(axis=1)
    others = (
        relearned(X, model.predict(X), new),
        align_labels(labels, getattr(separatrix, method)(k, random_state=0).fit(new).labels_),
    )
    return confidence, calibrated, *(other == labels for other in others)


def measured(method, name, rows, draws):
    """Confidence, agreement and calibration error for a relearned boundary and for a refit."""
    pooled = [drawn(method, name, rows, seed) for seed in range(draws)]
    confidence, calibrated, boundary, refit = map(np.concatenate, zip(*pooled, strict=True))
    found = [float(confidence.mean())]
    for agrees in (boundary, refit):
        found += [float(agrees.mean()), calibration_error(confidence, agrees)]
    return [*found, float(calibrated.mean()), calibration_error(calibrated, refit)]


def kept(cases, results, rows, draws):
    """Keep the figures of methods on sets, and what they are means of."""
    found = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    names = ("confidence", "boundary", "boundary_error", "refit", "refit_error")
    names += ("calibrated", "calibrated_error")
    for (method, name), result in zip(cases, results, strict=True):
        figures = dict(zip(names, result, strict=True))
        if not hasattr(getattr(separatrix, method), "calibrate"):
            del figures["calibrated"], figures["calibrated_error"]
        found.setdefault(method, {})[name] = {"rows": rows, "draws": draws, **figures}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main(sets, methods, rows, draws, jobs, keeps=False):
    cases = [(method, name) for name in sets for method in methods]
    results = joblib.Parallel(n_jobs=jobs)(
        joblib.delayed(measured)(method, name, rows, draws) for method, name in cases
    )
    if keeps:
        kept(cases, results, rows, draws)
    heading("Probabilities of the half that was held back")
    print(f"{'':59}{'relearned boundary':>20}{'refit':>20}{'refit, calibrated':>22}")
    print(
        f"{'set, method':48}{'confidence':>11}"
        + 2 * f"{'agreement':>12}{'error':>8}"
        + f"{'confidence':>14}{'error':>8}"
    )
    for (method, name), (confidence, *rest) in zip(cases, results, strict=True):
        numbers = "".join(f"{rest[i]:12.3f}{rest[i + 1]:8.3f}" for i in (0, 2))
        after = f"{rest[4]:14.3f}{rest[5]:8.3f}"
        print(f"{name + ', ' + method:48}{confidence:11.3f}{numbers}{after}")
    for i, what in ((2, "for a relearned boundary"), (4, "for a refit"), (6, "after calibrate")):
        worst = max(
            (result[i], method, name)
            for (method, name), result in zip(cases, results, strict=True)
        )
        print("largest error {what}: {0:.3f}, of {1} on {2}".format(*worst, what=what))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="most samples of a set")
    parser.add_argument("--draws", type=int, default=20, help="draws of the halves")
    parser.add_argument("--jobs", type=int, default=1, help="jobs at the same time")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--keep", action="store_true", help="keep the results for the docs")
    given = parser.parse_args()
    main(given.sets, given.methods, given.rows, given.draws, given.jobs, given.keep)
