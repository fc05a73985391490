"""The command line: ``separatrix cluster data.csv -k 3 --out labels.csv``.

It reads, encodes, calls an estimator and writes; it holds no numerics. Its parts come with
``pip install "separatrix[cli]"``.
"""

import atexit
import csv
import gc
import os
import signal
import sys
import warnings
from contextlib import contextmanager

__all__ = ["TO_END", "Refusal", "answering", "listed", "main", "one_line", "printable"]

TO_END = ("SIGINT", "SIGTERM", "SIGHUP")
# Objects after which garbage is looked for: imports make many, of which nearly none are garbage.
NEW_OBJECTS = 100_000


class Refusal(Exception):
    """What is wrong and where, for the user. Nothing has been written."""


def main(arguments=None):
    """Run the command line and exit: 0 done, 1 a defect, 2 refused, 130 interrupted.

    Parameters
    ----------
    arguments : list of str, default=None
        Arguments; None takes those of the process.
    """
    gc.set_threshold(NEW_OBJECTS)
    if arguments is None:  # the process ends with it, and need not look through all for garbage
        atexit.register(gc.freeze)
    if sys.stderr is None:  # it is closed; no file opened later may take its number
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    told = set()

    def tell(message, *_):
        line = f"separatrix: note: {one_line(message)}"
        if line not in told:
            told.add(line)
            print(line, file=sys.stderr)

    to_end = answering(_terminate, *TO_END[1:])
    pipe = answering(signal.SIG_DFL, "SIGPIPE")  # a closed one ends the program quietly
    with to_end, pipe, warnings.catch_warnings():
        warnings.showwarning = tell
        try:
            from separatrix.cli.commands import run

            sys.exit(run(sys.argv[1:] if arguments is None else arguments))
        except (Refusal, ModuleNotFoundError) as error:
            missing = isinstance(error, ModuleNotFoundError)
            remedy = '; pip install "separatrix[cli]"' if missing else ""
            print(f"separatrix: {one_line(error)}{remedy}", file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt:
            sys.exit(130)


def listed(text):
    """Names between commas, with quotes as in CSV; none for None."""
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True)) if text else []
    except csv.Error:
        remedy = "put commas between them, and a name that has a line break into quotes"
        raise Refusal(f"{text!r} is not a list of names; {remedy}") from None


def printable(text):
    """Text with escapes for characters that control a terminal."""
    shown = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return "".join(shown)


def one_line(text):
    """Printable text on one line."""
    return printable(" ".join(str(text).split()))


@contextmanager
def answering(handler, *names):
    """Handle signals for a while; those that are ignored, as by nohup, stay ignored."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, former in before.items():
        if former is not signal.SIG_IGN or not callable(handler):
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former or signal.SIG_DFL)


def _terminate(signum, frame):
    raise SystemExit(128 + signum)  # so that files in the making are removed
