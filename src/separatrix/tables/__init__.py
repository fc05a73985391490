"""Tables as users have them: kinds of columns, their problems, and conversion to numbers."""

import importlib

# resolved on first use, so that a table can be refused before scikit-learn is imported
_HOMES = {
    "CellError": "tables.columns",
    "ColumnError": "tables.columns",
    "Finding": "tables.findings",
    "RowBlocks": "data.blocks",
    "TablePreparer": "tables.preparer",
    "cluster_findings": "tables.findings",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"separatrix.{_HOMES[name]}"), name)
