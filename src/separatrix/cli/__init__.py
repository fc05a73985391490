"""The command line: ``separatrix cluster data.csv -k 3 --out labels.csv``.

It reads, encodes, calls an estimator and writes; it holds no numerics. Its parts come with
``pip install "separatrix[cli]"``.
"""

import signal
import sys

__all__ = ["Refusal", "main"]


class Refusal(Exception):
    """What is wrong and where, for the user. Nothing has been written."""


def main(arguments=None):
    """Run the command line and exit: 0 done, 1 a defect, 2 refused, 130 interrupted.

    Parameters
    ----------
    arguments : list of str, default=None
        Arguments; None takes those of the process.
    """
    signal.signal(signal.SIGTERM, _terminate)
    try:
        from separatrix.cli.commands import app

        app(arguments, prog_name="separatrix")
    except (Refusal, ModuleNotFoundError) as error:
        missing = isinstance(error, ModuleNotFoundError)
        remedy = '; pip install "separatrix[cli]"' if missing else ""
        reason = " ".join(str(error).split()) + remedy
        print(f"separatrix: {reason}", file=sys.stderr)
        sys.exit(2)


def _terminate(signum, frame):
    raise SystemExit(128 + signum)  # so that files in the making are removed
