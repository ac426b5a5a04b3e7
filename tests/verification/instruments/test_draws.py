"""Random streams whose draws are chosen: every draw of numpy's generator, with its chance."""

import copy
import itertools
import pickle
from collections import Counter
from math import comb, factorial

import numpy as np
import pytest

from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws


def law(draw, most=20_000):
    """Return the chance of each value that a draw takes."""
    chances = Counter()
    for chance, value in enumerate_draws(lambda rng: np.asarray(draw(rng)), most):
        chances[tuple(value.ravel().tolist())] += chance
    return {value: pytest.approx(chance) for value, chance in chances.items()}


def uniform(values):
    values = list(values)
    return dict.fromkeys(values, 1 / len(values))


def third_of(u):
    """The comparisons of one number go together."""
    found = 0 if u < 1 / 3 else 1 if u <= 2 / 3 else 2
    assert (u < 2 / 3) == (found < 2)
    assert 0.0 <= u < 1.0
    return found


PAIRS = uniform(itertools.product(range(3), repeat=2))
ORDERED = uniform(itertools.permutations(range(3)))


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda rng: rng.integers(3, size=2), PAIRS),
        (lambda rng: rng.integers(0, 3, (2, 1), np.int32), PAIRS),
        (lambda rng: rng.integers(low=0, high=2, size=np.int64(2), endpoint=True), PAIRS),
        (lambda rng: [rng.integers(3), rng.integers(3)], PAIRS),
        (lambda rng: rng.integers(1, 4, size=2, dtype=np.uint8) - 1, PAIRS),
        (lambda rng: rng.choice(3, 2), PAIRS),
        (lambda rng: rng.choice(np.arange(3), size=(1, 2)), PAIRS),
        (lambda rng: rng.choice([0, 1, 2], 2, p=[1 / 3] * 3), PAIRS),
        (lambda rng: [child.integers(3) for child in rng.spawn(2)], PAIRS),
        (lambda rng: np.random.default_rng(rng).integers(3, size=2), PAIRS),
        (lambda rng: rng.permutation(3), ORDERED),
        (lambda rng: rng.permutation([0, 1, 2]), ORDERED),
        (lambda rng: rng.choice(3, 3, replace=False), ORDERED),
        (lambda rng: rng.choice(3, 2, replace=False), uniform(itertools.permutations(range(3), 2))),
        (lambda rng: rng.choice(2, p=[0.25, 0.75]), {(0,): 0.25, (1,): 0.75}),
        (lambda rng: int(rng.random() > 0.25), {(0,): 0.25, (1,): 0.75}),
        (lambda rng: int(not np.float64(0.25) > rng.random()), {(0,): 0.25, (1,): 0.75}),
        (lambda rng: third_of(rng.random()), uniform([(0,), (1,), (2,)])),
    ],
)
def test_every_draw_has_its_chance(draw, expected):
    assert law(draw) == expected


def test_a_shuffle_works_in_place():
    def shuffled(rng):
        items, array = [0, 1, 2], np.arange(3)
        rng.shuffle(items)
        rng.shuffle(array)
        return [*items, *array]

    assert law(shuffled) == uniform(a + b for a in ORDERED for b in ORDERED)


def test_a_multinomial_draw_counts_single_draws():
    p = (0.5, 0.25, 0.25)
    expected = {
        (a, b, 3 - a - b): factorial(3)
        / (factorial(a) * factorial(b) * factorial(3 - a - b))
        * p[0] ** a
        * p[1] ** b
        * p[2] ** (3 - a - b)
        for a in range(4)
        for b in range(4 - a)
    }
    assert len(expected) == comb(5, 2)
    assert law(lambda rng: rng.multinomial(3, p)) == expected


def test_values_and_types_are_numpys():
    """What is drawn has the shape and type that numpy's generator gives it."""
    for draw in (
        lambda rng: rng.integers(5),
        lambda rng: rng.integers(5, size=(2, 3), dtype=np.int16),
        lambda rng: rng.choice(5),
        lambda rng: rng.choice(5, size=2),
        lambda rng: rng.choice(np.array([1.5, 2.5]), size=2),
        lambda rng: rng.permutation(4),
        lambda rng: rng.multinomial(2, [0.5, 0.5]),
        lambda rng: rng.multinomial(2, [0.5, 0.5], size=3),
    ):
        _, found = next(enumerate_draws(draw))
        expected = draw(np.random.default_rng(0))
        assert np.shape(found) == np.shape(expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_what_is_drawn_may_depend_on_what_was_drawn():
    assert law(lambda rng: rng.integers(1 + rng.integers(2))) == {(0,): 0.75, (1,): 0.25}


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.random(2),
        lambda rng: bool(rng.random()),
        lambda rng: rng.normal(size=3),
        lambda rng: rng.integers(2**63),
        lambda rng: rng.integers([1, 2]),
        lambda rng: rng.integers(0),
        lambda rng: rng.integers("three"),
        lambda rng: rng.integers(3, size=-1),
        lambda rng: rng.choice(3, 4, replace=False),
        lambda rng: rng.choice(3, 2, replace=False, p=[0.5, 0.25, 0.25]),
        lambda rng: rng.choice(3, size=2.5),
        lambda rng: np.random.Generator(rng.bit_generator),
        copy.deepcopy,
        copy.copy,
        pickle.dumps,
        lambda rng: rng.integers(3, size=10),
    ],
)
def test_what_is_no_choice_among_few_is_said(draw):
    with pytest.raises(NotEnumerable):
        list(enumerate_draws(draw))


@pytest.mark.parametrize(
    "use",
    [
        lambda u: u * 2.0,
        lambda u: int(3 * u),
        lambda u: np.floor(u),
        lambda u: np.ones(2) * u,
        lambda u: float(u),
    ],
)
def test_a_uniform_number_is_known_by_comparisons_alone(use):
    """So no check computes with a number that was never drawn."""
    with pytest.raises(TypeError):
        list(enumerate_draws(lambda rng: use(rng.random())))
