"""What changes nothing is found equivalent, in runs or in law; what changes something is not."""

import pytest

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.estimators import SG, SPIDERG
from pfbench.verification.faults import equivalence
from pfbench.verification.faults.equivalence import find_equivalence
from pfbench.verification.faults.fault import Edit, Fault, SourceChange
from pfbench.verification.faults.generate import generate_faults
from pfbench.verification.faults.mutant_compilation import module_source


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


@pytest.mark.long
def test_what_is_drawn_otherwise_is_the_same_in_law():
    before = "ask.batch(self.draw(ask, rng), x)"
    after = "ask.batch(ask.n - 1 - rng.integers(ask.n, size=self.batch), x)"
    assert find_equivalence(written_as(NFWUSG, SG.__module__, before, after)) == "law"
    again = "ask.batch(rng.integers(ask.n, size=(1, self.batch))[0][::-1], x)"
    assert find_equivalence(written_as(NFWUSG, SG.__module__, before, again))


@pytest.mark.parametrize(
    "after",
    [
        "ask.batch(rng.choice(ask.n, self.batch, p=np.arange(1.0, ask.n + 1.0) * 2 / (ask.n * "
        "(ask.n + 1))), x)",
        "ask.batch(np.repeat(rng.integers(ask.n, size=1), self.batch), x)",
    ],
)
def test_another_law_is_not_the_same(after):
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
