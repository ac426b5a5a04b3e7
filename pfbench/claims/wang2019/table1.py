"""wang2019 table 1: the rates of proximal methods, finite sums and online."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from pfbench.base.constants import Constants
from pfbench.claims.wang2019.mapping_rates import Given, RateCase, check_rates
from pfbench.claims.wang2019.shared import MEAN_SQUARED
from pfbench.verification import Claim

# --- what schedules are given besides -------------------------------------------------------------


def best_batch_parameters(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return the batch n^(2/3) as a parameter; only with this batch is the claimed rate possible.

    The batch of the catalogue's schedule is at most epsilon^(-4/3).
    """
    return {"batch": math.ceil(constants.n ** (2 / 3) * (1.0 - 1e-12))}


def online_parameters(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return the parameter that selects the online form, where batches replace full gradients."""
    return {"online": True}


def online_spider_parameters(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return the parameters of the online form: reference batch B, batch and period sqrt B.

    B is 16 sigma^2/epsilon^2.
    """
    root = round(4.0 * math.sqrt(constants.sigma2) / epsilon)
    return {"snapshot": root * root, "batch": root, "period": root}


def sigma_parameter_from_L_max(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return the parameter sigma, set to the largest smoothness L_max of a component."""
    return {"sigma": constants.L_max}


# --- the rows -------------------------------------------------------------------------------------

_PARAMETERS: Mapping[str, Given] = {
    "best batch": best_batch_parameters,
    "online": online_parameters,
    "online sizes": online_spider_parameters,
    "sigma": sigma_parameter_from_L_max,
}


def _make_case(**fields: Any) -> RateCase:
    """Return a case from its fields in ``table1.toml``."""
    if "parameters" in fields:
        fields["parameters"] = _PARAMETERS[fields["parameters"]]
    if "epsilons" in fields:
        fields["epsilons"] = [k ** fields["epsilons"]["power"] for k in fields["epsilons"]["of"]]
    for name, value in fields.items():
        if isinstance(value, str):
            fields[name] = float(Fraction(value))
        elif isinstance(value, list):
            fields[name] = tuple(value)
    return RateCase(**fields)


def _make_claim(
    name: str, *, rate: str, seconds: Mapping[str, float], cases: Sequence[Mapping[str, Any]]
) -> Claim:
    """Return the claim about one row of wang2019's table 1, from its fields in ``table1.toml``."""
    algorithm = name.removesuffix("-online")
    forms = tuple(_make_case(**fields) for fields in cases)
    return Claim(
        name=f"wang2019-table1-{name}",
        source="wang2019 table 1",
        kind="rate",
        statement=f"E|G| <= eps after {rate}, in order",
        algorithm=algorithm,
        assumptions=(MEAN_SQUARED,),
        instances=tuple(problem for form in forms for problem in form.instances),
        schedule=(
            "theory; on the turning bowl the cheapest batch and epoch; on robust regression also "
            "the best of three steps"
        ),
        expected_seconds=(seconds.get("quick"), seconds["full"]),
        complexity=forms[0].complexity(algorithm),
        check=partial(check_rates, cases=forms),
    )


TABLE = {
    name: _make_claim(name, **fields)
    for name, fields in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
"""The claims about the rows of table 1, by the row's name."""
