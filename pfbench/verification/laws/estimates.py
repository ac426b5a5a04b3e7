"""Whether each estimate has the conditional mean and mean square that its source says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pfbench.base.arrays import Floats, largest
from pfbench.base.protocols import Algorithm
from pfbench.verification.evidence import Evidence
from pfbench.verification.instruments.draws import Unscripted, branches, rounded
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws.method import Method, Place, Setting, Told, follow, runnable
from pfbench.verification.repeats import check_repeats, check_seed, noted
from pfbench.verification.statistics import (
    LEVEL,
    Decision,
    EProcess,
    all_of,
    decide_exact,
    decide_inequality,
)
from pfbench.verification.subject import Untestable
from pfbench.verification.trial import Trial

ROUNDING = 1e-9
"""Relative size that rounding may have in what is compared."""

UNTOLD = "it tells no coin: yield State(x, at, estimate, coin=coin)"
"""What is said where a mean square, or where a snapshot was, depends on coins that are not told."""

_SAMPLED = 1000
"""Runs where draws cannot be enumerated."""

_DOUBTFUL = 1e-3
"""A p-value below this, and above the level, decides nothing."""

_WIDEST = 0.05
"""A mean with a larger standard error, in parts of a gradient, decides nothing."""


def estimates_as_its_source(trial: Trial, *, method: Method) -> Evidence:
    """Compare means and mean squares of all estimates, given what was told before, with the source.

    All draws are enumerated; where they cannot be, runs are sampled.
    """
    parts: dict[str, Decision] = {}
    runs = 0
    settings = trial.pick((), method.enumerated_in_full) + method.enumerated
    for one, algorithm in runnable(trial, settings):
        try:
            check_repeats(trial, one.problem(), algorithm)
            decided, count = _enumerated(trial, method, one, algorithm)
        except Unscripted as why:
            decided, count = _sampled(trial, method, one, algorithm)
            decided = {name: noted(part, why) for name, part in decided.items()}
        parts |= {f"{one}: {name}": part for name, part in decided.items()}
        runs += count
        if any(part.verdict == "violated" for part in decided.values()):
            check_seed(trial, one.problem(), algorithm)
            break
    return Evidence(all_of(parts), {"relative deviation": 0.0, "ratio": 1.0}, runs)


# --- enumerated -----------------------------------------------------------------------------------


@dataclass
class _Group:
    """The estimates of one step after one told past, with their chances."""

    mean: Floats
    square: float | None
    chances: list[float]
    estimates: list[Floats]


def _enumerated(
    trial: Trial, method: Method, where: Setting, algorithm: Algorithm
) -> tuple[dict[str, Decision], int]:
    """Return the decisions on mean and mean square, and the number of runs."""
    problem, groups, runs = where.problem(), dict[tuple[int, bytes], _Group](), 0
    found = branches(lambda rng: follow(trial, method, where, algorithm, problem, rng=rng))
    for chance, told in found:
        runs += 1
        past = b""
        places = method.referee(problem, where.parameters, told)
        for t, (one, place) in enumerate(zip(told, places, strict=False)):
            formed = place.formed
            known = t, past + rounded(formed.at)  # where it goes on may be drawn, too
            group = groups.get(known)
            if group is None:
                square = formed.square(problem) if formed.bounded else None
                group = groups[known] = _Group(formed.mean(problem), square, [], [])
            group.chances.append(chance)
            group.estimates.append(one.estimate)
            past += _key(one)
    scale = float(np.abs(problem.components(problem.start())).max())
    return _decided(method, where, problem, groups, scale), runs


def _key(told: Told) -> bytes:
    """Return what a step told, up to rounding.

    Where rounding falls apart, a past is split in two: the law after it is the same.
    """
    shown = (told.estimate, told.x) if told.at is None else (told.estimate, told.x, told.at)
    return rounded(np.concatenate(shown)) + str(told.coin).encode()


def _decided(
    method: Method,
    where: Setting,
    problem: Waves,
    groups: dict[tuple[int, bytes], _Group],
    scale: float,
) -> dict[str, Decision]:
    deviation, ratios = 0.0, [0.0]
    unconditional: dict[int, float] = {}
    for (t, _), group in groups.items():
        chances, estimates = np.array(group.chances), np.array(group.estimates)
        total = float(chances.sum())
        off = chances @ estimates / total - group.mean
        deviation = largest(deviation, float(np.abs(off).max()) / scale)
        squares = float(chances @ ((estimates - group.mean) ** 2).sum(axis=1))
        if group.square is None:
            unconditional[t] = unconditional.get(t, 0.0) + squares
        else:
            # An estimate that is certain may err by rounding.
            ratios.append(squares / total / max(group.square, (ROUNDING * scale) ** 2))
    if method.stored_squares is not None:
        right = method.stored_squares(problem, where.parameters)
        ratios += [
            square / max(right[t], (ROUNDING * scale) ** 2) for t, square in unconditional.items()
        ]
    measured = {"relative deviation": deviation}
    wrong = f"A conditional mean is off by {deviation:.3g} of a gradient."
    exact = "Every conditional mean is exact."
    unknown = method.stored_squares is None and unconditional
    return {
        "mean": decide_exact(deviation <= ROUNDING, exact, wrong, measured),
        "mean square": Decision("inconclusive", f"{UNTOLD[0].upper()}{UNTOLD[1:]}.", {}, None)
        if unknown
        else decide_inequality(ratios, ROUNDING),
    }


# --- sampled --------------------------------------------------------------------------------------


def _sampled(
    trial: Trial, method: Method, where: Setting, algorithm: Algorithm
) -> tuple[dict[str, Decision], int]:
    """Return the decisions from sampled runs.

    Errors from the conditional means are differences of a martingale, of mean 0 at each step: each
    step has an e-value at its share of the level. Squares over their conditional
    means have a mean of at most 1 at each step: an e-process.
    """
    problem = where.problem()
    seeds = trial.seeds(_SAMPLED, str(where))
    told = (follow(trial, method, where, algorithm, problem, seed=seed) for seed in seeds)
    runs = [list(_errors(method, where, problem, one)) for one in told]
    scale = float(np.abs(problem.components(problem.start())).max())
    steps = range(min(map(len, runs)))
    errors = np.array([[run[t][0] for t in steps] for run in runs])
    rights = np.array([[run[t][1][1] for t in steps] for run in runs])
    means = _means(errors, np.maximum(rights, (ROUNDING * scale) ** 2), scale)
    squares = {
        f"step {t}": _squares([run[t][1] for run in runs], (ROUNDING * scale) ** 2, len(steps))
        for t in steps
    }
    return {"sampled mean": means, "sampled mean square": all_of(squares)}, len(runs)


def _errors(
    method: Method, where: Setting, problem: Waves, told: Sequence[Told]
) -> Iterator[tuple[Floats, tuple[float, float]]]:
    """Yield each error, with its square and what the mean of that is."""
    stored = method.stored_squares and method.stored_squares(problem, where.parameters)
    places: Iterator[Place] = method.referee(problem, where.parameters, told)
    for t, (one, place) in enumerate(zip(told, places, strict=False)):
        error = one.estimate - place.formed.mean(problem)
        if stored is None and not place.formed.bounded:
            raise Untestable(UNTOLD)
        right = stored[t] if stored else place.formed.square(problem)
        yield error, (float(error @ error), right)


def _means(errors: Floats, rights: Floats, scale: float) -> Decision:
    """Decide whether errors have mean 0, under every law of the right mean squares.

    If E e = 0 and E|e|^2 <= s^2, then x = c <u, e>/s has E(1 + x + x^2/2) <= 1 + c^2/2 for |u| = 1.
    So the product over runs of the ratio of both sides is an e-value (Catoni 2012, section 2), if u
    is known before the run: it is the direction of the mean of the runs before. A t-test would
    call skewed errors wrong that are right.

    Parameters
    ----------
    errors
        Shape (runs, steps, coordinates).
    rights
        What their mean squares |e|^2 are at most, positive, shape (runs, steps).
    scale
        Size of a gradient.
    """
    flat = errors.reshape(len(errors), -1)
    off, spread = np.abs(flat.mean(axis=0)) / scale, flat.std(axis=0, ddof=1) / scale
    certain = spread <= ROUNDING
    measured = {"relative deviation": float(off.max())}
    if (off[certain] > ROUNDING).any():
        wrong = "An estimate that is certain is another one."
        return Decision("violated", wrong, measured, None)
    if certain.all():
        return Decision("holds", "Every estimate is certain, and right.", measured, None)
    runs, tests = rights.shape
    c = np.sqrt(2.0 * np.log(tests / LEVEL) / runs)  # finds the smallest error at the level
    before = np.cumsum(errors, axis=0) - errors
    size = np.linalg.norm(before, axis=2)
    along = (before * errors).sum(axis=2) / np.where(size > 0.0, size, 1.0)
    x = c * along / np.sqrt(rights)
    logs = (np.log1p(x + 0.5 * x * x) - np.log1p(0.5 * c * c)).sum(axis=0)
    p_value = min(1.0, tests * float(np.exp(min(0.0, -logs.max()))))
    if p_value <= LEVEL:
        return Decision("violated", "The mean of an estimate is off.", measured, p_value)
    if p_value <= _DOUBTFUL or float(spread.max()) > _WIDEST * np.sqrt(len(flat)):
        return Decision("inconclusive", "A sampled mean is uncertain.", measured, p_value)
    return Decision("holds", "Nothing speaks against the sampled means.", measured, p_value)


def _squares(pairs: Sequence[tuple[float, float]], least: float, parts: int) -> Decision:
    """Decide whether squares have their means at most; least is the square of rounding."""
    process = EProcess(1.0, parts / LEVEL)
    ratios = [square / max(right, least) for square, right in pairs]
    for ratio in ratios:
        process.add(ratio)
    measured = {"sampled ratio": float(np.mean(ratios))}
    if process.rejected:
        wrong = "The mean square of an estimate is too large."
        return Decision("violated", wrong, measured, process.p_value)
    if process.p_value <= _DOUBTFUL:
        wrong = "A sampled mean square looks too large."
        return Decision("inconclusive", wrong, measured, process.p_value)
    right = "Nothing speaks against the sampled mean squares."
    return Decision("holds", right, measured, process.p_value)
