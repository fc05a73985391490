"""What a page or a terminal would obey, or hide, is shown in reports as an escape."""

import unicodedata
from dataclasses import replace

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from report_support import IRIS, Page, comparison
from separatrix import MaximinSeparationClustering
from separatrix.report import write_report
from separatrix.report.markup import visible

# Clear the screen, end a text, go back, return, turn text around, one of the newer controls, a
# half character.
HOSTILE = ["\x1b[2J", "\0", "\b\b", "\r", "\u202e", "\u2066", "\x9b31m", "\udc80", "\ufeff"]
PLAIN = ["naïve", "a\tb\nc", "no\u00a0break", "نیم\u200cفاصله", "👩\u200d🔬", "−1 € ≤ ∞"]


def texts_in(data):
    """All texts in what the script of a page gets."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for one in data.values() if isinstance(data, dict) else data:
            yield from texts_in(one)


def written(folder, estimator, **names):
    """A report, which obeys nothing: neither its text nor what its script shows."""
    text = write_report(estimator, IRIS, folder / "report.html", **names).read_bytes().decode()
    page = Page(text)
    for shown in (text, *texts_in(page.data)):
        odd = {one for one in shown if unicodedata.category(one) in ("Cc", "Cf", "Cs")}
        assert odd <= set("\n\t\u200c\u200d")
    return page


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_names_are_shown_and_not_obeyed(iris_model, tmp_path, hostile):
    escaped = hostile.encode("unicode_escape").decode()
    features = [f"{hostile}{j}" for j in range(4)]
    rows = [f"{hostile}{i}" for i in range(len(IRIS))]
    named = {"feature_names": features, "row_names": rows}
    page = written(tmp_path, iris_model, title=hostile, model_path=hostile, **named)
    assert set(page.table("feature", "weight")) == {f"{escaped}{j}" for j in range(4)}
    assert page.data["tips"][0] == ["row", [f"{escaped}{i}" for i in range(len(IRIS))]]
    assert set(page.table("row", "cluster", "or rather")) <= set(page.data["tips"][0][1])
    assert f"predict new.csv '{escaped}'" in page.text


def test_a_comparison_and_steps_obey_nothing_either(tmp_path):
    hostile = "".join(HOSTILE)
    compared = comparison()
    names = [f"{name}{hostile}" for name in compared.names]
    written(tmp_path, replace(compared, names=names, notes=[hostile] * 4, families=names))
    model = make_pipeline(StandardScaler(), MaximinSeparationClustering(2)).fit(IRIS)
    model.steps[0] = (hostile, model.steps[0][1])
    written(tmp_path, model)


@pytest.mark.parametrize("plain", PLAIN)
def test_texts_of_all_languages_stay(plain):
    assert visible(plain) == plain
    assert visible({plain: [plain, (1, plain)]}) == {plain: [plain, [1, plain]]}
