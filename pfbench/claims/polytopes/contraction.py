"""Linear convergence of away-step and blended pairwise Frank-Wolfe, by the pyramidal width."""

import numpy as np

from pfbench.verification import Claim, Evidence, make_instance
from pfbench.verification.instruments.quadratics import pyramidal_width, quadratic_on_facet
from pfbench.verification.statistics import Decision, combine_all, decide_inequality
from pfbench.verification.trial import Trial
from pfbench.verification.units import VALUE, formula

INSTANCES = tuple(
    make_instance(quadratic_on_facet, kind=kind, d=d, kappa=kappa, turn=turn).with_title(
        f"{kind} {d}"
    )
    for kind, d, kappa, turn in (
        *(("simplex", 4, 3.0, 3), ("simplex", 3, 1.0, 0)),
        *(("cube", 3, 2.0, 1), ("l1", 3, 2.0, 3)),
    )
)
"""Polytopes on which plain Frank-Wolfe zigzags, on the first 500,000 times above the bound."""

_LONGEST = 1500

_FLOOR = 1e-11
"""Fraction of f(x_1) - min f below which rounding may decide a step."""


def suboptimality_bound(
    h0: float, L_f: float, sigma_hat: float, rho: float, D: float, t: int
) -> float:
    """Return the bound of f(x_t) - min f after t steps, if at least half of the steps contract it.

    rho is the pyramidal width, and sigma_hat the modulus of strong convexity.
    """
    shrinks = min(0.5, sigma_hat * (rho / D) ** 2 / (4.0 * L_f))
    return h0 * (1.0 - shrinks) ** -(-t // 2)


def check_contraction(trial: Trial) -> Evidence:
    """Test that f(x_t) - min f is at most its bound, which converges linearly, from t = 1 on."""
    parts: dict[str, Decision] = {}
    for instance in INSTANCES:
        problem = instance()
        lower, *_, L = map(float, np.linalg.eigvalsh(problem.A))
        delta = pyramidal_width(instance.parameters["kind"], instance.parameters["d"])
        shrinks = 1.0 - suboptimality_bound(1.0, L, lower, delta, problem.set.diameter, 2)
        algorithm = trial.make(iterations=min(_LONGEST, int(40.0 / shrinks)), smoothness=L)
        steps = trial.follow(problem, algorithm)
        h = [problem.value(np.asarray(step.state.x)) - problem.minimum_value for step in steps]
        bounds = [
            suboptimality_bound(h[0], L, lower, delta, problem.set.diameter, t)
            for t in range(1, len(h))
        ]
        ratios = np.array(h[1:]) / np.array(bounds)
        parts[instance.name] = decide_inequality(ratios[np.array(bounds) > _FLOOR * h[0]])
    return Evidence(combine_all(parts), {"ratio": 1.0}, len(parts))


_HALF = (
    "f(x_t) - min f <= (1 - rho)^((t-1)/2) (f(x_1) - min f), rho = min(1/2, mu delta^2/(4 L M^2)), "
    "delta the pyramidal width, M the diameter: at least half of the steps shrink by 1 - rho, and "
    "no other step grows (the constant is derived by pfbench)"
)


def _claim(name: str, source: str) -> Claim:
    return Claim(
        name=f"polytopes-contraction-{name}",
        source=source,
        kind="bound",
        statement=_HALF,
        check=check_contraction,
        instances=INSTANCES,
        algorithm=name,
        assumptions=("f strongly convex", "a polytope"),
        schedule="short steps with L = L_f",
        expected_seconds=(1.2, 1.2),
        formulas=(formula(suboptimality_bound, VALUE),),
    )


AWAY = _claim("afw", "Lacoste-Julien, Jaggi 2015; pfbench")

BLENDED = _claim("bpfw", "Tsuji, Tanaka, Pokutta 2022; pfbench")

CLAIMS = (AWAY, BLENDED)
