"""Samplers: problems whose objective is an expectation, f(x) = E f(x, xi), without components.

A method draws xi by ``ask.sample(rng, size)``, and queries `batch` and `difference` at the draws.
Measures use the exact f and its gradient; pfbench refuses methods that query them.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr
from pfbench.base.protocols import Gradient
from pfbench.base.sample import Draws, Indices
from pfbench.problems.base import FiniteSum, content_digest
from pfbench.problems.moments import max_quadratic_form
from pfbench.problems.wrapper import ProblemWrapper
from pfbench.sets.body import ConvexBody
from pfbench.sets.norms import NormBall

_REASON = "it is a sampler: f is an expectation, of which samples alone can be queried"


class Atoms(NamedTuple):
    """Values and probabilities of a random variable with finitely many values.

    `values` has the form that `draw` returns.
    """

    values: Any
    probabilities: Floats


class Sampler(FiniteSum):
    """Problem f(x) = E f(x, xi), with a random variable xi instead of finitely many components.

    A subclass defines `draw`, `mean_gradient`, `value`, `gradient`, `set` and `constants`. The
    value and the gradient are exact; only measures use them.

    Attributes
    ----------
    atoms
        The distribution of xi where it is finite, else None.
    """

    n: ClassVar[None] = None  # type: ignore[assignment]
    atoms: Atoms | None = None

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` independent draws of the random variable xi, which depend on `rng` only.

        The type of the draws is that which `mean_gradient` accepts.
        """

    @abstractmethod
    def mean_gradient(self, values: Any, x: Any) -> Gradient:
        """Return the mean of grad f(x, xi) over the draws `values` of xi, at the point x.

        The result must depend on the two arguments only.
        """

    def sample(self, rng: np.random.Generator, size: int) -> Draws:
        """Return `size` independent draws of the random variable xi; no oracle call is counted."""
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise InputError(f"size={brief_repr(size)} of ask.sample must be a positive integer.")
        return Draws(self.draw(rng, int(size)), int(size))

    def batch(self, sample: Indices, x: Any) -> Gradient:
        """Return the mean of grad f(x, xi) over the given draws of xi.

        Raises
        ------
        InputError
            If `sample` is not a result of the method `sample`, e.g. an array of indices.
        """
        if not isinstance(sample, Draws):
            raise InputError(
                f"{self.name} is a sampler: call batch and difference with the result of "
                "ask.sample(rng, size), not with indices."
            )
        return self.mean_gradient(sample.values, x)

    def _missing_function_oracles(self) -> dict[str, str]:
        verbs = ("gradient", "value", "table", "hessian", "component_smoothness")
        return dict.fromkeys(verbs, _REASON)


# --- a function whose samples are drawn -----------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SamplerWithKnownMean(Sampler, ProblemWrapper):  # type: ignore[misc]
    """Problem E f(x, xi) whose mean f and gradient are those of the deterministic problem `inner`.

    The problem f has one component; its set, start and measures are those of the sampler.
    """

    inner: FiniteSum

    def function_constants(self, start: Any, *names: str, **further: Any) -> Constants:
        """Return the function's constants with the given names, together with `further` constants.

        By default these are all constants but n.
        """
        constants = self.inner.constants(start)
        chosen = names or [name for name in constants.derivations if name != "n"]
        selected = {
            n: (getattr(constants, n), constants.derivations[n])
            for n in chosen
            if n in constants.derivations
        }
        return Constants.from_derivations(**selected | further)


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomRows(Sampler):
    """Sampler of f(x) = E psi(<a, x> - b), where (a, b) is data row k with probability p_k.

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

    @property
    def atoms(self) -> Atoms:  # type: ignore[override]
        """Indices of all rows, and their probabilities."""
        return Atoms(np.arange(len(self.targets)), self.probabilities)

    @cached_property
    def digest(self) -> str:
        """Hash of all numbers that define the problem."""
        data = self.features, self.targets, self.probabilities
        return content_digest((self.name, self.set), *data)

    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` random row indices, shape (size,)."""
        return rng.choice(len(self.targets), size=size, p=self.probabilities)

    @abstractmethod
    def psi(self, r: Floats) -> Floats:
        """Return the loss psi of an array of residuals."""

    @abstractmethod
    def slope(self, r: Floats) -> Floats:
        """Return the derivative psi' of the loss at an array of residuals."""

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        return float(self.probabilities @ self.psi(self.features @ x - self.targets))

    def gradient(self, x: Floats) -> Floats:
        """Return the exact gradient of f at x, shape (d,)."""
        slopes = self.slope(self.features @ x - self.targets)
        return np.asarray((self.probabilities * slopes) @ self.features)

    def mean_gradient(self, values: Any, x: Floats) -> Floats:
        """Return the mean over the drawn rows of a psi'(<a, x> - b), shape (d,)."""
        rows = self.features[values]
        return np.asarray(self.slope(rows @ x - self.targets[values]) @ rows / len(values))

    @cached_property
    def _second_moment(self) -> Floats:
        """Second moment E a a' of the rows, shape (d, d)."""
        return np.asarray((self.features.T * self.probabilities) @ self.features)

    @cached_property
    def _row_norms_squared(self) -> Floats:
        return np.asarray((self.features**2).sum(axis=1))

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return an upper bound of the smoothness of f in `norm`, with its derivation.

        The bound is the maximum of <v, E a a' v> over the unit ball of the norm, or a bound of it.
        """
        return max_quadratic_form(norm, self._second_moment, 1)

    def constants(self, start: Floats) -> Constants:
        """Return the constants of f with derivations, for a loss curvature of at most 1."""
        squared = self._row_norms_squared
        weighted = (self.features.T * (self.probabilities * squared)) @ self.features
        L_ms = math.sqrt(float(np.linalg.eigvalsh(weighted)[-1]))
        return Constants.from_derivations(
            D=(self.set.diameter, f"diameter of the set {self.set.name}"),
            L_f=(float(np.linalg.eigvalsh(self._second_moment)[-1]), "lambda_max(E a a')"),
            L_ms=(L_ms, "sqrt(lambda_max(E |a|^2 a a'))"),
            L_max=(float(squared.max()), "the largest |a|^2"),
            delta=(self.value(start) - self.value_lower_bound, "f(start) minus a lower bound of f"),
            M=(self.set.max_norm, f"largest norm in the set {self.set.name}"),
            ell=(0.0, "f is convex"),
            **self.variance_constants(L_ms),
        )

    @property
    @abstractmethod
    def value_lower_bound(self) -> float:
        """Lower bound of f on the whole space."""

    @abstractmethod
    def variance_constants(self, L_ms: float) -> dict[str, tuple[float, str]]:
        """Return the constants sigma2 and L2_ms, each with its derivation as text."""


class RandomRegression(RandomRows):
    """Least squares on random rows: psi(r) = r^2/2."""

    name: ClassVar[str] = "regression"

    def psi(self, r: Floats) -> Floats:
        """Return the losses r^2/2 of an array of residuals."""
        return 0.5 * r * r

    def slope(self, r: Floats) -> Floats:
        """Return the derivative of the loss r^2/2 at residuals, which is r."""
        return r

    @cached_property
    def value_lower_bound(self) -> float:
        """Lower bound of f: its exact minimum."""
        root = np.sqrt(self.probabilities)
        x: Any = np.linalg.lstsq(self.features * root[:, None], self.targets * root, rcond=None)[0]
        return self.value(x)

    def variance_constants(self, L_ms: float) -> dict[str, tuple[float, str]]:
        """Return the constants sigma2, a bound of the variance over the set, and L2_ms = 0.

        The bound of E|a|^2 (<a, x> - b)^2 is infinite for an unbounded set.
        """
        at_zero = math.sqrt(float(self.probabilities @ (self._row_norms_squared * self.targets**2)))
        bound = (L_ms * self.set.max_norm + at_zero) ** 2
        return {
            "sigma2": (bound, "(L_ms M + sqrt(E |a|^2 b^2))^2, as E|grad|^2 bounds the variance"),
            "L2_ms": (0.0, "the Hessians are constant"),
        }


class RandomGLM(RandomRows):
    """Sampler of the log-cosh loss on random rows: psi(r) = log cosh r, with |psi'| <= 1."""

    name: ClassVar[str] = "glm"

    def psi(self, r: Floats) -> Floats:
        """Return the losses log cosh r of an array of residuals."""
        size = np.abs(r)
        return np.asarray(size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0))

    def slope(self, r: Floats) -> Floats:
        """Return the derivative tanh r of the loss at an array of residuals."""
        return np.asarray(np.tanh(r))

    value_lower_bound = 0.0

    def variance_constants(self, L_ms: float) -> dict[str, tuple[float, str]]:
        """Return the constants sigma2 = E|a|^2 and L2_ms, from |psi'''| <= 4/(3 sqrt 3)."""
        squared = self._row_norms_squared
        third = 4.0 / (3.0 * math.sqrt(3.0)) * math.sqrt(float(self.probabilities @ squared**3))
        return {
            "sigma2": (float(self.probabilities @ squared), "E |a|^2, as |psi'| <= 1"),
            "L2_ms": (third, "4/(3 sqrt 3) sqrt(E |a|^6), as |psi'''| <= 4/(3 sqrt 3)"),
        }
