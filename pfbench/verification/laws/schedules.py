"""Whether a method's schedule is the one that its claim names."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pfbench.base.errors import PfbenchError, Refused
from pfbench.base.protocols import Algorithm
from pfbench.verification.evidence import Evidence
from pfbench.verification.laws.method import Method, Wanted
from pfbench.verification.statistics import Decision, all_of, decide_exact
from pfbench.verification.subject import Raised, Untestable
from pfbench.verification.trial import Trial

REFUSALS = (PfbenchError, ValueError, NotImplementedError)
"""The errors by which a method, or its schedule, refuses what it is given."""

_OUTSIDE = ("math domain error", "expected a ")
"""What the functions of `math` say, by versions of Python, of a number that they are not for."""

_RELATIVE = 1e-9
"""Relative size of rounding in a real parameter."""


def keeps_its_schedule(trial: Trial, *, method: Method) -> Evidence:
    """Compare every parameter that the schedule sets, for several accuracies and constants."""
    parts, claimed = dict[str, Decision](), dict[str, float]()
    assert method.schedule is not None
    failed: list[tuple[Wanted, Untestable]] = []
    granted: list[Wanted] = []
    for number, asked in enumerate(method.schedules):
        if asked.practical and not hasattr(trial.algorithm, "practical"):
            continue  # a method need not have one beside its theorem's
        try:
            made = _made(trial, asked)
        except Untestable as error:
            failed.append((asked, error))
            continue
        granted.append(asked)
        printed = method.schedule(asked)
        found = {name: getattr(made, name) for name in printed if hasattr(made, name)}
        if not found:
            raise Untestable(f"it has none of the parameters {', '.join(printed)}")
        name = f"case {number}, epsilon={asked.epsilon:g} n={asked.constants.n}"
        parts[name] = _compared(found, printed)
        claimed |= {f"{name}: {key}": value for key, value in printed.items() if value is not None}
    _check_failed(failed, granted)
    return Evidence(all_of(parts), claimed, len(parts))


def _check_failed(failed: Sequence[tuple[Wanted, Untestable]], granted: Sequence[Wanted]) -> None:
    """Refuse schedules that fail where they should not.

    One may refuse an accuracy as out of its range, or parameters given with it.

    Raises
    ------
    Raised
        If one fails by an error that refuses nothing, or since the method refuses parameters that
        the schedule alone has set, or although the same is granted for other
        accuracies, or although nothing is given with it and others are granted.
    Untestable
        If all fail, or all with the same parameters given.
    """
    left = [one for one in failed if not (granted and isinstance(one[1].__cause__, Refused))]
    for asked, error in left:
        same = any(_request(asked) == _request(one) for one in granted)
        cause = error.__cause__
        wrong = str(cause).startswith(_OUTSIDE) or (not asked.given and _in_making(cause))
        # Without a cause it lacks what is needed.
        is_error = wrong or not (cause is None or isinstance(cause, REFUSALS))
        if is_error or same or (granted and _request(asked) == (False, {})):
            raise Raised(str(error)) from error
    if left:
        raise left[0][1]


def _in_making(error: BaseException | None) -> bool:
    """Return whether an error came of making an object, by its traceback."""
    step = error.__traceback__ if error else None
    while step and step.tb_frame.f_code.co_name not in ("__init__", "__post_init__"):
        step = step.tb_next
    return step is not None


def _request(asked: Wanted) -> tuple[bool, Mapping[str, Any]]:
    """Return what is asked for beside an accuracy."""
    return asked.practical, asked.given


def _made(trial: Trial, asked: Wanted) -> Algorithm:
    """Return the algorithm with its schedule; only where that is asked for the practical one."""
    if not asked.practical:
        return trial.scheduled(asked.epsilon, asked.constants, **asked.given)
    made: Algorithm = trial.algorithm.practical(asked.epsilon, asked.constants, **asked.given)
    return made


def _compared(found: dict[str, float | None], printed: dict[str, float | None]) -> Decision:
    wrong = [
        f"{name} is {value}, not {printed[name]}."
        for name, value in found.items()
        if not _same(value, printed[name])
    ]
    shown = {name: float(value) for name, value in found.items() if value is not None}
    return decide_exact(not wrong, "Every parameter is the schedule's.", "".join(wrong[:1]), shown)


def _same(found: float | None, printed: float | None) -> bool:
    """Return whether a parameter is what is printed; an integer may be rounded either way.

    What is at most 1 is not 2 in either.
    """
    if found is None or printed is None:
        return found is printed
    if isinstance(found, int) and not isinstance(printed, int):
        if printed <= 1.0:
            return found in (0, 1)
        return abs(found - printed) < 1.0 + _RELATIVE * abs(printed)
    return math.isclose(found, printed, rel_tol=_RELATIVE)
