"""Gradient estimators: each turns the oracles into one gradient estimate an iteration."""

from pfbench.estimators.base import EpochEstimator, Estimate, Estimator
from pfbench.estimators.curvature import CASPIDERG, CASVRG
from pfbench.estimators.stochastic import SG, SPIDERG, SVRG

__all__ = [
    "CASPIDERG",
    "CASVRG",
    "SG",
    "SPIDERG",
    "SVRG",
    "EpochEstimator",
    "Estimate",
    "Estimator",
]
