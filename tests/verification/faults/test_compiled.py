"""Faults compiled apart, and those that change nothing."""

import inspect
import pickle
import sys

import numpy as np
import pytest

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.base.errors import InputError
from pfbench.estimators.epochs import SG, SPIDERG
from pfbench.verification.faults.fault import Edit, Fault, SourceChange, apply_edits
from pfbench.verification.faults.generate import generate_faults, sample_faults
from pfbench.verification.faults.mutant_compilation import (
    compile_faulty_algorithm,
    compile_unchanged,
    module_source,
    mutable_program_modules,
)
from pfbench.verification.replay import equivalence
from pfbench.verification.replay.equivalence import (
    RunOutcome,
    _runs_equal,
    _schedules_equal,
    find_equivalence,
)


def of(operator, function, algorithm=NFWUSPIDERG, after=""):
    return next(
        fault
        for fault in generate_faults(algorithm)
        if (fault.operator, fault.function) == (operator, function)
        and after in fault.change.line_after
    )


STALE = "point", "SPIDERG.start"


def test_originals_are_untouched():
    before = {name: dict(vars(sys.modules[name])) for name in mutable_program_modules(NFWUSPIDERG)}
    code = SPIDERG.start.__code__
    variant = compile_faulty_algorithm(of(*STALE))
    assert variant is not NFWUSPIDERG
    assert variant.estimator_class is not SPIDERG
    assert variant.estimator_class.start.__code__ != code
    assert SPIDERG.start.__code__ is code
    assert NFWUSPIDERG.estimator_class is SPIDERG
    for name, values in before.items():
        assert vars(sys.modules[name]) == values


def test_a_variant_is_of_the_right_modules_but_for_what_is_changed():
    variant = compile_faulty_algorithm(of(*STALE))
    assert variant.__mro__[-4:] == NFWUSPIDERG.__mro__[-4:]
    assert inspect.signature(variant) == inspect.signature(NFWUSPIDERG)


def test_a_fault_travels():
    fault = of(*STALE)
    again = pickle.loads(pickle.dumps(fault))
    assert again == fault
    assert compile_faulty_algorithm(again).__qualname__ == "NFWUSPIDERG"


@pytest.mark.thin(18)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_without_a_fault_a_method_compiled_apart_is_the_same(name):
    right = ALGORITHMS[name]
    for module in sorted(mutable_program_modules(right)):
        apart = compile_unchanged(right, module)
        assert _schedules_equal(apart, right)
        assert _runs_equal(apart, right, 0)


def test_an_object_keeps_its_parameters():
    made = NFWUSPIDERG(iterations=5, step=0.1, batch=3, period=2)
    variant = compile_faulty_algorithm(of(*STALE, algorithm=made))
    assert type(variant) is not type(made)
    assert vars(variant) == vars(made)


def test_a_users_method_in_files_of_his_own(own):
    faults = generate_faults(own.OwnSpider)
    assert {fault.module for fault in faults} == {"own_faults", "helpers_of_own"}
    outside = next(fault for fault in faults if fault.module == "helpers_of_own")
    variant = compile_faulty_algorithm(outside)
    step = own.OwnSpider.run.__globals__["lmo_step"]
    assert variant.run.__globals__["lmo_step"].__code__ != step.__code__
    assert sys.modules["helpers_of_own"].lmo_step is step


def test_imports_of_packages_find_the_changed_module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "own_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("def one(ask):\n    return ask.n + 1.0\n")
    (package / "method.py").write_text(
        "import own_package.parts\n"
        "from own_package import parts\n"
        "from . import parts as again\n"
        "class Method:\n"
        "    def run(self, ask, x, rng):\n"
        "        yield parts.one(ask), own_package.parts.one(ask), again.one(ask)\n"
    )
    import own_package.method as method

    fault = of("sign", "one", method.Method)

    class Ask:
        n = 5

    assert next(method.Method().run(Ask, None, None)) == (6.0, 6.0, 6.0)
    assert next(compile_faulty_algorithm(fault)().run(Ask, None, None)) == (4.0, 4.0, 4.0)
    for name in ("own_package", "own_package.method", "own_package.parts"):
        sys.modules.pop(name)


def test_a_module_that_cannot_be_imported_twice_is_refused(written):
    module = written(
        """
        import sys
        if hasattr(sys, "_imported_once"):
            raise RuntimeError("once only")
        sys._imported_once = True
        class Method:
            def run(self, ask, x, rng):
                yield x + 1.0
        """
    )
    try:
        with pytest.raises(InputError, match="second time"):
            generate_faults(module.Method)
    finally:
        del sys._imported_once


def test_an_object_without_a_hash_is_refused(written):
    module = written(
        """
        from dataclasses import dataclass
        @dataclass
        class Method:
            step: float = 0.5
            def run(self, ask, x, rng):
                yield x + self.step
        """
    )
    with pytest.raises(InputError, match="cannot be hashed"):
        generate_faults(module.Method())


def test_edits_count_columns_in_bytes():
    source = "s = 'ε'; a = 1\nb = 2\n"
    edits = (Edit(1, 14, 1, 15, "3"), Edit(2, 4, 2, 5, "4"))
    assert apply_edits(source, edits) == "s = 'ε'; a = 3\nb = 4\n"


def test_a_draw_of_faults_is_the_same_each_time():
    faults = generate_faults(NFWUSPIDERG)
    assert sample_faults(faults, 5) == sample_faults(faults, 5)
    assert len(sample_faults(faults, 5)) == 5
    assert sample_faults(faults, 10**6) == faults


def test_what_is_seen_is_compared_up_to_rounding():
    one = RunOutcome(("a",), np.array([1.0, 2.0]))
    assert one.is_same(RunOutcome(("a",), np.array([1.0 + 1e-13, 2.0])))
    assert not one.is_same(RunOutcome(("a",), np.array([1.0 + 1e-6, 2.0])))
    assert not one.is_same(RunOutcome(("b",), np.array([1.0, 2.0])))
    assert not one.is_same(RunOutcome(("a",), np.array([1.0])))


# --- what changes nothing is found equivalent; what changes something is not ----------------------


def written_as(algorithm, module, before, after):
    """Return the fault that replaces a text of a module."""
    source = module_source(module)
    assert source.count(before) == 1
    lines = source[: source.index(before)].encode().split(b"\n")
    end = source[: source.index(before) + len(before)].encode().split(b"\n")
    edit = Edit(len(lines), len(lines[-1]), len(end), len(end[-1]), after)
    return Fault(algorithm, module, "", "hand", 1, SourceChange((edit,), before, after))


SPIDER = "return ask.difference(self.draw(ask, rng), x, y)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("g = change(x, previous) + g", "g = g + change(x, previous)"),  # another order
        (SPIDER, "return -ask.difference(self.draw(ask, rng), y, x)"),
        (SPIDER, "S = self.draw(ask, rng); return ask.batch(S, x) - ask.batch(S, y)"),  # others
    ],
)
def test_what_is_written_otherwise_is_the_same_run(before, after):
    assert find_equivalence(written_as(NFWUSPIDERG, SPIDERG.__module__, before, after)) == "runs"


@pytest.mark.parametrize(
    "after",
    [
        "ask.batch(rng.choice(ask.n, self.batch, p=np.arange(1.0, ask.n + 1.0) * 2 / (ask.n * "
        "(ask.n + 1))), x)",
        "ask.batch(np.repeat(rng.integers(ask.n, size=1), self.batch), x)",
    ],
)
def test_another_draw_is_not_the_same(after):
    before = "ask.batch(self.draw(ask, rng), x)"
    assert find_equivalence(written_as(NFWUSG, SG.__module__, before, after)) == ""


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        ("SVRG.start", "batch-again"),
        ("SPIDERG.start", "point"),
        ("SPIDERG.start", "reference"),
        pytest.param("SPIDERG.start", "renewal", marks=pytest.mark.long),
        ("SPIDERG._mean_difference", "part-of-batch"),
        ("SPIDERG.start", "term"),
        ("SPIDERG._mean_difference", "bypass"),
        ("NFWUSPIDERG.estimator_parameters", "schedule"),
        ("NFWU", "output"),
        ("EstimatorAlgorithm.run", "yielded"),
    ],
)
def test_a_real_fault_is_not_equivalent(function, operator):
    method = ALGORITHMS["nfwu-svrg" if function.startswith("SVRG") else "nfwu-spiderg"]
    every = generate_faults(method)
    found = [fault for fault in every if (fault.function, fault.operator) == (function, operator)]
    assert found
    assert [fault.format for fault in found if find_equivalence(fault)] == []


def test_what_a_method_never_reaches_is_equivalent():
    """NFWU has no online form, so that the batch of a reference gradient is never drawn."""
    unreached = [
        fault for fault in generate_faults(NFWUSPIDERG) if fault.operator == "without-replacement"
    ]
    same = {fault.function for fault in unreached if find_equivalence(fault)}
    assert same == {"EpochEstimator.reference_gradient"}
    online = [
        fault
        for fault in generate_faults(ALGORITHMS["prox-spiderboost"])
        if (fault.function, fault.operator)
        == ("EpochEstimator.reference_gradient", "part-of-batch")
    ]
    assert [find_equivalence(fault) for fault in online] == [""]


def test_weights_of_the_output_count_up_to_a_factor():
    method = ALGORITHMS["ncgs-vr"]
    before = "return k * (k + 1.0)"
    same = written_as(method, method.__module__, before, "return 2.0 * k * (k + 1.0)")
    other = written_as(method, method.__module__, before, "return k * (k + 2.0)")
    assert (find_equivalence(same), find_equivalence(other)) == ("runs", "")


def test_a_fault_that_cannot_be_imported_is_not_equivalent():
    change = SourceChange((Edit(1, 0, 1, 0, "raise RuntimeError\n"),), "", "")
    assert find_equivalence(Fault(NFWUSG, SG.__module__, "", "hand", 1, change)) == ""


def test_a_run_that_asks_without_end_is_ended_by_its_budget():
    method = ALGORITHMS["ncgs-vr"]
    endless = written_as(method, method.__module__, "if gap <= eta:", "if gap <= -1.0:")
    assert find_equivalence(endless) == ""


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_method_can_be_made_where_faults_are_compared(name):
    """Else nothing is run, and every fault of it would be equivalent."""
    kind = ALGORITHMS[name]
    assert equivalence._can_be_made(kind, equivalence._parameter_choices(kind)[0])
