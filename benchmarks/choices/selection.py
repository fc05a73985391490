"""AutoClustering beside single methods on 98 labelled data sets, at full n.

    python benchmarks/choices/selection.py measure [--part P] [--rows 10000] [--draws 5]
    python benchmarks/choices/selection.py report --part development
    python benchmarks/choices/selection.py rules --part development

`measure` runs the default, its thorough tier and peers on each set, and keeps what was found
(labels, features and scores of all candidates) in benchmarks/results/selection, one file for each
set and draw, so that rules can be compared in seconds. It prints no score. `report` reads them,
prints the figures and writes them to selection.json and selection.html. `rules` tells what other
rules would have made of the same candidates.

Rules are settled on the development part and read once on the others. Each look at another part
is noted in selection_log.jsonl, with a fingerprint of the code and of the learned validity; a
look with another fingerprint is refused unless --again gives the reason, which is noted too.
"""

import argparse
import ast
import hashlib
import html
import json
import sys
import time
import warnings
from datetime import date
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
from scipy.sparse import issparse
from scipy.stats import spearmanr
from sklearn import datasets
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import (
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    silhouette_score,
)
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import AutoClustering
from separatrix.models.extensions import RULES
from separatrix.selection import consensus
from separatrix.selection.auto import MAX_SAMPLES
from separatrix.similarity.geometry import Geometry
from separatrix.validity.features import Measures, labelling_features, sample_features
from separatrix.validity.learned import learned_validity

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "validity"))
from measuring import measured

from data import load, without_constant_features
from output import heading

HERE = Path(__file__).resolve().parent
MAX_FEATURES, MAX_CLUSTERS = 50, 10
# Rows on which numbers of clusters are chosen by rules that take long on many.
CHOICE_ROWS = 2_000
N_REFERENCES = 5
# Adjusted Rand index from which on a candidate has found the classes.
VISIBLE = 0.5
RESULTS = HERE.parent / "results" / "selection"
LOG = HERE / "selection_log.jsonl"
# A colon comes before the first class and the one behind the last.
PARTS = {
    "development": """australian breast_wisconsin colic heart_statlog house_votes ionosphere
        letter:0-8 optdigits satimage svmguide1 twonorm usps waveform_ida sklearn-wine
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
        newsgroups20_tf:7-11 newsgroups20_tf:11-15 newsgroups20_tf:15-20 sipu-a2 sipu-a3
        sipu-worms_2 g2mg-g2mg_128_10 g2mg-g2mg_16_30 g2mg-g2mg_2_10 h2mg-h2mg_128_10
        h2mg-h2mg_16_30 h2mg-h2mg_2_10 h2mg-h2mg_128_50 sipu-birch1:0-26""",
}
PARTS = {part: names.split() for part, names in PARTS.items()}
# Sets that come from the same data count as one in intervals.
SOURCES = {"sklearn-iris": "iris", "other-iris5": "iris", "uci-statlog": "image_ida"}
SAME_KIND = {"coil20", "mnist", "optdigits", "usps", "isolet_1_5", "newsgroups20_tf"}
DRAWN_AT_RANDOM = {"banana", "twonorm", "ringnorm", "waveform_ida"}
TABULAR = ("sklearn", "uci")
INDICES = ("silhouette", "Calinski-Harabasz", "Davies-Bouldin", "DBCV of trees")


# --- data sets ----------------------------------------------------------------------------------


def source(name):
    battery = name.split("-")[0]
    return battery if battery in ("g2mg", "h2mg") else SOURCES.get(name, name.split(":")[0])


def is_real(name):
    """Whether samples were measured, not drawn."""
    name = name.split(":")[0]  # a range of classes has a dash, too
    battery, _, member = name.partition("-")
    measured_ones = not member or battery in TABULAR or name.startswith("other-iris")
    return measured_ones and name not in DRAWN_AT_RANDOM


def read(name, rows):
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
    if len(y) > rows:
        kept = np.random.default_rng(1000).permutation(len(y))[:rows]
        X, y = X[kept], y[kept]
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


# --- measuring ----------------------------------------------------------------------------------


def peers(k, n_features):
    # ARPACK takes minutes on thousands of samples in many dimensions
    solver = "lobpcg" if n_features > 4 else "arpack"
    models = {
        "KMeans": KMeans(k, n_init=10, random_state=0),
        "GaussianMixture": GaussianMixture(k, random_state=0),
        "Spectral": SpectralClustering(
            k, affinity="nearest_neighbors", eigen_solver=solver, random_state=0
        ),
        "Ward": AgglomerativeClustering(k),
    }
    try:
        from genieclust import Genie
        from lumbermark import Lumbermark
    except ImportError:
        return models
    return models | {"Genie": Genie(n_clusters=k), "Lumbermark": Lumbermark(n_clusters=k)}


def stored(name, rows, what):
    return RESULTS / f"{name.replace(':', '_')}_{rows}_{what}.joblib"


def scorer(y, counts):
    """Function of labels: their adjusted Rand index with the classes that count."""
    return lambda labels: adjusted_rand_score(y[counts], np.asarray(labels)[counts])


def peer_scores(X, k, score):
    """Scores and processor seconds of single methods."""
    scores, seconds = {}, {}
    for method, model in peers(k, X.shape[1]).items():
        begin = time.process_time()
        try:
            scores[method] = score(model.fit_predict(X))
        except (ValueError, np.linalg.LinAlgError):  # one that fails scores nothing
            scores[method] = 0.0
        seconds[method] = time.process_time() - begin
    return scores, seconds


def measure_peers(name, rows, choose):
    """Scores of single methods, and numbers of clusters by other rules; kept in a file."""
    path = stored(name, rows, "peers")
    if path.exists():
        return
    warnings.simplefilter("ignore")  # degenerate runs count as they are
    X, y, counts = read(name, rows)
    k = len(np.unique(y[counts]))
    scores, seconds = peer_scores(X, k, scorer(y, counts))
    found = {"scores": scores, "seconds": seconds}
    if choose and k <= MAX_CLUSTERS:
        found["chosen"] = chosen_by_others(X, y, counts)
    joblib.dump(found, path, compress=3)


def measure_default(name, rows, draw, choose, tiers=("fast", "thorough")):
    """Scores of AutoClustering and of its candidates, kept in a file with the rules' hash."""
    path = stored(name, rows, draw)
    if path.exists() and joblib.load(path)["rules"] == fingerprint():
        return
    warnings.simplefilter("ignore")
    X, y, counts = read(name, rows)
    k, score = len(np.unique(y[counts])), scorer(y, counts)
    found = {"name": name, "rules": fingerprint(), "draw": draw, "k": k, "shape": X.shape}
    found |= {"ARI": {}, "seconds": {}}
    for tier in tiers if draw == 0 else ("fast",):
        begin = time.process_time()
        model = AutoClustering(k, tier=tier, random_state=draw).fit(X)
        found["seconds"][tier] = time.process_time() - begin
        found["ARI"][tier] = score(model.labels_)
        seen = model.sample_indices_
        best = scorer(y[seen], counts[seen])(model.best_candidate_labels_)
        found["ARI"][f"{tier}, best candidate"] = best
        found[tier] = what_was_found(model, X, y, counts)
        if len(model.sample_indices_) < len(X) and len(tiers) > 1:
            found[tier]["extensions"] = by_every_rule(model, X, score)
    if choose and draw == 0 and k <= MAX_CLUSTERS:
        auto = AutoClustering(max_clusters=MAX_CLUSTERS).fit(X)
        found["choice"] = {
            "chosen": auto.n_clusters_,
            "without the test": auto.n_clusters_if_any_,
            "plausible": auto.plausible_n_clusters_,
            "ARI": score(auto.labels_),
        }
    joblib.dump(found, path, compress=3)


def what_was_found(model, X, y, counts):
    """Candidates with their features and scores, on the samples that they saw, and the rest."""
    seen = model.sample_indices_
    y, counts = y[seen], counts[seen]
    rows = model.boundary_.frame(X[seen])
    return what_candidates_found(model.candidates_, rows, y, counts) | {
        "seen": seen,
        "consensus ARI": adjusted_rand_score(y[counts], model.labels_[seen][counts]),
        "boundary": (model.boundary_.rule, model.boundary_.accuracies),
        "agreement_": model.agreement_,
        "words": model.agreement_words_,
        "p": model.structure_.p_value,
    }


def what_candidates_found(found, rows, y, counts):
    """Candidates with their features and scores."""
    measures = Measures(Geometry(rows), np.random.RandomState(0))
    kept = [i for i, labels in enumerate(found.labels) if labels.max() > 0]
    labels = found.labels[kept]
    told = [labelling_features(measures, one) for one in labels]
    return {
        "y": y,
        "counts": counts,
        "names": [found.names[i] for i in kept],
        "families": [found.families[i] for i in kept],
        "labels": labels.astype(np.uint8),
        "features": told,
        "sample": sample_features(measures, int(labels.max()) + 1),
        "agreement": found.agreement[np.ix_(kept, kept)],
        "usable": found.usable[kept],
        "votes": found.votes[kept],
        "validity": found.scores["validity"][kept],
        "ARI": np.array([adjusted_rand_score(y[counts], one[counts]) for one in labels]),
        "indices": {
            "silhouette": np.array([one["silhouette"] for one in told]),
            "Calinski-Harabasz": np.array([calinski_harabasz_score(rows, one) for one in labels]),
            "Davies-Bouldin": -np.array([davies_bouldin_score(rows, one) for one in labels]),
            "DBCV of trees": np.array([one["core tree validity"] for one in told]),
        },
    }


def by_every_rule(model, X, score):
    """Scores of the consensus, carried to all samples by each rule."""
    seen = model.sample_indices_
    frame = model.boundary_.frame
    scores = {}
    for name, rule in RULES.items():
        labels = rule.of(frame(X[seen]), model.labels_[seen], model.n_clusters_)
        carried = labels.scores(frame(X)).argmax(axis=1)
        carried[seen] = model.labels_[seen]
        scores[name] = score(carried)
    return scores | {"chosen": score(model.labels_)}


def chosen_by_others(X, y, counts):
    """Numbers of clusters by other rules."""
    kept = np.sort(np.random.default_rng(0).permutation(len(X))[:CHOICE_ROWS])
    rows, numbers = X[kept], range(2, MAX_CLUSTERS + 1)
    means = {k: KMeans(k, n_init=10, random_state=0).fit_predict(rows) for k in numbers}
    silhouettes = {k: silhouette_score(rows, means[k]) for k in numbers}
    bics = {k: GaussianMixture(k, random_state=0).fit(rows).bic(rows) for k in numbers}
    records = measured(rows, y[kept], counts[kept], seed=0, tier="fast", other_numbers=numbers)
    agreements = {k: agreement_less_cuts(records[k]) for k in numbers}
    return {
        "agreement less cuts": max(agreements, key=agreements.get),
        "silhouette": max(silhouettes, key=silhouettes.get),
        "BIC": min(bics, key=bics.get),
        "gap statistic": by_gap_statistic(rows, means),
    }


def agreement_less_cuts(record):
    """The evidence that the number of clusters was chosen by before validity was learned."""
    agreement = consensus.agreement_between_families(record["agreement"], record["families"])
    return agreement - 4 * min(told["graph cut"] for told in record["features"])


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


# --- reading ------------------------------------------------------------------------------------


def fingerprint():
    """Hash of the code that chooses, without its comments, and of the learned validity."""
    package = Path(separatrix.__file__).parent
    files = [*package.glob("selection/*.py"), *package.glob("validity/*.py")]
    files += [package / "models" / "extensions.py", package / "similarity" / "geometry.py"]
    digest = hashlib.sha256((package / "validity" / "model.npz").read_bytes())
    for path in sorted(files):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            first = getattr(node, "body", None)
            first = first[0] if isinstance(first, list) and first else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value.value = ""
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()[:12]


def note_look(part, again):
    """Keep a note that a part was looked at; refuse a second look with other rules."""
    if part == "development":
        return
    now = fingerprint()
    looks = [json.loads(line) for line in LOG.read_text().splitlines()] if LOG.exists() else []
    before = [look for look in looks if look["part"] == part and look["rules"] != now]
    if before and not again:
        raise SystemExit(
            f"{part} was read on {before[-1]['date']} with other rules, {before[-1]['rules']}; "
            f"now they are {now}. What is chosen after that is no longer confirmed by it. Give "
            "the reason with --again to read it all the same; it is noted."
        )
    look = {"date": str(date.today()), "part": part, "rules": now, "again": again or ""}
    if look not in looks:
        with LOG.open("a") as file:
            file.write(json.dumps(look) + "\n")


def mean(values):
    return float(np.mean(values)) if len(values) else np.nan


def interval(differences, sources, n_draws=5_000):
    """95 % bootstrap interval of a mean, drawing sources."""
    rng = np.random.default_rng(0)
    groups = [differences[sources == one] for one in np.unique(sources)]
    sums, sizes = np.array([group.sum() for group in groups]), np.array([*map(len, groups)])
    drawn = rng.integers(len(groups), size=(n_draws, len(groups)))
    return np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])


def gathered(names, rows):
    """Figures of the sets that were measured, averaged over draws."""
    sets = []
    for name in names:
        others, first = stored(name, rows, "peers"), stored(name, rows, 0)
        if not others.exists() or not first.exists():
            print(f"not measured: {name}")
            continue
        draws = [joblib.load(path) for path in sorted(first.parent.glob(
            first.name.replace("_0.joblib", "_[0-9].joblib")))]  # fmt: skip
        if any(draw["rules"] != fingerprint() for draw in draws):
            print(f"measured with other rules: {name}")
        one, others = draws[0], joblib.load(others)
        one["peers"] = others["scores"]
        one["scores"] = others["scores"] | one["ARI"]
        for key in ("fast", "fast, best candidate"):
            one["scores"][key] = float(np.mean([draw["ARI"][key] for draw in draws]))
        one["draws"] = [draw["ARI"]["fast"] for draw in draws]
        if "choice" in one and "chosen" in others:
            choice = one["choice"]
            chosen = {"AutoClustering": choice["chosen"]}
            chosen |= {"without the null test": choice["without the test"], **others["chosen"]}
            one["choices"] = {"chosen": chosen, "plausible": choice["plausible"]}
        sets.append(one)
    return sets


def report(sets, title):
    """Print figures of sets and return them."""
    heading(f"{title}: {len(sets)} sets")
    figures = {"title": title, "n_sets": len(sets)}
    sources = np.array([source(one["name"]) for one in sets])
    real = np.array([is_real(one["name"]) for one in sets])
    methods = [*sets[0]["scores"]]
    scores = {m: np.array([one["scores"].get(m, np.nan) for one in sets]) for m in methods}
    safe = np.maximum(scores["KMeans"], scores["Spectral"])
    best_peer = max(sets[0]["peers"], key=lambda m: scores[m].mean())
    print(f"{'mean ARI':26}{'all':>7}{'real':>7}{'others':>8}{'far below':>11}"
          f"{'fast - it':>12}{'95 %':>17}")  # fmt: skip
    figures["mean ARI"] = {}
    for method in methods:
        values = scores[method]
        ahead = scores["fast"] - values
        low, high = interval(ahead, sources)
        far = int(np.sum(values < safe - 0.10))
        groups = {"all": real | True, "real": real, "others": ~real}
        row = {group: mean(values[inside]) for group, inside in groups.items()}
        row |= {"far below": far, "fast ahead": ahead.mean(), "interval": [low, high]}
        figures["mean ARI"][method] = row
        print(
            f"{method:26}{row['all']:7.3f}{row['real']:7.3f}{row['others']:8.3f}{far:11}"
            f"{ahead.mean():+12.3f}   [{low:+.3f},{high:+.3f}]"
        )
    print("far below: sets more than .10 below the better of KMeans and Spectral; fast:", end=" ")
    print(*[one["name"] for one, v, s in zip(sets, scores["fast"], safe, strict=True)
            if v < s - 0.10])  # fmt: skip
    figures["best peer"] = best_peer
    figures |= selection_figures(sets) | extension_figures(sets) | choice_figures(sets)
    figures |= word_figures(sets)
    seconds = {tier: [one["seconds"][tier] for one in sets] for tier in ("fast", "thorough")}
    for tier, values in seconds.items():
        print(f"processor seconds, {tier}: mean {np.mean(values):.1f}, most {max(values):.1f}")
    return figures


def selection_figures(sets):
    """Regret and rank correlation of rules on the same candidates."""
    regrets, correlations = {}, {}
    for one in sets:
        found = one["fast"]
        truth = found["ARI"]
        rules = {"validity": found["validity"], "votes": found["votes"], **found["indices"]}
        regrets.setdefault("consensus", []).append(truth.max() - found["consensus ARI"])
        for rule, values in rules.items():
            regrets.setdefault(rule, []).append(truth.max() - truth[np.nanargmax(values)])
            if np.ptp(truth) > 1e-9 and np.ptp(values) > 0:
                correlations.setdefault(rule, []).append(spearmanr(values, truth)[0])
    print(f"{'':20}{'regret':>8}{'rank correlation':>18}")
    for rule, values in regrets.items():
        shown = f"{np.mean(correlations[rule]):18.2f}" if rule in correlations else ""
        print(f"{rule:20}{np.mean(values):8.3f}{shown}")
    return {
        "regret": {rule: float(np.mean(values)) for rule, values in regrets.items()},
        "rank correlation": {rule: float(np.mean(v)) for rule, v in correlations.items()},
    }


def extension_figures(sets):
    """Mean scores of the consensus by the rule that carries it to all samples."""
    sets = [one["fast"]["extensions"] for one in sets if "extensions" in one["fast"]]
    if not sets:
        return {}
    means = {rule: float(np.mean([one[rule] for one in sets])) for rule in sets[0]}
    print(f"carried from {MAX_SAMPLES['fast']:,} samples to all, {len(sets)} sets:", end="")
    print("".join(f" {rule} {value:.3f}" for rule, value in means.items()))
    return {"extensions": means}


def choice_figures(sets):
    """How often each rule finds the number of classes."""
    sets = [one for one in sets if "choices" in one]
    if not sets:
        return {}
    truth = np.array([one["k"] for one in sets])
    visible = np.array([one["fast"]["ARI"].max() > VISIBLE for one in sets])
    print(f"number of clusters, {len(sets)} sets of 2 to {MAX_CLUSTERS} classes, ", end="")
    print(f"{visible.sum()} with classes that a candidate finds (ARI above {VISIBLE})")
    print(f"{'':22}{'right':>7}{'within 1':>10}{'right of found':>16}")
    figures = {}
    for rule in sets[0]["choices"]["chosen"]:
        off = np.abs([one["choices"]["chosen"][rule] for one in sets] - truth)
        figures[rule] = [mean(off == 0), mean(off <= 1), mean(off[visible] == 0)]
        print(f"{rule:22}{figures[rule][0]:7.0%}{figures[rule][1]:10.0%}{figures[rule][2]:16.0%}")
    among = np.mean([one["k"] in one["choices"]["plausible"] for one in sets])
    print(f"true number among the plausible ones: {among:.0%}")
    return {"number of clusters": figures, "n_chosen": len(sets), "plausible": float(among)}


def word_figures(sets):
    """How good the clusters are, by what is said of them."""
    agreement = [one["fast"]["agreement_"] for one in sets]
    scores = [one["scores"]["fast"] for one in sets]
    correlation = float(spearmanr(agreement, scores)[0])
    print(f"rank correlation of agreement_ and ARI over sets: {correlation:.2f}")
    figures = {}
    words = np.array([one["fast"]["words"].split(":")[0] for one in sets])
    apart = np.array([one["fast"]["words"] == consensus.APART for one in sets])
    words = np.where(apart, "apart", words)
    for word in ("apart", "strong", "moderate", "unsure", "weak", "none"):
        inside = np.array(scores)[words == word]
        if len(inside):
            spread = np.quantile(inside, [0.1, 0.5, 0.9]).round(2).tolist()
            figures[word] = {"n_sets": len(inside), "ARI at 10, 50, 90 %": spread}
            print(f"  {word:9} {len(inside):3} sets, ARI at 10, 50, 90 %: {spread}")
    return {"words": figures, "correlation of agreement": correlation}


def compare_rules(sets):
    """Print what other rules would make of the same candidates, on the samples that they saw."""
    rows = {}
    for one in sets:
        found, score = one["fast"], scorer(one["fast"]["y"], one["fast"]["counts"])
        voters = np.flatnonzero(found["usable"])
        if len(voters) == 0:
            continue
        labels = found["labels"][voters].astype(np.int32)
        for name, weights in rules_of(found, voters, min(one["shape"][1], 50)).items():
            used, rng = weights > 0, np.random.RandomState(0)
            voted = consensus.consensus_labels(labels[used], weights[used], one["k"], rng)
            rows.setdefault(name, []).append(score(voted))
    default = np.array(rows["the default"])
    print(f"{'rule':24}{'mean ARI':>9}{'- the default':>15}{'s.e.':>7}   on {len(default)} sets, "
          "on the samples that candidates saw")  # fmt: skip
    for name, values in rows.items():
        more = np.array(values) - default
        error = more.std() / np.sqrt(len(more))
        print(f"{name:24}{np.mean(values):9.4f}{more.mean():+15.4f}{error:7.4f}")


def rules_of(found, voters, n_features):
    """Weights of the candidates that may vote, by the name of a rule."""
    families = [found["families"][i] for i in voters]
    alone = found["validity"][voters]
    among = learned_validity().of_several(
        [found["features"][i] for i in voters],
        found["sample"],
        found["agreement"][np.ix_(voters, voters)],
        families,
    )
    standing = consensus.standing_of(alone, among, families, n_features)
    rules = {"the default": consensus.vote_weights(standing, n_features)}
    rules["all alike"] = np.full(len(voters), 1 / len(voters))
    rules["families alike"] = consensus.family_weights(families)
    standings = {"standing": standing, "no credit": (alone + among) / 2}
    for name, values in (standings | {"alone": alone, "among": among}).items():
        rules[f"best by {name}"] = np.eye(len(voters))[values.argmax()]
        for temperature in (0.03, 0.045, 0.07, 0.1, 0.15):
            weights = np.exp((values - values.max()) / temperature)
            weights[weights < consensus.LEAST_WEIGHT] = 0.0
            rules[f"{name}, {temperature}"] = weights / weights.sum()
    return rules


PAGE = """<!doctype html><meta charset="utf-8"><title>Choosing without labels</title>
<style>body{{font:15px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}}
table{{border-collapse:collapse;margin:1rem 0}}td,th{{padding:.15rem .8rem;text-align:right}}
td:first-child,th:first-child{{text-align:left}}tr:nth-child(even){{background:#f3f3f3}}</style>
<h1>Choosing without labels</h1>
<p>Adjusted Rand index on labelled sets at full n (at most {rows:,} rows), the number of clusters
given. Rules {rules}; intervals are 95 % bootstraps over sources.</p>{sections}"""


def page_of(results, rows):
    """The figures as a page."""
    sections = []
    for figures in results:
        lines = ["<tr><th><th>all<th>real<th>others<th>far below<th>fast ahead<th>95 %"]
        for method, row in figures["mean ARI"].items():
            low, high = row["interval"]
            lines.append(
                f"<tr><td>{html.escape(method)}<td>{row['all']:.3f}<td>{row['real']:.3f}"
                f"<td>{row['others']:.3f}<td>{row['far below']}<td>{row['fast ahead']:+.3f}"
                f"<td>{low:+.3f} to {high:+.3f}"
            )
        lines.append("</table><table><tr><th>rule<th>regret<th>rank correlation")
        for rule, value in figures["regret"].items():
            correlation = figures["rank correlation"].get(rule)
            shown = "" if correlation is None else f"{correlation:.2f}"
            lines.append(f"<tr><td>{rule}<td>{value:.3f}<td>{shown}")
        for rule, (right, near, visible) in figures.get("number of clusters", {}).items():
            if rule == "AutoClustering":
                header = "number of clusters<th>right<th>within 1<th>right where candidates are"
                lines.append(f"</table><table><tr><th>{header}")
            lines.append(f"<tr><td>{rule}<td>{right:.0%}<td>{near:.0%}<td>{visible:.0%}")
        title = html.escape(f"{figures['title']}: {figures['n_sets']} sets")
        sections.append(f"<h2>{title}</h2><table>{''.join(lines)}</table>")
    return PAGE.format(rows=rows, rules=fingerprint(), sections="".join(sections))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "report", "rules"])
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--draws", type=int, default=5, help="of sets that are sampled")
    parser.add_argument("--sets", type=int, help="only so many of each part")
    parser.add_argument("--no-k", action="store_true")
    parser.add_argument("--peers-only", action="store_true")
    parser.add_argument("--fast", action="store_true", help="all that trust.py reads, no more")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", help="why a part is read with other rules than before")
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    parts = options.part or [*PARTS]
    names = {part: PARTS[part][: options.sets] for part in parts}
    if options.what == "measure":
        jobs, choose = [], not options.no_k
        tiers = ("fast",) if options.fast else ("fast", "thorough")
        for name in [name for part in parts for name in names[part]]:
            if not options.fast:
                jobs.append(joblib.delayed(measure_peers)(name, options.rows, choose))
            sampled = len(read(name, options.rows)[1]) > MAX_SAMPLES["fast"]
            several = sampled and not (options.peers_only or options.fast)
            for draw in range(options.draws if several else 1):
                if not options.peers_only:
                    arguments = name, options.rows, draw, choose, tiers
                    jobs.append(joblib.delayed(measure_default)(*arguments))
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            joblib.Parallel(options.jobs, batch_size=1, verbose=1)(jobs)
        return
    for part in parts:
        note_look(part, options.again)
    if options.what == "rules":
        compare_rules(gathered([name for part in parts for name in names[part]], options.rows))
        return
    results, everything = [], []
    for part in parts:
        sets = gathered(names[part], options.rows)
        results.append(report(sets, part))
        everything += sets
    if len(parts) == 3:
        others = [one for one in everything if one["name"] not in PARTS["development"]]
        results += [report(others, "confirmation and third"), report(everything, "all")]
    (RESULTS / "selection.json").write_text(json.dumps(results, indent=1, default=float))
    (RESULTS / "selection.html").write_text(page_of(results, options.rows))
    print("\nwritten: selection.json and selection.html in benchmarks/results/selection")


if __name__ == "__main__":
    main()
