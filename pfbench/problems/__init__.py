"""Problems: finite sums over a feasible set, with all constants and their derivations.

The public names are loaded on first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import homes_of, on_first_use

if TYPE_CHECKING:
    from pfbench.problems.base import FiniteSum as FiniteSum
    from pfbench.problems.base import Opened as Opened
    from pfbench.problems.catalogue import PROBLEMS as PROBLEMS
    from pfbench.problems.catalogue import problem as problem

_HOMES = homes_of(__name__)
__all__ = list(_HOMES)
__getattr__ = on_first_use(__name__, _HOMES)
