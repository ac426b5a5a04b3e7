"""Problems: finite sums over a feasible set, with all constants and their derivations."""

from pfbench.problems.catalogue import PROBLEMS, Family, problem

__all__ = ["PROBLEMS", "Family", "problem"]
