"""The samples that candidates see, and the clusters that they elect for these."""

from dataclasses import dataclass, replace

import numpy as np

from separatrix._sklearn import one_thread
from separatrix.data.frames import Frame
from separatrix.data.rows import in_doubles, rows_at
from separatrix.result import Labelling, renumbered
from separatrix.selection.candidates import SCORES, Comparison
from separatrix.selection.consensus import consensus_labels, family_weights, vote_shares
from separatrix.selection.trust import agreement_with
from separatrix.similarity.geometry import Geometry

__all__ = ["Election", "Seen", "more_agreed", "one_cluster"]


@dataclass(frozen=True)
class Seen:
    """The samples that candidates see.

    Attributes
    ----------
    indices : ndarray of shape (n_seen,)
        Which of all samples they are.
    rows : ndarray of shape (n_seen, n_features)
        The samples.
    frame : Frame
        The scale and directions in which candidates see them.
    geometry : Geometry
        Neighbours, graphs and trees that candidates share.
    """

    indices: np.ndarray
    rows: np.ndarray
    frame: Frame
    geometry: Geometry

    @classmethod
    def of(cls, X, indices):
        """Some of the samples of X."""
        rows = in_doubles(rows_at(X, indices))
        frame = Frame.of(rows)
        return cls(indices, rows, frame, Geometry(frame(rows)))


@dataclass(frozen=True)
class Election:
    """Candidates, and the clusters that they elect.

    Attributes
    ----------
    found : Comparison
        The candidates.
    labels : ndarray of shape (n_seen,)
        The clusters.
    shares : ndarray of shape (n_seen, n_clusters)
        Votes for each cluster.
    """

    found: Comparison
    labels: np.ndarray
    shares: np.ndarray

    @classmethod
    @one_thread
    def of(cls, found, n_clusters, rng, given):
        """What the candidates of a comparison elect, the largest cluster first."""
        used = np.flatnonzero(found.usable)
        if len(used) == 0:  # a poor result rather than none
            used = np.flatnonzero(~found.failed)
        votes = found.votes[used] if found.votes.any() else np.full(len(used), 1 / len(used))
        labels = consensus_labels(found.labels[used[votes > 0]], votes[votes > 0], n_clusters, rng)
        labels = given.kept(renumbered(labels, Labelling(labels, n_clusters).order))
        shares = family_weights([found.families[i] for i in used])
        return cls(found, labels, vote_shares(labels, found.labels[used], shares, n_clusters))

    @property
    def n_clusters(self):
        """Number of clusters."""
        return self.shares.shape[1]

    @property
    def own_shares(self):
        """Votes for each sample's cluster."""
        return self.shares[np.arange(len(self.labels)), self.labels]

    @property
    def agreement(self):
        """How far the candidates agree with what they elect."""
        return agreement_with(self.labels, self.found)

    def renumbered(self, order):
        """The same clusters, number i being what was number `order[i]`."""
        labels = renumbered(self.labels, order)
        return replace(self, labels=labels, shares=self.shares[:, order])

    def restricted(self, rows):
        """The same for some of the samples."""
        found = replace(self.found, labels=self.found.labels[:, rows])
        return Election(found, self.labels[rows], self.shares[rows])


def more_agreed(election, whole):
    """Of two elections for the same samples, the second if its candidates agree more."""
    if election.found.is_stopped or whole.found.is_stopped:
        return election
    return whole if whole.agreement > election.agreement else election


def one_cluster(n_samples):
    """Comparison of nothing."""
    none = np.zeros(1)
    return Comparison(
        ["one cluster"],
        ["none"],
        np.zeros((1, n_samples), dtype=np.int32),
        dict.fromkeys(SCORES, none),
        np.ones(1),
        np.ones((1, 1)),
        np.ones(1, dtype=bool),
        none,
        [""],
    )
