"""Moving factored points: any sequence of moves against the same moves of dense matrices."""

import numpy as np
import pytest
from helpers import (
    in_chunks,
    on_pattern,
    random_pattern,
    random_point,
    random_vertex,
    tiny_recovery,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pfbench.base.errors import StalePoint
from pfbench.points import FactoredMatrix, combine, distance, inner, keep
from pfbench.problems.catalogue import problem as problem_named

PATTERN = random_pattern(np.random.default_rng(0))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


class Sequence:
    """A sequence of points beside the dense matrices that they must equal."""

    def __init__(self, point, matrix):
        self.points, self.matrices, self.weights = [point], [matrix], [0.0]

    @property
    def newest(self):
        return self.points[-1]

    def move(self, vertex, w):
        self.points.append(combine(self.newest, vertex, w))
        self.matrices.append((1.0 - w) * self.matrices[-1] + w * vertex.matrix())
        self.weights.append(w)

    def check(self):
        """Each point that can still be read is right; the newest two always can be."""
        for age, (point, matrix) in enumerate(
            zip(reversed(self.points), reversed(self.matrices), strict=True)
        ):
            readable = age == 0 or (age == 1 and self.weights[-1] < 1.0)
            try:
                values, whole = point.values(), point.matrix()
            except StalePoint:
                assert not readable
                continue
            # Undoing a step of weight w while reading costs a factor 1/(1 - w).
            assert_allclose(values, on_pattern(PATTERN, matrix), atol=1e-11)
            assert_allclose(whole, matrix, atol=1e-11)


WEIGHTS = st.floats(0.0, 0.95) | st.just(1.0)
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["step", "same vertex", "trials", "settle", "keep", "mix"]),
        WEIGHTS,
        st.integers(0, 3),
    ),
    max_size=12,
)


def compare(moves, pattern, limit=None):
    """Make the moves with points and with dense matrices; compare all of them after each."""
    rng = np.random.default_rng(1)
    start = random_point(rng, pattern)
    sequences, vertex = [Sequence(start, start.matrix())], random_vertex(rng, pattern)
    for move, w, which in moves:
        sequence = sequences[which % len(sequences)]
        newest, matrix = sequence.newest, sequence.matrices[-1]
        if limit:
            newest._trail.limit = limit
        if move == "step":
            vertex = random_vertex(rng, pattern)
            sequence.move(vertex, w)
        elif move == "same vertex":
            sequence.move(vertex, w)
        elif move == "trials":
            for trial in (0.1, 0.7):
                point = combine(newest, vertex, trial)
                expected = (1.0 - trial) * matrix + trial * vertex.matrix()
                assert_allclose(point.values(), on_pattern(PATTERN, expected), atol=1e-11)
        elif move == "settle":
            newest.apply_recorded_step()
        elif move == "keep":
            sequences.append(Sequence(keep(newest), matrix))
        elif move == "mix":
            other = sequences[0]
            c = 3.0 * w - 1.5
            mixed = combine(newest, other.newest, c)
            sequences.append(Sequence(mixed, (1 - c) * matrix + c * other.matrices[-1]))
        for each in sequences:
            each.check()


@settings(max_examples=150)
@given(MOVES, st.sampled_from([None, 2]))
def test_any_sequence_of_moves_equals_dense_arithmetic(moves, limit):
    """`limit` forces atoms to be compressed again after every second step."""
    compare(moves, PATTERN, limit)


@settings(max_examples=10)  # threads are slow where the cores are busy
@given(MOVES)
def test_any_sequence_of_moves_with_several_threads(moves):
    compare(moves, in_chunks(PATTERN, 1, 1, 3))


@settings(max_examples=40)
@given(MOVES, st.sampled_from([None, 2]))
def test_any_sequence_of_moves_with_gradients_and_values_between(moves, limit):
    """What algorithms do: gradients settle points, values and batches only read them."""
    problem = tiny_recovery()
    pattern, sigma = problem.pattern, problem.sigma
    backend = problem.open(np.random.default_rng(0))
    rng = np.random.default_rng(1)
    x, matrix = problem.start(), np.zeros(problem.shape)
    for _, w, _ in moves:
        if limit:
            x._trail.limit = limit
        vertex = random_vertex(rng, pattern)
        y, before = x, matrix
        x = combine(y, vertex, w)
        matrix = (1.0 - w) * matrix + w * vertex.matrix()

        def slopes(at):
            z = on_pattern(pattern, at) - problem.targets
            return z / sigma * np.exp(-z * z / (2.0 * sigma))

        sample = np.array([0, 3, 3, 9])
        times = np.bincount(sample, minlength=problem.n) / 4.0
        change = backend.difference(sample, x, y)
        assert_allclose(change, times * (slopes(matrix) - slopes(before)), atol=1e-12)
        assert_allclose(backend.gradient(x), slopes(matrix) / problem.n, atol=1e-12)


# --- one move, step by step -----------------------------------------------------------------------


def test_a_recorded_step_is_applied_exactly_once(rng):
    x = random_point(rng, PATTERN)
    before, vertex = x.values(), random_vertex(rng, PATTERN)
    moved = combine(x, vertex, 0.25)
    assert_array_equal(x._trail.values, before)  # recorded, not applied
    first = moved.values()
    for _ in range(3):
        moved.apply_recorded_step()
    assert_array_equal(moved.values(), first)
    assert_array_equal(moved._trail.values, first)


def test_the_point_before_is_readable_after_one_move_and_gone_after_two(rng):
    x0 = random_point(rng, PATTERN)
    values = x0.values()
    x1 = combine(x0, random_vertex(rng, PATTERN), 0.5)
    x1.apply_recorded_step()
    assert_allclose(x0.values(), values, rtol=1e-13, atol=1e-13)
    x2 = combine(x1, random_vertex(rng, PATTERN), 0.5)
    x2.apply_recorded_step()
    assert_allclose(x1.values(), on_pattern(PATTERN, x1.matrix()), atol=1e-13)
    for read in (x0.values, x0.factors, x0.matrix, x0.copy, x0.entry_view):
        with pytest.raises(StalePoint, match="keep"):
            read()


def test_only_the_newest_point_can_be_moved(rng):
    x0 = random_point(rng, PATTERN)
    vertex = random_vertex(rng, PATTERN)
    combine(x0, vertex, 0.5).apply_recorded_step()
    with pytest.raises(StalePoint, match="keep"):
        combine(x0, vertex, 0.5)
    with pytest.raises(StalePoint, match="keep"):
        x0.apply_recorded_step()


def test_a_full_step_drops_the_point_before(rng):
    x0, vertex = random_point(rng, PATTERN), random_vertex(rng, PATTERN)
    values = x0.values()
    x1 = combine(x0, vertex, 1.0)
    assert_array_equal(x0.values(), values)  # as long as the step is only recorded
    x1.apply_recorded_step()
    assert_allclose(x1.values(), on_pattern(PATTERN, vertex.matrix()), atol=1e-15)
    assert x1._trail.atoms.atom_count == 1  # and its atoms are not held in memory either
    with pytest.raises(StalePoint, match="keep"):
        x0.values()


def test_a_step_is_undone_only_where_that_keeps_ten_digits(rng):
    x0, vertex = random_point(rng, PATTERN), random_vertex(rng, PATTERN)
    values = x0.values()
    combine(x0, vertex, 0.998).apply_recorded_step()
    assert_allclose(x0.values(), values, atol=1e-11)
    x0 = random_point(rng, PATTERN)
    combine(x0, vertex, 0.9995).apply_recorded_step()
    with pytest.raises(StalePoint, match="keep"):
        x0.values()


def test_trial_points_of_a_line_search_leave_the_point_where_it_is(recovery, rng):
    x = random_point(rng, recovery.pattern)
    stored, vertex = x._trail.values.copy(), random_vertex(rng, recovery.pattern)
    trials = {w: combine(x, vertex, w) for w in (0.1, 0.5, 1.0)}
    for w, trial in trials.items():
        dense = (1.0 - w) * x.matrix() + w * vertex.matrix()
        z = on_pattern(recovery.pattern, dense) - recovery.targets
        expected = np.mean(1.0 - np.exp(-z * z / (2 * recovery.sigma)))
        assert_allclose(recovery.value(trial), expected, rtol=1e-13)
    assert_array_equal(x._trail.values, stored)
    assert x._trail.atoms.atom_count == len(x.factors().weights) + 1  # one slot for all trials
    recovery.gradient(trials[0.5])
    with pytest.raises(StalePoint):  # the trials that were not taken are gone
        trials[0.1].values()


def test_the_points_of_a_sequence_share_one_vector_of_values(rng):
    x = FactoredMatrix.zero(PATTERN)
    for _ in range(3):
        moved = combine(x, random_vertex(rng, PATTERN), 0.5)
        assert np.shares_memory(moved.entry_view().values, x.entry_view().values)
        x = moved


# --- atoms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_compressing_atoms_changes_nothing_beyond_rounding(limit):
    def run(limit):
        rng, x = np.random.default_rng(5), FactoredMatrix.zero(PATTERN)
        for _ in range(40):
            if limit:
                x._trail.limit = limit
            x = combine(x, random_vertex(rng, PATTERN), 0.15)
        return x

    plain, compressed = run(None), run(limit)
    assert len(plain.factors().weights) == 40
    assert len(compressed.factors().weights) <= limit + 6
    assert_array_equal(compressed.values(), plain.values())  # values are never recomputed
    assert_allclose(compressed.matrix(), plain.matrix(), atol=1e-14)
    assert_allclose(distance(compressed, plain), 0.0, atol=1e-13)


def test_a_long_run_holds_a_bounded_number_of_atoms(rng):
    x = FactoredMatrix.zero(PATTERN)
    for _ in range(400):
        x = combine(x, random_vertex(rng, PATTERN), 0.01)
    assert len(x.factors().weights) <= 65


def test_the_point_before_a_compression_can_still_be_read(rng):
    x0 = random_point(rng, PATTERN, rank=3)
    matrix = x0.matrix()
    x0._trail.limit = 1
    combine(x0, random_vertex(rng, PATTERN), 0.5).apply_recorded_step()
    assert_allclose(x0.matrix(), matrix, atol=1e-14)
    assert_allclose(inner(np.ones(PATTERN.n), x0), on_pattern(PATTERN, matrix).sum(), rtol=1e-12)


def test_the_factors_of_a_view_cannot_be_changed(rng):
    x = random_point(rng, PATTERN, rank=3)
    for part, own in zip(x.view().factors(), x.factors(), strict=True):
        assert own.flags.writeable
        assert_array_equal(part, own)
        with pytest.raises(ValueError, match="read-only"):
            part *= 2.0


def test_a_view_reads_as_the_point_and_moves_as_a_copy():
    problem = problem_named("robust-matrix-recovery", rows=30, columns=20, rank=2, density=0.5)
    rng = np.random.default_rng(0)
    x = problem.start()
    for weight in (0.5, 0.25):
        x = combine(x, problem.set.random_vertex(rng, problem.pattern), weight)
    seen, own = x.view(), keep(x)
    assert problem.value(seen) == problem.value(x)
    assert_array_equal(problem.gradient(seen), problem.gradient(own))
    assert seen.entry_view().values is x.entry_view().values  # so far nothing is copied
    assert x.entry_view().b != 0.0  # and the recorded step of x not applied
    moved = combine(seen, problem.set.random_vertex(rng, problem.pattern), 0.5)
    assert isinstance(moved, FactoredMatrix)
    assert not moved.is_borrowed
    assert moved.entry_view().values is not x.entry_view().values
    assert_array_equal(x.values(), own.values())
    assert_array_equal(seen.values(), own.values())
