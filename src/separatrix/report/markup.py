"""HTML in which every value is escaped, unless it is HTML made here."""

import re
from html import escape
from importlib.resources import files
from string import Template

__all__ = ["Markup", "bar", "filled", "join", "markup", "read", "table", "visible"]

LONG_WORD = 16  # letters, of words that may be broken
# Control characters but tabs and ends of lines, half characters, and what turns or hides text;
# what joins letters or emoji stays.
UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


class Markup(str):
    """A piece of HTML."""

    __slots__ = ()


def visible(value):
    """A value with escapes for what a page would obey instead of show, in all of its texts."""
    if isinstance(value, dict):
        return {name: visible(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [visible(one) for one in value]
    if not isinstance(value, str):
        return value
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), value)


def _escaped(value):
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        value = f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"
    return escape(visible(str(value)))


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
    """HTML from a template of this package; the values are escaped.

    What stands between ``<!--if name-->`` and ``<!--end-->`` is left out if the value of this
    name is None or False.
    """

    def kept(part):
        return "" if values[part[1]] in (None, False) else part[2]

    text = re.sub(r"<!--if (\w+)-->\n(.*?)<!--end-->\n", kept, read(name), flags=re.DOTALL)
    return Markup(Template(text).substitute({key: _escaped(one) for key, one in values.items()}))


def table(caption, *columns):
    """A table of columns, each a name and a list of cells, the first of which names the rows.

    What is not plain text is set to the right. Columns with a long word may break it, which makes
    them narrow. Columns without cells (None) are left out.
    """
    given = [(name, cells) for name, cells in columns if cells is not None]
    names, lists = zip(*given, strict=True)
    kinds = [_kind(name, cells) for name, cells in given]
    top = join(map(markup, ['<th scope="col"{}>{}</th>'] * len(names), kinds, names))
    tags = ['<th scope="row"{}>{}</th>'] + ["<td{}>{}</td>"] * (len(names) - 1)
    rows = (join(map(markup, tags, kinds, row)) for row in zip(*lists, strict=True))
    body = join(markup("<tr>{}</tr>", row) for row in rows)
    # wide tables scroll, which the keyboard must be able to do as well
    return markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{0}"><table>'
        "<caption>{0}</caption><thead><tr>{1}</tr></thead><tbody>{2}</tbody></table></div>",
        *(caption, top, body),
    )


def _kind(name, cells):
    """Class of the cells of a column."""
    is_text = type(next(iter(cells), "")) is str
    words = " ".join([name, *cells] if is_text else [name]).split()
    kinds = ["number"] * (not is_text) + ["long"] * any(len(word) > LONG_WORD for word in words)
    return Markup(f' class="{" ".join(kinds)}"' if kinds else "")


def bar(share, code=""):
    """A bar that fills a share of its cell, perhaps in the colour of a cluster."""
    return markup(
        '<svg class="bar c{}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="8"/></svg>',
        *(code, f"{100 * share:.1f}"),
    )
