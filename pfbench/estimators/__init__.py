"""Gradient estimators, which query oracles and return one gradient estimate in each iteration."""

from pfbench.estimators.base import EpochEstimator, Estimate, Estimator, latest_coin
from pfbench.estimators.epochs import (
    CASPIDERG,
    CASVRG,
    LSVRG,
    PAGE,
    SAMPLINGS,
    SG,
    SPIDERG,
    SVRG,
    DoublingSPIDER,
    FullGradient,
)
from pfbench.estimators.gradient_tables import SAG, SAGA, ZeroSARAH
from pfbench.estimators.momentum import MARS, STORM, HeavyBall, Transport, VanishingWeights

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
