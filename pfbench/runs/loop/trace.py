"""Trace of a run: recorded rows, and failures of measures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import as_read_only
from pfbench.base.errors import DivergedError, StalePoint, format_error
from pfbench.base.names import brief_repr
from pfbench.base.protocols import Measure, Problem
from pfbench.base.state import Point, State
from pfbench.measures.catalogue import BRACKETS, UserMeasure, available_measures
from pfbench.measures.common import gradient_mapping_lambda
from pfbench.runs.loop.run import TRACE_COLUMNS

STEP_MEASURES = frozenset({"estimator_error", "coin"})
"""Measures of one step of a method; they have no value at the output."""

POINT_MEASURES = frozenset({"objective", "value", "fw_gap", "gradient_mapping_sq"})
"""Measures that read only the point of a state."""

OUTSIDE_REASON = "is outside the feasible set"
"""Part of the reason of a run that ends because it left the set."""


class Trace:
    """Recorded rows of one run.

    Parameters
    ----------
    problem, measures
        The problem, and its measures by name.

    Attributes
    ----------
    rows
        The numbers of each recorded iterate, by column.
    certificates
        Number of intervals that hold only with a certain probability.
    undefined
        Names of the measures that were undefined at a recorded iterate.
    point_measures
        Whether all measures read only the point of a state.
    failure
        Reason why the run fails: a point outside the set, or a measure that failed; else empty.
    """

    def __init__(self, problem: Problem, measures: Mapping[str, Measure]) -> None:
        self.rows: list[dict[str, Any]] = []
        self.certificates = 0
        self.undefined: set[str] = set()
        self.failure = ""
        self._problem, self._measures = problem, measures
        self._brackets = set(BRACKETS)
        self.point_measures = all(
            name.partition("[")[0] in POINT_MEASURES and not isinstance(measure, UserMeasure)
            for name, measure in measures.items()
        )

    def record(self, costs: tuple[Any, ...], state: State) -> Mapping[str, Any]:
        """Append a row with the iterations, counts and seconds of a state, and with its measures.

        An iterate outside the feasible set is not measured, and ends the run (see `failure`).
        """
        row = dict(zip(TRACE_COLUMNS, costs, strict=True))
        self.rows.append(row)
        inside = not self._measures or self._is_inside(state.x, f"of iteration {costs[0]}")
        for name, measure in self._measures.items():
            lower, upper = (
                self._evaluate_lower_and_value(name, measure, state) if inside else (None, None)
            )
            row[name] = math.nan if upper is None else upper
            if upper is None:
                self.undefined.add(name)
            if lower is not None:
                row[f"{name}_lower"] = lower
                self._brackets.add(name)
        return row

    def output_measures(self, state: State) -> dict[str, float | None]:
        """Return the values of the problem's and the run's measures at the output, by name.

        All values are None if the output is outside the feasible set.
        """
        final: dict[str, float | None] = {}
        inside = self._is_inside(state.x, "that is the output")
        measures = available_measures(self._problem)
        for name, measure in self._measures.items():
            if isinstance(measure, UserMeasure) or name.endswith("]"):
                measures[name] = measure
        for name, measure in measures.items():
            if name in STEP_MEASURES:
                continue
            lower, upper = (
                self._evaluate_lower_and_value(name, measure, state) if inside else (None, None)
            )
            final[name] = finite_or_none(upper)
            if lower is not None or name in BRACKETS:
                final[f"{name}_lower"] = finite_or_none(lower)
        mapped = final["gradient_mapping_sq"] is not None
        lam = gradient_mapping_lambda(self._problem, state) if mapped else None
        return final | {"gradient_mapping_lambda": lam}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the trace."""
        names = list(TRACE_COLUMNS)
        for name in self._measures:
            names += [name, f"{name}_lower"] if name in self._brackets else [name]
        return tuple(names)

    def table(self) -> list[tuple[Any, ...]]:
        """Return the rows of the trace, each in the order of the columns."""
        return [tuple(row.get(name, math.nan) for name in self.columns) for row in self.rows]

    def _is_inside(self, x: Point, point_name: str) -> bool:
        """Return whether a point is in the feasible set; record a failure if it is not."""
        try:
            inside = bool(self._problem.set.contains(x))
            wrong = f"the point {point_name} {OUTSIDE_REASON} {self._problem.set.name}"
        except Exception as error:
            inside, wrong = False, f"contains(x) of the feasible set failed: {format_error(error)}"
        if not inside:
            self.failure = self.failure or wrong
        return inside

    def _evaluate_lower_and_value(
        self, name: str, measure: Measure, state: State
    ) -> tuple[float | None, float | None]:
        """Return the lower end of a measure (None unless it is an interval), and its value.

        Both are None where the measure is undefined. If the measure fails, both are None and the
        run ends.
        """
        try:
            result = measure(self._problem, state)
        except (DivergedError, StalePoint):
            return None, None
        except Exception as error:
            self.failure = self.failure or f"the measure {name} failed: {format_error(error)}"
            return None, None
        try:
            lower, upper = result if isinstance(result, tuple) else (None, result)
            lower, upper = _check_number_or_none(lower), _check_number_or_none(upper)
        except Exception:
            wrong = f"the measure {name} returned {brief_repr(result)}, which is not a number"
            self.failure = self.failure or f"{wrong}, (lower, upper) or None"
            return None, None
        if isinstance(result, tuple) and not isinstance(measure, UserMeasure):
            self.certificates += lower != upper  # a user's interval states no probability
        return lower, upper


def _check_number_or_none(value: Any) -> float | None:
    """Return a value of a measure as a number of Python, or None; raise if it is not a number."""
    value = value.item() if isinstance(value, np.ndarray | np.generic) else value
    return value if value is None or isinstance(value, int | float) else value.__float__()


def finite_or_none(number: float | None) -> float | None:
    """Return the number if it is finite, else None, since JSON has no NaN or infinity."""
    return number if number is not None and math.isfinite(number) else None


_EXACT = 2**53
"""Modulus below which double precision represents every integer."""


class TraceRows(Sequence[tuple[Any, ...]]):
    """Read-only rows of numbers, accessed as tuples of int and float.

    They take half the memory of tuples.

    Attributes
    ----------
    numbers
        All numbers, shape (rows, columns).
    integer_columns
        For each column, whether its numbers are of type int.
    """

    __slots__ = ("integer_columns", "numbers")

    def __init__(self, numbers: npt.NDArray[np.float64], is_complete: tuple[bool, ...]) -> None:
        self.numbers, self.integer_columns = as_read_only(numbers), is_complete

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> tuple[Any, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> "TraceRows": ...

    def __getitem__(self, index: int | slice) -> "tuple[Any, ...] | TraceRows":
        if isinstance(index, slice):
            return TraceRows(self.numbers[index], self.integer_columns)
        pairs = zip(self.numbers[index].tolist(), self.integer_columns, strict=True)
        return tuple(int(number) if is_complete else number for number, is_complete in pairs)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        pairs = zip(self.numbers.T, self.integer_columns, strict=True)
        columns = (
            column.astype(np.int64) if is_complete else column for column, is_complete in pairs
        )
        return zip(*(column.tolist() for column in columns), strict=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the array of numbers, converted or copied only on request."""
        return self.numbers.astype(dtype or np.float64, copy=bool(copy))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, TraceRows | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


def rows_from_columns(
    integers: npt.NDArray[np.int64], floats: npt.NDArray[np.float64]
) -> Sequence[tuple[Any, ...]]:
    """Return the rows of a trace, given its integer columns and its float columns.

    Both arrays have shape (columns, rows). The result is `TraceRows`, or a list if an integer is
    too large for double precision.
    """
    if integers.size and max(int(integers.max()), -int(integers.min())) >= _EXACT:
        return list(zip(*integers.tolist(), *floats.tolist(), strict=True))
    numbers = np.empty((floats.shape[1], len(integers) + len(floats)))
    numbers[:, : len(integers)], numbers[:, len(integers) :] = integers.T, floats.T
    return TraceRows(numbers, (True,) * len(integers) + (False,) * len(floats))
