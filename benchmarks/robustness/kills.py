"""Kills and interrupts of `separatrix cluster` at random moments: outputs are whole, of one run.

A command that finds two clusters and one that finds three take turns to write the same labels,
report and model. Each is stopped at a random moment, half of them only after it has begun to make
its outputs. After that the three files must be the old ones or the new ones, all of the same
command and all readable. In the end a command that is left alone must leave no hidden folder.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from separatrix.cli import Refusal
from separatrix.cli.columns import read_again
from separatrix.cli.models import load_model

PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal
from separatrix.cli import main
main()
"""
OUTPUTS = {"--out": "labels.csv", "--report": "report.html", "--model": "model.skops"}
NUMBERS = (2, 3)  # of clusters
ENDS = ("old", "new", "corrupt", "mixed")


def start(folder, n_clusters):
    """Start a command that writes all outputs, in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, "cluster", "data.csv", "-m", "separation"]
    command += ["-k", str(n_clusters), *(word for pair in OUTPUTS.items() for word in pair)]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=folder, **streams)


def hidden(folder):
    """What work in the making makes, or has left."""
    return {path for path in folder.iterdir() if path.name.startswith(".")}


def run(folder, n_clusters):
    """Seconds of a command that is left alone, and of them those since it began its outputs."""
    begin, made, before = time.monotonic(), None, hidden(folder)
    process = start(folder, n_clusters)
    while process.poll() is None:
        if made is None and hidden(folder) - before:
            made = time.monotonic()
        time.sleep(0.002)
    assert process.returncode == 0
    return time.monotonic() - begin, time.monotonic() - made


def stop(process, number, folder, seconds, before=None):
    """Send a signal after some seconds, counted since there is more than `before`, if it is given.

    Returns
    -------
    at_work : bool
        Whether the process had not ended before.
    """
    while before is not None and not hidden(folder) - before and process.poll() is None:
        time.sleep(0.002)
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.0005)
    at_work = process.poll() is None
    process.send_signal(number)
    process.wait()
    return at_work


def contents(folder):
    """Labels and report as bytes, and the labels that the model predicts; None if it has none."""
    try:
        pipeline, _ = load_model(folder / "model.skops")
        predicted = pipeline.predict(read_again(str(folder / "data.csv"), pipeline).data).tolist()
    except Refusal:
        predicted = None
    return [*((folder / name).read_bytes() for name in ("labels.csv", "report.html")), predicted]


def state(found, old, expected):
    """What the three files are, where `expected` has those of each command."""
    if not all(any(kept[i] == one for kept in expected) for i, one in enumerate(found)):
        return "corrupt"
    if found not in expected:
        return "mixed"
    return "old" if found == old else "new"


def stopped(folder, number, n_runs, rng, expected, whole, making):
    """Counts of what is found after commands that were stopped."""
    counts: Counter = Counter()
    for _ in range(n_runs):
        old = contents(folder)
        n_clusters = next((n for n in NUMBERS if expected[n] != old), NUMBERS[0])
        before = hidden(folder) if rng.random() < 0.5 else None
        seconds = rng.uniform(0, 1.1 * (whole if before is None else making))
        process = start(folder, n_clusters)
        counts["at work"] += stop(process, number, folder, seconds, before)
        counts["left"] += bool(hidden(folder))
        counts[state(contents(folder), old, list(expected.values()))] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="runs for each signal")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, expected, violations = random.Random(options.seed), {}, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X = np.random.default_rng(0).normal(size=(2000, 6)) + 3 * (np.arange(2000) % 3)[:, None]
        np.savetxt(folder / "data.csv", X, "%.4f", ",", header="a,b,c,d,e,f", comments="")
        times = []
        for n_clusters in (*NUMBERS, *NUMBERS):  # the first may compile
            times.append(run(folder, n_clusters))
            expected[n_clusters] = contents(folder)
        whole, making = map(min, zip(*times, strict=True))
        print(f"\nA run takes {whole:.1f} s; its outputs are in the making for {making:.1f} s.")
        print(f"{'':8}{'runs':>6}{'at work':>9}{'left':>6}", *(f"{end:>8}" for end in ENDS))
        for number in (signal.SIGKILL, signal.SIGINT):
            counts = stopped(folder, number, options.runs, rng, expected, whole, making)
            print(
                f"{number.name:8}{options.runs:6}{counts['at work']:9}{counts['left']:6}", end=" "
            )
            print(*(f"{counts[end]:8}" for end in ENDS), flush=True)
            violations += counts["corrupt"] + counts["mixed"]
        run(folder, NUMBERS[0])
        print("hidden folders after a run that was left alone:", len(hidden(folder)))
        violations += len(hidden(folder)) + (contents(folder) != expected[NUMBERS[0]])
    print("violations:", violations)
    return violations > 0


if __name__ == "__main__":
    sys.exit(main())
