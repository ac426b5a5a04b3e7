"""Comparison reports: one HTML page that opens offline, and Markdown, SVG, PDF, CSV, LaTeX.

A report reads finished runs and nothing else. `results` groups them, `statistics` and `summary`
compute what is shown, `tables` holds every table once for all formats, `figures_html` and
`figures_svg` draw, `page` and `markdown` put the documents together, `writing` puts them on disk.
"""

from pfbench.reporting.results import collect
from pfbench.reporting.writing import prepare, write_report

__all__ = ["collect", "prepare", "write_report"]
