"""Simple rules for the rows of a cluster, tested on rows that were not used to find them."""

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

__all__ = ["ClusterRules", "Condition", "Inputs", "Rule", "cluster_rules", "inputs_of"]

MISSING = "missing"
MOST_LEVELS = 20  # of a category; those of more are left out
WORTH = 0.02  # of F1, which simpler rules may lose


# --- what rules speak of ------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """Numbers that rules use: a column each, or the indicator of a category."""

    names: list[str]
    levels: list[str | None]  # the category, None for numbers
    values: np.ndarray

    def of_rows(self, rows):
        """Those of some rows."""
        return Inputs(self.names, self.levels, self.values[rows])


def inputs_of(columns):
    """Inputs from columns of a table; rules use neither dates nor texts of many kinds."""
    names: list[str] = []
    levels: list[str | None] = []
    values: list[np.ndarray] = []
    for column in columns:
        if column.kind == "numbers" and not column.missing.all():
            names.append(column.name)
            levels.append(None)
            # a missing number counts as the median
            filled = np.where(column.missing, np.nanmedian(column.values), column.values)
            values.append(filled)
        elif column.kind == "texts" and len(column.levels) <= MOST_LEVELS:
            told = dict(enumerate(column.levels)) | ({-1: MISSING} if column.missing.any() else {})
            names += [column.name] * len(told)
            levels += told.values()
            values += [(column.values == code).astype(float) for code in told]
    table = np.column_stack(values) if values else np.empty((len(columns[0].values), 0))
    return Inputs(names, levels, table)


@dataclass(frozen=True)
class Condition:
    """An interval of one input.

    Attributes
    ----------
    name : str
        Name of the column.
    level : str or None
        Category, None for numbers.
    low, high : float
        The value is above `low` and at most `high`.
    place : int
        Place of the input.
    """

    name: str
    level: str | None
    low: float
    high: float
    place: int

    @property
    def text(self) -> str:
        """The condition in words."""
        if self.level is not None:
            return f"{self.name} {'=' if self.low > 0 else '≠'} {self.level}"
        low, high = f"{self.low:,.12g}", f"{self.high:,.12g}"
        if np.isinf(self.low):
            return f"{self.name} ≤ {high}"
        return f"{self.name} > {low}" if np.isinf(self.high) else f"{low} < {self.name} ≤ {high}"

    def holds(self, values):
        """Whether it holds for each row of inputs."""
        column = values[:, self.place]
        return (column > self.low) & (column <= self.high)


@dataclass(frozen=True)
class Rule:
    """Conditions that hold together."""

    conditions: tuple[Condition, ...]

    @property
    def text(self) -> str:
        """The rule in words."""
        return " and ".join(condition.text for condition in self.conditions) or "all rows"

    def covers(self, values):
        """Whether it holds for each row of inputs."""
        held = np.ones(len(values), dtype=bool)
        for condition in self.conditions:
            held &= condition.holds(values)
        return held


@dataclass(frozen=True)
class ClusterRules:
    """The rules for the rows of a cluster, of which one or more hold.

    Attributes
    ----------
    rules : list of Rule
        The rules, none if no simple ones were found.
    precision : float
        Share of the cluster in the held-back rows that a rule covers; NaN if it covers none.
    recall : float
        Share of the held-back rows of the cluster that a rule covers; NaN if there are none.
    n_checked : int
        Number of held-back rows.
    """

    rules: list[Rule]
    precision: float
    recall: float
    n_checked: int

    @property
    def text(self) -> str:
        """The rules in words."""
        return " or ".join(rule.text for rule in self.rules) or "no simple rule"


# --- trees --------------------------------------------------------------------------------------


def cluster_rules(inputs, labels, clusters, max_depth, rng):
    """Rules of each cluster, from shallow trees that separate it from the rest.

    Half of the rows grow the trees, a quarter is used to choose among them, and the last quarter
    to measure how good the rules are. They are tested as they are printed, with rounded limits.
    """
    part = _parts(labels, rng)
    growing, choosing, checking = (
        (inputs.of_rows(part == one), labels[part == one]) for one in range(3)
    )
    seed = rng.randint(2**31)
    found = []
    for cluster in clusters:
        rules = _simplest(_grown(*growing, cluster, max_depth, seed), cluster, *choosing)
        precision, recall = _precision_recall(rules, cluster, *checking)
        found.append(ClusterRules(rules, precision, recall, len(checking[1])))
    return found


def _parts(labels, rng):
    """Part of each row: 0 for one half, 1 and 2 for a quarter each, of every cluster."""
    order = rng.permutation(len(labels))
    part = np.empty(len(labels), dtype=np.intp)
    for cluster in np.unique(labels):
        members = order[labels[order] == cluster]
        part[members] = np.array([0, 2, 0, 1])[np.arange(len(members)) % 4]
    return part


def _simplest(candidates, cluster, inputs, labels):
    """The rules of the fewest conditions that are nearly as good as any."""
    if not candidates:
        return []
    scores = [_f1(*_precision_recall(rules, cluster, inputs, labels)) for rules in candidates]
    good = [
        rules
        for rules, score in zip(candidates, scores, strict=True)
        if score >= max(scores) - WORTH
    ]
    return min(good, key=lambda rules: sum(len(rule.conditions) for rule in rules))


def _grown(inputs, labels, cluster, max_depth, seed):
    """Lists of rules from trees of each depth; of each tree the rules that cover most come first.

    A tree compares in single precision, so the inputs are centred first.
    """
    inside = labels == cluster
    if not inputs.names or not inside.any() or inside.all():
        return []
    scaler = StandardScaler().fit(inputs.values)
    scaled = scaler.transform(inputs.values)
    candidates = []
    for depth in range(1, max_depth + 1):
        tree = DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(scaled, inside).tree_
        paths = _paths(tree, scaler, inputs.values, 0, {})
        rules = [_rule(intervals, inputs) for intervals, belongs in paths if belongs]
        rules.sort(key=lambda rule: -np.count_nonzero(rule.covers(inputs.values)))
        candidates += [rules[: n + 1] for n in range(len(rules))]
    return candidates


def _paths(tree, scaler, values, node, intervals):
    """Intervals of the inputs in each leaf, and whether it belongs; equal siblings are one."""
    place = tree.feature[node]
    if place < 0:
        outside, within = tree.value[node][0]
        return [(intervals, bool(within > outside))]
    low, high = intervals.get(place, (-np.inf, np.inf))
    limit = tree.threshold[node] * scaler.scale_[place] + scaler.mean_[place]
    limit = _roundest(values[:, place], limit)
    children = [
        (tree.children_left[node], (low, min(high, limit))),
        (tree.children_right[node], (max(low, limit), high)),
    ]
    paths = [
        path
        for child, interval in children
        for path in _paths(tree, scaler, values, child, intervals | {place: interval})
    ]
    belong = {belongs for _, belongs in paths}
    return [(intervals, belong.pop())] if len(belong) == 1 else paths


def _roundest(values, limit):
    """The number with the fewest digits near the middle of the gap around a limit."""
    low = values[values <= limit].max(initial=-np.inf)
    high = values[values > limit].min(initial=np.inf)
    if not np.isfinite(high - low):
        return float(limit)
    middle, reach = low / 2 + high / 2, (high - low) / 4
    coarsest = -int(np.floor(np.log10(max(abs(low), abs(high)))))
    for decimals in range(coarsest, coarsest + 17):
        rounded = float(np.round(middle, decimals))
        if abs(rounded - middle) <= reach:
            return rounded
    return float(middle)


def _rule(intervals, inputs):
    return Rule(
        tuple(
            Condition(inputs.names[place], inputs.levels[place], low, high, place)
            for place, (low, high) in intervals.items()
        )
    )


def _precision_recall(rules, cluster, inputs, labels):
    inside = labels == cluster
    covered = np.zeros(len(labels), dtype=bool)
    for rule in rules:
        covered |= rule.covers(inputs.values)
    n_right, n_covered, n_inside = (covered & inside).sum(), covered.sum(), inside.sum()
    precision = float(n_right / n_covered) if n_covered else np.nan
    return precision, float(n_right / n_inside) if n_inside else np.nan


def _f1(precision, recall):
    total = precision + recall
    return 2 * precision * recall / total if total > 0 else 0.0
