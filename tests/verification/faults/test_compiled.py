"""A fault is compiled apart: the right modules stay as they are, in this process and others."""

import inspect
import pickle
import sys

import numpy as np
import pytest

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.base.errors import InputError
from pfbench.estimators import SPIDERG
from pfbench.verification.faults.equivalence import RunOutcome, _runs_equal, _schedules_equal
from pfbench.verification.faults.fault import Edit, Fault, SourceChange, apply_edits
from pfbench.verification.faults.generate import generate_faults, sample_faults
from pfbench.verification.faults.mutant_compilation import (
    compile_faulty_algorithm,
    compile_unchanged,
    mutable_program_modules,
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
    fault = of(*STALE, algorithm=made)
    variant = compile_faulty_algorithm(fault)
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


def test_an_unreadable_fault_is_broken():
    change = SourceChange((Edit(1, 0, 1, 0, "raise RuntimeError\n"),), "", "")
    fault = Fault(NFWUSPIDERG, SPIDERG.__module__, "SPIDERG.start", "none", 1, change)
    with pytest.raises(RuntimeError):
        compile_faulty_algorithm(fault)
