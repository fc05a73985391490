"""A process that has imported the command line and forks a child for each command.

A start from nothing takes seconds, nearly all of them for imports. A child takes a moment. It ends
as a program does: by its exit code or a signal, with its streams flushed or lost.
"""

import importlib
import json
import os
import socket
import sys

MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


def next_command(channel):
    """In a child, the next command and its streams; the server itself never returns."""
    while True:
        message, streams, *_ = socket.recv_fds(channel, 1 << 16, len(MODES))
        if not message:
            os._exit(0)
        child = os.fork()
        if not child:
            return json.loads(message), streams
        for stream in streams:
            os.close(stream)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        channel.send(str(code).encode())


def take(streams, closed):
    """Standard streams as the interpreter makes them at its start."""
    given = iter(streams)
    for number, (name, mode) in enumerate(MODES.items()):
        stream = None
        if name in closed:
            os.close(number)
        else:
            os.dup2(handle := next(given), number)
            os.close(handle)
            buffering = 1 if name == "stderr" or os.isatty(number) else -1
            stream = open(number, mode, buffering, "utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    import typer

    import separatrix.report
    from separatrix.cli import commands, main, models

    for name in ("columns", "methods", "other_files", "screens", "text_files", "writing"):
        importlib.import_module(f"separatrix.cli.{name}")
    typer.main.get_command(commands.app)
    models._skops()
    separatrix.MaximinSeparationClustering  # what most commands run
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        command, streams = next_command(channel)
    take(streams, command["closed"])
    os.chdir(command["cwd"])
    os.environ.update(command["env"])
    exec(command["prelude"])
    main(command["arguments"])
