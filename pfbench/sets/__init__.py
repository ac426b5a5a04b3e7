"""Feasible sets: linear minimisation, projection, diameter, membership, a random vertex.

Penalties: value and proximal map.
"""

from pfbench.sets.balls import L1Ball, L2Ball, LinfBall
from pfbench.sets.birkhoff import Birkhoff
from pfbench.sets.body import Body
from pfbench.sets.box import Box, KSparse
from pfbench.sets.catalogue import PENALTIES, SETS, feasible_set, penalty
from pfbench.sets.flow import UnitFlow
from pfbench.sets.groups import GroupLasso
from pfbench.sets.matrices import ColumnBall, MatrixBall, RowBall, SpectralBall
from pfbench.sets.matroid import (
    GraphicMatroid,
    Matroid,
    MatroidBase,
    OracleMatroid,
    PartitionMatroid,
    SpanningTree,
    UniformMatroid,
)
from pfbench.sets.nuclear import NuclearBall, NuclearMinimiser
from pfbench.sets.penalties import GroupPenalty, L1Penalty, NuclearPenalty, Penalty
from pfbench.sets.simplex import Simplex
from pfbench.sets.spectrahedron import Spectrahedron
from pfbench.sets.submodular import Permutahedron, SubmodularBase
from pfbench.sets.vectors import VectorSet
from pfbench.sets.whole import WholeSpace

__all__ = [
    "PENALTIES",
    "SETS",
    "Birkhoff",
    "Body",
    "Box",
    "ColumnBall",
    "GraphicMatroid",
    "GroupLasso",
    "GroupPenalty",
    "KSparse",
    "L1Ball",
    "L1Penalty",
    "L2Ball",
    "LinfBall",
    "MatrixBall",
    "Matroid",
    "MatroidBase",
    "NuclearBall",
    "NuclearMinimiser",
    "NuclearPenalty",
    "OracleMatroid",
    "PartitionMatroid",
    "Penalty",
    "Permutahedron",
    "RowBall",
    "Simplex",
    "SpanningTree",
    "Spectrahedron",
    "SpectralBall",
    "SubmodularBase",
    "UniformMatroid",
    "UnitFlow",
    "VectorSet",
    "WholeSpace",
    "feasible_set",
    "penalty",
]
