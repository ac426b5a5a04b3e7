"""The catalogue's methods follow their plain references, on vectors and on matrices."""

import ast
import inspect

import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.verification.references import REFERENCES
from pfbench.verification.replay.follow import compare_transcript_with_reference
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.recorded_run import record_run
from pfbench.verification.replay.replay_instances import SHAPES, make_small_instances, with_horizon

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
