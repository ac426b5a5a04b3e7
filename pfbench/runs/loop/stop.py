"""Targets: a run stops when a measure is at most a number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pfbench.base.checks import check_real, check_text
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.runs.loop.run import Run


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop when `measure`, or the upper end of an interval measure, is at most `target`."""

    measure: str
    target: float

    def __post_init__(self) -> None:
        check_text("the measure of a target", self.measure, "fw_gap")
        check_real(f"the target of {self.measure}", self.target)

    @classmethod
    def parse(cls, value: str) -> "Stop":
        """Parse a target such as ``"fw_gap=0.01"``.

        Raises
        ------
        InputError
            If the text does not have that form.
        """
        name, _, number = (
            piece.strip() for piece in check_text("stop", value, "fw_gap=0.01").rpartition("=")
        )
        try:
            target = float(number)
        except ValueError:
            name = ""
        if not name:
            raise InputError(
                f"cannot read the target {value!r}: write MEASURE=NUMBER, as in fw_gap=0.01."
            )
        return cls(name, target)


def trace_name(measure: str) -> str:
    """Return the name of a measure in a trace: NAME of MODULE:NAME."""
    return measure.rpartition(":")[2]


def list_recorded_measures(
    measures: Sequence[str], stop: Stop | None
) -> tuple[tuple[str, ...], Stop | None]:
    """Return the recorded measures, and the target by the measure's name in the trace.

    The measure of a target may be user-defined, MODULE:NAME; it is then recorded, too.
    """
    if stop is None or ":" not in stop.measure:
        return tuple(measures), stop
    result = tuple(dict.fromkeys([*measures, stop.measure]))
    return result, replace(stop, measure=trace_name(stop.measure))


def first_rows_reaching(targets: Sequence[Stop], run: Run) -> list[dict[str, Any]]:
    """Return, for each target, the calls of the first recorded row that reaches it.

    If no row reaches a target, its calls are None: a censored run is never left out.
    """
    first_rows_reaching = []
    indices = {name: run.columns.index(name) for name in COUNTED}
    for target in targets:
        first = run.first_value(target.measure, target.target)
        row = None if first is None else run.rows[first]
        calls = row and {name: int(row[index]) for name, index in indices.items()}
        first_rows_reaching.append(
            {"measure": target.measure, "target": target.target, "calls": calls}
        )
    return first_rows_reaching
