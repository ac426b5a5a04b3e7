"""Indices that are drawn ahead, against numpy's generator: the same stream, whatever is drawn."""

import copy
import pickle

import numpy as np
import pytest

from pfbench.runs.loop.steps import PURPOSES, PrefetchingGenerator, random_stream


def numpys(seed, purpose="algorithm"):
    return np.random.default_rng(np.random.SeedSequence((seed, PURPOSES[purpose])))


def indices(rng, pick):
    return rng.integers(int(pick.choice([1, 7, 1000, 2**40])), size=int(pick.integers(1, 9)))


def written(rng, pick):
    """Write over a batch, which is the caller's own."""
    batch = rng.integers(1000, size=7)
    kept = batch.copy()
    batch[:] = -1
    return kept


DRAWS = {
    "indices": lambda rng, pick: rng.integers(1000, size=7),
    "other indices": indices,
    "written": written,
    "many": lambda rng, pick: rng.integers(1000, size=int(pick.choice([3000, 8191, 8192, 20_000]))),
    "none": lambda rng, pick: rng.integers(1000, size=0),
    "one": lambda rng, pick: rng.integers(1000),
    "a range": lambda rng, pick: rng.integers(5, 50, size=3, endpoint=True),
    "shape": lambda rng, pick: rng.integers(1000, size=(2, 3)),
    "small": lambda rng, pick: rng.integers(100, size=3, dtype=np.uint8),
    "number": lambda rng, pick: rng.random(),
    "normal": lambda rng, pick: rng.standard_normal(3),
    "choice": lambda rng, pick: rng.choice(50, size=3, replace=False),
    "counts": lambda rng, pick: rng.multinomial(9, np.full(3, 1 / 3)),
    "permutation": lambda rng, pick: rng.permutation(5),
    "pickled": lambda rng, pick: pickle.loads(pickle.dumps(rng)).random(),
    "copied": lambda rng, pick: copy.deepcopy(rng).integers(1000, size=7),
    "spawned": lambda rng, pick: rng.spawn(1)[0].random(),
    "shared": lambda rng, pick: copy.copy(rng).integers(100, size=3),
    "raw": lambda rng, pick: rng.bit_generator.random_raw(),
}


READ_STATE = ("pickled", "copied", "shared", "raw")
"""Draws that read the state; after them no batch is drawn ahead."""


def transcript(rng, seed, length=400):
    pick = np.random.default_rng(seed)
    names = [name for name in DRAWS if name not in READ_STATE]
    # Mostly the same batch again, as in a run.
    chances = np.array([10.0 * len(names)] + [1.0] * (len(names) - 1))
    drawn = pick.choice(names, size=length, p=chances / chances.sum())
    last = [name for read in np.roll(READ_STATE, seed) for name in (read, "indices", read)]
    for name in [*drawn, *last]:
        yield name, DRAWS[name](rng, pick)


@pytest.mark.parametrize("seed", range(6))
def test_every_draw_is_numpys(seed):
    rng = random_stream(seed, "algorithm")
    assert isinstance(rng, PrefetchingGenerator)
    made = [*transcript(rng, seed)]  # no batch is written over later
    plain = numpys(seed)
    for (name, ours), (_, theirs) in zip(made, transcript(plain, seed), strict=True):
        assert type(ours) is type(theirs)
        assert np.array_equal(ours, theirs), name
    assert rng.bit_generator.state == plain.bit_generator.state


@pytest.mark.parametrize("bound", [0, -3])
def test_a_bound_that_numpy_refuses_is_refused(bound):
    rng = random_stream(5, "algorithm")
    rng.integers(10, size=3)
    with pytest.raises(ValueError, match=r"low >= high|high <= 0"):
        rng.integers(bound, size=3)
    plain = numpys(5)
    plain.integers(10, size=3)
    assert np.array_equal(rng.integers(10, size=3), plain.integers(10, size=3))


def test_batches_are_drawn_ahead():
    """A planted reading of the state shows it: the generator stands further on than was asked."""
    rng, plain = random_stream(6, "algorithm"), numpys(6)
    for _ in range(20):
        rng.integers(100, size=3)
        plain.integers(100, size=3)
    inside = np.random.Generator.bit_generator.__get__(rng)
    assert inside.state != plain.bit_generator.state
    assert rng.bit_generator.state == plain.bit_generator.state
