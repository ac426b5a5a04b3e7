"""Orthogonalisation by matrix products: Newton-Schulz and the quintic in common use.

Let delta_j = |P - X_j X_j'|, where P projects onto the range of M. The formula for delta_j is the
paper's. The bound on 1 - <M, X_q>/|M|_* and the statements about the quintic are pfbench's.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.sets.matrix_balls import newton_schulz_scalar
from pfbench.sets.orthogonalisers import QUINTIC, map_singular_values
from pfbench.verification import Claim, Evidence, Instance, Trial, make_instance
from pfbench.verification.instruments.normed_quadratics import (
    SHAPE,
    draw_singular_values,
    make_orthogonalised_problem,
    matrix_and_polar_factor,
)
from pfbench.verification.statements.each_instance import check_each_instance, check_ratios
from pfbench.verification.statistics import Decision, combine_all, decide_exact, decide_inequality
from pfbench.verification.units import NUMBER, formula

ROUNDING = 1e-9


# --- Newton-Schulz --------------------------------------------------------------------------------


def polar_factor_distance_bound(delta: float, degree: int, steps: int) -> float:
    """Return a bound of the distance to the polar factor after `steps` Newton-Schulz steps.

    It is 1 - sqrt(1 - delta_0^((kappa+1)^q)), the bound of |X_q - polar factor|. kappa is `degree`,
    and q is `steps`.
    """
    return float(1.0 - np.sqrt(-np.expm1((degree + 1) ** steps * np.log(delta))))


def relative_deficit_bound(rank: int, degree: int, steps: int) -> float:
    """Return the bound of 1 - <M, X_q>/|M|_*, where X_q is M after q = `steps` Newton-Schulz steps.

    It is rank c_q.

    c_q is the largest s (1 - h_q(s)) on [0, 1]. h_q(s) is the singular value after q Newton-Schulz
    steps from the singular value s. The maximum is taken over a grid of 200 001 points, so it is
    not proved between them.
    """
    _, lost = loss_by_singular_value(degree, steps)
    return rank * float(lost.max())


def loss_by_singular_value(degree: int, steps: int) -> tuple[Floats, Floats]:
    """Return singular values s on a grid, and s times the error 1 - h_q(s) of orthogonalising s.

    Here h_q(s) is the singular value after q Newton-Schulz steps from s.
    """
    s = np.concatenate([np.linspace(0.0, 1.0, 100_001), np.geomspace(1e-12, 1.0, 100_000)])
    h = s
    for _ in range(steps):
        h = newton_schulz_scalar(h, degree)
    return s, np.asarray(s * (1.0 - h))


@check_each_instance()
def check_convergence(
    trial: Trial, instance: Instance, problem: Any
) -> Iterator[tuple[str, Decision]]:
    """Test that Newton-Schulz steps keep norms <= 1 and bring matrices near their polar factors."""
    ask = trial.open_oracles(problem)
    degree, steps = problem.norm.degree, problem.norm.steps
    rng, ratios, sizes = trial.rng(instance.stream_key), [], []
    for s in draw_singular_values(rng, trial.choose_by_effort(40, 400), minimum=1e-3):
        M, polar = matrix_and_polar_factor(s, rng)
        X = -np.asarray(ask.lo(M)) / problem.norm.radius
        bound = polar_factor_distance_bound(1.0 - float(s.min()) ** 2, degree, steps)
        norm = float(np.linalg.norm(X - polar, 2))
        ratios.append(norm / bound if bound > ROUNDING else norm)
        sizes.append(float(np.linalg.norm(X, 2)))
    yield instance.stream_key, decide_inequality(ratios, ROUNDING)
    largest = max(sizes)
    words, is_kept = f"|X_q| is at most {largest:.6g}.", largest <= 1.0 + ROUNDING
    size = decide_exact(is_kept, words, {"size": largest})
    yield f"size, {instance.stream_key}", size


def deficit_ratios(trial: Trial, problem: Any) -> Iterator[float]:
    """Yield 1 - <M, X_q>/|M|_* over its bound, where X_q is M after q Newton-Schulz steps.

    The singular values of M are those for which the loss is largest, or random.
    """
    ask, ball = trial.open_oracles(problem), problem.norm
    rng = trial.rng(f"{ball.degree} {ball.steps}")
    bound = relative_deficit_bound(SHAPE[0], ball.degree, ball.steps)
    grid, lost = loss_by_singular_value(ball.degree, ball.steps)
    worst = min(float(grid[lost.argmax()]), 0.5)
    upper = np.array([np.sqrt(1.0 - 3.0 * worst**2), worst, worst, worst])
    for s in (upper, *draw_singular_values(rng, trial.choose_by_effort(40, 400))):
        M, _ = matrix_and_polar_factor(s, rng)
        X = -np.asarray(ask.lo(M)) / ball.radius
        yield (1.0 - float(np.vdot(M, X)) / float(s.sum())) / bound


# --- the quintic in use ---------------------------------------------------------------------------

LOW, HIGH = 0.6818, 1.2024
"""The interval I; its ends are values at the two critical points, rounded outwards."""

REACHED = {3: 0.0179, 5: 0.00151}
"""By the number of steps q: a singular value from which q steps lead into I."""


def positive_quintic_critical_points() -> Floats:
    """Return the two positive critical points of Muon's quintic polynomial, in ascending order."""
    a, b, c = QUINTIC
    return np.sort(np.sqrt(np.roots([5.0 * c, 3.0 * b, a]).real))


def smallest_start_reaching(steps: int) -> float:
    """Return the least s > 0 that `steps` steps of Muon's quintic map to its invariant interval."""
    a, b, c = QUINTIC
    s = LOW
    for _ in range(steps):
        roots = np.roots([c, 0.0, b, 0.0, a, -s])
        real = roots[np.abs(roots.imag) < 1e-9].real
        s = float(real[real > 0.0].min())
    return s


def check_invariant_interval(trial: Trial) -> Evidence:
    """Test that Muon's quintic keeps singular values in an interval, and maps a larger one into it.

    The interval is I = [LOW, HIGH], and q steps map all s >= REACHED[q] to I. Both the polynomial
    and the linear minimisation under test are checked. The polynomial has two positive critical
    points, so its extremes on an interval are at these points or at the ends. The polynomial
    increases below the first critical point, so the least s that enters I in q steps is found by
    inversion.
    """
    points = np.array([*positive_quintic_critical_points(), LOW, HIGH])
    top, bottom, *ends = map(float, map_singular_values([QUINTIC], points))
    facts = {
        "(0, 1] stays below": top <= HIGH,
        "I maps into itself": min(bottom, *ends) >= LOW - 5e-5 and max(*ends) <= 1.1344 + 5e-5,
        "entered from": all(smallest_start_reaching(q) <= s for q, s in REACHED.items()),
    }
    parts = {
        name: decide_exact(true, "It is not as stated.", {"top": top})
        for name, true in facts.items()
    }
    for instance in trial.claim.instances:
        problem = instance()
        ask = trial.open_oracles(problem)
        rng, svds = trial.rng(instance.stream_key), []
        lower = REACHED[problem.norm.steps]
        for s in draw_singular_values(rng, trial.choose_by_effort(60, 600), minimum=lower):
            if s.min() >= lower:
                X = np.asarray(ask.lo(matrix_and_polar_factor(s, rng)[0])) / problem.norm.radius
                svds.append(np.linalg.svd(X, compute_uv=False))
        result = np.array(svds)
        low, high = float(result.min()), float(result.max())
        parts[instance.stream_key] = decide_exact(
            low >= LOW - 5e-5 and high <= HIGH,
            f"Singular values range from {low:.4g} to {high:.4g}.",
            {"least": low, "largest": high},
        )
    return Evidence(combine_all(parts), {"least": LOW, "largest": HIGH}, len(parts))


CYCLE = (0.682, 0.753, 1.047, 1.134)
"""The four singular values of the cycle that the orbit of 1/2 enters, sorted."""

FIXED = {0.8680: -1.58, 1.2637: 6.5}
"""Positive fixed points, and the slope of the quintic at each."""


def check_four_cycle(trial: Trial) -> Evidence:
    """Test that steps of Muon's quintic from singular value 1/2 end in a cycle of four numbers."""
    a, b, c = QUINTIC
    parts = {}
    for point, slope in FIXED.items():
        roots = np.sqrt(np.roots([c, b, a - 1.0]))
        root = float(roots[np.abs(roots - point).argmin()])
        steep = a + 3.0 * b * root**2 + 5.0 * c * root**4
        right = abs(root - point) < 1e-4 and abs(steep / slope - 1.0) < 0.01 and abs(steep) > 1.0
        statement = f"The fixed point {root:.4f} has the slope {steep:.3f}."
        parts[f"fixed point {point}"] = decide_exact(right, statement, {"slope": steep})
    s = np.array([np.sqrt(0.75), 0.5])
    visited = []
    for instance in trial.claim.instances:
        problem = instance()
        ask = trial.open_oracles(problem)
        M = np.zeros(SHAPE)
        M[0, 0], M[1, 1] = s
        visited.append(abs(float(np.asarray(ask.lo(M))[1, 1])) / problem.norm.radius)
    deviation = float(np.abs(np.sort(visited) - CYCLE).max())
    words = f"The last four values are {', '.join(f'{item:.3f}' for item in sorted(visited))}."
    parts["orbit of 1/2"] = decide_exact(deviation < 1e-3, words, {"off": deviation})
    return Evidence(combine_all(parts), {"off": 0.0}, len(parts))


# --- the claims -----------------------------------------------------------------------------------

_SCHULZ = tuple(
    make_instance(make_orthogonalised_problem, lmo="newton-schulz", degree=degree, steps=steps)
    for degree in (1, 2)
    for steps in (1, 3, 5)
)


def _claim(
    subject: str, kind: str, statement: str, check: Callable[[Trial], Evidence], **overrides: Any
) -> Claim:
    return Claim(
        name=f"kim2026-{subject}",
        kind=kind,
        statement=statement,
        check=check,
        schedule="none: a statement about a minimisation",
        expected_seconds=(0.3, 1.0),
        **overrides,
    )


RESIDUAL = _claim(
    "ns-residual",
    "bound",
    "Newton-Schulz from M/|M|_F: |X_q - polar factor| <= 1 - sqrt(1 - delta_0^((kappa+1)^q)) and "
    "|X_q| <= 1",
    check_convergence,
    source="kim2026, on Newton-Schulz",
    instances=_SCHULZ,
    formulas=(
        formula(polar_factor_distance_bound, NUMBER, {"delta": 0.9, "degree": 1, "steps": 3}),
    ),
)
DEFICIT = _claim(
    "ns-deficit",
    "bound",
    "Newton-Schulz from M/|M|_F: 1 - <M, X_q>/|M|_* <= r max of s (1 - h_q(s)), for every M (ours; "
    "the maximum is computed)",
    partial(check_ratios, measure=deficit_ratios),
    source="on Newton-Schulz of kim2026; pfbench",
    instances=_SCHULZ,
    formulas=(formula(relative_deficit_bound, NUMBER, {"rank": 4, "degree": 1, "steps": 3}),),
)
INTERVAL = _claim(
    "quintic-interval",
    "identity",
    "the quintic in use keeps [0.6818, 1.2024]; from M/|M|_F all singular values are there after "
    "five steps if the least is 0.00151 or more, after three if it is 0.0179 (ours)",
    check_invariant_interval,
    source="on the quintic of jordan2024, against kim2026; pfbench",
    instances=tuple(
        make_instance(make_orthogonalised_problem, lmo="quintic", degree=2, steps=steps)
        for steps in REACHED
    ),
)
CYCLES = _claim(
    "quintic-cycle",
    "identity",
    "the quintic in use has no limit: its fixed points 0.8680 and 1.2637 repel, and the orbit of "
    "1/2 ends in the cycle 0.753, 1.047, 0.682, 1.134 (ours)",
    check_four_cycle,
    source="on the quintic of jordan2024, against kim2026; pfbench",
    instances=tuple(
        make_instance(make_orthogonalised_problem, lmo="quintic", degree=2, steps=steps)
        for steps in (400, 401, 402, 403)
    ),
)
