"""Dask arrays on two worker processes: what an iteration takes, memory, and a killed worker.

    python benchmarks/speed/dask_arrays.py                     # 200 million rows, made on demand
    python benchmarks/speed/dask_arrays.py --rows 20000000

The rows are those of two round clusters in 20 features, float32, which every pass makes anew. The
peer is dask's own mean and second moments of the same array, computed together: one pass. An
iteration of `MaximinSeparationClustering` is the difference of fits with more and with fewer of
them, divided by their number. Seconds are those of the processor, of all processes. Then some of
the rows are clustered twice, once while a worker is killed (SIGKILL): the labels must be the same.
"""

import argparse
import json
import os
import resource
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from sklearn.exceptions import ConvergenceWarning

from separatrix import MaximinSeparationClustering

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from output import heading

RESULTS = Path(__file__).resolve().parents[1] / "results" / "speed" / "dask.json"
N_FEATURES, ROWS_PER_BLOCK = 20, 1_000_000
N_WORKERS, MEMORY = 2, 2.0  # gigabytes of each
FEWER, MORE = 1, 3  # iterations
PASSES_LIMIT = 1.5  # what the project promises of an iteration


def block_of(block_info=None):
    """Rows of a block, the same each time: of two clusters that overlap a little."""
    (start, stop), _ = block_info[None]["array-location"]
    rng = np.random.default_rng([0, start])
    X = rng.standard_normal((stop - start, N_FEATURES), dtype=np.float32)
    X[:, :4] += 1.5 * (rng.random(stop - start) < 1 / 3)[:, None].astype(np.float32)
    return X


def rows_made_on_demand(n_rows):
    sizes = [min(ROWS_PER_BLOCK, n_rows - start) for start in range(0, n_rows, ROWS_PER_BLOCK)]
    return da.map_blocks(
        block_of,
        chunks=(tuple(sizes), (N_FEATURES,)),
        dtype=np.float32,
        meta=np.empty((0, 0), dtype=np.float32),
    )


def spent(client):
    """Seconds of the processor that the workers and this process have taken so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def seconds_of(client, work, *arguments):
    begin = spent(client)
    work(*arguments)
    return spent(client) - begin


def one_pass(X):
    """Mean and second moments by dask itself."""
    dask.compute(X.mean(axis=0, dtype=np.float64), X.T @ X)


def fitted(X, max_iter=100):
    model = MaximinSeparationClustering(2, max_iter=max_iter, tol=0.0, random_state=0)
    return model.fit(X)


def peak_gigabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measure_iterations(client, n_rows):
    """Seconds of the peer and of an iteration, and the largest peak of a worker."""
    X = rows_made_on_demand(n_rows)
    fitted(rows_made_on_demand(2 * ROWS_PER_BLOCK), FEWER)  # workers have loaded all they need
    found = {"rows": n_rows, "pass": seconds_of(client, one_pass, X)}
    fits = {max_iter: seconds_of(client, fitted, X, max_iter) for max_iter in (FEWER, MORE)}
    found |= {f"fit, {max_iter} iterations": seconds for max_iter, seconds in fits.items()}
    found["iteration"] = (fits[MORE] - fits[FEWER]) / (MORE - FEWER)
    found["gigabytes"] = max(client.run(peak_gigabytes).values())
    return found


def measure_kill(client, n_rows):
    """Labels of a fit during which a worker dies, beside those of another fit."""
    X = rows_made_on_demand(n_rows)
    begin = time.perf_counter()
    expected = fitted(X)
    seconds = time.perf_counter() - begin
    victim = next(iter(client.run(os.getpid).values()))
    kill = threading.Timer(seconds / 4, os.kill, (victim, signal.SIGKILL))
    kill.start()
    model = fitted(X)
    in_time = not kill.is_alive()
    kill.join()
    left = victim not in client.run(os.getpid, on_error="ignore").values()
    differ = client.persist((model.labels_ != expected.labels_).sum())
    wait(differ)
    return {
        "rows": n_rows,
        "worker died": left and in_time,
        "iterations": [int(expected.n_iter_), int(model.n_iter_)],
        "objectives": [float(expected.objective_), float(model.objective_)],
        "different labels": int(differ.compute()),
    }


def tell(found):
    one, kill = found["iterations"], found["kill"]
    heading(f"{one['rows']:,} x {N_FEATURES} float32, {N_WORKERS} workers")
    print(f"{'mean and second moments by dask':44}{one['pass']:9.1f} s")
    passes = one["iteration"] / one["pass"]
    verdict = "" if passes <= PASSES_LIMIT else "MISSED"
    print(f"{'an iteration':44}{one['iteration']:9.1f} s{passes:8.2f} passes  {verdict}")
    for max_iter in (FEWER, MORE):
        name = f"fit, {max_iter} iterations"
        print(f"{name:44}{one[name]:9.1f} s")
    verdict = "" if one["gigabytes"] < MEMORY else "MISSED"
    print(f"{'largest memory of a worker':44}{one['gigabytes']:9.2f} GB  {verdict}")
    heading(f"{kill['rows']:,} rows, one worker killed: {kill['worker died']}")
    print(f"labels that differ: {kill['different labels']}; iterations {kill['iterations']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000_000)
    parser.add_argument("--killed", type=int, default=20_000_000, help="rows of the second part")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    with (
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            memory_limit=f"{MEMORY}GB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        found = {}
        for part, measure, n_rows in (
            ("iterations", measure_iterations, args.rows),
            ("kill", measure_kill, args.killed),
        ):
            found[part] = measure(client, n_rows)
            args.results.parent.mkdir(parents=True, exist_ok=True)
            args.results.write_text(json.dumps(found, indent=1) + "\n")
    tell(found)


if __name__ == "__main__":
    main()
