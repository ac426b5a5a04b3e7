"""The claims about every method: what is said of one, how it is tested, and what that takes."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.claims.methods.extremes import at_extremes
from pfbench.claims.methods.settings import at_length, at_scales, at_size
from pfbench.verification import Claim, Evidence, laws

_STATED: Mapping[str, tuple[str, str, Callable[..., Evidence], tuple[float, float]]] = {
    "estimate": (
        "law",
        "given the past, each estimate has the source's mean and at most its mean square",
        laws.estimates_as_its_source,
        (1.2, 2.0),
    ),
    "steps": (
        "identity",
        "given the estimates, every step and the draw of the output are the source's",
        laws.steps_as_its_source,
        (0.4, 0.4),
    ),
    "count": (
        "count",
        "a run costs what the source's formula says",
        laws.keeps_its_counts,
        (0.02, 0.02),
    ),
    "run": (
        "law",
        "along a run at the size of use each step, estimate, index and count is the source's",
        laws.runs_as_its_source,
        (3.0, 3.0),
    ),
    "schedule": (
        "identity",
        "the schedule for an accuracy: {whose}",
        laws.keeps_its_schedule,
        (0.02, 0.02),
    ),
}
"""The kind, the statement, the check, and the seconds that it takes, quick and full."""


def claims_of(*methods: laws.Method) -> tuple[Claim, ...]:
    """Return the claims about methods: estimate, steps, count, run, and the schedule if any."""
    every = (at_extremes(at_length(at_size(at_scales(method)))) for method in methods)
    return tuple(claim for method in every for claim in _of_one(method))


def _of_one(method: laws.Method) -> Iterator[Claim]:
    for what, (kind, statement, check, takes) in _STATED.items():
        run, schedule = what == "run", what == "schedule"
        if (run and not method.sized) or (schedule and method.schedule is None):
            continue
        yield Claim(
            name=f"methods-{what}-{method.name}",
            source=method.source,
            kind=kind,
            statement=statement.format(whose=method.whose),
            check=partial(check, method=method),
            instances=tuple(one.problem for one in method.sized) if run else method.problems,
            algorithm=method.name,
            drawn=run,
            assumptions=("f_i smooth",),
            schedule="that of the statement" if schedule else "explicit",
            takes=takes,
            normalised=ALGORITHMS[method.name].normalised if schedule else "",
        )


def settings_at_size(claim: Claim) -> tuple[laws.Setting, ...]:
    """Return the settings in which a claim follows runs of the size of use; none of most claims."""
    if not (claim.drawn and isinstance(claim.check, partial)):
        return ()
    found: tuple[laws.Setting, ...] = claim.check.keywords["method"].sized
    return found
