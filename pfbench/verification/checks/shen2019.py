"""The checks of shen2019: counts, error laws, theorem 3.1, table 1, crossovers.

The estimators are tested as parts of whole algorithms, so that anybody's algorithm can take their
place: on a segment the linear minimisation always returns the far end, and what reaches it is the
estimate.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from pfbench.base.protocols import Problem
from pfbench.problems.linear_models import LogCosh, NonconvexLogistic
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import synthetic
from pfbench.problems.rows import synthetic_rows
from pfbench.problems.zero_chain import GAP
from pfbench.resisting import Contestant, certify, contestant, every_contestant, rescaled
from pfbench.resisting.oracle import frame
from pfbench.resisting.rescaled import epsilon_of
from pfbench.runs.loop.stop import Stop
from pfbench.sets import L2Ball
from pfbench.theory.shen2019_bounds import (
    CROSSOVERS,
    EXPONENTS,
    RECURSIVE,
    error_law,
    exact_counts,
    least_cost,
)
from pfbench.verification.common import Check, drawn_uniformly, equal
from pfbench.verification.evidence import Evidence, across, all_of, given
from pfbench.verification.instruments.draws import Scripted, Unscripted, orthogonal_array
from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.statistics import (
    LAW_MARGIN,
    LEVEL,
    Decision,
    EProcess,
    decide_exponent,
    decide_inequality,
    decide_mean,
    decide_share,
    fit_exponent,
    mean_interval,
    sequential,
)
from pfbench.verification.trial import Trial

Floats = npt.NDArray[np.float64]

ESTIMATORS = ("sg", "svrg", "spiderg", "casvrg", "caspiderg")


def estimator_of(trial: Trial) -> str:
    """Return which estimator the claim is about."""
    return trial.claim.name.rsplit("-", 1)[1]


# --- counts ---------------------------------------------------------------------------------------


def count(trial: Trial) -> Evidence:
    """Compare all counts with the formula, for parameters that do not divide one another."""
    estimator = estimator_of(trial)
    parts: dict[str, Decision] = {}
    claimed: dict[str, float] = {}
    problems: tuple[Problem, ...] = (_log_cosh(trial, n=41, d=5), _recovery(trial))
    for problem in problems:
        for S, p, T in ((37, 13, 101), (5, 7, 40), (1, 1, 3)):
            algorithm = trial.make(batch=S, period=p, iterations=T, step=1e-3)
            run = trial.run(problem, algorithm, seed=trial.seeds(1)[0])
            expected = exact_counts(estimator, n=problem.n, S=S, p=p, T=T).as_dict()
            name = f"{problem.name} S={S} p={p} T={T}"
            parts[name] = equal(expected, run.counts.as_dict())
            claimed |= {f"{name}: {kind}": number for kind, number in expected.items()}
    return Evidence(decision=all_of(parts), claimed=claimed, repetitions=len(parts))


def one_number(trial: Trial) -> Evidence:
    """See that a component Hessian of matrix recovery has one entry, as a component gradient."""
    problem = _recovery(trial)
    rng = trial.rng("points")
    x, y = problem.start(), problem.start()
    x = _moved(problem, x, rng)
    hessian = problem.open(rng).hessian(y)
    found = {"gradient": 0.0, "Hessian": 0.0}
    for i in range(problem.n):
        one = np.array([i])
        for name, vector in (
            ("gradient", problem.open(rng).difference(one, x, y)),
            ("Hessian", hessian.batch(one, x, y)),
        ):
            others = np.delete(vector, i)
            found[name] = max(found[name], float(np.count_nonzero(others)))
    algorithm = trial.make(batch=7, period=11, iterations=40, step=1e-3)
    run = trial.run(problem, algorithm, seed=trial.seeds(1)[0])
    epochs = -(-40 // 11)
    found["SSO"] = float(run.counts.sso)
    expected = {"gradient": 0.0, "Hessian": 0.0, "SSO": float(problem.n * epochs)}
    return Evidence(decision=equal(expected, found), claimed=expected, repetitions=problem.n)


def _moved(problem: RobustMatrixRecovery, x: Any, rng: np.random.Generator) -> Any:
    from pfbench.points import combine

    vertex = problem.open(rng).lo(problem.gradient(x))
    return combine(x, vertex, 0.3)


# --- conditional means ----------------------------------------------------------------------------


def unbiased(trial: Trial) -> Evidence:
    """Enumerate all batches of S = 2 among n = 4: the conditional mean is the gradient's."""
    estimator = estimator_of(trial)
    rng = trial.rng("data")
    features, labels = synthetic_rows(True, rows=4, columns=3, seed=int(rng.integers(2**31)))
    problem = NonconvexLogistic(features, labels, L2Ball(3, 2.0), alpha=0.3)
    settings = [(9, 2)] if estimator == "sg" else [(5, 3), (2, 4)]
    deviations, runs = [], 0
    for p, T in settings:
        steps = [t for t in range(T) if estimator == "sg" or t % p != 0]
        try:
            followed = _enumerated(trial, problem, p=p, T=T, draws=2 * len(steps))
        except Unscripted:
            return _sampled_mean(trial, problem, steps[0])
        runs += len(followed)
        for position, t in enumerate(steps):
            groups: dict[tuple[int, ...], list[Floats]] = {}
            for script, errors in followed:
                known = tuple(script[: 2 * position])
                before = errors[t - 1] if estimator in RECURSIVE else 0.0
                groups.setdefault(known, []).append(errors[t] - before)
            deviations += [np.abs(np.mean(group, axis=0)).max() for group in groups.values()]
    scale = float(np.abs(problem.gradient(problem.start())).max())
    worst = float(np.max(deviations)) / scale
    measured = {"relative deviation": worst, "ratio": worst / 1e-10}
    if worst <= 1e-10:
        decision = Decision("holds", "Every conditional mean is exact.", measured, None)
    else:
        words = f"A conditional mean is off by {worst:.3g} of the gradient."
        decision = Decision("violated", words, measured, None)
    return Evidence(decision=decision, claimed={"relative deviation": 0.0}, repetitions=runs)


def _sampled_mean(trial: Trial, problem: Problem, t: int) -> Evidence:
    """Test the mean of the first random estimate, where batches cannot be enumerated.

    The point there depends on no draw. Each coordinate has a t-test, at the level split over them.
    """
    algorithm = trial.make(batch=2, period=5, iterations=t + 1, step=0.2)
    errors = np.array(
        [
            next(
                itertools.islice(
                    _errors(problem, trial.follow(problem, algorithm, seed=s)), t, t + 1
                )
            )
            for s in trial.seeds(2000, "sampled mean")
        ]
    )
    scale = float(np.abs(problem.gradient(problem.start())).max())
    p_values = scipy.stats.ttest_1samp(errors, 0.0, axis=0).pvalue
    p_value = min(1.0, float(np.min(p_values)) * errors.shape[1])
    half = max(np.ptp([*vars(mean_interval(column)).values()]) / 2.0 for column in errors.T)
    off = float(np.abs(errors.mean(axis=0)).max()) / scale
    measured = {"relative deviation": off, "half width of the interval": half / scale}
    if p_value <= LEVEL:
        decision = Decision("violated", f"The mean is off by {off:.3g} of it.", measured, p_value)
    elif half <= 0.1 * scale:
        decision = Decision("holds", "The sampled mean is the gradient.", measured, p_value)
    else:
        decision = Decision("inconclusive", "The sampled mean is too uncertain.", measured, p_value)
    return Evidence(decision=decision, claimed={"relative deviation": 0.0}, repetitions=len(errors))


def _enumerated(
    trial: Trial, problem: Problem, *, p: int, T: int, draws: int
) -> list[tuple[tuple[int, ...], list[Floats]]]:
    """Return for every script of draws the estimation errors g_t - grad f(x_t), t < T."""
    found = []
    for script in itertools.product(range(problem.n), repeat=draws):
        algorithm = trial.make(batch=2, period=p, iterations=T, step=0.2)
        stream = Scripted(np.array(script))
        steps = trial.follow(problem, algorithm, rng=stream)
        found.append((script, list(_errors(problem, steps))))
    return found


def _errors(problem: Problem, steps: Iterator[Any]) -> Iterator[Floats]:
    """Yield g_t - grad f(x_t) along a run."""
    x = problem.start()
    for step in steps:
        yield step.estimate - problem.gradient(x)
        x = step.state.x


# --- error laws -----------------------------------------------------------------------------------

_LAW = {
    "sg": {"sigma": 1.0, "L": 0.0},
    "svrg": {"L": 1.0},
    "spiderg": {"L": 1.0},
    "casvrg": {"L": 1.0, "L2": 1.0},
    "caspiderg": {"L": 1.0, "L2": 1.0},
}
"""Which derivatives the forced path has, so that the law is attained along it."""


def law(trial: Trial) -> Evidence:
    """Test the law as an inequality for each j, and its exponents in j, eta and S."""
    estimator = estimator_of(trial)
    in_j, in_eta = EXPONENTS[estimator]
    parts = {"inequality": _inequality(trial, estimator)}
    parts |= {
        "exponent in j": _exponent_in_j(trial, estimator),
        "exponent in eta": _exponent(trial, estimator, "eta", in_eta),
        "exponent in S": _exponent(trial, estimator, "S", -1.0),
    }
    claimed = {"exponent in j": in_j, "exponent in eta": in_eta, "exponent in S": -1.0, "ratio": 1}
    return Evidence(decision=all_of(parts), claimed=claimed, repetitions=1024)


def _inequality(trial: Trial, estimator: str) -> Decision:
    """Compare the exact mean square with the law at every j of two epochs.

    All draws are taken from an orthogonal array, so that the mean square is exact. An algorithm
    that draws in another way is sampled, on a path that keeps some distance from the law.
    """
    S, p, epochs, eta, bits = 3, 6, 2, 1e-6, 5
    T = p * epochs
    drawn = S * (T if estimator == "sg" else T - epochs)
    if estimator == "sg":
        p, T, drawn = 1, 10, 30
    problem = ForcedPath(1 << bits, 1 + (1 << bits) // 2, **_LAW[estimator])
    try:
        squares = [
            _squares(trial, problem, S, p, T, eta, rng=Scripted(row))
            for row in orthogonal_array(bits, drawn)
        ]
    except Unscripted:
        return _sampled_inequality(trial, estimator)
    means = np.mean(squares, axis=0)
    laws = _laws(problem, estimator, p, T, eta, S)
    steps = laws > 0.0
    if (means[~steps] > 0.0).any():
        return Decision("violated", "The estimate at a snapshot is not the gradient.", {}, None)
    # The step shrinks by the weight eta at each t, which only lowers the ratio.
    return decide_inequality(means[steps] / laws[steps], 1e-6)


def _sampled_inequality(trial: Trial, estimator: str) -> Decision:
    S, p, T, eta = 10, 12, 24, 1e-6
    slack = {"sg": {"sigma": 0.5, "L": 1.0}, "svrg": {"L": 1.0, "L2": 0.5}}
    slack["spiderg"] = slack["svrg"]
    slack["casvrg"] = slack["caspiderg"] = {"L": 1.0, "L2": 1.0, "kappa": 0.4}
    problem = ForcedPath(2048, 65, begin=0.5, **slack[estimator])
    laws = _laws(problem, estimator, p, T, eta * 0.5, S)
    steps = laws > 0.0
    seeds = iter(trial.seeds(200, "sampled law"))

    def draw(count: int) -> list[float]:
        runs = [
            _squares(trial, problem, S, p, T, eta, seed=seed)
            for seed in itertools.islice(seeds, count)
        ]
        return [float(np.mean(run[steps] / laws[steps])) for run in runs]

    return sequential(draw, 1.0, batch=20, most=200)[0]


def _laws(problem: ForcedPath, estimator: str, p: int, T: int, eta: float, S: int) -> Floats:
    """Return the law at each t < T; 0 at snapshots."""
    constants = problem.constants(problem.start())
    numbers = {"L": constants.L_ms, "L2": constants.L2_ms, "sigma2": constants.sigma2}
    found = np.zeros(T)
    for t in range(T):
        j = 1 if estimator == "sg" else t % p
        if j:
            found[t] = error_law(estimator, j, eta, S, **numbers)
    return found


def _squares(
    trial: Trial,
    problem: ForcedPath,
    S: int,
    p: int,
    T: int,
    eta: float,
    *,
    rng: Any = None,
    seed: int = 0,
) -> Floats:
    """Return |g_t - grad f(x_t)|^2 for t < T along the forced path; the first step is eta."""
    algorithm = trial.make(batch=S, period=p, iterations=T, step=eta / problem.length)
    steps = trial.follow(problem, algorithm, rng=rng, seed=seed)
    return np.array([float(error @ error) for error in _errors(problem, steps)])


def _exponent_in_j(trial: Trial, estimator: str) -> Decision:
    """Fit the mean square against j on 4 <= j < p."""
    p, T = (40, 40) if estimator != "sg" else (1, 40)
    problem = ForcedPath(2048, 65, **_LAW[estimator])
    repetitions = trial.pick(8, 30)
    squares = np.array(
        [
            np.mean(
                [
                    _squares(trial, problem, 10, p, T, 1e-7, seed=seed)
                    for seed in trial.seeds(repetitions, f"j {k}")
                ],
                axis=0,
            )
            for k in range(20)
        ]
    )
    exponent = fit_exponent(np.arange(4, 40), squares[:, 4:], least_decades=0.9)
    return decide_exponent(exponent, EXPONENTS[estimator][0], LAW_MARGIN)


def _exponent(trial: Trial, estimator: str, of: str, claimed: float) -> Decision:
    """Fit the mean square, averaged over an epoch, against eta or S over two decades."""
    problem = ForcedPath(2048, 65, **_LAW[estimator])
    p = 1 if estimator == "sg" else 8
    grid = np.logspace(-8, -6, 8) if of == "eta" else np.unique(np.logspace(0.3, 2.4, 8).round())
    means = np.empty((20, len(grid)))
    for row, seed in enumerate(trial.seeds(20, of)):
        for column, number in enumerate(grid):
            eta, S = (number, 10) if of == "eta" else (1e-7, int(number))
            seeds = np.random.SeedSequence((seed, column)).generate_state(trial.pick(2, 8))
            runs = [_squares(trial, problem, S, p, 8, eta, seed=int(s)) for s in seeds]
            means[row, column] = np.mean(runs)
    return decide_exponent(fit_exponent(grid, means), claimed, LAW_MARGIN)


# --- theorem 3.1 ----------------------------------------------------------------------------------


def theorem(trial: Trial) -> Evidence:
    """(9), and the mean of V over t, on every family."""
    parts = {}
    runs = 0
    for name, (problem, share) in _families(trial).items():
        constants = problem.constants(problem.start())
        epsilon = share * constants.L * constants.D
        algorithm = trial.scheduled(epsilon, constants)
        made = _Runs(trial, problem, algorithm, name)
        bound = 2.0 * epsilon * constants.D
        mean_gap, samples = sequential(made.mean_gaps, bound, batch=20, most=trial.pick(20, 100))
        condition = decide_mean(made.errors, epsilon**2 / 4.0)
        parts[name] = given({"V": mean_gap}, {"(9)": condition})
        runs += len(samples)
    conditions = {"(9) on the worst path": _condition(trial), "output": drawn_uniformly(trial)}
    claimed = {"mean V over 2 eps D": 1.0, "mean square error over eps^2/4": 1.0}
    decision = given({"": across(parts)}, conditions)
    return Evidence(decision=decision, claimed=claimed, repetitions=runs)


def _condition(trial: Trial) -> Decision:
    """Compare the schedule's error with epsilon^2/4 where the law is attained, at j = p-1."""
    estimator = estimator_of(trial)
    slopes: dict[str, dict[str, float]] = {"sg": {"sigma": 1.0, "L": 1e-3}, "svrg": {"L": 1.0}}
    slopes["spiderg"] = slopes["svrg"]
    problem = ForcedPath(1024, 65, length=8.0, **slopes.get(estimator, {"L": 1.0, "L2": 0.1}))
    constants = problem.constants(problem.start())
    # So small that the steps of the first epoch hardly shrink, except where S = 4 sigma^2/eps^2.
    epsilon = 0.2 if estimator == "sg" else 1e-3
    if estimator == "sg":
        constants = replace(constants, L_ms=1.0)
    algorithm = trial.scheduled(epsilon, constants)
    last = getattr(algorithm, "period", 1) - 1

    def error(seed: int) -> float:
        steps = trial.follow(problem, algorithm, seed=seed)
        found = next(itertools.islice(_errors(problem, steps), last, None))
        return float(found @ found) / (epsilon**2 / 4.0)

    return _not_rejected([error(seed) for seed in trial.seeds(trial.pick(40, 200), "(9)")])


def _not_rejected(ratios: list[float]) -> Decision:
    """Decide a condition that is met with equality, where no limit of a mean could lie below."""
    process = EProcess(1.0)
    for ratio in ratios:
        process.add(ratio)
    measured = {"ratio": float(np.mean(ratios)), "log_e_value": process.log_largest}
    if process.rejected:
        return Decision("violated", "The e-process rejects (9).", measured, process.p_value)
    return Decision("holds", "Nothing speaks against (9).", measured, process.p_value)


class _Runs:
    """Independent runs, one after the other; the mean over t of V, and of the squared error."""

    def __init__(self, trial: Trial, problem: Problem, algorithm: Any, purpose: str) -> None:
        self._trial, self._problem, self._algorithm = trial, problem, algorithm
        self._seeds = iter(trial.seeds(1000, purpose))
        self.errors: list[float] = []

    def mean_gaps(self, count: int) -> list[float]:
        """Make so many runs and return the mean of V(x_t) over t < T of each."""
        found = []
        for seed in itertools.islice(self._seeds, count):
            run = self._trial.run(
                self._problem, self._algorithm, seed=seed, measures=("fw_gap", "estimator_error")
            )
            trace = run.trace
            found.append(float(trace["fw_gap"].iloc[:-1].mean()))
            self.errors.append(float((trace["estimator_error"].iloc[1:] ** 2).mean()))
        return found


def _families(trial: Trial) -> Mapping[str, tuple[Problem, float]]:
    """Return problems, and for each the epsilon in units of L D."""
    return {
        "log cosh, l2 ball": (_log_cosh(trial, n=64, d=6), 0.05),
        "matrix recovery": (_recovery(trial), 0.05),
    }


def _log_cosh(trial: Trial, *, n: int, d: int) -> LogCosh:
    seed = trial.seeds(1, f"log cosh {n} {d}")[0]
    features, labels = synthetic_rows(rows=n, columns=d, seed=seed)
    return LogCosh(features, labels, L2Ball(d, 2.0))


def _recovery(trial: Trial) -> RobustMatrixRecovery:
    seed = trial.seeds(1, "recovery")[0]
    data = synthetic(rows=9, columns=8, rank=2, density=0.6, seed=seed)
    return RobustMatrixRecovery(data, radius=20.0, sigma=1.0)


# --- the best of several runs ---------------------------------------------------------------------


def best_of_runs(trial: Trial) -> Evidence:
    """How often the chosen output misses 4 eps D, and what its choice costs."""
    problem, share = _log_cosh(trial, n=64, d=6), 0.05
    constants = problem.constants(problem.start())
    epsilon, probability = share * constants.L * constants.D, 0.25
    k = 2
    one = trial.scheduled(epsilon, constants)
    best = trial.scheduled(epsilon, constants, probability=probability)
    seeds = iter(trial.seeds(100, "best of runs"))
    before = trial.run(problem, one, seed=trial.seeds(1, "one")[0]).counts
    gaps: list[float] = []
    counts = []

    def draw(count: int) -> list[float]:
        for seed in itertools.islice(seeds, count):
            run = trial.run(problem, best, seed=seed)
            gap = run.final["fw_gap"]
            assert gap is not None
            gaps.append(gap)
            counts.append(run.counts)
        return [float(gap > 4.0 * epsilon * constants.D) for gap in gaps[-count:]]

    missed = decide_share(draw(trial.pick(20, 60)), probability)
    expected = {
        "sfo": k * (before.sfo + problem.n),
        "lo": k * (before.lo + 1),
    }
    cost = equal(expected, {"sfo": counts[0].sfo, "lo": counts[0].lo})
    claimed = {"share above 4 eps D": probability, **expected}
    return Evidence(
        decision=given({"missed": missed}, {"cost": cost}), claimed=claimed, repetitions=len(gaps)
    )


# --- table 1 and the crossovers -------------------------------------------------------------------


def _amortised(
    trial: Trial, estimator: str, n: int, epsilon: float, seed: int
) -> tuple[float, float]:
    """Run one epoch of the cheapest schedule with (9) on the path where the law is attained.

    Returns the SFO an iteration as counted, and the mean over the last tenth of the epoch of the
    squared error, in units of epsilon^2/4.
    """
    units = {"L": 1.0, "L2": 1.0, "sigma2": 1.0}
    least = least_cost(estimator, n, epsilon, **units)
    numbers = {"sg": {"sigma": 1.0, "L": 0.0}, "svrg": {}, "spiderg": {}}
    problem = ForcedPath(n, 9, **numbers.get(estimator, {"L": 1.0, "L2": 1.0}))
    # A path of p steps of length epsilon: the segment is so long that they hardly shrink.
    problem = replace(problem, length=1e6 * epsilon * least.p)
    T = least.p if estimator != "sg" else 50
    algorithm = trial.make(
        batch=least.S, period=least.p, iterations=T, step=epsilon / problem.length
    )
    tail = max(1, T // 10)
    squares, x, step = [], problem.start(), None
    for t, step in enumerate(trial.follow(problem, algorithm, seed=seed)):
        if t >= T - tail:
            error = step.estimate - problem.gradient(x)
            squares.append(float(error @ error))
        x = step.state.x
    assert step is not None
    return step.counts().sfo / T, float(np.mean(squares)) / (epsilon**2 / 4.0)


_GRIDS: Mapping[str, Mapping[str, tuple[Floats, float, float]]] = MappingProxyType(
    {
        "sg": {"1/epsilon": (np.logspace(-2.5, -0.5, 8), 1e8, 2.0)},
        "svrg": {"n": (np.logspace(5, 7, 8), 1e-3, 2 / 3)},
        "spiderg": {"n": (np.logspace(4, 6, 8), 1e-3, 1 / 2)},
        "casvrg": {
            "n": (np.logspace(5, 7, 8), 1e-5, 0.8),
            "1/epsilon": (np.logspace(-6.5, -4.5, 8), 1e6, -0.4),
        },
        "caspiderg": {
            "n": (np.logspace(5.5, 7.5, 8), 1e-5, 0.75),
            "1/epsilon": (np.logspace(-5.5, -3.5, 8), 1e6, -0.5),
        },
    }
)
"""For each estimator and each exponent: the grid, the other number, and the claimed exponent."""


def table(trial: Trial) -> Evidence:
    """Fit the counted SFO an iteration of the cheapest schedules with (9)."""
    estimator = estimator_of(trial)
    parts, claimed = {}, {}
    errors: list[float] = []
    for of, (grid, other, exponent) in _GRIDS[estimator].items():
        costs = []
        for number, seed in zip(grid, trial.seeds(len(grid), of), strict=True):
            n, epsilon = (number, other) if of == "n" else (other, number)
            cost, error = _amortised(trial, estimator, 16 * round(n / 16), float(epsilon), seed)
            errors.append(error)
            costs.append(cost)
        x = grid if of == "n" else 1.0 / grid
        parts[f"exponent in {of}"] = decide_exponent(
            fit_exponent(x, costs, least_decades=1.99), exponent
        )
        claimed[f"exponent in {of}"] = exponent
    decision = given(parts, {"(9)": _not_rejected(errors)})
    return Evidence(decision=decision, claimed=claimed, repetitions=len(errors))


def crossover(trial: Trial) -> Evidence:
    """Compare counted SFO with SPIDERG's on both sides of the stated crossover."""
    estimator = estimator_of(trial)
    constant, power = CROSSOVERS[estimator]
    spider = replace(trial, subject=replace(trial.subject, algorithm=trial.other("nfwu-spiderg")))
    parts, found = {}, {}
    for n in trial.pick((1e5, 1e6), (1e5, 1e6, 1e7)):
        size = 16 * round(n / 16)
        at = constant * size**power
        for factor in (0.25, 0.8, 1.25, 4.0):
            seed = trial.seeds(1, f"{n} {factor}")[0]
            ours, error = _amortised(trial, estimator, size, factor * at, seed)
            theirs, _ = _amortised(spider, "spiderg", size, factor * at, seed)
            ratio = ours / theirs if factor < 1.0 else theirs / ours
            parts[f"n={n:g}, {factor:g} of the crossover"] = replace(
                decide_inequality([ratio]), measured={"ratio": ratio, "(9)": error}
            )
        found[f"n={n:g}: crossover"] = at
    return Evidence(decision=all_of(parts), claimed=found, repetitions=2 * len(parts))


# --- SAGAFW ---------------------------------------------------------------------------------------


def sagafw(trial: Trial) -> Evidence:
    """Fit SFO to V <= eps V(x_0) with the claimed batch, beyond the n that fill the table.

    Beside it stands the batch that the error bound of the proof needs on the worst path.
    """
    sizes = np.unique(np.logspace(1.4, 3.4, 8).round()).astype(int)
    shares = np.logspace(-2.3, -0.3, 8)
    seeds = trial.seeds(20, "data")
    by_size = [[_calls(trial, int(n), 0.1, seed) for n in sizes] for seed in seeds]
    by_epsilon = [[_calls(trial, 216, share, seed) for share in shares] for seed in seeds]
    parts = {
        "exponent in n": decide_exponent(fit_exponent(sizes, by_size, least_decades=1.9), 1 / 3),
        "exponent in 1/epsilon": decide_exponent(fit_exponent(1.0 / shares, by_epsilon), 2.0),
    }
    decision = all_of(parts)
    needed = fit_exponent(sizes, [_needed_batch(trial, int(n)) for n in sizes], least_decades=1.9)
    measured = {**decision.measured, "batch that (9) needs: exponent in n": needed.slope}
    claimed = {"exponent in n": 1 / 3, "exponent in 1/epsilon": 2.0}
    return Evidence(
        decision=replace(decision, measured=measured),
        claimed=claimed,
        repetitions=len(seeds) * (len(sizes) + len(shares)),
    )


def _calls(trial: Trial, n: int, share: float, seed: int) -> float:
    """Return the SFO until V <= share V(x_0), without the n that fill the table; inf if never."""
    features, labels = synthetic_rows(rows=n, columns=6, seed=seed)
    problem = LogCosh(features, labels, L2Ball(6, 2.0))
    x, constants = problem.start(), problem.constants(problem.start())
    g = problem.gradient(x)
    epsilon = share * float(g @ x - problem.minimum(g)[0])
    algorithm = trial.scheduled(epsilon, constants, option="claimed")
    run = trial.run(problem, algorithm, seed=seed, stop=Stop("fw_gap", epsilon))
    return float(run.counts.sfo - n) if run.status == "target" else np.inf


def _needed_batch(trial: Trial, n: int) -> float:
    """Return the least batch for which the error stays below (L eta)^2 on the forced path."""
    problem = ForcedPath(16 * max(1, round(n / 16)), 9)
    steps, eta = 4 * n, 1e-9
    low, high = 1, n
    while high > low:
        batch = (low + high) // 2
        T = max(20, steps // batch)
        algorithm = trial.make(batch=batch, iterations=T, step=eta)
        errors = _errors(problem, trial.follow(problem, algorithm, seed=trial.seeds(1, "age")[0]))
        squares = [float(error @ error) for error in errors]
        low, high = (low, batch) if np.mean(squares[T // 2 :]) <= eta**2 else (batch + 1, high)
    return float(low)


# --- the lower bound ------------------------------------------------------------------------------


def lower_bound(trial: Trial) -> Evidence:
    """Certify the floor before T calls, and compare calls on the rescaled family with T(eps)."""
    parts: dict[str, Decision] = {}
    horizons = trial.pick((10, 50), (10, 50, 200))
    for T in horizons:
        for one in _contestants(trial, T):
            certificate = certify(one, T, seed=trial.seeds(1, one.label)[0]).certificate
            name = f"{one.label}, T={T}"
            if not certificate.certified or certificate.certified_for != "lo":
                reason = " ".join(certificate.findings)
                parts[name] = Decision("violated", reason, {}, None)
            else:
                parts[name] = decide_inequality([GAP / certificate.min_gap_over_diameter])
    if trial.subject.algorithm is None:
        epsilons = [epsilon_of(T) for T in trial.pick((8, 16, 32, 64), (8, 16, 32, 64, 128, 256))]
        names = [f"frank-wolfe[step={step}]" for step in ("line-search", "open-loop")]
        runs = rescaled(names, epsilons, seed=trial.seeds(1, "rescaled")[0])
        for name in names:
            calls = [run for run in runs if run.algorithm == name]
            parts[f"{name}, T(eps)/calls"] = decide_inequality(
                [1.0 / run.tightness for run in calls]
            )
    claimed = {"V/D before T": GAP, "calls over T(eps)": 1.0}
    return Evidence(decision=across(parts), claimed=claimed, repetitions=len(parts))


def _contestants(trial: Trial, T: int) -> list[Contestant]:
    """Return the algorithms that the theorem speaks of, or the one under test."""
    if trial.subject.algorithm is None:
        return [contestant(text, frame(T)) for text in every_contestant()]
    tested = trial.make(iterations=T)
    label = getattr(tested, "name", type(tested).__name__)
    return [Contestant(tested, label, label)]


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        **{f"shen2019-count-{name}": Check(count, 0.2, 0.2) for name in ESTIMATORS},
        **{f"shen2019-thm3.1-{name}": Check(theorem, 0.5, 2.0) for name in ESTIMATORS},
        "shen2019-thm3.1-caspiderg": Check(theorem, 1.5, 6.0),
        **{f"shen2019-mse-{name}": Check(law, 0.7, 2.0) for name in ESTIMATORS},
        **{f"shen2019-unbiased-{name}": Check(unbiased, 0.2, 0.2) for name in ESTIMATORS},
        **{f"shen2019-table1-{name}": Check(table, 0.7, 0.7) for name in ESTIMATORS},
        "shen2019-table1-caspiderg": Check(table, None, 3.0),
        **{f"shen2019-crossover-{name}": Check(crossover, 0.4, 0.6) for name in CROSSOVERS},
        "shen2019-rem3.1": Check(best_of_runs, 0.2, 0.4),
        "shen2019-sagafw": Check(sagafw, None, 90.0),
        "shen2019-thm5.1": Check(lower_bound, 3.0, 60.0),
        "shen2019-rlrmr-sso": Check(one_number, 0.2, 0.2),
    }
)
"""Every check of this paper by the name of its claim."""
