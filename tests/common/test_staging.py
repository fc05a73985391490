"""What killed processes leave is removed, what living ones work on is not."""

import os
import shutil
import tempfile

import pytest

from separatrix import _staging as staging
from separatrix._staging import LOCK, staged


@pytest.fixture
def place(tmp_path):
    """Where a file goes, with a name that means something in patterns."""
    return tmp_path / "a[1]*.csv"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def left_by_a_kill(place):
    """The folder of a process that is no more."""
    with staged(place) as folder:
        (folder / "half").write_text("half")
        (folder / "deeper").mkdir()
        (folder / "deeper" / "half").touch()
        kept = folder.parent / "kept"
        shutil.copytree(folder, kept)
    return kept.rename(folder)


def test_the_folder_goes_with_all_in_it(place):
    def work():
        with staged(place) as folder:
            assert folder.parent == place.parent
            assert folder.name.startswith(".")
            (folder / "half").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert names(place.parent) == []


def test_what_a_kill_leaves_is_removed(place):
    left = left_by_a_kill(place)
    assert (left / "half").exists()
    other = left_by_a_kill(place.with_name("a1x.csv"))
    with staged(place) as folder:
        assert names(place.parent) == sorted([folder.name, other.name])


def test_a_kill_before_the_lock_leaves_an_empty_folder(place):
    place.with_name(f".{place.name}.x.part").mkdir()
    with staged(place) as folder:
        assert names(place.parent) == [folder.name]


def test_the_folder_of_a_living_process_stays(place):
    with staged(place) as first:
        (first / "half").touch()
        with staged(place) as second:
            assert (first / "half").exists()
            assert first != second
        assert names(place.parent) == [first.name]
        assert (first / "half").exists()
    assert names(place.parent) == []


def test_a_folder_that_another_process_removes_is_made_again(place, monkeypatch):
    """It looks like one that was left until its lock is there."""
    make, made = tempfile.mkdtemp, []

    def interfere(*arguments):
        made.append(make(*arguments))
        if len(made) == 1:
            os.rmdir(made[-1])
        elif len(made) == 2:
            lock = os.open(os.path.join(made[-1], LOCK), os.O_CREAT | os.O_RDWR)
            staging._acquire(lock)
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", interfere)
    with staged(place) as folder:
        assert str(folder) == made[2]


def test_without_locks_nothing_is_removed(place, monkeypatch):
    left = left_by_a_kill(place)
    monkeypatch.setattr(staging, "fcntl", None)
    with staged(place) as folder:
        assert names(place.parent) == sorted([left.name, folder.name])
    assert names(place.parent) == [left.name]
