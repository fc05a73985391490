"""What decides the cluster of a row: weights or importance, rules, typical rows, rows in doubt."""

from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix._output import data_frame, html_table, in_percent, text_table
from separatrix._sklearn import last_step
from separatrix._typing import DataFrame, RandomState
from separatrix.data.gate import check_count, naming
from separatrix.explanations.rules import ClusterRules, cluster_rules, inputs_of
from separatrix.explanations.table import Table, shuffled
from separatrix.explanations.weights import BoundaryWeights, boundary_weights
from separatrix.models.scores import cluster_scores, in_memory, leads, predicted
from separatrix.tables.columns import Column

__all__ = ["ClusterExplanation", "Explanation", "explain"]

MOST_FEATURES, MOST_BOUNDARIES = 8, 6  # printed; data frames have all
MOST_HEAVY = 200  # columns of sparse rows that rules may use
MOST_COMPARED = 1_000  # rows among which a typical one is looked for without scores


@dataclass(frozen=True)
class ClusterExplanation:
    """One cluster, in rules and rows.

    Attributes
    ----------
    cluster : object
        Its label.
    size : int
        Number of its rows.
    rules : ClusterRules
        Simple rules for its rows, with their precision and recall on rows held back.
    typical : list of int
        Indices of the rows deepest inside it, by the scores of the estimator; without scores,
        those with the least total distance to the others.
    boundary : list of int
        Indices of the rows nearest to another cluster, by the scores; none without scores.
    """

    cluster: Any
    size: int
    rules: ClusterRules
    typical: list[int]
    boundary: list[int]


@dataclass(frozen=True, repr=False)
class Explanation:
    """What decides the cluster of a row. It prints as text.

    Attributes
    ----------
    estimator_name : str
        Class of the clusterer.
    feature_names : list of str
        Names of the columns.
    boundaries : list of BoundaryWeights
        Weights of linear boundaries in the units of the columns; empty for other models.
    importance : ndarray of shape (n_features,) or None
        Share of the labels that change when a column is shuffled, mean of several draws; None
        where there are weights, or where the estimator labels no other rows.
    importance_deviation : ndarray of shape (n_features,) or None
        Standard deviation of the draws.
    clusters : list of ClusterExplanation
        The clusters.
    """

    estimator_name: str
    feature_names: list[str]
    boundaries: list[BoundaryWeights]
    importance: np.ndarray | None
    importance_deviation: np.ndarray | None
    clusters: list[ClusterExplanation]

    def _feature_tables(self):
        """Title, header and cells of the tables of features that are shown."""
        for one in self.boundaries[:MOST_BOUNDARIES]:
            largest = np.argsort(-abs(one.per_deviation), kind="stable")[:MOST_FEATURES]
            rows = [
                [self.feature_names[j], f"{one.weights[j]:+.3g}", f"{one.per_deviation[j]:+.2f}"]
                for j in largest
            ]
            yield one.title, ["feature", "weight", "per deviation"], rows
        if self.importance is not None and self.importance_deviation is not None:
            largest = np.argsort(-self.importance, kind="stable")[:MOST_FEATURES]
            rows = [
                [
                    self.feature_names[j],
                    in_percent(self.importance[j]),
                    f"{100 * self.importance_deviation[j]:.1f} %",
                ]
                for j in largest
            ]
            yield (
                "Rows that change cluster when a column is shuffled",
                ["feature", "rows", "deviation"],
                rows,
            )

    def _remark(self):
        n_left = len(self.boundaries) - MOST_BOUNDARIES
        return f"{n_left} more boundaries are in to_frame()." if n_left > 0 else ""

    def __str__(self):
        parts = [f"{title}\n{text_table(*table)}" for title, *table in self._feature_tables()]
        parts += filter(None, [self._remark()])
        for one in self.clusters:
            lines = [f"cluster {one.cluster}, {one.size:,} row{'s' * (one.size != 1)}"]
            lines += [f"  {name:10}{told}" for name, told in _facts(one) if told]
            parts.append("\n".join(lines))
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self):
        """The same, for notebooks."""
        parts = [
            f"<h4>{escape(title)}</h4>{html_table(*table)}"
            for title, *table in self._feature_tables()
        ]
        parts += [f"<p>{self._remark()}</p>"] if self._remark() else []
        header = ["cluster", "rows", *(name for name, _ in _facts(self.clusters[0]))]
        rows = [
            [str(one.cluster), f"{one.size:,}", *(told for _, told in _facts(one))]
            for one in self.clusters
        ]
        return "".join([*parts, html_table(header, rows)])

    def to_frame(self, of: Literal["features", "clusters"] = "features") -> DataFrame:
        """Table of the features, or of the clusters.

        Parameters
        ----------
        of : {"features", "clusters"}, default="features"
            Whose table: "features" has the weights in each boundary, or the importance;
            "clusters" the rules with their precision and recall, typical rows and rows in doubt.

        Returns
        -------
        table : pandas.DataFrame
            A row for each feature or cluster.
        """
        if of == "features":
            columns: dict[str, Any] = {}
            for one in self.boundaries:
                columns[one.name] = one.weights
                columns[f"{one.name}, per deviation"] = one.per_deviation
            if self.importance is not None:
                columns["importance"] = self.importance
                columns["deviation"] = self.importance_deviation
            return data_frame(columns, self.feature_names, "feature")
        if of != "clusters":
            raise ValueError(f"of={of!r} must be 'features' or 'clusters'.")
        columns = {
            "rows": [one.size for one in self.clusters],
            "rule": [one.rules.text for one in self.clusters],
            "precision": [one.rules.precision for one in self.clusters],
            "recall": [one.rules.recall for one in self.clusters],
            "typical": [one.typical for one in self.clusters],
            "boundary": [one.boundary for one in self.clusters],
        }
        return data_frame(columns, [one.cluster for one in self.clusters], "cluster")


def _facts(one):
    """Facts about a cluster, by name."""
    rules = one.rules
    checked = [
        f"{in_percent(value)} {what}"
        for value, what in ((rules.precision, "precision"), (rules.recall, "recall"))
        if value == value
    ]
    fidelity = f"{' and '.join(checked)} on {rules.n_checked:,} held-back rows"
    return [
        ("rule", rules.text),
        ("fidelity", fidelity if checked and rules.rules else ""),
        ("typical", _listed(one.typical)),
        ("in doubt", _listed(one.boundary)),
    ]


def _listed(rows):
    return f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows))}" if rows else ""


# --- making it ----------------------------------------------------------------------------------


def explain(
    estimator: Any,
    X: Any,
    *,
    feature_names: Any = None,
    max_depth: int = 3,
    n_rows: int = 3,
    n_repeats: int = 5,
    max_samples: int = 2_000,
    random_state: RandomState = None,
) -> Explanation:
    """Explain what decides the cluster of a row, for a fitted clusterer or pipeline.

    A linear model is explained by the signed weights of its boundaries. Where scalers or other
    affine steps come before it in a pipeline, the weights are those of the columns that the
    pipeline takes, in their units. Any other model is explained by the share of the labels that
    change when a column is shuffled [1]_; if two columns hold the same information, neither may
    matter by itself. Each cluster also has rules from shallow decision trees: the fewest
    conditions that describe it nearly as well as more would. Their precision and recall are
    measured on rows that were not used to find them.

    Parameters
    ----------
    estimator : object
        Fitted clusterer, or a pipeline that ends in one.
    X : {data frame, array-like, sparse matrix} of shape (n_samples, n_columns)
        Rows to explain, as `predict` of the estimator takes them. Sparse ones need a linear model.
    feature_names : list of str, default=None
        Names of the columns; None takes those of the data frame or of the fit, or numbers them.
    max_depth : int, default=3
        Largest number of conditions in a rule.
    n_rows : int, default=3
        Number of typical rows, and of doubtful rows, of each cluster.
    n_repeats : int, default=5
        Number of times that a column is shuffled.
    max_samples : int, default=2000
        Number of rows to find importance and rules from; from more, as many are drawn without
        replacement.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing rows and shuffling columns. None means seed 0, so the same data give the
        same result each time.

    Returns
    -------
    explanation : Explanation
        It prints as text; `to_frame` makes tables.

    See Also
    --------
    profile : What is typical of clusters, from labels alone.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import MaximinSeparationClustering, explain
    >>> X = load_iris(as_frame=True).data
    >>> model = make_pipeline(StandardScaler(), MaximinSeparationClustering(2)).fit(X)
    >>> found = explain(model, X)
    >>> for one in found.clusters:
    ...     print(one.cluster, one.rules.text)
    0 petal length (cm) > 3
    1 petal length (cm) ≤ 3
    """
    check_is_fitted(estimator)
    max_depth, n_rows = check_count(max_depth, "max_depth"), check_count(n_rows, "n_rows")
    n_repeats = check_count(n_repeats, "n_repeats")
    max_samples = check_count(max_samples, "max_samples", least=4)
    with naming("random_state"):
        rng = check_random_state(0 if random_state is None else random_state)
    if get_tags(estimator).input_tags.pairwise:
        raise ValueError(
            f"{_name(estimator)} takes similarities of pairs of rows, which have no columns to "
            "explain; fit it on features."
        )
    table = Table.of(X, estimator, feature_names)
    labels = _labels(estimator, table.X)
    clusters = np.unique(labels[labels != -1])
    if not len(clusters):
        raise ValueError(f"{_name(estimator)} assigns no row of X to a cluster; pass other rows.")
    drawn = np.sort(rng.permutation(len(labels))[:max_samples])
    # 1) what weighs
    boundaries = boundary_weights(estimator, table)
    changes = None
    if not boundaries and hasattr(estimator, "predict"):
        if not table.columns:
            raise TypeError(
                f"X is sparse, and {_name(estimator)} has no weights of its columns; pass "
                "X.toarray(), or a linear model without steps before it."
            )
        changes = _changes(estimator, table.rows(drawn), n_repeats, rng)
    # 2) rules
    inputs = inputs_of(table.columns or _heaviest(table, boundaries))
    rules = cluster_rules(inputs.of_rows(drawn), labels[drawn], clusters, max_depth, rng)
    # 3) rows
    has_scores = hasattr(estimator, "decision_function")
    if has_scores:
        depths = leads(cluster_scores(estimator, table.X)).max(axis=1)
    else:
        depths = _closeness(inputs.values, labels, rng)
    found = []
    for cluster, of_cluster in zip(clusters, rules, strict=True):
        members = np.flatnonzero(labels == cluster)
        deepest = members[np.argsort(-depths[members], kind="stable")]
        typical, boundary = deepest[:n_rows].tolist(), deepest[::-1][:n_rows].tolist()
        found.append(
            ClusterExplanation(
                cluster.item(), len(members), of_cluster, typical, boundary if has_scores else []
            )
        )
    return Explanation(
        _name(estimator),
        table.names,
        boundaries,
        None if changes is None else changes.mean(axis=1),
        None if changes is None else changes.std(axis=1),
        found,
    )


def _name(estimator):
    return type(last_step(estimator)).__name__


def _labels(estimator, X):
    """Clusters of the rows: predicted, or those of the fit where there is no prediction."""
    if hasattr(estimator, "predict"):
        return predicted(estimator, X)
    clusterer = last_step(estimator)
    labels = in_memory(getattr(clusterer, "labels_", []))
    if len(labels) != X.shape[0]:
        raise ValueError(
            f"{_name(estimator)} predicts no rows and has {len(labels)} labels_, but X has "
            f"{X.shape[0]} rows; pass the rows of the fit."
        )
    return labels


def _changes(estimator, X, n_repeats, rng):
    """Share of the labels that change when each column is shuffled, a column per draw."""
    labels = predicted(estimator, X)
    orders = [rng.permutation(len(labels)) for _ in range(n_repeats)]
    return np.array(
        [
            [np.mean(predicted(estimator, shuffled(X, j, order)) != labels) for order in orders]
            for j in range(X.shape[1])
        ]
    )


def _heaviest(table, boundaries):
    """The columns of sparse rows that weigh most."""
    weights = np.max([abs(one.per_deviation) for one in boundaries], axis=0)
    heaviest = np.sort(np.argsort(-weights, kind="stable")[:MOST_HEAVY])
    values = table.X[:, heaviest].toarray().astype(np.float64)
    return [
        Column(table.names[j], "numbers", column)
        for j, column in zip(heaviest, values.T, strict=True)
    ]


def _closeness(values, labels, rng):
    """Closeness of rows to the others of their cluster, in standard deviations of the inputs."""
    scaled = StandardScaler().fit_transform(values) if values.shape[1] else values
    closeness = np.zeros(len(labels))
    for cluster in np.unique(labels):
        members = np.flatnonzero(labels == cluster)
        others = rng.permutation(members)[:MOST_COMPARED]
        if values.shape[1]:
            closeness[members] = -pairwise_distances(scaled[members], scaled[others]).sum(axis=1)
    return closeness
