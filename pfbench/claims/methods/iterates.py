"""Methods that form their estimate at the iterate and move from there: settings and counts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pfbench.base.counts import Counts
from pfbench.claims.methods.stating import (
    BALL,
    CONSTANTS,
    ONE,
    ONE_ON_BALL,
    PENALTY,
    SEVEN,
    SEVEN_ON_BALL,
    SMALLEST,
    SPACE,
    TWO,
    TWO_ON_BALL,
    Forming,
    Moving,
    along,
    conditional_step,
    doubling,
    full,
    heavy_ball,
    lsvrg,
    mixed_squares,
    page,
    proximal_step,
    saga,
    sg,
    stored_squares,
    storm,
    svrg,
    with_reference,
    zerosarah,
)
from pfbench.verification import Instance
from pfbench.verification.laws import Method, Setting, Wanted, setting
from pfbench.verification.laws.method import Parameters

Counting = Callable[..., tuple[Counts, ...]]

Printed = Callable[[Wanted], dict[str, float | None]]

WANTED = (
    *(Wanted(epsilon, c) for epsilon in (0.4, 0.03) for c in CONSTANTS),
    *(Wanted(0.4, c) for c in SMALLEST),
)
"""For what schedules are compared."""

DRAWN = tuple(
    Wanted(epsilon, c, {"sampling": "importance"}) for epsilon in (0.4, 0.03) for c in CONSTANTS
)
"""And where components are drawn by their L_i."""


# --- counts -----------------------------------------------------------------------------------


def of_gradients(s: Parameters, n: int, *, lo: int, po: int) -> tuple[Counts, ...]:
    """Return FO T, SFO nT; lo and po are what a step costs of them, so in the next ones."""
    T = s["iterations"]
    return (Counts(fo=T, sfo=n * T, lo=lo * T, po=po * T),)


def of_batches(s: Parameters, n: int, *, lo: int, po: int) -> tuple[Counts, ...]:
    """Return SFO bT."""
    return (
        Counts(sfo=s["batch"] * s["iterations"], lo=lo * s["iterations"], po=po * s["iterations"]),
    )


def of_coins(s: Parameters, n: int, *, lo: int, po: int) -> tuple[Counts, ...]:
    """Return those of a full gradient at the first step and at each head, else of a difference."""
    T, R = s["iterations"], s["heads"]
    sfo = n * (1 + R) + 2 * s["batch"] * (T - 1 - R)
    return (Counts(fo=1 + R, sfo=sfo, lo=lo * T, po=po * T),)


def of_pairs(s: Parameters, n: int, *, lo: int, po: int) -> tuple[Counts, ...]:
    """Return SFO b0 + 2b(T-1), b0 = b where it is not given."""
    T, b = s["iterations"], s["batch"]
    first = s.get("snapshot") or b
    return (Counts(sfo=first + 2 * b * (T - 1), lo=lo * T, po=po * T),)


def of_mixed(s: Parameters, n: int, *, lo: int, po: int) -> tuple[Counts, ...]:
    """Return SFO n + 2b(T-1) of a full table, b + 2b(T-1) of one of zeros."""
    T, b = s["iterations"], s["batch"]
    first = b if s.get("table") == "zero" else n
    return (Counts(sfo=first + 2 * b * (T - 1), lo=lo * T, po=po * T),)


def of_tables(s: Parameters, n: int, *, lo: int, po: int) -> tuple[Counts, ...]:
    """Return SFO n + 2bT: two batches a step."""
    T = s["iterations"]
    return (Counts(sfo=n + 2 * s["batch"] * T, lo=lo * T, po=po * T),)


def of_epochs(s: Parameters, n: int, *, lo: int, po: int, at_snapshot: bool) -> tuple[Counts, ...]:
    """Return those of a reference gradient for each epoch."""
    return with_reference(
        s, n, at_snapshot=at_snapshot, lo=lo * s["iterations"], po=po * s["iterations"]
    )


def of_doubling(s: Parameters, n: int, *, lo: int, po: int) -> tuple[Counts, ...]:
    """Return those of a full gradient at steps 1, 2, 4, ..., else of as large a difference."""
    T, fo, sfo, size = s["iterations"], 0, 0, 1
    while size <= T:
        fo, sfo = fo + 1, sfo + n + 2 * size * (min(2 * size - 1, T) - size)
        size *= 2
    return (Counts(fo=fo, sfo=sfo, lo=lo * T, po=po * T),)


# --- the settings ---------------------------------------------------------------------------------


def _sizes(*rows: tuple[int, int, int]) -> tuple[Parameters, ...]:
    """Return parameters from rows of S, p and T."""
    return tuple({"batch": S, "period": p, "iterations": T} for S, p, T in rows)


GRADIENTS = ({"iterations": 3},)
BATCHES = ({"batch": 2, "iterations": 2}, {"batch": 1, "iterations": 3})
TABLES = ({"batch": 1, "iterations": 3}, {"batch": 2, "iterations": 2})
COINED = (
    {"batch": 2, "refresh": 0.4, "iterations": 3},
    {"batch": 1, "refresh": 0.7, "iterations": 4},
)
MIXED = (
    {"batch": 2, "table_weight": 0.3, "iterations": 3},
    {"batch": 1, "table_weight": 0.9, "iterations": 4, "step": 0.2},
    {"batch": 1, "table_weight": 0.3, "iterations": 4, "table": "zero"},
)
CORRECTED = (
    {"batch": 2, "alpha": 0.3, "iterations": 2},
    {"batch": 1, "alpha": 0.3, "iterations": 4},
    {"batch": 1, "alpha": 0.3, "iterations": 3, "snapshot": 2},
)
ONE_SAMPLE = (
    {"batch": 2, "alpha": 0.3, "iterations": 2},
    {"batch": 1, "alpha": None, "iterations": 4, "step": None},
)
DELAYED = (
    {"batch": 2, "refresh": 0.4, "delay": 5, "iterations": 3},
    {"batch": 1, "refresh": 0.7, "delay": 5, "iterations": 4, "step": None},
)
DOUBLED = ({"iterations": 5}, {"iterations": 4, "step": None})
AT_SNAPSHOTS = _sizes((1, 3, 5), (1, 4, 4), (2, 2, 3))
RECURSIVE = _sizes((1, 3, 6), (2, 2, 4), (2, 3, 3))
BY_SMOOTHNESS = tuple({**size, "sampling": "importance"} for size in RECURSIVE[::2])
SAMPLED_SNAPSHOTS = (
    {"batch": 1, "period": 2, "iterations": 2, "snapshot": 2},
    {"batch": 1, "period": 2, "iterations": 4, "snapshot": 1},
)
SAMPLED_REFERENCES = (
    {"batch": 1, "period": 2, "iterations": 3, "snapshot": 2},
    {"batch": 1, "period": 2, "iterations": 3, "snapshot": 3},
)


@dataclass(frozen=True)
class Kind:
    """What decides where a method is run.

    Attributes
    ----------
    followed
        Problems on which its steps are followed; draws are enumerated on the first.
    counted, one
        The problem with seven components, and the one with a single component.
    two
        The problem with two components, where pairs of larger batches are enumerated.
    lo, po
        What a step costs.
    move
        A step.
    step_power
        See `Method`.
    """

    followed: tuple[Instance, ...]
    counted: Instance
    one: Instance
    two: Instance
    lo: int
    po: int
    move: Moving
    step_power: int = -1


SMOOTH = Kind((SPACE,), SEVEN, ONE, TWO, 0, 0, proximal_step)
PROJECTED = Kind((BALL,), SEVEN_ON_BALL, ONE_ON_BALL, TWO_ON_BALL, 0, 1, proximal_step)
COMPOSITE = Kind((BALL, PENALTY), SEVEN_ON_BALL, ONE_ON_BALL, TWO_ON_BALL, 0, 1, proximal_step)
CONDITIONAL = Kind((BALL,), SEVEN_ON_BALL, ONE_ON_BALL, TWO_ON_BALL, 1, 0, conditional_step, 0)


_COUNTING: dict[Forming, Counting] = {
    **{full: of_gradients, sg: of_batches, saga: of_tables},
    **{page: of_coins, lsvrg: of_coins, zerosarah: of_mixed},
    **{storm: of_pairs, heavy_ball: of_batches, doubling: of_doubling},
}
"""The counts by how the estimate is formed; else those of epochs."""

_SQUARES: dict[Forming, Callable[..., list[float]]] = {
    saga: stored_squares,
    zerosarah: mixed_squares,
}
"""The mean squares of estimates with a table."""

_OWN = frozenset({"refresh", "table_weight", "alpha", "delay"})
"""Parameters of an estimator that are no sizes, and stay the same in all settings."""


def fades(size: Parameters) -> bool:
    """Return whether a step or a weight is left to the method, which lets it fade."""
    return None in (size.get("step", 0.0), size.get("alpha", 0.0))


def stated(
    name: str,
    source: str,
    kind: Kind,
    form: Forming,
    sizes: tuple[Parameters, ...],
    *,
    printed: Printed,
    whose: str,
    wanted: tuple[Wanted, ...] = WANTED,
    output: str = "uniform",
) -> Method:
    """Return what a source says of steps along an estimate at the iterate.

    Parameters
    ----------
    name, source
        The catalogue's name; paper and number.
    kind
        Where it runs, and how it moves.
    form
        How the estimate is formed.
    sizes
        Parameters with which all draws are enumerated.
    printed, whose, wanted
        The schedule, whose it is, and for what it is compared.
    output
        What the source returns; of the gradient itself it is the last iterate.
    """
    first_output = ("last" if form is full else output).__ne__
    known, squares = set(sizes[0]), _SQUARES.get(form)
    online = any("snapshot" in size for size in sizes)
    own = {key: value for key, value in sizes[0].items() if key in _OWN}

    def made(problem: Instance, step: float, T: int, S: int, p: int) -> Setting:
        given = {"batch": S, "period": p}
        kept = {key: value for key, value in given.items() if key in known}
        return setting(problem, step=step, iterations=T, **kept, **own)

    def drawn(problem: Instance, T: int, output: str) -> Setting:
        parameters = {**made(problem, 0.3, T, 1, 3).parameters, "output": output}
        sure = {"refresh": 1.0} if "refresh" in own else {}  # so that the output's draw is left
        return setting(problem, **parameters | sure)

    def sampled(problem: Instance, T: int, B: int) -> Setting:
        given = {**made(problem, 0.2, T, 2, 3).parameters, "snapshot": B}
        return setting(problem, **given)

    in_epochs = partial(of_epochs, at_snapshot=form is svrg)
    first, larger = kind.followed[0], kind.counted
    pairs = kind.two if form is saga else first
    of_all = () if form is full or squares else (made(kind.two, 0.4, 3, 2, 2),)  # batch = n
    kept = ("table", "sampling")
    other = tuple({**s, "iterations": 9} for s in sizes if fades(s) or any(k in s for k in kept))
    return Method(
        name=name,
        source=source,
        referee=partial(along, form=form, move=kind.move),
        counts=partial(_COUNTING.get(form, in_epochs), lo=kind.lo, po=kind.po),
        enumerated=tuple(
            setting(pairs if size.get("batch") == 2 else first, **{"step": 0.4, **size})
            for size in sizes
        )
        + of_all,
        enumerated_in_full=(setting(pairs, step=0.4, batch=2, iterations=3),)
        if form is saga
        else (),
        followed=(
            *(made(problem, 0.3, 10, 3, 4) for problem in kind.followed),
            made(first, 0.9, 4, 1, 2),
            *((sampled(first, 7, 2),) if online else ()),
            *(setting(first, **{"step": 0.3, **size}) for size in other),
        ),
        counted=(
            made(larger, 0.1, 10, 3, 4),
            made(larger, 0.1, 7, 9, 3),
            made(larger, 0.1, 3, 1, 1),
            *((sampled(larger, 7, 5), sampled(larger, 4, 7)) if online else ()),
            *(setting(larger, **{"step": 0.1, **size}) for size in other),
        ),
        chosen=(
            *(
                drawn(kind.one, T, output)
                for T in (8, 21)
                for output in sorted(("last", "uniform"), key=first_output)
            ),
            drawn(kind.two, 4, "uniform"),
        ),
        step_power=kind.step_power,
        stored_squares=partial(squares, move=kind.move) if squares else None,
        schedules=wanted,
        schedule=printed,
        whose=whose,
    )
