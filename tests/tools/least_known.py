"""Find the least objectives of the experiments' non-convex problems, for `problems/least_known.py`.

    python tests/tools/least_known.py

Each problem is minimised from 0 and from standard normal starts, by L-BFGS where it is smooth and
by accelerated proximal gradients with restarts where it has a penalty. The least value is printed
with the norm of the gradient mapping where it was found, and how many starts lead there. Other
points may be lower: the problems are not convex.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import minimize

import pfbench as pf
from pfbench.base.selectors import Selector

PROBLEMS = [
    f"{name}[source={source},{domain}]"
    for source in ("breast-cancer", "a9a", "w8a")
    for name in ("nonconvex-logistic", "robust-regression")
    for domain in ("set=none", "penalty=l1,weight=0.1")
]
STARTS = 4
"""So many of the five are random."""


def starts(d: int) -> Iterator[np.ndarray]:
    """Yield 0 and standard normal points, as the problems' `start=normal` has them."""
    yield np.zeros(d)
    for seed in range(STARTS):
        yield np.random.default_rng(np.random.SeedSequence(seed)).standard_normal(d)


def smooth(problem, x: np.ndarray) -> np.ndarray:
    """Return where L-BFGS ends."""
    options = {"maxiter": 100_000, "maxfun": 200_000, "ftol": 0.0, "gtol": 1e-11, "maxcor": 50}
    found = minimize(problem.value, x, jac=problem.gradient, method="L-BFGS-B", options=options)
    return found.x


def proximal(problem, x: np.ndarray, iterations: int = 20_000) -> np.ndarray:
    """Return where accelerated proximal gradients end, restarted whenever they turn uphill."""
    lam = 1.0 / problem.constants(x).L_f
    y, t = x, 1.0
    for _ in range(iterations):
        following = problem.prox(y, problem.gradient(y), lam)
        if np.linalg.norm(following - y) <= 1e-13 * (1.0 + np.linalg.norm(y)):
            return following
        if (y - following) @ (following - x) > 0.0:
            t = 1.0
        slower = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        x, y, t = following, following + (t - 1.0) / slower * (following - x), slower
    return x


def mapping(problem, x: np.ndarray) -> float:
    """Return the norm of the gradient mapping."""
    lam = 1.0 / problem.constants(x).L_f
    return float(np.linalg.norm(x - problem.prox(x, problem.gradient(x), lam)) / lam)


def objective(problem, x: np.ndarray) -> float:
    """Return f + h."""
    added = 0.0 if problem.penalty is None else problem.penalty.value(x)
    return float(problem.value(x)) + added


def least(selector: str) -> tuple[str, tuple[float, str, int, float]]:
    """Return the hash of a problem, and its line of the table."""
    of = Selector.parse(selector)
    problem = pf.problem(of.name, **of.parameters)
    search = smooth if problem.penalty is None else proximal
    ends: Sequence[np.ndarray] = [search(problem, x) for x in starts(problem.d)]
    values = [objective(problem, x) for x in ends]
    best = ends[int(np.argmin(values))]
    same = sum(value <= min(values) + 1e-9 for value in values)
    method = "L-BFGS" if problem.penalty is None else "accelerated proximal gradients"
    norm = float(f"{mapping(problem, best):.1e}")
    return problem.digest_without_start, (min(values), method, same, norm)


if __name__ == "__main__":
    for one in PROBLEMS:
        digest, found = least(one)
        print(f"# {one}\n{digest!r}: {found},", flush=True)
