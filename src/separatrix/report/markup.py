"""HTML in which every value is escaped, unless it is HTML made here."""

import re
from html import escape
from importlib.resources import files
from string import Template

import numpy as np

from separatrix._output import in_digits

__all__ = [
    "Label",
    "Markup",
    "bar",
    "filled",
    "heat",
    "join",
    "label",
    "markup",
    "read",
    "strip",
    "table",
    "visible",
    "with_bars",
]

LONG_WORD = 16  # letters, of words that may be broken
LONG_TEXT = 60  # letters, of texts that need a wide column
# Control characters but tabs and ends of lines, half characters, and what turns or hides text;
# what joins letters or emoji stays.
UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


class Markup(str):
    """A piece of HTML."""

    __slots__ = ()


class Label(Markup):
    """A piece of HTML that is read as text, and not as a number."""

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
        value = in_digits(value)
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
    first = '<th scope="row"{}><div class="name">{}</div></th>'
    tags = [first] + ["<td{}>{}</td>"] * (len(names) - 1)
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
    is_text = all(type(cell) in (str, Label) for cell in cells)  # a number may be "missing"
    texts = [name, *(cell for cell in cells if type(cell) is str)]
    is_long = any(len(word) > LONG_WORD for word in " ".join(texts).split())
    is_prose = any(len(text) > LONG_TEXT for text in texts)
    kinds = {"number": not is_text, "long": is_long, "prose": is_prose}
    named = [kind for kind, holds in kinds.items() if holds]
    return Markup(f' class="{" ".join(named)}"' if named else "")


def bar(share, code=""):
    """A bar that fills a share of its cell, perhaps in the colour of a cluster."""
    return markup(
        '<svg class="bar c{}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="8"/></svg>',
        *(code, f"{100 * share:.1f}"),
    )


def with_bars(cells, values, codes=None):
    """Cells with a bar each, of which the largest value fills its own."""
    lengths = np.maximum(values, 0) / max(np.max(values), 1e-300)
    bars = map(bar, lengths, codes or [""] * len(cells))
    beside = '{}<span class="amount">{}</span>'
    return [markup(beside, *pair) for pair in zip(bars, cells, strict=True)]


def label(code, name):
    """Name of a cluster, with its colour."""
    swatch = '<svg class="swatch c{}" viewBox="-6 -6 12 12" aria-hidden="true">'
    return Label(
        markup(swatch + '<rect x="-5" y="-5" width="10" height="10"/></svg>{}', code, name)
    )


def heat(kind, level, content, signs=None):
    """Content of a cell of a heat map, of one of five levels from 0 to 4 of a kind of colour."""
    beside = "" if signs is None else markup('<small aria-hidden="true">{}</small>', signs)
    return markup('<span class="heat {}{}">{}{}</span>', kind, level, content, beside)


def strip(values, mark, words, ends):
    """A picture of values as bars of a histogram on a line, and of one value among them."""
    low, high = min(*values, mark), max(*values, mark)
    wide = (high - low) or 1.0
    counts, edges = np.histogram(values, bins=24, range=(low - 0.04 * wide, high + 0.04 * wide))
    width = 600 / len(counts)
    bars = join(
        markup(
            '<rect x="{}" y="{}" width="{}" height="{}"/>',
            *(f"{one:.1f}" for one in (i * width + 1, 110 - 90 * n, width - 2, 90 * n)),
        )
        for i, n in enumerate(counts / max(counts.max(), 1))
        if n
    )
    at = 600 * (mark - edges[0]) / (edges[-1] - edges[0])
    anchor = "end" if at > 300 else "start"
    return markup(
        '<figure><svg class="strip" viewBox="0 0 600 140" role="img" aria-label="{0}">{1}'
        '<path d="M0 110H600"/><path class="result" d="M{2} 8V118"/>'
        '<text class="result" x="{3}" y="16" text-anchor="{4}">{5}</text>'
        '<text x="0" y="134">{6}</text><text x="600" y="134" text-anchor="end">{7}</text></svg>'
        "<figcaption>{0}</figcaption></figure>",
        words,
        bars,
        f"{at:.1f}",
        f"{at - 6 if at > 300 else at + 6:.1f}",
        anchor,
        *ends,
    )
