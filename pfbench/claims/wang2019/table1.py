"""wang2019 table 1: the rates of proximal methods, finite sums and online."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from pfbench.base.constants import Constants
from pfbench.claims.wang2019.mapping_rates import PO, SFO, RateCase, check_rates
from pfbench.claims.wang2019.shared import MEAN_SQUARED
from pfbench.verification import Claim


def _row_claim(
    name: str, rate: str, *cases: RateCase, expected_seconds: tuple[float | None, float]
) -> Claim:
    """Return the claim about one row of wang2019's table 1; the first case is the finite sum.

    `expected_seconds` are the quick and the full duration in seconds.
    """
    algorithm = name.removesuffix("-online")
    return Claim(
        name=f"wang2019-table1-{name}",
        source="wang2019 table 1",
        kind="rate",
        statement=f"E|G| <= eps after {rate}, in order",
        algorithm=algorithm,
        assumptions=(MEAN_SQUARED,),
        instances=tuple(problem for form in cases for problem in form.instances),
        schedule=(
            "theory; on the turning bowl the cheapest batch and epoch; on robust regression also "
            "the best of three steps"
        ),
        expected_seconds=expected_seconds,
        complexity=cases[0].complexity(algorithm),
        check=partial(check_rates, cases=cases),
    )


# --- what schedules are given besides -------------------------------------------------------------


def best_batch_parameters(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return the batch b = n^(2/3) that the rate needs, in place of the schedule's batch.

    The batch of the catalogue's schedule is at most epsilon^(-4/3).
    """
    return {"batch": math.ceil(constants.n ** (2 / 3) * (1.0 - 1e-12))}


def online_parameters(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return the parameter that selects a method's online form, with batches in place of n."""
    return {"online": True}


def online_spider_parameters(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return the parameters of the online form: batch and period sqrt B, reference batch B.

    B is 16 sigma^2/epsilon^2.
    """
    root = round(4.0 * math.sqrt(constants.sigma2) / epsilon)
    return {"snapshot": root * root, "batch": root, "period": root}


def sigma_parameter_from_L_max(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return the parameter sigma, set to the largest smoothness L_max of a component."""
    return {"sigma": constants.L_max}


# --- the rows -------------------------------------------------------------------------------------

_SQUARES = tuple(k * k for k in (10, 14, 20, 26, 38, 52, 72, 100))
_CUBES = tuple(k**3 for k in (10, 12, 14, 18, 24, 30, 38, 48))
_HUGE = 10**9
"""n in the claims about the online forms."""

TABLE = {
    row.name.removeprefix("wang2019-table1-"): row
    for row in (
        _row_claim(
            "prox-gd",
            "n eps^-2 SFO, eps^-2 PO",
            RateCase(size=1.0, is_squared=False, stride=1.4, sizes=_SQUARES),
            expected_seconds=(None, 6.0),
        ),
        _row_claim(
            "prox-sgd",
            "eps^-4 SFO, eps^-2 PO",
            RateCase(sfo=4.0, n=_HUGE, sigma=0.4, steps=16, formulas=(SFO,)),
            expected_seconds=(None, 30.0),
        ),
        _row_claim(
            "prox-svrg",
            "n + n^(2/3) eps^-2 SFO, eps^-2 PO",
            RateCase(size=2 / 3, stride=1 / 3, sizes=_CUBES),
            expected_seconds=(None, 12.0),
        ),
        _row_claim(
            "prox-saga",
            "n + n^(2/3) eps^-2 SFO, eps^-2 PO",
            RateCase(size=2 / 3, stride=0.14, sizes=_CUBES),
            expected_seconds=(None, 31.0),
        ),
        _row_claim(
            "prox-svrg-plus",
            "n + n^(2/3) eps^-2 SFO, eps^-2 PO; online eps^-10/3 SFO",
            RateCase(size=2 / 3, stride=1 / 6, sizes=_CUBES, parameters=best_batch_parameters),
            RateCase(
                sfo=10 / 3,
                stride=1 / 6,
                epsilons=tuple(k**-1.5 for k in (1, 2, 3, 4, 6, 9, 14, 22)),
                n=_HUGE,
                formulas=(SFO,),
                parameters=online_parameters,
            ),
            expected_seconds=(None, 25.0),
        ),
        _row_claim(
            "natasha15",
            "eps^-3 + eps^-10/3 SFO, eps^-10/3 PO",
            RateCase(
                sfo=10 / 3,
                po=10 / 3,
                is_squared=False,
                stride=0.06,
                epsilons=tuple((k / 2) ** -1.5 for k in (2, 3, 5, 8, 12, 19, 28, 44)),
                n=_HUGE,
                sigma=math.sqrt(8.0),
                shrink=5 / 3,
                formulas=(SFO, PO),  # its step, too, is a formula in epsilon
                parameters=sigma_parameter_from_L_max,
            ),
            expected_seconds=(None, 55.0),
        ),
        _row_claim(
            "prox-spiderboost",
            "n + n^(1/2) eps^-2 SFO, eps^-2 PO",
            RateCase(size=0.5, is_squared=False, sizes=_SQUARES, chain=True, curvature=4.0),
            expected_seconds=(5.0, 40.0),
        ),
        _row_claim(
            "prox-spiderboost-online",
            "eps^-2 + eps^-3 SFO, eps^-2 PO",
            RateCase(
                sfo=3.0,
                is_squared=False,
                epsilons=tuple(1.0 / k for k in (1, 2, 4, 7, 14, 27, 52, 100)),
                n=_HUGE,
                formulas=(SFO,),
                parameters=online_spider_parameters,
            ),
            expected_seconds=(None, 10.0),
        ),
    )
}
"""The claims about the rows of table 1, by the row's name."""

CLAIMS = tuple(TABLE.values())
