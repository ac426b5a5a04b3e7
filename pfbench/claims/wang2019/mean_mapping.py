"""How theorems 1 and 2 of wang2019 are tested: E|G(x_xi)|^2 as a mean over runs of K steps."""

import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np

from pfbench.base.counts import Counts
from pfbench.base.protocols import Problem
from pfbench.claims.wang2019.common import mapping_sq, schedule
from pfbench.verification.common import drawn_uniformly
from pfbench.verification.evidence import Evidence, across, given
from pfbench.verification.statistics import decide_inequality, sequential
from pfbench.verification.subject import Broken
from pfbench.verification.trial import Trial

Bound = Callable[[float, float, int], float]
"""L, Delta, K -> the bound of E|G(x_xi)|^2."""


def mean_mapping(
    trial: Trial, bound: Bound, problems: Mapping[str, tuple[Problem, int]]
) -> Evidence:
    """Decide that the mean over t < K of |G(x_t)|^2 keeps the bound, on every problem with its K.

    Conditions are the calls, and a uniform draw of the output.
    """
    parts, runs = {}, 0
    calls: list[float] = []
    for name, (problem, K) in problems.items():
        made = _Runs(trial, problem, K, bound, name)
        parts[name], samples = sequential(made.ratios, 1.0, batch=10, most=trial.pick(80, 320))
        calls += made.calls
        runs += len(samples)
    conditions = {"calls": decide_inequality(calls), "output": drawn_uniformly(trial)}
    return Evidence(
        decision=given({"": across(parts)}, conditions),
        claimed={"mean over bound": 1.0, "calls over those of K steps": 1.0},
        repetitions=runs,
    )


class _Runs:
    """Independent runs of K steps with the theorem's q, S, eta; what they find over its bound."""

    def __init__(self, trial: Trial, problem: Problem, K: int, bound: Bound, purpose: str) -> None:
        constants = problem.constants(problem.start())
        self.bound = bound(constants.L, constants.delta, K)
        self.calls: list[float] = []
        self._trial, self._problem, self._K = trial, problem, K
        self._algorithm = schedule(trial, constants, K, math.sqrt(self.bound))
        self._square = mapping_sq(problem)
        self._seeds = iter(trial.seeds(1000, purpose))

    def ratios(self, count: int) -> list[float]:
        """Make so many runs and return the mean over t of |G(x_t)|^2 of each, over its bound."""
        return [self._ratio(seed) for seed in itertools.islice(self._seeds, count)]

    def _ratio(self, seed: int) -> float:
        x, squares, step = self._problem.start(), [], None
        steps = self._trial.follow(self._problem, self._algorithm, seed=seed)
        for step in itertools.islice(steps, self._K):
            squares.append(self._square(x))
            x = step.state.x
        if step is None:
            raise Broken("it makes no step")
        self._note(step.counts(), len(squares))
        return float(np.mean(squares)) / self.bound

    def _note(self, counts: Counts, K: int) -> None:
        """Keep the calls over n ceil(K/q) + 2S(K - ceil(K/q)) SFO and K PO."""
        n, root = self._problem.n, math.sqrt(self._problem.n)
        epochs = -(-K // math.floor(root))
        self.calls.append(counts.sfo / (n * epochs + 2 * math.ceil(root) * (K - epochs)))
        if not self._problem.unconstrained:
            self.calls += [counts.po / K, K / max(counts.po, 1)]
