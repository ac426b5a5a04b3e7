"""Samplers: problems whose objective is an expectation, f(x) = E f(x, xi), without components.

A method draws by ``ask.sample(rng, size)`` and queries `batch` and `difference` at the draws. The
exact f and its gradient serve the measures; a method that queries them is refused.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import brief_repr, check_finite_array
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.parameters import DelegatedAttribute
from pfbench.base.protocols import FeasibleSet, Gradient, Measure
from pfbench.base.sample import Draws, Indices
from pfbench.problems.base import FiniteSum, content_digest
from pfbench.problems.moments import max_quadratic_form
from pfbench.sets.body import ConvexBody
from pfbench.sets.norms import NormBall

_REASON = "it is a sampler: f is an expectation, of which samples alone can be queried"


class Atoms(NamedTuple):
    """Finite distribution of xi: all values, in the form of a draw, and their probabilities."""

    values: Any
    probabilities: Floats


class Sampler(FiniteSum):
    """Problem f(x) = E f(x, xi); it has no n.

    A subclass defines `draw`, `mean_gradient`, `value`, `gradient`, `set` and `constants`. The
    value and the gradient are exact and serve the measures alone.

    Attributes
    ----------
    atoms
        The distribution of xi where it is finite, else None.
    """

    n: ClassVar[None] = None  # type: ignore[assignment]
    atoms: Atoms | None = None

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` independent draws of xi, by `rng` alone, in a form of the problem's own."""

    @abstractmethod
    def mean_gradient(self, values: Any, x: Any) -> Gradient:
        """Return the mean of grad f(x, xi) over draws; it depends on the two arguments alone."""

    def sample(self, rng: np.random.Generator, size: int) -> Draws:
        """Return `size` independent draws of xi; nothing is counted."""
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise InputError(f"size={brief_repr(size)} of ask.sample must be a positive integer.")
        return Draws(self.draw(rng, int(size)), int(size))

    def batch(self, sample: Indices, x: Any) -> Gradient:
        """Return the mean of grad f(x, xi) over what `sample` returned.

        Raises
        ------
        InputError
            If it is anything else, such as indices.
        """
        if not isinstance(sample, Draws):
            raise InputError(
                f"{self.name} is a sampler: batch and difference take what ask.sample(rng, size) "
                "returned, not indices."
            )
        return self.mean_gradient(sample.values, x)

    def _missing_function_oracles(self) -> dict[str, str]:
        verbs = ("gradient", "value", "table", "hessian", "component_smoothness")
        return dict.fromkeys(verbs, _REASON)


# --- a function whose samples are drawn -----------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledFunction(Sampler):
    """Sampler of a function whose exact value and gradient are those of a problem.

    Attributes
    ----------
    function
        f, with its set, start, constants and measures: a problem of one component.
    """

    function: FiniteSum

    set = DelegatedAttribute[FeasibleSet]("function")
    properties = DelegatedAttribute[frozenset[str]]("function")
    best_known = DelegatedAttribute[tuple[float, str] | None]("function")
    start = DelegatedAttribute[Callable[[], Any]]("function")
    measures = DelegatedAttribute[Callable[[], Mapping[str, Measure]]]("function")

    def value(self, x: Any) -> float:
        """Return f(x)."""
        return self.function.value(x)

    def gradient(self, x: Any) -> Gradient:
        """Return the gradient at x, exactly."""
        return self.function.gradient(x)

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return the bound of L_norm of the function; see `FiniteSum`."""
        return self.function.smoothness_in_norm(norm)

    def function_constants(self, start: Any, *names: str, **further: Any) -> Constants:
        """Return the function's constants of these names, by default all but n, and `further`."""
        constants = self.function.constants(start)
        chosen = names or [name for name in constants.derivations if name != "n"]
        selected = {
            n: (getattr(constants, n), constants.derivations[n])
            for n in chosen
            if n in constants.derivations
        }
        return Constants.from_derivations(**selected | further)


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomRows(Sampler):
    """f(x) = E psi(<a, x> - b), where (a, b) is row k of the data with probability p_k.

    Attributes
    ----------
    features, targets, probabilities
        The a_k, shape (K, d); the b_k, shape (K,); and the p_k, shape (K,), of sum 1.
    set
        The feasible set; the whole space for none.
    """

    source: ClassVar[str] = "pfbench"
    properties: ClassVar[frozenset[str]] = frozenset({"convex"})

    features: Floats
    targets: Floats
    probabilities: Floats
    set: ConvexBody

    def __post_init__(self) -> None:
        K, d = check_finite_array("features", self.features).shape
        check_finite_array("targets", self.targets, shape=(K,))
        p = check_finite_array("probabilities", self.probabilities, shape=(K,))
        if self.set.shape != (d,):
            raise InputError(f"features has {d} columns, the set points of shape {self.set.shape}.")
        if p.min() <= 0.0 or abs(float(p.sum()) - 1.0) > 1e-9:
            raise InputError("probabilities must be positive numbers of sum 1.")

    @property
    def atoms(self) -> Atoms:  # type: ignore[override]
        """Indices of the rows, with their probabilities."""
        return Atoms(np.arange(len(self.targets)), self.probabilities)

    @cached_property
    def digest(self) -> str:
        """Hash of all numbers."""
        data = self.features, self.targets, self.probabilities
        return content_digest((self.name, self.set), *data)

    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """Return indices of rows, shape (size,)."""
        return rng.choice(len(self.targets), size=size, p=self.probabilities)

    @abstractmethod
    def psi(self, r: Floats) -> Floats:
        """Return psi of residuals."""

    @abstractmethod
    def slope(self, r: Floats) -> Floats:
        """Return the derivative of psi at residuals."""

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        return float(self.probabilities @ self.psi(self.features @ x - self.targets))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, exactly, shape (d,)."""
        slopes = self.slope(self.features @ x - self.targets)
        return np.asarray((self.probabilities * slopes) @ self.features)

    def mean_gradient(self, values: Any, x: Floats) -> Floats:
        """Return the mean over rows of a psi'(<a, x> - b), shape (d,)."""
        rows = self.features[values]
        return np.asarray(self.slope(rows @ x - self.targets[values]) @ rows / len(values))

    @cached_property
    def _second_moment(self) -> Floats:
        """E a a', shape (d, d)."""
        return np.asarray((self.features.T * self.probabilities) @ self.features)

    @cached_property
    def _row_norms_squared(self) -> Floats:
        return np.asarray((self.features**2).sum(axis=1))

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return an upper bound of <v, E a a' v> over the ball, with its derivation."""
        return max_quadratic_form(norm, self._second_moment, 1)

    def constants(self, start: Floats) -> Constants:
        """Return the constants that follow from |psi''| <= 1."""
        squared = self._row_norms_squared
        weighted = (self.features.T * (self.probabilities * squared)) @ self.features
        L_ms = math.sqrt(float(np.linalg.eigvalsh(weighted)[-1]))
        return Constants.from_derivations(
            D=(self.set.diameter, f"diameter of the set {self.set.name}"),
            L_f=(float(np.linalg.eigvalsh(self._second_moment)[-1]), "lambda_max(E a a')"),
            L_ms=(L_ms, "sqrt(lambda_max(E |a|^2 a a'))"),
            L_max=(float(squared.max()), "the largest |a|^2"),
            delta=(self.value(start) - self.lower_value, "f(start) minus a lower bound of f"),
            M=(self.set.max_norm, f"largest norm in the set {self.set.name}"),
            ell=(0.0, "f is convex"),
            **self.variance_constants(L_ms),
        )

    @property
    @abstractmethod
    def lower_value(self) -> float:
        """Lower bound of f on the whole space."""

    @abstractmethod
    def variance_constants(self, L_ms: float) -> dict[str, tuple[float, str]]:
        """Return sigma2 and L2_ms with their derivations."""


class RandomRegression(RandomRows):
    """Least squares on random rows: psi(r) = r^2/2."""

    name: ClassVar[str] = "regression"

    def psi(self, r: Floats) -> Floats:
        """Return r^2/2."""
        return 0.5 * r * r

    def slope(self, r: Floats) -> Floats:
        """Return r."""
        return r

    @cached_property
    def lower_value(self) -> float:
        """Minimum of f, by weighted least squares."""
        root = np.sqrt(self.probabilities)
        x: Any = np.linalg.lstsq(self.features * root[:, None], self.targets * root, rcond=None)[0]
        return self.value(x)

    def variance_constants(self, L_ms: float) -> dict[str, tuple[float, str]]:
        """Return the bound over a bounded set of E|a|^2 (<a, x> - b)^2; else it is infinite."""
        at_zero = math.sqrt(float(self.probabilities @ (self._row_norms_squared * self.targets**2)))
        bound = (L_ms * self.set.max_norm + at_zero) ** 2
        return {
            "sigma2": (bound, "(L_ms M + sqrt(E |a|^2 b^2))^2, as E|grad|^2 bounds the variance"),
            "L2_ms": (0.0, "the Hessians are constant"),
        }


class RandomGLM(RandomRows):
    """Log-cosh loss on random rows: psi(r) = log cosh r, of slope at most 1."""

    name: ClassVar[str] = "glm"

    def psi(self, r: Floats) -> Floats:
        """Return log cosh r."""
        size = np.abs(r)
        return np.asarray(size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0))

    def slope(self, r: Floats) -> Floats:
        """Return tanh r."""
        return np.asarray(np.tanh(r))

    lower_value = 0.0

    def variance_constants(self, L_ms: float) -> dict[str, tuple[float, str]]:
        """Return E|a|^2, and the bound of the third derivative, 4/(3 sqrt 3) at most."""
        squared = self._row_norms_squared
        third = 4.0 / (3.0 * math.sqrt(3.0)) * math.sqrt(float(self.probabilities @ squared**3))
        return {
            "sigma2": (float(self.probabilities @ squared), "E |a|^2, as |psi'| <= 1"),
            "L2_ms": (third, "4/(3 sqrt 3) sqrt(E |a|^6), as |psi'''| <= 4/(3 sqrt 3)"),
        }
