"""Feasible sets: linear minimisation, projection, diameter, membership, a random vertex."""

from pfbench.sets.balls import L1Ball, L2Ball, LinfBall
from pfbench.sets.nuclear import NuclearBall, NuclearMinimiser
from pfbench.sets.simplex import Simplex
from pfbench.sets.vectors import VectorSet

__all__ = [
    "L1Ball",
    "L2Ball",
    "LinfBall",
    "NuclearBall",
    "NuclearMinimiser",
    "Simplex",
    "VectorSet",
]
