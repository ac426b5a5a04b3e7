"""Gradient estimators: each turns the oracles into one gradient estimate an iteration."""

from pfbench.estimators.base import EpochEstimator, Estimate, Estimator, coin_of
from pfbench.estimators.curvature import CASPIDERG, CASVRG
from pfbench.estimators.loopless import LSVRG, PAGE
from pfbench.estimators.momentum import STORM, Fading, HeavyBall
from pfbench.estimators.saga import SAGA
from pfbench.estimators.stochastic import SAMPLINGS, SG, SPIDERG, SVRG, DoublingSPIDER, Full
from pfbench.estimators.zerosarah import ZeroSARAH

__all__ = [
    "CASPIDERG",
    "CASVRG",
    "LSVRG",
    "PAGE",
    "SAGA",
    "SAMPLINGS",
    "SG",
    "SPIDERG",
    "STORM",
    "SVRG",
    "DoublingSPIDER",
    "EpochEstimator",
    "Estimate",
    "Estimator",
    "Fading",
    "Full",
    "HeavyBall",
    "ZeroSARAH",
    "coin_of",
]
