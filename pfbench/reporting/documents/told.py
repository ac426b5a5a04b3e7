"""A report as a notebook shows it."""

from dataclasses import dataclass
from pathlib import Path

from pfbench.base.notebook import html_text
from pfbench.reporting.tables import Table


@dataclass(frozen=True, repr=False)
class ReportSummary:
    """What a report says.

    Attributes
    ----------
    sentences, tables
        In the order of the page.
    files
        What was written.
    """

    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    files: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        """Return the sentences, and what was written."""
        return "\n".join([*self.sentences, *map(str, self.files)])

    def _repr_html_(self) -> str:
        """Return sentences and tables as Jupyter shows them."""
        statement = "".join(f"<p>{html_text(text)}</p>" for text in self.sentences)
        return statement + "".join(table._repr_html_() for table in self.tables)
