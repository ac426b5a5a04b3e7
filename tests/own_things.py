"""Problems and measures as somebody would write them, right and wrong, for MODULE:NAME."""

import time
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from misbehaving import Descent

from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.points import combine
from pfbench.problems import FiniteSum
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets import L1Ball, L2Ball, WholeSpace


class Quadratic(FiniteSum):
    """The mean of |x - c_i|^2/2 over a ball; c_i are drawn. Only what is needed, and `batch`."""

    def __init__(self, rows=20, columns=3, seed=0, radius=1.0):
        self.centres = np.random.default_rng(seed).standard_normal((rows, columns))
        self.n, self.set = rows, L2Ball(columns, radius)

    @property
    def best(self):
        return self.set.project(self.centres.mean(axis=0))

    def value(self, x):
        return float(np.mean(np.sum((x - self.centres) ** 2, axis=1)) / 2)

    def gradient(self, x):
        return x - self.centres.mean(axis=0)

    def batch(self, sample, x):
        return x - self.centres[sample].mean(axis=0)


class Stated(Quadratic):
    """All of the interface, so that nothing is left to be filled in."""

    digest = "stated"
    shape = (3,)
    lacks = MappingProxyType({"smooth": "it has a ball"})
    properties = frozenset({"convex"})

    def constants(self, start):
        return Constants(self.n, D=2.0, L_f=1.0, L_ms=1.0, derivations={"L_f": "the identity"})

    def measures(self):
        return {"norm": lambda problem, state: np.linalg.norm(state.x)}

    def open(self, rng):
        return _Backend(self)


class Restated(Stated):
    """Another problem of the same digest."""

    def value(self, x):
        return super().value(x) + 1.0


class _Backend:
    unconstrained = False

    def __init__(self, problem):
        self.n, self._problem = problem.n, problem

    def value(self, x):
        return self._problem.value(x)

    def gradient(self, x):
        return self._problem.gradient(x)

    def lo(self, g):
        return self._problem.set.lo(g)


class ByComponents(Quadratic):
    """The same, by its component gradients."""

    batch = FiniteSum.batch

    def component(self, i, x):
        return x - self.centres[i]


class NoComponents(Quadratic):
    """Without component gradients."""

    batch = FiniteSum.batch


class Spelled(Quadratic):
    """A problem with a parameter that is a text."""

    def __init__(self, how: str = "plain", rows: int = 20):
        super().__init__(rows)
        self.how = how


class Duck:
    """All of the interface, and no `FiniteSum`."""

    n, set = 1, L2Ball(2)

    def start(self):
        return np.zeros(2)

    def value(self, x):
        return 0.0

    def gradient(self, x):
        return np.zeros(2)


def changed(kind=Quadratic, **parts):
    """Return a class of problems some of whose parts are others."""
    return type("Changed", (kind,), parts)


NoBackend = changed(open=lambda self, rng: object())


class Free(Quadratic):
    """Without a set."""

    def __init__(self, columns=3):
        super().__init__(columns=columns)
        self.set = WholeSpace(columns)


class Penalised(Free):
    """Without a set, with the penalty 2 |x|_1, by its definition."""

    class penalty:  # noqa: N801
        @staticmethod
        def value(x):
            return 2.0 * np.abs(x).sum()

        @staticmethod
        def prox(y, t):
            return np.sign(y) * np.maximum(np.abs(y) - 2.0 * t, 0.0)


class Both(Penalised):
    def __init__(self):
        super().__init__()
        self.set = L2Ball(3)


def made(rows=9, seed=4):
    """Return a problem of pfbench on one's own data."""
    return LogCosh(*draw_synthetic_rows(rows=rows, columns=4, seed=seed), L1Ball(4, 2.0))


ready = Quadratic(rows=5)

number = 7


def nothing():
    return None


def raises(seed=0):
    raise ValueError("no such file")


def refuses(seed=0):
    raise InputError("seed=0 must be greater than 0.")


def needs(rows, columns=3):
    return Quadratic(rows, columns)


class NoGradient(FiniteSum):
    n, set = 3, L2Ball(2)

    def value(self, x):
        return 0.0


class NoSet(Quadratic):
    def __init__(self):
        super().__init__()
        self.set = (0.0, 1.0)


class HalfN(Quadratic):
    def __init__(self):
        super().__init__()
        self.n = 2.5


Outside = changed(start=lambda self: np.full(3, 5.0))


class Wanders(Quadratic):
    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)

    def start(self):
        return self.rng.uniform(-0.1, 0.1, 3)


Listed = changed(start=lambda self: [0.0, 0.0, 0.0])
Whole = changed(start=lambda self: np.zeros(3, dtype=int))


NotFinite = changed(value=lambda self, x: np.nan)
WrongShape = changed(gradient=lambda self, x: np.zeros(2))


FailsAtTheStart = changed(gradient=lambda self, x: 1 / 0)


class Flat(Quadratic):
    """Nothing is left to do at the start."""

    def value(self, x):
        return 0.0

    def gradient(self, x):
        return np.zeros(x.shape)

    def batch(self, sample, x):
        return np.zeros(x.shape)


OtherConstants = changed(constants=lambda self, start: {"L_f": 1.0})
OtherComponents = changed(open=lambda self, rng: _Backend(made()))


NumberAsDigest = changed(digest=3)


class HidesAMistake(Quadratic):
    """What it states of its set fails; that is not the same as leaving it out."""

    digest = "hides"

    @property
    def lacks(self):
        return self.no_such_attribute


class FailsLater(Quadratic):
    """Its value raises away from the start."""

    def value(self, x):
        if x.any():
            raise KeyError("value")
        return super().value(x)


@dataclass(frozen=True, kw_only=True)
class Anytime(Descent):
    anytime = True


# --- measures -------------------------------------------------------------------------------------


def distance_to_best(problem, state):
    return np.linalg.norm(state.x - problem.best)


def slope(problem, state):
    return np.linalg.norm(problem.gradient(state.x))


def bracket(problem, state):
    norm = np.linalg.norm(state.x)
    return norm - 1.0, norm + 1.0


def sometimes(problem, state):
    return None if state.estimate is None else np.float32(2.0)


def spoils(problem, state):
    """Writes over the copy that it is given."""
    state.x[:] = np.nan
    return 0


def spoils_the_estimate(problem, state):
    if state.estimate is not None:
        state.estimate[:] = 0.0
    return 0.0


def _after_two(found):
    def measure(problem, state):
        return found if np.abs(state.x).sum() > 0.15 else 1.0

    return measure


not_a_number = _after_two(np.nan)
text = _after_two("far")
truth = _after_two(True)
array = _after_two(np.ones(2))
three = _after_two((1.0, 2.0, 3.0))
upside_down = _after_two((2.0, 1.0))


def fails(problem, state):
    if np.abs(state.x).sum() > 0.15:
        raise ValueError("no good")
    return 1.0


def fails_at_the_output(problem, state):
    if state.x.any() and state.estimate is None:
        raise ValueError("no estimate")
    return 0.0


def wanders(problem, state):
    """Moves the copy that it is given."""
    x, rng = state.x, np.random.default_rng(0)
    for _ in range(70):
        x = combine(x, problem.set.random_vertex(rng), 0.5)
    return problem.value(x)


def slow(problem, state):
    time.sleep(0.01)
    return 0.0


def norm(problem, state):
    return 0.0


value = seconds = norm_lower = rmse_truth = norm


def moves_the_centres(problem, state):
    """A measure that does what none may do."""
    problem.centres += 1.0
    return 1.0
