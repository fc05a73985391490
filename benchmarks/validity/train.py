"""Learn the validity of labellings from synthetic data, and write the file that the library reads.

    python benchmarks/validity/train.py [--sets 1800] [--jobs 2]

Draws data sets, two thirds of them of general kinds and one third as people measure them, runs
the candidates of AutoClustering on each for the true and for some other numbers of clusters, and
grows trees that predict the adjusted Rand index from what can be told without the classes. Sets
are kept in benchmarks/results/validity, so that a run can be taken up again; a fifth of them are
held back and tell how good the trees are. No real data are used.
"""

import argparse
import json
import os
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
from measuring import measured
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor
from synthetic import AS_MEASURED, GENERAL, draw

import separatrix
from separatrix.validity.learned import among_features, matrix_of, with_sample

RESULTS = Path(__file__).parent.parent / "results" / "validity"
MODEL = Path(separatrix.__file__).parent / "validity" / "model.npz"
VERSION = "2"
# Kinds of data sets, and how many wrong numbers of clusters are tried on each.
BATCHES = {"general": (GENERAL, 3), "measured": (AS_MEASURED, 1)}
# Weights of data sets by kind: scenes, where candidates differ most, and what people measure.
WEIGHTS = {"scene": 2.0} | dict.fromkeys(AS_MEASURED, 1.5)
MOST_CLUSTERS = 40
SHARE_HELD_BACK = 5
# Each is small; more, or larger ones, gained nothing on held-back sets.
TREES = {"learning_rate": 0.1, "max_leaf_nodes": 8, "min_samples_leaf": 40}
N_TREES = 100
# Weight of random parts of the candidates beside all of them.
PART_WEIGHT = 0.3


# --- measuring ----------------------------------------------------------------------------------


def measure(batch, seed):
    """Records of one synthetic set; read from the file where there is one."""
    path = RESULTS / f"{batch}_{seed:05}.joblib"
    if path.exists():
        return joblib.load(path)
    kinds, n_others = BATCHES[batch]
    drawn = draw(seed, kinds)
    rng = np.random.default_rng([seed, 1])
    k = drawn.n_classes
    most = min(max(10, 2 * k - 1), MOST_CLUSTERS, len(drawn.y) // 8)
    others = [n for n in range(2, most + 1) if n != k]
    others = sorted(rng.permutation(others)[:n_others].tolist())
    records = measured(
        drawn.X, drawn.y, drawn.counts, seed=seed, tier="fast", other_numbers=others
    )
    for one in records.values():
        del one["labels"]
    found = {"seed": seed, "kind": drawn.kind, "n_classes": k, "records": records}
    joblib.dump(found, path, compress=3)
    return found


def numbered(n_sets):
    """Batch and seed of each of so many sets: two general ones, then one as measured."""
    return [("measured", i // 3) if i % 3 == 2 else ("general", i - i // 3) for i in range(n_sets)]


# --- learning -----------------------------------------------------------------------------------


def weight_of(one):
    """Weight of a data set."""
    return WEIGHTS.get(one["kind"], 1.0)


def examples_alone(sets, names, sample_names):
    """Features of labellings of any number of clusters, and how much better each is than most."""
    rows, values, weights = [], [], []
    for one in sets:
        scores = np.concatenate([record["ARI"] for record in one["records"].values()])
        for record in one["records"].values():
            features = matrix_of(record["features"], names)
            sample = [record["sample"][name] for name in sample_names]
            rows.append(with_sample(features, sample))
            values.append(record["ARI"] - scores.mean())
            weights.append(np.full(len(features), weight_of(one) / len(scores)))
    return np.vstack(rows), np.concatenate(values), np.concatenate(weights)


def examples_among(sets, names, sample_names, rng):
    """Features of labellings among others: among all candidates, and among some of them."""
    rows, values, weights = [], [], []
    for one in sets:
        record = one["records"][one["n_classes"]]
        n_found = len(record["names"])
        parts = [
            (np.arange(n_found), 1.0),
            (rng.permutation(n_found)[: rng.integers(2, 13)], PART_WEIGHT),
        ]
        for part, weight in parts:
            rows.append(among_rows(record, part, names, sample_names))
            values.append(record["ARI"][part] - record["ARI"][part].mean())
            weights.append(np.full(len(part), weight_of(one) * weight / len(part)))
    return np.vstack(rows), np.concatenate(values), np.concatenate(weights)


def among_rows(record, part, names, sample_names):
    return among_features(
        matrix_of([record["features"][i] for i in part], names),
        [record["sample"][name] for name in sample_names],
        record["agreement"][np.ix_(part, part)],
        [record["families"][i] for i in part],
    )


def grown(rows, values, weights):
    model = HistGradientBoostingRegressor(
        max_iter=N_TREES, l2_regularization=5.0, random_state=0, **TREES
    )
    return model.fit(rows, values, sample_weight=weights)


def as_arrays(model):
    """Trees of scikit-learn as the arrays of BoostedTrees."""
    n_nodes = 2 * TREES["max_leaf_nodes"] - 1
    shape = len(model._predictors), n_nodes
    arrays = {
        "feature": np.zeros(shape, dtype=np.uint8),
        "threshold": np.zeros(shape, dtype=np.float32),
        "left": np.zeros(shape, dtype=np.uint8),
        "right": np.zeros(shape, dtype=np.uint8),
        "value": np.zeros(shape, dtype=np.float32),
        "baseline": np.float64(np.ravel(model._baseline_prediction)[0]),
    }
    sources = {"feature": "feature_idx", "threshold": "num_threshold", "value": "value"}
    for tree, (predictor,) in enumerate(model._predictors):
        nodes = predictor.nodes
        inner = nodes["is_leaf"] == 0
        for name in ("feature", "threshold", "left", "right"):
            column = nodes[sources.get(name, name)]
            arrays[name][tree, : len(nodes)][inner] = column[inner]
        arrays["value"][tree, : len(nodes)] = nodes["value"]
    return arrays


def learned(sets, names, sample_names):
    """The two models, fitted to data sets."""
    rng = np.random.default_rng(0)
    alone = examples_alone(sets, names, sample_names)
    among = examples_among(sets, names, sample_names, rng)
    return {
        "alone": grown(*alone),
        "among": grown(*among),
    }


# --- judging ------------------------------------------------------------------------------------


def judged(models, sets, names, sample_names):
    """Rank correlation with the truth within sets, and what picking the best loses."""
    rows = []
    for one in sets:
        record = one["records"][one["n_classes"]]
        truth, everything = record["ARI"], np.arange(len(record["ARI"]))
        if np.ptp(truth) < 1e-9:
            continue  # all are as good
        sample = [record["sample"][name] for name in sample_names]
        predicted = {
            "alone": models["alone"].predict(
                with_sample(matrix_of(record["features"], names), sample)
            ),
            "among": models["among"].predict(among_rows(record, everything, names, sample_names)),
            "silhouette": np.array([told["silhouette"] for told in record["features"]]),
            "modularity": np.array([told["graph modularity"] for told in record["features"]]),
        }
        rows.append(
            {
                name: (
                    spearmanr(values, truth)[0] if np.ptp(values) > 0 else 0.0,
                    truth.max() - truth[np.argmax(values)],
                )
                for name, values in predicted.items()
            }
        )
    return {
        name: dict(
            zip(
                ("rank correlation", "regret"),
                np.nanmean([row[name] for row in rows], axis=0).round(3).tolist(),
                strict=True,
            )
        )
        for name in rows[0]
    }


def calibration(model, sets, names, sample_names):
    """What a difference in score means: mean difference in ARI from the set's mean, by score.

    The slope is that of least squares; one is perfect, less than one means that scores promise
    too much.
    """
    scores, truths = [], []
    for one in sets:
        record = one["records"][one["n_classes"]]
        sample = [record["sample"][name] for name in sample_names]
        score = model.predict(with_sample(matrix_of(record["features"], names), sample))
        scores.append(score - score.mean())
        truths.append(record["ARI"] - record["ARI"].mean())
    score, truth = np.concatenate(scores), np.concatenate(truths)
    edges = [-np.inf, -0.3, -0.2, -0.1, -0.03, 0.03, 0.1, 0.2, 0.3, np.inf]
    bins = {}
    for low, high in pairwise(edges):
        inside = (score >= low) & (score < high)
        if inside.sum() >= 20:
            means = score[inside].mean(), truth[inside].mean(), truth[inside].std()
            bins[f"{low:+.2f} to {high:+.2f}"] = [round(float(v), 3) for v in means]
    return {"slope": round(float(score @ truth / (score @ score)), 2), "bins": bins}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=1_800)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--measure-only", action="store_true")
    parser.add_argument("--output", type=Path, default=MODEL)
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    jobs = (joblib.delayed(measure)(*one) for one in numbered(options.sets))
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        sets = joblib.Parallel(options.jobs, batch_size=1, verbose=1)(jobs)
    if options.measure_only:
        return
    first = next(iter(sets[0]["records"].values()))
    names, sample_names = [*first["features"][0]], [*first["sample"]]
    held_back = [one for one in sets if one["seed"] % SHARE_HELD_BACK == 0]
    others = [one for one in sets if one["seed"] % SHARE_HELD_BACK != 0]
    models = learned(others, names, sample_names)
    figures = judged(models, held_back, names, sample_names)
    calibrated = calibration(models["alone"], held_back, names, sample_names)
    print(f"{len(held_back)} sets held back from {len(others)}")
    for name, figure in figures.items():
        print(f"  {name:12} " + ", ".join(f"{what} {value}" for what, value in figure.items()))
    print(f"  calibration of the score: slope {calibrated['slope']}")
    for place, (score, truth, spread) in calibrated["bins"].items():
        print(f"  score {place}: mean {score:+.2f}, ARI {truth:+.2f} +- {spread:.2f}")
    models = learned(sets, names, sample_names)
    arrays = {"version": VERSION, "names": names, "sample_names": sample_names}
    for kind, model in models.items():
        arrays |= {f"{kind}_{part}": array for part, array in as_arrays(model).items()}
    np.savez_compressed(options.output, **arrays)
    summary = {"version": VERSION, "n_sets": len(sets), "held back": figures}
    summary["calibration"] = calibrated
    (RESULTS / "figures.json").write_text(json.dumps(summary, indent=1))
    print(f"written: {options.output.name}, {options.output.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
