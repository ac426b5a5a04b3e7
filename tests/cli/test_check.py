"""``pfbench check``: what it prints, its JSON, and its exit statuses."""

import pytest

OWN = "own_things:Quadratic[rows=7]"


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("simplex",), "set"),
        (("penalty:l1",), "penalty"),
        (("l1[radius=3]",), "set"),
        (("estimator:svrg",), "estimator"),
        (("svrg",), "algorithm"),
        (("nfwu-svrg[batch=2]", "-p", OWN), "algorithm"),
        (("misbehaving:Descent[iterations=4]",), "algorithm"),
        ((OWN,), "problem"),
    ],
)
def test_what_is_right_passes(pfbench, conforms, arguments, kind):
    outcome = pfbench("check", *arguments, "--json")
    assert outcome.status == 0, outcome.out
    found = conforms(outcome.json, "check.json")
    assert (found["name"], found["kind"], found["passed"]) == (arguments[0], kind, True)
    assert all(one["expected"] is None for one in found["findings"])


def test_it_is_told_in_lines(pfbench):
    outcome = pfbench("check", "nfwu-svrg[batch=2]", "-p", OWN)
    assert outcome.status == 0
    first, head, *lines, last = filter(None, outcome.out.splitlines())
    assert first == f"algorithm nfwu-svrg[batch=2], on {OWN}"
    assert head.split() == ["check", "result", "what", "was", "seen"]
    assert all(" passed " in line or " skipped " in line for line in lines)
    assert ", 0 failed, " in last
    assert outcome.err.splitlines()[0] == f"importing {OWN}"


WRONG = """
import numpy as np
from pfbench.sets import L1Ball


class Wrong(L1Ball):
    def lo(self, g):
        return -super().lo(g)
"""


def test_a_failure_is_told_whole(pfbench, folder, conforms):
    (folder / "my_sets.py").write_text(WRONG)
    outcome = pfbench("check", "my_sets.py:Wrong[radius=2]")
    assert outcome.status == 1
    (failure,) = [line for line in outcome.out.splitlines() if line.startswith("lo minimises: ")]
    for words in ("<g, lo(g)> must be the minimum", "does lo maximise", "Example: g = ("):
        assert words in failure
    assert failure.endswith("Look at my_sets.py:7 (Wrong.lo).")
    outcome = pfbench("check", "my_sets.py:Wrong", "--json")
    found = conforms(outcome.json, "check.json")
    assert (outcome.status, found["passed"]) == (1, False)
    one = next(one for one in found["findings"] if one["check"] == "lo minimises")
    assert one["locations"] == ["my_sets.py:7 (Wrong.lo)"]
