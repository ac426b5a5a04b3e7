"""Matrix recovery at one size: peak memory of a run, and times in units of a pair of products.

A pair is scipy's CSR product ``A @ v`` and the same with the transposed copy, one thread each, on
the observed entries of the same problem, timed in turn with what it is compared with.
"""

import dataclasses
import math
import sys
from contextlib import suppress
from statistics import median
from time import perf_counter, process_time

import numpy as np

import pfbench as pf
from pfbench.kernels.libraries import single_blas_thread
from pfbench.kernels.numba_compilation import compile_parallel, prange
from pfbench.oracles import Ledger
from pfbench.points import RankOne
from pfbench.points.operators import SparseOperator
from pfbench.runs.loop.drive import drive
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.sets.lanczos import leading_singular_triple

SIZES = {
    "100k": (943, 1_682, 100_000),
    "1M": (6_040, 3_706, 1_000_000),
    "10M": (72_000, 10_000, 10_000_000),
    "25M": (160_000, 60_000, 25_000_000),
}
"""Rows, columns and observed entries: about those of the editions of MovieLens."""


def made(size, **given):
    """Return the problem of a size: rank 10, where noise changes a tenth of the entries."""
    M, N, n = SIZES[size]
    return pf.problem(
        "robust-matrix-recovery",
        **{"rows": M, "columns": N, "density": n / (M * N), "rank": 10, "outliers": 0.1},
        **{"tolerance": 3e-2} | given,
    )


def open_loop(iterations):
    return pf.algorithm("frank-wolfe", step="open-loop", iterations=iterations)


def peak():
    """Return the peak memory of this process in MB; not available on Windows."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1e-6 if sys.platform == "darwin" else 1.024e-3)


def memory(size):
    """Return seconds and peak memory of making the problem and of runs of 20 and 60 iterations.

    All that `solve` measures by default is recorded at the start and at the end.
    """
    pf.solve(pf.problem("robust-matrix-recovery", rows=60, columns=50), open_loop(2))
    before, started = peak(), perf_counter()
    problem = made(size)
    found = {"before, MB": before, "made, s": perf_counter() - started, "made, MB": peak()}
    pf.solve(problem, open_loop(20), every=20)
    found["made and 20 iterations, MB"] = peak()
    for _ in range(3):
        pf.solve(problem, open_loop(60), every=60)
    return found | {"and three runs of 60, MB": peak()}


# --- times ----------------------------------------------------------------------------------------


@compile_parallel
def copied(a, b):
    """Copy a to b in parallel, each thread a part."""
    for k in prange(a.size):
        b[k] = a[k]


class Pair:
    """Pair of matrix products by scipy, on the observed entries of a problem."""

    def __init__(self, problem):
        import scipy.sparse

        rows = problem.pattern.rows
        indptr, indices = (array.astype(np.int32) for array in rows)
        values = np.ones(problem.n)
        self.matrix = scipy.sparse.csr_array((values, indices, indptr), shape=problem.shape)
        self.transposed = self.matrix.T.tocsr()
        M, N = problem.shape
        self.u, self.v = np.ones(M), np.ones(N)

    def __call__(self):
        self.matrix @ self.v
        self.transposed @ self.u


def timed(call, *given):
    started = perf_counter()
    call(*given)
    return perf_counter() - started


def least(call, *given, calls=5):
    """Return the median time of some calls, after a first call that is not counted."""
    call(*given)
    return median(timed(call, *given) for _ in range(calls))


class InTurn:
    """What each iteration of a run takes, told by the loop, with pairs timed in between.

    The first `skipped` iterations do not count: they are those in which the start is still near.
    `pairs` is by the clock on the wall, `processor` by that of the processor, all threads added
    up: on a busy machine only the latter is of this program.
    """

    def __init__(self, pair, skipped=5, group=5):
        self.pair, self.skipped, self.group = pair, skipped, group
        self.times, self.pairs, self.processor = [], [], []
        self._before = self._pair_times()
        self._some = []
        self._last = clocks()

    def _pair_times(self):
        times = []
        for _ in range(self.group):
            started = clocks()
            self.pair()
            times.append(clocks() - started)
        return np.median(times, axis=0)

    def __call__(self, iterations):
        took = clocks() - self._last
        if iterations > self.skipped:
            self._some.append(took)
            if len(self._some) == self.group:
                own, after = np.median(self._some, axis=0), self._pair_times()
                ratios = own / (0.5 * (self._before + after))
                self.times.append(own)
                self.pairs.append(ratios[0])
                self.processor.append(ratios[1])
                self._before, self._some = after, []
        self._last = clocks()


def clocks():
    """Return the present wall-clock and processor times, in seconds."""
    return np.array([perf_counter(), process_time()])


class Over(Exception):
    """Raised after the last iteration, to skip what `solve` measures at the end."""


def watched(problem, algorithm, told, *, measures, every):
    """Run an algorithm as `solve` does; after each iteration, call `told` with their number."""
    run = resolve_run(problem, algorithm, measures)

    def watch(at):
        told(at.iterations)
        if at.iterations == run.algorithm.iterations:
            raise Over

    with suppress(Over):
        drive(run, Ledger(), seed=0, every=every, watch=watch)


def in_turn(problem, algorithm, pair, **given):
    """Run an algorithm that records only its first and last row; return its times in pairs."""
    turn = InTurn(pair, **given)
    watched(problem, algorithm, turn, measures=("objective",), every=10**6)
    return turn


def certified_in_pairs(problem, pair, iterations=20):
    """Return the time, in pairs, of an iteration whose linear minimisation is certified.

    The relative error is at most 1e-2, except with probability 1e-6.
    """
    turn, rng, warm = InTurn(pair), np.random.default_rng(0), None
    x = problem.start()
    for t in range(iterations):
        operator = SparseOperator(problem.pattern, problem.gradient(x))
        found = leading_singular_triple(operator, rng, tolerance=1e-2, failure=1e-6, warm=warm)
        warm = found.v
        vertex = RankOne(found.u, found.v, -problem.radius, problem.pattern)
        x = pf.combine(x, vertex, 2.0 / (t + 2.0))
        turn(t + 1)
    return median(turn.pairs)


def sweeps(problem):
    """Return the speed of a move with its gradient, and of a value, as shares of copy bandwidth."""
    n, calls = problem.n, max(5, 20_000_000 // problem.n)
    x, rng = problem.start(), np.random.default_rng(0)
    vertex = problem.set.random_vertex(rng, problem.pattern)
    vectors = np.ones(n), np.ones(n)
    column = problem.pattern.rows.indices.itemsize
    rates = {"copy": [], "gradient": [], "value": []}
    for _ in range(calls):
        x = pf.combine(x, vertex, 0.1)
        # Read x, Y and the column; write x and g.
        for name, call, bytes_ in (
            ("copy", lambda: copied(*vectors), 16),
            ("gradient", lambda x=x: problem.gradient(x), 32 + column),
            ("value", lambda x=x: problem.value(x), 16 + column),
        ):
            rates[name].append(n * bytes_ / timed(call))
    copy = median(rates["copy"][1:])
    return {
        "copy, GB/s": 1e-9 * copy,
        "update + gradient, share of copy": median(rates["gradient"][1:]) / copy,
        "value, share of copy": median(rates["value"][1:]) / copy,
    }


def against_arpack(problem, pair):
    """Return the ratio of ARPACK's time to pfbench's for a leading singular pair to 1e-4.

    Both start without a guess.
    """
    from scipy.sparse.linalg import svds

    run = pf.solve(problem, open_loop(10), every=10)
    g = problem.gradient(run.x)
    operator, matrix = SparseOperator(problem.pattern, g), pair.matrix.copy()
    matrix.data[:] = g
    ratios = []
    for seed in range(4):
        ours = timed(
            lambda s=seed: leading_singular_triple(
                operator, np.random.default_rng(s), tolerance=1e-4
            )
        )
        theirs = timed(lambda s=seed: svds(matrix, k=1, tol=1e-4, rng=s))
        ratios.append(theirs / ours)
    return median(ratios[1:])


def speed(size):
    """Return the times of an iteration, of its parts, and of other libraries."""
    problem = made(size)
    pair = Pair(problem)
    with single_blas_thread():
        found = {"pair, ms": 1e3 * least(pair)} | sweeps(problem)
    in_turn(problem, open_loop(10), pair)
    repeats = 5 if problem.n <= 10**6 else 1
    turns = [in_turn(problem, open_loop(30), pair) for _ in range(repeats)]
    wall, processor = 1e3 * np.median([one for turn in turns for one in turn.times], axis=0)
    found |= {
        "iteration, ms": wall,
        "iteration of the processor, ms": processor,
        "iteration, pairs": median(one for turn in turns for one in turn.pairs),
        "the same of the processor": median(one for turn in turns for one in turn.processor),
    }
    for share, how in ((None, ""), (0.0, ", gap_share=0"), (0.125, ", gap_share=1/8")):
        one = dataclasses.replace(problem, gap_share=share)
        runs = [in_turn(one, open_loop(60), pair, skipped=0).pairs for _ in range(repeats)]
        found[f"iterations 1 to 60, pairs on average{how}"] = median(map(np.mean, runs))
        found[f"iterations 41 to 60, pairs{how}"] = median(median(one[-4:]) for one in runs)
    with single_blas_thread():
        found["every minimisation certified, pairs"] = certified_in_pairs(problem, pair)
    spider = pf.algorithm(
        "nfwu-spiderg", step=1e-3, batch=math.isqrt(problem.n), period=10**6, iterations=30
    )
    found["spider step, pairs"] = median(in_turn(problem, spider, pair).pairs)
    with single_blas_thread():
        found["ARPACK to 1e-4, times ours"] = against_arpack(problem, pair)
        found["svds on observed entries, times ours"] = against_svds(problem, pair)
    return found


def against_svds(problem, pair):
    """Return the ratio of the time of an iteration by NumPy and svds to pfbench's, at 1e-4."""
    from scipy.sparse.linalg import svds

    problem = dataclasses.replace(problem, tolerance=1e-4, gap_share=0.0)
    rows, columns = problem.pattern.row_numbers(), problem.pattern.rows.indices
    matrix, y = pair.matrix.copy(), problem.targets
    iterations, repeats = (20, 3) if problem.n <= 10**6 else (12, 1)

    def theirs():
        x = np.zeros(problem.n)
        for t in range(iterations):
            residual = x - y
            matrix.data = residual * np.exp(-0.5 * residual**2) / problem.n
            u, _, v = svds(matrix, k=1, tol=1e-4, rng=0)
            step = 2.0 / (t + 2.0)
            x = (1.0 - step) * x - step * problem.radius * u[rows, 0] * v[0, columns]

    def ours():
        """Return the seconds of pfbench without measures, which the other loop does not compute."""
        run = pf.solve(problem, open_loop(iterations), every=10**6, measures=("objective",))
        return run.seconds

    ours()
    return median(timed(theirs) / ours() for _ in range(repeats))


def recorded(size):
    """Return the time of an iteration, in pairs, if every tenth has its certified gap recorded."""
    problem, times = made(size), []
    pair = Pair(problem)

    def told(iterations):
        times.append(perf_counter())

    watched(problem, open_loop(31), told, measures=("fw_gap",), every=10)
    with single_blas_thread():
        one = least(pair)
    # Two of these twenty iterations are recorded before the next one begins.
    return {"certified where recorded, pairs": (times[29] - times[9]) / 20 / one}
