"""How good labellings are, predicted by trees grown on synthetic data."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from scipy.stats import rankdata

from separatrix.validity.trees import BoostedTrees

__all__ = ["LearnedValidity", "learned_validity", "matrix_of", "support_features"]

PARTS = ("feature", "threshold", "left", "right", "value", "baseline")
# Range of the values of features; the training data have hardly any beyond it.
MOST = 50.0


@dataclass(frozen=True)
class LearnedValidity:
    """Trees that predict the adjusted Rand index of labellings with the unknown classes.

    Attributes
    ----------
    version : str
        Version of the trees.
    names : tuple of str
        Features of a labelling, in the order that the trees expect.
    sample_names : tuple of str
        Features of the samples.
    alone : BoostedTrees
        For one labelling.
    among : BoostedTrees
        For a labelling among others of the same samples, less what these have on average.
    """

    version: str
    names: tuple
    sample_names: tuple
    alone: BoostedTrees
    among: BoostedTrees

    def of_each(self, features, sample):
        """Validity of labellings, each by itself.

        Parameters
        ----------
        features : list of dict of str to float
            What `labelling_features` returns for each.
        sample : dict of str to float
            What `sample_features` returns.
        """
        rows = matrix_of(features, self.names)
        return self.alone.predict(with_sample(rows, [sample[name] for name in self.sample_names]))

    def of_several(self, features, sample, agreement, families):
        """Validity of labellings among each other, zero on average.

        Parameters
        ----------
        features, sample
            As in `of_each`.
        agreement : ndarray of shape (n_labellings, n_labellings)
            Adjusted Rand index of each pair.
        families : list of str
            Methods of one kind, which may agree because they err alike.
        """
        rows = matrix_of(features, self.names)
        values = [sample[name] for name in self.sample_names]
        return self.among.predict(among_features(rows, values, agreement, families))


def matrix_of(features, names):
    """Features as a matrix, clipped to the range of the training data."""
    rows = np.array([[one[name] for name in names] for one in features], dtype=np.float32)
    return np.clip(np.nan_to_num(rows, nan=0.0), -MOST, MOST)


def with_sample(rows, values):
    """Features of labellings and, the same for all, of their samples."""
    return np.hstack([rows, np.tile(np.asarray(values, dtype=np.float32), (len(rows), 1))])


def among_features(rows, values, agreement, families):
    """Features of labellings, also as ranks and deviations among each other, and their support."""
    support = support_features(agreement, families)
    deviation = rows.std(axis=0)
    return with_sample(
        np.hstack(
            [
                rows,
                ranks_of(rows),
                (rows - rows.mean(axis=0)) / np.where(deviation > 1e-6, deviation, 1.0),
                support,
                ranks_of(support),
            ]
        ),
        [*values, np.mean(agreement)],
    )


def ranks_of(columns):
    """Ranks in each column, between zero and one."""
    return (rankdata(columns, axis=0) - 0.5) / len(columns)


def support_features(agreement, families):
    """How far other families agree: on average, by their nearest, and by the nearest of all."""
    families = np.asarray(families)
    names = np.unique(families)
    means = np.column_stack([agreement[:, families == name].mean(axis=1) for name in names])
    nearest = np.column_stack([agreement[:, families == name].max(axis=1) for name in names])
    rows = []
    for i, family in enumerate(families):
        others = names != family
        near = np.sort(nearest[i, others])
        everyone = np.delete(agreement[i], i)
        rows.append(
            [
                means[i, others].mean() if others.any() else 0.0,
                near.mean() if others.any() else 0.0,
                near[-1] if others.any() else 0.0,
                near[-3:].mean() if others.any() else 0.0,
                everyone.mean() if len(everyone) else 0.0,
            ]
        )
    return np.array(rows, dtype=np.float32)


@cache
def learned_validity():
    """The trees that come with this library, grown by benchmarks/validity/train.py: version 2."""
    with (files("separatrix.validity") / "model.npz").open("rb") as file, np.load(file) as stored:
        trees = {
            kind: BoostedTrees(*(stored[f"{kind}_{part}"] for part in PARTS))
            for kind in ("alone", "among")
        }
        return LearnedValidity(
            str(stored["version"]),
            tuple(stored["names"].tolist()),
            tuple(stored["sample_names"].tolist()),
            **trees,
        )
