"""The mean of SAGA's estimate with weights: the gradient, from any point and any table.

The statement is pfbench's. The mean over i of n w_i/W (grad f_i(x) - grad f_i(phi_i)) is grad F(x)
minus the mean of the table.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.verification import Claim, Trial, make_instance
from pfbench.verification.instruments.overrides import OverriddenOracles
from pfbench.verification.instruments.weighted_rows import WeightedRows
from pfbench.verification.statements.each_instance import check_ratios
from pfbench.verification.statements.table_steps import list_step_outcomes

ROUNDING = 1e-12
"""Largest error of a mean, relative to the gradient."""


def make_four_rows(weight: float) -> WeightedRows:
    """Return four quadratics on the line, with curvatures 1 to 4 and weights 1, 1, 1, `weight`.

    The last row has the weight `weight`.
    """
    weights = np.array([1.0, 1.0, 1.0, weight])
    return WeightedRows(np.arange(1.0, 5.0), np.array([0.3, -1.2, 0.8, 1.9]), weights)


def estimate_bias(trial: Trial, problem: WeightedRows, z: Floats) -> float:
    """Return E g - F'(x), the bias of SAGA's gradient estimate g over one draw of a row.

    The first entry of `z` is x. The others are the points whose gradients are in SAGA's table.
    """
    outcomes = list_step_outcomes(trial, problem, 0.1, z)
    mean = sum(chance * estimate for chance, (estimate, _) in outcomes)
    return float(mean - problem.gradient(z[:1])[0])


def bias_in_rounding_units(trial: Trial, problem: WeightedRows) -> float:
    """Return the bias of SAGA's estimate at a random x and table, over 1e-12 of the gradient."""
    z = trial.rng("state").standard_normal(problem.n + 1)
    return abs(estimate_bias(trial, problem, z)) / float(abs(problem.gradient(z[:1])[0])) / ROUNDING


UNBIASED = Claim(
    name="defazio2014-unbiased",
    source="Defazio, Bach, Lacoste-Julien 2014, the method; with weights: pfbench",
    kind="law",
    statement="F = sum w_i f_i/W, uniform draws of n w_i f_i/W: E g = grad F(x) from every table",
    check=partial(check_ratios, measure=bias_in_rounding_units),
    instances=tuple(make_instance(make_four_rows, weight=weight) for weight in (1.0, 5.0)),
    algorithm="saga",
    schedule="none: a statement about one step",
    expected_seconds=(0.2, 0.2),
)

CLAIMS = (UNBIASED,)


# --- planted faults -------------------------------------------------------------------------------


class FaultyTableWeightingTwice(OverriddenOracles):
    """Faulty table of SAGA that multiplies the change of a stored gradient by its weight twice."""

    def table(self, x: Floats) -> Any:
        """Return a table that multiplies each change of a stored gradient by its weight again."""
        rows = self._original
        return replace(rows.table(x), rows=replace(rows, curvatures=rows.curvatures * rows.weights))


class FaultyTableWithUnweightedMean(OverriddenOracles):
    """Faulty table of SAGA whose mean ignores the weights of the rows."""

    def table(self, x: Floats) -> Any:
        """Return a table whose mean ignores the weights of the rows."""
        rows = self._original
        return replace(rows.table(x), mean_rows=replace(rows, weights=np.ones(rows.n)))
