"""Choosing without labels, measured on 97 data sets with known classes.

Scores, weights and the choice of the number of clusters were settled on the development half; the
confirmation half has other sources. Earlier rules and variants of this one were measured on it as
well, so there is a third part, which was seen less often; a good part of it are tables of two
classes that hardly any method finds. Labels only score the results.

Every method gets the same samples: at most 1,000, standardised where features differ in kind, and
50 principal components of more features. Which samples of a large set are drawn, and the seeds of
all methods, move the results on single sets, so all is done for five draws; figures are means
over sets and draws. The number of clusters is chosen on the first draw alone.

`--part confirmation` takes one part, `--quick` every fourth set and one draw, `--draws` so many
draws, `--no-k` leaves out the choice of the number of clusters, and `--thorough` adds the tier of
that name.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import issparse
from scipy.stats import spearmanr
from sklearn import datasets
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from separatrix.selection.auto import AutoClustering
from separatrix.selection.consensus import APART, WORDS

sys.path.insert(0, str(Path(__file__).parent.parent))
from data import load, without_constant_features
from output import heading

MAX_SAMPLES, MAX_FEATURES, MAX_CLUSTERS = 1_000, 50, 10
N_DRAWS = 5
N_REFERENCES = 5
PICTURE = Path(__file__).parent.parent / "results" / "selection_calibration.png"
# A colon comes before the first class and the one behind the last.
PARTS = {
    "development": """australian breast_wisconsin colic heart_statlog house_votes ionosphere
        letter:0-8 optdigits satimage svmguide1 twonorm usps waveform_ida sklearn-wine
        sklearn-digits
        fcps-atom fcps-lsun fcps-wingnut g2mg-g2mg_128_90 g2mg-g2mg_16_70 g2mg-g2mg_2_50
        g2mg-g2mg_2_90 graves-line graves-ring_noisy h2mg-h2mg_128_90 h2mg-h2mg_16_70
        h2mg-h2mg_2_50 h2mg-h2mg_2_90 other-chameleon_t4_8k other-hdbscan sipu-a1 sipu-flame
        sipu-s1 sipu-spiral uci-sonar wut-graph wut-mk2 wut-smile wut-twosplashes wut-x3""",
    "confirmation": """banana coil20 diabetes hepatitis image_ida isolet_1_5:0-10 mnist ringnorm
        spambase thyroid_new vehicle sklearn-breast_cancer sklearn-iris fcps-engytime fcps-tetra
        graves-dense graves-ring graves-ring_outliers other-chameleon_t7_10k other-iris5
        sipu-compound sipu-pathbased sipu-s3 uci-ecoli uci-statlog wut-circles wut-labirynth
        wut-mk4 wut-trajectories wut-x1 wut-z2""",
    "third": """breast_cancer credit_a credit_g echocardiogram haberman heart_c heart_h
        solar_flare svmguide3 titanic letter:8-16 letter:16-26 isolet_1_5:10-18 isolet_1_5:18-26
        newsgroups20_tf:7-11 newsgroups20_tf:11-15 newsgroups20_tf:15-20 sipu-a2 sipu-worms_2
        g2mg-g2mg_128_10 g2mg-g2mg_16_30 g2mg-g2mg_2_10 h2mg-h2mg_128_10 h2mg-h2mg_16_30
        h2mg-h2mg_2_10 h2mg-h2mg_128_50""",
}
# Sets that come from the same data count as one in intervals.
SOURCES = {"sklearn-digits": "optdigits", "sklearn-iris": "iris", "other-iris5": "iris"}
SOURCES |= {"uci-statlog": "image_ida"}
SAME_KIND = {"coil20", "mnist", "optdigits", "usps", "isolet_1_5", "sklearn-digits"}
SAME_KIND |= {"newsgroups20_tf"}
TABULAR = ("sklearn", "uci")


def source(name):
    battery = name.split("-")[0]
    return battery if battery in ("g2mg", "h2mg") else SOURCES.get(name, name.split(":")[0])


def read(name, draw):
    """Samples, classes, and which samples count: noise has none."""
    name, _, classes = name.partition(":")
    battery, _, member = name.partition("-")
    if battery == "sklearn":
        bunch = getattr(datasets, f"load_{member}")()
        X, y = bunch.data, bunch.target
    else:
        X, y, _ = load(f"clustering_v1/{name}" if member else name)
    if classes:
        first, last = map(int, classes.split("-"))
        X, y = X[(y >= first) & (y < last)], y[(y >= first) & (y < last)]
    if len(y) > MAX_SAMPLES:
        rows = np.random.default_rng(draw).permutation(len(y))[:MAX_SAMPLES]
        X, y = X[rows], y[rows]
    if issparse(X):  # texts, by their words
        X = TruncatedSVD(MAX_FEATURES, random_state=0).fit_transform(
            TfidfTransformer(sublinear_tf=True).fit_transform(X)
        )
    X = without_constant_features(np.asarray(X, dtype=np.float64))
    if (not member or battery in TABULAR) and name not in SAME_KIND:
        X = StandardScaler().fit_transform(X)
    if X.shape[1] > MAX_FEATURES:
        X = PCA(MAX_FEATURES, random_state=0).fit_transform(X)
    counts = y > 0 if member and battery not in TABULAR else np.ones(len(y), dtype=bool)
    return X, y, counts


def peers(k, seed):
    models = {
        "KMeans": KMeans(k, n_init=10, random_state=seed),
        "Spectral": SpectralClustering(k, affinity="nearest_neighbors", random_state=seed),
        "Mixture": GaussianMixture(k, random_state=seed),
        "Ward": AgglomerativeClustering(k),
    }
    try:
        from genieclust import Genie
    except ImportError:
        return models
    return models | {"Genie": Genie(n_clusters=k)}


def measured(name, draw, choose, thorough):
    """All figures of one draw of a data set."""
    X, y, counts = read(name, draw)
    k = len(np.unique(y[counts]))

    def score(labels):
        return adjusted_rand_score(y[counts], labels[counts])

    row = {method: score(model.fit_predict(X)) for method, model in peers(k, draw).items()}
    begin = time.process_time()
    auto = AutoClustering(k, random_state=draw).fit(X)
    seconds = time.process_time() - begin
    row |= {"Auto": score(auto.labels_), "best ranked": score(auto.best_candidate_labels_)}
    if thorough:
        row["thorough"] = score(
            AutoClustering(k, tier="thorough", random_state=draw).fit(X).labels_
        )
    found = {"name": name, "draw": draw, "k": k, "ARI": row, "seconds": seconds}
    found["agreement"], found["words"] = auto.agreement_, auto.agreement_words_
    found["apart"] = auto.agreement_words_ == APART
    found["oracle"] = max(score(labels) for labels in auto.candidates_.labels)
    # every sample with the share of votes it got and whether its cluster's main class is its own
    table = np.array([[np.sum((auto.labels_ == c) & (y == t) & counts) for t in np.unique(y)]
                      for c in range(k)])  # fmt: skip
    right = np.unique(y)[table.argmax(axis=1)][auto.labels_] == y
    found["votes"] = np.column_stack([auto.confidence_, right])[counts]
    if choose and draw == 0 and k <= MAX_CLUSTERS:
        found |= choices(X, score)
    return found


def choices(X, score):
    """Numbers of clusters by several rules, and the score of AutoClustering with each."""
    numbers = range(2, MAX_CLUSTERS + 1)
    means = {k: KMeans(k, n_init=10, random_state=0).fit_predict(X) for k in numbers}
    silhouettes = {k: silhouette_score(X, means[k]) for k in numbers}
    bics = {k: GaussianMixture(k, random_state=0).fit(X).bic(X) for k in numbers}
    begin = time.process_time()
    auto = AutoClustering(max_clusters=MAX_CLUSTERS).fit(X)
    seconds = time.process_time() - begin
    chosen = {
        "AutoClustering": auto.n_clusters_,
        "silhouette": max(silhouettes, key=silhouettes.get),
        "BIC": min(bics, key=bics.get),
        "gap statistic": by_gap_statistic(X, means),
    }
    scores = {rule: score(AutoClustering(k).fit(X).labels_) for rule, k in chosen.items()}
    return {
        "chosen": chosen,
        "chosen ARI": scores,
        "plausible": auto.plausible_n_clusters_,
        "chosen seconds": seconds,
    }


def by_gap_statistic(X, means):
    """The rule of Tibshirani, Walther and Hastie (2001), in a box along principal components."""

    def log_scatter(X, labels):
        centers = np.array([X[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
        return np.log(np.sum((X - centers[labels]) ** 2))

    rng = np.random.default_rng(0)
    placed = PCA().fit_transform(X)
    low, high = placed.min(axis=0), placed.max(axis=0)
    drawn = rng.uniform(low, high, size=(N_REFERENCES, *placed.shape))
    gaps, errors = {}, {}
    for k, labels in means.items():
        logs = [log_scatter(one, KMeans(k, random_state=0).fit_predict(one)) for one in drawn]
        gaps[k] = np.mean(logs) - log_scatter(X, labels)
        errors[k] = np.std(logs) * np.sqrt(1 + 1 / N_REFERENCES)
    fit = (k for k, after in pairwise(gaps) if gaps[k] >= gaps[after] - errors[after])
    return next(fit, max(gaps))


def interval(differences, sources, n_draws=5_000):
    """95 % bootstrap interval of a mean, drawing sources."""
    rng = np.random.default_rng(0)
    groups = [differences[sources == one] for one in np.unique(sources)]
    sums, sizes = np.array([group.sum() for group in groups]), np.array([*map(len, groups)])
    drawn = rng.integers(len(groups), size=(n_draws, len(groups)))
    return np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])


def report_scores(rows):
    methods = list(rows[0]["ARI"])
    scores = {method: np.array([row["ARI"][method] for row in rows]) for method in methods}
    sources = np.array([source(row["name"]) for row in rows])
    safe = np.maximum(scores["KMeans"], scores["Spectral"])
    print(f"{'':14}{'mean ARI':>10}{'- KMeans':>10}{'95 %':>16}{'far below':>11}")
    for method in methods:
        gain = scores[method] - scores["KMeans"]
        low, high = interval(gain, sources)
        far = np.mean(scores[method] < safe - 0.10)
        print(
            f"{method:14}{scores[method].mean():10.3f}{gain.mean():+10.3f}"
            f"   [{low:+.3f},{high:+.3f}]{far:10.0%}"
        )
    regret = np.array([row["oracle"] for row in rows]) - scores["Auto"]
    print("far below: more than .10 below the better of KMeans and Spectral; with AutoClustering")
    lost = [row for row, far in zip(rows, scores["Auto"] < safe - 0.10, strict=True) if far]
    draws = sorted({row["draw"] for row in rows})
    by_draw = [sum(row["draw"] == draw for row in lost) for draw in draws]
    print(f"  {by_draw} of {len(rows) // len(draws)} sets in the draws:", end="")
    for name, times in Counter(row["name"] for row in lost).most_common():
        print(f" {name} {times}", end="")
    print()
    print(f"mean regret to the best candidate in hindsight: {regret.mean():.3f}")
    seconds = [row["seconds"] for row in rows]
    print(f"seconds of a fit: mean {np.mean(seconds):.2f}, most {max(seconds):.2f}")


def report_calibration(rows):
    apart = np.array([row["apart"] for row in rows])
    agreement = np.array([row["agreement"] for row in rows])
    score = np.array([row["ARI"]["Auto"] for row in rows])
    correlation = spearmanr(agreement[~apart], score[~apart])[0]
    print(
        f"rank correlation of agreement_ and ARI where clusters are not apart: {correlation:.2f}"
    )
    report_group("apart", score[apart])
    words = np.array([row["words"].split(":")[0] for row in rows])
    for word in ("strong", "moderate", "unsure", "weak", "none"):
        report_group(word, score[(words == word) & ~apart])
    votes, right = np.concatenate([row["votes"] for row in rows]).T
    print("share of the votes, of the samples, and of those in the main class of their cluster")
    for low, high in pairwise([0, 0.4, 0.6, 0.8, 0.95, np.inf]):
        inside = (votes >= low) & (votes < high)
        if inside.any():
            print(f"  from {low:4.2f} {inside.mean():6.0%}{right[inside].mean():7.2f}")


def report_group(word, score):
    if len(score):
        spread = np.quantile(score, [0.1, 0.5, 0.9]).round(2)
        print(f"  {word:9} {len(score):3} sets, ARI at 10, 50, 90 %: {spread}")


def draw_calibration(parts):
    """What agreement_ was, and how good the clusters."""
    fig, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    for part, marker in zip(parts, "osD", strict=False):
        rows = [row for row in parts[part] if not row["apart"] and row["draw"] == 0]
        points = [(row["agreement"], row["ARI"]["Auto"]) for row in rows]
        ax.plot(*np.transpose(points), marker, alpha=0.7, label=part)
    apart = [(row["agreement"], row["ARI"]["Auto"]) for rows in parts.values() for row in rows
             if row["apart"] and row["draw"] == 0]  # fmt: skip
    if apart:
        ax.plot(*np.transpose(apart), "k+", label="clusters lie apart")
    for least, _ in WORDS[:-1]:
        ax.axvline(least, color="grey", linewidth=0.8, linestyle=":")
    ax.set(xlabel="agreement_ across families", ylabel="adjusted Rand index with the classes")
    ax.legend()
    fig.savefig(PICTURE, dpi=110)
    print(f"drawn: {PICTURE.name}")


def report_choice(rows):
    rows = [row for row in rows if "chosen" in row]
    if not rows:
        return
    truth = np.array([row["k"] for row in rows])
    known = np.array([row["ARI"]["Auto"] for row in rows])
    print(f"{len(rows)} sets of 2 to {MAX_CLUSTERS} classes")
    print(f"{'':16}{'right':>8}{'within 1':>10}{'ARI':>8}")
    print(f"{'(classes)':16}{1:8.0%}{1:10.0%}{known.mean():8.3f}")
    for rule in rows[0]["chosen"]:
        off = np.abs([row["chosen"][rule] for row in rows] - truth)
        score = np.mean([row["chosen ARI"][rule] for row in rows])
        print(f"{rule:16}{np.mean(off == 0):8.0%}{np.mean(off <= 1):10.0%}{score:8.3f}")
    among = np.mean([row["k"] in row["plausible"] for row in rows])
    size = np.mean([len(row["plausible"]) for row in rows])
    print(f"true number among the plausible ones: {among:.0%} ({size:.1f} of them on average)")
    print(f"seconds of a fit: mean {np.mean([row['chosen seconds'] for row in rows]):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-k", action="store_true")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--draws", type=int, default=N_DRAWS)
    options = parser.parse_args()
    draws = range(1 if options.quick else options.draws)
    AutoClustering(3).fit(np.random.default_rng(0).normal(size=(90, 2)))  # compiles what it needs
    parts = {}
    for part in PARTS if options.part is None else [options.part]:
        heading(part)
        rows = parts[part] = []
        for name in PARTS[part].split()[:: 4 if options.quick else 1]:
            here = [measured(name, draw, not options.no_k, options.thorough) for draw in draws]
            rows += here
            means = {method: np.mean([row["ARI"][method] for row in here])
                     for method in here[0]["ARI"]}  # fmt: skip
            scores = "".join(f" {method} {score:.2f}" for method, score in means.items())
            print(f"{name:24} k={here[0]['k']:2}{scores}", flush=True)
        for title, report in (
            ("True number of clusters", report_scores),
            ("Agreement and votes", report_calibration),
            ("Choice of the number of clusters", report_choice),
        ):
            heading(title)
            report(rows)
    if len(parts) == len(PARTS):
        everything = [row for rows in parts.values() for row in rows]
        for title, some in (
            ("both halves", parts["development"] + parts["confirmation"]),
            ("all", everything),
        ):
            heading(f"True number of clusters, {title}: {len(some) // len(draws)} sets")
            report_scores(some)
        draw_calibration(parts)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # warnings of peers; degenerate runs count as they are
    main()
