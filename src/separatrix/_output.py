"""Tables for readers: as text, as HTML, and as data frames."""

from html import escape

from separatrix._typing import DataFrame

__all__ = ["data_frame", "html_table", "in_digits", "in_percent", "quoted", "text_table"]


def in_digits(value: float) -> str:
    """A number in as many digits as readers need: 5.55, 2024, 12,345, 0.00123."""
    if not 1000 <= abs(value) < 1e15:
        return f"{value:.3g}"
    # of four digits, many are years
    return f"{value:.0f}" if abs(value) < 9999.5 else f"{value:,.0f}"


def in_percent(share: float) -> str:
    """A share in per cent; a share near 0 or 1 is not rounded to it."""
    percent = 100 * share
    if 0 < percent < 0.5 or 99.5 < percent < 100:
        return "< 1 %" if percent < 1 else "> 99 %"
    return f"{percent:.0f} %"


def quoted(names, most=12):
    """Names in quotes, to show where they end; only the first of many."""
    names = list(names)
    return ", ".join(f"{name!r:.80}" for name in names[:most]) + ", ..." * (len(names) > most)


def text_table(header: list[str], rows: list[list[str]], *, left: tuple[int, ...] = (0,)) -> str:
    """Cells below each other, the columns `left` flush left and the others flush right."""
    columns = [
        [cell.ljust(width) if number in left else cell.rjust(width) for cell in cells]
        for number, cells in enumerate(zip(header, *rows, strict=True))
        for width in [max(map(len, cells))]
    ]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def html_table(header: list[str], rows: list[list[str]]) -> str:
    """The same cells for notebooks; all contents are shown as text."""

    def line(cells, first="th", others="td"):
        kinds = [first] + [others] * (len(cells) - 1)
        return "".join(
            f"<{kind}>{escape(cell)}</{kind}>" for kind, cell in zip(kinds, cells, strict=True)
        )

    head = f"<thead><tr>{line(header, others='th')}</tr></thead>"
    body = "".join(f"<tr>{line(row)}</tr>" for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def data_frame(columns: dict, index: list, name: str, method: str = "to_frame") -> DataFrame:
    """Columns with a named index, as a data frame of pandas, which `method` needs."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"{method} needs pandas: pip install pandas") from error
    return pd.DataFrame(columns, index=pd.Index(index, name=name))
