"""Section 4 of shen2019: the conditional mean of each gradient estimate is the gradient."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from pfbench.algorithms.nfwu import NFWUCASVRG, NFWUSG, NFWUSPIDERG, NFWUSVRG
from pfbench.base.protocols import Algorithm, Problem
from pfbench.claims.shen2019.estimators import METHODS, RECURSIVE
from pfbench.claims.shen2019.paths import every_error
from pfbench.estimators import CASVRG, SG, SPIDERG, SVRG
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.problems.rows import synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification import Claim, Evidence, Floats, Mutant, Trial, instance
from pfbench.verification.instruments.draws import Unscripted, branches
from pfbench.verification.repeats import check_repeats, check_seed, noted
from pfbench.verification.statistics import LEVEL, Decision, decide_exact, mean_interval


def few_components(rng: np.random.Generator) -> NonconvexLogistic:
    """Return a random smooth sum of so few components that all batches can be enumerated.

    Its gradient changes along the path, so that one taken at another point is seen.
    """
    features, labels = synthetic_rows(True, rows=3, columns=3, seed=int(rng.integers(2**31)))
    return NonconvexLogistic(features, labels, L2Ball(3, 2.0), alpha=0.3)


FAMILY = instance(few_components)

_BATCH, _STEP = 2, 0.2

_ROUNDING = 1e-10
"""Largest deviation, in units of the gradient at the start, that counts as none."""


def unbiased(trial: Trial, *, estimator: str) -> Evidence:
    """Enumerate all draws: given the past, the mean is the gradient's; exactly it at snapshots.

    The past is what was yielded, so that an algorithm may draw when and how it likes.
    """
    problem = FAMILY(trial.rng("data"))
    settings = [(1, 2)] if estimator == "sg" else [(3, 3), (2, 4)]
    found = {"at snapshots": 0.0, "relative deviation": 0.0}
    runs = 0
    for p, T in settings:

        def errors(rng: np.random.Generator, p: int = p, T: int = T) -> list[_Told]:
            return _errors(trial, problem, p, T, rng=rng)

        try:
            check_repeats(trial, problem, _made(trial, p, T))
            every = list(branches(errors))
        except Unscripted as why:
            sampled = _sampled(trial, problem, estimator)
            return replace(sampled, decision=noted(sampled.decision, why))
        runs += len(every)
        for t in range(T):
            if _exact(estimator, t, p):
                off, worst = "at snapshots", max(np.abs(told[t].error).max() for _, told in every)
            else:
                off, worst = "relative deviation", _deviation(every, t, estimator)
            found[off] = max(found[off], float(worst))
    scale = float(np.abs(problem.gradient(problem.start())).max())
    measured = {name: worst / scale for name, worst in found.items()}
    largest = max(measured.values())
    if largest > _ROUNDING:
        check_seed(trial, problem, _made(trial, p, T))
    decision = decide_exact(
        largest <= _ROUNDING,
        "Every conditional mean is exact.",
        f"A conditional mean is off by {largest:.3g} of the gradient.",
        {**measured, "ratio": largest / _ROUNDING},
    )
    return Evidence(decision, dict.fromkeys(found, 0.0), runs)


@dataclass(frozen=True)
class _Told:
    """The point x_t and the error g_t - grad f(x_t) of iteration t."""

    x: Floats
    error: Floats


def _exact(estimator: str, t: int, p: int) -> bool:
    """Return whether the estimate of iteration t is a full gradient."""
    return estimator != "sg" and t % p == 0


def _made(trial: Trial, p: int, T: int) -> Algorithm:
    return trial.make(batch=_BATCH, period=p, iterations=T, step=_STEP)


def _errors(trial: Trial, problem: Problem, p: int, T: int, **stream: Any) -> list[_Told]:
    """Return what a run tells; `stream` is the rng, or the seed, of `Trial.follow`."""
    steps = list(trial.follow(problem, _made(trial, p, T), **stream))
    points = [problem.start(), *(step.state.x for step in steps)]
    return [_Told(*pair) for pair in zip(points, every_error(problem, steps, T), strict=False)]


def _added(told: Sequence[_Told], t: int, estimator: str) -> Floats:
    """Return the error of iteration t; of recursive estimates what it adds to the one before."""
    return told[t].error - told[t - 1].error if estimator in RECURSIVE else told[t].error


def _deviation(every: Sequence[tuple[float, list[_Told]]], t: int, estimator: str) -> float:
    """Return the largest entry of a mean, given the past, of what `_added` returns."""
    chances: dict[Any, float] = defaultdict(float)
    sums: dict[Any, Any] = defaultdict(float)
    for chance, told in every:
        past = (*((one.x.tobytes(), one.error.tobytes()) for one in told[:t]), told[t].x.tobytes())
        chances[past] += chance
        sums[past] += chance * _added(told, t, estimator)
    return max(float(np.abs(sums[past] / chances[past]).max()) for past in sums)


def _sampled(trial: Trial, problem: Problem, estimator: str) -> Evidence:
    """Test the means over all draws, where draws cannot be enumerated.

    Each coordinate at each iteration of an epoch has a t-test, at the level split over them. At
    snapshots every error must be 0.
    """
    p, T = (1, 1) if estimator == "sg" else (3, 4)
    every = [_errors(trial, problem, p, T, seed=seed) for seed in trial.seeds(2000, "sampled mean")]
    scale = float(np.abs(problem.gradient(problem.start())).max())
    random = [t for t in range(T) if not _exact(estimator, t, p)]
    added = np.array([[_added(told, t, estimator) for t in random] for told in every])
    snapshots = [told[t].error for told in every for t in range(T) if t not in random]
    columns = added.reshape(len(every), -1) / scale
    off = float(np.abs(columns.mean(axis=0)).max())
    measured = {"relative deviation": off, "at snapshots": 0.0}
    if snapshots:
        measured["at snapshots"] = float(np.abs(snapshots).max()) / scale
    p_value = min(1.0, min(map(_p_value, columns.T)) * columns.shape[1])
    half = max(np.ptp([*vars(mean_interval(column)).values()]) / 2.0 for column in columns.T)
    measured["half width of the interval"] = float(half)
    if not measured["at snapshots"] <= _ROUNDING:
        words = "The estimate at a snapshot is not the gradient."
        decision = Decision("violated", words, measured, None)
    elif p_value <= LEVEL:
        decision = Decision("violated", f"The mean is off by {off:.3g} of it.", measured, p_value)
    elif half <= 0.1:
        decision = Decision("holds", "The sampled mean is the gradient.", measured, p_value)
    else:
        decision = Decision("inconclusive", "The sampled mean is too uncertain.", measured, p_value)
    return Evidence(decision, {"relative deviation": 0.0, "at snapshots": 0.0}, len(every))


def _p_value(column: Floats) -> float:
    """Return the p-value of mean 0; 1 where only rounding speaks against it."""
    if abs(float(column.mean())) <= _ROUNDING:
        return 1.0
    if not float(np.ptp(column)) > 0.0:
        return 0.0
    return float(scipy.stats.ttest_1samp(column, 0.0).pvalue)


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
        takes=(0.2, 0.2),
    )
    for name, method in METHODS.items()
}


# --- planted faults -------------------------------------------------------------------------------

CLAIMS = tuple(UNBIASED.values())
MUTANTS = (
    Mutant.edited(
        NFWUSPIDERG,
        SPIDERG,
        "spiderg-divided-by-n",
        "Divides the summed difference by n instead of S.",
        {"= change(": "= self.batch / ask.n * change("},
        UNBIASED["spiderg"],
    ),
    Mutant.edited(
        NFWUSVRG,
        SVRG,
        "svrg-wrong-point",
        "SVRG with the difference to the point before instead of the snapshot.",
        {
            "return ask.difference(self.draw(ask, rng), x, s)": "y, s = s, keep(x)\n"
            "            return ask.difference(self.draw(ask, rng), x, y)"
        },
        UNBIASED["svrg"],
    ),
    Mutant.edited(
        NFWUCASVRG,
        CASVRG,
        "casvrg-no-mean",
        "CASVRG that leaves out the full Hessian's product.",
        {"c = H.product(x, s)": "c = 0.0 * H.product(x, s)"},
        UNBIASED["casvrg"],
    ),
    Mutant.edited(
        NFWUSG,
        SG,
        "sg-never-the-last",
        "Never draws the last component.",
        {"self.draw(ask, rng)": "np.minimum(self.draw(ask, rng), ask.n - 2)"},
        UNBIASED["sg"],
    ),
)
