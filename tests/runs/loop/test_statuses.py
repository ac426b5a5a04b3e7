"""How runs end: each status of DESIGN 4.4, with its reason, its counts and its last iterate."""

import time
from contextlib import suppress

import numpy as np
import pytest
from helpers import tiny_logistic, tiny_recovery

from pfbench.algorithms import algorithm
from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.points import combine, distance, is_finite
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.runs.loop.run import STATUSES, Stop
from pfbench.runs.loop.solve import solve


def iterate(problem, walk, k):
    """Return x_k of a walk."""
    return solve(problem, walk(iterations=k)).x if k else problem.start()


# --- finished and target --------------------------------------------------------------------------


def test_finished_when_the_schedule_runs_out(problem, walk):
    run = solve(problem, walk(iterations=4))
    assert (run.status, run.stop_reason, run.iterations) == ("finished", STATUSES["finished"], 4)


def test_target_at_the_first_row_that_reaches_it(problem, walk):
    values = solve(problem, walk(), measures=["value"]).trace["value"]
    target = float(values[4])
    first = int(np.argmax(values <= target))
    run = solve(problem, walk(), stop=Stop("value", target))
    assert (run.status, run.iterations) == ("target", first)
    assert "value" in run.stop_reason
    assert run.final["value"] <= target


def test_target_that_the_start_meets_costs_nothing(problem, walk):
    run = solve(problem, walk(), stop=Stop("value", 1e9))
    assert (run.status, run.iterations) == ("target", 0)
    assert set(run.counts.as_dict().values()) == {0}
    assert len(run.rows) == 1


def test_target_is_looked_at_in_the_last_row_too(problem, walk):
    """The last iterate is always recorded; if it reaches the target, the run did."""
    value = float(solve(problem, walk()).final["value"])
    run = solve(problem, walk(), stop=Stop("value", value), every=7)
    assert run.trace["value"].iloc[-1] <= value
    assert run.status == "target"


def test_target_of_an_interval_compares_the_upper_end(dense, walk):
    def bracket(problem, state):
        return -1.0, 1.0

    for target, status in [(0.0, "finished"), (0.99, "finished"), (1.0, "target")]:
        run = solve(dense, walk(), stop=Stop("bracket", target), measures={"bracket": bracket})
        assert run.status == status


def test_a_measure_that_is_not_a_number_reaches_no_target(dense, walk):
    for nothing in (np.nan, None):
        measures = {"odd": lambda problem, state, nothing=nothing: nothing}
        assert solve(dense, walk(), stop=Stop("odd", 1e9), measures=measures).status == "finished"


# --- budget ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fo", "sfo", "lo"])
@pytest.mark.parametrize("calls", [0, 1, 3])
@pytest.mark.parametrize("short", [0, 1])
def test_budget_stops_before_the_call_that_would_exceed_it(problem, walk, name, calls, short):
    """A budget of exactly k iterations allows k; one call less allows k - 1."""
    each = problem.n if name == "sfo" else 1
    limit = calls * each - short
    if limit < 0:
        limit = 0
    run = solve(problem, walk(), budget=Budget(**{name: limit}))
    complete = limit // each
    assert run.status == "budget"
    assert run.iterations == complete
    assert getattr(run.counts, name) <= limit
    assert getattr(run.counts, name) == complete * each
    assert f"{name.upper()}," in run.stop_reason
    assert f"{limit}" in run.stop_reason
    assert distance(run.x, iterate(problem, walk, complete)) < 1e-12


@pytest.mark.parametrize("name", COUNTED)
def test_budget_of_zero_stops_before_the_first_call_of_its_kind(problem, name):
    parameters = {"batch": 3, "period": 4, "iterations": 6, "step": 0.1, "output": "last"}
    chosen = algorithm("nfwu-casvrg", **parameters)
    run = solve(problem, chosen, budget=Budget(**{name: 0}))
    unused = name in ("po", "fv", "llo")
    assert run.status == ("finished" if unused else "budget")
    assert getattr(run.counts, name) == 0
    assert run.iterations == (6 if unused else 1 if name == "hvp" else 0)


@pytest.mark.parametrize("limit", [1, 2, 10, 100])
def test_budget_counts_a_difference_as_two_and_a_value_as_n(problem, limit):
    run = solve(problem, algorithm("frank-wolfe", iterations=3), budget=Budget(fv=limit))
    assert run.counts.fv == limit // problem.n * problem.n
    parameters = {"batch": 3, "period": 100, "iterations": 90, "step": 0.01, "output": "last"}
    chosen = algorithm("nfwu-spiderg", **parameters)
    run = solve(problem, chosen, budget=Budget(sfo=problem.n + limit))
    assert run.counts.sfo == problem.n + limit // 6 * 6


def test_output_of_a_cut_run_is_drawn_from_its_own_iterates(dense, walk):
    for seed in range(20):
        run = solve(dense, walk(output="uniform"), budget=Budget(lo=2), seed=seed)
        first = [iterate(dense, walk, k) for k in (0, 1)]
        assert min(distance(run.x, x) for x in first) < 1e-15


def test_output_of_a_run_cut_before_its_first_iterate_is_the_start(problem, walk):
    for output in ("last", "uniform"):
        run = solve(problem, walk(output=output), budget=Budget(fo=0))
        assert distance(run.x, problem.start()) == 0.0


def test_an_algorithm_that_swallows_exceptions_cannot_escape_its_budget(dense, walk):
    class Stubborn(walk):
        def run(self, ask, x, rng):
            while True:
                try:
                    g = ask.gradient(x)
                except Exception:
                    g = np.ones(len(x))
                x = combine(x, ask.lo(g), 0.1)
                yield State(x)

    run = solve(dense, Stubborn(), budget=Budget(fo=3))
    assert (run.status, run.iterations, run.counts.fo, run.counts.lo) == ("budget", 3, 3, 3)

    class Returning(walk):
        def run(self, ask, x, rng):
            with suppress(BaseException):
                yield from super().run(ask, x, rng)

        def before(self, t, ask, x):
            time.sleep(0.05 * (t == 2))

    for fo in (3, 0):
        run = solve(dense, Returning(iterations=9), budget=Budget(fo=fo))
        assert (run.status, run.iterations) == ("budget", fo)
    run = solve(dense, Returning(iterations=9), time_limit=0.04)
    assert (run.status, run.iterations <= 2) == ("timeout", True)


@pytest.mark.parametrize("verb", ["gradient", "batch", "difference", "value", "lo", "hessian"])
def test_no_oracle_answers_after_the_budget_is_spent(dense, walk, verb):
    """Not even to an algorithm that swallows everything."""
    answered = []

    class Ruthless(walk):
        requires = walk.requires | {"batch", "difference", "value", "hessian"}

        def run(self, ask, x, rng):
            S, g = np.array([0, 1]), ask.gradient(x)
            ask.batch(S, x), ask.difference(S, x, x), ask.lo(g), ask.lo(g)
            arguments = {"batch": (S, x), "difference": (S, x, x), "lo": (g,)}.get(verb, (x,))
            with suppress(BaseException):
                ask.gradient(x)
            with suppress(BaseException):
                answered.append(getattr(ask, verb)(*arguments))
            yield State(combine(x, dense.set.lo(g), 0.5))

    run = solve(dense, Ruthless(), budget=Budget(fo=1))
    assert answered == []
    assert (run.status, run.iterations) == ("budget", 0)
    assert (run.counts.fo, run.counts.sfo, run.counts.lo) == (1, dense.n + 2 + 4, 2)


# --- timeout --------------------------------------------------------------------------------------


def test_timeout_of_a_slow_algorithm(dense, walk):
    class Slow(walk):
        def before(self, t, ask, x):
            time.sleep(0.05)

    started = time.perf_counter()
    run = solve(dense, Slow(iterations=400), time_limit=0.2)
    assert (run.status, run.iterations < 6) == ("timeout", True)
    assert time.perf_counter() - started < 5.0
    assert "0.2 s" in run.stop_reason


def test_timeout_of_an_algorithm_that_never_yields(dense, walk):
    class Mute(walk):
        def run(self, ask, x, rng):
            while True:
                ask.lo(ask.gradient(x))
            yield State(x)

    run = solve(dense, Mute(), time_limit=0.1)
    assert (run.status, run.iterations) == ("timeout", 0)
    assert run.counts.fo > 0


def test_slow_measures_do_not_use_up_the_time_limit(dense, walk):
    def slow(problem, state):
        time.sleep(0.1)
        return 0.0

    run = solve(dense, walk(iterations=5), time_limit=0.3, measures={"slow": slow})
    assert run.status == "finished"


def test_compilation_does_not_use_up_the_time_limit(dense, walk):
    class Compiles(walk):
        def before(self, t, ask, x):
            if t == 1:
                ask.gradient(x)
                compile_for(0.8)

    run = solve(dense, Compiles(iterations=5), time_limit=0.4)
    assert run.status == "finished"
    assert run.seconds < 0.4


def compile_for(seconds):
    """Look to numba's listeners like a compilation."""
    from numba.core.event import end_event, start_event

    start_event("numba:compiler_lock")
    time.sleep(seconds)
    end_event("numba:compiler_lock")


# --- diverged -------------------------------------------------------------------------------------


def test_diverged_when_an_iterate_is_not_finite(dense, walk):
    class Wild(walk):
        def after(self, t, state):
            return state._replace(x=state.x * np.nan) if t == 3 else state

    run = solve(dense, Wild(), measures=["value"])
    assert (run.status, run.iterations) == ("diverged", 4)
    assert "iteration 4" in run.stop_reason
    assert is_finite(run.x)
    assert distance(run.x, iterate(dense, walk, 3)) == 0.0
    assert run.trace["iteration"].tolist() == [0, 1, 2, 3]
    assert all(number is not None for number in run.final.values())


class NaNLogistic(NonconvexLogistic):
    """Its gradient is NaN everywhere but at 0."""

    def gradient(self, x):
        return super().gradient(x) * (np.nan if x.any() else 1.0)


class NaNRecovery(RobustMatrixRecovery):
    """Its gradient is NaN everywhere but at 0."""

    def gradient(self, x):
        return super().gradient(x) * (np.nan if x.factors().weights.size else 1.0)


@pytest.mark.parametrize("kind", ["recovery", "logistic"])
def test_diverged_when_a_gradient_reaches_the_linear_minimisation_as_nan(kind, walk):
    """The run has a row all the same, and what cannot be measured is null."""
    if kind == "recovery":
        good = tiny_recovery()
        problem = NaNRecovery(good.observations, radius=good.radius, sigma=good.sigma)
    else:
        good = tiny_logistic()
        problem = NaNLogistic(good.features, good.labels, good.set, good.alpha)
    run = solve(problem, walk(), measures=["value", "fw_gap"])
    assert (run.status, run.iterations) == ("diverged", 1)
    assert "NaN" in run.stop_reason
    assert run.trace["fw_gap"].isna().tolist() == [False, True]
    assert run.final["fw_gap"] is None
    assert run.final["value"] == run.trace["value"].iloc[-1]


# --- error and killed -----------------------------------------------------------------------------


def test_error_when_the_algorithm_raises(problem, walk):
    class Buggy(walk):
        def before(self, t, ask, x):
            if t == 2:
                raise KeyError("forgotten")

    run = solve(problem, Buggy())
    assert (run.status, run.stop_reason, run.iterations) == ("error", "KeyError: 'forgotten'", 2)
    assert distance(run.x, iterate(problem, walk, 2)) < 1e-12


def test_killed_by_the_keyboard(problem, walk):
    class Interrupted(walk):
        def before(self, t, ask, x):
            if t == 3:
                raise KeyboardInterrupt

    run = solve(problem, Interrupted())
    assert (run.status, run.iterations, run.counts.fo) == ("killed", 3, 3)
    assert distance(run.x, iterate(problem, walk, 3)) < 1e-12


@pytest.mark.parametrize("every", [1, 7])
def test_an_estimate_whose_point_is_gone_is_not_measured(every):
    """The open loop's first step has weight 1: once the next call is made, x_0 cannot be read."""
    chosen = algorithm("frank-wolfe", step="open-loop")
    run = solve(
        tiny_recovery(), chosen, budget=Budget(lo=1), measures=["estimator_error"], every=every
    )
    assert (run.status, run.iterations) == ("budget", 1)
    assert run.trace["iteration"].tolist() == [0, 1]


# --- endless runs ---------------------------------------------------------------------------------


ENDLESS = algorithm("frank-wolfe", step="open-loop")


@pytest.mark.parametrize("budget", [None, Budget()])
def test_a_run_that_nothing_would_end_is_refused(dense, walk, budget):
    with pytest.raises(
        InputError, match="has no stopping rule: set iterations, a budget, a target"
    ):
        solve(dense, ENDLESS, budget=budget)


# --- what a failed run says -----------------------------------------------------------------------


def test_a_method_that_raises_is_told_by_its_line_and_the_name_that_was_meant(dense, walk):
    class Typo(walk):
        def before(self, t, ask, x):
            if t == 2:
                ask.gradent(x)

    run = solve(dense, Typo())
    assert (run.status, run.iterations) == ("error", 2)
    assert run.stop_reason.endswith("has no attribute 'gradent': did you mean 'gradient'?")
    assert (run.error_location.file, run.error_location.code) == (__file__, "ask.gradent(x)")
    assert "ask.gradent(x)" in run._repr_html_()
    assert "measures at the output" not in run._repr_html_()


def test_a_refusal_by_an_oracle_is_told_by_the_methods_line(dense, walk):
    class Undeclared(walk):
        def before(self, t, ask, x):
            ask.batch(np.zeros(1, dtype=np.int64), x)

    run = solve(dense, Undeclared())
    assert "add batch to `requires`" in run.stop_reason
    assert set(run.counts.as_dict().values()) == {0}
    assert run.error_location.code == "ask.batch(np.zeros(1, dtype=np.int64), x)"


def test_a_finished_run_has_no_such_line(dense, walk):
    run = solve(dense, walk())
    assert (run.error_location, run.note) == (None, "")


def test_a_point_that_is_changed_in_place_is_said_and_no_number_depends_on_it(dense, walk):
    class Moves(walk):
        def run(self, ask, x, rng):
            for _ in range(self.iterations):
                v = ask.lo(ask.gradient(x))
                x *= 1.0 - self.step
                x += self.step * v
                yield State(x)

    run = solve(dense, Moves(iterations=5), measures=["value"])
    assert "in place" in run.note
    np.testing.assert_allclose(
        run.trace["value"], solve(dense, walk(iterations=5), measures=["value"]).trace["value"]
    )


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_the_output_of_a_cut_run_is_no_half_of_a_step(dense, walk, calls):
    """The step that is cut has begun to move the point."""

    class Early(walk):
        def run(self, ask, x, rng):
            v = ask.lo(ask.gradient(x))
            for _ in range(self.iterations):
                x *= 1.0 - self.step
                x += self.step * v
                yield State(x)
                x *= 0.5
                v = ask.lo(ask.gradient(x * 2.0))
                x *= 2.0

    run = solve(dense, Early(iterations=9), budget=Budget(lo=calls))
    assert (run.status, run.iterations) == ("budget", calls)
    np.testing.assert_allclose(run.x, solve(dense, walk(), budget=Budget(lo=calls)).x, atol=1e-12)
    assert "in place" in run.note


def test_a_method_that_stays_where_it_is_changes_nothing(dense, walk):
    class Stays(walk):
        def run(self, ask, x, rng):
            for _ in range(self.iterations):
                ask.gradient(x)
                yield State(x)

    assert solve(dense, Stays()).note == ""
