"""Feasible sets (linear minimisation, projection, diameter, membership) and penalties.

A penalty has a value and a proximal map. The public names are loaded on first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_names

if TYPE_CHECKING:
    from pfbench.sets.balls import L1Ball as L1Ball
    from pfbench.sets.balls import L2Ball as L2Ball
    from pfbench.sets.balls import LinfBall as LinfBall
    from pfbench.sets.balls import Simplex as Simplex
    from pfbench.sets.balls import VectorSet as VectorSet
    from pfbench.sets.body import ConvexBody as ConvexBody
    from pfbench.sets.box import Box as Box
    from pfbench.sets.box import KSparsePolytope as KSparsePolytope
    from pfbench.sets.catalogue import PENALTIES as PENALTIES
    from pfbench.sets.catalogue import SETS as SETS
    from pfbench.sets.catalogue import feasible_set as feasible_set
    from pfbench.sets.catalogue import penalty as penalty
    from pfbench.sets.flow import UnitFlowPolytope as UnitFlowPolytope
    from pfbench.sets.groups import GroupLassoBall as GroupLassoBall
    from pfbench.sets.matrix_balls import ColumnBall as ColumnBall
    from pfbench.sets.matrix_balls import MatrixBall as MatrixBall
    from pfbench.sets.matrix_balls import MaxColumnBall as MaxColumnBall
    from pfbench.sets.matrix_balls import MaxRowBall as MaxRowBall
    from pfbench.sets.matrix_balls import RowBall as RowBall
    from pfbench.sets.matrix_balls import SpectralBall as SpectralBall
    from pfbench.sets.matroid import GraphicMatroid as GraphicMatroid
    from pfbench.sets.matroid import Matroid as Matroid
    from pfbench.sets.matroid import MatroidBasePolytope as MatroidBasePolytope
    from pfbench.sets.matroid import SpanningTreePolytope as SpanningTreePolytope
    from pfbench.sets.matroid import UniformMatroid as UniformMatroid
    from pfbench.sets.norms import NormBall as NormBall
    from pfbench.sets.norms import NormProduct as NormProduct
    from pfbench.sets.nuclear import NuclearBall as NuclearBall
    from pfbench.sets.nuclear import NuclearLmo as NuclearLmo
    from pfbench.sets.penalties import GroupPenalty as GroupPenalty
    from pfbench.sets.penalties import L1Penalty as L1Penalty
    from pfbench.sets.penalties import NormPenalty as NormPenalty
    from pfbench.sets.penalties import NuclearPenalty as NuclearPenalty
    from pfbench.sets.square_matrices import BirkhoffPolytope as BirkhoffPolytope
    from pfbench.sets.square_matrices import Spectrahedron as Spectrahedron
    from pfbench.sets.submodular import Permutahedron as Permutahedron
    from pfbench.sets.submodular import SubmodularBasePolytope as SubmodularBasePolytope
    from pfbench.sets.whole_space import WholeMatrices as WholeMatrices
    from pfbench.sets.whole_space import WholeSpace as WholeSpace

_HOMES, __all__, __getattr__, __dir__ = lazy_names(__name__)
