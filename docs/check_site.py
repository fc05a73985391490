"""Open every page of build/site at desktop and phone width; a fault fails.

Faults are messages on the console, missing files, pages wider than the screen, marks of comments
that show, links within the site that lead nowhere, and a search that finds nothing offline.
"""

import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import TimeoutError, sync_playwright

SITE = Path(__file__).parents[1] / "build" / "site"
WIDTHS = {"desktop": 1280, "phone": 390}
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
SEARCHED = "margin"
# Addresses of all links, those of drawings too, and the names that links may end in.
LINKS = """() => [...document.querySelectorAll('a[href]')].map(
    one => new URL(one.getAttribute('href'), document.baseURI).href)"""
NAMES = "() => [...document.querySelectorAll('[id]')].map(one => one.id)"


def pages():
    """Pages of the site, without the templates of the theme."""
    return sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)


def faults(page, width):
    """What is wrong with the pages of the site at one width of the screen."""
    found: list[str] = []
    page.set_viewport_size({"width": width, "height": 900})
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("requestfailed", lambda request: found.append(f"missing: {request.url}"))
    page.on(
        "console",
        lambda told: found.append(told.text) if told.type in ("error", "warning") else None,
    )
    for path in pages():
        page.goto(path.as_uri())
        widest = page.evaluate("document.documentElement.scrollWidth")
        if widest > width:
            found.append(f"{widest} pixels wide")
        if "<!" in page.inner_text("body"):
            found.append("the mark of a comment shows")
        yield from (f"{path.relative_to(SITE)}: {fault}" for fault in found)
        found.clear()


def link_faults(page):
    """Links of pages to files of the site, or to names in its pages, that do not exist."""
    names, links = {}, []
    for path in pages():
        page.goto(path.as_uri())
        names[path] = set(page.evaluate(NAMES))
        links += [(path, link) for link in page.evaluate(LINKS) if link.startswith("file:")]
    for path, link in links:
        target, _, name = link.partition("#")
        file = Path(unquote(urlsplit(target).path))
        if not file.exists() or (name and unquote(name) not in names.get(file, {unquote(name)})):
            yield f"{path.relative_to(SITE)}: leads nowhere: {link}"


def search_faults(page):
    """What is wrong with the search of the site, opened from the disk."""
    page.goto(f"{(SITE / 'search.html').as_uri()}?q={SEARCHED}")
    try:
        page.wait_for_selector("#search-results li a", timeout=10_000)
    except TimeoutError:
        yield f"search.html: nothing found for {SEARCHED!r}"


def main():
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    told = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        for name, width in WIDTHS.items():
            told += [f"{name}: {fault}" for fault in faults(browser.new_page(), width)]
        told += link_faults(browser.new_page())
        told += search_faults(browser.new_page())
        browser.close()
    print("\n".join(told) or f"{len(pages())} pages without a fault")
    return bool(told)


if __name__ == "__main__":
    sys.exit(main())
