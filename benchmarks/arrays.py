"""Times of dense gradients by PyTorch, next to pfbench's loops and memory bandwidth.

    python -m benchmarks.arrays torch torch:cuda

One read of the data is the least that a gradient takes: what a sum of all of them takes is set
against it. All stands in one process, times are medians.
"""

import argparse
import statistics
import time
from functools import partial

import numpy as np

import pfbench as pf
from pfbench.problems.torch_problem import open_device

PROBLEMS = {
    "multitask-sigmoid": {"kinds": 10, "copies": 5, "rows": 4000, "columns": 300},
    "multiclass-logistic": {"source": "synthetic", "rows": 100_000, "columns": 300},
    "matrix-regression": {"rows": 100, "columns": 100, "n": 5000},
}
REPEATS = 9


def seconds(work) -> float:
    """Return the median time of calls of `work`, after a first call that is not counted."""
    work()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def reading(device: str, entries: int) -> float:
    """Return the time in which a device reads `entries` numbers."""
    given = open_device(device)(np.ones(entries))
    # What is asked for on a device is only waited for where something comes back.
    return seconds(lambda: float(given.sum()))


def main() -> None:
    """Print a table row for each problem and library."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("devices", nargs="+", help="as in torch, torch:cuda")
    names = parser.parse_args().devices
    rng = np.random.default_rng(0)
    print("| problem | device | gradient ms | ours ms | share of the bandwidth |")
    print("| --- | --- | --: | --: | --: |")
    for name, parameters in PROBLEMS.items():
        ours = pf.problem(name, **parameters)
        x = rng.standard_normal(ours.shape)
        loops = seconds(partial(ours.gradient, x))
        for text in names:
            theirs = pf.problem(name, arrays=text, **parameters)
            data = next(iter(ours._data)) if hasattr(ours, "_data") else ours.data.rows
            taken = seconds(partial(theirs.gradient, x))
            share = reading(text, data.size) / taken
            error = np.abs(theirs.gradient(x) - ours.gradient(x)).max()
            assert error <= 1e-9 * np.abs(ours.gradient(x)).max()
            print(f"| {name} | {text} | {1e3 * taken:.1f} | {1e3 * loops:.1f} | {share:.0%} |")


if __name__ == "__main__":
    main()
