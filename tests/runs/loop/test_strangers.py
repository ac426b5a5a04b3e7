"""Methods of strangers: whatever they yield or ask, a run ends in words and measures nothing else.

The first version read foreign memory for several of these, and let them win.
"""

import numpy as np
import pytest

import pfbench as pf
from pfbench.algorithms.base import Algorithm
from pfbench.base.errors import FailedBeforeFirstQuery, InputError
from pfbench.base.state import State
from pfbench.points import combine, inner, keep
from pfbench.problems import FiniteSum
from pfbench.sets import L2Ball

DENSE = pf.problem("quadratic")
MATRIX = pf.problem("robust-matrix-recovery", rows=9, columns=7)
OTHER = pf.problem("robust-matrix-recovery", rows=8, columns=7)
SAME_SHAPE = pf.problem("robust-matrix-recovery", rows=9, columns=7, seed=5)
BOTH = [pytest.param(DENSE, id="dense"), pytest.param(MATRIX, id="factored")]


def method(body, requires=("gradient", "batch", "difference", "lo")):
    """Return a method of one iteration, whose run is `body(ask, x, rng)` and yields its state."""

    class Strange(Algorithm):
        name, summary, source, counts = "strange", "", "", ""

        def run(self, ask, x, rng):
            yield body(ask, x, rng)

    Strange.requires = frozenset(requires)
    return Strange()


def stops(problem, body, *words, requires=("gradient", "batch", "difference", "lo")):
    """See that the run ends as error, in one sentence that has these words."""
    run = pf.solve(problem, method(body, requires), measures=["fw_gap"])
    assert run.status == "error", run.stop_reason
    for word in words:
        assert word in run.stop_reason
    assert "\n" not in run.stop_reason
    return run


STATES = {
    "a prefix": lambda x: x[:3],
    "a view that begins later": lambda x: x[1:],
    "twice as long": lambda x: np.concatenate([x, x]),
    "empty": lambda x: x[:0],
    "a column": lambda x: x[:, None],
    "single precision": lambda x: x.astype(np.float32),
    "integers": lambda x: x.astype(np.int64),
    "big-endian": lambda x: x.astype(">f8"),
    "objects": lambda x: x.astype(object),
    "a list": lambda x: x.tolist(),
    "a subclass": lambda x: np.matrix(x),
    "a text": lambda x: "x",
    "none": lambda x: None,
}


@pytest.mark.parametrize("changed", STATES.values(), ids=STATES)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_state_of_another_form_is_an_error(changed):
    stops(DENSE, lambda ask, x, rng: State(changed(x)), "State.x", "(20,)")


@pytest.mark.parametrize("field", ["at", "output", "estimate"])
def test_so_are_the_other_parts_of_a_state(field):
    stops(DENSE, lambda ask, x, rng: State(x, **{field: x[:3]}), f"State.{field}", "(3,)")


@pytest.mark.parametrize("other", [OTHER, SAME_SHAPE, DENSE])
def test_a_point_of_another_problem_is_an_error(other):
    stops(MATRIX, lambda ask, x, rng: State(other.start()), "State.x")
    stops(
        MATRIX, lambda ask, x, rng: State(x, x, ask.gradient(other.start())), "gradient is queried"
    )


@pytest.mark.parametrize("changed", STATES.values(), ids=STATES)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("verb", ["gradient", "batch", "difference", "lo"])
def test_an_oracle_asked_at_something_else_is_an_error(verb, changed):
    def asked(ask, x, rng):
        S, y = np.array([0, 1]), changed(x)
        arguments = {"gradient": (y,), "batch": (S, y), "difference": (S, x, y), "lo": (y,)}
        getattr(ask, verb)(*arguments[verb])
        return State(x)

    run = stops(DENSE, asked, f"{verb} is queried")
    assert run.counts == pf.Counts()


@pytest.mark.parametrize("changed", ["prefix", "twice", "single precision"])
def test_a_gradient_of_another_form_is_no_direction(changed):
    change = {
        "prefix": lambda g: g[:3],
        "twice": lambda g: np.array([g, g]),
        "single precision": lambda g: g.astype(np.float32),
    }[changed]
    stops(MATRIX, lambda ask, x, rng: State(ask.lo(change(ask.gradient(x)))), "lo is queried for")


@pytest.mark.parametrize("problem", BOTH)
@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ([0, 1], "integer array"),
        (np.array([0.0, 1.0]), "vector of integers"),
        (np.array([[0, 1]]), "vector of integers"),
        (np.array([True, False]), "vector of integers"),
        (np.array([2**63], dtype=np.uint64), "2^63"),
        (np.array([-1]), "outside 0"),
        (np.array([10**9]), "outside 0"),
        (np.zeros(0, dtype=np.int64), "at least one index"),
    ],
)
def test_a_sample_that_is_none_is_an_error(problem, sample, words):
    stops(problem, lambda ask, x, rng: State(x, x, ask.batch(sample, x)), words)


@pytest.mark.parametrize("problem", BOTH)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.uint64, ">i8"])
def test_a_sample_may_have_any_integer_type(problem, dtype):
    def asked(ask, x, rng):
        S = np.array([3, 1, 3])
        assert np.array_equal(ask.batch(S.astype(dtype), x), ask.batch(S, x))
        return State(x)

    run = pf.solve(problem, method(asked))
    assert (run.status, run.counts.sfo) == ("finished", 6)


def test_a_method_outside_the_set_is_told_and_not_measured():
    def far(ask, x, rng):
        return State(x + 1000.0)

    run = stops(DENSE, far, "iteration 1", "outside the feasible set")
    assert run.final["fw_gap"] is None
    assert run.final["objective"] is None
    assert np.isnan(run.trace["fw_gap"]).tolist() == [False, True]
    unwatched = pf.solve(DENSE, method(far))
    assert (unwatched.status, unwatched.final["fw_gap"]) == ("error", None)
    assert "output" in unwatched.stop_reason


def test_a_factored_point_outside_the_set_is_told():
    def far(ask, x, rng):
        v = ask.lo(ask.gradient(x))
        return State(combine(x, v, 1.5))

    assert stops(MATRIX, far, "outside the feasible set").final["fw_gap"] is None


def test_an_oracle_that_is_not_required_is_not_answered():
    run = stops(
        DENSE, lambda ask, x, rng: State(x, x, ask.gradient(x)), "gradient", "requires", requires=()
    )
    assert run.counts == pf.Counts()


def test_yielding_nothing_is_an_error():
    class Silent(type(method(None))):
        def run(self, ask, x, rng):
            return iter(())

    run = pf.solve(DENSE, Silent())
    assert (run.status, run.iterations) == ("error", 0)
    assert "no State" in run.stop_reason


def test_a_wrong_signature_and_an_exit_are_the_methods_errors():
    class Wrong(type(method(None))):
        def run(self, ask):
            yield State(None)

    def leaves(ask, x, rng):
        raise SystemExit(7)

    with pytest.raises(FailedBeforeFirstQuery, match="takes 2 positional arguments"):
        pf.solve(DENSE, Wrong())
    with pytest.raises(FailedBeforeFirstQuery, match="SystemExit: 7"):
        pf.solve(DENSE, leaves)


def test_counts_that_are_no_longer_exact_end_the_run_as_an_error():
    def many(ask, x, rng):
        for _ in range(3):
            ask.batch(pf.Sample(np.array([0]), np.array([2**52])), x)
        return State(x)

    run = stops(DENSE, many, "2^53")
    assert run.counts.sfo == 2**52
    with pytest.raises(InputError, match=r"2\^53"):
        pf.Sample(np.array([0, 1]), np.array([2**52, 2**52]))
    assert len(pf.Sample(np.array([0, 1]), np.array([2**52, 2**52 - 1]))) == 2**53 - 1
    with pytest.raises(InputError, match=r"2\^53"):
        pf.Sample(np.array([0, 1, 2]), np.array([2**62, 2**62, 2**62]))


def test_points_that_do_not_belong_together_are_refused_everywhere():
    g, x = MATRIX.gradient(MATRIX.start()), MATRIX.start()
    v = MATRIX.set.lo(g) if not hasattr(MATRIX, "lo") else MATRIX.lo(g)
    for short in (g[:3], np.zeros(g.size + 1), g.astype(np.float32)):
        with pytest.raises(InputError):
            inner(short, v)
        with pytest.raises(InputError):
            inner(short, x)
    dense = keep(DENSE.start())
    for other in (dense[:3], dense[:, None], np.zeros((1,))):
        with pytest.raises(InputError):
            combine(dense, other, 0.5)
        with pytest.raises(InputError):
            inner(other, dense)


class Theirs(FiniteSum):
    """|x|^2/2 on a ball, of which one oracle answers something of another form."""

    name, n = "theirs", 1

    def __init__(self, verb, answer):
        self.set = L2Ball(4, 1.0)
        self._verb, self._answer = verb, answer

    def value(self, x):
        return 0.5 * float(x @ x)

    def gradient(self, x):
        return self._answer(x) if self._verb == "gradient" else x.copy()

    def lo(self, g):
        return self._answer(g) if self._verb == "lo" else self.set.lo(g)


@pytest.mark.parametrize("verb", ["gradient", "lo"])
@pytest.mark.parametrize("answer", [lambda a: a[:2], lambda a: a.tolist(), lambda a: None])
def test_a_problem_that_answers_something_else_is_told(verb, answer):
    def asked(ask, x, rng):
        return State(combine(x, ask.lo(ask.gradient(x)), 0.5))

    run = pf.solve(Theirs(verb, answer), method(asked))
    assert run.status == "error"
    assert f"the problem's {verb} returned" in run.stop_reason
