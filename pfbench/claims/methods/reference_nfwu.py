"""Published parameter schedules of normalised Frank-Wolfe updates (shen2019)."""

import math
from functools import partial

from pfbench.base.constants import Constants
from pfbench.claims.methods.reference_schedules import schedule_smoothness
from pfbench.verification.schedule_homogeneity import USUAL
from pfbench.verification.schedules import SMALLEST, Printed, PublishedSchedule, ScheduleRequest


def compute_printed_schedule(request: ScheduleRequest, *, estimator: str) -> Printed:
    """Return the parameters of NFWU from theorem 3.1 and table 1 of shen2019.

    The step is epsilon/(L D), and T = L Delta/epsilon^2. The batch S of table 1 is multiplied by a
    factor, so that condition (9) holds. The factors are 1, 4, 4, 1 and 4/3 for the estimators GE 1
    to 5. If table 1 has S = 1 for GE 5, S is 2, the smallest integer above 4/3.
    """
    epsilon, c = request.epsilon, request.constants
    L, n = max(c.L_f, c.L_ms), c.n
    S: float  # a whole number where only that is right
    if estimator == "sg":
        return compute_normalised_step_schedule(request, batch=4.0 * c.sigma2 / epsilon**2)
    if estimator == "svrg":
        S, p = 4.0 * n ** (2.0 / 3.0), n ** (1.0 / 3.0)
    elif estimator == "spiderg":
        S, p = 4.0 * math.sqrt(n), math.sqrt(n)
    elif estimator == "casvrg":
        small = n * n * c.L2_ms * epsilon <= L * L
        p = (
            L / math.sqrt(c.L2_ms * epsilon)
            if small
            else L**0.8 * n**0.2 / (c.L2_ms * epsilon) ** 0.4
        )
        S = 1 if small else n / math.floor(p)
    else:
        small = n**1.5 * c.L2_ms * epsilon <= L * L
        ratio = L * L / (c.L2_ms * epsilon)
        p = ratio ** (2.0 / 3.0) if small else math.sqrt(ratio) * n**0.25
        S = 2 if small else 4.0 * n / (3.0 * math.floor(p))
    return compute_normalised_step_schedule(request, batch=S, period=p)


def accuracies_at_size_switches(c: Constants) -> tuple[float, float]:
    """Return the two accuracies below which shen2019's table 1 has other formulas for S and p.

    S is the batch and p the period.

    The first is for the estimator GE 4, and the second for GE 5.
    """
    L = max(c.L_f, c.L_ms)
    return L * L / (c.L2_ms * c.n**2), L * L / (c.L2_ms * c.n**1.5)


def compute_normalised_step_schedule(
    request: ScheduleRequest, **batch_parameters: float
) -> Printed:
    """Return the iterations L h0/epsilon^2, the step epsilon/(L D) and the batch parameters.

    T and the step are those of theorem 3.1 of shen2019.
    """
    epsilon, c, L = request.epsilon, request.constants, schedule_smoothness(request)
    return {"iterations": L * c.delta / epsilon**2, "step": epsilon / (L * c.D), **batch_parameters}


def page_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of NFWU with PAGE: chance q = min(1, sqrt(8/n)), batch 4(1-q)/q."""
    q = min(1.0, (8.0 / request.constants.n) ** 0.5)
    return compute_normalised_step_schedule(request, refresh=q, batch=4.0 / q - 4.0)


def lsvrg_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of NFWU with loopless SVRG: probability q and batch S.

    They are q = min(1, (32/n)^(1/3)) and S = 4(1-q)(2-q)/q^2.
    """
    q = min(1.0, math.cbrt(32.0 / request.constants.n))
    return compute_normalised_step_schedule(
        request, refresh=q, batch=4.0 * (1.0 / q - 1.0) * (2.0 / q - 1.0)
    )


def storm_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of NFWU with STORM: weight alpha, batch S and first batch b0.

    They are alpha = min(1, epsilon/sigma), S = 8 sigma/epsilon and b0 = 4 sigma^2/epsilon^2.
    """
    epsilon, variance = request.epsilon, request.constants.sigma2
    return compute_normalised_step_schedule(
        request,
        alpha=min(1.0, epsilon / math.sqrt(variance)),
        batch=8.0 * math.sqrt(variance) / epsilon,
        snapshot=4.0 * variance / epsilon**2,
    )


WANTED = (
    *(ScheduleRequest(epsilon, c) for epsilon in (0.4, 0.03, 0.002) for c in USUAL),
    *(
        ScheduleRequest(near * switch, USUAL[1])
        for switch in accuracies_at_size_switches(USUAL[1])
        for near in (0.6, 1.7)
    ),
    *(ScheduleRequest(0.4, c) for c in SMALLEST),
)

SCHEDULES = {
    f"nfwu-{name}": PublishedSchedule(
        schedule, f"T and step of shen2019 theorem 3.1; {rest}", WANTED
    )
    for name, schedule, rest in (
        (
            "sg",
            partial(compute_printed_schedule, estimator="sg"),
            "S = 4 sigma^2/epsilon^2, from condition (9), is of pfbench",
        ),
        (
            "svrg",
            partial(compute_printed_schedule, estimator="svrg"),
            "p and S of table 1, S times 4 by pfbench, with which (9) holds",
        ),
        (
            "spiderg",
            partial(compute_printed_schedule, estimator="spiderg"),
            "p and S of table 1, S times 4 by pfbench, with which (9) holds",
        ),
        (
            "casvrg",
            partial(compute_printed_schedule, estimator="casvrg"),
            "p and S of section 4.1, the powers of L and L2 corrected by pfbench",
        ),
        (
            "caspiderg",
            partial(compute_printed_schedule, estimator="caspiderg"),
            "p and S of section 4.2, the powers of L and L2 corrected and S times 4/3 by pfbench",
        ),
        ("page", page_schedule, "q and S by a bound of pfbench"),
        ("lsvrg", lsvrg_schedule, "q and S by a bound of pfbench"),
        ("storm", storm_schedule, "alpha, S and b0 by a bound of pfbench"),
    )
}
