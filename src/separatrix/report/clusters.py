"""Tables of what clusters are: sizes, typical columns and rows, and what tells them apart."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from separatrix.profiles import LEAST_TOLD
from separatrix.report.evidence import OUTLIERS
from separatrix.report.markup import Markup, heat, join, label, markup, table, with_bars
from separatrix.report.words import count, percent, percents, two_digits

__all__ = [
    "MAX_VALUES",
    "clusters_table",
    "doubtful_rows",
    "explanation",
    "heat_map",
    "truth_tables",
    "typical_rows",
]

MAX_CLUSTERS, MAX_FEATURES, MAX_ROWS = 12, 20, 12
MAX_HEATED = 12  # columns and categories of the heat map
N_TYPICAL = 3  # rows of each cluster
MOST_CLASSES = 20  # of a column that clusters are compared with
MAX_VALUES = 4  # columns whose values are shown for a row
HALF, ONE = 0.5, 1.0  # standard deviations for one and for two signs


def clusters_table(c):
    """Size of each cluster, and what is typical of it."""
    typical, caption = None, "Size of each cluster"
    if c.n_clusters > 1:
        caption = "Each cluster, and how it differs from the rest of the rows"
    if c.profile is not None and c.n_clusters > 1:
        typical = [one.text for one in c.profile.clusters] + [""] * (OUTLIERS in c.clusters)
    return table(
        caption,
        ("cluster", [label(code, name) for code, name in enumerate(c.clusters)]),
        ("rows", [Markup(f"{size:,}") for size in c.sizes]),
        ("share", with_bars(percents(c.sizes / len(c.codes)), c.sizes, range(len(c.sizes)))),
        ("what is typical", typical),
    )


def heat_map(c):
    """Means of the columns that differ most, coloured by how much."""
    shown, columns = [], set()
    for name, of_clusters in c.profile.differences.items():
        column, effects = of_clusters[0].column, [abs(round(one.effect, 9)) for one in of_clusters]
        # of two categories one is enough
        if max(effects) >= LEAST_TOLD and (column, *effects) not in columns:
            columns.add((column, *effects))
            shown.append((name, of_clusters[:MAX_CLUSTERS]))
    shown = shown[:MAX_HEATED]
    if not shown:
        return Markup("<p>No column differs much between the clusters.</p>")
    cells = zip(*([_heated(one) for one in of_clusters] for _, of_clusters in shown), strict=True)
    return table(
        f"Means of {count(len(shown), 'column')} that differ{'s' * (len(shown) == 1)} most",
        ("column", [name for name, _ in shown]),
        *zip(c.clusters, map(list, cells), strict=False),
    )


def _heated(difference):
    size = abs(difference.effect)
    kind, sign = ("hot", "▲") if difference.effect > 0 else ("cold", "▼")
    signs = sign * ((size >= HALF) + (size >= ONE))
    return heat(kind, min(int(2 * size), 4), difference.shown, signs)


def truth_tables(c, truth):
    """Columns that the clusters are compared with: rows of each value in each cluster."""
    return join(_truth_table(c, str(name), list(values)) for name, values in truth.items())


def _truth_table(c, name, values):
    if len(values) != len(c.codes):
        raise ValueError(
            f"truth[{name!r}] has {len(values)} values but X has {len(c.codes)} rows; pass one "
            "value per row."
        )
    texts = np.array(["missing" if one is None or one != one else str(one) for one in values])
    found, places = np.unique(texts, return_inverse=True)
    if len(found) > MOST_CLASSES:
        raise ValueError(
            f"truth[{name!r}] has {len(found)} different values, more than {MOST_CLASSES}; pass "
            "classes."
        )
    counts = np.zeros((len(found), len(c.clusters)), dtype=int)
    np.add.at(counts, (places, c.codes), 1)
    inside = c.codes < c.n_clusters
    index = two_digits(adjusted_rand_score(places[inside], c.codes[inside]))
    shown = ([Markup(f"{one:,}") for one in of_cluster] for of_cluster in counts.T)
    return join(
        [
            table(
                f"Rows of each {name} in each cluster",
                (name, found.tolist()),
                *zip(c.clusters, shown, strict=True),
            ),
            markup(
                '<p class="note">The adjusted Rand index of clusters and {} is {}.</p>',
                name,
                index,
            ),
        ]
    )


def typical_rows(c):
    rows = c.typical_rows(N_TYPICAL, MAX_CLUSTERS)
    return _row_table(c, "Typical rows", rows)


def doubtful_rows(c):
    """Rows of the smallest confidence or lead; None if none is known."""
    if c.doubts is None:
        return None
    rows = c.doubts[:MAX_ROWS]
    name, sureness = ("lead", c.leads) if c.confidence is None else ("confidence", c.confidence)
    others = None if c.scores is None else c.runners_up(rows)
    return _row_table(
        c, "Doubtful rows", rows, ("or rather", others), (name, sureness[rows].tolist())
    )


def _row_table(c, caption, rows, *told):
    return table(
        caption,
        ("row", [str(c.samples.row_names[row]) for row in rows]),
        ("cluster", [label(c.codes[row], c.clusters[c.codes[row]]) for row in rows]),
        *told,
        *c.told_values(rows, MAX_VALUES),
    )


def explanation(c):
    """Features that tell the clusters apart."""
    shown, names = c.ranking[:MAX_FEATURES], c.samples.names
    sides = None
    if c.weights is not None and len(c.weights) == 1 and c.n_clusters == 2:
        sides = [c.clusters[int(weight > 0)] for weight in c.weights[0, shown]]
    weights = None
    if c.weights is not None:
        shares = c.weight_shares[shown]
        weights = with_bars(percents(shares), shares)
    means = ([_mean(c, j, mean[j]) for j in shown] for mean in c.means[:MAX_CLUSTERS])
    return table(
        f"{len(shown)} of {count(len(names), 'feature')}",
        ("feature", [names[j] for j in shown]),
        ("weight", weights),
        ("towards", sides),
        ("explained", percents(c.explained[shown])),
        *((f"mean in {name}", cells) for name, cells in zip(c.clusters, means, strict=False)),
    )


def _mean(c, feature, value):
    """Mean of a feature, which is a share of the rows for an indicator."""
    are_shares = c.samples.are_shares
    return float(value) if are_shares is None or not are_shares[feature] else percent(value)
