"""Tables of papers as cells, and how they are measured: in parallel, and taken up after a kill.

A table has cells, each with what the paper prints there, and jobs that measure them; one job may
serve many cells. What a job returns is appended to a file as soon as it is there. It is known by
the job's name and settings and by the version of the protocol, so a job is run again only when one
of these changes.
"""

import hashlib
import json
import platform
import signal
import time
import tomllib
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

import separatrix

SIGNIFICANT = 6  # digits that are kept of a value
# What a published spread may be, and how many of them, with ours, are still "within".
DEVIATION, ERROR = "standard deviation", "standard error"
ALLOWED = {DEVIATION: 1, ERROR: 2}
# Our own standard error counts up to so many of the paper's spreads: few repeats prove nothing.
MOST_OF_OURS = 2


# --- what a table is ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """What is measured by one call of a function.

    Attributes
    ----------
    name : str
        Name, unique among the jobs of its paper.
    measure : callable
        Function at the top of a module. It returns a dict of numbers, of lists of numbers (one
        for each run) or of texts.
    settings : dict
        Its arguments, as JSON knows them: seeds and all that was chosen.
    cost : float
        Roughly the time it takes, in any unit common to a paper.
    """

    name: str
    measure: Callable[..., dict[str, Any]]
    settings: dict[str, Any]
    cost: float = 1.0

    def key(self, protocol):
        """What the job is known by."""
        known_by = json.dumps([protocol, self.name, self.settings], sort_keys=True)
        return hashlib.sha256(known_by.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Cell:
    """A number of the paper and one of ours.

    Attributes
    ----------
    row, column : str
        Where the paper prints it.
    variant : str
        Which of our ways it is, one of the table's.
    needs : tuple of str
        Jobs.
    read : callable
        From what these jobs returned to the value, or a list of the values of runs.
    published : float, list or None
        Number of the paper, or [number, spread].
    aggregates : bool
        Whether `read` makes something of a part of the jobs as well.
    """

    row: str
    column: str
    variant: str
    needs: tuple[str, ...]
    read: Callable[..., Any]
    published: Any = None
    aggregates: bool = False


def value_cell(row, column, variant, job, value, published=None):
    """A cell that is one value of one job."""
    return Cell(row, column, variant, (job.name,), partial(value_of, key=value), published)


def value_of(values, key):
    """A value; None where a run with fewer settings has none of this name."""
    return values.get(key)


def collected(runs):
    """Lists of the values of runs, by their names, from the values of each run by name."""
    return {name: [run[name] for run in runs] for name in runs[0]}


def extreme_of(values, key, which):
    """The lowest or the highest of several values of a job."""
    return min(values[key]) if which == "lowest" else max(values[key])


def constant(_, value):
    """A value whatever a job returned: what the paper has, to stand beside it."""
    return value


@dataclass(frozen=True)
class Claim:
    """What a paper says of a figure that has no numbers; `check` tells whether it holds here."""

    text: str
    needs: tuple[str, ...]
    check: Callable[..., tuple[bool, str]]
    aggregates: bool = False  # as in Cell


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper.

    Attributes
    ----------
    name, title, unit : str
        What it is, such as "table2".
    protocol : str
        How it is measured: what was chosen by the true classes, what the paper leaves open.
    variants : dict
        What each of our columns is: one of `ROLES`, and a sentence.
    own : tuple of str
        Columns of the paper's own methods.
    better : {"lower", "higher"} or None
        None if ours cannot be compared, such as seconds of different machines.
    tolerance : float
        Difference that counts as none: what is lost by rounding, or more where the paper has no
        spread.
    spread : str or None
        What the paper's spread is.
    counts : bool
        Whether its cells are part of the paper's total.
    claims : list of Claim
        What the paper says of it in words.
    readings : dict
        Rows that are another reading of a row of the paper, and that row; they are counted once.
    later_readings : tuple of str
        Rows and variants that were added after a cell had been seen to miss. Totals are given with
        and without them.
    """

    name: str
    title: str
    unit: str
    protocol: str
    variants: dict[str, tuple[str, str]]
    jobs: list[Job]
    cells: list[Cell]
    own: tuple[str, ...] = ()
    better: str | None = "lower"
    tolerance: float = 0.0
    spread: str | None = None
    digits: int = 2
    counts: bool = True
    claims: list[Claim] = field(default_factory=list)
    readings: dict[str, str] = field(default_factory=dict)
    later_readings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper: what is published, and its tables.

    Attributes
    ----------
    name, title, citation : str
        What it is; `name` is that of its module here.
    protocol : int
        Version of how it is measured; results of another one are forgotten.
    published : dict
        Its figures, and the reasons for what is not reached, as in its .toml file.
    makers : tuple of callables
        From a scale to a table, in the order of the page.
    scales : dict
        Settings of each scale.
    """

    name: str
    title: str
    citation: str
    protocol: int
    published: dict[str, Any]
    makers: tuple[Callable[..., Table], ...] = ()
    scales: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, name):
        """The paper of a module of this package."""
        module = import_module(f"benchmarks.papers.{name}")
        head = module.PUBLISHED["paper"]
        return cls(name, **head, published=module.PUBLISHED, makers=module.MAKERS,
                   scales=module.SCALES)  # fmt: skip

    def tables(self, scale):
        return [make(self.scales[scale]) for make in self.makers]


def published_in(file):
    """What the .toml file beside a module has."""
    return tomllib.loads(Path(file).with_suffix(".toml").read_text(encoding="utf-8"))


PAPER, OURS, DEFAULT, PEER = "the paper's algorithm", "ours", "the default", "another method"
ROLES = (PAPER, OURS, DEFAULT, PEER)


# --- verdicts -----------------------------------------------------------------------------------

BETTER, WITHIN, MISSED = "better", "within its spread", "not reached"


def published_value(published):
    """Number and spread as printed; the spread is None where there is none."""
    if isinstance(published, list):
        return float(published[0]), float(published[1])
    return float(published), None


def verdict(table, published, found):
    """How our runs compare with what is published; None if they cannot be compared."""
    if published is None or table.better is None or found is None:
        return None
    aim, spread = published_value(published)
    runs = np.atleast_1d(found)
    gain = (aim - runs.mean()) * (1 if table.better == "lower" else -1)
    allowed = table.tolerance
    if spread is not None and table.spread is not None:
        ours = min(standard_error(runs), MOST_OF_OURS * spread)
        allowed = max(allowed, ALLOWED[table.spread] * np.hypot(spread, ours))
    if gain > allowed + 1e-9:
        return BETTER
    return WITHIN if gain >= -allowed - 1e-9 else MISSED


def standard_error(runs):
    return np.std(runs, ddof=1) / len(runs) ** 0.5 if len(runs) > 1 else 0.0


# --- results ------------------------------------------------------------------------------------


class Results:
    """What jobs of a paper returned, in a file of one line each."""

    def __init__(self, path, protocol):
        self.path, self.protocol = Path(path), protocol
        self.records = self._read()

    def _read(self):
        """The last record of each key."""
        if not self.path.exists():
            return {}
        text = self.path.read_text(encoding="utf-8")
        if not text.endswith("\n"):  # a kill cut off the last line
            self.path.write_text(text + "\n", encoding="utf-8")
        records = [as_record(line) for line in text.splitlines()]
        return {
            record["key"]: record
            for record in records
            if record is not None and record["protocol"] == self.protocol
        }

    def add(self, job, values, seconds):
        """Keep what a job returned; None if it was stopped after so many seconds."""
        record = {
            "key": job.key(self.protocol),
            "protocol": self.protocol,
            "job": job.name,
            "settings": job.settings,
            "values": values,
            "seconds": round(seconds, 2),
            "versions": versions(),
        }
        self.records[record["key"]] = record
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def forget(self, jobs):
        for job in jobs:
            self.records.pop(job.key(self.protocol), None)

    def has(self, job):
        return self._own(job).get("values") is not None

    def stopped_after(self, job):
        """Seconds after which a job was stopped before it had a result; zero if it was not."""
        own = self._own(job)
        return own["seconds"] if own and own["values"] is None else 0.0

    def expected_seconds(self, job, jobs):
        """Roughly what a job takes, by what others of the same function took; None if unknown."""
        measured = [one for one in jobs if self.has(one)]
        alike = [one for one in measured if one.measure is job.measure] or measured
        rates = [self._own(one)["seconds"] / one.cost for one in alike]
        guess = float(np.median(rates)) * job.cost if rates else 0.0
        return max(guess, self.stopped_after(job)) or None

    def _own(self, job):
        return self.records.get(job.key(self.protocol), {})

    def of(self, job):
        """Values of a job, and whether they were measured with other settings than its own.

        A run of fewer repeats stands in until there is the whole.
        """
        if self.has(job):
            return self._own(job)["values"], False
        others = [record["values"] for record in self.records.values()
                  if record["job"] == job.name and record["values"] is not None]  # fmt: skip
        return (others[-1], True) if others else (None, False)

    def compact(self, jobs):
        """Keep the last record of each key, and leave out what no job is known by any more.

        Of jobs that were measured with their own settings those with others are left out.
        """
        self.records = self._read()  # another process may have added to it
        keys = {job.key(self.protocol) for job in jobs}
        whole = {job.name for job in jobs if self.has(job)}
        names = {job.name for job in jobs}
        self.records = {
            key: record
            for key, record in self.records.items()
            if key in keys or (record["job"] in names and record["job"] not in whole)
        }
        if self.records:
            lines = [json.dumps(record) + "\n" for record in self.records.values()]
            self.path.write_text("".join(lines), encoding="utf-8")


def as_record(line):
    """A line as it was written; None for one that a kill cut off."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def versions():
    """What results depend on beside their settings."""
    named = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {
        "python": platform.python_version(),
        **named,
        "separatrix": separatrix.__version__,
        "code": fingerprint(),
    }


@cache
def fingerprint():
    """Hash of the package's sources, as they were when it was first asked for."""
    package = Path(separatrix.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def rounded(value):
    """A value as JSON keeps it, with as many digits as matter."""
    if isinstance(value, dict):
        return {str(key): rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [rounded(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{SIGNIFICANT}g}")
    if isinstance(value, np.integer | np.bool_):
        return int(value)
    return value


# --- running ------------------------------------------------------------------------------------


def run(jobs, results, n_jobs, say=print, limit=0.0):
    """Measure the jobs that have no result yet, cheap ones first; the names of those that failed.

    A job is stopped after `limit` seconds of the processor, never if it is zero. It is tried again
    only with a higher limit.
    """
    waiting = [job for job in jobs if not results.has(job)]
    say(f"{len(jobs) - len(waiting)} of {len(jobs)} measurements are there already")
    if limit:
        waiting = [job for job in waiting if results.stopped_after(job) < limit]
    waiting.sort(key=lambda job: job.cost)
    by_name = {job.name: job for job in waiting}
    fingerprint()  # of the sources that are loaded, not of what they may be in an hour
    whole, done, failed = sum(job.cost for job in waiting), 0.0, []
    begin = time.perf_counter()
    with parallel_config("loky", inner_max_num_threads=1):
        found = Parallel(n_jobs, batch_size=1, return_as="generator_unordered")(
            delayed(measured)(job, limit) for job in waiting
        )
        for number, (name, values, seconds, error) in enumerate(found, start=1):
            job = by_name[name]
            outcome = f"{seconds:.1f} s"
            if values is not None:
                results.add(job, values, seconds)
            elif isinstance(error, Stopped):
                results.add(job, None, limit)
                outcome = f"stopped after {spoken(limit)}"
            elif isinstance(error, FileNotFoundError):
                outcome = f"skipped, {error.filename} is missing"
            else:
                failed.append(name)
                outcome = "failed\n" + "".join(traceback.format_exception(error))
            done += job.cost
            left = (time.perf_counter() - begin) * (whole - done) / done
            if limit:
                left = min(left, limit * (len(waiting) - number) / n_jobs)
            say(f"[{number}/{len(waiting)}] {name}: {outcome}; about {spoken(left)} left")
    return failed


class Stopped(BaseException):
    """A job took longer than it may; no `except Exception` of a measurement catches it."""


def measured(job, limit=0.0):
    """Name, values, seconds of the processor and error of a job."""
    begin = time.process_time()
    values = error = None
    try:
        with warnings.catch_warnings(), stopped_after(limit):
            warnings.simplefilter("ignore")  # runs that stall or degenerate count as they are
            values = rounded(job.measure(**job.settings))
    except (Exception, Stopped) as caught:  # told, and the others go on
        error = caught
    return job.name, values, time.process_time() - begin, error


@contextmanager
def stopped_after(limit):
    """Raise `Stopped` after so many seconds of the processor; never if the limit is zero."""

    def stop(*_):
        raise Stopped

    if not limit:
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def spoken(seconds):
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def distinct(jobs):
    """Jobs of several tables, each once."""
    return list({job.name: job for job in jobs}.values())
