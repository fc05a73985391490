"""Figures 4 to 6 and tables 2 to 5 of the maximum volume clustering paper."""

import time
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.data import load, pair
from benchmarks.papers.harness import (
    DEFAULT,
    ERROR,
    OURS,
    PAPER,
    PEER,
    Cell,
    Claim,
    Job,
    Table,
    collected,
    published_in,
    standard_error,
    value_cell,
)
from separatrix import (
    GeneralizedMarginClustering,
    HardMaximumVolumeClustering,
    LabelGenerationMarginClustering,
    MaximumVolumeClustering,
    SemidefiniteMarginClustering,
)
from separatrix.datasets import make_two_circles, make_two_gaussians, make_two_moons
from separatrix.metrics import clustering_error
from separatrix.similarity.quadratic_forms import Spectrum
from separatrix.solvers.responses import cut_signs
from separatrix.solvers.volume_sqp import run_sqp

PUBLISHED = published_in(__file__)

# --- settings of the columns --------------------------------------------------------------------

# The paper's choices for Algorithm 1, on all data sets.
REG = 1e-2  # gamma
MAX_STEPS = 100
NEAR_SECOND = 1e-4  # eigenvectors this near to the second eigenvalue are starts,
MOST_STARTS = 10  # but at most so many

STRENGTHS = (1e-3, 1.0, 1e3)  # the paper's C of MMC and LGMMC, C_delta of GMMC, gamma of MVC-HL
# Each as a function of one of these strengths, for a matrix of similarities.
BY_STRENGTH = {
    "MVC-HL": lambda strength: HardMaximumVolumeClustering(
        affinity="precomputed", reg=strength, max_response=1.0, random_state=0
    ),
    "MMC": lambda strength: SemidefiniteMarginClustering(
        kernel="precomputed", C=strength, random_state=0
    ),
    "GMMC": lambda strength: GeneralizedMarginClustering(
        kernel="precomputed", C=strength / 2, sum_penalty=1e4, random_state=0
    ),
    "LGMMC": lambda strength: LabelGenerationMarginClustering(
        kernel="precomputed", C=strength, random_state=0
    ),
}
SHIFTED = ("MVC-HL", "GMMC")  # whose matrix has 1/n added to its diagonal

FULL = {
    "n_pairs": 45,  # of scikit-learn's digits
    "rhos": [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
    "n_choices": None,  # similarities that are tried; None is all
    "strengths": list(STRENGTHS),
    "largest_of_others": 600,  # samples of table 2, from which on the paper has no GMMC
    "sets": ["2gaussians", "2moons", "2circles"],
    "small_sizes": [50, 60, 70, 80, 90, 100],
    "sizes": [50, 100, 150, 200, 250, 300],
    "n_draws": 10,
    "n_draws_of_figure6": 100,
    "n_times": 3,
    "sampled": [50, 100, 150, 200, 250, 300, 400, 500],  # tables 3 and 4
    "sampled_of_table5": [50, 100, 150, 200],
    "n_samplings": {"table3": 10, "table4": 10, "table5": 10},
    "sampled_of_others": [50, 100, 200],
    "n_samplings_of_others": 2,
    "ida": [100, 100, 20],  # samplings of fewer than 600, of fewer than 1,000, of more samples
    "n_other_settings": 100,  # samplings of Breast-cancer with other settings
    "tasks": {table: list(PUBLISHED[table]) for table in ("table3", "table4", "table5")},
}
SCALES = {
    "full": FULL,
    "quick": FULL
    | {
        "small_sizes": [80, 100],
        "sizes": [100, 200],
        "n_draws": 3,
        "n_draws_of_figure6": 10,
        "n_times": 1,
        "sampled": [50, 150, 300],
        "sampled_of_table5": [50, 100, 200],
        "n_samplings": {"table3": 1, "table4": 1, "table5": 1},
        "sampled_of_others": [50],
        "n_samplings_of_others": 1,
        "ida": [2, 0, 0],
        "n_other_settings": 2,
        "n_pairs": 5,
        "strengths": [1.0],
        "largest_of_others": 0,
        "tasks": {
            "table3": ["USPS 1-7", "USPS 3-5", "MNIST 1-7", "MNIST 8-9"],
            "table4": ["comp-talk", "rec-sci", "alt-soc"],
            "table5": ["B-P", "T-D", "A-H"],
        },
    },
    "smoke": FULL
    | {
        "sets": ["2moons"],
        "small_sizes": [50],
        "sizes": [50],
        "n_draws": 1,
        "n_draws_of_figure6": 1,
        "n_times": 1,
        "sampled": [50],
        "sampled_of_table5": [50],
        "n_samplings": {"table3": 1, "table4": 1, "table5": 1},
        "sampled_of_others": [50],
        "n_samplings_of_others": 1,
        "ida": [1, 0, 0],
        "n_other_settings": 1,
        "n_pairs": 1,
        "rhos": [1.0],
        "n_choices": 1,
        "strengths": [1.0],
        "largest_of_others": 0,
        "tasks": {"table3": ["USPS 1-7"], "table4": ["alt-soc"], "table5": ["A-H"]},
    },
}


# --- similarities, as the paper defines them ----------------------------------------------------


def gaussian(X, width):
    """Gaussian similarities of all samples, sigma as a multiple of the mean distance (27)."""
    D = euclidean_distances(X)
    n = len(D)
    sigma = width * D.sum() / (n * (n - 1))
    return np.exp(-(D**2) / (2 * sigma**2))


def local(X, n_neighbors):
    """Gaussian similarities scaled by the distance of the k-th neighbour of both samples."""
    D = euclidean_distances(X)
    radius = np.maximum(np.sort(D, axis=1)[:, n_neighbors], 1e-12)
    return np.exp(-(D**2) / (2 * radius[:, None] * radius))


def cosine(X, n_neighbors, mutual=False):
    """Cosines of neighbours one way, or of each other."""
    W = np.maximum(cosine_similarity(X), 0)
    np.fill_diagonal(W, 0)
    near = np.zeros(W.shape, dtype=bool)
    nearest = np.argsort(-W, axis=1, kind="stable")[:, :n_neighbors]
    near[np.arange(len(W))[:, None], nearest] = True
    return W * (near & near.T if mutual else near | near.T)


SIMILARITIES = {"gaussian": gaussian, "local": local, "cosine": cosine}


def matrix_of(W, matrix):
    """The paper's Q: L_sym + I/n, or nI - W."""
    n = len(W)
    if matrix == "dissimilarity":
        return n * np.eye(n) - W
    return normalised_laplacian(W) + np.eye(n) / n


def normalised_laplacian(W):
    root = np.sqrt(np.maximum(W.sum(axis=1), 1e-12))
    return np.eye(len(W)) - W / root[:, None] / root


# --- methods ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Volume:
    """Where Algorithm 1 ended from the best of its starts."""

    h: np.ndarray
    eta: float
    n_steps: int
    start_vector: np.ndarray
    start_signs: np.ndarray
    n_starts: int


def algorithm1(Q):
    """The paper's algorithm from the paper's starts; the steps are the library's."""
    n = len(Q)
    spectrum = Spectrum.of(Q)
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


def spectral_labels(W):
    """Normalised spectral clustering of Ng, Jordan and Weiss."""
    vectors = eigh(normalised_laplacian(W), subset_by_index=[0, 1])[1]
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


def estimated(W, **settings):
    """Labels of our estimator on given similarities."""
    model = MaximumVolumeClustering(affinity="precomputed", random_state=0, **settings)
    return model.fit_predict(W)


def sqp_labels(W, matrix="normalized"):
    """Algorithm 1 by the estimator, which has starts of its own."""
    settings = {"reg": REG, "response_bound": 1 / len(W), "solver": "sqp", "n_combinations": 1}
    return estimated(W, matrix=matrix, **settings)


def of_strength(method, W, strength):
    """Labels of a method of one strength; one cluster where it has no answer."""
    shift = np.eye(len(W)) / len(W) if method in SHIFTED else 0
    try:
        return BY_STRENGTH[method](strength).fit_predict(W + shift)
    except ValueError:
        return np.zeros(len(W), dtype=int)


def errors_of_volume(y, W, matrix="normalized"):
    """Errors in percent of the paper's algorithm and of ours on the same similarities."""
    return {
        "the paper's": error(y, algorithm1(matrix_of(W, matrix)).h > 0),
        "ours": error(y, estimated(W, matrix=matrix)),
    }


def error(y, labels):
    """Clustering error in percent."""
    return 100 * clustering_error(y, labels)


VOLUME_VARIANTS = {
    "the paper's": (
        PAPER,
        "Algorithm 1 with gamma = .01 and b = 1/n, from the eigenvectors whose eigenvalues lie "
        "within 1e-4 of the second",
    ),
    "ours": (OURS, "solver='sphere', reg='auto', on the same similarities"),
    "default": (DEFAULT, "the default estimator with its own graph; no class used"),
    "other": (PEER, "on the same similarities, parameters chosen as in the paper"),
}


# --- Figure 4 -----------------------------------------------------------------------------------

WIDTH = 0.1  # sigma over the mean distance
ARTIFICIAL = {
    "2gaussians": make_two_gaussians,
    "2moons": make_two_moons,
    "2circles": make_two_circles,
}


def artificial_errors(name, n, n_draws, strengths, methods):
    """Errors of each method on samplings, strengths in hindsight."""
    found = []
    for seed in range(n_draws):
        X, y = ARTIFICIAL[name](n, random_state=seed)
        W = gaussian(X, WIDTH)
        errors = errors_of_volume(y, W)
        errors["sqp"] = error(y, sqp_labels(W))
        errors["KM"] = error(y, kernel_kmeans(W))
        errors["NSC"] = error(y, spectral_labels(W))
        errors["default"] = error(y, MaximumVolumeClustering(random_state=0).fit_predict(X))
        for method in methods:
            errors[method] = min(error(y, of_strength(method, W, one)) for one in strengths)
        found.append(errors)
    return collected(found)


def figure4(scale):
    jobs, cells = {}, []
    for name in scale["sets"]:
        small = [("small", n, list(BY_STRENGTH)) for n in scale["small_sizes"]]
        middle = [("middle", n, ["GMMC", "LGMMC"]) for n in scale["sizes"]]
        for part, n, methods in small + middle:
            settings = {"name": name, "n": n, "n_draws": scale["n_draws"], "methods": methods}
            settings["strengths"] = scale["strengths"]
            job = Job(f"{part} / {name} / {n}", artificial_errors, settings, (n / 50) ** 2)
            jobs[name, part, n] = job
            row = f"{name}, {part}, n = {n}"
            for variant in ("the paper's", "sqp", "ours", "default"):
                cells.append(value_cell(row, "MVC-SL", variant, job, variant))
            for method in ("KM", "NSC", *methods):
                cells.append(value_cell(row, method, "other", job, method))
    return Table(
        "figure4",
        "Figure 4: clustering error on artificial data",
        "error in percent",
        "Mean and standard error of ten samplings; Gaussian similarity with sigma = m/10, where m "
        "is the mean distance. The paper draws 2moons and 2circles from 400 and 315 fixed samples "
        "that it only shows in a picture; here they are drawn anew. As in the paper, C of MMC and "
        "LGMMC, C_delta of GMMC and gamma of MVC-HL are chosen from 1e-3, 1 and 1e3 by the true "
        "classes. The paper gives no numbers for this figure.",
        VOLUME_VARIANTS | {"sqp": (PAPER, "Algorithm 1 by the estimator, solver='sqp'")},
        [*jobs.values()],
        cells,
        own=(),
        better=None,
        digits=1,
        claims=claims_of_figure4(jobs, scale),
    )


def claims_of_figure4(jobs, scale):
    """What the text says of figure 4, at the sizes that are measured."""
    last, claims = max(scale["sizes"]), []

    def add(text, place, check):
        if place in jobs:
            claims.append(Claim(text, (jobs[place].name,), check))

    gaussians, circles = ("2gaussians", "middle", last), ("2circles", "small", 80)
    add(f"2gaussians, n = {last}: LGMMC errs around 20 %.", gaussians, lgmmc_around_twenty)
    add(f"2gaussians, n = {last}: NSC is worse than KM.", gaussians, spectral_below_kmeans)
    add(
        f"2gaussians, n = {last}: MVC-SL has much lower errors than NSC.",
        gaussians,
        partial(much_lower, than="NSC"),
    )
    for method in ("the paper's", "MVC-HL", "MMC"):
        name = "MVC-SL" if method == "the paper's" else method
        check = partial(nearly_zero, method=method)
        add(f"2circles, n = 80: {name} has almost no error.", circles, check)
    for method in ("NSC", "LGMMC", "GMMC"):
        check = partial(nearly_zero, method=method)
        add(f"2circles, n = {last}: {method} is perfect.", ("2circles", "middle", last), check)
    return claims


def lgmmc_around_twenty(values):
    mean = np.mean(values["LGMMC"])
    return 10 <= mean <= 30, f"{mean:.1f}"


def spectral_below_kmeans(values):
    spectral, kmeans = np.mean(values["NSC"]), np.mean(values["KM"])
    return spectral > kmeans, f"{spectral:.1f} and {kmeans:.1f}"


def much_lower(values, than):
    ours, theirs = np.mean(values["the paper's"]), np.mean(values[than])
    return ours < theirs / 2, f"{ours:.1f} and {theirs:.1f}"


def nearly_zero(values, method):
    mean = np.mean(values[method])
    return mean <= 1.0, f"{mean:.1f}"


# --- Figure 5 -----------------------------------------------------------------------------------


def milliseconds(n, n_times, methods):
    """CPU time of each method, from samples to labels, mean over the artificial sets."""
    runs = []
    for make in ARTIFICIAL.values():
        cpu_times(make(n, random_state=0)[0], methods)  # nothing is left to load
        runs += [cpu_times(make(n, random_state=seed)[0], methods) for seed in range(n_times)]
    return {method: np.mean(times) for method, times in collected(runs).items()}


def cpu_times(X, methods):
    ways = {
        "NSC": lambda: spectral_labels(gaussian(X, WIDTH)),
        "KM": lambda: kernel_kmeans(gaussian(X, WIDTH)),
        "MVC-SL, the paper's": lambda: algorithm1(matrix_of(gaussian(X, WIDTH), "normalized")),
        "MVC-SL, ours": lambda: estimated(gaussian(X, WIDTH)),
    }
    for method in methods:
        ways[method] = partial(of_strength, method, gaussian(X, WIDTH), 1.0)
    found = {}
    for name, run in ways.items():
        begin = time.process_time()
        run()
        found[name] = 1000 * (time.process_time() - begin)
    return found


def figure5(scale):
    jobs, cells = [], []
    for n in scale["sizes"]:
        methods = list(BY_STRENGTH) if n <= 100 else ["GMMC", "LGMMC"]
        settings = {"n": n, "n_times": scale["n_times"], "methods": methods}
        jobs.append(Job(f"times / {n}", milliseconds, settings, (n / 50) ** 2))
        of_all = ("NSC", "KM", "MVC-SL, the paper's", "MVC-SL, ours", *methods)
        cells += [value_cell(f"n = {n}", name, "ms", jobs[-1], name) for name in of_all]
    claims = [
        Claim(f"{job.name.split(' / ')[1]} samples: {text}", (job.name,), check)
        for job in jobs[-1:]
        for text, check in (
            ("NSC is the fastest, faster than KM.", spectral_is_fastest),
            ("LGMMC is faster than GMMC.", partial(faster, first="LGMMC", second="GMMC")),
        )
    ]
    return Table(
        "figure5",
        "Figure 5: CPU time of a fit",
        "milliseconds",
        "Means over the three artificial sets, from samples to labels. The paper gives no numbers "
        "for this figure. It computes the steps with a general solver for quadratic programs; "
        "here they are in closed form. C, C_delta and gamma of the other methods are 1, and the "
        "time to choose them is not counted.",
        {"ms": (OURS, "milliseconds of the processor")},
        jobs,
        cells,
        better=None,
        digits=1,
        claims=claims,
    )


def spectral_is_fastest(values):
    others = {name: value for name, value in values.items() if name != "NSC"}
    fastest = min(others, key=others.get)
    told = f"{values['NSC']:.1f} ms; the next is {fastest} with {others[fastest]:.1f} ms"
    return values["NSC"] < others[fastest], told


def faster(values, first, second):
    return values[first] < values[second], f"{values[first]:.1f} and {values[second]:.1f} ms"


# --- Figure 6 -----------------------------------------------------------------------------------

VECTORS = ("v2", "v0", "h0", "h*")


def vectors_of(name, n, n_draws):
    """Steps, multiplier and errors of Algorithm 1 on samplings."""
    runs = []
    for seed in range(n_draws):
        X, y = ARTIFICIAL[name](n, random_state=seed)
        Q = matrix_of(gaussian(X, WIDTH), "normalized")
        run = algorithm1(Q)
        vectors = {
            "v2": eigh(Q, subset_by_index=[1, 1])[1][:, 0],
            "v0": run.start_vector,
            "h0": run.start_signs,
            "h*": run.h,
        }
        errors = {one: error(y, vector > 0) for one, vector in vectors.items()}
        runs.append({"steps": run.n_steps, "eta": run.eta, "starts": run.n_starts, **errors})
    found = collected(runs)
    return {key: [np.mean(values), standard_error(values)] for key, values in found.items()}


def mean_of(values, key):
    return values[key][0]


def figure6(scale):
    jobs, cells, claims = {}, [], []
    for name in scale["sets"]:
        for n in scale["sizes"]:
            settings = {"name": name, "n": n, "n_draws": scale["n_draws_of_figure6"]}
            job = Job(f"vectors / {name} / {n}", vectors_of, settings, (n / 50) ** 2)
            jobs[name, n] = job
            for key in ("steps", "eta", "starts", *VECTORS):
                read = partial(mean_of, key=key)
                cells.append(Cell(f"{name}, n = {n}", key, "mean", (job.name,), read))
            for better, worse in (("h*", "h0"), ("h0", "v0")):
                text = f"{name}, n = {n}: {better} is not clearly worse than {worse}."
                claims.append(Claim(text, (job.name,), partial(no_worse, a=better, b=worse)))
    needs = tuple(job.name for job in jobs.values())
    claims.append(Claim("Algorithm 1 takes a few steps at any n.", needs, few_steps, True))
    last = max(scale["sizes"])
    of_size = tuple(job.name for (_, n), job in jobs.items() if n == last)
    text = f"n = {last}: eta hardly depends on the data."
    claims.append(Claim(text, of_size, eta_depends_little))
    return Table(
        "figure6",
        "Figure 6: steps of Algorithm 1, its multiplier, and the error of its vectors",
        "",
        "Means of 100 samplings with the settings of figure 4. 'starts' is the number of "
        "eigenvectors whose eigenvalues lie within 1e-4 of the second. The other columns are "
        "errors in percent of the signs of four vectors: v2, the second eigenvector; v0, the "
        "eigenvector from which Algorithm 1 ended lowest; h0, v0 cut at its mean; h*, where "
        "Algorithm 1 ended. The paper gives no numbers for this figure. One vector is clearly "
        "worse than another if its error is higher by more than two standard errors.",
        {"mean": (PAPER, "Algorithm 1")},
        [*jobs.values()],
        cells,
        better=None,
        claims=claims,
    )


def no_worse(values, a, b):
    """Whether one error is at most the other, up to two standard errors."""
    first, second = values[a], values[b]
    allowed = 2 * np.hypot(first[1], second[1])
    return first[0] <= second[0] + allowed, f"{first[0]:.2f} and {second[0]:.2f}"


def few_steps(*runs):
    most = max(run["steps"][0] for run in runs)
    return most <= 10, f"at most {most:.1f} on average"


def eta_depends_little(*runs):
    etas = [run["eta"][0] for run in runs]
    return np.ptp(etas) <= 0.1 * abs(np.mean(etas)), ", ".join(f"{eta:.2f}" for eta in etas)


# --- Tables 2 to 5 ------------------------------------------------------------------------------

MEAN_WIDTHS = {"table2": (4, 2, 1, 0.5, 0.25), "table3": (4, 2, 1, 0.5, 0.25),
               "table5": (2, 1, 0.5, 0.25, 0.125)}  # fmt: skip
NEIGHBORS = {"table3": range(3, 9), "table4": range(3, 9), "table5": range(1, 7)}
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


def choices_of(table, task, of_volume):
    """Similarities out of which the true classes choose: name, parameter and matrix."""
    if table == "table2" and task == "Ringnorm":
        return [("local", 7, "normalized")]
    if table == "table4":
        return [("local", k, "normalized") for k in NEIGHBORS[table]]
    widths = [("gaussian", width, "normalized") for width in MEAN_WIDTHS[table]]
    if table == "table2" or not of_volume:
        return widths
    cosines = [("cosine", k, "normalized") for k in NEIGHBORS[table]]
    if table == "table5":
        return cosines + [("gaussian", width, "dissimilarity") for width in MEAN_WIDTHS[table]]
    return cosines


@cache
def samples_of(table, task):
    """Samples and classes of a task."""
    if table == "table2":
        X, y, _ = load(IDA_FILES[task])
        return StandardScaler().fit_transform(X), y
    if table == "table3":
        name, digits = task.split()
        return pair(name.lower(), *digits.split("-"))
    if table == "table4":
        return topics(*task.split("-"))
    return pair("isolet_1_5", *(ord(letter) - ord("A") + 1 for letter in task.split("-")))


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


def samplings(table, task, sizes, n_samplings):
    """Some of the samples; as in the paper, not as many of both classes."""
    X, y = samples_of(table, task)
    for n in sizes:
        for seed in range(n_samplings):
            drawn = np.random.default_rng([seed, n]).permutation(len(y))[:n]
            yield n, X[drawn], y[drawn]


def errors_of_task(table, task, sizes, n_samplings, n_choices):
    """Errors of NSC, Algorithm 1 and ours at their best similarities, and of the default."""
    found = []
    for n, X, y in samplings(table, task, sizes, n_samplings):
        tried: dict[str, list] = {}
        for name, parameter, matrix in choices_of(table, task, of_volume=True)[:n_choices]:
            W = SIMILARITIES[name](X, parameter)
            for method, value in errors_of_volume(y, W, matrix).items():
                tried.setdefault(f"{method}, {matrix}", []).append(value)
            if matrix == "normalized":
                tried.setdefault("NSC", []).append(error(y, spectral_labels(W)))
        default = MaximumVolumeClustering(random_state=0).fit_predict(X)
        shares = {"one cluster": 100 * min(np.mean(y == 0), np.mean(y == 1)), "n": n}
        best = {method: min(errors) for method, errors in tried.items()}
        found.append(best | {"default": error(y, default)} | shares)
    return by_better_matrix(collected(found))


def by_better_matrix(found):
    """For each size the matrix of lower mean error, as the paper's table 5 chooses it."""
    sizes = np.array(found["n"])
    for method in ("the paper's", "ours"):
        one = np.array(found.pop(f"{method}, normalized"))
        other = np.array(found.pop(f"{method}, dissimilarity", one))
        for n in np.unique(sizes):
            if other[sizes == n].mean() < one[sizes == n].mean():
                one[sizes == n] = other[sizes == n]
        found[method] = one.tolist()
    return found


def errors_of_others(table, task, sizes, n_samplings, n_choices, methods, strengths):
    """Errors of other methods at their best similarity and strength."""
    found = []
    for _, X, y in samplings(table, task, sizes, n_samplings):
        tried: dict[str, list] = {}
        for name, parameter, _ in choices_of(table, task, of_volume=False)[:n_choices]:
            W = SIMILARITIES[name](X, parameter)
            tried.setdefault("KM", []).append(error(y, kernel_kmeans(W)))
            for method in methods:
                errors = [error(y, of_strength(method, W, strength)) for strength in strengths]
                tried.setdefault(method, []).append(min(errors))
        found.append({method: min(errors) for method, errors in tried.items()})
    return collected(found)


def plan_of(table, task, scale):
    """Sizes and samplings of each size, of our methods and of others."""
    if table != "table2":
        sizes = scale["sampled_of_table5" if table == "table5" else "sampled"]
        own = sizes, scale["n_samplings"][table]
        return own, (scale["sampled_of_others"], scale["n_samplings_of_others"])
    n = PUBLISHED["table1"][task]["n"]
    n_samplings = scale["ida"][0 if n < 600 else 1 if n < 1000 else 2]
    own = [n], n_samplings
    return own, ([n] if n < scale["largest_of_others"] else [], min(n_samplings, 3))


def sampled_table(name, tasks, scale, **settings):
    """A table of errors on samplings."""
    jobs, cells = [], []
    for task in tasks:
        paper = PUBLISHED[name][task]
        (sizes, n_samplings), (sizes_of_others, n_of_others) = plan_of(name, task, scale)
        if not n_samplings:
            continue
        given = {"table": name, "task": task, "sizes": list(sizes), "n_samplings": n_samplings}
        given["n_choices"] = scale["n_choices"]
        cost = n_samplings * sum((n / 100) ** 2.5 for n in sizes)
        jobs.append(Job(f"{name} / {task}", errors_of_task, given, cost))
        for variant in ("the paper's", "ours", "default"):
            cells.append(value_cell(task, "MVC", variant, jobs[-1], variant, paper["MVC"]))
        cells.append(value_cell(task, "NSC", "other", jobs[-1], "NSC", paper["NSC"]))
        if sizes_of_others:
            methods = [one for one in ("GMMC", "LGMMC") if one in paper]
            given = given | {"sizes": list(sizes_of_others), "n_samplings": n_of_others}
            given |= {"methods": methods, "strengths": scale["strengths"]}
            cost = 5 * n_of_others * sum((n / 100) ** 2.5 for n in sizes_of_others)
            jobs.append(Job(f"{name} / {task} / others", errors_of_others, given, cost))
            for method in ("KM", *methods):
                cells.append(value_cell(task, method, "other", jobs[-1], method, paper[method]))
        if name == "table2":
            job = f"{name} / {task}"
            read = partial(share_of, key="one cluster")
            cells.append(Cell(task, "one cluster for all", "other", (job,), read))
    return Table(
        name,
        jobs=jobs,
        cells=cells,
        variants=VOLUME_VARIANTS,
        own=("MVC",),
        unit="error in percent",
        spread=ERROR,
        digits=1,
        tolerance=0.05,
        **settings,
    )


def share_of(values, key):
    return float(np.mean(values[key]))


def table2(scale):
    tasks = IDA_FILES if len(scale["sets"]) > 1 else ["Heart"]
    return sampled_table(
        "table2",
        tasks,
        scale,
        title="Table 2: error on the IDA benchmarks",
        protocol="The realisations of IDA were not available, so samples are drawn from the whole "
        "sets, as many as in the paper's table 1 and as often. Features are standardised on the "
        "whole set. Flare-solar (two classes, 9 features) and Splice were not available. As in "
        "the paper, sigma is chosen by the true classes for each sampling and method; Ringnorm "
        "has the locally scaled similarity with k = 7. GMMC and LGMMC were run on sets of fewer "
        "than 600 samples, with up to three samplings.",
    )


def table3(scale):
    return sampled_table(
        "table3",
        scale["tasks"]["table3"],
        scale,
        title="Table 3: error on pairs of digits",
        protocol="Ten samplings of each of eight sizes from 50 to 500, as in the paper. MVC "
        "and NSC use the cosine similarity of nearest neighbours. As in the paper, their number k "
        "is chosen from 3 to 8 by the true classes for each sampling and method. Two samples are "
        "linked if one is a neighbour of the other. The paper asks for neighbours of each other, "
        "but such graphs fall into many parts, and NSC is then far above the paper. KM, GMMC and "
        "LGMMC use the Gaussian similarity, with sigma chosen by the true classes, on fewer and "
        "smaller samplings. The paper's USPS has 11,000 samples, 1,100 of each digit. That set "
        "was not available; ours is the usual one of 9,298. The default of reg was fixed on pairs "
        "of digits from USPS and MNIST, so 'ours' has seen these data.",
    )


def table4(scale):
    return sampled_table(
        "table4",
        scale["tasks"]["table4"],
        scale,
        title="Table 4: error on pairs of topics of 20 newsgroups",
        protocol="Ten samplings of each of eight sizes from 50 to 500, as in the paper. As in "
        "the paper, the similarity is locally scaled, with k chosen from 3 to 8 by the true "
        "classes for each sampling and method. Terms are weighted as in the script that it names, "
        "(1 + log tf) log(N/df), and documents are scaled to length one. Our texts are split into "
        "terms in another way: there are 29,008 terms instead of 26,214.",
    )


def table5(scale):
    return sampled_table(
        "table5",
        scale["tasks"]["table5"],
        scale,
        title="Table 5: error on pairs of spoken letters",
        protocol="Only parts 1 and 5 of Isolet were available, about 240 samples of two letters, "
        "so the paper's sizes of 250 to 500 are missing. There are ten samplings of each of four "
        "sizes. The similarity is the cosine of nearest neighbours, linked as in table 3, with k "
        "chosen from 1 to 6 by the true classes. As in the paper, MVC uses nI - W with Gaussian "
        "similarities instead at those sizes where its mean error is lower, with sigma chosen by "
        "the true classes.",
    )


# --- beside the paper ---------------------------------------------------------------------------


def digit_pairs(n_pairs, rhos, seeds):
    """Errors on pairs of scikit-learn's digits, all on the estimator's own graph."""
    X, y = load_digits(return_X_y=True)
    found: dict[str, list] = {}
    for a, b in list(combinations(range(10), 2))[:n_pairs]:
        chosen = (y == a) | (y == b)
        classes = y[chosen] == b
        model = MaximumVolumeClustering(random_state=0).fit(X[chosen])
        W = model.affinity_matrix_.toarray()
        errors = {
            "signs of the second eigenvector": eigh(
                normalised_laplacian(W), subset_by_index=[1, 1]
            )[1][:, 0]
            > 0,
            "NSC": spectral_labels(W),
            "Algorithm 1": algorithm1(matrix_of(W, "normalized")).h > 0,
            "default": model.labels_,
        }
        for rho in rhos:
            errors[f"rho = {rho:g}"] = estimated(W, reg=("auto", rho))
        for seed in seeds:
            refitted = MaximumVolumeClustering(affinity="precomputed", random_state=seed)
            errors[f"random_state={seed}"] = refitted.fit_predict(W)
        for method, labels in errors.items():
            found.setdefault(method, []).append(error(classes, labels))
    return found


def digits(scale):
    settings = {"n_pairs": scale["n_pairs"], "rhos": scale["rhos"], "seeds": [1, 2, 3, 4]}
    job = Job("pairs of digits", digit_pairs, settings, 100)
    rows = ["signs of the second eigenvector", "NSC", "Algorithm 1", "default"]
    rows += [f"rho = {rho:g}" for rho in scale["rhos"]]
    rows += [f"random_state={seed}" for seed in settings["seeds"]]
    cells = []
    for row in rows:
        cells.append(value_cell(row, "error", "mean", job, row))
        cells.append(Cell(row, "worst pair", "mean", (job.name,), partial(worst_of, key=row)))
    return Table(
        "digits",
        "Beside the paper: the 45 pairs of scikit-learn's digits",
        "error in percent",
        "Mean and standard error over the pairs. All parameters but the named one are at their "
        "defaults, and all methods use the estimator's graph. The default of reg, rho = 2, was "
        "fixed on pairs of USPS and MNIST, not on these.",
        {"mean": (OURS, "over the pairs")},
        [job],
        cells,
        better=None,
    )


def worst_of(values, key):
    return max(values[key]) if key in values else None


def errors_on_graphs(task, sizes, n_samplings):
    """Errors at the best k on graphs of neighbours one way and of each other."""
    found = []
    for _, X, y in samplings("table3", task, sizes, n_samplings):
        best = {}
        for kind, mutual in (("one way", False), ("of each other", True)):
            graphs = [cosine(X, k, mutual) for k in NEIGHBORS["table3"]]
            best[f"NSC, {kind}"] = min(error(y, spectral_labels(W)) for W in graphs)
            for method in ("the paper's", "ours"):
                errors = [errors_of_volume(y, W)[method] for W in graphs]
                best[f"{method}, {kind}"] = min(errors)
        found.append(best)
    return collected(found)


def mutual(scale):
    jobs, cells = [], []
    for task in scale["tasks"]["table3"]:
        settings = {"task": task, "sizes": scale["sampled"], "n_samplings": 1}
        jobs.append(Job(f"mutual / {task}", errors_on_graphs, settings, 10))
        for kind in ("one way", "of each other"):
            for method in ("NSC", "the paper's", "ours"):
                value = f"{method}, {kind}"
                cells.append(value_cell(task, method, kind, jobs[-1], value))
    return Table(
        "mutual",
        "Beside table 3: neighbours one way and of each other",
        "error in percent",
        "One sampling of each size. The paper links samples that are neighbours of each other. "
        "Such graphs fall into many parts: on MNIST, where the data are the paper's, NSC is then "
        "far above the paper, and near it where one of the two is a neighbour of the other.",
        {
            "one way": (OURS, "a neighbour of one of the two"),
            "of each other": (PAPER, "neighbours of both"),
        },
        jobs,
        cells,
        better=None,
        digits=1,
    )


OTHER_GAMMAS = (1e-3, 1e-1, 1.0, 10.0)
OTHER_BALANCES = (0.1, 10.0)  # b as a multiple of 1/n
N_OTHER_VECTORS = 7


def errors_with_settings(task, n_samplings):
    """Errors of Algorithm 1 with other settings, each at its best similarity."""
    found = []
    n = PUBLISHED["table1"][task]["n"]
    for _, X, y in samplings("table2", task, [n], n_samplings):
        tried: dict[str, list] = {}
        for name, parameter, matrix in choices_of("table2", task, of_volume=True):
            Q = matrix_of(SIMILARITIES[name](X, parameter), matrix)
            for setting, responses in responses_with_settings(Q).items():
                errors = [error(y, h > 0) for h in responses]
                tried.setdefault(setting, []).append(min(errors))
        found.append({setting: min(errors) for setting, errors in tried.items()})
    return collected(found)


def responses_with_settings(Q):
    """Where Algorithm 1 ends with one setting changed; of several starts, where each ends."""
    n, spectrum = len(Q), Spectrum.of(Q)

    def ended(column=1, gamma=REG, balance=1.0, start=None):
        if start is None:
            start = cut_signs(spectrum.vectors[:, [column]])[:, 0]
        return run_sqp(spectrum, start, gamma, balance / n, MAX_STEPS).h

    second = spectrum.vectors[:, 1]
    found = {"as in table 2": [algorithm1(Q).h]}
    found |= {f"gamma = {gamma:g}": [ended(gamma=gamma)] for gamma in OTHER_GAMMAS}
    found |= {f"b = {times:g}/n": [ended(balance=times)] for times in OTHER_BALANCES}
    found["from the second eigenvector"] = [ended(start=np.sqrt(n) * second)]
    found["from its signs"] = [ended(start=np.where(second > 0, 1.0, -1.0))]
    found[BEST_OF_VECTORS] = [ended(column) for column in range(1, 1 + N_OTHER_VECTORS)]
    return found


BEST_OF_VECTORS = f"from each of {N_OTHER_VECTORS} eigenvectors, the best by the classes"


def other_settings(scale):
    task = "Breast-cancer"
    given = {"task": task, "n_samplings": scale["n_other_settings"]}
    job = Job(f"settings / {task}", errors_with_settings, given, 100)
    rows = ["as in table 2", *(f"gamma = {gamma:g}" for gamma in OTHER_GAMMAS)]
    rows += [f"b = {times:g}/n" for times in OTHER_BALANCES]
    rows += ["from the second eigenvector", "from its signs", BEST_OF_VECTORS]
    return Table(
        "settings",
        "Beside table 2: Breast-cancer with other settings",
        "error in percent",
        f"The samplings and widths of table 2, {task}: Algorithm 1 with one setting changed, and "
        "sigma chosen by the true classes for each sampling and setting. The paper has "
        "25.6±0.17.",
        {"mean": (PAPER, "with the setting of the row")},
        [job],
        [value_cell(row, "error", "mean", job, row) for row in rows],
        better=None,
        spread=ERROR,
    )


MAKERS = (
    table2,
    other_settings,
    table3,
    mutual,
    table4,
    table5,
    figure4,
    figure5,
    figure6,
    digits,
)
