"""Arrays whose type is equal to float64 but another object, as of a pickle, are taken."""

import io
import pickle

import numpy as np
import pytest
import scipy.io

import pfbench as pf
from pfbench.points import RankOne, combine, gap_and_distance, infer_format
from pfbench.problems import FiniteSum
from pfbench.sets import L1Ball


def from_mat(A):
    file = io.BytesIO()
    scipy.io.savemat(file, {"A": A})
    return np.ascontiguousarray(scipy.io.loadmat(file)["A"]).reshape(A.shape)


def unpickled(A):
    return pickle.loads(pickle.dumps(A))


EQUAL = {
    "pickle": unpickled,
    "mat": from_mat,
    "newbyteorder": lambda A: A.view(A.dtype.newbyteorder("=")),
    "metadata": lambda A: A.astype(np.dtype(np.float64, metadata={"unit": "m"})),
}
GRADIENTS = {
    "A.T@r": lambda A, x: A.T @ (A @ x) / len(A),
    "r@A": lambda A, x: (A @ x) @ A / len(A),
    "einsum": lambda A, x: np.einsum("ij,i->j", A, A @ x) / len(A),
    "mean": lambda A, x: (A * (A @ x)[:, None]).mean(axis=0),
    "H@x": lambda A, x: (A.T @ A / len(A)) @ x,
}


class Squares(FiniteSum):
    """Half the mean square of A x."""

    def __init__(self, A, gradient="A.T@r", start=lambda x: x):
        self.A, self.n, self.set = A, len(A), L1Ball(A.shape[1])
        self._gradient, self._start = GRADIENTS[gradient], start

    def start(self):
        return self._start(np.eye(len(self.A[0]))[0])

    def value(self, x):
        return 0.5 * float(np.mean((self.A @ x) ** 2))

    def gradient(self, x):
        return self._gradient(self.A, x)

    def component(self, i, x):
        return self.A[i] * (self.A[i] @ x)


DATA = np.random.default_rng(0).standard_normal((5, 3))


def solved(problem, algorithm):
    run = pf.solve(problem, algorithm, measures=("objective", "fw_gap"))
    assert run.status == "finished", run.stop_reason
    return run.x.tobytes(), run.trace["objective"].tolist()


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", EQUAL)
def test_data_of_an_equal_type_give_the_same_run(kind):
    for gradient in GRADIENTS:
        for algorithm in (
            "frank-wolfe[step=open-loop,iterations=3]",
            "frank-wolfe[step=line-search,iterations=3]",
            "afw[smoothness=9,iterations=3]",
            "nfwu-spiderg[batch=2,period=3,iterations=6,step=0.1]",
            "prox-saga[batch=2,iterations=3,step=0.1]",
        ):
            usual = solved(Squares(DATA, gradient), algorithm)
            assert solved(Squares(EQUAL[kind](DATA), gradient), algorithm) == usual
            assert solved(Squares(DATA, gradient, EQUAL[kind]), algorithm) == usual


@pytest.mark.parametrize("kind", EQUAL)
def test_moves_of_an_equal_type_have_the_same_bits(kind):
    g, x, v = np.random.default_rng(1).standard_normal((3, 4, 3))
    atom = RankOne(np.ones(4) / 2, np.eye(3)[1], -3.0)
    one, other, end = map(EQUAL[kind], (g, x, v))
    for a, b in ((v, end), (atom, atom)):
        assert combine(x, a, 0.3).tobytes() == combine(other, b, 0.3).tobytes()
        assert gap_and_distance(g, x, a) == gap_and_distance(one, other, b)


@pytest.mark.parametrize("dtype", [">f8", np.float32, np.int64, np.complex128])
def test_another_type_is_refused_in_words_that_differ(dtype):
    form = infer_format(np.zeros(2))
    assert not form.is_point(np.zeros(2, dtype))
    assert form.describe(np.zeros(2, dtype)) != form.points_text.replace("arrays", "an array")
