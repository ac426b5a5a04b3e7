"""The sums by PyTorch, against our compiled loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.base.sample import Sample
from pfbench.points import RankOne
from pfbench.problems import torch_problem
from pfbench.problems.torch_problem import TorchOperator, open_device
from pfbench.sets.lanczos import leading_singular_triple

pytest.importorskip("torch", reason="torch is not installed")

TORCH = "torch"
PROBLEMS = {
    "multitask": ("multitask-sigmoid", {"kinds": 3, "copies": 1, "rows": 20, "columns": 7}),
    "multiclass": ("multiclass-logistic", {"source": "synthetic", "rows": 60, "columns": 5}),
    "regression": ("matrix-regression", {"rows": 6, "columns": 5, "n": 40}),
    "noisy": ("matrix-regression", {"rows": 6, "columns": 5, "n": 40, "sensing_variance": 0.1}),
}


@pytest.fixture(scope="module", params=PROBLEMS)
def both(request):
    """A problem by our loops, and the same by the library."""
    name, parameters = PROBLEMS[request.param]
    return pf.problem(name, **parameters), pf.problem(name, arrays=TORCH, **parameters)


def points(problem, number):
    return np.random.default_rng(7).standard_normal((number, *problem.shape))


def test_value_and_gradient_are_the_same(both):
    ours, theirs = both
    for x in points(ours, 3):
        assert theirs.value(x) == pytest.approx(ours.value(x), rel=1e-13)
        np.testing.assert_allclose(theirs.gradient(x), ours.gradient(x), rtol=1e-12, atol=1e-13)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_samples_are_the_same_repeated_weighted_or_not(both, data):
    ours, theirs = both
    drawn = data.draw(st.lists(st.integers(0, ours.n - 1), min_size=1, max_size=9))
    sample = np.array(drawn)
    if data.draw(st.booleans()):
        sample = Sample(sample, np.arange(1, len(drawn) + 1))
    x, y, z = points(ours, 3)
    pairs = [
        (ours.batch(sample, x), theirs.batch(sample, x)),
        (ours.difference(sample, x, y), theirs.difference(sample, x, y)),
        (ours.hessian(z).product(x, y), theirs.hessian(z).product(x, y)),
        (ours.hessian(z).batch(sample, x, y), theirs.hessian(z).batch(sample, x, y)),
    ]
    tables = ours.table(x), theirs.table(x)
    pairs.append((tables[0].replace(sample, y), tables[1].replace(sample, y)))
    pairs.append((tables[0].difference(sample, z), tables[1].difference(sample, z)))
    pairs.append((tables[0].mean, tables[1].mean))
    for expected, found in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_runs_have_the_same_counts_and_iterates(both):
    ours, theirs = both
    algorithm = pf.algorithm("nfwu-spiderg", iterations=12, batch=4, period=3, step=0.1)
    runs = [pf.solve(one, algorithm, seed=5, measures="fw_gap") for one in both]
    assert runs[0].counts == runs[1].counts
    np.testing.assert_allclose(runs[1].x, runs[0].x, rtol=1e-9, atol=1e-10)
    assert runs[1].final["fw_gap"] == pytest.approx(runs[0].final["fw_gap"], rel=1e-9)
    assert ours.digest != theirs.digest
    assert theirs.name == ours.name


def test_a_loss_of_another_slope_is_noticed(monkeypatch):
    name, parameters = PROBLEMS["multitask"]
    right = torch_problem._make_sigmoid_loss

    def wrong(*given):
        loss = right(*given)
        return lambda *parts: 1.001 * loss(*parts)

    monkeypatch.setattr(torch_problem, "_make_sigmoid_loss", wrong)
    ours, theirs = pf.problem(name, **parameters), pf.problem(name, arrays=TORCH, **parameters)
    x = points(ours, 1)[0]
    assert not np.allclose(theirs.gradient(x), ours.gradient(x), rtol=1e-5, atol=0)


def test_large_numbers_neither_overflow_nor_warn():
    name, parameters = PROBLEMS["multitask"]
    ours, theirs = pf.problem(name, **parameters), pf.problem(name, arrays=TORCH, **parameters)
    x = 1e6 * points(ours, 1)[0]
    assert theirs.value(x) == pytest.approx(ours.value(x), rel=1e-12)
    np.testing.assert_allclose(theirs.gradient(x), ours.gradient(x), rtol=1e-9, atol=1e-300)


def test_the_largest_singular_value_is_that_of_a_factorisation():
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((30, 20))
    operator = TorchOperator(open_device(TORCH), matrix)
    found = leading_singular_triple(operator, rng, tolerance=1e-10, failure=1e-9)
    exact = np.linalg.svd(matrix, compute_uv=False)[0]
    assert found.sigma == pytest.approx(exact, rel=1e-9)
    assert found.upper >= exact * (1.0 - 1e-12)
    one = RankOne(np.eye(30)[0], np.eye(20)[0], 1.0)
    assert operator.scale(2.0).inner(one) == pytest.approx(2.0 * matrix[0, 0])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("numpi", "unknown value for arrays 'numpi'"),
        ("torch:tpu", "torch has no device 'tpu' on this machine"),
        ("torch:cuda:99", "torch has no device 'cuda:99' on this machine"),
    ],
)
def test_what_is_not_there_is_one_sentence(name, says):
    with pytest.raises(InputError, match=says):
        pf.problem("multitask-sigmoid", arrays=name)
