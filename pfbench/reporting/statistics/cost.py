"""Cost of a run: one count, its seconds, products of matrices, or a weighted sum of counts."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pfbench.base.checks import check_real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.reporting.statistics.seed_curves import Array, trace_column
from pfbench.runs.loop.run import Run

KNOWN_COSTS = (*COUNTED, "products", "iteration", "seconds")
"""Costs that can be charged, by trace column; matrix products are LO times lmo_products."""


@dataclass(frozen=True)
class Cost:
    """A weighted sum of counts, e.g. of SFO + 50 LO.

    Attributes
    ----------
    weights
        Pairs of a trace column of `KNOWN_COSTS` and the cost of one unit of it.
    """

    weights: tuple[tuple[str, float], ...]

    @classmethod
    def from_weights(cls, weights: str | Mapping[str, float]) -> "Cost":
        """Return the cost by one kind of calls, or by several with their weights.

        Raises
        ------
        InputError
            If a name is unknown, or a weight is negative, or none is positive.
        """
        parameters = {weights: 1.0} if isinstance(weights, str) else weights
        for name, weight in parameters.items():
            if name not in KNOWN_COSTS:
                raise unknown_name_error("count in the price", name, KNOWN_COSTS)
            check_real(f"the price of {name}", weight, minimum=0.0)
        result = tuple((name, float(weight)) for name, weight in parameters.items() if weight)
        if not result:
            raise InputError("the price charges no count: give a weight, as in sfo=1,lo=50.")
        return cls(result)

    @classmethod
    def parse(cls, text: str) -> "Cost":
        """Read ``"sfo=1,lo=20"``.

        Raises
        ------
        InputError
            If the text does not have that form, or its weights are invalid.
        """
        weights = {}
        for part in text.split(","):
            name, _, number = (piece.strip() for piece in part.partition("="))
            try:
                weights[name] = float(number)
            except ValueError:
                raise InputError(
                    f"cannot read the price {text!r}: write COUNT=NUMBER, as in sfo=1,lo=20."
                ) from None
        return cls.from_weights(weights)

    def __str__(self) -> str:
        return " + ".join(_format_term(name, weight) for name, weight in self.weights)

    @property
    def description(self) -> str:
        """Counted quantity, in words."""
        return "products of matrices" if self == PRODUCTS else f"{self} calls"

    def column_costs(self, run: Run) -> list[tuple[str, float]]:
        """Return pairs of a trace column and the cost of one unit of it for a run."""
        return [
            ("lo", weight * _matrix_products_per_lmo(run)) if name == "products" else (name, weight)
            for name, weight in self.weights
        ]

    def cost_along_trace(self, run: Run) -> Array:
        """Return the cost at each recorded row; empty if the trace lacks a column."""
        columns = [weight * trace_column(run, name) for name, weight in self.column_costs(run)]
        if any(column.size != len(run.rows) for column in columns):
            return np.empty(0)
        return np.asarray(np.sum(columns, axis=0))

    def total_cost(self, run: Run) -> float:
        """Return the cost of the whole run, including an incomplete last iteration."""
        complete = run.counts.as_dict() | {"iteration": run.iterations, "seconds": run.seconds}
        return float(sum(weight * complete[name] for name, weight in self.column_costs(run)))


PRODUCTS = Cost.from_weights("products")
"""Cost in matrix products of the linear minimisations, for runs with lmo_products."""


def _matrix_products_per_lmo(run: Run) -> float:
    """Return the matrix products of each linear minimisation of a run; 0 if not measured."""
    full_list = trace_column(run, "lmo_products")
    return float(full_list[0]) if full_list.size else 0.0


def _format_term(name: str, weight: float) -> str:
    title = name.upper() if name in COUNTED else name
    return title if weight == 1.0 else f"{weight:g} {title}"
