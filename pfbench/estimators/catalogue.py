"""The gradient estimators by name."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.estimators.base import Estimator
from pfbench.estimators.curvature import CASPIDERG, CASVRG
from pfbench.estimators.saga import SAGA
from pfbench.estimators.stochastic import SG, SPIDERG, SVRG, Full

ESTIMATORS: Mapping[str, type[Estimator]] = MappingProxyType(
    {cls.name: cls for cls in (Full, SG, SVRG, SPIDERG, CASVRG, CASPIDERG, SAGA)}
)
"""Every estimator's class by its name."""
