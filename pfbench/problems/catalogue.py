"""The problems by name, with their parameters."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from pfbench.base.checks import choice
from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.base.protocols import Problem
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
    data = load_classification(source)
    if data.classes != 2:
        raise InputError(f"source={source} has {data.classes} classes: this problem needs two.")
    feasible = SETS[set](data.features.shape[1], radius)
    return NonconvexLogistic(data.features, data.labels, feasible, alpha)


@dataclass(frozen=True)
class Family:
    """A kind of problem: what builds it, from which sources."""

    name: str
    summary: str
    source: str
    sources: tuple[str, ...]
    build: Callable[..., Any]

    def parameters(self) -> dict[str, str]:
        """Return the parameters by name, each with a line about it and its default."""
        found: dict[str, str] = {}
        builders = [self.build]
        if self.build is robust_matrix_recovery:
            builders += _SOURCES.values()
        for builder in builders:
            for name, parameter in inspect.signature(builder).parameters.items():
                if parameter.kind is not inspect.Parameter.KEYWORD_ONLY or name in found:
                    continue
                default = "" if parameter.default is None else f" (default {parameter.default})"
                found[name] = ABOUT[name] + default
        return found


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
            ),
            Family(
                "nonconvex-logistic",
                "logistic regression with the regulariser alpha sum x^2/(1+x^2)",
                NonconvexLogistic.source,
                ("breast-cancer", "a9a", "w8a"),
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
    built: Problem = replace(
        family.build(**parameters), parameters=MappingProxyType(dict(parameters))
    )
    return built
