"""The words and tables of a report, put into their templates."""

import platform

import numpy as np
import scipy
import sklearn
from scipy.optimize import linear_sum_assignment

import separatrix
from separatrix.consensus import agreement_words
from separatrix.report.evidence import Clustering, clustering_of, dense, picture_of, samples_of
from separatrix.report.markup import Markup, bar, filled, join, markup, table

__all__ = ["clustering_page", "comparison_page"]

MAX_CLUSTERS, MAX_FEATURES, MAX_ROWS = 12, 20, 12
MAX_VALUES = 4  # features whose values are told of a row
# Separation score, at its default reg=0.1, of the two halves of one Gaussian cloud.
HALVED_CLOUD = 2 / np.pi / 1.1
FACTS = {
    "separation_probability_": "separation probability, at the model's own reg",
    "agreement_": "mean agreement of families of methods",
    "best_candidate_": "best single candidate",
    "objective_": "objective of the method",
    "duality_gap_": "duality gap of the method",
    "n_iter_": "iterations",
}


def clustering_page(estimator, X, feature_names, model_path):
    """Heading, body and plot data of a report on one clustering."""
    c = clustering_of(estimator, X, feature_names)
    no_features = Markup("<p>X holds similarities of samples: there are no features to show.</p>")
    n_samples, n_features = c.samples.features.shape
    body = filled(
        "clustering.html",
        summary=_summary(c),
        projection=filled("plot.html", n_samples=f"{n_samples:,}") if n_features else no_features,
        sizes=_sizes(c),
        quality=_quality(c),
        halved_cloud=f"{HALVED_CLOUD:.2f}",
        n_features=f"{n_features:,}",
        n_samples=f"{n_samples:,}",
        explanation=_explanation(c) if n_features else no_features,
        nearest=_nearest(c),
        making=_making(c.samples, getattr(estimator, "steps", [("", estimator)])),
        path=repr("model.joblib" if model_path is None else str(model_path)),
    )
    data = _plot_data(c, [("", c.codes)]) if n_features else {"clusters": c.clusters}
    return f"{type(c.model).__name__}: {_count(len(c.clusters), 'cluster')}", body, data


def _count(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _percent(share):
    return Markup(f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}")


def _plot_data(c, labellings):
    """What the script draws: the plane, and the codes of the rows in each labelling."""
    rows, points, axes, line = picture_of(c)
    return {
        "points": [[float(f"{u:.9g}"), float(f"{v:.9g}")] for u, v in points],
        "axes": axes,
        "line": line,
        "clusters": c.clusters,
        "labellings": [(name, codes[rows].tolist()) for name, codes in labellings],
        "tips": _tips(c, rows),
    }


def _tips(c, rows):
    """What the drawn rows show when they are pointed at: names with a text for each row."""
    numbers = [("lead", c.leads), ("confidence", c.confidence)]
    columns = [(name, column[rows]) for name, column in numbers if column is not None]
    shown = c.ranking[:MAX_VALUES]
    values = dense(c.samples.values[rows][:, shown])
    columns += [(c.samples.names[j], column) for j, column in zip(shown, values.T, strict=True)]
    told = [(name, [f"{number:.4g}" for number in column]) for name, column in columns]
    return [("row", [str(c.samples.row_names[row]) for row in rows]), *told]


def _summary(c):
    """What was found, in words, and what looks wrong with it."""
    n_samples, n_clusters = len(c.codes), len(c.clusters)
    sizes = [f"{size:,} ({_percent(size / n_samples)})" for size in c.sizes[:MAX_CLUSTERS]]
    sizes += ["…"] * (n_clusters > MAX_CLUSTERS)
    told = [
        f"{type(c.model).__name__} divided {_count(n_samples, 'row')} into "
        f"{_count(n_clusters, 'cluster')}, of {', '.join(sizes)} rows."
    ]
    if n_clusters > 1 and c.samples.names:
        how = "go along with the division" if c.weights is None else "weigh in the boundary"
        names = join((markup("<em>{}</em>", c.samples.names[j]) for j in c.ranking[:3]), ", ")
        told.append(markup("The features that {} most: {}.", how, names))
    if c.separation is not None:
        told.append(_separation_words(c))
    agreement = getattr(c.model, "agreement_", None)
    if agreement is not None:
        words = getattr(c.model, "agreement_words_", None) or agreement_words(agreement)
        told.append(f"Different methods agree to {agreement:.2f} on average: {words}.")
    wrong = []
    asked = getattr(c.model, "n_clusters", None)
    if isinstance(asked, int) and n_clusters < asked:
        wrong.append(f"{asked} clusters were asked for; the others are empty.")
    if getattr(c.model, "n_iter_", 0) == getattr(c.model, "max_iter", None):
        wrong.append("The fit used all iterations of max_iter; it may not have converged.")
    if c.n_moved:
        wrong.append(
            f"In {_count(c.n_moved, 'row')} the label is not what the model predicts: links or "
            "size bounds hold there, or X is not the data of the fit."
        )
    paragraphs = [markup("<p>{}</p>", words) for words in told]
    return join(paragraphs + [markup('<p class="alert">{}</p>', words) for words in wrong])


def _separation_words(c):
    words = f"The clusters hardest to tell apart have a separation score of {c.separation:.2f}."
    if len(c.clusters) == 2:
        words = f"Their separation score is {c.separation:.2f}; one round cloud cut in half has "
        words += f"{HALVED_CLOUD:.2f}."
    if c.weights is None:
        return words + " It is for straight boundaries, which the ones found need not be."
    if len(c.clusters) == 2 and c.separation < HALVED_CLOUD + 0.05:
        return words + " By this number there is no sign of two groups."
    return words


def _sizes(c):
    shares = c.sizes / len(c.codes)
    rows = [
        (name, Markup(f"{c.sizes[code]:,}"), _share(shares[code], shares.max(), code))
        for code, name in enumerate(c.clusters)
    ]
    return table("Rows in each cluster", ("cluster", "rows", "share"), rows)


def _share(share, largest, code=""):
    return join([_percent(share), bar(share / largest, code)])


def _quality(c):
    rows = [] if c.separation is None else [("separation score, at reg=0.1", c.separation)]
    for name, words in FACTS.items():
        value = getattr(c.model, name, None)
        if value is not None and np.ndim(value) == 0 and value == value:
            rows.append((words, float(value) if isinstance(value, np.floating) else value))
    if c.confidence is not None:
        sure = _percent(np.mean(c.confidence >= 0.95))
        rows.append(("rows with a confidence of 0.95 or more", sure))
    return table("Numbers", ("measure", "value"), rows)


def _explanation(c):
    """Features that tell the clusters apart."""
    has_weights = c.weights is not None
    has_sides = has_weights and len(c.weights) == 1 and len(c.clusters) == 2
    head = ["feature", *["weight"] * has_weights, *["towards"] * has_sides]
    head += ["explained", *(f"mean in {name}" for name in c.clusters[:MAX_CLUSTERS])]
    rows = []
    for j in c.ranking[:MAX_FEATURES]:
        row = [c.samples.names[j]]
        if has_weights:
            row.append(_share(c.weight_shares[j], c.weight_shares.max()))
        if has_sides:
            row.append(c.clusters[int(c.weights[0, j] > 0)])
        row += [_percent(c.explained[j]), *map(float, c.means[:MAX_CLUSTERS, j])]
        rows.append(row)
    return table(f"{len(rows)} of {_count(len(c.samples.names), 'feature')}", head, rows)


def _nearest(c):
    """Rows of the smallest lead."""
    sureness, name = (c.confidence, "confidence") if c.leads is None else (c.leads, "lead")
    if sureness is None:
        return Markup("<p>No scores are known here, so no row is known to be nearer.</p>")
    rows = np.argsort(abs(sureness), kind="stable")[:MAX_ROWS]
    shown = c.ranking[:MAX_VALUES]
    values = dense(c.samples.values[rows][:, shown])
    body = [
        (str(c.samples.row_names[row]), c.clusters[c.codes[row]], other)
        + (float(sureness[row]), *map(float, cells))
        for row, other, cells in zip(rows, c.runners_up(rows), values, strict=True)
    ]
    head = ("row", "cluster", "across the boundary", name, *(c.samples.names[j] for j in shown))
    return table(f"Rows of the smallest {name}", head, body)


def _making(samples, steps=()):
    """Versions, parameters and seed."""
    rows = [("Python", platform.python_version())]
    rows += [(p.__name__, p.__version__) for p in (separatrix, np, scipy, sklearn)]
    n_samples, n_features = samples.features.shape
    rows.append(("data", f"{_count(n_samples, 'row')}, {_count(n_features, 'feature')}"))
    tables = []
    for name, step in steps:
        parameters = sorted(step.get_params(deep=False).items())
        if hasattr(step, "random_state"):
            rows.append(("seed", f"random_state={step.random_state!r}"))
        caption = f"Parameters of {type(step).__name__}" + (f", step {name}" if name else "")
        values = [(key, f"{value!r:.200}") for key, value in parameters] or [("none", "")]
        tables.append(table(caption, ("parameter", "value"), values))
    return join([table("Versions, data and seed", ("what", "value"), rows), *tables])


def comparison_page(comparison, X, feature_names):
    """Heading, body and plot data of a report on several clusterings, the best rank first."""
    samples = samples_of(None, X, feature_names)
    n_samples, n_labels = samples.features.shape[0], comparison.labels.shape[1]
    if n_labels != n_samples:
        raise ValueError(
            f"the comparison has labels of {n_labels} rows but X has {n_samples}; pass the rows "
            "that were compared."
        )
    order = np.argsort(-comparison.ranks, kind="stable")
    names = [comparison.names[i] for i in order]
    codes = [np.unique(comparison.labels[i], return_inverse=True)[1] for i in order]
    codes = [_matched(one, codes[0]) for one in codes]
    clusters = [f"cluster {code}" for code in range(max(one.max() for one in codes) + 1)]
    rows = []
    for i, one in zip(order, codes, strict=True):
        row = (comparison.names[i], comparison.families[i], len(np.unique(one)))
        numbers = (comparison.ranks[i], *(column[i] for column in comparison.scores.values()))
        remark = comparison.notes[i] or ("" if comparison.usable[i] else "not used")
        rows.append((*row, *map(float, numbers), remark))
    head = ("clustering", "family", "clusters", "rank", *comparison.scores, "remark")
    matrix = comparison.agreement[np.ix_(order, order)]
    body = filled(
        "comparison.html",
        n_clusterings=_count(len(names), "clustering"),
        n_families=len(set(comparison.families)),
        n_samples=f"{n_samples:,}",
        overall=comparison.family_agreement,
        words=agreement_words(comparison.family_agreement),
        projection=filled("plot.html", n_samples=f"{n_samples:,}"),
        candidates=table("The best rank first", head, rows),
        agreement=table(
            "Adjusted Rand index of each pair",
            ("clustering", *names),
            [(names[i], *(Markup(f"{x:.2f}") for x in row)) for i, row in enumerate(matrix)],
        ),
        making=_making(samples),
    )
    c = Clustering(samples, codes[0], clusters)
    data = _plot_data(c, zip(names, codes, strict=True))
    return f"Comparison of {_count(len(names), 'clustering')}", body, data


def _matched(codes, reference):
    """Codes renumbered to agree with a reference in as many rows as possible."""
    n_codes = max(codes.max(), reference.max()) + 1
    overlap = np.bincount(codes * n_codes + reference, minlength=n_codes**2)
    return linear_sum_assignment(-overlap.reshape(n_codes, n_codes))[1][codes]
