"""The problems by name, with their parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from pfbench.base.checks import text
from pfbench.base.errors import InputError
from pfbench.base.names import named
from pfbench.base.parameters import Parameter, check_known, check_texts, declared, joined, texts_of
from pfbench.base.selectors import OWN_PARTS, Selector
from pfbench.problems import families, norm_families
from pfbench.problems.base import FiniteSum
from pfbench.problems.family import Family, OverAnySet
from pfbench.sets.catalogue import PENALTIES, SETS, penalty_class, set_class

_TOO_LARGE = ("Maximum allowed dimension", "array is too big")
"""How numpy says that an array would have more entries than it can number."""

_FEW = 3
"""Up to so many sets are named beside a parameter that they alone have."""


@dataclass(frozen=True)
class Entry:
    """A family of problems as `list`, `info` and selectors see it."""

    family: type[Family]

    @property
    def name(self) -> str:
        """As a selector writes it."""
        return self.family.problem.name

    @property
    def summary(self) -> str:
        """A line about it."""
        return self.family.summary

    @property
    def source(self) -> str:
        """Where the problem is from."""
        return self.family.problem.source

    @property
    def sources(self) -> tuple[str, ...]:
        """Where its data may come from."""
        return tuple(self.family.sources)

    @property
    def own_set(self) -> str:
        """Its feasible set, where there is only one; else empty."""
        return "" if self.family.points else self.family.own_set

    def takes(self, kind: str, points: str) -> bool:
        """Return whether it takes any set, or any penalty, of such points."""
        return kind in declared(self.family) and points.endswith((self.family.points, "arrays"))

    def of_sets(self) -> dict[str, Parameter]:
        """Return the parameters of the sets and penalties that it takes, by name."""
        return dict(_of_sets(self))

    def parameters(self) -> dict[str, Parameter]:
        """Return its parameters: its own, those of the sets that it takes, and of its sources."""
        of_sources = joined({name: declared(cls) for name, cls in self.family.sources.items()})
        return {**declared(self.family), **self.of_sets(), **of_sources}

    def known(self, given: Mapping[str, Any]) -> dict[str, Parameter]:
        """Return its parameters, with those of somebody's own set or penalty that are given."""
        return {**_of_own(given), **self.parameters()}

    def build(self, given: Mapping[str, Any]) -> FiniteSum:
        """Build the problem from its parameters; those that it does not have are refused."""
        known = self.known({part: text for part, text in given.items() if isinstance(text, str)})
        check_known(self.name, given, known)
        for part in OWN_PARTS & given.keys():
            if given[part] is not None:
                text(part, given[part], "l1")
        check_texts(given, known)
        of_sets = {**_of_own(given), **self.of_sets()}
        own = {name: given[name] for name in given if name in declared(self.family)}
        of_set = {name: given[name] for name in given if name in of_sets}
        rest = {name: given[name] for name in given if name not in own and name not in of_set}
        make: Callable[..., Family] = self.family
        if issubclass(self.family, OverAnySet):
            own["of_set"] = of_set
        return make(**own, rest=rest).build()


@cache
def _of_sets(entry: Entry) -> Mapping[str, Parameter]:
    """Return the parameters of the sets and penalties that it takes, by name; once in a process."""
    kinds = (("set", SETS), ("penalty", PENALTIES))
    known: dict[str, dict[str, Parameter]] = {}
    for kind, entries in kinds:
        for body in entries.values():
            if entry.takes(kind, body.points) and not body.needs:
                for name, one in body.parameters().items():
                    known.setdefault(name, {})[f"{kind}={body.name}"] = one
    found = {}
    for name, by in known.items():
        abouts: dict[str, list[str]] = {}
        for choice, one in by.items():
            abouts.setdefault(one.about, []).append(choice)
        few = len(by) <= _FEW
        about = "; ".join(
            f"{text} ({', '.join(who)})" if few else text for text, who in abouts.items()
        )
        found[name] = Parameter(about, next(iter(by.values())).default or "needed")
    if "radius" in found:
        own, radius = entry.family.own_set, entry.family.own_radius
        found["radius"] = Parameter(found["radius"].about, f"{radius:g} for {own}, else 1")
    return found


def _of_own(given: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of somebody's own set and penalty, which are imported."""
    kinds = (("set", set_class), ("penalty", penalty_class))
    named = ((of, str(given[kind])) for kind, of in kinds if ":" in str(given.get(kind)))
    return {key: one for of, name in named for key, one in of(name).parameters().items()}


PROBLEMS: Mapping[str, Entry] = MappingProxyType(
    {
        family.problem.name: Entry(family)
        for family in (
            families.RecoveryFamily,
            families.LogisticFamily,
            families.MultitaskFamily,
            families.MulticlassFamily,
            families.RobustRegressionFamily,
            families.LogCoshFamily,
            families.LeastSquaresFamily,
            families.MatrixRegressionFamily,
            families.SimplexNormFamily,
            families.ZeroChainFamily,
            families.FiniteSumChainFamily,
            norm_families.SeparableFamily,
            norm_families.MatrixLeastSquaresFamily,
            norm_families.TwoLayerFamily,
        )
    }
)
"""Every problem by its name."""


def named_problem(selector: Selector) -> FiniteSum:
    """Build the problem of a selector; its texts stay texts. See `problem`."""
    texts = texts_of(named("problem", selector.name, PROBLEMS).known(selector.parameters))
    return _built(selector.name, selector.given(texts))


def problem(name: str, **parameters: Any) -> FiniteSum:
    """Build a problem by name; see ``pfbench info NAME`` for its parameters.

    Parameters
    ----------
    name
        As in ``"quadratic"``, or with parameters, as in ``"quadratic[rows=20]"``.
    parameters
        By their names; ``set`` may be a set of `pfbench.sets`, too, as in ``set=L2Ball(5)``.

    Raises
    ------
    InputError
        If the name or a parameter is unknown or out of range.
    DataError
        If the data are missing or damaged.
    """
    if isinstance(name, str) and "[" in name:
        return named_problem(Selector.parse(name).joined(parameters))
    return _built(name, parameters)


def _built(name: str, given: Mapping[str, Any]) -> FiniteSum:
    entry = named("problem", name, PROBLEMS)
    parameters = _with_name_of_set(given)
    try:
        found = entry.build(parameters).called(name, parameters)
        if parameters is not given and found.shape != given["set"].shape:
            raise InputError(
                f"set has points of shape {given['set'].shape}, and {name} of {found.shape}."
            )
        return found
    except (MemoryError, OverflowError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error).startswith(_TOO_LARGE):
            raise
        raise InputError(
            f"{Selector(name, parameters)} is too large to be built ({error}): choose smaller "
            "numbers."
        ) from error


def _with_name_of_set(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return parameters with the name and the parameters of a set in place of the object."""
    found = parameters.get("set")
    kind = SETS.get(getattr(found, "name", ""))
    if found is None or kind is None or type(found) is not kind or kind.needs:
        return parameters
    own = {name: getattr(found, name) for name in kind.parameters()}
    return {**own, **parameters, "set": kind.name}
