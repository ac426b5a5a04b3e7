"""Dense sums by PyTorch, on any of its devices, such as a GPU.

The data stay on the device. Points and gradients are converted to and from NumPy arrays, so
algorithms, counts and measures do not change. Gradients are those of PyTorch's automatic
differentiation; they differ from those of the compiled loops by rounding. Hessians and SAGA tables
are those of the compiled loops.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_choice, check_text
from pfbench.base.errors import InputError
from pfbench.base.parameters import DelegatedAttribute
from pfbench.base.protocols import Backend, Table
from pfbench.base.sample import Indices
from pfbench.points.operators import DenseOperator, SquaredNorm
from pfbench.problems.base import (
    BackendWithStatefulLmo,
    ComponentHessiansAtPoint,
    check_dense_point,
    content_digest,
    index_weights,
)
from pfbench.problems.class_models import MulticlassLogistic, MultitaskSigmoid
from pfbench.problems.matrix_models import MatrixProblem
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.wrapper import ProblemWrapper
from pfbench.sets.body import ConvexBody
from pfbench.sets.nuclear import NuclearBall

Dense = MultitaskSigmoid | MulticlassLogistic | MatrixRegression
"""Problems whose sums PyTorch can compute."""

MakeTensor = Callable[[Any], Any]
"""Function that copies an array to the device, as a tensor of the same type."""

Components = slice | Integers
"""All components, or the numbers of sampled ones."""

WeightedLoss = Callable[[Any, Components, Any], Any]
"""Sum of w_i f_i at a point X over given components, for a tensor of their weights w_i."""


def open_device(name: str) -> MakeTensor:
    """Return the function that copies arrays to the device called torch or torch:DEVICE.

    Raises
    ------
    InputError
        If PyTorch is not installed, or this machine has no such device.
    """
    library, _, device = check_text("arrays", name, "torch:cuda").partition(":")
    check_choice("arrays", library, ("torch",))
    try:
        torch = import_module("torch")
        torch.zeros(1, device=device or None)
    except ModuleNotFoundError as error:
        raise InputError('torch is not installed: pip install "pfbench[gpu]".') from error
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise InputError(f"torch has no device {device!r} on this machine ({first}).") from error
    return lambda array: torch.from_numpy(np.array(array)).to(device or None)


def _make_loss(problem: Dense, tensor: MakeTensor) -> WeightedLoss:
    """Return the weighted sum of a problem's losses, as a function of tensors."""
    if isinstance(problem, MultitaskSigmoid):
        return _make_sigmoid_loss(problem, tensor)
    if isinstance(problem, MulticlassLogistic):
        return _make_softmax_loss(problem, tensor)
    rows, targets = tensor(problem.data.rows).double(), tensor(problem.data.y)
    w = problem.sensing_variance

    def square_loss(X: Any, part: Components, weights: Any) -> Any:
        residuals = rows[part] @ X.ravel() - targets[part]
        return 0.5 * (weights @ residuals**2 - w * weights.sum() * (X * X).sum())

    return square_loss


def _make_softmax_loss(problem: MulticlassLogistic, tensor: MakeTensor) -> WeightedLoss:
    """Return the weighted sum of cross entropies."""
    cross_entropy = import_module("torch.nn.functional").cross_entropy
    rows, labels = map(tensor, problem._data)

    def softmax_loss(X: Any, part: Components, weights: Any) -> Any:
        return weights @ cross_entropy(rows[part] @ X, labels[part], reduction="none")

    return softmax_loss


def _make_sigmoid_loss(problem: MultitaskSigmoid, tensor: MakeTensor) -> WeightedLoss:
    """Return the weighted sum of squared sigmoids; each task's rows are one matrix product."""
    data = problem._data
    rows, signs = tensor(data.values), tensor(data.signs)

    def sigmoid_loss(X: Any, part: Components, weights: Any) -> Any:
        bounds = data.bounds
        if not isinstance(part, slice):
            order = np.argsort(data.task[part], kind="stable")
            part, weights = part[order], weights[order]
            bounds = np.searchsorted(data.task[part], np.arange(bounds.size))
        a, b, total = rows[part], signs[part], 0.0
        tasks = zip(X.unbind(1), data.offsets.tolist(), pairwise(bounds.tolist()), strict=True)
        for theta, offset, (first, last) in tasks:
            s = (b[first:last] * (a[first:last] @ theta + offset)).sigmoid()
            total = total + weights[first:last] @ (s * s)
        return total

    return sigmoid_loss


class TorchOperator(DenseOperator):
    """Dense matrix, multiplied on a device of PyTorch.

    Parameters
    ----------
    tensor
        Copies an array to the device; see `open_device`.
    array
        The matrix, shape (M, N).
    """

    def __init__(self, tensor: MakeTensor, array: Floats) -> None:
        super().__init__(array)
        self._tensor, self._matrix = tensor, tensor(array)

    def write_golub_kahan_products(
        self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats
    ) -> SquaredNorm:
        """Write ``u = G v - beta * previous`` and ``y = G' u`` for this matrix G; return |u|^2."""
        product = self._matrix @ self._tensor(v) - beta * self._tensor(previous)
        u[:] = product.cpu().numpy()
        y[:] = (product @ self._matrix).cpu().numpy()
        return float(u @ u)

    def scale(self, factor: float) -> "TorchOperator":
        """Return this matrix times `factor`, as an operator."""
        return TorchOperator(self._tensor, factor * self.array)


@dataclass(frozen=True, eq=False)
class TorchProblem(ProblemWrapper, MatrixProblem):
    """Built-in problem whose sums over components are computed by PyTorch.

    Parameters
    ----------
    inner
        The problem, which determines the constants, the set and the measures.
    arrays
        Name of the device; see `open_device`.
    """

    inner: Dense
    arrays: str

    def __post_init__(self) -> None:
        vars(self).update(name=self.inner.name, source=self.inner.source)
        _ = self._loss  # the data are there before the first call, and it is known that they fit

    set = DelegatedAttribute[ConvexBody]("inner")
    shape = DelegatedAttribute[tuple[int, int]]("inner")
    tolerance = DelegatedAttribute[float]("inner")

    @cached_property
    def digest(self) -> str:
        """Hash of the data and of the device, whose summation order affects the results."""
        return content_digest((self.inner.digest, self.arrays))

    @cached_property
    def _tensor(self) -> MakeTensor:
        return open_device(self.arrays)

    @cached_property
    def _loss(self) -> WeightedLoss:
        return _make_loss(self.inner, self._tensor)

    def _sum_losses(self, sample: Indices | None, point: Any) -> Any:
        """Return the mean of f_i over a sample (None: all components) at a tensor."""
        part: Components = slice(None)
        weights = np.full(self.n, 1.0 / self.n)
        if sample is not None:
            indices, weights = index_weights(sample, self.n)
            part = indices.copy()  # tensors are not indexed by read-only arrays
        return self._loss(point, part, self._tensor(weights))

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        return float(self._sum_losses(None, self._tensor(check_dense_point(x, self.shape))))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x."""
        return self._mean_gradient(None, x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        return self._mean_gradient(sample, x)

    def _mean_gradient(self, sample: Indices | None, x: Floats) -> Floats:
        point = self._tensor(check_dense_point(x, self.shape)).requires_grad_()
        self._sum_losses(sample, point).backward()
        return np.asarray(point.grad.cpu().numpy())

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the component Hessians at s, which the compiled loops of `inner` multiply."""
        return self.inner.hessian(s)

    def table(self, x: Floats) -> Table:
        """Return the SAGA table of `inner`, which is in host memory."""
        return self.inner.table(x)

    def open(self, rng: np.random.Generator) -> Backend:
        """Return the oracles of one run: this problem or, over a nuclear-norm ball, a new backend.

        Linear minimisation over a nuclear-norm ball multiplies by the gradient on the device.
        """
        if not isinstance(self.set, NuclearBall):
            return self
        minimiser = self.set.make_warm_lmo(rng, self.tolerance)
        return BackendWithStatefulLmo(self, lambda g: minimiser.lo(TorchOperator(self._tensor, g)))
