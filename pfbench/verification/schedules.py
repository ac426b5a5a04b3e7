"""Comparison of a method's parameter schedule with the published one."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pfbench.base.constants import Constants
from pfbench.base.errors import RefusedError
from pfbench.base.protocols import Algorithm
from pfbench.verification.replay.replay_checks import NOT_COMPARED, REFUSALS
from pfbench.verification.statistics import Decision, Evidence, combine_all, decide_exact
from pfbench.verification.subject import MethodFailed, NotTestable, select_accepted
from pfbench.verification.trial import Trial

USUAL = tuple(
    Constants(
        n=n,
        D=2.0,
        L_f=2.5,
        L_ms=3.0,
        L_max=4.0,
        L_mean=2.8,
        L2_ms=0.7,
        sigma2=1.1,
        delta=5.0,
        M=1.2,
        sigma_hat=0.3,
        ell=0.8,
        derivations={},  # claims are sent to other processes, which a read-only mapping is not
    )
    for n in (20, 700, 50_000)
)
"""Constants for which schedules are checked."""

_OUTSIDE = ("math domain error", "expected a ")
"""Starts of the messages of `math` for arguments outside a domain, by version of Python."""

_RELATIVE = 1e-9
"""Relative size of rounding in a real parameter."""

Printed = dict[str, float | None]
"""Published value of each parameter; None if the source leaves it to the method."""


@dataclass(frozen=True)
class ScheduleRequest:
    """Accuracy, problem constants and further parameters for which a schedule is computed.

    Attributes
    ----------
    epsilon, constants, parameters
        Arguments of `Algorithm.theory`.
    is_practical
        Whether the practical schedule is requested.
    """

    epsilon: float
    constants: Constants
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_practical: bool = False


SMALLEST = tuple(replace(USUAL[0], n=n, delta=1e-3, sigma2=1e-3) for n in (1, 20))
"""Constants for which, at a large epsilon, integers of a schedule are 1 (all if n = 1)."""

WANTED = (
    *(ScheduleRequest(epsilon, c) for epsilon in (0.4, 0.03) for c in USUAL),
    *(ScheduleRequest(0.4, c) for c in SMALLEST),
)
"""Requests for which most schedules are compared."""


@dataclass(frozen=True)
class PublishedSchedule:
    """Parameter schedule of a method as its source states it.

    Attributes
    ----------
    schedule
        Function ``(epsilon, constants, **parameters)`` that returns the published parameters; with
        ``is_practical=True`` those of the practical schedule, if some request is for it.
    attribution
        Source and theorem, and any change with its author.
    requests
        Accuracies and constants for which the schedule is compared.
    """

    schedule: Callable[..., Printed]
    attribution: str
    requests: Sequence[ScheduleRequest] = WANTED

    def compute(self, request: ScheduleRequest) -> Printed:
        """Return the published parameters for a request."""
        form = {"is_practical": True} if request.is_practical else {}
        return self.schedule(request.epsilon, request.constants, **request.parameters, **form)


def check_published_schedule(trial: Trial, *, published: PublishedSchedule) -> Evidence:
    """Compare a method's scheduled parameters with the published ones.

    The comparison uses several accuracies and problem constants.
    """
    parts, claimed = dict[str, Decision](), dict[str, float]()
    failed: list[tuple[ScheduleRequest, NotTestable]] = []
    granted: list[ScheduleRequest] = []
    for number, request in enumerate(published.requests):
        if request.is_practical and not hasattr(trial.algorithm, "practical"):
            continue  # a method need not have one beside its theorem's
        try:
            scheduled = _make_scheduled(trial, request)
        except NotTestable as error:
            failed.append((request, error))
            continue
        granted.append(request)
        expected = published.compute(request)
        observed = {name: getattr(scheduled, name) for name in expected if hasattr(scheduled, name)}
        if not observed:
            raise NotTestable(f"the method has none of the parameters {', '.join(expected)}")
        name = f"case {number}, epsilon={request.epsilon:g} n={request.constants.n}"
        parts[name] = _decide_schedule(observed, expected)
        claimed |= {f"{name}: {key}": value for key, value in expected.items() if value is not None}
    lacking = _raise_if_refusal_not_permitted(failed, granted, trial.algorithm)
    if lacking:
        words = f"Every parameter is as published. {NOT_COMPARED}: {', '.join(lacking)}."
        parts = {"": Decision("holds", words, {}, None), **parts}
    return Evidence(combine_all(parts), claimed, len(granted))


def _raise_if_refusal_not_permitted(
    failed: Sequence[tuple[ScheduleRequest, NotTestable]],
    granted: Sequence[ScheduleRequest],
    algorithm: Any,
) -> Collection[str]:
    """Raise an exception if a schedule refuses a request for a reason that is not permitted.

    A schedule may refuse an accuracy that is out of range, and the method may lack parameters that
    select another form of it. Return the names of these parameters.

    Raises
    ------
    MethodFailed
        If a request fails with an error outside `REFUSALS`, if the method refuses parameters that
        only the schedule has set, if the same parameters are granted for other accuracies, or if a
        request without further parameters fails while others are granted.
    NotTestable
        If all requests fail, or all requests with the same parameters, which the method has.
    """
    left = [
        item for item in failed if not (granted and isinstance(item[1].__cause__, RefusedError))
    ]
    for request, error in left:
        same = any(_request_kind(request) == _request_kind(item) for item in granted)
        cause = error.__cause__
        wrong = str(cause).startswith(_OUTSIDE) or (
            not request.parameters and _is_raised_in_constructor(cause)
        )
        # Without a cause it lacks what is needed.
        is_error = wrong or not (cause is None or isinstance(cause, REFUSALS))
        if is_error or same or (granted and _request_kind(request) == (False, {})):
            raise MethodFailed(str(error)) from error
    requested = {name: None for request, _ in left for name in request.parameters}
    lacking = [name for name in requested if name not in select_accepted(algorithm, (*requested,))]
    for request, error in left:
        if not granted or not {*lacking} & {*request.parameters}:
            raise error
    return lacking


def _is_raised_in_constructor(error: BaseException | None) -> bool:
    """Return whether an error was raised inside a constructor, by its traceback."""
    step = error.__traceback__ if error else None
    while step and step.tb_frame.f_code.co_name not in ("__init__", "__post_init__"):
        step = step.tb_next
    return step is not None


def _request_kind(request: ScheduleRequest) -> tuple[bool, Mapping[str, Any]]:
    """Return whether a request is for the practical schedule, and its further parameters."""
    return request.is_practical, request.parameters


def _make_scheduled(trial: Trial, request: ScheduleRequest) -> Algorithm:
    """Return the algorithm with the parameters that its theoretical or practical schedule gives."""
    if not request.is_practical:
        return trial.make_scheduled(request.epsilon, request.constants, **request.parameters)
    scheduled: Algorithm = trial.algorithm.practical(
        request.epsilon, request.constants, **request.parameters
    )
    return scheduled


def _decide_schedule(observed: dict[str, float | None], expected: Printed) -> Decision:
    wrong = [
        f"{name} is {value}, not {expected[name]}."
        for name, value in observed.items()
        if not _agrees_with_published(value, expected[name])
    ]
    values = {name: float(value) for name, value in observed.items() if value is not None}
    return decide_exact(not wrong, "".join(wrong[:1]), values)


def _agrees_with_published(observed: float | None, expected: float | None) -> bool:
    """Return whether the observed parameter equals the published one up to rounding.

    An integer parameter may be rounded up or down. If the published value is at most 1, only the
    integers 0 and 1 match.
    """
    if observed is None or expected is None:
        return observed is expected
    if isinstance(observed, int) and not isinstance(expected, int):
        if expected <= 1.0:
            return observed in (0, 1)
        return abs(observed - expected) < 1.0 + _RELATIVE * abs(expected)
    return math.isclose(observed, expected, rel_tol=_RELATIVE)
