"""Section 4 of shen2019: the conditional mean of each gradient estimate is the gradient."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import scipy

from pfbench.algorithms.nfwu import NFWUCASVRG, NFWUSG, NFWUSPIDERG, NFWUSVRG
from pfbench.base.protocols import Asked, Gradient, Point, Problem
from pfbench.claims.shen2019.estimators import METHODS, RECURSIVE
from pfbench.claims.shen2019.faulty import Faulty
from pfbench.claims.shen2019.paths import errors
from pfbench.estimators import SG
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.problems.rows import synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification import Claim, Evidence, Floats, Mutant, Trial, instance
from pfbench.verification.instruments.draws import Scripted, Unscripted
from pfbench.verification.statistics import LEVEL, Decision, decide_exact, mean_interval


def four_components(rng: np.random.Generator) -> NonconvexLogistic:
    """Return a random smooth sum of so few components that all batches can be enumerated."""
    features, labels = synthetic_rows(True, rows=4, columns=3, seed=int(rng.integers(2**31)))
    return NonconvexLogistic(features, labels, L2Ball(3, 2.0), alpha=0.3)


FAMILY = instance(four_components)


def unbiased(trial: Trial, *, estimator: str) -> Evidence:
    """Enumerate all batches of S = 2: the conditional mean is the gradient's."""
    problem = FAMILY(trial.rng("data"))
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
            for script, found in followed:
                known = tuple(script[: 2 * position])
                before = found[t - 1] if estimator in RECURSIVE else 0.0
                groups.setdefault(known, []).append(found[t] - before)
            deviations += [np.abs(np.mean(group, axis=0)).max() for group in groups.values()]
    scale = float(np.abs(problem.gradient(problem.start())).max())
    worst = float(np.max(deviations)) / scale
    measured = {"relative deviation": worst, "ratio": worst / 1e-10}
    off = f"A conditional mean is off by {worst:.3g} of the gradient."
    decision = decide_exact(worst <= 1e-10, "Every conditional mean is exact.", off, measured)
    return Evidence(decision, {"relative deviation": 0.0}, runs)


def _enumerated(
    trial: Trial, problem: Problem, *, p: int, T: int, draws: int
) -> list[tuple[tuple[int, ...], list[Floats]]]:
    """Return for every script of draws the estimation errors g_t - grad f(x_t), t < T."""
    found = []
    for script in itertools.product(range(problem.n), repeat=draws):
        algorithm = trial.make(batch=2, period=p, iterations=T, step=0.2)
        steps = trial.follow(problem, algorithm, rng=Scripted(script, problem.n))
        found.append((script, list(errors(problem, steps))))
    return found


def _sampled_mean(trial: Trial, problem: Problem, t: int) -> Evidence:
    """Test the mean of the first random estimate, where batches cannot be enumerated.

    The point there depends on no draw. Each coordinate has a t-test, at the level split over them.
    """
    algorithm = trial.make(batch=2, period=5, iterations=t + 1, step=0.2)

    def error(seed: int) -> Floats:
        steps = trial.follow(problem, algorithm, seed=seed)
        return next(itertools.islice(errors(problem, steps), t, None))

    found = np.array([error(seed) for seed in trial.seeds(2000, "sampled mean")])
    scale = float(np.abs(problem.gradient(problem.start())).max())
    p_values = scipy.stats.ttest_1samp(found, 0.0, axis=0).pvalue
    p_value = min(1.0, float(np.min(p_values)) * found.shape[1])
    half = max(np.ptp([*vars(mean_interval(column)).values()]) / 2.0 for column in found.T)
    off = float(np.abs(found.mean(axis=0)).max()) / scale
    measured = {"relative deviation": off, "half width of the interval": half / scale}
    if p_value <= LEVEL:
        decision = Decision("violated", f"The mean is off by {off:.3g} of it.", measured, p_value)
    elif half <= 0.1 * scale:
        decision = Decision("holds", "The sampled mean is the gradient.", measured, p_value)
    else:
        decision = Decision("inconclusive", "The sampled mean is too uncertain.", measured, p_value)
    return Evidence(decision, {"relative deviation": 0.0}, len(found))


_WHOLE = "E[g_t | past] = grad f(x_t)"
_INCREMENT = "E[g_t - g_{t-1} | past] = grad f(x_t) - grad f(x_{t-1})"
_STATEMENTS = {
    **dict.fromkeys(METHODS, _WHOLE),
    **dict.fromkeys(RECURSIVE, _INCREMENT),
    "sg": "E[g_t | x_t] = grad f(x_t)",
}

UNBIASED = {
    name: Claim(
        name=f"shen2019-unbiased-{name}",
        source="shen2019 section 4, estimators GE 1 to 5",
        kind="law",
        statement=_STATEMENTS[name],
        check=partial(unbiased, estimator=name),
        instances=(FAMILY,),
        algorithm=method.name,
        schedule="explicit",
        takes=(0.2, 0.2),
    )
    for name, method in METHODS.items()
}


# --- planted faults -------------------------------------------------------------------------------


class DividedByN(Faulty, NFWUSPIDERG):
    """Divides the summed difference by n instead of S."""

    def factor(self, ask: Asked) -> float:
        """Return S/n."""
        return self.batch / ask.n


class WrongPoint(Faulty, NFWUSVRG):
    """SVRG with the difference to the point before instead of the snapshot."""

    def reference_point(self, s: Point, previous: Point) -> Point:
        """Return x_{t-1}."""
        return previous


class NoMean(Faulty, NFWUCASVRG):
    """CASVRG that leaves out the full Hessian's product."""

    def correction(self, full: Gradient, sampled: Gradient) -> Gradient:
        """Return only the sampled part."""
        return -sampled


class NeverTheLast(SG):
    """GE 1 that draws among n - 1 components."""

    def draw(self, ask: Asked, rng: np.random.Generator) -> Any:
        """Leave out the last component."""
        return np.minimum(rng.integers(ask.n, size=self.batch), ask.n - 2)


class BiasedSG(NFWUSG):
    """Never draws the last component."""

    @property
    def estimator(self) -> SG:
        """The faulty estimator."""
        return NeverTheLast(self.batch)


CLAIMS = tuple(UNBIASED.values())
MUTANTS = (
    Mutant.of("spiderg-divided-by-n", DividedByN, UNBIASED["spiderg"]),
    Mutant.of("svrg-wrong-point", WrongPoint, UNBIASED["svrg"]),
    Mutant.of("casvrg-no-mean", NoMean, UNBIASED["casvrg"]),
    Mutant.of("sg-never-the-last", BiasedSG, UNBIASED["sg"]),
)
