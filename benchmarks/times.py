"""Times and memory of the parts of a run: oracles, linear minimisation, iterations, counting."""

import math
import os
import timeit

import numpy as np

import pfbench as pf
from benchmarks.cases import ROBUST
from benchmarks.timed import Timed, problem_of, run_of

RECOVERY = "robust-matrix-recovery[rows=500,columns=500,density=0.4]"
SPARSE = "nonconvex-logistic[source=synthetic,rows=32561,columns=123,penalty=l1,weight=0.001]"
BALL = "nonconvex-logistic[source=synthetic,rows=32561,columns=123,set=l1,radius=10]"
DENSE = {
    "multitask": "multitask-sigmoid[rows=400,columns=100,kinds=5,copies=4]",
    "multiclass": "multiclass-logistic[source=synthetic,rows=4000,columns=100,classes=10]",
    "sensing": "matrix-regression[rows=40,columns=40,rank=2,n=2000]",
}

_EPOCHS = "batch=180,period=10,iterations=20"

FAMILIES = {
    "frank-wolfe": (RECOVERY, "frank-wolfe[step=open-loop,iterations=20]"),
    "svfw": (BALL, f"svfw[step=0.01,{_EPOCHS}]"),
    "nfwu-spiderg": (RECOVERY, f"nfwu-spiderg[step=0.01,{_EPOCHS}]"),
    "nfwu-casvrg": (RECOVERY, f"nfwu-casvrg[step=0.01,{_EPOCHS}]"),
    "ncgs": (RECOVERY, "ncgs[smoothness=1e-5,tolerance=0.1,iterations=5]"),
    "storc": (
        DENSE["sensing"],
        "storc[restarts=2,period=5,smoothness=98,curvature=20,delta=1000,batch=200]",
    ),
    "prox-svrg": (SPARSE, f"prox-svrg[step=0.5,{_EPOCHS}]"),
    "prox-saga": (SPARSE, "prox-saga[step=0.5,batch=180,iterations=20]"),
    "prox-spiderboost": (SPARSE, f"prox-spiderboost[step=0.5,{_EPOCHS}]"),
    "prox-katyusha-ns": (SPARSE, f"prox-katyusha-ns[step=0.5,{_EPOCHS}]"),
    "natasha15": (
        SPARSE,
        "natasha15[step=0.1,sigma=0.2,snapshot=180,subepochs=3,batch=20,iterations=20]",
    ),
}
"""A typical problem and a method of each family."""


class Machine:
    """Load of the machine by other programs."""

    version = "1"
    unit = "processes"

    def setup(self):
        if not hasattr(os, "getloadavg"):
            raise NotImplementedError  # Windows

    def track_load(self):
        """Return the mean number of processes that wanted a core during the last minute."""
        return os.getloadavg()[0]


class Iterations:
    """Time of an iteration of a method of each family, without measures."""

    params = (tuple(FAMILIES),)
    param_names = ("algorithm",)
    unit = "ms"
    version = "1"
    timeout = 300

    def setup(self, name):
        problem, self.algorithm = FAMILIES[name]
        self.problem = problem_of(problem)

    def track_iteration(self, name):
        """Return the milliseconds of an iteration in the fastest of three runs."""
        runs = [run_of(self.problem, self.algorithm) for _ in range(3)]
        return min(1e3 * run.seconds / run.iterations for run in runs)


class Minimisations:
    """Number of Lanczos steps of the linear minimisations in a run of open-loop Frank-Wolfe."""

    params = (("1 to 60", "41 to 60"),)
    param_names = ("iterations",)
    unit = "steps"
    version = "3"
    timeout = 300

    def track_steps(self, window):
        """Return the mean number over iterations, at 100 000 entries, by default."""
        return self._mean(window)

    def track_steps_by_share(self, window):
        """Return the mean number if a minimisation may miss a quarter of the Frank-Wolfe gap."""
        return self._mean(window, gap_share=0.25)

    def _mean(self, window, **given):
        from unittest.mock import patch

        from benchmarks.scale.recovery import made, open_loop
        from pfbench.sets import nuclear

        found, leading = [], nuclear.leading_singular_triple

        def counting(*arguments, **options):
            triple = leading(*arguments, **options)
            if "failure" not in options:  # that is the certificate of the last point
                found.append(triple.steps)
            return triple

        with patch.object(nuclear, "leading_singular_triple", counting):
            problem = made("100k", **given)
            pf.solve(problem, open_loop(60), every=60, measures=("objective",), seed=0)
        return float(np.mean(found if window == "1 to 60" else found[40:]))


class Memory:
    """Peak memory of a problem and of some iterations on it."""

    params = (("frank-wolfe", "nfwu-casvrg", "prox-saga"),)
    param_names = ("algorithm",)
    version = "1"

    def peakmem_made_and_run(self, name):
        problem, algorithm = FAMILIES[name]
        run_of(problem_of(problem), algorithm)


class Oracles(Timed):
    """Time of one call of a problem's own oracles, whose kernels run without counting."""

    params = (
        ("recovery", "sparse", *DENSE),
        ("gradient", "batch", "difference", "value", "lo", "prox"),
    )
    param_names = ("problem", "verb")
    version = "1"

    def setup(self, name, verb):
        self.problem = problem_of({"recovery": RECOVERY, "sparse": BALL, **DENSE}[name])
        backend, rng = self.problem.open(np.random.default_rng(0)), np.random.default_rng(1)
        x = self.problem.start()
        g = backend.gradient(x)
        # Away from the start, where much is zero, and from where the last minimisation began.
        y = pf.combine(x, backend.lo(g), 0.5)
        g = backend.gradient(y) + 0.1 * g.std() * rng.standard_normal(g.shape)
        sample = rng.integers(self.problem.n, size=math.isqrt(self.problem.n))
        if verb == "prox" and name == "recovery":
            raise NotImplementedError  # the decomposition of a full matrix: not for this size
        given = {
            "gradient": (y,),
            "batch": (sample, y),
            "difference": (sample, y, x),
            "value": (y,),
            "lo": (g,),
            "prox": (y, g, 0.1),
        }[verb]
        self.call, self.given = getattr(backend, verb), given
        self.call(*given)  # compile

    def time_call(self, name, verb):
        self.call(*self.given)


class Overhead(Timed):
    """Time that `solve` adds to the oracles: 1000 iterations on 60 rows."""

    version = "1"

    def setup(self):
        self.problem = problem_of(ROBUST)
        self.long = "svrg[step=0.01,batch=1,period=1000,iterations=1000]"
        run_of(self.problem, self.long, every=1000)

    def time_thousand_iterations(self):
        run_of(self.problem, self.long, every=1000)

    def time_thousand_rows(self):
        run_of(self.problem, self.long, measures=("objective",))

    def time_one_iteration(self):
        run_of(self.problem, "prox-gd[step=0.1,iterations=1]")


class Silent:
    """Backend that answers at once, with an array that it has or is passed."""

    unconstrained = False

    def __init__(self, problem):
        self.n, self.g = problem.n, problem.start()

    def batch(self, sample, x):
        return self.g

    def difference(self, sample, x, y):
        return self.g

    def lo(self, g):
        return g

    def prox(self, x, g, lam):
        return x


class Counting:
    """Cost of checking and counting calls with samples of sqrt(n) components, n as in a9a."""

    version = "3"
    params = ("batch", "difference", "lo", "prox")
    param_names = ("verb",)

    def setup(self, verb):
        self.problem = problem_of(BALL)
        x, n = self.problem.start(), self.problem.n
        sample = np.random.default_rng(0).integers(n, size=math.isqrt(n))
        given = {"batch": (sample, x), "difference": (sample, x, x.copy()), "lo": (x,)}
        self.given = given.get(verb, (x, x, 0.1))

    def calls(self, verb, backend):
        """Return the seconds of a call to the backend, and of one to the counting oracles."""
        from pfbench.runs.loop.steps import make_oracles  # elsewhere in older commits

        bundle = make_oracles(self.problem, backend)
        return [
            min(timeit.repeat(lambda a=asked: a(*self.given), number=500, repeat=15)) / 500
            for asked in (getattr(backend, verb), getattr(bundle, verb))
        ]

    def track_one_call(self, verb):
        """Return the microseconds that the counting oracles add to a call."""
        bare, counted = self.calls(verb, Silent(self.problem))
        return 1e6 * (counted - bare)

    track_one_call.unit = "us"

    def track_share(self, verb):
        """Return the added time in percent of the time of the problem's own oracle."""
        added = self.track_one_call(verb)
        bare, _ = self.calls(verb, self.problem.open(np.random.default_rng(0)))
        return 1e2 * added / (1e6 * bare)

    track_share.unit = "%"
