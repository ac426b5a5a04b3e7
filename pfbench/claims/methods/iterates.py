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
    full,
    proximal_step,
    saga,
    sg,
    stored_squares,
    svrg,
    with_reference,
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


def of_tables(s: Parameters, n: int, *, lo: int, po: int) -> tuple[Counts, ...]:
    """Return SFO n + 2bT: two batches a step."""
    T = s["iterations"]
    return (Counts(sfo=n + 2 * s["batch"] * T, lo=lo * T, po=po * T),)


def of_epochs(s: Parameters, n: int, *, lo: int, po: int, at_snapshot: bool) -> tuple[Counts, ...]:
    """Return those of a reference gradient for each epoch."""
    return with_reference(
        s, n, at_snapshot=at_snapshot, lo=lo * s["iterations"], po=po * s["iterations"]
    )


# --- the settings ---------------------------------------------------------------------------------


def _sizes(*rows: tuple[int, int, int]) -> tuple[Parameters, ...]:
    """Return parameters from rows of S, p and T."""
    return tuple({"batch": S, "period": p, "iterations": T} for S, p, T in rows)


GRADIENTS = ({"iterations": 3},)
BATCHES = ({"batch": 2, "iterations": 2}, {"batch": 1, "iterations": 3})
TABLES = ({"batch": 1, "iterations": 3}, {"batch": 2, "iterations": 2})
AT_SNAPSHOTS = _sizes((1, 3, 5), (1, 4, 4), (2, 2, 3))
RECURSIVE = _sizes((1, 3, 6), (2, 2, 4), (2, 3, 3))
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
    """
    known, tables = set(sizes[0]), form is saga
    online = any("snapshot" in size for size in sizes)

    def made(problem: Instance, step: float, T: int, S: int, p: int) -> Setting:
        given = {"batch": S, "period": p}
        kept = {key: value for key, value in given.items() if key in known}
        return setting(problem, step=step, iterations=T, **kept)

    def sampled(problem: Instance, T: int, B: int) -> Setting:
        return setting(problem, step=0.2, iterations=T, batch=2, period=3, snapshot=B)

    counting: dict[Forming, Counting] = {full: of_gradients, sg: of_batches, saga: of_tables}
    in_epochs = partial(of_epochs, at_snapshot=form is svrg)
    first, larger = kind.followed[0], kind.counted
    pairs = kind.two if tables else first
    of_all = () if form in (full, saga) else (made(kind.two, 0.4, 3, 2, 2),)  # batch = n
    return Method(
        name=name,
        source=source,
        referee=partial(along, form=form, move=kind.move),
        counts=partial(counting.get(form, in_epochs), lo=kind.lo, po=kind.po),
        enumerated=tuple(
            setting(pairs if size.get("batch") == 2 else first, step=0.4, **size) for size in sizes
        )
        + of_all,
        enumerated_in_full=(setting(pairs, step=0.4, batch=2, iterations=3),) if tables else (),
        followed=(
            *(made(problem, 0.3, 10, 3, 4) for problem in kind.followed),
            made(first, 0.9, 4, 1, 2),
            *((sampled(first, 7, 2),) if online else ()),
        ),
        counted=(
            made(larger, 0.1, 10, 3, 4),
            made(larger, 0.1, 7, 9, 3),
            made(larger, 0.1, 3, 1, 1),
            *((sampled(larger, 7, 5), sampled(larger, 4, 7)) if online else ()),
        ),
        chosen=(
            *(
                setting(kind.one, **made(kind.one, 0.3, T, 1, 3).parameters, output=output)
                for T in (8, 21)
                for output in (("last", "uniform") if form is full else ("uniform", "last"))
            ),
            setting(kind.two, **made(kind.two, 0.3, 4, 1, 3).parameters, output="uniform"),
        ),
        step_power=kind.step_power,
        stored_squares=partial(stored_squares, move=kind.move) if tables else None,
        schedules=wanted,
        schedule=printed,
        whose=whose,
    )
