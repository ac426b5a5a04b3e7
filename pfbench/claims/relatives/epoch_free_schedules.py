"""Mean gaps and mean squared mappings under the schedules of methods without SVRG epochs.

The bounds are pfbench's, except those for sliding. They follow from a conditional error and the
descent in one step, by summation.

    storm-fw      h0/(T gamma) + L D^2 gamma/2 + D sqrt(2 L gamma D sigma), alpha = L gamma D/sigma
    nfwu-*        2 epsilon D, a step of epsilon/L, T = L h0/epsilon^2, E|e_t|^2 <= epsilon^2/4
    prox-page     16 L h0/T at eta = 1/(4L)
    ncgs-spider   16 L h0/N + 24 L eta, b = 10 T (Lan 2020, theorem 7.18)
    cgs-convex    15 L D^2/(2(k+1)(k+2)), with at most 9N(N+1) + N LO (Lan, Zhou 2016)
"""

import math
from functools import partial
from typing import Any

import numpy as np

from pfbench.algorithms.nfwu import NFWU, NFWULSVRG, NFWUPAGE, NFWUSTORM
from pfbench.base.constants import Constants
from pfbench.claims.relatives import shared_instances
from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.indefinite import noisy_ball, spread_on_simplex
from pfbench.verification.statements.bound import bound
from pfbench.verification.units import GRADIENT, NUMBER, SQUARE, VALUE, formula

# --- STORM ----------------------------------------------------------------------------------------


def storm_parameters(c: Constants, *, T: int) -> dict[str, Any]:
    """Return storm-fw's parameters for T iterations, with the step gamma that is best for large T.

    Here alpha = L gamma D/sigma and b0 = 1/alpha.
    """
    sigma = math.sqrt(c.sigma2)
    gamma = (2.0 * c.delta**2 / (c.L * sigma * c.D**3 * T * T)) ** (1.0 / 3.0)
    alpha = c.L * gamma * c.D / sigma
    arguments = {"iterations": T, "batch": 1, "step": gamma, "alpha": alpha}
    return {**arguments, "snapshot": math.ceil(1.0 / alpha)}


def storm_gap_bound(c: Constants, parameters: Any) -> float:
    """Return storm-fw's bound of the mean gap.

    It is h0/(T gamma) + L D^2 gamma/2 + D sqrt(2 L gamma D sigma).
    """
    gamma: float = parameters.step
    error = math.sqrt(2.0 * c.L * gamma * c.D * math.sqrt(c.sigma2))
    descent = c.delta / (parameters.iterations * gamma) + c.L * c.D**2 * gamma / 2.0
    return float(descent + c.D * error)


QUIET = make_instance(shared_instances.make_signed_curvature_problem, radius=1.0, spread=0.1)
"""Problem with so small a sigma that the bound is far below the first gap."""

STORM = Claim(
    name="relatives-gap-storm-fw",
    source="Cutkosky, Orabona 2019, the estimate; pfbench",
    statement="mean over t < T of E V(x_t) <= h0/(T gamma) + L D^2 gamma/2 + "
    "D sqrt(2 L gamma D sigma), alpha = L gamma D/sigma, b0 = 1/alpha (derived by pfbench)",
    check=bound(storm_gap_bound, "fw_gap", parameters=partial(storm_parameters, T=300)),
    instances=(QUIET,),
    algorithm="storm-fw",
    assumptions=("L = L_ms", "sigma^2", "a compact set"),
    schedule="gamma = (2 h0^2/(L sigma D^3 T^2))^(1/3)",
    expected_seconds=(3.0, 6.0),
)


# --- normalised updates ---------------------------------------------------------------------------

SMALL = 0.02
"""epsilon in units of sqrt(L h0)/0.3; sqrt(L h0) is near 0.3 here."""


def nfwu_parameters(c: Constants, *, kind: type[NFWU]) -> dict[str, Any]:
    """Return the parameters of an NFWU method from its schedule for one small accuracy epsilon.

    epsilon is `SMALL` sqrt(L h0)/0.3.
    """
    nfwu = kind.theory(SMALL * math.sqrt(c.L * c.delta) / 0.3, c)
    names = ("iterations", "step", "batch", "refresh", "alpha", "snapshot")
    return {name: getattr(nfwu, name) for name in names if hasattr(nfwu, name)}


def nfwu_gap_bound(c: Constants, parameters: Any) -> float:
    """Return 2 L D^2 step, the bound of the mean gap of an NFWU method with the given step size."""
    return float(2.0 * c.L * c.D**2 * parameters.step)


def _nfwu_gap_claim(kind: type[NFWU], source: str) -> Claim:
    return Claim(
        name=f"relatives-{kind.name}",
        source=source,
        statement="mean over t < T of E V(x_t) <= 2 epsilon D with steps of length epsilon/L, "
        "T = L h0/epsilon^2 and E|g_t - grad f(x_t)|^2 <= epsilon^2/4 (derived by pfbench)",
        check=bound(nfwu_gap_bound, "fw_gap", parameters=partial(nfwu_parameters, kind=kind)),
        instances=(shared_instances.BALL,),
        algorithm=kind.name,
        assumptions=("L = L_ms", "a compact set"),
        schedule="that of the method",
        expected_seconds=(3.0, 6.0),
    )


UPDATES = (
    _nfwu_gap_claim(NFWUPAGE, "shen2019 algorithm 1 along Li, Bao, Zhang, Richtarik 2021; pfbench"),
    _nfwu_gap_claim(
        NFWULSVRG, "shen2019 algorithm 1 along Kovalev, Horvath, Richtarik 2020; pfbench"
    ),
    _nfwu_gap_claim(NFWUSTORM, "shen2019 algorithm 1 along Cutkosky, Orabona 2019; pfbench"),
)


def compute_squared_error_limit(epsilon: float) -> float:
    """Return epsilon^2/4, the largest allowed mean squared error of the gradient estimates.

    The error is E|g_t - grad f(x_t)|^2.
    """
    return epsilon**2 / 4.0


def check_squared_error(trial: Trial, *, kind: type[NFWU]) -> Evidence:
    """Test that the mean squared error of the gradient estimates is at most epsilon^2/4 in runs."""
    (item,) = trial.claim.instances
    problem = item()
    c = problem.constants(problem.start())
    squared_error_limit = compute_squared_error_limit(SMALL * math.sqrt(c.L * c.delta) / 0.3)
    algorithm = trial.make(**nfwu_parameters(c, kind=kind))

    def ratio(seed: int) -> float:
        squares = [
            float(np.sum((step.estimate - problem.gradient(np.asarray(step.estimate_point))) ** 2))
            for step in trial.follow(problem, algorithm, seed=seed)
        ]
        return float(np.mean(squares)) / squared_error_limit

    looks = {"purpose": item.name, "batch": 10, "limit": trial.choose_by_effort(80, 160)}
    decision, runs = trial.decide_mean_sequentially(ratio, **looks)
    return Evidence(decision, {"ratio": 1.0}, runs)


def _error_claim(kind: type[NFWU]) -> Claim:
    return Claim(
        name=f"relatives-mse-{kind.name}",
        source="shen2019 (9), for the schedule of pfbench",
        kind="bound",
        statement="mean over t < T of E|g_t - grad f(x_t)|^2 <= epsilon^2/4 with steps of length "
        "epsilon/L (derived by pfbench)",
        check=partial(check_squared_error, kind=kind),
        instances=(shared_instances.BALL,),
        algorithm=kind.name,
        assumptions=("L = L_ms", "a compact set"),
        schedule="that of the method",
        expected_seconds=(1.5, 3.0),
        formulas=(formula(compute_squared_error_limit, SQUARE, epsilon=GRADIENT),),
    )


ERRORS = tuple(_error_claim(kind) for kind in (NFWUPAGE, NFWULSVRG, NFWUSTORM))


# --- mappings -------------------------------------------------------------------------------------


def prox_page_parameters(c: Constants, *, T: int) -> dict[str, Any]:
    """Return the parameters of prox-page: step 1/(4L), batch b = sqrt n, probability b/(n + b).

    With these, the constant c of the error is 1.
    """
    return {"iterations": T, **shared_instances.PAGED, "step": 1.0 / (4.0 * c.L)}


def prox_page_mapping_bound(c: Constants, parameters: Any) -> float:
    """Return the bound 4 (f(x_0) - min f)/(step T) of prox-page's mean squared gradient mapping."""
    return float(4.0 * c.delta / (parameters.step * parameters.iterations))


PROX = Claim(
    name="relatives-mapping-prox-page",
    source="Li, Bao, Zhang, Richtarik 2021, the estimate; pfbench",
    statement="mean over t < T of E|G_eta(x_t)|^2 <= 16 L h0/T with eta = 1/(4L) and c^2 <= 12 "
    "(derived by pfbench)",
    check=bound(
        prox_page_mapping_bound,
        partial(shared_instances.gradient_mapping_sq_with_multiple, smoothness_multiple=4.0),
        parameters=partial(prox_page_parameters, T=100),
    ),
    instances=(shared_instances.BALL,),
    algorithm="prox-page",
    assumptions=("L = L_ms",),
    schedule="eta = 1/(4L)",
    expected_seconds=(2.0, 4.0),
    units={"of": SQUARE},
)


SLIDING = Claim(
    name="relatives-mapping-ncgs-spider",
    source="Lan 2020, theorem 7.18, as a formal development quotes it",
    statement="mean over k <= N of E|G(x_k)|^2 <= 16 L h0/N + 24 L eta at lambda = 1/L with "
    "b = 10 T; L that of the mean square, draws uniform",
    check=bound(
        shared_instances.sliding_mapping_bound,
        partial(shared_instances.gradient_mapping_sq_with_multiple, smoothness_multiple=1.0),
        parameters=partial(shared_instances.sliding_parameters, steps=150),
    ),
    instances=(shared_instances.BALL,),
    algorithm="ncgs-spider",
    assumptions=("L = L_ms", "a compact set"),
    schedule="that of the theorem",
    expected_seconds=(3.0, 6.0),
    units={"of": SQUARE},
)


# --- sliding for convex f -------------------------------------------------------------------------

CONVEX = (
    make_instance(spread_on_simplex, d=10).with_title("simplex"),
    make_instance(noisy_ball, d=4, n=2, radius=1.0).with_title("ball"),
)


def convex_parameters(c: Constants, *, steps: int) -> dict[str, Any]:
    """Return the parameters of cgs-convex: N = `steps`, L_f and D."""
    return {"iterations": steps, "smoothness": c.L_f, "diameter": c.D}


def convex_suboptimality_bound(c: Constants, parameters: Any, t: int) -> float:
    """Return 15 L D^2/(2(t+1)(t+2)), the bound of f(x_t) - min f for cgs-convex."""
    return 15.0 * c.L_f * c.D**2 / (2.0 * (t + 1.0) * (t + 2.0))


def convex_lo_bound(c: Constants, parameters: Any) -> float:
    """Return 9N(N+1) + N, the bound of cgs-convex's LO count in N steps.

    The k-th step needs at most 6 beta D^2/eta = 18 k, and one more.
    """
    steps: int = parameters.iterations
    return 9.0 * steps * (steps + 1.0) + steps


def _convex_sliding_claim(subject: str, statement: str, check: Any, unit: Any) -> Claim:
    return Claim(
        name=f"relatives-{subject}-cgs-convex",
        source="Lan, Zhou 2016, as Lan 2020, section 7.2, has it; derived again by pfbench",
        statement=statement,
        check=check,
        instances=CONVEX,
        algorithm="cgs-convex",
        assumptions=("f convex", "L_f", "a compact set"),
        schedule="gamma = 3/(k+2), beta = 3L/(k+1), eta = L D^2/(k(k+1))",
        expected_seconds=(0.5, 1.0),
        units={"of": unit},
    )


HEIGHT = _convex_sliding_claim(
    "height",
    "f convex: f(y_k) - min f <= 15 L D^2/(2(k+1)(k+2)) for every k",
    bound(
        convex_suboptimality_bound,
        quadratics.suboptimality,
        statistic="every",
        parameters=partial(convex_parameters, steps=60),
    ),
    VALUE,
)

CALLS = _convex_sliding_claim(
    "calls",
    "N steps take at most 9N(N+1) + N LO",
    bound(convex_lo_bound, "lo", statistic="last", parameters=partial(convex_parameters, steps=60)),
    NUMBER,
)
