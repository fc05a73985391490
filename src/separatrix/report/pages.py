"""The numbers and tables of a report, put into their templates."""

import platform
import shlex
from textwrap import shorten

import numpy as np
import scipy
import sklearn

import separatrix
from separatrix.report.evidence import Clustering, clustering_of, picture_of, samples_of
from separatrix.report.markup import Markup, bar, filled, join, markup, table
from separatrix.result import aligned
from separatrix.selection.consensus import agreement_words
from separatrix.selection.gaps import chance_gap

__all__ = ["clustering_page", "comparison_page"]

MAX_CLUSTERS, MAX_FEATURES, MAX_ROWS = 12, 20, 12
MAX_VALUES = 4  # features whose values are told of a row
# Separation score, at its default reg=0.1, of the two halves of one Gaussian cloud.
HALVED_CLOUD = 2 / np.pi / 1.1
MEASURES = {
    "agreement_": "mean agreement of families of methods",
    "spacing_": "gap between clusters, well above 1 if they lie apart",
    "best_candidate_": "best single candidate",
    "separation_probability_": "separation probability, at the model's own reg",
    "objective_": "objective of the method",
    "gap_": "proven distance from the optimum, as a share of the objective",
    "n_iter_": "iterations",
}
OF_SEVERAL = "spacing_", "gap_"  # what says nothing of one cluster
LIMITS = "max_iter", "max_rounds", "max_steps"  # parameters that end a fit
NO_FEATURES = Markup("<p>X holds similarities of samples: there are no features to show.</p>")
NO_PAIR = Markup("<p>There are no two clusters to tell apart.</p>")


def _count(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _percent(share):
    return Markup(f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}")


def _percents(shares):
    return [_percent(share) for share in shares]


def _agreement(agreement):
    return None if np.isnan(agreement) else f"{agreement:.2f}"


def _decimals(numbers):
    return [Markup(f"{number:z.2f}") for number in numbers]


def _tip(number):
    return f"{number:.4g}" if abs(number) < 1e3 else markup("{}", float(number))


def _with_bars(cells, values, codes=None):
    """Cells with a bar each, of which the largest value fills its own."""
    lengths = np.maximum(values, 0) / max(np.max(values), 1e-300)
    bars = map(bar, lengths, codes or [""] * len(cells))
    return [join(pair) for pair in zip(cells, bars, strict=True)]


# --- one clustering -----------------------------------------------------------------------------


def clustering_page(estimator, X, feature_names, row_names, model_path):
    """Heading, body and plot data of a report on one clustering."""
    c = clustering_of(estimator, X, feature_names, row_names)
    n_features = c.samples.features.shape[1]
    projection, data = NO_FEATURES, {"clusters": c.clusters}
    if n_features:
        projection, data = _plot(c, [("", c.codes)])
    candidates, curve = (getattr(c.model, of, None) for of in ("candidates_", "selection_curve_"))
    is_explained, nearest = c.n_clusters > 1 and n_features > 0, _nearest(c)
    body = filled(
        "clustering.html",
        **_summary(c),
        projection=projection,
        sizes=_sizes(c),
        quality=_quality(c),
        halved_cloud=f"{HALVED_CLOUD:.2f}",
        n_features=f"{n_features:,}",
        confidence=c.confidence is not None,
        objective=_is_known(getattr(c.model, "objective_", None)),
        optimum=c.n_clusters > 1 and _is_known(getattr(c.model, "gap_", None)),
        candidates=_candidates(candidates) if _is_several(candidates) else None,
        curve=curve and _curve(curve),
        is_explained=is_explained,
        explanation=_explanation(c) if is_explained else NO_PAIR if n_features else NO_FEATURES,
        weights=is_explained and c.weights is not None,
        nearest=nearest,
        unranked=nearest is None,
        leads=c.leads is not None,
        making=_making(c.samples, getattr(estimator, "steps", [("", estimator)])),
        model=model_path and shlex.quote(str(model_path)),
        model_repr=repr(str(model_path)),
        unsaved=not model_path,
        use="predict(X_new)  # the same columns, in the same order"
        if hasattr(c.model, "predict")
        else "labels_  # of the rows of the fit; it predicts no others",
    )
    return f"{type(c.model).__name__}: {_count(c.n_clusters, 'cluster')}", body, data


def _summary(c):
    """What was found, and what looks wrong with it, for the words of the template."""
    n_rows, n_clusters = len(c.codes), c.n_clusters
    sizes = [f"{size:,} ({_percent(size / n_rows)})" for size in c.sizes]
    shown = sizes[: min(n_clusters, MAX_CLUSTERS)] + ["…"] * (n_clusters > MAX_CLUSTERS)
    agreement = getattr(c.model, "agreement_", np.nan)
    names = [markup("<em>{}</em>", c.samples.names[j]) for j in c.ranking[:3]]
    remark = ""
    if c.weights is None:
        remark = "It is for straight boundaries, which the ones found need not be."
    elif n_clusters == 2 and c.separation is not None and c.separation < HALVED_CLOUD + 0.05:
        remark = "By this number there is no sign of two groups."
    n_fitted = len(c.model.labels_)
    n_seen = len(getattr(c.model, "sample_indices_", c.model.labels_))
    gap, chance = getattr(c.model, "spacing_", np.nan), chance_gap(n_seen, max(n_clusters, 1))
    n_asked, n_iter = (getattr(c.model, name, None) for name in ("n_clusters", "n_iter_"))
    reached = [name for name in LIMITS if n_iter and n_iter == getattr(c.model, name, None)]
    return {
        "method": type(c.model).__name__,
        "n_rows": f"{n_rows:,}",
        "n_clusters": _count(n_clusters, "cluster"),
        "sizes_in_words": f", of {', '.join(shown)} rows" if shown else "",
        "noise": sizes[n_clusters] if n_clusters < len(sizes) else None,
        "agreement": _agreement(agreement),
        "agreement_words": agreement_words(agreement),
        "apart": bool(gap > chance),
        "parted": bool(1 < gap <= chance),
        "choice": getattr(c.model, "n_clusters_words_", None),
        "telling": join(names, ", ") if n_clusters > 1 and names else None,
        "tell": "go along with the division" if c.weights is None else "weigh in the boundary",
        "separation": None if c.separation is None else f"{c.separation:.2f}",
        "separation_remark": remark,
        "n_asked": isinstance(n_asked, int) and n_clusters < n_asked and n_asked,
        "unfinished": next(iter(reached), None),
        "moved": c.n_moved > 0 and _count(c.n_moved, "row"),
        "seen_all": n_seen == n_fitted == n_rows,
        "seen_some": n_seen < n_fitted == n_rows,
        "seen_others": n_fitted != n_rows,
        "n_seen": f"{n_seen:,}",
    }


def _sizes(c):
    shares = _with_bars(_percents(c.sizes / len(c.codes)), c.sizes, range(len(c.sizes)))
    counts = [Markup(f"{size:,}") for size in c.sizes]
    columns = ("cluster", c.clusters), ("rows", counts), ("share", shares)
    return table("Rows in each cluster", *columns)


def _quality(c):
    """The numbers that the model has of itself, and those that any clustering has."""
    names = [name for name in MEASURES if c.n_clusters > 1 or name not in OF_SEVERAL]
    found = {MEASURES[name]: getattr(c.model, name, None) for name in names}
    found["separation score, at reg=0.1"] = c.separation
    if c.confidence is not None:
        sure = _percent(np.mean(c.confidence >= 0.95))
        found["rows with a confidence of 0.95 or more"] = sure
    told = {words: value for words, value in found.items() if _is_known(value)}
    if not told:
        return Markup("<p>No number is known of these clusters.</p>")
    values = [float(one) if isinstance(one, np.floating) else one for one in told.values()]
    return table("Numbers", ("measure", list(told)), ("value", values))


def _is_known(value):
    return value is not None and np.ndim(value) == 0 and value == value


def _is_several(comparison):
    return comparison is not None and len(comparison.names) > 1


def _curve(curve):
    numbers = [str(n_clusters) for n_clusters in curve]
    evidence = _with_bars(_decimals(curve.values()), list(curve.values()))
    return table("Evidence for each number", ("clusters", numbers), ("evidence", evidence))


def _explanation(c):
    """Features that tell the clusters apart."""
    shown, names = c.ranking[:MAX_FEATURES], c.samples.names
    sides = None
    if c.weights is not None and len(c.weights) == 1 and c.n_clusters == 2:
        sides = [c.clusters[int(weight > 0)] for weight in c.weights[0, shown]]
    weights = None
    if c.weights is not None:
        shares = c.weight_shares[shown]
        weights = _with_bars(_percents(shares), shares)
    means = c.means[:MAX_CLUSTERS, shown].tolist()
    return table(
        f"{len(shown)} of {_count(len(names), 'feature')}",
        ("feature", [names[j] for j in shown]),
        ("weight", weights),
        ("towards", sides),
        ("explained", _percents(c.explained[shown])),
        *((f"mean in {name}", cells) for name, cells in zip(c.clusters, means, strict=False)),
    )


def _nearest(c):
    """Rows of the smallest lead, or else of the smallest confidence; None if none is known."""
    sureness, name = (c.confidence, "confidence") if c.leads is None else (c.leads, "lead")
    if sureness is None or c.n_clusters < 2:
        return None
    rows = np.argsort(abs(sureness), kind="stable")[:MAX_ROWS]
    return table(
        f"Rows of the smallest {name}",
        ("row", [str(c.samples.row_names[row]) for row in rows]),
        ("cluster", [c.clusters[code] for code in c.codes[rows]]),
        ("across the boundary", None if c.leads is None else c.runners_up(rows)),
        (name, sureness[rows].tolist()),
        *c.told_values(rows, MAX_VALUES),
    )


def _making(samples, steps=()):
    """Versions, data, earlier steps of a pipeline, and parameters of the clusterer, its last."""
    n_samples, n_features = samples.features.shape
    made = {p.__name__: p.__version__ for p in (separatrix, np, scipy, sklearn)}
    made["Python"] = platform.python_version()
    features = _count(n_features, "feature") if n_features else "and their similarities"
    made["data"] = f"{_count(n_samples, 'row')}, {features}"
    made |= {f"step {name}": shorten(repr(step), 160) for name, step in steps[:-1]}
    if steps and (short_name := separatrix._short_name(steps[-1][1])):
        made["name on the command line"] = short_name
    tables = [table("Versions and data", ("what", list(made)), ("value", list(made.values())))]
    for _, step in steps[-1:]:
        names = sorted(step.get_params(deep=False))
        values = [shorten(repr(getattr(step, name)), 160) for name in names]
        caption = f"Parameters of {type(step).__name__}"
        tables.append(table(caption, ("parameter", names), ("value", values)))
    return join(tables)


# --- several ------------------------------------------------------------------------------------


def comparison_page(comparison, X, feature_names, row_names):
    """Heading, body and plot data of a report on several clusterings, the most votes first."""
    samples = samples_of(None, X, feature_names, row_names)
    n_rows, n_labels = samples.features.shape[0], comparison.labels.shape[1]
    if n_labels != n_rows:
        raise ValueError(
            f"the comparison has labels of {n_labels} rows but X has {n_rows}; pass the rows "
            "that were compared."
        )
    order = comparison.order
    names = [comparison.names[i] for i in order]
    codes = [np.unique(comparison.labels[i], return_inverse=True)[1] for i in order]
    codes = [_matched(one, codes[0]) for one in codes]
    clusters = [f"cluster {code}" for code in range(max(one.max() for one in codes) + 1)]
    c = Clustering(samples, codes[0], clusters)
    projection, data = _plot(c, zip(names, codes, strict=True))
    agreement = [(comparison.names[i], _decimals(comparison.agreement[i, order])) for i in order]
    best = comparison.estimators[order[0] :][:1]  # none of one cluster
    body = filled(
        "comparison.html",
        n_clusterings=_count(len(names), "clustering"),
        n_families=len(set(comparison.families)),
        n_rows=f"{n_rows:,}",
        overall=_agreement(comparison.family_agreement),
        words=agreement_words(comparison.family_agreement),
        projection=projection,
        candidates=_candidates(comparison),
        agreement=table("Adjusted Rand index of each pair", ("clustering", names), *agreement),
        best=names[0] if best else None,
        making=_making(samples, [(names[0], one) for one in best]),
    )
    return f"Comparison of {_count(len(names), 'clustering')}", body, data


def _candidates(comparison):
    """Table of clusterings, the most votes first."""
    order = comparison.order
    remarks = [comparison.notes[i] or "not used" * (not comparison.usable[i]) for i in order]
    return table(
        "The most votes first",
        ("clustering", [comparison.names[i] for i in order]),
        ("family", [comparison.families[i] for i in order]),
        ("clusters", comparison.n_clusters[order].tolist()),
        ("vote", _decimals(comparison.votes[order])),
        *((name, _decimals(scores[order])) for name, scores in comparison.scores.items()),
        ("remark", remarks if any(remarks) else None),
    )


def _matched(codes, reference):
    """Codes renumbered to agree with a reference in as many rows as possible."""
    return aligned(codes, np.eye(max(codes.max(), reference.max()) + 1)[reference])


# --- the plot -----------------------------------------------------------------------------------


def _plot(c, labellings):
    """The plot and what the script draws there: rows in a plane, coded by each labelling."""
    rows, points, axes, line = picture_of(c)
    n_rows, n_features = c.samples.features.shape
    drawn = f"all {n_rows:,} rows"
    if len(rows) < n_rows:
        drawn = f"{len(rows):,} of {n_rows:,} rows, chosen by chance but always the same"
    words = filled(
        "plot.html",
        drawn=drawn,
        x_axis=axes[0],
        y_axis=axes[1],
        line="The dashed line is the boundary." if line else "",
        flattened=n_features > 2,
    )
    told = [("lead", c.leads), ("confidence", c.confidence)]
    told = [(name, column[rows]) for name, column in told if column is not None]
    told += c.told_values(rows, MAX_VALUES)
    tips = [(name, [_tip(value) for value in column]) for name, column in told]
    return words, {
        "points": [[float(f"{u:.9g}"), float(f"{v:.9g}")] for u, v in points],
        "axes": axes,
        "line": line,
        "clusters": c.clusters,
        "labellings": [(name, codes[rows].tolist()) for name, codes in labellings],
        "tips": [("row", [str(c.samples.row_names[row]) for row in rows]), *tips],
    }
