"""What each relative is said to need, in order, beside what it is measured to need.

A schedule is made for an accuracy epsilon, and its run is cut where its theorem's promise is kept:
where the mean over the iterates so far, which an output drawn among them has in expectation, is at
most what is promised; for convex f where the last iterate is that low. On |x|^2/2 no step gains
more than descent says, so that the sum of what is measured is f(x_0) - min f over the step, for any
number of steps: the schedules bind, and a method that spends more, or steps less, needs more calls.

Delta shrinks as a power of epsilon, and is divided out: every bound for f that need not be convex
is O(Delta). What a step costs is the schedule's formula, so that exponents of n are by schedule.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from pfbench.algorithms.loopless import PAGEMethod
from pfbench.algorithms.loopless_frank_wolfe import StormFW
from pfbench.base.constants import Constants
from pfbench.claims.relatives.instances import gap, height, mapping, squared
from pfbench.problems.additive_noise import SeparableQuadratic
from pfbench.sets import Simplex
from pfbench.sets.whole import WholeSpace
from pfbench.verification import Claim, Evidence, Instance, Mutant, Trial, instance
from pfbench.verification.instruments.indefinite import Indefinite, noisy_ball
from pfbench.verification.scales import EXCESS, GAP, MAPPING, MAPPING_SQ, Order, complexity
from pfbench.verification.statistics import (
    MOST_SEEDS,
    Decision,
    Rows,
    all_of,
    by_schedule,
    decide_exponent,
    fitted,
)

# --- the instances --------------------------------------------------------------------------------


def bowl(
    epsilon: float = 0.3,
    n: int = 64,
    *,
    size: float,
    shrink: float = 1.0,
    noise: float = 0.0,
    spread: float = 0.5,
    bounded: bool = True,
) -> Indefinite:
    """Return |x|^2/2 on the unit ball of R^4 or on R^4, f(x_0) - min f = size epsilon^shrink.

    Components differ by slopes of length `noise`, and by +-spread |x|^2/2.
    """
    made = noisy_ball(4, n, 1.0, noise, spread)
    begin = np.full(4, math.sqrt(size * epsilon**shrink / 2.0))
    return replace(made, begin=begin, set=made.set if bounded else WholeSpace(4))


def leaning(epsilon: float = 0.1, n: int = 256, *, noise: float) -> Indefinite:
    """Return a slope of 2 epsilon over the unit ball of R^(n/2), from its highest point.

    Component gradients differ from it by `noise`, each pair along an axis of its own: an estimate
    shows which way is down once its error is about epsilon, and no earlier.
    """
    d = n // 2
    made = noisy_ball(d, n, 1.0, noise)
    up = np.full(d, 1.0 / math.sqrt(d))
    slope = 2.0 * epsilon
    return replace(made, A=np.zeros((d, d)), b=slope * up, begin=up, least=-slope)


def spread_out(epsilon: float = 0.06, n: int = 4) -> SeparableQuadratic:
    """Return |x - 1/d|^2/2 on the simplex, d = 2/epsilon, from a vertex; components are equal.

    After t linear minimisations t + 1 entries are positive at most, and f(x) - min f >= (1/(t+1) -
    1/d)/2, whatever the method.
    """
    d = math.ceil(2.0 / epsilon)
    vertex, ones = np.eye(d)[0], np.ones(d)
    return SeparableQuadratic(
        set=Simplex(d), begin=vertex, noise=np.zeros((n, d)), weights=ones, centre=ones / d
    )


# --- what is claimed ------------------------------------------------------------------------------

_ROOTS = (16, 64, 196, 576, 1600)
_LARGE = (100, 324, 1024, 3136, 10_000)
_CUBES = (126, 512, 1728, 5832, 13_824)
"""The n of a fit in n, such that roots hardly need rounding."""


def decades(largest: float, count: float = 2.0, points: int = 5) -> tuple[float, ...]:
    """Return accuracies over two decades, or over fewer where calls grow fast."""
    return tuple(largest * np.logspace(0.0, -count, points))


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is claimed of one method, and where it is fitted.

    Attributes
    ----------
    powers, in_n
        Powers of 1/epsilon by the kind of calls, and that of n in SFO.
    criterion
        What is at most epsilon, one of `scales`.
    of
        What is measured of a problem and a point, in the units of the promise.
    family
        The problems, by epsilon and n.
    epsilons
        The accuracies of the fits in 1/epsilon, over a decade or more.
    at
        The accuracy of the fit in n, and the n of it.
    last
        Whether the promise is of the last iterate, and not of the mean over all.
    """

    powers: Mapping[str, float]
    in_n: float = 0.0
    criterion: str
    of: Callable[[Any, Any], float]
    family: Instance
    epsilons: tuple[float, ...]
    at: tuple[float, tuple[int, ...]] = (0.0, ())
    last: bool = False

    @property
    def orders(self) -> dict[str, tuple[float, float]]:
        """The powers of 1/epsilon and of n by the kind of calls."""
        return {k: (power, self.in_n if k == "SFO" else 0.0) for k, power in self.powers.items()}

    @property
    def shrink(self) -> float:
        """Delta shrinks as this power of epsilon, and is divided out."""
        return 0.0 if self.last else float(self.family.parameters.get("shrink", 1.0))


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, made once for all seeds, with an accuracy.

    Attributes
    ----------
    trial, row
        What makes the runs, and what is claimed.
    epsilon
        The accuracy.
    sizes
        n, where it is not the family's own.
    """

    trial: Trial
    row: Row
    epsilon: float
    sizes: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def problem(self) -> Any:
        """The problem."""
        return self.row.family(self.epsilon, **self.sizes)

    @cached_property
    def constants(self) -> Constants:
        """Its constants."""
        known: Constants = self.problem.constants(self.problem.start())
        return known

    @cached_property
    def most(self) -> float:
        """What the claim's own method promises of its schedule, in the units of the measure."""
        promise = self.trial.own.promises
        return float(promise.bound(self.epsilon, self.constants) ** (1.0 / promise.power))

    def calls(self, seed: int) -> dict[str, float]:
        """Return the calls until the promise is kept, by kind; infinite if it never is."""
        algorithm = self.trial.scheduled(self.epsilon, self.constants)
        last, total = self.row.last, 0.0
        for t, (x, step) in enumerate(self.trial.moves(self.problem, algorithm, seed), 1):
            here = self.row.of(self.problem, step.state.x if last else x)
            total += here
            if (here if last else total / t) <= self.most:
                spent = step.counts()
                full = spent.sfo / self.problem.n
                return {"SFO": spent.sfo, "FO": full, "LO": spent.lo, "PO": spent.po}
        return dict.fromkeys(("SFO", "FO", "LO", "PO"), math.inf)


def measured(trial: Trial, *, row: Row) -> Evidence:
    """Fit the calls that keep the promise, in 1/epsilon, and where n is free in n."""
    x = 1.0 / np.array(row.epsilons)
    seeds = trial.seeds(MOST_SEEDS, "runs")
    cases = [Case(trial, row, one) for one in row.epsilons]
    made = Rows(lambda seed: [case.calls(seed) for case in cases], seeds)
    parts, claimed = dict[str, Decision](), dict[str, float]()
    for kind, power in row.powers.items():

        def counts(k: int, kind: str = kind) -> Any:
            return np.array([[one[kind] for one in line] for line in made(k)])

        known, name = -row.shrink * np.log(x), f"{kind} in 1/epsilon"
        fit = fitted(x, counts, known=known, least_decades=0.99)
        parts[name], claimed[name] = decide_exponent(fit, power), power
    runs, (epsilon, sizes) = len(made.made) * x.size, row.at
    if sizes:
        growing = [Case(trial, row, epsilon, {"n": n}) for n in sizes]
        grown = Rows(lambda seed: [case.calls(seed)["SFO"] for case in growing], seeds)
        name, fit = "SFO in n", fitted(sizes, grown, least_decades=1.99)
        parts[name], claimed[name] = by_schedule(decide_exponent(fit, row.in_n)), row.in_n
        runs += len(grown.made) * len(sizes)
    return Evidence(all_of(parts), claimed, runs)


# --- the rows -------------------------------------------------------------------------------------

_SMOOTH = partial(
    Row,
    powers={"SFO": 2.0},
    criterion=MAPPING,
    of=squared,
    family=instance(bowl, size=2.5, spread=0.25, bounded=False).called("bowl"),
    epsilons=decades(0.3),
)

_GAP = partial(
    Row,
    powers={"SFO": 2.0, "LO": 2.0},
    criterion=GAP,
    of=gap,
    family=instance(bowl, size=0.6).called("bowl"),
    epsilons=decades(0.3),
)

_UPDATES = partial(_GAP, family=instance(bowl, size=2.5).called("bowl"), epsilons=decades(0.05))

_CONVEX = partial(Row, criterion=EXCESS, of=height, last=True)

_SIMPLEX = partial(
    _CONVEX, family=instance(spread_out).called("simplex"), epsilons=decades(0.02, 1.6, 6)
)

_NOISE = instance(leaning, noise=1.0).called("slope")

_IN_GAP, _IN_SMOOTH, _IN_UPDATES = 0.03, 0.03, 0.005

ROWS: Mapping[str, tuple[Row, str]] = {
    "page": (_SMOOTH(in_n=1 / 2, at=(_IN_SMOOTH, _ROOTS)), "Li, Bao, Zhang, Richtarik 2021"),
    "lsvrg": (
        _SMOOTH(in_n=2 / 3, at=(_IN_SMOOTH, _CUBES)),
        "Kovalev et al. 2020, the estimate; derived here, the order of SVRG in Reddi et al. 2016",
    ),
    "zerosarah": (
        _SMOOTH(in_n=1 / 2, at=(2.0 * _IN_SMOOTH, _ROOTS)),
        "Li, Hanzely, Richtarik 2021",
    ),
    "spiderboost": (
        _SMOOTH(in_n=1 / 2, at=(_IN_SMOOTH, _ROOTS)),
        "wang2019 theorem 1, the older method beside these",
    ),
    "prox-page": (
        _SMOOTH(
            powers={"SFO": 2.0, "PO": 2.0},
            in_n=1 / 2,
            of=partial(mapping, over=4.0),
            family=instance(bowl, size=1.2).called("bowl"),
            at=(_IN_SMOOTH, _ROOTS),
        ),
        "Li et al. 2021, the estimate; derived here, the order of ProxSARAH in Pham et al. 2020",
    ),
    "spider-fw": (_GAP(in_n=1 / 2, at=(_IN_GAP, _ROOTS)), "Yurtsever, Sra, Cevher 2019"),
    "page-fw": (_GAP(in_n=1 / 2, at=(_IN_GAP, _ROOTS)), "Beznosikov, Dobre, Gidel 2024"),
    "lsvrg-fw": (
        _GAP(in_n=2 / 3, at=(_IN_GAP, _CUBES)),
        "Kovalev et al. 2020, the estimate; derived here, published before by Nazykov et al. 2024",
    ),
    "zerosarah-fw": (
        _GAP(in_n=1 / 2, at=(2.0 * _IN_GAP, _ROOTS)),
        "Li, Hanzely, Richtarik 2021, the estimate; derived here, published before by Beznosikov, "
        "Dobre, Gidel 2024, the second method",
    ),
    "svfw": (
        _GAP(in_n=2 / 3, at=(_IN_GAP, _CUBES)),
        "Reddi, Sra, Poczos, Smola 2016, the older method beside these",
    ),
    "storm-fw": (
        _GAP(
            powers={"SFO": 3.0, "LO": 3.0},
            family=instance(bowl, size=0.6, noise=0.06, spread=0.0).called("bowl"),
            epsilons=decades(0.3, 1.0),
        ),
        "Cutkosky, Orabona 2019, the estimate; derived here, published before by Zhang et al. 2020",
    ),
    "nfwu-page": (
        _UPDATES(in_n=1 / 2, at=(_IN_UPDATES, _LARGE)),
        "shen2019 algorithm 1 along Li, Bao, Zhang, Richtarik 2021; the rate is derived here",
    ),
    "nfwu-lsvrg": (
        _UPDATES(in_n=2 / 3, at=(_IN_UPDATES, _CUBES)),
        "shen2019 algorithm 1 along Kovalev, Horvath, Richtarik 2020; the rate is derived here",
    ),
    "nfwu-storm": (
        _UPDATES(
            powers={"SFO": 3.0, "LO": 2.0},
            family=instance(bowl, size=2.5, noise=0.06, spread=0.0).called("bowl"),
        ),
        "shen2019 algorithm 1 along Cutkosky, Orabona 2019; the rate is derived here",
    ),
    "nfwu-spiderg": (
        _UPDATES(in_n=1 / 2, at=(_IN_UPDATES, _LARGE)),
        "shen2019 theorem 3.1, the older method beside these",
    ),
    "ncgs-spider": (
        _SMOOTH(
            powers={"SFO": 1.0, "LO": 2.0},
            in_n=1 / 2,
            criterion=MAPPING_SQ,
            of=partial(mapping, over=1.0),
            family=instance(bowl, size=0.3, shrink=0.0).called("bowl"),
            at=(0.003, _ROOTS),
        ),
        "Lan 2020, corollary 7.13, as a formal development quotes it",
    ),
    "one-sfw": (
        _CONVEX(powers={"SFO": 2.0, "LO": 2.0}, family=_NOISE, epsilons=decades(0.1, 1.0)),
        "Zhang et al. 2020, the rate",
    ),
    "momentum-sfw": (
        _CONVEX(powers={"SFO": 3.0, "LO": 3.0}, family=_NOISE, epsilons=decades(0.15, 1.0)),
        "Mokhtari, Hassani, Karbasi 2020, the rate",
    ),
    "page-fw-convex": (
        _SIMPLEX(powers={"SFO": 1.0, "LO": 1.0}),
        "Li et al. 2021, the estimate; derived here, published before by Beznosikov et al. 2024",
    ),
    "spider-fw-convex": (
        _SIMPLEX(powers={"SFO": 2.0, "LO": 1.0}),
        "Yurtsever, Sra, Cevher 2019, the rate",
    ),
    "cgs-convex": (_SIMPLEX(powers={"FO": 0.5, "LO": 1.0}), "Lan, Zhou 2016"),
}
"""Each row and its source, by the method."""


def _claim(name: str, row: Row, source: str) -> Claim:
    told = ", ".join(f"{Order(*order)} {kind}" for kind, order in row.orders.items())
    mean = "in the mean, f convex" if row.last else "in the mean over the iterates"
    return Claim(
        name=f"relatives-table1-{name}",
        source=source,
        kind="rate",
        statement=f"{row.criterion} {mean} after {told}, in order",
        check=partial(measured, row=row),
        instances=(row.family,),
        algorithm=name,
        assumptions=("f convex",) if row.last else ("L = L_ms", "L_f"),
        schedule="theory, cut where its promise is kept",
        takes=(None, 15.0),
        orders=complexity(name, row.criterion, **row.orders),
    )


TABLE = {name: _claim(name, *row) for name, row in ROWS.items()}

CLAIMS = tuple(TABLE.values())


# --- planted faults -------------------------------------------------------------------------------


class GrowingBatch(PAGEMethod):
    """Draws a batch that grows as 1/epsilon."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Take sqrt n/epsilon components."""
        batch = math.ceil(math.sqrt(constants.n) / epsilon)
        return super().theory(epsilon, constants, **{"batch": batch, **given})


class SmallerSteps(StormFW):
    """Takes steps that fall as epsilon^3, and as many more of them."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Divide the steps by 1 + 1/(3 epsilon)."""
        made, short = super().theory(epsilon, constants, **given), 1.0 + 1.0 / (3.0 * epsilon)
        return replace(
            made, step=made.step / short, iterations=math.ceil(2.0 * short * made.iterations)
        )


MUTANTS = (
    Mutant.of("page-growing-batch", GrowingBatch, TABLE["page"]),
    Mutant.of("storm-fw-smaller-steps", SmallerSteps, TABLE["storm-fw"]),
)
