"""The algorithms: one file a family, each beside its paper's pseudo-code."""

from pfbench.algorithms.base import Algorithm, parameters_of
from pfbench.algorithms.catalogue import ALGORITHMS, AlgorithmChoice, algorithm

__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmChoice", "algorithm", "parameters_of"]
