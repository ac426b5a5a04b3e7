"""What says that no iterate depends on `iterations` begins every longer run, bit for bit."""

import pytest

from pfbench.algorithms.catalogue import ALGORITHMS, algorithm
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.runs.loop.solve import solve
from pfbench.runs.storage.run_keys import is_anytime
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.replay_instances import (
    SHAPES,
    make_recovery_problem,
    make_small_instances,
)

TOLERANT = ("ncgs", "ncgs-stochastic", "ncgs-vr")
"""Methods whose iterates depend on how many there will be, without a tolerance."""

MEASURES = ("fw_gap", "value", "estimator_error", "gradient_mapping_sq")


def cases():
    for name, method in ALGORITHMS.items():
        for k, form in enumerate(list_method_forms(method)):
            yield pytest.param(name, form, id=f"{name}-{k}")


def problems(method):
    for shape in SHAPES[:1] if "polytope" in method.requires else SHAPES:
        yield from (instance() for instance in make_small_instances(method, shape))
    if "lo" in method.requires and not method.requires & {"norm", "polytope"}:
        yield make_recovery_problem()


def begins(on, name, a, iterations):
    """The first recorded iterates of a run, without its seconds."""
    run = solve(on, algorithm(name, **a | {"iterations": iterations}), measures=MEASURES, seed=3)
    place = run.columns.index("seconds")
    return repr([row[:place] + row[place + 1 :] for row in run.rows[:8]])


@pytest.mark.thin(8)
@pytest.mark.parametrize(("name", "a"), [*cases()])
def test_what_is_anytime_begins_every_longer_run(name, a):
    on = list(problems(ALGORITHMS[name]))
    said = {is_anytime(resolve_run(problem, algorithm(name, **a)).algorithm) for problem in on}
    if name in ("cgs", "storc"):
        assert said == {False}
        return
    depends = name in TOLERANT and "tolerance" not in a
    depends = depends or bool(a.keys() & {"restarts", "probability"})
    assert said == {not depends}
    # What is said to depend on T does.
    assert any(begins(one, name, a, 7) != begins(one, name, a, 13) for one in on) == depends
