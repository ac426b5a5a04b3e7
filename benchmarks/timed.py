"""Helpers that benchmarks of times share."""

import pfbench as pf
from pfbench.base.selectors import Selector


class Timed:
    """Base class of time benchmarks: samples of about a second, so that the least is reliable."""

    rounds = 1
    repeat = (3, 9, 1.0)
    warmup_time = 0.0
    sample_time = 0.02
    timeout = 300


def problem_of(text):
    """Return the problem that a selector describes."""
    chosen = Selector.parse(text)
    return pf.problem(chosen.name, **chosen.parameters)


def run_of(problem, algorithm, **given):
    """Return a run of a selector's algorithm on a problem, with only the first and last row."""
    chosen = Selector.parse(algorithm)
    given = {"every": 10**6, "seed": 0} | given
    return pf.solve(problem, pf.algorithm(chosen.name, **chosen.parameters), **given)
