"""Proximal steps along a gradient estimate: the gradient, SG, SVRG, SAGA and SPIDER."""

import math
from collections.abc import Callable
from functools import partial

from pfbench.base.constants import Constants
from pfbench.base.counts import Counts
from pfbench.claims.methods.stating import (
    BALL,
    CONSTANTS,
    ONE,
    ONE_ON_BALL,
    PENALTY,
    SEVEN,
    SEVEN_ON_BALL,
    SPACE,
    Forming,
    along,
    claims_of,
    full,
    proximal_step,
    saga,
    sg,
    spider,
    stored_squares,
    svrg,
    with_reference,
)
from pfbench.verification import Instance
from pfbench.verification.instruments.waves import on_ball
from pfbench.verification.laws import Method, Setting, Wanted, setting
from pfbench.verification.laws.method import Parameters

TWO = Instance(on_ball, {"n": 2})
TWO_ON_SPACE = Instance(SPACE.build, {"n": 2})

Counting = Callable[..., tuple[Counts, ...]]

Printed = Callable[[float, Constants, Parameters], dict[str, float | None]]


# --- counts -----------------------------------------------------------------------------------


def of_gradients(s: Parameters, n: int, *, maps: int) -> tuple[Counts, ...]:
    """Return FO T, SFO nT; `maps` is how many proximal maps a step counts, so in the next."""
    T = s["iterations"]
    return (Counts(fo=T, sfo=n * T, po=maps * T),)


def of_batches(s: Parameters, n: int, *, maps: int) -> tuple[Counts, ...]:
    """Return SFO bT."""
    return (Counts(sfo=s["batch"] * s["iterations"], po=maps * s["iterations"]),)


def of_tables(s: Parameters, n: int, *, maps: int) -> tuple[Counts, ...]:
    """Return SFO n + 2bT: two batches a step."""
    T = s["iterations"]
    return (Counts(sfo=n + 2 * s["batch"] * T, po=maps * T),)


def of_epochs(s: Parameters, n: int, *, maps: int, at_snapshot: bool) -> tuple[Counts, ...]:
    """Return those of a reference gradient for each epoch."""
    return with_reference(s, n, at_snapshot=at_snapshot, po=maps * s["iterations"])


# --- schedules --------------------------------------------------------------------------------


def of_gradient_descent(epsilon: float, c: Constants, given: Parameters) -> dict[str, float | None]:
    """Return sqrt(2 L h0/(t+1)) <= epsilon, step 1/L_f."""
    return {"iterations": 2.0 * c.L_f * c.delta / epsilon**2 - 1.0, "step": 1.0 / c.L_f}


def of_rspg(epsilon: float, c: Constants, given: Parameters) -> dict[str, float | None]:
    """Return 8 L h0/T + 6 sigma^2/b, half of epsilon each, with step 1/(2L)."""
    L = max(c.L_f, c.L_ms)
    return {
        "iterations": 16.0 * L * c.delta / epsilon,
        "batch": 12.0 * c.sigma2 / epsilon,
        "step": 0.5 / L,
    }


def of_svrg(epsilon: float, c: Constants, given: Parameters) -> dict[str, float | None]:
    """Return 18 L h0/T <= epsilon, b = n^(2/3), m = n^(1/3), eta = 1/(3L)."""
    L, root = max(c.L_f, c.L_ms), c.n ** (1.0 / 3.0)
    return {
        "iterations": 18.0 * L * c.delta / epsilon,
        "step": 1.0 / (3.0 * L),
        "batch": math.ceil(root**2 - 1e-9),
        "period": math.floor(root + 1e-9),
    }


def of_svrg_plus(epsilon: float, c: Constants, given: Parameters) -> dict[str, float | None]:
    """Return 36 L h0/T <= epsilon, eta = 1/(6L), m = sqrt b; online B = min(n, 6 sigma^2/epsilon).

    b = min(n, 1/epsilon)^(2/3), the best choice of the source.
    """
    L = max(c.L_f, c.L_ms)
    b = math.ceil(min(c.n, 1.0 / epsilon) ** (2.0 / 3.0) - 1e-9)
    B = math.ceil(6.0 * c.sigma2 / epsilon - 1e-9)
    online = given.get("online", False) and c.n > B
    return {
        "iterations": 36.0 * L * c.delta / epsilon,
        "step": 1.0 / (6.0 * L),
        "batch": b,
        "period": math.isqrt(b),
        "snapshot": B if online else None,
    }


def of_prox_saga(epsilon: float, c: Constants, given: Parameters) -> dict[str, float | None]:
    """Return 50 L h0/(3T) <= epsilon, b = n^(2/3), eta = 1/(5L)."""
    return {
        "iterations": 50.0 * c.L_max * c.delta / (3.0 * epsilon),
        "step": 0.2 / c.L_max,
        "batch": math.ceil(c.n ** (2.0 / 3.0) - 1e-9),
    }


def of_saga(epsilon: float, c: Constants, given: Parameters) -> dict[str, float | None]:
    """Return 3 L n^(2/3) h0/(T (1 - 1/(12 n^(2/3)))) <= epsilon, b = 1, eta = 1/(3 L n^(2/3)).

    The source's bound lacks the factor in brackets, which equal f_i need.
    """
    scale = 3.0 * c.L_max * c.n ** (2.0 / 3.0)
    factor = 1.0 - 1.0 / (12.0 * c.n ** (2.0 / 3.0))
    return {"iterations": scale * c.delta / (factor * epsilon), "step": 1.0 / scale, "batch": 1}


def of_spiderboost(
    epsilon: float, c: Constants, given: Parameters, *, constant: float
) -> dict[str, float | None]:
    """Return E|G|^2 <= constant L Delta/T <= epsilon^2, q = S = sqrt n, eta = 1/(2L)."""
    L, root = max(c.L_f, c.L_ms), math.sqrt(c.n)
    return {
        "iterations": constant * L * c.delta / epsilon**2,
        "step": 0.5 / L,
        "batch": math.ceil(root - 1e-9),
        "period": math.isqrt(c.n),
    }


WANTED = tuple(Wanted(epsilon, c) for epsilon in (0.4, 0.03) for c in CONSTANTS)
ONLINE = tuple(Wanted(one.epsilon, one.constants, {"online": True}) for one in WANTED)


# --- the methods ------------------------------------------------------------------------------

PROBLEMS = {
    "smooth": ((SPACE,), (SEVEN,), ONE),
    "set": ((BALL,), (SEVEN_ON_BALL,), ONE_ON_BALL),
    "composite": ((BALL, PENALTY), (SEVEN_ON_BALL,), ONE_ON_BALL),
}
"""Where a method that requires no set or penalty, a set, or either of them is followed, counted,
and its output enumerated."""


def stated(
    name: str,
    source: str,
    where: str,
    form: Forming,
    sizes: tuple[Parameters, ...],
    *,
    printed: Printed,
    wanted: tuple[Wanted, ...] = WANTED,
) -> Method:
    """Return what a source says of proximal steps along an estimate.

    Parameters
    ----------
    name, source
        The catalogue's name; paper and number.
    where
        A key of `PROBLEMS`.
    form
        How the estimate is formed.
    sizes
        Parameters with which all draws are enumerated.
    printed, wanted
        The theorem's schedule, and for what it is compared.
    """
    problems, larger, one = PROBLEMS[where]
    known = set(sizes[0])
    maps = 0 if where == "smooth" else 1
    online = any("snapshot" in size for size in sizes)

    def with_sizes(problem: Instance, step: float, T: int, S: int, p: int) -> Setting:
        given = {"batch": S, "period": p}
        kept = {key: value for key, value in given.items() if key in known}
        return setting(problem, step=step, iterations=T, **kept)

    def with_snapshot(problem: Instance, T: int, B: int) -> Setting:
        return setting(problem, step=0.2, iterations=T, batch=2, period=3, snapshot=B)

    counting: dict[Forming, Counting] = {full: of_gradients, sg: of_batches, saga: of_tables}
    in_epochs = partial(of_epochs, maps=maps, at_snapshot=form is svrg)
    counts = in_epochs if "period" in known else partial(counting[form], maps=maps)
    first = problems[0]
    pairs = TWO if where != "smooth" else TWO_ON_SPACE
    return Method(
        name=name,
        source=source,
        referee=partial(along, form=form, move=proximal_step),
        counts=counts,
        enumerated=tuple(
            setting(pairs if form is saga and size["batch"] == 2 else first, step=0.4, **size)
            for size in sizes
        ),
        followed=(
            *(with_sizes(problem, 0.3, 10, 3, 4) for problem in problems),
            with_sizes(first, 0.9, 4, 1, 2),
            *((with_snapshot(first, 7, 2),) if online else ()),
        ),
        counted=(
            with_sizes(larger[0], 0.1, 10, 3, 4),
            with_sizes(larger[0], 0.1, 7, 9, 3),
            with_sizes(larger[0], 0.1, 3, 1, 1),
            *((with_snapshot(larger[0], 7, 5), with_snapshot(larger[0], 4, 7)) if online else ()),
        ),
        chosen=tuple(
            setting(one, **with_sizes(one, 0.3, 8, 1, 3).parameters, output=output)
            for output in (("last", "uniform") if form is full else ("uniform", "last"))
        ),
        enumerated_in_full=(
            (setting(pairs, step=0.4, batch=2, iterations=3),) if form is saga else ()
        ),
        stored_squares=partial(stored_squares, move=proximal_step) if form is saga else None,
        schedules=wanted,
        schedule=printed,
    )


def _sizes(*rows: tuple[int, int, int]) -> tuple[Parameters, ...]:
    """Return parameters from rows of S, p and T."""
    return tuple({"batch": S, "period": p, "iterations": T} for S, p, T in rows)


GRADIENTS = ({"iterations": 3},)
BATCHES = ({"batch": 2, "iterations": 2}, {"batch": 1, "iterations": 3})
TABLES = ({"batch": 1, "iterations": 3}, {"batch": 2, "iterations": 2})
AT_SNAPSHOTS = _sizes((1, 3, 5), (2, 2, 3))
RECURSIVE = _sizes((1, 3, 6), (2, 2, 4), (2, 3, 3))
SAMPLED_SNAPSHOTS = (
    {"batch": 1, "period": 2, "iterations": 2, "snapshot": 2},
    {"batch": 1, "period": 2, "iterations": 4, "snapshot": 1},
)
SAMPLED_REFERENCES = (
    {"batch": 1, "period": 2, "iterations": 3, "snapshot": 2},
    {"batch": 1, "period": 2, "iterations": 3, "snapshot": 3},
)

METHODS = (
    stated(
        "prox-gd",
        "Ghadimi, Lan, Zhang 2016; lacoste2016",
        "composite",
        full,
        GRADIENTS,
        printed=of_gradient_descent,
    ),
    stated(
        "projected-gradient",
        "li2019 section 5; Ghadimi, Lan, Zhang 2016",
        "set",
        full,
        GRADIENTS,
        printed=of_gradient_descent,
    ),
    stated("prox-sgd", "Ghadimi, Lan, Zhang 2016, RSPG", "composite", sg, BATCHES, printed=of_rspg),
    stated(
        "svrg",
        "Reddi, Hefny, Sra, Poczos, Smola 2016 (ICML)",
        "smooth",
        svrg,
        AT_SNAPSHOTS,
        printed=of_svrg,
    ),
    stated(
        "prox-svrg",
        "Reddi, Sra, Poczos, Smola 2016 (NIPS), algorithm 1",
        "composite",
        svrg,
        AT_SNAPSHOTS,
        printed=of_svrg,
    ),
    stated(
        "projected-svrg",
        "Reddi, Sra, Poczos, Smola 2016 (NIPS), algorithm 1; qu2018 section 6",
        "set",
        svrg,
        AT_SNAPSHOTS,
        printed=of_svrg,
    ),
    stated(
        "prox-svrg-plus",
        "Li & Li 2018, algorithm 1",
        "composite",
        svrg,
        (*AT_SNAPSHOTS, *SAMPLED_SNAPSHOTS),
        printed=of_svrg_plus,
        wanted=(*WANTED, *ONLINE),
    ),
    stated("saga", "Reddi, Sra, Poczos, Smola 2016 (CDC)", "smooth", saga, TABLES, printed=of_saga),
    stated(
        "prox-saga",
        "Reddi, Sra, Poczos, Smola 2016 (NIPS), algorithm 2",
        "composite",
        saga,
        TABLES,
        printed=of_prox_saga,
    ),
    stated(
        "spiderboost",
        "wang2019 algorithm 1",
        "smooth",
        spider,
        (*RECURSIVE, *SAMPLED_REFERENCES),
        printed=partial(of_spiderboost, constant=4.0),
    ),
    stated(
        "prox-spiderboost",
        "wang2019 algorithm 2, theorem 1",
        "composite",
        spider,
        (*RECURSIVE, *SAMPLED_REFERENCES),
        printed=partial(of_spiderboost, constant=20.0),
    ),
)

CLAIMS = tuple(claim for method in METHODS for claim in claims_of(method))
