"""Which claim catches which planted fault."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfbench.base.names import unknown
from pfbench.runs.engines.engine import Engine
from pfbench.runs.storage.store import Store
from pfbench.verification.mutants import MUTANTS, module_of
from pfbench.verification.mutants.base import Mutant
from pfbench.verification.rows import Row
from pfbench.verification.session import Case, Progress, judge, judgements
from pfbench.verification.subject import Identity


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
    chosen: Sequence[Mutant],
    *,
    effort: str = "quick",
    seed: int = 0,
    engine: Engine,
    store: Store | None = None,
    progress: Progress | None = None,
) -> list[Caught]:
    """Hold each mutant to the claims that must catch it, in processes that can be killed.

    Parameters
    ----------
    progress
        Is told each verdict as it comes; see `pfbench.verification.session`.
    """
    pairs = [(mutant, name) for mutant in chosen for name in mutant.expected]
    rows = judgements(
        [_case(mutant, name, effort, seed) for mutant, name in pairs],
        effort=effort,
        seed=seed,
        engine=engine,
        store=store,
        progress=progress,
    )
    verdicts = {(m.name, name): row for (m, name), row in zip(pairs, rows, strict=True)}
    return [_caught(mutant, verdicts) for mutant in chosen]


def judge_mutant(mutant: str, name: str, effort: str, seed: int) -> Row:
    """Put a claim to the test with a mutant in place of its algorithm."""
    return judge(name, MUTANTS[mutant].subject, effort, seed)


def _case(mutant: Mutant, name: str, effort: str, seed: int) -> Case:
    """Return the case of a mutant, which other processes find by its name."""
    label = f"mutant {mutant.name}"
    identity = Identity(label, label, frozenset({module_of(mutant.name)}))
    return Case(name, identity, judge_mutant, (mutant.name, name, effort, seed))


def _caught(mutant: Mutant, rows: Mapping[tuple[str, str], Row]) -> Caught:
    """Return which of the expected claims were violated; a lost check catches nothing."""
    violated = []
    for name in mutant.expected:
        row = rows[mutant.name, name]
        if "violated" in (row.verdict, row.measured.get("verdict")):
            violated.append((name, row.reason))
    return Caught(
        mutant.name,
        mutant.about,
        mutant.expected,
        tuple(name for name, _ in violated),
        tuple(reason for _, reason in violated),
    )
