"""What checking and counting cost in runs on a9a: ``python -m benchmarks.counting``.

Each run is made in turn through the bundle that checks and counts, and without it, in one process;
the least times are compared, as what else a machine does only adds to them.
"""

import argparse
from functools import partial
from time import perf_counter, process_time

import pfbench as pf
from benchmarks.profile import A9A, Direct, seconds_by_hand
from benchmarks.timed import problem_of
from pfbench.base.selectors import Selector
from pfbench.oracles import Ledger
from pfbench.runs.loop.asking import oracles_of

RUNS = (
    "prox-spiderboost[step=0.1,batch=180,period=180,iterations=180]",
    "prox-svrg[step=0.1,batch=1019,period=31,iterations=31]",
    "prox-saga[step=0.1,batch=1019,iterations=6]",
)
"""Batches of sqrt(n) and n^(2/3) components."""


def counting(problem, text, seconds, clock):
    """Return the least seconds of a run without counting and with it, and its calls."""
    selector = Selector.parse(text)
    choice = pf.algorithm(selector.name, **selector.parameters)
    algorithm, _ = choice.resolve(problem.constants(problem.start()))
    clocks, ledger = {}, Ledger()
    seconds_by_hand(problem, algorithm, clock, lambda b: Direct(problem, b, clocks))
    seconds_by_hand(problem, algorithm, clock, lambda b: oracles_of(problem, b, ledger))
    without, counted = [], []
    until = perf_counter() + seconds
    while len(counted) < 3 or perf_counter() < until:
        ask = partial(Direct, problem)
        without.append(seconds_by_hand(problem, algorithm, clock, ask))
        ask = partial(oracles_of, problem)
        counted.append(seconds_by_hand(problem, algorithm, clock, ask))
    return min(without), min(counted), sum(calls for _, calls, _ in clocks.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="for each run; 20")
    parser.add_argument("--cpu", action="store_true", help="processor time, on a busy machine")
    given = parser.parse_args()
    problem = problem_of(A9A)
    print("| run on a9a | ms without | ms counted | µs a call | share |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for text in RUNS:
        clock = process_time if given.cpu else perf_counter
        without, counted, calls = counting(problem, text, given.seconds, clock)
        added = counted - without
        print(
            f"| `{text}` | {1e3 * without:.2f} | {1e3 * counted:.2f} | {1e6 * added / calls:.2f} "
            f"| {added / counted:.1%} |"
        )


if __name__ == "__main__":
    main()
