"""Wrappers that change a part of a problem, such as its norm or its arrays."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.parameters import DelegatedAttribute
from pfbench.base.protocols import Backend, FeasibleSet, Gradient, Measure
from pfbench.problems.base import FiniteSum, content_digest
from pfbench.problems.moments import OF_NORMS, norm_constants, unmet_norm_requirement_reasons
from pfbench.sets.norms import NormBall


class ProblemWrapper(FiniteSum):
    """Problem that delegates to the problem `inner`; a subclass overrides some of its methods."""

    inner: FiniteSum
    n = DelegatedAttribute[int]("inner")
    set = DelegatedAttribute[FeasibleSet]("inner")
    shape = DelegatedAttribute[tuple[int, ...]]("inner")
    properties = DelegatedAttribute[frozenset[str]]("inner")
    best_known = DelegatedAttribute[tuple[float, str] | None]("inner")
    start = DelegatedAttribute[Callable[[], Any]]("inner")
    measures = DelegatedAttribute[Callable[[], Mapping[str, Measure]]]("inner")
    component_smoothness = DelegatedAttribute[Callable[[], Floats]]("inner")

    def constants(self, start: Any) -> Constants:
        """Return the constants of the inner problem."""
        return self.inner.constants(start)

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return the inner problem's bound of its smoothness in a norm."""
        return self.inner.smoothness_in_norm(norm)

    def value(self, x: Any) -> float:
        """Return f(x)."""
        return self.inner.value(x)

    def gradient(self, x: Any) -> Gradient:
        """Return the gradient at x."""
        return self.inner.gradient(x)


class NormedProblem(ProblemWrapper):
    """Problem together with the norm in which its gradients and smoothness are measured.

    Without a set, linear minimisations are over the norm's ball. Points may leave that ball, so D
    is infinite and no gap is measured. With a set, linear minimisations are over the set, and
    the norm only adds constants and measures.

    Parameters
    ----------
    problem
        The problem. It has no penalty, and its points are arrays.
    norm
        The ball of the norm, for points of the same shape.

    Raises
    ------
    InputError
        If the problem has a penalty.
    """

    source: ClassVar[str] = "Pethick et al. 2025"

    def __init__(self, problem: FiniteSum, norm: NormBall) -> None:
        if problem.penalty is not None:
            raise InputError("a problem has a penalty or a norm, not both: leave one of them out.")
        value: Any = {"name": problem.name, "inner": problem, "norm": norm}
        for verb in ("batch", "difference", "component", "hessian", "table", "prox", "sample"):
            value[verb] = getattr(problem, verb)
        if problem.n is None:
            value["atoms"] = getattr(problem, "atoms", None)
        vars(self).update(value)

    norm: NormBall

    @property
    def digest(self) -> str:
        """Hash of the inner problem's digest and of the norm."""
        return content_digest((self.inner.digest, self.norm))

    @property
    def lacks(self) -> Mapping[str, str]:
        """Reason for each requirement that the problem does not meet, keyed by the requirement."""
        gained = set() if self.is_bounded else {"lo"}
        lacking = {
            verb: reason
            for verb, reason in self.inner.lacks.items()
            if not verb.startswith("norm") and verb not in gained
        }
        return lacking | unmet_norm_requirement_reasons(self)

    def open(self, rng: np.random.Generator) -> Backend:
        """Return the oracles of one run: of `inner` if the set is bounded, else of this problem."""
        return self.inner.open(rng) if self.is_bounded else self

    def measures(self) -> Mapping[str, Measure]:
        """Return the measures of the inner problem and those that a norm defines, by name."""
        return {**self.inner.measures(), **OF_NORMS}

    def constants(self, start: Any) -> Constants:
        """Return the constants of the inner problem and of the norm, with their derivations."""
        constants: Constants = self.inner.constants(start)
        added = norm_constants(self.norm, constants.L_f, self.inner.smoothness_in_norm(self.norm))
        words = {**constants.derivations, **{name: says for name, (_, says) in added.items()}}
        numbers: dict[str, Any] = {name: number for name, (number, _) in added.items()}
        return replace(constants, **numbers, derivations=words)
