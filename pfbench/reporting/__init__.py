"""Comparison reports: one HTML page that opens offline, and Markdown, SVG, PDF, CSV, LaTeX.

A report reads finished runs and nothing else. `results` groups the runs; `statistics` and
`comparison` compute the numbers; `findings` states them in sentences and tables. `tables` defines
every table once for all formats, `figures` draws, `documents` assembles the pages, and `writer`
writes the files.
"""

from pfbench.reporting.report import collect_report
from pfbench.reporting.writer import check_report_can_be_written, write_report

__all__ = ["check_report_can_be_written", "collect_report", "write_report"]
