"""What profiles tell of clusters, against sums made by hand and by pandas."""

import sys
from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from separatrix import profile

N = 60


@pytest.fixture
def customers():
    rng = np.random.default_rng(0)
    plan = np.where(np.arange(N) < 20, "family", rng.choice(["solo", "none"], N))
    return pd.DataFrame(
        {
            "spend": np.where(np.arange(N) < 20, 50.0, 10.0) + rng.normal(size=N),
            "plan": np.where(np.arange(N) % 10 == 9, None, plan),
            "noise": rng.normal(size=N),
            "joined": [date(2020, 1, 1) + timedelta(days=5 * i) for i in range(N)],
        }
    )


LABELS = np.repeat([0, 1], [20, 40])


def effect_by_hand(values, inside):
    return (values[inside].mean() - values[~inside].mean()) / values.std()


def difference_in(found, cluster, column):
    return next(one for one in found.clusters[cluster].differences if one.column == column)


def test_numbers_differ_by_standardised_means(customers):
    found = profile(customers, LABELS)
    one, values = difference_in(found, 0, "spend"), customers["spend"].to_numpy()
    assert one.effect == pytest.approx(effect_by_hand(values, LABELS == 0))
    assert (one.value, one.overall) == pytest.approx((values[:20].mean(), values.mean()))
    assert one.text == f"large spend ({values[:20].mean():.3g}, overall {values.mean():.3g})"
    assert difference_in(found, 1, "spend").text.startswith("small spend")


def test_the_mean_of_equal_values_is_that_value():
    """Not what rounding leaves of it, such as -2e-16 of zeros."""
    labels = np.repeat([0, 1, 2], [30, 31, 42])
    values = np.where(labels == 2, 1.0, 0.0)
    found = profile(np.column_stack([values, 7.0 - 7 * values, np.arange(103) % 5]), labels)
    means = [[difference_in(found, k, f"feature {j}").value for j in (0, 1)] for k in range(3)]
    assert means == [[0, 7], [0, 7], [1, 0]]
    assert "small feature 0 (0, overall 0.408)" in found.clusters[0].text


def test_a_category_counts_like_its_indicator(customers):
    found = difference_in(profile(customers, LABELS), 0, "plan")
    is_family = (customers["plan"] == "family").to_numpy(float)
    assert found.level == "family"
    assert found.value == is_family[:20].mean()
    assert found.effect == pytest.approx(effect_by_hand(is_family, LABELS == 0))
    assert found.text == "mostly plan = family (90 %, overall 30 %)"


def test_what_differs_little_is_not_told():
    parity = np.arange(N) % 2
    steps = {size: np.arange(N) // 2 + size * parity for size in (1.0, 4.0)}
    effects = {size: effect_by_hand(steps[size], parity == 1) for size in steps}
    assert effects[1.0] < 0.2 < effects[4.0]
    found = {size: profile(steps[size][:, None], parity).clusters[1].text for size in steps}
    assert found[1.0] == "no column differs much from the rest"
    assert found[4.0].startswith("large feature 0")


def test_beside_clear_differences_slight_ones_are_not_told():
    parity = np.arange(N) % 2
    slight, clear = (np.arange(N) // 2 + size * parity for size in (4.0, 40.0))
    assert 0.2 < effect_by_hand(slight, parity == 1) < 0.5 < effect_by_hand(clear, parity == 1)
    told = profile(np.column_stack([slight, clear]), parity).clusters[1].differences
    assert [one.column for one in told] == ["feature 1"]


def test_at_most_three_columns_are_told_the_largest_first():
    X = np.arange(30.0)[:, None] * np.ones(6) + np.random.default_rng(0).normal(
        scale=[1, 2, 4, 8, 16, 32], size=(30, 6)
    )
    found = profile(X, np.arange(30) > 14).clusters[1].differences
    effects = [abs(effect_by_hand(X[:, j], np.arange(30) > 14)) for j in range(6)]
    expected = [f"feature {j}" for j in np.argsort(effects)[::-1][:3]]
    assert [one.column for one in found] == expected


def test_units_do_not_change_what_is_told():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    X[labels == 1] += 2
    effects = [[one.effect for one in c.differences] for c in profile(X, labels).clusters]
    rescaled = profile(X * [1e-150, 1e100, 3] + [0, 0, 1e9], labels).clusters
    for before, after in zip(effects, rescaled, strict=True):
        assert [one.effect for one in after.differences] == pytest.approx(before, rel=1e-5)


def test_dates_are_early_or_late(customers):
    found = profile(customers, LABELS)
    one = difference_in(found, 0, "joined")
    days = np.arange(N) * 5.0
    assert one.effect == pytest.approx(effect_by_hand(days, LABELS == 0))
    assert one.text == "early joined (2020-02-17, overall 2020-05-27)"


def test_frames_of_pandas_and_polars_and_arrays_tell_the_same(customers):
    of_pandas, of_polars = profile(customers, LABELS), profile(pl.from_pandas(customers), LABELS)
    assert str(of_pandas) == str(of_polars)
    numbers = customers[["spend", "noise"]]
    of_array = profile(numbers.to_numpy(), LABELS, feature_names=["spend", "noise"])
    assert str(of_array) == str(profile(numbers, LABELS))


def test_the_frame_has_the_quartiles_that_pandas_finds(customers):
    customers.loc[3, "noise"] = np.nan
    table = profile(customers, LABELS).to_frame()
    expected = customers.groupby(LABELS)["noise"].describe()
    for name, quartile in (("25 %", "25%"), ("median", "50%"), ("75 %", "75%")):
        np.testing.assert_allclose(table[f"noise {name}"], expected[quartile])
    counts = customers["plan"].fillna("missing").groupby(LABELS).value_counts(normalize=True)
    assert table.loc[1, "plan = solo"] == pytest.approx(counts[1]["solo"])
    assert table.loc[1, "plan = missing"] == pytest.approx(counts[1]["missing"])
    assert table.loc[1, "plan = family"] == 0
    assert table["rows"].tolist() == [20, 40]


def test_rows_of_no_cluster_count_among_the_rest():
    values = np.r_[np.zeros(5), np.ones(5), np.full(5, 9.0)]
    labels = np.repeat([0, 1, -1], 5)
    found = profile(values[:, None], labels)
    assert [one.cluster for one in found.clusters] == [0, 1]
    assert found.clusters[1].differences[0].effect == pytest.approx(
        effect_by_hand(values, labels == 1)
    )
    assert str(found).endswith("5 rows belong to no cluster.")
    assert found.clusters[0].share == 1 / 3


def test_one_cluster_has_no_rest():
    assert not profile([[1.0], [2.0]], [0, 0]).clusters[0].differences


def test_a_column_without_values_or_variation_says_nothing():
    X = pd.DataFrame({"empty": [np.nan] * 4, "same": [0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2]})
    assert not profile(X, [0, 1, 1, 0]).clusters[0].differences


def test_notebooks_get_text_as_text():
    X = pd.DataFrame({"<script>": [0.0, 0.0, 9.0, 9.0]})
    shown = profile(X, ["<b>", "<b>", "c", "c"])._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown


def test_without_pandas_the_frame_is_refused_with_the_remedy(monkeypatch):
    found = profile([[1.0], [2.0]], [0, 1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        found.to_frame()


@pytest.mark.parametrize(
    ("X", "labels", "names", "told"),
    [
        ([[1.0], [2.0]], [0, 1, 1], None, "X has 2 samples but labels has 3"),
        ([[1.0], [2.0]], [-1, -1], None, "labels are all -1"),
        ([[1.0], [2.0]], [0, 1], ["a", "b"], "feature_names has 2 names but X has 1 columns"),
        (pd.DataFrame({"a": [[1], [2]]}), [0, 1], None, "no column of numbers, dates or texts"),
    ],
)
def test_what_cannot_be_described_is_refused(X, labels, names, told):
    with pytest.raises(ValueError, match=told):
        profile(X, labels, names)
