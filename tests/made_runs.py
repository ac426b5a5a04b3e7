"""Runs made of the numbers that a test is about."""

from pfbench.base.counts import Counts
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.planning.plan import PlannedRun


def run(values, sfo=None, *, lo=None, seed=0, status="finished", spent=None, algorithm="a"):
    """A run whose measure m takes these values after so many SFO and LO calls.

    `spent` is the SFO of the whole run, where that is more than the last row's.
    """
    sfo = list(range(len(values))) if sfo is None else sfo
    lo = [0] * len(values) if lo is None else lo
    last = (sfo[-1] if sfo else 0) if spent is None else spent
    rows = [
        (k, 0, s, 0, 0, a, 0, 0, s / 10, v)
        for k, (s, a, v) in enumerate(zip(sfo, lo, values, strict=True))
    ]
    return Run(
        problem="p",
        algorithm=algorithm,
        parameters={},
        schedule="explicit",
        seed=seed,
        status=status,
        stop_reason="",
        iterations=max(len(values) - 1, 0),
        counts=Counts(sfo=last, lo=lo[-1] if lo else 0),
        final={},
        seconds=last / 10,
        oracle_seconds=0.0,
        failure_probability=0.0,
        columns=(*TRACE_COLUMNS, "m"),
        rows=rows,
    )


def plan(budget=None, seed=0, stop=None):
    return PlannedRun("p", "a", seed, ("m",), 1, budget, stop)
