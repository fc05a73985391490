"""A clustering as one HTML file, which opens offline and loads nothing."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import separatrix
from separatrix._staging import staged
from separatrix._typing import ArrayLike, Samples
from separatrix.plots.colors import MUTED, cluster_color, cluster_marker
from separatrix.report.evidence import OUTLIERS
from separatrix.report.markup import Markup, filled, join, markup, read, visible
from separatrix.report.pages import clustering_page, comparison_page

__all__ = ["write_report"]


def write_report(
    estimator: Any,
    X: Samples,
    path: str | PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    row_names: ArrayLike = None,
    title: str | None = None,
    model_path: str | PathLike[str] | None = None,
    truth: Mapping[str, Sequence[Any]] | None = None,
) -> Path:
    """Write a report on a clustering, or a comparison of several, as one HTML file.

    It shows what is typical of each cluster, in the units of the table, which rows are typical and
    which are doubtful, how far to trust the clusters, and how they were made, with an interactive
    picture. The file loads nothing, so it opens offline; the same model and rows give the same
    file.

    Parameters
    ----------
    estimator : object
        Fitted clusterer, pipeline that ends in one, or comparison of clusterings.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The rows of the fit, in its order; the table itself for a pipeline that begins with a
        `TablePreparer`. Other rows are labelled by `predict`, if their number differs.
    path : str or path-like
        File to write. An existing file is replaced in one step, or left as it is if writing fails.
    feature_names : list of str, default=None
        Names of the columns of X; None takes those that X or the model has. A `TablePreparer`
        names the features itself.
    row_names : array-like of shape (n_samples,), default=None
        Names of the rows of X; None takes those that X has, or else numbers from 0.
    title : str, default=None
        Heading of the report; None names the method.
    model_path : str or path-like, default=None
        File in which the command line saves the model, so that the report can say how to use it.
        It is not written here. With None the report says how to save the model.
    truth : mapping of str to array-like of shape (n_samples,), default=None
        Known classes of the rows by name, such as ``{"species": y}``. The report compares the
        clusters with them. A comparison of clusterings takes none.

    Returns
    -------
    path : pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import MaximinSeparationClustering
    >>> from separatrix.report import write_report
    >>> X = load_iris(as_frame=True).data
    >>> model = MaximinSeparationClustering(n_clusters=3).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, X, folder + "/iris.html", title="Iris").name
    'iris.html'
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"path={str(path)!r}: there is no directory {str(path.parent)!r}; make it first."
        )
    if hasattr(estimator, "names") and hasattr(estimator, "agreement"):
        if truth:
            raise ValueError("a comparison of clusterings takes no truth; report on one of them.")
        heading, body, data = comparison_page(estimator, X, feature_names, row_names)
    else:
        named = (feature_names, row_names, model_path, truth)
        heading, body, data = clustering_page(estimator, X, *named)
    _replace(path, _page(heading if title is None else str(title), body, data))
    return path


def _page(title, body, data):
    """The whole page around its body."""
    clusters = data["clusters"]
    colors = [MUTED if name == OUTLIERS else cluster_color(i) for i, name in enumerate(clusters)]
    rules = (f".c{code}{{--cluster:{color}}}\n" for code, color in enumerate(colors))
    data = data | {"markers": [cluster_marker(code) for code in range(len(clusters))]}
    style, script = Markup(read("style.css") + "".join(rules)), Markup(read("script.js"))
    sections = re.findall(r'<section id="(\w+)">\n<h2>(.*)</h2>', body)
    return filled(
        "page.html",
        title=title,
        version=separatrix.__version__,
        links=join(markup('<li><a href="#{}">{}</a></li>', *section) for section in sections),
        body=body,
        style=style,
        script=script,
        # only this script and style may run, whatever got into the page
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=Markup(json.dumps(visible(data), separators=(",", ":")).replace("<", "\\u003c")),
    )


def _hash(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _replace(path, text):
    """Write a file in one step: a reader sees the old one or the new one."""
    with staged(path) as folder:
        made = folder / "report.html"
        made.write_text(text, encoding="utf-8", newline="\n")
        os.replace(made, path)
