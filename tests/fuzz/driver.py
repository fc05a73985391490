"""Run many cases in worker processes and report what violates a law.

    python -m tests.fuzz.driver --cases 100000 --jobs 2 --seed 0 --limit 20 --report build/fuzz
    python -m tests.fuzz.driver --skip 40000 --cases 60000
    python -m tests.fuzz.driver --case KernelKMeans:17

A worker that dies, or that takes longer for a case than the limit, is replaced, and the case is
reported. The limit is in seconds of its own computing, so that other work on the machine does not
count; a worker that computes nothing at all for some minutes waits for what will never come. A
case that takes too long gets a second chance, because functions may have been compiled in the
first.
"""

import argparse
import json
import multiprocessing
import os
import queue
import resource
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from itertools import islice
from multiprocessing.pool import ThreadPool
from pathlib import Path

from .cases import make_case, schedule
from .invariances import GENERAL, PARTICULAR
from .laws import Outcome, Violation, judge
from .pieces import ESTIMATORS

# Bytes that a worker may ask for, so that an absurd parameter does not take all memory.
MEMORY = 8 * 2**30
# Seconds after which a worker that has computed nothing is taken to wait.
PATIENCE = 120
KINDS = {"right": "right answers", "warned": "documented warnings", "refused": "refusals"}


def outcome_of(name, seed):
    """The outcome of a case; a fault of the fuzz itself is one as well."""
    try:
        return judge(make_case(name, seed))
    except Exception as error:
        fault = Violation("the fuzz works", repr(error)[:60], told=traceback.format_exc())
        return Outcome("refused", [fault])


# --- workers ------------------------------------------------------------------------------------


def serve(pipe, limit):
    """Answer names and seeds with outcomes until the other end closes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pipe.send("ready")
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, limit)  # its signal kills, compiled code or not
        outcome = outcome_of(*case)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(outcome)


def ticks_of(process):
    """How long a process has computed, in ticks of the system; zero where that is not told."""
    try:
        told = Path(f"/proc/{process.pid}/stat").read_text("utf-8")
    except OSError:
        return 0
    user, system = told.rpartition(")")[2].split()[11:13]
    return int(user) + int(system)


class Worker:
    """A process that judges one case at a time."""

    def __init__(self, limit):
        self.limit = limit
        self.start()

    def start(self):
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        self.pipe, other_end = context.Pipe()
        self.process = context.Process(target=serve, args=(other_end, self.limit))
        self.process.start()
        other_end.close()
        self.pipe.recv()

    def ask(self, case):
        """The outcome of a case."""
        for _ in range(2):
            self.pipe.send(case)
            try:
                if self.answers():
                    return self.pipe.recv()
                status = None
            except (EOFError, ConnectionError):
                self.process.join()
                status = self.process.exitcode
            self.end()
            self.start()
            if status not in (None, -signal.SIGPROF):
                return Outcome("refused", [Violation("no crash", f"exit status {status}")])
        return Outcome("refused", [Violation("no hang", f"over {self.limit:g} s")])

    def answers(self):
        """Wait for the outcome, as long as the process computes; whether it is there."""
        ticks = None
        while not self.pipe.poll(PATIENCE):
            before, ticks = ticks, ticks_of(self.process)
            if ticks == before:
                return False
        return True

    def end(self):
        """Kill the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def outcomes(cases, n_jobs, limit):
    """Yield each case with its outcome, in the order in which they end."""
    workers = [Worker(limit) for _ in range(n_jobs)]
    idle: queue.Queue[Worker] = queue.Queue()
    for worker in workers:
        idle.put(worker)

    def ask(case):
        worker = idle.get()
        try:
            return case, worker.ask(case)
        finally:
            idle.put(worker)

    try:
        with ThreadPool(n_jobs) as pool:
            yield from pool.imap_unordered(ask, cases)
    finally:
        for worker in workers:
            worker.end()


# --- the report ---------------------------------------------------------------------------------


def table(counts, titles):
    """Lines of counts by estimator, whose columns have titles by what is counted."""
    width = max(map(len, ESTIMATORS))
    yield "estimator".ljust(width) + "".join(f"  {title:>7}" for title in titles.values())
    total = sum(counts.values(), Counter())
    for name, counted in [*sorted(counts.items()), ("all", total)]:
        yield name.ljust(width) + "".join(
            f"  {counted[what]:>{max(7, len(title))}}" for what, title in titles.items()
        )


class Report:
    """Counts of outcomes and of invariances by estimator, and violations by cause."""

    def __init__(self):
        self.counts = defaultdict(Counter)
        self.invariances = defaultdict(Counter)
        self.causes = defaultdict(list)
        self.told = {}

    def add(self, case, outcome):
        """Count an outcome."""
        name, _ = case
        counts = self.counts[name]
        counts["cases"] += 1
        counts["violations" if outcome.violations else outcome.kind] += 1
        self.invariances[name].update(outcome.invariances)
        self.invariances[name]["fits"] += bool(outcome.invariances)
        for violation in set(outcome.violations):
            cause = (name, violation.law, violation.what, violation.where)
            self.causes[cause].append(case)
            self.told.setdefault(cause, violation.told)

    @property
    def n_cases(self):
        """Cases that ended."""
        return sum(counts["cases"] for counts in self.counts.values())

    @property
    def n_violations(self):
        """Cases that violate a law."""
        return sum(counts["violations"] for counts in self.counts.values())

    def tables(self):
        """Lines of the counts of each estimator: how cases ended, and what was looked at twice."""
        yield from table(self.counts, {"cases": "cases", **KINDS, "violations": "violations"})
        yield "\nfits whose answer was compared with another that must not differ"
        names = ["fits", *(invariance.__name__ for invariance in (*GENERAL, *PARTICULAR))]
        yield from table(self.invariances, {name: name.replace("_", " ") for name in names})

    def grouped(self):
        """Violations by cause, the most frequent first, as dicts."""
        for cause, cases in sorted(self.causes.items(), key=lambda item: -len(item[1])):
            name, law, what, where = cause
            yield {
                "estimator": name,
                "law": law,
                "what": what,
                "where": where,
                "count": len(cases),
                "case": "{}:{}".format(*min(cases, key=lambda case: case[1])),
                "told": self.told[cause],
            }

    def lines(self):
        """The report as text: the tables, and causes with the estimators that they concern."""
        yield from self.tables()
        causes = defaultdict(list)
        for group in self.grouped():
            causes[group["law"], group["what"], group["where"]].append(group)
        by_count = sorted(causes.items(), key=lambda item: -sum(g["count"] for g in item[1]))
        for (law, what, where), groups in by_count:
            yield f"\n{sum(group['count'] for group in groups)} x not so: {law}"
            yield f"    {what}   {where}"
            yield "    " + ", ".join(f"{group['estimator']} {group['count']}" for group in groups)
            yield f"    python -m tests.fuzz.driver --case {groups[0]['case']}"

    def write(self, folder):
        """Write the report as text and as JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.txt").write_text("\n".join(self.lines()) + "\n", "utf-8")
        found = {"counts": self.counts, "invariances": self.invariances}
        found["violations"] = list(self.grouped())
        (folder / "report.json").write_text(json.dumps(found, indent=1), "utf-8")


# --- the command --------------------------------------------------------------------------------


def run(cases, *, n_jobs, limit, folder):
    """Judge cases, print progress and report; whether no law is violated."""
    report, begun, next_word = Report(), time.monotonic(), 10.0
    for case, outcome in outcomes(cases, n_jobs, limit):
        report.add(case, outcome)
        passed = time.monotonic() - begun
        if passed > next_word:
            rate = report.n_cases / passed
            print(
                f"{report.n_cases} cases, {rate:.0f} a second, {report.n_violations} violate a law"
            )
            report.write(folder)  # what was found outlives an interruption
            next_word = passed + 10.0
    for line in report.lines():
        print(line)
    report.write(folder)
    print(f"{report.n_cases} cases in {time.monotonic() - begun:.0f} s; see {folder}")
    return report.n_violations == 0


def show(case):
    """Print one case, its outcome and the tracebacks; whether it violates no law."""
    name, _, seed = case.partition(":")
    print(make_case(name, int(seed)).describe())
    outcome = outcome_of(name, int(seed))
    print(outcome.kind)
    for violation in dict.fromkeys(outcome.violations):
        print(f"\nnot so: {violation.law}: {violation.what}   {violation.where}\n{violation.told}")
    return not outcome.violations


def main():
    """Parse the command line; the exit status is 1 if a law is violated."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", metavar="NAME:SEED", help="show one case and its outcome")
    parser.add_argument("--cases", type=int, default=100_000, help="number of cases")
    parser.add_argument("--skip", type=int, default=0, help="number of cases to leave out first")
    parser.add_argument("--only", nargs="+", default=ESTIMATORS, choices=ESTIMATORS)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first cases")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds a case may take")
    parser.add_argument("--report", type=Path, default=Path("build/fuzz"), help="folder")
    asked = parser.parse_args()
    if asked.case:
        return 0 if show(asked.case) else 1
    # as many processes as cores: threads would wait for each other
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    cases = islice(schedule(asked.skip + asked.cases, asked.seed, asked.only), asked.skip, None)
    holds = run(cases, n_jobs=asked.jobs, limit=asked.limit, folder=asked.report)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
