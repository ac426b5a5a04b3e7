"""A sample with an index outside 0 .. n-1 is refused; compiled loops do not check by themselves."""

import numpy as np
import pytest

import pfbench as pf

NAMES = ("robust-matrix-recovery", "nonconvex-logistic", "multiclass-logistic", "multitask-sigmoid")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verb", ["batch", "difference", "hessian", "table"])
@pytest.mark.parametrize("last", [True, False])
def test_an_index_outside_is_an_index_error(name, verb, last):
    problem = pf.problem(name, source="synthetic", rows=20, columns=10)
    backend, x = problem.open(np.random.default_rng(0)), problem.start()
    S = np.array([0, problem.n if last else -1])
    asks = {
        "batch": lambda: backend.batch(S, x),
        "difference": lambda: backend.difference(S, x, pf.keep(x)),
        "hessian": lambda: backend.hessian(x).batch(S, x, pf.keep(x)),
        "table": lambda: backend.table(x).difference(S, x),
    }
    with pytest.raises(IndexError, match="outside 0"):
        asks[verb]()
