"""How often `pfbench compare` tells methods apart: where none differ, and where all do."""

import numpy as np

from pfbench.reporting.significance import SeedSample, compare_pairs

SEEDS, OTHERS, TIMES = 10, 45, 200


def families(factor):
    """Return what is said of a method against 45 others, each with a factor of its calls."""
    rng = np.random.default_rng(7)
    for _ in range(TIMES):
        # A standard deviation of 0.2 of the logarithm: the median of the shipped methods is 0.12.
        calls = rng.lognormal(np.log(1000), 0.2, size=(1 + OTHERS, SEEDS))
        mine, *others = map(SeedSample, calls)
        yield compare_pairs([(mine, SeedSample(factor * sample.values)) for sample in others])


def test_against_itself_on_other_seeds_a_family_tells_one_apart_in_at_most_5_percent():
    assert sum(any(family) for family in families(1.0)) <= 0.05 * TIMES


def test_half_as_many_calls_again_are_told_by_ten_seeds_in_at_least_80_percent():
    said = [side for family in families(1.5) for side in family]
    assert said.count(-1) >= 0.8 * len(said)
    assert said.count(1) == 0
