"""Write docs/images/which_method.svg: the chart of the page "Which method should I use?".

Colours are those of the site, so that the chart is readable by day and by night; every answer
leads to its page.
"""

from html import escape
from pathlib import Path

CHART = Path(__file__).parent / "images" / "which_method.svg"
QUESTIONS = [
    ("Are some pairs or labels known?", "MaximumMargin", "known_pairs"),
    ("Are cluster sizes given or bounded?", "RegularizedLeastSquares", "sizes"),
    ("Are the rows sparse texts?", "CuttingPlaneMargin", "text"),
    ("Do features have different units?", "MaximinSeparation", "units"),
    ("Do you want weights that explain?", "MaximinSeparation", "what_tells_apart"),
    ("More than 100,000 rows?", "MaximinSeparation", "million_rows"),
    ("Are clusters bent, or is it a graph?", "MaximumVolume", "../volume"),
    ("Gaps between clusters, and outliers?", "TreeCut", "../classics"),
    ("Do you want a proven bound?", "SemidefiniteMargin", "../relaxations"),
    ("None of these, or several", "AutoClustering", "../selection"),
]
QUESTION, GAP, ANSWER, HEIGHT, STEP = 264, 42, 186, 36, 56
TEXT = "var(--pst-color-text-base, #222832)"
LINE = "var(--pst-color-text-muted, #48566b)"
LINK = "var(--pst-color-link, #0a7d91)"
BOX = "var(--pst-color-surface, #f3f4f5)"


def box(x, y, width, text, *, color=TEXT, edge=LINE):
    """A box with a text in its middle."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="6" style="fill: {BOX}; '
        f'stroke: {edge}"/>\n<text x="{x + width / 2:g}" y="{y + HEIGHT / 2 + 5:g}" '
        f'text-anchor="middle" style="fill: {color}">{escape(text)}</text>\n'
    )


def arrow(path, text, x, y):
    """A line with a head, and the answer that follows it."""
    return (
        f'<path d="{path}" style="fill: none; stroke: {LINE}" marker-end="url(#head)"/>\n'
        f'<text x="{x}" y="{y}" style="fill: {LINE}">{text}</text>\n'
    )


def row(number, question, answer, page, *, last):
    """A question with the way to its answer, and to the next question."""
    y = 2 + number * STEP
    middle, right = y + HEIGHT // 2, 2 + QUESTION
    drawn = box(2, y, QUESTION, question)
    drawn += arrow(
        f"M{right} {middle}H{right + GAP - 7}", "" if last else "yes", right + 12, y + 13
    )
    if not last:
        x = 2 + QUESTION // 2
        drawn += arrow(f"M{x} {y + HEIGHT}V{y + STEP - 6}", "no", x + 8, y + HEIGHT + 14)
    linked = box(right + GAP, y, ANSWER, answer, color=LINK, edge=LINK)
    return drawn + f'<a href="{page}.html">\n{linked}</a>\n'


def chart():
    """The whole chart."""
    width, height = 4 + QUESTION + GAP + ANSWER, 4 + (len(QUESTIONS) - 1) * STEP + HEIGHT
    last = len(QUESTIONS) - 1
    rows = "".join(row(i, *entry, last=i == last) for i, entry in enumerate(QUESTIONS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Questions from top to bottom, each with the method to use" '
        f'style="max-width: {1.3 * width:.0f}px; width: 100%; margin-bottom: 1rem" '
        f'font-family="inherit" font-size="14">\n'
        f'<defs><marker id="head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" style="fill: {LINE}"/></marker>'
        f"</defs>\n{rows}</svg>\n"
    )


if __name__ == "__main__":
    CHART.write_text(chart(), encoding="utf-8")
