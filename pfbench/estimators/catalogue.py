"""Catalogue of gradient estimators."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.estimators.base import Estimator
from pfbench.estimators.epochs import (
    CASPIDERG,
    CASVRG,
    LSVRG,
    PAGE,
    SG,
    SPIDERG,
    SVRG,
    FullGradient,
)
from pfbench.estimators.gradient_tables import SAG, SAGA, ZeroSARAH
from pfbench.estimators.momentum import MARS, STORM, HeavyBall, Transport

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
