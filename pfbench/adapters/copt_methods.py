"""copt's solvers as algorithms: those that call functions, which compiled ones do not."""

from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from pfbench.adapters.black_box import BlackBox, Tell, library
from pfbench.adapters.plain import PlainOracles
from pfbench.base.arrays import Floats
from pfbench.base.parameters import nonnegative, one_of, positive, whole


@dataclass(frozen=True, kw_only=True)
class CoptFrankWolfe(BlackBox):
    """`copt.minimize_frank_wolfe`, the vanilla variant.

    One gradient and one linear minimisation an iteration, and the gradient at the last iterate;
    with backtracking one more gradient for each further trial. Values count where they are read:
    with backtracking alone.
    """

    name = "copt-frank-wolfe"
    summary = "copt's Frank-Wolfe, a black box"
    source = "Pedregosa, Negiar, Askari, Jaggi 2020; copt"
    counts = "T iterations, step DR or sublinear: FO T+1, SFO n(T+1), LO T"
    libraries = ("copt",)
    requires = frozenset({"gradient", "lo"})
    deterministic = True

    iterations: int = whole(MISSING, "T")
    step: str = one_of("DR", "DR (Demyanov-Rubinov), ...", ("DR", "backtracking", "sublinear"))
    smoothness: float = positive(MISSING, "L, at the start where the step is backtracking")
    tolerance: float = nonnegative(0.0, "Frank-Wolfe gap at which it ends")

    @property
    def asks(self) -> frozenset[str]:
        """What the step asks."""
        return self.requires | ({"value"} if self.step == "backtracking" else set())

    def minimise(self, plain: PlainOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """See `BlackBox.minimise`."""
        told = -1

        def callback(found: dict[str, Any]) -> None:
            # It is also called at the end, where there is no new iterate.
            nonlocal told
            if found["it"] > told and found["certificate"] > self.tolerance:
                told = found["it"]
                tell(found["x"] + found["step_size"] * found["update_direction"])

        found = library("copt").minimize_frank_wolfe(
            plain.value_and_gradient,
            plain.start,
            plain.lmo,
            jac=True,
            step=self.step,
            lipschitz=self.smoothness,
            max_iter=self.iterations,
            tol=self.tolerance,
            callback=callback,
        )
        return np.asarray(found.x)


@dataclass(frozen=True, kw_only=True)
class CoptProximalGradient(BlackBox):
    """`copt.minimize_proximal_gradient` with a fixed step, for a penalty or a set's projection."""

    name = "copt-proximal-gradient"
    summary = "copt's proximal gradient, a black box"
    source = "Beck, Teboulle 2009; copt"
    counts = "T iterations: FO T+1, SFO n(T+1), PO T"
    libraries = ("copt",)
    requires = frozenset({"gradient", "prox"})
    deterministic = True

    iterations: int = whole(MISSING, "T")
    step: float = positive(MISSING, "length of a step")

    def minimise(self, plain: PlainOracles, tell: Tell, rng: np.random.Generator) -> Floats:
        """See `BlackBox.minimise`."""

        def callback(found: dict[str, Any]) -> None:
            if found["n_iterations"] > 0:
                tell(found["x"])

        found = library("copt").minimize_proximal_gradient(
            plain.value_and_gradient,
            plain.start,
            plain.prox,
            jac=True,
            step=lambda found: self.step,
            max_iter=self.iterations - 1,  # copt makes one more
            tol=0.0,
            callback=callback,
        )
        return np.asarray(found.x)
