"""The online oracle: what it answers, what it draws, and what that costs."""

import numpy as np
import pytest
from contenders import f, slope
from helpers import refused

from pfbench.base.errors import DivergedError, InputError, RefusedError
from pfbench.base.state import State
from pfbench.points import combine
from pfbench.resisting.resisting_oracle import ResistingOracle, make_resisting_chain
from pfbench.resisting.transcript import KINDS

GRADIENT, VALUE, LO, PROX, YIELD = range(len(KINDS))


@pytest.fixture
def oracle():
    """Make an oracle that records: T, and if wanted d, seed, L, mu."""

    def make(T=6, d=None, seed=0, **scale):
        return ResistingOracle(
            make_resisting_chain(T, d, **scale), np.random.default_rng(seed), record=True
        )

    return make


def converse(oracle, steps=9, seed=1):
    """A talk of points inside and outside the span, values on segments, vertices, projections."""
    rng = np.random.default_rng(seed)
    x, answers = np.zeros(oracle.d), []
    for step in range(steps):
        g = oracle.gradient(x)
        answers.append(("gradient", x, g))
        u = oracle.lo(g)
        for gamma in (0.25, 1.0):
            point = combine(x, u, gamma)
            answers.append(("value", point, oracle.value(point)))
        x = combine(x, u, rng.random())
        if step % 3 == 1:
            x = x + 0.1 * rng.standard_normal(x.size)
            answers.append(("value", x, oracle.value(x)))
        if step % 4 == 2:
            x = oracle.prox(x, g, 0.01)
        oracle.note(State(x, output=x + rng.standard_normal(x.size)))
    return answers


# --- what it answers ------------------------------------------------------------------------------


def test_every_answer_is_that_of_the_function_as_the_paper_prints_it(oracle):
    one = oracle(T=5, d=40)
    answers = converse(one)
    V = one.finish()[0].directions
    for kind, x, answer in answers:
        if kind == "gradient":
            np.testing.assert_allclose(answer, slope(x, V), rtol=1e-11, atol=1e-10)
        else:
            assert answer == pytest.approx(f(x, V), rel=1e-12)


@pytest.mark.parametrize(("L", "mu"), [(2.5, 0.3), (None, 7.0), (1e-3, 1.0)])
def test_a_rescaled_oracle_answers_as_the_rescaled_function(oracle, L, mu):
    plain, scaled = oracle(T=4, d=20), oracle(T=4, d=20, L=L, mu=mu)
    factor = scaled.problem.L * mu**2 / plain.problem.L
    x = np.zeros(20)
    for gamma in (1.0, 0.5, 0.3, 0.2):
        g, h = plain.gradient(x), scaled.gradient(mu * x)
        np.testing.assert_allclose(h, factor / mu * g, rtol=1e-12, atol=1e-12 * factor / mu)
        assert scaled.value(mu * x) == pytest.approx(factor * plain.value(x))
        assert scaled.gap(mu * x) == pytest.approx(factor * plain.gap(x))
        u = plain.lo(g)
        np.testing.assert_allclose(scaled.lo(h), mu * u, rtol=1e-9, atol=1e-9 * mu)
        x = combine(x, u, gamma)


def test_the_gap_is_that_of_the_fixed_function(oracle):
    one = oracle(T=5)
    x, noted = np.zeros(one.d), []
    for gamma in (1.0, 0.6, 0.4, 0.3):
        u = one.lo(one.gradient(x))
        x = combine(x, u, gamma)
        noted.append((x, one.gap(x)))
    V = one.finish()[0].directions
    for x, gap in noted:
        g = slope(x, V)
        assert gap == pytest.approx(g @ x + one.set.radius * np.linalg.norm(g), rel=1e-9)


def test_the_same_point_gets_the_same_answer_however_much_was_drawn_since(oracle):
    one = oracle()
    x = np.zeros(one.d)
    first = one.gradient(x), one.value(x)
    for _ in range(4):
        u = one.lo(one.gradient(x))
        x = combine(x, u, 0.5)
    again = one.gradient(np.zeros(one.d)), one.value(-np.zeros(one.d))
    np.testing.assert_array_equal(again[0], first[0])
    assert again[1] == first[1]


def test_batches_and_differences_are_those_of_the_only_component(oracle):
    one, other = oracle(), oracle()
    x = one.lo(one.gradient(np.zeros(one.d)))
    other.lo(other.gradient(np.zeros(one.d)))
    g, h = other.gradient(x), other.gradient(0.5 * x)
    np.testing.assert_array_equal(one.difference(np.array([0, 0, 0]), x, 0.5 * x), g - h)
    np.testing.assert_array_equal(one.batch(np.array([0, 0]), x), g)
    assert one.counts().as_dict() | {"fo": 1, "lo": 1, "sfo": 9} == one.counts().as_dict()
    with pytest.raises(IndexError):
        one.batch(np.array([1]), x)


# --- what it draws --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_each_direction_is_orthogonal_to_all_that_was_exchanged_before_it(oracle, seed):
    one = oracle(T=8, d=60, seed=seed)
    converse(one, steps=12, seed=seed)
    transcript = one.finish()[1]
    exchanged, drawn = [np.zeros(60)], 0
    for event in transcript.events():
        if event.kind != LO and event.point >= 0:
            exchanged.append(transcript.point(event))
        for v in transcript.directions[drawn : event.drawn]:
            norms = np.linalg.norm(exchanged, axis=1)
            assert np.abs(exchanged @ v).max() <= 1e-11 * max(norms.max(), 1.0)
        drawn = event.drawn
        if event.kind == LO:
            exchanged.append(transcript.rows[event.answer])
    assert drawn == 8
    np.testing.assert_allclose(
        transcript.directions @ transcript.directions.T, np.eye(8), atol=1e-14
    )


def test_directions_stay_orthonormal_among_nearly_dependent_vectors(oracle):
    one = oracle(T=20, d=200)
    rng = np.random.default_rng(5)
    x = rng.standard_normal(200)
    for _ in range(19):
        x = x + 1e-9 * rng.standard_normal(200)
        one.gradient(x)
    V = one.finish()[0].directions
    assert np.abs(V.T @ V - np.eye(20)).max() <= 1e-13


def test_a_query_at_a_new_point_draws_at_most_one_direction(oracle):
    one = oracle(T=6)
    x = np.zeros(one.d)
    for step in range(10):
        before = one._exchange.direction_draw_count
        x = combine(x, one.lo(one.gradient(x)), 0.5)
        assert one._exchange.direction_draw_count - before == (1 if step < 6 else 0)


def test_many_queries_between_two_lo_outputs_draw_at_most_one_direction(oracle):
    """So the floor counts LO outputs, not gradients, where these determine the points."""
    one = oracle(T=6, d=200)
    outputs = []
    for k in range(5):
        for weight in np.linspace(0.1, 0.9, 7):
            g = one.gradient(sum((weight**j * u for j, u in enumerate(outputs, 1)), np.zeros(200)))
        assert one._exchange.direction_draw_count <= k + 1
        outputs.append(one.lo(g))


def test_rounding_in_the_inputs_of_inner_loops_costs_no_dimension(oracle):
    one = oracle(T=5)
    rng = np.random.default_rng(2)
    g = one.gradient(np.zeros(one.d))
    for _ in range(100):
        one.lo(1e-8 * g + 1e-15 * rng.standard_normal(one.d))
    assert one._exchange.basis.size == 1


def test_an_input_outside_the_span_costs_one_dimension_each(oracle):
    one = oracle(T=5, d=50)
    rng = np.random.default_rng(2)
    g = one.gradient(np.zeros(50))
    for k in range(1, 6):
        foreign = rng.standard_normal(50)
        u = one.lo(g + foreign)
        one.lo(2.0 * g + 3.0 * foreign)
        one.value(0.3 * u)
        assert one._exchange.basis.size == 1 + k


def test_a_used_up_dimension_is_refused(oracle):
    one = oracle(T=5, d=11)
    rng = np.random.default_rng(3)
    for _ in range(6):
        one.value(rng.standard_normal(11))
    with refused(
        "the dimension 11 is too small", "6 dimensions", "larger dimension", error=RefusedError
    ):
        one.value(rng.standard_normal(11))
    fixed, _ = one.finish()
    assert fixed.directions.shape == (11, 5)


def test_2T_dimensions_are_too_few(oracle):
    with refused("dimension 14", "above 2T = 14"):
        make_resisting_chain(7, 14)
    assert make_resisting_chain(7, 15).columns == make_resisting_chain(7).columns == 15


# --- what it keeps --------------------------------------------------------------------------------


def test_values_on_a_segment_are_kept_as_two_rows_and_a_weight(oracle):
    one = oracle(T=4, d=30)
    x = np.zeros(30)
    asked = []
    for gamma in (0.7, 0.4, 0.2):
        u = one.lo(one.gradient(x))
        asked += [combine(x, u, w) for w in np.linspace(0.0, 1.0, 50)]
        for point in asked[-50:]:
            one.value(point)
        x = combine(x, u, gamma)
    transcript = one.finish()[1]
    values = [event for event in transcript.events() if event.kind == VALUE]
    assert len(values) == len(asked) == 150
    assert len(transcript.rows) <= 10
    for event, point in zip(values, asked, strict=True):
        np.testing.assert_allclose(transcript.point(event), point, rtol=0, atol=1e-12)


def test_the_digest_sees_every_bit(oracle):
    first, second, third = oracle(), oracle(), oracle(seed=1)
    x = np.zeros(first.d)
    for one in (first, second, third):
        one.gradient(x)
    assert first.exchange_digest() == second.exchange_digest() != third.exchange_digest()
    y = np.full(first.d, 0.5)
    first.value(y)
    y[0] = np.nextafter(0.5, 1.0)
    second.value(y)
    assert first.exchange_digest() != second.exchange_digest()


def test_an_algorithm_that_changes_what_it_got_changes_no_record(oracle):
    one = oracle(T=4)
    x = np.zeros(one.d)
    for _ in range(3):
        g = one.gradient(x)
        u = one.lo(g)
        halfway = combine(x, u, 0.5)
        for vector in (g, u, x):
            vector *= 0.0
        one.value(halfway)
        x = halfway.copy()
    fixed, transcript = one.finish()
    V = fixed.directions
    for event in transcript.events():
        if event.kind == GRADIENT:
            expected = slope(transcript.rows[event.point], V)
            np.testing.assert_allclose(transcript.rows[event.answer], expected, atol=1e-10)
        elif event.kind == VALUE:
            assert event.toward >= 0
            assert event.number == pytest.approx(f(transcript.point(event), V), rel=1e-12)


@pytest.mark.parametrize(
    ("given", "kind", "word"),
    [
        (np.zeros(5), InputError, "(5,)"),
        ([0.0] * 13, InputError, "list"),
        (np.zeros(13, dtype=np.float32), InputError, "float64"),
        (np.full(13, np.nan), DivergedError, "NaN"),
        (np.full(13, np.inf), DivergedError, "infinite"),
    ],
)
@pytest.mark.parametrize("verb", ["gradient", "value", "lo"])
def test_what_is_no_vector_is_refused(oracle, verb, given, kind, word):
    with pytest.raises(kind, match=word.replace("(", r"\(").replace(")", r"\)")):
        getattr(oracle(T=6, d=13), verb)(given)
