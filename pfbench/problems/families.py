"""Families of problems: their parameters in selectors, and how they build a problem."""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_integer
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, one_of_values, parameter
from pfbench.problems import linear_models
from pfbench.problems.base import FiniteSum
from pfbench.problems.class_data import ClassTasks, ScaledClasses, SyntheticClasses, SyntheticTasks
from pfbench.problems.class_models import MulticlassLogistic, MultitaskSigmoid
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.family import AnySetFamily, ProblemFamily
from pfbench.problems.finite_sum_chain import FiniteSumChain
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.observations import DigitPixels, MovieRatings, SyntheticEntries
from pfbench.problems.row_data import BinaryData, SyntheticRows, label_signs_zero_positive
from pfbench.problems.sensing import NUCLEAR_NORM, SyntheticSensing
from pfbench.problems.single_component import SimplexNorm
from pfbench.problems.torch_problem import Dense, TorchProblem
from pfbench.problems.zero_chain import ZeroChain, chain_scaling, random_directions
from pfbench.sets.body import ConvexBody
from pfbench.sets.catalogue import penalty
from pfbench.sets.penalties import NormPenalty
from pfbench.sets.whole_space import WholeSpace

_SEVERAL_CLASSES = (
    "digits",
    *(name for name, record in DATA_SETS.items() if record.task == "multiclass"),
)
_TWO_CLASSES = tuple(name for name, record in DATA_SETS.items() if record.task == "binary")


def source_field(default: str) -> Any:
    """Return the dataclass field for the name of the data source."""
    return parameter(default, "where the data come from")


def lmo_tolerance_field() -> Any:
    """Return the dataclass field for the tolerance of linear minimisation in a run."""
    return parameter(1e-4, "relative residual at which a run's linear minimisation stops")


# --- over vectors ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LinearFamily(AnySetFamily):
    """Base class of the families of linear models on data rows."""

    problem: ClassVar[type[linear_models.LinearModel]]
    sources = MappingProxyType(
        dict.fromkeys(_TWO_CLASSES, BinaryData) | {"synthetic": SyntheticRows}
    )
    points = "vectors"
    only_set = "l1"
    default_radius = 10.0

    source: str = source_field("synthetic")
    set: str | None = parameter(
        None,
        "feasible set, see `pfbench list sets`; none for the whole space",
        "l1; with a penalty, the whole space",
    )
    penalty: str | None = parameter(
        None, "penalty h on the whole space, see `pfbench list sets`", "none"
    )
    start: str = one_of_values(
        "own",
        "start of runs: own (that of the set; 0 without one), or normal (standard normal)",
        ("own", "normal"),
    )
    start_seed: int = integer(0, "seed of a random start", minimum=0)

    def build(self) -> FiniteSum:
        """Build the linear model from the values of this family's parameters."""
        features, labels = self._load_source(self.source)
        feasible, added = self._set_and_penalty(features.shape[1])
        first = self._random_start(feasible)
        return self._with_norm(self.problem(features, labels, feasible, penalty=added, first=first))

    def _random_start(self, feasible: ConvexBody) -> Floats | None:
        """Return a normally distributed start point, or None for that of the feasible set."""
        if self.start == "own":
            return None
        if not isinstance(feasible, WholeSpace):
            raise InputError(
                f"a random start (start=normal) may lie outside the set {feasible.name}: write "
                "set=none, or give a penalty."
            )
        return np.random.default_rng(self.start_seed).standard_normal(feasible.shape)

    def _set_and_penalty(self, d: int) -> tuple[ConvexBody, NormPenalty | None]:
        """Return the feasible set and the penalty; the default set is an l1 ball."""
        values = {name: value for name, value in self.of_set.items() if value is not None}
        if self.penalty is not None and self.set is not None:
            raise InputError(
                f"set={self.set} and penalty={self.penalty} are mutually exclusive: remove one."
            )
        if self.penalty is not None:
            return WholeSpace(d), penalty(self.penalty, (d,), **values)
        return self._build_feasible_set((d,)), None


@dataclass(frozen=True, kw_only=True)
class LogisticFamily(LinearFamily):
    """Family of logistic regression problems with a non-convex regulariser."""

    problem = linear_models.NonconvexLogistic
    summary = "logistic regression with the regulariser alpha sum x^2/(1+x^2)"

    source: str = source_field("breast-cancer")
    alpha: float = parameter(0.1, "weight of the non-convex regulariser")

    def build(self) -> FiniteSum:
        """Build the problem with label +1 if the source's label is at least 0, else label -1."""
        features, labels = self._load_source(self.source)
        feasible, added = self._set_and_penalty(features.shape[1])
        first = self._random_start(feasible)
        logistic = self.problem(
            features, label_signs_zero_positive(labels), feasible, self.alpha, added, first
        )
        return self._with_norm(logistic)


class RobustRegressionFamily(LinearFamily):
    """Family of robust regression problems."""

    problem = linear_models.RobustRegression
    summary = "regression with the loss log(1 + r^2/2)"


class LogCoshFamily(LinearFamily):
    """Family of log-cosh regression problems."""

    problem = linear_models.LogCosh
    summary = "regression with the loss log cosh r, convex"


class LeastSquaresFamily(LinearFamily):
    """Family of least-squares problems."""

    problem = linear_models.LeastSquares
    summary = "least squares, a convex quadratic"


# --- over matrices --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RecoveryFamily(ProblemFamily):
    """Family of robust matrix recovery problems.

    For synthetic data, radius and sigma default to the paper's values 100 and 1. For real data,
    let Y be the centred observed entries. Then radius defaults to 3 |Y|_F, and sigma to twice
    their variance.
    """

    problem = RobustMatrixRecovery
    summary = "low-rank matrix recovery with the bounded loss 1 - exp(-z^2/2 sigma)"
    sources = MappingProxyType(
        {"synthetic": SyntheticEntries, "digits": DigitPixels, "movielens": MovieRatings}
    )
    only_set = "nuclear"

    source: str = source_field("synthetic")
    radius: float | None = parameter(
        None,
        "radius of the feasible set",
        "100 (synthetic), else 3 |Y|_F of the centred observed entries Y",
    )
    sigma: float | None = parameter(
        None,
        "scale of the loss 1 - exp(-z^2/(2 sigma))",
        "1 (synthetic), else twice the variance of the observed entries",
    )
    scaling: str = parameter(
        "mean", "mean: f = (1/n) sum; sum: f = sum, as shen2019 (4) is printed"
    )
    tolerance: float = lmo_tolerance_field()
    gap_share: float | None = parameter(
        None,
        "relative error of the gap along a vertex that a run accepts; 0: only tolerance counts",
        "1/4 for more than 50,000 entries, else 0",
    )

    def build(self) -> RobustMatrixRecovery:
        """Build the problem from the values of this family's parameters."""
        observed = self._load_source(self.source)
        radius, sigma = 100.0, 1.0
        if self.source != "synthetic":
            square = float(observed.values @ observed.values)
            if square == 0.0:
                raise InputError(
                    f"all ratings of the source {self.source} are equal: nothing can be recovered."
                )
            radius, sigma = 3.0 * math.sqrt(square), 2.0 * square / observed.values.size
        return RobustMatrixRecovery(
            observed,
            radius=radius if self.radius is None else self.radius,
            sigma=sigma if self.sigma is None else self.sigma,
            scaling=self.scaling,
            tolerance=self.tolerance,
            gap_share=self.gap_share,
        )


@dataclass(frozen=True, kw_only=True)
class MatrixFamily(AnySetFamily):
    """Base class of the families of problems over a set of matrices."""

    points = "matrices"
    only_set = "nuclear"
    default_radius = 10.0

    set: str | None = parameter(
        None, "feasible set, see `pfbench list sets`; none for all matrices", "nuclear"
    )
    tolerance: float = lmo_tolerance_field()
    arrays: str | None = parameter(
        None, "device of PyTorch for the sums, such as torch or torch:cuda", "compiled loops"
    )

    def _with_norm_on_device(self, problem: Dense) -> FiniteSum:
        """Return the problem with the requested norm, on the requested device of PyTorch."""
        if self.arrays is None:
            return self._with_norm(problem)
        return self._with_norm(TorchProblem(problem, self.arrays))


@dataclass(frozen=True, kw_only=True)
class MultitaskFamily(MatrixFamily):
    """Family of multitask classification problems."""

    problem = MultitaskSigmoid
    summary = "several binary tasks with the bounded loss (y - 1/(1 + exp z))^2"
    sources = MappingProxyType(
        {"synthetic": SyntheticTasks} | dict.fromkeys(_SEVERAL_CLASSES, ClassTasks)
    )

    source: str = source_field("synthetic")

    def build(self) -> FiniteSum:
        """Build the problem from the values of this family's parameters."""
        rows, labels, tasks, offsets = self._load_source(self.source)
        feasible = self._build_feasible_set((rows.shape[1], offsets.size))
        return self._with_norm_on_device(
            MultitaskSigmoid(rows, labels, feasible, self.tolerance, tasks=tasks, offsets=offsets)
        )


@dataclass(frozen=True, kw_only=True)
class MulticlassFamily(MatrixFamily):
    """Family of multinomial logistic regression problems."""

    problem = MulticlassLogistic
    summary = "multinomial logistic regression over a set of matrices, convex"
    sources = MappingProxyType(
        {"synthetic": SyntheticClasses} | dict.fromkeys(_SEVERAL_CLASSES, ScaledClasses)
    )

    source: str = source_field("digits")

    def build(self) -> FiniteSum:
        """Build the problem from the values of this family's parameters."""
        rows, labels, classes = self._load_source(self.source)
        feasible = self._build_feasible_set((rows.shape[1], classes))
        return self._with_norm_on_device(
            MulticlassLogistic(rows, labels, feasible, self.tolerance, classes=classes)
        )


@dataclass(frozen=True, kw_only=True)
class MatrixRegressionFamily(MatrixFamily):
    """Family of matrix regression problems on synthetic data."""

    problem = MatrixRegression
    summary = "matrix regression, convex or with noisy sensing matrices, over a set of matrices"
    sources = MappingProxyType({"synthetic": SyntheticSensing})
    default_radius = NUCLEAR_NORM
    allows_no_set = False

    source: str = source_field("synthetic")

    def build(self) -> FiniteSum:
        """Build the problem from the values of this family's parameters."""
        data = self._load_source(self.source)
        return self._with_norm_on_device(
            MatrixRegression(data, self._build_feasible_set(data.shape), self.tolerance)
        )


# --- without data ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SimplexNormFamily(ProblemFamily):
    """Family of the squared norm |x|^2 on the simplex, with the dimension as parameter."""

    problem = SimplexNorm
    summary = "|x|^2 on the unit simplex: hard for linear minimisation from a vertex, convex"
    only_set = "simplex"

    columns: int = parameter(1000, "length of a point (d)")

    def build(self) -> SimplexNorm:
        """Build the problem from the values of this family's parameters."""
        return SimplexNorm(self.columns)


@dataclass(frozen=True, kw_only=True)
class ZeroChainFamily(ProblemFamily):
    """Family of zero chains, either unscaled with T = horizon or scaled for an accuracy epsilon.

    The hidden directions are the first unit vectors, or random vectors if a seed is set.
    """

    problem = ZeroChain
    summary = "chain of hidden directions on a ball: hard for linear minimisation, non-convex"
    only_set = "l2"

    horizon: int | None = integer(None, "length T of the chain", words="50, or from epsilon")
    epsilon: float | None = parameter(
        None, "accuracy for which the instance is hard", "none: the chain as it is"
    )
    smoothness: float | None = parameter(None, "L of the instance", "1 with epsilon")
    delta: float | None = parameter(None, "upper bound of f(0) - inf f", "1 with epsilon")
    columns: int | None = parameter(
        None, "length of a point (d)", "horizon, or twice that with a seed"
    )
    seed: int | None = integer(
        None, "seed of the hidden directions", 0, "none: the hidden directions are unit vectors"
    )

    def build(self) -> ZeroChain:
        """Build the problem from the values of this family's parameters."""
        smoothness = self.smoothness
        if self.epsilon is None:
            for name, value in (("smoothness", smoothness), ("delta", self.delta)):
                if value is not None:
                    raise InputError(f"{name} needs the accuracy epsilon: give epsilon too.")
            T = 50 if self.horizon is None else self.horizon
            mu = 1.0
        else:
            if self.horizon is not None:
                raise InputError("epsilon determines the horizon: leave horizon or epsilon out.")
            smoothness = 1.0 if smoothness is None else smoothness
            delta = 1.0 if self.delta is None else self.delta
            T, mu = chain_scaling(self.epsilon, smoothness, delta)
        columns = self.columns
        if columns is None:
            columns = T if self.seed is None else 2 * T
        directions = None
        if self.seed is not None:
            d = check_integer("columns", columns, minimum=T)
            directions = random_directions(d, T, self.seed)
        return ZeroChain(T, columns, directions, smoothness, mu)


@dataclass(frozen=True, kw_only=True)
class FiniteSumChainFamily(ProblemFamily):
    """Family of finite sums of zero chains, with one chain on each of n blocks of a point."""

    problem = FiniteSumChain
    summary = "n chains on blocks of their own: hard for component gradients, non-convex"

    n: int = parameter(16, "number of components")
    epsilon: float = parameter(0.003, "accuracy for which the instance is hard")
    smoothness: float = parameter(1.0, "L of the instance, its mean-squared smoothness")
    delta: float = parameter(1.0, "upper bound of f(0) - inf f")

    def build(self) -> FiniteSumChain:
        """Build the problem from the values of this family's parameters."""
        return FiniteSumChain(self.n, self.epsilon, self.smoothness, self.delta)
