"""The checks of the claims of lacoste2016 (THEORY section 4)."""

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.counts import Budget
from pfbench.base.protocols import Problem
from pfbench.problems.zero_chain import GAP, ZeroChain
from pfbench.runs.loop.stop import Stop
from pfbench.theory import lacoste2016_bounds as bounds
from pfbench.verification.common import Check
from pfbench.verification.evidence import Evidence, across, all_of
from pfbench.verification.instruments.indefinite import (
    DoubleWell,
    Hull,
    Indefinite,
    curvature,
    moved,
    random_on_simplex,
)
from pfbench.verification.instruments.quadratics import (
    face_of_l1_ball,
    face_of_simplex,
    vertex_of_simplex,
)
from pfbench.verification.statistics import (
    Decision,
    decide_exponent,
    decide_inequality,
    fit_exponent,
)
from pfbench.verification.subject import Broken
from pfbench.verification.trial import Step, Trial

_SIZES = (2, 3, 4, 6)
"""Vertices of the simplex; on two of them (9) and (15) are reached exactly."""

_SLOPES = (0.3, 1.0, 3.0)
"""Size of the linear part: h0 from far below C to far above."""

_PATHS = 1e-5
"""How far two runs that correspond may come apart, relative to the first gap and to the diameter.

A line search by function values finds gamma to about 1e-8, and a step passes errors on.
"""


def _instances(trial: Trial, most: int) -> Iterator[tuple[Indefinite, float]]:
    """Yield random quadratics on the simplex, each with a C >= C_f."""
    for d in _SIZES:
        for size in _SLOPES:
            for seed in trial.seeds(most, f"{d} {size}"):
                problem = random_on_simplex(np.random.default_rng(seed), d, size)
                yield problem, _curvature(problem)


def _curvature(problem: Indefinite) -> float:
    """Return a C >= C_f, positive also where f is concave."""
    assert isinstance(problem.set, Hull)
    return max(curvature(problem.set.vertices, problem.A), 1e-3)


def _gap(problem: Problem, x: Any) -> float:
    """Return the Frank-Wolfe gap at x."""
    g = problem.gradient(x)
    return float(g @ x) - problem.minimum(g)[0]


def _path(trial: Trial, problem: Problem, **parameters: Any) -> Iterator[tuple[Any, Any, Step]]:
    """Run the algorithm; yield x_t, x_{t+1} and the step between them.

    Raises
    ------
    Broken
        If it leaves the set.
    """
    x = problem.start()
    for t, step in enumerate(trial.follow(problem, trial.make(**parameters)), 1):
        y = np.array(step.state.x)
        if not np.isfinite(y).all() or not problem.set.contains(y, 1e-9):
            raise Broken(f"x_{t} is outside the feasible set")
        yield x, y, step
        x = y


def descent(trial: Trial) -> Evidence:
    """Test (9) at every step, up to rounding: 1e-14 of the size of f."""
    parts = {}
    instances = list(_instances(trial, trial.pick(4, 20)))
    for rule in ("adaptive", "line-search"):
        ratios = []
        for problem, C in instances:
            size = 1e-14 * (1.0 + abs(problem.least) + problem.value(problem.begin))
            for x, y, _ in _path(trial, problem, step=rule, curvature=C, iterations=30):
                promised = bounds.decrease(_gap(problem, x), C)
                gained = problem.decrease(x, y)
                ratios.append(promised / (gained + size) if gained + size > 0.0 else math.inf)
        parts[rule] = decide_inequality(ratios)
    return Evidence(decision=all_of(parts), claimed={"ratio": 1.0}, repetitions=2 * len(instances))


def thm1(trial: Trial) -> Evidence:
    """Test (6) and (15) for the least gap up to every t."""
    instances = list(_instances(trial, trial.pick(4, 20)))
    parts = {}
    for rule in ("adaptive", "line-search"):
        plain, sharp = [], []
        for problem, C in instances:
            h0, least = problem.value(problem.begin) - problem.least, math.inf
            path = _path(trial, problem, step=rule, curvature=C, iterations=30)
            for t, (x, _, _) in enumerate(path):
                least = min(least, _gap(problem, x))
                plain.append(least / bounds.least_gap(h0, C, t))
                sharp.append(least / bounds.sharp_least_gap(h0, C, t))
        parts[f"(6), {rule}"] = decide_inequality(plain)
        parts[f"(15), {rule}"] = decide_inequality(sharp)
    return Evidence(decision=all_of(parts), claimed={"ratio": 1.0}, repetitions=2 * len(instances))


def rate(trial: Trial) -> Evidence:
    """Test the calls to V <= eps D on the zero chain, rescaled for each eps, and to V <= eps C."""
    parts = {}
    shortest, longest, points = trial.pick((15, 1500, 6), (25, 2500, 8))
    lengths = np.unique(np.geomspace(shortest, longest, points).round().astype(int))
    calls = [_on_chain(trial, int(T)) for T in lengths]
    # T is proportional to eps^-2 at fixed L and Delta.
    for i, oracle in enumerate(("LO", "FO")):
        fit = fit_exponent(np.sqrt(lengths), [c[i] for c in calls], least_decades=1.0)
        parts[f"zero chain, {oracle}"] = decide_exponent(fit, 2.0)
    targets = np.geomspace(1e-1, 1e-3, trial.pick(5, 8))
    every = []
    for rule in ("open-loop", "adaptive"):
        counts = [
            _to_targets(trial, seed, targets, trial.pick(4000, 5000), rule)
            for seed in trial.seeds(trial.pick(6, 20), "quadratics")
        ]
        fit = fit_exponent(1.0 / targets, counts)
        parts[f"quadratics, {rule}"] = decide_exponent(fit, 2.0)
        every.append(counts)
    fit = fit_exponent(1.0 / targets, np.min(every, axis=0))
    parts["quadratics, best of both"] = decide_exponent(fit, 2.0)
    runs = len(calls) + 2 * trial.pick(6, 20)
    return Evidence(decision=across(parts), claimed={"exponent": 2.0}, repetitions=runs)


def _on_chain(trial: Trial, T: int) -> tuple[float, float]:
    """Return LO and FO to V <= 0.04 D on the chain of T links; infinite if they do not suffice."""
    problem = ZeroChain(horizon=T, columns=T + 1)
    run = trial.run(
        problem,
        trial.make(step="line-search"),
        stop=Stop("fw_gap", GAP * problem.set.diameter),
        budget=Budget(lo=100.0 + T * T),
    )
    if run.status != "target":
        return math.inf, math.inf
    return float(run.counts.lo), float(run.counts.fo)


def _to_targets(trial: Trial, seed: int, targets: Any, most: int, rule: str) -> Any:
    """Return the LO to each gap, relative to C, on a random quadratic on the simplex."""
    problem = random_on_simplex(np.random.default_rng(seed), 20, 0.3)
    C = _curvature(problem)
    counts = np.full(len(targets), math.inf)
    for _, y, step in _path(trial, problem, step=rule, curvature=C, iterations=most):
        reached = _gap(problem, y) <= targets * C
        counts[reached & np.isinf(counts)] = step.counts().lo
        if reached.all():
            break
    return counts


def affine(trial: Trial) -> Evidence:
    """Test that runs on f over C and on f(M z + b) over its preimage correspond; C the same."""
    parts: dict[str, Decision] = {}
    count = trial.pick(10, 100)
    seeds = trial.seeds(count, "problems")
    for rule in ("adaptive", "line-search", "open-loop"):
        gaps, points = [], []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            problem = random_on_simplex(rng, 5, 1.0)
            M = np.linalg.qr(rng.standard_normal((5, 5)))[0] * np.geomspace(0.2, 5.0, 5)
            b = rng.standard_normal(5)
            image = moved(problem, M, b)
            C = _curvature(problem)
            given = {"step": rule, "curvature": C, "iterations": 20}
            first = max(_gap(problem, problem.begin), C)
            pairs = zip(_path(trial, problem, **given), _path(trial, image, **given), strict=True)
            for (x, y, _), (z, w, _) in pairs:
                gaps.append(abs(_gap(problem, x) - _gap(image, z)) / first)
                if _tied(problem, x, first):
                    break
                points.append(float(np.linalg.norm(y - M @ w - b)) / problem.set.diameter)
        parts[f"gaps, {rule}"] = _coincide(gaps)
        parts[f"points, {rule}"] = _coincide(points)
    return Evidence(
        decision=all_of(parts),
        claimed={"difference": 0.0, "tolerance": _PATHS},
        repetitions=3 * count,
    )


def _tied(problem: Indefinite, x: Any, size: float) -> bool:
    """Return whether two vertices are so nearly tied at x that rounding may decide."""
    best, second = np.partition(problem.gradient(x), 1)[:2]
    return bool(second - best <= 1e-6 * size)


def _coincide(differences: list[float]) -> Decision:
    """Decide that all differences are 0 up to `_PATHS`."""
    found = decide_inequality(np.divide(differences, _PATHS))
    measured = {"checks": found.measured["checks"], "difference": max(differences)}
    if found.verdict == "violated":
        return Decision("violated", "They come apart.", measured, None)
    return Decision("holds", "They coincide.", measured, None)


def local(trial: Trial) -> Evidence:
    """Test that the gap that a run sees is at least f(x_t) - min over M' of f, x_t in M'."""
    parts = {}
    count = trial.pick(3, 20)
    for seed in trial.seeds(count, "problems"):
        rng = np.random.default_rng(seed)
        d = trial.pick(32, 128)
        convex = {
            "vertex of the simplex": vertex_of_simplex(rng, d, 100.0, pull=1.0),
            "face of the simplex": face_of_simplex(rng, d, 100.0),
            "face of the l1 ball": face_of_l1_ball(rng, d, 100.0),
        }
        for name, problem in convex.items():
            parts[f"{name}, {seed}"] = _bounded(trial, problem, lambda x: True)
        well = DoubleWell(
            centre=rng.uniform(-1.0, 1.0, d - 1),
            weights=rng.uniform(0.1, 1.0, d - 1),
            begin=2.0 * rng.choice([-1.0, 1.0], size=d),
        )
        parts[f"double well, {seed}"] = _bounded(trial, well, well.convex_at)
    return Evidence(decision=across(parts), claimed={"ratio": 1.0}, repetitions=len(parts))


def _bounded(trial: Trial, problem: Any, inside: Callable[[Any], bool]) -> Decision:
    """Decide f(x_t) - 0 <= g_t on one run, where min over M' of f is 0; slack as in `descent`."""
    ratios = []
    first = problem.value(problem.start())
    for x, _, step in _path(trial, problem, step="line-search", iterations=40):
        if inside(x):
            g = step.estimate  # as the run sees it: the gap comes free with the LO
            seen = float(g @ x) - problem.minimum(g)[0]
            ratios.append(problem.value(x) / max(seen + 1e-13 * first, 1e-13 * first))
    return decide_inequality(ratios)


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "lacoste2016-descent": Check(descent, 0.7, 8.0),
        "lacoste2016-thm1": Check(thm1, 0.7, 8.0),
        "lacoste2016-rate": Check(rate, 2.5, 60.0),
        "lacoste2016-affine": Check(affine, 0.4, 4.0),
        "lacoste2016-local": Check(local, 0.2, 2.0),
    }
)
"""Every check of this paper by the name of its claim."""
