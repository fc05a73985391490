"""Tables 2 and 3 and figures 1 to 3 of the maximin separation probability paper, beside ours.

G. Huang, J. Zhang, S. Song, Z. Chen, "Maximin separation probability clustering", AAAI 2015.
"""

import argparse
import sys
import time
import tomllib
import warnings
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from separatrix import MaximinSeparationClustering
from separatrix.metrics import clustering_accuracy, clustering_error, separation_probability_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from data import folder, load, pair, to_unit_range, without_constant_features
from output import heading, plot

HERE = Path(__file__).resolve().parent
PUBLISHED = tomllib.loads((HERE / "mspc.toml").read_text())

REGS = [10.0**power for power in range(-4, 5)]  # the paper's grid for lambda
DEFAULT_REG = MaximinSeparationClustering().reg
SCORE_REG = 0.1  # separation probabilities are comparable at one common reg only
TOLERANCE = 0.1  # points of error within which a figure counts as reproduced
N_STARTS = 10
TARGETS = {
    "mpm": [
        *("ionosphere", "breast", "diabetes", "letter", "satellite"),
        *("mnist3vs8", "mnist1vs7", "mnist8vs9"),
    ],
    "gep": ["ionosphere", "breast", "diabetes", "letter", "satellite"],
}

WHOLE_SETS = {
    "ionosphere": "ionosphere",
    "breast": "breast_wisconsin",
    "australian": "australian",
    "diabetes": "diabetes",
    "spam": "spambase",
}
PAIRS = {
    "letter": ("letter", "A", "B"),
    "satellite": ("satimage", "1", "2"),
    "mnist3vs8": ("mnist", "3", "8"),
    "mnist1vs7": ("mnist", "1", "7"),
    "mnist8vs9": ("mnist", "8", "9"),
}


class Task:
    """Two known classes to be found, with every fit made so far."""

    def __init__(self, name):
        self.name = name
        X, self.y = pair(*PAIRS[name]) if name in PAIRS else load(WHOLE_SETS[name])[:2]
        self.n, self.d = X.shape
        self.is_mnist = name.startswith("mnist")
        self.X = without_constant_features(X / 255) if self.is_mnist else to_unit_range(X)
        self._fits = {}

    def error(self, labels):
        """Clustering error in percent."""
        return 100 * clustering_error(self.y, labels)

    @cached_property
    def starts(self):
        """Distinct k-means labellings: the estimator's first start and its random ones.

        They are what `n_init` starts from, found once for all values of reg.
        """
        return [run.labels_ for run in self._kmeans_runs]

    @cached_property
    def _kmeans_runs(self):
        upper = first_principal_component(self.X) > 0
        centers = np.array([self.X[~upper].mean(axis=0), self.X[upper].mean(axis=0)])
        runs = [KMeans(2, init=centers, n_init=1, tol=0)]
        rng = np.random.RandomState(0)
        runs += [KMeans(2, n_init=1, tol=0, random_state=rng) for _ in range(1, N_STARTS)]
        distinct = {}
        for run in runs:
            labels = run.fit(self.X).labels_
            distinct.setdefault((labels ^ labels[0]).tobytes(), run)
        return list(distinct.values())

    def fit(self, solver, reg, start=0):
        """Fit from one of the starts."""
        key = solver, reg, start
        if key not in self._fits:
            model = MaximinSeparationClustering(solver=solver, reg=reg, init=self.starts[start])
            self._fits[key] = model.fit(self.X)
        return self._fits[key]

    def fit_from_lowest_inertia(self, solver, reg):
        """Fit from the best of the k-means runs, as k-means judges them."""
        inertias = [run.inertia_ for run in self._kmeans_runs]
        return self.fit(solver, reg, int(np.argmin(inertias)))

    def fit_of_largest_objective(self, solver, reg):
        """The best of all starts, as the criterion judges them; the classes have no say in it."""
        fits = [self.fit(solver, reg, start) for start in range(len(self.starts))]
        two_clusters = [fit for fit in fits if np.ptp(fit.labels_) > 0]
        return max(two_clusters or fits, key=lambda fit: fit.objective_)

    def reg_in_hindsight(self, solver, fit=None):
        """The reg of lowest error: the paper's choice, by true classes."""
        fit = self.fit if fit is None else fit
        return min(REGS, key=lambda reg: self.error(fit(solver, reg).labels_))


@cache
def task(name):
    return Task(name)


def first_principal_component(X):
    """Scores of the centred samples along the direction of largest variance."""
    X = X - X.mean(axis=0)
    last = X.shape[1] - 1
    return X @ eigh(X.T @ X, subset_by_index=[last, last])[1][:, 0]


# --- Table 2 ------------------------------------------------------------------------------------


def table2(names):
    heading("Table 2: clustering error in percent")
    print(
        f"✓ within {TOLERANCE} points of the paper. 'best' takes the reg of lowest error from\n"
        "1e-4 ... 1e4, chosen by the true classes as in the paper; 'default' is the estimator's\n"
        f"reg={DEFAULT_REG:g}, which needs no classes. The paper starts from k-means, and leaves\n"
        "open where k-means starts. 'one start': the estimator's deterministic default.\n"
        f"'inertia': from the run of lowest inertia among {N_STARTS}. 'kappa': the largest\n"
        "objective from all of them, on mnist only at the reg that was best from one start.\n"
        "Features are scaled to [-1, 1], mnist to [0, 1]; constant ones are dropped."
    )
    print_kmeans(names)
    met = {solver: print_iterative_solver(solver, names) for solver in ("mpm", "gep")}
    print_eigenvector_solver(names)
    print(f"\nTargets: error within {TOLERANCE} points of the paper")
    for solver, targets in TARGETS.items():
        wanted = [name for name in targets if name in names]
        for protocol, hits in met[solver].items():
            missed = [name for name in wanted if name not in hits]
            print(
                f"  {solver.upper()}, {protocol:9} {len(wanted) - len(missed)} of {len(wanted)}"
                + (f", not on {', '.join(missed)}" if missed else "")
            )


def print_kmeans(names):
    print(f"\n{'k-means':12}{'N':>7}{'d':>5}{'paper':>9}{'n_init=10':>11}{'one start':>11}")
    for name in names:
        this, paper = task(name), PUBLISHED["table2"][name]
        best = KMeans(2, n_init=10, random_state=0).fit_predict(this.X)
        errors = "".join(
            f"{ticked(this.error(labels), paper['kmeans']):>11}"
            for labels in (best, this.starts[0])
        )
        differs = "" if this.d == paper["d"] else f"   the paper has d={paper['d']}"
        print(f"{name:12}{this.n:7}{this.d:5}{paper['kmeans']:9.2f}{errors}{differs}")


def print_iterative_solver(solver, names):
    """Print the table of one solver; return the tasks that each protocol reproduces."""
    print(f"\n{'MSPC-' + solver.upper():12}{'':9}{'one start':>25}{'inertia':>17}{'kappa':>17}")
    columns = f"{'best':>8} {'reg':>8}"
    print(f"{'':12}{'paper':>9}{columns}{'default':>8}{columns}{columns}   distinct starts")
    met = {"one start": set(), "inertia": set(), "kappa": set()}
    for name in names:
        this, paper = task(name), PUBLISHED["table2"][name][solver]
        row = f"{name:12}{paper:9.2f}"
        for protocol, fit in (
            ("one start", this.fit),
            ("inertia", this.fit_from_lowest_inertia),
            ("kappa", this.fit_of_largest_objective),
        ):
            spare = protocol == "kappa" and this.is_mnist
            reg = this.reg_in_hindsight(solver, None if spare else fit)
            best = this.error(fit(solver, reg).labels_)
            row += f"{ticked(best, paper)}{reg:8g}"
            if protocol == "one start":
                row += f"{this.error(fit(solver, DEFAULT_REG).labels_):8.2f}"
            if abs(best - paper) <= TOLERANCE:
                met[protocol].add(name)
        print(f"{row}{len(this.starts):10}", flush=True)
    return met


def print_eigenvector_solver(names):
    print(f"\n{'MSPC-EIG':12}{'paper':>9}{'XX′q':>8} {'lambda':>8}{'ours':>8}")
    for name in names:
        this, paper = task(name), PUBLISHED["table2"][name]["eig"]
        error, reg = min((this.error(literal_eigenvector_rule(this.X, reg)), reg) for reg in REGS)
        ours = MaximinSeparationClustering(solver="eig").fit(this.X)
        print(
            f"{name:12}{paper:9.2f}{ticked(error, paper)}{reg:8g}"
            f"{ticked(this.error(ours.labels_), paper)}"
        )
    print(
        "XX′q is the rule of the paper's table 1, lambda chosen by the true classes; lambda\n"
        "does not change the eigenvector, so the first one wins. Ours is the sign of the first\n"
        "principal component of the standardised features, which no change of units alters."
    )


def literal_eigenvector_rule(X, reg):
    """Sign of XX'q, with q the leading eigenvector of X (X'X + reg Lambda)^-1 X'."""
    X = X - X.mean(axis=0)
    scatter = X.T @ X
    # X (L L')^-1 X' has the eigenvector X L'^-1 u for each eigenvector u of L^-1 X'X L'^-1
    factor = cholesky(scatter + reg * np.diag(scatter.diagonal()), lower=True)
    half = solve_triangular(factor, scatter, lower=True)
    last = len(scatter) - 1
    u = eigh(solve_triangular(factor, half.T, lower=True), subset_by_index=[last, last])[1][:, 0]
    q = X @ solve_triangular(factor, u, lower=True, trans="T")
    return (X @ (X.T @ q) > 0).astype(int)


# --- Table 3 ------------------------------------------------------------------------------------


def table3(names):
    heading("Table 3: seconds of one fit")
    print(
        "reg as chosen in table 2 from one start. The paper's seconds are MATLAB's on another\n"
        "machine, so only ours compare with each other: 'x KMeans' is our time over that of\n"
        "scikit-learn's KMeans(n_init=1) here. Ours include the k-means start. Each is the\n"
        "shortest of several fits.\n"
    )
    solvers = ("mpm", "gep", "eig")
    print(f"{'':12}{'KMeans':>8}" + "".join(f"{'MSPC-' + s.upper():>26}" for s in solvers))
    print(f"{'':12}{'ours':>8}" + f"{'paper':>10}{'ours':>7}{'x KMeans':>9}" * 3)
    for name in names:
        if name not in PUBLISHED["table3"]:
            continue
        this = task(name)
        repeats = 3 if this.is_mnist else 15
        kmeans = seconds(KMeans(2, n_init=1, random_state=0), this.X, repeats)
        row = f"{name:12}{kmeans:8.3f}"
        for solver in solvers:
            reg = DEFAULT_REG if solver == "eig" else this.reg_in_hindsight(solver)
            model = MaximinSeparationClustering(solver=solver, reg=reg)
            ours = seconds(model, this.X, repeats)
            published = PUBLISHED["table3"][name][solver]
            row += f"{published:10.2f}{ours:7.2f}{ours / kmeans:9.1f}"
        print(row, flush=True)


def seconds(model, X, repeats):
    """Shortest wall time of `model.fit(X)`, the one least disturbed by other work."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        model.fit(X)
        times.append(time.perf_counter() - begin)
    return min(times)


# --- Figure 1 -----------------------------------------------------------------------------------

FACTORS = [1, 2, 4, 8, 16]
METHODS = {
    "k-means": KMeans(2, n_init=10, random_state=0),
    "MSPC-MPM, k-means start": MaximinSeparationClustering(),
    "MSPC-MPM, scale-invariant start": MaximinSeparationClustering(init="scale-invariant"),
}


def figure1():
    heading("Figure 1: mean accuracy in percent when one feature is scaled by a factor")
    print(
        "Ten random features in turn, all eight of diabetes. The figure of the paper is not\n"
        f"given in numbers; its data sets are not named in the text. reg={DEFAULT_REG:g}.\n"
    )
    print(f"{'':45}" + "".join(f"{'a=' + str(factor):>7}" for factor in FACTORS))
    accuracies = {}
    for name in ("ionosphere", "breast", "diabetes", "letter", "satellite", "spam"):
        accuracies[name] = accuracy_by_factor(task(name))
        for method, values in accuracies[name].items():
            print(f"{name:12}{method:33}" + "".join(f"{value:7.1f}" for value in values))
    plot(draw_figure1, accuracies, "mspc_figure1.png")


def accuracy_by_factor(this):
    """Mean accuracy of each method for each factor, over the features that are scaled."""
    rng = np.random.default_rng(0)
    n_features = this.X.shape[1]
    features = rng.choice(n_features, min(10, n_features), replace=False)
    accuracies = {method: [] for method in METHODS}
    for factor in FACTORS:
        scaled = features if factor > 1 else features[:1]
        values = {method: [] for method in METHODS}
        for feature in scaled:
            X = this.X.copy()
            X[:, feature] *= factor
            for method, model in METHODS.items():
                values[method].append(100 - this.error(model.fit(X).labels_))
        for method in METHODS:
            accuracies[method].append(np.mean(values[method]))
    return accuracies


def draw_figure1(plt, accuracies):
    figure, axes = plt.subplots(2, 3, figsize=(10, 6), sharex=True, layout="constrained")
    styles = dict(zip(METHODS, ("s--", "o-", "^:"), strict=True))
    for axis, (name, by_method) in zip(axes.flat, accuracies.items(), strict=True):
        for method, values in by_method.items():
            axis.plot(FACTORS, values, styles[method], label=method, fillstyle="none")
        axis.set_title(name)
        axis.set_xscale("log", base=2)
        axis.set_xticks(FACTORS, FACTORS)
    figure.supxlabel("factor that one feature is scaled by")
    figure.supylabel("clustering accuracy (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


# --- Figures 2 and 3 ----------------------------------------------------------------------------


def figure23(names):
    heading("Figures 2 and 3: separation probability (MSP) against clustering accuracy (CA)")
    print(
        f"Labels of MSPC-MPM at reg={DEFAULT_REG:g}, for the tasks of table 2 also at the reg\n"
        f"chosen in hindsight, as in the paper; MSP is at reg={SCORE_REG:g}. The paper counts\n"
        "21 satellite pairs, but six classes make 15; its USPS data may be others than our\n"
        "9298 rows.\n"
    )
    default = [accuracy_and_separation(task(name), DEFAULT_REG) for name in names]
    hindsight = [
        accuracy_and_separation(task(name), task(name).reg_in_hindsight("mpm")) for name in names
    ]
    print(f"{'':12}{'default reg':>16}{'in hindsight':>16}")
    print(f"{'':12}" + f"{'CA':>8}{'MSP':>8}" * 2)
    for name, values in zip(names, np.hstack([default, hindsight]), strict=True):
        print(f"{name:12}" + "".join(f"{value:8.3f}" for value in values))

    satellite = [separation_of_pair("satimage", *two) for two in pairs_of("satimage")]
    usps = [separation_of_pair("usps", *two) for two in pairs_of("usps")]
    print(f"\n{'correlation':18}{'tasks':>6}{'paper':>8}{'default reg':>13}{'in hindsight':>14}")
    if len(names) == len(PUBLISHED["table2"]):
        print_correlation("ten_tasks", default, hindsight)
        print_correlation("last_five_tasks", default[-5:], hindsight[-5:])
    print_correlation("satellite_pairs", satellite)
    print_correlation("usps_pairs", usps)
    panels = {
        f"{len(names)} tasks of table 2": (names, default),
        "satellite pairs": ([" v ".join(two) for two in pairs_of("satimage")], satellite),
        "USPS pairs": ([" v ".join(two) for two in pairs_of("usps")], usps),
    }
    plot(draw_figure23, panels, "mspc_figures2_3.png")


def accuracy_and_separation(this, reg):
    labels = this.fit("mpm", reg).labels_
    score = separation_probability_score(this.X, labels, reg=SCORE_REG)
    return clustering_accuracy(this.y, labels), score


def pairs_of(name):
    return list(combinations(load(name)[2], 2))


def separation_of_pair(name, a, b):
    X, y = pair(name, a, b)
    X = to_unit_range(X) if name == "satimage" else without_constant_features(X)
    labels = MaximinSeparationClustering().fit_predict(X)
    return clustering_accuracy(y, labels), separation_probability_score(X, labels, reg=SCORE_REG)


def pearson(values):
    return np.corrcoef(np.transpose(values))[0, 1]


def print_correlation(group, default, hindsight=None):
    row = f"{group.replace('_', ' '):18}{len(default):6}{PUBLISHED['correlation'][group]:8.2f}"
    row += f"{pearson(default):13.2f}"
    print(row if hindsight is None else f"{row}{pearson(hindsight):14.2f}")


def draw_figure23(plt, panels):
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    for (above, below), (title, (tasks, values)) in zip(axes.T, panels.items(), strict=True):
        accuracy, separation = np.transpose(values)
        positions = np.arange(len(tasks))
        above.bar(positions, accuracy, color="lightsteelblue", label="accuracy (CA)")
        separation_style = {"color": "firebrick", "label": "separation probability (MSP)"}
        above.plot(positions, separation, "o", markersize=4, **separation_style)
        above.set_title(title)
        above.set_ylim(0, 1.05)
        shown = positions[:: max(1, len(tasks) // 15)]
        above.set_xticks(shown, [tasks[i] for i in shown], rotation=60, fontsize=8)
        below.scatter(accuracy, separation, color="firebrick", s=18)
        below.set_title(f"correlation {pearson(values):.2f}")
        below.set_xlabel("clustering accuracy (CA)")
    axes[1, 0].set_ylabel("separation probability (MSP)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
    return figure


# --- printing -----------------------------------------------------------------------------------


def ticked(value, published):
    """An error with a tick where it is as published."""
    return f"{value:8.2f}{'✓' if abs(value - published) <= TOLERANCE else ' '}"


def main():
    parts = ("table2", "table3", "figure1", "figure23")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the mnist tasks")
    parser.add_argument("--only", choices=parts, help="one table or figure")
    arguments = parser.parse_args()
    folder()  # ends the script here where there are no data
    warnings.simplefilter("ignore", ConvergenceWarning)  # a run of 100 updates counts as it is
    begin = time.perf_counter()
    names = [
        name for name in PUBLISHED["table2"] if not (arguments.quick and name.startswith("mnist"))
    ]
    for part in (arguments.only,) if arguments.only else parts:
        if part == "table2":
            table2(names)
        elif part == "table3":
            table3(names)
        elif part == "figure1":
            figure1()
        else:
            figure23(names)
    print(f"\n{time.perf_counter() - begin:.0f} seconds")


if __name__ == "__main__":
    main()
