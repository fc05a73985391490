"""The site: `make docs` builds it from the pages here, the docstrings and the examples."""

import inspect
import os
from importlib.metadata import metadata
from pathlib import Path

import separatrix

HERE = Path(__file__).parent
ADDRESSES = dict(
    line.split(", ", maxsplit=1) for line in metadata("separatrix").get_all("Project-URL", [])
)

project = "Separatrix"
author = "The Separatrix developers"
copyright = author
version = release = separatrix.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["templates", "images", "gallery", "extending"]
templates_path = ["templates"]
default_role = "literal"

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

GALLERY = ["choosing", "criteria", "knowledge", "explaining", "kinds_of_data"]
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "ignore_pattern": "^(?!plot_)",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "subsection_order": [f"../examples/{name}" for name in GALLERY],
    "within_subsection_order": "ExampleTitleSortKey",
    "nested_sections": False,
    "reset_modules": ("matplotlib",),
    "capture_repr": (),  # pictures and what is printed, no names of objects
    "abort_on_example_error": True,
    "parallel": os.cpu_count(),
}

html_theme = "pydata_sphinx_theme"
html_title = f"{project} {version}"
html_static_path = ["static"]
html_css_files = ["separatrix.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it fetches pages, which browsers refuse offline
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": [], "auto_examples/**": [], "changelog": []}
html_theme_options = {
    "github_url": ADDRESSES.get("Repository", ""),
    "use_edit_page_button": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "compared": []},  # tables of 14 columns
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button-field"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# --- the API reference: all public names, in the order of the registry ---------------------------

API = """.. _api:

API reference
=============

A name means the same in every estimator that has it:
:doc:`all estimators and parameters in one table </parameters>`.
"""
SECTIONS = {
    "Clusterers": ("criteria", "selection.auto"),
    "Classic clusterers": ("classics",),
    "Classifiers": ("classifiers",),
    "Functions": ("",),  # all others
}


def autosummary(title, module, names):
    """A section of the reference, which has a page for each name."""
    listed = "".join(f"   {name}\n" for name in names)
    head = f"\n{title}\n{'-' * len(title)}\n\n.. currentmodule:: {module}\n"
    return f"{head}\n.. autosummary::\n   :toctree: .\n   :nosignatures:\n\n{listed}"


def api():
    """The page that lists all public names."""
    parts, others = [API], dict(separatrix._REGISTRY)
    for title, homes in SECTIONS.items():
        names = [name for name, entry in others.items() if entry.home.startswith(homes)]
        parts.append(autosummary(title, "separatrix", names))
        others = {name: entry for name, entry in others.items() if name not in names}
    for module in separatrix._MODULES:
        summary = inspect.getdoc(getattr(separatrix, module)).splitlines()[0].rstrip(".")
        home = f"separatrix.{module}"
        parts.append(autosummary(summary, home, getattr(separatrix, module).__all__))
    return "".join(parts)


PAGE = HERE / "api" / "index.rst"
PAGE.parent.mkdir(exist_ok=True)
if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != api():  # or all would be built again
    PAGE.write_text(api(), encoding="utf-8")
