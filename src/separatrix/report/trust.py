"""How far to trust clusters: in words, compared with tables without clusters, and in numbers."""

import numpy as np

from separatrix.report.markup import Markup, join, markup, strip, table
from separatrix.report.words import percent, sentence, two_digits
from separatrix.selection.consensus import agreement_words
from separatrix.selection.number_of_clusters import if_any

__all__ = ["HALVED_CLOUD", "MEASURES", "agreement_words_of", "trust", "why_undivided"]

# Separation score, at its default reg=0.1, of the two halves of one Gaussian cloud.
HALVED_CLOUD = 2 / np.pi / 1.1
MEASURES = {
    "agreement_": "agreement of the result with the methods that voted",
    "spacing_": "gap between clusters, well above 1 if they lie apart",
    "best_candidate_": "best single candidate",
    "separation_probability_": "separation probability, at the model's own reg",
    "objective_": "objective of the method",
    "gap_": "proven distance from the optimum, as a share of the objective",
    "n_iter_": "iterations",
}
OF_SEVERAL = "spacing_", "gap_"  # meaningless for one cluster


def agreement_words_of(c):
    """How far methods agree, in words, or None."""
    agreement = getattr(c.model, "agreement_", np.nan)
    if c.n_clusters < 2 or np.isnan(agreement):
        return None
    return getattr(c.model, "agreement_words_", None) or agreement_words(agreement)


def why_undivided(c, n_asked):
    """Why all rows are in one cluster."""
    if n_asked == 1:
        return "One cluster was asked for, so that the rows are not divided."
    structure = getattr(c.model, "structure_", None)
    if structure is None or structure.has_clusters:
        return "No clusters found: the rows are one group."
    words = if_any(getattr(c.model, "n_clusters_if_any_", 1))
    return ". ".join(sentence(one) for one in (structure.words, words) if one) + "."


def trust(c):
    """How far to trust the clusters: compared with their null, by agreement, and in numbers."""
    structure = getattr(c.model, "structure_", None)
    agreement, words = getattr(c.model, "agreement_", np.nan), agreement_words_of(c)
    told, null = [], None
    if structure is not None:
        told.append(markup("<strong>{}</strong>.", sentence(structure.words)))
        null = _null(structure)
    if words and not (structure and structure.words in words):
        told.append(markup("<strong>{}</strong>.", sentence(words)))
    if words:
        of = "The agreement of methods is {}: 1 is the same clusters, 0 is chance."
        told.append(markup(of, two_digits(agreement)))
    choice = getattr(c.model, "n_clusters_words_", None)
    if choice and c.n_clusters > 1:
        told.append(markup("The number of clusters was chosen, {}", choice))
    remark = ""
    if c.weights is None:
        remark = "This method may draw curved boundaries, of which a low score says little."
    elif c.n_clusters == 2 and c.separation is not None and c.separation < HALVED_CLOUD + 0.05:
        remark = "By this number there is no sign of two groups."
        told.append(Markup(remark))
    n_rows, n_fitted = len(c.codes), c.model.labels_.shape[0]
    n_seen = getattr(c.model, "sample_indices_", c.model.labels_).shape[0]
    return {
        "trust": join(told, " ") if told else None,
        "distrust": not told,
        "null": null,
        "agreement": words is not None,
        "quality": _quality(c),
        "separation": None if c.separation is None else f"{c.separation:.2f}",
        "separation_remark": remark,
        "halved_cloud": f"{HALVED_CLOUD:.2f}",
        "objective": _is_known(getattr(c.model, "objective_", None)),
        "optimum": c.n_clusters > 1 and _is_known(getattr(c.model, "gap_", None)),
        "seen_all": n_seen == n_fitted == n_rows,
        "seen_some": n_seen < n_fitted == n_rows,
        "seen_others": n_fitted != n_rows,
        "n_seen": f"{n_seen:,}",
    }


def _null(structure):
    """Picture of the result among those of tables without clusters; None if there is none."""
    drawn = np.ravel(structure.null_statistics)
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn) or not np.isfinite(structure.statistic):
        return None
    p_value = "p < 0.001" if structure.p_value < 0.001 else f"p = {structure.p_value:.2g}"
    words = (
        f"Bars: {len(drawn):,} tables without clusters that are otherwise like this one. "
        f"Line: this result, {p_value}."
    )
    return strip(drawn, structure.statistic, words, ("this result", "less structure", "more"))


def _quality(c):
    """The model's own numbers, and those of any clustering."""
    names = [name for name in MEASURES if c.n_clusters > 1 or name not in OF_SEVERAL]
    found = {MEASURES[name]: getattr(c.model, name, None) for name in names}
    found["separation score, at reg=0.1"] = c.separation
    if c.confidence is not None:
        sure = percent(np.mean(c.confidence >= 0.95))
        found["rows with a confidence of 0.95 or more"] = sure
    told = {words: value for words, value in found.items() if _is_known(value)}
    if not told:
        return Markup("<p>No number is known of these clusters.</p>")
    values = [float(one) if isinstance(one, np.floating) else one for one in told.values()]
    return table("Numbers", ("measure", list(told)), ("value", values))


def _is_known(value):
    return value is not None and np.ndim(value) == 0 and value == value
