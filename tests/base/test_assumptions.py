"""Assumptions of algorithms and properties of problems: one vocabulary, checked before any work."""

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from helpers import assert_one_sentence, tiny_logistic, tiny_recovery
from linear_reference import MODELS, model

import pfbench as pf
from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.errors import RefusedError
from pfbench.base.protocols import ASSUMPTIONS, list_known_assumptions, unmet_assumptions
from pfbench.problems import PROBLEMS, FiniteSum
from pfbench.runs.loop.solve import solve
from pfbench.sets import L1Ball, WholeSpace

CONVEX_ONLY = {
    *("asvrg", "prox-asvrg", "katyusha-ns", "prox-katyusha-ns"),
    *("cgs-convex", "momentum-sfw", "one-sfw", "page-fw-convex", "spider-fw-convex"),
    *("heavy-ball-fw", "optimistic-fw", "local-lmo"),
}
"""Their papers have convex theory only."""

EPOCH = {"iterations": 4, "batch": 3, "period": 2, "step": 0.01}
STEPS = {name: EPOCH[name] for name in ("iterations", "batch", "step")}
SLIDING = {"period": 2, "smoothness": 1.0, "curvature": 0.1, "delta": 1.0}


def test_algorithms_assume_what_baselines_section_18_and_theory_say():
    expected = {name: ["convex"] for name in CONVEX_ONLY}
    expected |= {"prox-rsag": ["bounded domain"]}
    expected |= {name: ["restricted strong convexity"] for name in ("cgs", "storc")}
    found = {name: sorted(cls.assumes) for name, cls in ALGORITHMS.items() if cls.assumes}
    assert found == expected


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_problem_states_an_unknown_property(name):
    offered = PROBLEMS[name].data_source_names
    given = {"source": "synthetic"} if "synthetic" in offered else {}
    problem = pf.problem(name, **given)
    assert isinstance(problem.properties, frozenset)
    assert problem.properties <= list_known_assumptions(problem) <= set(ASSUMPTIONS)


def test_the_published_schema_has_the_same_words():
    schemas = Path(str(files("pfbench.cli"))) / "schemas"
    schema = json.loads((schemas / "solve.json").read_text(encoding="utf-8"))
    words = schema["$defs"]["run"]["properties"]["unmet_assumptions"]["items"]["enum"]
    assert words == sorted(ASSUMPTIONS)


def test_a_set_shows_that_the_domain_is_bounded():
    assert "bounded domain" in list_known_assumptions(model("quadratic", "set"))
    assert "bounded domain" in list_known_assumptions(tiny_recovery())
    for domain in ("none", "penalty"):
        assert "bounded domain" not in list_known_assumptions(model("quadratic", domain))


def test_what_is_unmet_is_the_difference_in_order():
    problem = model("robust-regression", "penalty")
    assert unmet_assumptions({"convex"}, problem) == ("convex",)
    assert unmet_assumptions({"convex", "bounded domain"}, problem) == ("bounded domain", "convex")
    assert unmet_assumptions({"bounded domain"}, model("log-cosh", "set")) == ()
    assert unmet_assumptions((), problem) == ()


def test_properties_are_not_asked_for_where_nothing_is_assumed():
    class Costly:
        set = WholeSpace(2)

        @property
        def properties(self):
            raise AssertionError("asked")

    assert unmet_assumptions((), Costly()) == ()
    with pytest.raises(AssertionError, match="asked"):
        unmet_assumptions({"convex"}, Costly())


# --- the schedule of a theorem --------------------------------------------------------------------


class Untouched:
    """A problem that must be refused before it does anything."""

    def __init__(self, problem):
        self._problem, self.name, self.set = problem, problem.name, problem.set
        self.properties, self.lacks = problem.properties, problem.lacks

    def start(self):
        return self._problem.start()

    def open(self, *given, **named):
        raise AssertionError("it was opened before the refusal")

    def constants(self, *given, **named):
        raise AssertionError("constants were asked before the refusal")

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked before the refusal")


@pytest.mark.parametrize(
    ("name", "given", "assumption"),
    [
        *((name, {}, "restricted strong convexity") for name in ("cgs", "storc")),
        *(("prox-rsag", given, "bounded domain") for given in ({}, {"schedule": "theory"})),
    ],
)
def test_the_theorems_schedule_is_refused_where_its_assumption_is_not_known(
    name, given, assumption
):
    problem = model("quadratic", "penalty") if name == "prox-rsag" else tiny_logistic()
    with pytest.raises(RefusedError) as error:
        solve(Untouched(problem), algorithm(name, epsilon=0.1, **given))
    remedy = "give the method's parameters explicitly"
    assert_one_sentence(error, name, problem.name, assumption, ASSUMPTIONS[assumption], remedy)


def test_it_runs_where_the_assumption_is_known():
    free = model("quadratic", n=17)
    problem = MODELS["quadratic"](free.features, free.labels, L1Ball(4, 30.0))
    run = solve(problem, algorithm("cgs", epsilon=1e-3))
    assert (run.status, run.schedule, run.unmet_assumptions) == ("finished", "theory", ())
    least, _ = problem.best_known
    assert 0.0 <= run.final["value"] - least <= 1e-3  # li2019 theorem 1
    assert problem.value(problem.start()) - least > 0.1
    run = solve(model("robust-regression", "set"), algorithm("prox-rsag", epsilon=30.0))
    assert (run.status, run.schedule, run.unmet_assumptions) == ("finished", "theory", ())


def test_the_practical_schedule_may_lack_it():
    """It needs no theorem; here sigma_hat is given, since the problem states none."""
    problem = model("log-cosh", "set")
    given = {"epsilon": 0.5, "curvature": 0.2, "schedule": "practical"}
    run = solve(problem, algorithm("storc", **given))
    assert run.unmet_assumptions == ("restricted strong convexity",)


EXPLICIT = [
    ("asvrg", "none", EPOCH, ("convex",)),
    ("prox-katyusha-ns", "penalty", EPOCH, ("convex",)),
    ("prox-rsag", "penalty", STEPS, ("bounded domain",)),
    ("prox-rsag", "set", STEPS, ()),
    ("rsag", "none", STEPS, ()),
    ("cgs", "set", SLIDING, ("restricted strong convexity",)),
    ("prox-svrg", "penalty", EPOCH, ()),
]


@pytest.mark.parametrize(("name", "domain", "given", "expected"), EXPLICIT)
def test_explicit_parameters_are_run_and_say_what_is_unmet(name, domain, given, expected):
    run = solve(model("robust-regression", domain), algorithm(name, **given))
    assert (run.status, run.schedule, run.unmet_assumptions) == ("finished", "explicit", expected)
    assert run.as_json()["unmet"] == list(expected)
    if "convex" in expected:
        assert solve(model("log-cosh", domain), algorithm(name, **given)).unmet_assumptions == ()


def test_a_users_own_algorithm_and_problem_need_not_state_anything():
    @dataclass(frozen=True)
    class Plain:
        output: str = "last"
        name = "plain"
        requires = frozenset()
        deterministic = True

        def run(self, ask, x, rng):
            return iter(())

    assert solve(model("robust-regression"), Plain()).unmet_assumptions == ()

    class Bare(FiniteSum):
        n, set = 1, WholeSpace(3)

        def value(self, x):
            return 0.0

        def gradient(self, x):
            return 0.0 * x

    bare = Bare()
    assert unmet_assumptions({"convex"}, bare) == ("convex",)
    assert list_known_assumptions(bare) == frozenset()


def test_what_a_choice_asks_for_is_what_it_resolves_to():
    constants = model("quadratic", "set", n=17).constants(np.zeros(4))
    for given in (
        {"epsilon": 0.1},
        {"epsilon": 0.1, "schedule": "practical"},
        {"epsilon": 0.1, "smoothness": 2.0},
        {"epsilon": 0.1, "smoothness": 2.0, "schedule": "explicit"},
        {**SLIDING, "batch": 3},
    ):
        chosen = algorithm("storc", **given)
        assert chosen.resolve(constants)[1] == chosen.schedule
        assert chosen.assumes == {"restricted strong convexity"}
    assert algorithm("storc", epsilon=0.1).schedule == "theory"
    assert algorithm("storc", epsilon=0.1, schedule="practical").schedule == "practical"
    assert algorithm("storc", epsilon=0.1, batch=3).schedule == "explicit"


def test_no_loss_is_called_convex_that_is_not():
    """Convex along random segments, or not stated."""
    rng = np.random.default_rng(0)
    for name in MODELS:
        problem = model(name, spread=3.0)
        rises = []
        for _ in range(300):
            x, y = 3.0 * rng.standard_normal((2, 4))
            middle = problem.value((x + y) / 2.0)
            rises.append((problem.value(x) + problem.value(y)) / 2.0 - middle)
        assert ("convex" in problem.properties) == (min(rises) > -1e-9), name
