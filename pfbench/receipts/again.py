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

from pfbench.base.errors import InputError, in_words
from pfbench.oracles import Ledger
from pfbench.receipts.runs import OF_STEPS, Row, bits_of, summed
from pfbench.reporting.statistics.significance import rank_test
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.runs.loop.asking import oracles_of
from pfbench.runs.loop.isolated import apart
from pfbench.runs.rerun import TOLERANCE

LEVEL = 1e-4
"""The chance that the runs of an honest receipt are told from those of new seeds, all tests
together."""

AT_ONCE = 5
"""Runs that are made in one task."""

STEPS = 20
"""Steps of a run that is made with its method in a process of its own."""


@dataclass
class Checked:
    """What became of a receipt.

    Attributes
    ----------
    off
        What is not as the receipt says, a sentence each.
    runs, verdicts, faults
        How many were made again, of how many.
    new
        Runs of new seeds.
    laws
        Tests that compare them with the old ones: what differs if they do, and the p-value. A test
        of equal numbers is none.
    shipped
        Runs of other methods that are those that are shipped.
    unreached
        What time did not suffice for, or could not be made again, and must have been.
    undrawn
        Pages that another pfbench made, and that are not what this one draws of the numbers.
    """

    off: list[str] = field(default_factory=list)
    runs: list[int] = field(default_factory=lambda: [0, 0])
    verdicts: list[int] = field(default_factory=lambda: [0, 0])
    faults: list[int] = field(default_factory=lambda: [0, 0])
    new: int = 0
    shipped: int = 0
    laws: list[tuple[str, float]] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    undrawn: list[str] = field(default_factory=list)

    @property
    def least(self) -> float:
        """The least p-value."""
        return min((p for _, p in self.laws), default=1.0)

    def note(self, text: str) -> None:
        """Take in a sentence on what is not as it should be, if there is one."""
        self.off += [text] if text else []

    def fresh(
        self, name: str, there: Sequence[Mapping[str, float]], here: Sequence[Mapping[str, float]]
    ) -> None:
        """Compare runs of new seeds with the old ones, of each the numbers by the same names."""
        self.new += len(here)
        for kind in there[0]:
            old, new = (np.array([one[kind] for one in runs]) for runs in (there, here))
            both = np.concatenate([old, new])
            if np.isnan(both).any() or (both == both[0]).all():
                continue  # equal numbers tell nothing
            p = rank_test(old, new)
            text = f"median {np.median(new):g} for {np.median(old):g}, p = {p:.1g}"
            self.laws.append((f"{kind} of {name} has another law now ({text})", p))

    def compare(self) -> None:
        """Note which laws are others than the old ones, at `LEVEL` all together."""
        self.off += [text for text, p in self.laws if p <= LEVEL / len(self.laws)]


@dataclass(frozen=True)
class How:
    """How a receipt is put to the test.

    Attributes
    ----------
    engine
        Where the code of its author is run; its modules must be at hand.
    rng
        Draws what is made again first, and the new seeds.
    same
        Whether versions and machine are those of its author: then bits must agree.
    seconds
        The time.
    """

    engine: Engine
    rng: random.Random
    same: bool
    seconds: float

    def task(self, function: Callable[..., Any], *given: Any) -> Task:
        """Return a call of a function, in which no name of pfbench may change."""
        return Task(untouched, (function, *given), self.seconds)

    def mixed(self, what: Sequence[Any], most: int = 10**9) -> list[Any]:
        """Return all of it, or so many, in an order that is drawn."""
        return self.rng.sample(what, min(most, len(what)))


@dataclass(frozen=True)
class Asked:
    """A task, what its outcome is given to, and what it is about; without it nothing is checked."""

    task: Task
    take: Callable[[Any], object]
    what: str
    needed: bool = True


def answered(asked: Sequence[Asked], how: How, found: Checked) -> None:
    """Do what is asked as far as the time suffices, and note what had to be done and was not."""
    ends = monotonic() + how.seconds
    reached = set()
    with closing(how.engine.do([one.task for one in asked])) as results:  # type: ignore[type-var]
        for result in results:
            reached.add(result.index)
            one = asked[result.index]
            if result.status == "done":
                one.take(result.value)
            elif one.needed:
                found.unreached.append(f"{one.what}: {result.status}: {result.reason}")
            if monotonic() > ends:
                break
    found.compare()
    found.unreached += [
        f"{one.what}: no time"
        for index, one in enumerate(asked)
        if one.needed and index not in reached
    ]


def untouched(function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function returns, if code that it imports changes nothing of pfbench.

    Raises
    ------
    InputError
        If it does.
    """
    before = _ours()
    value = function(*given)
    changed = [name for name, one in _ours().items() if before.get(name, one) is not one]
    if changed:
        raise InputError(f"its code changes {changed[0]}")
    return value


def _ours() -> dict[str, Any]:
    """Return all that has a name in pfbench's modules and their classes."""
    found: dict[str, Any] = {}
    for module in [one for name, one in sys.modules.items() if name.startswith("pfbench.")]:
        for name, value in list(vars(module).items()):
            found[f"{module.__name__}.{name}"] = value
            if inspect.isclass(value) and value.__module__ == module.__name__:
                found |= {f"{module.__name__}.{name}.{of}": v for of, v in vars(value).items()}
    return found


def near(there: Any, here: Any) -> bool:
    """Return whether two values are equal; numbers up to `TOLERANCE`."""
    if not all(isinstance(one, int | float) for one in (there, here)):
        return bool(there == here)
    return math.isclose(there, here, rel_tol=TOLERANCE, abs_tol=1e-12) or equal(there, here)


def equal(there: float, here: float) -> bool:
    """Return whether two numbers are equal; NaN is equal to itself."""
    return there == here or (math.isnan(there) and math.isnan(here))


Made = Callable[[], tuple[Any, Any]]
"""Returns a problem, and a method made for it."""

Followed = list[tuple[bytes, Mapping[str, int]]]
"""Of each step the bytes of the iterate, and the counts."""


def followed(made: Made, seed: int, most: int, *, isolated: bool) -> Followed:
    """Return the first steps of a run, of a method in a process of its own if it is isolated."""
    # A worker is a daemon, which may start none; what is started here ends with it all the same.
    multiprocessing.current_process().daemon = False
    (problem, algorithm), ledger = made(), Ledger()
    backend = problem.open(np.random.default_rng(seed))
    ask = oracles_of(problem, backend, ledger)
    begin = partial(apart, algorithm, ledger) if isolated else algorithm.run
    states = begin(ask, problem.start(), np.random.default_rng(seed))
    try:
        return [
            (bits_of(problem, one.x), ledger.counts().as_dict()) for one in islice(states, most)
        ]
    finally:
        getattr(states, "close", int)()


def other_apart(made: Made, seed: int, what: str, row: Row | None = None) -> str:
    """Return in what a method differs where nothing of the problem is in its memory.

    Parameters
    ----------
    made, seed
        As `followed` takes them.
    what
        How the method is called.
    row
        A run of the receipt of this seed, which is made whole so; if not given, the first `STEPS`
        steps are compared with those that are made here.
    """
    try:
        here = followed(made, seed, STEPS, isolated=False) if row is None else []
    except Exception:
        return ""  # which its runs tell
    try:
        most = STEPS if row is None else int(row["iteration"])
        there = followed(made, seed, most, isolated=True)
    except Exception as error:
        return f"{what} fails in a process of its own: {in_words(error)}"
    if row is not None:
        steps, counts, iterates = summed(there)
        right = (steps, *counts, iterates) == tuple(row[name] for name in OF_STEPS)
    else:
        right = there == here
    return "" if right else f"{what} does other things in a process of its own"
