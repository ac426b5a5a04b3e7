"""PAGE, L-SVRG, ZeroSARAH, STORM and MARS: gradient and proximal steps without epochs.

Notation: eta the step, b the batch, p the chance of a full gradient, T iterations, h0 = F(x_0) -
inf F.

    for t = 0 .. T-1:
        g_t = estimate at x_t
        x_{t+1} = prox_{eta h}(x_t - eta g_t)
    output: uniform among x_0 .. x_{T-1}

Schedules. Suppose that the sum over t of E|g_t - grad f(x_t)|^2 is at most c^2 L^2 times the sum of
the squared step lengths. Then descent along g_t gives a mean E|grad f|^2 <= 2 h0/(eta T) if (eta L
c)^2 + eta L <= 1; the largest such step has eta L = 2/(1 + sqrt(1 + 4 c^2)). The c of each
estimator follows from its conditional error. pfbench derives the steps and T; they are not those of
a paper.
"""

import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pfbench.algorithms.base import Algorithm, round_up
from pfbench.algorithms.guarantee import gradient_square_guarantee, mapping_square_guarantee
from pfbench.algorithms.proximal import COMPOSITE, SMOOTH, ProximalMethod
from pfbench.base.constants import Constants
from pfbench.base.errors import RefusedError
from pfbench.base.parameters import integer, nonnegative, one_of_values, parameter, positive
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State
from pfbench.estimators.base import Estimator
from pfbench.estimators.epochs import LSVRG, PAGE
from pfbench.estimators.gradient_tables import ZeroSARAH
from pfbench.estimators.momentum import MARS
from pfbench.points import inner

_SQUARED = gradient_square_guarantee(is_squared=True)


def page_parameters(n: int) -> dict[str, Any]:
    """Return the batch size b = sqrt n, rounded up, and the probability p = b/(n + b) of PAGE."""
    b = round_up(math.sqrt(n))
    return {"batch": b, "refresh": b / (n + b)}


def page_error_constant(batch: int, refresh: float) -> float:
    """Return (1-p)/(pb), the constant in PAGE's error bound for batch size b and probability p.

    The batch b is `batch`, and the probability p is `refresh`. The module docstring calls the
    constant c^2.
    """
    return (1.0 - refresh) / (refresh * batch)


def lsvrg_error_constant(batch: int, refresh: float) -> float:
    """Return the constant in the bound of L-SVRG's squared errors.

    It is c^2 = 2(1-p)(2-p)/(p^2 b), with the batch b and the probability p = `refresh`, from E y_t
    <= (1 - p/2) y_{t-1} + ((1-p)(2-p)/p) |x_t - x_{t-1}|^2 for y_t = |x_t - w|^2.
    """
    return 2.0 * (1.0 - refresh) * (2.0 - refresh) / (refresh**2 * batch)


def table_entry_refresh_probability(n: int, batch: int) -> float:
    """Return the probability that a random batch of components contains a given component."""
    return 1.0 - (1.0 - 1.0 / n) ** batch


def zerosarah_error_constant(n: int, batch: int, lam: float) -> float:
    """Return the constant in ZeroSARAH's bound of squared gradient errors, for a filled table.

    The module docstring calls the constant c^2. c^2 = (2/(ab)) (1 + 2 lam^2 (1-q)(2-q)/q^2) with a
    = lam (2 - lam). q is the probability that a batch replaces a given table entry.
    """
    q, a = table_entry_refresh_probability(n, batch), lam * (2.0 - lam)
    return 2.0 / (a * batch) * (1.0 + 2.0 * lam**2 * (1.0 - q) * (2.0 - q) / q**2)


def max_step_schedule(error_constant: float, L: float, h0: float, epsilon: float) -> dict[str, Any]:
    """Return step and number of iterations for the constant in a bound of gradient errors.

    `error_constant` is the constant c^2 of the module's bound. The step eta is the largest that the
    bound allows. The number T of iterations is the least with 2 h0/(eta T) <= epsilon^2.
    """
    step = 2.0 / (L * (1.0 + math.sqrt(1.0 + 4.0 * error_constant)))
    return {"step": step, "iterations": max(1, round_up(2.0 * h0 / (step * epsilon**2)))}


@dataclass(frozen=True, kw_only=True)
class LooplessMethod(ProximalMethod):
    """Base class of proximal methods whose estimator takes a full gradient at random iterations."""

    counts = "T iterations, R heads of T-1 coins: FO 1 + R, SFO n + nR + 2b(T-1-R)"
    requires = frozenset({"gradient", "difference"}) | SMOOTH
    schedule_parameters = ProximalMethod.schedule_parameters | {"refresh"}
    guarantee = _SQUARED
    estimator_class: ClassVar[type[Estimator]] = PAGE

    batch: int = integer(MISSING, "b, drawn uniformly with replacement")
    refresh: float = positive(MISSING, "p, chance of a full gradient", upper=1.0)


class PAGEMethod(LooplessMethod):
    """PAGE, unconstrained: recursive differences, renewed by a coin."""

    name = "page"
    source = "Li, Bao, Zhang, Richtarik 2021, algorithm 1"

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return PAGE for accuracy epsilon: batch b = sqrt n, probability b/(n + b), step 0.618/L.

        Then c = 1, and the number T of iterations is the least with 2 h0/(eta T) <= epsilon^2.
        """
        L, h0 = cls.schedule_constants(constants, "L", "delta")
        sizes = page_parameters(constants.n)
        return cls.from_schedule(
            overrides, **sizes, **max_step_schedule(page_error_constant(**sizes), L, h0, epsilon)
        )


class ProxPAGE(LooplessMethod):
    """PAGE with proximal steps."""

    name = "prox-page"
    source = "Li, Bao, Zhang, Richtarik 2021, its estimate in proximal steps"
    counts = f"{LooplessMethod.counts}, PO T"
    requires = frozenset({"gradient", "difference"}) | COMPOSITE
    guarantee = mapping_square_guarantee("1/(4 L)", is_squared=True)

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon: batch b = sqrt n, probability p = b/(n + b).

        The step is 1/(4L). T is the least with 16 L h0/T <= epsilon^2. The left side bounds
        E|G_eta|^2. Apply the three-point inequality twice: at x_{t+1} against the exact step, and
        at the exact step against x_t. Then F decreases at least by (1/(2 eta) - L) eta^2 |G|^2 +
        (1/(2 eta) - L/2) |x_{t+1} - x_t|^2 - eta |e_t|^2/2. This needs c^2 <= 12, and here c = 1.
        """
        L, h0 = cls.schedule_constants(constants, "L", "delta")
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(16.0 * L * h0 / epsilon**2)),
            step=1.0 / (4.0 * L),
            **page_parameters(constants.n),
        )


class LSVRGMethod(LooplessMethod):
    """Loopless SVRG for non-convex f, unconstrained."""

    name = "lsvrg"
    source = "Kovalev, Horvath, Richtarik 2020, L-SVRG; the coin is flipped before the step"
    estimator_class = LSVRG

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with batch n^(2/3), and snapshot probability min(1, 2 n^(-1/3)).

        With these, c <= 1.
        """
        L, h0 = cls.schedule_constants(constants, "L", "delta")
        n = constants.n
        sizes: dict[str, Any] = {
            "batch": round_up(n ** (2 / 3)),
            "refresh": min(1.0, 2.0 * n ** (-1 / 3)),
        }
        return cls.from_schedule(
            overrides, **sizes, **max_step_schedule(lsvrg_error_constant(**sizes), L, h0, epsilon)
        )


@dataclass(frozen=True, kw_only=True)
class ZeroSARAHMethod(ProximalMethod):
    """ZeroSARAH, unconstrained: recursive differences, corrected by a table of gradients.

    With table=zero it queries no full gradient.
    """

    name = "zerosarah"
    source = "Li, Hanzely, Richtarik 2021, algorithm 2"
    counts = "T iterations: SFO n + 2b(T-1); table=zero: SFO b + 2b(T-1)"
    requires = frozenset({"table"}) | SMOOTH
    schedule_parameters = ProximalMethod.schedule_parameters | {"table_weight"}
    guarantee = _SQUARED

    batch: int = integer(MISSING, "b, drawn uniformly with replacement")
    table_weight: float = positive(MISSING, "lambda, weight of the table's mean", upper=1.0)
    table: str = one_of_values("full", "initial table: gradients, or zeros", ("full", "zero"))

    @property
    def estimator(self) -> ZeroSARAH:
        """ZeroSARAH gradient estimator."""
        return ZeroSARAH(self.batch, self.table_weight, filled=self.table == "full")

    @property
    def asks(self) -> frozenset[str]:
        """Oracles that a run queries: those in `requires`, but only batches if table=zero.

        The method then keeps the table itself.
        """
        return self.requires if self.table == "full" else frozenset({"batch"}) | SMOOTH

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with a batch of sqrt n components.

        The table weight is q/2, where q = 1 - (1 - 1/n)^b is the probability that a batch of b =
        sqrt n replaces a given table entry. With these parameters, c is about 2.

        Raises
        ------
        RefusedError
            For a table of zeros, whose bound needs the mean of all |grad f_i(x_0)|^2.
        """
        if overrides.get("table") == "zero":
            raise RefusedError(
                f"the schedule of {cls.name} needs a table that is filled with the gradients at "
                "the start point: leave out table=zero, or give all parameters explicitly."
            )
        L, h0 = cls.schedule_constants(constants, "L", "delta")
        n, b = constants.n, round_up(math.sqrt(constants.n))
        lam = table_entry_refresh_probability(n, b) / 2.0
        schedule = max_step_schedule(zerosarah_error_constant(n, b, lam), L, h0, epsilon)
        return cls.from_schedule(overrides, batch=b, table_weight=lam, **schedule)


@dataclass(frozen=True, kw_only=True)
class MARSMethod(ProximalMethod):
    """MARS, unconstrained: momentum with a scaled correction."""

    name = "mars"
    source = "Shulgin, Gadaev, Khirirat, Richtarik 2026, algorithm 1"
    counts = "T iterations: SFO b0 + 2b(T-1)"
    requires = frozenset({"batch"}) | SMOOTH
    schedule_parameters = frozenset()

    batch: int = integer(MISSING, "b, drawn uniformly with replacement")
    alpha: float = positive(MISSING, "beta, weight of the newest gradient, in (0, 1]", upper=1.0)
    gamma: float = nonnegative(MISSING, "gamma, scale of the correction: 0 heavy ball, 1 STORM")
    snapshot: int | None = integer(None, "b0, the first batch; b if not given")

    @property
    def estimator(self) -> MARS:
        """MARS gradient estimator."""
        return MARS(self.batch, self.alpha, self.snapshot, self.gamma)


# --- with steps by the gradients that were seen ---------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StormMethod(Algorithm):
    """STORM with the steps of its source, unconstrained: one component a step.

    STORM with one component per step; step sizes fall as the sum of squared gradients grows.

    The source has eta_t = k/(w + G_0^2 + .. + G_t^2)^(1/3), G_t = |grad f_i(x_t)| of the component
    i drawn for x_t, and a_{t+1} = c eta_t^2. Here k = step w^(1/3) and c = alpha/step^2, so that
    step is the largest eta and alpha the largest a.

    for t = 0 .. T-1:
        draw i;  d_t = grad f_i(x_t) + (1 - a_t)(d_{t-1} - grad f_i(x_{t-1})), d_0 = grad f_i(x_0)
        r = (w/(w + G_0^2 + .. + G_t^2))^(1/3);  a_{t+1} = alpha r^2
        x_{t+1} = x_t - step r d_t
    """

    name = "storm"
    source = "Cutkosky, Orabona 2019, algorithm 1"
    counts = "T iterations: SFO 1 + 2(T-1)"
    requires = frozenset({"batch"}) | SMOOTH
    anytime = True
    schedule_parameters = frozenset({"iterations", "step", "alpha", "floor"})

    output: str = parameter("uniform", "uniform (the theorem's), or last")
    iterations: int = integer(MISSING, "T")
    step: float = positive(MISSING, "k/w^(1/3), the largest eta")
    alpha: float = positive(MISSING, "c k^2/w^(2/3), the largest a, in (0, 1]", upper=1.0)
    floor: float = positive(MISSING, "w, added to the sum of squared gradient norms")

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        floor, a, d, before = self.floor, 1.0, None, x
        for _ in range(self.iterations):
            i = ask.sample(rng, 1)
            g = ask.batch(i, x)
            d = g if d is None else g + (1.0 - a) * (d - ask.batch(i, before))
            floor += inner(g, g)
            r = math.cbrt(self.floor / floor)
            a = self.alpha * r * r
            before, x = x, ask.prox(x, d, self.step * r)
            yield State(x, before, d)
