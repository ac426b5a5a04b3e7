"""What every algorithm refuses by name: bad values, missing constants, other kinds of problems."""

from dataclasses import replace
from math import inf, nan

import pytest
from following import assert_follows_reference
from helpers import assert_one_sentence, refused, tiny_recovery
from linear_reference import DOMAINS, WholeRecovery, fits, model

import pfbench as pf
from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.errors import InputError, RefusedError
from pfbench.runs.loop.solve import solve
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.schedules import USUAL
from pfbench.verification.statements.setting import has_schedule

by_name = pytest.mark.parametrize("name", ALGORITHMS)
GOOD = {"batch": 3, "period": 5, "iterations": 7, "step": 0.125}
SLIDING = {"smoothness": 1.0, "curvature": 0.5, "delta": 1.0, "period": 5}
COMPLETE = {
    **dict.fromkeys(("nfwu-svrg", "nfwu-casvrg"), GOOD),
    **{name: {"iterations": 5, "smoothness": 1.0} for name in ("ncgs", "ncgs-stochastic")},
    "ncgs-vr": {"iterations": 5, "smoothness": 1.0, "batch": 3, "period": 2},
    "cgs": SLIDING,
    "storc": SLIDING | {"batch": 3},
}
"""All that a method needs."""


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nfwu_svrg", "nfwu-svgr", "frankwolfe", "nfwu-spider"])
def test_unknown_algorithm_suggests_the_nearest(name):
    with pytest.raises(InputError, match="did you mean") as error:
        algorithm(name)
    assert_one_sentence(error)
    assert any(f"{known!r}" in str(error.value) for known in ALGORITHMS)


def test_a_choice_writes_itself_as_a_selector():
    assert algorithm("nfwu-sg", batch=3, step=0.5, output="last").selector == (
        "nfwu-sg[batch=3,step=0.5,output=last]"
    )


@by_name
def test_every_algorithm_says_what_it_is(name):
    cls = ALGORITHMS[name]
    assert cls.name == name
    assert all((cls.__doc__, cls.source, cls.counts, cls.requires))
    assert all(cls.parameters().values())


def test_a_class_without_a_name_has_its_own_and_inherits_a_stated_one():
    class Mine(pf.Algorithm):
        requires = frozenset({"gradient"})

        def run(self, ask, x, rng):
            yield pf.State(x)

    class Named(Mine):
        name = "my-method"

    class Further(Named):
        pass

    assert (Mine.name, Named.name, Further.name) == ("Mine", "my-method", "my-method")


# --- parameters -----------------------------------------------------------------------------------

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


@pytest.mark.parametrize(
    ("name", "given", "parameter", "values"),
    [
        ("nfwu-svrg", GOOD, "batch", (0, -1, 2.5, "many", True, None, nan)),
        ("nfwu-svrg", GOOD, "period", (0, -7, 1.5, "p")),
        ("nfwu-svrg", GOOD, "iterations", (0, -2, 10.0, "all")),
        ("nfwu-svrg", GOOD, "step", (0, -0.1, 1.0001, nan, inf, "half", None)),
        ("nfwu-svrg", GOOD, "restarts", (0, -1, 2.5, "x")),
        ("nfwu-svrg", GOOD, "probability", (0, 0.6, -0.1, nan, "x")),
        ("nfwu-svrg", GOOD, "output", ("mean", 3, None)),
        *(("frank-wolfe", given, "iterations", (0, 1.5, "x")) for given in ({}, {"epsilon": 0.1})),
        *(
            ("frank-wolfe", given, "curvature", (-1.0, nan, inf, "steep"))
            for given in ({}, {"epsilon": 0.1})
        ),
    ],
)
def test_bad_values_of_a_choice_are_refused_by_name(name, given, parameter, values):
    for value in values:
        with pytest.raises(InputError, match=f"^{parameter}=") as error:
            algorithm(name, **given | {parameter: value}).resolve(USUAL[0])
        assert_one_sentence(error)


@by_name
def test_an_epsilon_that_is_bad_or_whose_schedule_overflows_is_refused(problem, name):
    constants = problem.constants(problem.start())
    for epsilon in (0, -1.0, nan, inf, "small", True):
        with pytest.raises(InputError, match=r"^epsilon=") as error:
            algorithm(name, epsilon=epsilon).resolve(constants)
        assert_one_sentence(error)
    for epsilon in (1e-200, 5e-324):
        with pytest.raises((InputError, RefusedError), match="epsilon") as error:
            algorithm(name, epsilon=epsilon).resolve(constants)
        assert_one_sentence(error)


@pytest.mark.parametrize("name", COMPLETE)
def test_a_missing_parameter_is_named_and_all_at_once(name):
    for missing in COMPLETE[name]:
        given = {key: value for key, value in COMPLETE[name].items() if key != missing}
        with pytest.raises(InputError, match=f"{name} lacks {missing}: give") as error:
            algorithm(name, **given).resolve(USUAL[0])
        assert_one_sentence(error)
    with refused(*COMPLETE[name]):
        algorithm(name).resolve(USUAL[0])


SHORT = {"iterations": 3, "step": "short", "smoothness": 1.0, "curvature": 1.0}
NATASHA = {"iterations": 3, "step": 0.1, "sigma": 0.1}
SAGAFW = {"iterations": 3, "step": 0.1, "batch": 3}
NEAREST = {"bacth": "batch", "epoch_period": "period", "eps": "epsilon", "restart": "restarts"}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("frank-wolfe", SHORT, "leave out curvature"),
        ("frank-wolfe", SHORT | {"step": "adaptive"}, "takes no smoothness"),
        ("frank-wolfe", {"step": "backtracking", "curvature": 2.0}, "leave"),
        ("frank-wolfe", {"step": "backtracking", "smoothness": -1.0}, "smoothness"),
        ("frank-wolfe", {"step": "linesearch"}, "did you mean 'line-search'"),
        ("prox-svrg-plus", GOOD | {"online": True}, "snapshot"),
        ("natasha15", NATASHA | {"snapshot": 3, "subepochs": 12}, "subepochs="),
        ("sagafw", SAGAFW | {"option": "as_claimed"}, "did you mean 'claimed'"),
        ("nfwu-svrg", GOOD | {"restarts": 3, "probability": 0.1}, "give only one"),
        ("nfwu-svrg", {"schedule": "theory"}, "schedule=theory of nfwu-svrg needs epsilon"),
        ("nfwu-svrg", {"epsilon": 0.1, "schedule": "theory", "batch": 3}, "sets batch itself"),
        ("nfwu-svrg", {"epsilon": 0.1, "schedule": "explicit"}, "explicit.*epsilon"),
        *(
            ("nfwu-svrg", {"epsilon": 0.1, "schedule": schedule}, "schedule")
            for schedule in ("theoretical", "", 3)
        ),
        *(
            ("prox-svrg-plus", {"epsilon": 0.1, "online": online}, f"online={online!r}")
            for online in ("yes", 1)
        ),
        *(
            ("nfwu-svrg", GOOD | {wrong: 3}, f"{wrong}.*did you mean '{right}'")
            for wrong, right in NEAREST.items()
        ),
    ],
)
def test_parameters_that_do_not_fit_each_other_are_refused(name, given, words):
    with pytest.raises(InputError, match=words) as error:
        algorithm(name, **given).resolve(USUAL[0])
    assert_one_sentence(error)


@pytest.mark.parametrize(
    ("step", "parameter"), [("short", "smoothness"), ("adaptive", "curvature")]
)
def test_a_step_made_directly_needs_its_parameter(step, parameter):
    with pytest.raises(InputError, match=f"needs {parameter}"):
        ALGORITHMS["frank-wolfe"](iterations=3, step=step)


def test_an_adaptive_step_needs_a_curvature_from_somewhere():
    unknown = replace(USUAL[0], L_f=inf)
    with pytest.raises(RefusedError, match="L_f") as error:
        algorithm("frank-wolfe", step="adaptive").resolve(unknown)
    assert_one_sentence(error)
    chosen, _ = algorithm("frank-wolfe", step="adaptive", curvature=2.0).resolve(unknown)
    assert chosen.curvature == 2.0


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
