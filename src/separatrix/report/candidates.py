"""Tables that compare clusterings, and the evidence for numbers of clusters."""

import numpy as np

from separatrix.report.markup import filled, heat, join, markup, table, with_bars
from separatrix.report.words import decimals, ordinal
from separatrix.selection.consensus import adjusted_rand_index

__all__ = ["candidate_tables", "curve_table"]

# Columns of the table of candidates.
MEANINGS = {
    "place": "the order of the votes",
    "vote": "its share in the vote of all: the better it is predicted to be, the more",
    "agrees": "agreement of its clusters with the result",
    "validity": "how well its clusters are predicted to match the true groups, 1 at best",
    "neighbors": "share of the rows that their nearest rows would put into the same cluster",
    "modularity": "how well the graph of nearest rows falls apart into the clusters",
    "likelihood": "how much denser the rows lie in a bell curve for each cluster than in one",
    "silhouette": "how much nearer rows are to their own cluster than to the next one, 1 at best",
    "gap": "distance between clusters over the longest step within one; above 1 they lie apart",
    "support": "mean agreement with methods of other families",
}


def candidate_tables(comparison, result=None):
    """Tables of clusterings, the most votes first: scores, and the agreement of each pair."""
    order, n_all = comparison.order, len(comparison.names)
    names = [comparison.names[i] for i in order]
    remarks = [comparison.notes[i] or "not used" * (not comparison.usable[i]) for i in order]
    agrees = None
    if result is not None:
        agrees = [_agreeing(adjusted_rand_index(comparison.labels[i], result)) for i in order]
    columns = [
        ("clustering", names),
        ("place", [f"{ordinal(place)} of {n_all}" for place in range(1, n_all + 1)]),
        ("family", [comparison.families[i] for i in order]),
        ("clusters", comparison.n_clusters[order].tolist()),
        ("vote", decimals(comparison.votes[order])),
        ("agrees", agrees),
        *((name, decimals(scores[order])) for name, scores in comparison.scores.items()),
        ("remark", remarks if any(remarks) else None),
    ]
    told = [(name, MEANINGS[name]) for name, cells in columns if cells and name in MEANINGS]
    numbered = [f"{place}. {name}" for place, name in enumerate(names, start=1)]
    pairs = (
        (str(place), [_agreeing(comparison.agreement[i, j]) for i in order])
        for place, j in enumerate(order, start=1)
    )
    return filled(
        "candidates.html",
        table=table("The most votes first", *columns),
        columns=join(markup("<li><strong>{}</strong>: {}.</li>", *one) for one in told),
        agreement=table("Agreement of each pair", ("clustering", numbered), *pairs),
    )


def _agreeing(agreement):
    level = 0 if np.isnan(agreement) else min(max(int(5 * agreement), 0), 4)
    return heat("mass", level, f"{agreement:z.2f}")


def curve_table(curve):
    numbers = [str(n_clusters) for n_clusters in curve]
    values = np.array([*curve.values()])  # of which only differences mean something
    evidence = with_bars(decimals(values), values - values.min())
    return table("Evidence for each number", ("clusters", numbers), ("evidence", evidence))
