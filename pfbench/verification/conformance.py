"""What every algorithm keeps, whatever it claims: its declarations, exact counts, the set."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from pfbench.algorithms.base import parameters_of
from pfbench.base.counts import COUNTED, Budget
from pfbench.base.protocols import Algorithm, Problem
from pfbench.base.state import OUTPUTS, Point, State
from pfbench.points import is_finite, keep
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.rows import synthetic_rows
from pfbench.runs.loop.asking import oracles_of
from pfbench.runs.loop.solve import solve
from pfbench.sets import L2Ball, WholeSpace
from pfbench.verification.instruments.changed import Changed
from pfbench.verification.subject import Broken, make, takes_any

_MOST = 40
"""Iterations that are looked at; an endless method is stopped there."""

VERBS = ("gradient", "batch", "difference", "value", "lo", "prox", "hessian", "table")

_USUAL = {
    "iterations": 20,
    "batch": 3,
    "period": 5,
    "step": 0.05,
    "snapshot": 11,
    "epsilon": 0.1,
    "smoothness": 2.0,
    "curvature": 2.0,
    "restarts": 2,
    "subepochs": 2,
    "delta": 1.0,
    "sigma": 1.0,
}
"""What a parameter without default is set to, by the names that all methods share."""


@dataclass(frozen=True)
class Passed:
    """One conformance test."""

    test: str
    passed: bool
    seen: str


@dataclass(frozen=True)
class Conformance:
    """All conformance tests of one algorithm."""

    algorithm: str
    tests: tuple[Passed, ...]

    @property
    def passed(self) -> bool:
        """Whether all are passed."""
        return all(test.passed for test in self.tests)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the tests as rows of a table."""
        return [(test.test, "yes" if test.passed else "NO", test.seen) for test in self.tests]

    def as_json(self) -> dict[str, Any]:
        """Return the tests as JSON has them."""
        return {"algorithm": self.algorithm, "conformance": [asdict(test) for test in self.tests]}


def conform(algorithm: Any, name: str) -> Conformance:
    """Test an algorithm, a class or an object, on small problems.

    Each test ends with what was seen; an algorithm that raises fails the test that it raised in.
    """
    tests: list[Passed] = []

    def hold(test: str, look: Callable[[], str]) -> bool:
        """Add a test: `look` returns what was seen, or raises `Broken` with what is wrong."""
        try:
            tests.append(Passed(test, True, look()))
        except Broken as error:
            tests.append(Passed(test, False, str(error)))
        except Exception as error:
            tests.append(Passed(test, False, f"it raised {type(error).__name__}: {error}"))
        return tests[-1].passed

    made: Algorithm = algorithm
    if hold("it declares what it is", lambda: _declared(algorithm)) and hold(
        "it can be made", lambda: _made(algorithm)
    ):
        made = _usual(algorithm)
        problem = _problem(made)
        for test, look in (
            ("it asks only what it requires", _asks),
            ("it yields states, finite and in the set", _feasible),
            ("the same seed gives the same bits", _repeats),
            ("measures change neither counts nor bits", _untouched),
            ("a budget stops it before it is exceeded", _stopped),
            ("its start point stays as it was", _start_kept),
        ):
            hold(test, lambda look=look: look(problem, made))  # type: ignore[misc]
    return Conformance(name, tuple(tests))


def _declared(algorithm: Any) -> str:
    for attribute in ("name", "requires", "deterministic", "output", "run"):
        if not hasattr(algorithm, attribute):
            raise Broken(f"it has no attribute {attribute}")
    unknown = set(algorithm.requires) - set(VERBS) - {"set", "smooth"}
    if unknown:
        raise Broken(f"it requires {', '.join(sorted(unknown))}, which is no oracle")
    if algorithm.output not in OUTPUTS:
        raise Broken(f"its output {algorithm.output!r} is none of {', '.join(OUTPUTS)}")
    return f"requires {', '.join(sorted(algorithm.requires))}; output {algorithm.output}"


def _usual(algorithm: Any) -> Algorithm:
    needed = getattr(algorithm, "needed", lambda: list(_USUAL))()
    wanted = {name: _USUAL[name] for name in needed if name in _USUAL}
    wanted = {"iterations": 20} | wanted
    return make(algorithm, wanted if takes_any(algorithm) else (), **wanted)


def _made(algorithm: Any) -> str:
    given = {k: v for k, v in parameters_of(_usual(algorithm)).items() if v is not None}
    return ", ".join(f"{name}={value}" for name, value in given.items()) or "it has no parameters"


def _problem(algorithm: Algorithm) -> Problem:
    """Return a small problem that offers what the algorithm requires."""
    features, labels = synthetic_rows(rows=23, columns=4, seed=1)
    whole = "smooth" in algorithm.requires
    return LogCosh(features, labels, WholeSpace(4) if whole else L2Ball(4, 1.5))


class _Watched(Changed):
    """A backend that notes which verbs are asked."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.asked = set[str]()

    def __getattr__(self, name: str) -> Any:
        if name in VERBS:
            self.asked.add(name)
        return super().__getattr__(name)


def _steps(
    problem: Problem, algorithm: Algorithm, backend: Any, x0: Point, seed: int = 0
) -> Iterator[State]:
    """Run an algorithm, for `_MOST` iterations at most."""
    ask = oracles_of(problem, backend)
    return islice(algorithm.run(ask, x0, np.random.default_rng(seed)), _MOST)


def _iterates(problem: Problem, algorithm: Algorithm, seed: int = 0) -> list[Point]:
    backend = problem.open(np.random.default_rng(0))
    found = []
    for state in _steps(problem, algorithm, backend, problem.start(), seed):
        if not isinstance(state, State):
            raise Broken(f"it yielded a {type(state).__name__}, not a State")
        found.append(keep(state.x))
    if not found:
        raise Broken("it yielded no state")
    return found


def _asks(problem: Problem, algorithm: Algorithm) -> str:
    watched = _Watched(problem.open(np.random.default_rng(0)))
    for _ in _steps(problem, algorithm, watched, problem.start()):
        pass
    # `asks` says what a run with these parameters requires, where that is more.
    allowed = set(getattr(algorithm, "asks", algorithm.requires))
    if problem.unconstrained:
        allowed.add("prox")
    extra = watched.asked - allowed
    if extra:
        raise Broken(f"it asks {', '.join(sorted(extra))}, which it does not require")
    return f"it asked {', '.join(sorted(watched.asked))}"


def _feasible(problem: Problem, algorithm: Algorithm) -> str:
    iterates = _iterates(problem, algorithm)
    for k, x in enumerate(iterates, 1):
        if not is_finite(x):
            raise Broken(f"the iterate of iteration {k} is not finite")
        if not problem.set.contains(x):
            raise Broken(f"the iterate of iteration {k} is outside the set")
    return f"{len(iterates)} iterates"


def _repeats(problem: Problem, algorithm: Algorithm) -> str:
    first = _iterates(problem, algorithm)
    if not np.array_equal(first, _iterates(problem, algorithm)):
        raise Broken("two runs with one seed differ")
    if algorithm.deterministic and not np.array_equal(first, _iterates(problem, algorithm, seed=1)):
        raise Broken("it is declared deterministic, and two seeds differ")
    return "bit for bit" + (", whatever the seed" if algorithm.deterministic else "")


def _untouched(problem: Problem, algorithm: Algorithm) -> str:
    enough = Budget(sfo=10**5, lo=10**4)
    plain = solve(problem, algorithm, budget=enough)
    traced = solve(problem, algorithm, budget=enough, measures="objective")
    if plain.status == "error":
        raise Broken(plain.stop_reason)
    if plain.counts != traced.counts or not np.array_equal(plain.x, traced.x):
        raise Broken("a traced run differs from one that is not")
    counts = plain.counts.as_dict()
    shown = ", ".join(f"{counts[name]} {name.upper()}" for name in COUNTED if counts[name])
    return f"{plain.iterations} iterations: {shown}"


def _stopped(problem: Problem, algorithm: Algorithm) -> str:
    spent = solve(problem, algorithm, budget=Budget(sfo=10**5, lo=10**4)).counts
    limit = max(1, spent.sfo - 1)
    run = solve(problem, algorithm, budget=Budget(sfo=limit))
    if run.counts.sfo > limit:
        raise Broken(f"it spent {run.counts.sfo} SFO of a budget of {limit}")
    if run.status not in ("budget", "finished"):
        raise Broken(f"the run ended as {run.status}: {run.stop_reason}")
    return f"{run.counts.sfo} of {limit} SFO, ended as {run.status}"


def _start_kept(problem: Problem, algorithm: Algorithm) -> str:
    # Not 0, which some faults would leave as it is; inside the set of `_problem`.
    x0 = problem.start() + 0.1
    before = x0.copy()
    for _ in _steps(problem, algorithm, problem.open(np.random.default_rng(0)), x0):
        pass
    if not np.array_equal(x0, before):
        raise Broken("it changes its start point in place: move a copy with combine")
    return "unchanged"
