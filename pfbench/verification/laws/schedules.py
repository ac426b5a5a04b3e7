"""Whether a method's schedule is the one that its source's theorem prints."""

import math

from pfbench.base.protocols import Algorithm
from pfbench.verification.evidence import Evidence
from pfbench.verification.laws.method import Method, Wanted
from pfbench.verification.statistics import Decision, all_of, decide_exact
from pfbench.verification.subject import Untestable
from pfbench.verification.trial import Trial

_RELATIVE = 1e-9
"""Relative size of rounding in a real parameter."""


def keeps_its_schedule(trial: Trial, *, method: Method) -> Evidence:
    """Compare every parameter that the theorem sets, for several accuracies and constants."""
    parts, claimed = dict[str, Decision](), dict[str, float]()
    assert method.schedule is not None
    for number, asked in enumerate(method.schedules):
        made = _made(trial, asked)
        printed = method.schedule(asked)
        found = {name: getattr(made, name) for name in printed if hasattr(made, name)}
        if not found:
            raise Untestable(f"it has none of the parameters {', '.join(printed)}")
        name = f"case {number}, epsilon={asked.epsilon:g} n={asked.constants.n}"
        parts[name] = _compared(found, printed)
        claimed |= {f"{name}: {key}": value for key, value in printed.items() if value is not None}
    return Evidence(all_of(parts), claimed, len(parts))


def _made(trial: Trial, asked: Wanted) -> Algorithm:
    """Return the algorithm with its schedule; only where that is asked for the practical one."""
    if not asked.practical:
        return trial.scheduled(asked.epsilon, asked.constants, **asked.given)
    practical = getattr(trial.algorithm, "practical", None)
    if practical is None:
        raise Untestable("it has no practical schedule")
    made: Algorithm = practical(asked.epsilon, asked.constants, **asked.given)
    return made


def _compared(found: dict[str, float | None], printed: dict[str, float | None]) -> Decision:
    wrong = [
        f"{name} is {value}, not {printed[name]}."
        for name, value in found.items()
        if not _same(value, printed[name])
    ]
    shown = {name: float(value) for name, value in found.items() if value is not None}
    return decide_exact(not wrong, "Every parameter is the theorem's.", "".join(wrong[:1]), shown)


def _same(found: float | None, printed: float | None) -> bool:
    """Return whether a parameter is what is printed; an integer may be rounded either way."""
    if found is None or printed is None:
        return found is printed
    if isinstance(found, int) and not isinstance(printed, int):
        return abs(found - printed) < 1.0 + _RELATIVE * abs(printed)
    return math.isclose(found, printed, rel_tol=_RELATIVE)
