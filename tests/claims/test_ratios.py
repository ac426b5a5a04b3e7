"""Ratios that claims measure, with and without planted faults; the numbers are in ratios.toml."""

import tomllib
from pathlib import Path

import pytest
from judging import trial

from pfbench.claims.catalogue import CLAIMS, MUTANTS
from pfbench.verification.trial import Trial

pytestmark = pytest.mark.claims

ROWS = tomllib.loads(Path(__file__).with_name("ratios.toml").read_text())["rows"]


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=[pytest.mark.long] * row.get("is_long", False)) for row in ROWS],
    ids=lambda row: f"{row['claim']} {row.get('fault', '')}",
)
def test_ratio(row):
    claim = CLAIMS[row["claim"]]
    test = Trial(claim, MUTANTS[row["fault"]].subject) if "fault" in row else trial(claim)
    instance = next(one for one in claim.instances if one.build.__name__ == row["instance"])
    parameters = row.get("parameters")
    problem = instance.build(**parameters) if parameters else instance.build_seeded(1)
    measured = claim.check.keywords["measure"](test, problem)
    largest = measured if isinstance(measured, float) else max(measured)
    if "least" in row:
        assert largest > row["least"]
    else:
        assert largest == pytest.approx(row["ratio"], rel=0.0, abs=row.get("tolerance", 1e-4))
