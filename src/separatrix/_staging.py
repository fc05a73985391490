"""Files that are made in a hidden folder and appear whole, or not at all."""

import errno
import glob
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["staged"]

ENDING, LOCK = ".part", "lock"


@contextmanager
def staged(place):
    """A hidden folder next to `place` to make its file in; it is removed at the end.

    Folders that killed processes left for the same place are removed first. A live process holds a
    lock in its folder, which the system releases however it ends.
    """
    for left in place.parent.glob(f".{glob.escape(place.name)}.*{ENDING}"):
        with suppress(OSError):  # not ours, or another process removes it
            _remove_unlocked(left)
    lock = None
    while lock is None:
        folder = Path(tempfile.mkdtemp(ENDING, f".{place.name}.", place.parent))
        lock = _lock_of(folder)
    try:
        yield folder
    finally:
        os.close(lock)
        with suppress(OSError):
            _remove(folder)


def _lock_of(folder):
    """Handle of the lock of a new folder; None if another process has just removed it as empty."""
    with suppress(FileNotFoundError):
        lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR)
        try:
            _acquire(lock)
            os.stat(folder / LOCK)
        except (BlockingIOError, FileNotFoundError):
            os.close(lock)
            return None
        except OSError:  # no locks here, so that no other process removes it
            pass
        return lock


def _acquire(lock):
    """Take a lock, or raise what says why not."""
    if fcntl is None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_unlocked(folder):
    """Remove a folder that no process works in."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR)
    except FileNotFoundError:
        folder.rmdir()  # if it is empty
        return
    try:
        _acquire(lock)
        _remove(folder)
    finally:
        os.close(lock)


def _remove(folder):
    """Remove a folder, its lock at the end: one without a lock is empty."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()
    (folder / LOCK).unlink()
    folder.rmdir()
