"""Proximal steps along a gradient estimate: the gradient, SG, SVRG, SAGA and SPIDER."""

import math
from functools import partial

from pfbench.claims.methods.estimates import full, saga, sg, spider, svrg
from pfbench.claims.methods.iterates import COMPOSITE, PROJECTED, SAMPLED_SNAPSHOTS, SMOOTH, stated
from pfbench.claims.methods.schedules import WANTED, Printed, of_spiderboost
from pfbench.claims.methods.stating import claims_of
from pfbench.verification.laws import Wanted

# --- schedules --------------------------------------------------------------------------------


def of_gradient_descent(asked: Wanted) -> Printed:
    """Return sqrt(2 L h0/(t+1)) <= epsilon, step 1/L_f."""
    epsilon, c = asked.epsilon, asked.constants
    return {"iterations": 2.0 * c.L_f * c.delta / epsilon**2 - 1.0, "step": 1.0 / c.L_f}


def of_rspg(asked: Wanted) -> Printed:
    """Return 8 L h0/T + 6 sigma^2/b, half of epsilon each, with step 1/(2L)."""
    epsilon, c = asked.epsilon, asked.constants
    L = max(c.L_f, c.L_ms)
    return {
        "iterations": 16.0 * L * c.delta / epsilon,
        "batch": 12.0 * c.sigma2 / epsilon,
        "step": 0.5 / L,
    }


def of_svrg(asked: Wanted) -> Printed:
    """Return 18 L h0/T <= epsilon, b = n^(2/3), m = n^(1/3), eta = 1/(3L)."""
    epsilon, c = asked.epsilon, asked.constants
    L, root = max(c.L_f, c.L_ms), c.n ** (1.0 / 3.0)
    return {
        "iterations": 18.0 * L * c.delta / epsilon,
        "step": 1.0 / (3.0 * L),
        "batch": root**2,
        "period": root,
    }


def of_svrg_plus(asked: Wanted) -> Printed:
    """Return 36 L h0/T <= epsilon, eta = 1/(6L), m = sqrt b; online B = min(n, 6 sigma^2/epsilon).

    b = min(n, 1/epsilon)^(2/3), the best choice of the source.
    """
    epsilon, c = asked.epsilon, asked.constants
    L = max(c.L_f, c.L_ms)
    b = min(c.n, 1.0 / epsilon) ** (2.0 / 3.0)
    B = 6.0 * c.sigma2 / epsilon
    online = asked.given.get("online", False) and c.n > max(1.0, B)
    return {
        "iterations": 36.0 * L * c.delta / epsilon,
        "step": 1.0 / (6.0 * L),
        "batch": b,
        "period": math.sqrt(b),
        "snapshot": B if online else None,
    }


def of_prox_saga(asked: Wanted) -> Printed:
    """Return 50 L h0/(3T) <= epsilon, b = n^(2/3), eta = 1/(5L)."""
    epsilon, c = asked.epsilon, asked.constants
    return {
        "iterations": 50.0 * c.L_max * c.delta / (3.0 * epsilon),
        "step": 0.2 / c.L_max,
        "batch": c.n ** (2.0 / 3.0),
    }


def of_saga(asked: Wanted) -> Printed:
    """Return 3 L n^(2/3) h0/(T (1 - 1/(12 n^(2/3)))) <= epsilon, b = 1, eta = 1/(3 L n^(2/3)).

    The source's bound lacks the factor in brackets, which equal f_i need.
    """
    epsilon, c = asked.epsilon, asked.constants
    scale = 3.0 * c.L_max * c.n ** (2.0 / 3.0)
    factor = 1.0 - 1.0 / (12.0 * c.n ** (2.0 / 3.0))
    return {"iterations": scale * c.delta / (factor * epsilon), "step": 1.0 / scale, "batch": 1}


ONLINE = tuple(Wanted(one.epsilon, one.constants, {"online": True}) for one in WANTED)


# --- the methods ------------------------------------------------------------------------------

METHODS = (
    stated(
        "prox-gd",
        "Ghadimi, Lan, Zhang 2016; lacoste2016",
        COMPOSITE,
        full,
        printed=of_gradient_descent,
        whose="lacoste2016 section 3, of Ghadimi, Lan, Zhang 2016",
    ),
    stated(
        "projected-gradient",
        "li2019 section 5; Ghadimi, Lan, Zhang 2016",
        PROJECTED,
        full,
        printed=of_gradient_descent,
        whose="as prox-gd; li2019, which runs it, prints no step",
    ),
    stated(
        "prox-sgd",
        "Ghadimi, Lan, Zhang 2016, RSPG",
        COMPOSITE,
        sg,
        printed=of_rspg,
        whose="step 1/(2L) of Ghadimi, Lan, Zhang 2016; T and b by a bound of pfbench",
    ),
    stated(
        "svrg",
        "Reddi, Hefny, Sra, Poczos, Smola 2016 (ICML)",
        SMOOTH,
        svrg,
        printed=of_svrg,
        whose="that of prox-svrg with h = 0, taken by pfbench in place of its own source",
    ),
    stated(
        "prox-svrg",
        "Reddi, Sra, Poczos, Smola 2016 (NIPS), algorithm 1",
        COMPOSITE,
        svrg,
        printed=of_svrg,
        whose="Reddi et al. 2016 (NIPS) with b = n^(2/3)",
    ),
    stated(
        "projected-svrg",
        "Reddi, Sra, Poczos, Smola 2016 (NIPS), algorithm 1; qu2018 section 6",
        PROJECTED,
        svrg,
        printed=of_svrg,
        whose="that of prox-svrg; qu2018 section 6, which runs it, prints b and m, no step",
    ),
    stated(
        "prox-svrg-plus",
        "Li & Li 2018, algorithm 1",
        COMPOSITE,
        svrg,
        SAMPLED_SNAPSHOTS,
        printed=of_svrg_plus,
        whose="step, m and best b of Li & Li 2018; T and B by a bound that pfbench derived",
        wanted=(*WANTED, *ONLINE),
    ),
    stated(
        "saga",
        "Reddi, Sra, Poczos, Smola 2016 (CDC)",
        SMOOTH,
        saga,
        printed=of_saga,
        whose="Reddi et al. 2016 (CDC) with b = 1; pfbench corrects T by 1 - 1/(12 n^(2/3))",
    ),
    stated(
        "prox-saga",
        "Reddi, Sra, Poczos, Smola 2016 (NIPS), algorithm 2",
        COMPOSITE,
        saga,
        printed=of_prox_saga,
        whose="Reddi et al. 2016 (NIPS) with b = n^(2/3)",
    ),
    stated(
        "spiderboost",
        "wang2019 algorithm 1, theorem 1",
        SMOOTH,
        spider,
        printed=partial(of_spiderboost, constant=4.0),
        whose="step, q and S of wang2019 theorem 1; the 4 of T, where it prints O(.), is "
        "derived by pfbench",
    ),
    stated(
        "prox-spiderboost",
        "wang2019 algorithm 2, theorem 2",
        COMPOSITE,
        spider,
        printed=partial(of_spiderboost, constant=20.0),
        whose="step, q and S of wang2019 theorem 2; the 20 of T, where it prints O(.), is "
        "derived by pfbench",
    ),
)

CLAIMS = claims_of(*METHODS)
