"""Write docs/parameters.md: all estimators and parameters, from signatures and docstrings."""

import inspect
import re
from collections import defaultdict
from pathlib import Path

from numpydoc.docscrape import NumpyDocString

import separatrix

PAGE = Path(__file__).with_name("parameters.md")
HEAD = """# All estimators and parameters

`make parameters` writes this page from signatures and docstrings. A name means the same in every
estimator that has it. The page gives the first sentence of its description, which is the same in
all of them; the docstring of each estimator continues with the details.
"""


def estimators():
    """Public estimators by name."""
    found = {name: getattr(separatrix, name) for name in separatrix.__all__}
    return {name: one for name, one in found.items() if isinstance(one, type)}


def first_sentence(entry):
    """Of a description, in one line that a table can hold."""
    text = " ".join(" ".join(entry.desc).split())
    return re.match(r".*?[.:;](?= |$)|.*", text).group().rstrip(":;.") + "."


def entries(section):
    """Description and owners of each name in a section of the docstrings."""
    meaning, owners = {}, defaultdict(list)
    for name, estimator in estimators().items():
        for entry in NumpyDocString(inspect.getdoc(estimator))[section]:
            meaning.setdefault(entry.name, first_sentence(entry))
            owners[entry.name].append(name)
    return meaning, owners


def defaults(name, owners):
    """Estimators that have a parameter, grouped by its default."""
    groups = defaultdict(list)
    for owner in owners:
        parameter = inspect.signature(estimators()[owner]).parameters[name]
        groups[repr(parameter.default).replace("'", '"')].append(owner)
    return "; ".join(f"`{value}`: {', '.join(names)}" for value, names in groups.items())


def table(header, rows):
    """Markdown table."""
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def page():
    """The whole page."""
    parameters, owners = entries("Parameters")
    attributes, holders = entries("Attributes")
    listed = [
        (f"`{name}`", ", ".join(f"`{one}`" for one in inspect.signature(estimator).parameters))
        for name, estimator in estimators().items()
    ]
    named = [
        (f"`{name}`", parameters[name], defaults(name, owners[name]))
        for name in sorted(parameters)
    ]
    held = [
        (
            f"`{name}`",
            attributes[name],
            "all" if len(holders[name]) == len(listed) else ", ".join(holders[name]),
        )
        for name in sorted(attributes)
    ]
    return "\n".join(
        [
            HEAD,
            "## Estimators\n",
            table(("estimator", "parameters"), listed),
            "\n## Parameters\n",
            table(("parameter", "meaning", "default: estimators"), named),
            "\n## Fitted attributes\n",
            table(("attribute", "meaning", "estimators"), held),
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page())
