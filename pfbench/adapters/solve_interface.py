"""Function `pfbench.solve`, which accepts names, classes and functions."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError
from pfbench.base.function_methods import FunctionMethod, can_be_algorithm, method_class
from pfbench.base.names import brief_repr, check_names
from pfbench.base.protocols import Algorithm, AlgorithmSpec, Measure, Problem
from pfbench.base.state import Point
from pfbench.base.user_code import blame_user_code, list_required_arguments
from pfbench.oracles.bundle import ORACLES
from pfbench.runs.loop import solve as loop
from pfbench.runs.loop.run import Run, Stop
from pfbench.runs.planning.name_resolution import select_algorithm, select_measures, select_problem


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
    """Run an algorithm on a problem, and return the run.

    Parameters
    ----------
    problem
        A name, as in ``"quadratic"`` or ``"quadratic[rows=20]"``; a problem from `pfbench.problem`
        or `pfbench.adapters.from_functions`; or a user-defined one: an object, a class that needs
        no parameters, a function that returns a problem, ``"FILE.py:NAME"``.
    algorithm
        A name, as in ``"frank-wolfe[iterations=100]"``; an algorithm from `pfbench.algorithm`; or a
        user-defined one in the same forms. A function of (ask, x, rng) that yields states is an
        algorithm, and so is a solver of (grad, lmo, x0); see `pfbench.adapters.method_class`.
    seed
        Seed of the algorithm, at least 0; the data of the problem have a separate seed.
    budget
        Maximum numbers of oracle calls, as in ``{"sfo": 100}``; the run stops before the call that
        would exceed it.
    stop
        Target at which the run stops, as in ``"fw_gap=0.01"``; it is checked in every recorded row.
    time_limit
        Time limit in seconds, excluding measures and compilation.
    measures
        Measures to record in the trace: a name, a list of names, or a dict from names to functions
        of (problem, state). A function is called once for each row, so it can also report progress.
    every
        Record a row every `every` iterations, and for the first and the last iterate.
    start
        Start point in the set; by default the problem's own.
    isolated
        Run the method in a separate process without access to the problem: see
        `pfbench.runs.loop.solve.solve`.

    Returns
    -------
    Run
        The run, however it ended: see its status. A method that raises after its first oracle call
        has the status "error".

    Raises
    ------
    InputError
        If an argument is out of range or of the wrong type, a name is unknown, or nothing would
        ever end the run. Also if the method raises before its first oracle call.
    RefusedError
        If the problem lacks an oracle that the algorithm queries, or a constant of its schedule, or
        is not known to meet the assumptions of its schedule's theorem.
    """
    on = as_problem(problem)
    method = as_algorithm(algorithm, on)
    if isolated and isinstance(method, FunctionMethod):
        raise InputError("isolated=True needs a class that is defined in a file, not a function.")
    names = [measures] if isinstance(measures, str) else measures
    if isinstance(names, Sequence) and any(":" in str(name) for name in names):
        measures = select_measures(on, names)
    return loop.solve(
        on,
        method,
        seed=seed,
        budget=_parse_budget(budget),
        stop=Stop.parse(stop) if isinstance(stop, str) else stop,
        time_limit=time_limit,
        measures=measures,
        every=every,
        start=start,
        isolated=isolated,
        strict=not isolated,
    )


def as_problem(subject: Any) -> Problem:
    """Convert any problem argument that `solve` accepts to a problem.

    Raises
    ------
    InputError
        If the argument is not a problem and cannot be converted to one.
    """
    problem = (
        select_problem(subject)
        if isinstance(subject, str)
        else _call_if_no_arguments_needed(subject)
    )
    if isinstance(problem, type) or not all(hasattr(problem, part) for part in ("start", "set")):
        raise InputError(
            f"{brief_repr(subject)} is not a problem: give a name such as 'quadratic', a result of "
            "pf.problem or pf.adapters.from_functions, or an object of your own class."
        )
    return cast(Problem, problem)


def as_algorithm(subject: Any, problem: Problem) -> AlgorithmSpec | Algorithm:
    """Convert any algorithm argument that `solve` accepts to an algorithm; see `as_problem`.

    Parameters
    ----------
    problem
        Problem that the algorithm runs on; a plain function may query all of its oracles.
    """
    if isinstance(subject, str):
        return select_algorithm(subject)
    if inspect.isfunction(subject) and (
        can_be_algorithm(subject) or len(list_required_arguments(subject) or ()) == 3
    ):
        lacks = getattr(problem, "lacks", ())
        offered = frozenset(v for v in ORACLES if v not in lacks and hasattr(problem, v))
        method = method_class(subject)
        subject = method if method.arguments else method_class(subject, requires=offered)
    result = _call_if_no_arguments_needed(subject)
    if not isinstance(result, AlgorithmSpec) and not callable(getattr(result, "run", None)):
        raise InputError(
            f"{brief_repr(subject)} is not an algorithm: give a name, as in 'frank-wolfe[iterations=100]', what "  # noqa: E501
            "pf.algorithm returns, an object of your own class, or a function of (ask, x, rng) or "
            "of (grad, lmo, x0)."
        )
    return cast(AlgorithmSpec | Algorithm, result)


def _call_if_no_arguments_needed(subject: Any) -> Any:
    """Instantiate a class, or call a function, that needs no arguments.

    Other objects, and functions that need arguments, are returned unchanged.
    """
    if not isinstance(subject, type) and not inspect.isroutine(subject):
        return subject
    if isinstance(subject, type) and not any(hasattr(subject, part) for part in ("run", "start")):
        return subject
    needed = list_required_arguments(subject)
    if needed and isinstance(subject, type):
        text = ", ".join(f"{name}=..." for name in needed)
        raise InputError(
            f"{subject.__name__} needs {', '.join(needed)}: write {subject.__name__}({text})."
        )
    if needed is None or needed:
        return subject
    with blame_user_code(f"{subject.__name__}()"):
        return subject()


def _parse_budget(budget: Any) -> Any:
    if isinstance(budget, str):
        return Budget.parse(budget)
    if isinstance(budget, Mapping):
        check_names("count in the budget", budget, COUNTED)
        return Budget(**budget)
    return budget
