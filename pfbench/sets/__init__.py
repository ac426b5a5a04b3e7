"""Feasible sets: linear minimisation, projection, diameter, membership, a random vertex.

Penalties: value and proximal map. The public names are loaded on first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import homes_of, on_first_use

if TYPE_CHECKING:
    from pfbench.sets.balls import L1Ball as L1Ball
    from pfbench.sets.balls import L2Ball as L2Ball
    from pfbench.sets.balls import LinfBall as LinfBall
    from pfbench.sets.birkhoff import Birkhoff as Birkhoff
    from pfbench.sets.body import Body as Body
    from pfbench.sets.box import Box as Box
    from pfbench.sets.box import KSparse as KSparse
    from pfbench.sets.catalogue import PENALTIES as PENALTIES
    from pfbench.sets.catalogue import SETS as SETS
    from pfbench.sets.catalogue import feasible_set as feasible_set
    from pfbench.sets.catalogue import penalty as penalty
    from pfbench.sets.flow import UnitFlow as UnitFlow
    from pfbench.sets.groups import GroupLasso as GroupLasso
    from pfbench.sets.matrices import ColumnBall as ColumnBall
    from pfbench.sets.matrices import MatrixBall as MatrixBall
    from pfbench.sets.matrices import MaxColumnBall as MaxColumnBall
    from pfbench.sets.matrices import MaxRowBall as MaxRowBall
    from pfbench.sets.matrices import RowBall as RowBall
    from pfbench.sets.matrices import SpectralBall as SpectralBall
    from pfbench.sets.matroid import GraphicMatroid as GraphicMatroid
    from pfbench.sets.matroid import Matroid as Matroid
    from pfbench.sets.matroid import MatroidBase as MatroidBase
    from pfbench.sets.matroid import OracleMatroid as OracleMatroid
    from pfbench.sets.matroid import PartitionMatroid as PartitionMatroid
    from pfbench.sets.matroid import SpanningTree as SpanningTree
    from pfbench.sets.matroid import UniformMatroid as UniformMatroid
    from pfbench.sets.norms import NormBall as NormBall
    from pfbench.sets.norms import Product as Product
    from pfbench.sets.nuclear import NuclearBall as NuclearBall
    from pfbench.sets.nuclear import NuclearMinimiser as NuclearMinimiser
    from pfbench.sets.penalties import GroupPenalty as GroupPenalty
    from pfbench.sets.penalties import L1Penalty as L1Penalty
    from pfbench.sets.penalties import NuclearPenalty as NuclearPenalty
    from pfbench.sets.penalties import Penalty as Penalty
    from pfbench.sets.simplex import Simplex as Simplex
    from pfbench.sets.spectrahedron import Spectrahedron as Spectrahedron
    from pfbench.sets.submodular import Permutahedron as Permutahedron
    from pfbench.sets.submodular import SubmodularBase as SubmodularBase
    from pfbench.sets.vectors import VectorSet as VectorSet
    from pfbench.sets.whole import WholeMatrices as WholeMatrices
    from pfbench.sets.whole import WholeSpace as WholeSpace

_HOMES = homes_of(__name__)
__all__ = list(_HOMES)
__getattr__ = on_first_use(__name__, _HOMES)
