"""Mutation testing: how many small faults in labels and metrics do their tests notice?

A mutant is the package with one fault: another comparison or operator, a constant that is one
off, a condition turned round, a result that is not returned, a statement left out. It is killed
if a test of its file fails, or does not end in time. The faults are drawn at random, the same
ones for the same seed, or are all there are (--sample 0).

Each mutant is written into a copy of the package and tested in a process forked from one that has
the libraries loaded. Compiled functions are compiled anew. Words of errors are left alone, and so
are constants in capitals at the top of a file: they tune, and another number is right as well.
Mutants that were found to change no result are listed in without_effect.txt, each with the
reason; they are not counted.
"""

import argparse
import ast
import difflib
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SEPARATION = "tests/criteria/test_separation.py"
# The tests that each file must be safe by.
SUBJECTS = {
    "labels/sizes.py": [
        "tests/labels/test_size_bounds.py",
        "tests/labels/test_sizes.py",
        f"{SEPARATION}::test_cut_is_the_best_of_all_cuts",
        f"{SEPARATION}::test_equal_values_cannot_be_cut",
    ],
    "labels/offsets.py": [
        "tests/labels/test_transport.py",
        "tests/labels/test_sizes.py",
    ],
    "labels/transport.py": [
        "tests/labels/test_transport.py",
        "tests/labels/test_size_bounds.py",
        "tests/labels/test_sizes.py",
    ],
    "labels/links.py": ["tests/labels/test_links.py"],
    "labels/link_search.py": [
        "tests/labels/test_link_search.py",
        "tests/labels/test_links.py",
    ],
    "metrics.py": [
        "tests/test_metrics.py",
        f"{SEPARATION}::test_lower_bound_never_exceeds_the_separation",
        f"{SEPARATION}::test_lower_bound_is_attained_by_equal_shares_and_variances",
    ],
}
LIBRARIES = (
    "numba",
    "pandas",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "sklearn.cluster",
    "sklearn.datasets",
    "sklearn.svm",
)
WITHOUT_EFFECT = Path(__file__).with_name("without_effect.txt")
ENOUGH = 0.85  # of the mutants are to be killed
PATIENCE = 4  # times as long as the tests take without a fault, before they count as failed


# --- faults -------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """Text to put in the place of a part of a file."""

    file: str
    begin: int
    end: int
    text: str


COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
UNTOUCHED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.arg)


class Faults(ast.NodeVisitor):
    """All faults of a file."""

    def __init__(self, file, source):
        self.file, self.source, self.found = file, source, []
        lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line.encode()))
        self.visit(ast.parse(source))

    def _place(self, line, column):
        return self.starts[line - 1] + column

    def _span(self, node):
        return (
            self._place(node.lineno, node.col_offset),
            self._place(node.end_lineno, node.end_col_offset),
        )

    def _text(self, node):
        begin, end = self._span(node)
        return self.source.encode()[begin:end].decode()

    def _replace(self, node, text):
        self.found.append(Fault(self.file, *self._span(node), text))

    def _between(self, left, right, old, new):
        """Replace an operator between two operands, parentheses around which are no part of it."""
        begin, end = self._span(left)[1], self._span(right)[0]
        place = self.source.encode()[begin:end].decode().find(old)
        self.found.append(Fault(self.file, begin + place, begin + place + len(old), new))

    def visit(self, node):
        if isinstance(node, UNTOUCHED):
            return
        getattr(self, f"_at_{type(node).__name__}", lambda _: None)(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _tunes_or_tells(node, child):
                    self.visit(child)

    def _at_Compare(self, node):
        for left, operator, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            self._between(left, right, *COMPARISONS[type(operator)])

    def _at_BinOp(self, node):
        if type(node.op) in OPERATORS:
            self._between(node.left, node.right, *OPERATORS[type(node.op)])

    def _at_AugAssign(self, node):
        if type(node.op) in OPERATORS:
            self._between(node.target, node.value, *OPERATORS[type(node.op)])
        self._replace(node, "pass")

    def _at_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._between(*node.values[:2], old, new)

    def _at_UnaryOp(self, node):
        self._replace(node, f"({self._text(node.operand)})")

    def _at_Constant(self, node):
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._replace(node, f"({node.value} + 1)")
            self._replace(node, f"({node.value} - 1)")

    def _at_If(self, node):
        self._replace(node.test, f"not ({self._text(node.test)})")

    _at_IfExp = _at_While = _at_If

    def _at_Return(self, node):
        if node.value is not None:
            self._replace(node, "return None")

    def _at_Assign(self, node):
        self._replace(node, "pass")

    _at_Raise = _at_Assign

    def _at_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self._replace(node, "pass")

    def _at_Break(self, node):
        self._replace(node, "continue")

    def _at_Continue(self, node):
        self._replace(node, "break")


def _tunes_or_tells(parent, child):
    """Whether a node is a constant of the file, or belongs to the words of an error."""
    if isinstance(parent, ast.Module):
        return isinstance(child, ast.Assign)
    return isinstance(parent, ast.Raise)


def faults_of(file):
    """All faults of a file of the package, in order."""
    source = (ROOT / "src/separatrix" / file).read_text(encoding="utf-8")
    return sorted(set(Faults(file, source).found))


def faulty(fault):
    """Text of a file before and after a fault."""
    source = (ROOT / "src/separatrix" / fault.file).read_bytes()
    after = source[: fault.begin] + fault.text.encode() + source[fault.end :]
    return source.decode(), after.decode()


def changed_lines(fault):
    """Lines that a fault removes and adds, marked by - and +, without indentation."""
    before, after = (text.splitlines() for text in faulty(fault))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    return [f"{line[0]} {line[1:].strip()}" for line in lines if line[0] in "+-"]


def described(fault):
    """Where a fault is, and what it changes."""
    number = faulty(fault)[0].encode()[: fault.begin].count(b"\n") + 1
    return "\n".join([f"{fault.file}:{number}", *changed_lines(fault)])


def without_effect():
    """Faults known to change no result: file and changed lines, each with the reason below it."""
    blocks = WITHOUT_EFFECT.read_text(encoding="utf-8").split("\n\n")
    return {tuple(block.strip().splitlines()[:-1]) for block in blocks if block.strip()}


# --- tests of mutants ---------------------------------------------------------------------------


def _run_tests(folder, file):
    """Exit code of the tests of a file, with the package in a folder. Ends the process."""
    sys.path[:0] = [str(folder), str(ROOT / "tests")]
    sys.dont_write_bytecode = True
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    import hypothesis
    import pytest

    # a failure is enough: no smaller one is looked for, and the same cases come each time
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants", phases=phases, derandomize=True, database=None, deadline=None
    )
    hypothesis.settings.load_profile("mutants")
    tests = [str(ROOT / one) for one in SUBJECTS[file]]
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist"]
    os._exit(pytest.main([*options, *tests]))


def _end_of(folder, file, limit):
    """How the tests end: their exit code, or None after too long."""
    child = os.fork()
    if child == 0:
        os.setsid()
        try:
            _run_tests(folder, file)
        finally:
            os._exit(70)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _start(folders):
    """Make a process ready: its environment, a copy of the package, libraries in memory."""
    global _folder
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["NUMBA_BOUNDSCHECK"] = "1"  # a place beyond the end of an array is a failure
    _folder = Path(tempfile.mkdtemp(dir=folders))
    package = _folder / "separatrix"
    shutil.copytree(ROOT / "src/separatrix", package)
    for file in SUBJECTS:  # the bytecode of a mutant must never be that of another
        for kept in (package / file).parent.glob(f"__pycache__/{Path(file).stem}.*.pyc"):
            kept.unlink()
    for library in LIBRARIES:
        importlib.import_module(library)


def _seconds(file):
    """How long the tests of a file take without a fault."""
    began = time.monotonic()
    if _end_of(_folder, file, limit=600) != 0:
        raise RuntimeError(f"the tests of {file} fail without a fault; mend them first")
    return time.monotonic() - began


def _survives(fault, limit):
    """Whether all tests pass in spite of a fault."""
    path = _folder / "separatrix" / fault.file
    before, after = faulty(fault)
    path.write_text(after, encoding="utf-8")
    try:
        return _end_of(_folder, fault.file, limit) == 0
    finally:
        path.write_text(before, encoding="utf-8")


def _tested(task):
    fault, limit = task
    return fault, _survives(fault, limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="mutants to test; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--files", nargs="*", default=list(SUBJECTS), choices=list(SUBJECTS))
    args = parser.parse_args()
    faults = [fault for file in args.files for fault in faults_of(file)]
    n_faults = len(faults)
    if args.sample:
        faults = random.Random(args.seed).sample(faults, min(args.sample, n_faults))
    known = without_effect()
    n_drawn = len(faults)
    faults = [fault for fault in faults if (fault.file, *changed_lines(fault)) not in known]
    print(f"{n_drawn} of {n_faults} mutants, {n_drawn - len(faults)} of them without effect")
    killed, tested = Counter(), Counter()
    with (
        tempfile.TemporaryDirectory() as folders,
        get_context("fork").Pool(args.jobs, _start, [folders]) as pool,
    ):
        seconds = dict(zip(args.files, pool.map(_seconds, args.files, 1), strict=True))
        tasks = [(fault, 20 + PATIENCE * seconds[fault.file]) for fault in faults]
        for fault, survives in pool.imap_unordered(_tested, tasks):
            tested[fault.file] += 1
            killed[fault.file] += not survives
            if survives:
                print(f"\nnot killed, of {tested.total()} so far: {described(fault)}", flush=True)
    print()
    for file in args.files:
        print(f"{file:24} {killed[file]:4} of {tested[file]:4} killed")
    share = killed.total() / max(tested.total(), 1)
    print(f"{'all':24} {killed.total():4} of {tested.total():4} killed, {share:.1%}")
    return int(share < ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
