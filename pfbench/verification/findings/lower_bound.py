"""Errata of shen2019 theorem 5.1 and its proof (section 7.1)."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from pfbench.problems.zero_chain import GAP, ZeroChain, chain_smoothness, random_directions
from pfbench.resisting import certify, contestant
from pfbench.resisting.oracle import frame
from pfbench.verification.contrast import Contrast, Examination, Floats, stream


def _internal(problem: ZeroChain) -> Floats:
    """Return where gradient descent ends, whose points no LO output determines."""
    x = np.zeros(problem.columns)
    for _ in range(20_000):
        g = problem.gradient(x)
        if float(np.linalg.norm(g)) <= 1e-7:
            break
        x = x - g / chain_smoothness()
    return x


def queries_elsewhere(
    effort: str, seed: int, *, target: Callable[[ZeroChain], Floats] = _internal
) -> Contrast:
    """Find a stationary point z by internal queries, then ask two LO outputs with the mean z.

    x_0 = 0, x_1 = u_0, x_2 = (u_0 + u_1)/2 obey (14), whatever the hidden directions are. With the
    condition on queries, Frank-Wolfe against the resisting oracle keeps V >= 0.04 D before T.
    """
    T, d, rng = 10, 25, stream(seed, "5.1")
    gaps = []
    for _ in range(1 if effort == "quick" else 10):
        problem = ZeroChain(T, d, random_directions(d, T, int(rng.integers(2**31))))
        R, z = problem.set.radius, target(problem)
        w = rng.standard_normal(d)
        w -= (w @ z) / max(float(z @ z), 1e-300) * z
        # z + w and z - w are on the sphere, so that the linear minimisation can return them.
        w *= math.sqrt(R**2 - float(z @ z)) / float(np.linalg.norm(w))
        x = 0.5 * (problem.set.lo(-(z + w)) + problem.set.lo(-(z - w)))
        g = problem.gradient(x)
        gaps.append((float(g @ x) - problem.set.minimum(g)[0]) / problem.set.diameter)
    online = certify(contestant("frank-wolfe[step=open-loop]", frame(T, None)), T, seed=seed)
    floor = online.certificate.min_gap_over_diameter
    return Contrast(
        printed_fails=max(gaps) < GAP,
        corrected_holds=bool(online.certificate.certified_for == "lo" and floor >= GAP),
        numbers={
            "T": float(T),
            "V/D after 2 LO calls, internal queries": max(gaps),
            "least V/D before T LO calls, Frank-Wolfe": floor,
            "claimed V/D": GAP,
        },
    )


def shifted_indices(effort: str, seed: int, *, shift: int = 0) -> Contrast:
    """7.1 prints v_k orthogonal to x_0 .. x_k, and <x_t, v_T> = 0 for t <= T; see both along a run.

    Frank-Wolfe with weights 2/(k + 3) from 0, x_k after k LO calls. As corrected v_k is orthogonal
    to x_0 .. x_{k-1}, and t < T. `shift` lowers the printed last index.
    """
    T = 6
    problem = ZeroChain(T, 2 * T + 1, random_directions(2 * T + 1, T, seed))
    points = [problem.start()]
    for k in range(T):
        v = problem.set.lo(problem.gradient(points[k]))
        points.append(points[k] + 2.0 / (k + 3.0) * (v - points[k]))
    # Entry (k-1, t): |<v_k, x_t>|/R.
    found = np.abs([problem.coordinates(x) for x in points]).T / problem.set.radius
    printed = max(found[k - 1, : k + 1 - shift].max() for k in range(1, T + 1))
    corrected = max(found[k - 1, :k].max() for k in range(1, T + 1))
    last = float(found[T - 1, T - shift])
    return Contrast(
        printed_fails=bool(printed > 1e-9 and last > 1e-9),
        corrected_holds=bool(corrected <= 1e-9 and found[T - 1, :T].max() <= 1e-9),
        numbers={
            "largest |<v_k, x_t>|/R, t <= k": float(printed),
            "largest |<v_k, x_t>|/R, t < k": float(corrected),
            "|<v_T, x_T>|/R": last,
        },
    )


EXAMINATIONS: Mapping[str, Examination] = MappingProxyType(
    {
        "shen2019-5.1-queries": queries_elsewhere,
        "shen2019-7.1-indices": shifted_indices,
    }
)
"""The examinations of this file, by the name of the erratum."""
