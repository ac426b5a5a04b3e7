"""Results of a session: verdicts on claims, caught mutants and examined errata."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from pfbench.base.escaping import html_table
from pfbench.base.status import Verdict as VerdictName
from pfbench.verification.claim import Erratum, Mutant
from pfbench.verification.statistics import MOST_TESTS
from pfbench.verification.summaries import format_summary, summarise_main_numbers
from pfbench.verification.verdict import Verdict, as_json_value


@dataclass(frozen=True, repr=False)
class Verification:
    """Verdicts on all claims of one verification."""

    rows: Sequence[Verdict] = field(default_factory=tuple)

    @property
    def summary(self) -> dict[str, int]:
        """Number of claims with each verdict, by verdict."""
        counted = Counter(row.verdict for row in self.rows)
        return {name.value: counted[name] for name in VerdictName}

    @property
    def tests(self) -> int:
        """Number of statistical tests that share the family-wise error rate."""
        return sum(int(row.measured.get("tests", 0)) for row in self.rows)

    @property
    def is_clean(self) -> bool:
        """Whether no claim is violated, failed or without result, and `tests` <= `MOST_TESTS`."""
        return not any(row.is_violated_or_lost for row in self.rows) and self.tests <= MOST_TESTS

    def __str__(self) -> str:
        return "\n".join([*map(str, self.rows), format_summary(self.summary)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the verdicts as an HTML table for Jupyter."""
        rows = [
            (r.claim.name, r.line, r.reason, summarise_main_numbers(r.measured), r.repetitions)
            for r in self.rows
        ]
        names = ("claim", "verdict", "why", "measured", "runs")
        return html_table(names, rows, format_summary(self.summary))

    def as_json(self) -> dict[str, Any]:
        """Return the verdicts as a JSON object, as ``pfbench verify --json`` writes it."""
        return {"results": [row.as_json() for row in self.rows], "summary": self.summary}


@dataclass(frozen=True)
class MutantOutcome:
    """Mutant, and one verdict for each claim that must catch its fault, in the claims' order."""

    mutant: Mutant
    verdicts: Sequence[Verdict]

    @property
    def catching_verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts that catch the fault; a check that was killed does not catch it."""
        return tuple(verdict for verdict in self.verdicts if verdict.catches_fault)

    def as_json(self) -> dict[str, Any]:
        """Return the mutant and the names of the claims that catch it as a JSON object."""
        return {
            "mutant": self.mutant.name,
            "about": self.mutant.description,
            "expected_claims": [claim.name for claim in self.mutant.expected_claims],
            "caught_by": [verdict.claim.name for verdict in self.catching_verdicts],
        }


@dataclass(frozen=True)
class ErratumFinding:
    """Erratum with the evidence of its examination.

    Attributes
    ----------
    erratum
        The erratum.
    evidence
        Measured numbers, by name.
    is_shown
        Whether the evidence reproduces the erratum: the printed form fails, the corrected form
        holds, and the conclusion agrees with the readings that were tried.
    readings
        Whether each other reading makes the printed form right, by name.
    failure_reason
        Reason why the examination did not finish; empty if it did.
    """

    erratum: Erratum
    evidence: Mapping[str, float]
    _: KW_ONLY
    is_shown: bool
    readings: Mapping[str, bool] = field(default_factory=dict)
    failure_reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the erratum and its evidence as a JSON object."""
        lost = {"lost": self.failure_reason} if self.failure_reason else {}
        return {
            "erratum": self.erratum.name,
            "claim": self.erratum.claim.name if self.erratum.claim else "",
            "ruling": self.erratum.ruling,
            "as_printed": self.erratum.as_printed,
            "corrected": self.erratum.corrected,
            "objection": self.erratum.objection,
            "evidence": {**as_json_value(self.evidence), "shown": bool(self.is_shown), **lost},
            "readings": {name: bool(right) for name, right in self.readings.items()},
        }
