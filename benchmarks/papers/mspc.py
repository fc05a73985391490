"""Tables 2 and 3 and figures 1 to 3 of the maximin separation probability paper.

Also its columns LDA-KM and Dis-KM, by the methods of C. Ding, T. Li, "Adaptive dimension reduction
using discriminant analysis and k-means clustering", ICML 2007, and of J. Ye, Z. Zhao, M. Wu,
"Discriminative k-means for clustering", NIPS 2007.
"""

import time
from functools import cache, cached_property, partial
from itertools import combinations

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans

from benchmarks.data import load, pair, to_unit_range, without_constant_features
from benchmarks.papers.harness import (
    DEFAULT,
    OURS,
    PAPER,
    PEER,
    Cell,
    Claim,
    Job,
    Table,
    constant,
    extreme_of,
    published_in,
    value_cell,
)
from separatrix import (
    DiscriminativeKMeans,
    LabelGenerationMarginClustering,
    LDAKMeans,
    MaximinSeparationClustering,
    MinimaxProbabilityMachine,
)
from separatrix.metrics import clustering_accuracy, clustering_error, separation_probability_score

PUBLISHED = published_in(__file__)

# --- settings of the columns --------------------------------------------------------------------

REGS = [10.0**power for power in range(-4, 5)]  # the paper's grid for lambda
SOLVERS = {"mpm": "MSPC-MPM", "gep": "MSPC-GEP", "eig": "MSPC-EIG"}
EIGENVECTOR_RULES = {"the paper's rule": "eig-paper", "ours": "eig"}
MAX_ITER = 100  # of Approach 1
SEEDS = [0, 1, 2, 3, 4]  # of runs of k-means
OUTSIDE = "spam"  # the one of the last five tasks that is off the line of the others
SCORE_REG = 0.1  # separation probabilities are comparable at one common reg only
TOLERANCE = 0.1  # points of error
CLASSICS = {"lda_km": (LDAKMeans, "LDA-KM", 1), "dis_km": (DiscriminativeKMeans, "Dis-KM", 10)}
FACTORS = [1, 2, 4, 8, 16]
SCALED = ("ionosphere", "breast", "diabetes", "letter", "satellite", "spam")
SETTINGS_OF_FIGURE1 = {
    "k-means": partial(KMeans, 2, n_init=10, random_state=0),
    "LGMMC, linear kernel": partial(LabelGenerationMarginClustering, kernel="linear"),
    "MSPC-MPM, k-means start": MaximinSeparationClustering,
    "MSPC-MPM, scale-invariant start": partial(
        MaximinSeparationClustering, init="scale-invariant"
    ),
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
LARGE = 10_000  # samples from which on a start is tried at the best reg of the first alone

FULL = {
    "names": list(PUBLISHED["table2"]),
    "names_of_classics": list(PUBLISHED["table2"]),
    "regs": REGS,
    "n_starts": 10,
    "n_times": 5,
    "scaled": SCALED,
    "n_features": 10,
    "pairs": {"satimage": 15, "usps": 45},
}
SCALES = {
    "full": FULL,
    "quick": FULL
    | {
        "names": [name for name in FULL["names"] if not name.startswith("mnist")],
        "names_of_classics": ["ionosphere", "breast", "diabetes"],
        "n_times": 2,
        "scaled": SCALED[:4],
        "n_features": 1,
        "pairs": {"satimage": 15, "usps": 15},
    },
    "smoke": FULL
    | {
        "names": ["breast", "letter"],
        "names_of_classics": ["breast"],
        "regs": [0.1, 1.0],
        "n_starts": 2,
        "n_times": 1,
        "scaled": SCALED[:1],
        "n_features": 1,
        "pairs": {"satimage": 3, "usps": 3},
    },
}


# --- tasks --------------------------------------------------------------------------------------


class Task:
    """Two known classes to be found, with every fit made so far."""

    def __init__(self, name):
        X, self.y = pair(*PAIRS[name]) if name in PAIRS else load(WHOLE_SETS[name])[:2]
        self.n = len(self.y)
        pixels = name.startswith("mnist")
        self.X = without_constant_features(X / 255) if pixels else to_unit_range(X)
        self._fits = {}

    def error(self, labels):
        """Clustering error in percent."""
        return 100 * clustering_error(self.y, labels)

    @cached_property
    def first_start(self):
        """k-means from the means of both sides of the first principal component."""
        upper = first_principal_component(self.X) > 0
        centers = np.array([self.X[~upper].mean(axis=0), self.X[upper].mean(axis=0)])
        return KMeans(2, init=centers, n_init=1, tol=0).fit(self.X)

    @cache  # noqa: B019 (tasks live as long as their process)
    def starts(self, n_starts):
        """Distinct k-means labellings, the estimator's own first, and the place of the tightest.

        They are what `n_init` starts from, found once for all values of reg.
        """
        rng = np.random.RandomState(0)
        runs = [self.first_start]
        runs += [
            KMeans(2, n_init=1, tol=0, random_state=rng).fit(self.X) for _ in range(1, n_starts)
        ]
        distinct = {}
        for run in runs:
            distinct.setdefault((run.labels_ ^ run.labels_[0]).tobytes(), run)
        runs = list(distinct.values())
        tightest = int(np.argmin([run.inertia_ for run in runs]))
        return [run.labels_ for run in runs], tightest

    def fit(self, solver, reg, start):
        key = solver, reg, start.tobytes()
        if key not in self._fits:
            model = MaximinSeparationClustering(solver=solver, reg=reg, init=start)
            self._fits[key] = model.fit(self.X)
        return self._fits[key]


@cache
def task(name):
    return Task(name)


def first_principal_component(X):
    """Scores of the centred samples along the direction of largest variance."""
    X = X - X.mean(axis=0)
    last = X.shape[1] - 1
    return X @ eigh(X.T @ X, subset_by_index=[last, last])[1][:, 0]


# --- Table 2 ------------------------------------------------------------------------------------


def kmeans_errors(name):
    this = task(name)
    best = KMeans(2, n_init=10, random_state=0).fit_predict(this.X)
    return {"k-means": this.error(best)}


def errors_by_start(name, solver, regs, n_starts):
    """Lowest error of all values of reg for each way to start, and where it is."""
    this = task(name)
    starts, tightest = this.starts(n_starts)

    def by_kappa(reg):
        fits = [this.fit(solver, reg, start) for start in starts]
        two_clusters = [fit for fit in fits if np.ptp(fit.labels_) > 0]
        return max(two_clusters or fits, key=lambda fit: fit.objective_)

    ways = {
        "one start": lambda reg: this.fit(solver, reg, starts[0]),
        "inertia": lambda reg: this.fit(solver, reg, starts[tightest]),
        "kappa": by_kappa,
    }
    found = {"default": this.error(MaximinSeparationClustering(solver=solver).fit(this.X).labels_)}
    for way, fit in ways.items():
        grid = [found["one start, reg"]] if way == "kappa" and this.n > LARGE else regs
        errors = {reg: this.error(fit(reg).labels_) for reg in grid}
        found[f"{way}, reg"] = min(errors, key=errors.get)
        found[way] = min(errors.values())
    return found


def printed_errors(name, regs, max_iter):
    """Lowest error of Approach 1 as it is printed: the last labels, not the best that it met."""
    this = task(name)
    errors = {reg: this.error(approach1(this, reg, max_iter)) for reg in regs}
    best = min(errors, key=errors.get)
    return {"error": errors[best], "reg": best}


def approach1(this, reg, max_iter):
    """Labels from k-means and the machine that tells them apart in turn, until they settle."""
    return approach1_from(this.first_start.labels_, this, reg, max_iter)


def approach1_from(labels, this, reg, max_iter):
    """The same from some labels."""
    seen = set()
    for _ in range(max_iter):
        updated = MinimaxProbabilityMachine(reg=reg).fit(this.X, labels).predict(this.X)
        if np.ptp(updated) == 0 or updated.tobytes() in seen:  # nothing is left, or a cycle
            return updated
        if (updated == labels).all():
            break
        seen.add(updated.tobytes())
        labels = updated
    return labels


def eigenvector_errors(name, rules):
    """Errors of the eigenvector, which does not depend on lambda, by each rule."""
    this = task(name)
    return {
        rule: this.error(MaximinSeparationClustering(solver=solver).fit(this.X).labels_)
        for rule, solver in rules.items()
    }


def classic_errors(name, column, regs, n_init, matrix="covariance"):
    """Lowest error of all lambdas, which are added to a matrix, and of the default."""
    this = task(name)
    method = CLASSICS[column][0]
    variances = np.linalg.eigvalsh(np.cov(this.X.T, bias=True))
    unit = (variances**2).sum() / variances.sum()  # of the estimators' reg
    errors = {}
    for reg in regs:
        added = reg if matrix == "covariance" else reg / this.n
        model = method(2, n_init=n_init, random_state=0, reg=added / unit)
        errors[reg] = this.error(model.fit(this.X).labels_)
    default = this.error(method(2, random_state=0).fit(this.X).labels_)
    best = min(errors, key=errors.get)
    return {"best": errors[best], "lambda": best, "default": default}


def table2(scale):
    jobs, cells = [], []
    for name in scale["names"]:
        paper = PUBLISHED["table2"][name]
        settings, cost = {"name": name}, paper["n"] * paper["d"]
        jobs.append(Job(f"k-means / {name}", kmeans_errors, settings, cost))
        cells.append(value_cell(name, "k-means", "peer", jobs[-1], "k-means", paper["kmeans"]))
        for solver in ("mpm", "gep"):
            grid = settings | {"solver": solver, "regs": scale["regs"]}
            grid["n_starts"] = scale["n_starts"]
            jobs.append(Job(f"{solver} / {name}", errors_by_start, grid, 8 * cost))
            for way in ("one start", "inertia", "kappa", "default"):
                cells.append(value_cell(name, SOLVERS[solver], way, jobs[-1], way, paper[solver]))
        printed = settings | {"regs": scale["regs"], "max_iter": MAX_ITER}
        jobs.append(Job(f"as printed / {name}", printed_errors, printed, 20 * cost))
        job = jobs[-1]
        cells.append(value_cell(name, SOLVERS["mpm"], "as printed", job, "error", paper["mpm"]))
        rules = settings | {"rules": EIGENVECTOR_RULES}
        jobs.append(Job(f"eig / {name}", eigenvector_errors, rules, cost))
        for rule in EIGENVECTOR_RULES:
            cells.append(value_cell(name, SOLVERS["eig"], rule, jobs[-1], rule, paper["eig"]))
        for column, (_, title, n_init) in CLASSICS.items():
            grid = settings | {"column": column, "regs": scale["regs"], "n_init": n_init}
            jobs.append(Job(f"{column} / {name}", classic_errors, grid, 8 * cost))
            cells.append(value_cell(name, title, "peer", jobs[-1], "best", paper[column]))
    return Table(
        "table2",
        "Table 2: clustering error",
        "error in percent",
        "Features are scaled to [-1, 1], those of MNIST to [0, 1]; constant ones are dropped. The "
        "paper chooses lambda from 1e-4 to 1e4 by the true classes, and so does every column but "
        "'default' and k-means. It starts from k-means but does not say where k-means starts, so "
        "there is a column for each reading. For LDA-KM and Dis-KM, lambda times the identity is "
        "added to the covariance. LDA-KM starts from k-means. Dis-KM also starts from nine runs "
        "in whitened coordinates, and the objective decides.",
        {
            "as printed": (
                PAPER,
                "Approach 1 around MinimaxProbabilityMachine from the start of the next column; "
                "it returns the last labels, the estimator the best that it met",
            ),
            "one start": (PAPER, "k-means from both sides of the first principal component"),
            "inertia": (PAPER, "the k-means run of lowest inertia out of ten"),
            "kappa": (
                OURS,
                "the largest objective from all ten k-means runs; on MNIST at the reg that is "
                "best from one start",
            ),
            "default": (DEFAULT, "the default estimator; no class used"),
            "the paper's rule": (PAPER, "the sign of XX'q; q does not depend on lambda"),
            "ours": (OURS, "the sign of the first component of the standardised features"),
            "peer": (
                PEER,
                "KMeans(n_init=10) of scikit-learn, LDAKMeans and DiscriminativeKMeans",
            ),
        },
        jobs,
        cells,
        own=tuple(SOLVERS.values()),
        tolerance=TOLERANCE,
    )


# --- starts of MPM ------------------------------------------------------------------------------

STARTED = {"mnist8vs9": 1.0}  # sets that MPM does not reach, and the lambda that is best on them


def errors_by_kmeans(name, reg, seeds, max_iter):
    """Errors of k-means runs, and of Approach 1 as it is printed from each."""
    this, found = task(name), {"k-means": [], "MPM": []}
    for seed in seeds:
        labels = KMeans(2, n_init=1, random_state=seed).fit_predict(this.X)
        found["k-means"].append(this.error(labels))
        found["MPM"].append(this.error(approach1_from(labels, this, reg, max_iter)))
    return found


def starts(scale):
    """Whether another run of k-means explains what MPM does not reach in table 2."""
    jobs, cells, claims = [], [], []
    for name in [name for name in STARTED if name in scale["names"]]:
        paper = PUBLISHED["table2"][name]
        settings = {"name": name, "reg": STARTED[name], "seeds": SEEDS, "max_iter": MAX_ITER}
        job = Job(f"starts / {name}", errors_by_kmeans, settings, 20 * paper["n"] * paper["d"])
        jobs.append(job)
        for column in ("k-means", "MPM"):
            aim = paper[{"k-means": "kmeans", "MPM": "mpm"}[column]]
            read = partial(constant, value=aim)
            cells.append(Cell(name, f"{column}, paper", "lowest", (job.name,), read))
            for which in ("lowest", "highest"):
                read = partial(extreme_of, key=column, which=which)
                cells.append(Cell(name, f"{column}, {which}", which, (job.name,), read))
        text = f"{name}: some run of k-means leads MSPC-MPM to the paper's {paper['mpm']} %."
        check = partial(some_start_reaches, aim=paper["mpm"])
        claims.append(Claim(text, (job.name,), check))
    return Table(
        "starts",
        "Starts of MSPC-MPM",
        "error in percent",
        f"Not in the paper: Approach 1 as printed, from {len(SEEDS)} single runs of k-means with "
        "scikit-learn's tolerance, at the best lambda of table 2.",
        {"lowest": (OURS, "of the runs"), "highest": (OURS, "of the runs")},
        jobs,
        cells,
        better=None,
        claims=claims,
    )


def some_start_reaches(values, aim):
    nearest = min(values["MPM"])
    return nearest <= aim + TOLERANCE, f"{nearest:.2f} to {max(values['MPM']):.2f}"


# --- readings of the eigenvector ----------------------------------------------------------------

PREPARED = {
    "[-1, 1]": to_unit_range,
    "as they are": without_constant_features,
    "standardised": lambda X: standardised(without_constant_features(X)),
    "[-1, 1], rows of length one": lambda X: of_length_one(to_unit_range(X)),
}


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def of_length_one(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def errors_by_reading(name):
    """Error of EIG by each reading of what the features, Lambda, the vector and the cut are."""
    X, y = pair(*PAIRS[name]) if name in PAIRS else load(WHOLE_SETS[name])[:2]
    found = {}
    for prepared, prepare in PREPARED.items():
        for centred in ("centred", "not centred"):
            Z = prepare(X)
            Z = Z - Z.mean(axis=0) if centred == "centred" else Z
            for penalty in ("diag", "identity"):
                unit = np.linalg.norm(Z, axis=0) if penalty == "diag" else np.ones(Z.shape[1])
                for place, q in zip(("first", "second"), leading_pair(Z / unit), strict=True):
                    for rule, values in (("q", q), ("XX'q", Z @ (Z.T @ q))):
                        for cut in ("zero", "median"):
                            labels = values > (np.median(values) if cut == "median" else 0)
                            words = (prepared, centred, penalty, place, rule, cut)
                            found["; ".join(words)] = 100 * clustering_error(y, labels)
    return found


def leading_pair(Z):
    """Eigenvectors of ZZ' of the two largest eigenvalues, by way of Z'Z."""
    d = Z.shape[1]
    second, first = eigh(Z.T @ Z, subset_by_index=[d - 2, d - 1])[1].T
    return Z @ first, Z @ second


def readings(scale):
    """Whether some reading explains the column MSPC-EIG of table 2."""
    names, jobs, cells = scale["names"], [], []
    for name in names:
        cost = PUBLISHED["table2"][name]["n"] * (1 + PUBLISHED["table2"][name]["d"] / 50)
        jobs.append(Job(f"readings / {name}", errors_by_reading, {"name": name}, cost))
    for name, job in zip(names, jobs, strict=True):
        paper = PUBLISHED["table2"][name]["eig"]
        cells.append(Cell(name, "paper", "nearest", (job.name,), partial(constant, value=paper)))
        read = partial(nearest_error, aim=paper)
        cells.append(Cell(name, "nearest of all", "nearest", (job.name,), read))
    claim = Claim(
        "One reading explains the column MSPC-EIG.",
        tuple(job.name for job in jobs),
        partial(one_reading_explains, names=names),
    )
    return Table(
        "readings",
        "Readings of MSPC-EIG",
        "error in percent",
        "Not in the paper: 128 readings of its third approach. Features are scaled to [-1, 1], "
        "left as they are, standardised, or scaled to [-1, 1] and then to rows of length one; "
        "they are centred or not; Lambda is the diagonal of the scatter or the identity; the "
        "labels come from the first or the second eigenvector q, from q or from XX'q, and are cut "
        "at zero or at the median. No reading depends on lambda.",
        {"nearest": (OURS, "the reading whose error is nearest to the paper's, for each set")},
        jobs,
        cells,
        better=None,
        claims=[claim],
    )


def nearest_error(errors, aim):
    return min(errors.values(), key=lambda error: abs(error - aim))


def one_reading_explains(*sets, names):
    """Whether a reading is within the tolerance on all sets."""
    aims = [PUBLISHED["table2"][name]["eig"] for name in names]
    hits = {
        reading: sum(
            abs(one[reading] - aim) <= TOLERANCE for one, aim in zip(sets, aims, strict=True)
        )
        for reading in sets[0]
    }
    best = max(hits, key=hits.get)
    return hits[best] == len(names), f"at most {hits[best]} of {len(names)} sets, by '{best}'"


# --- variants of the classics -------------------------------------------------------------------

# What lambda is added to, and the number of starts.
VARIANTS_OF_CLASSICS = {
    "covariance, one start": ("covariance", 1),
    "covariance, ten starts": ("covariance", 10),
    "scatter, one start": ("scatter", 1),
    "scatter, ten starts": ("scatter", 10),
}


def classics(scale):
    """What the paper leaves open of LDA-KM and Dis-KM: each way beside the published column."""
    jobs, cells = [], []
    for name in scale["names_of_classics"]:
        paper = PUBLISHED["table2"][name]
        for column, (_, title, _) in CLASSICS.items():
            for variant, (matrix, n_init) in VARIANTS_OF_CLASSICS.items():
                settings = {"name": name, "column": column, "regs": scale["regs"]}
                settings |= {"n_init": n_init, "matrix": matrix}
                label = f"{column} / {name} / {variant}"
                jobs.append(Job(label, classic_errors, settings, 8 * paper["n"] * paper["d"]))
                cells.append(value_cell(name, title, variant, jobs[-1], "best", paper[column]))
    return Table(
        "classics",
        "Variants of LDA-KM and Dis-KM in table 2",
        "error in percent",
        "The variants differ in the matrix that lambda is added to and in the number of starts. "
        "The first start is k-means on the features; others are k-means++ runs in whitened "
        "coordinates, and the objective decides. lambda is chosen by the true classes. Table 2 "
        "shows the variant of each method that is nearest to the paper.",
        {
            variant: (PEER, f"lambda on the {matrix}")
            for variant, (matrix, _) in VARIANTS_OF_CLASSICS.items()
        },
        jobs,
        cells,
        own=("LDA-KM", "Dis-KM"),
        tolerance=0.5,
        counts=False,
    )


# --- Table 3 ------------------------------------------------------------------------------------


def fit_seconds(name, regs, n_starts, n_times):
    """Shortest seconds of a fit, at the reg of lowest error from one start."""
    this = task(name)
    found = {"KMeans": seconds(KMeans(2, n_init=1, random_state=0), this.X, n_times)}
    for solver in SOLVERS:
        model = MaximinSeparationClustering(solver=solver)
        if solver != "eig":
            model.reg = errors_by_start(name, solver, regs, n_starts)["one start, reg"]
        found[solver] = seconds(model, this.X, n_times)
        found[f"{solver} / KMeans"] = found[solver] / found["KMeans"]
    return found


def seconds(model, X, n_times):
    """Shortest wall time of `model.fit(X)`, the one least disturbed by other work."""
    times = []
    for _ in range(n_times):
        begin = time.perf_counter()
        model.fit(X)
        times.append(time.perf_counter() - begin)
    return min(times)


def table3(scale):
    jobs, cells = [], []
    for name in scale["names"]:
        if name not in PUBLISHED["table3"]:
            continue
        paper = PUBLISHED["table2"][name]
        settings = {"name": name, "n_starts": 1} | {k: scale[k] for k in ("regs", "n_times")}
        jobs.append(Job(f"seconds / {name}", fit_seconds, settings, 4 * paper["n"] * paper["d"]))
        cells.append(value_cell(name, "KMeans(n_init=1)", "seconds", jobs[-1], "KMeans"))
        for solver, title in SOLVERS.items():
            published = PUBLISHED["table3"][name][solver]
            cells.append(value_cell(name, title, "seconds", jobs[-1], solver, published))
            cells.append(value_cell(name, title, "x KMeans", jobs[-1], f"{solver} / KMeans"))
    return Table(
        "table3",
        "Table 3: seconds of one fit",
        "seconds",
        "reg is that chosen in table 2 from one start. The paper's seconds are from MATLAB on "
        "another machine, so there is no verdict. Ours include the k-means start.",
        {
            "seconds": (OURS, "the shortest of several fits"),
            "x KMeans": (OURS, "the same as a multiple of a fit of KMeans(n_init=1)"),
        },
        jobs,
        cells,
        better=None,
    )


# --- Figure 1 -----------------------------------------------------------------------------------


def accuracy_by_factor(name, method, factors, n_features):
    """Mean accuracy for each factor over the features that are scaled."""
    this = task(name)
    rng = np.random.default_rng(0)
    drawn = rng.choice(this.X.shape[1], min(n_features, this.X.shape[1]), replace=False)
    found = {}
    for factor in factors:
        accuracies = []
        for feature in drawn:
            X = this.X.copy()
            X[:, feature] *= factor
            labels = SETTINGS_OF_FIGURE1[method]().fit_predict(X)
            accuracies.append(100 * clustering_accuracy(this.y, labels))
        found[str(factor)] = np.mean(accuracies)
    return found


def figure1(scale):
    jobs, cells, claims = [], [], []
    for name in scale["scaled"]:
        of_name = []
        for method in SETTINGS_OF_FIGURE1:
            settings = {"name": name, "method": method, "factors": FACTORS}
            settings["n_features"] = scale["n_features"]
            cost = PUBLISHED["table2"][name]["n"] * (200 if "LGMMC" in method else 5)
            job = Job(f"scaled / {name} / {method}", accuracy_by_factor, settings, cost)
            of_name.append(job.name)
            jobs.append(job)
            for factor in FACTORS:
                cells.append(
                    value_cell(f"{name}, {method}", f"a={factor}", "mean", job, str(factor))
                )
        claims.append(
            Claim(
                f"{name}: MSPC-MPM loses less than k-means and LGMMC when one feature is scaled.",
                tuple(of_name),
                loses_least,
            )
        )
    return Table(
        "figure1",
        "Figure 1: mean accuracy when one feature is scaled by a factor a",
        "accuracy in percent",
        "Ten random features in turn (all eight of diabetes), at the default reg. The paper gives "
        "no numbers for this figure.",
        {"mean": (OURS, "mean over the features")},
        jobs,
        cells,
        better=None,
        digits=1,
        claims=claims,
    )


def loses_least(kmeans, lgmmc, mspc, invariant):
    """Whether our loss from the first factor to the last is at most theirs."""
    first, last = str(FACTORS[0]), str(FACTORS[-1])
    losses = [one[first] - one[last] for one in (kmeans, lgmmc, mspc, invariant)]
    told = (
        "{:.1f} by k-means, {:.1f} by LGMMC and {:.1f} points by MSPC-MPM, {:.1f} from the "
        "scale-invariant start"
    ).format(*losses)
    return losses[2] <= min(losses[:2]) + TOLERANCE, told


# --- Figures 2 and 3 ----------------------------------------------------------------------------


def accuracy_and_separation(name, regs, n_starts):
    """Both at the default reg and at that of lowest error."""
    this = task(name)
    hindsight = errors_by_start(name, "mpm", regs, n_starts)["one start, reg"]
    found = {}
    for which, reg in (("default", MaximinSeparationClustering().reg), ("hindsight", hindsight)):
        labels = this.fit("mpm", reg, this.starts(n_starts)[0][0]).labels_
        found[f"{which}, accuracy"] = clustering_accuracy(this.y, labels)
        found[f"{which}, separation"] = separation_probability_score(this.X, labels, reg=SCORE_REG)
    return found


def pairs_of_classes(name, n_pairs):
    """Accuracy and separation probability of pairs of classes."""
    found = {"accuracy": [], "separation": []}
    for a, b in list(combinations(load(name)[2], 2))[:n_pairs]:
        X, y = pair(name, a, b)
        X = to_unit_range(X) if name == "satimage" else without_constant_features(X)
        labels = MaximinSeparationClustering().fit_predict(X)
        found["accuracy"].append(clustering_accuracy(y, labels))
        found["separation"].append(separation_probability_score(X, labels, reg=SCORE_REG))
    return found


def correlation_of_tasks(*tasks, which):
    accuracy = [one[f"{which}, accuracy"] for one in tasks]
    return np.corrcoef(accuracy, [one[f"{which}, separation"] for one in tasks])[0, 1]


def correlation_of_pairs(values):
    return np.corrcoef(values["accuracy"], values["separation"])[0, 1]


def figure23(scale):
    jobs, cells = [], []
    published = PUBLISHED["correlation"]
    for name in scale["names"]:
        paper = PUBLISHED["table2"][name]
        settings = {"name": name, "regs": scale["regs"], "n_starts": 1}
        cost = 3 * paper["n"] * paper["d"]
        jobs.append(Job(f"separation / {name}", accuracy_and_separation, settings, cost))
        for which in ("default", "hindsight"):
            for what in ("accuracy", "separation"):
                value = f"{which}, {what}"
                cells.append(value_cell(name, what, which, jobs[-1], value))
    needs = [f"separation / {name}" for name in PUBLISHED["table2"]]
    for which in ("hindsight", "default"):
        read = partial(correlation_of_tasks, which=which)
        for group, of_group in (("ten_tasks", needs), ("last_five_tasks", needs[-5:])):
            row = group.replace("_", " ")
            cells.append(Cell(row, "MSP", which, tuple(of_group), read, published[group]))
        without = tuple(name for name in needs[-5:] if name != f"separation / {OUTSIDE}")
        cells.append(Cell(f"last five without {OUTSIDE}", "MSP", which, without, read))
    for file, group in (("satimage", "satellite_pairs"), ("usps", "usps_pairs")):
        settings = {"name": file, "n_pairs": scale["pairs"][file]}
        jobs.append(Job(f"separation / {group}", pairs_of_classes, settings, 3e5))
        row = group.replace("_", " ")
        needs = (jobs[-1].name,)
        cells.append(Cell(row, "MSP", "default", needs, correlation_of_pairs, published[group]))
    return Table(
        "figure23",
        "Figures 2 and 3: separation probability (MSP) and accuracy, and their correlation",
        "correlation",
        "The labels are those of MSPC-MPM. Separation probabilities are comparable only at a "
        f"common reg, so all are computed at reg={SCORE_REG:g}. The paper counts 21 pairs of "
        "satellite, but six classes make 15. Its USPS may be another set than our 9,298 rows.",
        {
            "hindsight": (PAPER, "at the reg of lowest error, by the true classes"),
            "default": (OURS, "at the default reg, no class used"),
        },
        jobs,
        cells,
        own=("MSP",),
        better="higher",
        tolerance=0.05,
    )


MAKERS = (table2, starts, readings, classics, table3, figure1, figure23)
