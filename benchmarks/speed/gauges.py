"""Time and memory of a function."""

import gc
import time
from pathlib import Path


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def peak_bytes(function):
    """Growth of the resident set at its peak during `function`; None where Linux' /proc is not."""
    clear, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    if not clear.exists():
        return None

    def read(key):
        line = next(line for line in status.read_text().splitlines() if line.startswith(key))
        return int(line.split()[1]) * 1024

    gc.collect()
    clear.write_text("5")
    before = read("VmRSS")
    function()
    return read("VmHWM") - before
