"""pfbench: puts claims about projection-free and variance-reduced methods to the test.

The public names are loaded on first use, so that importing pfbench is quick.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_getattr, public_modules

if TYPE_CHECKING:
    from pfbench import adapters as adapters
    from pfbench import claims as claims
    from pfbench.adapters.solve_interface import solve as solve
    from pfbench.algorithms import Algorithm as Algorithm
    from pfbench.algorithms import algorithm as algorithm
    from pfbench.api import compare as compare
    from pfbench.api import list_runs as list_runs
    from pfbench.api import report as report
    from pfbench.base.counts import Budget as Budget
    from pfbench.base.counts import Counts as Counts
    from pfbench.base.errors import PfbenchError as PfbenchError
    from pfbench.base.sample import Sample as Sample
    from pfbench.base.state import State as State
    from pfbench.checking import check as check
    from pfbench.claims.catalogue import verify as verify
    from pfbench.points import combine as combine
    from pfbench.points import distance as distance
    from pfbench.points import inner as inner
    from pfbench.points import keep as keep
    from pfbench.points import tilt as tilt
    from pfbench.problems import problem as problem
    from pfbench.runs.loop.run import Run as Run
    from pfbench.runs.loop.run import plot as plot
    from pfbench.runs.loop.stop import Stop as Stop
    from pfbench.verification.fitting import fit_rate as fit_rate

_HOMES = public_modules(__name__)
__all__ = list(_HOMES)
__version__ = "0.1.0"
__getattr__ = lazy_getattr(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
