"""Methods of strangers: whatever they yield or ask, a run ends in words and measures nothing else.

The first version read foreign memory for several of these, and let them win.
"""

import io
import math
import pickle

import numpy as np
import pytest
import scipy.io

import pfbench as pf
from pfbench.adapters import ScipyMinimize, from_functions
from pfbench.algorithms.base import Algorithm
from pfbench.base.errors import FailedBeforeFirstQuery, InputError
from pfbench.base.state import State
from pfbench.points import RankOne, combine, gap_and_distance, inner, keep
from pfbench.problems import FiniteSum
from pfbench.reporting.runtimes import Cost, make_runtimes
from pfbench.reporting.seed_curves import SeedTraces
from pfbench.sets import L1Ball, L2Ball, Simplex

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
        return State(combine(x, ask.lo(ask.gradient(x)), 1.5))

    assert stops(MATRIX, far, "outside the feasible set").final["fw_gap"] is None


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
    v = MATRIX.lo(g)
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


# --- Arrays whose type is equal to float64 but another object, as of a pickle, are taken ----------


def from_mat(A):
    file = io.BytesIO()
    scipy.io.savemat(file, {"A": A})
    return np.ascontiguousarray(scipy.io.loadmat(file)["A"]).reshape(A.shape)


def unpickled(A):
    return pickle.loads(pickle.dumps(A))


EQUAL = {
    "pickle": unpickled,
    "mat": from_mat,
    "newbyteorder": lambda A: A.view(A.dtype.newbyteorder("=")),
    "metadata": lambda A: A.astype(np.dtype(np.float64, metadata={"unit": "m"})),
}
GRADIENTS = {
    "A.T@r": lambda A, x: A.T @ (A @ x) / len(A),
    "r@A": lambda A, x: (A @ x) @ A / len(A),
    "einsum": lambda A, x: np.einsum("ij,i->j", A, A @ x) / len(A),
    "mean": lambda A, x: (A * (A @ x)[:, None]).mean(axis=0),
    "H@x": lambda A, x: (A.T @ A / len(A)) @ x,
}


class Squares(FiniteSum):
    """Half the mean square of A x."""

    def __init__(self, A, gradient="A.T@r", start=lambda x: x):
        self.A, self.n, self.set = A, len(A), L1Ball(A.shape[1])
        self._gradient, self._start = GRADIENTS[gradient], start

    def start(self):
        return self._start(np.eye(len(self.A[0]))[0])

    def value(self, x):
        return 0.5 * float(np.mean((self.A @ x) ** 2))

    def gradient(self, x):
        return self._gradient(self.A, x)

    def component(self, i, x):
        return self.A[i] * (self.A[i] @ x)


DATA = np.random.default_rng(0).standard_normal((5, 3))


def solved(problem, algorithm):
    run = pf.solve(problem, algorithm, measures=("objective", "fw_gap"))
    assert run.status == "finished", run.stop_reason
    return run.x.tobytes(), run.trace["objective"].tolist()


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", EQUAL)
def test_data_of_an_equal_type_give_the_same_run(kind):
    for gradient in GRADIENTS:
        for algorithm in (
            "frank-wolfe[step=open-loop,iterations=3]",
            "frank-wolfe[step=line-search,iterations=3]",
            "afw[smoothness=9,iterations=3]",
            "nfwu-spiderg[batch=2,period=3,iterations=6,step=0.1]",
            "prox-saga[batch=2,iterations=3,step=0.1]",
        ):
            usual = solved(Squares(DATA, gradient), algorithm)
            assert solved(Squares(EQUAL[kind](DATA), gradient), algorithm) == usual
            assert solved(Squares(DATA, gradient, EQUAL[kind]), algorithm) == usual


@pytest.mark.parametrize("kind", EQUAL)
def test_moves_of_an_equal_type_have_the_same_bits(kind):
    g, x, v = np.random.default_rng(1).standard_normal((3, 4, 3))
    atom = RankOne(np.ones(4) / 2, np.eye(3)[1], -3.0)
    one, other, end = map(EQUAL[kind], (g, x, v))
    for a, b in ((v, end), (atom, atom)):
        assert combine(x, a, 0.3).tobytes() == combine(other, b, 0.3).tobytes()
        assert gap_and_distance(g, x, a) == gap_and_distance(one, other, b)


# --- A run whose objective is not finite at its output has diverged, and reaches no target there---


T = np.array([0.7, 0.1, 0.1, 0.1])
METHOD = "frank-wolfe[step=open-loop,iterations=3]"  # its last point is beyond 0.6


def squares(beyond, value):
    return lambda x: value if x[0] > beyond else float((x - T) @ (x - T))


def jac(x):
    return 2.0 * (x - T)


def on_simplex(value):
    return from_functions(squares(0.6, value), jac, Simplex(4), start=np.full(4, 0.25))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("more", [{}, {"stop": "objective=-1"}, {"budget": {"fo": 3}}])
def test_it_is_no_finished_run_and_no_target_reached(value, more):
    run = pf.solve(on_simplex(value), METHOD, measures="objective", **more)
    assert (run.status, run.final["objective"]) == ("diverged", None)
    assert run.stop_reason == "the objective at the output is not finite"
    assert run.first_value("objective", -1.0) is None


def test_a_value_that_is_undefined_on_the_way_changes_nothing():
    run = pf.solve(on_simplex(math.nan), METHOD, budget={"fo": 2})
    assert run.status == "budget"


@pytest.mark.parametrize("method", ["BFGS", "CG", "Nelder-Mead"])
def test_a_black_box_on_an_undefined_function_diverges(method):
    problem = from_functions(squares(1e-9, math.nan), jac, start=np.zeros(4))
    run = pf.solve(problem, ScipyMinimize(method=method))
    assert run.status == ("finished" if run.final["objective"] is not None else "diverged")


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_such_a_row_is_no_hit_of_a_comparison(value):
    run = pf.solve(on_simplex(value), METHOD, measures="objective")
    assert (
        make_runtimes(
            SeedTraces.from_runs([run]), pf.Stop("objective", -1.0), Cost.from_weights("fo")
        ).hits
        == 0
    )
