"""Points, and the operations that move, copy and compare them.

A point is a dense array, a vector of named `Layers`, or a `FactoredMatrix`. The latter has its
values on the observed entries, together with its atoms. Algorithms use the functions here and need
not distinguish the three types.
"""

from pfbench.points.atoms import RankOne
from pfbench.points.factored import FactoredMatrix
from pfbench.points.layers import Layers
from pfbench.points.operations import (
    combine,
    copy_or_view,
    distance,
    gap_and_distance,
    inner,
    is_finite,
    keep,
    shift,
    tilt,
)
from pfbench.points.operators import SparseOperator, TiltedOperator
from pfbench.points.pattern import Pattern
from pfbench.points.point_formats import (
    DensePointFormat,
    FactoredPointFormat,
    LayeredPointFormat,
    describe,
    infer_format,
)

__all__ = [
    "DensePointFormat",
    "FactoredMatrix",
    "FactoredPointFormat",
    "LayeredPointFormat",
    "Layers",
    "Pattern",
    "RankOne",
    "SparseOperator",
    "TiltedOperator",
    "combine",
    "copy_or_view",
    "describe",
    "distance",
    "gap_and_distance",
    "infer_format",
    "inner",
    "is_finite",
    "keep",
    "shift",
    "tilt",
]
