"""The default candidates: clusterers of many kinds that share neighbours, graphs and trees."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import separatrix
from separatrix._sklearn import cut_merges
from separatrix.models.starts import kmeans_start
from separatrix.selection.consensus import MANY_CLUSTERS, kmeans_runs
from separatrix.similarity.spanning_trees import cut_labels, joined_labels

__all__ = ["CURVE_CANDIDATES", "Candidate", "Given", "default_candidates"]

# Clusters up to which candidates need not save time.
FEW_CLUSTERS = 5
# Beyond this many samples, Ward's method considers near pairs only.
MAX_WARD = 3_500
# Of an even share, the least samples on either side of a link that is cut.
SMALLEST_PART = 0.25
# Gini index of sizes above which the smallest cluster is joined first, by the authors of Genie.
UNEVENNESS = 0.3


@dataclass(frozen=True)
class Candidate:
    """A clusterer that reads what all candidates share.

    Parameters
    ----------
    family : str
        Methods of one kind, which may agree because they err alike.
    labels : callable
        Labels from a Geometry, a number of clusters and a RandomState.
    learns : bool
        Whether it takes weights of samples, links and known labels besides, by name.
    suits_many : bool
        Whether it also runs for many clusters. Gaussians are not determined by the few samples of
        each then, and others take most of the time to find what similar candidates find, too.
    """

    family: str
    labels: Callable
    learns: bool = False
    suits_many: bool = True


@dataclass(frozen=True)
class Given:
    """What users know about the samples.

    Parameters
    ----------
    sample_weight : ndarray of shape (n_samples,) or None
        Weights.
    links : Links or None
        Links and known labels.
    """

    sample_weight: Any = None
    links: Any = None

    @property
    def arguments(self):
        """The same as arguments of `fit`."""
        links = {} if self.links is None else self.links.arguments
        return {"sample_weight": self.sample_weight, **links}

    def kept(self, labels):
        """Labels that keep the links, the nearest to those of a candidate; not of too many."""
        if self.links is None or labels.max() >= self.links.n_clusters:
            return labels
        return self.links.nearest(labels).astype(np.int32)

    def confirmed(self, labels):
        """How far labels agree with the known ones: their adjusted Rand index, zero without."""
        known = None if self.links is None else self.links.known_labels
        if known is None or (known >= 0).sum() < 2:
            return 0.0
        return float(adjusted_rand_score(known[known >= 0], labels[known >= 0]))


def default_candidates(tier="fast", n_clusters=2):
    """Candidates by name, for a number of clusters.

    Many are cheap variants of each other: the vote gains more from them than from a few costly
    ones.
    """
    found = _all_candidates(tier)
    if n_clusters > MANY_CLUSTERS:
        found = {name: one for name, one in found.items() if one.suits_many}
    return found


def _all_candidates(tier):
    ranks = partial(mixture, rows="normal_scores")
    of_few = partial(Candidate, suits_many=False)
    fast = {
        "k-means": Candidate("means", k_means, learns=True),
        "LDA-k-means": Candidate("means", lda_k_means, learns=True),
        "mixture": of_few("mixture", mixture),
        "smooth mixture": of_few("mixture", partial(mixture, ridge=0.1)),
        "diagonal mixture": of_few("mixture", partial(mixture, covariance_type="diag")),
        "tied mixture": of_few("mixture", partial(mixture, covariance_type="tied")),
        "mixture of ranks": of_few("mixture", partial(ranks, ridge=0.05)),
        "diagonal mixture of ranks": of_few("mixture", partial(ranks, covariance_type="diag")),
        "Ward": Candidate("linkage", ward),
        "Ward of ranks": Candidate("linkage", partial(ward, rows="normal_scores")),
        "chains": Candidate("chains", chains),
        "even chains": Candidate("chains", partial(chains, unevenness=0.1)),
        "whitened chains": Candidate("chains", partial(chains, whitened=True)),
        "tree cut": Candidate("tree", tree_cut),
        "plain tree cut": Candidate("tree", partial(tree_cut, tree="tree")),
        "whitened tree cut": Candidate("tree", partial(tree_cut, whitened=True)),
        "spectral": Candidate("spectral", partial(spectral, graph="graph")),
        "shared spectral": Candidate("spectral", spectral),
        "whitened spectral": Candidate("spectral", partial(spectral, whitened=True)),
        "spectral mixture": of_few("spectral", spectral_mixture),
        "spectral Ward": Candidate("embedding", spectral_ward),
        "spectral chains": Candidate("embedding", spectral_chains),
        "spectral tree cut": Candidate("embedding", spectral_tree_cut),
        "volume": of_few("volume", volume, learns=True),
        "separation": Candidate("separation", separation, learns=True),
        "information": of_few("information", information, learns=True),
    }
    if tier == "fast":
        return fast
    return fast | {"least squares": Candidate("least squares", least_squares, learns=True)}


# Cheap candidates of different kinds that the number of clusters is chosen by.
CURVE_CANDIDATES = (
    "k-means",
    "mixture",
    "smooth mixture",
    "Ward",
    "chains",
    "tree cut",
    "plain tree cut",
    "spectral",
    "shared spectral",
    "whitened spectral",
    "spectral Ward",
    "spectral tree cut",
    "information",
)


def n_starts(n_clusters):
    """Starts of methods that need several."""
    return 5 if n_clusters <= FEW_CLUSTERS else 2


def k_means(geometry, n_clusters, rng, sample_weight=None, **links):
    if n_clusters > MANY_CLUSTERS:  # which restarts alone do not find
        return kmeans_start(geometry.X, sample_weight, n_clusters).labels(geometry.X)
    model = KMeans(n_clusters, n_init=10, random_state=rng)
    return model.fit_predict(geometry.X, sample_weight=sample_weight)


def lda_k_means(geometry, n_clusters, rng, **given):
    model = separatrix.LDAKMeans(n_clusters, random_state=rng)
    return model.fit(geometry.X, **given).predict(geometry.X)


def mixture(geometry, n_clusters, rng, *, rows="X", covariance_type="full", ridge=0.01):
    """Gaussians, with a share of the mean variance added to each of their variances."""
    settings = {"covariance_type": covariance_type, "n_init": (n_starts(n_clusters) + 1) // 2}
    return mixture_of(getattr(geometry, rows), n_clusters, rng, ridge, **settings)


def mixture_of(rows, n_clusters, rng, ridge, **settings):
    reg_covar = ridge * float(rows.var(axis=0).mean()) + np.finfo(float).tiny
    model = GaussianMixture(n_clusters, reg_covar=reg_covar, random_state=rng, **settings)
    return model.fit_predict(rows)


def ward(geometry, n_clusters, rng, *, rows="X"):
    if geometry.n_samples > MAX_WARD:
        return ward_of(getattr(geometry, rows), geometry, n_clusters)
    return cut_merges(n_clusters, geometry.merges(rows), geometry.n_samples)


def ward_of(rows, geometry, n_clusters):
    """Ward's method, for many samples along the graph of neighbours."""
    connectivity = geometry.graph if geometry.n_samples > MAX_WARD else None
    return AgglomerativeClustering(n_clusters, connectivity=connectivity).fit_predict(rows)


def chains(geometry, n_clusters, rng, *, whitened=False, unevenness=UNEVENNESS):
    """Single linkage that keeps sizes even, the rule of Genie."""
    tree = geometry.whitened.tree if whitened else geometry.tree
    return joined_labels(tree, n_clusters, unevenness=unevenness)


def smallest_part(geometry, n_clusters):
    return SMALLEST_PART * geometry.n_samples / n_clusters


def tree_cut(geometry, n_clusters, rng, *, whitened=False, tree="core_tree"):
    """Long links between large parts of the tree are cut."""
    links = getattr(geometry.whitened if whitened else geometry, tree)
    return cut_labels(links, n_clusters, smallest=smallest_part(geometry, n_clusters))


def spectral(geometry, n_clusters, rng, *, whitened=False, graph="shared_graph"):
    """k-means on the spectral embedding of a graph."""
    places = (geometry.whitened if whitened else geometry).embedding(n_clusters, graph)
    n_init = kmeans_runs(n_clusters)
    return KMeans(n_clusters, n_init=n_init, random_state=rng).fit_predict(places)


def spectral_mixture(geometry, n_clusters, rng):
    """Gaussians in the spectral embedding of the graph of shared neighbours."""
    places = geometry.embedding(n_clusters, "shared_graph")
    return mixture_of(places, n_clusters, rng, ridge=0.001)


def spectral_ward(geometry, n_clusters, rng):
    """Ward's method on the spectral embedding."""
    places = geometry.embedding(n_clusters, "shared_graph")
    return ward_of(places, geometry, n_clusters)


def spectral_chains(geometry, n_clusters, rng):
    """Chains in the spectral embedding."""
    tree = geometry.embedding_tree(n_clusters)
    return joined_labels(tree, n_clusters, unevenness=UNEVENNESS)


def spectral_tree_cut(geometry, n_clusters, rng):
    """The tree of the spectral embedding, cut."""
    tree = geometry.embedding_tree(n_clusters)
    return cut_labels(tree, n_clusters, smallest=smallest_part(geometry, n_clusters))


def volume(geometry, n_clusters, rng, sample_weight=None, **links):
    # similarities that are given take no weights
    model = separatrix.MaximumVolumeClustering(
        n_clusters,
        affinity="precomputed",
        n_combinations=n_starts(n_clusters),
        random_state=rng,
    )
    return model.fit(geometry.graph, **links).labels_


def least_squares(geometry, n_clusters, rng, **given):
    model = separatrix.RegularizedLeastSquaresClustering(
        n_clusters, n_init=n_starts(n_clusters), random_state=rng
    )
    return model.fit(geometry.X, **given).predict(geometry.X)


def separation(geometry, n_clusters, rng, **given):
    # for many clusters a boundary for each pair is too costly
    multiway = "pairwise" if n_clusters <= FEW_CLUSTERS else "one-vs-rest"
    model = separatrix.MaximinSeparationClustering(n_clusters, multiway=multiway, random_state=rng)
    return model.fit(geometry.X, **given).predict(geometry.X)


def information(geometry, n_clusters, rng, **given):
    model = separatrix.InformationMaximizationClustering(n_clusters, random_state=rng)
    return model.fit(geometry.X, **given).predict(geometry.X)
