"""Faults planted in the loop of CGS and STORC that several theorems of li2019 must catch."""

from functools import partial

from pfbench.algorithms.sliding import CGS, STORC
from pfbench.claims.li2019.corollary3 import COR3
from pfbench.claims.li2019.nonconvex import NONCONVEX
from pfbench.claims.li2019.stat import STAT
from pfbench.claims.li2019.theorem1 import FO, GAP
from pfbench.claims.li2019.theorem2 import VARIANCE
from pfbench.verification import Mutant

_tolerance = partial(Mutant.from_edits, CGS, CGS.eta)
_loop = partial(Mutant.from_edits, CGS, CGS.run)

MUTANTS = (
    _tolerance(
        "li2019-tolerance-not-halved",
        "delta0 is not halved between outer iterations.",
        {"2.0**-t": "2.0**-1"},
        GAP,
        COR3,
        STAT,
        NONCONVEX,
    ),
    _tolerance(
        "li2019-stopped-early",
        "condg stops at a hundred times its tolerance.",
        {"return 2.0": "return 200.0"},
        GAP,
        COR3,
        FO,
    ),
    _tolerance(
        "li2019-tolerance-without-k",
        "condg's tolerance lacks the factor 1/k.",
        {"(self.period * k)": "self.period"},
        GAP,
        COR3,
    ),
    _loop(
        "li2019-uniform-weights",
        "gamma_k = 1/(k+1), the weights of plain averaging.",
        {"gamma, beta = 2.0": "gamma, beta = 1.0"},
        COR3,
    ),
    _loop(
        "li2019-constant-beta",
        "beta = 3L at every k, so that steps do not grow.",
        {"self.smoothness / k": "self.smoothness"},
        GAP,
        COR3,
    ),
    _loop(
        "li2019-gradient-at-x",
        "The gradient is taken at x_{k-1} instead of z_k.",
        {"z = combine(y, x, gamma)": "z = x"},
        GAP,
        COR3,
    ),
    _loop(
        "li2019-not-carried",
        "condg always starts from theta_{t-1}, not from the last x.",
        {"condg(ask, g, x": "condg(ask, g, theta"},
        GAP,
        COR3,
    ),
    _loop(
        "li2019-weights-swapped",
        "y_k = gamma_k y_{k-1} + (1 - gamma_k) x_k.",
        {"y = combine(y, x, gamma)": "y = combine(y, x, 1.0 - gamma)"},
        GAP,
        COR3,
    ),
    Mutant.from_edits(
        STORC,
        CGS.run,
        "li2019-stale-snapshot",
        "The snapshot is not refreshed at the outer iterations.",
        {
            "theta = keep(x)": "theta = first = keep(x)",
            "self.snapshot_gradient(ask, theta)": "self.snapshot_gradient(ask, first)",
            "self.gradient(ask, z, theta": "self.gradient(ask, z, first",
        },
        VARIANCE,
    ),
)
