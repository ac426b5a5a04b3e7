"""Mean squared gradients of PAGE, L-SVRG and ZeroSARAH, and mean gaps of Frank-Wolfe.

The bounds are pfbench's. The bounds follow from the descent along g_t and from sum E|g_t - grad
f(x_t)|^2 <= c^2 L^2 sum E|x_t - x_{t-1}|^2, by the exact conditional laws of the errors. The
bounds hold for every step size that the lemma allows.
"""

import math
from functools import partial
from typing import Any

from pfbench.base.constants import Constants
from pfbench.claims.relatives import shared_instances
from pfbench.verification import Claim
from pfbench.verification.statements.bound import bound
from pfbench.verification.units import SQUARE

# --- steps ----------------------------------------------------------------------------------------


def compute_largest_valid_step(c2: float, c: Constants) -> float:
    """Return the largest step size eta with c2 eta^2 L_ms^2 + eta L_f <= 1."""
    return 2.0 / (c.L_f + math.sqrt(c.L_f**2 + 4.0 * c2 * c.L_ms**2))


def gradient_sq_bound(constants: Constants, parameters: Any) -> float:
    """Return 2 (f(x_0) - min f)/(step T), the bound of the mean E|grad f(x_t)|^2 over T steps."""
    return float(2.0 * constants.delta / (parameters.step * parameters.iterations))


def page_parameters(constants: Constants, *, T: int) -> dict[str, Any]:
    """Return the parameters of page: batch, probability, and 0.8 times the largest valid step.

    The batch is b = sqrt n, and the probability b/(n + b).

    The step is 0.8 times the largest allowed step for c = 1; with it runs vary less.
    """
    return {
        "iterations": T,
        **shared_instances.PAGED,
        "step": 0.8 * compute_largest_valid_step(1.0, constants),
    }


def lsvrg_parameters(constants: Constants, *, T: int) -> dict[str, Any]:
    """Return the parameters of lsvrg: probability 1/2, batch 16, and the largest valid step.

    Here c^2 = 2(1-p)(2-p)/(p^2 b).
    """
    c2 = 2.0 * 0.5 * 1.5 / (0.25 * 16)
    return {
        "iterations": T,
        "batch": 16,
        "refresh": 0.5,
        "step": compute_largest_valid_step(c2, constants),
    }


def zerosarah_parameters(constants: Constants, *, T: int) -> dict[str, Any]:
    """Return zerosarah's batch, its table weight, and the largest step that its bound allows."""
    q = 1.0 - (1.0 - 1.0 / shared_instances.N) ** shared_instances.BATCH
    lam = q / 2.0
    c2 = (2.0 + (1.0 - q) * (2.0 - q)) / (lam * (2.0 - lam) * shared_instances.BATCH)
    arguments = {"iterations": T, "batch": shared_instances.BATCH, "table_weight": lam}
    return {**arguments, "step": compute_largest_valid_step(c2, constants)}


def _gradient_sq_claim(name: str, parameters: Any, source: str) -> Claim:
    return Claim(
        name=f"relatives-smooth-{name}",
        source=source,
        statement="mean over t < T of E|grad f(x_t)|^2 <= 2 h0/(eta T) if (eta L c)^2 + eta L_f "
        "<= 1 (derived by pfbench)",
        check=bound(
            gradient_sq_bound,
            shared_instances.compute_squared_gradient_norm,
            parameters=partial(parameters, T=100),
            runs=(240, 320),
        ),
        instances=(shared_instances.SPACE,),
        algorithm=name,
        assumptions=("L_f", "L = L_ms"),
        schedule="eta of the lemma",
        expected_seconds=(3.0, 8.0),
        units={"of": SQUARE},
    )


SMOOTH_PAGE = _gradient_sq_claim(
    "page", page_parameters, "Li, Bao, Zhang, Richtarik 2021, the method; pfbench"
)
SMOOTH_LSVRG = _gradient_sq_claim(
    "lsvrg", lsvrg_parameters, "Kovalev, Horvath, Richtarik 2020; pfbench"
)
SMOOTH_ZEROSARAH = _gradient_sq_claim(
    "zerosarah", zerosarah_parameters, "Li, Hanzely, Richtarik 2021; pfbench"
)


# --- Frank-Wolfe ----------------------------------------------------------------------------------

SIZES: dict[str, tuple[dict[str, Any], float]] = {
    "spider-fw": ({"batch": 8, "period": 8}, math.sqrt(7 / 8)),
    "page-fw": (shared_instances.PAGED, 1.0),
    "lsvrg-fw": ({"batch": 8, "refresh": 0.5}, math.sqrt(0.5 * 1.5 / (0.25 * 8))),
    "zerosarah-fw": ({"batch": 8, "table_weight": 0.06}, 2.0 / math.sqrt(0.06 * 1.94 * 8)),
}
"""Sizes of each method, and the c of E|g_t - grad f(x_t)|^2 <= (c L gamma D)^2."""

_STEPS = 300


def frank_wolfe_parameters(constants: Constants, *, name: str) -> dict[str, Any]:
    """Return the batch sizes of the method `name`, and the step gamma with the smallest bound."""
    sizes, c = SIZES[name]
    gamma = math.sqrt(constants.delta / ((0.5 + c) * constants.L * constants.D**2 * _STEPS))
    return {**sizes, "iterations": _STEPS, "step": gamma}


def _frank_wolfe_claim(name: str, source: str) -> Claim:
    return Claim(
        name=f"relatives-gap-{name}",
        source=source,
        statement="mean over t < T of E V(x_t) <= h0/(T gamma) + (1/2 + c) L D^2 gamma, where "
        "E|g_t - grad f(x_t)|^2 <= (c L gamma D)^2 (derived by pfbench)",
        check=bound(
            partial(shared_instances.mean_gap_bound, c=SIZES[name][1]),
            "fw_gap",
            parameters=partial(frank_wolfe_parameters, name=name),
        ),
        instances=(shared_instances.BALL,),
        algorithm=name,
        assumptions=("L_f", "L = L_ms", "a compact set"),
        schedule="gamma = sqrt(h0/((1/2 + c) L D^2 T))",
        expected_seconds=(5.0, 8.0),
    )


GAPS = tuple(
    _frank_wolfe_claim(name, source)
    for name, source in (
        ("spider-fw", "Yurtsever, Sra, Cevher 2019, the method; pfbench"),
        ("page-fw", "Li, Bao, Zhang, Richtarik 2021; Beznosikov, Dobre, Gidel 2024; pfbench"),
        ("lsvrg-fw", "Kovalev, Horvath, Richtarik 2020, the estimate; pfbench"),
        ("zerosarah-fw", "Li, Hanzely, Richtarik 2021, the estimate; pfbench"),
    )
)
