"""Several certificates, or runs of the family: made by an engine, certificates kept in a store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pfbench.base.checks import integer
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector, by_module, module_of
from pfbench.resisting import certificate
from pfbench.resisting.certificate import Certificate, Outcome, certify
from pfbench.resisting.contestants import Contestant, FixedSeed, contestant
from pfbench.resisting.oracle import frame
from pfbench.resisting.rescaled import MOST, Fit, Reached, epsilon_of, fitted, reached
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.runs.questions import Question, answered
from pfbench.runs.storage.store import Store

Progress = Callable[[], object]
"""Called after each certificate or run."""


@dataclass(frozen=True)
class Found:
    """What became of one algorithm.

    Attributes
    ----------
    label
        Its selector as it was given.
    certificate
        None if it could not be made.
    outcome
        The certificate with what it rests on; None if the store had the certificate.
    lost
        Why there is no certificate.
    """

    label: str
    certificate: Certificate | None
    outcome: Outcome | None = None
    lost: str = ""


def certificates(
    selectors: Sequence[str],
    T: int,
    *,
    d: int | None = None,
    iterations: int | None = None,
    seed: int = 0,
    fixed_seed: int | None = None,
    engine: Engine,
    store: Path | None = None,
    again: bool = False,
    progress: Progress | None = None,
) -> list[Found]:
    """Return the certificate of each algorithm: the one in the store, or a new one.

    Parameters
    ----------
    selectors
        Algorithms; see `contestant` for what is filled in.
    T, d, seed
        See `certify`.
    iterations
        Of a run; T if not given.
    fixed_seed
        Fixes the random numbers of randomised algorithms; see `contestant`.
    engine
        Where certificates are made.
    store
        The folder of the store where they are kept and found; their transcripts are not kept.
    again
        Whether to make those that the store has, for their transcripts and gaps.
    progress
        See `Progress`.

    Raises
    ------
    InputError, Refused
        If an algorithm cannot be made or may not stand, or a number is out of range; nothing has
        run then.
    StorageError
        If the store cannot be written or read; what is stored already stays.
    """
    integer("seed", seed, least=0)
    problem = frame(T, d)
    standing = [contestant(text, problem, iterations, fixed_seed) for text in selectors]
    questions = [question(one, T, d, iterations, seed, again=again) for one in standing]
    found: dict[int, Found] = {}
    for answer in answered(questions, engine, None if store is None else Store(store)):
        label, result = standing[answer.index].label, answer.result
        if answer.row is not None:
            outcome = None if result is None else result.value
            found[answer.index] = Found(label, Certificate.of(answer.row), outcome)
        elif result is not None:
            found[answer.index] = Found(label, None, lost=f"{result.status}: {result.reason}")
        if progress:
            progress()
    return [found[index] for index in range(len(standing))]


def question(
    one: Contestant, T: int, d: int | None, iterations: int | None, seed: int, *, again: bool
) -> Question:
    """Return the question that a certificate answers; see `certificates`."""
    # A function of somebody's module may return what a class of another one made.
    name = Selector.parse(one.selector).name
    named = {module_of(name)} if ":" in name else set()
    fixed = {} if one.fixed_seed is None else {"fixed_seed": one.fixed_seed}
    algorithm = one.algorithm.of if isinstance(one.algorithm, FixedSeed) else one.algorithm
    return Question(
        "certificate",
        {"certificate": by_module(one.selector), "horizon": T, "dimension": d, "seed": seed}
        | fixed,
        frozenset({certificate.__name__, type(algorithm).__module__, *named}),
        Task(_outcome, (one.label, T, d, iterations, seed, one.fixed_seed)),
        row=lambda outcome: outcome.certificate.as_json(),
        again=again,
        needs=certificate.NEEDED,
    )


def _outcome(
    label: str, T: int, d: int | None, iterations: int | None, seed: int, fixed_seed: int | None
) -> Outcome:
    return certify(contestant(label, frame(T, d), iterations, fixed_seed), T, d=d, seed=seed)


def family(
    selectors: Sequence[str],
    horizons: Sequence[int],
    *,
    most: int = MOST,
    seed: int = 0,
    engine: Engine,
    progress: Progress | None = None,
) -> list[Reached]:
    """Return the LO calls of each algorithm to its target, for each lower bound T(eps).

    Parameters
    ----------
    selectors, most, seed
        See `rescaled`.
    horizons
        The lower bounds T(eps); each gives the epsilon.
    engine, progress
        See `certificates`.

    Raises
    ------
    InputError, Refused
        If an algorithm cannot be made or may not stand, a number is out of range, or a run fails.
    """
    integer("seed", seed, least=0)
    integer("most", most, least=1)
    for text in selectors:
        contestant(text, frame(1))  # refuses what may not stand, before anything runs
    asked = [(text, epsilon_of(T)) for text in selectors for T in horizons]
    tasks = [Task(reached, (text, epsilon, 1.0, 1.0, most, seed)) for text, epsilon in asked]
    found: dict[int, Reached] = {}
    for result in engine.do(tasks):
        if result.status != "done":
            raise InputError(f"the run of {asked[result.index][0]} failed: {result.reason}.")
        found[result.index] = result.value
        if progress:
            progress()
    return [found[index] for index in range(len(tasks))]


def fits(runs: Sequence[Reached]) -> dict[str, Fit | None]:
    """Fit the runs of each algorithm; None where fewer than two reached their target."""
    found: dict[str, Fit | None] = {}
    for text in dict.fromkeys(run.algorithm for run in runs):
        try:
            found[text] = fitted([run for run in runs if run.algorithm == text])
        except InputError:
            found[text] = None
    return found
