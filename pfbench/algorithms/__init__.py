"""Optimisation algorithms, in one file for each family, with the pseudo-code of their papers."""

from pfbench.algorithms.base import Algorithm, get_parameters
from pfbench.algorithms.catalogue import ALGORITHMS, AlgorithmChoice, algorithm

__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmChoice", "algorithm", "get_parameters"]
