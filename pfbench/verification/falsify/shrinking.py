"""Shrinking of a counterexample: horizon, components, coordinates, pieces, then numbers."""

from collections.abc import Callable, Iterator
from time import monotonic

from pfbench.verification.falsify.genomes import (
    genome_cost,
    repair_genome,
    simplify_numbers,
    simplify_structure,
)
from pfbench.verification.falsify.search import Entry, Search
from pfbench.verification.falsify.searched_set import Genome

_HORIZONS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def shrink_entry(
    search: Search, entry: Entry, work: int, seconds: float, lower: float | None = None
) -> Entry:
    """Return a simpler entry whose ratio stays above 1 by a third of the excess, or above `lower`.

    Parameters
    ----------
    search
        Measures, and counts the effort.
    entry
        The candidate.
    work
        Steps of the method that it may take.
    seconds
        Seconds that it may take.
    lower
        The ratio to keep, in place of a share of the excess.
    """
    if lower is None:  # expectations are exact where T is small
        largest_gap = 0.04 if search.statement.is_expectation else 0.5
        lower = 1.0 + min((entry.ratio - 1.0) / 3, largest_gap)
    best, limit = entry, search.work + work
    deadline = min(search.deadline, monotonic() + seconds)

    def has_time() -> bool:
        return search.work < limit and monotonic() < deadline

    def attempt(genome: Genome, T: int) -> bool:
        nonlocal best
        genome = repair_genome(genome, search.instance_class)
        result = search.measure(genome, T, best.seed, runs=16) if has_time() else None
        if result is None or not float(result.ratio) >= lower:
            return False
        best = Entry(genome, T, best.seed, result)
        return True

    def shorten() -> None:
        t = best.result.t + (search.statement.statistic != "every")
        last = [t] if search.statement.is_for_each_run else []
        if search.statement.horizon is not None:
            any(attempt(best.genome, T) for T in (*_HORIZONS, *last) if T < best.T)

    def simplify(changes: Callable[[Genome], Iterator[Genome]]) -> bool:
        """Make the first change that keeps the ratio; return whether there is one."""
        cost, genome, T = genome_cost(best.genome), best.genome, best.T
        return any(genome_cost(new) < cost and attempt(new, T) for new in changes(genome))

    while has_time():
        before = best
        shorten()
        for changes in (simplify_structure, simplify_numbers):
            while simplify(changes):
                pass
        if best is before:
            break
    return best
