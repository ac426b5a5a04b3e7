"""Gradient estimators, which query oracles and return one gradient estimate in each iteration."""

from pfbench.estimators.base import EpochEstimator, Estimate, Estimator, latest_coin
from pfbench.estimators.coin_epochs import LSVRG, PAGE
from pfbench.estimators.curvature import CASPIDERG, CASVRG
from pfbench.estimators.momentum import MARS, STORM, HeavyBall, Transport, VanishingWeights
from pfbench.estimators.saga import SAG, SAGA
from pfbench.estimators.stochastic import SAMPLINGS, SG, SPIDERG, SVRG, DoublingSPIDER, FullGradient
from pfbench.estimators.zerosarah import ZeroSARAH

__all__ = [
    "CASPIDERG",
    "CASVRG",
    "LSVRG",
    "MARS",
    "PAGE",
    "SAG",
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
    "FullGradient",
    "HeavyBall",
    "Transport",
    "VanishingWeights",
    "ZeroSARAH",
    "latest_coin",
]
