"""The page of a report in a real browser."""

import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline

from report_support import ATTACK, IRIS, Page, comparison
from separatrix import AutoClustering, MaximinSeparationClustering
from separatrix.report import write_report
from separatrix.tables import TablePreparer


@pytest.fixture(scope="module")
def browser():
    """Chromium, if it and playwright are installed; SEPARATRIX_REQUIRE_BROWSER=1 insists."""
    programs = map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))
    program = next(filter(None, programs), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        missing = "needs Chromium and playwright"
        if os.environ.get("SEPARATRIX_REQUIRE_BROWSER") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a report; after the test nothing may have complained or been asked for."""
    troubles, contexts = [], []

    def open_report(estimator, X, *, color_scheme="light", **kwargs):
        path = write_report(estimator, X, tmp_path / "report.html", **kwargs)
        contexts.append(browser.new_context(color_scheme=color_scheme))
        page = contexts[-1].new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(path.as_uri())
        page.on("request", lambda request: troubles.append(request.url))
        return page

    yield open_report
    assert troubles == []
    for context in contexts:
        context.close()


def counts(page, n_clusters):
    """Number of marks of each cluster in the plot."""
    return [page.locator(f"#plot .mark.c{code}").count() for code in range(n_clusters)]


def test_toggles_hide_and_show_clusters(opened):
    model = MaximinSeparationClustering(3).fit(IRIS)
    sizes = np.bincount(model.labels_).tolist()
    page = opened(model, IRIS)
    assert counts(page, 3) == sizes
    assert not page.locator("#choice").is_visible()
    page.get_by_label("cluster 1").uncheck()
    assert counts(page, 3) == [sizes[0], 0, sizes[2]]
    page.get_by_role("button", name="None").click()
    assert counts(page, 3) == [0, 0, 0]
    page.get_by_label("cluster 2").focus()
    page.keyboard.press("Space")
    assert counts(page, 3) == [0, 0, sizes[2]]
    page.get_by_role("button", name="All").click()
    assert counts(page, 3) == sizes


def test_marks_tell_what_they_are(opened, iris_model):
    page = opened(iris_model, IRIS)
    tip = page.locator("#tip")
    assert not tip.is_visible()
    page.locator("#plot").scroll_into_view_if_needed()
    mark = page.locator("#plot .mark").nth(7).bounding_box()
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    assert tip.is_visible()
    assert tip.inner_text().startswith(f"cluster {iris_model.labels_[7]}\nrow: 7\nlead: ")
    page.mouse.move(1, 1)
    assert not tip.is_visible()


@pytest.mark.parametrize("width", [1000, 400])
def test_tip_of_the_rightmost_mark_is_readable(opened, iris_model, width):
    page = opened(iris_model, IRIS)
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("#plot").scroll_into_view_if_needed()
    boxes = [mark.bounding_box() for mark in page.locator("#plot .mark").all()]
    mark = max(boxes, key=lambda box: box["x"])
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    tip = page.locator("#tip").bounding_box()
    assert tip["width"] >= 120
    assert tip["x"] >= 0
    assert tip["x"] + tip["width"] <= mark["x"] + mark["width"] < width


SCALES = {"": 1, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


@pytest.mark.parametrize("width", [1000, 400])
@pytest.mark.parametrize("size", [1e-7, 1, 1e6, 1e11, 1e17])
def test_axes_are_readable(opened, size, width):
    X, _ = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    names = ["short", "a_long_name_without_a_gap_" * 5]
    page = opened(MaximinSeparationClustering(2).fit(X * size), X * size, feature_names=names)
    page.set_viewport_size({"width": width, "height": 800})
    plot = page.locator("#plot").bounding_box()
    texts = page.locator("#plot text").evaluate_all(
        "all => all.map(e => [e.firstChild.data, e.lastChild.textContent, "
        "...['x', 'y', 'right', 'bottom'].map(side => e.getBoundingClientRect()[side])])"
    )
    for *_, left, top, right, bottom in texts:
        assert plot["x"] - 1 <= left
        assert plot["y"] - 1 <= top
        assert right <= plot["x"] + plot["width"] + 1
        assert bottom <= plot["y"] + plot["height"] + 1
    for i, (*_, left, top, right, bottom) in enumerate(texts):
        for *_, a, b, c, d in texts[:i]:
            assert a >= right or c <= left or b >= bottom or d <= top
    *ticks, (x_name, _, *_), (y_name, full_name, *_) = texts
    assert x_name == "short"
    assert y_name.endswith("…")
    assert names[1].startswith(y_name[:-1])
    assert len(y_name) > 20
    assert full_name == names[1]
    split = 1 + max(i for i, tick in enumerate(ticks) if tick[3] == ticks[0][3])
    for axis, labels in ((2, ticks[:split]), (5, ticks[split:])):  # the places go with the values
        values = [
            float(t[0].rstrip("KMBT")) * SCALES[t[0].lstrip("-.e0123456789")] for t in labels
        ]
        places = [t[axis] + t[axis + 2] if axis == 2 else t[axis] for t in labels]
        assert len(set(values)) == len(labels) >= 3
        assert abs(np.corrcoef(values, places)[0, 1]) == pytest.approx(1, abs=1e-3)
        assert max(values) < 12 * size


def test_keys_go_from_mark_to_mark(opened, iris_model):
    page = opened(iris_model, IRIS)
    points = np.array(Page(page.content()).data["points"])
    page.locator("#plot").focus()
    for key, order in (("ArrowRight", points[:, 0]), ("ArrowUp", points[:, 1])):
        heard = []
        for _ in range(5):
            page.keyboard.press(key)
            heard.append(int(re.search(r"row: (\d+)", page.inner_text("#spoken"))[1]))
        assert (np.diff(order[heard]) >= 0).all()
        assert len(set(heard)) == 5
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_every_control_is_reached_by_tab(opened, iris_model):
    page = opened(iris_model, IRIS)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"A", "INPUT", "all", "none", "plot", "DIV"} <= reached


def test_another_clustering_is_chosen(opened):
    compared = comparison()
    page = opened(compared, IRIS)
    assert page.locator("#choice").is_visible()
    assert counts(page, 3) == np.bincount(compared.labels[1]).tolist()
    page.locator("#labelling").select_option("means, two")
    assert sorted(counts(page, 3)) == [0, *sorted(np.bincount(compared.labels[3]))]


def test_hostile_names_do_nothing(opened):
    X = pd.DataFrame(IRIS.to_numpy(), columns=[f"{ATTACK}{j}" for j in range(4)])
    page = opened(MaximinSeparationClustering(2).fit(X), X, title=ATTACK)
    page.locator("#plot").focus()
    page.keyboard.press("ArrowRight")
    assert f"{ATTACK}0: " in page.locator("#tip").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.title() == ATTACK


def luminance(color):
    channels = np.array([int(c) for c in re.findall(r"\d+", color)[:3]]) / 255
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def hostile_table():
    """A table whose names and cells are code, with what a clustering of it needs."""
    rng = np.random.default_rng(0)
    is_large = np.arange(60) < 30
    X = pd.DataFrame({f"{ATTACK}{j}": rng.normal(size=60) + 9 * is_large for j in range(6)})
    X[f"{ATTACK}kind"] = np.where(is_large, f"{ATTACK}a", f"{ATTACK}b")
    X[f"{ATTACK}same"] = ATTACK
    X.iloc[::9, 0] = np.nan
    return X


@pytest.fixture(scope="module")
def hostile_model():
    return make_pipeline(TablePreparer(), AutoClustering(2, random_state=0)).fit(hostile_table())


def test_hostile_cells_of_a_table_do_nothing(opened, hostile_model):
    page = opened(hostile_model, hostile_table(), row_names=[ATTACK] * 60)
    page.locator("#plot").focus()
    page.keyboard.press("ArrowRight")
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    for place in (".cards", "#preparation", "#rows", "#tip"):
        assert ATTACK in page.locator(place).inner_text()


def test_the_first_screen_tells_what_the_clusters_are(opened, iris_model):
    page = opened(iris_model, IRIS)
    page.set_viewport_size({"width": 1400, "height": 900})
    cards, heat = (page.locator(one).first.bounding_box() for one in (".cards", "td > .heat"))
    assert cards["y"] + cards["height"] <= 900
    assert heat["y"] <= 900
    assert heat["x"] >= cards["x"] + cards["width"]  # side by side


def test_wide_tables_say_so_on_a_phone(opened, hostile_model):
    page = opened(hostile_model, hostile_table())
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        are_wide = page.locator(".scroll").evaluate_all(
            "all => all.map(e => [e.scrollWidth > e.clientWidth + 1, e.classList.contains('wide'),"
            " getComputedStyle(e, '::before').content.includes('Scroll')])"
        )
        assert all(wide == marked == told for wide, marked, told in are_wide)
        if width == 390:
            assert any(wide for wide, *_ in are_wide)


@pytest.mark.parametrize("width", [1400, 390])
def test_long_names_of_rows_leave_room_for_the_means(opened, width):
    rng = np.random.default_rng(0)
    kinds = ["Chinstrap penguin (Pygoscelis antarctica)", "Gentoo penguin (Pygoscelis papua)"]
    size = np.repeat([0.0, 9.0], 45) + rng.normal(size=90)
    X = pd.DataFrame({"species": np.repeat(kinds, 45), "size": size})
    model = make_pipeline(TablePreparer(), MaximinSeparationClustering(2)).fit(X)
    page = opened(model, X)
    page.set_viewport_size({"width": width, "height": 800})
    overlaps = page.locator("tr:has(td > .heat)").evaluate_all("""all => all.map(row => {
        const range = document.createRange();
        range.selectNodeContents(row.querySelector("th"));
        const ends = Array.from(range.getClientRects(), box => box.right);
        return Math.max(...ends) - row.querySelector("td").getBoundingClientRect().left;
    })""")
    assert len(overlaps) >= 2
    assert max(overlaps) <= 0
    mean = page.locator("td > .heat").first.bounding_box()
    assert mean["x"] + mean["width"] <= width


def test_words_of_clusters_fit_on_a_phone(opened, iris_model):
    page = opened(iris_model, IRIS)
    page.set_viewport_size({"width": 390, "height": 800})
    for cell in page.locator(".cards td.prose").all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 390
        assert "overall" in cell.inner_text()


def test_paper_shows_what_is_folded(opened, iris_model):
    page = opened(iris_model, IRIS)
    assert not page.locator("#trust li").first.is_visible()
    page.pdf()
    assert all(one.is_visible() for one in page.locator("details li").all())


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_heat_maps_are_readable(opened, hostile_model, color_scheme):
    page = opened(hostile_model, hostile_table(), color_scheme=color_scheme)
    ink = luminance(page.evaluate("getComputedStyle(document.body).color"))
    colors = page.locator(".heat").evaluate_all(
        """all => all.map(e => {
            const canvas = document.createElement("canvas").getContext("2d");
            canvas.fillStyle = getComputedStyle(e).backgroundColor;
            canvas.fillRect(0, 0, 1, 1);
            return `rgb(${canvas.getImageData(0, 0, 1, 1).data.slice(0, 3).join(", ")})`;
        })"""
    )
    assert len(set(colors)) >= 3
    for color in set(colors):
        low, high = sorted([ink, luminance(color)])
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_text_has_contrast(opened, iris_model, color_scheme):
    page = opened(iris_model, IRIS, color_scheme=color_scheme)

    def style(selector, name):
        return page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{name}")

    paper = luminance(style("body", "backgroundColor"))
    assert (paper > 0.5) == (color_scheme == "light")
    inks = [("body", "color"), ("a[href='#trust']", "color"), ("caption", "color")]
    for selector, name in [*inks, ("figcaption", "color"), ("#plot text", "fill")]:
        low, high = sorted([paper, luminance(style(selector, name))])
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize(("media", "width"), [("print", 700), ("screen", 400)])
def test_long_names_do_not_widen_the_page(opened, media, width):
    rng = np.random.default_rng(0)
    names = [f"{'annual_household_income_before_taxes_and_transfers':_<58}_{j}" for j in range(6)]
    X = pd.DataFrame(rng.normal(size=(90, 6)) + np.repeat([0, 9, 18], 30)[:, None], columns=names)
    X.index = [f"{'row_of_a_table_that_has_a_very_long_name':_<58}{i}" for i in range(90)]
    page = opened(MaximinSeparationClustering(3).fit(X), X)
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(media=media)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    count_lines = """e => {
        const range = document.createRange();
        range.selectNodeContents(e);
        return range.getClientRects().length;
    }"""
    assert page.locator("thead th", has_text="explained").evaluate(count_lines) == 1
    assert page.locator("thead th", has_text="annual").first.evaluate(count_lines) > 1


def test_paper_shows_the_plot_and_no_controls(opened, iris_model):
    page = opened(iris_model, IRIS, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("#plot").is_visible()
    assert not page.locator("nav").is_visible()
    assert not page.get_by_role("button", name="None").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
