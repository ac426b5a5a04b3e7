"""The checks of the claims of qu2018 (THEORY section 6)."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.protocols import Problem
from pfbench.problems.zero_chain import ZeroChain, chain_smoothness
from pfbench.sets import Box
from pfbench.theory import qu2018_bounds as bounds
from pfbench.verification.common import Check, equal
from pfbench.verification.evidence import Evidence, across, all_of, given
from pfbench.verification.instruments.indefinite import (
    Indefinite,
    noisy_ball,
    random_on_l1_ball,
    slope,
    spread_on_simplex,
)
from pfbench.verification.instruments.quadratics import (
    boundary_of_l2_ball,
    face_of_l1_ball,
    face_of_simplex,
)
from pfbench.verification.statistics import (
    Decision,
    decide_exponent,
    decide_inequality,
    decide_mean,
    fit_exponent,
    sequential,
)
from pfbench.verification.subject import Broken, Untestable
from pfbench.verification.trial import Step, Trial

Floats = npt.NDArray[np.float64]

_CERTAIN = 1e-6
"""How far an exact prox and an exact gap are off, relative to the bound they are compared with.

The differences are of numbers of size 1 to 20 and not below 1e-5, so eleven digits are exact.
"""


def _follow(
    trial: Trial, problem: Problem, algorithm: Any, seed: int = 0
) -> Iterator[tuple[Floats, Step]]:
    """Run the algorithm; yield theta_{k-1}, or theta_ag_{k-1}, and the step that follows.

    Raises
    ------
    Broken
        If it leaves the set.
    """
    x = problem.start()
    for k, step in enumerate(trial.follow(problem, algorithm, seed=seed), 1):
        if not problem.set.contains(step.state.x, 1e-7):
            raise Broken(f"iteration {k} leaves the feasible set")
        yield x, step
        x = np.array(step.state.x)


def _mapping(problem: Problem, x: Floats, g: Floats, lam: float) -> float:
    """Return |x - prox(x - lam g)|^2/lam^2."""
    return float(np.sum((x - problem.prox(x, g, lam)) ** 2)) / lam**2


# --- condg ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Inner:
    """One call of condg: l, u, lambda, eta; what it returned and what it cost."""

    problem: Problem
    l: Floats  # noqa: E741
    u: Floats
    lam: float
    eta: float
    found: Floats
    calls: int

    @property
    def gap(self) -> float:
        """The inner gap on return, over eta."""
        g = self.l + (self.found - self.u) / self.lam
        return (float(g @ self.found) - self.problem.minimum(g)[0]) / self.eta

    @property
    def distance(self) -> float:
        """|u+ - prox|^2 over lambda eta."""
        exact = self.problem.prox(self.u, self.l, self.lam)
        return float(np.sum((self.found - exact) ** 2)) / (self.lam * self.eta)

    @property
    def count(self) -> float:
        """The calls of linear minimisation over their bound."""
        return self.calls / bounds.condg_calls(self.problem.set.diameter, self.lam, self.eta)


def _inner(trial: Trial, option: int) -> dict[str, list[_Inner]]:
    """Return calls of condg from runs of ncgs: u is theta_md, l the gradient there.

    Of option II these are the calls that make theta_ag; the cost of one is known for option I.
    """
    d = trial.pick(200, 1000)
    etas = trial.pick((0.3, 0.1, 0.03), (0.3, 0.1, 0.03, 0.01))
    cases: list[tuple[str, Any, float, float]] = []
    for eta in etas:
        # lambda = 1, so the first prox is the minimiser of f, spread over the whole face
        cases.append((f"spread over a face, eta={eta:g}", spread_on_simplex(d), 0.5, eta))
        cases.append((f"spread, u far, eta={eta:g}", spread_on_simplex(d, 5.0), 0.5, eta))
    for eta in (12.0, 2.0, 0.6):
        cases.append((f"eta near D^2/lambda, {eta:g}", spread_on_simplex(20, 20.0), 0.5, eta))
    for seed in trial.seeds(trial.pick(1, 5), "inner"):
        rng = np.random.default_rng(seed)
        for build in (face_of_simplex, face_of_l1_ball, boundary_of_l2_ball):
            problem = build(rng, 30, 10.0)
            smoothness = problem.constants(problem.start()).L_f
            cases.append((f"{build.__name__}, {seed}", problem, smoothness, 1e-3))
    found: dict[str, list[_Inner]] = {}
    for name, problem, smoothness, eta in cases:
        algorithm = trial.make(
            iterations=trial.pick(4, 20), smoothness=smoothness, tolerance=eta, option=option
        )
        before = 0
        found[name] = []
        for _, step in _follow(trial, problem, algorithm):
            u, calls = np.array(step.state.at), step.counts().lo
            found[name].append(
                _Inner(
                    problem,
                    problem.gradient(u),
                    u,
                    0.5 / smoothness,
                    eta,
                    np.array(step.state.x),
                    calls - before,
                )
            )
            before = calls
    return found


def _condg(trial: Trial, of: str, options: Sequence[int]) -> Evidence:
    """Decide that a quantity of condg is at most 1 in every call, over all families."""
    parts = {}
    calls = 0
    for option in options:
        for name, inner in _inner(trial, option).items():
            ratios = [getattr(call, of) for call in inner]
            parts[f"option {option}, {name}"] = decide_inequality(ratios, _CERTAIN)
            calls += len(inner)
    return Evidence(decision=across(parts), claimed={"ratio": 1.0}, repetitions=calls)


def condg_stop(trial: Trial) -> Evidence:
    """Test that the inner gap is at most eta when condg returns."""
    return _condg(trial, "gap", (1, 2))


def condg_count(trial: Trial) -> Evidence:
    """Test that one condg makes at most 1 + ceil(6 D^2/(lambda eta)) calls."""
    return _condg(trial, "count", (1,))


def condg_distance(trial: Trial) -> Evidence:
    """Test that what condg returns is within sqrt(lambda eta) of the exact prox."""
    return _condg(trial, "distance", (1, 2))


# --- theorems -------------------------------------------------------------------------------------


def _on_balls(trial: Trial, rise: float) -> dict[str, Any]:
    """Return random finite sums on the l1 ball, non-convex, and least squares on a face."""
    found: dict[str, Any] = {}
    for i, seed in enumerate(trial.seeds(trial.pick(2, 10), "problems")):
        rng = np.random.default_rng(seed)
        found[f"non-convex on the l1 ball, {i}"] = random_on_l1_ball(rng, 20, 30, rise)
    found["spread over a face"] = _scaled(spread_on_simplex(100), 2.0 * rise)
    return found


def _scaled(problem: Indefinite, factor: float) -> Indefinite:
    """Return the problem with f times a factor."""
    return replace(
        problem, A=factor * problem.A, b=factor * problem.b, least=factor * problem.least
    )


def thm1_I(trial: Trial) -> Evidence:
    """Test the least and mean |G|^2 of option I, and that theta_md is the iterate before."""
    lengths = trial.pick((5, 20), (5, 20, 100))
    least, mean, same = {}, {}, []
    for N in lengths:
        families = _on_balls(trial, 10.0) | {"slope": slope(1.0, N / 2.0, 1000.0)}
        for name, problem in families.items():
            constants = problem.constants(problem.start())
            L, delta = constants.L_f, constants.delta
            algorithm = trial.make(iterations=N, smoothness=L, option=1, tolerance=None)
            squares = []
            for x, step in _follow(trial, problem, algorithm):
                same.append(float(np.linalg.norm(step.state.at - x)) / constants.D)
                squares.append(_mapping(problem, x, problem.gradient(x), 0.5 / L))
            label = f"{name}, N={N}"
            least[label] = decide_inequality([min(squares) / bounds.option1_least(L, delta, N)])
            mean[label] = decide_inequality(
                [float(np.sum(squares)) / N / bounds.option1_mean(L, delta, N)]
            )
    return Evidence(
        decision=given(
            {"least": across(least), "mean": across(mean)}, {"theta_md": _coincide(same)}
        ),
        claimed={"ratio": 1.0, "|theta_md - theta|": 0.0},
        repetitions=len(least),
    )


def _coincide(differences: list[float]) -> Decision:
    """Decide that differences, relative to D, are 0 up to rounding."""
    measured = {"difference": max(differences)}
    if not max(differences) <= 1e-9:
        return Decision("violated", "They are different points.", measured, None)
    return Decision("holds", "They coincide.", measured, None)


def thm1_II(trial: Trial) -> Evidence:
    """Test the least and the weighted mean of |G_beta(theta_md_k)|^2 of option II."""
    lengths = trial.pick((4, 50), (3, 4, 5, 20, 100))
    least, mean = {}, {}
    for N in lengths:
        families = _on_balls(trial, 10.0)
        if N <= 5:  # theta_md_N is just a step before the end; later |G|^2 falls behind the bound
            families["slope"] = slope(1.0, bounds.momentum_reach(N) / 2.0, 1e4)
        for name, problem in families.items():
            constants = problem.constants(problem.start())
            L, M = constants.L_f, constants.M
            algorithm = trial.make(iterations=N, smoothness=L, option=2, tolerance=None)
            squares = []
            for _, step in _follow(trial, problem, algorithm):
                md = step.state.at
                squares.append(_mapping(problem, md, problem.gradient(md), 0.5 / L))
            weights = np.arange(1.0, len(squares) + 1.0) * np.arange(2.0, len(squares) + 2.0)
            label = f"{name}, N={N}"
            first, norm = _minimiser(problem)
            known = L, constants.ell, first, norm, M, N
            least[label] = decide_inequality([min(squares) / bounds.option2_least(*known)])
            average = float(np.average(squares, weights=weights))
            mean[label] = decide_inequality([average / bounds.option2_mean(*known)])
    return Evidence(
        decision=all_of({"least": across(least), "mean": across(mean)}),
        claimed={"ratio": 1.0},
        repetitions=len(least),
    )


def _minimiser(problem: Indefinite) -> tuple[float, float]:
    """Return |theta_0 - theta*| and |theta*|: D and M where the minimiser is not known.

    On a box it is its far corner, in the first coordinate.
    """
    box = problem.set
    if isinstance(box, Box):
        length = float(np.asarray(box.upper)[0])
        return length, length
    return box.diameter, problem.radius


def thm2(trial: Trial) -> Evidence:
    """Test the weighted mean of the stochastic mapping g(theta_md_k, G_k, beta), and SFO."""
    parts, counts = {}, {}
    runs = 0
    long = trial.pick(200, 600)
    families = {
        f"non-convex on the l1 ball, N={N}": (random_on_l1_ball(trial.rng("l1"), 20, 30, 10.0), N)
        for N in trial.pick((20, 50), (20, 100))
    }
    families[f"noise on a ball, N={long}"] = noisy_ball(2, 4, 40.0, noise=10.0), long
    families["slope, N=3"] = slope(1.0, bounds.momentum_reach(3) / 2.0, 1e4), 3
    for name, (problem, N) in families.items():
        constants = problem.constants(problem.start())
        L = constants.L
        first, norm = _minimiser(problem)
        bound = bounds.stochastic(L, constants.ell, first, norm, constants.M, constants.sigma2, N)
        algorithm = trial.make(iterations=N, smoothness=L, tolerance=None, batch=None)
        weights = np.arange(1.0, N + 1.0) * np.arange(2.0, N + 2.0)

        def sample(
            seed: int,
            problem: Indefinite = problem,
            algorithm: Any = algorithm,
            name: str = name,
            L: float = L,
            weights: Floats = weights,
            bound: float = bound,
        ) -> float:
            squares = []
            for _, step in _follow(trial, problem, algorithm, seed):
                g = step.state.estimate
                squares.append(_mapping(problem, step.state.at, g, 0.5 / L))
            made = len(squares)
            counts[name] = equal({"sfo": made * (made + 1) / 2}, {"sfo": step.counts().sfo})
            return float(np.average(squares, weights=weights)) / bound

        parts[name], samples = _sampled(trial, name, sample, trial.pick(16, 80))
        runs += samples
    return Evidence(
        decision=given({"mean": across(parts)}, {"count": across(counts)}),
        claimed={"ratio": 1.0},
        repetitions=runs,
    )


def _sampled(
    trial: Trial, name: str, sample: Callable[[int], float], most: int
) -> tuple[Decision, int]:
    """Decide that samples have mean at most 1, with as few as needed; return how many."""
    seeds = iter(trial.seeds(most, name))
    decision, samples = sequential(
        lambda number: [sample(next(seeds)) for _ in range(number)], 1.0, batch=8, most=most
    )
    return decision, samples.size


def thm3(trial: Trial) -> Evidence:
    """Test the mean over T points of |G|^2 in expectation, and the exact number of gradients."""
    parts, counts = {}, {}
    runs = 0
    long = trial.pick(600, 4000)
    families = {
        "non-convex on the l1 ball, T=60": (random_on_l1_ball(trial.rng("l1"), 20, 27, 10.0), 60),
        f"spread on a ball, T={long}": (noisy_ball(3, 8, 100.0, noise=300.0, spread=3.0), long),
        "slope, T=20": (slope(1.0, 20.0 / 3.0, 1000.0, n=8), 20),
    }
    for name, (problem, T) in families.items():
        constants = problem.constants(problem.start())
        L, n = constants.L, problem.n
        m, b = round(n ** (1 / 3)), round(n ** (2 / 3))
        algorithm = trial.make(iterations=T, smoothness=L, batch=b, period=m, tolerance=None)
        bound = bounds.variance_reduced(L, constants.delta, T)
        spent = {"sfo": bounds.variance_reduced_calls(n, b, m, T)}

        def sample(
            seed: int,
            name: str = name,
            problem: Indefinite = problem,
            algorithm: Any = algorithm,
            L: float = L,
            bound: float = bound,
            spent: Mapping[str, float] = spent,
        ) -> float:
            squares, sfo = [], 0
            for x, step in _follow(trial, problem, algorithm, seed):
                squares.append(_mapping(problem, x, problem.gradient(x), 1.0 / (3.0 * L)))
                sfo = step.counts().sfo
            counts[name] = equal(spent, {"sfo": sfo})
            return float(np.mean(squares)) / bound

        parts[name], samples = _sampled(trial, name, sample, trial.pick(16, 48))
        runs += samples
    return Evidence(
        decision=given({"mean": across(parts)}, {"count": across(counts)}),
        claimed={"ratio": 1.0},
        repetitions=runs,
    )


# --- rates ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Spent:
    """What one run spent: component gradients until |G|^2 <= epsilon and in all, LO in all.

    `least` and `mean` are those of |G|^2/epsilon; the mean is that of the declared output.
    """

    sfo_to_target: float
    sfo: float
    lo: float
    least: float
    mean: float


def _spend(
    trial: Trial,
    problem: Any,
    algorithm: Any,
    epsilon: float,
    lam: float,
    *,
    seed: int = 0,
    weighted: bool = False,
    most: float = math.inf,
) -> _Spent:
    """Run a schedule to its end, or to the target or `most` iterations if `most` is given.

    |G|^2 is taken where the gradient was.
    """
    ratios: list[float] = []
    to_target = math.inf
    for _, step in _follow(trial, problem, algorithm, seed):
        md = step.state.at
        ratios.append(_mapping(problem, md, problem.gradient(md), lam) / epsilon)
        counts = step.counts()
        if ratios[-1] <= 1.0 and math.isinf(to_target):
            to_target = counts.sfo
        if math.isfinite(most) and (math.isfinite(to_target) or len(ratios) >= most):
            break
    if not ratios:
        raise Broken("it makes no iteration")
    k = np.arange(1.0, len(ratios) + 1.0)
    mean = float(np.average(ratios, weights=k * (k + 1.0) if weighted else None))
    return _Spent(to_target, counts.sfo, counts.lo, min(ratios), mean)


def _exponent(
    x: Floats, runs: Sequence[Sequence[_Spent]], what: str, claimed: float, decades: float = 2.0
) -> Decision:
    """Decide the exponent of x in one kind of calls; one list of runs a seed."""
    counts = np.array([[getattr(run, what) for run in row] for row in runs])
    counts = counts[0] if len(runs) == 1 else counts  # one row: nothing random enters
    return decide_exponent(fit_exponent(x, counts, least_decades=decades), claimed)


def _to_epsilons(
    trial: Trial,
    count: int,
    multiples: Floats,
    largest: Callable[[Any], float],
    problem: Callable[[np.random.Generator], Any],
    lam: Callable[[float], float],
    weighted: bool = False,
    factor: float = 1.0,
) -> list[list[_Spent]]:
    """Run the schedule for each epsilon = largest(constants)/multiple on one problem a seed.

    A factor other than 1 multiplies the smoothness that sets the steps.
    """
    rows = []
    draws = iter(trial.seeds(count * multiples.size, "runs"))  # so that all runs are independent
    for seed in trial.seeds(count, "problems"):
        made = problem(np.random.default_rng(seed))
        constants = made.constants(made.start())
        row = []
        for multiple in multiples:
            epsilon = largest(constants) / multiple
            given = {} if factor == 1.0 else {"smoothness": factor * constants.L}
            algorithm = trial.scheduled(epsilon, constants, **given)
            row.append(
                _spend(
                    *(trial, made, algorithm, epsilon, lam(constants.L)),
                    seed=next(draws),
                    weighted=weighted,
                )
            )
        rows.append(row)
    return rows


_FACTORS = (1.0, 0.5, 0.25)
"""The grid of tuned schedules: L times these sets the steps."""


def _tuned(
    trial: Trial,
    multiples: Floats,
    rows: Sequence[Sequence[_Spent]],
    claimed: float,
    on_ball: tuple[Any, Any, Any],
    *,
    weighted: bool = False,
) -> dict[str, Decision]:
    """Decide the exponent of SFO to the target of the best of the grid; only with full effort.

    `rows` are those of the theorem's schedule, `on_ball` what `_to_epsilons` takes beside the
    multiples. A subject without the parameter smoothness has no such grid.
    """
    if trial.effort == "quick":
        return {}
    every: list[Sequence[Sequence[_Spent]]] = [rows]
    largest, problem, lam = on_ball
    try:
        for factor in _FACTORS[1:]:
            more = _to_epsilons(
                trial,
                len(rows),
                multiples,
                largest,
                problem,
                lam,
                weighted=weighted,
                factor=factor,
            )
            every.append(more)
    except Untestable:
        return {}
    counts = np.array([[[run.sfo_to_target for run in row] for row in one] for one in every])
    fit = fit_exponent(multiples, counts.min(axis=0))
    return {f"l1 ball, best of {_FACTORS} L": decide_exponent(fit, claimed)}


def cor1(trial: Trial) -> Evidence:
    """Test FO and LO of the schedule for eps, and that it gets there.

    On the zero chain (n = 1), rescaled for each eps at fixed L, Delta and D, no point comes near
    before the last link is known, so that FO binds. On the l1 ball the schedule runs to its end.
    """
    multiples = np.geomspace(1.0, 100.0, trial.pick(4, 8))
    on_ball = (
        lambda c: (12.0 * c.L_f * c.delta + 16.0 * c.L_f) / trial.pick(5.0, 10.0),
        lambda rng: random_on_l1_ball(rng, 20, 1, 0.3),
        lambda L: 0.5 / L,
    )
    ball = _to_epsilons(trial, trial.pick(3, 20), multiples, *on_ball)
    reached = decide_inequality([run.least for row in ball for run in row])
    claimed = {"exponent of FO": 1.0, "exponent of LO": 2.0}
    runs = len(ball) * multiples.size
    if reached.verdict == "violated":  # then exponents say nothing
        decision = replace(reached, reason=f"|G|^2 <= eps is not reached. {reached.reason}")
        return Evidence(decision=decision, claimed=claimed, repetitions=runs)
    lengths = trial.pick((15, 32, 70, 150), (40, 61, 94, 144, 222, 341, 524, 806))
    chain = [[_chain(trial, T) for T in lengths]]
    x, decades = np.array(lengths, dtype=np.float64), trial.pick(1.0, 1.3)
    fo = {
        "zero chain": _exponent(x, chain, "sfo_to_target", 1.0, decades),
        "l1 ball": _exponent(multiples, ball, "sfo_to_target", 1.0),
        **_tuned(trial, multiples, ball, 1.0, on_ball),
    }
    lo = {
        "zero chain": _exponent(x, chain, "lo", 2.0, decades),
        "l1 ball": _exponent(multiples, ball, "lo", 2.0),
    }
    return Evidence(
        decision=given({"FO": across(fo), "LO": across(lo)}, {"|G|^2/eps": reached}),
        claimed=claimed,
        repetitions=len(lengths) + runs,
    )


def _chain(trial: Trial, T: int) -> _Spent:
    """Run option I, with its schedule, until |G|^2 <= eps = (mu/l)^2, on a chain of T links.

    L = 1 and Delta is at most 1, so mu^2 = l/(12 T): eps is proportional to 1/T and D is fixed.
    About 80 iterations a link are needed; a run with more than 120 counts as censored.
    """
    scale = chain_smoothness()
    mu = math.sqrt(scale / (12.0 * T))
    problem = ZeroChain(horizon=T, columns=T + 1, smoothness=1.0, mu=mu)
    epsilon = (mu / scale) ** 2
    algorithm = trial.scheduled(epsilon, problem.constants(problem.start()))
    return _spend(trial, problem, algorithm, epsilon, 0.5, most=1000.0 + 120.0 * T)


def cor2(trial: Trial) -> Evidence:
    """Test SFO and LO of the schedule for eps, and that its output is as good on average."""
    multiples = np.geomspace(1.0, 100.0, trial.pick(4, 8))
    families: dict[str, tuple[int, Callable[[np.random.Generator], Any]]] = {
        "l1 ball": (trial.pick(4, 10), lambda rng: random_on_l1_ball(rng, 20, 30, 0.3)),
        "noise on a ball": (trial.pick(16, 20), lambda rng: noisy_ball(3, 6, 4.0, noise=1.0)),
    }
    sfo, lo, output = {}, {}, {}
    runs = 0
    for name, (first, build) in families.items():

        def largest(c: Any, first: int = first) -> float:
            return bounds.stochastic(c.L, c.ell, c.D, c.M, c.M, c.sigma2, first)

        rows = _to_epsilons(
            *(trial, trial.pick(3, 20), multiples, largest, build, lambda L: 0.5 / L),
            weighted=True,
        )
        sfo[name] = _exponent(multiples, rows, "sfo_to_target", 2.0)
        if name == "l1 ball":
            on_ball = (largest, build, lambda L: 0.5 / L)
            sfo |= _tuned(trial, multiples, rows, 2.0, on_ball, weighted=True)
        lo[name] = _exponent(multiples, rows, "lo", 2.0)
        output[name] = decide_mean([run.mean for row in rows for run in row], 1.0)
        runs += multiples.size * len(rows)
    return Evidence(
        decision=given(
            {"SFO to the target": across(sfo), "LO in all": across(lo)},
            {"|G|^2/eps": across(output)},
        ),
        claimed={"exponent of SFO": 2.0, "exponent of LO": 2.0},
        repetitions=runs,
    )


def cor3(trial: Trial) -> Evidence:
    """Test SFO in eps and n, LO in eps of the schedule, and that its output is good on average."""
    multiples = np.geomspace(1.0, 100.0, trial.pick(4, 8))

    def largest(c: Any) -> float:
        return float(18.0 * c.L * (c.delta + 1.0) / trial.pick(9.0, 12.0))

    families: dict[str, Callable[[np.random.Generator], Any]] = {
        "l1 ball": lambda rng: random_on_l1_ball(rng, 20, 27, 0.3),
        "spread on a ball": lambda rng: noisy_ball(3, 28, 10.0, noise=1.0, spread=0.5),
    }
    seeds = trial.pick(3, 20)
    sfo, lo, output = {}, {}, {}
    for name, build in families.items():
        rows = _to_epsilons(trial, seeds, multiples, largest, build, lambda L: 1.0 / (3.0 * L))
        sfo[name] = _exponent(multiples, rows, "sfo", 1.0)
        if name == "l1 ball":
            on_ball = (largest, build, lambda L: 1.0 / (3.0 * L))
            sfo |= _tuned(trial, multiples, rows, 1.0, on_ball)
        lo[name] = _exponent(multiples, rows, "lo", 2.0)
        output[name] = decide_mean([run.mean for row in rows for run in row], 1.0)
    sizes = trial.pick((64, 216, 1000, 8000), (64, 216, 512, 1331, 4096, 8000, 15625, 32768))
    grown = []
    for seed in trial.seeds(trial.pick(2, 20), "n"):
        row = []
        for n in sizes:
            problem = random_on_l1_ball(np.random.default_rng(seed), 5, n, 0.3)
            constants = problem.constants(problem.start())
            # T = 480 or little more, far above every m = n^(1/3), which it is rounded up to
            epsilon = 18.0 * constants.L * (constants.delta + 1.0) / 480.0
            algorithm = trial.scheduled(epsilon, constants)
            lam = 1.0 / (3.0 * constants.L)
            row.append(_spend(trial, problem, algorithm, epsilon, lam, seed=seed))
        grown.append(row)
    parts = {
        "SFO, eps": across(sfo),
        "SFO, n": _exponent(np.array(sizes, dtype=np.float64), grown, "sfo", 2.0 / 3.0),
        "LO, eps": across(lo),
    }
    output["all n"] = decide_mean([run.mean for row in grown for run in row], 1.0)
    return Evidence(
        decision=given(parts, {"|G|^2/eps": across(output)}),
        claimed={"exponent of 1/eps in SFO": 1.0, "of n": 2.0 / 3.0, "of 1/eps in LO": 2.0},
        repetitions=multiples.size * seeds * len(families) + len(sizes) * len(grown),
    )


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "qu2018-condg-stop": Check(condg_stop, 0.2, 1.5),
        "qu2018-condg-count": Check(condg_count, 0.1, 1.0),
        "qu2018-condg-distance": Check(condg_distance, 0.2, 1.5),
        "qu2018-thm1-I": Check(thm1_I, 0.9, 10.0),
        "qu2018-thm1-II": Check(thm1_II, 1.0, 10.0),
        "qu2018-cor1": Check(cor1, 2.0, 60.0),
        "qu2018-thm2": Check(thm2, 2.0, 13.0),
        "qu2018-cor2": Check(cor2, 0.5, 21.0),
        "qu2018-thm3": Check(thm3, 2.5, 14.0),
        "qu2018-cor3": Check(cor3, 0.7, 29.0),
    }
)
"""Every check of this paper by the name of its claim."""
