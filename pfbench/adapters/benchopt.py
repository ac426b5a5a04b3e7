"""Functions for benchopt benchmarks; `pfbench new benchopt` writes files that call them."""

from pfbench.base.counts import COUNTED
from pfbench.base.protocols import Problem
from pfbench.base.selectors import Selector
from pfbench.base.state import Point, State
from pfbench.measures.catalogue import available_measures
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.solve import solve
from pfbench.runs.planning.name_resolution import select_algorithm, select_problem


def load_problem(selector: str) -> Problem:
    """Return the built-in or user-defined (FILE.py:NAME) problem that a selector names."""
    return select_problem(selector)


def run_algorithm(problem: Problem, selector: str, iterations: int, seed: int = 0) -> Run:
    """Run the algorithm that a selector names for `iterations` iterations; return the run."""
    parsed = Selector.parse(selector)
    longer = Selector(parsed.name, {**parsed.parameters, "iterations": iterations})
    return solve(problem, select_algorithm(str(longer)), seed=seed)


def evaluate_measures(problem: Problem, x: Point, run: Run | None = None) -> dict[str, float]:
    """Return a dict of all measures that are defined at x, from name to value at x.

    For a measure with a certified interval, the value is its upper end. The objective is called
    ``value``, as in benchopt. The oracle counts and the seconds of `run` are included; they are 0
    if `run` is None.
    """
    measured = {
        name: measure(problem, State(x)) for name, measure in available_measures(problem).items()
    }
    measured["value"] = measured.pop("objective")
    upper = {name: m[1] if isinstance(m, tuple) else m for name, m in measured.items()}
    counts = dict.fromkeys(COUNTED, 0) if run is None else run.counts.as_dict()
    spent = {**counts, "seconds": 0.0 if run is None else run.seconds}
    return {name: float(m) for name, m in upper.items() if m is not None} | spent
