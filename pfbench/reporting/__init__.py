"""Comparison reports: one HTML page that opens offline, and Markdown, SVG, PDF, CSV, LaTeX.

A report is computed from finished runs only. `results` groups the runs. `comparison` and `ranking`
compute the numbers, and `answers` states them in sentences. `tables` defines tables independently
of the format, `panels` and `svg` draw figures, and `writer` writes the files.
"""

from pfbench.reporting.report import collect_report
from pfbench.reporting.writer import check_report_can_be_written

__all__ = ["check_report_can_be_written", "collect_report"]
