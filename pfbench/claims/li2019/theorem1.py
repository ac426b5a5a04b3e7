"""li2019 theorem 1: the gap halves at each restart; counts of oracle calls."""

import math
from functools import partial

import numpy as np

from pfbench.claims.li2019 import shared_runs
from pfbench.verification import Claim, Evidence, Trial, make_instance, statistics
from pfbench.verification.instruments import quadratics
from pfbench.verification.units import NUMBER, VALUE, formula

_of_theorem1 = partial(Claim, source="li2019 theorem 1", algorithm="cgs", schedule="theory")

# --- the gap --------------------------------------------------------------------------------------

_SHAPES = shared_runs.quadratics_by_minimiser_location(d=64, kappa=100.0)


def check_gap(trial: Trial) -> Evidence:
    """Test f(theta_t) - min f <= delta0 2^-t after each outer iteration t."""
    T, seeds = trial.choose_by_effort((8, 1), (11, 3))
    parts = {
        name: shared_runs.decide_halving(trial, problem, T)
        for name, problem in shared_runs.make_solved_families(trial, _SHAPES, seeds).items()
    }
    claimed = {"ratio": 1.0, "outer iterations": T}
    return Evidence(statistics.best_if_all_hold_else_worst(parts), claimed, len(parts))


GAP = _of_theorem1(
    name="li2019-thm1",
    kind="bound",
    statement="f(theta_t) - f(theta_hat) <= delta0 2^-t at every outer t (eps_stat = 0)",
    assumptions=(shared_runs.STRONG, "f convex", "L >= L_f"),
    instances=(*_SHAPES.values(), shared_runs.SINGULAR, shared_runs.REGRESSION),
    expected_seconds=(0.5, 20.0),
    check=check_gap,
    formulas=(formula(shared_runs.compute_halved_gap_bound, VALUE),),
)

# --- full gradients -------------------------------------------------------------------------------


def component_gradient_count(n: int, N: int, delta0: float, epsilon: float) -> int:
    """Return n N ceil(log2(delta0/epsilon)), the component gradient count to accuracy epsilon."""
    return n * N * shared_runs.restart_count(delta0, epsilon)


def check_component_gradient_count(trial: Trial) -> Evidence:
    """Test that runs reach accuracy epsilon with the claimed number of component gradients."""
    claimed, counts, gaps = dict[str, float](), dict[str, float](), list[float]()
    for name, problem in shared_runs.make_solved_families(trial, _SHAPES).items():
        c, N = shared_runs.schedule_constants(problem)
        for accuracy in trial.choose_by_effort((300.0,), (3.0, 30.0, 300.0, 1000.0)):
            run = trial.run(problem, trial.make_scheduled(c.delta / accuracy, c))
            title = f"{name}, delta0/{accuracy:g}"
            claimed[title] = component_gradient_count(problem.n, N, c.delta, c.delta / accuracy)
            counts[title] = run.counts.sfo
            gaps.append(problem.value(run.x) * accuracy / c.delta)
    parts = {
        "SFO": statistics.decide_equality(claimed, counts),
        "accuracy": statistics.decide_inequality(gaps),
    }
    expected = {f"SFO: {title}": count for title, count in claimed.items()}
    return Evidence(
        statistics.combine_all(parts), {**expected, "accuracy: ratio": 1.0}, len(counts)
    )


FO = _of_theorem1(
    name="li2019-thm1-fo",
    kind="count",
    statement="accuracy eps costs n N_t ceil(log2(delta0/eps)) SFO",
    assumptions=(shared_runs.STRONG,),
    instances=(*_SHAPES.values(), shared_runs.SINGULAR, shared_runs.REGRESSION),
    expected_seconds=(0.8, 10.0),
    check=check_component_gradient_count,
    formulas=(formula(component_gradient_count, NUMBER, epsilon=VALUE),),
)

# --- linear minimisations -------------------------------------------------------------------------


def lo_first_term(L: float, D: float, sigma_hat: float, delta0: float, T: int) -> float:
    """Return the first term of the bound on linear minimisations in T outer iterations.

    The first term must cover the linear minimisations that exceed the second term, as on faces.
    """
    N = shared_runs.inner_iteration_count(L, sigma_hat)
    return 288.0 * L * D**2 * 2.0**T / delta0 * (N**2 * sigma_hat / (64.0 * L))


def lo_second_term(L: float, sigma_hat: float, T: int) -> float:
    """Return 2 T N_t, a term of the LO bound for T outer iterations of N_t inner iterations each.

    Half of this term is one linear minimisation in each of N_t T inner iterations.
    """
    return 2.0 * shared_runs.inner_iteration_count(L, sigma_hat) * T


_SIMPLEX = make_instance(quadratics.face_of_simplex, d=64, kappa=1.0)
_FACES = {
    "face of the simplex": _SIMPLEX,
    "face of the l1 ball": make_instance(quadratics.face_of_l1_ball, d=64, kappa=1.0),
    "face with L/sigma_hat=100": make_instance(quadratics.face_of_simplex, d=64, kappa=100.0),
}
_STEEP = make_instance(quadratics.vertex_of_simplex, d=64, kappa=1.0, pull=1e6)


def check_lo(trial: Trial) -> Evidence:
    """Test that the number of linear minimisations in T outer iterations is at most its bound.

    The two terms of the bound are tested separately. If the minimiser lies on a face, the first
    term must cover the linear minimisations that exceed the second term. Also, the linear
    minimisations beyond one in each inner iteration must grow no faster than 1/epsilon, as the
    first term does. If the minimiser is a steep vertex, the second term is tested. A better
    verdict than *holds* requires that both terms are nearly attained.
    """
    rng, d = trial.rng("problems"), trial.choose_by_effort(64, 512)
    faces = {name: face(rng, d=d) for name, face in _FACES.items()}
    faces["singular Hessian"] = shared_runs.SINGULAR(rng)
    first, second = dict[str, statistics.Decision](), dict[str, statistics.Decision]()
    for T in trial.choose_by_effort((4, 7), (4, 8, 12)):
        for name, problem in faces.items():
            calls, limit, linear = _lo_calls_and_terms(trial, problem, T)
            ratio = max(0.0, calls - linear) / limit
            first[f"{name}, T={T}"] = statistics.decide_inequality([ratio])
        calls, limit, linear = _lo_calls_and_terms(trial, _STEEP(rng, d=d), T)
        second[f"steep vertex of the simplex, T={T}"] = statistics.decide_inequality(
            [calls / (limit + linear)]
        )
    lengths, problem = trial.choose_by_effort(8, 10), _SIMPLEX(trial.rng("growth"))
    growing = [_lo_calls_and_terms(trial, problem, T) for T in range(4, 4 + lengths)]
    extra = [calls - linear / 2.0 for calls, _, linear in growing]
    fit = statistics.fit_exponent(
        2.0 ** np.arange(4, 4 + lengths), [item if item > 0.0 else math.nan for item in extra]
    )
    growth = statistics.decide_exponent(fit, 1.0)
    decision = statistics.combine_all(
        {"first term": first, "second term": second, "growth": growth}
    )
    claimed = {"ratio": 1.0, "exponent of 1/epsilon": 1.0}
    return Evidence(decision, claimed, len(first) + len(second) + lengths)


def _lo_calls_and_terms(
    trial: Trial, problem: quadratics.KnownQuadratic, T: int
) -> tuple[int, float, float]:
    """Return the linear minimisations of T outer iterations, and both terms of their bound."""
    c, _ = shared_runs.schedule_constants(problem)
    calls = trial.run(problem, trial.make_scheduled(c.delta * 2.0**-T, c)).counts.lo
    first = lo_first_term(c.L_f, c.D, c.sigma_hat, c.delta, T)
    return calls, first, lo_second_term(c.L_f, c.sigma_hat, T)


LO = _of_theorem1(
    name="li2019-thm1-lo",
    kind="bound",
    statement=(
        "LO <= 288 L D^2 2^T/delta0 (N_t^2 sigma_hat/(64 L)) + 2 N_t T, T = ceil(log2(delta0/eps))"
    ),
    assumptions=(shared_runs.STRONG,),
    instances=(*_FACES.values(), shared_runs.SINGULAR, _STEEP),
    expected_seconds=(0.5, 6.0),
    check=check_lo,
    formulas=(formula(lo_first_term, NUMBER), formula(lo_second_term, NUMBER)),
)
