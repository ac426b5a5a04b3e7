"""Methods on small linear models: bounds of their schedules, outputs, and special steps."""

from math import inf

import numpy as np
import pytest
from linear_reference import DOMAINS, Plain, elsewhere, model, run

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.runs.loop.solve import solve

EPOCHS = {"iterations": 17, "batch": 3, "period": 5, "step": 0.3}
NATASHA = {"iterations": 29, "snapshot": 11, "subepochs": 3, "sigma": 0.1, "step": 0.4}


# --- the theorems' schedules ----------------------------------------------------------------------


def test_the_schedule_of_rsag_meets_its_bound():
    """The least |G(x_t)|^2, on average over seeds; claims are about the bounds of the others."""
    problem, epsilon, found = model(), 0.02, []
    chosen, label = algorithm("rsag", epsilon=epsilon).resolve(
        problem.constants(elsewhere(problem))
    )
    assert label == "theory"
    parameters = {key: getattr(chosen, key) for key in type(chosen).parameters()}
    for seed in range(3):
        states, _ = run(problem, "rsag", seed=seed, **parameters)
        found.append(min(Plain(problem).mapping(s.at, chosen.step) ** 2 for s in states))
    assert np.mean(found) <= epsilon


def test_one_step_of_prox_svrg_plus_descends_as_its_schedule_derives():
    """F(x+) <= F(x) + |e|^2/(12L) - |G|^2/(18L) - 5L/2 |x+ - x|^2 for any error e."""
    for domain in DOMAINS:
        problem = model("robust-regression", domain)
        P, rng = Plain(problem), np.random.default_rng(1)
        L = problem.constants(np.zeros(4)).L_f
        for _ in range(200):
            x = P.prox(rng.standard_normal(4) * rng.choice([0.01, 1.0]), 1.0)
            e = rng.standard_normal(4) * rng.choice([0.0, 0.01, 1.0])
            after = P.prox(x - (P.full(x) + e) / (6 * L), 1 / (6 * L))
            promised = e @ e / (12 * L) - P.mapping(x, 1 / (6 * L)) ** 2 / (18 * L)
            promised -= 2.5 * L * (after - x) @ (after - x)
            fall = P.value(after) + P.h(after) - P.value(x) - P.h(x)
            assert fall <= promised + 1e-13


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_online_schedule_meets_its_bound_and_counts_its_batches(domain):
    """E|G|^2 over the run, three seeds: at most epsilon; every reference costs B, none n."""
    problem, epsilon = model("robust-regression", domain, n=400, spread=0.3), 0.02
    choice = algorithm("prox-svrg-plus", epsilon=epsilon, online=True)
    chosen, _ = choice.resolve(problem.constants(elsewhere(problem)))
    assert chosen.snapshot < 400
    parameters = {key: getattr(chosen, key) for key in type(chosen).parameters()}
    squares = []
    for seed in range(3):
        states, counts = run(problem, "prox-svrg-plus", seed=seed, **parameters)
        T, m, b = chosen.iterations, chosen.period, chosen.batch
        assert counts["fo"] == 0
        assert counts["sfo"] == -(-T // m) * chosen.snapshot + 2 * b * T
        squares += [Plain(problem).mapping(s.at, chosen.step) ** 2 for s in states]
    assert np.mean(squares) <= epsilon


@pytest.mark.parametrize("name", ["asvrg", "prox-asvrg", "katyusha-ns", "prox-katyusha-ns"])
def test_without_a_theorem_there_is_no_schedule(name):
    c = Constants(n=9, L_f=1.0, L_ms=1.0, L_max=1.0, delta=1.0, sigma2=1.0)
    with pytest.raises(RefusedError, match=f"no theorem sets parameters of {name}"):
        algorithm(name, epsilon=0.1).resolve(c)


def test_given_sizes_replace_those_of_the_schedule():
    c = Constants(n=300, L_f=1.0, L_ms=2.0, L_max=4.0, delta=0.5, sigma2=0.75, ell=0.5)
    chosen = ALGORITHMS["natasha15"].theory(0.1, c, sigma=2.0, snapshot=64)
    assert (chosen.sigma, chosen.snapshot, chosen.subepochs) == (2.0, 64, 2)
    assert chosen.step == pytest.approx(2.0 / (2 * 4.0) ** 2)


# --- steps ----------------------------------------------------------------------------------------


def test_asvrg_takes_its_smoothness_from_the_problem():
    problem = model()
    c = problem.constants(problem.start())
    assert algorithm("asvrg", **EPOCHS).resolve(c)[0].smoothness == c.L_max
    assert algorithm("asvrg", **EPOCHS, smoothness=3.0).resolve(c)[0].smoothness == 3.0
    assert algorithm("asvrg", **EPOCHS).resolve(Constants(n=11))[0].smoothness is None


@pytest.mark.parametrize("b", [1, 2, 10, 11, 30])
def test_the_first_weight_of_asvrg_is_between_one_half_and_one(b):
    for step, L in ((0.1, 1.0), (10.0, 1.0), (1.0, inf), (1e-9, 1.0)):
        smoothness = None if inf == L else L
        method = ALGORITHMS["asvrg"](**EPOCHS | {"batch": b, "step": step}, smoothness=smoothness)
        weight = method.first_weight(11)
        assert 0.5 <= weight <= 1.0
        assert weight == 1.0 or b < 11


def test_spider_of_option_1_returns_the_point_where_it_stopped():
    problem, given = model(), {"iterations": 500, "batch": 11, "period": 1, "step": 0.01}
    for seed in range(3):
        result = solve(problem, algorithm("spider", **given, option=1, tolerance=0.05), seed=seed)
        assert result.status == "finished"
        assert result.iterations < 500
        assert np.linalg.norm(Plain(problem).full(result.x)) <= 0.1


def test_spider_at_a_stationary_point_stays_there():
    problem = model(alpha=0.0, n=3)
    problem = type(problem)(np.zeros((3, 4)), problem.labels, problem.set, 0.0)
    for option in (1, 2):
        states, _ = run(problem, "spider", iterations=4, batch=2, period=2, step=0.1, option=option)
        assert states
        assert all(np.array_equal(s.x, elsewhere(problem)) for s in states)


def test_a_snapshot_above_n_is_refused_by_name():
    with pytest.raises(InputError, match=r"^snapshot=12 must be at most .*, n = 11"):
        run(model(), "natasha15", **NATASHA | {"snapshot": 12})


# --- outputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given"), [("sarah", EPOCHS | {"iterations": 15}), ("natasha15", NATASHA)]
)
def test_a_run_ends_at_the_output_of_its_last_state(name, given):
    problem = model()
    result = solve(problem, algorithm(name, **given), seed=3)
    assert result.status == "finished"
    assert result.final["objective"] == pytest.approx(Plain(problem).value(result.x), rel=1e-12)
    last = solve(problem, algorithm("sarah", **EPOCHS, output="last"), seed=3)
    assert not np.array_equal(result.x, last.x)
