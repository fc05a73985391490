"""Written by `make stub`, from the names and their homes in __init__.py."""

from separatrix.data.blocks import RowBlocks as RowBlocks
from separatrix.tables.columns import CellError as CellError
from separatrix.tables.columns import ColumnError as ColumnError
from separatrix.tables.findings import Finding as Finding
from separatrix.tables.findings import cluster_findings as cluster_findings
from separatrix.tables.preparer import TablePreparer as TablePreparer

__all__ = ["CellError", "ColumnError", "Finding", "RowBlocks", "TablePreparer", "cluster_findings"]
