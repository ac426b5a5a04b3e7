"""What `solve` takes, refuses and returns."""

import json
import time
import weakref
from dataclasses import dataclass, replace
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import assert_one_sentence, tiny_recovery
from scipy.stats import chi2

import pfbench
from pfbench.algorithms import algorithm
from pfbench.base import arrays
from pfbench.base.arrays import VectorPool
from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.state import State
from pfbench.measures.common import estimator_error, fw_gap, gradient_mapping_sq
from pfbench.oracles import Ledger
from pfbench.points import distance, keep
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.runs.loop.drive import drive
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.runs.loop.run import Stop
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.steps import random_stream

EPOCH = {"batch": 5, "period": 4, "iterations": 9, "step": 0.1}


# --- a user's own algorithm -----------------------------------------------------------------------


def test_a_users_subclass_runs(problem, walk):
    run = solve(problem, walk(iterations=6, step=0.25), measures=["value"])
    assert run.status == "finished"
    assert run.schedule == "explicit"
    assert run.parameters == {"output": "last", "iterations": 6, "step": 0.25}
    assert run.algorithm == "walk[output=last,iterations=6,step=0.25]"
    assert run.counts.as_dict() == dict.fromkeys(COUNTED, 0) | {
        "fo": 6,
        "sfo": 6 * problem.n,
        "lo": 6,
    }


def test_the_algorithm_sees_the_oracles_alone(dense, walk):
    seen = {}

    class Curious(walk):
        def before(self, t, ask, x):
            seen["public"] = {name for name in dir(ask) if not name.startswith("_")}
            seen["n"], seen["D"] = ask.n, ask.D

    solve(dense, Curious())
    verbs = {"gradient", "batch", "difference", "value", "lo", "prox", "hessian", "table"}
    verbs |= {"local_lo", "component_smoothness", "sample"}
    assert seen["public"] == verbs | {"n", "D"}
    assert (seen["n"], seen["D"]) == (dense.n, dense.set.diameter)


# --- the output -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labelled:
    """Yields points `at` that say which iteration they are of."""

    output: str
    T: int = 5
    with_at: bool = True
    own: bool = False
    name = "labelled"
    requires = frozenset()
    assumes = frozenset()
    deterministic = True

    def output_weight(self, k):
        return float(k)

    def run(self, ask, x, rng):
        def label(t):
            return np.eye(len(x))[0] * t

        for t in range(self.T):
            at = label(t) if self.with_at else None
            yield State(label(t + 1), at, output=label(t - 1) if self.own else None)


def label(run):
    return int(run.x[0])


def test_output_last_is_the_last_iterate(dense):
    assert label(solve(dense, Labelled("last"))) == 5


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("output", "with_at", "shares"),
    [
        ("uniform", True, [0.2, 0.2, 0.2, 0.2, 0.2, 0.0]),
        ("uniform", False, [0.0, 0.2, 0.2, 0.2, 0.2, 0.2]),
        ("weighted", True, [1 / 15, 2 / 15, 3 / 15, 4 / 15, 5 / 15, 0.0]),
    ],
)
def test_drawn_output_has_the_declared_law_over_the_points_at(dense, output, with_at, shares):
    """Chi-square over 150 seeds; false alarm 1e-7. Without `at` the points are the x."""
    problem, seeds, expected = Bare(dense), 150, np.array(shares)
    chosen = Labelled(output, with_at=with_at)
    drawn = [label(solve(problem, chosen, seed=seed)) for seed in range(seeds)]
    frequencies, possible = np.bincount(drawn, minlength=6), expected > 0
    assert not frequencies[~possible].any()
    misses = frequencies[possible] - seeds * expected[possible]
    statistic = (misses**2 / (seeds * expected[possible])).sum()
    assert statistic < chi2.isf(1e-7, possible.sum() - 1)


def with_parts(problem, **parts):
    """Return the logistic problem with other methods."""
    kind = type("Changed", (NonconvexLogistic,), parts)
    return kind(problem.features, problem.labels, problem.set, problem.alpha)


def without_constant(problem, name):
    def constants(self, start):
        return replace(problem.constants(start), **{name: np.inf})

    return with_parts(problem, constants=constants)


class Bare:
    """A problem whose constants are computed once, so that many runs take little time."""

    def __init__(self, problem):
        self._problem = problem
        self._constants = problem.constants(problem.start())

    def __getattr__(self, name):
        return getattr(self._problem, name)

    def constants(self, start):
        return self._constants


def test_a_states_own_output_overrides_the_declared_one(dense):
    for output in ("last", "uniform"):
        assert label(solve(dense, Labelled(output, own=True))) == 3


def test_the_draw_has_a_stream_of_its_own(problem):
    """The iterates do not depend on the declared output."""
    runs = [
        solve(problem, algorithm("nfwu-svrg", **EPOCH, output=output), measures=["value"])
        for output in ("last", "uniform")
    ]
    assert runs[0].trace["value"].tolist() == runs[1].trace["value"].tolist()


def test_streams_differ_by_purpose_and_by_seed():
    first = {
        (seed, purpose): random_stream(seed, purpose).random()
        for seed in range(3)
        for purpose in ("algorithm", "output", "oracles")
    }
    assert len(set(first.values())) == len(first)


def test_final_is_measured_at_the_output(problem):
    run = solve(problem, algorithm("nfwu-svrg", **EPOCH, output="uniform"), seed=4)
    state = State(keep(run.x))
    assert run.final["value"] == problem.value(keep(run.x))
    assert (run.final["fw_gap_lower"], run.final["fw_gap"]) == fw_gap(problem, state)
    assert run.final["gradient_mapping_sq"] == gradient_mapping_sq(problem, state)


# --- the result -----------------------------------------------------------------------------------

OF_EVERY_PROBLEM = {
    "objective",
    "value",
    "fw_gap",
    "fw_gap_lower",
    "gradient_mapping_sq",
    "gradient_mapping_lambda",
}


def test_final_has_the_published_keys_and_the_problems_own(problem):
    own = set(problem.measures())
    run = solve(problem, algorithm("frank-wolfe", iterations=3))
    assert set(run.final) == OF_EVERY_PROBLEM | own
    if problem.name == "robust-matrix-recovery":
        assert own == {"rmse_heldout", "rmse_heldout_mean", "rmse_truth"}
    constants = problem.constants(problem.start())
    L = max(constants.L_f, constants.L_ms)
    assert run.final["gradient_mapping_lambda"] == pytest.approx(1 / (2 * L), rel=1e-14)


def test_final_has_what_was_asked_for_with_a_parameter(dense):
    name = "gradient_mapping_sq[lam=0.25]"
    run = solve(dense, algorithm("frank-wolfe", iterations=3), measures=[name])
    assert run.final[name] == run.trace[name].iloc[-1] != run.final["gradient_mapping_sq"]


@pytest.mark.parametrize("constant", ["L_f", "L_ms"])
def test_a_problem_that_does_not_state_its_smoothness_can_be_run(dense, constant, walk):
    """There is no lambda then, so no gradient mapping; JSON has null for both."""

    class Unknown(NonconvexLogistic):
        def constants(self, start):
            return replace(super().constants(start), **{constant: np.inf})

    run = solve(Unknown(dense.features, dense.labels, dense.set, dense.alpha), walk())
    assert run.status == "finished"
    assert run.final["gradient_mapping_sq"] is None
    assert run.final["gradient_mapping_lambda"] is None
    json.dumps(run.as_json(), allow_nan=False)


def test_json_of_a_cut_run_and_of_a_measure_that_is_infinite(dense, walk):
    odd = {"odd": lambda problem, state: np.inf, "none": lambda problem, state: None}
    problem = with_parts(dense, measures=lambda self: odd)
    found = solve(problem, walk(), budget=Budget(fo=0)).as_json()
    assert json.loads(json.dumps(found, allow_nan=False))["final"]["odd"] is None


def test_seconds_stand_still_during_measures(dense, walk):
    def slow(problem, state):
        time.sleep(0.1)
        return 0.0

    run = solve(dense, walk(iterations=6), measures={"slow": slow})
    assert run.seconds < 0.35
    assert run.trace["seconds"].iloc[-1] <= run.seconds
    assert run.oracle_seconds >= 0.0


def test_seconds_run_while_the_algorithm_thinks(dense, walk):
    class Thinks(walk):
        def before(self, t, ask, x):
            time.sleep(0.05)

    run = solve(dense, Thinks(iterations=4))
    assert run.seconds >= 0.2
    assert run.oracle_seconds < 0.1


def test_seconds_inside_oracles_are_told_apart(dense, walk):
    problem = with_parts(dense, gradient=lambda self, x: time.sleep(0.05) or dense.gradient(x))
    run = solve(problem, walk(iterations=4))
    assert run.seconds >= run.oracle_seconds >= 0.2


def test_a_watcher_is_told_every_iteration_while_the_clock_stands_still(dense, walk):
    told = []

    def watch(at):
        told.append((at.iterations, at.costs[1]))
        time.sleep(0.1)

    run = drive(resolve_run(dense, walk(iterations=4)), Ledger(), seed=0, every=3, watch=watch)
    assert told == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert run.seconds < 0.3
    alone = solve(dense, walk(iterations=4), every=3)
    assert (run.counts, run.final) == (alone.counts, alone.final)


def test_failure_probability_counts_the_certificates(dense, walk):
    """A bracket of width 0 is exact; each other one shown may fail with probability 1e-9."""

    def loose(problem, state):
        return 0.0, 1.0

    assert solve(dense, walk(), measures=["fw_gap"]).failure_probability == 0.0
    run = solve(dense, walk(iterations=3), measures={"loose": loose})
    assert run.failure_probability == pytest.approx(4e-9)


def test_public_names_lead_here():
    named = tuple(signature(pfbench.solve).parameters)
    assert tuple(signature(solve).parameters) == (*named, "strict", "watch")
    assert pfbench.algorithm is algorithm
    assert (pfbench.Budget, pfbench.Stop, pfbench.State) == (Budget, Stop, State)


# --- the start ------------------------------------------------------------------------------------


def test_a_start_inside_the_set_is_used_and_left_alone(problem, dense, walk):
    start = solve(problem, walk()).x
    before = keep(start)
    run = solve(problem, walk(), start=start, measures=["value"])
    assert run.trace["value"][0] == problem.value(start)
    assert distance(start, before) == 0.0
    for kind in (int, np.float32):
        run = solve(dense, walk(), start=np.zeros(6, kind))
        assert (run.status, run.x.dtype) == ("finished", np.float64)


def test_in_place_changes_by_the_algorithm_do_not_reach_the_callers_start(dense, walk):
    class InPlace(walk):
        def before(self, t, ask, x):
            x += 0.01

    start = np.zeros(6)
    solve(dense, InPlace(), start=start)
    assert not start.any()
    assert not solve(dense, InPlace(), start=start, budget=Budget(fo=0)).x.any()


# --- refusals before the first call ---------------------------------------------------------------


def test_an_oracle_that_the_problem_lacks_is_refused_by_name(dense):
    def first_order(self, rng):
        whole = dense.open(rng)
        names = ("n", "unconstrained", "gradient", "batch", "difference", "lo")
        return SimpleNamespace(**{name: getattr(whole, name) for name in names})

    problem = with_parts(dense, open=first_order)
    with pytest.raises(RefusedError, match="nfwu-casvrg queries hessian") as error:
        solve(problem, algorithm("nfwu-casvrg", **EPOCH))
    assert_one_sentence(error, "nonconvex-logistic")
    assert solve(problem, algorithm("nfwu-svrg", **EPOCH)).status == "finished"


def test_a_missing_constant_is_refused_by_name(dense):
    problem = without_constant(dense, "L2_ms")
    with pytest.raises(RefusedError, match="needs the constant L2_ms"):
        solve(problem, algorithm("nfwu-casvrg", epsilon=0.1))
    assert solve(problem, algorithm("nfwu-casvrg", **EPOCH)).status == "finished"


@pytest.mark.parametrize("name", ["iteration", "sfo", "seconds"])
def test_a_measure_is_not_called_like_a_column_of_the_trace(dense, walk, name):
    with pytest.raises(InputError, match=name) as error:
        solve(dense, walk(), measures={name: lambda problem, state: 0.0})
    assert_one_sentence(error)


def test_a_target_is_read_as_written():
    assert Stop.parse(" fw_gap = 1e-3 ") == Stop("fw_gap", 1e-3)


def test_nothing_is_asked_before_a_refusal(dense, walk):
    asked = []

    problem = with_parts(dense, gradient=lambda self, x: asked.append(x))

    class Demanding(walk):
        requires = frozenset({"telepathy"})

    with pytest.raises(RefusedError, match="walk queries telepathy"):
        solve(problem, Demanding())
    assert asked == []


@pytest.mark.parametrize("wrong", ["x", (1.0, 2.0, 3.0), (1.0, "x"), np.ones(3), np.complex128(1)])
def test_what_is_no_number_ends_the_run_as_an_error(dense, walk, wrong):
    run = solve(dense, walk(), measures={"mine": lambda problem, state: wrong})
    assert run.status == "error"
    assert "which is not a number, (lower, upper) or None" in run.stop_reason


def test_estimator_error_is_not_final(dense, walk):
    """It belongs to an iteration, not to a point."""
    run = solve(dense, walk(), measures={"error": estimator_error})
    assert "error" in run.columns
    assert "estimator_error" not in run.final


@pytest.mark.parametrize(("measures", "held"), [(("fw_gap",), 0), (("estimator_error",), 1)])
def test_a_gradient_is_kept_no_longer_than_it_is_measured(monkeypatch, measures, held):
    """While the next one is made, Frank-Wolfe holds none, and its state one that is measured."""
    living, found, take = set(), [], VectorPool.take

    def told(self):
        found.append(len(living))
        vector, number = take(self), len(found)
        living.add(number)
        weakref.finalize(vector, living.discard, number)
        return vector

    monkeypatch.setattr(arrays, "_LONG", 1)
    monkeypatch.setattr(VectorPool, "take", told)
    method = algorithm("frank-wolfe", step="open-loop", iterations=6)
    run = solve(tiny_recovery(), method, measures=measures, every=10)
    assert run.status == "finished"
    assert max(found[:7]) == 1 + held  # the values of the iterate are one
