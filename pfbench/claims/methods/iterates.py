"""Methods that form their estimate at the iterate and move from there, and their settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from pfbench.claims.methods import estimates
from pfbench.claims.methods.estimates import Forming, Moving
from pfbench.claims.methods.schedules import WANTED, Printed
from pfbench.claims.methods.settings import BALL, PENALTY, SPACE, Small
from pfbench.verification import Instance
from pfbench.verification.laws import Method, Setting, Wanted, setting
from pfbench.verification.laws.method import Parameters


def rows(*of: tuple[int, int, int]) -> tuple[Parameters, ...]:
    """Return parameters from rows of S, p and T."""
    return tuple({"batch": S, "period": p, "iterations": T} for S, p, T in of)


COINED = (
    {"batch": 2, "refresh": 0.4, "iterations": 3},
    {"batch": 1, "refresh": 0.7, "iterations": 4},
)
MIXED = (
    {"batch": 2, "table_weight": 0.3, "iterations": 3},
    {"batch": 1, "table_weight": 0.9, "iterations": 4, "step": 0.2},
    {"batch": 1, "table_weight": 0.3, "iterations": 4, "table": "zero"},
)
ONE_SAMPLE = (
    {"batch": 2, "alpha": 0.3, "iterations": 2},
    {"batch": 1, "alpha": None, "iterations": 4, "step": None},
)
DELAYED = (
    {"batch": 2, "refresh": 0.4, "delay": 5, "iterations": 3},
    {"batch": 1, "refresh": 0.7, "delay": 5, "iterations": 4, "step": None},
)
AT_SNAPSHOTS = rows((1, 3, 5), (1, 4, 4), (2, 2, 3))
SAMPLED_SNAPSHOTS = (
    *AT_SNAPSHOTS,
    {"batch": 1, "period": 2, "iterations": 2, "snapshot": 2},
    {"batch": 1, "period": 2, "iterations": 4, "snapshot": 1},
)
RECURSIVE = rows((1, 3, 6), (2, 2, 4), (2, 3, 3))
BY_SMOOTHNESS = (*RECURSIVE, *({**size, "sampling": "importance"} for size in RECURSIVE[::2]))
SAMPLED_REFERENCES = (
    *RECURSIVE,
    {"batch": 1, "period": 2, "iterations": 3, "snapshot": 2},
    {"batch": 1, "period": 2, "iterations": 3, "snapshot": 3},
)

USUAL: Mapping[Forming, tuple[Parameters, ...]] = {
    estimates.full: ({"iterations": 3},),
    estimates.sg: ({"batch": 2, "iterations": 2}, {"batch": 1, "iterations": 3}),
    estimates.saga: ({"batch": 1, "iterations": 3}, {"batch": 2, "iterations": 2}),
    estimates.svrg: AT_SNAPSHOTS,
    estimates.spider: SAMPLED_REFERENCES,
    estimates.page: COINED,
    estimates.lsvrg: COINED,
    estimates.zerosarah: MIXED,
    estimates.storm: (
        {"batch": 2, "alpha": 0.3, "iterations": 2},
        {"batch": 1, "alpha": 0.3, "iterations": 4},
        {"batch": 1, "alpha": 0.3, "iterations": 3, "snapshot": 2},
    ),
    estimates.heavy_ball: ONE_SAMPLE,
    estimates.doubling: ({"iterations": 5}, {"iterations": 4, "step": None}),
}
"""Parameters with which all draws are enumerated, by how the estimate is formed."""


@dataclass(frozen=True)
class Kind:
    """What decides where a method is run.

    Attributes
    ----------
    followed
        Problems on which its steps are followed; on the first with other numbers of components it
        is counted, its draws are enumerated, and its output is looked at.
    lo, po
        What a step costs.
    move
        A step.
    step_power
        See `Method`.
    """

    followed: tuple[Small, ...]
    lo: int = 0
    po: int = 0
    move: Moving = estimates.proximal_step
    step_power: int = -1


SMOOTH = Kind((SPACE,))
PROJECTED = Kind((BALL,), po=1)
COMPOSITE = Kind((BALL, PENALTY), po=1)
CONDITIONAL = Kind((BALL,), lo=1, move=estimates.conditional_step, step_power=0)


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
    sizes: tuple[Parameters, ...] = (),
    *,
    printed: Callable[[Wanted], Printed],
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
        Parameters with which all draws are enumerated, where they are not `USUAL`.
    printed, whose, wanted
        The schedule, whose it is, and for what it is compared.
    output
        What the source returns; of the gradient itself it is the last iterate.
    """
    sizes = sizes or USUAL[form]
    exact, stores = form is estimates.full, form is estimates.saga
    outputs = ("last", "uniform") if exact or output == "last" else ("uniform", "last")
    known, squares = set(sizes[0]), estimates.SQUARES.get(form)
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

    first, larger = kind.followed[0], kind.followed[0].seven
    pairs = first.two if stores else first
    kept = ("table", "sampling")
    other = tuple({**s, "iterations": 9} for s in sizes if fades(s) or any(k in s for k in kept))
    return Method(
        name=name,
        source=source,
        referee=partial(estimates.along, form=form, move=kind.move),
        counts=partial(estimates.each_step, of=estimates.COUNTING[form], lo=kind.lo, po=kind.po),
        enumerated=(
            *(
                setting(pairs if size.get("batch") == 2 else first, **{"step": 0.4, **size})
                for size in sizes
            ),
            *(() if exact or squares else (made(first.two, 0.4, 3, 2, 2),)),  # batch = n
        ),
        enumerated_in_full=(setting(pairs, step=0.4, batch=2, iterations=3),) if stores else (),
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
            *(drawn(first.one, T, one) for T in (8, 21) for one in outputs),
            drawn(first.two, 4, "uniform"),
        ),
        step_power=kind.step_power,
        stored_squares=partial(squares, move=kind.move) if squares else None,
        schedules=wanted,
        schedule=printed,
        whose=whose,
    )
