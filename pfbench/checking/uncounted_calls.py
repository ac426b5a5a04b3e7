"""Detection of evaluations of a problem that bypass the counting oracles."""

import sys
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Self

import numpy as np

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.protocols import Problem
from pfbench.checking.findings import CheckFailed, format_location
from pfbench.oracles import Ledger, bundle
from pfbench.oracles.bundle import ORACLES, Oracles
from pfbench.points import infer_format
from pfbench.problems import FiniteSum
from pfbench.problems.base import BackendWithStatefulLmo
from pfbench.sets.body import ConvexBody
from pfbench.sets.penalties import NormPenalty
from pfbench.verification.instruments.overrides import OverriddenOracles

_ORACLES = frozenset({*ORACLES, "component", "minimum", "project"})


def _codes(*classes: type) -> frozenset[CodeType]:
    functions = (var for cls in classes for var in vars(cls).values())
    return frozenset(
        function.__code__ for function in functions if isinstance(function, FunctionType)
    )


_BUNDLE = _codes(Oracles, bundle.CountedHessian, bundle.CountedSagaTable)


class UncountedCallDetector:
    """Context manager that records calls of problem or set methods that no counter counts.

    Attributes
    ----------
    uncounted_calls
        Number of calls, by oracle and calling line.
    """

    def __init__(self, problem: Problem) -> None:
        h = problem.penalty
        self._kinds = (
            FiniteSum,
            ConvexBody,
            NormPenalty,
            BackendWithStatefulLmo,
            type(problem.set),
            type(h or problem),
        )
        self._depth = 0
        self.uncounted_calls: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Self:
        self._previous_tracer: Callable[..., Any] | None = sys.getprofile()
        self._thread_tracers = threading.getprofile()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        point: TracebackType | None,
    ) -> None:
        sys.setprofile(self._previous_tracer)
        threading.setprofile(self._thread_tracers)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code in _BUNDLE:
            self._depth += (event == "call") - (event == "return")
            return
        caller = frame.f_back
        if event == "call" and not self._depth and caller is not None:
            identify_call = self._identify_call(frame, caller)
            if identify_call:
                line = format_location(
                    caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name
                )
                self.uncounted_calls[identify_call, line] = (
                    self.uncounted_calls.get((identify_call, line), 0) + 1
                )

    def _identify_call(self, frame: FrameType, caller: FrameType) -> str:
        """Return the name of the called oracle or compiled loop; "" for any other function."""
        code = frame.f_code
        if code.co_name in _ORACLES and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if isinstance(owner, self._kinds):
                return f"{type(owner).__name__}.{code.co_name}"
        module, asking = (str(item.f_globals.get("__name__", "")) for item in (frame, caller))
        if module.startswith("pfbench.kernels") and not asking.startswith("pfbench."):
            return f"a loop of {module}"
        return ""


class PrivateAccessRecordingOracles(Oracles):
    """Oracles that record which of their private attributes the tested code reads.

    Attributes
    ----------
    accessed_privates
        The first line that read each attribute, by attribute.
    """

    __slots__ = ("accessed_privates",)

    accessed_privates: dict[str, str]

    def __init__(self, *arguments: Any) -> None:
        self.accessed_privates = {}
        super().__init__(*arguments)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):
            caller = sys._getframe(1)
            if caller.f_code not in _BUNDLE:
                line = format_location(
                    caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name
                )
                object.__getattribute__(self, "accessed_privates").setdefault(name, line)
        return super().__getattribute__(name)


PrivateAccessRecordingOracles.__name__ = (
    Oracles.__name__
)  # an error of Python's names what a method knows


def guard_oracles(
    problem: Problem, backend: Any, ledger: Ledger | None = None
) -> PrivateAccessRecordingOracles:
    """Wrap a backend in counting oracles that record reads of their private attributes."""
    form = infer_format(problem.start(), problem.name)
    return PrivateAccessRecordingOracles(backend, ledger or Ledger(), problem.set.diameter, form)


def format_counts(counts: Counts) -> str:
    """Return the nonzero oracle counts as text, e.g. "4 FO, 92 SFO"."""
    report = counts.as_dict()
    return (
        ", ".join(f"{report[name]} {name.upper()}" for name in COUNTED if report[name])
        or "no calls"
    )


def refuse_uncounted_calls(
    detector: UncountedCallDetector,
    accessed_privates: Mapping[str, str],
    tallied_counts: Counts,
    ledger_counts: Counts,
) -> None:
    """Raise `CheckFailed` if some evaluations bypassed the counting oracles.

    Parameters
    ----------
    detector, accessed_privates
        The recorded calls and attributes.
    tallied_counts, ledger_counts
        Oracle calls that were actually made, and those that the ledger counted.
    """
    if detector.uncounted_calls:
        (requested, line), times = next(iter(detector.uncounted_calls.items()))
        raise CheckFailed(
            "every oracle call must go through `ask`, which counts it",
            f"the code calls {requested} directly, {times} times: use `ask` instead",
            {},
            (line,),
        )
    if accessed_privates:
        name, line = next(iter(accessed_privates.items()))
        raise CheckFailed(
            "of `ask`, the code may use only n, D and the oracles, and no private attribute",
            f"the code reads ask.{name}",
            {},
            (line,),
        )
    if ledger_counts != tallied_counts:
        raise CheckFailed(
            f"the ledger must show the oracle calls made: {format_counts(tallied_counts)}",
            format_counts(ledger_counts),
        )


class NegatedBackend(OverriddenOracles):
    """Oracles that return values and gradients of -f, to test whether a run depends on them."""

    def __getattr__(self, name: str) -> Any:
        result = super().__getattr__(name)
        if name in ("gradient", "batch", "difference", "value"):
            return lambda *value: -result(*value)
        return (lambda x: _NegatedObject(result(x))) if name in ("hessian", "table") else result


class _NegatedObject(OverriddenOracles):
    """Component Hessians, or a table of gradients, of -f in place of f."""

    def __getattr__(self, name: str) -> Any:
        result = super().__getattr__(name)
        if isinstance(result, np.ndarray):
            return -result
        return lambda *value: -result(*value)
