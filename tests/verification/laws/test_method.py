import itertools

import numpy as np
import pytest

from pfbench.verification.instruments.waves import on_ball
from pfbench.verification.laws import Formed


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("hessians", [False, True])
def test_mean_and_mean_square_are_those_over_all_batches(batch, hessians):
    problem = on_ball()
    x, y, known = problem.start(), 0.4 * problem.start(), np.array([0.1, 0.2, 0.3])
    s = 0.9 * y if hessians else None
    formed = Formed(at=x, batch=batch, against=y, known=known, hessians=s)
    found = []
    for S in itertools.product(range(3), repeat=batch):
        index = np.array(S)
        g = known + problem.difference(index, x, y)
        if s is not None:
            H = problem.hessian(s)
            g = g + H.product(x, y) - H.batch(index, x, y)
        found.append(g)
    assert formed.mean(problem) == pytest.approx(np.mean(found, axis=0))
    assert formed.square(problem) == pytest.approx(float(np.var(found, axis=0).sum()))


def test_without_replacement_the_mean_square_is_smaller():
    problem = on_ball()
    formed = Formed(at=problem.start(), batch=2, replace=False)
    pairs = [
        problem.batch(np.array(S), problem.start()) for S in itertools.combinations(range(3), 2)
    ]
    assert formed.square(problem) == pytest.approx(float(np.var(pairs, axis=0).sum()))
    assert Formed(at=problem.start()).square(problem) == 0.0
