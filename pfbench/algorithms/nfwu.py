"""Normalised Frank-Wolfe updates with any gradient estimator (shen2019, algorithm 1).

Notation of the paper: GE the gradient estimator, eta the step, D the diameter of C, p the epoch
length, S the batch. The parameter `step` is the convex-combination weight eta/D.

    for t = 0 .. T-1:
        g_t = GE(x_t)
        v_t = argmin over C of <g_t, v>
        x_{t+1} = x_t + (eta/D) (v_t - x_t)
    output x_{t0}, t0 uniform

The schedules of GE 1 to 5 are those of shen2019: eta = epsilon/L and T = ceil(L Delta/epsilon^2).
The S of the paper's table is multiplied by 1, 4, 4, 1 and 4/3, respectively, so that E|g_t - grad
f(x_t)|^2 <= epsilon^2/4.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, replace
from typing import Any, Self

import numpy as np

from pfbench.algorithms.base import floor_or_one, round_up
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.guarantee import Guarantee
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.parameters import integer, parameter, positive
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State
from pfbench.estimators.epochs import CASPIDERG, CASVRG, LSVRG, PAGE, SG, SPIDERG, SVRG
from pfbench.estimators.momentum import STORM
from pfbench.points import inner, keep


@dataclass(frozen=True, kw_only=True)
class NFWU(EstimatorAlgorithm):
    """Base class of normalised Frank-Wolfe updates; a subclass defines the gradient estimator."""

    guarantee = Guarantee(
        *("E V(x)", "2 epsilon D", "output", "fw_gap"),
        bound=lambda epsilon, constants: 2.0 * epsilon * constants.D,
    )

    output: str = parameter("uniform", "uniform (the paper's), or last")
    iterations: int = integer(MISSING, "T")
    step: float = positive(MISSING, "convex-combination weight eta/D, in (0, 1]", upper=1.0)
    batch: int = integer(MISSING, "S, drawn uniformly with replacement")
    restarts: int | None = integer(None, "k: best of k runs by the full gap (shen2019 remark 3.1)")
    probability: float | None = positive(None, "delta: restarts = ceil(log2(1/delta))", upper=0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts is not None and self.probability is not None:
            raise InputError("restarts and probability both set the number of runs: give only one.")

    @property
    def run_count(self) -> int:
        """Number k of independent runs: 1, unless `restarts` or `probability` is set."""
        if self.probability is not None:
            return round_up(math.log2(1.0 / self.probability))
        return self.restarts or 1

    @property
    def asks(self) -> frozenset[str]:
        """Oracles that are queried: those in `requires`, and `gradient` if there are several runs.

        The full gradient serves to select the best run.
        """
        return self.requires | {"gradient"} if self.run_count > 1 else self.requires

    @property
    def anytime(self) -> bool:
        """Whether it may stop any time, as no x_t depends on `iterations`: true if k = 1."""
        return self.run_count == 1

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update.

        See the module's pseudo-code, and remark 3.1 of the paper for several runs.
        """
        if self.run_count > 1:
            yield from self.run_and_select_best(ask, x, rng)
            return
        yield from super().run(ask, x, rng)

    def run_and_select_best(
        self, ask: AlgorithmOracles, x0: Point, rng: np.random.Generator
    ) -> Iterator[State]:
        """Run the method k times from x0, yield each state, and select the best of the k outputs.

        A state is yielded after each update. The output is the sampled iterate with the least
        Frank-Wolfe gap among all finished runs.
        """
        nfwu = replace(self, restarts=None, probability=None)
        start, best, lower = keep(x0), keep(x0), math.inf
        for _ in range(self.run_count):
            t0 = int(rng.integers(self.iterations)) if self.output == "uniform" else -1
            candidate = None
            for t, state in enumerate(nfwu.run(ask, keep(start), rng)):
                if t == t0:
                    candidate = keep(state.at)
                if t == self.iterations - 1:
                    candidate = keep(state.x) if candidate is None else candidate
                    g = ask.gradient(candidate)
                    gap = inner(g, candidate) - inner(g, ask.lo(g))
                    if gap < lower:
                        best, lower = candidate, gap
                yield state._replace(output=best)

    @classmethod
    @abstractmethod
    def estimator_parameters(
        cls, epsilon: float, L: float, constants: Constants
    ) -> Mapping[str, Any]:
        """Return the estimator's parameters, such as its batch, in the theorem's schedule."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the schedule of theorem 3.1 of shen2019.

        Raises
        ------
        RefusedError
            If epsilon > L D (the weight would exceed 1) or a constant is missing.
        """
        L, D, delta = cls.schedule_constants(constants, "L", "D", "delta")
        if epsilon > L * D:
            raise RefusedError(
                f"epsilon={epsilon:g} must be at most L D = {L * D:.6g} (smoothness times "
                f"diameter), as the weight epsilon/(L D) in the schedule of {cls.name} cannot "
                "exceed 1."
            )
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(L * delta / epsilon**2)),
            step=epsilon / (L * D),
            **cls.estimator_parameters(epsilon, L, constants),
        )


class NFWUSG(NFWU):
    """Normalised Frank-Wolfe with mini-batch gradients.

    Normalised Frank-Wolfe updates with plain mini-batches (SFW).
    """

    name = "nfwu-sg"
    source = "shen2019 algorithm 1 with GE 1"
    counts = "T iterations: SFO ST, LO T"
    requires = frozenset({"batch", "lo"})
    estimator_class = SG

    @classmethod
    def estimator_parameters(cls, epsilon: float, L: float, constants: Constants) -> dict[str, int]:
        """Return the batch S = 4 sigma^2/epsilon^2."""
        (sigma2,) = cls.schedule_constants(constants, "sigma2")
        return {"batch": max(1, round_up(4.0 * sigma2 / epsilon**2))}


@dataclass(frozen=True, kw_only=True)
class EpochNFWU(NFWU):
    """Base class of normalised Frank-Wolfe updates with a full gradient every p iterations."""

    counts = "T iterations: FO ceil(T/p), SFO n ceil(T/p) + 2S(T - ceil(T/p)), LO T"
    requires = frozenset({"gradient", "difference", "lo"})

    period: int = integer(MISSING, "p, iterations between full gradients")


class NFWUSVRG(EpochNFWU):
    """Normalised Frank-Wolfe with SVRG gradients.

    Normalised Frank-Wolfe updates with SVRG estimates (SVRFW).
    """

    name = "nfwu-svrg"
    source = "shen2019 algorithm 1 with GE 2"
    estimator_class = SVRG

    @classmethod
    def estimator_parameters(cls, epsilon: float, L: float, constants: Constants) -> dict[str, int]:
        """Return the batch S = 4 n^(2/3) and the period p = n^(1/3)."""
        n = constants.n
        return {"batch": round_up(4.0 * n ** (2 / 3)), "period": floor_or_one(n ** (1 / 3))}


class NFWUSPIDERG(EpochNFWU):
    """Normalised Frank-Wolfe with SPIDER gradients."""

    name = "nfwu-spiderg"
    source = "shen2019 algorithm 1 with GE 3"
    estimator_class = SPIDERG

    @classmethod
    def estimator_parameters(cls, epsilon: float, L: float, constants: Constants) -> dict[str, int]:
        """Return the batch S = 4 sqrt n and the period p = sqrt n."""
        root = math.sqrt(constants.n)
        return {"batch": round_up(4.0 * root), "period": floor_or_one(root)}


class SnapshotHessianNFWU(EpochNFWU):
    """Base class of normalised Frank-Wolfe updates that use component Hessians at the snapshot."""

    counts = (
        "T iterations, E = ceil(T/p): FO E, SFO nE + 2S(T-E), SSO nE, HVP (n+S)(T-E), LO T "
        "(component Hessians at the snapshot are evaluated once an epoch and kept)"
    )
    requires = frozenset({"gradient", "difference", "hessian", "lo"})


class NFWUCASVRG(SnapshotHessianNFWU):
    """Normalised Frank-Wolfe with curvature-aided SVRG gradients."""

    name = "nfwu-casvrg"
    source = "shen2019 algorithm 1 with GE 4"
    estimator_class = CASVRG

    @classmethod
    def estimator_parameters(cls, epsilon: float, L: float, constants: Constants) -> dict[str, int]:
        """Return the period p and the batch size S = n/p of the theorem's schedule.

        p = L^.8 L2^-.4 n^.2 epsilon^-.4. For epsilon <= L^2/(L2 n^2): S = 1, p = L/sqrt(L2
        epsilon).
        """
        n, L2 = constants.n, cls.schedule_constants(constants, "L2_ms")[0]
        if epsilon <= L**2 / (L2 * n**2):
            return {"batch": 1, "period": floor_or_one(L / math.sqrt(L2 * epsilon))}
        p = floor_or_one(L**0.8 * L2**-0.4 * n**0.2 * epsilon**-0.4)
        return {"batch": round_up(n / p), "period": p}


class NFWUCASPIDERG(SnapshotHessianNFWU):
    """Normalised Frank-Wolfe with curvature-aided SPIDER gradients."""

    name = "nfwu-caspiderg"
    source = "shen2019 algorithm 1 with GE 5"
    estimator_class = CASPIDERG

    @classmethod
    def estimator_parameters(cls, epsilon: float, L: float, constants: Constants) -> dict[str, int]:
        """Return the period p and the batch size S = 4n/(3p) of the theorem's schedule.

        p = L L2^-.5 n^.25 epsilon^-.5. For epsilon <= L^2/(L2 n^1.5): S = ceil(4/3), p = (L^2/(L2
        epsilon))^(2/3).
        """
        n, L2 = constants.n, cls.schedule_constants(constants, "L2_ms")[0]
        if epsilon <= L**2 / (L2 * n**1.5):
            p = floor_or_one((L**2 / (L2 * epsilon)) ** (2 / 3))
            return {"batch": round_up(4 / 3), "period": p}
        p = floor_or_one(L * L2**-0.5 * n**0.25 * epsilon**-0.5)
        return {"batch": round_up(4 * n / (3 * p)), "period": p}


# --- estimates without epochs: pfbench's schedules, which make condition (9) true ---------------


@dataclass(frozen=True, kw_only=True)
class LooplessNFWU(NFWU):
    """Base class of normalised Frank-Wolfe updates with full gradients at random iterations."""

    counts = "T iterations, R heads of T-1 coins: FO 1 + R, SFO n + nR + 2S(T-1-R), LO T"
    requires = frozenset({"gradient", "difference", "lo"})
    schedule_parameters = NFWU.schedule_parameters | {"refresh"}

    refresh: float = positive(MISSING, "q, chance of a full gradient", upper=1.0)


class NFWUPAGE(LooplessNFWU):
    """Normalised Frank-Wolfe with PAGE gradients."""

    name = "nfwu-page"
    source = "shen2019 algorithm 1 with the estimate of Li, Bao, Zhang, Richtarik 2021"
    estimator_class = PAGE

    @classmethod
    def estimator_parameters(cls, epsilon: float, L: float, constants: Constants) -> dict[str, Any]:
        """Return the chance of a full gradient, q = min(1, sqrt(8/n)), and batch S = 4(1-q)/q.

        The squared error is at most (1-q) epsilon^2/(qS).
        """
        q = min(1.0, math.sqrt(8.0 / constants.n))
        return {"batch": max(1, round_up(4.0 * (1.0 - q) / q)), "refresh": q}


class NFWULSVRG(LooplessNFWU):
    """Normalised Frank-Wolfe with loopless SVRG gradients."""

    name = "nfwu-lsvrg"
    source = "shen2019 algorithm 1 with the estimate of Kovalev, Horvath, Richtarik 2020"
    estimator_class = LSVRG

    @classmethod
    def estimator_parameters(cls, epsilon: float, L: float, constants: Constants) -> dict[str, Any]:
        """Return the chance q = min(1, (32/n)^(1/3)) of a snapshot, batch S = 4(1-q)(2-q)/q^2.

        S is four times the mean square of the snapshot's age.
        """
        q = min(1.0, (32.0 / constants.n) ** (1 / 3))
        return {"batch": max(1, round_up(4.0 * (1.0 - q) * (2.0 - q) / q**2)), "refresh": q}


@dataclass(frozen=True, kw_only=True)
class NFWUSTORM(NFWU):
    """Normalised Frank-Wolfe with STORM gradients."""

    name = "nfwu-storm"
    source = "shen2019 algorithm 1 with the estimate of Cutkosky, Orabona 2019"
    counts = "T iterations: SFO b0 + 2S(T-1), LO T; b0 = S without snapshot"
    requires = frozenset({"batch", "lo"})
    schedule_parameters = NFWU.schedule_parameters | {"alpha", "snapshot"}
    estimator_class = STORM

    alpha: float = positive(MISSING, "alpha, weight of the newest gradient, in (0, 1]", upper=1.0)
    snapshot: int | None = integer(None, "b0, batch of the first estimate; S if not given")

    @classmethod
    def estimator_parameters(cls, epsilon: float, L: float, constants: Constants) -> dict[str, Any]:
        """Return the weight epsilon/sigma, batch 8 sigma/epsilon, first batch 4 sigma^2/epsilon^2.

        The weight alpha of the newest gradient is at most 1.

        The first batch has the size b0. With steps of length epsilon/L, the squared error is at
        most max(sigma^2/b0, 2 epsilon sigma/S).
        """
        (sigma2,) = cls.schedule_constants(constants, "sigma2")
        ratio = math.sqrt(sigma2) / epsilon
        return {
            "batch": max(1, round_up(8.0 * ratio)),
            "snapshot": max(1, round_up(4.0 * ratio**2)),
            "alpha": min(1.0, 1.0 / ratio) if ratio else 1.0,
        }
