"""Models on graphs: responses of the training samples, and of new ones."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.data.rows import exactly_beside, map_rows
from separatrix.labels.links import Links, linked_labels
from separatrix.models.boundaries import Split
from separatrix.result import Labelling, Status, decoded
from separatrix.similarity.device_graphs import DeviceGraph
from separatrix.similarity.graphs import ContractedGraph
from separatrix.similarity.landmarks import LandmarkGraph
from separatrix.similarity.quadratic_forms import Form, LowSpectrum, form_of

# Smallest usable distance of an eigenvalue from the diagonal, as a share of the largest.
LEAST_GAP = 0.05


# --- the model ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GraphModel:
    """Responses of training samples, and the rule that gives those of samples similar to them.

    Attributes
    ----------
    graph : SimilarityGraph, GivenGraph or LandmarkGraph
        Similarities between samples; equal ones are one node.
    rule : object
        Its `responses` are those of the nodes, and its `to_new(similarities)` gives those of new
        samples: for two clusters positive in cluster 1, otherwise a column for each.
    """

    graph: Any
    rule: Any

    @property
    def n_clusters(self):
        """Number of clusters."""
        return self.rule.n_clusters

    @cached_property
    def responses(self):
        """Responses of the training samples."""
        responses, place = self.rule.responses, self.graph.place
        return responses if place is None else responses[place]

    def scores(self, X):
        """Responses of samples."""
        if isinstance(self.graph, DeviceGraph):
            return extended_on_device(self.graph, X, self.rule.responses, self.rule.to_new)
        known = extended(self.graph, to_numpy(X), self.rule.responses, self.rule.to_new)
        return exactly_beside(known, X)

    def labels(self, X):
        """Clusters of samples: the sign of their response, or the largest of several."""
        return decoded(self.scores(X))

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        return replace(self, rule=self.rule.renumbered(order))


@dataclass(frozen=True, kw_only=True)
class GraphProblem:
    """Samples and the graph of their similarities.

    Attributes
    ----------
    X : ndarray or sparse matrix
        The similarities of its nodes.
    graph : SimilarityGraph or GivenGraph
        Similarities of the samples; equal ones are one node.
    form : Form
        The matrix of the criterion, of the nodes that are to be split.
    nodes : LinkedNodes or None
        What links say of the nodes.
    """

    X: Any
    graph: Any
    form: Form
    nodes: Any = None
    sample_weight = None

    @classmethod
    def of(cls, graph, matrix, links=None, sample_weight=None):
        """The problem of all samples of a graph, with the matrix of that name."""
        graph, nodes = linked(graph, links, sample_weight)
        form = form_of(graph.W, matrix, graph.own, graph.counts)
        return cls(X=graph.W, graph=graph, form=form, nodes=nodes)

    def completed(self, rule):
        """The model of samples as users pass them."""
        return GraphModel(self.graph, rule)

    def labels_of(self, rule):
        """Clusters of the samples."""
        return decoded(self.completed(rule).responses)

    def of_nodes(self, values):
        """Values of the nodes, from those of the samples: of the first sample of each."""
        place = self.graph.place
        return values if place is None else values[np.unique(place, return_index=True)[1]]

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone."""
        return replace(self, form=self.form.restricted(np.flatnonzero(weights)))

    @property
    def varies(self):
        """Whether any similarity connects different samples, or several samples to copies only."""
        W, roots = self.form.W, self.form.roots
        if W.shape[0] < 2 or self.form.name == "precomputed":
            return W.shape[0] > 1
        return bool(abs(W).sum() > abs(W.diagonal())[roots <= 1].sum())

    def joined(self, splits, n_clusters):
        """The tree of repeated splits, and the labelling that it makes."""
        tree = Tree(self.X.shape[0], n_clusters, splits)
        return tree, Labelling(decoded(tree.responses), n_clusters, self.graph.counts)


def linked(graph, links, sample_weight=None):
    """The graph in which linked samples are one node, and the constraints on its nodes."""
    if links is None:
        return graph, None
    graph = ContractedGraph.of(graph, links.groups, sample_weight)
    return graph, LinkedNodes.of(links, graph, sample_weight)


@dataclass(frozen=True, eq=False)
class LinkedNodes:
    """Constraints by links and known labels on the nodes of a contracted graph.

    Attributes
    ----------
    links : Links
        Those of the nodes: some differ, some have known labels.
    pulls : ndarray of shape (n_nodes,)
        How much more a node counts in a criterion than without known labels.
    of_samples, sample_weight : Links, and ndarray or None
        The links of the samples, and their weights.
    """

    links: Links
    pulls: np.ndarray
    of_samples: Links
    sample_weight: Any

    @classmethod
    def of(cls, links, graph, sample_weight):
        """Constraints on the nodes of a graph, from the links of its samples."""
        nodes = links.restricted(graph.first)
        pulls = np.ones(len(graph.counts))
        if nodes.teaches:
            pulls = nodes.taught(graph.counts) / graph.counts
        return cls(nodes, pulls, links, sample_weight)

    @cached_property
    def shares(self):
        """Shares of the clusters, as known labels show them, times the number of clusters."""
        return self.links.n_clusters * self.of_samples.known_shares(self.sample_weight)

    @cached_property
    def known(self):
        """Known labels of nodes; one column of zeros and ones for each cluster."""
        return (self.links.known_labels[:, None] == np.arange(self.links.n_clusters)).astype(float)

    def signs(self, h, roots):
        """Signs of two clusters that keep the links and agree best with responses, times pulls.

        Each column of `h` is a vector of the form whose roots are given.
        """
        links, weight = self.links, roots * self.pulls
        members = (links.sign * weight, (links.component, np.arange(len(weight))))
        shape = (links.n_components, len(weight))
        totals = sp.csr_array(members, shape) @ h
        signs = signs_of(totals)
        told = links.known >= 0
        signs[told] = (2.0 * links.known[told] - 1)[:, None]
        return (links.sign * self.pulls)[:, None] * signs[links.component]

    def labels(self, H, weight):
        """Labels of several clusters that keep the links and have the largest responses."""
        if len(self.links.conflicts):
            return linked_labels(H, self.links, sample_weight=weight).labels
        labels = H.argmax(axis=1)
        if self.links.teaches:
            told = self.links.known_labels >= 0
            columns = self.links.columns(H, weight)
            labels[told] = columns[self.links.known_labels[told]]
        return labels

    def kept(self, result, responses):
        """A result whose labels, of the samples, keep all links.

        The responses are those of the samples.
        """
        found = linked_labels(responses, self.of_samples, sample_weight=self.sample_weight)
        labelling = Labelling(found.labels, self.links.n_clusters, self.sample_weight)
        lost = result.status is Status.DEGENERATE and not labelling.empty.any()
        status = Status.CONVERGED if lost else result.status
        return replace(result, labelling=labelling, status=status, keeps_labels=True)


def extended(graph, X, responses, to_new):
    """Responses of samples: their node's if they are known, else by `to_new` of similarities.

    Samples that are not similar to any take the response of the nearest. On a graph of landmarks
    they have the mean response of their landmarks.
    """
    if isinstance(graph, LandmarkGraph):
        return graph.of_samples(X, responses)
    known = graph.match(X)
    scores = responses[known]  # rows of new samples are overwritten
    new = np.flatnonzero(known < 0)
    if len(new):
        similarities = graph.to_new(X[new])
        scores[new] = to_new(similarities)
        alone = new[np.asarray(similarities.sum(axis=1)).ravel() == 0]
        if len(alone) and graph.has_samples:
            scores[alone] = responses[graph.nearest(X[alone])]
    return scores


def extended_on_device(graph, X, responses, to_new):
    """The same on a device, where one search tells the nearest, the equal and the similar."""

    def scores_of(rows):
        xp, _ = namespace_of(rows)
        nearest, is_known, similarities = graph.known_and_new(rows)
        scores, theirs = to_new(similarities), xp.take(responses, nearest, axis=0)
        takes = is_known | (similarities.sums == 0)
        return xp.where(takes if scores.ndim == 1 else takes[:, None], theirs, scores)

    return map_rows(scores_of, X, width=X.shape[1] * graph.n_neighbors)


# --- the rules ----------------------------------------------------------------------------------


def signs_of(responses):
    """Signs of responses; zero counts as negative, as it does for labels."""
    xp, _ = namespace_of(responses)
    return 2.0 * xp.astype(responses > 0, responses.dtype) - 1.0


@dataclass(frozen=True, eq=False)
class Signed:
    """Two clusters by the signs of responses.

    Attributes
    ----------
    form : Form
        The matrix.
    h : ndarray of shape (n_nodes,)
        Vector of the form.
    reg : float
        Weight of the regularisation.
    """

    form: Form
    h: np.ndarray
    reg: float
    n_clusters = 2

    @property
    def responses(self):
        """Responses of the nodes."""
        return self.form.to_samples(self.h)

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        if order[0] == 0:
            return self
        # a response of exactly zero counts as negative and must not change sides
        xp, _ = namespace_of(self.h)
        tiny = xp.full_like(self.h, float(xp.finfo(self.h.dtype).smallest_normal))
        turned = xp.where(self.h == 0, tiny, -self.h)
        return replace(self, h=turned, **self._turned())

    def _turned(self):
        """Other attributes that change their sign with the responses."""
        return {}


@dataclass(frozen=True, eq=False)
class TwoSided(Signed):
    """Responses whose signs are the two clusters.

    Attributes
    ----------
    eta, omega : float
        Multipliers of their length and of their sum.
    """

    eta: float
    omega: float

    def _turned(self):
        return {"omega": -self.omega}

    def to_new(self, similarities):
        """Responses of new samples, from the optimality system of the training samples.

        Its row for a new sample reads ``(reg * q - eta) * h = sign(h) + pull``, where q is the
        diagonal entry and the pull that of the known responses; of the two signs that may solve
        it, that of the pull has the lower objective.
        """
        rows, diagonal = self.form.to_new(similarities)
        pull = self.omega - self.reg * (rows @ self.h)
        below = self.reg * diagonal - self.eta
        xp, _ = namespace_of(below)
        top = pull + signs_of(pull)
        # the response grows without bound as the row's left side vanishes, and stays a number
        least = float(xp.finfo(top.dtype).smallest_normal) * xp.abs(top)
        return top / xp.where(below > least, below, least)


@dataclass(frozen=True, eq=False)
class Rotated:
    """Responses to several clusters, combinations of eigenvectors."""

    low: LowSpectrum
    A: np.ndarray
    reg: float

    @property
    def n_clusters(self):
        """Number of clusters."""
        return self.A.shape[1]

    @cached_property
    def responses(self):
        """Responses of the nodes."""
        vectors = self.low.vectors
        return self.low.form.to_samples(vectors @ like(self.A, vectors))

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        return replace(self, A=self.A[:, order])

    def to_new(self, similarities):
        """Responses of new samples, by the eigenvectors' own equation.

        It divides by the distance of an eigenvalue from the diagonal. Where that is small, the
        eigenvector says nothing about new samples and must not be amplified.
        """
        rows, diagonal = self.low.form.to_new(similarities)
        xp, _ = namespace_of(diagonal)
        gaps = like(self.low.values, diagonal) - diagonal[:, None]
        tiny = float(xp.finfo(gaps.dtype).smallest_normal)
        least = LEAST_GAP * xp.max(xp.abs(gaps), axis=1, keepdims=True) + tiny
        gaps = xp.where(xp.abs(gaps) > least, gaps, xp.where(gaps < 0, -least, least))
        return ((rows @ self.low.vectors) / gaps) @ like(self.A, gaps)


@dataclass(frozen=True, eq=False)
class Tree:
    """Repeated splits in two. A score is the least confident response on a cluster's branch."""

    n_samples: int
    n_clusters: int
    splits: list[Split]
    order: np.ndarray | None = None

    @property
    def reg(self):
        """Weights of smoothness of the first split."""
        return self.splits[0].model.reg if self.splits else np.nan

    @cached_property
    def responses(self):
        """Scores of the nodes."""

        def response(split, rows):
            return split.model.responses[np.searchsorted(split.members, rows)]

        return self._scored(self.n_samples, response)

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        before = np.arange(self.n_clusters) if self.order is None else self.order
        return replace(self, order=before[order])

    def to_new(self, similarities):
        """Scores of new samples, each compared with the samples of the splits it comes to."""

        def response(split, rows):
            return split.model.to_new(similarities[rows][:, split.members])

        return self._scored(similarities.shape[0], response)

    def _scored(self, n_rows, response):
        scores = np.full((n_rows, self.n_clusters), -np.inf)
        scores[:, 0] = np.inf if self.splits else 0.0
        inside = {0: np.arange(n_rows)}
        for split in self.splits:
            rows = inside[split.leaf]
            h = response(split, rows)
            scores[:, split.new] = scores[:, split.leaf]  # all others left the branch before
            scores[rows, split.new] = np.minimum(scores[rows, split.leaf], h)
            scores[rows, split.leaf] = np.minimum(scores[rows, split.leaf], -h)
            upper = h > 0
            # a response of zero is negative: the leaf keeps the sample
            scores[rows[h == 0], split.new] = -np.finfo(np.float64).tiny
            inside[split.leaf], inside[split.new] = rows[~upper], rows[upper]
        return scores if self.order is None else scores[:, self.order]


@dataclass(frozen=True, eq=False)
class HardSides(Signed):
    """Two clusters by the signs of scores, sums of weighted similarities.

    Attributes
    ----------
    h : ndarray of shape (n_nodes,)
        The scores themselves.
    weights : ndarray of shape (n_nodes,)
        Weights of similarities to the training samples, labels times alpha: a vector of the form.
    """

    weights: np.ndarray

    @property
    def responses(self):
        """Scores of the nodes."""
        return self.h

    def _turned(self):
        return {"weights": -self.weights}

    def to_new(self, similarities):
        """Scores of new samples."""
        rows, _ = self.form.to_new(similarities)
        return self.reg * np.asarray(rows @ self.weights).ravel()


@dataclass(frozen=True, eq=False)
class Spread:
    """Responses to known labels, one column per class against the rest; one column for two.

    `eta` holds the multipliers of their length, `reg` the weight of smoothness.
    """

    form: Form
    columns: np.ndarray
    eta: np.ndarray
    reg: float

    @property
    def n_clusters(self):
        """Number of classes."""
        return max(2, self.columns.shape[1])

    @property
    def responses(self):
        """Responses of the nodes."""
        return self._squeezed(self.form.to_samples(self.columns))

    def to_new(self, similarities):
        """Optimal responses of new samples while the known responses are held fixed."""
        rows, diagonal = self.form.to_new(similarities)
        pull = -self.reg * np.asarray(rows @ self.columns)
        scale = self.reg * diagonal[:, None] - self.eta
        # a sample that is not similar to any has no response
        return self._squeezed(np.divide(pull, scale, out=np.zeros_like(pull), where=scale != 0))

    def _squeezed(self, columns):
        return columns[:, 0] if columns.shape[1] == 1 else columns


# --- probabilities ------------------------------------------------------------------------------


def scores_of(probabilities):
    """Scores that `decoded` turns into the most probable clusters."""
    two = probabilities.shape[1] == 2
    return probabilities[:, 1] - probabilities[:, 0] if two else probabilities


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probabilities of clusters, for the training samples and for new ones.

    Attributes
    ----------
    graph : SimilarityGraph or GivenGraph
        Kernels between samples.
    coef : ndarray of shape (n_nodes, n_clusters)
        Weights of the kernels at the training samples.
    probabilities : ndarray of shape (n_nodes, n_clusters)
        Those of the nodes.
    """

    graph: Any
    coef: np.ndarray
    probabilities: np.ndarray

    @property
    def n_clusters(self):
        """Number of clusters."""
        return self.coef.shape[1]

    @property
    def responses(self):
        """Scores of the nodes."""
        return scores_of(self.probabilities)

    def of_samples(self, values):
        """Values of the training samples, from those of the nodes."""
        return values if self.graph.place is None else values[self.graph.place]

    def predict_proba(self, X):
        """Probabilities of samples; for those far from all others, those of the nearest one."""
        if isinstance(self.graph, DeviceGraph):
            return extended_on_device(self.graph, X, self.probabilities, self.to_new)
        found = extended(self.graph, to_numpy(X), self.probabilities, self.to_new)
        return exactly_beside(found, X)

    def scores(self, X):
        """Scores of samples, the largest for the most probable cluster."""
        return scores_of(self.predict_proba(X))

    def labels(self, X):
        """Most probable clusters of samples."""
        return decoded(self.scores(X))

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        xp, _ = namespace_of(self.coef)
        columns = like(order, self.coef)
        coef, probabilities = (
            xp.take(one, columns, axis=1) for one in (self.coef, self.probabilities)
        )
        return replace(self, coef=coef, probabilities=probabilities)

    def to_new(self, similarities):
        """Probabilities of new samples; neighbours vote where no sum of kernels is positive."""
        xp, _ = namespace_of(self.coef)
        found = similarities @ self.coef
        found = xp.where(found > 0, found, 0.0)
        none = xp.sum(found, axis=1) == 0
        if bool(xp.any(none)):
            votes = similarities @ self.probabilities
            votes = votes + float(xp.finfo(votes.dtype).smallest_normal)
            found = xp.where(none[:, None], votes, found)
        return found / xp.sum(found, axis=1, keepdims=True)
