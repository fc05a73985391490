"""Counts, shares and sentences, as a report writes them."""

import numpy as np

from separatrix.report.markup import Markup

__all__ = [
    "count",
    "decimals",
    "is_none",
    "ordinal",
    "percent",
    "percents",
    "reason",
    "sentence",
    "two_digits",
]


def count(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def percent(share):
    return Markup(f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}")


def percents(shares):
    return [percent(share) for share in shares]


def ordinal(number):
    """Such as 1st, 2nd, 3rd, 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def decimals(numbers):
    return [Markup(f"{number:z.2f}") for number in numbers]


def two_digits(agreement):
    return None if np.isnan(agreement) else f"{agreement:.2f}"


def is_none(words):
    return words is not None and words.startswith("none")


def reason(words):
    """The explanation after the word that sums it up."""
    return words.partition(": ")[2] or words


def sentence(words):
    return words[:1].upper() + words[1:].rstrip(".")
