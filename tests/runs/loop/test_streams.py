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


DRAWS = {
    "indices": lambda rng, pick: rng.integers(1000, size=7),
    "other indices": indices,
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
}


def transcript(rng, seed, length=400):
    pick = np.random.default_rng(seed)
    names = list(DRAWS)
    # Mostly the same batch again, as in a run.
    chances = np.array([10.0 * len(names)] + [1.0] * (len(names) - 1))
    for name in pick.choice(names, size=length, p=chances / chances.sum()):
        yield name, DRAWS[name](rng, pick)


@pytest.mark.parametrize("seed", range(6))
def test_every_draw_is_numpys(seed):
    rng = random_stream(seed, "algorithm")
    assert isinstance(rng, PrefetchingGenerator)
    for (name, ours), (_, theirs) in zip(
        transcript(rng, seed), transcript(numpys(seed), seed), strict=True
    ):
        assert type(ours) is type(theirs)
        assert np.array_equal(ours, theirs), name
    assert rng.bit_generator.state == numpys_after(seed)


def numpys_after(seed):
    rng = numpys(seed)
    for _ in transcript(rng, seed):
        pass
    return rng.bit_generator.state


def test_a_batch_is_the_callers_own():
    rng, plain = random_stream(3, "algorithm"), numpys(3)
    for size in (5, 5, 5, 9, 2, 5):
        batch = rng.integers(100, size=size)
        assert np.array_equal(batch, plain.integers(100, size=size))
        batch[:] = -1


def test_whoever_holds_the_state_may_draw_from_it():
    rng, plain = random_stream(4, "algorithm"), numpys(4)
    ours, theirs = rng.bit_generator, plain.bit_generator
    for _ in range(9):
        assert np.array_equal(rng.integers(100, size=3), plain.integers(100, size=3))
        assert ours.random_raw() == theirs.random_raw()


def test_a_shallow_copy_draws_from_the_same_state():
    rng, plain = random_stream(7, "algorithm"), numpys(7)
    rng.integers(100, size=3), plain.integers(100, size=3)
    ours, theirs = copy.copy(rng), copy.copy(plain)
    for _ in range(9):
        assert np.array_equal(rng.integers(100, size=3), plain.integers(100, size=3))
        assert np.array_equal(ours.integers(100, size=3), theirs.integers(100, size=3))


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
