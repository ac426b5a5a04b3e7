"""Findings: errata put to the test; as printed they must fail, as corrected they must hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from types import MappingProxyType
from typing import Any

from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.runs.questions import Question, answered
from pfbench.runs.storage.store import Store
from pfbench.theory.errata import ERRATA
from pfbench.verification.contrast import Examination
from pfbench.verification.findings import (
    estimators,
    li2019,
    lower_bound,
    qu2018,
    shen2019,
    wang2019,
)
from pfbench.verification.rows import plain

_LIMIT = 300.0
"""Seconds that one examination may take."""

_FILES = (shen2019, estimators, lower_bound, qu2018, li2019, wang2019)

EXAMINATIONS: Mapping[str, Examination] = MappingProxyType(
    {name: examination for file in _FILES for name, examination in file.EXAMINATIONS.items()}
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
    lost
        Why the examination did not come to its end; empty if it did.
    """

    erratum: str
    claim: str
    as_printed: str
    corrected: str
    evidence: Mapping[str, float]
    shown: bool
    lost: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it as ``pfbench verify --json`` writes it."""
        return {
            "erratum": self.erratum,
            "claim": self.claim,
            "as_printed": self.as_printed,
            "corrected": self.corrected,
            "evidence": {
                **self.evidence,
                "shown": self.shown,
                **({"lost": self.lost} if self.lost else {}),
            },
        }


def selected(effort: str) -> list[str]:
    """Return the errata to examine."""
    return list(EXAMINATIONS)


def examine(
    names: Sequence[str],
    *,
    effort: str = "quick",
    seed: int = 0,
    engine: Engine,
    store: Store | None = None,
    progress: Callable[[Finding, bool], object] | None = None,
) -> list[Finding]:
    """Examine errata, each once: what the store has is not made again.

    Parameters
    ----------
    progress
        Is told each finding as it comes, and whether it was made now.
    """
    questions = [_question(name, effort, seed) for name in names]
    found: dict[int, Finding] = {}
    for answer in answered(questions, engine, store):
        name, result = names[answer.index], answer.result
        if answer.row is not None:
            finding = _finding(name, answer.row["evidence"], shown=answer.row["shown"])
        else:
            assert result is not None
            finding = _finding(name, {}, shown=False, lost=f"{result.status}: {result.reason}")
        found[answer.index] = finding
        if progress:
            progress(finding, result is not None)
    return [found[index] for index in range(len(names))]


def _question(name: str, effort: str, seed: int) -> Question:
    content = {"erratum": asdict(ERRATA[name]), "effort": effort, "seed": seed}
    module = next(file.__name__ for file in _FILES if name in file.EXAMINATIONS)
    task = Task(_stored_row, (name, effort, seed), _LIMIT)
    return Question("finding", content, frozenset({module}), task)


def _stored_row(name: str, effort: str, seed: int) -> Mapping[str, Any]:
    """Return a finding as a store keeps it."""
    started = perf_counter()
    found = look(name, effort, seed)
    return {
        **asdict(found),
        "evidence": plain(found.evidence),
        "effort": effort,
        "seed": seed,
        "seconds": perf_counter() - started,
    }


def look(name: str, effort: str, seed: int) -> Finding:
    """Examine one erratum in this process."""
    evidence = EXAMINATIONS[name](effort, seed)
    return _finding(name, evidence.numbers, shown=evidence.shown)


def _finding(name: str, evidence: Mapping[str, Any], *, shown: bool, lost: str = "") -> Finding:
    erratum = ERRATA[name]
    return Finding(
        erratum=name,
        claim=erratum.claim,
        as_printed=erratum.as_printed,
        corrected=erratum.corrected,
        evidence=evidence,
        shown=shown,
        lost=lost,
    )
