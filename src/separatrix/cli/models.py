"""Model files: a fitted pipeline, what it knows of its columns, and a checksum.

The file is a skops archive: loading makes only objects of listed types and runs no code of the
file. Two members are added, a card as JSON and the SHA-256 of all others. The checksum tells
damage. It is no signature: whoever changes a file can change the checksum too.
"""

import hashlib
import importlib
import io
import json
import platform
import sys
import zipfile
import zlib
from pathlib import Path

import numpy
import scipy
import sklearn

import separatrix
from separatrix.cli import Refusal
from separatrix.cli.reading import check_fits

__all__ = ["load_model", "save_model"]

CARD, CHECKSUM, FORMAT = "separatrix.json", "separatrix.sha256", 1
DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
# What models hold beyond classes of this library and what skops trusts by itself.
TRUSTED = {
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
}


def _skops():
    """Module skops.io, which imports all of scikit-learn and would load torch for nothing."""
    hidden = {"torch", "dask", "cupy", "jax"} - set(sys.modules)
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        import skops.io
    finally:
        for name in hidden:
            del sys.modules[name]
    return skops.io


def _digest(archive):
    digest = hashlib.sha256()
    for name in sorted(set(archive.namelist()) - {CHECKSUM}):
        content = archive.read(name)
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest().encode()


def save_model(path, pipeline, card):
    """Save a fitted pipeline with a card, a dict that JSON takes."""
    versions = {p.__name__: p.__version__ for p in (separatrix, sklearn, numpy, scipy)}
    versions["python"] = platform.python_version()
    file = io.BytesIO(_skops().dumps(pipeline, compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(CARD, json.dumps({"format": FORMAT, "versions": versions, **card}))
        archive.writestr(CHECKSUM, _digest(archive))
    Path(path).write_bytes(file.getvalue())


def load_model(path):
    """Pipeline and card of a model file, or its refusal."""
    try:
        data = Path(path).read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if not {CARD, CHECKSUM} <= set(archive.namelist()):
                raise Refusal(f"{path}: not a model that separatrix saved")
            unpacked = sum(member.file_size for member in archive.infolist())
            check_fits(unpacked, path, "nothing was loaded")
            if archive.read(CHECKSUM) != _digest(archive):
                raise Refusal(f"{path}: wrong checksum: the file is damaged or was changed")
            card = json.loads(archive.read(CARD))
        if card["format"] > FORMAT:
            raise Refusal(f"{path}: from a newer separatrix, {card['versions']['separatrix']}")
        skops = _skops()
        types = skops.get_untrusted_types(data=data)
        foreign = [name for name in types if name not in TRUSTED and not _is_own_class(name)]
        if foreign:
            raise Refusal(f"{path}: not loaded: it holds untrusted types: {', '.join(foreign)}")
        return skops.loads(data, trusted=types), card
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}") from error
    except (*DAMAGE, ValueError, LookupError, TypeError, AttributeError) as error:
        raise Refusal(f"{path}: not a model file, or damaged: {error}") from error


def _is_own_class(name):
    """Whether this is the name of a class that the library defines, and not merely imports."""
    module, _, attribute = name.rpartition(".")
    if not module.startswith("separatrix."):
        return False
    try:
        found = vars(importlib.import_module(module)).get(attribute)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module
