"""Bad parameters: each is refused in one sentence that names the culprit."""

from dataclasses import replace
from math import inf, nan

import pytest
from helpers import assert_one_sentence

import pfbench as pf
from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.errors import InputError, RefusedError

GOOD = {"batch": 3, "period": 5, "iterations": 7, "step": 0.125}


@pytest.fixture
def constants(problem):
    return problem.constants(problem.start())


@pytest.mark.parametrize("name", ["nfwu_svrg", "nfwu-svgr", "frankwolfe", "nfwu-spider"])
def test_unknown_algorithm_suggests_the_nearest(name):
    with pytest.raises(InputError, match="did you mean") as error:
        algorithm(name)
    assert_one_sentence(error)
    assert any(f"{known!r}" in str(error.value) for known in ALGORITHMS)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("bacth", "batch"), ("epoch_period", "period"), ("eps", "epsilon"), ("restart", "restarts")],
)
def test_unknown_parameter_suggests_the_nearest(wrong, right):
    with pytest.raises(InputError, match=f"{wrong}.*did you mean '{right}'") as error:
        algorithm("nfwu-svrg", **GOOD, **{wrong: 3})
    assert_one_sentence(error)


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_missing_parameter_is_named(constants, missing):
    given = {name: value for name, value in GOOD.items() if name != missing}
    with pytest.raises(InputError, match=f"nfwu-svrg lacks {missing}: give") as error:
        algorithm("nfwu-svrg", **given).resolve(constants)
    assert_one_sentence(error)


def test_all_missing_parameters_are_named_at_once(constants):
    with pytest.raises(InputError) as error:
        algorithm("nfwu-casvrg").resolve(constants)
    assert_one_sentence(error, *GOOD)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *(("batch", value) for value in (0, -1, 2.5, "many", True, None, nan)),
        *(("period", value) for value in (0, -7, 1.5, "p")),
        *(("iterations", value) for value in (0, -2, 10.0, "all")),
        *(("step", value) for value in (0, -0.1, 1.0001, nan, inf, "half", None)),
        *(("restarts", value) for value in (0, -1, 2.5, "x")),
        *(("probability", value) for value in (0, 0.6, -0.1, nan, "x")),
        *(("output", value) for value in ("mean", 3, None)),
    ],
)
def test_bad_value_is_refused_by_name(constants, parameter, value):
    with pytest.raises(InputError, match=f"^{parameter}=") as error:
        algorithm("nfwu-svrg", **GOOD | {parameter: value}).resolve(constants)
    assert_one_sentence(error)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *(("iterations", value) for value in (0, 1.5, "x")),
        *(("curvature", value) for value in (0, -1.0, nan, inf, "steep")),
    ],
)
@pytest.mark.parametrize("with_epsilon", [True, False])
def test_bad_value_of_frank_wolfe_is_refused_by_name(constants, parameter, value, with_epsilon):
    given = {parameter: value} | ({"epsilon": 0.1} if with_epsilon else {})
    with pytest.raises(InputError, match=f"^{parameter}=") as error:
        algorithm("frank-wolfe", **given).resolve(constants)
    assert_one_sentence(error)


def test_unknown_step_of_frank_wolfe_suggests_the_nearest(constants):
    with pytest.raises(InputError, match="did you mean 'line-search'") as error:
        algorithm("frank-wolfe", step="linesearch").resolve(constants)
    assert_one_sentence(error)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_an_epsilon_that_is_bad_or_whose_schedule_overflows_is_refused(constants, name):
    for epsilon in (0, -1.0, nan, inf, "small", True):
        with pytest.raises(InputError, match=r"^epsilon=") as error:
            algorithm(name, epsilon=epsilon).resolve(constants)
        assert_one_sentence(error)
    for epsilon in (1e-200, 5e-324):
        with pytest.raises((InputError, RefusedError), match="epsilon") as error:
            algorithm(name, epsilon=epsilon).resolve(constants)
        assert_one_sentence(error)


def test_restarts_and_probability_together_are_refused(constants):
    with pytest.raises(InputError, match="give only one") as error:
        algorithm("nfwu-svrg", **GOOD, restarts=3, probability=0.1).resolve(constants)
    assert_one_sentence(error)


@pytest.mark.parametrize("schedule", ["theoretical", "", 3])
def test_unknown_schedule_is_refused(schedule):
    with pytest.raises(InputError, match="schedule") as error:
        algorithm("nfwu-svrg", epsilon=0.1, schedule=schedule)
    assert_one_sentence(error)


def test_schedule_theory_needs_epsilon(constants):
    with pytest.raises(InputError, match="schedule=theory of nfwu-svrg needs epsilon") as error:
        algorithm("nfwu-svrg", schedule="theory").resolve(constants)
    assert_one_sentence(error)


def test_an_adaptive_step_needs_a_curvature_from_somewhere(constants):
    unknown = replace(constants, L_f=inf)
    with pytest.raises(RefusedError, match="L_f") as error:
        algorithm("frank-wolfe", step="adaptive").resolve(unknown)
    assert_one_sentence(error)
    chosen, _ = algorithm("frank-wolfe", step="adaptive", curvature=2.0).resolve(unknown)
    assert chosen.curvature == 2.0


def test_an_adaptive_step_made_directly_needs_its_curvature():
    with pytest.raises(InputError, match="curvature"):
        ALGORITHMS["frank-wolfe"](step="adaptive", iterations=3)


def test_a_choice_writes_itself_as_a_selector():
    assert algorithm("nfwu-sg", batch=3, step=0.5, output="last").selector == (
        "nfwu-sg[batch=3,step=0.5,output=last]"
    )


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_says_what_it_is(name):
    cls = ALGORITHMS[name]
    assert cls.name == name
    assert all((cls.summary, cls.source, cls.counts, cls.requires))
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
