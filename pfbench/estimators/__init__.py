"""Gradient estimators: each turns the oracles into one gradient estimate an iteration."""

from pfbench.estimators.base import EpochEstimator, Estimate, Estimator
from pfbench.estimators.curvature import CASPIDERG, CASVRG
from pfbench.estimators.saga import SAGA
from pfbench.estimators.stochastic import SG, SPIDERG, SVRG, Full

__all__ = [
    "CASPIDERG",
    "CASVRG",
    "SAGA",
    "SG",
    "SPIDERG",
    "SVRG",
    "EpochEstimator",
    "Estimate",
    "Estimator",
    "Full",
]
