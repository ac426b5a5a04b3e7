"""The front door of Python: `pfbench.solve`, which takes names, classes and functions, too."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError, NotBegun
from pfbench.base.function_methods import FunctionMethod, is_method, method_class
from pfbench.base.names import check_names, told
from pfbench.base.protocols import Algorithm, Choice, Measure, Problem
from pfbench.base.state import Point
from pfbench.base.user_code import blamed
from pfbench.oracles.bundle import VERBS
from pfbench.runs.loop import solve as loop
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.plugged import spelled_out
from pfbench.runs.planning.selecting import chosen_algorithm, chosen_measures, chosen_problem


def solve(
    problem: Any,
    algorithm: Any,
    *,
    seed: int = 0,
    budget: Budget | Mapping[str, float] | str | None = None,
    stop: Stop | str | None = None,
    time_limit: float | None = None,
    measures: str | Sequence[str] | Mapping[str, Measure] = (),
    every: int = 1,
    start: Point = None,
    isolated: bool = False,
) -> Run:
    """Run an algorithm on a problem.

    Parameters
    ----------
    problem
        A name, as in ``"quadratic"`` or ``"quadratic[rows=20]"``; from `pfbench.problem` or
        `pfbench.adapters.from_functions`; or somebody's own: an object, a class that needs no
        parameters, a function that makes one, ``"FILE.py:NAME"``.
    algorithm
        A name, as in ``"frank-wolfe[iterations=100]"``; from `pfbench.algorithm`; or somebody's
        own in the same ways. A function of (ask, x, rng) that yields states is one, too, and so
        is a solver of (grad, lmo, x0); see `pfbench.adapters.method_class`.
    seed
        Seed of the algorithm, at least 0; the problem's data have a seed of their own.
    budget
        Most oracle calls, as in ``{"sfo": 100}``; the run stops before the call that would exceed
        it.
    stop
        Target at which the run stops, as in ``"fw_gap=0.01"``; it is looked at in every recorded
        row.
    time_limit
        Seconds, on the clock that stands still during measures and compilation.
    measures
        Names, or functions of (problem, state) by name, to record in the trace. A function is
        called once for each row, so that it can also tell how far the run has come.
    every
        Record a row each `every` iterations (and the first and the last).
    start
        Start point in the set; the problem's own if not given.
    isolated
        Run the method in a process of its own, where nothing of the problem is: see
        `pfbench.runs.loop.solve.solve`.

    Returns
    -------
    Run
        However the run ended: see its status. A method that raises after its first oracle call has
        the status "error".

    Raises
    ------
    InputError
        If an argument is out of range or of another kind, a name is unknown, or nothing would ever
        end the run; if the method raises before its first oracle call.
    Refused
        If the problem lacks an oracle that the algorithm asks, or a constant of its schedule, or
        is not known to meet what the theorem of its schedule assumes.
    """
    on = as_problem(problem)
    method = as_algorithm(algorithm, on)
    if isolated and isinstance(method, FunctionMethod):
        raise InputError("isolated=True needs a class of its own file, not a function.")
    if isinstance(measures, str) and ":" in measures:
        measures = [measures]
    if not isinstance(measures, str | Mapping) and isinstance(measures, Sequence):
        names = list(measures)
        if any(isinstance(name, str) and ":" in name for name in names):
            measures = chosen_measures(on, names)
    try:
        return loop.solve(
            on,
            method,
            seed=seed,
            budget=_budget(budget),
            stop=Stop.parse(stop) if isinstance(stop, str) else stop,
            time_limit=time_limit,
            measures=measures,
            every=every,
            start=start,
            isolated=isolated,
            strict=not isolated,
        )
    except NotBegun as error:
        if not isinstance(method, FunctionMethod) or method.arguments:
            raise
        called = (
            f"pfbench calls {method.name}(ask, x, rng), which yields a pf.State after each update"
        )
        raise NotBegun(f"{str(error).rstrip('.?')}: {called}.") from error.__cause__


def as_problem(what: Any) -> Problem:
    """Return a problem from whatever `solve` takes for one.

    Raises
    ------
    InputError
        If it is none, and cannot be made one.
    """
    found = chosen_problem(spelled_out("problem", what)) if isinstance(what, str) else _made(what)
    if isinstance(found, type) or not all(hasattr(found, part) for part in ("start", "set")):
        if inspect.isroutine(what) or isinstance(what, tuple):
            raise InputError(
                f"{told(what)} is no problem: one has a gradient and a start, too; "
                "pf.adapters.from_functions(f, gradient, lmo, start=...) makes it of functions."
            )
        raise InputError(
            f"{told(what)} is no problem: give a name, as in 'quadratic', what pf.problem returns, "
            "or an object of your own class."
        )
    return cast(Problem, found)


def as_algorithm(what: Any, on: Problem) -> Choice | Algorithm:
    """Return an algorithm from whatever `solve` takes for one; see `as_problem`.

    Parameters
    ----------
    on
        What it runs on: a function may ask all that this problem offers.
    """
    if isinstance(what, str):
        return chosen_algorithm(spelled_out("algorithm", what))
    if inspect.isfunction(what) and (is_method(what) or len(_needed(what)) == 3):
        lacks = getattr(on, "lacks", ())
        offered = frozenset(v for v in VERBS if v not in lacks and hasattr(on, v))
        method = method_class(what)
        what = method if method.arguments else method_class(what, requires=offered)
    found = _made(what)
    if not isinstance(found, Choice) and not callable(getattr(found, "run", None)):
        raise InputError(
            f"{told(what)} is no algorithm: give a name, as in 'frank-wolfe[iterations=100]', what "
            "pf.algorithm returns, an object of your own class, or a function of (ask, x, rng) or "
            "of (grad, lmo, x0)."
        )
    return cast(Choice | Algorithm, found)


def _made(what: Any) -> Any:
    """Return what a class makes with its defaults, or a function that needs no arguments."""
    if not isinstance(what, type) and not inspect.isroutine(what):
        return what
    if isinstance(what, type) and not any(hasattr(what, part) for part in ("run", "start")):
        return what
    needed = _needed(what)
    if needed:
        given = ", ".join(f"{name}=..." for name in needed)
        if isinstance(what, type):
            raise InputError(
                f"{what.__name__} needs {', '.join(needed)}: write {what.__name__}({given})."
            )
        return what
    with blamed(f"{what.__name__}()"):
        return what()


def _needed(function: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments that a class or function needs."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, which tells nothing
        return ["its arguments"]
    listed = (p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    return [p.name for p in listed if p.default is p.empty]


def _budget(given: Any) -> Any:
    if isinstance(given, str):
        return Budget.parse(given)
    if isinstance(given, Mapping):
        check_names("count in the budget", given, COUNTED)
        return Budget(**given)
    return given
