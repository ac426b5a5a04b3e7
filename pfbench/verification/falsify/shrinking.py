"""Shrinking of a counterexample: horizon, components, coordinates, pieces, then numbers."""

from collections.abc import Callable
from time import process_time

from pfbench.verification.falsify.bodies import Genome
from pfbench.verification.falsify.genomes import repair, simpler, simpler_numbers, size
from pfbench.verification.falsify.search import Entry, Search

_HORIZONS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def shrink(
    search: Search, entry: Entry, work: int, until: float, least: float | None = None
) -> Entry:
    """Return a simpler entry whose ratio stays above 1 by a third of the excess, or above `least`.

    Parameters
    ----------
    search
        Measures, and counts the effort.
    entry
        The candidate.
    work
        Steps of the method that it may take.
    until
        Processor time at which it ends in any case.
    least
        The ratio to keep, in place of a share of the excess.
    """
    keep = 1.0 + min((entry.ratio - 1.0) / 3, 0.5) if least is None else least
    best, limit = entry, search.work + work

    def attempt(genome: Genome, T: int) -> bool:
        nonlocal best
        found = search.measure(repair(genome, search.classes), T, best.seed, runs=16)
        if found is None or float(found.ratio) < keep:
            return False
        best = Entry(genome, T, best.seed, found)
        return True

    def has_time() -> bool:
        return search.work < limit and process_time() < until

    improved = True
    while improved and has_time():
        improved = _shorten(search, best, attempt)
        for changes in (simpler, simpler_numbers):
            restart = True
            while restart and has_time():
                restart = False
                for genome in changes(best.genome):
                    if not has_time():
                        break
                    if size(genome) < size(best.genome) and attempt(genome, best.T):
                        improved = restart = True
                        break
    return best


def _shorten(search: Search, entry: Entry, attempt: Callable[[Genome, int], bool]) -> bool:
    """Lower the horizon; return whether that was possible."""
    if search.statement.horizon is None:
        return False
    over = search.statement.statistic
    at = entry.found.t + (0 if over == "every" else 1)
    known = [at] if over in ("every", "step", "least") and at < entry.T else []
    return any(attempt(entry.genome, T) for T in (*_HORIZONS, *known) if T < entry.T)
