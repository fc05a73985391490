"""Model files: a fitted pipeline, a description of its columns, and a checksum.

The file is a skops archive: loading makes only objects of listed types and runs no code of the
file. Two members are added, a card as JSON and the SHA-256 of all others. The checksum detects
damage. It is not a signature: anyone who changes a file can change the checksum too. So nothing of
it reaches compiled code unchecked: search trees are not stored but built again from their rows,
and the indices of sparse arrays must suit their shapes.

Classes of this library are stored as ``separatrix`` and their name, without their module: the
registry and its table of parts say where they are, and a file may name no others.
"""

import hashlib
import importlib
import io
import json
import pickle
import platform
import sys
import warnings
import zipfile
from copy import deepcopy
from pathlib import Path

import numpy
import scipy
import sklearn
from sklearn.base import ClusterMixin
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix.cli import Refusal
from separatrix.cli.reading import check_fits

__all__ = ["load_model", "save_model"]

CARD, CHECKSUM = "separatrix.json", "separatrix.sha256"
# The format gets a new number when older versions could no longer load what is saved. All lower
# numbers must load: tests/golden/models has a file of each release.
FORMAT = 1
SCHEMA, OURS = "schema.json", separatrix.__name__
# What models hold beyond classes of this library, arrays and containers of Python.
STEPS = Pipeline, StandardScaler, NearestNeighbors
HELD = {f"{one.__module__}.{one.__name__}" for one in STEPS}
HELD |= {"numpy.dtype", "scipy.sparse._csr.csr_array"}
NUMBERS, TEXTS, NOTHING = [(int, float)], [str], type(None)
FORMS = {"method": str, "versions": {str: str}, "shares": [bool], "id_column": (str, NOTHING)}
FORMS |= {"columns": {str: (TEXTS, NOTHING)}, "features": TEXTS, "means": [NUMBERS]}
FORMS |= dict.fromkeys(("sizes", "share", "deviation"), NUMBERS)


def _skops():
    """Module skops.io, which imports all of scikit-learn and would load the others for nothing."""
    hidden = {"torch", "dask", "cupy", "jax", "pytest"} - set(sys.modules)
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
    """Save a fitted pipeline with a card, a dict that JSON takes; the method is added to it."""
    versions = {p.__name__: p.__version__ for p in (separatrix, sklearn, numpy, scipy)}
    versions["python"] = platform.python_version()
    pipeline = deepcopy(pipeline)  # in which lazy values are computed
    for part in _parts(pipeline):
        if isinstance(part, NearestNeighbors):
            part._tree = None  # which loading grows again
    data = _renamed(_skops().dumps(pipeline), _without_home, zipfile.ZIP_DEFLATED)
    if foreign := _foreign_types(data):
        raise Refusal(f"--model: such a model cannot be saved: it holds {', '.join(foreign)}")
    method = separatrix._short_name(pipeline[-1]) or pipeline.steps[-1][0]
    card = {"method": method, "versions": versions, **card}
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(CARD, json.dumps({"format": FORMAT, **card}))
        archive.writestr(CHECKSUM, _digest(archive))
    Path(path).write_bytes(file.getvalue())


def load_model(path):
    """Pipeline and card of a model file, or its refusal; warns of other versions."""
    try:
        data = Path(path).read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if not {CARD, CHECKSUM} <= set(archive.namelist()):
                raise Refusal(f"{path}: not a model that separatrix saved")
            unpacked = sum(member.file_size for member in archive.infolist())
            check_fits(2 * unpacked, path, "nothing was loaded")  # the data and the objects
            card = json.loads(archive.read(CARD))
            if card["format"] > FORMAT:  # whose checksum may be another
                newer = f"{card['versions']['separatrix']}, in format {card['format']}"
                remedy = f"this one loads formats up to {FORMAT}; install that version"
                raise Refusal(f"{path}: from a newer separatrix, {newer}; {remedy}")
            if archive.read(CHECKSUM) != _digest(archive):
                raise Refusal(f"{path}: wrong checksum: the file is damaged or was changed")
        wrong = [name for name, form in FORMS.items() if not _fits(card.get(name, ...), form)]
        if wrong:
            raise ValueError(f"its card lacks or misstates {', '.join(wrong)}")
        if foreign := _foreign_types(data):
            raise Refusal(f"{path}: not loaded: it holds untrusted types: {', '.join(foreign)}")
        data = _renamed(data, _with_home)
        with warnings.catch_warnings():  # told below
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            types = _skops().get_untrusted_types(data=data)
            pipeline = _skops().loads(data, trusted=types)
        if not (isinstance(pipeline, Pipeline) and isinstance(pipeline[-1], ClusterMixin)):
            raise ValueError("it holds no pipeline to a clusterer")
        parts = _parts(pipeline)
        for array in filter(scipy.sparse.issparse, parts):
            array.check_format(full_check=True)
        for part in parts:
            if isinstance(part, NearestNeighbors):
                part.fit(part._fit_X)
    except (Refusal, ImportError):
        raise
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}") from error
    except Exception as error:  # damage causes errors of many types
        reason = f"not a model file, or damaged: {error or type(error).__name__}"
        raise Refusal(f"{path}: {reason}; save it again with cluster --model") from error
    for package in (separatrix, sklearn):
        saved = card["versions"].get(package.__name__)
        if saved != package.__version__:
            told = f"{path}: saved by {package.__name__} {saved}, loaded by {package.__version__}"
            warnings.warn(f"{told}; its predictions may differ", stacklevel=2)
    return pipeline, card


def _fits(value, form):
    """Whether a value of JSON is of a type, a list or dict of a form, or of one of several."""
    if isinstance(form, tuple):
        return any(_fits(value, one) for one in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_fits(one, form[0]) for one in value)
    if isinstance(form, dict):
        return isinstance(value, dict) and all(_fits(one, form[str]) for one in value.values())
    return isinstance(value, form)


def _parts(whole):
    """All objects that an object holds, as a pickler finds them."""
    parts = []

    class Visitor(pickle.Pickler):
        def persistent_id(self, part):
            parts.append(part)

    Visitor(io.BytesIO(), 5, buffer_callback=lambda buffer: None).dump(whole)
    return parts


def _class_of(name):
    """The class of this library that models may hold by this name, or None."""
    home = separatrix._PARTS.get(name)
    if home is not None:
        return getattr(importlib.import_module(f"{OURS}.{home}"), name)
    found = getattr(separatrix, name) if name in separatrix._REGISTRY else None
    return found if isinstance(found, type) else None


def _without_home(node):
    """A node of a schema as the file has it."""
    module, found = node.get("__module__"), _class_of(node.get("__class__"))
    return node | {"__module__": OURS} if found and found.__module__ == module else node


def _with_home(node):
    """A node of a schema as skops takes it."""
    found = _class_of(node.get("__class__")) if node.get("__module__") == OURS else None
    return node | {"__module__": found.__module__} if found else node


def _renamed(data, rename, compression=zipfile.ZIP_STORED):
    """The archive with all nodes of its schema renamed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", compression) as new:
        for name in sorted(set(old.namelist())):
            content = old.read(name)
            if name == SCHEMA:
                content = json.dumps(json.loads(content, object_hook=rename)).encode()
            new.writestr(name, content)
    return file.getvalue()


def _foreign_types(data):
    """Types in an archive that no model holds."""
    named = set()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        json.loads(
            archive.read(SCHEMA),
            object_hook=lambda node: named.add(
                f"{node.get('__module__')}.{node.get('__class__')}"
            ),
        )
    # skops trusts all estimators of scikit-learn, some of which pass indices to compiled code
    doubtful = {name for name in named if name.startswith("sklearn.")}
    doubtful.update(_skops().get_untrusted_types(data=data))
    return sorted(n for n in doubtful if n not in HELD and not _is_own_class(n))


def _is_own_class(name):
    """Whether a name in a file is that of a class which the registry or its parts list."""
    module, _, attribute = name.rpartition(".")
    return module == OURS and _class_of(attribute) is not None
