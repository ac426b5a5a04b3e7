"""Algorithms: one file for each family, with its paper's pseudo-code."""

from pfbench.algorithms.base import Algorithm, get_parameters
from pfbench.algorithms.catalogue import ALGORITHMS, AlgorithmChoice, algorithm

__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmChoice", "algorithm", "get_parameters"]
