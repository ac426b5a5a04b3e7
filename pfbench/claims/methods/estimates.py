"""What sources of several families have in common: estimates, steps, and what they cost."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pfbench.base.counts import Counts
from pfbench.verification import Floats
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Place, Told
from pfbench.verification.laws.method import Chances, Parameters

Forming = Callable[[Waves, Parameters, Sequence[Floats], Sequence[Floats]], Formed]
"""How an estimator forms g_t, from x_0 .. x_t and g_0 .. g_{t-1}."""

Moving = Callable[[Waves, Parameters, Floats, Floats], Floats]
"""Where a step leads from a point and an estimate."""


Counting = Callable[[Parameters, int], tuple[Counts, ...]]
"""The counts of a run, from its parameters and n; several may be right."""

_SEARCHED = 1e-8
"""How far above the least value on the segment an exact line search may end, relative to f."""


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
    return averaged(xs, gs, alpha if gs else 1.0, s["batch"])


def averaged(xs: Sequence[Floats], gs: Sequence[Floats], alpha: float, batch: int) -> Formed:
    """Return (1 - alpha) times the estimate before plus alpha times a batch gradient."""
    known = (1.0 - alpha) * gs[-1] if gs else 0.0
    return Formed(at=xs[-1], batch=batch, known=known, weight=alpha)


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


def searched(
    problem: Waves, formed: Formed, d: Floats, most: float, there: Floats
) -> tuple[Place, float]:
    """Return the place of a step to the least value on x + gamma d, and the gamma that was taken.

    The point told must lie on the segment, gamma in [0, most], and not above what a grid of it has,
    refined.
    """
    x, values = formed.at, problem.along(formed.at, d)
    gamma = min(most, max(0.0, float((there - x) @ d / (float(d @ d) or 1.0))))
    low, high, least = 0.0, most, np.inf
    for _ in range(5):
        grid = np.linspace(low, high, 33)
        found = values(grid)
        best = int(np.argmin(found))
        least = min(least, float(found[best]))
        low, high = grid[max(0, best - 1)], grid[min(32, best + 1)]
    above = (problem.value(there) - least) / (_SEARCHED * max(1.0, abs(least)))
    return Place(formed=formed, x=x + gamma * d, ratios=(above,)), gamma


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


def own_output(problem: Waves, s: Parameters, places: Sequence[Place]) -> Chances:
    """Return the law of an output that the source has of its own: it is where the run ends."""
    found = places[-1].output
    assert found is not None
    return [(1.0, found)]


# --- counts -----------------------------------------------------------------------------------


def epochs(T: int, period: int) -> int:
    """Return how many epochs T steps begin."""
    return -(-T // period)


def each_step(
    s: Parameters, n: int, *, of: Counting, lo: int = 0, po: int = 0
) -> tuple[Counts, ...]:
    """Return the counts of estimates, and with them what each step costs of LO and PO."""
    T = s["iterations"]
    return tuple(replace(one, lo=lo * T, po=po * T) for one in of(s, n))


def of_gradients(s: Parameters, n: int, *, lo: int = 0) -> tuple[Counts, ...]:
    """Return FO T, SFO nT; lo are the LO of all steps, so in `with_reference`."""
    T = s["iterations"]
    return (Counts(fo=T, sfo=n * T, lo=lo),)


def of_batches(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return SFO bT."""
    return (Counts(sfo=s["batch"] * s["iterations"]),)


def of_coins(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return those of a full gradient at the first step and at each head, else of a difference."""
    full = 1 + s["heads"]
    return (Counts(fo=full, sfo=n * full + 2 * s["batch"] * (s["iterations"] - full)),)


def of_pairs(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return SFO b0 + 2b(T-1), b0 = b where it is not given."""
    first = s.get("snapshot") or s["batch"]
    return (Counts(sfo=first + 2 * s["batch"] * (s["iterations"] - 1)),)


def of_mixed(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return SFO n + 2b(T-1) of a full table, b + 2b(T-1) of one of zeros."""
    first = s["batch"] if s.get("table") == "zero" else n
    return (Counts(sfo=first + 2 * s["batch"] * (s["iterations"] - 1)),)


def of_tables(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return SFO n + 2bT: two batches a step."""
    return (Counts(sfo=n + 2 * s["batch"] * s["iterations"]),)


def of_doubling(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return those of a full gradient at steps 1, 2, 4, ..., else of as large a difference."""
    T, fo, sfo, size = s["iterations"], 0, 0, 1
    while size <= T:
        fo, sfo = fo + 1, sfo + n + 2 * size * (min(2 * size - 1, T) - size)
        size *= 2
    return (Counts(fo=fo, sfo=sfo),)


def with_reference(s: Parameters, n: int, *, at_snapshot: bool, lo: int = 0) -> tuple[Counts, ...]:
    """Return the counts of T steps of which each epoch's first takes a reference gradient.

    Each other step asks a difference. `at_snapshot`: so does the first, where it is 0 by
    definition; a method may leave that out.
    """
    T, S, size = s["iterations"], s["batch"], s.get("snapshot")
    E = epochs(T, s["period"])
    references, fo = (n * E, E) if size in (None, n) else (size * E, 0)
    between = Counts(fo=fo, sfo=references + 2 * S * (T - E), lo=lo)
    return (replace(between, sfo=references + 2 * S * T), between) if at_snapshot else (between,)


COUNTING: Mapping[Forming, Counting] = {
    **{full: of_gradients, sg: of_batches, saga: of_tables},
    **{page: of_coins, lsvrg: of_coins, zerosarah: of_mixed},
    **{storm: of_pairs, heavy_ball: of_batches, doubling: of_doubling},
    svrg: partial(with_reference, at_snapshot=True),
    spider: partial(with_reference, at_snapshot=False),
}
"""The counts by how the estimate is formed."""

SQUARES: Mapping[Forming, Callable[..., list[float]]] = {
    saga: stored_squares,
    zerosarah: mixed_squares,
}
"""The mean squares of estimates with a table."""
