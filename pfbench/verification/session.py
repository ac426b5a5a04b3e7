"""Verification: claims in, one row with a verdict for each out, whatever becomes of the runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pfbench.base.checks import choice, integer
from pfbench.base.errors import InputError
from pfbench.runs.engines.engine import Engine, LocalProcesses
from pfbench.runs.engines.workers import Task
from pfbench.runs.questions import Question, answered
from pfbench.runs.storage.store import Store
from pfbench.theory.catalogue import CLAIMS, claim
from pfbench.verification import rows
from pfbench.verification.checks import CHECKS, module_of
from pfbench.verification.evidence import VERDICTS
from pfbench.verification.rows import Row
from pfbench.verification.subject import Identity, Subject
from pfbench.verification.trial import EFFORTS, Trial

_PATIENCE = 20.0
"""A check that takes so many times its usual time is killed."""

_LEAST_LIMIT = 60.0
"""Seconds that every check may take."""

Progress = Callable[[Row, bool], object]
"""Is told each row as it comes, and whether it was made now (not found in the store)."""


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
    return rows.judged(trial, CHECKS[name].run)


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
    engine: Engine | None = None,
    store: Store | Path | str | None = None,
    progress: Progress | None = None,
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
        Number of processes of this machine.
    engine
        Where the checks are made, instead of those processes.
    store
        Where verdicts are kept and found, or its folder; without it, all are made now and none is
        kept.
    progress
        See `Progress`.

    Returns
    -------
    Verification
        One row for each claim, in the order of the catalogue.

    Raises
    ------
    InputError
        If a name or an argument is unknown or out of range; nothing has run then.
    StorageError
        If the store cannot be written or read; what is stored already stays.
    """
    choice("effort", effort, EFFORTS)
    integer("jobs", jobs, least=1)
    integer("seed", seed, least=0)
    subject = Subject(algorithm=algorithm)
    subject.check_importable()
    chosen = selected(_listed(names), effort)
    _check_engine(engine)
    kept = _opened(store)
    order = sorted(chosen, key=lambda name: -expected_seconds(name, effort))
    found = judgements(
        [Case(name, subject.identity, judge, (name, subject, effort, seed)) for name in order],
        effort=effort,
        seed=seed,
        engine=LocalProcesses(jobs) if engine is None else engine,
        store=kept,
        progress=progress,
    )
    made = dict(zip(order, found, strict=True))
    return Verification(tuple(made[name] for name in chosen))


def _listed(names: Any) -> list[str]:
    """Return the names of claims as a list; a text is none, though it has letters."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(
            f'names={names!r} must be a list of claims, as in ["{next(iter(CLAIMS))}"].'
        )
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise InputError(f"names: {name!r} is no text: give the names of claims.")
    return found


def _check_engine(engine: Any) -> None:
    verbs = ("environment", "do")
    works = all(callable(getattr(engine, verb, None)) for verb in verbs)
    if engine is not None and (isinstance(engine, type) or not works):
        raise InputError(
            f"engine={engine!r} is no engine: give an object with the methods of "
            "pfbench.runs.engines.engine.Engine, as LocalProcesses(4)."
        )


def _opened(store: Any) -> Store | None:
    if store is None or isinstance(store, Store):
        return store
    if not isinstance(store, str | Path) or not str(store):
        raise InputError(f"store={store!r} must be a Store or the path of its folder.")
    return Store(Path(store))


@dataclass(frozen=True)
class Case:
    """A claim and what is held to it.

    Attributes
    ----------
    claim
        The claim's name.
    identity
        What is held to it.
    judge, arguments
        The importable function that returns the row, and its arguments.
    """

    claim: str
    identity: Identity
    judge: Callable[..., Row]
    arguments: tuple[Any, ...]


def judgements(
    cases: Sequence[Case],
    *,
    effort: str,
    seed: int,
    engine: Engine,
    store: Store | None,
    progress: Progress | None = None,
) -> list[Row]:
    """Return the row of each case: the stored one, or the one that the engine makes."""
    questions = [_question(case, effort, seed) for case in cases]
    found: dict[int, Row] = {}
    for answer in answered(questions, engine, store):
        result = answer.result
        if answer.row is not None:
            row = Row.of(answer.row)
        else:
            assert result is not None
            tested = claim(cases[answer.index].claim)
            row = rows.unfinished(tested, f"{result.status}: {result.reason}", result.seconds)
        found[answer.index] = row
        if progress:
            progress(row, result is not None)
    return [found[index] for index in range(len(cases))]


def _question(case: Case, effort: str, seed: int) -> Question:
    tested, identity = claim(case.claim), case.identity
    said = {"claim": asdict(tested), "effort": effort, "seed": seed, "subject": identity.content}
    beside = {
        "statement": tested.statement,
        "algorithm": identity.label,
        "effort": effort,
        "seed": seed,
    }
    return Question(
        "verdict",
        None if identity.content is None else said,
        identity.modules | {module_of(case.claim), rows.__name__},
        Task(_stored_row, (case, beside), time_limit(case.claim, effort)),
    )


def _stored_row(case: Case, beside: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row as a store keeps it."""
    return {**case.judge(*case.arguments).stored(), **beside}


def time_limit(name: str, effort: str) -> float:
    """Return the seconds after which a check is killed."""
    return max(_LEAST_LIMIT, _PATIENCE * expected_seconds(name, effort))


def expected_seconds(name: str, effort: str) -> float:
    """Return the seconds that a check usually takes on one core."""
    check = CHECKS[name]
    return check.full if effort == "full" or check.quick is None else check.quick
