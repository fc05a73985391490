"""What the tests of the command line share."""

import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import separatrix
from separatrix.cli import main

SOURCES = str(Path(separatrix.__file__).parents[1])


@pytest.fixture
def refused(capfd):
    """Function from a command to the one line by which it is refused."""

    def line_of(*command):
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in command])
        assert stopped.value.code == 2
        (line,) = capfd.readouterr().err.splitlines()
        return line

    return line_of


@pytest.fixture(scope="session")
def warm_program():
    """Channel to a process that forks a child for each command."""
    if not hasattr(os, "fork"):
        pytest.skip("needs processes that fork")
    here, there = socket.socketpair()
    command = [sys.executable, str(Path(__file__).with_name("warm.py")), str(there.fileno())]
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    with (
        here,
        subprocess.Popen(command, pass_fds=[there.fileno()], env=environment) as server,
    ):
        there.close()
        yield here
        here.shutdown(socket.SHUT_RDWR)
        assert server.wait() == 0


@pytest.fixture
def program(warm_program):
    """Function that runs a command in a process of its own; it returns what `subprocess.run` does.

    A stream is a file, or else what the process writes there is returned. Those named in `closed`
    are closed. The code of `prelude` runs first.
    """

    def run(*arguments, stdin=None, stdout=None, stderr=None, closed=(), prelude="", env=None):
        request = {"arguments": [str(one) for one in arguments], "cwd": os.getcwd()}
        request |= {"closed": list(closed), "prelude": prelude, "env": env or {}}
        with open(os.devnull) as nothing, ThreadPoolExecutor() as pool:
            streams = {"stdin": stdin or nothing, "stdout": stdout, "stderr": stderr}
            streams = {name: one for name, one in streams.items() if name not in closed}
            ends = {}
            for name in [name for name, one in streams.items() if one is None]:
                ends[name], writing = os.pipe()
                streams[name] = open(writing, "wb")  # noqa: SIM115
            handles = [stream.fileno() for stream in streams.values()]
            socket.send_fds(warm_program, [json.dumps(request).encode()], handles)
            for name in ends:
                streams[name].close()
            texts = dict(zip(ends, pool.map(_text, ends.values()), strict=True))
        code = int(warm_program.recv(64))
        return subprocess.CompletedProcess(
            arguments, code, texts.get("stdout"), texts.get("stderr")
        )

    return run


def _text(handle):
    """All that comes out of a pipe."""
    with open(handle, encoding="utf-8", newline="") as stream:
        return stream.read()
