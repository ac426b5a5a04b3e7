"""A point that is saved and restored goes on with the same bits as the point itself."""

import numpy as np
import pytest
from helpers import assert_one_sentence, random_pattern, random_point, random_vertex

from pfbench.base.errors import InputError, StalePoint
from pfbench.kernels.observed import read_at
from pfbench.points import Factored, combine, keep
from pfbench.points import factored as module
from pfbench.points.saving import hold, restored


def everything(x):
    """All that can be read of a point, bit for bit, its recorded step not applied."""
    if isinstance(x, np.ndarray):
        return x.tobytes(), x.flags.f_contiguous
    reading, (atoms, weights) = x.reading(), x.atoms_and_weights()
    at = [read_at(x.pattern.rows, reading, k) for k in range(x.pattern.n)]
    factors = [part.tobytes() for part in x.factors()]
    scalars = reading.a, reading.b, atoms.used, len(weights)
    return at, reading.values.tobytes(), factors, scalars, x.values().tobytes()


def moved(x, vertices):
    """The bits of a point after some moves, and of copies on the way."""
    found = []
    for w, vertex in zip((0.25, 1.0, 0.5, 0.125, 0.75, 0.3), vertices, strict=True):
        copy = keep(x)
        x = combine(x, vertex, w)
        found.append((everything(x), everything(combine(copy, vertex, w))))
    return found


def again(x, *, moves=True):
    held = hold(x, moves=moves)
    return restored(held.arrays(), Factored.zero(x.pattern))


@pytest.mark.parametrize("steps", range(5))
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("last", [0.4, 1.0])
def test_a_restored_point_goes_on_with_the_same_bits(steps, moves, last):
    rng = np.random.default_rng(steps)
    pattern = random_pattern(rng)
    x = keep(random_point(rng, pattern))
    for k in range(steps):
        w = last if k == steps - 1 else 0.3
        x = combine(x, random_vertex(rng, pattern), w)
    vertices = [random_vertex(rng, pattern) for _ in range(6)]
    same = again(x, moves=moves)
    assert everything(same) == everything(x)
    assert moved(same, vertices) == moved(x, vertices)


def test_what_is_held_stays_though_the_sequence_moves_on():
    rng = np.random.default_rng(7)
    pattern = random_pattern(rng)
    x = combine(random_point(rng, pattern), random_vertex(rng, pattern), 0.3)
    before, held = everything(x), hold(x, moves=True)
    for _ in range(40):
        x = combine(x, random_vertex(rng, pattern), 0.2)
    assert everything(restored(held.arrays(), Factored.zero(pattern))) == before


def test_atoms_are_compressed_when_they_would_have_been(monkeypatch):
    monkeypatch.setattr(module, "most_atoms", lambda shape: 6)
    rng = np.random.default_rng(8)
    pattern = random_pattern(rng)
    vertices = [random_vertex(rng, pattern) for _ in range(20)]
    x, same = Factored.zero(pattern), Factored.zero(pattern)
    for vertex in vertices:
        x, same = combine(x, vertex, 0.3), combine(again(same), vertex, 0.3)
        assert everything(same) == everything(x)
    # The limit grows with what a compression leaves.
    assert x.atoms_used < 20


def test_many_atoms_that_others_use_are_not_saved():
    rng = np.random.default_rng(9)
    pattern = random_pattern(rng, shape=(40, 30), n=11)
    x = combine(Factored.zero(pattern), random_vertex(rng, pattern), 1.0)
    x.settle()
    trial = x
    for _ in range(50):
        trial = combine(x, random_vertex(rng, pattern), 0.3)
    assert trial.atoms_used == 51
    arrays = hold(x, moves=True).arrays()
    assert arrays["left"].shape == (1, 40)
    assert x.nbytes >= sum(array.nbytes for array in arrays.values()) - 200
    same = restored(arrays, x)
    # As many as there are: a copy starts a list of its own where few of them are used.
    assert same.atoms_used == 51
    assert keep(same).atoms_used == keep(x).atoms_used == 1


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("moves", [True, False])
def test_an_array_keeps_its_bits_and_its_order(order, moves):
    x = np.array([[1.0, -0.0, 3.0], [np.pi, 5e-324, 6.0]], order=order)
    saved = hold(x, moves=moves).arrays()
    same = restored(saved, np.zeros((2, 3)))
    assert everything(same) == everything(x)
    same[0, 0] = 9.0
    assert everything(restored(saved, np.zeros((2, 3)))) == everything(x)


def test_a_point_whose_sequence_has_moved_on_is_told():
    rng = np.random.default_rng(10)
    pattern = random_pattern(rng)
    x = random_point(rng, pattern)
    later = combine(x, random_vertex(rng, pattern), 0.3)
    held = hold(x, moves=False)
    later.settle()
    for saving in (held.arrays, lambda: hold(x, moves=True)):
        with pytest.raises(StalePoint):
            saving()


def test_other_points_are_refused():
    pattern = random_pattern(np.random.default_rng(11))
    with pytest.raises(InputError, match="not list") as error:
        hold([1.0], moves=True)
    assert_one_sentence(error)
    arrays = hold(Factored.zero(pattern), moves=True).arrays()
    other = Factored.zero(random_pattern(np.random.default_rng(12), n=12))
    for saved, start in (
        (arrays, other),
        (arrays, np.zeros(5)),
        ({"dense": np.zeros(4)}, np.zeros(5)),
        ({"dense": np.zeros(11)}, Factored.zero(pattern)),
    ):
        with pytest.raises(InputError, match="not one of this problem"):
            restored(saved, start)
