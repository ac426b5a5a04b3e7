"""Right methods in more styles of strangers: not one is called violated."""

import pytest
from judging import judge, styles_with_claims
from more_styles import STYLES, Stricter

from pfbench.claims.catalogue import CLAIMS
from pfbench.verification import Subject

pytestmark = pytest.mark.claims

QUICK = ("Halved", "OwnCoin", "Rejected")


@pytest.mark.parametrize(("what", "kind", "name"), list(styles_with_claims(STYLES, QUICK)))
def test_a_right_method_in_another_style_is_not_violated(what, kind, name):
    found = judge(CLAIMS[f"methods-{what}-{name}"], Subject(kind))
    more_work = kind is Stricter and what in ("count", "run")
    assert found.verdict == ("inconclusive" if more_work else "holds"), found.reason
    assert ("more work, same guarantee" in found.reason) == more_work
