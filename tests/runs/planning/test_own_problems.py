"""Somebody's own problem: what is checked, what it may leave out, and what its digest covers."""

import py_compile
from pathlib import Path

import numpy as np
import own_things
import pytest
from helpers import refused
from own_things import Penalised, Quadratic
from scipy.optimize import minimize_scalar

from pfbench.algorithms import algorithm
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.protocols import Problem
from pfbench.base.sample import Sample
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.loop.solve import solve
from pfbench.runs.planning import plan as resolving
from pfbench.runs.planning.name_resolution import select_algorithm, select_problem
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.run_keys import compute_keys

ROWS, COLUMNS = 20, 3
DESCENT = "misbehaving:Descent"


def own(name):
    return select_problem(f"own_things:{name}")


def plan(problem="own_things:Quadratic", algorithm=DESCENT, **more):
    return PlannedRun(problem, algorithm, **{"seed": 0, "measures": (), "every": 1} | more)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Quadratc", "'Quadratic'"),
        ("Quadratic[colums=3]", "'columns'"),
        ("needs", "needs rows: write own_things:needs[rows=...]"),
        ("ready[rows=3]", "leave out the brackets"),
        ("raises[seed=3]", "own_things:raises[seed=3] raised ValueError: no such file"),
        ("refuses", "seed=0 must be greater than 0"),
        ("nothing", "NoneType does not derive from pfbench.problems.FiniteSum"),
        ("number", "int does not derive from"),
        ("Duck", "Duck does not derive from"),
        ("NoGradient", "NoGradient lacks "),
        ("NoSet", "lacks name, diameter, has_projection, contains(x), lo(g), minimum(g)"),
        ("HalfN", "n of own_things:HalfN=2.5 must be an integer"),
        ("Outside", "is outside its feasible set"),
        ("Wanders", "differs from call to call"),
        ("Listed", "let start() return a float64 array"),
        ("Whole", "is an array of int64"),
        ("NotFinite", "value(start) of own_things:NotFinite=nan must be finite"),
        ("WrongShape", "must be arrays of float64 of shape (3,)"),
        ("FailsAtTheStart", "gradient(start) of own_things:FailsAtTheStart raised ZeroDiv"),
        ("OtherConstants", "with n=20"),
        ("OtherComponents", "an object with n=20, not 9"),
        ("Both", "own_things:Both has both a feasible set and a penalty"),
        ("NumberAsDigest", "must be a string"),
        ("NoBackend", "object lacks n, unconstrained"),
    ],
)
def test_what_is_no_problem_is_refused_in_one_sentence(name, words):
    with refused(words):
        own(name)


# --- what it may leave out ------------------------------------------------------------------------


def test_a_class_a_function_and_an_object():
    assert own("Quadratic[rows=7,columns=2]").n == 7
    assert own("made").n == 9
    assert own("made[rows=11]").n == 11
    assert own("ready").n == 5


def test_it_goes_by_its_selector():
    problem = own("Quadratic[rows=7]")
    assert (problem.name, dict(problem.parameters)) == ("own_things:Quadratic", {"rows": 7})
    run = execute_plan(plan("own_things:Quadratic[rows=7]"))
    assert run.problem == "own_things:Quadratic[rows=7]"
    assert solve(problem, select_algorithm(DESCENT)).problem == "own_things:Quadratic[rows=7]"


def test_all_of_the_interface_is_there():
    missing = [part for part in vars(Problem) if part[0] != "_" and not hasattr(own("Free"), part)]
    assert missing == []


def test_what_it_has_is_used_as_it_is():
    problem = own("Stated")
    assert problem.digest == "stated"
    assert problem.constants(problem.start()).L_f == 1.0
    assert problem.lacks == {"smooth": "it has a ball"}
    assert not hasattr(problem.open(np.random.default_rng(0)), "batch")
    with pytest.raises(RefusedError, match="queries batch, which own_things:Stated does not offer"):
        solve(problem, algorithm("sfw", iterations=2, step=0.1, batch=3))


def test_oracles_that_are_left_out_follow_from_the_set_and_the_batch():
    problem, rng = own("Quadratic[radius=0.7]"), np.random.default_rng(1)
    backend = problem.open(rng)
    x, y, g = rng.standard_normal((3, COLUMNS))
    sample = rng.integers(ROWS, size=6)
    np.testing.assert_allclose(backend.lo(g), -0.7 * g / np.linalg.norm(g))
    np.testing.assert_allclose(problem.minimum(g), -0.7 * np.linalg.norm(g))
    z = x - 0.3 * g
    np.testing.assert_allclose(backend.prox(x, g, 0.3), z * min(1.0, 0.7 / np.linalg.norm(z)))
    # Every component's Hessian is the identity.
    np.testing.assert_allclose(backend.difference(sample, x, y), x - y)
    assert problem.shape == (COLUMNS,)
    constants = problem.constants(x)
    assert (constants.n, constants.D) == (ROWS, 1.4)
    assert set(constants.derivations) == {"n", "D"}
    assert problem.lacks["hessian"] == "it defines no Hessians"
    with pytest.raises(RefusedError, match="offers no Hessians"):
        backend.hessian(x)


def test_a_batch_follows_from_component_gradients_and_one_from_the_other():
    """Of 20 components, with repetitions and with a sample's counts, and SAGA's table."""
    by_batch, by_component, rng = own("Quadratic"), own("ByComponents"), np.random.default_rng(4)
    x, y = rng.standard_normal((2, COLUMNS))
    S = np.array([3, 0, 3, 19])
    centres = by_batch.centres
    np.testing.assert_allclose(by_batch.component(3, x), x - centres[3])
    np.testing.assert_allclose(by_component.batch(S, x), x - centres[S].mean(axis=0))
    weighed = Sample(np.array([3, 5]), np.array([3, 1]))
    expected = x - 0.75 * centres[3] - 0.25 * centres[5]
    np.testing.assert_allclose(by_component.batch(weighed, x), expected)
    table, stored = by_component.table(x), np.tile(x, (ROWS, 1)) - centres
    np.testing.assert_allclose(table.mean, stored.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(table.difference(S, y), y - x)
    np.testing.assert_allclose(table.replace(S, y), y - x)
    stored[S] = y - centres[S]
    np.testing.assert_allclose(table.mean, stored.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(
        table.difference(np.array([3, 4]), x), ((x - y) + 0.0 * x) / 2.0, atol=1e-15
    )
    for bad in ([-1], [ROWS]):
        with pytest.raises(IndexError, match="outside"):
            by_component.batch(np.array(bad), x)


def test_without_component_gradients_a_method_that_needs_them_is_refused():
    problem = own("NoComponents")
    lacks = {name for name in problem.lacks if not name.startswith("norm")}
    missing = {"hessian", "batch", "difference", "table", "component_smoothness"}
    assert lacks == {"smooth", "polytope", *missing}
    with pytest.raises(RefusedError, match="defines neither component"):
        solve(problem, algorithm("sfw", iterations=2, step=0.1, batch=3))
    with pytest.raises(RefusedError, match="no component gradients"):
        problem.component(0, np.zeros(3))
    assert solve(problem, algorithm("frank-wolfe", iterations=2)).status == "finished"


@pytest.mark.parametrize("text", ["nan", "1e5", "007", "TRUE", "plain"])
def test_a_parameter_that_is_a_text_stays_one(text):
    assert own(f"Spelled[how={text},rows=7]").how == text
    assert own(f"Spelled[how={text},rows=7]").n == 7


def test_a_part_that_fails_is_not_taken_for_one_that_is_left_out():
    with pytest.raises(InputError, match=r"lacks of .* raised AttributeError: .*no_such"):
        own("HidesAMistake")


def test_a_penalty_is_the_prox():
    problem, rng = own("Penalised"), np.random.default_rng(2)
    x, g = rng.standard_normal((2, COLUMNS))
    found = problem.prox(x, g, 0.2)
    for at, y in zip(found, x - 0.2 * g, strict=True):
        best = minimize_scalar(lambda z, y=y: 0.2 * 2.0 * abs(z) + (z - y) ** 2 / 2)
        assert at == pytest.approx(best.x, abs=1e-6)
    run = solve(problem, select_algorithm(DESCENT))
    assert run.final["objective"] == run.final["value"] + Penalised.penalty.value(run.x)


@pytest.mark.parametrize(
    ("name", "refused"),
    [("Quadratic", {"svrg"}), ("Free", {"frank-wolfe"}), ("Penalised", {"frank-wolfe", "svrg"})],
)
def test_what_does_not_fit_is_refused(name, refused):
    problem, found = own(name), set()
    for one in (
        algorithm("frank-wolfe", iterations=2),
        algorithm("svrg", iterations=2, step=0.1, batch=3, period=2),
        algorithm("prox-gd", iterations=2, step=0.1),
    ):
        try:
            assert solve(problem, one).status == "finished"
        except RefusedError:
            found.add(one.name)
    assert found == refused


def test_a_projection_counts_where_there_is_something_to_project_onto():
    gradient = algorithm("prox-gd", iterations=4, step=0.1)
    assert solve(own("Quadratic"), gradient).counts.po == 4
    assert solve(own("Penalised"), gradient).counts.po == 4
    assert solve(own("Free"), gradient).counts.po == 0


def test_iterates_are_those_of_plain_numpy():
    """Gradient steps from 0 towards the mean m: x_t = (1 - 0.99^t) m."""
    run = execute_plan(plan(measures=("value",), algorithm=f"{DESCENT}[iterations=9]"))
    problem = Quadratic()
    mean = problem.centres.mean(axis=0)
    values = [
        np.mean(np.sum(((1 - 0.99**t) * mean - problem.centres) ** 2, axis=1)) / 2
        for t in range(10)
    ]
    np.testing.assert_allclose(run.trace["value"], values)
    assert (run.status, run.counts.fo, run.counts.sfo) == ("finished", 9, 9 * ROWS)


def test_a_measure_that_its_problem_fails_ends_the_run():
    run = execute_plan(plan("own_things:FailsLater", measures=("value",)))
    assert run.status == "error"
    assert run.stop_reason == "the measure value failed: KeyError: 'value'"
    assert (run.iterations, run.counts.fo) == (1, 1)


# --- digest and key -------------------------------------------------------------------------------


def test_a_digest_that_is_not_stated_is_of_name_and_parameters():
    """With the source of the module, which the key covers, these determine the data."""
    digests = {
        own(f"{name}{p}").digest
        for name in ("Quadratic", "Free")
        for p in ("", "[columns=3]", "[columns=2]")
    }
    assert len(digests) == 6
    assert own("Quadratic[rows=7,columns=2]").digest == own("Quadratic[columns=2,rows=7]").digest
    assert own("ready").digest != own("Quadratic[rows=5]").digest
    assert own("made[rows=11]").digest == own_things.made(rows=11).digest


@pytest.fixture
def module(folder):
    """A problem, a measure and a method in a module that needs another, in the current folder."""
    Path("owned_by_tests.py").write_text(
        "import numpy as np\n"
        "from own_things import Quadratic\n"
        "from misbehaving import Descent\n"
        "def make(rows=4):\n"
        "    import helps_the_owned\n"
        "    return Quadratic(rows=rows, radius=helps_the_owned.RADIUS)\n"
        "def find():\n"
        "    from importlib import import_module\n"
        "    return import_module('found_by_the_owned').Found()\n"
        "def read():\n"
        "    problem = Quadratic()\n"
        "    problem.centres = np.loadtxt('centres.txt').reshape(20, 3)\n"
        "    problem.digest = str(problem.centres.sum())\n"
        "    return problem\n"
        "def norm(problem, state):\n"
        "    return 0.0\n"
        "class Plain:\n"
        "    name, requires, output = 'plain', frozenset(), 'last'\n"
        "    def __init__(self, step=1):\n"
        "        self.step = step\n"
        "    def run(self, ask, x, rng):\n"
        "        yield\n"
    )
    # What is resolved stays so while a process lasts.
    resolving._build_problem_cached.cache_clear()
    Path("helps_the_owned.py").write_text("RADIUS = 1.0\n")
    Path("found_by_the_owned.py").write_text(
        "from own_things import Quadratic\nclass Found(Quadratic):\n    pass\n"
    )
    np.savetxt("centres.txt", np.ones((20, 3)))


def key(**more):
    return compute_keys([plan(**more)], {})[plan(**more)].key


@pytest.mark.usefixtures("module")
def test_the_module_of_what_is_made_counts_though_no_import_shows_it():
    before = key(problem="owned_by_tests:find")
    Path("found_by_the_owned.py").write_text(Path("found_by_the_owned.py").read_text() + "# edited")
    assert key(problem="owned_by_tests:find") != before


@pytest.mark.usefixtures("module")
def test_every_name_and_parameter_is_in_the_key():
    plans = [
        plan(),
        plan("own_things:Stated"),
        plan("own_things:Stated[rows=6]"),
        plan("own_things:Restated"),
        plan("owned_by_tests:make"),
        plan("owned_by_tests:make[rows=5]"),
        plan("owned_by_tests:Quadratic"),
        plan(measures=("own_things:norm",)),
        plan(measures=("owned_by_tests:norm",)),
        plan(algorithm="owned_by_tests:Plain"),
        plan(algorithm="owned_by_tests:Plain[step=2]"),
    ]
    assert len({keys.key for keys in compute_keys(plans, {}).values()}) == len(plans)


def test_runs_that_differ_by_a_limit_are_one_family():
    """For somebody's own method, too, if it says that its iterations are a limit."""
    plans = [plan(algorithm=f"own_things:Anytime[iterations={k}]") for k in (3, 5)]
    plans.append(plan(algorithm="own_things:Anytime[iterations=5,step=0.5]"))
    first, longer, other = compute_keys(plans, {}).values()
    assert first.family == longer.family != other.family
    assert len({first.key, longer.key, other.key}) == 3


@pytest.mark.usefixtures("module")
def test_a_module_without_source_is_refused():
    py_compile.compile("owned_by_tests.py", "bare_for_tests.pyc")
    with refused("source code, but bare_for_tests has none"):
        compute_keys([plan(measures=("bare_for_tests:norm",))], {})


@pytest.mark.usefixtures("module")
def test_edited_data_are_another_digest():
    before = select_problem("owned_by_tests:read").digest
    assert select_problem("owned_by_tests:read").digest == before
    np.savetxt("centres.txt", np.eye(20, 3))
    assert select_problem("owned_by_tests:read").digest != before
