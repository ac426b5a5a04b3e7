"""Theorem 3.1 with (9): what is averaged, the methods, planted faults, and the errata."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.claims.shen2019 import theorem31
from pfbench.claims.shen2019.epoch_estimators import draw_problem_of_family
from pfbench.claims.shen2019.theorem31 import (
    FAMILIES,
    THEOREM,
    VALLEYS,
    examine_missing_diameter,
    mean_gap_and_squared_error,
)
from pfbench.verification.trial import Trial


def test_the_mean_is_that_of_all_iterates_before_the_last():
    """V = <g, x> + 2|g| on a ball of radius 2, at x_0 .. x_{T-1}; the errors at the same."""
    T, trial = 7, Trial(THEOREM["spiderg"])
    problem = draw_problem_of_family(trial, FAMILIES["log cosh, l2 ball"])
    algorithm = NFWUSPIDERG(iterations=T, step=0.2, batch=3, period=3)

    def gap(x):
        g = problem.gradient(x)
        return float(g @ x + 2.0 * np.linalg.norm(g))

    def squared(state):
        return float(np.sum((state.estimate - problem.gradient(state.at)) ** 2))

    seeds = trial.seeds(2, "here")
    found = [mean_gap_and_squared_error(trial, problem, algorithm, seed) for seed in seeds]
    for seed, (mean, error) in zip(seeds, found, strict=True):
        states = [step.state for step in trial.follow(problem, algorithm, seed=seed)]
        V = np.array([gap(x) for x in (problem.start(), *(state.x for state in states))])
        assert len(V) == T + 1
        assert mean == pytest.approx(V[:T].mean(), rel=1e-12)
        assert min(abs(mean - V[0]), abs(mean - V[1:].mean()), abs(mean - V.mean())) > 1e-3 * mean
        assert error == pytest.approx(np.mean([squared(state) for state in states]), rel=1e-9)
        assert error > 0.0
    assert found[0][0] != found[1][0]


def test_before_the_valley_the_mean_of_the_gap_is_half_of_its_bound():
    """Exact gradients: V over T steps is epsilon D on the slope, and little more in the valley."""
    problem = VALLEYS["spiderg"]()
    constants = problem.constants(problem.start())
    assert pytest.approx(80.0) == constants.D
    x, total, T = problem.start(), 0.0, math.ceil(constants.L * constants.delta)
    for _ in range(T):
        g = problem.gradient(x)
        total += float(g @ x) - problem.set.minimum(g)[0]
        x = x + (problem.set.lo(g) - x) / constants.D
    assert total / T / (2.0 * constants.D) == pytest.approx(0.54, abs=0.02)
    assert abs(x[0]) < 2.0


# --- errata ---------------------------------------------------------------------------------------


def test_a_bound_of_v_that_is_too_small_is_not_seen_to_hold(monkeypatch):
    theory = NFWUSPIDERG.theory

    def coarse(epsilon, constants):
        return replace(theory(epsilon, constants), iterations=10)

    monkeypatch.setattr(theorem31.NFWUSPIDERG, "theory", coarse)
    assert not examine_missing_diameter("quick", 0).corrected_holds
