"""Exact counts of every algorithm of the catalogue up to its target: see ``cases.py``.

A benchmark for each algorithm, and in it a value for each kind of call that the algorithm makes.
All cases are run once, ahead of the benchmarks. One that the commit cannot run fails by itself.
"""

import traceback

from benchmarks.cases import CASES, counted
from benchmarks.history.stored import calls_of


def setup_cache():
    found = {}
    for name, case in CASES.items():
        try:
            found[name] = counted(case)
        except Exception:  # an older commit lacks it; the others still have theirs
            traceback.print_exc()
    return found


setup_cache.timeout = 300


def track_missed(found):
    """Return the number of cases that end before they reach their target."""
    return sum(counts["missed"] for counts in found.values())


track_missed.unit, track_missed.version = "cases", "1"


def track_lacking(found):
    """Return the number of today's algorithms that this commit lacks or cannot run."""
    return len(CASES) - len(found)


track_lacking.unit, track_lacking.version = "algorithms", "1"


def _benchmark(name, case):
    def track(found, calls):
        return found[name][calls]

    track.__name__ = f"track_{name.replace('-', '_')}"
    track.params, track.param_names = (calls_of(name),), ("calls",)
    track.unit, track.version = "calls", str(case.version)
    return track


for _name, _case in CASES.items():
    _track = _benchmark(_name, _case)
    globals()[_track.__name__] = _track
