"""Proximal steps along a gradient estimate: full gradient, SG, SVRG, SAGA, SAG or SPIDER.

Notation: eta the step, h the penalty or the indicator of the set, T iterations, b the batch, m or p
the epoch length, h0 = F(x_0) - inf F.

    for t = 0 .. T-1:
        g_t = estimate at x_t
        x_{t+1} = prox_{eta h}(x_t - eta g_t)
    output: uniform among x_0 .. x_{T-1}

Without a set and a penalty, the proximal map is the identity, and no oracle call is counted for it.
The smooth forms are the same methods, but refuse problems with a set or a penalty. The schedules of
Reddi et al. and of Li & Li bound E|G_eta|^2 by epsilon, where G_eta is the gradient mapping. Those
of the gradient method and of wang2019 bound |G|.
"""

import math
from dataclasses import MISSING, dataclass
from typing import Any, Self

from pfbench.algorithms.base import floor_or_one, round_up
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.guarantee import (
    Guarantee,
    gradient_square_guarantee,
    mapping_square_guarantee,
)
from pfbench.base.checks import check_integer
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, parameter, positive
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point
from pfbench.estimators.epochs import SG, SPIDERG, SVRG, FullGradient
from pfbench.estimators.gradient_tables import SAG, SAGA

COMPOSITE = frozenset({"prox"})
SMOOTH = frozenset({"prox", "smooth"})


@dataclass(frozen=True, kw_only=True)
class ProximalMethod(EstimatorAlgorithm):
    """Base class of methods with proximal steps along a gradient estimate."""

    output: str = parameter("uniform", "uniform (the theorem's), or last")
    iterations: int = integer(MISSING, "T")
    step: float = positive(MISSING, "eta")

    @property
    def sampler_asks(self) -> frozenset[str]:
        """Oracles that a run queries if the problem is a sampler, which has no components.

        They are those of `asks`; the online form needs no full gradient, as a sampler has none.
        """
        online = getattr(self, "snapshot", None) is not None
        return self.asks - {"gradient"} if online else self.asks

    def move(self, ask: AlgorithmOracles, x: Point, g: Gradient, t: int) -> Point:
        """Return the next iterate: a proximal step from x along the estimate g."""
        return ask.prox(x, g, self.step)


# --- the gradient, and mini-batches -----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ProxGD(ProximalMethod):
    """Proximal gradient descent with step 1/L_f."""

    name = "prox-gd"
    source = "Ghadimi, Lan, Zhang 2016; wang2019 table 1; lacoste2016 (bound)"
    counts = "T iterations: FO T, SFO nT, PO T"
    requires = frozenset({"gradient"}) | COMPOSITE
    deterministic = True
    guarantee = Guarantee(
        "min over k of |G| at lambda = 1/L", "epsilon", "least", "gradient_mapping_sq", 0.5
    )
    estimator_class = FullGradient

    output: str = parameter("last", "last, or uniform")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with step 1/L and T iterations.

        T is the least with sqrt(2 L h0/(T+1)) <= epsilon, where h0 is at least F(x_0) -
        min F. The left side bounds the least |G_{1/L}(x_k)| over k <= T.
        """
        L, h0 = cls.schedule_constants(constants, "L_f", "delta")
        iterations = max(1, round_up(2.0 * L * h0 / epsilon**2) - 1)
        return cls.from_schedule(overrides, iterations=iterations, step=1.0 / L)


class ProjectedGradient(ProxGD):
    """Projected gradient descent with step 1/L_f (li2019, qu2018)."""

    name = "projected-gradient"
    source = "li2019 section 5, batch projected gradient; prox-gd with the indicator of the set"
    requires = ProxGD.requires | {"set"}


@dataclass(frozen=True, kw_only=True)
class ProxSGD(ProximalMethod):
    """Proximal stochastic gradient descent with a constant batch (RSPG)."""

    name = "prox-sgd"
    source = "Ghadimi, Lan, Zhang 2016, RSPG; wang2019 table 1"
    counts = "T iterations: SFO bT, PO T"
    requires = frozenset({"batch"}) | COMPOSITE
    guarantee = mapping_square_guarantee("1/(2 L)")
    estimator_class = SG

    batch: int = integer(MISSING, "b")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with step 1/(2L), T iterations and batch b.

        T and b make both terms of the bound E|G|^2 <= 8 L h0/T + 6 sigma^2/b at most epsilon/2. The
        bound follows from the source's descent with alpha gamma - L gamma^2 = 1/(4L), and from
        |G|^2 <= 2|G~|^2 + 2|G~-G|^2.
        """
        L, h0, sigma2 = cls.schedule_constants(constants, "L", "delta", "sigma2")
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(16.0 * L * h0 / epsilon)),
            batch=max(1, round_up(12.0 * sigma2 / epsilon)),
            step=1.0 / (2.0 * L),
        )


# --- SVRG -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ProxSVRG(ProximalMethod):
    """Proximal SVRG for non-convex f.

    Proximal SVRG, whose snapshot is the last iterate of the previous epoch.
    """

    name = "prox-svrg"
    source = "Reddi, Sra, Poczos, Smola 2016 (NIPS), algorithm 1"
    counts = "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT, PO T"
    requires = frozenset({"gradient", "difference"}) | COMPOSITE
    guarantee = mapping_square_guarantee("1/(3 L)")

    batch: int = integer(MISSING, "b")
    period: int = integer(MISSING, "m, iterations between full gradients")

    @property
    def estimator(self) -> SVRG:
        """SVRG gradient estimator, which queries a batch even if x is the snapshot itself."""
        return SVRG(self.batch, self.period, at_snapshot=True)

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon: batch n^(2/3), period n^(1/3), step 1/(3L).

        T is the least with 18 L h0/T <= epsilon.

        The bound is on E|G_eta|^2.
        """
        L, h0 = cls.schedule_constants(constants, "L", "delta")
        n = constants.n
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(18.0 * L * h0 / epsilon)),
            step=1.0 / (3.0 * L),
            batch=round_up(n ** (2 / 3)),
            period=floor_or_one(n ** (1 / 3)),
        )


class SmoothSVRG(ProxSVRG):
    """SVRG for non-convex f, unconstrained.

    Its schedule is that of prox-svrg with h = 0.
    """

    name = "svrg"
    source = "Reddi, Hefny, Sra, Poczos, Smola 2016 (ICML); schedule of reddi2016nips"
    counts = "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT"
    requires = ProxSVRG.requires | SMOOTH


class ProjectedSVRG(ProxSVRG):
    """Projected SVRG with the parameters of qu2018: b = n^(2/3), m = n^(1/3), step 1/(3L)."""

    name = "projected-svrg"
    source = "qu2018 section 6, li2019 section 5; the method of reddi2016nips"
    requires = ProxSVRG.requires | {"set"}


@dataclass(frozen=True, kw_only=True)
class ProxSVRGPlus(ProxSVRG):
    """ProxSVRG+, a constant step for every batch.

    ProxSVRG+, with epochs of sqrt(b) steps.

    `snapshot` or `online` selects the online form, in which the reference gradient is the mean
    over a batch.
    """

    name = "prox-svrg-plus"
    source = "Li & Li, NeurIPS 2018"
    counts = (
        "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT, PO T (online: B instead of n, no FO)"
    )
    requires = ProxSVRG.requires | {"batch"}
    schedule_parameters = ProximalMethod.schedule_parameters | {"snapshot"}
    guarantee = mapping_square_guarantee("1/(6 L)")
    scale_dependence = "b = min(n, 1/epsilon)^(2/3) compares n with an accuracy, as in the source"

    snapshot: int | None = integer(None, "B, batch of the reference gradient (online form)")
    online: bool = parameter(
        False, "true: the schedule of the online form, B = min(n, 6 sigma^2/epsilon)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.online, bool):
            raise InputError(f"online={self.online!r} of {self.name} must be true or false.")

    @property
    def estimator(self) -> SVRG:
        """SVRG gradient estimator, whose reference gradient is full or the mean over a batch."""
        return SVRG(self.batch, self.period, self.snapshot, at_snapshot=True)

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with step 1/(6L) and the period sqrt(batch).

        The batch is b = min(n, 1/epsilon)^(2/3).

        T is the least with 36 L h0/T <= epsilon. Online B = min(n, 6 sigma^2/epsilon), where n
        stands for the full gradient. T and B follow from E|G|^2 <= 18 L h0/T + 3 sigma^2/(2B). One
        step decreases F by at least |G|^2/(18L) - |e|^2/(12L), where e is the error of the
        estimate, plus 5L/2 times its squared length. The last term covers the error that the epoch
        has accumulated if m^2 <= b.
        """
        L, h0 = cls.schedule_constants(constants, "L", "delta")
        best = round_up(min(constants.n, 1.0 / epsilon) ** (2 / 3))
        batch = check_integer("batch", overrides.get("batch", best), minimum=1)
        snapshot = None
        if overrides.get("online"):
            (sigma2,) = cls.schedule_constants(constants, "sigma2")
            B = max(1, round_up(6.0 * sigma2 / epsilon))
            snapshot = B if constants.n > B else None
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(36.0 * L * h0 / epsilon)),
            step=1.0 / (6.0 * L),
            batch=batch,
            period=floor_or_one(math.sqrt(batch)),
            snapshot=snapshot,
        )

    @classmethod
    def explicit(cls, constants: Constants, **overrides: Any) -> Self:
        """Return the algorithm with the given parameters; with online=true, `snapshot` is required.

        Raises
        ------
        InputError
            If a parameter is missing.
        """
        if overrides.get("online") and overrides.get("snapshot") is None:
            raise InputError(
                f"online=true of {cls.name} needs a batch size: give it as snapshot, or give "
                "epsilon, from which the schedule computes it."
            )
        return super().explicit(constants, **overrides)


# --- SAGA -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ProxSAGA(ProximalMethod):
    """Proximal SAGA for non-convex f."""

    name = "prox-saga"
    source = "Reddi, Sra, Poczos, Smola 2016 (NIPS), algorithm 2"
    counts = "T iterations: SFO n + 2bT, PO T"
    requires = frozenset({"table"}) | COMPOSITE
    guarantee = mapping_square_guarantee("1/(5 L)")
    estimator_class = SAGA

    batch: int = integer(MISSING, "b")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with batch n^(2/3) and step 1/(5 L_max).

        T is the least with 50 L h0/(3T) <= epsilon for L = L_max.

        The bound is on E|G_eta|^2.
        """
        L, h0 = cls.schedule_constants(constants, "L_max", "delta")
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(50.0 * L * h0 / (3.0 * epsilon))),
            step=1.0 / (5.0 * L),
            batch=round_up(constants.n ** (2 / 3)),
        )


class SmoothSAGA(ProxSAGA):
    """SAGA for non-convex f, unconstrained."""

    name = "saga"
    source = "Reddi, Sra, Poczos, Smola 2016 (CDC)"
    counts = "T iterations: SFO n + 2bT"
    requires = ProxSAGA.requires | SMOOTH
    guarantee = gradient_square_guarantee()

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with batch 1 and step 1/(3 L_max n^(2/3)).

        In the following, L is L_max.

        Then E|grad f|^2 <= 3 L n^(2/3) h0/(T (1 - 1/(12 n^(2/3)))).
        The source's bound lacks the last factor. With equal f_i, SAGA is gradient descent with this
        step, whose exact worst case needs that factor.
        """
        L, h0 = cls.schedule_constants(constants, "L_max", "delta")
        n = constants.n
        scale = 3.0 * L * n ** (2 / 3)
        missing = 1.0 - 1.0 / (12.0 * n ** (2 / 3))
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(scale * h0 / (missing * epsilon))),
            step=1.0 / scale,
            batch=1,
        )


@dataclass(frozen=True, kw_only=True)
class StochasticAverageGradient(ProximalMethod):
    """Stochastic average gradient (SAG), unconstrained."""

    name = "sag"
    source = "Schmidt et al. 2017, algorithm 1, with batches and a filled table"
    counts = "T iterations: SFO n + bT"
    requires = frozenset({"table"}) | SMOOTH
    schedule_parameters = frozenset()
    estimator_class = SAG

    output: str = parameter("last", "last (the theorem's), or uniform")
    batch: int = integer(MISSING, "b, drawn uniformly with replacement")


# --- SPIDER with a constant step ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ProxSpiderBoost(ProximalMethod):
    """Proximal SpiderBoost.

    Prox-SpiderBoost: SPIDER estimates with the constant step 1/(2L).

    `snapshot` selects the online form, in which the reference gradient is the mean over a batch.
    """

    name = "prox-spiderboost"
    source = "wang2019 algorithm 2"
    counts = (
        "T iterations: FO ceil(T/q), SFO n ceil(T/q) + 2S(T - ceil(T/q)), PO T "
        "(online: B instead of n, no FO)"
    )
    requires = frozenset({"gradient", "difference", "batch"}) | COMPOSITE
    schedule_parameters = ProximalMethod.schedule_parameters | {"snapshot"}
    guarantee = mapping_square_guarantee("1/(2 L)", is_squared=True)
    estimator_class = SPIDERG

    batch: int = integer(MISSING, "S")
    period: int = integer(MISSING, "q, iterations between reference gradients")
    snapshot: int | None = integer(None, "B, batch of the reference gradient (online form)")

    @classmethod
    def bound_constant(cls) -> float:
        """Return the constant c of the bound c L Delta/T on the squared gradient mapping."""
        return 20.0

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with period and batch sqrt n, step 1/(2L).

        T is the least with c L Delta/T <= epsilon^2.

        The left side bounds E|G_eta|^2; c is `bound_constant`.
        """
        L, delta = cls.schedule_constants(constants, "L", "delta")
        root = math.sqrt(constants.n)
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(cls.bound_constant() * L * delta / epsilon**2)),
            step=1.0 / (2.0 * L),
            batch=round_up(root),
            period=floor_or_one(root),
        )


class SpiderBoost(ProxSpiderBoost):
    """SpiderBoost, unconstrained.

    Its bound is E|grad f|^2 <= 4 L Delta/T.
    """

    name = "spiderboost"
    source = "wang2019 algorithm 1"
    counts = "T iterations: FO ceil(T/q), SFO n ceil(T/q) + 2S(T - ceil(T/q))"
    requires = ProxSpiderBoost.requires | SMOOTH

    @classmethod
    def bound_constant(cls) -> float:
        """Return the constant c = 4 of the bound E|grad f|^2 <= c L Delta/T of wang2019 theorem 1.

        pfbench derives it, as the paper prints O(.) only.
        """
        return 4.0
