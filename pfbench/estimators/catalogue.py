"""Catalogue of gradient estimators."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.estimators.base import Estimator
from pfbench.estimators.coin_epochs import LSVRG, PAGE
from pfbench.estimators.curvature import CASPIDERG, CASVRG
from pfbench.estimators.momentum import MARS, STORM, HeavyBall, Transport
from pfbench.estimators.saga import SAG, SAGA
from pfbench.estimators.stochastic import SG, SPIDERG, SVRG, FullGradient
from pfbench.estimators.zerosarah import ZeroSARAH

ESTIMATORS: Mapping[str, type[Estimator]] = MappingProxyType(
    {
        cls.name: cls
        for cls in (
            *(FullGradient, SG, SVRG, SPIDERG, CASVRG, CASPIDERG, SAGA, SAG),
            *(PAGE, LSVRG, ZeroSARAH, STORM, MARS, Transport, HeavyBall),
        )
    }
)
"""Class of each estimator, by name."""
