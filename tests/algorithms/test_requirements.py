"""What every algorithm refuses by name: bad values, missing constants, other kinds of problems."""

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
    **dict.fromkeys(("step", "smoothness", "curvature", "delta", "tolerance"), (-1.0, nan, "y")),
    **dict.fromkeys(("option", "momentum", "output", "sampling"), ("mean", 9)),
    **dict.fromkeys(("alpha", "beta", "refresh", "table_weight"), (-0.1, 1.5, "x")),
}

CONSTANTS = ["D", "L_f", "L_ms", "L_max", "L2_ms", "sigma2", "delta", "M", "sigma_hat", "ell"]


@by_name
def test_a_bad_value_is_refused_by_name(name):
    method = ALGORITHMS[name]
    right = list_method_forms(method)[0]
    checked = [parameter for parameter in method.parameters() if parameter in WRONG]
    assert checked
    for parameter in checked:
        for value in WRONG[parameter]:
            with pytest.raises(InputError, match=parameter) as error:
                method(**{**right, parameter: value})
            assert_one_sentence(error)


SHORT = {"step": "short", "smoothness": 1.0, "curvature": 1.0}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("frank-wolfe", SHORT, "leave out curvature"),
        ("frank-wolfe", SHORT | {"step": "adaptive"}, "takes no smoothness"),
        ("frank-wolfe", {"step": "backtracking", "curvature": 2.0}, "leave"),
        ("frank-wolfe", {"step": "backtracking", "smoothness": -1.0}, "smoothness"),
        ("prox-svrg-plus", {"step": 0.1, "batch": 3, "period": 2, "online": True}, "snapshot"),
        ("natasha15", {"step": 0.1, "sigma": 0.1, "snapshot": 3, "subepochs": 12}, "subepochs="),
        ("sagafw", {"step": 0.1, "batch": 3, "option": "as_claimed"}, "did you mean 'claimed'"),
    ],
)
def test_parameters_that_do_not_fit_each_other_are_refused(name, given, words):
    with pytest.raises(InputError, match=words) as error:
        algorithm(name, iterations=3, **given).resolve(USUAL[0])
    assert_one_sentence(error)


def test_a_short_step_made_directly_needs_its_smoothness():
    with pytest.raises(InputError, match="needs smoothness"):
        ALGORITHMS["frank-wolfe"](iterations=3, step="short")


@pytest.mark.parametrize("online", ["yes", 1])
def test_a_wrong_online_is_refused_by_name(online):
    with pytest.raises(InputError, match=f"online={online!r}"):
        algorithm("prox-svrg-plus", epsilon=0.1, online=online).resolve(USUAL[0])


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("ncgs", {"tolerance": 0.01}),
        ("prox-svrg-plus", {"snapshot": 9}),
        ("prox-spiderboost", {"snapshot": 9}),
        ("spider", {"lam": 0.5}),
        ("rsag", {"momentum": "convex"}),
        ("natasha15", {"sigma": 2.0}),
    ],
)
def test_a_parameter_beside_epsilon_makes_the_schedule_explicit(name, given):
    assert algorithm(name, epsilon=0.1).resolve(USUAL[0])[1] == "theory"
    assert algorithm(name, epsilon=0.1, **given).resolve(USUAL[0])[1] == "explicit"


@by_name
def test_a_constant_that_is_missing_is_unused_or_named(name):
    method = ALGORITHMS[name]
    if not has_schedule(method):
        return
    right, needed = method.theory(0.2, USUAL[0]), []
    for constant in CONSTANTS:
        try:
            chosen = method.theory(0.2, replace(USUAL[0], **{constant: inf}))
        except RefusedError as error:
            words = str(error)
            assert f"schedule of {name} needs the constant {constant} (" in words
            needed.append(constant)
        else:
            assert chosen == right
    assert needed


@pytest.mark.thin(5)
@by_name
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_problem_of_another_kind_is_refused(name, domain):
    """Sets for smooth methods, the whole space for projections and linear minimisations."""
    method = ALGORITHMS[name]
    form = list_method_forms(method)[0]
    if method.requires & {"norm", "polytope"}:
        return
    needs_set = "lo" in method.requires and domain != "set"
    if fits(name, domain) and not needs_set:
        assert solve(model(domain=domain), algorithm(name, **form)).status == "finished"
        return
    with pytest.raises(RefusedError, match=rf"^{name} ") as error:
        solve(model(domain=domain), algorithm(name, **form))
    assert_one_sentence(error, "it has")


PROJECTING = [
    name
    for name, method in ALGORITHMS.items()
    if not method.requires & {"lo", "local_lo", "smooth", "norm"}
]


@pytest.mark.parametrize("name", PROJECTING)
def test_projections_of_factored_matrices_are_those_of_whole_ones(name):
    """The reference projects whole matrices; the method, factored ones."""
    problem = WholeRecovery(tiny_recovery(shape=(4, 3), n=9).observations, radius=2.0, sigma=0.8)
    form = list_method_forms(ALGORITHMS[name])[0]
    assert_follows_reference(problem, name, **{**form, "iterations": 13})
