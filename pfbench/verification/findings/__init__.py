"""Findings: errata put to the test; as printed they must fail, as corrected they must hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pfbench.runs.workers import Task, run_tasks
from pfbench.theory.errata import ERRATA
from pfbench.verification.findings import (
    estimators,
    li2019,
    lower_bound,
    qu2018,
    shen2019,
    wang2019,
)
from pfbench.verification.findings.base import Evidence, Examination

_LIMIT = 300.0
"""Seconds that one examination may take."""

EXAMINATIONS: Mapping[str, Examination] = MappingProxyType(
    {
        **shen2019.EXAMINATIONS,
        **estimators.EXAMINATIONS,
        **lower_bound.EXAMINATIONS,
        **qu2018.EXAMINATIONS,
        **li2019.EXAMINATIONS,
        **wang2019.EXAMINATIONS,
    }
)
"""How each erratum is examined, by its name: a function of effort and seed."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An erratum with its evidence.

    Attributes
    ----------
    erratum, claim, as_printed, corrected
        See `pfbench.theory.errata.Erratum`.
    evidence
        What was measured, by name.
    shown
        Whether the evidence shows the erratum: as printed it fails, as corrected it holds.
    """

    erratum: str
    claim: str
    as_printed: str
    corrected: str
    evidence: Mapping[str, float]
    shown: bool

    def as_json(self) -> dict[str, Any]:
        """Return it as ``pfbench verify --json`` writes it."""
        return {
            "erratum": self.erratum,
            "claim": self.claim,
            "as_printed": self.as_printed,
            "corrected": self.corrected,
            "evidence": dict(self.evidence) | {"shown": self.shown},
        }


def selected(effort: str) -> list[str]:
    """Return the errata to examine."""
    return list(EXAMINATIONS)


def examine(
    names: Sequence[str],
    *,
    effort: str = "quick",
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[Finding], object] | None = None,
) -> list[Finding]:
    """Examine errata, each in a process that can be killed."""
    tasks = [Task(look, (name, effort, seed), _LIMIT) for name in names]
    found: dict[str, Finding] = {}
    for result in run_tasks(tasks, jobs):
        name = names[result.index]
        found[name] = result.value if result.status == "done" else _finding(name, None)
        if progress:
            progress(found[name])
    return [found[name] for name in names]


def look(name: str, effort: str, seed: int) -> Finding:
    """Examine one erratum in this process."""
    return _finding(name, EXAMINATIONS[name](effort, seed))


def _finding(name: str, evidence: Evidence | None) -> Finding:
    erratum = ERRATA[name]
    return Finding(
        erratum=name,
        claim=erratum.claim,
        as_printed=erratum.as_printed,
        corrected=erratum.corrected,
        evidence=evidence.numbers if evidence else {},
        shown=evidence is not None and evidence.printed_fails and evidence.corrected_holds,
    )
