"""Certificates of several algorithms, computed by an engine or read from a store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pfbench.base.checks import check_integer
from pfbench.base.selectors import Selector, module_name, replace_file_by_module
from pfbench.resisting import certificate
from pfbench.resisting.certificate import AdversaryOutcome, Certificate, certify
from pfbench.resisting.contestants import Contestant, make_contestant
from pfbench.resisting.resisting_oracle import make_resisting_chain
from pfbench.runs.cached_tasks import CachedTask, run_cached_tasks
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.runs.storage.store import Store

Progress = Callable[[], object]
"""Callback after each certificate."""


@dataclass(frozen=True)
class ContestResult:
    """Certificate of one algorithm, or the reason why there is none.

    Attributes
    ----------
    label
        Its selector as originally written.
    certificate
        None if it failed.
    outcome
        The certificate with the data it rests on; None if the certificate came from the store.
    failure_reason
        Reason why there is no certificate.
    """

    label: str
    certificate: Certificate | None
    outcome: AdversaryOutcome | None = None
    failure_reason: str = ""


def obtain_certificates(
    selectors: Sequence[str],
    T: int,
    *,
    d: int | None = None,
    seed: int = 0,
    fixed_seed: int | None = None,
    engine: Engine,
    store: Path | None = None,
    recompute: bool = False,
    progress: Progress | None = None,
) -> list[ContestResult]:
    """Return one certificate for each algorithm, from the store or from a new run.

    Parameters
    ----------
    selectors
        Algorithms; see `make_contestant` for default parameters.
    T, d, seed
        See `certify`.
    fixed_seed
        Fixes the random numbers of randomised algorithms; see `make_contestant`.
    engine
        Engine that executes the runs.
    store
        Folder of the store of certificates; transcripts are not stored.
    recompute
        Whether to rerun those in the store, for their transcripts and gaps.
    progress
        See `Progress`.

    Raises
    ------
    InputError, RefusedError
        If an algorithm cannot be built or is not admitted, or a number is out of range; nothing has
        run then.
    StorageError
        If the store cannot be written or read; results stored before remain.
    """
    check_integer("seed", seed, minimum=0)
    problem = make_resisting_chain(T, d)
    standing = [make_contestant(text, problem, fixed_seed=fixed_seed) for text in selectors]
    questions = [
        certificate_task(contestant, T, d, seed, recompute=recompute) for contestant in standing
    ]
    results: dict[int, ContestResult] = {}
    for answer in run_cached_tasks(questions, engine, None if store is None else Store(store)):
        label, result = standing[answer.index].label, answer.result
        if answer.row is not None:
            outcome = None if result is None else result.value
            results[answer.index] = ContestResult(label, Certificate.from_row(answer.row), outcome)
        elif result is not None:
            results[answer.index] = ContestResult(
                label, None, failure_reason=f"{result.status}: {result.reason}"
            )
        if progress:
            progress()
    return [results[index] for index in range(len(standing))]


def certificate_task(
    contestant: Contestant, T: int, d: int | None, seed: int, *, recompute: bool
) -> CachedTask:
    """Return the task that computes a certificate; its result is cached in the store."""
    # A function of a user's module may return an object of a class in another module.
    name = Selector.parse(contestant.selector).name
    named = {module_name(name)} if ":" in name else set()
    fixed = {} if contestant.fixed_seed is None else {"fixed_seed": contestant.fixed_seed}
    selector = replace_file_by_module(contestant.selector)
    content = {"certificate": selector, "horizon": T, "dimension": d, "seed": seed, **fixed}
    return CachedTask(
        "certificate",
        content,
        frozenset({certificate.__name__, type(contestant.algorithm).__module__, *named}),
        Task(_certify_selector, (contestant.label, T, d, seed, contestant.fixed_seed)),
        make_row=lambda outcome: {"schema": certificate.SCHEMA, **outcome.certificate.as_json()},
        recompute=recompute,
        required_fields=certificate.NEEDED,
    )


def _certify_selector(
    label: str, T: int, d: int | None, seed: int, fixed_seed: int | None
) -> AdversaryOutcome:
    contestant = make_contestant(label, make_resisting_chain(T, d), fixed_seed=fixed_seed)
    return certify(contestant, T, d=d, seed=seed)
