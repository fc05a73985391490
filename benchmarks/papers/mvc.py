"""Figures 4 to 6 and tables 2 to 5 of the maximum volume clustering paper, beside ours.

G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative clustering
approach", Journal of Machine Learning Research 14, 2013.
"""

import argparse
import sys
import time
import tomllib
import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler, normalize

from separatrix import MaximumVolumeClustering
from separatrix.datasets import make_two_circles, make_two_gaussians, make_two_moons
from separatrix.metrics import clustering_error
from separatrix.similarity.graphs import laplacian, similarity_graph
from separatrix.similarity.quadratic_forms import RHO, Spectrum, form_of
from separatrix.solvers.responses import cut_signs
from separatrix.solvers.volume_sqp import run_sqp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from data import folder, load, pair
from output import heading, plot

HERE = Path(__file__).resolve().parent
PUBLISHED = tomllib.loads((HERE / "mvc.toml").read_text())

# The paper's choices, on all data sets.
REG = 1e-2  # gamma
MAX_STEPS = 100
NEAR_SECOND = 1e-4  # eigenvectors this near to the second eigenvalue are starts,
MOST_STARTS = 10  # but at most so many
SIZES = (50, 100, 150, 200, 250, 300, 400, 500)  # samples, in tables 3 to 5

METHODS = ("NSC", "Algorithm 1", "ours")

# What has to be reached, in percent.
FIGURE4_TARGET = 0.5  # at 300 samples
DIGITS_TARGET = 1.2
TABLE3_TARGET = 12.0


# --- methods ------------------------------------------------------------------------------------


class Problem:
    """Samples of two known classes, a graph of them, and what methods make of it.

    Parameters
    ----------
    X, y : array
        Samples and classes.
    **settings : dict
        Parameters of our estimator.
    """

    def __init__(self, X, y, **settings):
        self.y = y
        self.n = len(y)
        self.model = MaximumVolumeClustering(random_state=0, **settings).fit(X)
        self.W = self.model.affinity_matrix_

    def error(self, labels):
        """Clustering error in percent."""
        return 100 * clustering_error(self.y, labels)

    @cached_property
    def spectrum(self):
        """Spectrum of the paper's Q."""
        Q = form_of(self.W, self.model.matrix, 1.0).Q
        return Spectrum.of(Q.toarray() if sp.issparse(Q) else Q)

    @property
    def second_vector(self):
        return self.spectrum.vectors[:, 1]

    @cached_property
    def algorithm1(self):
        return algorithm1(self.spectrum)

    @property
    def errors(self):
        """Errors of the methods, in the order of their names."""
        return {
            "NSC": self.error(spectral_labels(self.spectrum.vectors[:, :2])),
            "Algorithm 1": self.error(self.algorithm1.h > 0),
            "ours": self.error(self.model.labels_),
        }


@dataclass(frozen=True)
class Volume:
    """Where Algorithm 1 ended from the best of its starts."""

    h: np.ndarray
    eta: float
    n_steps: int
    start_vector: np.ndarray
    start_signs: np.ndarray
    n_starts: int


def algorithm1(spectrum):
    """The paper's algorithm from the paper's starts; the steps are the library's."""
    n = len(spectrum.values)
    near = np.flatnonzero(np.abs(spectrum.values - spectrum.values[1]) < NEAR_SECOND)[:MOST_STARTS]
    best = None
    for column in near:
        vector = spectrum.vectors[:, column]
        signs = cut_signs(vector[:, None])[:, 0]
        run = run_sqp(spectrum, signs, REG, 1 / n, MAX_STEPS)
        smoothness = spectrum.values @ (spectrum.vectors.T @ run.h) ** 2
        objective = REG * smoothness - 2 * np.abs(run.h).sum()
        if best is None or objective < best[0]:
            best = objective, Volume(run.h, run.eta, run.n_steps, vector, signs, len(near))
    return best[1]


def spectral_labels(vectors):
    """Normalised spectral clustering of Ng, Jordan and Weiss, from its eigenvectors."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return KMeans(2, n_init=10, random_state=0).fit_predict(rows)


def kernel_kmeans(K, n_starts=10, max_iter=100):
    """Kernel k-means from random labels; the best of some starts."""
    rng = np.random.default_rng(0)
    best = None
    for _ in range(n_starts):
        labels = rng.integers(0, 2, len(K))
        for _ in range(max_iter):
            sizes = np.maximum(np.bincount(labels, minlength=2), 1)
            members = np.eye(2)[labels] / sizes
            to_cluster = K @ members
            compactness = (members * to_cluster).sum(axis=0)
            updated = (compactness - 2 * to_cluster).argmin(axis=1)
            if (updated == labels).all():
                break
            labels = updated
        gain = (sizes * compactness).sum()
        if best is None or gain > best[0]:
            best = gain, labels
    return best[1]


# --- samples ------------------------------------------------------------------------------------


def draw(X, y, n, seed):
    """Some of the samples; as in the paper, not as many of both classes."""
    drawn = np.random.default_rng([seed, n]).permutation(len(y))[:n]
    return X[drawn], y[drawn]


def gaussian(width):
    """Settings of the full graph whose sigma is a multiple of the mean distance."""
    return {"affinity": "rbf", "graph": "full", "gamma": ("mean", 2**0.5 * width)}


def cosine(n_neighbors, graph):
    return {"affinity": "cosine", "graph": graph, "n_neighbors": n_neighbors}


def local(n_neighbors):
    return {"affinity": "local", "graph": "full", "n_neighbors": n_neighbors}


def collected(errors):
    """Errors by method of a list of errors by method."""
    return {method: np.array([each[method] for each in errors]) for method in errors[0]}


# --- Figure 4 -----------------------------------------------------------------------------------

FIGURE4_SIZES = (50, 100, 150, 200, 250, 300)
FIGURE4_DRAWS = 10
WIDTH = 0.1  # sigma over the mean distance
ARTIFICIAL = {
    "2gaussians": make_two_gaussians,
    "2moons": make_two_moons,
    "2circles": make_two_circles,
}
OTHER_SHAPES = {
    "2moons": [{"noise": 0.05}, {"noise": 0.08}, {"noise": 0.12}, {"noise": 0.15}],
    "2circles": [{"noise": 0.1}, {"factor": 0.5}, {"factor": 0.5, "noise": 0.1}],
}
FIGURE4_METHODS = ("KM", "NSC", "Algorithm 1", "sqp", "ours", "default")


def figure4(n_draws):
    heading("Figure 4: clustering error in percent on artificial data")
    print(
        f"Mean and standard error of {n_draws} samplings. Gaussian similarity, sigma = m/10.\n"
        "The paper draws 2moons and 2circles from 400 and 315 fixed samples that it only shows\n"
        "in a picture; here they are drawn anew, with a noise that was set by trial, all methods\n"
        "in view, to resemble its text; see the other shapes below. The figure is not given in\n"
        "numbers: by the text 2gaussians is hardest, and NSC is worse there than KM; on 2circles\n"
        "MVC has almost no error from n = 80 on, NSC after n = 150.\n"
        "KM: kernel k-means, best of ten random starts. NSC: normalised spectral clustering.\n"
        "Algorithm 1: reg=.01, response_bound=1/n, from the eigenvectors within 1e-4 of the\n"
        "second, all as in the paper; sqp: the same by the estimator, whose answers agree but\n"
        "where runs tie or break off. ours: solver='sphere', reg='auto'. default: the\n"
        "estimator's graph, too."
    )
    found = {}
    for name, make in ARTIFICIAL.items():
        print(f"\n{name:12}" + "".join(f"{method:>14}" for method in FIGURE4_METHODS))
        for n in FIGURE4_SIZES:
            errors = found[name, n] = artificial_errors(make, n, n_draws)
            cells = [f"{spread(errors[method]):>14}" for method in FIGURE4_METHODS]
            print(f"{'n = ' + str(n):12}" + "".join(cells), flush=True)
    print_figure4_targets(found)
    print(
        f"\nOther shapes, n = {FIGURE4_SIZES[-1]}\n{'':32}"
        + "".join(f"{method:>14}" for method in METHODS)
    )
    for name, shapes in OTHER_SHAPES.items():
        for shape in shapes:
            errors = artificial_errors(ARTIFICIAL[name], FIGURE4_SIZES[-1], n_draws, **shape)
            text = f"{name}, " + ", ".join(f"{key}={value:g}" for key, value in shape.items())
            print(f"{text:32}" + "".join(f"{spread(errors[method]):>14}" for method in METHODS))
    plot(draw_figure4, found, "mvc_figure4.png")


def print_figure4_targets(found):
    last = FIGURE4_SIZES[-1]
    print(
        f"\nTargets: 'ours' at most {FIGURE4_TARGET} at n = {last}; 'ours' less NSC nowhere\n"
        "above one standard error of this difference\n"
        f"{'':12}{f'error at {last}':>18}" + "".join(f"{f'n = {n}':>13}" for n in FIGURE4_SIZES)
    )
    for name in ARTIFICIAL:
        reached = found[name, last]["ours"].mean()
        differences = {n: found[name, n]["ours"] - found[name, n]["NSC"] for n in FIGURE4_SIZES}
        worse = [f"n = {n}" for n, d in differences.items() if d.mean() > standard_error(d)]
        print(
            f"{name:12}{f'{reached:.2f} {verdict(reached <= FIGURE4_TARGET)}':>18}"
            + "".join(f"{spread(difference):>13}" for difference in differences.values())
        )
        print(
            f"{'':12}no worse than NSC: {', '.join(['missed at', *worse]) if worse else 'reached'}"
        )


def artificial_errors(make, n, n_draws, **shape):
    """Errors of each method on samplings."""
    found = []
    for seed in range(n_draws):
        X, y = make(n, random_state=seed, **shape)
        problem = Problem(X, y, **gaussian(WIDTH))
        sqp = MaximumVolumeClustering(
            affinity="precomputed",
            reg=REG,
            response_bound=1 / n,
            solver="sqp",
            n_combinations=1,
            random_state=0,
        )
        default = MaximumVolumeClustering(random_state=0)
        found.append(
            {
                **problem.errors,
                "KM": problem.error(kernel_kmeans(problem.W)),
                "sqp": problem.error(sqp.fit_predict(problem.W)),
                "default": problem.error(default.fit_predict(X)),
            }
        )
    return collected(found)


def draw_figure4(plt, found):
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
    for axis, name in zip(axes, ARTIFICIAL, strict=True):
        for method, style in zip(
            FIGURE4_METHODS, ("x:", "s--", "^-.", "v:", "o-", "d-"), strict=True
        ):
            errors = [found[name, n][method] for n in FIGURE4_SIZES]
            axis.errorbar(
                FIGURE4_SIZES,
                [values.mean() for values in errors],
                [standard_error(values) for values in errors],
                fmt=style,
                fillstyle="none",
                label=method,
            )
        axis.set_title(name)
        axis.set_xlabel("samples")
    axes[0].set_ylabel("clustering error (%)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False)
    return figure


# --- Figure 5 -----------------------------------------------------------------------------------

FIGURE5_METHODS = ("NSC", "KM", "Algorithm 1", "ours")


def figure5(n_draws):
    heading("Figure 5: CPU time of a fit, as a multiple of spectral clustering's")
    print(
        f"Means of {n_draws} samplings of each set, from samples to labels. The figure of the\n"
        "paper is not given in numbers: NSC was fastest, almost always before KM; MVC, whose\n"
        "steps a general solver of quadratic programs took, lay between LGMMC and GMMC. Steps\n"
        "are in closed form here; 'ours' has 39 starts, NSC ten runs of k-means.\n"
    )
    print(f"{'':9}{'NSC':>12}" + "".join(f"{method:>14}" for method in FIGURE5_METHODS[1:]))
    seconds = {}
    for n in FIGURE4_SIZES:
        runs = []
        for make in ARTIFICIAL.values():
            make_and_time(make, n, 0)  # nothing is left to load
            runs += [make_and_time(make, n, seed) for seed in range(n_draws)]
        seconds[n] = {method: values.mean() for method, values in collected(runs).items()}
        base = seconds[n]["NSC"]
        ratios = "".join(f"{seconds[n][method] / base:14.2f}" for method in FIGURE5_METHODS[1:])
        print(f"n = {n:<5}{1000 * base:9.1f} ms{ratios}", flush=True)
    plot(draw_figure5, seconds, "mvc_figure5.png")


def make_and_time(make, n, seed):
    """CPU seconds of each method."""
    X, _ = make(n, random_state=seed)

    def graph():
        return similarity_graph(X, affinity="rbf", graph="full", n_neighbors=1, gamma=gamma(X)).W

    def matrix():
        return laplacian(graph(), "symmetric")

    methods = {
        "NSC": lambda: spectral_labels(eigh(matrix(), subset_by_index=[0, 1])[1]),
        "KM": lambda: kernel_kmeans(graph()),
        "Algorithm 1": lambda: algorithm1(Spectrum.of(form_of(graph(), "normalized", 1.0).Q)),
        "ours": lambda: MaximumVolumeClustering(random_state=0, **gaussian(WIDTH)).fit(X),
    }
    return {method: cpu_seconds(run) for method, run in methods.items()}


def gamma(X):
    """The kernel coefficient of sigma = m/10."""
    n = len(X)
    mean_distance = euclidean_distances(X).sum() / (n * (n - 1))
    return 1 / (2 * (WIDTH * mean_distance) ** 2)


def cpu_seconds(run):
    begin = time.process_time()
    run()
    return time.process_time() - begin


def draw_figure5(plt, seconds):
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    for method, style in zip(FIGURE5_METHODS, ("s--", "x:", "^-.", "o-"), strict=True):
        values = [1000 * of_size[method] for of_size in seconds.values()]
        axis.plot(list(seconds), values, style, fillstyle="none", label=method)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("samples")
    axis.set_ylabel("CPU milliseconds per fit")
    axis.legend(frameon=False)
    return figure


# --- Figure 6 -----------------------------------------------------------------------------------

VECTORS = ("v2", "v0", "h0", "h*")


def figure6(n_draws):
    heading("Figure 6: steps of Algorithm 1, its multiplier, and the error of its vectors")
    print(
        f"{n_draws} samplings (paper: 100), settings of figure 4. Steps: mean and standard\n"
        "error, and median. eta: mean and standard deviation. starts: eigenvectors within 1e-4\n"
        "of the second. Errors in percent of the signs of v2, the second eigenvector; of v0,\n"
        "that from which Algorithm 1 ended lowest; of h0, v0 cut at its mean; of h*, where it\n"
        "ended. The figure of the paper is not given in numbers: a few steps at any n; eta\n"
        "depends on n, hardly on the data; h* is better than h0, and h0 than v0; v0 is much\n"
        "better than v2 on 2gaussians; v0 and h0 are worse than v2 on 2circles at n = 100."
    )
    found = {}
    for name, make in ARTIFICIAL.items():
        columns = "".join(f"{vector:>13}" for vector in VECTORS)
        print(f"\n{name:12}{'steps':>12}{'median':>8}{'eta':>14}{'starts':>8}{columns}")
        for n in FIGURE4_SIZES:
            values = found[name, n] = vectors_of(make, n, n_draws)
            errors = "".join(f"{spread(values[vector]):>13}" for vector in VECTORS)
            eta = f"{values['eta'].mean():.2f}±{values['eta'].std():.2f}"
            print(
                f"{'n = ' + str(n):12}{spread(values['steps']):>12}{np.median(values['steps']):8g}"
                f"{eta:>14}{values['starts'].mean():8.1f}{errors}",
                flush=True,
            )
    plot(draw_figure6, found, "mvc_figure6.png")


def vectors_of(make, n, n_draws):
    """Steps, multiplier and errors of Algorithm 1 on samplings."""
    runs = []
    for seed in range(n_draws):
        X, y = make(n, random_state=seed)
        W = similarity_graph(X, affinity="rbf", graph="full", n_neighbors=1, gamma=gamma(X)).W
        spectrum = Spectrum.of(form_of(W, "normalized", 1.0).Q)
        run = algorithm1(spectrum)
        vectors = {
            "v2": spectrum.vectors[:, 1],
            "v0": run.start_vector,
            "h0": run.start_signs,
            "h*": run.h,
        }
        errors = {name: 100 * clustering_error(y, vector > 0) for name, vector in vectors.items()}
        runs.append({"steps": run.n_steps, "eta": run.eta, "starts": run.n_starts, **errors})
    return collected(runs)


def draw_figure6(plt, found):
    figure, axes = plt.subplots(1, 5, figsize=(17, 3.6), layout="constrained")
    for name, style in zip(ARTIFICIAL, ("o-", "s--", "^:"), strict=True):
        for axis, what, title in ((axes[0], "steps", "(a) steps"), (axes[1], "eta", "(b) eta")):
            values = [found[name, n][what] for n in FIGURE4_SIZES]
            axis.errorbar(
                FIGURE4_SIZES,
                [of_size.mean() for of_size in values],
                [standard_error(of_size) for of_size in values],
                fmt=style,
                fillstyle="none",
                label=name,
            )
            axis.set_title(title)
    axes[0].set_ylim(bottom=0)
    axes[0].legend(frameon=False)
    for axis, name in zip(axes[2:], ARTIFICIAL, strict=True):
        for vector, style in zip(VECTORS, ("x:", "s--", "^-.", "o-"), strict=True):
            values = [found[name, n][vector] for n in FIGURE4_SIZES]
            axis.errorbar(
                FIGURE4_SIZES,
                [of_size.mean() for of_size in values],
                [standard_error(of_size) for of_size in values],
                fmt=style,
                fillstyle="none",
                label=vector,
            )
        axis.set_title(f"(c) error (%), {name}")
    axes[2].legend(frameon=False)
    for axis in axes:
        axis.set_xlabel("samples")
    return figure


# --- the digits ---------------------------------------------------------------------------------

RHOS = (0.1, 0.25, 0.5, 1.0, RHO, 4.0, 8.0)
DIGITS_SEEDS = range(1, 5)
N_WORST = 6


def digits(n_pairs):
    heading("The pairs of scikit-learn's digits: clustering error in percent")
    print(
        f"{n_pairs} pairs, all parameters at their defaults. Not in the paper; the default of\n"
        "reg was fixed on pairs of USPS and MNIST, not on these. All on the estimator's graph.\n"
        "v2: signs of the second eigenvector; SpectralClustering: scikit-learn's.\n"
    )
    X, y = load_digits(return_X_y=True)
    rows, by_rho, by_seed = {}, {rho: [] for rho in RHOS}, {0: []}
    for a, b in list(combinations(range(10), 2))[:n_pairs]:
        chosen = (y == a) | (y == b)
        problem = Problem(X[chosen], y[chosen] == b)
        spectral = SpectralClustering(2, affinity="precomputed", random_state=0)
        errors = problem.errors
        rows[f"{a}-{b}"] = {
            "v2": problem.error(problem.second_vector > 0),
            "SpectralClustering": problem.error(spectral.fit_predict(problem.W.toarray())),
            **errors,
        }
        for rho in RHOS:
            by_rho[rho].append(
                errors["ours"] if rho == RHO else refitted(problem, reg=("auto", rho))
            )
        for seed in DIGITS_SEEDS:
            by_seed.setdefault(seed, []).append(refitted(problem, random_state=seed))
        by_seed[0].append(errors["ours"])
    values = collected(list(rows.values()))
    print(f"{'':20}{'mean':>14}{'worst':>8}{'pairs below 1 %':>18}")
    for method, of_method in values.items():
        below = int((of_method < 1).sum())
        print(f"{method:20}{spread(of_method):>14}{of_method.max():8.2f}{below:>18}")
    reached = values["ours"].mean()
    print(f"\nTarget: at most {DIGITS_TARGET} on average: {verdict(reached <= DIGITS_TARGET)}")
    print_worst_pairs(rows)
    means = [np.mean(of_seed) for of_seed in by_seed.values()]
    print(f"\nMean of {len(means)} values of random_state: {min(means):.2f} to {max(means):.2f}")
    errors = np.array(list(by_rho.values()))
    print(
        "In hindsight, mean error with reg=('auto', rho):\n"
        + ", ".join(
            f"{of_rho.mean():.2f} ({rho:g})" for rho, of_rho in zip(RHOS, errors, strict=True)
        )
        + f"; the best rho for each pair: {errors.min(axis=0).mean():.2f}"
    )


def refitted(problem, **settings):
    """Error of our estimator on the same graph with other parameters."""
    parameters = {"affinity": "precomputed", "random_state": 0, **settings}
    return problem.error(MaximumVolumeClustering(**parameters).fit_predict(problem.W))


def print_worst_pairs(rows):
    worst = sorted(rows, key=lambda name: -rows[name]["ours"])[:N_WORST]
    print(f"\n{'the worst pairs':20}" + "".join(f"{name:>8}" for name in worst))
    for method in rows[worst[0]]:
        print(f"{method:20}" + "".join(f"{rows[name][method]:8.2f}" for name in worst))


# --- Table 2 ------------------------------------------------------------------------------------

TABLE2_WIDTHS = (4, 2, 1, 0.5, 0.25)  # sigma over the mean distance
IDA_FILES = {
    "Breast-cancer": "breast_cancer",
    "Diabetes": "diabetes",
    "German": "german_ida",
    "Heart": "heart_statlog",
    "Image": "image_ida",
    "Ringnorm": "ringnorm",
    "Titanic": "titanic",
    "Twonorm": "twonorm",
}


def table2(draws_of_size):
    heading("Table 2: clustering error in percent on the IDA benchmarks")
    print(
        "The hundred realisations of IDA were not to be had: samples are drawn from the whole\n"
        "sets, n as in table 1, each feature standardised as a whole. Of Flare-solar (two\n"
        "classes, 9 features) and Splice there are no data. sigma by the true classes, as in the\n"
        "paper, for each sampling and method; on Ringnorm the locally scaled similarity, k = 7.\n"
        "default: our estimator's graph. 'one': error of a single cluster, the share of the\n"
        "smaller class.\n"
    )
    rows = {}
    for name, file in IDA_FILES.items():
        n_draws = draws_of_size(PUBLISHED["table1"][name]["n"])
        if n_draws:
            rows[name] = ida_errors(name, file, n_draws)
    print_beside_paper("table2", rows, extra=("one", "draws"))
    print_above_paper("table2", rows)
    print(
        "Errors near 'one' say little: on German, NSC and Algorithm 1 split off about one sample\n"
        "in a hundred. From sigma = m on the ninth eigenvalue is near one, and reg='auto', which\n"
        "goes by it, may leave the first vectors little weight. Titanic has 14 distinct rows."
    )


def ida_errors(name, file, n_draws):
    """Errors on samplings of a set of the IDA benchmark."""
    X, y, _ = load(file)
    X = StandardScaler().fit_transform(X)
    choices = [local(7)] if name == "Ringnorm" else [gaussian(width) for width in TABLE2_WIDTHS]
    runs = []
    for seed in range(n_draws):
        X_drawn, y_drawn = draw(X, y, PUBLISHED["table1"][name]["n"], seed)
        run = compared(X_drawn, y_drawn, choices)
        runs.append({**run, "one": 100 * min(np.mean(y_drawn == 0), np.mean(y_drawn == 1))})
    return {**collected(runs), "draws": n_draws}


# --- Table 3 ------------------------------------------------------------------------------------

TABLE3_NEIGHBORS = range(3, 9)


def table3(sizes, n_draws, n_mutual_draws):
    heading("Table 3: clustering error in percent on pairs of digits")
    print(
        f"Mean and standard error of {n_draws} samplings of each size out of\n"
        f"{', '.join(map(str, sizes))}. Cosine similarity on the graph of nearest neighbours;\n"
        "k out of 3 to 8 by the true classes for each sampling and method, as in the paper.\n"
        "default: our estimator's graph, all fixed. USPS of the paper has 11,000 samples, 1,100\n"
        "a digit; that set was not to be had, ours is the usual one of 9,298.\n"
        "Neighbours one way ('union'); the paper says 'of each other'. The union was taken after\n"
        "both had been tried, see below. And the default of reg was fixed on pairs of these two\n"
        "data sets: 'ours' has seen them, NSC and Algorithm 1 have not.\n"
    )
    choices = [cosine(k, "union") for k in TABLE3_NEIGHBORS]
    rows = {task: pair_errors(task, sizes, n_draws, choices) for task in PUBLISHED["table3"]}
    print_beside_paper("table3", rows)
    print_above_paper("table3", rows)
    reached = mean_of_tasks(rows, ("hindsight", "ours"))
    ours, spectral = (mean_of_tasks(rows, ("default", method)) for method in ("ours", "NSC"))
    difference = np.concatenate(
        [errors["default", "ours"] - errors["default", "NSC"] for errors in rows.values()]
    )
    print(
        f"\nTargets: in hindsight at most {TABLE3_TARGET:g} on average: {reached:.2f} "
        f"{verdict(reached <= TABLE3_TARGET)}\n"
        f"         on the default graph below NSC: {ours:.2f} and {spectral:.2f}, difference "
        f"{spread(difference)} {verdict(ours < spectral)}"
    )
    choices = [cosine(k, "mutual") for k in TABLE3_NEIGHBORS]
    mutual = {
        task: pair_errors(task, sizes, n_mutual_draws, choices, with_default=False)
        for task in PUBLISHED["table3"]
    }
    print(
        f"\nMeans by data set, and once more with neighbours of each other ('mutual'),\n"
        f"{n_mutual_draws} samplings of each size: such graphs fall into many parts. On MNIST,\n"
        "where the data are the paper's, NSC and Algorithm 1 are near it on the union and far\n"
        "above it on the other. USPS is another set: compare with the paper on MNIST alone."
    )
    print_mutual(rows, mutual)
    reached = mean_of_tasks(mutual, ("hindsight", "ours"))
    print(
        f"With neighbours of each other, the paper's wording, 'ours' in hindsight: {reached:.2f}, "
        f"at most {TABLE3_TARGET:g} {verdict(reached <= TABLE3_TARGET)}"
    )


def print_mutual(rows, mutual):
    """Means of each set of digits on both kinds of graph, beside the paper's."""
    print(f"{'':8}{'paper':^14}{'union':^39}{'mutual':^39}")
    print(f"{'':8}{'NSC':>7}{'MVC':>7}" + "".join(f"{method:>13}" for method in 2 * METHODS))
    for name in ("USPS", "MNIST"):
        tasks = [task for task in rows if task.startswith(name)]
        line = "".join(
            f"{np.mean([PUBLISHED['table3'][task][method][0] for task in tasks]):7.2f}"
            for method in ("NSC", "MVC")
        )
        for of_graph in (rows, mutual):
            chosen = {task: of_graph[task] for task in tasks}
            line += "".join(
                f"{mean_of_tasks(chosen, ('hindsight', method)):13.2f}" for method in METHODS
            )
        print(f"{name:8}{line}")


def pair_errors(task, sizes, n_draws, choices, with_default=True):
    """Errors on samplings of two digits."""
    name, digits = task.split()
    X, y = pair(name.lower(), *digits.split("-"))
    return sampled_errors(X, y, sizes, n_draws, choices, with_default)


def sampled_errors(X, y, sizes, n_draws, choices, with_default=True):
    """Errors on samplings of several sizes."""
    return collected(
        [
            compared(*draw(X, y, n, seed), choices, with_default)
            for n in sizes
            for seed in range(n_draws)
        ]
    )


def compared(X, y, choices, with_default=True):
    """Errors of the methods, the settings chosen in hindsight, and on the default graph."""
    tried = [Problem(X, y, **settings).errors for settings in choices]
    errors = {
        ("hindsight", method): min(of_choice[method] for of_choice in tried) for method in METHODS
    }
    if with_default:
        default = Problem(X, y).errors
        errors |= {("default", method): default[method] for method in METHODS}
    return errors


# --- Table 4 ------------------------------------------------------------------------------------

TABLE4_NEIGHBORS = range(3, 9)


def table4(sizes, n_draws):
    heading("Table 4: clustering error in percent on pairs of topics of 20 newsgroups")
    print(
        f"Mean and standard error of {n_draws} samplings of each size out of\n"
        f"{', '.join(map(str, sizes))} (paper: ten). Locally scaled similarity of all samples, k\n"
        "out of 3 to 8 by the true classes for each sampling and method, as in the paper.\n"
        "Weights of terms as in the script it names, (1 + log tf) log(N/df), documents of length\n"
        "one; our terms are another cut of the texts, 29,008 instead of 26,214.\n"
        "default: our estimator's graph, all fixed.\n"
    )
    choices = [local(k) for k in TABLE4_NEIGHBORS]
    rows = {
        task: sampled_errors(*topics(*task.split("-")), sizes, n_draws, choices)
        for task in PUBLISHED["table4"]
    }
    print_beside_paper("table4", rows)
    print_above_paper("table4", rows)


@cache
def weighted_terms():
    """Documents of all newsgroups, their groups, and the topic of each group."""
    counts, y, groups = load("newsgroups20_tf")
    weights = sp.csr_array(counts)
    df = np.bincount(weights.indices, minlength=weights.shape[1])
    idf = np.log(weights.shape[0] / np.maximum(df, 1))
    weights.data = (1 + np.log(weights.data)) * idf[weights.indices]
    return normalize(weights), y, np.array([group.split(".")[0] for group in groups])


def topics(a, b):
    """Documents of two topics, labelled 0 and 1."""
    X, y, topic_of_group = weighted_terms()
    topic = topic_of_group[y]
    chosen = np.flatnonzero((topic == a) | (topic == b))
    return X[chosen], (topic[chosen] == b).astype(int)


# --- Table 5 ------------------------------------------------------------------------------------

TABLE5_NEIGHBORS = range(1, 7)
TABLE5_WIDTHS = (2, 1, 0.5, 0.25, 0.125)
TABLE5_SIZES = (50, 100, 150, 200)


def table5(sizes, n_draws):
    heading("Table 5: clustering error in percent on pairs of spoken letters")
    print(
        f"Mean and standard error of {n_draws} samplings of each size out of\n"
        f"{', '.join(map(str, sizes))}. Only parts 1 and 5 of Isolet were to be had, some 240\n"
        "samples of two letters, so the paper's sizes of 250 to 500 are missing. Cosine\n"
        "similarity, neighbours one way, k out of 1 to 6 by the true classes. As in the paper,\n"
        "Algorithm 1 and ours take nI - W with Gaussian similarities, sigma by the true classes,\n"
        "instead, at those sizes of a task where it has the lower mean. default: our\n"
        "estimator's graph, all fixed.\n"
    )
    rows = {}
    for task in PUBLISHED["table5"]:
        of_sizes = [letter_errors(task, n, n_draws) for n in sizes]
        rows[task] = {key: np.concatenate([each[key] for each in of_sizes]) for key in of_sizes[0]}
    print_beside_paper("table5", rows)
    print_above_paper("table5", rows)
    print("On A-H the errors of the paper fall with n, so the sizes that are missing may count.")


def letter_errors(task, n, n_draws):
    """Errors on samplings of one size, by the better of two matrices."""
    X, y = pair("isolet_1_5", *(ord(letter) - ord("A") + 1 for letter in task.split("-")))
    laplacians = sampled_errors(X, y, [n], n_draws, [cosine(k, "union") for k in TABLE5_NEIGHBORS])
    plain_matrices = sampled_errors(
        X,
        y,
        [n],
        n_draws,
        [{"matrix": "dissimilarity", **gaussian(width)} for width in TABLE5_WIDTHS],
        with_default=False,
    )
    for method in ("Algorithm 1", "ours"):
        key = "hindsight", method
        if plain_matrices[key].mean() < laplacians[key].mean():
            laplacians[key] = plain_matrices[key]
    return laplacians


# --- printing -----------------------------------------------------------------------------------

PAPER_METHODS = ("KM", "NSC", "LGMMC", "MVC", "GMMC")
COLUMNS = [*(("hindsight", method) for method in METHODS), ("default", "NSC"), ("default", "ours")]
SHORT = {"Algorithm 1": "Alg. 1"}


def print_beside_paper(table, rows, extra=()):
    """Published means, and ours with standard errors, a task a row."""
    published = PUBLISHED[table]
    print(f"{'':14}{'paper':^35}{'in hindsight':^30}{'default':^20}")
    names = "".join(f"{method:>7}" for method in PAPER_METHODS)
    names += "".join(f"{SHORT.get(method, method):>10}" for _, method in COLUMNS)
    print(f"{'':14}{names}" + "".join(f"{name:>6}" for name in extra))
    for task, errors in rows.items():
        line = "".join(f"{plain(published[task].get(method)):>7}" for method in PAPER_METHODS)
        line += "".join(f"{spread(errors[column], 1):>10}" for column in COLUMNS)
        line += "".join(f"{np.mean(errors[name]):6.3g}" for name in extra)
        print(f"{task:14}{line}")
    line = ""
    for method in PAPER_METHODS:
        values = [published[task][method][0] for task in rows if method in published[task]]
        line += f"{np.mean(values):7.2f}" if len(values) == len(rows) else f"{'-':>7}"
    line += "".join(f"{mean_of_tasks(rows, column):10.2f}" for column in COLUMNS)
    print(f"{'mean':14}{line}", flush=True)


def print_above_paper(table, rows):
    """Tasks on which our errors, chosen in hindsight too, are clearly above the paper's."""
    above = []
    for task, errors in rows.items():
        mean, error = PUBLISHED[table][task]["MVC"]
        ours = errors["hindsight", "ours"]
        if ours.mean() > mean + 2 * np.hypot(error, standard_error(ours)):
            above.append(task)
    print(
        "\n'ours' in hindsight is above the paper's MVC by more than two standard errors on: "
        f"{', '.join(above) or 'none'}"
    )


def mean_of_tasks(rows, column):
    return np.mean([errors[column].mean() for errors in rows.values()])


def verdict(met):
    return "reached" if met else "missed"


def standard_error(values):
    return np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0


def spread(values, digits=2):
    """Mean and standard error."""
    return f"{np.mean(values):.{digits}f}±{standard_error(values):.{digits}f}"


def plain(published):
    """The mean of a published figure as it is printed in the paper."""
    return "-" if published is None else f"{published[0]:g}"


def main():
    parts = ("figure4", "figure5", "figure6", "digits", "table2", "table3", "table4", "table5")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(parts)}")
    parser.add_argument(
        "--quick", action="store_true", help="fewer samplings, pairs and sizes; no target counts"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(parts)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    folder()  # ends the script here where there are no data
    warnings.simplefilter("ignore")  # samples without neighbours count as they are
    begin = time.perf_counter()
    quick = arguments.quick
    few_sizes = (50, 150, 300)
    run = {
        "figure4": lambda: figure4(4 if quick else FIGURE4_DRAWS),
        "figure5": lambda: figure5(1 if quick else 3),
        "figure6": lambda: figure6(10 if quick else 100),
        "digits": lambda: digits(10 if quick else 45),
        "table2": lambda: table2(quick_ida_draws if quick else ida_draws),
        "table3": lambda: table3(few_sizes, 1, 1) if quick else table3(SIZES, 10, 2),
        "table4": lambda: table4(few_sizes, 1) if quick else table4(SIZES, 3),
        "table5": lambda: table5(TABLE5_SIZES, 1 if quick else 10),
    }
    for part in parts:
        if not arguments.parts or part in arguments.parts:
            run[part]()
            print(f"[{time.perf_counter() - begin:.0f} s]", flush=True)
    print(
        f"\n{time.perf_counter() - begin:.0f} seconds, {time.process_time():.0f} of the processor"
    )


def ida_draws(n):
    """Samplings of a set of the IDA benchmark, by their size."""
    return 20 if n < 600 else 5 if n < 1000 else 2


def quick_ida_draws(n):
    return 3 if n < 600 else 0


if __name__ == "__main__":
    main()
