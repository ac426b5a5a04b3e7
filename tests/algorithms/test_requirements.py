"""What every algorithm refuses by name: a missing constant, a bad value, a problem of another kind."""

from dataclasses import replace
from math import inf, nan

import pytest
from following import assert_follows_reference
from helpers import assert_one_sentence, tiny_recovery
from linear_reference import DOMAINS, WholeRecovery, fits, model

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.errors import InputError, RefusedError
from pfbench.runs.loop.solve import solve
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.schedule_homogeneity import USUAL
from pfbench.verification.statements.setting import has_schedule

by_name = pytest.mark.parametrize("name", ALGORITHMS)

WRONG = {
    **dict.fromkeys(("iterations", "batch", "period", "restarts", "snapshot"), (0, 2.5, "x")),
    **dict.fromkeys(
        ("step", "smoothness", "curvature", "delta", "tolerance"), (0.0, -1.0, nan, "y")
    ),
    **dict.fromkeys(("option", "momentum", "output", "sampling"), ("mean", 9)),
    **dict.fromkeys(("alpha", "beta", "refresh", "table_weight"), (-0.1, 1.5, "x")),
}


@by_name
def test_a_bad_value_is_refused_by_name(name):
    method = ALGORITHMS[name]
    right = list_method_forms(method)[0].parameters
    checked = [parameter for parameter in method.parameters() if parameter in WRONG]
    assert checked
    for parameter in checked:
        for value in WRONG[parameter]:
            with pytest.raises(
                InputError, match=rf"^(unknown value for )?{parameter}[= ]"
            ) as error:
                method(**{**right, parameter: value})
            assert_one_sentence(error)


@by_name
def test_a_constant_that_is_missing_is_unused_or_named(name):
    method = ALGORITHMS[name]
    if not has_schedule(method):
        return
    right, needed = method.theory(0.2, USUAL[0]), []
    for constant in (
        "D",
        "L_f",
        "L_ms",
        "L_max",
        "L2_ms",
        "sigma2",
        "delta",
        "M",
        "sigma_hat",
        "ell",
    ):
        try:
            chosen = method.theory(0.2, replace(USUAL[0], **{constant: inf}))
        except RefusedError as error:
            assert f"schedule of {name} needs the constant {constant} (" in str(error)
            needed.append(constant)
        else:
            assert chosen == right
    assert needed


@by_name
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_problem_of_another_kind_is_refused(name, domain):
    """Sets for smooth methods, the whole space for projections and linear minimisations."""
    method = ALGORITHMS[name]
    form = list_method_forms(method)[0].parameters
    if method.requires & {"norm", "polytope"}:
        return
    needs_set = "lo" in method.requires and domain != "set"
    if fits(name, domain) and not needs_set:
        assert solve(model(domain=domain), algorithm(name, **form)).status == "finished"
        return
    with pytest.raises(RefusedError, match=rf"^{name} ") as error:
        solve(model(domain=domain), algorithm(name, **form))
    assert_one_sentence(error, "it has")


@pytest.mark.parametrize(
    "name", [name for name, m in ALGORITHMS.items() if not m.requires & {"lo", "smooth"}]
)
def test_projections_of_factored_matrices_are_those_of_whole_ones(name):
    """The reference projects whole matrices; the method, factored ones."""
    problem = WholeRecovery(tiny_recovery(shape=(4, 3), n=9).observations, radius=2.0, sigma=0.8)
    form = list_method_forms(ALGORITHMS[name])[0].parameters
    assert_follows_reference(problem, name, **{**form, "iterations": 13})
