"""Nothing reaches for the network: not at import, in a fit, a report or on the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import separatrix

# Whatever a process does to open, connect or name a socket passes these events of the interpreter.
GUARD = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise PermissionError(f"{event} {arguments}")

sys.addaudithook(refuse)
"""

USES = {
    "import": """
import separatrix
for name in separatrix.__all__:
    getattr(separatrix, name)
""",
    "fit": """
import numpy as np
import separatrix

X = np.random.default_rng(0).normal(size=(40, 2)) + 4 * (np.arange(40) % 2)[:, None]
separatrix.MaximumMarginClustering(2).fit(X)
separatrix.MaximumVolumeClustering(2).fit(X)
separatrix.LDAKMeans(2).fit_predict(X)
""",
    "selection": """
import numpy as np
from separatrix import AutoClustering

X = np.random.default_rng(0).normal(size=(40, 2)) + 4 * (np.arange(40) % 2)[:, None]
AutoClustering(2, effort="fast").fit(X)
""",
    "report": """
import numpy as np
from separatrix import MaximumMarginClustering
from separatrix.report import write_report

X = np.random.default_rng(0).normal(size=(40, 2)) + 4 * (np.arange(40) % 2)[:, None]
write_report(MaximumMarginClustering(2).fit(X), X, "report.html")
""",
    "demo": """
from separatrix.cli import main

main(["demo", "--to", "demo"])
""",
}


def guarded(code, folder):
    """How a process ends that may not open a socket, in an empty folder."""
    environment = os.environ | {"PYTHONPATH": str(Path(separatrix.__file__).parents[1])}
    command = [sys.executable, "-c", GUARD + code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("use", USES)
def test_no_socket_is_opened(use, tmp_path):
    ended = guarded(USES[use], tmp_path)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    "call", ["socket()", "socketpair()", "getaddrinfo('localhost', 80)", "gethostname()"]
)
def test_the_guard_sees_sockets(call, tmp_path):
    ended = guarded(f"import socket; socket.{call}", tmp_path)
    assert "PermissionError: socket." in ended.stderr
