"""Cost of checking and counting on a9a, by checkout: ``python -m benchmarks.beside DIR ...``.

    git worktree add ../before COMMIT
    python -m benchmarks.beside ../before .

Of each checkout: the time of an iteration where the method asks the problem itself, where it asks
the bundle that checks and counts, and by `solve`, with no row recorded and as called by default.
All are made in turn, and the least of many turns counts: what else a machine does only adds to it.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

RUNS = (
    ("prox-spiderboost", {"step": 0.1, "batch": 180, "period": 180, "iterations": 180}),
    ("prox-svrg", {"step": 0.1, "batch": 1019, "period": 31, "iterations": 62}),
    ("prox-saga", {"step": 0.1, "batch": 1019, "iterations": 12}),
)
"""Batches of sqrt(n) and n^(2/3) components, as the theorems of these methods take."""

PROBLEM = {"source": "a9a", "penalty": "l1", "weight": 0.001}


class Checkout:
    """Package pfbench of one folder; inside a ``with`` block, this package is the imported one."""

    def __init__(self, folder):
        self.folder, self._modules = Path(folder).resolve(), {}
        with self:
            import pfbench as pf

            if not Path(pf.__file__).is_relative_to(self.folder):
                raise SystemExit(f"{folder} has no package pfbench: name a checkout.")
            self.problem = pf.problem("nonconvex-logistic", **PROBLEM)

    def __enter__(self):
        sys.path.insert(0, str(self.folder))
        sys.modules.update(self._modules)
        return self

    def __exit__(self, *error):
        ours = [name for name in sys.modules if name.partition(".")[0] == "pfbench"]
        self._modules = {name: sys.modules.pop(name) for name in ours}
        sys.path.remove(str(self.folder))

    def algorithm(self, name, given):
        """Return a catalogue algorithm, resolved for the problem of this checkout."""
        import pfbench as pf

        return pf.algorithm(name, **given).resolve(self.problem.constants(self.problem.start()))[0]

    def asked(self, counted, backend):
        """Return the counting oracles of this checkout, or the problem's own oracles."""
        from pfbench.oracles import Ledger, Oracles

        if not counted:
            return _Direct(backend, self.problem.set.diameter)
        try:
            from pfbench.runs.loop.steps import make_oracles
        except ImportError:
            return Oracles(backend, Ledger(), self.problem.set.diameter)
        return make_oracles(self.problem, backend, Ledger())

    def by_hand(self, counted, algorithm, clock):
        """Return the seconds of a run whose states a bare loop consumes."""
        from pfbench.kernels.libraries import single_blas_thread
        from pfbench.points import keep
        from pfbench.runs.loop.steps import random_stream

        with single_blas_thread():
            ask = self.asked(counted, self.problem.open(random_stream(0, "oracles")))
            states = algorithm.run(ask, keep(self.problem.start()), random_stream(0, "algorithm"))
            started = clock()
            for _ in states:
                pass
            return clock() - started

    def by_solve(self, every, algorithm, clock):
        """Return the seconds of a run by `solve`."""
        import pfbench as pf

        started = clock()
        pf.solve(self.problem, algorithm, seed=0, every=every)
        return clock() - started


class _Direct:
    """Oracles of a problem with a penalty, queried without counting."""

    def __init__(self, backend, diameter):
        self.n, self.D = backend.n, diameter
        for verb in ("gradient", "batch", "difference", "prox", "table"):
            setattr(self, verb, getattr(backend, verb))

    def sample(self, rng, size):
        return rng.integers(self.n, size=size)


WAYS = {
    "direct": partial(Checkout.by_hand, counted=False),
    "counted": partial(Checkout.by_hand, counted=True),
    "solve, no row": partial(Checkout.by_solve, every=10**9),
    "solve": partial(Checkout.by_solve, every=1),
}


def measured(checkouts, run, seconds, clock):
    """Return the least seconds of a run in each way, by checkout; the ways take turns."""
    name, given = run
    least = [dict.fromkeys(WAYS, float("inf")) for _ in checkouts]
    turns, until = 0, perf_counter() + seconds
    while turns < 4 or perf_counter() < until:
        for checkout, best in zip(checkouts, least, strict=True):
            with checkout:
                algorithm = checkout.algorithm(name, given)
                for way, call in WAYS.items():
                    taken = call(checkout, algorithm=algorithm, clock=clock)
                    best[way] = min(best[way], taken) if turns else float("inf")
        turns += 1
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", metavar="DIR")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each run; 20")
    parser.add_argument("--cpu", action="store_true", help="processor time, on a busy machine")
    given = parser.parse_args()
    checkouts = [Checkout(folder) for folder in given.checkouts]
    columns = ["run on a9a, µs an iteration", "checkout", *WAYS, "counting, of counted", "of solve"]
    print(f"| {' | '.join(columns)} |")
    print(f"| --- | --- |{' ---: |' * (len(columns) - 2)}")
    for run in RUNS:
        clock = process_time if given.cpu else perf_counter
        for checkout, least in zip(
            checkouts, measured(checkouts, run, given.seconds, clock), strict=True
        ):
            micro = [f"{1e6 * taken / run[1]['iterations']:.1f}" for taken in least.values()]
            counting = least["counted"] - least["direct"]
            shares = [f"{counting / least[way]:.1%}" for way in ("counted", "solve")]
            print(f"| {run[0]} | {checkout.folder.name} | {' | '.join(micro + shares)} |")


if __name__ == "__main__":
    main()
