"""Each operator on a small method: the changes that it makes, and no others."""

import re

import numpy as np
import pytest

from pfbench.base.sample import Sample
from pfbench.verification.faults import planted
from pfbench.verification.faults.generate import generate_faults

METHOD = """
    import numpy as np
    from pfbench.base.state import State
    from pfbench.points import combine, keep

    class Small:
        name = "small"
        output = "uniform"

        def __init__(self, iterations=3, batch=2, period=2, step=0.5, tolerance=1e-3):
            self.iterations, self.batch, self.period = iterations, batch, period
            self.step, self.tolerance = step, tolerance

        @classmethod
        def theory(cls, epsilon, constants):
            return cls(iterations=4.0 / epsilon, batch=7)

        def run(self, ask, x, rng):
            s = keep(x)
            for t in range(self.iterations):
                if t % self.period == 0:
                    s = keep(x)
                    mean = ask.gradient(s)
                S = rng.integers(ask.n, size=self.batch)
                g = ask.difference(S, x, s) + mean
                gap = 0.25 * inside(g)
                if gap <= self.tolerance:
                    return
                at, x = x, combine(x, ask.lo(g), self.step)
                yield State(x, at, g)

        def never_reached(self):
            return 1.0 + 2.0

    def inside(g):
        return g @ g
"""


class Changes(list):
    """Faults, and the lines after the changes of one operator."""

    def of(self, operator):
        return [fault.change.line_after for fault in self if fault.operator == operator]


@pytest.fixture
def changes(written):
    return Changes(generate_faults(written(METHOD).Small))


@pytest.fixture
def late(written):
    return Changes(generate_faults(written(METHOD).Small, late=True))


@pytest.mark.parametrize(
    ("operator", "after"),
    [
        ("point", "g = ask.difference(S, s, s) + mean"),
        ("point", "g = ask.difference(S, x, x) + mean"),
        ("point", "at, x = x, combine(s, ask.lo(g), self.step)"),
        ("reference", "mean = ask.gradient(x)"),
        ("yielded", "yield State(s, at, g)"),
        ("yielded", "yield State(at, x, g)"),
        ("renewal", "t == 0"),
        ("renewal", "(max(t - 1, 0) % self.period) == 0"),
        ("renewal", "(t % (2 * self.period)) == 0"),
        ("part-of-batch", "g = ask.difference(planted.repeat_first_index(S), x, s) + mean"),
        (
            "batch-again",
            "S = planted.reuse_first_draw(kept_draw, lambda: rng.integers(ask.n, size=self.batch))",
        ),
        (
            "batch-again",
            "S = planted.repeat_draws(kept_draw, lambda: rng.integers(ask.n, size=self.batch))",
        ),
        ("without-replacement", "S = planted.draw_distinct(rng, ask.n, size=self.batch)"),
        ("other-stream", "rng = planted.make_unseeded_stream(); s = keep(x)"),
        ("term", "g = mean"),
        ("term", "g = ask.difference(S, x, s)"),
        ("term", "g = (ask.difference(S, x, s) + 2.0 * mean)"),
        ("term", "g = (0.5 * ask.difference(S, x, s) + mean)"),
        ("sign", "g = (ask.difference(S, x, s) - mean)"),
        ("factor", "gap = (2.0 * (0.25 * inside(g)))"),
        ("factor", "at, x = x, combine(x, ask.lo(g), (0.5 * self.step))"),
        ("compare", "(gap < self.tolerance)"),
        ("index", "t % self.period == 1"),
        ("index", "range((self.iterations + 1))"),
        ("constant", "gap = 0.125 * inside(g)"),
        ("tolerance", "gap <= planted.sqrt_keeping_integers(self.tolerance)"),
        ("tolerance", "gap <= (10.0 * self.tolerance)"),
        ("bypass", "mean = planted.bypass_ledger(ask).gradient(s)"),
        ("bypass", "g = planted.bypass_ledger(ask).difference(S, x, s) + mean"),
        ("schedule", "iterations=planted.scale_number(4.0 / epsilon, 0.5)"),
        ("schedule", "batch=planted.sqrt_keeping_integers(7)"),
        ("output", "output = 'last'"),
    ],
)
def test_an_operator_makes_its_change(changes, operator, after):
    found = changes.of(operator)
    assert any(after in line for line in found), found


@pytest.mark.parametrize(
    ("operator", "after"),
    [
        (
            "late-point",
            r"g = ask.difference\(S, \(s if planted.has_passed_call_count\(kept_late, \d+\) else x\), s\)",  # noqa: E501
        ),
        (
            "late-reference",
            r"ask.gradient\(\(x if planted.has_passed_call_count\(kept_late, \d+\) else s\)\)",
        ),
        (
            "late-term",
            r"g = \(mean if planted.has_passed_call_count\(kept_late, \d+\) else ask.difference",
        ),
        (
            "late-batch-again",
            r"S = \(planted.reuse_first_draw\(kept_draw, .* if planted.has_passed_call_count\(kept_late, \d+\)",  # noqa: E501
        ),
        ("late-bits", r"ask.difference\(planted.truncate_to_bits\(S, \d+\), x, s\)"),
        ("late-clip", r"mean = planted.clip_norm\(kept_late, ask.gradient\(s\), [\d.]+\)"),
    ],
)
def test_a_late_operator_makes_its_change(late, operator, after):
    found = late.of(operator)
    assert any(re.search(after, line) for line in found), found


def test_a_late_fault_is_in_what_is_repeated_and_has_its_threshold_each_time(late, written):
    assert {one.function for one in late} == {"Small.run"}
    assert not any("range(" in one.change.line_before for one in late)
    again = generate_faults(written(METHOD).Small, late=True)
    assert [fault.change for fault in again] == [one.change for one in late]
    assert all(fault.is_late for fault in again)


def test_thresholds_of_late_faults_do_not_depend_on_lines_or_modules(late, written):
    moved = METHOD.replace("    class Small", "\n\n    class Small")
    moved = moved.replace("        def run(", "        limit = 1\n\n        def run(")
    faults = generate_faults(written(moved).Small, late=True)
    assert [fault.change.line_after for fault in faults] == [
        fault.change.line_after for fault in late
    ]


def test_an_inner_loop_is_cut_off(written):
    inner = METHOD.replace(
        "return g @ g", "while g @ g > 1.0:\n            g = 0.5 * g\n        return g @ g"
    )
    faults = generate_faults(written(inner).Small, late=True)
    (one,) = (fault.change.line_after for fault in faults if fault.operator == "late-cap")
    assert re.search(
        r"g @ g > 1.0 and \(not planted.has_passed_call_count\(kept_late, \d+\)\)", one
    ), one


def test_what_is_planted_late_acts_where_it_should():
    kept = {}
    assert [planted.has_passed_call_count(kept, 2) for _ in range(4)] == [False, False, True, True]
    assert list(planted.truncate_to_bits(np.array([3, 256, 511]), 8)) == [3, 0, 255]
    twice = planted.truncate_to_bits(Sample(np.array([257]), np.array([2])), 8)
    assert (list(twice.indices), list(twice.counts)) == ([1], [2])
    norms, g = {}, np.array([3.0, 4.0])
    for _ in range(12):
        assert planted.clip_norm(norms, g, 2.0) is g
    assert planted.clip_norm(norms, 4.0 * g, 2.0) == pytest.approx(2.0 * g)
    assert list(planted.limit_rounds(range(9), 3)) == [0, 1, 2]


def test_what_no_run_reaches_is_not_changed(changes):
    functions = {one.function for one in changes}
    assert functions == {"Small", "Small.__init__", "Small.run", "Small.theory"}


def test_faults_are_different_and_named(changes):
    assert len({one.name for one in changes}) == len(changes)
    assert len({one.change.edits for one in changes}) == len(changes)
    for one in changes:
        assert one.change.line_before != one.change.line_after
        assert one.location.startswith(one.module)


def test_an_inherited_method_that_is_overridden_is_not_changed(written):
    module = written(
        METHOD
        + """
    class Other(Small):
        def run(self, ask, x, rng):
            yield State(x + 1.0)
    """
    )
    assert "Small.run" not in {fault.function for fault in generate_faults(module.Other)}
    assert "Other.run" in {fault.function for fault in generate_faults(module.Other)}


def test_a_part_that_super_reaches_is_changed(written):
    module = written(
        METHOD
        + """
    class Other(Small):
        def run(self, ask, x, rng):
            yield from super().run(ask, x, rng)
    """
    )
    assert "Small.run" in {fault.function for fault in generate_faults(module.Other)}
