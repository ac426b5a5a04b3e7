"""Published schedules: loopless frank wolfe."""

import math
from functools import partial

from pfbench.base.constants import Constants
from pfbench.claims.methods import schedules
from pfbench.claims.methods.schedules import CONSTANTS, WANTED, least, smoothness
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def balanced(asked: ScheduleRequest, c: float) -> Printed:
    """Return T and gamma of h0/(T gamma) + (1/2 + c) L D^2 gamma <= epsilon, gamma at most 1."""
    return schedules.constant_step(asked, smoothness(asked), 0.5 + c)


def of_spider(asked: ScheduleRequest) -> Printed:
    """Return b = q = sqrt n: q steps of b differences are off by L gamma D at most."""
    root = math.sqrt(asked.constants.n)
    return {"batch": root, "period": root, **balanced(asked, 1.0)}


def of_page(asked: ScheduleRequest) -> Printed:
    """Return b = sqrt n, p = b/(n + b)."""
    b, p = schedules.page_sizes(asked.constants.n)
    return {"batch": b, "refresh": p, **balanced(asked, 1.0)}


def of_lsvrg(asked: ScheduleRequest) -> Printed:
    """Return p = 2 n^(-1/3), at most 1, b = n^(2/3)/2; c^2 by the age's mean square."""
    n = asked.constants.n
    b, p = math.ceil(n ** (2.0 / 3.0) / 2.0 - 1e-9), min(1.0, 2.0 / n ** (1.0 / 3.0))
    age = (1.0 - p) * (2.0 - p) / p**2
    return {"batch": b, "refresh": p, **balanced(asked, math.sqrt(age / b))}


def of_zerosarah(asked: ScheduleRequest) -> Printed:
    """Return b = sqrt n, lambda = q/2, c^2 = 4/(ab) with a = q - q^2/4."""
    n = asked.constants.n
    b = math.ceil(math.sqrt(n) - 1e-9)
    q = 1.0 - (1.0 - 1.0 / n) ** b
    c = 2.0 / math.sqrt((q - q * q / 4.0) * b)
    return {"batch": b, "table_weight": q / 2.0, **balanced(asked, c)}


def of_storm(asked: ScheduleRequest) -> Printed:
    """Return alpha = L gamma D/sigma and b0 = 1/alpha, for the least T of the bound."""
    epsilon, c = asked.epsilon, asked.constants
    L, sigma = max(c.L_f, c.L_ms), math.sqrt(c.sigma2)

    def gamma(T: float) -> float:
        cubic = math.cbrt(2.0 * c.delta**2 / (L * sigma * c.D**3 * T * T))
        return min(1.0, cubic, math.sqrt(2.0 * c.delta / (L * T)) / c.D)

    def bound(T: float) -> float:
        s = gamma(T) * c.D
        return c.delta * c.D / (T * s) + L * c.D * s / 2.0 + c.D * math.sqrt(2.0 * L * s * sigma)

    T = least(bound, epsilon)
    step = gamma(T)
    alpha = min(1.0, L * step * c.D / sigma)
    return {"iterations": T, "step": step, "batch": 1, "alpha": alpha, "snapshot": 1.0 / alpha}


def of_one_sfw(asked: ScheduleRequest) -> Printed:
    """Return the least T with (4/3) D sqrt(2 sigma^2 + 8 L^2 D^2)/sqrt T + 2 L D^2/(T+1)."""
    c = asked.constants
    L = max(c.L_f, c.L_ms)
    size = math.sqrt(32.0 * c.D**2 * (c.sigma2 + 4.0 * (L * c.D) ** 2) / 9.0)
    T = least(lambda T: size / math.sqrt(T) + 2.0 * L * c.D**2 / (T + 1.0), asked.epsilon)
    return {"iterations": T}


def of_momentum(asked: ScheduleRequest) -> Printed:
    """Return the least T with (6/5) D (sigma + 2.06 L_f D) T^(-1/3) + 2 L_f D^2/(T+1)."""
    c = asked.constants
    size = 1.2 * c.D * (math.sqrt(c.sigma2) + 2.06 * c.L_f * c.D)
    T = least(lambda T: size / T ** (1 / 3) + 2.0 * c.L_f * c.D**2 / (T + 1.0), asked.epsilon)
    return {"iterations": T}


def delayed_sizes(c: Constants) -> tuple[int, float, int]:
    """Return b = sqrt n, p = b/(n + b) and s = 5/p."""
    b, p = schedules.page_sizes(c.n)
    return b, p, math.ceil(5.0 / p - 1e-9)


def page_convex(c: Constants, T: float) -> float:
    """Return ((s-1)(s-2) h0 + 4 C T)/((T+s-1)(T+s-2)), C = L D^2 (1/2 + sqrt((2-p)/(pb)))."""
    b, p, s = delayed_sizes(c)
    C = max(c.L_f, c.L_ms) * c.D**2 * (0.5 + math.sqrt((2.0 / p - 1.0) / b))
    return (c.delta * (s - 1) * (s - 2) + 4.0 * C * T) / ((T + s - 1) * (T + s - 2))


def of_page_convex(asked: ScheduleRequest) -> Printed:
    """Return the sizes, for the least T of `page_convex`."""
    b, p, s = delayed_sizes(asked.constants)
    T = least(partial(page_convex, asked.constants), asked.epsilon)
    return {"iterations": T, "batch": b, "refresh": p, "delay": s}


def of_spider_convex(asked: ScheduleRequest) -> Printed:
    """Return the least T of 10 L D^2/(T+1) <= epsilon."""
    c = asked.constants
    size = 10.0 * max(c.L_f, c.L_ms) * c.D**2
    return {"iterations": least(lambda T: size / (T + 1.0), asked.epsilon)}


DRAWN = tuple(
    ScheduleRequest(e, c, {"sampling": "importance"}) for e in (0.4, 0.03) for c in CONSTANTS
)
"""Where components are drawn by their L_i."""

COARSE = tuple(one for one in WANTED if one.epsilon > 0.1)
"""T of the cube of 1/epsilon is found where it is an exact number of a float."""

FINE = tuple(
    ScheduleRequest(e, c) for c in CONSTANTS for e in schedules.beside(partial(page_convex, c))
)
"""Where a term of that bound that is a little off gives another T."""

SCHEDULES = (
    PublishedSchedule(
        name="spider-fw",
        requests=(*WANTED, *DRAWN),
        schedule=of_spider,
        attribution="by a bound of pfbench; the rate is that of Yurtsever, Sra, Cevher 2019, "
        "whose constants were not read",
    ),
    PublishedSchedule(
        name="page-fw",
        requests=WANTED,
        schedule=of_page,
        attribution="by a bound of pfbench; the rate is that of Beznosikov, Dobre, Gidel 2024, "
        "whose constants were not read",
    ),
    PublishedSchedule(
        name="lsvrg-fw",
        requests=WANTED,
        schedule=of_lsvrg,
        attribution="by a bound derived here; published before by "
        "Nazykov et al. 2024, whose constants were not read",
    ),
    PublishedSchedule(
        name="zerosarah-fw",
        requests=WANTED,
        schedule=of_zerosarah,
        attribution="by a bound derived here; published before by "
        "Beznosikov, Dobre, Gidel 2024, whose constants were not read",
    ),
    PublishedSchedule(
        name="storm-fw",
        requests=COARSE,
        schedule=of_storm,
        attribution="by a bound derived here; published before by "
        "Zhang et al. 2020, whose constants were not read",
    ),
    PublishedSchedule(
        name="one-sfw",
        requests=COARSE,
        schedule=of_one_sfw,
        attribution="by a bound of pfbench; the rate is that of Zhang et al. 2020, whose "
        "constants were not read",
    ),
    PublishedSchedule(
        name="momentum-sfw",
        requests=COARSE,
        schedule=of_momentum,
        attribution="by a bound of pfbench; the rate is that of Mokhtari, Hassani, Karbasi 2020, "
        "whose constants were not read",
    ),
    PublishedSchedule(
        name="page-fw-convex",
        requests=(*COARSE, *FINE),
        schedule=of_page_convex,
        attribution="by a bound derived here; published before by "
        "Beznosikov, Dobre, Gidel 2024, whose constants were not read",
    ),
    PublishedSchedule(
        name="spider-fw-convex",
        requests=WANTED,
        schedule=of_spider_convex,
        attribution="by a bound of pfbench; the rate is that of Yurtsever, Sra, Cevher 2019, "
        "whose constants were not read",
    ),
)
