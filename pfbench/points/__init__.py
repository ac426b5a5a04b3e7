"""What an iterate is, and the few operations that move, copy and compare iterates.

A point is a dense array, or a `Factored` matrix: its values on the observed entries together with
the atoms it is made of. Algorithms use the functions here and never ask which it is.
"""

from pfbench.points.factored import Factored
from pfbench.points.forms import DenseForm, FactoredForm, described, form_of
from pfbench.points.operations import (
    combine,
    descent,
    distance,
    inner,
    is_finite,
    keep,
    shift,
    tilt,
    view,
)
from pfbench.points.operators import SparseOperator, TiltedOperator
from pfbench.points.pattern import Pattern
from pfbench.points.vertices import RankOne

__all__ = [
    "DenseForm",
    "Factored",
    "FactoredForm",
    "Pattern",
    "RankOne",
    "SparseOperator",
    "TiltedOperator",
    "combine",
    "descent",
    "described",
    "distance",
    "form_of",
    "inner",
    "is_finite",
    "keep",
    "shift",
    "tilt",
    "view",
]
