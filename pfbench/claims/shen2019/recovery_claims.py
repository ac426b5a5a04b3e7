"""Robust low-rank matrix recovery, the problem (4) of shen2019 and of its section 6."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pfbench.algorithms.nfwu import NFWUCASVRG, NFWUSVRG
from pfbench.base.sample import Indices
from pfbench.claims.shen2019.epoch_estimators import draw_problem_of_family, recovery
from pfbench.measures.common import estimator_error
from pfbench.points import combine, inner
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import draw_synthetic_entries
from pfbench.runs.loop.solve import solve
from pfbench.verification import Claim, Evidence, Floats, Trial, make_instance
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios
from pfbench.verification.instruments.overrides import OverriddenOracles
from pfbench.verification.statistics import decide_equality

FAMILY = make_instance(recovery, rows=9, columns=8)

SIZES = (7, 11, 40)
"""S, p and T of the run whose component Hessians are counted."""


def check_hessians_have_one_entry(trial: Trial) -> Evidence:
    """Test that each component Hessian of matrix recovery has only one nonzero entry.

    The number of component Hessians in a run is tested, too.
    """
    problem = draw_problem_of_family(trial, FAMILY)
    rng = trial.rng("points")
    answering = trial.subject.problem_under_test(problem)
    y = problem.start()
    x = combine(problem.start(), answering.open(rng).lo(problem.gradient(y)), 0.3)
    hessian = answering.open(rng).hessian(y)
    results = {"gradient": 0.0, "Hessian": 0.0}
    for i in range(problem.n):
        item = np.array([i])
        for name, vector in (
            ("gradient", answering.open(rng).difference(item, x, y)),
            ("Hessian", hessian.batch(item, x, y)),
        ):
            delete = np.delete(vector, i)
            results[name] = max(results[name], float(np.count_nonzero(delete)))
    S, p, T = SIZES
    run = trial.run(
        problem, trial.make(batch=S, period=p, iterations=T, step=1e-3), seed=trial.seeds(1)[0]
    )
    results["SSO"] = float(run.counts.sso)
    expected = {"gradient": 0.0, "Hessian": 0.0, "SSO": float(problem.n * -(-T // p))}
    return Evidence(decide_equality(expected, results), expected, problem.n)


ONE_NUMBER = Claim(
    name="shen2019-rlrmr-sso",
    source="shen2019 section 6",
    kind="identity",
    statement="in matrix recovery a component Hessian is one number, as a component gradient",
    check=check_hessians_have_one_entry,
    instances=(FAMILY,),
    algorithm=NFWUCASVRG.name,
    expected_seconds=(0.2, 0.2),
)


# --- planted faults -------------------------------------------------------------------------------


class FaultyTwoEntryHessian(OverriddenOracles):
    """Faulty component Hessians with two nonzero entries, which cost more than a gradient."""

    def hessian(self, s: Any) -> "_SpreadHessian":
        """Return component Hessians with a second nonzero entry, that of the next component."""
        return _SpreadHessian(self._original.hessian(s))


class _SpreadHessian(OverriddenOracles):
    def batch(self, sample: Indices, x: Any, y: Any) -> Floats:
        batch: Floats = self._original.batch(sample, x, y)
        return 0.5 * (batch + np.roll(batch, 1))


# --- errata ---------------------------------------------------------------------------------------


def examine_weight_of_section_6(
    effort: str, seed: int, *, printed: Callable[[int, int, float], float] = lambda p, T, D: p / T
) -> ExaminationEvidence:
    """Examine whether steps with the weight p/T, printed in section 6 of shen2019, leave the ball.

    Other readings of the weight are tested, too. Steps start from 0, with p = 10 .. 50 and T = 20.
    With full effort, the curvature-aided errors are also measured at the paper's size, for the
    readings whose steps stay in the ball.
    """
    problem = RobustMatrixRecovery(
        draw_synthetic_entries(seed=seed, rows=30, columns=30, density=0.3)
    )
    T, D, periods = 20, float(problem.set.diameter), (10, 20, 30, 40, 50)
    readings: dict[str, list[float]] = {
        "eta of algorithm 1": [p / T / D for p in periods],
        "T counts iterations": [p / (T * p) for p in periods],
        "p is a share of n": [1.0 / p / T for p in periods],
    }
    full_list = {"p/T as a weight": [printed(p, T, D) for p in periods], **readings}
    norms = {
        name: max(
            _max_nuclear_norm_of_iterates(problem, weight) / problem.radius for weight in weights
        )
        for name, weights in full_list.items()
    }
    ranges = {f"{name}: smallest": min(weights) for name, weights in full_list.items()}
    ranges |= {f"{name}: largest": max(weights) for name, weights in full_list.items()}
    if effort == "full":
        for name, weights in readings.items():
            for p, weight in ((periods[0], weights[0]), (periods[-1], weights[-1])):
                ranges[f"{name}: error over SVRG's, p={p}"] = _casvrg_over_svrg_error(
                    weight, p, seed
                )
    first = norms.pop("p/T as a weight")
    return compare_ratios(first, max(norms.values()), **ranges).with_ratios_under_other_readings(
        norms
    )


def _max_nuclear_norm_of_iterates(problem: RobustMatrixRecovery, weight: float) -> float:
    """Return the largest nuclear norm of the first three Frank-Wolfe iterates, for a fixed weight.

    All matrices are dense, and computed by NumPy alone.
    """
    data, X = problem.observations, np.zeros(problem.shape)
    largest = 0.0
    for _ in range(3):
        residual = X[data.rows, data.columns] - data.values
        g = np.zeros(problem.shape)
        g[data.rows, data.columns] = residual * np.exp(-(residual**2) / (2.0 * problem.sigma))
        left, _, right = np.linalg.svd(g)
        X = X + weight * (-problem.radius * np.outer(left[:, 0], right[0]) - X)
        largest = max(largest, float(np.linalg.norm(X, "nuc")))
    return largest


def _casvrg_over_svrg_error(weight: float, p: int, seed: int) -> float:
    """Return the ratio of CASVRG's to SVRG's mean error, in 20 epochs of shen2019's figure 1."""
    problem = RobustMatrixRecovery(draw_synthetic_entries(seed=seed))
    means = []
    for kind in (NFWUCASVRG, NFWUSVRG):
        algorithm = kind(iterations=20 * p, step=weight, batch=problem.n // p, period=p)
        run = solve(problem, algorithm, seed=seed, measures={"error": estimator_error}, every=3)
        column = run.columns.index("error")
        means.append(np.nanmean([row[column] for row in run.rows]))
    return float(means[0] / means[1])


def examine_objective_sum_or_mean(
    effort: str, seed: int, *, printed: Callable[[int], float] = lambda n: 1.0
) -> ExaminationEvidence:
    """Examine whether objective (4) of shen2019 is a sum or a mean, by the gap and L of both."""
    mean = RobustMatrixRecovery(draw_synthetic_entries(seed=seed, rows=20, columns=20, density=0.5))
    total = replace(mean, scaling="sum")
    ratios = {
        "V": _gap_at_zero(total) / _gap_at_zero(mean),
        "L": _lipschitz(total) / _lipschitz(mean),
        "f": total.value(total.start()) / _objective_at_zero_as_printed(mean),
    }
    expected = {"V": float(mean.n), "L": float(mean.n), "f": 1.0}
    deviation = max(abs(ratios[name] / expected[name] - 1.0) for name in ratios)
    wrong = max(abs(ratios[name] / printed(mean.n) - 1.0) for name in ("V", "L"))
    cast = _gap_at_zero_of_component_sum(mean)
    relative = ratios["V"] * mean.value(mean.start()) / _objective_at_zero_as_printed(mean)
    return ExaminationEvidence(
        printed_fails=wrong > 1e-6,
        corrected_holds=deviation <= 1e-9,
        numbers={"n": float(mean.n), **{f"{name}, sum over mean": r for name, r in ratios.items()}},
    ).with_ratios_under_other_readings(
        {
            "f_i = n psi": max(_gap_at_zero(total) / cast, cast / _gap_at_zero(total)),
            "V in units of f": max(relative, 1.0 / relative),
        }
    )


def _gap_at_zero(problem: RobustMatrixRecovery) -> float:
    x = problem.start()
    g = problem.gradient(x)
    return inner(g, x) - problem.minimum(g)[0]


def _gap_at_zero_of_component_sum(mean_problem: RobustMatrixRecovery) -> float:
    """Return the Frank-Wolfe gap at 0 of the sum, not the mean, of the component functions."""
    x = mean_problem.start()
    slopes = [mean_problem.n * mean_problem.batch(np.array([i]), x) for i in range(mean_problem.n)]
    g: Floats = np.mean(slopes, axis=0)
    return inner(g, x) - mean_problem.minimum(g)[0]


def _lipschitz(problem: RobustMatrixRecovery) -> float:
    return float(problem.constants(problem.start()).L_f)


def _objective_at_zero_as_printed(problem: RobustMatrixRecovery) -> float:
    """Return the value at 0 of shen2019's objective (4) as printed, computed by NumPy alone."""
    z: Floats = problem.observations.values
    return float(np.sum(1.0 - np.exp(-(z**2) / (2.0 * problem.sigma))))
