"""Adapters from plain functions to methods: generators of states, and solvers with callbacks."""

import copyreg
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from dataclasses import field, make_dataclass
from functools import cache
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import BudgetExhausted, InputError, TimeLimitReached
from pfbench.base.protocols import OracleProtocol
from pfbench.base.state import Point, State

_GENERATOR = ("ask", "x", "rng")

_ROLES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("f", "fun", "value", "objective"), "value"),
        **dict.fromkeys(("grad", "gradient", "jac"), "gradient"),
        **dict.fromkeys(("batch_grad", "batch_gradient"), "batch"),
        **dict.fromkeys(("lmo", "lo"), "lo"),
        **dict.fromkeys(("project", "projection"), "prox"),
        **{"x0": "x0", "rng": "rng", "n": "n", "callback": "callback"},
    }
)
"""Role of a solver's argument, by the names that the argument may have."""

_QUERIES = frozenset({"value", "gradient", "batch", "lo", "prox"})

_NO_CALLBACK = (
    "; if a point whose gradient it queries is no iterate, add an argument `callback`, and call it "
    "with each iterate"
)


class _FunctionMethodType(type):
    """Metaclass of the algorithm classes made from functions; pickle stores the function."""


class FunctionMethod(metaclass=_FunctionMethodType):
    """Base class of methods made from plain functions; `method_class` derives the subclasses."""

    name: ClassVar[str]
    summary: ClassVar[str]
    requires: ClassVar[frozenset[str]]
    function: ClassVar[Callable[..., Any]]
    names: ClassVar[Mapping[str, str]]
    arguments: ClassVar[Mapping[str, str]]
    user_functions: ClassVar[Mapping[str, Callable[..., Any]]]
    is_truncated: ClassVar[bool]
    iterates_note: ClassVar[str]
    source: ClassVar[str] = "user-defined"
    counts: ClassVar[str] = "as counted"
    output: ClassVar[str] = "last"
    deterministic: ClassVar[bool] = False

    def run(self, ask: Any, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Yield a state after each update, starting at x; stop after `iterations` if it is set."""
        fields: Any = self.__dataclass_fields__  # type: ignore[attr-defined]
        hyper = {name: getattr(self, name) for name in fields}
        iterations = hyper.pop("iterations") if self.is_truncated else None
        hyper = {self.names.get(name, name): value for name, value in hyper.items()}
        if not self.arguments:
            return islice(type(self).function(ask, x, rng, **hyper), iterations)
        return islice(self._iterate_solver(ask, x, rng, hyper), iterations)

    def _iterate_solver(self, ask: Any, x: Any, rng: Any, hyper: Any) -> Iterator[State]:
        """Yield a state for each iterate of a solver that is a plain function.

        An iterate is a point that the solver passes to `callback`, yields, or queries.
        """
        if not isinstance(x, np.ndarray):
            raise InputError(f"{self.name} needs points that are arrays: choose another problem.")
        function, roles = type(self).function, set(self.arguments.values())
        yields = inspect.isgeneratorfunction(function)
        last, ended = [x.copy()], list[BaseException]()

        def work(hand_over: Callable[[State], None]) -> None:
            def tell(z: Any) -> None:
                point = np.array(z, dtype=np.float64).reshape(x.shape)
                if not np.array_equal(point, last[0]) or "callback" in roles or yields:
                    last[0] = point
                    hand_over(State(point.copy()))

            def query(verb: str, *value: Any) -> Any:
                arrays = [np.array(z, dtype=np.float64).reshape(x.shape) for z in value[-1:]]
                if verb in ("gradient", "batch") and not (yields or "callback" in roles):
                    tell(arrays[0])
                extra = (np.zeros_like(x), 1.0) if verb == "prox" else ()
                try:
                    return getattr(ask, verb)(*value[:-1], *arrays, *extra)
                except (BudgetExhausted, TimeLimitReached) as error:
                    ended.append(error)  # a solver may swallow it
                    raise

            offered = {"x0": x.copy(), "rng": rng, "callback": tell, "n": getattr(ask, "n", None)}
            for verb in roles & _QUERIES:
                offered[verb] = lambda *value, verb=verb: query(verb, *value)
            arguments = {name: offered[role] for name, role in self.arguments.items()}
            result = function(**arguments, **hyper)
            if yields:
                for point in result:
                    tell(point)
            elif result is not None and not ended:
                try:
                    point = _get_returned_point(result, x)
                except (TypeError, ValueError):
                    raise InputError(
                        f"{self.name} returns an object of type {type(result).__name__}: return an "
                        f"array of shape {x.shape}, a tuple that starts with it, or an object or "
                        "dict with such an x."
                    ) from None
                if not np.array_equal(point, last[0]):
                    tell(point)
            if ended:
                raise ended[0]

        return iterate_callback(work)


def _get_returned_point(result: Any, x: Floats) -> Floats:
    """Return the point that a solver's result contains; the last one of a list of iterates."""
    content = result.get("x") if isinstance(result, Mapping) else getattr(result, "x", result)
    if isinstance(content, tuple) and np.ndim(content[0]) >= x.ndim:
        content = content[0]
    point = np.array(content, dtype=np.float64)
    return (point[-1] if point.ndim == x.ndim + 1 else point).reshape(x.shape)


def can_be_algorithm(function: Any) -> bool:
    """Return whether a function can be a method: it takes (ask, x, rng), or a gradient and x0."""
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        return False
    is_generator = tuple(inspect.signature(function).parameters)[:3] == _GENERATOR
    return is_generator or bool(_solver_argument_roles(function, getattr(function, "names", {})))


def _solver_argument_roles(function: Any, names: Mapping[str, str]) -> dict[str, str]:
    """Return the role of each argument of a solver; {} if the function is not a solver."""
    mapped = {reference: _ROLES[name] for name, reference in names.items() if name in _ROLES}
    roles = {**_ROLES, **mapped}
    results = {p: roles[p] for p in inspect.signature(function).parameters if p in roles}
    is_solver = "x0" in results.values() and {"gradient", "batch"} & {*results.values()}
    return results if is_solver else {}


@cache
def _make_method_class(
    function: Any, names: tuple[tuple[str, str], ...], requires: frozenset[str]
) -> type[FunctionMethod]:
    mapped = dict(names)
    back = {reference: computed for computed, reference in names}
    arguments = _solver_argument_roles(function, mapped)
    signature = inspect.signature(function).parameters
    unknown = [reference for reference in back if reference not in signature]
    if unknown:
        raise InputError(
            f"`names` maps {unknown[0]}, but {function.__name__} has no such parameter: map one of "
            f"{', '.join(signature)}."
        )
    selected = arguments or dict.fromkeys([*signature][:3])
    fields: list[tuple[str, Any, Any]] = [
        (back.get(p.name, p.name), p.annotation, _declare_field(p.default))
        for p in signature.values()
        if p.name not in selected and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    is_truncated = "iterations" not in [name for name, *_ in fields]
    if is_truncated:
        fields.append(("iterations", int | None, field(default=None)))
    values = {
        name: getattr(function, name)
        for name in ("deterministic", "output", "source")
        if hasattr(function, name)
    }
    tells = "callback" in arguments.values() or inspect.isgeneratorfunction(function)
    lines = (inspect.getdoc(function) or "a plain function").splitlines()
    return make_dataclass(
        function.__name__,
        fields,
        bases=(FunctionMethod,),
        frozen=True,
        kw_only=True,
        namespace={
            **values,
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,
            "__doc__": inspect.getdoc(function),
            "name": function.__name__,
            "summary": lines[0],
            "requires": requires,
            "function": staticmethod(function),
            "user_functions": MappingProxyType({"run": function}),
            "names": MappingProxyType(mapped),
            "arguments": MappingProxyType(arguments),
            "is_truncated": is_truncated,
            "iterates_note": _NO_CALLBACK if arguments and not tells else "",
        },
    )


def _declare_field(default: Any) -> Any:
    """Return the field of a parameter with a default, which runs share even if it is mutable."""
    if default is inspect.Parameter.empty:
        return field()
    return field(default=default) if default.__hash__ else field(default_factory=lambda: default)


def method_class(
    function: Callable[..., Any],
    names: Mapping[str, str] | None = None,
    requires: frozenset[str] | None = None,
) -> type[FunctionMethod]:
    """Return a method class made from a function; its fields are the function's parameters.

    A function ``mine(ask, x, rng, **parameters)`` yields states. A solver takes some of ``f``,
    ``grad``, ``batch_grad``, ``lmo``, ``project``, ``x0``, ``rng``, ``n``, ``callback``. Its
    iterates are the points that it passes to `callback` or yields. Without either, they are the
    points at which it queries a gradient, and the point that it returns, perhaps in a tuple, dict
    or object. Both kinds get a parameter `iterations` that ends the run, unless the
    function has one. The function's attributes
    ``requires``, ``deterministic``, ``output`` and ``names`` become those of the method.

    Parameters
    ----------
    function
        The function.
    names
        The function's name for each parameter whose name in pfbench is another, as in ``{"step":
        "learning_rate"}``.
    requires
        The oracles that the function queries; by default those that its code names.

    Raises
    ------
    InputError
        If the function lacks a parameter that `names` maps.
    """
    value = names if names is not None else getattr(function, "names", {})
    if requires is None:
        roles = {*_solver_argument_roles(function, value).values()}
        request = roles & _QUERIES or _list_oracle_names(function)
        requires = frozenset(getattr(function, "requires", request))
    return _make_method_class(function, tuple(sorted(value.items())), requires)


def _list_oracle_names(function: Any) -> frozenset[str]:
    """Return the names of the oracles that occur in a function and in its helpers.

    Helpers are functions inside, and the functions of the same module that the code names.
    """
    codes, module = [function.__code__], function.__globals__
    for code in codes:  # which grows
        named = [module[name] for name in code.co_names if inspect.isfunction(module.get(name))]
        helpers = [helper.__code__ for helper in named if helper.__globals__ is module]
        inner = [constant for constant in code.co_consts if inspect.iscode(constant)]
        codes += [item for item in (*helpers, *inner) if item not in codes]
    names = {name for code in codes for name in code.co_names}
    return frozenset(name for name in names & vars(OracleProtocol).keys() if name[0] != "_")


def _reduce(cls: Any) -> Any:
    return method_class, (cls.function, dict(cls.names), cls.requires)


copyreg.pickle(_FunctionMethodType, _reduce)


Item = TypeVar("Item")

_PATIENCE = 5.0
"""Seconds that a function has to end after the generator is closed."""


class ConsumerClosed(BaseException):
    """Exception raised by a callback to stop the function that calls it, as no item is needed."""


class _CallbackChannel(Generic[Item]):
    """Channel by which a function in a thread passes items to a generator."""

    def __init__(self, work: Callable[[Callable[[Item], None]], object]) -> None:
        self.work = work
        self.go_on: SimpleQueue[bool] = SimpleQueue()
        self.came: SimpleQueue[tuple[Item] | BaseException | None] = SimpleQueue()

    def hand_over(self, item: Item) -> None:
        """Pass an item to the generator, and wait until the next item is requested."""
        self.came.put((item,))
        if not self.go_on.get():
            raise ConsumerClosed

    def run_and_pass_exception(self) -> None:
        """Run the function until it returns or raises; pass the exception to the generator."""
        ended: BaseException | None = None
        try:
            self.work(self.hand_over)
        except BaseException as error:  # it is raised again where the generator is asked
            ended = error
        self.came.put(ended)


def iterate_callback(work: Callable[[Callable[[Item], None]], object]) -> Iterator[Item]:
    """Yield the items that a function passes to its callback.

    The function runs in its own thread, but never at the same time as the consumer of the items. So
    both behave as in a single thread, in a reproducible order. An exception of the function is
    raised where the consumer requests the next item. If the generator is closed, the next callback
    raises `ConsumerClosed`.
    """
    exchange = _CallbackChannel(work)
    # Settings such as numpy's errstate belong to the context.
    thread = Thread(target=copy_context().run, args=(exchange.run_and_pass_exception,), daemon=True)
    thread.start()
    try:
        while came := exchange.came.get():
            if isinstance(came, BaseException):
                raise came
            yield came[0]
            exchange.go_on.put(True)
    finally:
        exchange.go_on.put(False)
        thread.join(_PATIENCE)
