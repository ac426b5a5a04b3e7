"""Where the time of a run goes, for each family of methods: ``python -m benchmarks.profile``.

The same run is made in turn in four ways: the method asks the backend itself and nobody counts; it
asks the backend through a clock; it asks the bundle that checks and counts; and by `solve`. Of each
the least time is kept, as what else a machine does only adds to it; what one way takes more than
another is what lies between them.
"""

import argparse
import math
import os
import platform
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from time import perf_counter, process_time

import numpy as np

import pfbench as pf
from benchmarks.timed import problem_of
from benchmarks.times import BALL, DENSE, RECOVERY, SPARSE
from pfbench.base.errors import DataError
from pfbench.base.sample import IndexSampling
from pfbench.base.selectors import Selector
from pfbench.kernels.libraries import single_blas_thread
from pfbench.oracles import Ledger
from pfbench.points import keep
from pfbench.runs.loop.steps import make_oracles, random_stream

A9A = "nonconvex-logistic[source=a9a,penalty=l1,weight=0.001]"
TWO_THIRDS = "batch=1019,period=31,iterations=62"
ROOT = "batch=180,period=180,iterations=360"
EPOCHS = "batch=180,period=10,iterations=40"
STEPS = "period=5,smoothness=98,curvature=20,delta=1000"

FAMILIES = {
    "prox-spiderboost-a9a": (A9A, f"prox-spiderboost[step=0.1,{ROOT}]"),
    "prox-svrg-a9a": (A9A, f"prox-svrg[step=0.1,{TWO_THIRDS}]"),
    "prox-saga-a9a": (A9A, "prox-saga[step=0.1,batch=1019,iterations=60]"),
    "prox-spiderboost": (SPARSE, f"prox-spiderboost[step=0.5,{EPOCHS}]"),
    "natasha15": (
        SPARSE,
        "natasha15[step=0.1,sigma=0.2,snapshot=180,subepochs=3,batch=20,iterations=60]",
    ),
    "frank-wolfe": (RECOVERY, "frank-wolfe[step=open-loop,iterations=20]"),
    "svfw": (BALL, f"svfw[step=0.01,{EPOCHS}]"),
    "nfwu-spiderg": (RECOVERY, f"nfwu-spiderg[step=0.01,{EPOCHS}]"),
    "nfwu-casvrg": (RECOVERY, f"nfwu-casvrg[step=0.01,{EPOCHS}]"),
    "ncgs-sparse": (BALL, "ncgs[smoothness=0.5,tolerance=0.001,iterations=10]"),
    "ncgs-recovery": (RECOVERY, "ncgs[smoothness=1e-5,tolerance=0.001,iterations=5]"),
    "ncgs-vr-multitask": (
        "multitask-sigmoid[rows=400,columns=200,kinds=10,copies=10]",
        "ncgs-vr[smoothness=0.002,tolerance=0.1,batch=200,period=10,iterations=10]",
    ),
    "storc-sensing": (DENSE["sensing"], f"storc[restarts=1,{STEPS},batch=200]"),
    "svrg-multitask": (DENSE["multitask"], f"svfw[step=0.01,{EPOCHS}]"),
    "svrg-multiclass": (DENSE["multiclass"], f"svfw[step=0.01,{EPOCHS}]"),
    "svrg-sensing": (DENSE["sensing"], f"svfw[step=0.01,{EPOCHS}]"),
}
"""A typical problem and a method of each family."""

SLIDING = ("ncgs", "storc", "cgs")
"""Methods whose linear minimisations are inner steps."""

Clocks = dict[str, list[float]]
"""Seconds, calls and queried components, by the name of the oracle."""


class Direct(IndexSampling):
    """Oracles of a backend, queried without counting; with `clocks`, each call is timed."""

    def __init__(self, problem, backend, clocks: Clocks | None = None, clock=perf_counter):
        self._clock = clock
        self.n, self.D = backend.n, problem.set.diameter
        for verb in ("gradient", "batch", "difference", "value", "lo", "hessian", "table"):
            setattr(self, verb, self._clocked(verb, getattr(backend, verb), clocks))
        prox = (lambda x, g, lam: x - lam * g) if backend.unconstrained else backend.prox
        name = "step" if backend.unconstrained else "prox"
        self.prox = self._clocked(name, prox, clocks)

    def _clocked(self, verb, call, clocks):
        if clocks is None:
            return call
        kept, clock = clocks.setdefault(verb, [0.0, 0, 0]), self._clock
        sampled = verb.rpartition(" ")[2] in ("batch", "difference", "replace")

        def clocked(*given):
            started = clock()
            answer = call(*given)
            kept[0] += clock() - started
            kept[1] += 1
            kept[2] += len(given[0]) if sampled else self.n
            if verb in ("hessian", "table"):
                return Clocked(answer, verb, self, clocks)
            return answer

        return clocked


class Clocked:
    """Gradient table or Hessians, each call of which is timed."""

    def __init__(self, inner, name, direct, clocks):
        self._inner = inner
        for verb in ("product", "batch", "difference", "replace"):
            if hasattr(inner, verb):
                call = direct._clocked(f"{name} {verb}", getattr(inner, verb), clocks)
                setattr(self, verb, call)

    @property
    def mean(self):
        return self._inner.mean


def seconds_by_hand(problem, algorithm, clock, asked):
    """Return the seconds of a run outside `solve`; `asked` makes the oracles from a backend."""
    with single_blas_thread():
        ask = asked(problem.open(random_stream(0, "oracles")))
        states = algorithm.run(ask, keep(problem.start()), random_stream(0, "algorithm"))
        started = clock()
        for _ in states:
            pass
        return clock() - started


def seconds_by_solve(problem, algorithm, clock):
    """Run a method by `solve` without recorded rows in between; return the seconds and the run."""
    taken = []

    class Watched(type(algorithm)):
        """The same method, which also stores the time until its last state was requested."""

        def run(self, ask, x, rng):
            started = clock()
            yield from super().run(ask, x, rng)
            taken.append(clock() - started)

    twin = copy(algorithm)
    object.__setattr__(twin, "__class__", Watched)
    run = pf.solve(problem, twin, seed=0, every=10**9)
    if not taken:
        raise RuntimeError(f"{algorithm.name} ended early: {run.status}, {run.stop_reason}")
    return taken[0], run


@dataclass(frozen=True)
class Profile:
    """Microseconds an iteration: without counting, for counting, for the loop, and by oracle."""

    iterations: int
    counts: dict[str, int]
    bare: float
    counting: float
    loop: float
    clocks: Clocks = field(repr=False)

    @property
    def whole(self):
        return self.bare + self.counting + self.loop

    @property
    def rest(self):
        """Microseconds an iteration for random draws and the method's own arithmetic."""
        return self.bare - sum(self.each(verb) for verb in self.clocks)

    def each(self, verb):
        return 1e6 * self.clocks[verb][0] / self.iterations

    @property
    def inner_step(self):
        """Time of one inner step of a sliding method, relative to its linear minimisation."""
        others = sum(self.each(verb) for verb in self.clocks if verb != "lo")
        return (self.bare - others) / self.each("lo")


def profiled(problem, algorithm, seconds, clock):
    """Return the profile with the least times of all turns; the turns last `seconds` or more."""
    least = [math.inf] * 3
    verbs: Clocks = {}
    turns, until = 0, perf_counter() + seconds
    while turns < 4 or perf_counter() < until:
        kept: Clocks = {}
        asks = (
            lambda b: Direct(problem, b),
            lambda b: make_oracles(problem, b, Ledger()),
            lambda b, kept=kept: Direct(problem, b, kept, clock),
        )
        bare, counted, _ = (seconds_by_hand(problem, algorithm, clock, ask) for ask in asks)
        solved, run = seconds_by_solve(problem, algorithm, clock)
        turns += 1
        if turns > 1:  # the first one compiles
            least = [min(pair) for pair in zip(least, (bare, counted, solved), strict=True)]
            for verb, (took, *numbers) in kept.items():
                if numbers[0]:
                    verbs[verb] = [min(took, verbs.get(verb, [took])[0]), *numbers]
    bare, counted, solved = (1e6 * one / run.iterations for one in least)
    counts = {kind: count for kind, count in run.counts.as_dict().items() if count}
    return Profile(run.iterations, counts, bare, counted - bare, solved - counted, verbs)


def bytes_of(problem):
    """Return the bytes of one component that an oracle must read; None if they are unknown."""
    data = getattr(problem, "data", None)
    if hasattr(data, "indptr"):
        return sum(part.nbytes for part in data if isinstance(part, np.ndarray)) / problem.n
    if hasattr(data, "rows"):
        return data.rows.nbytes / problem.n + 8
    if hasattr(problem, "pattern"):
        # x read and written, the target, the column, the gradient.
        return 32 + problem.pattern.rows.indices.itemsize
    rows = getattr(problem, "_data", (None,))[0]
    return None if rows is None else rows.nbytes / problem.n + 8


def copy_bandwidth():
    """Return the number of bytes a second that copying an array reads and writes."""
    source = np.ones(1 << 23)
    target = np.empty_like(source)
    times = []
    for _ in range(5):
        started = perf_counter()
        np.copyto(target, source)
        times.append(perf_counter() - started)
    return 2 * source.nbytes / min(times)


def table(name, problem, profile, bandwidth) -> Iterator[str]:
    """Yield the lines of a profile as Markdown."""
    selectors = FAMILIES[name]
    yield f"### {name}"
    yield ""
    yield f"`{selectors[1]}` on `{selectors[0]}`: {profile.whole:,.1f} µs an iteration, "
    counts = ", ".join(
        f"{count / profile.iterations:,.4g} {k}" for k, count in profile.counts.items()
    )
    yield f"with {counts} in each."
    if "sfo" in profile.counts:
        each = 1e3 * profile.whole * profile.iterations / profile.counts["sfo"]
        yield f"{each:,.0f} ns for each component gradient, all included."
    if name.startswith(SLIDING):
        yield f"An inner step takes {profile.inner_step:.2f} times its linear minimisation."
    yield ""
    yield "| part | µs an iteration | share | calls | ns a component | of copy bandwidth |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    size = bytes_of(problem)
    for verb, (seconds, calls, components) in profile.clocks.items():
        one = seconds / components
        told = ("", "") if verb in ("lo", "prox", "step") else (f"{1e9 * one:,.0f}", "")
        if told[0] and size:
            told = told[0], f"{size / one / bandwidth:.0%}"
        yield row(verb, profile.each(verb), profile, f"{calls / profile.iterations:.3g}", *told)
    yield row("draws and the method's own arithmetic", profile.rest, profile)
    yield row("checking and counting", profile.counting, profile)
    yield row("loop", profile.loop, profile)
    yield ""


def row(part, each, profile, *more):
    told = [*more, "", "", ""][:3]
    return f"| {part} | {each:,.2f} | {each / profile.whole:.1%} | {' | '.join(told)} |"


SUMMARY = (
    "| run | µs an iteration | ns a component | oracles | method | counting | loop | inner step |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
)


def summary(name, profile):
    """Return a table row: the shares of oracles, method, counting and loop in the time of a run."""
    asked = sum(profile.each(verb) for verb in profile.clocks)
    parts = asked, profile.rest, profile.counting, profile.loop
    shares = " | ".join(f"{part / profile.whole:.0%}" for part in parts)
    sfo = profile.counts.get("sfo")
    each = f"{1e3 * profile.whole * profile.iterations / sfo:,.0f}" if sfo else ""
    inner = f"{profile.inner_step:.2f}" if name.startswith(SLIDING) else ""
    return f"| {name} | {profile.whole:,.1f} | {each} | {shares} | {inner} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(FAMILIES)}; all if not given")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each family; 10")
    parser.add_argument("--cpu", action="store_true", help="processor time, on a busy machine")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in FAMILIES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    bandwidth = copy_bandwidth()
    busy = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    what = "processor time, " if given.cpu else ""
    print(f"{os.cpu_count()} cores{busy}, Python {platform.python_version()}, {what}copy bandwidth")
    print(f"{bandwidth / 1e9:.1f} GB/s; least times of {given.seconds:g} s for each.\n")
    lines = []
    for name in given.names or FAMILIES:
        problem, chosen = FAMILIES[name]
        try:
            problem = problem_of(problem)
        except DataError as error:
            print(f"### {name}\n\nLeft out: {error}\n")
            continue
        selector = Selector.parse(chosen)
        choice = pf.algorithm(selector.name, **selector.parameters)
        algorithm, _ = choice.resolve(problem.constants(problem.start()))
        found = profiled(
            problem, algorithm, given.seconds, process_time if given.cpu else perf_counter
        )
        print("\n".join(table(name, problem, found, bandwidth)), flush=True)
        lines.append(summary(name, found))
    print("\n".join([*SUMMARY, *lines]))


if __name__ == "__main__":
    main()
