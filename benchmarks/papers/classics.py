"""Columns LDA-KM and Dis-KM of table 2 of the maximin separation probability paper, beside ours.

G. Huang, J. Zhang, S. Song, Z. Chen, "Maximin separation probability clustering", AAAI 2015, on
the methods of
C. Ding, T. Li, "Adaptive dimension reduction using discriminant analysis and k-means clustering",
ICML 2007, and
J. Ye, Z. Zhao, M. Wu, "Discriminative k-means for clustering", NIPS 2007.
The published figures are in mspc.toml.
"""

import argparse
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.classics.discriminative_kmeans import DiscriminativeKMeans
from separatrix.classics.lda_kmeans import LDAKMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mspc import PUBLISHED, REGS, task

from data import folder
from output import heading

TOLERANCE = 0.5  # points of error within which a figure counts as reproduced
METHODS = {"lda_km": LDAKMeans, "dis_km": DiscriminativeKMeans}
N_STARTS = {"lda_km": 1, "dis_km": 10}
# What lambda is added to: the covariance of the samples, or their scatter, n times as large.
MATRICES = ("covariance", "scatter")


@cache
def typical_variance(name):
    """The unit of the estimators' reg."""
    variances = np.linalg.eigvalsh(np.cov(task(name).X.T, bias=True))
    return (variances**2).sum() / variances.sum()


def error(name, column, *, lam=None, matrix="covariance", n_init=1):
    """Clustering error in percent; the estimator's own reg without `lam`."""
    this = task(name)
    model = METHODS[column](2, n_init=n_init, random_state=0)
    if lam is not None:
        added = lam if matrix == "covariance" else lam / this.n
        model.set_params(reg=added / typical_variance(name))
    return this.error(model.fit(this.X).labels_)


def in_hindsight(name, column, **protocol):
    """Lowest error over the paper's grid for lambda, and where it is: chosen by true classes."""
    return min((error(name, column, lam=lam, **protocol), lam) for lam in REGS)


def ticked(value, published):
    """An error with a tick where it is as published."""
    return f"{value:8.2f}{'✓' if abs(value - published) <= TOLERANCE else ' '}"


def table2(names):
    heading("Table 2: clustering error in percent")
    print(
        f"✓ within {TOLERANCE} points of the paper. 'best' takes the lambda of lowest error from\n"
        "1e-4 ... 1e4, chosen by the true classes as in the paper; all else is the same for all\n"
        "sets. The identity times lambda is added to the covariance matrix. LDA-KM starts from\n"
        "k-means on the features, Dis-KM from that and from nine k-means++ runs in whitened\n"
        "coordinates, of which the objective picks one. 'default' is the estimator as it is: one\n"
        "start, no classes. The paper says neither what lambda is added to nor where to start;\n"
        "of the variants tried (--variants) these are, for each method, the nearest to its column."
    )
    for column in METHODS:
        print(
            f"\n{column.upper().replace('_', '-'):12}{'paper':>8}{'best':>8}{'lambda':>9}"
            f"{'default':>9}"
        )
        hits = []
        for name in names:
            paper = PUBLISHED["table2"][name][column]
            best, lam = in_hindsight(name, column, n_init=N_STARTS[column])
            hits += [name] if abs(best - paper) <= TOLERANCE else []
            print(
                f"{name:12}{paper:8.2f}{ticked(best, paper)}{lam:8g}{error(name, column):9.2f}",
                flush=True,
            )
        missed = [name for name in names if name not in hits]
        print(f"{len(hits)} of {len(names)}" + (f", not on {', '.join(missed)}" if missed else ""))


def variants(names):
    heading("Variants: error at the lambda of lowest error")
    print(
        "What lambda is added to, and the number of starts; the first start is k-means on the\n"
        "features, further ones are k-means++ runs in whitened coordinates, and the objective\n"
        "picks one."
    )
    protocols = [(matrix, n_init) for matrix in MATRICES for n_init in (1, 10)]
    labels = [f"{matrix} {n_init}" for matrix, n_init in protocols]
    for column in METHODS:
        title = column.upper().replace("_", "-")
        print(f"\n{title:12}{'paper':>8}" + "".join(f"{label:>15}" for label in labels))
        hits = np.zeros(len(protocols), dtype=int)
        for name in names:
            paper = PUBLISHED["table2"][name][column]
            row = [
                in_hindsight(name, column, matrix=matrix, n_init=n_init)[0]
                for matrix, n_init in protocols
            ]
            hits += [abs(value - paper) <= TOLERANCE for value in row]
            cells = "".join(f"{ticked(value, paper):>15}" for value in row)
            print(f"{name:12}{paper:8.2f}{cells}", flush=True)
        print(f"{'reproduced':20}" + "".join(f"{count:14} " for count in hits))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the mnist tasks")
    parser.add_argument(
        "--variants", action="store_true", help="what the paper leaves open, the other ways too"
    )
    arguments = parser.parse_args()
    folder()  # ends the script here where there are no data
    warnings.simplefilter("ignore", ConvergenceWarning)  # a run of 300 updates counts as it is
    begin = time.perf_counter()
    names = [
        name for name in PUBLISHED["table2"] if not (arguments.quick and name.startswith("mnist"))
    ]
    table2(names)
    if arguments.variants:
        variants(names)
    print(f"\n{time.perf_counter() - begin:.0f} seconds")


if __name__ == "__main__":
    main()
