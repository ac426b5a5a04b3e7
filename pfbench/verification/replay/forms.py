"""Parameter combinations of the built-in methods that reach different branches of their code."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType
from typing import Any

from pfbench.base.errors import InputError

Parameters = Mapping[str, Any]

NEEDED: Parameters = MappingProxyType(
    {
        "iterations": 40,
        "batch": 3,
        "period": 4,
        "step": 0.1,
        "smoothness": 4.0,
        "curvature": 2.0,
        "delta": 0.5,
        "tolerance": 0.02,
        "refresh": 0.4,
        "alpha": 0.3,
        "beta": 0.7,
        "gamma": 0.6,
        "floor": 2.0,
        "table_weight": 0.3,
        "delay": 5,
        "sigma": 0.5,
        "snapshot": 6,
        "subepochs": 2,
        "diameter": 2.0,
        "lam": 0.2,
        "offset": 4.0,
    }
)
"""Values of required parameters."""

OPTIONAL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "restarts": (2, 8),
        "probability": (0.2,),
        "snapshot": (5,),
        "tolerance": (0.01,),
        "option": (1, 2),
        "lam": (0.05,),
        "momentum": ("convex",),
        "alpha": (0.3,),
        "smoothness": (0.4,),
        "step": (0.2,),
        "sampling": ("importance",),
        "table": ("zero",),
        "begin": ("zero",),
        "decay": (0.7,),
        "lazy": (True,),
        "batch": (2,),
    }
)
"""Values of optional parameters, each of which gives a separate form."""

_SEARCHES: tuple[Parameters, ...] = (
    {"step": "open-loop"},
    {"step": "open-loop", "offset": 4.0},
    {"step": "log-adaptive"},
    {"step": "adaptive", "curvature": 12.0},
    {"step": "adaptive", "curvature": 1.5},
    {"step": "short", "smoothness": 1.5},
    {"step": "short", "smoothness": 12.0},
    {"step": "line-search"},
    {"step": "line-search", "curvature": 6.0},
    {"step": "backtracking"},
    {"step": "backtracking", "smoothness": 0.05},
    {"step": "backtracking", "smoothness": 50.0},
    {"step": "primal-dual", "smoothness": 1.5},
    {"step": "primal-dual", "smoothness": 12.0},
)

_OF_METHODS: Mapping[str, tuple[Parameters, ...]] = MappingProxyType(
    {
        "frank-wolfe": _SEARCHES,
        "spider": ({"option": 1, "tolerance": 0.3},),
        "bpfw": ({"lazy": True, "smoothness": 1.0},),
        "scg": ({"alpha": 0.3, "begin": "zero"},),
        "uscg": ({"alpha": 0.3, "begin": "zero"}, {"alpha": 0.3, "decay": 0.7}),
    }
)
"""Additional forms of a method; all forms of a method with several kinds of steps."""

_TOGETHER: Mapping[str, Parameters] = MappingProxyType({"restarts": {"output": "last"}})
"""Further parameters that are set together with a parameter, as it acts only with them."""


@dataclass(frozen=True)
class MethodForm:
    """One combination of parameters with which a method is tested.

    Attributes
    ----------
    parameters
        All set parameters, including the required ones.
    """

    parameters: Parameters

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.parameters.items())


def list_method_forms(kind: Any) -> list[MethodForm]:
    """Return the tested parameter combinations of a built-in method."""
    needed = {
        f.name: NEEDED[f.name] for f in fields(kind) if f.default is MISSING and f.name in NEEDED
    }
    if "iterations" in {f.name for f in fields(kind)}:
        needed["iterations"] = NEEDED["iterations"]
    if "restarts" in needed or kind.name in ("cgs", "storc"):
        needed |= {"restarts": 4, "period": 10}
    forms = dict[str, MethodForm]()
    for options in _iterate_options(kind):
        parameters = {**needed, **options}
        try:
            kind(**parameters)
        except InputError:
            continue
        forms.setdefault(repr(sorted(parameters.items())), MethodForm(parameters))
    return list(forms.values())


def _iterate_options(kind: Any) -> Iterator[Parameters]:
    """Yield the optional parameters of each tested combination, as a dict by name."""
    own = _OF_METHODS.get(kind.name, ())
    if own is _SEARCHES:
        yield from own
        return
    yield {}
    for f in fields(kind):
        if f.name not in OPTIONAL or f.name == "iterations":
            continue
        if f.default is MISSING:
            continue
        if f.name == "step" and isinstance(f.default, str):
            yield {"step": "line-search"}
            continue
        for value in OPTIONAL[f.name]:
            if value != f.default:
                yield {f.name: value}
                if f.name in _TOGETHER:
                    yield {f.name: value, **_TOGETHER[f.name]}
    yield from own
