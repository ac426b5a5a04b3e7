"""The feasible sets and the penalties by name, and how a selector's parameters build one.

A set of vectors is built for points of shape (d,), a set of matrices for (M, N). Sets that need a
graph or a function are built in Python only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.base.protocols import FeasibleSet
from pfbench.sets.balls import L1Ball, L2Ball, LinfBall
from pfbench.sets.birkhoff import Birkhoff
from pfbench.sets.box import Box, KSparse
from pfbench.sets.flow import UnitFlow
from pfbench.sets.groups import GroupLasso
from pfbench.sets.matroid import MatroidBase, SpanningTree, UniformMatroid
from pfbench.sets.nuclear import NuclearBall
from pfbench.sets.penalties import GroupPenalty, L1Penalty, NuclearPenalty, Penalty
from pfbench.sets.simplex import Simplex
from pfbench.sets.spectrahedron import Spectrahedron
from pfbench.sets.submodular import Permutahedron, SubmodularBase

Shape = tuple[int, ...]


class AnySet(FeasibleSet, Protocol):
    """A feasible set that knows the shape of its points, as every one of the catalogue does."""

    @property
    def shape(self) -> Shape:
        """Shape of a point."""


@dataclass(frozen=True)
class Entry:
    """A set or a penalty of the catalogue.

    Attributes
    ----------
    cls
        Its class.
    summary
        A line about it.
    points
        What its points are: vectors, matrices, square matrices or arrays.
    parameters
        The selector's parameters, each with a line; those without a default come first.
    build
        Makes it from the shape of a point and these parameters; None if only Python can.
    needs
        What it needs from Python, with the call that makes it.
    required
        The parameters without a default.
    """

    cls: type[Any]
    summary: str
    points: str
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    build: Callable[..., Any] | None = None
    needs: str = ""
    required: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As a selector writes it."""
        return str(self.cls.name)

    @property
    def source(self) -> str:
        """Where its linear minimisation or proximal map is from."""
        return str(self.cls.source)

    def takes(self, shape: Shape) -> bool:
        """Return whether it can be built for points of a shape."""
        matrix = len(shape) == 2
        fits = {
            "arrays": True,
            "vectors": len(shape) == 1,
            "matrices": matrix,
            "square matrices": matrix and shape[0] == shape[-1],
        }
        return self.build is not None and fits[self.points]


_RADIUS = {"radius": "its size, positive (1)"}
_GROUPS = {"groups": "length of consecutive groups of entries"}
_WEIGHT = {"weight": "factor of the norm, at least 0 (1)"}


def _uniform_bases(shape: Shape, k: int) -> MatroidBase:
    return MatroidBase(UniformMatroid(shape[0], k))


SET_ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Entry(
                NuclearBall,
                "matrices whose singular values sum to at most radius",
                "matrices",
                _RADIUS,
                lambda shape, radius=1.0: NuclearBall(shape, radius),
            ),
            Entry(
                Spectrahedron,
                "positive semidefinite matrices of trace radius",
                "square matrices",
                _RADIUS,
                lambda shape, radius=1.0: Spectrahedron(shape[0], radius),
            ),
            *(
                Entry(
                    cls,
                    summary,
                    "vectors",
                    _RADIUS,
                    lambda shape, radius=1.0, cls=cls: cls(shape[0], radius),
                )
                for cls, summary in (
                    (L1Ball, "vectors whose moduli sum to at most radius"),
                    (L2Ball, "vectors of Euclidean norm at most radius"),
                    (LinfBall, "vectors with every modulus at most radius"),
                    (Simplex, "nonnegative vectors that sum to radius"),
                )
            ),
            Entry(
                Box,
                "vectors between a lower and an upper bound",
                "vectors",
                {
                    "lower": "least value of every entry (-1)",
                    "upper": "largest value of every entry (1)",
                },
                lambda shape, lower=-1.0, upper=1.0: Box(shape[0], lower, upper),
            ),
            Entry(
                KSparse,
                "convex hull of the vectors with k entries +-radius and 0 elsewhere",
                "vectors",
                {"k": "number of nonzero entries of a vertex", **_RADIUS},
                lambda shape, k, radius=1.0: KSparse(shape[0], radius, k=k),
                required=("k",),
            ),
            Entry(
                GroupLasso,
                "vectors whose groups' Euclidean norms sum to at most radius",
                "vectors",
                {**_GROUPS, **_RADIUS},
                lambda shape, groups, radius=1.0: GroupLasso(shape[0], radius, groups=groups),
                required=("groups",),
            ),
            Entry(
                Birkhoff,
                "doubly stochastic matrices: convex hull of the permutation matrices",
                "square matrices",
                build=lambda shape: Birkhoff(shape[0]),
            ),
            Entry(
                UnitFlow,
                "unit flows through a directed acyclic graph: convex hull of its paths",
                "vectors",
                needs="a graph: UnitFlow(edges, origin, destination)",
            ),
            Entry(
                SpanningTree,
                "convex hull of the spanning trees of a connected graph",
                "vectors",
                needs="a graph: SpanningTree(edges)",
            ),
            Entry(
                MatroidBase,
                "convex hull of the bases of a matroid (here: of all sets of k entries)",
                "vectors",
                {"k": "rank of the uniform matroid; MatroidBase(matroid) takes any other"},
                _uniform_bases,
                required=("k",),
            ),
            Entry(
                SubmodularBase,
                "base polytope of a submodular function",
                "vectors",
                needs="a function: SubmodularBase(d, function)",
            ),
            Entry(
                Permutahedron,
                "radius times the convex hull of the permutations of (1, ..., d)",
                "vectors",
                _RADIUS,
                lambda shape, radius=1.0: Permutahedron.standard(shape[0], radius),
            ),
        )
    }
)
"""Every feasible set with what a selector needs to know of it."""

SETS: Mapping[str, type[Any]] = MappingProxyType(
    {name: entry.cls for name, entry in SET_ENTRIES.items()}
)
"""Every feasible set's class by name."""

PENALTY_ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Entry(
                L1Penalty,
                "weight times the sum of moduli",
                "arrays",
                _WEIGHT,
                lambda shape, weight=1.0: L1Penalty(weight),
            ),
            Entry(
                NuclearPenalty,
                "weight times the sum of singular values",
                "matrices",
                _WEIGHT,
                lambda shape, weight=1.0: NuclearPenalty(weight),
            ),
            Entry(
                GroupPenalty,
                "weight times the sum of the groups' Euclidean norms",
                "vectors",
                {**_GROUPS, **_WEIGHT},
                lambda shape, groups, weight=1.0: GroupPenalty(weight, d=shape[0], groups=groups),
                required=("groups",),
            ),
        )
    }
)
"""Every penalty with what a selector needs to know of it."""

PENALTIES: Mapping[str, type[Penalty]] = MappingProxyType(
    {name: entry.cls for name, entry in PENALTY_ENTRIES.items()}
)
"""Every penalty's class by name."""


def feasible_set(name: str, shape: Shape, **parameters: Any) -> AnySet:
    """Build a set by name for points of a shape.

    Parameters
    ----------
    name
        One of `SETS`.
    shape
        Of a point: (d,) or (M, N).
    parameters
        As `SET_ENTRIES` lists them for this set.

    Raises
    ------
    InputError
        If the name or a parameter is unknown, missing or out of range, if the points have another
        shape, or if the set needs a graph or a function.
    """
    built: AnySet = _built("set", SET_ENTRIES, name, shape, parameters)
    return built


def penalty(name: str, shape: Shape, **parameters: Any) -> Penalty:
    """Build a penalty by name for points of a shape; see `feasible_set`."""
    built: Penalty = _built("penalty", PENALTY_ENTRIES, name, shape, parameters)
    return built


def _built(
    kind: str, entries: Mapping[str, Entry], name: str, shape: Shape, parameters: dict[str, Any]
) -> Any:
    if name not in entries:
        raise unknown(kind, name, entries)
    entry = entries[name]
    if entry.build is None:
        raise InputError(f"the {kind} {name} is built in Python only, as it needs {entry.needs}.")
    if not entry.takes(shape):
        fitting = ", ".join(other for other in entries if entries[other].takes(shape))
        raise InputError(
            f"the {kind} {name} is for {entry.points}, and these points have shape {shape}: choose "
            f"one of {fitting}."
        )
    for parameter in parameters:
        if parameter not in entry.parameters:
            raise unknown(f"parameter of the {kind} {name}", parameter, entry.parameters)
    for parameter in entry.required:
        if parameter not in parameters:
            raise InputError(
                f"the {kind} {name} needs {parameter}, the {entry.parameters[parameter]}."
            )
    return entry.build(shape, **parameters)
