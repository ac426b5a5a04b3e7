"""The sizes at which a method is run: drawn by a seed, or those of its source's own schedule."""

import math
import re

import numpy as np

from pfbench.verification.instances import instance
from pfbench.verification.laws.counts import PATH
from pfbench.verification.laws.method import Method, Parameters, Setting, Wanted
from pfbench.verification.parameters import WHOLE

_DRAWN = {
    "batch": (0.5, 1.5),
    "period": (0.6, 1.6),
    "snapshot": (0.6, 1.6),
    "iterations": (1.0, 1.3),
}
"""By which factors sizes are drawn."""


def drawn_by(seed: int, one: Setting) -> Setting:
    """Return a setting whose sizes and start a seed draws, around those that it has; 0 leaves them.

    The horizon is no shorter; what is all components stays so; entries are even in number, as the
    blocks of some norms have two rows.
    """
    if seed == 0:
        return one
    rng, problem, given = np.random.default_rng(seed), one.problem, dict(one.parameters)
    was = problem.parameters["n"]
    n, wide = round(was * rng.uniform(0.8, 1.25)), int(problem.parameters["d"]) // 10
    d = 2 * int(rng.integers(4 * wide, 6 * wide + 1))
    for name, (low, high) in _DRAWN.items():
        factor = rng.uniform(low, high)
        if name in given:
            all_of_them = given[name] == was
            given[name] = n if all_of_them else max(1, round(given[name] * factor))
    title = re.sub(r" n=\d+ d=\d+", f" n={n} d={d}", problem.name)
    return Setting(instance(problem, n=n, d=d, begin=seed).called(title), given)


def long_by(seed: int, one: Setting) -> Setting:
    """Return a setting whose horizon and start a seed draws; the run ends with an epoch."""
    given = dict(one.parameters)
    if "iterations" in given:
        longer = 1.0 + 0.3 * np.random.default_rng(seed).random() if seed else 1.0
        T = round(given["iterations"] * longer)
        given["iterations"] = T - T % given.get("period", 1)
    return Setting(instance(one.problem, begin=seed), given)


def scheduled(method: Method, where: Setting) -> Setting | None:
    """Return a setting with the source's own schedule, for the problem of another setting.

    The accuracy is the best for which a run ends in time; None where there is no schedule, or it
    has no T, or T is at most 10 for each such accuracy.
    """
    if method.schedule is None or "iterations" not in where.parameters:
        return None
    problem, found = where.problem(), None
    for epsilon in np.geomspace(1e6, 1e-6, 49):
        try:
            printed = method.schedule(Wanted(float(epsilon), problem.bounds))
        except (ValueError, ArithmeticError):  # out of its range
            continue
        given = {k: v for k, v in where.parameters.items() if printed.get(k, v) is not None}
        numbers = {name: value for name, value in printed.items() if value is not None}
        if not all(map(math.isfinite, numbers.values())):
            continue
        whole = {k: max(1, math.ceil(v - 1e-9)) for k, v in numbers.items() if k in WHOLE}
        given |= numbers | whole
        if (
            10 < given["iterations"] <= _LONGEST
            and "iterations" in printed
            and _ends_in_time(method, given, problem.n)
        ):
            found = given
    return None if found is None else Setting(where.problem.called("its schedule's"), found)


_LONGEST = 2000

_MOST = 200_000
"""Component gradients, those of full gradients left out."""


def _ends_in_time(method: Method, given: Parameters, n: int) -> bool:
    spent = method.counts({**given, "heads": 0}, n)[0]
    # How long an inner loop goes on for is not known before: theorems' tolerances are small.
    known = spent.lo != PATH
    return known and spent.sfo - n * spent.fo <= _MOST and spent.fo <= _LONGEST
