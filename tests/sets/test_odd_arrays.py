"""Each set converts or refuses arrays that are no plain float64 arrays of its shape."""

import numpy as np
import pytest

from pfbench.base.errors import DivergedError, InputError
from pfbench.sets.catalogue import SETS

NEEDS = {"k-sparse": {"k": 2}, "matroid-base": {"k": 2}, "group-lasso": {"groups": 2}}
PLAIN = [name for name, kind in SETS.items() if name in NEEDS or not kind.required_arguments]
VERBS = ("lo", "minimum", "project")


def made(name):
    kind = SETS[name]
    return kind.for_shape((4,) if kind.points == "vectors" else (3, 3), **NEEDS.get(name, {}))


def answer(where, verb, array):
    found = getattr(where, verb)(array)
    return found.matrix() if hasattr(found, "matrix") else found


def verbs(where):
    return [verb for verb in VERBS if verb != "project" or where.has_projection]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.bool_, ">f8", np.uint64])
def test_arrays_of_another_real_type_are_answered_as_in_double_precision(name, dtype):
    where, rng = made(name), np.random.default_rng(0)
    for scale in (1.0, 100.0):
        array = (scale * rng.standard_normal(where.shape)).clip(-128, 127).astype(dtype)
        if dtype is not np.bool_:
            assert where.contains(array) == where.contains(array.astype(np.float64))
        if dtype is np.int8:
            array.flat[0] = -128
        for verb in verbs(where):
            found = answer(where, verb, array)
            np.testing.assert_array_equal(found, answer(where, verb, array.astype(np.float64)))
            if verb != "minimum":
                assert found.dtype == np.float64
                assert where.contains(found)


ODD = {
    "shape": lambda shape: np.ones([k + 1 for k in shape]),
    "list": lambda shape: np.ones(shape).tolist(),
    "masked": np.ma.ones,
    "complex": lambda shape: np.ones(shape, dtype=complex),
    "text": lambda shape: np.full(shape, "1"),
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_real_array_of_the_shape_is_refused(name, odd):
    where = made(name)
    array = np.ma.masked_less(np.arange(np.prod(where.shape)), 1).reshape(where.shape)
    array = array if odd == "masked" else ODD[odd](where.shape)
    for verb in verbs(where):
        with pytest.raises(InputError):
            answer(where, verb, array)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_not_finite_diverges(name, number):
    where = made(name)
    array = np.ones(where.shape)
    array.flat[1] = number
    for verb in verbs(where):
        if (verb, name, number) == ("lo", "simplex", np.inf):
            continue  # its vertex is that of the least entry, which is finite
        with pytest.raises(DivergedError):
            answer(where, verb, array)
