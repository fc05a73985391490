"""Nothing reaches for the network: not at import, in a fit, a report or on the command line."""

import os
import subprocess
import sys
from pathlib import Path

import separatrix

# Whatever opens, connects or looks up the name of a socket passes these events.
GUARD = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise PermissionError(f"{event} {arguments}")

sys.addaudithook(refuse)
"""

USES = """
import separatrix
for name in separatrix.__all__:
    getattr(separatrix, name)

import numpy as np
from separatrix.cli import main
from separatrix.report import write_report

X = np.random.default_rng(0).normal(size=(40, 2)) + 4 * (np.arange(40) % 2)[:, None]
separatrix.MaximumVolumeClustering(2).fit(X)
separatrix.LDAKMeans(2).fit(X)
separatrix.AutoClustering(2).fit(X)
write_report(separatrix.MaximumMarginClustering(2).fit(X), X, "report.html")
main(["demo", "--to", "demo"])
"""


def guarded(code, folder):
    """How a process ends that may not open a socket, in an empty folder."""
    environment = os.environ | {"PYTHONPATH": str(Path(separatrix.__file__).parents[1])}
    command = [sys.executable, "-c", GUARD + code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def test_no_socket_is_opened(tmp_path):
    ended = guarded(USES, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "demo"}


def test_the_guard_sees_sockets(tmp_path):
    calls = ["socket()", "socketpair()", "getaddrinfo('localhost', 80)", "gethostname()"]
    tried = "\n".join(
        f"try:\n    socket.{call}\nexcept PermissionError:\n    print('refused')" for call in calls
    )
    assert guarded(f"import socket\n{tried}", tmp_path).stdout.split() == ["refused"] * len(calls)
