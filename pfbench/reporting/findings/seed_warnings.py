"""Whether the seeds of a study are enough for its tests to tell anything."""

from pfbench.reporting.statistics.significance import seeds_needed
from pfbench.reporting.wording import pluralize


def seed_warning(seeds: int, pairs: int, vain: str) -> str:
    """Return a sentence where no test of so many pairs can be significant, whatever the runs are.

    Parameters
    ----------
    seeds, pairs
        How many there are; Holm's correction is over all pairs.
    vain
        What the seeds cannot do, as in "tell no two methods apart in a table of".

    Returns
    -------
    str
        Empty where the seeds are enough.
    """
    needed = seeds_needed(pairs) if pairs else 0
    if seeds >= needed:
        return ""
    return (
        f"{pluralize(seeds, 'seed')} can {vain} {pluralize(pairs, 'pair')}, unless nothing varies over "  # noqa: E501
        f"the seeds: it takes {needed}."
    )
