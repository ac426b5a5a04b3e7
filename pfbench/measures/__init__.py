"""Measures of stationarity and error: functions of a problem and a state; no call is counted."""

from pfbench.measures.catalogue import (
    BRACKETS,
    MEANING,
    MEASURES,
    available_measures,
    select_measures,
)
from pfbench.measures.common import (
    coin,
    estimator_error,
    fw_gap,
    gradient_mapping_lambda,
    gradient_mapping_sq,
    objective,
    value,
)

__all__ = [
    "BRACKETS",
    "MEANING",
    "MEASURES",
    "available_measures",
    "coin",
    "estimator_error",
    "fw_gap",
    "gradient_mapping_lambda",
    "gradient_mapping_sq",
    "objective",
    "select_measures",
    "value",
]
