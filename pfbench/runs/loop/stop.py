"""Targets: a run stops when a measure is at most a number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pfbench.base.checks import real, text
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.runs.loop.run import Run


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop when `measure` is at most `target`; of an interval measure the upper end counts."""

    measure: str
    target: float

    def __post_init__(self) -> None:
        text("the measure of a target", self.measure, "fw_gap")
        real(f"the target of {self.measure}", self.target)

    @classmethod
    def parse(cls, given: str) -> "Stop":
        """Read ``"fw_gap=0.01"``.

        Raises
        ------
        InputError
            If the text does not have that form.
        """
        name, _, number = (
            piece.strip() for piece in text("stop", given, "fw_gap=0.01").rpartition("=")
        )
        try:
            target = float(number)
        except ValueError:
            name = ""
        if not name:
            raise InputError(
                f"cannot read the target {given!r}: write MEASURE=NUMBER, as in fw_gap=0.01."
            )
        return cls(name, target)


def in_trace(measure: str) -> str:
    """Return the name of a measure in a trace: of MODULE:NAME it is NAME."""
    return measure.rpartition(":")[2]


def recorded(measures: Sequence[str], stop: Stop | None) -> tuple[tuple[str, ...], Stop | None]:
    """Return what a run records, and its target by the measure's name in the trace.

    The measure of a target may be somebody's own, MODULE:NAME; it is then recorded, too.
    """
    if stop is None or ":" not in stop.measure:
        return tuple(measures), stop
    found = tuple(dict.fromkeys([*measures, stop.measure]))
    return found, replace(stop, measure=in_trace(stop.measure))


def reached(targets: Sequence[Stop], run: Run) -> list[dict[str, Any]]:
    """Return, for each target, the calls of the first recorded row that reaches it.

    A run that stops before it has none: its calls are None (a censored run, never left out).
    """
    found = []
    places = {name: run.columns.index(name) for name in COUNTED}
    for target in targets:
        first = run.first(target.measure, target.target)
        row = None if first is None else run.rows[first]
        calls = row and {name: int(row[at]) for name, at in places.items()}
        found.append({"measure": target.measure, "target": target.target, "calls": calls})
    return found
