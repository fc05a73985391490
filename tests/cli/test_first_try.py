"""Tables as packages ship them, at the first try and without options.

Each is a small excerpt with the columns, kinds, gaps, ids and dates of the table that it is named
after. What is left out, filled and warned of is what a reader would want.
"""

import json
import re

import numpy as np
import pytest

from separatrix.cli import main

pytestmark = pytest.mark.usefixtures("few_tables")

RNG = np.random.RandomState(0)
N = 24
SPECIES = np.repeat(["Adelie", "Chinstrap", "Gentoo"], 8)
ISLANDS = np.tile(["Torgersen", "Dream", "Biscoe"], 8)
DAYS = np.datetime64("2012-01-01") + np.arange(N)
MONTHS = np.datetime64("2006-01") + np.arange(N)


def noisy(means, digits=1):
    """A number of each row, about one mean of each third of the rows."""
    return (np.repeat(means, 8) + RNG.normal(0, 1, N)).round(digits)


def texts(*of):
    return RNG.choice(of, N)


def gaps(values, *rows):
    values = np.asarray(values, dtype=object)
    values[list(rows)] = ""
    return values


def measured():
    return {
        "bill_length_mm": gaps(noisy([39, 49, 47]), 3),
        "bill_depth_mm": gaps(noisy([18, 18, 15]), 3),
        "flipper_length_mm": gaps(noisy([190, 196, 217], 0).astype(int), 3),
        "body_mass_g": gaps(noisy([3700, 3733, 5076], 0).astype(int), 3),
        "sex": gaps(texts("male", "female"), 3, 9),
    }


def penguins():
    """palmerpenguins"""
    years = texts("2007", "2008", "2009")
    return {"species": SPECIES, "island": ISLANDS, **measured(), "year": years}


def penguins_raw():
    """palmerpenguins, as a data frame is saved with its index"""
    return {
        "": range(N),
        "studyName": texts("PAL0708", "PAL0809", "PAL0910"),
        "Sample Number": [*range(1, 9)] * 3,
        "Species": SPECIES,
        "Region": ["Anvers"] * N,
        "Stage": ["Adult, 1 Egg Stage"] * N,
        "Individual ID": [f"N{i // 2}A{i % 2 + 1}" for i in range(N)],
        "Date Egg": np.datetime64("2007-11-11") + RNG.randint(900, size=N),
        **measured(),
        "Comments": gaps(["Not enough blood for isotopes."] * N, *range(3, N)),
    }


def titanic():
    """seaborn, which says some things twice"""
    klass, survived = RNG.randint(1, 4, N), RNG.randint(2, size=N)
    return {
        "survived": survived,
        "pclass": klass,
        "sex": texts("male", "female"),
        "age": gaps(RNG.randint(1, 80, N), 5, 6, 17),
        "fare": RNG.lognormal(3, 1, N).round(4),
        "class": np.array(["First", "Second", "Third"])[klass - 1],
        "adult_male": texts("True", "False"),
        "deck": gaps(texts("A", "B", "C"), *range(4, 22)),
        "alive": np.where(survived, "yes", "no"),
    }


def cars():
    """vega_datasets"""
    return {
        "Name": [f"chevrolet {min(i, 21)}" for i in range(N)],
        "Miles_per_Gallon": gaps(noisy([14, 24, 32]), 10),
        "Cylinders": np.repeat([8, 6, 4], 8),
        "Horsepower": gaps(noisy([160, 100, 70], 0).astype(int), 20),
        "Year": [f"19{70 + i % 12}-01-01" for i in range(N)],
        "Origin": texts("USA", "Europe", "Japan"),
    }


def seattle_weather():
    """vega_datasets"""
    return {
        "date": DAYS,
        "precipitation": RNG.exponential(3, N).round(1),
        "temp_max": noisy([5, 15, 25]),
        "wind": RNG.exponential(3, N).round(1),
        "weather": texts("rain", "sun", "fog"),
    }


def stocks():
    """vega_datasets"""
    dates = [
        f"{month} 1 2000" for month in ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug")
    ]
    symbols = np.repeat(["MSFT", "AMZN", "IBM"], 8)
    return {"symbol": symbols, "date": dates * 3, "price": noisy([40, 60, 100], 2)}


def airports():
    """vega_datasets"""
    return {
        "iata": [f"{i:02d}M" for i in range(N)],
        "name": [f"Field {i // 2}" for i in range(N)],
        "city": [f"City {i}" for i in range(N - 1)] + ["City 0"],
        "state": texts("MS", "TX", "CA"),
        "country": ["USA"] * N,
        "latitude": noisy([31, 40, 47], 5),
        "longitude": noisy([-89, -118, -75], 5),
    }


def us_employment():
    """vega_datasets"""
    jobs = {name: RNG.normal(9000, 500, N).round(1) for name in ("private", "mining", "retail")}
    return {
        "month": MONTHS.astype("datetime64[D]"),
        "nonfarm": RNG.randint(130000, 140000, N),
        **jobs,
    }


def statecrime():
    """statsmodels, whose states are an index"""
    return {
        "state": [f"State {i}" for i in range(N)],
        "violent": noisy([300, 450, 700]),
        "murder": noisy([2, 5, 8]),
        "hs_grad": RNG.normal(86, 3, N).round(1),
        "poverty": RNG.normal(14, 3, N).round(1),
    }


def grunfeld():
    """statsmodels"""
    return {
        "": range(N),
        "invest": RNG.lognormal(4, 1, N).round(1),
        "value": RNG.lognormal(6, 1, N).round(1),
        "firm": np.repeat(["General Motors", "US Steel", "IBM"], 8),
        "year": [*range(1935, 1943)] * 3,
    }


def fertility():
    """statsmodels: a year in each column, the last of them empty"""
    years = {str(year): gaps(noisy([6, 4, 2], 3), 2, 5 + year % 10) for year in range(1960, 1964)}
    return {
        "Country Name": [f"Country {i}" for i in range(N)],
        "Country Code": [f"C{i:02d}" for i in range(N)],
        "Indicator Code": ["SP.DYN.TFRT.IN"] * N,
        **years,
        "2013": [""] * N,
    }


# What is left out of each table, and how many missing values are filled.
TABLES = {
    penguins: (set(), 6),
    penguins_raw: ({"column 1", "Region", "Stage", "Individual ID", "Comments"}, 6),
    titanic: ({"class", "alive", "deck"}, 3),
    cars: ({"Name"}, 2),
    seattle_weather: (set(), 0),
    stocks: (set(), 0),
    airports: ({"iata", "city", "country"}, 0),
    us_employment: (set(), 0),
    statecrime: ({"state"}, 0),
    grunfeld: ({"column 1"}, 0),
    fertility: ({"Country Name", "Country Code", "Indicator Code", "2013"}, 8),
}


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_tables_run_at_the_first_try(tmp_path, capfd, make):
    columns = {name: [str(value) for value in values] for name, values in make().items()}
    rows = list(zip(*columns.values(), strict=True))
    path, out = tmp_path / f"{make.__name__}.csv", tmp_path / "out.csv"
    quoted = ["\t".join(row) for row in [tuple(columns), *rows]]
    path.write_text("\n".join(quoted) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        main(["cluster", str(path), "--out", str(out)])
    assert stopped.value.code == 0
    shown = capfd.readouterr().err
    left_out, n_filled = TABLES[make]
    assert set(re.findall(r"^left out +(.*?): ", shown, re.MULTILINE)) == left_out
    assert bool(left_out) == ("left out" in shown)
    filled = re.search(r"^filled +(\d+) missing", shown, re.MULTILINE)
    assert (int(filled[1]) if filled else 0) == n_filled
    written = out.read_text(encoding="utf-8").splitlines()
    assert len(written) == N + 1
    assert written[0].endswith(",cluster,confidence")


def test_a_list_of_objects_runs_as_well(tmp_path, capfd):
    """vega_datasets ships cars so."""
    path = tmp_path / "cars.json"
    columns = {
        name: [one if one != "" else None for one in values] for name, values in cars().items()
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text(json.dumps(rows, default=str))
    with pytest.raises(SystemExit) as stopped:
        main(
            ["cluster", str(path), "-k", "3", "-m", "k-means", "--out", str(tmp_path / "out.csv")]
        )
    assert stopped.value.code == 0
    assert "2 missing values: Miles_per_Gallon 1, Horsepower 1" in capfd.readouterr().err
