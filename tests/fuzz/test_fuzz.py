"""A short run of the fuzz: the same cases each time. `make fuzz` runs many more."""

import inspect
import multiprocessing
import re
import time
from pathlib import Path

import numpy as np
import pytest

from separatrix import CuttingPlaneMarginClustering

from . import driver
from .cases import RARE, make_case, schedule
from .driver import Report, Worker, ticks_of
from .invariances import GENERAL, PARTICULAR
from .laws import (
    FREE_PREDICTION,
    Outcome,
    Violation,
    attempt,
    judge,
    judge_attempt,
    names_something,
)
from .pieces import BAD, EDGE, ESTIMATORS, FINE, SIZES, estimator_of
from .samples import seen_by

N_CASES = 24


def violations_of(name, seed):
    return judge(make_case(name, seed)).violations


@pytest.mark.parametrize("name", ESTIMATORS)
def test_outcomes_obey_the_laws(name):
    found = [
        f"{name}:{seed}: not so: {violation.law}: {violation.what} {violation.where}"
        for name, seed in schedule(max(3, N_CASES // RARE.get(name, 1)), 0, [name])
        for violation in violations_of(name, seed)
    ]
    assert not found, "\n".join(["python -m tests.fuzz.driver --case NAME:SEED", *found])


# --- the fuzz itself ----------------------------------------------------------------------------


def test_cases_are_made_of_names_and_seeds():
    for name, seed in schedule(40, 7):
        one, other = make_case(name, seed), make_case(name, seed)
        assert re.sub(r" at 0x\w+", "", one.describe()) == re.sub(
            r" at 0x\w+", "", other.describe()
        )


def test_cases_are_of_all_grades():
    for name in ESTIMATORS:
        assert {make_case(name, seed).grade for seed in range(60)} == {FINE, EDGE, BAD}


def test_docs_that_free_predict_are_recognised():
    """All that bound sizes but least squares, whose search keeps the bounds."""
    free, bounded = set(), set()
    for name in ESTIMATORS:
        kind, defaults, *_ = estimator_of(name)
        if set(SIZES) <= set(defaults):
            bounded.add(name)
            free |= {name} if FREE_PREDICTION in " ".join(inspect.getdoc(kind).split()) else set()
    assert bounded - free == {"RegularizedLeastSquaresClustering"}


def test_a_single_feature_is_doubtful_to_the_cosine_kernel():
    rows = np.arange(1.0, 13.0)[:, None]
    assert seen_by("cosine", rows, FINE)[1] is EDGE
    with pytest.raises(ValueError, match=r"X is constant to the kernel.*kernel='cosine'"):
        CuttingPlaneMarginClustering(kernel="cosine").fit(rows)


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Input X contains NaN.", True),
        ("The 'kernel' parameter of KernelKMeans must be a str", True),
        ("kernel='precomputed' is zero", True),
        ("n_clusters=3 but 2 samples", True),
        ("matmul: the kernel matrix is singular", False),
        ("could not convert string to float: 'a'", False),
        ("Expected 2D array, got 1D array instead", False),
    ],
)
def test_messages_that_name_something(message, names):
    assert names_something("KernelKMeans", message) is names


def _divided():
    return np.ones(1) / np.zeros(1)


def _foreign():
    raise KeyError("samples")


def _nameless():
    raise ValueError("array must not contain infs or NaNs")


@pytest.mark.parametrize(
    ("call", "law"),
    [
        (_divided, "no foreign warning"),
        (_foreign, "errors are ValueError or TypeError"),
        (_nameless, "errors name what is wrong"),
    ],
)
def test_violations_are_seen(call, law):
    case = make_case("KernelKMeans", 0)
    assert [violation.law for violation in judge_attempt(case, attempt(call))] == [law]


def test_reports_count_and_group(tmp_path):
    report = Report()
    wrong = Violation("no hang", "over 20 s")
    report.add(("KernelKMeans", 1), Outcome("right", [], ("copies", "translation")))
    report.add(("KernelKMeans", 2), Outcome("refused", [wrong, wrong]))
    report.add(("KernelKMeans", 3), Outcome("refused", [wrong]))
    assert (report.n_cases, report.n_violations) == (3, 2)
    (group,) = report.grouped()
    assert (group["count"], group["case"]) == (2, "KernelKMeans:2")
    assert report.invariances["KernelKMeans"] == {"fits": 1, "copies": 1, "translation": 1}
    report.write(tmp_path)
    assert "2 x not so: no hang" in (tmp_path / "report.txt").read_text("utf-8")


def test_invariances_that_were_looked_at_are_told():
    outcome = next(
        found
        for seed in range(50)
        if (found := judge(make_case("KernelKMeans", seed))).kind == "right"
    )
    general, *particular = outcome.invariances
    assert general in [invariance.__name__ for invariance in GENERAL]
    assert set(particular) <= {invariance.__name__ for invariance in PARTICULAR}


def test_a_worker_that_waits_is_told_from_one_that_computes(monkeypatch):
    monkeypatch.setattr(driver, "PATIENCE", 0.01)
    worker, ticks = Worker.__new__(Worker), iter([1, 2, 3, 3])
    worker.process = None
    worker.pipe, other_end = multiprocessing.Pipe()
    monkeypatch.setattr(driver, "ticks_of", lambda process: next(ticks))
    assert not worker.answers()
    assert list(ticks) == []
    other_end.send("an outcome")
    assert worker.answers()


def test_computing_is_counted_in_ticks():
    if not Path("/proc/self/stat").exists():
        pytest.skip("the system does not tell how long a process computes")
    process = multiprocessing.current_process()
    begin, ticks = time.process_time(), ticks_of(process)
    while time.process_time() < begin + 0.05:
        pass
    assert ticks_of(process) > ticks
