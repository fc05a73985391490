"""Whether clusters are more than tables without clusters show by chance."""

import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape

import numpy as np
from scipy.stats import gumbel_r
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from separatrix._output import data_frame, html_table, text_table
from separatrix._sklearn import one_thread
from separatrix._typing import DataFrame
from separatrix.similarity.geometry import N_LINKED, Geometry
from separatrix.similarity.spanning_trees import cut_labels, joined_labels
from separatrix.validity.features import graph_features, tree_features
from separatrix.validity.nulls import KINDS, NullTables

__all__ = [
    "LEVEL",
    "MAX_SAMPLES",
    "Structure",
    "cheap_clusterings",
    "given_labels",
    "labels_of_clusterer",
    "seeded",
    "structure_of",
    "structure_of_samples",
]

# p-values below which there are clusters. The largest one of three kinds of tables counts, so that
# fewer tables without clusters pass than this share: about four in a hundred, by
# benchmarks/choices/trust.py.
LEVEL = 0.15
# p-values from which on the words admit that some tables without clusters have as much structure.
LIKELY = 0.05
# Number of samples used, and used at first: clear clusters show in these.
MAX_SAMPLES = 2_000
FIRST_SAMPLES = 1_000
# Tables without clusters of each kind that are drawn first, and p-values below and above which
# more of them would not change the finding.
FIRST_DRAWS = 8
CLEAR = (0.001, 0.8)
# Else the fewest and the most of each kind, and the samples that they have together.
N_DRAWS = (16, 24)
N_DRAWN_SAMPLES = 16_000
# Numbers of clusters that are tried where none is asked for.
NUMBERS = (2, 3)
# With fewer samples the test finds nothing.
MIN_SAMPLES = 10
# How often the samples are measured: starts of k-means and the spreading of levels are random.
N_LOOKS = 4
# What is measured of a clustering, with what it means.
STATISTICS = {
    "valley": "density falls between neighbouring clusters",
    "tree": "links between clusters are longer than those within",
    "graph": "few neighbours belong to different clusters",
}
# Of an even share, below which a cluster is too small for its clustering to count.
SMALLEST_SHARE = 0.05
# Of the mean variance, added to each variance before clusters are projected.
RIDGE = 0.01
# Where the density between two clusters is computed, the steps in a bandwidth that values are
# rounded to, and bandwidths that a value reaches.
N_PLACES = 48
N_STEPS = 8
REACH = 5
# Neighbours of a cluster beyond four.
N_NEIGHBORS = 3
# Least standard deviation of the statistic among tables without clusters, of which few are drawn.
LEAST_SPREAD = 0.5
# Number of bandwidths between the means of groups; more would not change the result.
WIDEST = 1_000
# Measures of a degenerate clustering.
NOTHING = np.array([0.0, -1.0, -1.0])
HEADER = ["", "found", "without clusters", "deviations"]


# --- what is measured ---------------------------------------------------------------------------


def valley_between(values, first):
    r"""How clearly the density of values falls between two groups of them.

    .. math:: \max_t \sqrt{n h} \, \frac{p(t) - f(t)}{\sqrt{p(t) + f(t)}}

    f is a kernel density with bandwidth h, and p(t) the lower of the highest peaks on either side
    of t, both between the means of the groups. A single peak has no valley, whatever its spread.
    Values are divided between the two nearest of even steps, so that kernels are computed for
    steps only.
    """
    groups = values[first], values[~first]
    within = np.sqrt(sum(len(one) * one.var() for one in groups) / len(values))
    means = [one.mean() for one in groups]
    if not within > 0:
        return 0.0 if means[0] == means[1] else np.sqrt(len(values))
    bandwidth = 0.9 * within * len(values) ** -0.2
    beyond = abs(means[1] - means[0]) - WIDEST * bandwidth
    if beyond > 0:  # nothing lies between them, and a narrower gap has the same valley
        moves = np.copysign(beyond, means[1] - means[0])
        values, means[0] = values + np.where(first, moves, 0.0), means[0] + moves
    # in bandwidths from the middle, as far as the kernels of values reach the places
    places = np.linspace(-0.5, 0.5, N_PLACES) * abs(means[1] - means[0]) / bandwidth
    far = int(np.ceil((places[-1] + REACH) * N_STEPS))
    at = (values - (means[0] + means[1]) / 2) / bandwidth * N_STEPS + far
    at = at[(at >= 0) & (at <= 2 * far)]
    steps = at.astype(np.intp)
    masses = np.bincount(steps, 1 - (at - steps), minlength=2 * far + 2)
    masses += np.bincount(steps + 1, at - steps, minlength=2 * far + 2)
    centers = np.arange(-far, far + 2) / N_STEPS
    # of n h f, the constant left out
    counts = masses @ np.exp(-0.5 * (centers[:, None] - places) ** 2)
    peaks = np.minimum(np.maximum.accumulate(counts), np.maximum.accumulate(counts[::-1])[::-1])
    total = peaks + counts
    depths = np.divide(peaks - counts, np.sqrt(total), where=total > 0, out=np.zeros(N_PLACES))
    return float(depths.max())


def valleys(X, labels):
    """Least valley of each cluster along its discriminants to others, on average over samples."""
    sizes = np.bincount(labels)
    n_clusters, n_features = len(sizes), X.shape[1]
    centers = np.array([X[labels == c].mean(axis=0) for c in range(n_clusters)])
    scatters = np.zeros((n_clusters, n_features, n_features))
    for c, center in enumerate(centers):
        around = X[labels == c] - center
        scatters[c] = around.T @ around
    ridge = RIDGE * float(X.var(axis=0).mean()) * np.eye(n_features)
    found = np.full((n_clusters, n_clusters), np.inf)
    for one, other in neighboring_clusters(centers):
        within = (scatters[one] + scatters[other]) / (sizes[one] + sizes[other])
        normal = np.linalg.solve(within + ridge, centers[one] - centers[other])
        both = (labels == one) | (labels == other)
        valley = valley_between(X[both] @ normal, labels[both] == one)
        found[one, other] = found[other, one] = valley
    return float(sizes @ found.min(axis=1) / len(X))


def neighboring_clusters(centers):
    """Pairs of clusters, of which one is among the nearest of the other."""
    away = ((centers[:, None] - centers) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    nearest = np.argsort(away, axis=1)[:, : min(N_NEIGHBORS, len(centers) - 1)]
    return sorted({(min(i, j), max(i, j)) for i, row in enumerate(nearest) for j in row})


def evidence_of(geometry, labels):
    """What is measured of one clustering, in the order of `STATISTICS`."""
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    sizes = np.bincount(labels)
    n_clusters, n_samples = len(sizes), len(labels)
    if n_clusters < 2 or sizes.min() < max(3, SMALLEST_SHARE * n_samples / n_clusters):
        return NOTHING
    degrees = np.asarray(geometry.graph.sum(axis=1)).ravel()
    graph = graph_features(geometry.graph, degrees, labels, n_clusters, "graph")
    tree = tree_features(geometry.core_tree, labels, sizes / n_samples, "tree")
    return np.array([valleys(geometry.X, labels), tree["tree validity"], -graph["graph cut"]])


def most_evidence(geometry, clusterings, tables, rng):
    """Largest value of each statistic over the clusterings of each group: groups in rows."""
    groups = clusterings(geometry, tables, rng)
    return np.array([np.max([evidence_of(geometry, one) for one in g], axis=0) for g in groups])


# --- what is clustered by what, in groups of as many clusters -----------------------------------


def given_labels(labels, geometry, tables, rng):
    """The given labels."""
    return [[labels]]


def labels_of_clusterer(clusterer, geometry, tables, rng):
    """Labels that a clusterer finds in a table in the units of the samples."""
    return [[seeded(clone(clusterer), rng).fit_predict(tables.in_units(geometry.X))]]


def seeded(estimator, rng):
    """The estimator, with seeds where it takes them and has none."""
    for name, value in sorted(estimator.get_params().items(), key=lambda item: item[0]):
        if name.split("__")[-1] == "random_state" and value is None:
            estimator.set_params(**{name: int(rng.randint(2**31 - 1))})
    return estimator


def cheap_clusterings(numbers, geometry, tables, rng):
    """Clusterings of different kinds that cost little, for each number of clusters."""
    numbers = [max(2, min(number, geometry.n_samples // 4)) for number in numbers]
    return [_cheap_clusterings(number, geometry, rng) for number in numbers]


def _cheap_clusterings(n_clusters, geometry, rng):
    smallest = geometry.n_samples / (4 * n_clusters)
    with warnings.catch_warnings():  # fewer distinct samples than clusters
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(n_clusters, n_init=2, random_state=rng).fit_predict(geometry.X)
    return [
        means,
        joined_labels(geometry.core_tree, n_clusters, unevenness=0.3),
        cut_labels(geometry.core_tree, n_clusters, smallest=smallest),
    ]


# --- the test -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Structure:
    """Comparison of clusters with those of tables without clusters. It prints as a table.

    Attributes
    ----------
    statistic : float
        Norm of the amounts by which the measures exceed their means on tables without clusters, in
        standard deviations.
    null_statistics : ndarray of shape (n_draws,)
        The same for each of these tables, compared with the others.
    p_value : float
        Estimated share of tables without clusters that have as large a statistic, from few tables.
        Below `level`, the test finds clusters.
    kind : str
        What the tables keep of the samples: "columns", "principal axes" or "distances" from the
        mean; the kind that comes nearest, of those that were drawn.
    measures : dict of str to tuple
        Value, mean and standard deviation on tables without clusters, of each measure.
    level : float
        p-value below which the test finds clusters.
    """

    statistic: float
    null_statistics: np.ndarray
    p_value: float
    kind: str = KINDS[0]
    measures: dict = field(default_factory=dict)
    level: float = LEVEL

    @property
    def is_tested(self) -> bool:
        """Whether there were enough different samples for a test."""
        return len(self.null_statistics) > 0

    @property
    def has_clusters(self) -> bool:
        """Whether there are clusters, by this test."""
        return self.p_value < self.level

    @property
    def words(self) -> str:
        """The finding in one line."""
        if not self.is_tested:
            return "no clusters found, too few different samples to tell"
        told = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
        if self.has_clusters and self.p_value >= LIKELY:
            return f"clusters likely, few tables without clusters look alike ({told})"
        if self.has_clusters:
            return f"clusters found, tables without clusters look different ({told})"
        return f"no clusters found, tables without clusters look alike ({told})"

    def _cells(self):
        return [
            [
                STATISTICS[name],
                f"{value:.2f}",
                f"{mean:.2f} +- {deviation:.2f}",
                f"{(value - mean) / deviation:.1f}",
            ]
            for name, (value, mean, deviation) in self.measures.items()
        ]

    def __str__(self):
        return f"{text_table(HEADER, self._cells())}\n{self.words}"

    __repr__ = __str__

    def _repr_html_(self):
        """The same table, for notebooks."""
        return f"{html_table(HEADER, self._cells())}<p>{escape(self.words)}</p>"

    def to_frame(self) -> DataFrame:
        """Table of the measures.

        Returns
        -------
        table : pandas.DataFrame
            What was found, and mean and standard deviation on tables without clusters.
        """
        names = ("found", "mean", "deviation")
        columns = {name: [m[i] for m in self.measures.values()] for i, name in enumerate(names)}
        return data_frame(columns, list(self.measures), "measure")


def structure_of_samples(X, n_jobs, rng, level=LEVEL):
    """Whether samples have clusters, by cheap clusterings of them and of other tables."""
    clusterings = partial(cheap_clusterings, NUMBERS)
    order = rng.permutation(len(X))
    if len(X) > FIRST_SAMPLES:
        first = X[np.sort(order[:FIRST_SAMPLES])]
        # it only counts where clusters are clear, and ends at the first kind where they are not
        drawn = {"n_draws": FIRST_DRAWS, "level": CLEAR[0], "n_jobs": n_jobs, "rng": rng}
        test = structure_of(first, clusterings, clusterings, **drawn)
        if test.has_clusters:
            return replace(test, level=level)
    X = X[np.sort(order[:MAX_SAMPLES])]
    return structure_of(X, clusterings, clusterings, level=level, n_jobs=n_jobs, rng=rng)


@one_thread
def structure_of(X, of_samples, of_tables, *, n_draws=None, level=LEVEL, n_jobs=None, rng):
    """Compare clusterings of samples with clusterings of tables like them without clusters.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    of_samples, of_tables : callable
        Clusterings of X, and of other tables, from a Geometry, NullTables and a RandomState.
    n_draws : int or None
        Number of tables of each kind. None draws few, and more where these leave a doubt.
    level : float
        p-value below which the test finds clusters.
    n_jobs : int or None
        Tables that are looked at at the same time.
    rng : RandomState
        Draws the tables.

    Returns
    -------
    structure : Structure
    """
    if len(X) < MIN_SAMPLES or not np.ptp(X, axis=0).any():
        return Structure(0.0, np.array([]), 1.0, level=level)
    rounds = [n_draws] if n_draws else [FIRST_DRAWS, np.clip(N_DRAWN_SAMPLES // len(X), *N_DRAWS)]
    tables = NullTables.of(X, rng)
    geometry = Geometry(tables.spread(X, rng), N_LINKED)
    looks = []
    for look in range(N_LOOKS):
        if look and tables.has_levels:  # which are spread out in another way each time
            geometry = Geometry(tables.spread(X, rng), N_LINKED)
        looks.append(most_evidence(geometry, of_samples, tables, rng))
    found = np.mean(looks, axis=0)
    test = None
    # for all kinds, so that what is drawn later does not depend on which kinds are looked at
    seeds_of = dict(zip(KINDS, rng.randint(2**31 - 1, size=(len(KINDS), rounds[-1])), strict=True))
    for kind, seeds in seeds_of.items():
        without: list[np.ndarray] = []
        for n_asked in rounds:
            without += Parallel(n_jobs=n_jobs)(
                delayed(_evidence_without)(tables, kind, of_tables, seed)
                for seed in seeds[len(without) : n_asked]
            )
            of_kind = _test(found, np.array(without), kind, level)
            if not CLEAR[0] <= of_kind.p_value <= CLEAR[1]:
                break
        test = of_kind if test is None else max(test, of_kind, key=lambda test: test.p_value)
        if not test.has_clusters:
            break  # a larger p-value would not change the finding
    return test


def _evidence_without(tables, kind, clusterings, seed):
    rng = np.random.RandomState(seed)
    table = Geometry(tables.draw(kind, rng), N_LINKED)
    return most_evidence(table, clusterings, tables, rng)


def _test(found, without, kind, level):
    """Test against tables of one kind, each of which is also compared with the others."""
    mean, deviation = without.mean(axis=0), deviations_of(without)
    ahead = (found - mean) / deviation
    alone = np.array(
        [_beside(one, np.delete(without, i, axis=0)) for i, one in enumerate(without)]
    )
    # the largest of several groups counts, so it has about an extreme value distribution
    scale = max(float(alone.std()), LEAST_SPREAD) * np.sqrt(6) / np.pi
    statistic = length_above(ahead)
    p_value = gumbel_r.sf(statistic, alone.mean() - np.euler_gamma * scale, scale)
    measures = {
        name: (float(found[best, i]), float(mean[best, i]), float(deviation[best, i]))
        for i, (name, best) in enumerate(zip(STATISTICS, ahead.argmax(axis=0), strict=True))
    }
    return Structure(statistic, alone, float(p_value), kind, measures, level)


def _beside(one, others):
    return length_above((one - others.mean(axis=0)) / deviations_of(others))


def length_above(ahead):
    r"""Norm :math:`\sqrt{\sum_j \max(z_j, 0)^2}`, the largest over the groups."""
    return float(np.linalg.norm(np.maximum(ahead, 0), axis=1).max())


def deviations_of(values):
    """Standard deviations of columns; if all values are equal, a value above rounding."""
    deviation = values.std(axis=0, ddof=1)
    return np.maximum(deviation, 1e-6 * (1 + np.abs(values).max(axis=0)))
