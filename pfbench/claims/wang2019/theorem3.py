"""wang2019 theorem 3: the rate of Prox-SpiderBoost with momentum."""

import math
from dataclasses import replace

from pfbench.claims.wang2019 import estimate
from pfbench.claims.wang2019.mapping_rates import RateCase, check_rates
from pfbench.claims.wang2019.shared import MEAN_SQUARED, output_point
from pfbench.verification import Claim, Evidence, Trial, make_instance, statistics
from pfbench.verification.instruments.slopes import ConstantSlopeProblem

_RATE = RateCase(
    size=0.5,
    is_squared=False,
    stride=0.125,
    sizes=tuple(k * k for k in (4, 6, 8, 12, 16, 22, 30, 40)),
    n=4,
    steps=96,
    relative_target=0.125,
    chain=True,
    curvature=16.0,
)
_CONSTANT = make_instance(ConstantSlopeProblem, n=16, g=1e-3, gap=3e-5, weight=1e-3)


def check_call_rate(trial: Trial) -> Evidence:
    """Test how call counts grow, if momentum and estimate meet wang2019 theorem 3's conditions."""
    evidence = check_rates(trial, (_RATE,))
    conditions = {
        "momentum": decide_if_momentum_is_admissible(trial),
        **estimate.decide_law_with_explicit_schedule(trial, 1.0 / 8.0),
    }
    decision = statistics.combine_parts_and_conditions({"": evidence.decision}, conditions)
    return replace(evidence, decision=decision, claimed={**evidence.claimed, "momentum": 1.0})


def decide_if_momentum_is_admissible(trial: Trial) -> statistics.Decision:
    """Decide whether theorem 3 of wang2019 allows the momentum that a method uses.

    The run is on a constant slope. In units of beta times the slope, the distance moved after k
    steps must lie between k and an upper limit. Every choice of lambda_k that the theorem allows
    gives such a distance, as z_k grows with each lambda_k.
    """
    q, K = 4, 24
    problem = _CONSTANT()
    beta = 1.0 / (8.0 * problem.L)
    algorithm = trial.make(batch=4, period=q, iterations=K, step=beta)
    unit = (problem.g + problem.weight) / (8.0 * problem.L)
    start = float(problem.start()[0])
    ratios, y, x = [], 0.0, 0.0
    for k, step in enumerate(trial.follow(problem, algorithm, seed=trial.seeds(1)[0])):
        alpha = 2.0 / (math.ceil((k + 1) / q) + 1.0)
        upper = (1.0 - alpha) * y + alpha * x
        ratio = (start - float(output_point(step.state)[0])) / unit
        ratios += [(1.0 + ratio) / (1.0 + upper), (1.0 + k) / (1.0 + ratio)]
        x, y = x + 1.0 + alpha, upper + 1.0
    return statistics.decide_inequality(ratios)


THM3 = Claim(
    name="wang2019-thm3",
    source="wang2019 theorem 3",
    kind="rate",
    statement="with momentum: E|G| <= eps after O(n + n^(1/2) eps^-2) SFO and O(eps^-2) PO",
    algorithm="prox-spiderboost-m",
    assumptions=(MEAN_SQUARED,),
    instances=(*_RATE.instances, _CONSTANT, estimate.BOWL),
    schedule="beta = 1/(8L), lambda_k = (1 + alpha_{k+1}) beta",
    expected_seconds=(5.0, 85.0),
    complexity=_RATE.complexity("prox-spiderboost-m"),
    check=check_call_rate,
)
