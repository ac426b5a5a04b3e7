"""What receipts of theorems and of comparisons share where they are put to the test."""

import inspect
import math
import multiprocessing
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any

import numpy as np

from pfbench.base.errors import InputError, format_error
from pfbench.oracles import Ledger
from pfbench.receipts.receipt_runs import OF_STEPS, Row, digest_run, point_bytes
from pfbench.reporting.statistics.significance import rank_test
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.runs.loop.counted_oracles import make_oracles
from pfbench.runs.loop.isolated import run_isolated
from pfbench.runs.rerun import TOLERANCE

LEVEL = 1e-4
"""The chance that the runs of an honest receipt are told from those of new seeds, all tests
together."""

AT_ONCE = 5
"""Runs that are made in one task."""

STEPS = 20
"""Steps of a run that is made with its method in a process of its own."""


@dataclass
class CheckOutcome:
    """What became of a receipt.

    Attributes
    ----------
    deviations
        What is not as the receipt says, a sentence each.
    runs, verdicts, faults
        How many were made again, of how many.
    fresh_runs
        Runs of new seeds.
    p_values
        Tests that compare them with the old ones: what differs if they do, and the p-value. A test
        of equal numbers is none.
    suite_runs
        Runs of other methods that are those that are shipped.
    unreached_tasks
        What time did not suffice for, or could not be made again, and must have been.
    unsampled
        Pages that another pfbench made, and that are not what this one draws of the numbers.
    """

    deviations: list[str] = field(default_factory=list)
    runs: list[int] = field(default_factory=lambda: [0, 0])
    verdicts: list[int] = field(default_factory=lambda: [0, 0])
    faults: list[int] = field(default_factory=lambda: [0, 0])
    fresh_runs: int = 0
    suite_runs: int = 0
    p_values: list[tuple[str, float]] = field(default_factory=list)
    unreached_tasks: list[str] = field(default_factory=list)
    unsampled: list[str] = field(default_factory=list)

    @property
    def min_p_value(self) -> float:
        """The least p-value."""
        return min((p for _, p in self.p_values), default=1.0)

    def note(self, text: str) -> None:
        """Take in a sentence on what is not as it should be, if there is one."""
        self.deviations += [text] if text else []

    def compare_fresh(
        self,
        name: str,
        recorded: Sequence[Mapping[str, float]],
        recomputed: Sequence[Mapping[str, float]],
    ) -> None:
        """Compare runs of new seeds with the old ones, of each the numbers by the same names."""
        self.fresh_runs += len(recomputed)
        for kind in recorded[0]:
            old, new = (np.array([run[kind] for run in runs]) for runs in (recorded, recomputed))
            both = np.concatenate([old, new])
            if np.isnan(both).any() or (both == both[0]).all():
                continue  # equal numbers tell nothing
            p = rank_test(old, new)
            text = f"median {np.median(new):g} for {np.median(old):g}, p = {p:.1g}"
            self.p_values.append((f"{kind} of {name} has another law now ({text})", p))

    def compare(self) -> None:
        """Note which laws are others than the old ones, at `LEVEL` all together."""
        self.deviations += [text for text, p in self.p_values if p <= LEVEL / len(self.p_values)]


@dataclass(frozen=True)
class CheckPlan:
    """How a receipt is put to the test.

    Attributes
    ----------
    engine
        Where the code of its author is run; its modules must be at hand.
    rng
        Draws what is made again first, and the new seeds.
    same_environment
        Whether versions and machine are those of its author: then bits must agree.
    seconds
        The time.
    """

    engine: Engine
    rng: random.Random
    same_environment: bool
    seconds: float

    def task(self, function: Callable[..., Any], *args: Any) -> Task:
        """Return a call of a function, in which no name of pfbench may change."""
        return Task(call_protected, (function, *args), self.seconds)

    def shuffle_sample(self, items: Sequence[Any], limit: int = 10**9) -> list[Any]:
        """Return all of it, or so many, in an order that is drawn."""
        return self.rng.sample(items, min(limit, len(items)))


@dataclass(frozen=True)
class CheckTask:
    """A task, what its outcome is given to, and what it is about; without it nothing is checked."""

    task: Task
    on_result: Callable[[Any], object]
    description: str
    is_required: bool = True


def run_checks(tasks: Sequence[CheckTask], plan: CheckPlan, outcome: CheckOutcome) -> None:
    """Do what is asked as far as the time suffices, and note what had to be done and was not."""
    ends = monotonic() + plan.seconds
    reached = set()
    with closing(plan.engine.do([item.task for item in tasks])) as results:  # type: ignore[type-var]
        for result in results:
            reached.add(result.index)
            task = tasks[result.index]
            if result.status == "done":
                task.on_result(result.value)
            elif task.is_required:
                outcome.unreached_tasks.append(
                    f"{task.description}: {result.status}: {result.reason}"
                )
            if monotonic() > ends:
                break
    outcome.compare()
    outcome.unreached_tasks += [
        f"{item.description}: no time"
        for index, item in enumerate(tasks)
        if item.is_required and index not in reached
    ]


def call_protected(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function returns, if code that it imports changes nothing of pfbench.

    Raises
    ------
    InputError
        If it does.
    """
    before = _package_namespace()
    value = function(*args)
    changed = [
        name for name, item in _package_namespace().items() if before.get(name, item) is not item
    ]
    if changed:
        raise InputError(f"its code changes {changed[0]}")
    return value


def _package_namespace() -> dict[str, Any]:
    """Return all that has a name in pfbench's modules and their classes."""
    package_namespace: dict[str, Any] = {}
    for module in [module for name, module in sys.modules.items() if name.startswith("pfbench.")]:
        for name, value in list(vars(module).items()):
            package_namespace[f"{module.__name__}.{name}"] = value
            if inspect.isclass(value) and value.__module__ == module.__name__:
                package_namespace |= {
                    f"{module.__name__}.{name}.{key}": v for key, v in vars(value).items()
                }
    return package_namespace


def approximately_equal(recorded: Any, recomputed: Any) -> bool:
    """Return whether two values are equal; numbers up to `TOLERANCE`."""
    if not all(isinstance(item, int | float) for item in (recorded, recomputed)):
        return bool(recorded == recomputed)
    return math.isclose(recorded, recomputed, rel_tol=TOLERANCE, abs_tol=1e-12) or equal(
        recorded, recomputed
    )


def equal(recorded: float, recomputed: float) -> bool:
    """Return whether two numbers are equal; NaN is equal to itself."""
    return recorded == recomputed or (math.isnan(recorded) and math.isnan(recomputed))


MethodFactory = Callable[[], tuple[Any, Any]]
"""Returns a problem, and a method made for it."""

FollowedRun = list[tuple[bytes, Mapping[str, int]]]
"""Of each step the bytes of the iterate, and the counts."""


def follow_run(factory: MethodFactory, seed: int, limit: int, *, isolated: bool) -> FollowedRun:
    """Return the first steps of a run, of a method in a process of its own if it is isolated."""
    # A worker is a daemon, which may start none; what is started here ends with it all the same.
    multiprocessing.current_process().daemon = False
    (problem, algorithm), ledger = factory(), Ledger()
    backend = problem.open(np.random.default_rng(seed))
    ask = make_oracles(problem, backend, ledger)
    begin = partial(run_isolated, algorithm, ledger) if isolated else algorithm.run
    states = begin(ask, problem.start(), np.random.default_rng(seed))
    try:
        return [
            (point_bytes(problem, state.x), ledger.counts().as_dict())
            for state in islice(states, limit)
        ]
    finally:
        getattr(states, "close", int)()


def describe_isolated_difference(
    factory: MethodFactory, seed: int, subject: str, row: Row | None = None
) -> str:
    """Return in what a method differs where nothing of the problem is in its memory.

    Parameters
    ----------
    factory, seed
        As `follow_run` takes them.
    subject
        How the method is called.
    row
        A run of the receipt of this seed, which is made whole so; if not given, the first `STEPS`
        steps are compared with those that are made here.
    """
    try:
        current = follow_run(factory, seed, STEPS, isolated=False) if row is None else []
    except Exception:
        return ""  # which its runs tell
    try:
        max_count = STEPS if row is None else int(row["iteration"])
        recorded = follow_run(factory, seed, max_count, isolated=True)
    except Exception as error:
        return f"{subject} fails in a process of its own: {format_error(error)}"
    if row is not None:
        steps, counts, iterates = digest_run(recorded)
        right = (steps, *counts, iterates) == tuple(row[name] for name in OF_STEPS)
    else:
        right = recorded == current
    return "" if right else f"{subject} does other things in a process of its own"
