"""Local LMO: x_{k+1} minimises <grad f(x_k), z> over the z in C with |z - x_k| <= t_k.

Let h_k = f(x_k) - f* and r = |x_k - x*|. With theta = min(1, t_k/r), x_k + theta (x* - x_k) is a
candidate, so convexity and smoothness give h_{k+1} <= (1 - theta) h_k + L t_k^2/2. With t_k =
2R/(k+2), R at least each r, the sum is h_k <= 2 L R^2/(k+2) for k >= 1. With f mu-strongly convex
and t_k = mu r/(2L), h_{k+1} <= (1 - mu/(4L)) h_k, since h_k >= mu r^2/2.

A projected gradient step P(x - tau g), of length t, is the local step of radius t: both have the
same <g, z>.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from pfbench.verification import Claim, Trial, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.statements.each_instance import check_ratios
from pfbench.verification.units import VALUE, formula

SHARES = (0.01, 0.1, 0.5, 1.0)
"""Radii of the tested steps, relative to |x - x*|."""

SMALLEST = 1e-6
"""Tested points are at least this far from x*, relative to D; nearer ones are rounding."""

_ROUNDING = 1e-9
"""Relative error of a projection that projected and local steps may have."""


def suboptimality_bound(L_f: float, D: float, k: int) -> float:
    """Return 2 L D^2/(k + 2), the bound of f(x_k) - min f for local steps of radius 2D/(k+2)."""
    return 2.0 * L_f * D**2 / (k + 2.0)


def run_local_step(
    trial: Trial, problem: quadratics.KnownQuadratic, x: np.ndarray, radius: float
) -> np.ndarray:
    """Return the point after one step of the tested method from x, with the given radius."""
    method = trial.make(iterations=1, diameter=radius)
    (step,) = trial.follow(replace(problem, begin=x), method)
    return np.asarray(step.state.x)


def iterates_of_run(trial: Trial, problem: quadratics.KnownQuadratic) -> Iterator[np.ndarray]:
    """Yield the iterates of a run of the method, with the set's diameter as `diameter`."""
    c = problem.constants(problem.start())
    method = trial.make(iterations=trial.choose_by_effort(60, 300), diameter=c.D)
    yield problem.start()
    for step in trial.follow(problem, method):
        yield np.asarray(step.state.x)


def one_step_ratios(trial: Trial, problem: quadratics.KnownQuadratic) -> Iterator[float]:
    """Yield the ratio of f(x^+) - f* to its bound, for local steps from points x of a run to x^+.

    The bound is (1 - theta) (f(x) - f*) + L t^2/2, where theta is t over the distance of x to the
    minimiser.
    """
    c = problem.constants(problem.start())
    for x in [*iterates_of_run(trial, problem)][:: trial.choose_by_effort(12, 6)]:
        h, r = suboptimality(problem, x), distance_to_minimiser(problem, x)
        for share in SHARES if r > SMALLEST * c.D else ():
            bound = (1.0 - share) * h + c.L_f * (share * r) ** 2 / 2.0
            yield suboptimality(problem, run_local_step(trial, problem, x, share * r)) / bound


def convex_rate_ratios(trial: Trial, problem: quadratics.KnownQuadratic) -> Iterator[float]:
    """Yield (f(x_k) - f*)/(2 L D^2/(k+2)) for k >= 1 along a run."""
    c = problem.constants(problem.start())
    for k, x in enumerate(iterates_of_run(trial, problem)):
        if k:
            yield suboptimality(problem, x) / suboptimality_bound(c.L_f, c.D, k)


def contraction_ratios(trial: Trial, problem: quadratics.KnownQuadratic) -> Iterator[float]:
    """Yield (f(x_{k+1}) - f*)/((1 - mu/(4L))(f(x_k) - f*)) for radii mu |x_k - x*|/(2L)."""
    c, x = problem.constants(problem.start()), problem.start()
    mu = float(np.linalg.eigvalsh(problem.hessian_matrix)[0])
    for _ in range(trial.choose_by_effort(30, 200)):
        h, r = suboptimality(problem, x), distance_to_minimiser(problem, x)
        if r <= SMALLEST * c.D:
            return
        x = run_local_step(trial, problem, x, mu / (2.0 * c.L_f) * r)
        yield suboptimality(problem, x) / ((1.0 - mu / (4.0 * c.L_f)) * h)


def projection_deviations(trial: Trial, problem: quadratics.KnownQuadratic) -> Iterator[float]:
    """Yield |<g, z - y>| in units of rounding errors, for a local step z and a projected step y.

    z is the local step of the radius |y - x| from x.
    """
    rng = trial.rng("steps")
    for x in [*iterates_of_run(trial, problem)][:: trial.choose_by_effort(12, 6)]:
        g = problem.gradient(x)
        y = problem.set.project(x - rng.exponential() * g)
        t = float(np.linalg.norm(y - x))
        z = run_local_step(trial, problem, x, t)
        size = float(np.linalg.norm(g)) * t
        yield abs(float(g @ (z - y))) / size / _ROUNDING if size > 0.0 else 0.0


def suboptimality(problem: quadratics.KnownQuadratic, x: np.ndarray) -> float:
    """Return f(x) - f*."""
    return problem.value(x)  # computed from x - x*


def distance_to_minimiser(problem: quadratics.KnownQuadratic, x: np.ndarray) -> float:
    """Return |x - x*|."""
    return float(np.linalg.norm(x - problem.minimiser))


_claim = partial(
    Claim,
    source="Richtarik, Gruntkowska, Li 2026, the iteration; constants by pfbench",
    kind="bound",
    instances=(
        make_instance(quadratics.face_of_simplex, d=8, kappa=10.0),
        make_instance(quadratics.face_of_l1_ball, d=20, kappa=10.0),
        make_instance(quadratics.boundary_of_l2_ball, d=8, kappa=10.0),
    ),
    algorithm="local-lmo",
    assumptions=("f convex", "grad f Lipschitz"),
    expected_seconds=(2.0, 10.0),
)

CLAIMS = (
    _claim(
        name="richtarik2026-llo-projection",
        statement=(
            "the step P(x - tau g) of length t has the same <g, z> as the local step of radius t"
        ),
        check=partial(check_ratios, measure=projection_deviations),
        kind="law",
        schedule="none: a statement about one step",
    ),
    _claim(
        name="richtarik2026-llo-step",
        statement="h+ <= (1 - theta) h + L t^2/2, theta = min(1, t/|x - x*|), for the radius t",
        check=partial(check_ratios, measure=one_step_ratios),
        schedule="none: a statement about one step",
    ),
    _claim(
        name="richtarik2026-llo-convex",
        statement="t_k = 2R/(k+2), R >= |x_k - x*| for all k: h_k <= 2 L R^2/(k+2), k >= 1",
        check=partial(check_ratios, measure=convex_rate_ratios),
        schedule="diameter = R = D",
        formulas=(formula(suboptimality_bound, VALUE, {"k": 9}),),
    ),
    _claim(
        name="richtarik2026-llo-strong",
        statement="f mu-strongly convex, t = mu |x - x*|/(2L): h+ <= (1 - mu/(4L)) h",
        check=partial(check_ratios, measure=contraction_ratios),
        assumptions=("f strongly convex", "grad f Lipschitz"),
        schedule="none: a statement about one step",
    ),
)
