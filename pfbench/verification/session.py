"""Verification: claims in, one row with a verdict for each out, whatever becomes of the runs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from pfbench.base.checks import choice, integer
from pfbench.runs.workers import Result, Task, run_tasks
from pfbench.theory.catalogue import CLAIMS, claim
from pfbench.theory.scales import COMPLEXITIES, CRITERIA
from pfbench.verification.checks import CHECKS
from pfbench.verification.evidence import VERDICTS, Evidence
from pfbench.verification.statistics import Decision
from pfbench.verification.subject import Broken, Subject, Untestable
from pfbench.verification.trial import EFFORTS, Trial

_PATIENCE = 20.0
"""A check that takes so many times its usual time is killed."""

_LEAST_LIMIT = 60.0
"""Seconds that every check may take."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """The verdict on one claim.

    Attributes
    ----------
    claim, source, kind
        The claim's name, its source, its kind.
    verdict
        "holds", "tight", "violated", "disputed" or "inconclusive".
    reason
        One sentence.
    measured, claimed
        Numbers by name; of a disputed claim `measured` holds the measured verdict too.
    repetitions
        Number of runs or independent cases.
    p_value
        Of the test that says *violated*; None where no chance enters.
    seconds
        What the check took.
    failed
        Whether the check did not come to its end: the algorithm raised, hung or died.
    """

    claim: str
    source: str
    kind: str
    verdict: str
    reason: str
    measured: Mapping[str, Any]
    claimed: Mapping[str, Any]
    repetitions: int
    p_value: float | None
    seconds: float
    failed: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the row as ``pfbench verify --json`` writes it."""
        return {
            "claim": self.claim,
            "source": self.source,
            "kind": self.kind,
            "verdict": self.verdict,
            "reason": self.reason,
            "measured": _plain(self.measured),
            "claimed": _plain(self.claimed),
            "repetitions": self.repetitions,
            "p_value": _plain(self.p_value),
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Verification:
    """The rows of a verification."""

    rows: Sequence[Row] = field(default_factory=tuple)

    @property
    def summary(self) -> dict[str, int]:
        """How many rows have each verdict."""
        return {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in VERDICTS}

    @property
    def clean(self) -> bool:
        """Whether nothing was violated and every check came to its end."""
        return not any(row.failed or row.verdict == "violated" for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Return the verification as ``pfbench verify --json`` writes it (schema 1)."""
        return {
            "schema": 1,
            "results": [row.as_json() for row in self.rows],
            "summary": self.summary,
        }


def judge(name: str, subject: Subject, effort: str = "quick", seed: int = 0) -> Row:
    """Put one claim to the test in this process.

    Raises
    ------
    InputError
        If the name or the effort is unknown, or the seed is negative.
    """
    trial = Trial(
        claim(name), subject, choice("effort", effort, EFFORTS), integer("seed", seed, least=0)
    )
    started = perf_counter()
    failed = False
    try:
        evidence = CHECKS[name].run(trial)
    except Broken as error:
        failed = True
        evidence = Evidence(decision=Decision("violated", f"{error}.", {}, None), repetitions=0)
    except Untestable as error:
        failed = True
        evidence = Evidence(decision=Decision("inconclusive", f"{error}.", {}, None), repetitions=0)
    return _row(trial, evidence, perf_counter() - started, failed)


def selected(names: Iterable[str] = (), effort: str = "quick") -> list[str]:
    """Return the claims to test: the named ones, else those of a quick or full verification.

    Raises
    ------
    InputError
        If a name is unknown (the nearest is suggested).
    """
    chosen = [claim(name).name for name in names]
    if chosen:
        return list(dict.fromkeys(chosen))
    return [name for name in CLAIMS if effort == "full" or CHECKS[name].quick is not None]


def verify(
    names: Iterable[str] = (),
    *,
    effort: str = "quick",
    algorithm: Any = None,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[Row], object] | None = None,
) -> Verification:
    """Put claims to the test, each in a process that can be killed.

    Parameters
    ----------
    names
        Claims; all of the chosen effort if none is named.
    effort
        "quick" or "full".
    algorithm
        A class or an object to test in place of each claim's algorithm. Other processes import
        it, so it must stand in a module.
    seed
        Seed of every random stream.
    jobs
        Number of processes.
    progress
        Is told each row as it comes.

    Returns
    -------
    Verification
        One row for each claim, in the order of the catalogue.

    Raises
    ------
    InputError
        If a name or an argument is unknown or out of range; nothing has run then.
    """
    choice("effort", effort, EFFORTS)
    integer("jobs", jobs, least=1)
    integer("seed", seed, least=0)
    chosen = selected(names, effort)
    subject = Subject(algorithm=algorithm)
    order = sorted(chosen, key=lambda name: -expected_seconds(name, effort))
    tasks = [Task(judge, (name, subject, effort, seed), time_limit(name, effort)) for name in order]
    rows: dict[str, Row] = {}
    for result in run_tasks(tasks, jobs):
        name = order[result.index]
        row = result.value if result.status == "done" else _lost(name, result, effort, seed)
        rows[name] = row
        if progress:
            progress(row)
    return Verification(tuple(rows[name] for name in chosen))


def time_limit(name: str, effort: str) -> float:
    """Return the seconds after which a check is killed."""
    return max(_LEAST_LIMIT, _PATIENCE * expected_seconds(name, effort))


def expected_seconds(name: str, effort: str) -> float:
    """Return the seconds that a check usually takes on one core."""
    check = CHECKS[name]
    return check.full if effort == "full" or check.quick is None else check.quick


def _row(trial: Trial, evidence: Evidence, seconds: float, failed: bool) -> Row:
    """Return the row; of a disputed claim the verdict stands among what was measured."""
    tested, decision = trial.claim, evidence.decision
    shown: str = decision.verdict
    reason, measured = decision.reason, dict[str, Any](decision.measured)
    if tested.disputed and not failed:
        measured["verdict"] = decision.verdict
        shown, reason = "disputed", f"{tested.disputed} (measured: {decision.verdict})."
    claimed = {**evidence.claimed, **_on_one_scale(tested.name)}
    return Row(
        claim=tested.name,
        source=tested.source,
        kind=tested.kind,
        verdict=shown,
        reason=reason,
        measured=measured,
        claimed=claimed,
        repetitions=evidence.repetitions,
        p_value=decision.p_value,
        seconds=seconds,
        failed=failed,
    )


def _on_one_scale(name: str) -> dict[str, str]:
    """Return the complexity that a rate states, under every criterion."""
    if name not in COMPLEXITIES:
        return {}
    return {
        criterion: ", ".join(f"{kind} {order}" for kind, order in told.orders.items())
        for criterion in CRITERIA
        for told in (COMPLEXITIES[name].under(criterion),)
    }


def _lost(name: str, result: Result, effort: str, seed: int) -> Row:
    """Return the row of a check that hung, died or raised."""
    decision = Decision(
        "inconclusive", f"The check ended as {result.status}: {result.reason}.", {}, None
    )
    trial = Trial(claim(name), Subject(), effort, seed)
    return _row(trial, Evidence(decision=decision, repetitions=0), result.seconds, failed=True)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers, text, lists; null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    number = float(value)
    return number if math.isfinite(number) else None
