"""HTML in which every value is escaped, unless it is HTML made here."""

from html import escape
from importlib.resources import files
from string import Template

__all__ = ["Markup", "bar", "filled", "join", "markup", "read", "table"]


class Markup(str):
    """A piece of HTML."""

    __slots__ = ()


def _escaped(value):
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        value = f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"
    return escape(str(value))


def markup(template, *values):
    """HTML from a format string; the values are escaped."""
    return Markup(template.format(*map(_escaped, values)))


def join(pieces, between=""):
    """One piece of HTML from many."""
    return Markup(between.join(map(_escaped, pieces)))


def read(name):
    """Text of a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def filled(name, **values):
    """HTML from a template of this package; the values are escaped."""
    values = {key: _escaped(value) for key, value in values.items()}
    return Markup(Template(read(name)).substitute(values))


def table(caption, head, rows):
    """A table whose first column names its rows; what is not plain text is set to the right."""
    kinds = [Markup(' class="number"' * (type(cell) is not str)) for cell in [*rows, head][0]]
    top = join(map(markup, ['<th scope="col"{}>{}</th>'] * len(head), kinds, head))
    cell = ['<th scope="row"{}>{}</th>'] + ["<td{}>{}</td>"] * (len(head) - 1)
    body = join(markup("<tr>{}</tr>", join(map(markup, cell, kinds, row))) for row in rows)
    # wide tables scroll, which the keyboard must be able to do as well
    return markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{0}"><table>'
        "<caption>{0}</caption><thead><tr>{1}</tr></thead><tbody>{2}</tbody></table></div>",
        *(caption, top, body),
    )


def bar(share, code=""):
    """A bar that fills a share of its cell, perhaps in the colour of a cluster."""
    return markup(
        '<svg class="bar c{}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="8"/></svg>',
        *(code, f"{100 * share:.1f}"),
    )
