"""What takes the place of the compiled loops without numba: the same results to rounding."""

import json
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from pfbench.kernels import linear, loop_inputs, multitask_kernels, sensing_kernels

N, D, M = 17, 6, 4
KINDS = (loop_inputs.LOGISTIC, loop_inputs.ROBUST, loop_inputs.LOG_COSH, loop_inputs.SQUARE)
CLOSE = {"rtol": 1e-11, "atol": 1e-13}
TWINS = {
    (module.__name__, name): loop.twin
    for module in (linear, multitask_kernels, sensing_kernels)
    for name, loop in vars(module).items()
    if hasattr(loop, "twin")
}


def data(form, rng):
    there = rng.random((N, D)) < (1.1 if form == "dense" else 0.4)
    array = there * (1.0 if form == "ones" else rng.standard_normal((N, D)))
    return loop_inputs.RowData.from_matrix(
        csr_array(array), np.where(rng.random(N) < 0.5, 1.0, -1.0)
    )


def tasks(rng):
    task = np.sort(np.concatenate([np.arange(M), rng.integers(M, size=N - M)]))
    signs = np.where(rng.random(N) < 0.5, 1.0, -1.0)
    bounds = np.searchsorted(task, np.arange(M + 1))
    offsets = rng.standard_normal(M)
    return loop_inputs.TaskData(rng.standard_normal((N, D)), signs, task, bounds, offsets)


def linear_arguments(name, rng, kind, form, counts):
    indices = np.array([3, 0, 3, 16, 5])
    drawn = indices, counts, int(counts.sum()) or indices.size
    x, y, out, more = (rng.standard_normal(D) for _ in range(4))
    each = rng.standard_normal(N)
    given = {
        "total_loss": (x,),
        "add_full_gradient": (x, 0.3, out),
        "write_curvatures": (x, each),
        "write_slopes": (indices, x, each[:5]),
        "write_mean_gradient": (0.2, *drawn, x, out),
        "write_mean_difference": (0.2, *drawn, x, y, out),
        "add_changes_from_stored_slopes": (*drawn, each, x, out),
        "replace": (*drawn, each, x, out, more),
        "add_hessian_vector_products": (*drawn, each, x, out),
    }[name]
    rows = data(form, rng)
    return (rows, *given) if name == "add_hessian_vector_products" else (kind, rows, *given)


def other_arguments(module, name, rng):
    indices, weights = np.array([3, 0, 3, 16, 5]), rng.random(5)
    each, out = rng.standard_normal(N), rng.standard_normal((M, D))
    if module == multitask_kernels.__name__:
        theta, other = rng.standard_normal((2, M, D))
        return {
            "task_loss": (1, tasks(rng), theta),
            "add_task_gradient": (1, tasks(rng), theta, 0.3, out),
            "add_rows": (tasks(rng), indices, weights, out),
            "add_gradients": (tasks(rng), indices, weights, theta, out),
            "add_differences": (tasks(rng), indices, weights, theta, other, out),
        }.get(name, (tasks(rng), indices, theta, each[:5]))
    rows, (x, g, mean) = rng.standard_normal((N, D)), rng.standard_normal((3, D))
    sampled = loop_inputs.SampledRows(rows, indices, weights, rng.standard_normal(5))
    return {
        "products": (1, 4, rows, indices, x, each[:5]),
        "add_weighted_residual_rows": (0, 5, sampled, x, g),
        "add_rows": (rows, indices, weights, g),
        # One component has one slope, however often it was drawn.
        "replace": (rows, indices, weights, each[indices] + 1.0, each, g, mean),
    }[name]


def cases():
    for module, name in TWINS:
        if module == linear.__name__:
            for counts in (np.empty(0, dtype=np.int64), np.array([2, 1, 1, 3, 1])):
                counts.setflags(write=False)  # as in a run: other arrays would be compiled for
                for form in ("ones", "sparse", "dense"):
                    yield from ((module, name, kind, form, counts) for kind in KINDS)
        else:
            yield module, name, None, None, None


def test_every_twin_gives_what_its_loop_gives():
    assert len(TWINS) == 21
    for module, name, *more in cases():
        made = []
        for loop in (getattr(import_module(module), name), TWINS[module, name]):
            rng = np.random.default_rng(5)
            if more[0] is None:
                given = other_arguments(module, name, rng)
            else:
                given = linear_arguments(name, rng, *more)
            returned = loop(*given)
            written = [one for one in given if isinstance(one, np.ndarray)]
            made.append([*written, *([] if returned is None else [returned])])
        for ours, theirs in zip(*made, strict=True):
            assert_allclose(theirs, ours, err_msg=f"{module}.{name} {more}", **CLOSE)


@pytest.mark.parametrize("wrong", [-1, N])
def test_a_twin_refuses_what_its_loop_refuses(wrong):
    rng, indices = np.random.default_rng(6), np.array([0, wrong])
    drawn = indices, np.empty(0, dtype=np.int64), 2
    with pytest.raises(IndexError, match="outside 0"):
        TWINS[linear.__name__, "write_mean_gradient"](
            loop_inputs.SQUARE, data("sparse", rng), 0.0, *drawn, np.zeros(D), np.zeros(D)
        )
    with pytest.raises(IndexError, match="another size"):
        TWINS[linear.__name__, "total_loss"](
            loop_inputs.SQUARE, data("sparse", rng), np.zeros(D - 1)
        )
    with pytest.raises(IndexError, match="outside 0"):
        TWINS[multitask_kernels.__name__, "add_rows"](
            tasks(rng), indices, np.ones(2), np.zeros((M, D))
        )


RUNS = """
import pfbench as pf

def results():
    for name, given, algorithm, more in (
        ("nonconvex-logistic", {"source": "synthetic", "rows": 40, "columns": 5}, "prox-saga", {}),
        ("multitask-sigmoid", {"rows": 5, "columns": 3, "kinds": 2}, "svfw", {"period": 3}),
        ("matrix-regression", {"rows": 4, "rank": 1, "n": 30}, "prox-svrg", {"period": 3}),
    ):
        problem = pf.problem(name, seed=1, **given)
        chosen = pf.algorithm(algorithm, step=1e-3, batch=4, iterations=7, **more)
        run = pf.solve(problem, chosen, seed=3)
        assert run.status == "finished", run.stop_reason
        yield run.counts.as_dict(), run.final["objective"]
"""

WITHOUT = f"""
import json, sys
sys.modules["numba"] = None
{RUNS}
print(json.dumps(list(results())))
"""


def test_runs_without_numba_have_the_same_counts_and_results():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    room = {}
    exec(RUNS, room)
    for (counts, value), (others, other) in zip(
        room["results"](), json.loads(done.stdout), strict=True
    ):
        assert counts == others
        assert_allclose(other, value, rtol=1e-9)
