"""Comparison reports: one HTML page that opens offline, and Markdown, SVG, PDF, CSV, LaTeX.

A report reads finished runs and nothing else. `results` groups them, `statistics` and `comparison`
compute what is shown, `findings` says it, `tables` holds every table once for all formats,
`figures` draws, `documents` puts it together, and `writing` puts it on disk.
"""

from pfbench.reporting.report import collect_report
from pfbench.reporting.writer import check_report_can_be_written, write_report

__all__ = ["check_report_can_be_written", "collect_report", "write_report"]
