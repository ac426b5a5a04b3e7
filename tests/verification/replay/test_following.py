"""Methods and their references: followed, on small cases by name, and where points or draws tie."""

import ast
import inspect
import pickle
import re
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from judging import judge
from twisted import Twisted, twisted

import pfbench as pf
from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.nfwu import NFWUCASVRG
from pfbench.base.errors import InputError
from pfbench.claims.catalogue import CLAIMS, claim
from pfbench.estimators.epochs import CASVRG
from pfbench.verification.references import REFERENCES
from pfbench.verification.replay.draw_streams import draw_cases_and_run_counts, examine_draw_law
from pfbench.verification.replay.draws import ResolvedDraws
from pfbench.verification.replay.follow import compare_transcript_with_reference
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.oracles import MismatchError, ReplayOracles
from pfbench.verification.replay.problems import BUILDERS
from pfbench.verification.replay.recorded_run import RecordedQuery, Transcript, record_run
from pfbench.verification.replay.replay_instances import (
    SHAPES,
    iterate_replay_cases,
    make_case,
    make_small_instances,
    with_horizon,
)
from pfbench.verification.replay.small_cases import (
    _case_size,
    _iterate_small_case_parameters,
    restrict_to_case,
)
from pfbench.verification.subject import EditedMethod, Subject

_OWN = ("pfbench.base", "pfbench.verification.references")
"""What a reference may import of pfbench."""


def cases():
    for name in REFERENCES:
        for number, form in enumerate(list_method_forms(ALGORITHMS[name])):
            yield pytest.param(name, form, id=f"{name}-{number}")


@pytest.mark.thin(7)
@pytest.mark.parametrize("shape", SHAPES, ids=("vector", "matrix"))
@pytest.mark.parametrize(("name", "form"), [*cases()])
def test_a_method_follows_its_reference(name, form, shape):
    method = ALGORITHMS[name]
    parameters = with_horizon(method, form, 40)  # several runs share it
    algorithm = method(**parameters)
    for instance in make_small_instances(method, shape):
        recorded = record_run(instance(), algorithm, seed=1)
        assert recorded.error is None
        outcome = compare_transcript_with_reference(recorded, algorithm)
        assert outcome.agrees, outcome.reason


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_is_short_and_imports_no_estimators_and_no_points(name):
    reference = getattr(REFERENCES[name], "func", REFERENCES[name])
    source = inspect.getsource(inspect.getmodule(reference))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pfbench"):
            assert node.module.startswith(_OWN)
    assert len(inspect.getsource(reference).splitlines()) <= 40


# --- points that a run picks at random, of which some are equal up to rounding, or are not made ---


@pytest.mark.long
def test_a_snapshot_among_equal_points_is_the_one_that_was_queried():
    method = ALGORITHMS["sarah"]
    case = max(iterate_replay_cases(method, "full"), key=lambda c: c.parameters["iterations"])
    case = replace(case, parameters={**case.parameters, "iterations": 9_000})
    algorithm = method(**case.parameters)
    for seed in (0, 1904142652):
        transcript = record_run(case.problem(), algorithm, seed=seed)
        outcome = compare_transcript_with_reference(transcript, algorithm)
        assert (outcome.reason, outcome.steps) == ("", 9_000)


@pytest.mark.parametrize("seed", [0, 14, 25])
def test_an_output_of_an_outer_loop_that_is_cut_short_is_followed(seed):
    """Its random iterate may be one of those that were made, or none of them."""
    algorithm = ALGORITHMS["sarah"](iterations=12, batch=1, period=9, step=0.1)
    problem = pf.problem("nonconvex-logistic", source="synthetic", set="none", rows=7, columns=3)
    transcript = record_run(problem, algorithm, seed=seed)
    outcome = compare_transcript_with_reference(transcript, algorithm)
    assert (outcome.reason, outcome.steps) == ("", 12)
    assert [pick[2] for pick in outcome.log.picks] == [9]


# --- draws of a run: those of which the repeats are unknown, and how a coin is read ---------------


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("fewest", [0, 8])
def test_a_table_may_be_queried_once_for_a_repeated_component(once, fewest):
    n, size, rng = 16, 4, np.random.default_rng(0)
    log = ResolvedDraws()
    for t in range(600):
        log.batches.append((t, rng.integers(n, size=size)))
        J = rng.integers(fewest, n, size=size)
        distinct = np.unique(J)
        if once or len(distinct) == size:
            log.stored.append((t, distinct, np.full(size, -1)))
        else:
            log.batches.append((t, J))
    found = examine_draw_law([log], n, None)
    assert log.has_table_repeats_queried_once == once
    assert bool(found.violation) == bool(fewest)


class Divided(ALGORITHMS["page"]):
    """PAGE that divides a difference by the probability with which it takes one."""

    def run(self, ask, x, rng):
        changed = Twisted(ask)
        changed.difference = lambda S, x, y: ask.difference(S, x, y) / (1.0 - self.refresh)
        for state in super().run(changed, x, rng):
            yield state._replace(coin=None)


def test_a_difference_over_all_components_is_read_as_tails():
    found = judge(CLAIMS["methods-run-page"], Subject(Divided))
    assert found.verdict == "violated"
    assert "difference of components [0, 1]" in found.reason
    assert "coin tails at t=1" in found.reason


# --- small cases on which a wrong method differs --------------------------------------------------


class EarlierSnapshot(Twisted):
    """Oracles whose snapshot is the iterate before that of the full gradient, after the first."""

    last = snapshot = None

    def gradient(self, x):
        self.snapshot = pf.keep(x) if self.last is None else self.last
        return self.ask.gradient(x)

    def difference(self, S, x, y):
        self.last = pf.keep(x)
        return self.ask.difference(S, x, self.snapshot)


Stale = twisted(ALGORITHMS["svfw"], EarlierSnapshot)


class Logs(ALGORITHMS["svfw"]):
    """SVFW that queries the full gradient once more every hundred iterations."""

    def move(self, ask, x, g, t):
        if t and t % 100 == 0:
            ask.gradient(x)
        return super().move(ask, x, g, t)


PRODUCT = "H.product(x, {0}) - H.batch(S, x, {0})"
TURNED = EditedMethod(
    NFWUCASVRG,
    edited_part=CASVRG,
    edits=(
        ("iterations = count()", "iterations, path = count(), []"),
        ("nonlocal s, mean, H", "nonlocal s, mean, H; path.append(keep(x))"),
        (PRODUCT.format("s"), PRODUCT.format("path[-2]")),
    ),
)
"""NFWU-CASVRG whose mean Hessian is multiplied by the last step."""


def test_a_mismatch_is_shown_on_a_case_for_pencil_and_paper():
    found = judge(CLAIMS["methods-run-svfw"], Subject(Stale))
    assert found.verdict == "violated"
    # f'(x) = ((x - 1) + 2 (2 x + 1))/2 is 1.75 at 0.5, and -0.125 at the next point -0.25. There
    # the wrong method adds f_1'(-0.25) - f_1'(0.5) = -3.
    assert found.reason.startswith(
        "ball 1 n=2 is_quadratic=True [iterations=2 step=0.5 batch=1 period=1]"
    )
    assert "iteration 1: State.estimate is off by 3: [0]: -3.125, expected -0.125" in found.reason
    assert "f_0(x) = (x - 1)^2/2, f_1(x) = (2 x + 1)^2/2, x_0 = (0.5), L2Ball(d=1" in found.reason
    assert "First seen on ball 4 [iterations=40 step=0.1 batch=3 period=4]" in found.reason

    name = re.search(r"pfbench verify '(methods-run-svfw\[.*?\])'", found.reason)[1]
    again = judge(claim(name), Subject(Stale))
    assert found.reason.startswith(again.reason)
    assert again.max_sizes == {"T": 2, "n": 2, "d": 1}
    assert judge(claim(name)).verdict == "holds"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("methods-law-svfw[kind=ball,shape=1]", "takes no parameters"),
        ("methods-run-svfw[kind=bal,shape=1]", "did you mean 'ball'"),
        ("methods-run-svfw[kind=ball]", "is no test case of svfw"),
        ("methods-run-svfw[kind=ball,shape=1,m=2]", "is no test case of svfw"),
    ],
)
def test_what_is_no_case_is_refused(name, words):
    with pytest.raises(InputError, match=words):
        claim(name)


def test_a_case_is_the_same_after_its_name_is_read():
    values = {"kind": "ball", "shape": "2x3", "scale": 1000.0, "iterations": 2, "step": 0.5}
    restricted = restrict_to_case(CLAIMS["methods-run-sfw"], {**values, "batch": 1})
    again = claim(restricted.name)
    assert again.name == restricted.name
    assert again.check.keywords == pickle.loads(pickle.dumps(restricted)).check.keywords


def test_the_wrong_product_is_named_with_the_right_one():
    reason = judge(CLAIMS["methods-run-nfwu-casvrg"], TURNED).reason
    assert re.search(
        r"the reference multiplies the mean Hessian at the snapshot = \(0.5\) by the difference of "
        r"x_2 = \S+ and the snapshot = \(0.5\), recorded is hessian.product at x_2 = \S+ and x_1",
        reason,
    )


@pytest.mark.long
def test_one_query_more_late_in_a_run_is_named_with_the_query_before_it():
    reason = judge(CLAIMS["methods-run-svfw"], Subject(Logs)).reason
    assert "does not make this query of iteration 100: gradient at x_100" in reason
    assert "(query 202); the call before it is difference of components" in reason
    count = judge(CLAIMS["methods-count-svfw"], Subject(Logs))
    assert (count.verdict, count.max_sizes["T"]) == ("violated", 3000)
    assert "sfo is 10587, not 10500" in count.reason  # 29 full gradients of 3 components more


def test_draws_are_not_tested_further_once_a_run_differs():
    found = judge(CLAIMS["methods-law-svfw"], Subject(Stale))
    assert (found.verdict, found.max_sizes["T"]) == ("inconclusive", 2_500)
    assert "the draws are not tested, as a run differs" in found.reason


@pytest.mark.thin(4)
@np.errstate(all="ignore")  # a gradient of simple numbers may be 0
@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_right_methods_agree_on_small_cases(name):
    method, followed = ALGORITHMS[name], 0
    first = next(iterate_replay_cases(method, "quick"))
    for values in islice(
        sorted(_iterate_small_case_parameters(method, first), key=_case_size), 0, 40, 5
    ):
        case = make_case(method, values)
        try:
            right = method(**case.parameters)
        except InputError:
            continue
        outcome = compare_transcript_with_reference(record_run(case.problem(), right), right)
        # Without a gradient, a method that divides by its norm yields no number.
        assert not outcome.is_mismatch or "nan" in outcome.reason, (str(case), outcome.reason)
        followed += outcome.agrees
    assert followed


@pytest.mark.parametrize("kind", sorted(BUILDERS))
def test_the_components_of_a_case_by_hand_are_those_of_its_formula(kind):
    options = {"radius": 1.0} if kind == "cube" else {}
    problem = BUILDERS[kind](shape=(2,), n=3, is_quadratic=True, heavy=2.0, **options)
    text = problem.formula.replace("^", "**").partition(", x_0")[0]
    formulas = [part.partition(" = ")[2] for part in text.split(", f_")]
    formulas = [re.sub(r"(\d) (x|\()", r"\1*\2", formula) for formula in formulas]
    assert len(formulas) == 3

    def values(x):
        return [eval(formula, {"x1": x[0], "x2": x[1]}) for formula in formulas]

    x, h = np.array([0.3, -0.7]), 1e-5
    assert problem.value(x) == pytest.approx(np.mean(values(x)))
    steps = [(np.array(values(x + e)) - values(x - e)) / (2 * h) for e in h * np.eye(2)]
    gradients = np.transpose(steps)
    assert problem.component_gradients(x) == pytest.approx(gradients, rel=1e-6)
    assert problem.gradient(x) == pytest.approx(gradients.mean(axis=0), rel=1e-6)
    product = problem.hessian(x).product(x, 0 * x)
    assert product == pytest.approx(problem.gradient(x) - problem.gradient(0 * x))
    assert problem.set.contains(problem.start())
    assert replace(problem, is_quadratic=False).formula == ""


def test_the_picks_of_a_run_whose_iterates_become_equal_are_uniform():
    method = ALGORITHMS["sarah"]
    cases = [case for case, _ in draw_cases_and_run_counts(method, 871700)]
    case = next(case for case in cases if case.parameters["iterations"] == 3_000)
    algorithm = method(**case.parameters)
    outcome = compare_transcript_with_reference(case.record(algorithm), algorithm)
    assert len(outcome.log.picks) == 333
    assert not examine_draw_law([outcome.log], case.problem().n, None).violation


def record_queries(method, verb, indices):
    """Return a small problem's transcript with queries of one kind, and its start."""
    transcript = Transcript(make_small_instances(ALGORITHMS[method])[0]())
    x = transcript.start
    for i in indices:
        transcript.add_query(verb, (np.array([i]), x) if verb == "batch" else (x,), x)
    return transcript, x


def test_equal_vertices_are_perturbed_alike_and_close_ones_look_different():
    transcript, v = record_queries("frank-wolfe", "lo", range(3))
    replay = ReplayOracles(transcript, noise=np.random.default_rng(0))
    g = replay.query_problem(lambda: np.array([1.0, 0.0]))
    assert 1e-17 < abs(g[1]) < 1e-12  # small by cancellation, with the error of the largest
    replay.begin_step(0, v)
    first = replay.lo(v)
    assert 0.0 < np.abs(first - v).max() < 1e-12
    assert np.array_equal(first, replay.lo(v))
    with pytest.raises(MismatchError, match=r"\(0.2100000021, "):
        replay.raise_mismatch(RecordedQuery("lo", direction=v * (1.0 + 1e-8)), "lo")


def test_the_queries_of_two_batches_at_one_point_may_alternate():
    transcript, x = record_queries("storm-fw", "batch", (0, 0, 2, 2))
    replay = ReplayOracles(transcript, [1])
    replay.begin_step(0, x)
    batch = replay.integers(3, 2)
    for _ in range(2):
        replay.batch(batch, x)
    assert batch.tolist() == [0, 2]
    assert replay.choose_option(2, 0, "mixed") == 1  # as before


def test_backtracking_is_followed_where_a_decrease_has_few_digits():
    method = ALGORITHMS["frank-wolfe"]
    cases = [c for c in iterate_replay_cases(method, "quick", 11) if c.horizon == 150]
    case = next(c for c in cases if c.parameters["step"] == "backtracking")
    right = method(**case.parameters)
    assert compare_transcript_with_reference(case.record(right), right).steps == 150


@pytest.mark.parametrize("rule", ["backtracking", "primal-dual", "line-search"])
@pytest.mark.parametrize("part", [1.0, 0.5])
def test_values_may_be_queried_at_iterates_and_in_line_searches(rule, part):
    class Prints(ALGORITHMS["frank-wolfe"]):
        def run(self, ask, x, rng):
            for state in super().run(ask, x, rng):
                ask.value(state.at + part * (state.x - state.at))
                yield state

    case = next(c for c in iterate_replay_cases(Prints, "quick") if c.parameters["step"] == rule)
    method = Prints(**case.parameters)
    outcome = compare_transcript_with_reference(case.record(method), method)
    assert outcome.agrees == (rule == "line-search" or part == 1.0)


def test_a_run_that_rounding_decides_is_followed_past_a_linear_minimisation():
    (row,) = pf.verify(["methods-run-bpfw"]).rows
    assert row.verdict == "holds", row.reason
