"""The session: claims, mutants and errata in, an outcome for each out, whatever becomes of it."""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, TypeVar

from pfbench.base.checks import choice, integer
from pfbench.base.errors import InputError
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Result, Task
from pfbench.runs.questions import Question, answered
from pfbench.runs.storage.store import Store
from pfbench.verification import verdict
from pfbench.verification.claim import Claim, Erratum, Mutant
from pfbench.verification.faults.equivalence import equivalent
from pfbench.verification.faults.fault import Fault
from pfbench.verification.identity import identity
from pfbench.verification.outcomes import Caught, Finding, Verification
from pfbench.verification.replay.same_runs import changes_nothing
from pfbench.verification.subject import Subject
from pfbench.verification.trial import EFFORTS, Trial
from pfbench.verification.verdict import Verdict, plain

PATIENCE = 20.0
"""A check that takes so many times its usual time is killed."""

LEAST_LIMIT = 120.0
"""Seconds that every check may take."""

EXAMINATION_LIMIT = 300.0
"""Seconds that the examination of an erratum may take."""

COMPARISON_LIMIT = 60.0
"""Seconds that the comparison of a fault with the right method may take."""

_READ = {
    "verdict": verdict.FIELDS,
    "finding": frozenset({"evidence", "shown", "readings"}),
    "fault": frozenset({"equivalent"}),
}
"""The fields that are read of a stored row, by its kind; one that lacks some is no answer."""

_SAID = ("name", "as_printed", "corrected", "examine", "dossier")
"""What says an erratum in full."""

Outcome = TypeVar("Outcome")

Progress = Callable[[Any, bool], object]
"""Is told each outcome as it comes, and whether it was made now (not found in the store)."""


# --- in this process ------------------------------------------------------------------------------


def judge(
    claim: Claim,
    subject: Subject | None = None,
    effort: str = "quick",
    seed: int = 0,
    at_seed: int = 0,
) -> Verdict:
    """Put one claim to the test in this process.

    Raises
    ------
    InputError
        If the effort is unknown, or a seed is negative.
    """
    seeds = integer("seed", seed, least=0), integer("at_seed", at_seed, least=0)
    checked = choice("effort", effort, EFFORTS), *seeds
    return verdict.judged(Trial(claim, subject or Subject(), *checked))


def examine(erratum: Erratum, effort: str = "quick", seed: int = 0) -> Finding:
    """Examine one erratum in this process."""
    seen = erratum.examine(effort, seed)
    return Finding(
        erratum=erratum, evidence=seen.numbers, shown=erratum.is_shown(seen), readings=seen.readings
    )


# --- in processes that can be killed --------------------------------------------------------------


@dataclass(frozen=True)
class _Asked(Generic[Outcome]):
    """A question, its usual seconds, and what its row or the loss of its task becomes."""

    question: Question
    seconds: float
    read: Callable[[Mapping[str, Any]], Outcome]
    lost: Callable[[Result], Outcome]


@dataclass(frozen=True, kw_only=True)
class Session:
    """How things are put to the test, each in a process that can be killed.

    Attributes
    ----------
    engine
        Where it is done.
    effort
        "quick" or "full".
    seed
        Seed of every random stream.
    at_seed
        Draws where claims look that have no fixed place; 0 the usual ones.
    store
        Where outcomes are kept and found; None: all are made now, and none is kept.
    progress
        See `Progress`.
    expect
        Called with the seconds that those take which are not stored, before the first of them.
    order
        By what of a claim those of `verify` are begun, the least first; None: the longest first,
        after which all are done soonest.

    Raises
    ------
    InputError
        If the effort is unknown, or a seed is negative.
    """

    engine: Engine
    effort: str = "quick"
    seed: int = 0
    at_seed: int = 0
    store: Store | None = None
    progress: Progress | None = None
    expect: Callable[[float], None] | None = None
    order: Callable[[Claim], Any] | None = None

    def __post_init__(self) -> None:
        choice("effort", self.effort, EFFORTS)
        integer("seed", self.seed, least=0)
        integer("at_seed", self.at_seed, least=0)

    def verify(self, claims: Sequence[Claim], subject: Subject | None = None) -> Verification:
        """Put claims to the test, with a subject in place of each claim's algorithm.

        Raises
        ------
        StorageError
            If the store cannot be written or read; what is stored already stays.
        """
        held = subject or Subject()
        asked = [self._claim(one, held, held.label) for one in claims]
        ranks = [self.order(one) for one in claims] if self.order else None
        return Verification(tuple(self._outcomes(asked, ranks)))

    def catch(
        self, mutants: Sequence[Mutant], limit: Callable[[Claim, str], float] | None = None
    ) -> list[Caught]:
        """Hold each mutant to the claims that must catch it; errors are those of `verify`.

        `limit` says after how many seconds the check of a claim is killed, by effort; `time_limit`
        if not given.
        """
        seconds = limit or time_limit
        asked = [
            self._claim(claim, one.subject, f"mutant {one.name}", seconds(claim, self.effort))
            for one in mutants
            for claim in one.expected
        ]
        found = iter(self._outcomes(asked))
        return [Caught(mutant, [next(found) for _ in mutant.expected]) for mutant in mutants]

    def hold(self, asked: Sequence[tuple[Claim, Fault]]) -> list[Verdict]:
        """Hold each fault to a claim; errors are those of `verify`."""
        subjects = [(claim, Subject(fault)) for claim, fault in asked]
        return self._outcomes([self._claim(claim, one, one.label) for claim, one in subjects])

    def compare(
        self, faults: Sequence[Fault], about: Callable[[Fault], Claim | None] = lambda fault: None
    ) -> list[str]:
        """Return why each fault changes nothing, or ""; errors are those of `verify`.

        `about` returns the claim about its method, in whose long runs it is compared; if that is
        None, it is compared on small problems.
        """
        return self._outcomes([self._equivalence(one, about(one)) for one in faults])

    def examine(self, errata: Sequence[Erratum]) -> list[Finding]:
        """Examine errata; errors are those of `verify`."""
        return self._outcomes([self._erratum(one) for one in errata])

    def _outcomes(
        self, asked: Sequence[_Asked[Outcome]], ranks: Sequence[Any] | None = None
    ) -> list[Outcome]:
        """Return what becomes of each question; the longest is begun first, unless ranks say."""
        by = ranks or [-one.seconds for one in asked]
        order = sorted(range(len(asked)), key=by.__getitem__)
        found: dict[int, Outcome] = {}
        questions = [asked[index].question for index in order]

        def begin(missing: Sequence[int]) -> None:
            if self.expect:
                seconds = sum(asked[order[index]].seconds for index in missing)
                self.expect(seconds / self.engine.slots)

        for answer in answered(questions, self.engine, self.store, begin):
            index, result = order[answer.index], answer.result
            if answer.row is not None:
                found[index] = asked[index].read(answer.row)
            elif result is not None:
                found[index] = asked[index].lost(result)
            if self.progress:
                self.progress(found[index], result is not None)
        return [found[index] for index in range(len(asked))]

    def _claim(
        self, claim: Claim, subject: Subject, label: str | None, limit: float | None = None
    ) -> _Asked[Verdict]:
        beside = {
            "statement": claim.statement,
            "algorithm": label,
            "effort": self.effort,
            "seed": self.seed,
            "at_seed": self.at_seed if claim.drawn else 0,
        }
        arguments = (claim, subject, beside)
        return _Asked(
            self._question(
                "verdict",
                [claim, subject, label, *([beside["at_seed"]] if claim.drawn else [])],
                Task(_stored_verdict, arguments, limit or time_limit(claim, self.effort)),
            ),
            claim.seconds(self.effort),
            lambda row: Verdict.of(claim, row),
            lambda result: verdict.unfinished(
                claim, f"{result.status}: {result.reason}", result.seconds
            ),
        )

    def _erratum(self, erratum: Erratum) -> _Asked[Finding]:
        arguments = (erratum, self.effort, self.seed)
        said = [getattr(erratum, one) for one in _SAID]
        return _Asked(
            self._question("finding", said, Task(_stored_finding, arguments, EXAMINATION_LIMIT)),
            0.0,
            lambda row: Finding(
                erratum=erratum,
                evidence=row["evidence"],
                shown=row["shown"],
                readings=row["readings"],
            ),
            lambda result: Finding(
                erratum=erratum, evidence={}, shown=False, lost=f"{result.status}: {result.reason}"
            ),
        )

    def _equivalence(self, fault: Fault, claim: Claim | None) -> _Asked[str]:
        task = Task(_stored_equivalence, (fault, claim), COMPARISON_LIMIT)
        said = [fault, equivalent] if claim is None else [fault, changes_nothing, claim]
        return _Asked(
            self._question("fault", said, task),
            0.0,
            lambda row: str(row["equivalent"]),
            lambda _: "",  # not decided
        )

    def _question(self, kind: str, said: Any, task: Task) -> Question:
        """Return the question that the task answers; `said` and this module say what it is."""
        asked = identity(said)
        content = {"asked": asked.content, "effort": self.effort, "seed": self.seed}
        return Question(
            kind,
            None if asked.content is None else content,
            asked.modules | {verdict.__name__},
            task,
            needs=_READ[kind],
        )


def _stored_verdict(claim: Claim, subject: Subject, beside: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a verdict as a store keeps it."""
    found = judge(claim, subject, *(beside[name] for name in ("effort", "seed", "at_seed")))
    return {**found.as_json(), "lost": found.lost, **beside}


def _stored_finding(erratum: Erratum, effort: str, seed: int) -> Mapping[str, Any]:
    """Return a finding as a store keeps it."""
    started = perf_counter()
    found = examine(erratum, effort, seed)
    return {
        **found.as_json(),
        "evidence": plain(found.evidence),
        "shown": found.shown,
        "lost": found.lost,
        "effort": effort,
        "seed": seed,
        "seconds": perf_counter() - started,
    }


def _stored_equivalence(fault: Fault, claim: Claim | None) -> Mapping[str, Any]:
    """Return as a store keeps it why a fault changes nothing."""
    if claim is None:
        why = equivalent(fault)
    else:
        why = "at size" if changes_nothing(claim, Subject(fault)) else ""
    return {"fault": fault.name, "where": fault.where, "equivalent": why}


def time_limit(claim: Claim, effort: str) -> float:
    """Return the seconds after which a check is killed."""
    return max(LEAST_LIMIT, PATIENCE * claim.seconds(effort))


def at_seed_of(given: int | None, claims: Iterable[Claim], algorithm: Any) -> int:
    """Return the seed that draws where claims look: that given, else 0, for somebody's a fresh one.

    0 where no claim has a place to be drawn.
    """
    if given is not None:
        return integer("at_seed", given, least=0)
    fresh = algorithm is not None and any(one.drawn for one in claims)
    return 1 + secrets.randbelow(10**6) if fresh else 0


def of_effort(claims: Iterable[Claim], effort: str) -> list[Claim]:
    """Return the claims of a quick or full verification.

    Raises
    ------
    InputError
        If the effort is unknown.
    """
    choice("effort", effort, EFFORTS)
    return [claim for claim in claims if effort == "full" or claim.takes[0] is not None]


def check_engine(engine: Any) -> None:
    """Refuse what is no engine.

    Raises
    ------
    InputError
        If it is a class, or lacks a method.
    """
    works = all(callable(getattr(engine, verb, None)) for verb in ("environment", "do"))
    if isinstance(engine, type) or not works:
        raise InputError(
            f"engine={engine!r} is no engine: give an object with the methods of "
            "pfbench.runs.engines.engine.Engine, as LocalProcesses(4)."
        )
