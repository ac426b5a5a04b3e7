"""Problems: finite sums over a feasible set, with derivations of all their constants.

The public names are loaded on first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_names

if TYPE_CHECKING:
    from pfbench.problems.base import BackendWithStatefulLmo as BackendWithStatefulLmo
    from pfbench.problems.base import FiniteSum as FiniteSum
    from pfbench.problems.catalogue import PROBLEMS as PROBLEMS
    from pfbench.problems.catalogue import problem as problem

_HOMES, __all__, __getattr__, __dir__ = lazy_names(__name__)
