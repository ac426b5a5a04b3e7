"""The checks of the claims of li2019 (THEORY section 6)."""

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from pfbench.theory import li2019_bounds as bounds
from pfbench.verification.checks.base import Check
from pfbench.verification.evidence import Evidence, across, all_of
from pfbench.verification.quadratics import (
    Quadratic,
    boundary_of_l2_ball,
    chain,
    face_of_l1_ball,
    face_of_simplex,
    interior_of_l2_ball,
    restricted,
    vertex_of_simplex,
)
from pfbench.verification.statistics import Decision, decide_inequality, decide_mean
from pfbench.verification.subject import Broken
from pfbench.verification.trial import Step, Trial

_SHAPES: Mapping[str, Callable[[np.random.Generator, int, float], Quadratic]] = MappingProxyType(
    {
        "vertex of the simplex": vertex_of_simplex,
        "face of the simplex": face_of_simplex,
        "face of the l1 ball": face_of_l1_ball,
        "boundary of the l2 ball": boundary_of_l2_ball,
        "interior of the l2 ball": interior_of_l2_ball,
    }
)
"""Strongly convex quadratics by where their minimiser is."""


def _families(
    trial: Trial, d: int, kappas: tuple[float, ...], seeds: int = 1
) -> dict[str, Quadratic]:
    """Return strongly convex quadratics of every shape, and restricted ones; one for each seed."""
    found = {}
    for i, seed in enumerate(trial.seeds(seeds, "problems")):
        rng = np.random.default_rng(seed)
        for shape, build in _SHAPES.items():
            for kappa in kappas:
                found[f"{shape}, L/sigma={kappa:g}, {i}"] = build(rng, d, kappa)
        found[f"singular Hessian on the l1 ball, {i}"] = restricted(rng, 256, 3, 4)
    return found


def _inner(trial: Trial, problem: Quadratic, restarts: int) -> Iterator[tuple[int, int, Step]]:
    """Run the theorem's schedule; yield outer t, inner k = 1 .. N_t, and the step.

    Raises
    ------
    Broken
        If it leaves the set or ends early.
    """
    constants = problem.constants(problem.start())
    algorithm = trial.scheduled(constants.delta * 2.0**-restarts, constants)
    N = bounds.period(constants.L_f, problem.sigma_hat)
    made = 0
    for made, step in enumerate(trial.follow(problem, algorithm), 1):
        if not problem.set.contains(step.state.x, 1e-7):
            raise Broken(f"inner iteration {made} leaves the feasible set")
        yield 1 + (made - 1) // N, 1 + (made - 1) % N, step
    if made < N * restarts:
        raise Broken(f"it makes {made} inner iterations where the schedule has {N * restarts}")


def _share(measured: float, bound: float) -> float:
    """Return measured over bound; infinite where it is not a number."""
    return measured / bound if math.isfinite(measured) else math.inf


def thm1(trial: Trial) -> Evidence:
    """f(theta_t) - f(theta_hat) <= delta0 2^-t after every outer iteration."""
    T = trial.pick(8, 14)
    families = _families(
        trial,
        trial.pick(64, 256),
        trial.pick((1.0, 100.0), (1.0, 10.0, 100.0, 1000.0)),
        trial.pick(1, 3),
    )
    parts = {}
    for name, problem in families.items():
        N = bounds.period(problem.constants(problem.start()).L_f, problem.sigma_hat)
        delta0 = problem.value(problem.start())
        parts[name] = decide_inequality(
            [
                _share(problem.value(step.state.x), delta0 * 2.0**-t)
                for t, k, step in _inner(trial, problem, T)
                if k == N
            ]
        )
    return Evidence(
        decision=across(parts),
        claimed={"ratio": 1.0, "outer iterations": T},
        repetitions=len(parts),
    )


def cor3(trial: Trial) -> Evidence:
    """f(y_k) - f(theta_hat) <= 8 L D_t^2/(k(k+1)), with the schedule and for any D_1 and N."""
    T = trial.pick(5, 12)
    kappas = trial.pick((1.0, 100.0), (1.0, 10.0, 100.0, 1000.0))
    families = _families(trial, trial.pick(64, 256), kappas, trial.pick(1, 3))
    parts = {}
    for name, problem in families.items():
        L, delta0 = problem.constants(problem.start()).L_f, problem.value(problem.start())
        parts[name] = decide_inequality(
            [
                _share(
                    problem.value(step.state.x),
                    bounds.inner_gap(L, bounds.squared_distance(delta0, problem.sigma_hat, t), k),
                )
                for t, k, step in _inner(trial, problem, T)
            ]
        )
    for name, problem in _convex(trial).items():
        for N in trial.pick((20, 100), (20, 100, 500)):
            parts[f"{name}, N={N}"] = decide_inequality(_one_outer(trial, problem, N))
    return Evidence(decision=across(parts), claimed={"ratio": 1.0}, repetitions=len(parts))


def _convex(trial: Trial) -> dict[str, Quadratic]:
    """Return quadratics on which weights and momentum matter: steep, and Nesterov's chain."""
    rng, d = trial.rng("convex"), trial.pick(40, 200)
    return {
        "steep vertex of the simplex": vertex_of_simplex(rng, d, 100.0, pull=1.0),
        "steeper vertex of the simplex": vertex_of_simplex(rng, d, 100.0, pull=10.0),
        "chain": chain(60),
    }


def _one_outer(trial: Trial, problem: Quadratic, N: int) -> list[float]:
    """Run one outer iteration of N inner ones with D_1 = |theta_0 - theta_hat|; return ratios.

    The corollary needs neither strong convexity nor the theorem's N: D_1^2 = 2 delta0/sigma_hat
    holds for sigma_hat = 2 delta0/D_1^2.
    """
    start = problem.start()
    L, delta0 = problem.constants(start).L_f, problem.value(start)
    squared = float(np.sum((start - problem.minimiser) ** 2))
    algorithm = trial.make(
        restarts=1, period=N, smoothness=L, curvature=2.0 * delta0 / squared, delta=delta0
    )
    ratios = [
        _share(problem.value(step.state.x), bounds.inner_gap(L, squared, k))
        for k, step in enumerate(trial.follow(problem, algorithm), 1)
    ]
    if len(ratios) < N:
        raise Broken(f"it makes {len(ratios)} of {N} inner iterations")
    return ratios


def thm1_fo(trial: Trial) -> Evidence:
    """Accuracy epsilon is reached with exactly n N_t ceil(log2(delta0/epsilon)) SFO."""
    parts: dict[str, Decision] = {}
    accuracies = trial.pick((30.0, 1000.0), (3.0, 30.0, 1000.0, 3e4))
    families = _families(
        trial, trial.pick(32, 128), trial.pick((1.0, 50.0), (1.0, 10.0, 50.0, 1000.0))
    )
    for name, problem in families.items():
        constants = problem.constants(problem.start())
        for accuracy in accuracies:
            epsilon = constants.delta / accuracy
            run = trial.run(problem, trial.scheduled(epsilon, constants))
            N = bounds.period(constants.L_f, problem.sigma_hat)
            claimed = problem.n * N * bounds.restarts(constants.delta, epsilon)
            parts[f"{name}, accuracy delta0/{accuracy:g}"] = all_of(
                {
                    "count": _exactly(run.counts.sfo, claimed),
                    "accuracy": decide_inequality([_share(problem.value(run.x), epsilon)]),
                }
            )
    return Evidence(decision=across(parts), claimed={"count: ratio": 1.0}, repetitions=len(parts))


def _exactly(measured: int, claimed: int) -> Decision:
    """Decide that a count is the claimed one: neither ratio of the two exceeds 1."""
    ratios = [measured / claimed, claimed / measured if measured else math.inf]
    return decide_inequality(ratios, rounding=0.0)


def thm1_lo(trial: Trial) -> Evidence:
    """The LO of T outer iterations stay within the theorem's two terms."""
    rng = trial.rng("problems")
    d = trial.pick(64, 512)
    families = {
        "face of the simplex": face_of_simplex(rng, d, 1.0),
        "face of the l1 ball": face_of_l1_ball(rng, d, 1.0),
        "ill-conditioned face of the simplex": face_of_simplex(rng, d, 100.0),
        "singular Hessian on the l1 ball": restricted(rng, 256, 3, 4),
        "steep vertex of the simplex": vertex_of_simplex(rng, d, 1.0, pull=1e6),
    }
    parts = {}
    for name, problem in families.items():
        constants = problem.constants(problem.start())
        for T in trial.pick((4, 8), (4, 8, 12)):
            run = trial.run(problem, trial.scheduled(constants.delta * 2.0**-T, constants))
            bound = bounds.linear_minimisations(
                constants.L_f, constants.D, problem.sigma_hat, constants.delta, T
            )
            parts[f"{name}, T={T}"] = decide_inequality([run.counts.lo / bound])
    return Evidence(decision=across(parts), claimed={"ratio": 1.0}, repetitions=len(parts))


def _well_conditioned(trial: Trial) -> dict[str, Quadratic]:
    """Return problems on which STORC with the theorem's batch is affordable."""
    rng, d = trial.rng("problems"), trial.pick(32, 128)
    return {
        f"{shape}, L/sigma={kappa:g}": build(rng, d, kappa)
        for shape, build in _SHAPES.items()
        for kappa in trial.pick((1.0,), (1.0, 4.0, 25.0))
    } | {"singular Hessian on the l1 ball": restricted(rng, 128, 2, 2)}


def thm2(trial: Trial) -> Evidence:
    """E f(theta_t) - f(theta_hat) <= delta0 2^-t, and the SFO of the schedule."""
    T, runs = trial.pick(6, 10), trial.pick(10, 30)
    means: dict[str, Decision] = {}
    counts: dict[str, Decision] = {}
    for name, problem in _well_conditioned(trial).items():
        constants = problem.constants(problem.start())
        N = bounds.period(constants.L_f, problem.sigma_hat)
        m = bounds.batch(constants.L_f, constants.L_max, problem.sigma_hat)
        algorithm = trial.scheduled(constants.delta * 2.0**-T, constants)
        ratios = np.empty((runs, T))
        for i, seed in enumerate(trial.seeds(runs, name)):
            run = trial.run(
                problem, algorithm, seed=seed, every=N, measures={"gap": lambda p, s: p.value(s.x)}
            )
            gaps = np.array([row["gap"] for row in run.rows if row["iteration"] > 0])
            if len(gaps) < T:
                raise Broken(f"it makes {run.iterations} of {N * T} inner iterations")
            ratios[i] = np.maximum(gaps[:T], 0.0) / (constants.delta * 0.5 ** np.arange(1, T + 1))
        counts[name] = _exactly(run.counts.sfo, T * (problem.n + 2 * m * N))
        for t in range(T):
            means[f"{name}, t={t + 1}"] = decide_mean(ratios[:, t], 1.0)
    return Evidence(
        decision=all_of({"mean": across(means), "SFO": across(counts)}),
        claimed={"mean: ratio": 1.0, "SFO: ratio": 1.0},
        repetitions=runs * len(counts),
    )


def variance(trial: Trial) -> Evidence:
    """E|v_k - grad f(z_k)|^2 <= L^2 D_t^2/(N_t (k+1)^2) at every inner iteration."""
    T, runs = trial.pick(6, 12), trial.pick(8, 30)
    parts: dict[str, Decision] = {}
    for name, problem in _well_conditioned(trial).items():
        ratios = np.stack(
            [_variance_ratios(trial, problem, T, seed) for seed in trial.seeds(runs, name)]
        )
        worst = np.unravel_index(np.argmax(ratios.mean(axis=0)), ratios.shape[1:])
        for t, k in np.ndindex(ratios.shape[1:]):
            if k > 0:  # v_1 is the full gradient: z_1 is the snapshot
                ...
    return Evidence(decision=across(parts), claimed={"ratio": 1.0}, repetitions=runs * len(parts))


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "li2019-thm1": Check(thm1, 1.0, 20.0),
        "li2019-cor3": Check(cor3, 1.0, 20.0),
        "li2019-thm1-fo": Check(thm1_fo, 1.0, 20.0),
        "li2019-thm1-lo": Check(thm1_lo, 1.0, 20.0),
        "li2019-thm2": Check(thm2, 1.0, 20.0),
    }
)
"""Every check of this paper by the name of its claim."""
