"""The problems by name, with their parameters."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pfbench.base.checks import choice
from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.base.protocols import Problem
from pfbench.base.selectors import Selector
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.loading import load_classification
from pfbench.problems.logistic import NonconvexLogistic
from pfbench.problems.matrix_recovery import Observations, RobustMatrixRecovery
from pfbench.problems.observations import digits, movielens, synthetic
from pfbench.sets import L1Ball, L2Ball, LinfBall, Simplex, VectorSet

ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "source": "where the data come from",
        "seed": "seed of the problem's data",
        "rows": "M, rows of the matrix",
        "columns": "N, columns of the matrix",
        "rank": "rank of the underlying matrix",
        "noise": "outliers are changed by uniform noise in [-noise, noise]",
        "outliers": "share of all entries that are changed by noise",
        "density": "share of all entries that are observed",
        "heldout": "share of the entries or ratings that is held out",
        "edition": "latest-small, 100k, 1m, 10m, 25m, or the path of a ratings file",
        "radius": "radius of the feasible set",
        "sigma": "scale of the loss 1 - exp(-z^2/(2 sigma))",
        "scaling": "mean: f = (1/n) sum; sum: f = sum, as shen2019 (4) is printed",
        "tolerance": "relative residual at which a run's linear minimisation stops",
        "set": "feasible set",
        "alpha": "weight of the non-convex regulariser",
    }
)
"""What each parameter of a problem means; a parameter has one name everywhere."""

SETS: Mapping[str, type[VectorSet]] = MappingProxyType(
    {cls.name: cls for cls in (L1Ball, L2Ball, LinfBall, Simplex)}
)
"""The sets of vectors by name."""

_SOURCES: Mapping[str, Callable[..., Observations]] = MappingProxyType(
    {
        "synthetic": synthetic,
        "digits": digits,
        "movielens": movielens,
    }
)

_BINARY = tuple(name for name, record in DATA_SETS.items() if record.task == "binary")


def robust_matrix_recovery(
    *,
    source: str = "synthetic",
    radius: float | None = None,
    sigma: float | None = None,
    scaling: str = "mean",
    tolerance: float = 1e-4,
    **data: Any,
) -> RobustMatrixRecovery:
    """Build robust matrix recovery on a source.

    radius and sigma default to the paper's 100 and 1 for synthetic data; for real data to
    3 |Y|_F of the centred observed entries Y and to twice their variance.
    """
    choice("source", source, _SOURCES)
    known = inspect.signature(_SOURCES[source]).parameters
    for name in data:
        if name not in known:
            raise unknown(f"parameter of the source {source}", name, known)
    observed = _SOURCES[source](**data)
    if source == "synthetic":
        default_radius, default_sigma = 100.0, 1.0
    else:
        square = float(observed.values @ observed.values)
        default_radius, default_sigma = 3.0 * math.sqrt(square), 2.0 * square / observed.values.size
    return RobustMatrixRecovery(
        observed,
        radius=default_radius if radius is None else radius,
        sigma=default_sigma if sigma is None else sigma,
        scaling=scaling,
        tolerance=tolerance,
    )


def nonconvex_logistic(
    *, source: str = "breast-cancer", set: str = "l1", radius: float = 10.0, alpha: float = 0.1
) -> NonconvexLogistic:
    """Build logistic regression with the non-convex regulariser on a binary data set."""
    choice("set", set, SETS)
    data = load_classification(choice("source", source, _BINARY))
    feasible = SETS[set](data.features.shape[1], radius)
    return NonconvexLogistic(data.features, data.labels, feasible, alpha)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a family of problems.

    Attributes
    ----------
    about
        A line about it.
    default
        Its default in words, one for each source where they differ.
    sources
        The sources that know it; empty if all do.
    """

    about: str
    default: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """A kind of problem: what builds it, from which sources, and defaults that are not constant."""

    name: str
    summary: str
    source: str
    sources: tuple[str, ...]
    build: Callable[..., Any]
    makers: Mapping[str, Callable[..., Any]] = field(default_factory=lambda: MappingProxyType({}))
    computed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters by name: those of every source, then those of single ones."""
        found = {
            name: Parameter(ABOUT[name], self.computed.get(name, str(default)))
            for name, default in _keywords(self.build).items()
        }
        own: dict[str, dict[str, str]] = {}
        for source, maker in self.makers.items():
            for name, default in _keywords(maker).items():
                own.setdefault(name, {})[source] = str(default)
        for name, defaults in own.items():
            words = [f"{default} ({source})" for source, default in defaults.items()]
            alike = len(set(defaults.values())) == 1
            default = next(iter(defaults.values())) if alike else ", ".join(words)
            sources = () if len(defaults) == len(self.makers) else tuple(defaults)
            found[name] = Parameter(ABOUT[name], default, sources)
        return found


def _keywords(builder: Callable[..., Any]) -> dict[str, Any]:
    """Return the names and defaults of a function's keyword-only parameters."""
    parameters = inspect.signature(builder).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


PROBLEMS: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            Family(
                "robust-matrix-recovery",
                "low-rank matrix recovery with the bounded loss 1 - exp(-z^2/2 sigma)",
                RobustMatrixRecovery.source,
                tuple(_SOURCES),
                robust_matrix_recovery,
                _SOURCES,
                MappingProxyType(
                    {
                        "radius": "100 (synthetic), else 3 |Y|_F of the centred observed entries Y",
                        "sigma": "1 (synthetic), else twice the variance of the observed entries",
                    }
                ),
            ),
            Family(
                "nonconvex-logistic",
                "logistic regression with the regulariser alpha sum x^2/(1+x^2)",
                NonconvexLogistic.source,
                _BINARY,
                nonconvex_logistic,
            ),
        )
    }
)
"""Every problem by its name."""


def problem(name: str, **parameters: Any) -> Problem:
    """Build a problem by name; see ``pfbench info NAME`` for its parameters.

    Raises
    ------
    InputError
        If the name or a parameter is unknown or out of range.
    DataError
        If the data are missing or damaged.
    """
    if name not in PROBLEMS:
        raise unknown("problem", name, PROBLEMS)
    family = PROBLEMS[name]
    known = family.parameters()
    for parameter in parameters:
        if parameter not in known:
            raise unknown(f"parameter of {name}", parameter, known)
    given = MappingProxyType(dict(parameters))
    try:
        built: Problem = replace(family.build(**parameters), parameters=given)
    except (MemoryError, OverflowError) as error:
        raise InputError(
            f"{Selector(name, given)} is too large to be built ({error}): choose smaller numbers."
        ) from error
    return built
