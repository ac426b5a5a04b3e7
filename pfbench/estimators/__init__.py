"""Gradient estimators, which query oracles and return one gradient estimate in each iteration."""

from pfbench.estimators.base import EpochEstimator, Estimate, Estimator

__all__ = ["EpochEstimator", "Estimate", "Estimator"]
