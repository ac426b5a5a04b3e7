"""How Sphinx builds the site: ``tox -e docs``, into ``build/docs``.

The root of the repository is the source, so that a link from page to page is the same on the site
and where the files are read as they are. What is generated stands in `pages`.
"""

import gc
import re
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from docutils import nodes
from figures import drawn
from pages import filled

import pfbench

# All trees of the pages live to the end: to look for garbage takes a quarter of the time.
gc.disable()

# numpydoc leaves out what stands below a heading that it does not know, and only warns.
warnings.filterwarnings("error", message="Unknown section")

project = "pfbench"
author = "the pfbench developers"
copyright = "the pfbench developers"
version = release = pfbench.__version__

root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/*.rst", "docs/theory/*.md", "reports/**.md"]
exclude_patterns = ["build", ".*", "**/.*", "reports/history"]
if tags.has("brief"):  # noqa: F821 (Sphinx defines it)
    # No page names these reports, and others are like them.
    exclude_patterns += ["reports/paper/shen2019-fig[2-4]*", "reports/paper/wang2019-fig[23]*"]
templates_path = ["_templates"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
myst_heading_anchors = 4
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["torch"]
numpydoc_show_class_members = False
add_module_names = False
default_role = "literal"
highlight_language = "none"
nitpicky = True
suppress_warnings = ["myst.header"]  # reports begin their parts where they like

html_theme = "pydata_sphinx_theme"
html_title = "pfbench"
html_additional_pages = {"index": "redirect.html"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"README": [], "docs/gallery": [], "docs/index": []}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app):
    """Fill in what pages ask for."""
    app.connect("source-read", fill)
    app.connect("doctree-read", anchor)
    app.connect("html-page-context", name_the_next)
    app.connect("autodoc-process-docstring", escape_bars, priority=600)


def anchor(app, doctree):
    """Let links find what a page has as ``<a id="...">``, which GitHub understands, too."""
    known = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for node in doctree.findall(nodes.raw):
        for name in re.findall(r'<a id="([^"]+)">', node.astext()):
            known[name] = (node.line or 1, name, name)


def name_the_next(app, name, template, context, doctree):
    """Call the page after the front page as its link does: its title is that of the site."""
    if name == "index" and context.get("next"):
        context["next"] = {**context["next"], "title": "Start"}


def fill(app, name, source):
    """Replace the markers of a page by what they ask for."""
    source[0] = drawn(filled(source[0]))


def escape_bars(app, what, name, thing, options, lines):
    """Let |x| be a norm: to reStructuredText it is the name of a substitution."""
    lines[:] = [re.sub(r"(?<!\\)\|", r"\|", line) for line in lines]
