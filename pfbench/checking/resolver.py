"""Selection of the checks that fit an object or a name, by the kind of the object."""

import inspect
from collections.abc import Callable, Mapping
from itertools import chain
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from pfbench.adapters.solve_interface import as_problem
from pfbench.algorithms.catalogue import ALGORITHMS, AlgorithmChoice
from pfbench.algorithms.catalogue import select_algorithm as named_algorithm
from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError
from pfbench.base.function_methods import can_be_algorithm, method_class
from pfbench.base.names import unknown_name_error
from pfbench.base.parameters import check_parameter_names
from pfbench.base.protocols import Problem
from pfbench.base.selectors import Selector, is_user_defined
from pfbench.base.user_code import instantiate_class, is_pfbench_module, load_user_object
from pfbench.checking import algorithms, estimator_checks
from pfbench.checking.estimator_checks import check_estimator
from pfbench.checking.findings import CheckReport, CheckRunner
from pfbench.checking.penalty_checks import check_penalty
from pfbench.checking.problem_checks import check_problem
from pfbench.checking.sets import check_set
from pfbench.estimators.base import Estimator
from pfbench.estimators.catalogue import ESTIMATORS
from pfbench.problems import FiniteSum
from pfbench.problems.catalogue import PROBLEMS, build_problem
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.runs.planning.name_resolution import check_user_problem
from pfbench.runs.planning.name_resolution import select_algorithm as chosen_algorithm
from pfbench.sets.body import ConvexBody
from pfbench.sets.catalogue import PENALTIES, SETS, feasible_set, penalty
from pfbench.verification.units import USUAL

KINDS = ("algorithm", "estimator", "set", "problem", "penalty")
"""Kinds of objects that can be checked."""

SHAPES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"vectors": (6,), "arrays": (6,), "matrices": (4, 3), "square matrices": (3, 3)}
)
"""Shapes of points for which all vertices can be enumerated."""


def check(
    subject: Any, *, problem: Problem | str | None = None, kind: str | None = None
) -> CheckReport:
    """Check an algorithm, an estimator, a feasible set, a problem or a penalty.

    Parameters
    ----------
    subject
        A catalogue name with parameters, KIND:NAME if it has several kinds, MODULE:NAME, or an
        object or a class itself.
    problem
        Problem to run an algorithm or an estimator on: a selector or a problem; by default a small
        built-in one.
    kind
        A name in `KINDS`, if it cannot be inferred.

    Returns
    -------
    CheckReport
        One result for each check; failures are results, not exceptions.

    Raises
    ------
    InputError
        If a name is unknown, or the object cannot be instantiated or is of no known kind.
    """
    began = perf_counter()
    if kind is not None:
        check_choice("kind", kind, KINDS)
    name, result, kind = _resolve(subject, kind)
    on = None if problem is None else as_problem(problem)
    if on is not None and kind not in ("algorithm", "estimator"):
        raise InputError(f"{name} is a {kind}, which needs no problem: leave the problem out.")
    examination = CheckRunner()
    tried = _OF_KINDS[kind].run_checks(result, examination, on)
    tried_on = "" if tried is None else str(Selector(tried.name, tried.parameters))
    return CheckReport(name, kind, tuple(examination.findings), tried_on, perf_counter() - began)


class _ObjectKind(NamedTuple):
    """Kind of checkable objects, e.g. algorithms, with functions that load and check them.

    Attributes
    ----------
    catalogue
        The built-in objects of the kind, by name.
    load
        Instantiates a built-in object from a selector.
    run_checks
        Runs the checks; returns the problem or other object that they ran on, if any.
    required_methods
        The methods by which an object of this kind is recognised; none for a problem.
    """

    catalogue: Mapping[str, Any]
    load: Callable[[Selector], Any]
    run_checks: Callable[[Any, CheckRunner, Any], Any]
    required_methods: tuple[str, ...] = ()


def _run_algorithm_checks(algorithm: Any, examination: CheckRunner, on: Any) -> Any:
    if isinstance(algorithm, AlgorithmChoice):
        on = on or algorithms.make_small_problem(algorithm.algorithm_class)  # type: ignore[arg-type]
        algorithm = resolve_run(on, algorithm).algorithm
    tried = algorithms.check_algorithm(algorithm, examination, on)
    if all(result.status != "failed" for result in examination.findings):
        own = getattr(algorithms.with_test_parameters(algorithm), "estimator", None)
        if isinstance(own, Estimator) and not _is_builtin(own):
            check_estimator(own, examination.for_component("estimator: "))
    return tried


def _run_set_checks(result: Any, examination: CheckRunner, on: Any) -> None:
    check_set(result, examination)


def _run_problem_checks(result: Any, examination: CheckRunner, on: Any) -> None:
    def states() -> str:
        check_user_problem(Selector(result.name, result.parameters), result)
        size = "a sampler" if result.n is None else f"n = {result.n}"
        return f"{size}, points of shape {result.shape}, set {result.set.name}"

    if not examination.run_check("it declares what a problem needs", states):
        return
    check_problem(result, examination)
    if result.is_bounded and not _is_builtin(result.set):
        check_set(result.set, examination.for_component("set: "))
    if result.penalty is not None and not _is_builtin(result.penalty):
        check_penalty(result.penalty, result.shape, examination.for_component("penalty: "))


def _is_builtin(part: Any) -> bool:
    """Return whether the class of an object is part of pfbench."""
    return is_pfbench_module(type(part).__module__)


def _run_penalty_checks(result: Any, examination: CheckRunner, on: Any) -> None:
    d = getattr(result, "d", None)
    points = getattr(result, "points", "vectors")
    check_penalty(result, SHAPES.get(points, SHAPES["vectors"]) if d is None else (d,), examination)


# --- names ----------------------------------------------------------------------------------------


def refers_to_user_code(text: str) -> bool:
    """Return whether a text names user-defined code, which must be imported to be checked."""
    return is_user_defined(Selector.parse(text).name, KINDS)


def _resolve(subject: Any, kind: str | None) -> tuple[str, Any, str]:
    """Return the name, the object and the kind that `subject` refers to."""
    subject = method_class(subject) if can_be_algorithm(subject) else subject
    if not isinstance(subject, str):
        label = getattr(subject, "__qualname__", type(subject).__qualname__)
        result = _instantiate_unless_bare_algorithm(subject, Selector(label))
        return label, result, kind or infer_kind(result, label)
    selector = Selector.parse(subject)
    if refers_to_user_code(subject):
        if "epsilon" in selector.parameters and kind in (None, "algorithm"):
            chosen = chosen_algorithm(subject)
            if isinstance(chosen, AlgorithmChoice):
                return subject, chosen, "algorithm"
        result = _instantiate_unless_bare_algorithm(load_user_object(selector.name), selector)
        kind = kind or infer_kind(result, selector.name)
        if isinstance(result, FiniteSum):
            result = result.with_selector(selector.name, selector.parameters)
        return subject, result, kind
    statement, _, name = selector.name.rpartition(":")
    kind = kind or statement
    catalogues = {key: _OF_KINDS[key].catalogue for key in ([kind] if kind else _OF_KINDS)}
    for key, catalogue in catalogues.items():
        if name in catalogue:
            plain = Selector(name, selector.parameters, selector.texts)
            return subject, _OF_KINDS[key].load(plain), key
    raise unknown_name_error(kind or "name", name, list(chain.from_iterable(catalogues.values())))


def _load_algorithm(selector: Selector) -> Any:
    """Return a built-in algorithm, as a class if the selector states no parameter."""
    cls, parameters = ALGORITHMS[selector.name], selector.parameters
    if not parameters:
        return cls
    chosen = named_algorithm(selector)  # which refuses unknown parameters
    if "epsilon" in parameters:
        return chosen
    needed = {k: v for k, v in USUAL.items() if k in cls.list_required_parameters()}
    return named_algorithm(Selector(selector.name, needed | dict(parameters), selector.texts))


def _load_estimator(selector: Selector) -> Any:
    cls = ESTIMATORS[selector.name]
    check_parameter_names(selector.name, selector.parameters, inspect.signature(cls).parameters)
    return estimator_checks.with_test_parameters(cls, **selector.parameters)


def _load_set(selector: Selector) -> Any:
    return _load_small_part(feasible_set, SETS[selector.name], selector)


def _load_penalty(selector: Selector) -> Any:
    return _load_small_part(penalty, PENALTIES[selector.name], selector)


def _load_small_part(build: Callable[..., Any], entry: Any, selector: Selector) -> Any:
    """Build a set or penalty; required parameters that the selector omits get test values."""
    needed = {name for name, parameter in entry.parameters().items() if parameter.is_required}
    usual = {name: 2 for name in ("k", "groups") if name in needed}
    return build(selector.name, SHAPES[entry.points], **usual | dict(selector.parameters))


# --- user-defined objects -------------------------------------------------------------------------


def infer_kind(obj: Any, name: str) -> str:
    """Infer the kind of an object from the methods that it has.

    Raises
    ------
    InputError
        If the object is of no known kind.
    """
    if isinstance(obj, FiniteSum):
        return "problem"
    if isinstance(obj, AlgorithmChoice):
        return "algorithm"
    answers = {k: row.required_methods for k, row in _OF_KINDS.items() if row.required_methods}
    for kind, parts in answers.items():
        if all(callable(getattr(obj, part, None)) for part in parts):
            return kind
    methods = "; ".join(f"{kind}: {', '.join(parts)}" for kind, parts in answers.items())
    raise InputError(
        f"{name} is of no kind that can be checked: derive a problem from "
        f"pfbench.problems.FiniteSum; give another object the methods of its kind ({methods}); "
        "write a solver as a function of grad and x0."
    )


_USUAL_OF_OWN: Mapping[str, Any] = MappingProxyType(
    {"d": 6, "radius": 1.5, "size": (4, 3), "shape": (6,), "weight": 0.7}
)
"""Test values for required parameters of a user-defined set or penalty."""


def _instantiate_unless_bare_algorithm(obj: Any, selector: Selector) -> Any:
    """Instantiate a class, or call a function, but return an algorithm class unchanged.

    An algorithm class is instantiated only if the selector states parameters.
    """
    method = inspect.isclass(obj) and callable(getattr(obj, "run", None))
    if method and not selector.parameters:
        return obj
    usual = {**_USUAL_OF_OWN, **estimator_checks.USUAL, **(USUAL if method else {})}
    if inspect.isclass(obj) and issubclass(obj, ConvexBody):  # as in `for_shape`
        shape: Any = SHAPES.get(obj.points, SHAPES["vectors"])
        size = shape if obj.points == "matrices" else shape[0]
        usual = {next(iter(inspect.signature(obj).parameters), ""): size} | usual
    remedy = "; test a measure by `pfbench solve --measure`" if inspect.isfunction(obj) else ""
    return instantiate_class(obj, selector, usual, f", or name a function that returns it{remedy}")


_OF_KINDS: Mapping[str, _ObjectKind] = MappingProxyType(
    {
        "algorithm": _ObjectKind(ALGORITHMS, _load_algorithm, _run_algorithm_checks, ("run",)),
        "problem": _ObjectKind(PROBLEMS, build_problem, _run_problem_checks),
        "set": _ObjectKind(SETS, _load_set, _run_set_checks, ("lo", "contains")),
        "penalty": _ObjectKind(PENALTIES, _load_penalty, _run_penalty_checks, ("value", "prox")),
        "estimator": _ObjectKind(ESTIMATORS, _load_estimator, check_estimator, ("start",)),
    }
)
"""Kinds of objects, in the order in which an ambiguous name is looked up."""
