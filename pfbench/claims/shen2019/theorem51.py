"""Theorem 5.1 of shen2019: a lower bound on linear minimisations, by a resisting oracle.

The module of the resisting oracle is imported on first use, so that listing the claims does not
import it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.problems.zero_chain import GAP, ZeroChain, chain_smoothness, random_directions
from pfbench.verification import Claim, Evidence, Floats, Trial, make_instance
from pfbench.verification.contrast import ROUNDING, ExaminationEvidence, compare_ratios, stream
from pfbench.verification.statistics import Decision, best_if_all_hold_else_worst, decide_inequality
from pfbench.verification.units import VALUE, formula


def gap_floor(D: float) -> float:
    """Return 0.04 D, the lower bound of the gap before T linear minimisations are made."""
    return GAP * D


def resisting_chain(T: int) -> ZeroChain:
    """Return the zero chain whose directions a resisting oracle chooses while it answers.

    The oracle reveals directions as late as possible, so each linear minimisation finds at most
    one. No method can be faster. Exact line search needs hardly more calls than the bound on the
    rescaled family.
    """
    from pfbench.resisting.resisting_oracle import make_resisting_chain

    return make_resisting_chain(T)


CHAIN = make_instance(resisting_chain, T=10)


def check_lower_bound(trial: Trial) -> Evidence:
    """Test that each method's gap is large before T calls, and count the calls to a small gap.

    On the rescaled family, the number of calls is compared with the bound T(eps).
    """
    from pfbench.resisting import certify
    from pfbench.resisting.rescaled_family import count_calls_to_target, max_epsilon

    parts: dict[str, Decision] = {}
    horizons = trial.choose_by_effort((10, 50), (10, 50, 200))
    for T in horizons:
        for contestant in _methods_to_test(trial, T):
            certificate = certify(
                contestant, T, seed=trial.seeds(1, contestant.label)[0]
            ).certificate
            name = f"{contestant.label}, T={T}"
            if not certificate.certified or certificate.certified_for != "lo":
                reason = " ".join(certificate.findings)
                parts[name] = Decision("violated", reason, {}, None)
            else:
                parts[name] = decide_inequality(
                    [gap_floor(1.0) / certificate.min_gap_over_diameter]
                )
    if trial.subject.algorithm is None:
        bounds = trial.choose_by_effort((8, 16, 32, 64), (8, 16, 32, 64, 128, 256))
        seed = trial.seeds(1, "rescaled")[0]
        for name in (f"frank-wolfe[step={step}]" for step in ("line-search", "open-loop")):
            ratios = [T / count_calls_to_target(name, max_epsilon(T), seed=seed) for T in bounds]
            parts[f"{name}, T(eps)/calls"] = decide_inequality(ratios)
    claimed = {"V/D before T": gap_floor(1.0), "calls over T(eps)": 1.0}
    return Evidence(best_if_all_hold_else_worst(parts), claimed, len(parts))


def _methods_to_test(trial: Trial, T: int) -> list[Any]:
    """Return the method under test or, without one, all built-in methods the theorem covers."""
    from pfbench.resisting import Contestant, list_contestants, make_contestant

    if trial.subject.algorithm is None:
        return [make_contestant(text, CHAIN(T=T)) for text in list_contestants()]
    tested = trial.make(iterations=T)
    label = getattr(tested, "name", type(tested).__name__)
    return [Contestant(tested, label, label)]


LOWER_BOUND = Claim(
    name="shen2019-thm5.1",
    source="shen2019 theorem 5.1",
    kind="certificate",
    statement=(
        f"a deterministic method whose points are determined by LO outputs has V >= {GAP:g} D "
        "before T LO calls; rescaled, it needs Omega(L Delta/eps^2) of them"
    ),
    check=check_lower_bound,
    formulas=(formula(gap_floor, VALUE),),
    scale_dependence=(
        "the chain is one function, in units of its own: there V over D is the number 0.04; "
        "rescaled, T(eps) = c L Delta/eps^2 is homogeneous"
    ),
    instances=(CHAIN,),
    algorithm=FrankWolfe.name,
    assumptions=("start at 0", "queries only at points that LO outputs determine"),
    expected_seconds=(3.0, 60.0),
)


# --- errata ---------------------------------------------------------------------------------------


def _gradient_descent_limit(problem: ZeroChain) -> Floats:
    """Return the point to which gradient descent from 0 converges, up to a small gradient.

    Linear minimisations do not determine the points of gradient descent.
    """
    x = np.zeros(problem.columns)
    for _ in range(20_000):
        g = problem.gradient(x)
        if float(np.linalg.norm(g)) <= 1e-7:
            break
        x = x - g / chain_smoothness()
    return x


def examine_internal_queries(
    effort: str, seed: int, *, target: Callable[[ZeroChain], Floats] = _gradient_descent_limit
) -> ExaminationEvidence:
    """Examine theorem 5.1 of shen2019: two LO calls reach the gap if steps query several points.

    LO calls are linear minimisations. The two linear minimisations return u_0 and u_1 with the mean
    z. The points x_0 = 0, x_1 = u_0 and x_2 = (u_0 + u_1)/2 satisfy (14), whatever the hidden
    directions are. If internal queries are forbidden, Frank-Wolfe against the resisting oracle
    keeps V >= 0.04 D before T.
    """
    from pfbench.resisting import certify, make_contestant
    from pfbench.resisting.resisting_oracle import make_resisting_chain

    T, d, rng = 10, 25, stream(seed, "5.1")
    runs = range(1 if effort == "quick" else 10)
    upper = max(_gap_after_two_lo_calls(T, d, rng, target) for _ in runs)
    online = certify(
        make_contestant("frank-wolfe[step=open-loop]", make_resisting_chain(T, None)), T, seed=seed
    )
    asked_there, floor = online.certificate, online.certificate.min_gap_over_diameter
    return ExaminationEvidence(
        printed_fails=upper < GAP,
        corrected_holds=bool(asked_there.certified_for == "lo" and floor >= GAP),
        numbers={
            "T": float(T),
            "V/D after 2 LO calls, internal queries": upper,
            "least V/D before T LO calls, Frank-Wolfe": floor,
            "claimed V/D": GAP,
        },
    ).with_ratios_under_other_readings(
        {
            "f is queried at iterates only": GAP / floor,
            "a smaller constant": GAP / 1000.0 / upper,
            "a larger dimension": GAP / _gap_after_two_lo_calls(T, 8 * d, rng, target),
        }
    )


def _gap_after_two_lo_calls(
    T: int, d: int, rng: np.random.Generator, target: Callable[[ZeroChain], Floats]
) -> float:
    """Return the gap after two LO calls, divided by D, on a chain with T random directions."""
    problem = ZeroChain(T, d, random_directions(d, T, int(rng.integers(2**31))))
    R, z = problem.set.radius, target(problem)
    w = rng.standard_normal(d)
    w -= (w @ z) / max(float(z @ z), 1e-300) * z
    # z + w and z - w are on the sphere, so that the linear minimisation can return them.
    w *= math.sqrt(R**2 - float(z @ z)) / float(np.linalg.norm(w))
    x = 0.5 * (problem.set.lo(-(z + w)) + problem.set.lo(-(z - w)))
    g = problem.gradient(x)
    return (float(g @ x) - problem.set.minimum(g)[0]) / problem.set.diameter


def examine_shifted_direction_indices(
    effort: str, seed: int, *, shift: int = 0
) -> ExaminationEvidence:
    """Examine the indices in section 7.1 of shen2019, by inner products of points and directions.

    Printed are: direction v_k is orthogonal to x_0 .. x_k, and <x_t, v_T> = 0, t <= T. The run is
    Frank-Wolfe with weights 2/(k + 3) from 0; x_k is its point after k linear minimisations. As
    corrected, v_k is orthogonal to x_0 .. x_{k-1}, and t < T. `shift` is subtracted from the
    printed last index.
    """
    T = 6
    V = random_directions(2 * T + 1, T, seed)
    problem = ZeroChain(T, 2 * T + 1, V)
    w = stream(seed, "7.1").standard_normal(2 * T + 1)
    w -= V @ (V.T @ w)
    w *= 0.5 * problem.set.radius / float(np.linalg.norm(w))
    result, elsewhere = (_direction_products_along_fw_run(problem, x) for x in (problem.start(), w))

    def max_coordinate(coordinates: Floats, until: int) -> float:
        return max(float(coordinates[k - 1, : k + until].max()) for k in range(1, T + 1))

    printed, last = max_coordinate(result, 1 - shift), float(result[T - 1, T - shift])
    both = compare_ratios(
        min(printed, last) / ROUNDING,
        max_coordinate(result, 0) / ROUNDING,
        **{
            "largest |<v_k, x_t>|/R, t <= k": printed,
            "largest |<v_k, x_t>|/R, t < k": max_coordinate(result, 0),
            "|<v_T, x_T>|/R": last,
        },
    )
    return both.with_ratios_under_other_readings(
        {
            "below 1, as (16) needs": float(result[:, T - shift].min()) * problem.set.radius,
            "a start far from 0": max_coordinate(elsewhere, 1 - shift) / ROUNDING,
        }
    )


def _direction_products_along_fw_run(problem: ZeroChain, x: Floats) -> Floats:
    """Return |<v_k, x_t>|/radius for each direction v_k and each x_t of a Frank-Wolfe run."""
    points = [x]
    for k in range(problem.horizon):
        v = problem.set.lo(problem.gradient(points[k]))
        points.append(points[k] + 2.0 / (k + 3.0) * (v - points[k]))
    return np.abs([problem.chain_coordinates(x) for x in points]).T / problem.set.radius
