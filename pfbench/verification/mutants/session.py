"""Which claim catches which planted fault."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pfbench.base.names import unknown
from pfbench.runs.workers import Task, run_tasks
from pfbench.verification.mutants import MUTANTS
from pfbench.verification.mutants.base import Mutant
from pfbench.verification.session import Row, judge, time_limit


@dataclass(frozen=True)
class Caught:
    """A mutant with the claims that must catch it and those that did.

    Attributes
    ----------
    mutant, about
        Its name and its fault.
    expected
        The claims that must catch it.
    caught_by
        Those that called it violated.
    reasons
        What each of them said.
    """

    mutant: str
    about: str
    expected: tuple[str, ...]
    caught_by: tuple[str, ...]
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as ``pfbench verify --mutants --json`` writes it."""
        return {
            "mutant": self.mutant,
            "about": self.about,
            "expected_claims": list(self.expected),
            "caught_by": list(self.caught_by),
        }


def selected(claims: Iterable[str] = ()) -> list[Mutant]:
    """Return the mutants that one of these claims must catch; all if none is named.

    Raises
    ------
    InputError
        If no mutant is planted for a claim (the nearest that has one is suggested).
    """
    wanted = set(claims)
    covered = {name for mutant in MUTANTS.values() for name in mutant.expected}
    for name in wanted - covered:
        raise unknown("claim with mutants", name, sorted(covered))
    return [m for m in MUTANTS.values() if not wanted or wanted & set(m.expected)]


def examine(
    mutants: Sequence[Mutant],
    *,
    effort: str = "quick",
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[Caught], object] | None = None,
) -> list[Caught]:
    """Hold each mutant to the claims that must catch it, in processes that can be killed."""
    pairs = [(mutant, name) for mutant in mutants for name in mutant.expected]
    tasks = [
        Task(judge_mutant, (mutant.name, name, effort, seed), time_limit(name, effort))
        for mutant, name in pairs
    ]
    rows: dict[tuple[str, str], Row | None] = {}
    found: dict[str, Caught] = {}
    for result in run_tasks(tasks, jobs):
        mutant, name = pairs[result.index]
        rows[mutant.name, name] = result.value
        if all((mutant.name, claim) in rows for claim in mutant.expected):
            found[mutant.name] = _caught(mutant, rows)
            if progress:
                progress(found[mutant.name])
    return [found[mutant.name] for mutant in mutants]


def judge_mutant(mutant: str, name: str, effort: str, seed: int) -> Row:
    """Put a claim to the test with a mutant in place of its algorithm."""
    return judge(name, MUTANTS[mutant].subject, effort, seed)


def _caught(mutant: Mutant, rows: dict[tuple[str, str], Row | None]) -> Caught:
    """Return which of the expected claims were violated; a lost check catches nothing."""
    violated = []
    for name in mutant.expected:
        row = rows[mutant.name, name]
        if row is not None and "violated" in (row.verdict, row.measured.get("verdict")):
            violated.append((name, row.reason))
    return Caught(
        mutant.name,
        mutant.about,
        mutant.expected,
        tuple(name for name, _ in violated),
        tuple(reason for _, reason in violated),
    )
