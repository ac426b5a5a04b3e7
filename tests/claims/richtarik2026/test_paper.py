"""Local LMO: ratios of its steps and runs, and those of each fault."""

import pytest
from judging import trial

from pfbench.claims.catalogue import CLAIMS, MUTANTS
from pfbench.claims.richtarik2026 import local_steps
from pfbench.verification.trial import Trial

pytestmark = pytest.mark.claims


def ratios(name, instance, fault=None):
    """Return the largest ratio of a claim on one of its instances, for a planted fault if given."""
    claim = CLAIMS[f"richtarik2026-llo-{name}"]
    test = Trial(claim, MUTANTS[fault].subject) if fault else trial(claim)
    problem = claim.instances[instance].build_seeded(1)
    return max(claim.check.keywords["ratios"](test, problem))


@pytest.mark.parametrize(
    ("name", "largest"), [("step", 0.9932), ("convex", 0.1647), ("strong", 0.9457)]
)
def test_bounds_are_kept(name, largest):
    measured = max(ratios(name, instance) for instance in range(3))
    assert measured == pytest.approx(largest, abs=1e-3)


def test_projected_steps_are_local_steps():
    assert max(ratios("projection", instance) for instance in range(3)) < 1.0


@pytest.mark.parametrize(
    ("fault", "name", "instance", "least"),
    [
        ("local-lmo-global", "step", 2, 1.15),
        ("local-lmo-global", "convex", 2, 4.0),
        ("local-lmo-cut", "step", 2, 2.0),
        ("local-lmo-short", "step", 1, 1.15),
        *((f"local-lmo-{fault}", "projection", 0, 1e6) for fault in ("global", "cut", "short")),
    ],
)
def test_faults_exceed_the_bounds(fault, name, instance, least):
    assert ratios(name, instance, fault) > least


def test_the_bound_is_that_of_the_statement():
    assert local_steps.suboptimality_bound(3.0, 2.0, 4) == 4.0
