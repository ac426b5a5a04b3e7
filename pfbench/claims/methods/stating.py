"""The claims about one method, and what the sources of several families have in common."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.counts import Counts
from pfbench.claims.methods.extremes import at_extremes, scaled
from pfbench.verification import Claim, Evidence, Floats, Instance, instance
from pfbench.verification.instruments.waves import (
    Waves,
    on_ball,
    on_octahedron,
    on_space,
    with_penalty,
)
from pfbench.verification.laws import (
    Formed,
    Method,
    Place,
    Setting,
    Told,
    estimates_as_its_source,
    keeps_its_counts,
    keeps_its_schedule,
    runs_as_its_source,
    steps_as_its_source,
)
from pfbench.verification.laws.method import Parameters
from pfbench.verification.scaled_schedules import USUAL

BALL = instance(on_ball)
SPACE = instance(on_space)
PENALTY = instance(with_penalty)
SEVEN_ON_BALL = instance(on_ball, n=7)
SEVEN = instance(on_space, n=7)
FOUR_ON_BALL = instance(on_ball, n=4)
FEW_ON_BALL = instance(on_ball, n=300, d=10, rare=30).called("on_ball n=300 d=10")
ONE_ON_BALL = instance(on_ball, n=1)
OCTAHEDRON = instance(on_octahedron)
ONE_ON_OCTAHEDRON = instance(on_octahedron, n=1)
ONE = instance(on_space, n=1)
TWO_ON_BALL = instance(on_ball, n=2)
TWO = instance(on_space, n=2)
"""Where methods are followed: draws of three components are enumerated; with one only the output's
draw is left; seven is divided by no batch here."""

CONSTANTS = USUAL
"""Constants for which schedules are compared, L_f < L_ms < L_max, with n that are no powers.

With epsilon from 0.4 to 0.002 both regimes of the curvature-aided estimators come up."""

SMALLEST = tuple(replace(CONSTANTS[0], n=n, delta=1e-3, sigma2=1e-3) for n in (1, 20))
"""Constants with which, for a large epsilon, whole numbers of a schedule are 1; with n = 1 all."""

SCALES = (1e3, 1e-3)
"""Factors of f with which methods are followed, too: no number of theirs has a size of its own."""

_SECONDS = {
    "estimate": (1.2, 2.0),
    "steps": (0.4, 0.4),
    "count": (0.02, 0.02),
    "run": (3.0, 3.0),
    "schedule": (0.02, 0.02),
}
"""What each kind of claim takes, quick and full."""

SIZES = MappingProxyType({"iterations": 2000, "batch": 32, "period": 67, "refresh": 0.03})
"""Those of a run at the size of use; some 30 epochs are begun."""

MANY = MappingProxyType(
    {"iterations": 6000, "batch": 5, "period": 9, "refresh": 0.3, "snapshot": 60}
)
"""Those of a long run of few components and variables: hundreds of epochs and of coins are seen."""

LONG = MappingProxyType({"iterations": 1300, "batch": 5, "period": 400})
"""Epochs of more steps than a byte counts."""

Forming = Callable[[Waves, Parameters, Sequence[Floats], Sequence[Floats]], Formed]
"""How an estimator forms g_t, from x_0 .. x_t and g_0 .. g_{t-1}."""

Moving = Callable[[Waves, Parameters, Floats, Floats], Floats]
"""Where a step leads from a point and an estimate."""


def claims_of(method: Method) -> tuple[Claim, ...]:
    """Return the claims about a method: estimate, steps, count, run, and the schedule if any."""
    method = at_extremes(at_length(at_size(at_scales(method))))

    def claim(what: str, kind: str, statement: str, check: Callable[..., Evidence]) -> Claim:
        return Claim(
            name=f"methods-{what}-{method.name}",
            source=method.source,
            kind=kind,
            statement=statement,
            check=partial(check, method=method),
            instances=tuple(one.problem for one in method.sized)
            if what == "run"
            else method.problems,
            algorithm=method.name,
            drawn=what == "run",
            assumptions=("f_i smooth",),
            schedule="that of the statement" if what == "schedule" else "explicit",
            takes=_SECONDS[what],
            normalised=ALGORITHMS[method.name].normalised if what == "schedule" else "",
        )

    told: tuple[Claim, ...] = (
        claim(
            "estimate",
            "law",
            "given the past, each estimate has the source's mean and at most its mean square",
            estimates_as_its_source,
        ),
        claim(
            "steps",
            "identity",
            "given the estimates, every step and the draw of the output are the source's",
            steps_as_its_source,
        ),
        claim("count", "count", "a run costs what the source's formula says", keeps_its_counts),
    )
    if method.sized:
        along_run = claim(
            "run",
            "law",
            "along a run at the size of use each step, estimate, index and count is the source's",
            runs_as_its_source,
        )
        told = (*told, along_run)
    if method.schedule is None:
        return told
    schedule = f"the schedule for an accuracy: {method.whose}"
    return (*told, claim("schedule", "identity", schedule, keeps_its_schedule))


def settings_at_size(claim: Claim) -> tuple[Setting, ...]:
    """Return the settings in which a claim follows runs of the size of use; none of most claims."""
    if not (claim.drawn and isinstance(claim.check, partial)):
        return ()
    found: tuple[Setting, ...] = claim.check.keywords["method"].sized
    return found


def at_scales(method: Method) -> Method:
    """Return a method that is followed where f is larger and smaller by `SCALES`, too."""
    slides = any("tolerance" in one.parameters for one in method.followed)

    def fits(one: Setting) -> bool:
        # What stays as it is would be all, or nothing: a penalty, or a tolerance of 1/N.
        stays = slides and "smoothness" in one.parameters and "tolerance" not in one.parameters
        return one.problem.build is not with_penalty and not stays

    def more(settings: Sequence[Setting], most: int) -> tuple[Setting, ...]:
        fitting = list(filter(fits, settings))[:most]
        return (*settings, *(scaled(method, one, by) for one in fitting for by in SCALES))

    enumerated, followed = more(method.enumerated, 1), more(method.followed, len(method.followed))
    return replace(method, enumerated=enumerated, followed=followed)


def at_size(method: Method) -> Method:
    """Return a method that is followed at `SIZES`, too, unless it says how.

    Where a reference gradient may be that of a batch, one of 500 is followed, too; where a step or
    a weight may be left to the method, which lets it fade, that form; and where components may be
    drawn by their L_i, that one for a quarter of the steps. At last come runs of many epochs.
    """
    first = method.followed[0]
    if method.sized or "iterations" not in first.parameters:
        return method
    given = {**first.parameters, **{k: v for k, v in SIZES.items() if k in first.parameters}}
    found: tuple[Setting, ...] = (sized(first.problem, **given),)
    if any("snapshot" in one.parameters and "period" in one.parameters for one in method.followed):
        found += (sized(first.problem, **given, snapshot=500),)
    fading: dict[str, Any] = {
        name: None
        for one in method.followed
        for name in ("step", "alpha")
        if name in given and one.parameters.get(name, 0.0) is None
    }
    if fading:
        found += (sized(first.problem, **{**given, **fading}),)
    if any("sampling" in one.parameters for one in method.followed):
        quarter = {"iterations": SIZES["iterations"] // 4, "sampling": "importance"}
        found += (sized(first.problem, **{**given, **quarter}),)
    return replace(method, sized=(*found, *many_epochs(method, fading)))


def many_epochs(method: Method, fading: Parameters) -> Iterator[Setting]:
    """Yield settings of few components and many epochs, one for each form; see `MANY`.

    A form is which parameters are given, and what no number says; but that of several runs, each
    from the start. Some epochs are long, too.
    """
    forms = dict[frozenset[tuple[str, Any]], Setting]()
    for one in method.followed:
        if "restarts" in one.parameters or "probability" in one.parameters:
            continue
        given = one.parameters.items()
        form = {k: v if k == "option" or isinstance(v, str) else None for k, v in given}
        forms.setdefault(frozenset(form.items()), one)
    for one in forms.values():
        known = {k: v for k, v in MANY.items() if k in one.parameters}
        yield Setting(few(one.problem), {**one.parameters, **known, **fading})
    if "period" in method.followed[0].parameters:
        known = {k: v for k, v in LONG.items() if k in method.followed[0].parameters}
        yield Setting(few(method.followed[0].problem), {**method.followed[0].parameters, **known})


def few(problem: Instance) -> Instance:
    """Return a problem with few components and variables; a ball has corners, as steps may end."""
    build = on_octahedron if problem.build is on_ball else problem.build
    made = replace(instance(problem, n=300, d=10, rare=30), build=build)
    return made.called(f"{build.__name__} n=300 d=10")


def at_length(method: Method) -> Method:
    """Return a method whose output is looked at after long runs of few components, too.

    Where the output is no draw, but follows from the run, it is compared along the run at size.
    """
    outputs = dict.fromkeys(one.parameters.get("output") for one in method.chosen)
    follows = method.outputs is not None and method.at_end is None
    if follows or not method.sized:
        return method
    first = method.sized[0]
    problem = instance(first.problem, n=7, d=8, rare=0)
    seven = problem.called(f"{first.problem.name.split(' ')[0]} n=7 d=8")
    batch = {"batch": 3} if "batch" in first.parameters else {}
    long = (Setting(seven, {**first.parameters, **batch, "output": one}) for one in outputs if one)
    return replace(method, long=tuple(long))


def sized(problem: Instance, **parameters: Any) -> Setting:
    """Return a setting on a problem of the size of use; of fewer components without batches."""
    n = 10_000 if "batch" in parameters else 2_000
    made = instance(problem, n=n, d=100, rare=n // 10)
    return Setting(made.called(f"{problem.name} n={n} d=100"), parameters)


# --- schedules ------------------------------------------------------------------------------------


def least(bound: Callable[[float], float], epsilon: float) -> int:
    """Return the least N = 1, 2, ... at which a bound that falls is at most epsilon."""
    if bound(1.0) <= epsilon:
        return 1
    N = int(scipy.optimize.brentq(lambda N: bound(N) - epsilon, 1.0, 1e12))
    while bound(N) > epsilon:
        N += 1
    return N


def beside(bound: Callable[[float], float]) -> tuple[float, ...]:
    """Return accuracies a little above and below a bound at some N, where the least N changes.

    A term of the bound that is off by a thousandth of it gives another N for one of them.
    """
    return tuple(side * bound(N) for N in (2.0, 3.0, 40.0) for side in (0.999, 1.001))


# --- estimates --------------------------------------------------------------------------------


def full(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return the full gradient."""
    return Formed(at=xs[-1])


def sg(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return the mean over a fresh batch."""
    return Formed(at=xs[-1], batch=s["batch"])


def svrg(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return the difference to the snapshot over a batch, plus the reference gradient there."""
    first = len(gs) - len(gs) % s["period"]
    if first == len(gs):
        return reference(problem, s, xs[-1])
    snapshot = xs[first]
    known = problem.gradient(snapshot) if s.get("snapshot") is None else gs[first]
    return Formed(at=xs[-1], batch=s["batch"], against=snapshot, known=known)


def spider(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return the difference to the point before over a batch, plus the estimate there.

    With sampling=importance components are drawn in proportion to their L_i.
    """
    if len(gs) % s["period"] == 0:
        return reference(problem, s, xs[-1])
    chances = None
    if s.get("sampling") == "importance":
        L = problem.component_smoothness()
        chances = L / L.sum()
    return Formed(at=xs[-1], batch=s["batch"], against=xs[-2], known=gs[-1], chances=chances)


def doubling(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return SPIDER's in epochs of 1, 2, 4, ... steps, with batches as large as its epoch."""
    number = len(gs) + 1
    size = int(2 ** math.floor(math.log2(number)))
    if number == size:
        return Formed(at=xs[-1])
    return Formed(at=xs[-1], batch=size, against=xs[-2], known=gs[-1])


def saga(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return an unbiased estimate whose error depends on the table."""
    return Formed(at=xs[-1], batch=s["batch"], bounded=False)


def page(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return the gradient by a coin, else the difference to the point before, plus the estimate."""
    if not gs:
        return Formed(at=xs[-1])
    refresh, b = s["refresh"], s["batch"]
    return Formed(at=xs[-1], batch=b, against=xs[-2], known=gs[-1], refresh=refresh)


def lsvrg(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return the gradient by a coin, else the difference to where it was taken last, plus it.

    Without the coins that fell, where that was is not known.
    """
    if not gs:
        return Formed(at=xs[-1])
    fell = s["coins"][1 : len(gs)]
    if None in fell:
        return Formed(at=xs[-1], batch=s["batch"], refresh=s["refresh"], bounded=False)
    w = xs[max((t for t, coin in enumerate(fell, 1) if coin), default=0)]
    known = problem.gradient(w)
    return Formed(at=xs[-1], batch=s["batch"], against=w, known=known, refresh=s["refresh"])


def zerosarah(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return (1 - lambda) times the recursive estimate, plus lambda times one from the table.

    That one has the mean of a gradient whatever the table, which alone decides its square.
    """
    if not gs:
        return Formed(at=xs[-1], batch=s["batch"] if s.get("table") == "zero" else None)
    kept = 1.0 - s["table_weight"]
    known = kept * gs[-1]
    return Formed(
        at=xs[-1], batch=s["batch"], against=xs[-2], known=known, kept=kept, bounded=False
    )


def storm(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return the batch gradient plus (1 - alpha) times what the estimate before was off there.

    alpha_t is 1/(t+1) where it is None.
    """
    if not gs:
        return Formed(at=xs[-1], batch=s.get("snapshot") or s["batch"])
    kept = 1.0 - (1.0 / (len(gs) + 1.0) if s["alpha"] is None else s["alpha"])
    return Formed(at=xs[-1], batch=s["batch"], against=xs[-2], known=kept * gs[-1], kept=kept)


def heavy_ball(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return (1 - alpha) times the estimate before plus alpha times a batch gradient.

    alpha_t is (t+1)^(-2/3) where it is None.
    """
    alpha = (len(gs) + 1.0) ** (-2.0 / 3.0) if s["alpha"] is None else s["alpha"]
    if not gs:
        return Formed(at=xs[-1], batch=s["batch"])
    return Formed(at=xs[-1], batch=s["batch"], known=(1.0 - alpha) * gs[-1], weight=alpha)


def reference(problem: Waves, s: Parameters, x: Floats) -> Formed:
    """Return the reference gradient of an epoch: the full one, online that of a batch."""
    size = s.get("snapshot")
    return Formed(at=x, batch=None if size == problem.n else size)


def stored_squares(problem: Waves, s: Parameters, *, move: Moving) -> list[float]:
    """Return E|g_t - grad f(x_t)|^2 of SAGA for each step, over all draws.

    A path is followed for each way to draw I and J; the table is that of the source: filled at
    x_0, then each distinct j of J is stored anew at x_t.
    """
    n, S, T = problem.n, s["batch"], s["iterations"]
    batches = np.array(np.meshgrid(*[np.arange(n)] * S)).reshape(S, -1).T
    squares = [0.0] * T

    def descend(t: int, x: Floats, table: Floats, chance: float) -> None:
        if t == T:
            return
        now, mean = problem.components(x), problem.gradient(x)
        for drawn in batches:
            g = (now[drawn] - table[drawn]).mean(axis=0) + table.mean(axis=0)
            squares[t] += chance * float(((g - mean) ** 2).sum()) / len(batches)
            if t == T - 1:
                continue
            there = move(problem, s, x, g)
            for renewed in batches:
                after = table.copy()
                after[renewed] = now[renewed]
                descend(t + 1, there, after, chance / len(batches) ** 2)

    start = problem.start()
    descend(0, start, problem.components(start), 1.0)
    return squares


def mixed_squares(problem: Waves, s: Parameters, *, move: Moving) -> list[float]:
    """Return E|g_t - its conditional mean|^2 of ZeroSARAH for each step, over all draws.

    X_i = grad f_i(x_t) - grad f_i(x_{t-1}) + lambda (grad f_i(x_{t-1}) - y_i) has a mean over the
    batch; y_i is then stored anew at x_t for each distinct i of it.
    """
    n, S, T, lam = problem.n, s["batch"], s["iterations"], s["table_weight"]
    batches = np.array(np.meshgrid(*[np.arange(n)] * S)).reshape(S, -1).T
    squares = [0.0] * T

    def descend(t: int, xs: tuple[Floats, Floats], g: Floats, y: Floats, chance: float) -> None:
        if t == T:
            return
        before, now = problem.components(xs[0]), problem.components(xs[1])
        X = now - before + lam * (before - y)
        for drawn in batches:
            off = X[drawn].mean(axis=0) - X.mean(axis=0)
            squares[t] += chance * float(off @ off) / len(batches)
            after, new = y.copy(), (1.0 - lam) * g + lam * y.mean(axis=0) + X[drawn].mean(axis=0)
            after[drawn] = now[drawn]
            there = move(problem, s, xs[1], new)
            descend(t + 1, (xs[1], there), new, after, chance / len(batches))

    x = problem.start()
    G = problem.components(x)
    if s.get("table") != "zero":
        g = G.mean(axis=0)
        descend(1, (x, move(problem, s, x, g)), g, G, 1.0)
        return squares
    for drawn in batches:
        y, g = np.zeros_like(G), G[drawn].mean(axis=0)
        squares[0] += float(((g - G.mean(axis=0)) ** 2).sum()) / len(batches)
        y[drawn] = G[drawn]
        descend(1, (x, move(problem, s, x, g)), g, y, 1.0 / len(batches))
    return squares


# --- steps ------------------------------------------------------------------------------------


def proximal_step(problem: Waves, s: Parameters, x: Floats, g: Floats) -> Floats:
    """Return prox(x - step g)."""
    return np.asarray(problem.prox(x, g, s["step"]))


def conditional_step(problem: Waves, s: Parameters, x: Floats, g: Floats) -> Floats:
    """Return x + step (LO(g) - x); the step is 2/(t+2), 2/(t+delay), where it is None."""
    step = 2.0 / (s["t"] + s.get("delay", 2.0)) if s["step"] is None else s["step"]
    return np.asarray(x + step * (problem.lo(g) - x))


def along(
    problem: Waves, s: Parameters, told: Sequence[Told], *, form: Forming, move: Moving
) -> Iterator[Place]:
    """Yield the places of a method that forms its estimate at its iterate, and moves from there.

    The coins that it told are among the parameters that `form` is given; `move` is given t.
    """
    xs, gs = [problem.start()], list[Floats]()
    given = {**s, "coins": [one.coin for one in told]}
    for t, one in enumerate(told):
        formed = form(problem, given, xs, gs)
        yield Place(formed=formed, x=move(problem, {**s, "t": t}, xs[-1], one.estimate))
        xs.append(one.x)
        gs.append(one.estimate)


# --- counts -----------------------------------------------------------------------------------


def epochs(T: int, period: int) -> int:
    """Return how many epochs T steps begin."""
    return -(-T // period)


def with_reference(
    s: Parameters, n: int, *, at_snapshot: bool, lo: int = 0, po: int = 0
) -> tuple[Counts, ...]:
    """Return the counts of T steps of which each epoch's first takes a reference gradient.

    Each other step asks a difference. `at_snapshot`: so does the first, where it is 0 by
    definition; a method may leave that out.
    """
    T, S, size = s["iterations"], s["batch"], s.get("snapshot")
    E = epochs(T, s["period"])
    references, fo = (n * E, E) if size in (None, n) else (size * E, 0)
    between = Counts(fo=fo, sfo=references + 2 * S * (T - E), lo=lo, po=po)
    if not at_snapshot:
        return (between,)
    return Counts(fo=fo, sfo=references + 2 * S * T, lo=lo, po=po), between
