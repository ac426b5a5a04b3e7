"""Session that runs the checks of claims, mutants and errata, and returns their results."""

import inspect
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass
from functools import partial
from time import perf_counter
from typing import Any, Generic, TypeVar

from pfbench.base.checks import check_choice, check_integer
from pfbench.base.errors import InputError
from pfbench.base.escaping import html_table
from pfbench.base.status import Verdict as VerdictName
from pfbench.runs.cached_tasks import CachedTask, run_cached_tasks
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task, TaskResult
from pfbench.runs.storage.store import Store
from pfbench.verification import verdict
from pfbench.verification.claim import Claim, Erratum, Mutant
from pfbench.verification.faults.fault import Fault
from pfbench.verification.replay.equivalence import CASES, find_equivalence
from pfbench.verification.statistics import MOST_TESTS
from pfbench.verification.subject import Subject
from pfbench.verification.summaries import format_summary, summarise_main_numbers
from pfbench.verification.trial import EFFORTS, Trial
from pfbench.verification.user_claims import import_module_file
from pfbench.verification.verdict import Verdict, as_json_value

TIMEOUT_FACTOR = 20.0
"""Multiple of its usual time after which a check is killed."""

MIN_TIME_LIMIT = {"quick": 120.0, "full": 600.0}
"""Minimum time limit of a check in seconds, by effort; longer horizons may take 360 in full."""

EXAMINATION_LIMIT = 300.0
"""Time limit of the examination of an erratum, in seconds."""

COMPARISON_LIMIT = 60.0
"""Time limit of the comparison of a fault with the right method, in seconds."""

_VERDICT_FIELDS_READ = {
    "verdict": verdict.FIELDS,
    "finding": frozenset({"evidence", "shown", "readings"}),
    "fault": frozenset({"equivalent"}),
}
"""Fields that are read from a stored row, by kind; a row that lacks one is ignored."""

_ERRATUM_FIELDS = ("name", "as_printed", "corrected", "examine", "dossier")
"""Fields of an erratum that identify it in the store."""

Outcome = TypeVar("Outcome")

Progress = Callable[[Any, bool], object]
"""Callback with each result, and whether it was executed now (not read from the store)."""


# --- results --------------------------------------------------------------------------------------


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


# --- keys in the store ----------------------------------------------------------------------------


class NotDescribable(Exception):
    """Exception raised if a part of an object has no complete description, e.g. a lambda."""


@dataclass(frozen=True)
class Description:
    """Description of an object as JSON, and the modules that define its classes and functions.

    Attributes
    ----------
    content
        Description as JSON, complete together with the source of `modules`; None if a part cannot
        be described.
    modules
        Modules of the classes and functions in the value.
    """

    content: Any
    modules: frozenset[str]


def describe_as_json(source: Any) -> Description:
    """Return the description of an object made of numbers, strings, functions and dataclasses."""
    modules: set[str] = set()
    try:
        content = _describe_part(source, modules)
    except NotDescribable:
        content = None
    return Description(content, frozenset(modules))


def _describe_part(part: Any, modules: set[str]) -> Any:
    """Return a part of an object as JSON, and add the modules that define it to `modules`."""
    if part is None or isinstance(part, str | bool | int | float):
        return part
    if inspect.isclass(part) or inspect.isfunction(part):
        modules.add(part.__module__)
        if "<" in part.__qualname__:  # a lambda, or one within a function
            raise NotDescribable
        return f"{part.__module__}:{part.__qualname__}"
    if isinstance(part, Mapping):
        return {str(name): _describe_part(value, modules) for name, value in part.items()}
    if isinstance(part, tuple | list):
        return [_describe_part(value, modules) for value in part]
    if isinstance(part, Claim) and part.user_source is not None:
        return _describe_user_claim(part, part.user_source.file_or_module, modules)
    if isinstance(part, partial):
        return [_describe_part(value, modules) for value in (part.func, part.args, part.keywords)]
    kind = _describe_part(type(part), modules)
    if not is_dataclass(part):
        raise NotDescribable
    return [kind, {f.name: _describe_part(getattr(part, f.name), modules) for f in fields(part)}]


def _describe_user_claim(claim: Claim, location: str, modules: set[str]) -> Any:
    """Return the description of a user-defined claim: its name and the module that defines it."""
    for item in (claim.check, claim.algorithm, *(instance.build for instance in claim.instances)):
        with suppress(NotDescribable):
            _describe_part(item, modules)
    home = import_module_file(location).__name__
    modules.add(home)
    return [_describe_part(Claim, modules), home, claim.name]


# --- in this process ------------------------------------------------------------------------------


def judge(
    claim: Claim,
    subject: Subject | None = None,
    effort: str = "quick",
    seed: int = 0,
    case_seed: int = 0,
) -> Verdict:
    """Check one claim in this process, and return the verdict.

    Raises
    ------
    InputError
        If the effort is unknown, or a seed is negative.
    """
    seeds = check_integer("seed", seed, minimum=0), check_integer("case_seed", case_seed, minimum=0)
    checked = check_choice("effort", effort, EFFORTS), *seeds
    return verdict.judge(Trial(claim, subject or Subject(), *checked))


def examine(erratum: Erratum, effort: str = "quick", seed: int = 0) -> ErratumFinding:
    """Examine one erratum in this process, and return its evidence."""
    evidence = erratum.examine(effort, seed)
    is_shown = erratum.is_shown(evidence)
    return ErratumFinding(erratum, evidence.numbers, is_shown=is_shown, readings=evidence.readings)


# --- in processes that can be killed --------------------------------------------------------------


@dataclass(frozen=True)
class _Request(Generic[Outcome]):
    """Cached task of a session, its expected seconds, and functions that convert its outcome."""

    cached_task: CachedTask
    seconds: float
    from_row: Callable[[Mapping[str, Any]], Outcome]
    from_failure: Callable[[TaskResult], Outcome]


@dataclass(frozen=True, kw_only=True)
class Session:
    """Settings and store of checks that run in separate processes, which can be killed.

    Attributes
    ----------
    engine
        Engine that executes the checks.
    effort
        "quick" or "full".
    seed
        Seed of every random stream.
    case_seed
        Seed of the sizes and starts of claims that draw them; 0 gives the usual ones.
    store
        Store of the outcomes; with None, every check runs now and no outcome is stored.
    progress
        See `Progress`.
    on_expected_time
        Called before the first check, with the expected seconds of all checks that are not stored.
    order
        Sort key of the claims of `verify`, the smallest first. None runs the longest check first,
        which minimises the total time.

    Raises
    ------
    InputError
        If the effort is unknown, or a seed is negative.
    """

    engine: Engine
    effort: str = "quick"
    seed: int = 0
    case_seed: int = 0
    store: Store | None = None
    progress: Progress | None = None
    on_expected_time: Callable[[float], None] | None = None
    order: Callable[[Claim], Any] | None = None

    def __post_init__(self) -> None:
        check_choice("effort", self.effort, EFFORTS)
        check_integer("seed", self.seed, minimum=0)
        check_integer("case_seed", self.case_seed, minimum=0)

    def verify(self, claims: Sequence[Claim], subject: Subject | None = None) -> Verification:
        """Check claims, and return their verdicts.

        A `subject` is tested in place of each claim's own algorithm.

        Raises
        ------
        StorageError
            If the store cannot be written or read; what is stored already stays.
        """
        retained = subject or Subject()
        requests = [self._claim_request(claim, retained, retained.label) for claim in claims]
        ranks = [self.order(claim) for claim in claims] if self.order else None
        return Verification(tuple(self._outcomes(requests, ranks)))

    def catch_mutants(
        self, mutants: Sequence[Mutant], limit: Callable[[Claim, str], float] | None = None
    ) -> list[MutantOutcome]:
        """Check each mutant with the claims that must catch it, and return the results.

        `limit` is a function of a claim and an effort that returns the seconds after which the
        check is killed. It defaults to `time_limit`. The errors are those of `verify`.
        """
        seconds = limit or time_limit
        pairs = [(mutant, claim) for mutant in mutants for claim in mutant.expected_claims]
        requests = [
            self._claim_request(
                claim, mutant.subject, f"mutant {mutant.name}", seconds(claim, self.effort)
            )
            for mutant, claim in pairs
        ]
        verdicts = iter(self._outcomes(requests))
        return [
            MutantOutcome(mutant, [next(verdicts) for _ in mutant.expected_claims])
            for mutant in mutants
        ]

    def test_faults(self, claims_and_faults: Sequence[tuple[Claim, Fault]]) -> list[Verdict]:
        """Check each claim on the faulty method that is paired with it, and return the verdicts.

        The errors are those of `verify`.
        """
        subjects = [(claim, Subject(fault)) for claim, fault in claims_and_faults]
        return self._outcomes([self._claim_request(*each, each[1].label) for each in subjects])

    def find_equivalence_kind_of_each(self, faults: Sequence[Fault]) -> list[str]:
        """Return each fault's kind of equivalence, e.g. "runs", or "" if none is found.

        The errors are those of `verify`.
        """
        return self._outcomes([self._equivalence_request(fault) for fault in faults])

    def examine(self, errata: Sequence[Erratum]) -> list[ErratumFinding]:
        """Examine errata, and return their evidence; raise the same exceptions as `verify`."""
        return self._outcomes([self._erratum_request(erratum) for erratum in errata])

    def _outcomes(
        self, requests: Sequence[_Request[Outcome]], ranks: Sequence[Any] | None = None
    ) -> list[Outcome]:
        """Run or load all requests, in the order of `ranks`; by default, begin with the longest."""
        by = ranks or [-request.seconds for request in requests]
        order = sorted(range(len(requests)), key=by.__getitem__)
        results: dict[int, Outcome] = {}
        questions = [requests[index].cached_task for index in order]

        def report_missing(missing: Sequence[int]) -> None:
            if self.on_expected_time:
                seconds = sum(requests[order[index]].seconds for index in missing)
                self.on_expected_time(seconds / self.engine.slots)

        for answer in run_cached_tasks(questions, self.engine, self.store, report_missing):
            index, result = order[answer.index], answer.result
            if answer.row is not None:
                results[index] = requests[index].from_row(answer.row)
            elif result is not None:
                results[index] = requests[index].from_failure(result)
            if self.progress:
                self.progress(results[index], result is not None)
        return [results[index] for index in range(len(requests))]

    def _claim_request(
        self, claim: Claim, subject: Subject, label: str | None, limit: float | None = None
    ) -> _Request[Verdict]:
        neighbour = {
            "statement": claim.statement,
            "algorithm": label,
            "effort": self.effort,
            "seed": self.seed,
            "at_seed": self.case_seed if claim.needs_seed else 0,
        }
        statement = [claim, subject, label, *([self.case_seed] if claim.needs_seed else [])]
        seconds = limit or time_limit(claim, self.effort)
        task = Task(_judge_as_row, (claim, subject, neighbour), seconds)
        return _Request(
            self._make_cached_task("verdict", statement, task),
            claim.seconds(self.effort),
            lambda row: Verdict.from_stored(claim, row),
            lambda result: verdict.make_unfinished_verdict(
                claim, f"{result.status}: {result.reason}", result.seconds
            ),
        )

    def _erratum_request(self, erratum: Erratum) -> _Request[ErratumFinding]:
        task = Task(_examine_as_row, (erratum, self.effort, self.seed), EXAMINATION_LIMIT)
        statement = [getattr(erratum, erratum_field) for erratum_field in _ERRATUM_FIELDS]
        return _Request(
            self._make_cached_task("finding", statement, task),
            0.0,
            lambda row: ErratumFinding(
                erratum, row["evidence"], is_shown=row["shown"], readings=row["readings"]
            ),
            lambda result: ErratumFinding(
                erratum, {}, is_shown=False, failure_reason=f"{result.status}: {result.reason}"
            ),
        )

    def _equivalence_request(self, fault: Fault) -> _Request[str]:
        task = Task(_find_equivalence_as_row, (fault,), COMPARISON_LIMIT)
        return _Request(
            self._make_cached_task("fault", [fault, find_equivalence, CASES], task),
            0.0,
            lambda row: str(row["equivalent"]),
            lambda _: "",  # not decided
        )

    def _make_cached_task(self, kind: str, statement: Any, task: Task) -> CachedTask:
        """Return a task that is cached under a key which describes `statement`."""
        description = describe_as_json(statement)
        content = {"asked": description.content, "effort": self.effort, "seed": self.seed}
        return CachedTask(
            kind,
            None if description.content is None else content,
            description.modules | {verdict.__name__},
            task,
            required_fields=_VERDICT_FIELDS_READ[kind],
        )


def _judge_as_row(
    claim: Claim, subject: Subject, session_columns: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Check a claim, and return the verdict as a row for the store."""
    options = (session_columns[name] for name in ("effort", "seed", "at_seed"))
    verdict = judge(claim, subject, *options)
    return {**verdict.as_json(), "lost": verdict.lost, **session_columns}


def _examine_as_row(erratum: Erratum, effort: str, seed: int) -> Mapping[str, Any]:
    """Examine an erratum, and return its evidence as a row for the store."""
    started = perf_counter()
    finding = examine(erratum, effort, seed)
    return {
        **finding.as_json(),
        "evidence": as_json_value(finding.evidence),
        "shown": finding.is_shown,
        "lost": finding.failure_reason,
        "effort": effort,
        "seed": seed,
        "seconds": perf_counter() - started,
    }


def _find_equivalence_as_row(fault: Fault) -> Mapping[str, Any]:
    """Find the kind of equivalence of a fault, and return it as a row for the store."""
    return {"fault": fault.name, "where": fault.location, "equivalent": find_equivalence(fault)}


def time_limit(claim: Claim, effort: str) -> float:
    """Return the time in seconds after which the check of a claim is killed."""
    return max(MIN_TIME_LIMIT[effort], TIMEOUT_FACTOR * claim.seconds(effort))


def choose_zero_or_random_case_seed(
    value: int | None, claims: Iterable[Claim], algorithm: Any
) -> int:
    """Return the test-case seed: `value`, or random if a user-defined method needs one, else 0.

    It is random for a user-defined method if some claim draws its sizes or start.
    """
    if value is not None:
        return check_integer("case_seed", value, minimum=0)
    fresh = algorithm is not None and any(claim.needs_seed for claim in claims)
    return 1 + secrets.randbelow(10**6) if fresh else 0


def select_by_effort(claims: Iterable[Claim], effort: str) -> list[Claim]:
    """Return the claims that a quick or a full verification checks.

    Raises
    ------
    InputError
        If the effort is unknown.
    """
    check_choice("effort", effort, EFFORTS)
    return [claim for claim in claims if effort == "full" or claim.expected_seconds[0] is not None]


def check_engine(engine: Any) -> None:
    """Raise `InputError` if an object is not an engine.

    Raises
    ------
    InputError
        If the object is a class, or lacks a method of engines.
    """
    works = all(callable(getattr(engine, verb, None)) for verb in ("environment", "do"))
    if isinstance(engine, type) or not works:
        raise InputError(
            f"engine={engine!r} is not an engine: pass an object with the methods of "
            "pfbench.runs.engines.engine.Engine, such as LocalProcesses(4)."
        )
