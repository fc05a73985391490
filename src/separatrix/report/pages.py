"""The numbers and tables of a report, put into their templates."""

import platform
import shlex
from textwrap import shorten

import numpy as np
import scipy
import sklearn

import separatrix
from separatrix.plots.scores import in_memory
from separatrix.report.candidates import candidate_tables, curve_table
from separatrix.report.clusters import (
    MAX_VALUES,
    clusters_table,
    doubtful_rows,
    explanation,
    heat_map,
    truth_tables,
    typical_rows,
)
from separatrix.report.evidence import OUTLIERS, Clustering, clustering_of, picture_of, samples_of
from separatrix.report.markup import Markup, filled, join, markup, table
from separatrix.report.trust import agreement_words_of, trust, why_undivided
from separatrix.report.words import count, is_none, percent, reason, sentence, two_digits
from separatrix.result import aligned

__all__ = ["clustering_page", "comparison_page"]

MAX_NAMED = 12  # columns left out that are named in a sentence
LIMITS = "max_iter", "max_rounds", "max_steps"  # parameters that end a fit
NO_FEATURES = Markup("<p>X holds similarities of samples: there are no features to show.</p>")
NO_PAIR = Markup("<p>There are no two clusters to tell apart.</p>")
SCALED = (
    "Each column has the same weight, however many features it becomes: numbers were divided by "
    "their standard deviation. Categories, and numbers of only two values, count half."
)
# Of the evidence for each number of clusters.
TAKEN = "Numbers of nearly the same evidence are as plausible as the one taken."
UNTESTED = "Whether there are clusters at all is tested before, against tables without clusters."
UNSCALED = "Numbers kept their units, so that columns of larger numbers weigh more."


def _tip(value):
    if isinstance(value, str):
        return value
    return f"{value:.4g}" if abs(value) < 1e3 else markup("{}", float(value))


# --- one clustering -----------------------------------------------------------------------------


def clustering_page(estimator, X, feature_names, row_names, model_path, truth=None):
    """Heading, body and plot data of a report on one clustering."""
    c = clustering_of(estimator, X, feature_names, row_names)
    n_features = c.samples.features.shape[1]
    projection, data = NO_FEATURES, {"clusters": c.clusters}
    if n_features:
        projection, data = _plot(c, [("", c.codes)])
    candidates, curve = (getattr(c.model, of, None) for of in ("candidates_", "selection_curve_"))
    is_explained = c.n_clusters > 1 and n_features > 0
    body = filled(
        "clustering.html",
        **_summary(c),
        **trust(c),
        **_preparation(c, truth or {}),
        truth=truth and truth_tables(c, truth),
        clusters=clusters_table(c),
        heat=heat_map(c) if is_explained else None,
        typical=typical_rows(c) if n_features and c.n_clusters else None,
        nearest=doubtful_rows(c),
        unranked=c.doubts is None and c.n_clusters > 1,
        confidence=c.doubts is not None and c.confidence is not None,
        leads=c.leads is not None and c.confidence is None,
        projection=projection,
        n_features=f"{n_features:,}",
        candidates=candidate_tables(candidates, _seen_labels(c))
        if _is_several(candidates)
        else None,
        curve=curve and curve_table(curve),
        curve_remark=TAKEN if c.n_clusters > 1 else UNTESTED,
        is_explained=is_explained,
        explanation=explanation(c) if is_explained else NO_PAIR if n_features else NO_FEATURES,
        weights=is_explained and c.weights is not None,
        making=_making(c.samples, getattr(estimator, "steps", [("", estimator)])),
        model=model_path and shlex.quote(str(model_path)),
        model_repr=repr(str(model_path)),
        unsaved=not model_path,
        use="predict(X_new)  # the same columns, in the same order"
        if hasattr(c.model, "predict")
        else "labels_  # of the rows of the fit; it predicts no others",
    )
    return f"{type(c.model).__name__}: {count(c.n_clusters, 'cluster')}", body, data


def _summary(c):
    """What was found, and what looks wrong with it, for the words of the template."""
    n_rows, n_clusters = len(c.codes), c.n_clusters
    n_asked, n_iter = (getattr(c.model, name, None) for name in ("n_clusters", "n_iter_"))
    reached = [name for name in LIMITS if n_iter and n_iter == getattr(c.model, name, None)]
    n_outliers = c.sizes[n_clusters] if OUTLIERS in c.clusters else 0
    words, is_one_group = agreement_words_of(c), n_clusters == 1 and n_asked != 1
    return {
        "method": type(c.model).__name__,
        "n_rows": f"{n_rows:,}",
        "n_clusters": "no clusters" if is_one_group else count(n_clusters, "cluster"),
        "outliers": f"{n_outliers:,} ({percent(n_outliers / n_rows)})" if n_outliers else None,
        "undivided": n_clusters == 1 and why_undivided(c, n_asked),
        "disagreement": is_none(words) and f"Do not rely on these clusters: {reason(words)}.",
        "n_asked": isinstance(n_asked, int) and n_clusters < n_asked and n_asked,
        "unfinished": next(iter(reached), None),
        "moved": c.n_moved > 0 and count(c.n_moved, "row"),
        "n_judged": f"{len(c.judged):,}",
        "deciding": join((f"{one.column} {one.text}" for one in c.column_findings), "; ") or None,
    }


def _preparation(c, truth):
    """What was done to the columns of a table, in one sentence and in a table."""
    preparer = c.samples.preparer
    if preparer is None:
        return {"prepared": None, "preparation": None, "scaling": ""}
    findings = [one for one in preparer.findings_ if one.left_out or one.n_missing]
    findings = [one for one in findings if one.column not in truth]
    left_out = [one.column for one in findings if one.left_out]
    n_filled = sum(one.n_missing for one in findings if not one.left_out)
    told = [f"{count(len(preparer.features_), 'column')} of {preparer.n_features_in_} used."]
    if left_out:
        more = ["…"] * (len(left_out) > MAX_NAMED)
        told.append(f"Left out: {', '.join([*left_out[:MAX_NAMED], *more])}.")
    if truth:
        told.append(f"Held out, to compare with the clusters: {', '.join(truth)}.")
    if n_filled:
        told.append(f"Filled: {count(n_filled, 'missing value')}.")
    done = ["left out" if one.left_out else "filled" for one in findings]
    made = Markup("<p>No column was left out, and no value was missing.</p>")
    if findings:
        made = table(
            "Columns",
            ("column", [one.column for one in findings]),
            ("done", done),
            ("because it", [one.text for one in findings]),
        )
    return {
        "prepared": " ".join(told),
        "preparation": made,
        "scaling": UNSCALED if preparer.scaler_ is None else SCALED,
    }


def _is_several(comparison):
    return comparison is not None and len(comparison.names) > 1


def _making(samples, steps=()):
    """Versions, data, earlier steps of a pipeline, and parameters of the clusterer, its last."""
    n_samples, n_features = samples.features.shape
    made = {p.__name__: p.__version__ for p in (separatrix, np, scipy, sklearn)}
    made["Python"] = platform.python_version()
    features = count(n_features, "feature") if n_features else "and their similarities"
    made["data"] = f"{count(n_samples, 'row')}, {features}"
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
    best = comparison.estimators[order[0] :][:1]  # none of one cluster
    words = comparison.agreement_words
    body = filled(
        "comparison.html",
        n_clusterings=count(len(names), "clustering"),
        n_families=len(set(comparison.families)),
        n_rows=f"{n_rows:,}",
        overall=two_digits(comparison.family_agreement),
        words=sentence(words),
        in_box=Markup(' class="box"' if is_none(words) else ""),
        projection=projection,
        candidates=candidate_tables(comparison),
        best=names[0] if best else None,
        making=_making(samples, [(names[0], one) for one in best]),
    )
    return f"Comparison of {count(len(names), 'clustering')}", body, data


def _seen_labels(c):
    """Labels of the rows that the candidates used, or None."""
    seen = getattr(c.model, "sample_indices_", None)
    return None if seen is None else in_memory(c.model.labels_)[in_memory(seen)]


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
        drawn = f"{len(rows):,} of {n_rows:,} rows, drawn at random, always the same"
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
