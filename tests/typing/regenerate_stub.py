"""Write the stubs of packages that resolve their public names on first use.

python tests/typing/regenerate_stub.py

Type checkers and editors do not run the code, so they learn from the stubs where the names are.
"""

import importlib
from pathlib import Path

import separatrix

HEAD = '"""Written by `make stub`, from the names and their homes in __init__.py."""\n'
# What other modules of the library take from the package, beside the public names.
PRIVATE = """
__version__: str

class _Public(NamedTuple):
    home: str
    short_name: str | None = ...

_REGISTRY: dict[str, _Public]
_MODULES: tuple[str, ...]
_PARTS: dict[str, str]

def _short_name(estimator: object) -> str | None: ...
"""


def imports(homes):
    """A statement for each public name, in the order and form of ruff.

    Editors take a name of a stub for private unless it is imported as itself.
    """
    for name, home in sorted(homes.items(), key=lambda item: item[::-1]):
        line = f"from {home} import {name} as {name}\n"
        wrapped = f"from {home} import (\n    {name} as {name},\n)\n"
        yield line if len(line) <= 100 else wrapped


def listed(names):
    """The names that are public; on several lines where ruff would write them so."""
    line = "__all__ = [" + ", ".join(f'"{name}"' for name in names) + "]\n"
    wrapped = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"
    return line if len(line) <= 100 else wrapped


def package_stub():
    """Stub of the package itself."""
    homes = {name: f"separatrix.{entry.home}" for name, entry in separatrix._REGISTRY.items()}
    homes |= dict.fromkeys(separatrix._MODULES, "separatrix")
    head = f"{HEAD}\nfrom typing import NamedTuple\n\n"
    return f"{head}{''.join(imports(homes))}\n{listed(separatrix.__all__)}{PRIVATE}"


def module_stub(module):
    """Stub of a public module whose `_HOMES` say where its names are."""
    homes = {name: f"separatrix.{home}" for name, home in module._HOMES.items()}
    return f"{HEAD}\n{''.join(imports(homes))}\n{listed(module.__all__)}"


def stubs():
    """Texts of all stubs, by their files."""
    modules = [importlib.import_module(f"separatrix.{name}") for name in separatrix._MODULES]
    lazy = [module for module in modules if hasattr(module, "_HOMES")]
    texts = {module: module_stub(module) for module in lazy} | {separatrix: package_stub()}
    return {Path(module.__file__).with_suffix(".pyi"): text for module, text in texts.items()}


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
