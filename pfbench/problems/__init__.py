"""Problems: finite sums over a feasible set, with derivations of all their constants.

The public names are loaded on first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_getattr, modules_of_public_names

if TYPE_CHECKING:
    from pfbench.problems.base import BackendWithStatefulLmo as BackendWithStatefulLmo
    from pfbench.problems.base import FiniteSum as FiniteSum
    from pfbench.problems.catalogue import PROBLEMS as PROBLEMS
    from pfbench.problems.catalogue import problem as problem

_HOMES = modules_of_public_names(__name__)
__all__ = list(_HOMES)
__getattr__ = lazy_getattr(__name__, _HOMES)
