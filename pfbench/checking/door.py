"""The door: what is looked at, by its name or as an object, and by which checks."""

import inspect
from collections.abc import Callable, Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from pfbench.adapters.front import as_problem
from pfbench.algorithms.catalogue import ALGORITHMS, AlgorithmChoice, named_algorithm
from pfbench.base.checks import choice
from pfbench.base.errors import InputError
from pfbench.base.function_methods import is_method, method_class
from pfbench.base.names import unknown
from pfbench.base.parameters import check_known
from pfbench.base.protocols import Problem
from pfbench.base.selectors import Selector, is_own
from pfbench.base.user_code import is_ours, load, made_of
from pfbench.checking import algorithms, estimators
from pfbench.checking.examples import EXAMPLES, SHAPES
from pfbench.checking.findings import Examination, Findings
from pfbench.checking.penalties import check_penalty
from pfbench.checking.problems import check_problem
from pfbench.checking.sets import check_set
from pfbench.estimators import Estimator
from pfbench.estimators.catalogue import ESTIMATORS
from pfbench.problems import FiniteSum
from pfbench.problems.catalogue import PROBLEMS, named_problem
from pfbench.runs.loop.ready import ready
from pfbench.runs.planning.own_problem import own_problem
from pfbench.runs.planning.selecting import chosen_algorithm
from pfbench.sets.catalogue import PENALTIES, SETS, feasible_set, penalty
from pfbench.verification.parameters import USUAL

KINDS = ("algorithm", "estimator", "set", "problem", "penalty")
"""What can be checked."""


def check(what: Any, *, problem: Problem | str | None = None, kind: str | None = None) -> Findings:
    """Check an algorithm, an estimator, a feasible set, a problem or a penalty.

    Parameters
    ----------
    what
        A name of the catalogue with parameters, KIND:NAME where it has several kinds, MODULE:NAME,
        or an object or a class itself.
    problem
        What an algorithm or an estimator is tried on: a selector, or a problem; a small one of ours
        if not given.
    kind
        Which of `KINDS` it is, where that cannot be seen.

    Returns
    -------
    Findings
        One for each check; nothing raises but what cannot be looked at at all.

    Raises
    ------
    InputError
        If a name is unknown, or what it names cannot be made or is none of these.
    """
    began = perf_counter()
    if kind is not None:
        choice("kind", kind, KINDS)
    name, found, kind = _resolved(what, kind)
    on = None if problem is None else as_problem(problem)
    if on is not None and kind not in ("algorithm", "estimator"):
        raise InputError(f"{name} is a {kind}, which is tried on no problem: leave it out.")
    examination = Examination()
    tried = _OF_KINDS[kind].look(found, examination, on)
    tried_on = "" if tried is None else str(Selector(tried.name, tried.parameters))
    return Findings(name, kind, tuple(examination.findings), tried_on, perf_counter() - began)


class _Kind(NamedTuple):
    """What is known of a kind of thing.

    Attributes
    ----------
    names
        Those of ours, by name.
    named
        Makes one of ours of a selector.
    look
        Looks at one; returns what it was tried on, if that is said.
    answers
        The methods by which one is known where its class does not say it; none of a problem.
    """

    names: Mapping[str, Any]
    named: Callable[[Selector], Any]
    look: Callable[[Any, Examination, Any], Any]
    answers: tuple[str, ...] = ()


def _algorithm(found: Any, examination: Examination, on: Any) -> Any:
    if isinstance(found, AlgorithmChoice):
        on = on or algorithms.small_problem(found.kind)  # type: ignore[arg-type]
        found = ready(on, found).algorithm
    tried = algorithms.check_algorithm(found, examination, on)
    if not examination.failed:
        own = getattr(algorithms.usual(found), "estimator", None)
        if isinstance(own, Estimator) and not _is_ours(own):
            with examination.part("estimator: ") as inside:
                estimators.check_estimator(own, inside)
    return tried


def _set(found: Any, examination: Examination, on: Any) -> None:
    check_set(found, examination)


def _problem(found: Any, examination: Examination, on: Any) -> None:
    def states() -> str:
        own_problem(Selector(found.name, found.parameters), found)
        return f"n = {found.n}, points of shape {found.shape}, set {found.set.name}"

    if not examination.look("it states what a problem has", states):
        return
    check_problem(found, examination)
    if found.bounded and not _is_ours(found.set):
        with examination.part("set: ") as inside:
            check_set(found.set, inside)
    if found.penalty is not None and not _is_ours(found.penalty):
        with examination.part("penalty: ") as inside:
            check_penalty(found.penalty, found.shape, inside)


def _is_ours(part: Any) -> bool:
    """Return whether an object is of a class of pfbench, which our own tests have checked."""
    return is_ours(type(part).__module__)


def _penalty(found: Any, examination: Examination, on: Any) -> None:
    d = getattr(found, "d", None)
    points = getattr(found, "points", "vectors")
    check_penalty(found, SHAPES.get(points, SHAPES["vectors"]) if d is None else (d,), examination)


# --- names ----------------------------------------------------------------------------------------


def is_imported(text: str) -> bool:
    """Return whether a text names somebody's own code, which is imported."""
    return is_own(Selector.parse(text).name, KINDS)


def _resolved(what: Any, kind: str | None) -> tuple[str, Any, str]:
    """Return a name, the object, and its kind."""
    what = method_class(what) if is_method(what) else what
    if not isinstance(what, str):
        label = getattr(what, "__qualname__", type(what).__qualname__)
        found = _made(what, Selector(label))
        return label, found, kind or kind_of(found, label)
    selector = Selector.parse(what)
    if is_imported(what):
        if "epsilon" in selector.parameters and kind in (None, "algorithm"):
            chosen = chosen_algorithm(what)
            if isinstance(chosen, AlgorithmChoice):
                return what, chosen, "algorithm"
        found = _made(load(selector.name), selector)
        kind = kind or kind_of(found, selector.name)
        if isinstance(found, FiniteSum):
            found = found.called(selector.name, selector.parameters)
        return what, found, kind
    stated, _, name = selector.name.rpartition(":")
    known = {one: of.names for one, of in _OF_KINDS.items()}
    kind = kind or stated or next((one for one in known if name in known[one]), None)
    if kind is None:
        raise unknown("name", name, [one for names in known.values() for one in names])
    if name not in known[kind]:
        raise unknown(kind, name, known[kind])
    plain = Selector(name, selector.parameters, selector.texts)
    return what, _OF_KINDS[kind].named(plain), kind


def _named_algorithm(selector: Selector) -> Any:
    """Return an algorithm of ours; a class where parameters that it needs are not given."""
    cls, given = ALGORITHMS[selector.name], selector.parameters
    if not given:
        return cls
    if "epsilon" in given:
        return named_algorithm(selector)
    named_algorithm(selector)
    needed = {k: v for k, v in USUAL.items() if k in cls.needed()}
    return named_algorithm(Selector(selector.name, needed | dict(given), selector.texts))


def _named_estimator(selector: Selector) -> Any:
    cls = ESTIMATORS[selector.name]
    check_known(selector.name, selector.parameters, inspect.signature(cls).parameters)
    return estimators.usual(cls, **selector.parameters)


def _named_set(selector: Selector) -> Any:
    """Return a set of ours for points of a small shape; an example where it needs a graph."""
    entry = SETS[selector.name]
    if entry.needs:
        if selector.parameters:
            raise InputError(
                f"the set {selector.name} is built in Python only, as it needs {entry.needs}: "
                "leave its parameters out to check an example, or check your own MODULE:NAME."
            )
        return EXAMPLES[selector.name]()
    return feasible_set(selector.name, SHAPES[entry.points], **_usually(entry, selector))


def _named_penalty(selector: Selector) -> Any:
    entry = PENALTIES[selector.name]
    return penalty(selector.name, SHAPES[entry.points], **_usually(entry, selector))


def _usually(entry: Any, selector: Selector) -> dict[str, Any]:
    """Return the parameters of a set or penalty, usual ones where it needs some and has none."""
    needed = {name for name, one in entry.parameters().items() if one.needed}
    usual = {"k": 2, "groups": 2}
    return {name: usual[name] for name in usual if name in needed} | dict(selector.parameters)


# --- somebody's own -------------------------------------------------------------------------------


def kind_of(found: Any, name: str) -> str:
    """Return which kind an object is, by what it answers.

    Raises
    ------
    InputError
        If it is none.
    """
    if isinstance(found, FiniteSum):
        return "problem"
    if isinstance(found, AlgorithmChoice):
        return "algorithm"
    answers = {kind: of.answers for kind, of in _OF_KINDS.items() if of.answers}
    for kind, parts in answers.items():
        if all(callable(getattr(found, part, None)) for part in parts):
            return kind
    told = "; ".join(f"{kind}: {', '.join(parts)}" for kind, parts in answers.items())
    raise InputError(
        f"{name} is nothing that can be checked: a problem derives from "
        f"pfbench.problems.FiniteSum, and the others have methods ({told})."
    )


_USUAL_OF_OWN: Mapping[str, Any] = MappingProxyType(
    {"d": 6, "radius": 1.5, "size": (4, 3), "shape": (6,), "weight": 0.7}
)
"""What a needed parameter of somebody's own set or penalty is set to."""


def _made(found: Any, selector: Selector) -> Any:
    """Return what a class or a function makes; a class of a method without parameters as it is."""
    method = inspect.isclass(found) and callable(getattr(found, "run", None))
    if method and not selector.parameters:
        return found
    usual = {**_USUAL_OF_OWN, **estimators.USUAL, **(USUAL if method else {})}
    return made_of(found, selector, usual, ", or name a function that makes it")


_OF_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "algorithm": _Kind(ALGORITHMS, _named_algorithm, _algorithm, ("run",)),
        "problem": _Kind(PROBLEMS, named_problem, _problem),
        "set": _Kind(SETS, _named_set, _set, ("lo", "contains")),
        "penalty": _Kind(PENALTIES, _named_penalty, _penalty, ("value", "prox")),
        "estimator": _Kind(
            ESTIMATORS, _named_estimator, estimators.check_estimator, answers=("start",)
        ),
    }
)
"""The kinds, in the order in which a name of several is understood."""
