"""Defaults of optimal margin distribution clustering and of label generation clustering.

The figure is the mean adjusted Rand index over data sets with known classes, none of which is in
the tables of the paper. Labels only score the result. Sets are split in halves: settings are
ranked on one, and the other says what the choice is worth. At most 120 rows of a set are drawn;
pixels stay as they are, other features are standardised.

With --defaults only the defaults are compared, on two draws of rows of each set: those of the
first version of optimal margin distribution clustering, at which no margin was ever in excess,
with those of today. Beside the index this tells on how many sets margins are in excess, so that
both branches of the loss act, and how many fits warn.
"""

import argparse
import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from separatrix import LabelGenerationMarginClustering, OptimalMarginDistributionClustering
from separatrix.labels.links import Links
from separatrix.solvers.label_mixtures import Band, alternate, consensus, objective_of, vote
from separatrix.solvers.margin_distribution import KernelSpace

sys.path.insert(0, str(Path(__file__).parent.parent))
from data import load, pair

MAX_ROWS = 120
CRITERIA = {"ODMC": OptimalMarginDistributionClustering, "LG": LabelGenerationMarginClustering}
READOUTS = ("consensus", "vote", "best")
# Defaults before margins in excess were asked for.
FIRST_DEFAULTS = {"C": 1.0, "theta": 0.2, "readout": "consensus"}
FIRST_DEFAULTS |= {"max_labellings": 50, "max_rounds": 10, "gap_tol": 1e-3}
# C is in units of 1 / n_samples; C="scale" stands for one of them, or for about thirty.
GRID = {
    "C": (1.0, 10.0, 20.0, 30.0, 100.0),
    "gamma": (("mean", 0.25), ("mean", 0.5), ("mean", 1.0), ("mean", 2.0)),
}
# One at a time, beside the defaults.
OTHERS = {
    "balance": (0.03, 0.1, 0.2, 0.3, 0.5),
    "nu": (0.2, 0.5, 0.8, 1.0),
    "theta": (0.0, 0.2, 0.4, 0.6, 0.8),
}


# --- data ---------------------------------------------------------------------------------------


def of_classes(name, classes):
    X, y, names = load(name)
    chosen = np.isin(y, [names.index(str(each)) for each in classes])
    return X[chosen], y[chosen]


def data_sets():
    """Name, samples, labels, and whether features are of different units."""
    yield "iris", *load_iris(return_X_y=True), True
    yield "wine", *load_wine(return_X_y=True), True
    yield "breast cancer", *load_breast_cancer(return_X_y=True), True
    for name in ("breast_wisconsin", "thyroid_new", "ringnorm", "twonorm", "svmguide1"):
        yield name, *load(name)[:2], True
    yield "letter A-B", *pair("letter", "A", "B"), True
    yield "satimage 1-2", *pair("satimage", 1, 2), True
    yield "satimage 3", *of_classes("satimage", (1, 3, 7)), True
    yield "usps 4-9", *pair("usps", 4, 9), False
    yield "mnist 3-8", *pair("mnist", 3, 8), False
    yield "coil 1-4", *of_classes("coil20", range(1, 5)), False
    for name in (
        "uci-sonar",
        "sipu-flame",
        "sipu-pathbased",
        "wut-twosplashes",
        "wut-mk2",
        "wut-mk4",
        "wut-x1",
        "fcps-atom",
        "fcps-wingnut",
        "fcps-lsun",
        "fcps-tetra",
        "graves-dense",
        "graves-line",
        "graves-ring",
    ):
        yield name, *load("clustering_v1/" + name)[:2], True
    yield "moons", *make_moons(MAX_ROWS, noise=0.1, random_state=0), False
    yield "circles", *make_circles(MAX_ROWS, noise=0.05, factor=0.4, random_state=0), False
    yield "one large", *make_blobs((90, 30), 10, cluster_std=3, random_state=0), False
    yield "four blobs", *make_blobs(MAX_ROWS, 5, centers=4, cluster_std=3, random_state=0), False


def prepared(seed=0):
    for name, X, y, mixed_units in data_sets():
        rows = np.random.RandomState(seed).permutation(len(y))[:MAX_ROWS]
        X = np.asarray(X, dtype=float)[rows]
        yield name, StandardScaler().fit_transform(X) if mixed_units else X, y[rows]


def halves(sets):
    """Every second set of two classes and of more, and the others."""
    order = sorted(range(len(sets)), key=lambda i: len(np.unique(sets[i][2])) > 2)
    return np.array(order[::2]), np.array(order[1::2])


# --- settings -----------------------------------------------------------------------------------


def scores_of(X, y, criterion, settings):
    """Index of each readout after one search, and seconds of the fit."""
    k = len(np.unique(y))
    model = CRITERIA[criterion](k, random_state=0, **settings | {"C": settings["C"] / len(X)})
    begin = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - begin
    scores = [adjusted_rand_score(y, labels) for labels in read_out(model, X)]
    return [*scores, seconds]


def read_out(model, X):
    """Labels by each readout: what the estimator does after its search."""
    K, machine = rbf_kernel(X, gamma=model.gamma_), model._machine(model.C_ * len(X))
    k = model.n_clusters
    space, band = KernelSpace(K), Band(Links.of(len(X), k), model.balance)
    labels, weights = model.labellings_, model.labelling_weights_
    objectives = [objective_of(machine.fit_labels(space, one, k)) for one in labels]
    starts = {
        "consensus": band.nearest(consensus(labels, weights, k)),
        "vote": band.nearest(vote(labels, weights, k)),
        "best": labels[int(np.argmin(objectives))],
    }
    for name in READOUTS:
        yield starts[name] if name == "vote" else alternate(space, starts[name], machine, band)[0]


def text_of(choice):
    return " ".join(
        f"{name}={value[1] if isinstance(value, tuple) else value:g}"
        for name, value in choice.items()
    )


# --- comparisons --------------------------------------------------------------------------------


class Comparison:
    """Settings of one criterion on all sets, printed as they are found."""

    def __init__(self, sets, criterion, jobs, each_set):
        self.sets, self.criterion, self.jobs, self.each_set = sets, criterion, jobs, each_set
        self.halves = halves(sets)
        self.defaults = CRITERIA[criterion]().get_params()
        self.defaults["C"] = {"ODMC": 30.0, "LG": 1.0}[criterion]
        self.chosen = {name: self.defaults[name] for name in ("C", "gamma")}

    def scores(self, choice):
        """Index of each set and readout."""
        tasks = (delayed(scores_of)(X, y, self.criterion, choice) for _, X, y in self.sets)
        *scores, seconds = np.transpose(Parallel(n_jobs=self.jobs)(tasks))
        line = f"{text_of(choice):22}"
        for each in scores:
            line += "".join(f"{each[half].mean():7.3f}" for half in self.halves)
            line += f"{each.mean():7.3f}  "
        is_default = all(self.defaults[name] == value for name, value in choice.items())
        print(line + f"{seconds.mean():7.2f}" + (" (default)" if is_default else ""), flush=True)
        if self.each_set:
            print("  ", " ".join(f"{score:.2f}" for score in scores[0]))
        return np.array(scores)

    def heading(self, text):
        print(f"\n{self.criterion}, {text}: first half, second half, all")
        print(f"{'':22}" + "".join(f"{name:>21}  " for name in READOUTS) + f"{'seconds':>7}")

    def grid(self):
        """C and gamma together, and what a choice on one half is worth on the other."""
        self.heading("C and gamma")
        choices = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
        scores = np.array([self.scores(choice) for choice in choices])
        means = [scores[:, :, half].mean(axis=2) for half in self.halves]
        for number in (0, 1):
            here, there = means[number], means[1 - number]
            best, readout = np.unravel_index(np.argmax(here), here.shape)
            print(
                f"best on half {number + 1}: {text_of(choices[best])}, {READOUTS[readout]}, "
                f"{here[best, readout]:.3f}; on the other half {there[best, readout]:.3f}, "
                f"where the best has {there.max():.3f}"
            )

    def others(self):
        """One parameter at a time."""
        for name, values in OTHERS.items():
            if name in self.defaults:
                self.heading(f"{name} with {text_of(self.chosen)}")
                for value in values:
                    self.scores({name: value, **self.chosen})


# --- defaults -----------------------------------------------------------------------------------


def facts_of(X, y, criterion, settings):
    """Index, share of margins in excess, whether the fit warned, violation and seconds."""
    k = len(np.unique(y))
    given = {**settings, **({"C": settings["C"] / len(X)} if "C" in settings else {})}
    model = CRITERIA[criterion](k, random_state=0, **given)
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    seconds = time.process_time() - begin
    space = KernelSpace(rbf_kernel(X, gamma=model.gamma_))
    machines = model._machine(model.C_ * len(X)).fit_labels(space, model.labels_, k)
    excess = np.mean([found.alpha < 0 for found in machines])
    index = adjusted_rand_score(y, model.labels_)
    return index, excess, float(bool(caught)), model.violation_, seconds


def compare_defaults(jobs):
    """The first defaults and those of today, set by set."""
    draws = [list(prepared(seed)) for seed in (0, 1)]
    sets = draws[0] + draws[1]
    first = {name: value for name, value in FIRST_DEFAULTS.items() if name != "theta"}
    cases = {
        "ODMC, first defaults": ("ODMC", FIRST_DEFAULTS),
        "ODMC, defaults": ("ODMC", {}),
        "LG, first defaults": ("LG", first),
        "LG, defaults": ("LG", {}),
    }
    indices = {}
    print(f"{'':22}{'index':>7}{'draw 1':>8}{'draw 2':>8}{'excess on':>11}{'warned':>8}{'s':>7}")
    for name, (criterion, settings) in cases.items():
        tasks = (delayed(facts_of)(X, y, criterion, settings) for _, X, y in sets)
        index, excess, warned, _, seconds = np.transpose(Parallel(n_jobs=jobs)(tasks))
        indices[name] = index.reshape(2, -1)
        one, two = indices[name].mean(axis=1)
        print(
            f"{name:22}{index.mean():7.3f}{one:8.3f}{two:8.3f}"
            f"{np.count_nonzero(excess):7d} of {len(sets)}"
            f"{np.count_nonzero(warned):5d}{seconds.mean():8.2f}",
            flush=True,
        )
    for criterion in CRITERIA:
        now, before = indices[f"{criterion}, defaults"], indices[f"{criterion}, first defaults"]
        change = (now - before).mean(axis=0)
        drawn = np.random.RandomState(0).choice(change, (2000, len(change))).mean(axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        print(f"{criterion}: change {change.mean():+.3f}, 95 % from {low:+.3f} to {high:+.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("criteria", nargs="*", default=list(CRITERIA), help="ODMC or LG")
    parser.add_argument("--sets", action="store_true", help="print each data set")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--defaults", action="store_true", help="the first defaults and today's")
    arguments = parser.parse_args()
    if arguments.defaults:
        return compare_defaults(arguments.jobs)
    warnings.simplefilter("ignore")  # unbalanced and unfinished runs count as they are
    begin = time.perf_counter()
    sets = list(prepared())
    kmeans = np.array(
        [
            adjusted_rand_score(
                y, KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(X)
            )
            for _, X, y in sets
        ]
    )
    first, second = halves(sets)
    print(
        f"k-means on {len(sets)} sets: {kmeans[first].mean():.3f}, {kmeans[second].mean():.3f}, "
        f"{kmeans.mean():.3f}"
    )
    if arguments.sets:
        for number, (name, X, y) in enumerate(sets):
            half = 1 if number in first else 2
            k = len(np.unique(y))
            print(f"  {name:16} {X.shape!s:12} k={k} half {half} {kmeans[number]:.2f}")
    for criterion in arguments.criteria:
        comparison = Comparison(sets, criterion, arguments.jobs, arguments.sets)
        comparison.grid()
        comparison.others()
    print(f"\n{time.perf_counter() - begin:.0f} seconds")


if __name__ == "__main__":
    main()
