"""Algorithms and estimators with one fault each, in the styles of strangers, beside right ones."""

import threading
import time
from dataclasses import dataclass
from itertools import count

import numpy as np
from checking.faults import by_name

from pfbench.algorithms import Algorithm
from pfbench.base.errors import BudgetExhausted
from pfbench.base.state import State
from pfbench.estimators.base import EpochEstimator, Estimator
from pfbench.estimators.epochs import SG, SPIDERG, SVRG
from pfbench.estimators.gradient_tables import SAGA
from pfbench.kernels import linear
from pfbench.points import combine, keep, shift
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets import L2Ball

HIDDEN = LogCosh(*draw_synthetic_rows(rows=23, columns=4, seed=1), L2Ball(4, 1.5))
"""A problem at hand, which no method should ask itself."""


# --- right algorithms, in other styles ------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FW(Algorithm):
    """Frank-Wolfe with batches; parts may be replaced by faults."""

    name, summary, source, counts = "fw", "", "", "T iterations: SFO bT, LO T"
    requires = frozenset({"batch", "lo"})
    anytime = True

    iterations: int = 30
    batch: int = 3

    def draw(self, ask, rng, t):
        return rng.integers(ask.n, size=self.batch)

    def step(self, t):
        return 2.0 / (t + 3.0)

    def gradient(self, ask, x, rng, t):
        return ask.batch(self.draw(ask, rng, t), x)

    def move(self, ask, x, g, t):
        return combine(x, ask.lo(g), self.step(t))

    def run(self, ask, x, rng):
        for t in count() if self.iterations is None else range(self.iterations):
            x = self.move(ask, x, self.gradient(ask, x, rng, t), t)
            yield State(x)


class Bare:
    """A method that derives from nothing, moves one array in place, and draws by `choice`."""

    name, requires, assumes = "bare", frozenset({"batch", "prox"}), frozenset()
    deterministic, output = False, "last"

    def __init__(self, iterations=10, step=0.1):
        self.T, self.step = iterations, step

    def run(self, ask, x, rng):
        x = x.copy()
        for _ in range(self.T):
            x[:] = ask.prox(x, ask.batch(rng.choice(ask.n, 2, replace=False), x), self.step)
            yield State(x)


@dataclass(frozen=True, kw_only=True)
class Steady(FW):
    """Full gradients, a step chosen by values."""

    requires = frozenset({"gradient", "value", "lo"})
    deterministic = True

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            v = ask.lo(ask.gradient(x))
            trials = [combine(x, v, w) for w in (0.5, 0.1, 0.01)]
            values = [ask.value(trial) for trial in trials]
            x = trials[int(np.argmin(values))]
            yield State(x)


@dataclass(frozen=True, kw_only=True)
class Halves(FW):
    """Its iterates depend on how many there will be, and it does not say otherwise."""

    anytime = False

    def step(self, t):
        return 1.0 / self.iterations


@dataclass(frozen=True, kw_only=True)
class Endless(FW):
    """Ends by a budget alone."""

    iterations: int | None = None
    runs_until_stopped = True


@dataclass(frozen=True, kw_only=True)
class Whole(FW):
    """Its default period draws nothing: each batch has all components."""

    period: int = 1

    def draw(self, ask, rng, t):
        return np.arange(ask.n) if t % self.period == 0 else rng.integers(ask.n, size=2)


RIGHT = (FW, Bare, Steady, Halves, Whole, Endless(), FW(batch=1, iterations=1), Bare(4, 1.0))


# --- faults of algorithms -------------------------------------------------------------------------


def _fw(**parts):
    return type("Mine", (FW,), parts)()


def _runs(run, **parts):
    return _fw(run=run, **parts)


def _alters(alter):
    """Return a run that yields what a function makes of each state."""

    def run(self, ask, x, rng):
        for state in FW.run(self, ask, x, rng):
            yield alter(ask, state)

    return run


def _cheaper(ask, state):
    ask._ledger.counts_array[1] -= 1
    return state


def _asks_more(ask, state):
    ask.value(state.x)
    return state


def _by_a_kernel(ask, state):
    linear.total_loss(HIDDEN.loss.kind, HIDDEN.data, state.x)
    return state


def _extrapolates(self, ask, x, rng):
    last = keep(x)
    for t in range(self.iterations):
        y = shift(x, x, last, 0.9)
        last, x = x, combine(y, ask.lo(ask.batch(self.draw(ask, rng, t), x)), 0.3)
        yield State(x)


def _behind(self, ask, x, rng, t):
    ask.batch(self.draw(ask, rng, t), x)
    return ask._backend.gradient(x)


def _watches(self, ask, x, g, t):
    return combine(x, ask.lo(g), 1.0 / (2.0 + sum(ask._ledger.counts_array)))


def _global(self, ask, x, rng):
    for state in FW.run(self, ask, x, rng):
        if HIDDEN.value(state.x) > 1e3:
            return
        yield state


def _in_a_thread(self, ask, x, rng):
    for state in FW.run(self, ask, x, rng):
        if isinstance(x, np.ndarray):
            thread = threading.Thread(target=HIDDEN.value, args=(state.x,))
            thread.start()
            thread.join()
        yield state


def _through_the_bound_method(self, ask, x, g, t):
    """Takes the problem from an oracle's closure."""
    backend = type(ask).__mro__[1]._backend.__get__(ask)
    return combine(x, backend.lo(g), self.step(t))


def _knows_the_data(self, ask, x, rng, t):
    A, b = draw_synthetic_rows(rows=23, columns=4, seed=1)
    ask.batch(self.draw(ask, rng, t), x)
    S = rng.integers(23, size=3)
    return A[S].T @ np.tanh(A[S] @ x - b[S])


def _own_stream(self, ask, rng, t):
    return np.random.default_rng().integers(ask.n, size=3)


def _numpy_stream(self, ask, rng, t):
    return np.random.randint(ask.n, size=3)  # noqa: NPY002


def _one_seed(self, ask, rng, t):
    return np.random.default_rng(t).integers(ask.n, size=3)


_CACHE: dict = {}


def _remembers(self, ask, x, rng):
    """Begins where the last run ended."""
    x = _CACHE.get("x", x)
    for state in FW.run(self, ask, x, rng):
        _CACHE["x"] = state.x
        yield state


def _by_the_clock(self, t):
    return 1.0 / (2.0 + time.perf_counter() % 1.0)


def _swallows(self, ask, x, rng):
    for t in range(self.iterations):
        try:
            g = ask.batch(self.draw(ask, rng, t), x)
            v = ask.lo(g)
        except BudgetExhausted:
            v = x
        x = combine(x, v, self.step(t))
        yield State(x)


def _moves_its_start(self, ask, x, rng):
    for t in range(self.iterations):
        x += self.step(t) * (ask.lo(ask.batch(self.draw(ask, rng, t), x)) - x)
        yield State(x.copy())


def _nan_late(self, ask, x, rng):
    for t, state in enumerate(FW.run(self, ask, x, rng)):
        yield State(state.x * (np.nan if t == 25 else 1.0))


def _returns(self, ask, x, rng):
    return [State(x)]


def _silent(self, ask, x, rng):
    yield from ()


def _old_point(self, ask, x, rng):
    """Compares with the start, of which it has no copy."""
    start = x
    for t in range(self.iterations):
        S = self.draw(ask, rng, t)
        g = ask.batch(S, x) - 0.1 * ask.batch(S, start)
        x = combine(x, ask.lo(g), self.step(t))
        yield State(x)


def _pairwise(self, ask, x, rng):
    """Gives more weight to a vertex than another one has."""
    x = ask.lo(ask.gradient(x))
    S = [x]
    for _ in range(self.iterations):
        g = ask.gradient(x)
        w, a = ask.lo(g), max(S, key=lambda v: g @ v)
        S, d = [*S, w], w - a
        x = x + min(1.0, -(g @ d) / (2.0 * (d @ d) or 1.0)) * d
        yield State(x)


def _shrinks(cls, epsilon, constants, **given):
    return cls(iterations=int(100 * epsilon) + 1)


def _loses_a_diameter(cls, epsilon, constants, **given):
    c = constants
    return cls(iterations=max(1, int(c.L_f * c.D * c.delta / epsilon**2)))


def _inverts(cls, epsilon, constants, **given):
    return cls(iterations=max(1, int(10 * epsilon**2)))


ALGORITHMS = by_name(
    {
        "it yields states, finite and in the set": {
            "pairwise steps too long": _runs(
                _pairwise, requires=frozenset({"gradient", "lo", "polytope"}), deterministic=True
            ),
            "leaves the set once": _fw(step=lambda self, t: 1.05 if t == 11 else 0.5),
            "extrapolates out": _runs(_extrapolates),
            "its own output is outside": _runs(
                _alters(lambda ask, state: state._replace(output=3.0 * state.x))
            ),
            "what it is drawn from is outside": type(
                "Mine", (FW,), {"run": _alters(lambda ask, state: state._replace(at=state.x + 2.0))}
            )(output="uniform"),
            "not finite late": _runs(_nan_late),
            "points are lists": _runs(_alters(lambda ask, state: State(state.x.tolist()))),
            "points in single precision": _runs(
                _alters(lambda ask, state: State(state.x.astype(np.float32)))
            ),
        },
        "it runs": {
            "yields tuples": _runs(_alters(lambda ask, state: tuple(state))),
            "returns a list": _runs(_returns),
            "silent": _runs(_silent),
        },
        "its calls go through the oracles": {
            "asks behind the oracles": _fw(gradient=_behind),
            "makes itself cheaper": _runs(_alters(_cheaper)),
            "watches its counts": _fw(move=_watches),
            "asks a problem at hand": _runs(_global),
            "projects on its own": _runs(
                _alters(lambda ask, state: State(L2Ball(4, 1.5).project(state.x)))
            ),
            "takes the problem from the class": _fw(move=_through_the_bound_method),
            "asks in a thread": _runs(_in_a_thread),
            "asks a kernel": _runs(_alters(_by_a_kernel)),
        },
        "its iterates depend on the answers": {"knows the data": _fw(gradient=_knows_the_data)},
        "the same seed gives the same bits": {
            "a stream of its own": _fw(draw=_own_stream),
            "numpy's stream": _fw(draw=_numpy_stream),
            "one seed for all": _fw(draw=_one_seed),
            "remembers the last run": _runs(_remembers),
            "steps by the clock": _fw(step=_by_the_clock),
            "called deterministic": _fw(deterministic=True),
        },
        "it draws every component": {
            "the last is never drawn": _fw(draw=lambda self, ask, rng, t: rng.integers(22, size=3))
        },
        "a budget stops it before it is exceeded": {"goes on without calls": _runs(_swallows)},
        "its start point stays as it was": {"moves its start": _runs(_moves_its_start)},
        "it queries only what it requires": {
            "asks more than it says": _runs(_alters(_asks_more)),
            "requires too little": _fw(requires=frozenset({"lo"})),
        },
        "it declares what it is": {
            "requires no oracle": _fw(requires=frozenset({"grad"})),
            "an output of its own": type("Mine", (FW,), {"output": "best"}),
            "assumes what is no word": _fw(assumes=frozenset({"strongly convex"})),
        },
        "a shorter run starts like a longer one": {
            "called anytime": _fw(step=lambda self, t: 1.0 / self.iterations)
        },
        "its output is what it declares": {
            "drawn from new points": type(
                "Mine", (FW,), {"run": _alters(lambda ask, state: state._replace(at=state.x))}
            )(output="uniform"),
            "weights below 0": type("Mine", (FW,), {"output_weight": lambda self, k: 2.0 - k})(
                output="weighted"
            ),
        },
        "it keeps the points that it needs": {"a point that moves on": _runs(_old_point)},
        "a smaller epsilon needs more iterations": {
            "epsilon in place of 1/epsilon": _fw(theory=classmethod(_inverts)),
            "fewer iterations for more": _fw(theory=classmethod(_shrinks)),
        },
        "its schedule is the same in other units": {
            "D in place of D^2": _fw(
                theory=classmethod(_loses_a_diameter),
                requires=frozenset({"batch", "gradient", "lo"}),
            )
        },
    }
)
"""Algorithms, each with the check that must fail."""


# --- right estimators, in other styles ------------------------------------------------------------


class Remembering(Estimator):
    """Estimates from the last point and the estimate there, which are None at first."""

    def start(self, ask, rng):
        times, previous, g = count(), None, None

        def estimate(x):
            nonlocal previous, g
            g = self.update(ask, rng, x, previous, g, next(times))
            previous = keep(x)
            return g

        return estimate


class Storm(Remembering):
    """d_t = g_S(x_t) + (1 - a) (d_{t-1} - g_S(x_{t-1})), both on one batch (STORM)."""

    name, source = "storm", "Cutkosky, Orabona 2019"

    def update(self, ask, rng, x, previous, d, t):
        S = self.draw(ask, rng)
        g = ask.batch(S, x)
        return g if t == 0 else g + 0.7 * (d - ask.batch(S, previous))


class Page(Remembering):
    """The full gradient with probability 1/4, else a recursive difference (PAGE)."""

    name, source = "page", "Li, Bao, Zhang, Richtarik 2021"

    def update(self, ask, rng, x, previous, g, t):
        if t == 0 or rng.random() < 0.25:
            return ask.gradient(x)
        return g + ask.difference(self.draw(ask, rng), x, previous)


class Heavy(Remembering):
    """An average of batches: biased, as it says."""

    name, source, unbiased = "heavy", "", False

    def update(self, ask, rng, x, previous, d, t):
        g = ask.batch(self.draw(ask, rng), x)
        return g if t == 0 else 0.5 * d + 0.5 * g


class Weighted(SG):
    """Draws by unequal chances, and weighs accordingly."""

    def start(self, ask, rng):
        p = np.arange(1.0, ask.n + 1.0)
        p /= p.sum()

        def estimate(x):
            S = rng.choice(ask.n, self.batch, p=p)
            parts = [ask.batch(np.array([i]), x) / (ask.n * p[i]) for i in S]
            return np.mean(parts, axis=0)

        return estimate


class Distinct(SG):
    """Draws without replacement."""

    def draw(self, ask, rng):
        return rng.choice(ask.n, self.batch, replace=False)


class Plain:
    """Derives from nothing."""

    def start(self, ask, rng):
        return lambda x: ask.batch(rng.integers(ask.n, size=2), x)


RIGHT_ESTIMATORS = (Storm, Page, Heavy, Weighted, Distinct, Plain(), SVRG(2, 3, snapshot=2))


# --- faults of estimators -------------------------------------------------------------------------


class DividedByN(SG):
    def start(self, ask, rng):
        return lambda x: ask.batch(self.draw(ask, rng), x) * self.batch / ask.n


class NeverTheLast(SG):
    def draw(self, ask, rng):
        return rng.integers(ask.n - 1, size=self.batch)


class Unweighted(SG):
    def draw(self, ask, rng):
        return rng.choice(ask.n, self.batch, p=np.arange(1.0, ask.n + 1) / sum(range(ask.n + 1)))


class Hidden(EpochEstimator):
    """SVRG whose parts may be replaced by faults."""

    name, source = "hidden", ""

    def reference_of(self, ask, x, rng):
        return ask.gradient(x)

    def change(self, ask, S, x, s):
        return ask.difference(S, x, s)

    def renews(self, t):
        return t % self.period == 0

    def kept(self, x):
        return keep(x)

    def start(self, ask, rng):
        t, s, mean = count(), None, None

        def estimate(x):
            nonlocal s, mean
            if self.renews(next(t)):
                s, mean = self.kept(x), self.reference_of(ask, x, rng)
                return mean
            return self.change(ask, self.draw(ask, rng), x, s) + mean

        return estimate


def _svrg(**parts):
    return type("Mine", (Hidden,), parts)(batch=2, period=3)


class InPlace(Remembering, EpochEstimator):
    """SPIDER that adds into the last estimate."""

    name, source = "in-place", ""

    def update(self, ask, rng, x, previous, g, t):
        if t % self.period == 0:
            return ask.gradient(x)
        g += ask.difference(self.draw(ask, rng), x, previous)
        return g


class InSelf(SG):
    """Keeps its average in the class."""

    state: list = []  # noqa: RUF012

    def start(self, ask, rng):
        self.state.clear()

        def estimate(x):
            self.state.append(ask.batch(self.draw(ask, rng), x))
            return np.mean(self.state, axis=0)

        return estimate


class Recursive(Remembering, SPIDERG):
    """SPIDER that forgets a tenth of the estimate before."""

    def update(self, ask, rng, x, previous, g, t):
        if t % self.period == 0:
            return ask.gradient(x)
        return ask.difference(self.draw(ask, rng), x, previous) + 0.9 * g


class TwoBatches(Storm):
    """STORM with a batch of its own for each point: still unbiased; the average is not."""

    def update(self, ask, rng, x, previous, d, t):
        g = ask.batch(self.draw(ask, rng), x)
        return g if t == 0 else g + 0.7 * (d - g)


class SameDraw(SAGA):
    """Adds the mean of after the replacement."""

    def start(self, ask, rng):
        table = None

        def estimate(x):
            nonlocal table
            if table is None:
                table = ask.table(x)
            return table.replace(self.draw(ask, rng), x) + table.mean

        return estimate


class HessianAtX(Hidden):
    """Takes the mean Hessian at the wrong point."""

    def change(self, ask, S, x, s):
        c = ask.hessian(x).product(x, s) - ask.hessian(s).batch(S, x, s)
        return ask.difference(S, x, s) + c


class Sums(Plain):
    def start(self, ask, rng):
        return lambda x: np.full(2, ask.batch(rng.integers(ask.n, size=2), x).sum())


ESTIMATORS = by_name(
    {
        "its mean is the gradient": {
            "divided by n": DividedByN,
            "never the last component": NeverTheLast,
            "unequal chances without weights": Unweighted,
            "sign of the difference": _svrg(
                change=lambda self, ask, S, x, s: ask.difference(S, s, x)
            ),
            "a shrinking recursion": Recursive,
            "an average in disguise": TwoBatches,
            "a table replaced too early": SameDraw,
            "the Hessian elsewhere": HessianAtX(2, 3),
        },
        "its reference is the gradient": {
            "a batch for a reference": _svrg(
                reference_of=lambda self, ask, x, rng: ask.batch(self.draw(ask, rng), x)
            ),
            "a reference never renewed": _svrg(renews=lambda self, t: t == 0),
            "a reference one late": _svrg(
                renews=lambda self, t: t % self.period == (1 if t else 0)
            ),
        },
        "its calls go through the oracles": {
            "a reference of another problem": _svrg(
                reference_of=lambda self, ask, x, rng: HIDDEN.gradient(x)
            ),
            "asks behind the oracles": _svrg(
                change=lambda self, ask, S, x, s: ask._backend.difference(S, x, s)
            ),
        },
        "points and earlier estimates stay as they were": {
            "adds in place": InPlace(2, 3),
            "moves its point": _svrg(kept=lambda self, x: np.multiply(x, 0.999, out=x)),
        },
        "it keeps nothing from run to run": {"a state for all runs": InSelf},
        "the same stream gives the same bits": {
            "a stream of its own": type(
                "Mine",
                (SG,),
                {"draw": lambda self, ask, rng: np.random.default_rng().integers(3, size=2)},
            )
        },
        "it estimates gradients": {"sums of entries": Sums()},
        "it keeps the points that it needs": {
            "a snapshot that moves on": _svrg(kept=lambda self, x: x)
        },
    }
)
"""Estimators, each with the check that must fail."""
