"""What an algorithm does beside its oracles: calls of a problem that nothing counts."""

import sys
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Self

import numpy as np

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.protocols import Problem
from pfbench.checking.findings import Wrong, at_line
from pfbench.oracles import Ledger, bundle
from pfbench.oracles.bundle import VERBS, Oracles
from pfbench.points import form_of
from pfbench.problems import FiniteSum
from pfbench.problems.base import Opened
from pfbench.sets.body import Body
from pfbench.sets.penalties import Penalty
from pfbench.verification.instruments.changed import Changed

_ORACLES = frozenset({*VERBS, "component", "minimum", "project"})


def _codes(*classes: type) -> frozenset[CodeType]:
    functions = (one for cls in classes for one in vars(cls).values())
    return frozenset(one.__code__ for one in functions if isinstance(one, FunctionType))


_BUNDLE = _codes(Oracles, bundle.CountedHessian, bundle.CountedTable)


class Bypass:
    """While it is entered, notes who asks a problem or a set for what the bundle should count.

    Attributes
    ----------
    seen
        What is asked, by the line that asks, with the number of calls.
    """

    def __init__(self, problem: Problem) -> None:
        h = problem.penalty
        self._kinds = FiniteSum, Body, Penalty, Opened, type(problem.set), type(h or problem)
        self._depth = 0
        self.seen: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Self:
        self._before: Callable[..., Any] | None = sys.getprofile()
        self._of_threads = threading.getprofile()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        sys.setprofile(self._before)
        threading.setprofile(self._of_threads)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code in _BUNDLE:
            self._depth += (event == "call") - (event == "return")
            return
        caller = frame.f_back
        if event == "call" and not self._depth and caller is not None:
            asked = self._asked(frame, caller)
            if asked:
                line = at_line(caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name)
                self.seen[asked, line] = self.seen.get((asked, line), 0) + 1

    def _asked(self, frame: FrameType, caller: FrameType) -> str:
        """Return what a call asks, if it is an oracle of a problem or a set, or a loop of ours."""
        code = frame.f_code
        if code.co_name in _ORACLES and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if isinstance(owner, self._kinds):
                return f"{type(owner).__name__}.{code.co_name}"
        module, asking = (str(one.f_globals.get("__name__", "")) for one in (frame, caller))
        if module.startswith("pfbench.kernels") and not asking.startswith("pfbench."):
            return f"a loop of {module}"
        return ""


class Guarded(Oracles):
    """Oracles that note which of their private parts are read from outside.

    Attributes
    ----------
    touched
        The lines that read them, by the part.
    """

    __slots__ = ("touched",)

    touched: dict[str, str]

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):
            caller = sys._getframe(1)
            if caller.f_code not in _BUNDLE:
                line = at_line(caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name)
                object.__getattribute__(self, "touched").setdefault(name, line)
        return super().__getattribute__(name)


Guarded.__name__ = Oracles.__name__  # an error of Python's names what a method knows


def guarded(problem: Problem, backend: Any, ledger: Ledger | None = None) -> Guarded:
    """Return the oracles of a problem that a backend answers, guarded."""
    form = form_of(problem.start(), problem.name)
    ask = Guarded(backend, ledger or Ledger(), problem.set.diameter, form)
    ask.touched = {}
    return ask


def in_words(counts: Counts) -> str:
    """Return counts that are not 0, as in "4 FO, 92 SFO"."""
    told = counts.as_dict()
    return ", ".join(f"{told[name]} {name.upper()}" for name in COUNTED if told[name]) or "no calls"


def accuse(bypass: Bypass, touched: Mapping[str, str], tallied: Counts, told: Counts) -> None:
    """Refuse calls that went beside the oracles.

    Parameters
    ----------
    bypass, touched
        What was noted.
    tallied, told
        What was computed, and what the ledger has.
    """
    if bypass.seen:
        (asked, line), times = next(iter(bypass.seen.items()))
        raise Wrong(
            "every call of an oracle to go through `ask`, which counts it",
            f"it calls {asked} itself, {times} times, uncounted",
            {},
            (line,),
        )
    if touched:
        name, line = next(iter(touched.items()))
        raise Wrong(
            "it to use the oracles that `ask` offers, n and D, and nothing behind them",
            f"it reads ask.{name}",
            {},
            (line,),
        )
    if told != tallied:
        raise Wrong(f"the ledger to have what was computed, {in_words(tallied)}", in_words(told))


class Negated(Changed):
    """A backend that answers for -f: whatever follows its answers goes another way."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if name in ("gradient", "batch", "difference", "value"):
            return lambda *given: -found(*given)
        return (lambda x: _Opposite(found(x))) if name in ("hessian", "table") else found


class _Opposite(Changed):
    """Component Hessians, or a table, of -f."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, np.ndarray):
            return -found
        return lambda *given: -found(*given)
