"""The problems by name, with their parameters."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import choice, integer
from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.base.protocols import Penalty, Problem
from pfbench.base.selectors import Selector
from pfbench.problems.classes import (
    class_tasks,
    scaled_classes,
    synthetic_classes,
    synthetic_tasks,
)
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.loading import load_classification
from pfbench.problems.finite_sum_chain import FiniteSumChain
from pfbench.problems.linear_models import (
    LeastSquares,
    LinearModel,
    LogCosh,
    NonconvexLogistic,
    RobustRegression,
)
from pfbench.problems.matrix_recovery import Observations, RobustMatrixRecovery
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.multiclass import MulticlassLogistic
from pfbench.problems.multitask import MultitaskSigmoid
from pfbench.problems.observations import digits, movielens, synthetic
from pfbench.problems.rows import synthetic_rows
from pfbench.problems.sensing import synthetic_sensing
from pfbench.problems.simplex_norm import SimplexNorm
from pfbench.problems.zero_chain import ZeroChain, random_directions, scaled_chain
from pfbench.sets import WholeSpace, feasible_set
from pfbench.sets import penalty as build_penalty

ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "source": "where the data come from",
        "seed": "seed of the problem's data",
        "rows": "rows of the matrix (M), of the data (n), of each task, or at most of each class",
        "columns": "columns of the matrix (N), or of the data, or length of a point (d)",
        "rank": "rank of the underlying matrix",
        "noise": "uniform in [-noise, noise] on the outliers; of labels or features, its standard "
        "deviation",
        "classes": "number of classes",
        "kinds": "number of kinds of tasks (m)",
        "copies": "tasks of each kind (K), or noisy versions of each class",
        "outliers": "share of all entries that are changed by noise",
        "density": "share of all entries that are observed",
        "heldout": "share of the entries or ratings that is held out",
        "edition": "latest-small, 100k, 1m, 10m, 25m, or the path of a ratings file",
        "radius": "radius of the feasible set",
        "sigma": "scale of the loss 1 - exp(-z^2/(2 sigma))",
        "scaling": "mean: f = (1/n) sum; sum: f = sum, as shen2019 (4) is printed",
        "tolerance": "relative residual at which a run's linear minimisation stops",
        "set": "feasible set, see `pfbench list sets`; none for the whole space",
        "penalty": "penalty h on the whole space, see `pfbench list sets`",
        "weight": "weight of the penalty",
        "k": "number of nonzero entries of a vertex (set=k-sparse), rank (set=matroid-base)",
        "groups": "length of consecutive groups of entries (group-lasso)",
        "lower": "least value of every entry (set=box)",
        "upper": "largest value of every entry (set=box)",
        "alpha": "weight of the non-convex regulariser",
        "n": "number of components",
        "epsilon": "accuracy for which the instance is hard",
        "smoothness": "L of the instance, of a finite sum the mean-squared one",
        "delta": "upper bound of f(0) - inf f",
        "horizon": "length T of the chain",
        "spike": "variance of the first entry of a sensing matrix; the others have 1",
        "sensing_variance": "w, variance of noise in the sensing matrices: 0 is loss (7), else (8)",
        "storage": "of the sensing matrices: float64, or float32 (rounded, half the memory)",
    }
)
"""What each parameter of a problem means; a parameter has one name everywhere."""

_SOURCES: Mapping[str, Callable[..., Observations]] = MappingProxyType(
    {
        "synthetic": synthetic,
        "digits": digits,
        "movielens": movielens,
    }
)

_SEVERAL_CLASSES = (
    "digits",
    *(name for name, record in DATA_SETS.items() if record.task == "multiclass"),
)

_CLASSES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "synthetic": synthetic_classes,
        **{name: partial(scaled_classes, name) for name in _SEVERAL_CLASSES},
    }
)

_TASKS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "synthetic": synthetic_tasks,
        **{name: partial(class_tasks, name) for name in _SEVERAL_CLASSES},
    }
)

_LINEAR = (
    *(name for name, record in DATA_SETS.items() if record.task == "binary"),
    "synthetic",
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
    observed: Observations = _drawn(_SOURCES, source, data)
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


def _drawn(makers: Mapping[str, Callable[..., Any]], source: str, data: dict[str, Any]) -> Any:
    """Return what the source makes; parameters that it does not know are refused."""
    known = _keywords(makers[choice("source", source, makers)])
    for name in data:
        if name not in known:
            raise unknown(f"parameter of the source {source}", name, known)
    return makers[source](**data)


def multitask_sigmoid(
    *, source: str = "synthetic", radius: float = 10.0, tolerance: float = 1e-4, **data: Any
) -> MultitaskSigmoid:
    """Build the multitask problem with the loss (y - 1/(1 + exp(z)))^2."""
    features, labels, tasks, offsets = _drawn(_TASKS, source, data)
    return MultitaskSigmoid(features, labels, radius, tolerance, tasks=tasks, offsets=offsets)


def multiclass_logistic(
    *, source: str = "digits", radius: float = 10.0, tolerance: float = 1e-4, **data: Any
) -> MulticlassLogistic:
    """Build multinomial logistic regression."""
    features, labels, classes = _drawn(_CLASSES, source, data)
    return MulticlassLogistic(features, labels, radius, tolerance, classes=classes)


def nonconvex_logistic(
    *,
    source: str = "breast-cancer",
    set: str | None = None,
    radius: float | None = None,
    penalty: str | None = None,
    weight: float | None = None,
    alpha: float = 0.1,
    **own: Any,
) -> NonconvexLogistic:
    """Build logistic regression with the non-convex regulariser."""
    features, labels, own = _rows(source, own, signs=True)
    feasible, added = _domain(features.shape[1], set, radius, penalty, weight, own)
    return NonconvexLogistic(features, labels, feasible, alpha, added)


def _regression(cls: type[LinearModel]) -> Callable[..., LinearModel]:
    def build(
        *,
        source: str = "synthetic",
        set: str | None = None,
        radius: float | None = None,
        penalty: str | None = None,
        weight: float | None = None,
        **own: Any,
    ) -> LinearModel:
        features, labels, own = _rows(source, own, signs=False)
        feasible, added = _domain(features.shape[1], set, radius, penalty, weight, own)
        return cls(features, labels, feasible, penalty=added)

    return build


def _rows(
    source: str, own: dict[str, Any], *, signs: bool
) -> tuple[Any, npt.NDArray[np.float64], dict[str, Any]]:
    """Return features, labels, and the parameters that the source does not take."""
    if choice("source", source, _LINEAR) == "synthetic":
        taken = {name: own[name] for name in _keywords(synthetic_rows) if name in own}
        features, labels = synthetic_rows(**taken, signs=signs)
        return features, labels, {name: own[name] for name in own if name not in taken}
    data = load_classification(source)
    return data.features, data.labels, own


def _domain(
    d: int,
    set: str | None,
    radius: float | None,
    penalty: str | None,
    weight: float | None,
    own: dict[str, Any],
) -> tuple[Any, Penalty | None]:
    """Return the feasible set and the penalty; the l1 ball of radius 10 if neither is given."""
    own = own | ({} if radius is None else {"radius": radius})
    own = own | ({} if weight is None else {"weight": weight})
    if penalty is not None and set is not None:
        raise InputError(f"set={set} and penalty={penalty} exclude each other: leave one out.")
    if penalty is not None:
        return WholeSpace(d), build_penalty(penalty, (d,), **own)
    if set == "none":
        if own:
            raise InputError(f"set=none takes no {next(iter(own))}: leave it out.")
        return WholeSpace(d), None
    if set in (None, "l1"):
        own = {"radius": 10.0} | own
    return feasible_set(set or "l1", (d,), **own), None


def zero_chain(
    *,
    horizon: int | None = None,
    epsilon: float | None = None,
    smoothness: float | None = None,
    delta: float | None = None,
    columns: int | None = None,
    seed: int | None = None,
) -> ZeroChain:
    """Build the zero chain, as it is with T = horizon, or scaled for an accuracy epsilon.

    The hidden directions are the first unit vectors, or random ones if there is a seed.
    """
    if epsilon is None:
        for name, given in (("smoothness", smoothness), ("delta", delta)):
            if given is not None:
                raise InputError(f"{name} scales the chain for an accuracy: give epsilon too.")
        T, mu = 50 if horizon is None else integer("horizon", horizon, least=1), 1.0
    else:
        if horizon is not None:
            raise InputError("epsilon determines the horizon: leave one of the two out.")
        smoothness = 1.0 if smoothness is None else smoothness
        T, mu = scaled_chain(epsilon, smoothness, 1.0 if delta is None else delta)
    if columns is None:
        columns = T if seed is None else 2 * T
    directions = None
    if seed is not None:
        d, seed = integer("columns", columns, least=T), integer("seed", seed, least=0)
        directions = random_directions(d, T, seed)
    return ZeroChain(T, columns, directions, smoothness, mu)


def finite_sum_chain(
    *, n: int = 16, epsilon: float = 0.003, smoothness: float = 1.0, delta: float = 1.0
) -> FiniteSumChain:
    """Build the chain on n blocks."""
    return FiniteSumChain(n, epsilon, smoothness, delta)


def simplex_norm(*, columns: int = 1000) -> SimplexNorm:
    """Build |x|^2 on the simplex."""
    return SimplexNorm(columns)


def matrix_regression(
    *, source: str = "synthetic", radius: float = 50.0, tolerance: float = 1e-4, **data: Any
) -> MatrixRegression:
    """Build matrix regression on synthetic data."""
    choice("source", source, ("synthetic",))
    return MatrixRegression(synthetic_sensing(**data), radius=radius, tolerance=tolerance)


_ANY = "any"
"""In place of a source: what takes these parameters whatever the source."""


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
    """A kind of problem: what builds it, from which sources, and defaults that are not constant.

    `own_set` names its feasible set where there is only one.
    """

    name: str
    summary: str
    source: str
    sources: tuple[str, ...]
    build: Callable[..., Any]
    makers: Mapping[str, Callable[..., Any]] = field(default_factory=lambda: MappingProxyType({}))
    computed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_set: str = ""

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters by name: those of every source, then those of single ones."""
        found = {
            name: Parameter(ABOUT[name], self.computed.get(name, _in_words(default)))
            for name, default in _keywords(self.build).items()
        }
        own: dict[str, dict[str, str]] = {}
        for source, maker in self.makers.items():
            for name, default in _keywords(maker).items():
                own.setdefault(name, {})[source] = _in_words(default)
        for name, defaults in own.items():
            words = [f"{default} ({source})" for source, default in defaults.items()]
            alike = len(set(defaults.values())) == 1
            default = next(iter(defaults.values())) if alike else ", ".join(words)
            everywhere = _ANY in defaults or len(defaults) == len(self.makers)
            sources = () if everywhere else tuple(defaults)
            default = self.computed.get(name, default)
            found[name] = Parameter(ABOUT[name], default, sources)
        return found


def _in_words(default: Any) -> str:
    """Return a default as the command line would write it."""
    if isinstance(default, bool):
        return str(default).lower()
    return "none" if default is None else str(default)


def _keywords(builder: Callable[..., Any]) -> dict[str, Any]:
    """Return the names and defaults of a function's keyword-only parameters."""
    parameters = inspect.signature(builder).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def _of_domain(
    *, k: int | None = None, groups: int | None = None, lower: float = -1.0, upper: float = 1.0
) -> None:
    """Name the parameters of single sets and penalties; `feasible_set` says what each takes."""


_LINEAR_MAKERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"synthetic": synthetic_rows, _ANY: _of_domain}
)

_DOMAIN: Mapping[str, str] = MappingProxyType(
    {
        "set": "l1 where there is no penalty; none for the whole space",
        "radius": "10 for l1, else 1",
        "penalty": "none",
        "weight": "1",
    }
)

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
                own_set="nuclear",
            ),
            Family(
                "nonconvex-logistic",
                "logistic regression with the regulariser alpha sum x^2/(1+x^2)",
                NonconvexLogistic.source,
                _LINEAR,
                nonconvex_logistic,
                _LINEAR_MAKERS,
                _DOMAIN,
            ),
            Family(
                "multitask-sigmoid",
                "several binary tasks with the bounded loss (y - 1/(1 + exp z))^2",
                MultitaskSigmoid.source,
                tuple(_TASKS),
                multitask_sigmoid,
                _TASKS,
                own_set="nuclear",
            ),
            Family(
                "multiclass-logistic",
                "multinomial logistic regression over the nuclear-norm ball, convex",
                MulticlassLogistic.source,
                tuple(_CLASSES),
                multiclass_logistic,
                _CLASSES,
                own_set="nuclear",
            ),
            *(
                Family(
                    cls.name,
                    summary,
                    cls.source,
                    _LINEAR,
                    _regression(cls),
                    _LINEAR_MAKERS,
                    _DOMAIN,
                )
                for cls, summary in (
                    (RobustRegression, "regression with the loss log(1 + r^2/2)"),
                    (LogCosh, "regression with the loss log cosh r, convex"),
                    (LeastSquares, "least squares, a convex quadratic"),
                )
            ),
            Family(
                MatrixRegression.name,
                "matrix regression, convex or with noisy sensing matrices, on the nuclear ball",
                MatrixRegression.source,
                ("synthetic",),
                matrix_regression,
                MappingProxyType({"synthetic": synthetic_sensing}),
                MappingProxyType({"n": "10 rank max(rows, columns)"}),
                own_set="nuclear",
            ),
            Family(
                SimplexNorm.name,
                "|x|^2 on the unit simplex: hard for linear minimisation from a vertex, convex",
                SimplexNorm.source,
                (),
                simplex_norm,
                own_set="simplex",
            ),
            Family(
                ZeroChain.name,
                "chain of hidden directions on a ball: hard for linear minimisation, non-convex",
                ZeroChain.source,
                (),
                zero_chain,
                computed=MappingProxyType(
                    {
                        "horizon": "50, or from epsilon",
                        "epsilon": "none: the chain as it is",
                        "smoothness": "1 with epsilon",
                        "delta": "1 with epsilon",
                        "columns": "horizon, or twice that with a seed",
                        "seed": "none: the hidden directions are unit vectors",
                    }
                ),
                own_set="l2",
            ),
            Family(
                FiniteSumChain.name,
                "n chains on blocks of their own: hard for component gradients, non-convex",
                FiniteSumChain.source,
                (),
                finite_sum_chain,
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
