"""Frank-Wolfe with inexact gradients: the error of the answers, the ratios, and the faults."""

import numpy as np
import pytest
from judging import trial

from pfbench.claims.hu2026 import inexact_gradients as paper
from pfbench.verification.instruments.overrides import OverriddenProblem

pytestmark = pytest.mark.claims


def error_over_set(problem, answers, x):
    """Return the largest <h - grad f(x), y - z> over y, z in the set."""
    e = answers.batch(np.array([0]), x) - problem.gradient(x)
    return -problem.set.minimum(e)[0] - problem.set.minimum(-e)[0]


@pytest.mark.parametrize("problem", [paper.make_slope(9, 2.0), paper.make_saddle(9, 0.3)])
def test_answers_have_the_error_delta_and_those_of_the_faults_more(problem):
    answers = problem.open(np.random.default_rng(0))
    for share in (0.0, 0.3, 1.0):
        x = share * problem.start()
        if np.any(problem.gradient(x)):
            assert error_over_set(problem, answers, x) == pytest.approx(problem.error)
            for kind in (paper.FaultyTwiceTheStatedError, paper.FaultyFourTimesTheStatedError):
                error = error_over_set(problem, kind(answers), x)
                assert error == pytest.approx(kind.errors * problem.error)


def test_half_of_an_answer_has_a_larger_error_but_changes_no_step():
    class Half(paper.FaultyTwiceTheStatedError):
        def batch(self, sample, x):
            return 0.5 * self._original.batch(sample, x)

    problem = paper.make_square(40)
    assert error_over_set(problem, Half(problem.open(None)), problem.start()) == 1.0
    test = trial(paper.INEXACT)
    method = test.make(iterations=40, step=0.2, batch=1)
    runs = [
        [step.state.x[0] for step in test.follow(one, method)]
        for one in (problem, OverriddenProblem(problem, Half))
    ]
    assert runs[0] == runs[1]


def test_the_step_has_the_smallest_bound():
    numbers = {"K": 50, "L": 3.0, "D": 2.0, "delta": 1.5}
    best = paper.best_step(**numbers)

    def bound(gamma):
        return paper.fw_gap_bound(**numbers, error=0.2, gamma=gamma)

    assert bound(best) <= min(bound(1.01 * best), bound(0.99 * best))
    assert bound(best) == pytest.approx(0.2 + np.sqrt(2 * 3.0 * 2.0**2 * 1.5 / 50))
