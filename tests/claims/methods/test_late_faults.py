"""Generated faults that are late: at least 90 % of those that change a run at size are seen."""

import numpy as np
import pytest
from judging import judge, trial
from late_faults import differs, drawn, faulty

from pfbench.algorithms import ALGORITHMS
from pfbench.claims.catalogue import CLAIMS
from pfbench.verification import Subject

pytestmark = pytest.mark.claims

RUNS = [name.removeprefix("methods-run-") for name in CLAIMS if name.startswith("methods-run-")]


def share(count, seed):
    """Return how many late faults were seen, how many change a run, and those not seen."""
    rng, seen, missed = np.random.default_rng(seed), 0, []
    for _ in range(count):
        name, fault = str(rng.choice(RUNS)), drawn(rng)
        claim, changed = CLAIMS[f"methods-run-{name}"], faulty(ALGORITHMS[name], fault)
        if judge(claim, Subject(changed)).verdict == "violated":
            seen += 1
            continue
        right = trial(claim)
        for one in claim.check.keywords["method"].sized:
            made = [kind(**one.parameters) for kind in (ALGORITHMS[name], changed)]
            if differs(right, one.problem(), *made):
                missed.append((name, *fault))
                break
    return seen, seen + len(missed), missed


@pytest.mark.parametrize(("count", "seed"), [(6, 1), pytest.param(150, 2, marks=pytest.mark.long)])
def test_most_late_faults_are_seen(count, seed):
    seen, every, missed = share(count, seed)
    assert every >= count // 3
    assert seen >= 0.9 * every, missed
