"""What benchmarks of times share; nothing is measured here."""

import pfbench as pf
from pfbench.base.selectors import Selector


class Timed:
    """So many samples that the least of them says something, in about a second."""

    rounds = 1
    repeat = (3, 9, 1.0)
    warmup_time = 0.0
    sample_time = 0.02
    timeout = 300


def problem_of(text):
    """Return the problem of a selector."""
    chosen = Selector.parse(text)
    return pf.problem(chosen.name, **chosen.parameters)


def run_of(problem, algorithm, **given):
    """Return the run of an algorithm, a selector, on a problem; no row but the first and last."""
    chosen = Selector.parse(algorithm)
    given = {"every": 10**6, "seed": 0} | given
    return pf.solve(problem, pf.algorithm(chosen.name, **chosen.parameters), **given)
