"""Ten more right methods of strangers: none is violated; their late faults are, with the place."""

import re

import pytest
from judging import judge, styles_with_claims
from ten_styles import FAULTS, STYLES

from pfbench.claims.catalogue import CLAIMS
from pfbench.verification import Subject

pytestmark = pytest.mark.claims

QUICK = ("Page", "Away", "Sliding")


@pytest.mark.parametrize(("what", "kind", "name"), list(styles_with_claims(STYLES, QUICK)))
def test_a_right_method_holds(what, kind, name):
    found = judge(CLAIMS[f"methods-{what}-{name}"], Subject(kind))
    assert found.verdict == "holds", found.reason


@pytest.mark.parametrize(
    ("fault", "name", "between"),
    [
        one
        if one[0].__name__ in ("StaleWhereOld", "CoarserLate", "Prunes", "FlooredStep")
        else pytest.param(*one, marks=pytest.mark.long)
        for one in FAULTS
    ],
)
def test_a_late_fault_is_seen_where_it_shows(fault, name, between):
    found = judge(CLAIMS[f"methods-run-{name}"], Subject(fault))
    assert found.verdict == "violated", found.reason
    if between is None:
        assert "the output has another law" in found.reason
    else:
        first, last = between
        assert first <= int(re.search(r"[Ii]teration (\d+)", found.reason)[1]) <= last
