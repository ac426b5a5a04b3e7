"""Making the runs of a study that the store lacks, in this process or in several."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numba
from threadpoolctl import threadpool_limits

from pfbench.algorithms.base import parameters_of
from pfbench.algorithms.catalogue import AlgorithmChoice, algorithm
from pfbench.base.errors import WorkerDied
from pfbench.base.protocols import Algorithm, Measure, Problem
from pfbench.base.selectors import Selector
from pfbench.measures import named
from pfbench.problems.catalogue import problem
from pfbench.runs.keys import environment, run_key
from pfbench.runs.solve import check_ends, check_offered, solve, stream
from pfbench.runs.store import Entry, Store
from pfbench.runs.study import PlannedRun

Progress = Callable[[PlannedRun, bool], None]
"""Called when a run is there: the run, and whether it was made now (not found in the store)."""


@dataclass(frozen=True)
class Outcome:
    """A planned run with what the store has of it."""

    plan: PlannedRun
    entry: Entry


def execute(
    plans: Sequence[PlannedRun],
    store: Store,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Make the runs that the store lacks, and return all, in the given order.

    Every run is checked (names, parameters, requirements) before the first one starts.

    Raises
    ------
    PfbenchError
        If a run is refused, the store fails, or a worker dies; what is stored already stays.
    KeyboardInterrupt
        If the user interrupts it; the runs in flight are lost, and what is stored already stays.
    """
    check(plans)
    keys: dict[PlannedRun, str] = {}
    if jobs == 1 or len(plans) == 1:
        with _one_thread():
            for plan in plans:
                keys[plan], fresh = make(plan, store.folder)
                if progress:
                    progress(plan, fresh)
    else:
        # Not forked: threads of numba and BLAS do not survive a fork.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=context, initializer=_be_worker) as pool:
            with _interrupts_held():
                futures = {pool.submit(make, plan, store.folder): plan for plan in plans}
            try:
                for future in as_completed(futures):
                    plan = futures[future]
                    keys[plan], fresh = future.result()
                    if progress:
                        progress(plan, fresh)
            except BrokenProcessPool as error:
                raise WorkerDied(
                    "a worker process was killed, perhaps for lack of memory: try again with "
                    "fewer jobs; the runs that are stored already stay."
                ) from error
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    outcomes = []
    for plan in plans:
        entry = store.get(keys[plan])
        assert entry is not None
        outcomes.append(Outcome(plan, entry))
    return outcomes


def check(plans: Sequence[PlannedRun]) -> None:
    """Refuse any run that `solve` would refuse, before the first one starts."""
    for plan in {(plan.problem, plan.algorithm, plan.measures): plan for plan in plans}.values():
        _resolved(plan)


def make(plan: PlannedRun, folder: Path) -> tuple[str, bool]:
    """Return the key of a run and whether it was made now.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupted the run, which is then not stored.
    """
    store = Store(folder)
    built, choice, resolved, measures = _resolved(plan)
    there = environment()
    key = run_key(
        built,
        resolved,
        parameters_of(resolved),
        seed=plan.seed,
        limits={"every": plan.every},
        measures=measures,
        environment=there,
    )
    if store.get(key) is not None:
        return key, False
    run = solve(built, choice, seed=plan.seed, measures=measures, every=plan.every)
    if run.status == "killed":
        raise KeyboardInterrupt
    store.put(key, run, there)
    return key, True


def _resolved(plan: PlannedRun) -> tuple[Problem, AlgorithmChoice, Algorithm, dict[str, Measure]]:
    """Return what a run's selectors and names stand for; refuse what does not fit together."""
    built = _problem(plan.problem)
    selector = Selector.parse(plan.algorithm)
    choice = algorithm(selector.name, **selector.parameters)
    resolved, _ = choice.resolve(built.constants(built.start()))
    check_offered(built, built.open(stream(plan.seed, "oracles")), resolved)
    check_ends(resolved, None, None, None)
    return built, choice, resolved, named(built, list(plan.measures))


@lru_cache(maxsize=4)
def _problem(text: str) -> Problem:
    selector = Selector.parse(text)
    return problem(selector.name, **selector.parameters)


def _be_worker() -> None:
    """Compute with one thread, and end silently when the user interrupts the program."""
    numba.set_num_threads(1)
    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back Ctrl-C inside, and in the processes that are started inside until they are ready.

    Otherwise each of them would print a traceback if it came while they still import.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one numba thread inside, so that a run has the same bits here as in a worker."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
