"""Result of the examination of an erratum, and functions that several examinations use."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.protocols import Algorithm, Problem
from pfbench.base.state import State
from pfbench.measures.common import fw_gap
from pfbench.runs.loop.solve import solve

ROUNDING = 1e-9
"""Amount by which rounding may lift a ratio of measured number to bound above 1."""


@dataclass(frozen=True, kw_only=True)
class ExaminationEvidence:
    """Result of the examination of an erratum.

    Attributes
    ----------
    printed_fails, corrected_holds
        Whether the printed statement failed, and whether the corrected one held.
    numbers
        Measured numbers, by name.
    readings
        Whether each other reading that was tried makes the printed form right, by name.
    """

    printed_fails: bool
    corrected_holds: bool
    numbers: Mapping[str, float]
    readings: Mapping[str, bool] = field(default_factory=dict)

    @property
    def is_shown(self) -> bool:
        """Whether the printed statement failed and the corrected one held."""
        return self.printed_fails and self.corrected_holds

    def with_ratios_under_other_readings(self, readings: Mapping[str, float]) -> Self:
        """Return a copy with the ratio measured/bound for each other reading of a printed bound.

        `readings` maps the name of each other reading of the bound to its ratio.
        """
        ratios = {f"measured over printed, {name}": ratio for name, ratio in readings.items()}
        tried = {name: is_at_most_bound(ratio) for name, ratio in readings.items()}
        return replace(
            self, numbers={**self.numbers, **ratios}, readings={**self.readings, **tried}
        )


def compare_ratios(printed: float, corrected: float, **numbers: float) -> ExaminationEvidence:
    """Check by ratios measured/bound whether an erratum's printed and corrected bounds hold.

    A bound holds if its ratio is at most 1.
    """
    return ExaminationEvidence(
        printed_fails=not is_at_most_bound(printed),
        corrected_holds=is_at_most_bound(corrected),
        numbers={"measured over printed": printed, "measured over corrected": corrected, **numbers},
    )


def is_at_most_bound(ratio: float) -> bool:
    """Return whether a ratio of measured value to bound is at most 1, up to rounding."""
    return bool(ratio <= 1.0 + ROUNDING)


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the random generator for examining an erratum, from a seed and the stream's name."""
    return np.random.default_rng(np.random.SeedSequence((seed, zlib.crc32(name.encode()))))


def compute_gaps_along_run(problem: Problem, algorithm: Algorithm, seed: int) -> Floats:
    """Run an algorithm for T steps; return the Frank-Wolfe gaps at x_0 .. x_{T-1}, shape (T,)."""

    def gap(problem: Problem, state: State) -> float:
        bracket = fw_gap(problem, state)
        assert bracket is not None
        return bracket[1]

    run = solve(problem, algorithm, seed=seed, measures={"V": gap})
    column = run.columns.index("V")
    return np.array([row[column] for row in run.rows[:-1]])
