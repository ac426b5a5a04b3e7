"""What wang2019's checks share, rates, the estimate of SpiderBoost, and the turning bowl."""

import math

import numpy as np
import pytest
from claims.own_methods import Stream
from claims.variants.proximal import BoostWithoutReplacement
from judging import judge, trial
from twisted import OnePointLate, twisted

from pfbench.algorithms.proximal import ProxGD, ProxSpiderBoost, SpiderBoost
from pfbench.base.state import State
from pfbench.claims.wang2019 import PAPER, cheapest, estimate, mean_mapping, step, table1, theorem3
from pfbench.claims.wang2019.estimate import BOWL
from pfbench.claims.wang2019.mapping_rates import long_slope_problem
from pfbench.claims.wang2019.shared import chain, mapping_sq_function, noiseless_model
from pfbench.problems.linear_models import LeastSquares
from pfbench.verification.claim import MAPPING, ComplexityOrder
from pfbench.verification.subject import NotTestable, Subject


def test_models_without_noise_have_value_0():
    problem = noiseless_model(3, kind=LeastSquares, n=30, d=3, scale=3.0)
    rows, labels = problem.features, problem.labels
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.full(30, 3.0))
    w = np.linalg.lstsq(rows, labels)[0]
    assert problem.value(w) == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize(("n", "links"), [(9, 3), (100, 3), (16, 5)])
def test_a_chain_has_the_wanted_links(n, links):
    problem = chain(n, links)
    assert problem.length == links
    constants = problem.constants(problem.start())
    assert pytest.approx(1.0) == constants.L
    assert 0.5 < constants.delta <= 1.0


def test_the_mapping_without_set_and_penalty_is_the_gradient():
    problem = noiseless_model(3, kind=LeastSquares, n=30, d=3)
    x = np.array([0.3, -1.0, 2.0])
    g = problem.gradient(x)
    assert mapping_sq_function(problem)(x) == pytest.approx(g @ g)


def test_the_bounds_of_theorems_1_and_2_by_hand():
    assert mean_mapping.gradient_sq_bound(2.0, 3.0, 12) == 2.0
    assert mean_mapping.mapping_sq_bound(2.0, 3.0, 12) == 10.0


def test_what_schedules_are_given_by_hand():
    problem = table1.TABLE["prox-svrg-plus"].instances[0].example()
    constants = problem.constants(problem.start())
    assert table1.best_batch_parameters(0.1, constants) == {"batch": 16}  # 64^(2/3)
    assert table1.online_parameters(0.1, constants) == {"online": True}
    sizes = {"snapshot": 1600, "batch": 40, "period": 40}  # 4 sigma/epsilon, sigma = 1
    assert table1.online_spider_parameters(0.1, constants) == sizes
    assert table1.sigma_parameter_from_L_max(0.1, constants) == {"sigma": constants.L_max}


class Still(SpiderBoost):
    """Makes no step."""

    def run(self, ask, x, rng):
        yield from ()


def test_a_method_that_makes_no_step_is_failed():
    row = judge(mean_mapping.THM1, Subject(Still))
    assert (row.verdict, row.catches_fault) == ("failed", True)
    assert "no step" in row.reason


def test_a_pair_counts_calls_to_both_accuracies():
    problem = step.STEP.instances[0](3)
    near, below, reached = step._sfo_ratios_and_spider_success(trial(step.STEP), problem, 3)
    assert 0.0 < near < 1.0
    assert 0.0 < below < 1.0
    assert reached in (0.0, 1.0)


FAULTS = [mutant for mutant in PAPER.mutants if theorem3.THM3 in mutant.expected_claims]


@pytest.mark.parametrize("mutant", FAULTS, ids=lambda mutant: mutant.name)
def test_faults_of_the_momentum_are_caught(mutant):
    assert theorem3.decide_if_momentum_is_admissible(trial(theorem3.THM3)).verdict == "attained"
    decision = theorem3.decide_if_momentum_is_admissible(
        trial(theorem3.THM3, mutant.subject.algorithm_under_test())
    )
    assert decision.verdict == "violated"


ORDERS = {
    "wang2019-thm3": ("prox-spiderboost-m", ComplexityOrder(2.0, 1 / 2), 2.0),
    "wang2019-table1-prox-gd": ("prox-gd", ComplexityOrder(2.0, 1.0), 2.0),
    "wang2019-table1-prox-sgd": ("prox-sgd", ComplexityOrder(4.0), 2.0),
    "wang2019-table1-prox-svrg": ("prox-svrg", ComplexityOrder(2.0, 2 / 3), 2.0),
    "wang2019-table1-prox-saga": ("prox-saga", ComplexityOrder(2.0, 2 / 3), 2.0),
    "wang2019-table1-prox-svrg-plus": ("prox-svrg-plus", ComplexityOrder(2.0, 2 / 3), 2.0),
    "wang2019-table1-natasha15": ("natasha15", ComplexityOrder(10 / 3), 10 / 3),
    "wang2019-table1-prox-spiderboost": ("prox-spiderboost", ComplexityOrder(2.0, 1 / 2), 2.0),
    "wang2019-table1-prox-spiderboost-online": ("prox-spiderboost", ComplexityOrder(3.0), 2.0),
}


def test_every_rate_states_its_orders():
    claims = (theorem3.THM3, *table1.TABLE.values())
    assert [claim.name for claim in claims] == list(ORDERS)
    for claim in claims:
        method, sfo, po = ORDERS[claim.name]
        assert (claim.complexity.method, claim.complexity.criterion) == (method, MAPPING)
        assert claim.complexity.orders == {"SFO": sfo, "PO": ComplexityOrder(po)}


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_a_long_slope_takes_as_many_steps_as_wanted(epsilon):
    """Gradient steps 1/L move by 2 epsilon/L and lower f + h by 4 epsilon^2/L: a stride of 1."""
    problem = long_slope_problem(
        np.random.default_rng(3), epsilon, n=2, sigma=0.0, stride=1.0, steps=50, shrink=0.0
    )
    algorithm = ProxGD(iterations=200_000, step=1.0 / problem.L)
    steps = enumerate(trial(table1.TABLE["prox-gd"]).follow(problem, algorithm), 1)
    walked = next(k for k, step in steps if abs(step.state.x[0]) <= epsilon)
    assert 50 / epsilon**2 <= walked <= 105 / epsilon**2


# --- the estimate of SpiderBoost on the turning bowl: its law, and faults of other hands ----------


def verdicts(subject):
    found = estimate.decide_law_with_method_schedule(trial(mean_mapping.THM1, subject))
    return {name: decision.verdict for name, decision in found.items()}


def test_the_methods_keep_the_law():
    holds = {"reference gradients": "holds", "error of the estimate": "holds"}
    assert verdicts(SpiderBoost) == holds
    found = estimate.decide_law_with_explicit_schedule(trial(theorem3.THM3), 1.0 / 8.0)
    assert {name: decision.verdict for name, decision in found.items()} == holds


class Once(Stream):
    """Draws one batch, and gives it again and again."""

    drawn = None

    def integers(self, n, size):
        self.drawn = super().integers(n, size) if self.drawn is None else self.drawn
        return self.drawn


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (twisted(SpiderBoost, OnePointLate), "reference gradients"),
        (twisted(SpiderBoost, stream=Once), "error of the estimate"),
        (twisted(SpiderBoost, stream=lambda rng: Stream(rng, 0.5)), "error of the estimate"),
    ],
)
def test_faults_are_seen(fault, seen):
    assert verdicts(fault)[seen] == "violated"


class Silent(ProxSpiderBoost):
    """Says neither where its estimates are formed nor what they are."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield State(state.x)


def test_a_right_method_of_another_style_is_not_violated():
    assert set(verdicts(BoostWithoutReplacement).values()) == {"holds"}
    assert verdicts(Silent) == {}


# --- the turning bowl decides by the batch; what a run spends to the target; subjects without it --

ROOT = 100


def calls(**sizes):
    problem = cheapest.TURNING(n=ROOT**2)
    epsilon = cheapest._epsilon(problem)
    algorithm = ProxSpiderBoost(step=0.5, iterations=10**6, **sizes)
    return cheapest.calls_to_target(
        trial(table1.TABLE["prox-spiderboost"]), problem, algorithm, epsilon, 1, 30.0 * problem.n
    )


def test_the_batch_and_the_epoch_decide():
    wanted = calls(batch=ROOT // 2, period=ROOT)
    assert math.isfinite(wanted)
    assert calls(batch=1, period=ROOT) > 2.0 * wanted
    assert calls(batch=4 * ROOT, period=ROOT) > 2.0 * wanted
    assert calls(batch=ROOT // 2, period=16 * ROOT) > 1.5 * wanted
    assert calls(batch=ROOT // 2, period=ROOT // 16) > 2.0 * wanted


def test_the_bowl_has_smoothness_1():
    for problem in (cheapest.turning(), BOWL()):
        assert pytest.approx(1.0) == problem.constants(problem.start()).L


class Fixed(ProxSpiderBoost):
    """Its schedule takes nothing besides."""

    @classmethod
    def theory(cls, epsilon, constants):
        return super().theory(epsilon, constants)


def test_a_schedule_that_takes_no_batch_is_not_testable_here():
    with pytest.raises(NotTestable):
        cheapest.fit_min_sfo_exponent_in_n(trial(table1.TABLE["prox-spiderboost"], Fixed), 4.0)
