"""Each plain reference and the catalogue's method follow each other, on vectors and on matrices."""

import ast
import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.base import get_parameters
from pfbench.verification.references import REFERENCES
from pfbench.verification.replay.follow import follow_transcript
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.recorded_run import record_run
from pfbench.verification.replay.replay_instances import SHAPES, make_small_instances, with_horizon

_OWN = ("pfbench.base", "pfbench.verification.references")
"""What a reference may import of pfbench."""


class Dense:
    """Oracles whose vertices are arrays."""

    def __init__(self, ask):
        self.ask = ask

    def __getattr__(self, name):
        return getattr(self.ask, name)

    def lo(self, g):
        return np.asarray(self.ask.lo(g))


class Plain:
    """A reference as a method, with the declarations of the catalogue's."""

    def __init__(self, algorithm):
        self.algorithm = algorithm

    def __getattr__(self, name):
        return getattr(self.algorithm, name)

    def run(self, ask, x, rng):
        inner = {"condg": condg, "line_search": line_search}
        s = SimpleNamespace(**get_parameters(self.algorithm), **inner)
        return REFERENCES[self.name](Dense(ask), x, rng, s)


def condg(ask, l, u, lam, eta):  # noqa: E741
    """Minimise <l, x> + |x - u|^2/(2 lam) from u until the Frank-Wolfe gap is at most eta."""
    x = u
    while True:
        g = l + (x - u) / lam
        d = ask.lo(g) - x
        gap = -float(np.vdot(g, d))
        if gap <= eta:
            return x
        x = x + min(1.0, lam * gap / float(np.vdot(d, d))) * d


def line_search(value, upper, *other_steps):
    """The best step of the minimiser on [0, upper], both ends, and the others."""
    result = minimize_scalar(value, bounds=(0.0, upper), method="bounded", options={"xatol": 1e-10})
    return min((float(result.x), 0.0, upper, *other_steps), key=value)


def cases():
    for name in REFERENCES:
        for number, form in enumerate(list_method_forms(ALGORITHMS[name])):
            yield pytest.param(name, form, id=f"{name}-{number}")


@pytest.mark.thin(8)
@pytest.mark.parametrize("shape", SHAPES, ids=("vector", "matrix"))
@pytest.mark.parametrize(("name", "form"), [*cases()])
def test_a_reference_and_its_method_follow_each_other(name, form, shape):
    method = ALGORITHMS[name]
    parameters = with_horizon(method, form.parameters, 40)  # several runs share it
    algorithm = method(**parameters)
    for instance in make_small_instances(method, shape):
        problem = instance()
        recorded = record_run(problem, algorithm, seed=1)
        outcome = follow_transcript(recorded, algorithm, REFERENCES[name])
        assert outcome.agrees, outcome.reason
        recorded = record_run(problem, Plain(algorithm), seed=1)
        assert recorded.error is None
        outcome = follow_transcript(recorded, algorithm)
        assert outcome.agrees, outcome.reason


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_is_short_and_imports_no_estimators_and_no_points(name):
    reference = getattr(REFERENCES[name], "func", REFERENCES[name])
    source = inspect.getsource(inspect.getmodule(reference))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pfbench"):
            assert node.module.startswith(_OWN)
    assert len(inspect.getsource(reference).splitlines()) <= 40
