"""Solvers of copt that call Python functions; compiled solvers are not supported."""

from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from pfbench.adapters.black_box import BlackBox, Tell, import_optional_library
from pfbench.adapters.flat_oracles import FlatOracles
from pfbench.base.arrays import Floats
from pfbench.base.parameters import integer, nonnegative, one_of_values, positive


@dataclass(frozen=True, kw_only=True)
class CoptFrankWolfe(BlackBox):
    """Algorithm `copt.minimize_frank_wolfe`, the vanilla variant.

    Each iteration takes one gradient and one linear minimisation; the last iterate takes one more
    gradient. Backtracking takes another gradient for each further trial point. It also reads
    function values, which count only if they are read.
    """

    name = "copt-frank-wolfe"
    summary = "copt's Frank-Wolfe, a black box"
    source = "Pedregosa, Negiar, Askari, Jaggi 2020; copt"
    counts = "T iterations, step DR or sublinear: FO T+1, SFO n(T+1), LO T"
    libraries = ("copt",)
    requires = frozenset({"gradient", "lo"})
    deterministic = True

    iterations: int = integer(MISSING, "T")
    step: str = one_of_values(
        "DR", "DR (Demyanov-Rubinov), ...", ("DR", "backtracking", "sublinear")
    )
    smoothness: float = positive(MISSING, "L; with step=backtracking, its first estimate")
    tolerance: float = nonnegative(0.0, "Frank-Wolfe gap at which the run ends")

    @property
    def asks(self) -> frozenset[str]:
        """Oracles that the step rule queries."""
        return self.requires | ({"value"} if self.step == "backtracking" else set())

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """Run the solver from `oracles.start`."""
        reported = -1

        def callback(results: dict[str, Any]) -> None:
            # It is also called at the end, where there is no new iterate.
            nonlocal reported
            if results["it"] > reported and results["certificate"] > self.tolerance:
                reported = results["it"]
                tell(results["x"] + results["step_size"] * results["update_direction"])

        minimize_frank_wolfe = import_optional_library("copt").minimize_frank_wolfe(
            oracles.value_and_gradient,
            oracles.start,
            oracles.lmo,
            jac=True,
            step=self.step,
            lipschitz=self.smoothness,
            max_iter=self.iterations,
            tol=self.tolerance,
            callback=callback,
        )
        return np.asarray(minimize_frank_wolfe.x)


@dataclass(frozen=True, kw_only=True)
class CoptProximalGradient(BlackBox):
    """Algorithm `copt.minimize_proximal_gradient` with a fixed step, for a penalty or a set."""

    name = "copt-proximal-gradient"
    summary = "copt's proximal gradient, a black box"
    source = "Beck, Teboulle 2009; copt"
    counts = "T iterations: FO T+1, SFO n(T+1), PO T"
    libraries = ("copt",)
    requires = frozenset({"gradient", "prox"})
    deterministic = True

    iterations: int = integer(MISSING, "T")
    step: float = positive(MISSING, "length of a step")

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """Run the solver from `oracles.start`."""

        def callback(results: dict[str, Any]) -> None:
            if results["n_iterations"] > 0:
                tell(results["x"])

        minimize_proximal_gradient = import_optional_library("copt").minimize_proximal_gradient(
            oracles.value_and_gradient,
            oracles.start,
            oracles.prox,
            jac=True,
            step=lambda result: self.step,
            max_iter=self.iterations - 1,  # copt makes one more
            tol=0.0,
            callback=callback,
        )
        return np.asarray(minimize_proximal_gradient.x)
