"""The runs of a receipt: of each claim with a setting, on each of its instances, a row for a seed.

A run is followed step by step, as checks do. Its row has what it cost, what was measured of it, and
a hash of its iterates, so that whoever makes it again sees whether it is the same.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.failures import end_sentence
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.field_types import count as is_count
from pfbench.runs.storage.field_types import list_type
from pfbench.runs.storage.field_types import number as is_number
from pfbench.runs.storage.serialization import INTEGERS, decode_json
from pfbench.verification.claim import Claim
from pfbench.verification.instances import Instance
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.error_law import ErrorLaw
from pfbench.verification.statements.exact_counts import ExactCounts
from pfbench.verification.statements.rate import RateCheck
from pfbench.verification.statements.setting import MethodOnProblem, draw_seeds, instance_titles
from pfbench.verification.subject import ClaimBroken, NotTestable
from pfbench.verification.trial import Trial

SEEDS, SEEDS_OF_RATES = 20, 10
"""How many runs a cell has where chance enters."""

_TRACE = ("iteration", *COUNTED, "seconds")
_MORE = ("cell", "data", "seed", "measured", "iterates")
COLUMNS = (*_TRACE, *_MORE)
"""The columns of the file: the trace of a run in a store, a row for a run, and some more."""

OF_STEPS = (*_TRACE[:-1], "iterates")
"""Those that `summed` has."""

_BITS = 48
"""Bits of a hash, which a float holds exactly."""

Row = Mapping[str, float]
"""A run, by `COLUMNS`: its steps, its counts, its seconds; its cell and seeds; what was measured of
it, NaN if nothing is; the hash of its iterates."""


@dataclass(frozen=True)
class ReceiptCell:
    """Runs that differ in their seeds alone.

    Attributes
    ----------
    claim
        The claim.
    index
        Which of its instances.
    label
        Which of its settings; of a rate the value of what grows.
    """

    claim: Claim
    index: int
    label: str

    @property
    def name(self) -> str:
        """What it is called, apart from all others."""
        title = instance_titles(self.claim)[self.index] or self.instance.name
        return ", ".join(filter(None, (self.claim.name, title, self.label)))

    @property
    def instance(self) -> Instance:
        """The instance."""
        instance: Instance = self.claim.instances[self.index]
        return instance

    def seeds(self, seed: int) -> list[tuple[int, int]]:
        """Return the seeds of data and runs that a verification of this seed has."""
        many = SEEDS_OF_RATES if isinstance(self.claim.check, RateCheck) else SEEDS
        return draw_seeds(Trial(self.claim, seed=seed), self.instance, many)

    def value(self, check: RateCheck) -> float:
        """Return the value of what grows."""
        return next(value for value in check.values if _rate_cell_name(check, value) == self.label)

    def case(self, data: int) -> MethodOnProblem:
        """Return the problem of a seed with the method made for it."""
        check, trial = self.claim.check, Trial(self.claim)
        if isinstance(check, RateCheck):
            return check.make_case(trial, self.instance, self.value(check), data)
        setting = check.setting if isinstance(check, ErrorLaw) else check.settings[self.label]  # type: ignore[attr-defined]
        return setting.make_case(trial, self.instance.build_seeded(data))


def cells(claim: Claim) -> list[ReceiptCell]:
    """Return the cells of a claim; none if its check states no setting."""
    check = claim.check
    if isinstance(check, RateCheck):
        labels = [_rate_cell_name(check, value) for value in check.values]
    elif isinstance(check, Bound | ExactCounts):
        labels = list(check.settings)
    else:
        labels = [""] if isinstance(check, ErrorLaw) else []
    return [ReceiptCell(claim, k, label) for k in range(len(claim.instances)) for label in labels]


def group_by_cell(names: Sequence[str], rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the runs of each cell by its name, in their order."""
    return {name: [row for row in rows if row["cell"] == index] for index, name in enumerate(names)}


def _rate_cell_name(check: RateCheck, value: float) -> str:
    return f"{check.varied_parameter.removeprefix('1/')} = {value:g}"


def run_cell(
    cell: ReceiptCell, seeds: Sequence[tuple[int, int]], index: int
) -> "list[dict[str, float]] | str":
    """Return the runs of a cell, one for each pair of seeds, or why they come to no end.

    `index` is its number in the file.
    """
    try:
        return [_row(cell, data, seed, index) for data, seed in seeds]
    except (ClaimBroken, NotTestable) as error:
        return end_sentence(error)


def _row(cell: ReceiptCell, data: int, seed: int, index: int) -> dict[str, float]:
    started = perf_counter()
    trial, case = Trial(cell.claim), cell.case(data)
    check = cell.claim.check
    bounds = check.values(case) if isinstance(check, Bound) else {}
    steps, counts, iterates = digest_run(
        (point_bytes(case.problem, step.state.x), step.counts().as_dict())
        for step in islice(trial.follow(case.problem, case.algorithm, seed=seed), case.steps)
    )
    measured = float("nan")
    if isinstance(check, Bound):
        measured = check.max_ratio(trial, case, seed)
        if check.values(case) != bounds:
            raise ClaimBroken(f"the bound of {cell.name} is another one after a run than before")
    elif isinstance(check, RateCheck):
        measured = check.calls(trial, cell.instance, cell.value(check), data, seed)
    row = (steps, *counts, perf_counter() - started, index, data, seed, measured, iterates)
    return dict(zip(COLUMNS, row, strict=True))


def digest_run(steps: Iterable[tuple[bytes, Mapping[str, int]]]) -> tuple[int, list[int], float]:
    """Return how many steps a run has, its counts at the end, and the hash of its iterates."""
    digest, number, counts = hashlib.sha256(), 0, [0] * 7
    for bits, spent in steps:
        number, counts = number + 1, list(spent.values())
        digest.update(bits)
    return number, counts, float(int.from_bytes(digest.digest()[: _BITS // 8]))


def point_bytes(problem: Any, x: Any) -> bytes:
    """Return the bytes of a point; of a factored one those of the value there."""
    return bytes(np.ascontiguousarray(x if isinstance(x, np.ndarray) else problem.value(x)).data)


# --- their file -----------------------------------------------------------------------------------


def encode_runs(rows: Sequence[Row]) -> bytes:
    """Return the runs as JSON: the names of the columns, and a list of numbers for each run."""
    lines = [[int(row[n]) if n in INTEGERS else float(row[n]) for n in COLUMNS] for row in rows]
    return json.dumps({"columns": COLUMNS, "rows": lines}).encode() + b"\n"


def decode_runs(data: bytes, number: int) -> list[Row]:
    """Return the runs of a file, which may be anybody's.

    Raises
    ------
    DamagedFileError
        If it is not one, or names another cell than one of so many.
    """
    content = decode_json(data)
    if not isinstance(content, dict) or content.get("columns") != list(COLUMNS):
        raise DamagedFileError(
            "incomplete", "its table has other columns than the runs of a receipt"
        )
    lines: list[list[float]] = content.get("rows", 0)
    if not list_type(list_type(is_number))(lines) or {*map(len, lines)} - {len(COLUMNS)}:
        raise DamagedFileError("incomplete", "a row is not a list of as many numbers as columns")
    rows: list[Row] = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
    if not all(is_count(row[name]) for row in rows for name in INTEGERS.intersection(COLUMNS)):
        raise DamagedFileError("incomplete", "a count is no whole number")
    for row in rows:
        if not (row["cell"] in range(number) and _is_seed(row["data"]) and _is_seed(row["seed"])):
            raise DamagedFileError("unreadable", "a row is of no cell, or has no seed")
    return rows


def _is_seed(value: float) -> bool:
    return 0 <= value < 2**32 and float(value).is_integer()
