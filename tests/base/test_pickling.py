"""Objects of the interface pickle and deepcopy, so that other pools of workers take them."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import pfbench as pf
from pfbench.base.counts import Budget
from pfbench.cli.catalogue import KINDS

COPIES = (lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy)


@pytest.mark.thin(3)
@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("name", [item.name for item in KINDS["problems"]()])
def test_problems_with_their_constants_and_sets(name, copied):
    problem = pf.problem(name)
    start = problem.start()
    for one in (problem, problem.constants(start), problem.set):
        assert type(copied(one)) is type(one)
    assert copied(problem).constants(start) == problem.constants(start)


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
def test_methods_runs_and_budgets(copied):
    method = pf.algorithm("frank-wolfe", step="open-loop", iterations=3)
    run = pf.solve("quadratic", method)
    again = pf.solve(copied(pf.problem("quadratic")), copied(method))
    assert again.counts == run.counts == copied(run).counts
    assert np.array_equal(again.x, copied(run).x)
    assert copied(Budget(sfo=3)) == Budget(sfo=3)
    for item in KINDS["algorithms"]():
        copied(pf.algorithm(item.name))


def test_a_pickle_is_read_in_a_fresh_process(tmp_path):
    file = tmp_path / "p"
    file.write_bytes(pickle.dumps((pf.problem("quadratic"), pf.algorithm("frank-wolfe"))))
    text = f"import pickle; print(pickle.load(open({str(file)!r}, 'rb'))[0].name)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "quadratic\n"
