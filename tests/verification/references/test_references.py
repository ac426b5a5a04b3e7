"""Each plain reference and the catalogue's method follow each other, on vectors and on matrices."""

import ast
import inspect

import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.verification.references import REFERENCES, load_reference
from pfbench.verification.replay.follow import follow_transcript
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.recorded_run import record_run
from pfbench.verification.replay.replay_instances import SHAPES, make_small_instances, with_horizon

_OWN = ("pfbench.base", "pfbench.verification.references")
"""What a reference may import of pfbench."""


def cases():
    for name in REFERENCES:
        for number, form in enumerate(list_method_forms(ALGORITHMS[name])):
            yield pytest.param(name, form, id=f"{name}-{number}")


@pytest.mark.thin(4)
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
        recorded = record_run(problem, load_reference(name, **parameters), seed=1)
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
