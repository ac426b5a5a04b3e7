"""A Frank-Wolfe gap below 0 is an error that says so, not the best of all gaps."""

import json

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import FunctionSet, from_functions
from pfbench.adapters.frank_wolfe_jl import read_trajectory
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.problems import FiniteSum
from pfbench.runs.planning.name_resolution import check_user_problem
from pfbench.sets import L1Ball, Simplex

T = np.array([0.3, 0.0])
WORDS = "the Frank-Wolfe gap is -"


def largest(g):
    return np.sign(g) * (np.abs(g) == np.abs(g).max())


class Flipped(L1Ball):
    def lo(self, g):
        return largest(np.asarray(g))

    def minimum(self, g):
        value = float(np.vdot(g, self.lo(g)))
        return value, value


class Distance(FiniteSum):
    """Half the squared distance to T."""

    n = 1

    def __init__(self, where, start):
        self.set, self._start = where, np.array(start)

    def start(self):
        return self._start.copy()

    def value(self, x):
        return 0.5 * float((x - T) @ (x - T))

    def gradient(self, x):
        return x - T


def anywhere(vertex):
    return FunctionSet(lambda g: np.array(vertex), np.zeros(2), diameter=2.0, contains=_yes)


def _yes(x, tolerance):
    return True


WRONG = {
    "maximises": Distance(Flipped(2), [0.0, 0.0]),
    "always 0": Distance(anywhere([0.0, 0.0]), [0.2, 0.0]),
    "always -e1": Distance(anywhere([-1.0, 0.0]), [0.1, 0.0]),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("step", ["open-loop", "line-search"])
def test_a_gap_below_0_reaches_no_target(case, step):
    algorithm = f"frank-wolfe[step={step},iterations=3]"
    run = pf.solve(WRONG[case], algorithm, stop="fw_gap=1e-6")
    assert (run.status, run.iterations) == ("error", 0)
    assert WORDS in run.stop_reason
    assert run.final["fw_gap"] is None


def test_it_is_seen_at_the_output_where_it_is_not_recorded():
    run = pf.solve(WRONG["maximises"], "frank-wolfe[step=line-search,iterations=3]")
    assert run.status == "error"
    assert WORDS in run.stop_reason


class Between(L1Ball):
    """Is wrong at the first iterate alone, (1, 0)."""

    def minimum(self, g):
        value, _ = super().minimum(g)
        return (1.0, 1.0) if g[0] > 0.6 else (value, value)


@pytest.mark.parametrize(("measures", "status"), [("objective", "finished"), ("fw_gap", "error")])
def test_it_is_seen_on_the_way_only_where_it_is_recorded(measures, status):
    problem = Distance(Between(2), [0.0, 0.0])
    run = pf.solve(problem, "frank-wolfe[step=open-loop,iterations=3]", measures=measures)
    assert run.status == status, run.stop_reason
    assert (WORDS in run.stop_reason) == (status == "error")


@pytest.mark.parametrize("case", WRONG)
def test_a_problem_with_it_is_refused_where_it_enters(case):
    problem = WRONG[case]
    with pytest.raises(InputError, match=WORDS):
        check_user_problem(Selector.parse("my_file.py:NAME"), problem)
    with pytest.raises(InputError, match=WORDS):
        from_functions(problem.value, problem.gradient, problem.set, start=problem.start())


def test_rounding_is_no_error():
    for scale in (1.0, 1e-150, 1e150):
        for seed in range(20):
            c = scale * np.random.default_rng(seed).standard_normal(300)
            start = Simplex(300).lo(c) + 1e-12 * np.sign(c)
            problem = from_functions(
                lambda x, c=c: float(c @ x), lambda x, c=c: c, Simplex(300), start=start
            )
            run = pf.solve(problem, "frank-wolfe[step=open-loop,iterations=2]", stop="fw_gap=0")
            assert run.status in ("target", "finished"), run.stop_reason


@pytest.mark.parametrize(("gap", "is_taken"), [(0.0, True), (-1e-17, True), (-0.1, False)])
def test_a_trajectory_with_it_is_refused_by_its_row(tmp_path, gap, is_taken):
    rows = [[1, 1.0, -1.0, 2.0, 0.1], [2, 0.5, 0.5 - gap, gap, 0.2]]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    if is_taken:
        assert len(read_trajectory(tmp_path / "t.json").rows) == 2
    else:
        with pytest.raises(InputError, match=r"row 2 .* has the dual gap -0.1"):
            read_trajectory(tmp_path / "t.json")
