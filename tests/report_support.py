"""What the tests of reports share: data, a reader of pages, and a comparison to report on."""

import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from separatrix import LDAKMeans, MaximinSeparationClustering, MaximumMarginClustering
from separatrix.report import write_report
from separatrix.selection.candidates import Comparison

IRIS = load_iris(as_frame=True).data
ATTACK = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'&{}$x"


class Page(HTMLParser):
    """Tags, attributes, tables and text of a page; complains of tags that are not closed."""

    VOID = {"meta", "link", "input", "br", "img"}

    def __init__(self, text):
        super().__init__()
        self.html = text
        self.open, self.tags, self.tables, self.texts = [], [], [], []
        self.feed(text)
        assert self.open == []
        self.text = " ".join(" ".join(self.texts).split())
        self.style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
        self.data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data

    def table(self, *head):
        """Rows of the table whose first headings are these, by their first cell."""
        (found,) = (rows for rows in self.tables if rows[0][: len(head)] == list(head))
        return {row[0]: row[1:] for row in found[1:]}

    def with_class(self, name):
        """Texts of the paragraphs of a class."""
        found = re.findall(rf'<p class="{name}">(.*?)</p>', self.html, re.DOTALL)
        return [unescape(text) for text in found]

    def ids(self):
        return [attrs["id"] for tag, attrs in self.tags if tag == "section"]


def report(estimator, X, folder, **kwargs):
    path = write_report(estimator, X, folder / "report.html", **kwargs)
    return Page(path.read_text(encoding="utf-8"))


def shown(number):
    """A number as tables show it."""
    return f"{number:.3g}"


def comparison(X=IRIS):
    """What a comparison of four clusterings has to tell, by names that need escaping."""
    estimators = [
        MaximinSeparationClustering(3),
        MaximumMarginClustering(3, random_state=0),
        LDAKMeans(3),
        LDAKMeans(2),
    ]
    labels = np.array([clone(estimator).fit_predict(X) for estimator in estimators])
    labels[0] = (labels[0] + 1) % 3
    agreement = np.array([[adjusted_rand_score(a, b) for b in labels] for a in labels])
    return Comparison(
        names=["separation", "margin", "means <b>three</b>", "means, two"],
        families=["separation", "margin", "means", "means"],
        labels=labels,
        scores={"neighbors": np.array([0.8, 0.9, 0.7, 0.6]), "gap": np.zeros(4)},
        votes=np.array([0.75, 1.0, 0.5, 0.25]),
        agreement=agreement,
        usable=np.array([True, True, True, False]),
        seconds=np.zeros(4),
        notes=["", "", "it <i>warned</i>", ""],
        estimators=estimators,
    )
