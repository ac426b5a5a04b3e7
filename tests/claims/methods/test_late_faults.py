"""Generated faults that are late: at least 90 % of those that change a run at size are seen."""

from time import process_time

import numpy as np
import pytest
from judging import judge
from late_faults import drawn, faulty

from pfbench.algorithms import ALGORITHMS
from pfbench.claims.catalogue import CLAIMS
from pfbench.claims.methods.stating import settings_at_size
from pfbench.verification import Subject
from pfbench.verification.faults.generate import faults_of
from pfbench.verification.laws.at_size import same_at_size

pytestmark = pytest.mark.claims

RUNS = [name.removeprefix("methods-run-") for name in CLAIMS if name.startswith("methods-run-")]


def of_source(rng, name):
    """Return a fault that is generated from the method's source."""
    faults = faults_of(ALGORITHMS[name], late=True)
    found = faults[rng.integers(len(faults))]
    return found, (found.in_words,)


def of_oracles(rng, name):
    """Return one whose oracles cheat."""
    fault = drawn(rng)
    return faulty(ALGORITHMS[name], fault), fault


def share(kind, count, seed):
    """Return how many late faults were seen, how many change a run, and those not seen."""
    rng, seen, missed = np.random.default_rng(seed), 0, []
    for _ in range(count):
        name = str(rng.choice(RUNS))
        claim, (changed, fault) = CLAIMS[f"methods-run-{name}"], kind(rng, name)
        if judge(claim, Subject(changed)).verdict == "violated":
            seen += 1
            continue
        if not same_at_size(claim, Subject(changed), settings_at_size(claim)):
            missed.append((name, *fault))
    return seen, seen + len(missed), missed


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("frank-wolfe", "2.0 + math.log((t + 0.5 * 1.0 if "),  # a weight, off by 1e-6
        ("ncgs", "min(1.0, (0.5 * (gap * lam / length ** 2) if "),  # in its inner loop
        ("zerosarah", "(table is not None if "),  # fills its table in each iteration
        ("zerosarah-fw", "(table is not None if "),
    ],
)
def test_a_late_fault_that_was_not_seen_is(name, after):
    (fault,) = [one for one in faults_of(ALGORITHMS[name], late=True) if after in one.change.after]
    began = process_time()
    assert judge(CLAIMS[f"methods-run-{name}"], Subject(fault)).verdict == "violated"
    assert process_time() - began < 20.0


@pytest.mark.parametrize("kind", [of_source, of_oracles])
@pytest.mark.parametrize(
    ("count", "seed"),
    [(4, 1), *(pytest.param(18, seed, marks=pytest.mark.long) for seed in (3, 4, 5))],
)
def test_most_late_faults_are_seen(kind, count, seed):
    seen, every, missed = share(kind, count, seed)
    assert every >= count // 3
    assert seen >= 0.9 * every, missed
