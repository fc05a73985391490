"""The command line on Parquet files larger than memory, killed in the middle and resumed.

    python benchmarks/speed/disk.py                          # 100 million rows, 8 GB of files
    python benchmarks/speed/disk.py --rows 2000000 --methods separation margin

A folder of Parquet files is written: float32 rows of two round clusters. `separatrix cluster`
labels them, in a process whose memory is limited; its time stands beside that of reading the files
once. The same command with --checkpoint is then killed in the middle (SIGKILL) and given again:
the labels must be the same, and the second part must take less time than the whole.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from output import heading

RESULTS = Path(__file__).resolve().parents[1] / "results" / "speed" / "disk.json"
N_FEATURES, ROWS_PER_FILE = 20, 1_000_000
PROGRAM = "from separatrix.cli import main; main()"
READING = """
import sys
from pathlib import Path
from pyarrow.parquet import ParquetFile

for path in sorted(Path(sys.argv[1]).iterdir()):
    for batch in ParquetFile(path, pre_buffer=False).iter_batches(200_000):
        pass
"""


def write_rows(folder, n_rows):
    """Files of rows of two round clusters, a third of them in the smaller one."""
    folder.mkdir()
    direction = np.random.default_rng(0).normal(size=N_FEATURES)
    direction *= 4 / np.linalg.norm(direction)
    for number, start in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        rng = np.random.default_rng([1, number])
        n = min(ROWS_PER_FILE, n_rows - start)
        X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
        X += np.outer(rng.random(n) < 1 / 3, direction).astype(np.float32)
        table = pa.table({f"column_{j}": column for j, column in enumerate(X.T)})
        pq.write_table(table, folder / f"{number:05d}.parquet")


def begun(program, *arguments, folder, limit):
    """A process that may hold so many gigabytes."""

    def restrict():
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit * 1e9),) * 2)

    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        preexec_fn=restrict,
    )


def measured(process):
    """Seconds by the clock and of the processor, and gigabytes at the peak of a process."""
    begin = time.perf_counter()
    told = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"ended with {process.returncode}: {told[-2000:]}")
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "processor": round(usage.ru_utime + usage.ru_stime, 1),
        "gigabytes": round(usage.ru_maxrss * 1024 / 1e9, 2),
    }


def killed(process, seconds, checkpoint):
    """Kill a process after so many seconds; the number of passes that it kept."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return len(list(checkpoint.glob("*.pass")))


def labels_in(path):
    return pq.read_table(path, columns=["cluster"])["cluster"].to_numpy()


def measure(method, n_rows, limit, folder):
    """What a method takes, and whether it resumes to the same labels."""
    rows = folder / "rows"
    options = {"folder": folder, "limit": limit}

    def command(out, *more):
        asked = ["-k", "2", "-m", method, "--labels-only", "--out", out, *more]
        return begun(PROGRAM, "cluster", str(rows), *asked, **options)

    found = {"rows": n_rows, "features": N_FEATURES, "limit": limit}
    found["files"] = round(sum(one.stat().st_size for one in rows.iterdir()) / 1e9, 2)
    found["reading"] = measured(begun(READING, str(rows), **options))
    found["whole"] = measured(command("whole.parquet"))
    resumable = ["--checkpoint", "kept"]
    found["passes kept"] = killed(
        command("resumed.parquet", *resumable), 0.6 * found["whole"]["seconds"], folder / "kept"
    )
    found["rest"] = measured(command("resumed.parquet", *resumable))
    same = labels_in(folder / "whole.parquet") == labels_in(folder / "resumed.parquet")
    return found | {"different labels": int(len(same) - same.sum())}


def tell(method, found):
    heading(f"{method}: {found['rows']:,} x {found['features']}, {found['files']} GB of Parquet")
    reading = found["reading"]["processor"]
    for part in ("reading", "whole", "rest"):
        one = found[part]
        times = f"{one['seconds']:9.1f} s{one['processor']:9.1f} s of the processor"
        beside = f"{one['processor'] / reading:7.1f} x reading{one['gigabytes']:7.2f} GB"
        print(f"{part:10}{times}{beside}")
    print(f"killed after {found['passes kept']} passes; no process may hold {found['limit']} GB")
    print(f"labels that differ where the run was resumed: {found['different labels']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--methods", nargs="+", default=["separation"])
    parser.add_argument("--limit", type=float, default=3.0, help="gigabytes of a process")
    parser.add_argument("--folder", type=Path, help="where the files are written, and removed")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    kept = json.loads(args.results.read_text()) if args.results.exists() else {}
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        write_rows(folder / "rows", args.rows)
        for method in args.methods:
            found = measure(method, args.rows, args.limit, folder)
            tell(method, found)
            kept[method] = found
            args.results.parent.mkdir(parents=True, exist_ok=True)
            args.results.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
