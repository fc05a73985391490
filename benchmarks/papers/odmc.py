"""Table 2 and figure 2 of the margin distribution clustering paper.

Also what its solution costs: the saddle point in units of LIBSVM's fits, and how often the search
for violated labellings finds the one that is violated most.
"""

import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from unittest.mock import patch

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score, rand_score
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.svm import SVC, SVR

from benchmarks.data import folder, load, pair, to_unit_range
from benchmarks.papers.harness import (
    DEFAULT,
    OURS,
    PAPER,
    PEER,
    Cell,
    Claim,
    Job,
    Table,
    collected,
    constant,
    published_in,
    value_cell,
    value_of,
)
from separatrix import (
    CuttingPlaneMarginClustering,
    GeneralizedMarginClustering,
    LabelGenerationMarginClustering,
    MaximumMarginClustering,
    OptimalMarginDistributionClustering,
)
from separatrix.estimators import label_mixture
from separatrix.labels.links import Links
from separatrix.metrics import balanced_clustering_error, clustering_accuracy
from separatrix.solvers.label_mixtures import (
    Band,
    Machine,
    ascent_starts,
    find_saddle,
    generate,
    most_violated,
    pool,
)

PUBLISHED = published_in(__file__)

# --- settings of the columns --------------------------------------------------------------------

# The paper's grids. Widths are multiples of the mean distance of two samples.
CS = [1.0, 10.0, 100.0, 1000.0]
SHAPES = [0.2, 0.4, 0.6, 0.8]  # nu and theta
WIDTHS = [0.25, 0.5, 1.0, 2.0, 4.0]
# Twice the paper's .03 and .3, which cannot bound |e'y|: it prints accuracies of hepatitis that no
# labels within .3n have. As in the paper it follows, they bound half of the difference.
BALANCED, IMBALANCED = 0.06, 0.6
# Other readings of the balance. Sets for which the paper prints the share of the larger class, or
# a Rand index that goes with it, are also tried with clusters of 1 % of the samples.
# The paper does not say which sets it calls imbalanced: 35 % of diabetes are of one class.
HARDLY_ANY, FREE, STATED, OTHER = 0.98, ", free", ", as stated", ", imbalanced"
OTHER_BALANCES = {
    **dict.fromkeys(("haberman", "credit-g", "german", "svmguide3"), (FREE, HARDLY_ANY)),
    "colic": (STATED, BALANCED / 2),
    "diabetes": (OTHER, IMBALANCED),
}
GRID_SEED = 100  # not one of the repeats'
N_FINALISTS = 2  # settings that are repeated
LARGE = 800  # samples from which on the grids are smaller and searches shorter
LARGEST_GMMC = 300  # samples
# How one labelling comes of many: the paper votes; ours is the consensus.
READOUTS = {"the paper's vote": "vote", "ours": "consensus", "best labelling": "best"}
OURS_BY_NAME = {
    "LG-MMC": LabelGenerationMarginClustering,
    "ODMC": OptimalMarginDistributionClustering,
}
METHODS = ("KM", "NC", "GMMC", "IterSVR", "CPMMC", "LG-MMC", "ODMC")
MEASURES = {"accuracy": "Acc", "rand": "RI"}
TOLERANCE = 0.05

FULL = {
    "largest": 2_000,
    "methods": list(METHODS),
    "Cs": CS,
    "widths": WIDTHS,
    "shapes": SHAPES,
    # Rounds of generating labellings when settings are compared, and when the best are repeated.
    # Ten rounds generate the 200 labellings at which a search ends, unless few of them are new.
    "rounds": [3, 10],
    "n_repeats": 3,
    "Cs_of_large": [1.0, 100.0],
    "widths_of_large": [0.5, 2.0],
    "shapes_of_large": [0.2, 0.8],
    "rounds_of_large": [2, 5],
    "n_repeats_of_large": 2,
    "largest_timed": 800,
    "n_problems": 60,
}
SCALES = {
    "full": FULL,
    "quick": FULL
    | {
        "largest": 300,
        "methods": ["KM", "NC", "IterSVR", "ODMC"],
        "Cs": [1.0, 100.0],
        "widths": [0.5, 2.0],
        "shapes": [0.2, 0.8],
        "n_repeats": 2,
        "largest_timed": 100,
        "n_problems": 10,
    },
    "smoke": FULL
    | {
        "largest": 62,
        "methods": ["KM", "ODMC"],
        "Cs": [1.0],
        "widths": [],
        "shapes": [0.2],
        "n_repeats": 1,
        "largest_timed": 62,
        "n_problems": 1,
    },
}


# --- data ---------------------------------------------------------------------------------------

# The one choice of 13 features of colic with 188 complete rows; 117 are of the larger class, as
# many as the paper's CPMMC has right.
COLIC = [0, 1, 3, 5, 6, 7, 8, 9, 10, 11, 17, 18, 21]
# Numbers and yes-or-no answers of heart-statlog, without its four codes: a guess by d = 9, with
# which k-means comes near to the paper's.
HEART = [0, 1, 3, 4, 5, 7, 8, 9, 11]


def complete(name, columns=slice(None)):
    """Rows that miss nothing in some columns."""
    X, y, _ = load(name)
    with np.load(folder() / f"{name}.npz", allow_pickle=False) as file:
        rows = ~file["M"][:, columns].any(axis=1)
    return X[rows][:, columns], y[rows]


def echocardiogram():
    """Complete rows for which it is known who lived for a year."""
    X, _, _ = load("echocardiogram")
    with np.load(folder() / "echocardiogram.npz", allow_pickle=False) as file:
        rows, y = (file["alive1"] >= 0) & ~file["M"].any(axis=1), file["alive1"]
    return X[rows], y[rows].astype(int)


def haberman():
    """The year as twelve columns."""
    X, y, _ = load("haberman")
    return np.column_stack([X[:, [0, 2]], X[:, 1:2] == np.unique(X[:, 1])]), y


def heart():
    X, y, _ = load("heart_statlog")
    return X[:, HEART], y


SETS = {
    "echocardiogram": echocardiogram,
    "hepatitis": partial(complete, "hepatitis"),
    "colic": partial(complete, "colic", COLIC),
    "house": lambda: load("house_votes")[:2],
    "heart-h": partial(complete, "heart_h", list(range(10))),
    "heart": heart,
    "heart-statlog": lambda: load("heart_statlog")[:2],
    "breast": lambda: load("breast_cancer")[:2],
    "heart-c": partial(complete, "heart_c"),
    "haberman": haberman,
    "ionosphere": lambda: load("ionosphere")[:2],
    "vehicle": partial(pair, "vehicle", "bus", "saab"),
    "credit-a": partial(complete, "credit_a"),
    "diabetes": lambda: load("diabetes")[:2],
    "credit-g": lambda: load("credit_g")[:2],
    "german": lambda: load("german_onehot")[:2],
    "optdigits": partial(pair, "optdigits", 1, 3),
    "svmguide3": lambda: load("svmguide3")[:2],
}


class Task:
    """Two known classes to be found."""

    def __init__(self, name):
        X, self.y = SETS[name]()
        self.X = to_unit_range(X)
        self.n = len(self.y)
        self.majority = np.bincount(self.y).max() / self.n
        difference = 2 * self.majority - 1
        # the nearer of the paper's two, which does not say which set is which
        self.balance = min((BALANCED, IMBALANCED), key=lambda balance: abs(balance - difference))

    @property
    def highest(self):
        """Highest accuracy of labels whose two clusters differ by no more than the balance."""
        least = Band(Links.of(self.n, 2), self.balance).sizes[0][0] / self.n
        return 1 - max(least - (1 - self.majority), 0.0)

    def width(self, factor):
        """A multiple of the mean distance of two samples."""
        return factor * euclidean_distances(self.X).sum() / (self.n * (self.n - 1))


@cache
def task(name):
    return Task(name)


# --- methods ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measures:
    """What labels are worth, by the true classes."""

    accuracy: float
    rand: float
    adjusted: float
    balanced: float

    @classmethod
    def of(cls, y, labels):
        return cls(
            clustering_accuracy(y, labels),
            rand_score(y, labels),
            adjusted_rand_score(y, labels),
            1 - balanced_clustering_error(y, labels),
        )


def model_of(method, this, settings, seed):
    """Estimator of a method; without settings by its defaults."""
    settings = in_our_words(method, this, settings)
    if method == "KM":
        return KMeans(2, n_init=1, random_state=seed)
    if method == "NC":
        width = this.width(settings.get("width", 1.0))
        return SpectralClustering(2, gamma=1 / width**2, random_state=seed)
    if method == "IterSVR":
        if not settings:
            return MaximumMarginClustering(random_state=seed)
        start = KMeans(2, n_init=1, random_state=seed).fit_predict(this.X)
        return MaximumMarginClustering(loss="laplacian", init=start, C_path=1, **settings)
    if method == "GMMC":
        del settings["balance"]
        return GeneralizedMarginClustering(random_state=seed, **settings)
    if method == "CPMMC":
        return CuttingPlaneMarginClustering(random_state=seed, **settings)
    searched = {"max_samples": this.n} if settings else {}  # the paper searches all samples
    return OURS_BY_NAME[method](random_state=seed, **searched, **settings)


def in_our_words(method, this, settings):
    """Settings of the paper as the estimator takes them: its C weighs the sum of losses."""
    named = dict(settings)
    if "C" in named:
        named["C"] /= {"IterSVR": 1, "GMMC": 2}.get(method, this.n)
    if isinstance(named.get("gamma"), list):  # as JSON has it
        named["gamma"] = tuple(named["gamma"])
    if method == "CPMMC" and "balance" in named:
        named["score_balance"] = named.pop("balance")
    return named


def measures_of(method, this, settings, seed):
    labels = model_of(method, this, settings, seed).fit_predict(this.X)
    return Measures.of(this.y, labels)


def stages(method, balance, Cs, widths, shapes):
    """Grids that are searched one after the other, each beside the best of those before it."""
    if method == "KM":
        return [[{}]]
    if method == "NC":
        return [[{"width": width} for width in widths or [1.0]]]
    pairs = product(Cs, kernels_of(widths))
    grid = [{"C": C, "balance": balance, **kernel} for C, kernel in pairs]
    if method != "ODMC":
        return [grid]
    return [grid, [{"nu": nu, "theta": theta} for nu, theta in product(shapes, repeat=2)]]


def kernels_of(widths):
    """The linear kernel, and Gaussian ones."""
    gaussian = [{"kernel": "rbf", "gamma": ["mean", width]} for width in widths]
    return [{"kernel": "linear"}, *gaussian]


def best_measures(
    name, method, readouts, chosen_by, Cs, widths, shapes, rounds, n_repeats, balance=None
):
    """Repeats at the best settings of each readout, by the true classes."""
    this = task(name)
    balance = this.balance if balance is None else balance
    screening, repeating = ({"max_rounds": n} if method in OURS_BY_NAME else {} for n in rounds)
    tried, base = [], {}
    for stage in stages(method, balance, Cs, widths, shapes):
        for settings in [{**base, **settings} for settings in stage]:
            found = by_readout(method, this, settings | screening, readouts, GRID_SEED)
            tried.append((settings, {variant: one.accuracy for variant, one in found.items()}))
        base = ranked(tried, chosen_by)[0]
    found, repeats = {"majority": this.majority, "in band": this.highest}, {}
    for variant, readout in readouts.items():
        best = None
        for settings in ranked(tried, variant)[:N_FINALISTS]:
            key = str(settings)
            if key not in repeats:
                repeats[key] = repeated(method, this, settings | repeating, readouts, n_repeats)
            runs = repeats[key][variant]
            if best is None or np.mean(runs["accuracy"]) > np.mean(best[0]["accuracy"]):
                best = runs, settings
        found |= named(variant, best[0])
        found[f"{variant}, settings"] = best[1] | chosen(readout)
    return found


def ranked(tried, variant):
    """Settings, those of highest accuracy first."""
    return [one for one, _ in sorted(tried, key=lambda pair: -pair[1][variant])]


def default_measures(name, method, n_repeats):
    """Repeats of the estimator as it is, a measurement of its own: it is quick to repeat."""
    (runs,) = repeated(method, task(name), {}, {"default": None}, n_repeats).values()
    return named("default", runs)


def chosen(readout):
    """The setting of a readout; none for methods that have no readouts."""
    return {} if readout is None else {"readout": readout}


def named(variant, measures):
    return {f"{variant}, {measure}": runs for measure, runs in measures.items()}


def repeated(method, this, settings, readouts, n_repeats):
    """Measures of fits of several seeds, as lists, by readout."""
    runs = [by_readout(method, this, settings, readouts, seed) for seed in range(n_repeats)]
    return {variant: collected([asdict(run[variant]) for run in runs]) for variant in readouts}


def by_readout(method, this, settings, readouts, seed):
    """Measures of each readout after one search."""
    with searched_once():
        return {
            variant: measures_of(method, this, settings | chosen(readout), seed)
            for variant, readout in readouts.items()
        }


@contextmanager
def searched_once():
    """Fits that differ in nothing but the readout share one search, most of their time."""
    kept = []

    def generated(*arguments, iterations, **settings):
        if not kept:
            kept.append(generate(*arguments, iterations=iterations, **settings))
        elif next(iter(iterations), None) is not None:
            iterations.record(kept[0].saddle.objective)
        return kept[0]

    with patch.object(label_mixture, "generate", generated):
        yield


# --- Table 2 ------------------------------------------------------------------------------------

VARIANTS = {
    "the paper's vote": (PAPER, "best parameters, readout='vote'"),
    "ours": (OURS, "best parameters, readout='consensus'"),
    "best labelling": (OURS, "best parameters, readout='best': the best labelling of the pool"),
    "default": (DEFAULT, "the default estimator; uses no class, nor whether a set is balanced"),
    "best": (PEER, "best parameters"),
    "majority": (PEER, "the accuracy of a single cluster"),
    "in band": (PEER, "the highest accuracy of any labels that keep the balance"),
}


def readouts_of(method):
    """Readouts of methods that have one; None for the others."""
    return READOUTS if method in OURS_BY_NAME else {"best": None}


def table2(scale):
    jobs, cells = [], []
    for name, paper in PUBLISHED["table2"].items():
        if name not in SETS or paper["n"] > scale["largest"]:
            continue
        large = "_of_large" if paper["n"] >= LARGE else ""
        settings = {"name": name}
        for key in ("Cs", "widths", "shapes", "rounds", "n_repeats"):
            settings[key] = scale[f"{key}{large}"]
        for method in scale["methods"]:
            if method == "GMMC" and paper["n"] > LARGEST_GMMC:
                continue
            readouts = readouts_of(method)
            own = settings | {"method": method, "readouts": readouts}
            own["chosen_by"] = next(iter(readouts))  # nu and theta are tried at its best setting
            cost = (paper["n"] / 100) ** 2 * (1 if method in ("KM", "NC") else 20)
            jobs.append(Job(f"{name} / {method}", best_measures, own, cost))
            variants = dict.fromkeys(readouts_of(method), jobs[-1])
            if method in OURS_BY_NAME:
                default = {"name": name, "method": method, "n_repeats": settings["n_repeats"]}
                label = f"{name} / {method} / default"
                jobs.append(Job(label, default_measures, default, cost / 5))
                variants["default"] = jobs[-1]
            cells += cells_of_table2(name, method, variants, paper)
            if method == "ODMC" and name in OTHER_BALANCES:
                reading, balance = OTHER_BALANCES[name]
                own = own | {"balance": balance}
                jobs.append(Job(f"{name}{reading} / {method}", best_measures, own, cost))
                variants = dict.fromkeys(readouts, jobs[-1])
                cells += cells_of_table2(f"{name}{reading}", method, variants, paper)
        if "KM" in scale["methods"]:
            job = f"{name} / KM"
            for what in ("majority", "in band"):
                read = partial(value_of, key=what)
                cells.append(Cell(f"{name}, Acc", what, what, (job,), read))
    again = {
        f"{name}{reading}, {short}": f"{name}, {short}"
        for name, (reading, _) in OTHER_BALANCES.items()
        for short in MEASURES.values()
    }
    return Table(
        "table2",
        "Table 2: accuracy (Acc) and Rand index (RI)",
        "share of samples, or of pairs",
        "Features are scaled to [-1, 1], with which k-means comes near to the paper's, and rows "
        "with missing values are left out. As in the paper, the parameters are those of the "
        "highest accuracy by the true classes. Every setting is tried once, with at most 3 rounds "
        f"of generating labellings. For each readout, its best {N_FINALISTS} are then repeated "
        "with three other seeds (ten in the paper) and at most 10 rounds, and the better mean "
        f"counts. From {LARGE} samples on there are fewer settings, 2 and 5 rounds, and two "
        "seeds. C is 1, 10, 100 or 1000; it weighs the mean loss for LG-MMC, CPMMC and ODMC and "
        "the sum of the losses for IterSVR. The kernel is linear, or Gaussian with a width of .25 "
        "to 4 mean distances. The balance is .06 or .6, whichever is nearer to that of the "
        "classes: twice the paper's l, since no labels within l have the accuracies printed for "
        "hepatitis. For four sets the paper prints the share of the larger class, the accuracy of "
        "a single cluster, which any such balance rules out. Rows marked "
        f"'{FREE.strip(', ')}' have a balance of {HARDLY_ANY:g} instead, which allows clusters of "
        f"1 % of the samples. The row '{STATED.strip(', ')}' has the paper's l itself, and the "
        f"row '{OTHER.strip(', ')}' the balance of {IMBALANCED:g}. nu and "
        "theta are .2 to .8, tried at the C and the kernel that are best for the paper's vote. "
        "The Rand index is that of the setting of highest accuracy.",
        VARIANTS,
        jobs,
        cells,
        own=("ODMC",),
        better="higher",
        tolerance=TOLERANCE,
        digits=3,
        claims=doubts(scale),
        readings=again,
        later_readings=tuple(again),
    )


def cells_of_table2(name, method, variants, paper):
    """Cells of both measures, of the best setting by each readout and of the default."""
    for measure, short in MEASURES.items():
        published = paper[measure].get(method)
        for variant, job in variants.items():
            value = f"{variant}, {measure}"
            yield value_cell(f"{name}, {short}", method, variant, job, value, published)


def doubts(scale):
    """Published accuracies that cannot be, or say nothing."""
    names = [
        name
        for name, paper in PUBLISHED["table2"].items()
        if name in SETS and paper["n"] <= scale["largest"]
    ]
    needs = tuple(f"{name} / KM" for name in names)
    above = partial(none_above_band, names=names)
    majority = partial(none_is_majority, names=names)
    return [
        Claim("Labels keep the stated balance, so no accuracy is above the band.", needs, above),
        Claim("ODMC finds more than the larger class.", needs, majority),
        Claim(
            "Two clusters and two classes: the Rand index is 1 - 2a(1 - a)n/(n - 1) at accuracy "
            "a, and its mean is not below that at the mean of a.",
            needs[:1],
            rand_fits_accuracy,
        ),
    ]


def none_above_band(*tasks, names):
    above = [
        f"{name} {method} {value:.3f} > {one['in band']:.3f}"
        for name, one in zip(names, tasks, strict=True)
        for method, value in PUBLISHED["table2"][name]["accuracy"].items()
        if value > one["in band"] + 0.0005
    ]
    return not above, "; ".join(above)


def none_is_majority(*tasks, names):
    same = [
        name
        for name, one in zip(names, tasks, strict=True)
        if abs(PUBLISHED["table2"][name]["accuracy"].get("ODMC", 0) - one["majority"]) <= 0.0015
    ]
    return not same, f"its share is printed for {', '.join(same)}" if same else ""


def rand_fits_accuracy(_):
    """Whether all published Rand indices are possible beside their accuracies."""
    impossible = []
    for name, paper in PUBLISHED["table2"].items():
        for method, accuracy in paper["accuracy"].items():
            low = accuracy - 0.0005
            least = 1 - 2 * low * (1 - low) * paper["n"] / (paper["n"] - 1)
            if paper["rand"][method] + 0.0005 < least:
                impossible.append(f"{name} {method} {paper['rand'][method]:.3f} < {least:.3f}")
    return not impossible, "; ".join(impossible)


# --- readings of sets that table 2 does not reach -----------------------------------------------

# Balances that are tried: the paper's, that of table 2, and hardly any.
READ = {
    "echocardiogram": [IMBALANCED / 2, IMBALANCED, HARDLY_ANY],
    "colic": [BALANCED / 2, BALANCED, HARDLY_ANY],
}
POOL = "any of the pool"


def readings_of(name, balance, C, widths, shapes, max_rounds):
    """Highest accuracy of each readout, and of any labelling of the pools, over all settings."""
    this = task(name)
    found = dict.fromkeys([*READOUTS, POOL], 0.0)
    for kernel, nu, theta in product(kernels_of(widths), shapes, shapes):
        settings = {"C": C, "balance": balance, "nu": nu, "theta": theta, **kernel}
        settings["max_rounds"] = max_rounds
        with searched_once():
            for variant, readout in READOUTS.items():
                model = model_of("ODMC", this, settings | chosen(readout), GRID_SEED)
                reached = clustering_accuracy(this.y, model.fit_predict(this.X))
                found[variant] = max(found[variant], reached)
        of_pool = [clustering_accuracy(this.y, signs > 0) for signs in model.labellings_]
        found[POOL] = max(found[POOL], *of_pool)
    return found | {"larger class": this.majority}


def readings(scale):
    """Whether balance, kernel or readout explain what table 2 does not reach."""
    jobs, cells = [], []
    for name, balances in READ.items():
        paper = PUBLISHED["table2"][name]
        if paper["n"] > scale["largest"]:
            continue
        for balance in balances:
            settings = {"name": name, "balance": balance, "C": 1.0}
            settings |= {"widths": [], "shapes": scale["shapes"], "max_rounds": 3}
            cost = 10 * (paper["n"] / 100) ** 2
            job = Job(f"readings / {name} / {balance:g}", readings_of, settings, cost)
            jobs.append(job)
            row = f"{name}, balance {balance:g}"
            read = partial(constant, value=paper["accuracy"]["ODMC"])
            cells.append(Cell(row, "ODMC, paper", "highest", (job.name,), read))
            for value in (*READOUTS, POOL, "larger class"):
                cells.append(value_cell(row, value, "highest", job, value))
    return Table(
        "readings",
        "Readings of sets of table 2 that are not reached",
        "accuracy",
        "Not in the paper: the highest accuracy, by the true classes, over all nu and theta at "
        "C = 1 with the linear kernel and at most 3 rounds. The balance is that "
        "which the paper states, twice that as in table 2, or .98, which allows a cluster of 1 % "
        f"of the samples. '{POOL}' is the best, by the true classes, of the labellings from which "
        "a readout makes one.",
        {"highest": (OURS, "over nu and theta")},
        jobs,
        cells,
        better=None,
        digits=3,
    )


# --- the time of a fit --------------------------------------------------------------------------

N_FITS = 50  # of LIBSVM, the unit of time
N_TIMES = 3
LEAST_TIMED = 0.1  # seconds of all calls that are timed, since clocks may tick in hundredths
LARGEST_GAP = 1e-3


def timed(function, *arguments):
    """What a function returns, and its seconds of the processor, a mean over calls."""
    begin, spent, n_calls = time.process_time(), 0.0, 0
    while n_calls < N_TIMES or spent < LEAST_TIMED:
        result = function(*arguments)
        spent, n_calls = time.process_time() - begin, n_calls + 1
    return result, spent / n_calls


def times_of(name):
    """CPU time of a round of each method in units of one fit of LIBSVM's SVR, and the gap."""
    this = task(name)
    start = KMeans(2, n_init=1, random_state=0).fit_predict(this.X)
    model, seconds = timed(
        OptimalMarginDistributionClustering(max_samples=this.n, random_state=0).fit, this.X
    )
    other, other_seconds = timed(
        LabelGenerationMarginClustering(max_samples=this.n, random_state=0).fit, this.X
    )
    K = rbf_kernel(this.X, gamma=model.gamma_)
    margin = MaximumMarginClustering(loss="laplacian", kernel="precomputed", C_path=1, init=start)
    margin, spent = timed(margin.fit, K)
    svr = SVR(kernel="precomputed", C=margin.C, epsilon=margin.epsilon)
    unit = timed(svr.fit, K, 2.0 * start - 1)[1]
    svc = timed(SVC(kernel="precomputed", C=1).fit, K, start)[1]
    return {
        "ODMC": seconds / model.n_iter_ / unit,
        "LG-MMC": other_seconds / other.n_iter_ / unit,
        "IterSVR": spent / margin.n_iter_ / unit,
        "ms of the unit": 1e3 * unit,
        "labellings": len(model.labellings_),
        "gap": model.gap_,
        "violation": model.violation_,
        "fits of SVC": seconds / svc,
    }


def figure2(scale):
    jobs, cells = [], []
    for name, paper in PUBLISHED["table2"].items():
        if name in SETS and paper["n"] <= scale["largest_timed"]:
            jobs.append(Job(f"time / {name}", times_of, {"name": name}, (paper["n"] / 100) ** 2))
            for what in ("IterSVR", "LG-MMC", "ODMC", "ms of the unit", "labellings", "gap",
                         "violation", "fits of SVC"):  # fmt: skip
                cells.append(value_cell(name, what, "time", jobs[-1], what))
    claims = [
        Claim(
            "A round of ODMC is the fastest on most sets.",
            tuple(job.name for job in jobs),
            fastest_on_most,
            aggregates=True,
        ),
        Claim(
            f"The certified gap is at most {LARGEST_GAP:g}, in less than {N_FITS} fits of SVC. "
            "(Ours, not the paper's.)",
            tuple(job.name for job in jobs),
            small_gaps,
            aggregates=True,
        ),
    ]
    return Table(
        "figure2",
        "Figure 2: time of one iteration",
        "",
        "CPU time of a fit with default parameters, start and readout included, divided by its "
        "number of rounds or updates, in units of a fit of LIBSVM's SVR on the same kernel "
        "matrix; means of three fits or more. The paper gives no numbers for this figure, and the "
        "text names only one of its sets, credit-g, where ODMC is slightly worse than the others. "
        "'gap' is the certified gap of the mix of labellings, 'violation' that of the most "
        "violated labelling found, and 'fits of SVC' the whole fit of ODMC in fits of LIBSVM's "
        "SVC.",
        {"time": (OURS, "in fits of SVR")},
        jobs,
        cells,
        better=None,
        digits=3,
        claims=claims,
    )


def fastest_on_most(*sets):
    first = sum(one["ODMC"] <= min(one["LG-MMC"], one["IterSVR"]) for one in sets)
    return first > len(sets) / 2, f"{first} of {len(sets)}"


def small_gaps(*sets):
    met = sum(one["gap"] <= LARGEST_GAP and one["fits of SVC"] < N_FITS for one in sets)
    return met == len(sets), f"{met} of {len(sets)}"


# --- brute force --------------------------------------------------------------------------------


def found_shares(n_problems):
    """Quadratic term of the labelling found over the largest of any labelling in balance."""
    shares = []
    for seed in range(n_problems):
        rng = np.random.RandomState(seed)
        K, machine, band = drawn_problem(int(rng.randint(8, 13)), rng)
        signs = pool(K, machine, band, rng).signs
        alpha = find_saddle(K, signs, machine).alpha
        squares = most_violated(K, alpha, ascent_starts(K, alpha, signs, rng), band)[1]
        shares.append(squares[0] / largest_square(K, alpha[0], band))
    return {"shares": shares}


def drawn_problem(n, rng):
    """Kernel matrix, machine and band."""
    X = rng.standard_normal((n, rng.randint(1, 6)))
    X[: n // 2] += rng.uniform(0, 3)
    if rng.uniform() < 0.5:
        X -= X.mean(axis=0)
        K = X @ X.T
    else:
        K = rbf_kernel(X, gamma=rng.choice([0.1, 1.0, 10.0]) / X.shape[1])
    C = rng.choice([0.3, 1.0, 10.0, 100.0])
    if rng.uniform() < 0.5:
        machine = Machine(C)
    else:
        machine = Machine(C, nu=rng.uniform(0.1, 1), theta=rng.uniform(0, 0.8))
    return K, machine, Band(Links.of(n, 2), rng.choice([0.15, 0.3, 0.5]))


def largest_square(K, alpha, band):
    """Largest quadratic term of all labellings in balance."""
    (least, _), (most, _) = band.sizes
    labels = np.array(list(product((0, 1), repeat=len(K))))
    sizes = labels.sum(axis=1)
    turned = (2 * labels[(sizes >= least) & (sizes <= most)] - 1) * alpha
    return 0.5 * np.einsum("ij,ij->i", turned @ K, turned).max()


def brute(scale):
    job = Job("brute force", found_shares, {"n_problems": scale["n_problems"]}, 5)
    claim = Claim(
        "The search mostly ends at the labelling that is violated most. (Ours, not the paper's.)",
        (job.name,),
        mostly_found,
    )
    return Table(
        "brute",
        "The search for violated labellings against all labellings",
        "",
        "Random problems of 8 to 12 samples, with random data, kernel, machine and balance. The "
        "multipliers are those of the saddle point over the initial labellings.",
        {},
        [job],
        [],
        better=None,
        claims=[claim],
    )


def mostly_found(values):
    found = np.array(values["shares"]) >= 1 - 1e-9
    return found.mean() >= 0.9, f"found in {found.sum()} of {len(found)}"


MAKERS = (table2, readings, figure2, brute)
