"""Problems: finite sums over a feasible set, with all constants and their derivations."""

from pfbench.problems.base import FiniteSum, Opened
from pfbench.problems.catalogue import PROBLEMS, problem

__all__ = ["PROBLEMS", "FiniteSum", "Opened", "problem"]
