"""Results of passes over samples, kept on disk, so that a stopped fit can resume.

The same fit makes the same passes in the same order, and each depends only on the samples and on
the results of earlier passes. So a repeated fit takes the results that were kept, and reads the
samples from the first unfinished pass on.
"""

import json
import os
import pickle
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

__all__ = ["Checkpoint"]

TASK, PART = "task.json", "pass.part"
# What results of a pass may hold besides dataclasses of this library: arrays and numbers of NumPy.
ARRAYS = {"_reconstruct", "_frombuffer", "scalar", "ndarray", "dtype"}


class Checkpoint:
    """A folder with the results of each pass of one task.

    Parameters
    ----------
    folder : str or path-like
        Made if it is not there.
    task : dict
        What the passes depend on, which JSON takes. A folder of another task is refused.
    """

    def __init__(self, folder, task):
        self._folder = Path(folder)
        self._n_begun = 0
        text = json.dumps(task, sort_keys=True, indent=1)
        if self._folder.exists():
            self._check(task)
        else:
            self._folder.mkdir(parents=True)
            (self._folder / TASK).write_text(text)

    def _check(self, task):
        """Refuse a folder that is no checkpoint, or one of another task."""
        try:
            kept = json.loads((self._folder / TASK).read_text())
        except (OSError, ValueError) as error:
            raise ValueError(
                f"checkpoint: {self._folder} exists but holds no checkpoint; name a new folder"
            ) from error
        task = json.loads(json.dumps(task))
        others = sorted(name for name in {*kept, *task} if kept.get(name) != task.get(name))
        if others:
            raise ValueError(
                f"checkpoint: {self._folder} belongs to another task: it differs in "
                f"{', '.join(others)}; delete the folder, or name another"
            )

    @property
    def n_kept(self):
        """Number of finished passes."""
        return len(list(self._folder.glob("[0-9]*.pass")))

    def passed(self, name, parts):
        """Yield the parts of the next pass: those that are kept, or else `parts`, and keep them.

        `name` identifies the pass, so that none is mistaken for another.
        """
        self._n_begun += 1
        path = self._folder / f"{self._n_begun:05d}.pass"
        if path.exists():
            yield from self._kept(path, name)
            return
        unfinished = self._folder / PART
        with unfinished.open("wb") as file:
            pickle.dump(name, file)
            for part in parts:
                pickle.dump(part, file, protocol=5)
                yield part
        os.replace(unfinished, path)  # all of a pass, or nothing

    def _kept(self, path, name):
        with path.open("rb") as file:
            found = _Unpickler(file).load()
            if found != name:
                raise ValueError(
                    f"checkpoint: {path.name} belongs to a pass of {found}, but {name} is next; "
                    f"delete {self._folder}, which another version wrote"
                )
            while file.peek(1):
                yield _Unpickler(file).load()

    def clear(self):
        """Remove what is kept, and the folder."""
        for path in [*self._folder.glob("[0-9]*.pass"), self._folder / PART, self._folder / TASK]:
            path.unlink(missing_ok=True)
        self._folder.rmdir()


class _Unpickler(pickle.Unpickler):
    """Loads arrays and dataclasses of this library, and nothing that runs code."""

    def find_class(self, module, name):
        if module.split(".")[0] == "numpy" and name in ARRAYS:
            return super().find_class(module, name)
        if module.split(".")[0] == "separatrix" and is_dataclass(
            getattr(import_module(module), name, None)
        ):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"a checkpoint holds no {module}.{name}")
