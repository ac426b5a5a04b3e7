"""What the claims of sliding methods share: their instances, and steps that condg decides."""

from collections.abc import Sequence

from pfbench.claims.methods.schedules import CONSTANTS, SMALLEST
from pfbench.verification import Floats
from pfbench.verification.instruments.condg import Inner
from pfbench.verification.laws import Formed, Place, Wanted

WANTED = (
    *(Wanted(epsilon, c) for epsilon in (2.0, 0.4) for c in CONSTANTS),
    *(Wanted(1000.0, c) for c in SMALLEST),
)


def decided(
    formed: Formed,
    x: Floats,
    calls: Sequence[Inner],
    made: int,
    whole: bool = True,
    printed: bool = True,
) -> Place:
    """Return the place of a step that condg decides.

    Parameters
    ----------
    formed, x
        See `Place`.
    calls
        The calls of condg that are known.
    made
        The linear minimisations that the step made.
    whole
        Whether all its calls are known.
    printed
        Whether the source prints each step of condg; if not, any Frank-Wolfe may be meant.
    """
    needed = [one.calls for one in calls]
    ratios = [one.gap for one in calls]
    if whole:
        ratios.append(made / sum(one.most for one in calls))
    known = whole and None not in needed
    total = sum(number or 0 for number in needed) if known else None
    strays = printed and any(one.strays for one in calls)
    return Place(formed=formed, x=x, ratios=tuple(ratios), minimisations=total, strays=strays)
