"""What clustering libraries give, each cell checked by running them: the page docs/compared.md.

    python benchmarks/choices/peers.py --peers    # where the peers are installed
    python benchmarks/choices/peers.py --own      # writes the page, too

A probe does what a user would do and checks the outcome: a bound on sizes is kept, a link is kept,
known labels come out as numbers of clusters. What is not there, raises an error or gives another
outcome is no; the reason is kept with the results. The peers are not needed for the second
command, and Separatrix not for the first.
"""

import argparse
import importlib
import importlib.metadata
import inspect
import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "benchmarks" / "results" / "peers"
PAGE = REPOSITORY / "docs" / "compared.md"
RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(3), 20)
CENTERS = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
X = CENTERS[GROUPS] + RNG.normal(size=(60, 2))
NEAR = X + 1e-3
FAR = np.array([[60.0, 60.0], [-70.0, 50.0], [50.0, -80.0]])


# --- the estimators -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """An estimator, and the names by which it takes what the probes give it."""

    library: str
    home: str
    name: str
    settings: dict = field(default_factory=dict)
    takes_number: bool = True
    random: bool = True
    # arguments of the constructor, or of `fit`, by what they are for
    min_size: str = ""
    max_size: str = ""
    outliers: dict | None = None
    must_link: str = ""
    cannot_link: str = ""
    known_labels: str = ""
    # an argument of `fit` that it cannot do without, -1 for each sample
    blank: str = ""

    @property
    def estimator(self):
        """The class."""
        return getattr(importlib.import_module(self.home), self.name)

    def made(self, n_clusters=3, **others):
        """An estimator of so many clusters."""
        number = {"n_clusters": n_clusters} if self.takes_number and n_clusters else {}
        seed = {"random_state": 0} if self.random else {}
        return self.estimator(**number, **seed, **self.settings, **others)

    def fitted(self, X, n_clusters=3, given=None, **others):
        """The same after a fit."""
        blank = {self.blank: np.full(X.shape[0], -1)} if self.blank else {}
        return self.made(n_clusters, **others).fit(X, **{**blank, **(given or {})})


LINKS = {"must_link": "ml", "cannot_link": "cl"}
SEMI = {"library": "active-semi-supervised-clustering", "home": "active_semi_clustering"}
PEERS = [
    *(
        Row("scikit-learn", "sklearn.cluster", name)
        for name in ("KMeans", "MiniBatchKMeans", "BisectingKMeans", "SpectralClustering")
    ),
    Row("scikit-learn", "sklearn.cluster", "AgglomerativeClustering", random=False),
    Row("scikit-learn", "sklearn.cluster", "Birch", random=False),
    Row("scikit-learn", "sklearn.cluster", "AffinityPropagation", takes_number=False),
    *(
        Row("scikit-learn", "sklearn.cluster", name, options, False, False, outliers={})
        for name, options in (
            ("MeanShift", {"cluster_all": False}),
            ("DBSCAN", {"eps": 1.5}),
            ("HDBSCAN", {"copy": True}),
            ("OPTICS", {}),
        )
    ),
    *(
        Row("gemclus", home, name)
        for home, name in (
            ("gemclus.linear", "LinearMMD"),
            ("gemclus.linear", "RIM"),
            ("gemclus.linear", "KernelRIM"),
            ("gemclus.mlp", "MLPMMD"),
            ("gemclus.nonparametric", "CategoricalMMD"),
            ("gemclus.sparse", "SparseLinearMMD"),
        )
    ),
    Row("gemclus", "gemclus.tree", "Douglas"),
    Row("gemclus", "gemclus.tree", "Kauri", takes_number=False),
    Row(
        "k-means-constrained",
        "k_means_constrained",
        "KMeansConstrained",
        min_size="size_min",
        max_size="size_max",
    ),
    Row(
        "fast_hdbscan",
        "fast_hdbscan",
        "HDBSCAN",
        takes_number=False,
        random=False,
        outliers={},
        max_size="max_cluster_size",
        min_size="min_cluster_size",
        cannot_link="cannot_link",
        known_labels="y",
    ),
    Row(
        "hdbscan",
        "hdbscan",
        "HDBSCAN",
        {"prediction_data": True},
        takes_number=False,
        random=False,
        outliers={},
        max_size="max_cluster_size",
        min_size="min_cluster_size",
    ),
    *(
        Row(**SEMI, name=name, random=False, **LINKS)
        for name in ("COPKMeans", "PCKMeans", "MPCKMeans")
    ),
    *(
        Row(**SEMI, name=name, random=False, known_labels="y", blank="y")
        for name in ("SeededKMeans", "ConstrainedKMeans")
    ),
]


def own_rows():
    """The clusterers of Separatrix."""
    import separatrix

    rows = []
    for name in separatrix.__all__:
        one = getattr(separatrix, name)
        if not (inspect.isclass(one) and hasattr(one, "fit_predict")):
            continue
        has = {*inspect.signature(one).parameters, *inspect.signature(one.fit).parameters}
        names = ("min_size", "max_size", "must_link", "cannot_link", "known_labels")
        given: dict[str, Any] = {each: each for each in names if each in has}
        if "outliers" in has:
            given["outliers"] = {"outliers": 0.05}
        rows.append(Row("Separatrix", "separatrix", name, **given))
    return rows


# --- the probes ---------------------------------------------------------------------------------


def require(outcome, otherwise):
    """Refuse an outcome that is not what the probe is about."""
    if not outcome:
        raise AssertionError(otherwise)


def same(one, other):
    """Whether two labellings are the same but for the numbers of clusters."""
    return adjusted_rand_score(np.asarray(one), np.asarray(other)) == 1


def new_samples(row):
    """New samples are labelled, those next to a training sample as that."""
    model = row.fitted(X)
    if row.home == "hdbscan":
        labels = importlib.import_module("hdbscan").approximate_predict(model, NEAR)[0]
    else:
        labels = model.predict(NEAR)
    require(np.mean(np.asarray(labels) == np.asarray(model.labels_)) > 0.9, "other labels")


def probabilities(row):
    """Probabilities of new samples add up to one."""
    model = row.fitted(X)
    if row.home == "hdbscan":
        found = importlib.import_module("hdbscan").membership_vector(model, NEAR)
    else:
        found = model.predict_proba(NEAR)
    require(np.asarray(found).ndim == 2, "no column for each cluster")
    require(np.allclose(np.asarray(found).sum(axis=1), 1), "they do not add up to one")


def sizes(row):
    """Of groups of 20, 20 and 10 samples come three clusters of 15 to 22."""
    require(row.min_size and row.max_size, "no such parameters")
    bounds = {row.min_size: 15, row.max_size: 22}
    uneven = np.vstack([X[:40], X[40:50]])
    labels = np.asarray(row.fitted(uneven, **bounds).labels_)
    counts = np.bincount(labels[labels >= 0], minlength=3)
    require((labels >= 0).all() and counts.min() >= 15 and counts.max() <= 22, f"sizes {counts}")


def linked(row, kind, pairs):
    """Labels of an estimator that is given links of a kind, the way that it takes them."""
    given: dict[str, Any] = {getattr(row, kind): pairs}
    if row.library == "gemclus":
        constrain = importlib.import_module("gemclus").add_mlcl_constraint
        return np.asarray(constrain(row.made(), **{kind: pairs}).fit(X).labels_)
    require(getattr(row, kind), "no such argument")
    if row.library == "fast_hdbscan":  # the algorithm that takes them
        return np.asarray(row.fitted(X, algorithm="kruskal", **given).labels_)
    return np.asarray(row.fitted(X, given=given).labels_)


def must_links(row):
    """Linked samples of different groups are in one cluster."""
    pairs = [(0, 20), (1, 40)]
    labels = linked(row, "must_link", pairs)
    require(all(labels[i] == labels[j] for i, j in pairs), "a link is violated")


def cannot_links(row):
    """Linked samples of the same group are in different clusters."""
    pairs = [(0, 1), (20, 21)]
    labels = linked(row, "cannot_link", pairs)
    apart = all(labels[i] != labels[j] or labels[i] < 0 for i, j in pairs)
    require(apart, "a link is violated")


def known_labels(row):
    """Known labels are the numbers of their clusters, and the other samples follow them."""
    require(row.known_labels, "no such argument")
    numbers = np.array([2, 0, 1])[GROUPS]
    known = np.where(np.arange(60) % 5 == 0, numbers, -1)
    others = {"semi_supervised": True} if row.library == "fast_hdbscan" else {}
    labels = np.asarray(row.fitted(X, given={row.known_labels: known}, **others).labels_)
    require((labels == numbers).all(), "other numbers")


def weights(row):
    """A weight of two is a repeated sample, and one of zero an absent one."""
    absent = np.append(np.ones(60), np.zeros(3))
    found = row.fitted(np.vstack([X, FAR]), given={"sample_weight": absent}).labels_
    require(same(np.asarray(found)[:60], GROUPS), "samples of weight zero count")
    weight = 1 + np.arange(60) % 2
    found = row.fitted(X, given={"sample_weight": weight}).labels_
    repeated = row.fitted(np.repeat(X, weight, axis=0)).labels_
    require(same(np.repeat(np.asarray(found), weight), repeated), "other clusters")


def outliers(row):
    """Three far samples belong to no cluster, and most others to one."""
    require(row.outliers is not None, "no such parameter")
    labels = np.asarray(row.fitted(np.vstack([X, FAR]), **row.outliers).labels_)
    require((labels[60:] == -1).all(), "far samples are in clusters")
    require(np.mean(labels[:60] >= 0) > 0.8, "many samples are in none")


def explanation(row):
    """Weights, importances or rules say which features decide."""
    model = row.fitted(X)
    if row.library == "Separatrix":
        import separatrix

        found = separatrix.explain(model, X)
        require(
            len(found.boundaries) or found.importance is not None, "neither weights nor shares"
        )
    else:
        names = ("feature_importances_", "tree_", "get_selection", "find_active_points")
        linear = getattr(model, "W_", None)  # as GemClus calls its weights
        found = linear is not None and len(linear) == X.shape[1]
        found = found or any(hasattr(model, name) for name in names)
        require(found, "no weights of features, importances or rules")


def sparse(row):
    """Sparse samples give the same clusters as dense ones."""
    require(same(row.fitted(sp.csr_matrix(X)).labels_, row.fitted(X).labels_), "other clusters")


def dask(row):
    """A dask array is accepted, and its labels are a dask array too."""
    array = importlib.import_module("dask.array")
    labels = row.fitted(array.from_array(X, chunks=(20, 2))).labels_
    require(hasattr(labels, "dask"), "the array is loaded")


def number_of_clusters(row):
    """Five groups are found without being told that there are five."""
    groups = np.repeat(np.arange(5), 20)
    five = 12 * np.column_stack([groups % 3, groups // 3]) + np.vstack([X[:20] - CENTERS[0]] * 5)
    require(same(row.fitted(five, n_clusters=None).labels_, groups), "other clusters")


def any_shape(row):
    """Two half moons are found."""
    moons, y = make_moons(200, noise=0.03, random_state=0)
    model = row.made(2)
    if row.name == "DBSCAN":  # which has no default for the scale of the data
        model.set_params(eps=0.2)
    require(same(model.fit(moons).labels_, y), "other clusters")


PROBES = {
    "new samples": new_samples,
    "probabilities": probabilities,
    "size bounds": sizes,
    "must-links": must_links,
    "cannot-links": cannot_links,
    "known labels": known_labels,
    "weights": weights,
    "outliers": outliers,
    "explanation": explanation,
    "sparse": sparse,
    "dask": dask,
    "number of clusters": number_of_clusters,
    "two moons": any_shape,
}
# Parameters without which the answer to a probe is no.
NEEDS = {
    "size bounds": "min_size",
    "must-links": "must_link",
    "cannot-links": "cannot_link",
    "known labels": "known_labels",
    "weights": "sample_weight",
    "outliers": "outliers",
}


def probed(row, names, kept):
    """What a row gives: for each probe an empty text, or why not. Others than named are kept."""
    cells = {name: kept.get(name, "not run") for name in PROBES}
    for name in names:
        np.random.seed(0)  # noqa: NPY002  (what some draw on, and take no seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                PROBES[name](row)
                cells[name] = ""
            except Exception as error:
                text = " ".join(str(error).split())
                cells[name] = f"{type(error).__name__}: {text}"[:160].strip()
    return {"library": row.library, "estimator": row.name, "why_not": cells}


def measured(rows, names, kept):
    """Results of the probes that are named, or kept, with the versions of the libraries."""
    libraries = list(dict.fromkeys(row.library for row in rows))
    versions = {one: importlib.metadata.version(one) for one in libraries if one != "Separatrix"}
    before = {(row["library"], row["estimator"]): row["why_not"] for row in kept}
    found = []
    for row in rows:
        found.append(probed(row, names, before.get((row.library, row.name), {})))
        given = [name for name, why in found[-1]["why_not"].items() if not why]
        print(f"{row.library:34} {row.name:42} {', '.join(given)}", flush=True)
    return {"versions": versions, "rows": found}


# --- the page -----------------------------------------------------------------------------------

HEAD = """# Clustering libraries side by side

This page shows what the clusterers of Separatrix and of other libraries offer. Every cell was
checked by running the estimator on small data, with default settings except for the feature in
question: `yes` means that the outcome is what the list below says. An empty cell means that the
feature does not exist, that it raised an error, or that the outcome was different;
`benchmarks/results/peers` keeps the reason. `python benchmarks/choices/peers.py --own` writes this
page from what it and `--peers` measured.
"""


def read(name):
    """Results that were kept."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def page():
    """The whole page, from the results that were kept."""
    own, peers = read("own"), read("peers")
    lines = [HEAD]
    for name, probe in PROBES.items():
        lines.append(f"- **{name}**: {inspect.getdoc(probe)}")
    sections = {"Separatrix": own["rows"]}
    for row in peers["rows"]:
        sections.setdefault(row["library"], []).append(row)
    for library, rows in sections.items():
        version = peers["versions"].get(library, "")
        lines += ["", f"## {library} {version}".rstrip(), ""]
        lines.append(f"| estimator | {' | '.join(PROBES)} |")
        lines.append("|---" * (len(PROBES) + 1) + "|")
        for row in rows:
            cells = ["" if row["why_not"][name] else "yes" for name in PROBES]
            lines.append(f"| {row['estimator']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(peers, own, names=tuple(PROBES)):
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name, wanted, rows in (("peers", peers, lambda: PEERS), ("own", own, own_rows)):
        if wanted:
            kept = read(name)["rows"] if (RESULTS / f"{name}.json").exists() else []
            text = json.dumps(measured(rows(), names, kept), indent=1)
            (RESULTS / f"{name}.json").write_text(text + "\n", "utf-8")
    if own:
        PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", action="store_true", help="run the peers")
    parser.add_argument("--own", action="store_true", help="run Separatrix and write the page")
    parser.add_argument("--probes", nargs="+", default=list(PROBES), choices=list(PROBES))
    given = parser.parse_args()
    main(given.peers, given.own, given.probes)
