"""li2019 corollary 3: the gap inside an outer iteration, and (30), which implies the corollary."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pfbench.algorithms.sliding import CGS
from pfbench.claims.li2019 import shared_runs
from pfbench.runs.loop.steps import steps
from pfbench.verification import Claim, ClaimBroken, Evidence, Trial, make_instance
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios, stream
from pfbench.verification.instruments import quadratics
from pfbench.verification.statistics import best_if_all_hold_else_worst, decide_inequality
from pfbench.verification.units import VALUE, formula


def inner_gap_bound(L: float, D_squared: float, k: int) -> float:
    """Return 8 L D_squared/(k (k+1)), the bound of f(y_k) - min f in inner iteration k.

    D_squared bounds the squared distance of the start of the outer iteration to the minimiser.
    """
    return 8.0 * L * D_squared / (k * (k + 1.0))


_SHAPES = shared_runs.quadratics_by_minimiser_location(d=64, kappa=100.0)
_PULLS = {"steep vertex of the simplex": 1.0, "steeper vertex of the simplex": 10.0}
_STEEP = {
    name: make_instance(quadratics.vertex_of_simplex, d=40, kappa=100.0, pull=pull)
    for name, pull in _PULLS.items()
}
_CHAIN = make_instance(quadratics.nesterov_chain, d=60)


def check_inner_gap_bound(trial: Trial) -> Evidence:
    """Test the bound of f(y_k) - min f in each inner iteration k, for several schedules.

    The bound is 8 L D_t^2/(k(k+1)), for several N and D_1.

    N is the number of inner iterations, and D_t the bound of the distance at the start of the
    outer iteration t.
    """
    T, seeds = trial.choose_by_effort((5, 1), (9, 3))
    ratios = {}
    for name, problem in shared_runs.make_solved_families(trial, _SHAPES, seeds).items():
        c, _ = shared_runs.schedule_constants(problem)
        ratios[name] = list[float]()
        for t, k, step in shared_runs.follow_inner_iterations(trial, problem, T):
            squared = shared_runs.compute_squared_distance_bound(c.delta, c.sigma_hat, t)
            ratios[name].append(problem.value(step.state.x) / inner_gap_bound(c.L_f, squared, k))
    rng, wide = trial.rng("convex"), trial.choose_by_effort(40, 200)
    convex = {name: vertex(rng, d=wide) for name, vertex in _STEEP.items()}
    convex["Nesterov's chain"] = _CHAIN()
    for name, problem in convex.items():
        for N in trial.choose_by_effort((20, 100), (20, 100, 500)):
            ratios[f"{name}, N={N}"] = _inner_gap_to_bound_ratios(trial, problem, N)
    parts = {name: decide_inequality(some) for name, some in ratios.items()}
    return Evidence(best_if_all_hold_else_worst(parts), {"ratio": 1.0}, len(parts))


def _inner_gap_to_bound_ratios(
    trial: Trial, problem: quadratics.KnownQuadratic, N: int
) -> list[float]:
    """Return (f(y_k) - min f)/bound for each inner iteration k of a run.

    The run makes one outer iteration with D_1 = |theta_0 - theta_hat|. The corollary needs neither
    strong convexity nor the theorem's N. The parameter sigma_hat = 2 delta0/D_1^2 makes the
    schedule use this D_1.
    """
    c = problem.constants(problem.start())
    D_squared = float(np.sum((problem.start() - problem.minimiser) ** 2))
    curvature = 2.0 * c.delta / D_squared
    algorithm = trial.make(
        restarts=1, period=N, smoothness=c.L_f, curvature=curvature, delta=c.delta
    )
    ratios = [
        problem.value(step.state.x) / inner_gap_bound(c.L_f, D_squared, k)
        for k, step in enumerate(trial.follow(problem, algorithm), 1)
    ]
    if len(ratios) < N:
        raise ClaimBroken(f"the method makes only {len(ratios)} of {N} inner iterations")
    return ratios


COR3 = Claim(
    name="li2019-cor3",
    source="li2019 corollary 3",
    kind="bound",
    statement="inside outer t: f(y_k) - f(theta_hat) <= 8 L D_t^2/(k(k+1))",
    algorithm="cgs",
    assumptions=(shared_runs.STRONG, "f convex", "L >= L_f"),
    instances=(
        *_SHAPES.values(),
        shared_runs.SINGULAR,
        shared_runs.REGRESSION,
        *_STEEP.values(),
        _CHAIN,
    ),
    schedule="theory; and one outer iteration of any N with D_1 = |theta_0 - theta_hat|",
    expected_seconds=(0.3, 8.0),
    check=check_inner_gap_bound,
    formulas=(formula(inner_gap_bound, VALUE, D_squared=(0, 2)),),
)

# --- errata ---------------------------------------------------------------------------------------


def inner_gap_bound_by_30(
    k: int,
    L: float,
    N: int,
    D_squared: float,
    start_squared: float,
    *,
    first: float = 1.0,
    weighted: bool = False,
    noise: float = 0.5,
) -> float:
    """Return the bound (30) of li2019 with the parameters of corollary 3, as printed or corrected.

    The first two distances are D_t^2 and |x_0 - theta_hat|^2. The factor of beta_1 is `first`, and
    the factor of the variances is `noise`. With `weighted`, gamma_i eta_i replaces eta_i.
    """
    total = 0.0
    for i in range(1, k + 1):
        gamma, product = 2.0 / (i + 1.0), 2.0 / (i * (i + 1.0))
        eta, beta = 2.0 * L * D_squared / (N * i), 3.0 * L / i
        variance = L**2 * D_squared / (N * (i + 1.0) ** 2)
        total += (gamma * eta if weighted else eta) / product
        total += noise * gamma * variance / (product * (beta - L * gamma))
    return 2.0 / (k * (k + 1.0)) * (first * 3.0 * L * start_squared + total)


_PRINTED: Mapping[str, Any] = {"first": 1.0, "weighted": False, "noise": 0.5}
_CORRECTED: Mapping[str, Any] = {"first": 0.5, "weighted": True, "noise": 0.5}
_READINGS: Mapping[str, Mapping[str, Any]] = {
    "gamma_i eta_i": {"weighted": True},
    "beta_1/2": {"first": 0.5},
    "gamma_i eta_i and beta_1/2": {"first": 0.5, "weighted": True},
    "(49)": {"weighted": True, "noise": 1.0},
    "no noise": {"noise": 0.0},
    "(49), no noise": {"weighted": True, "noise": 0.0},
}


def examine_weights_of_30(
    effort: str, seed: int, *, printed: Mapping[str, Any] | None = None
) -> ExaminationEvidence:
    """Examine whether (30) of li2019 implies the bound (32) of corollary 3 for all k <= N.

    The bound (32) is 8 L D_t^2/(k(k+1)). The corrected (30) implies (32). The corrected (30) also
    bounds f(y_k) - f(theta_hat) along a run of conditional gradient sliding.
    """
    rng = stream(seed, "(30)")
    problem = quadratics.face_of_simplex(rng, 32, 10.0)
    constants = problem.constants(problem.start())
    algorithm = CGS.theory(constants.delta / 2.0, constants, restarts=1)
    N, L = algorithm.period, algorithm.smoothness
    D_squared = shared_runs.compute_squared_distance_bound(algorithm.delta, algorithm.curvature, 1)
    start_squared = float(np.sum((problem.start() - problem.minimiser) ** 2))
    run = steps(problem, algorithm, streams={"oracles": rng, "algorithm": rng})
    path = [
        problem.value(state.x)
        / inner_gap_bound_by_30(k, L, N, D_squared, start_squared, **_CORRECTED)
        for k, state in enumerate(run.states, start=1)
    ]

    def maximise(form: Mapping[str, Any]) -> float:
        """Return the largest ratio of the bound (30), in the given form, to the bound (32)."""
        return max(
            inner_gap_bound_by_30(k, L, N, D_squared, D_squared, **form)
            / inner_gap_bound(L, D_squared, k)
            for k in range(1, N + 1)
        )

    evidence = compare_ratios(
        maximise(printed or {}),
        max(maximise(_CORRECTED), *path),
        **{"largest f(y_k) over (30)": max(path)},
    )
    return evidence.with_ratios_under_other_readings(
        {name: maximise(form) for name, form in _READINGS.items()}
    )
