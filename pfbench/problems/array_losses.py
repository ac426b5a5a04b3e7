"""Losses on the arrays of another library, by the Python array API standard, on any device.

Component i reads a matrix X through the data row a_i: z_i = X'a_i, or only the entry of z_i that
belongs to the component's task. The component is f_i = phi_i(z_i). A loss computes phi and phi' for
many components at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_text
from pfbench.base.errors import InputError
from pfbench.base.names import find_entry
from pfbench.points.operators import DenseOperator, SquaredNorm
from pfbench.problems.class_models import MulticlassLogistic, MultitaskSigmoid
from pfbench.problems.matrix_regression import MatrixRegression

_MODULES = MappingProxyType(
    {
        "torch": ("array_api_compat.torch", '"pfbench[gpu]"'),
        "cupy": ("array_api_compat.cupy", '"pfbench[gpu]" cupy'),
        "array-api-strict": ("array_api_strict", "array-api-strict"),
    }
)
"""Module of functions, and package to install, by name."""


@dataclass(frozen=True)
class ArrayLibrary:
    """An array library and one of its devices.

    Attributes
    ----------
    name
        NAME or NAME:DEVICE, as in "torch:cuda".
    xp
        The functions of the array API.
    device
        The device, None for the library's default.
    """

    name: str
    xp: Any
    device: Any

    def as_floats(self, array: npt.ArrayLike) -> Any:
        """Copy numbers to a new double-precision array of the library, on its device."""
        value = np.array(array, dtype=np.float64, order="C")
        return self.xp.asarray(value, device=self.device)

    def as_integers(self, array: npt.ArrayLike) -> Any:
        """Copy integers to a new int64 array of the library, on its device."""
        return self.xp.asarray(np.array(array, dtype=np.int64), device=self.device)

    def as_numpy(self, array: Any) -> Floats:
        """Convert an array of the library to a NumPy array in host memory."""
        if hasattr(array, "cpu"):
            array = array.cpu()
        return np.asarray(array.get() if hasattr(array, "get") else array)


def load_array_library(name: str) -> ArrayLibrary:
    """Return the library called NAME or NAME:DEVICE, such as torch, torch:cuda or cupy.

    Raises
    ------
    InputError
        If the name is unknown, the library is not installed, or the library has no such device.
    """
    base, _, device = check_text("arrays", name, "torch:cuda").partition(":")
    module, install = find_entry("array library", base, _MODULES)
    try:
        xp = import_module(module)
    except ImportError as error:
        raise InputError(f"{base} is not installed: pip install {install}.") from error
    try:
        library = ArrayLibrary(name, xp, _device(base, device) if device else None)
        library.as_floats([0.0])
    except Exception as error:  # each library has errors of its own
        first = (str(error).splitlines() or [""])[0]
        raise InputError(f"{base} has no device {device!r} on this machine ({first}).") from error
    return library


def _device(base: str, name: str) -> Any:
    if base == "torch":
        return import_module("torch").device(name)
    if base == "cupy":
        return import_module("cupy").cuda.Device(int(name))
    raise ValueError("only torch and cupy take a device: leave device out")


class ArrayOperator(DenseOperator):
    """Dense matrix, multiplied on the device of an array library.

    The matrix is copied there once. Each step of Golub-Kahan-Lanczos transfers only vectors.
    """

    def __init__(self, library: ArrayLibrary, array: Floats) -> None:
        super().__init__(array)
        self._library, self._array = library, library.as_floats(array)

    def write_golub_kahan_products(
        self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats
    ) -> SquaredNorm:
        """Write ``u = G v - beta * previous`` and ``y = G' u`` for this matrix G; return |u|^2."""
        library = self._library
        product = self._array @ library.as_floats(v)
        if beta:
            product = product - beta * library.as_floats(previous)
        u[:] = library.as_numpy(product)
        y[:] = library.as_numpy(product @ self._array)
        return float(u @ u)

    def scale(self, factor: float) -> "ArrayOperator":
        """Return this matrix times `factor`, as an operator."""
        return ArrayOperator(self._library, factor * self.array)


_BLOCK_ENTRIES = 1 << 26
"""Maximum number of entries of a temporary array: half a gigabyte."""

_FLAT = 700.0
"""Bound to which |x| is clipped before exp(x), which then neither overflows nor underflows."""

Dense = MultitaskSigmoid | MulticlassLogistic | MatrixRegression
"""Problems with array losses."""


class ComponentBlock(NamedTuple):
    """Group of components whose losses depend on the same columns of the matrix variable X.

    Attributes
    ----------
    components
        Component numbers: a slice of all, or those of a sample.
    weights
        Weight of each component.
    columns
        Columns of X that the components read.
    """

    components: slice | Integers
    weights: Any
    columns: slice


class ArrayLoss(ABC):
    """Loss phi(z), evaluated for many components at once by an array library.

    Parameters
    ----------
    library
        Library and device of the arrays.
    rows
        The data, shape (n, d).
    columns
        Number of columns of X. `width` is the number of columns that a component reads.
    """

    ridge = 0.0
    """Coefficient c of the term -(c/2) |X|^2 that every component has."""

    def __init__(self, library: ArrayLibrary, rows: Floats, columns: int, width: int) -> None:
        self.library, self.xp = library, library.xp
        self.rows = library.as_floats(rows)
        self.n, self.d = rows.shape
        self.columns, self.width = columns, width

    @abstractmethod
    def values(self, z: Any, part: ComponentBlock) -> Any:
        """Return the losses phi(z) of k components, shape (k,), for z of shape (k, width)."""

    @abstractmethod
    def slopes(self, z: Any, part: ComponentBlock) -> Any:
        """Return the derivatives of phi with respect to z for k components, shape (k, width)."""

    def take(self, array: Any, numbers: slice | Integers) -> Any:
        """Return the rows (or entries) of `array` that have the given component numbers."""
        if isinstance(numbers, slice):
            return array[numbers, ...]
        return self.xp.take(array, self.library.as_integers(numbers), axis=0)

    def iterate_component_blocks(
        self, numbers: Integers | None, weights: Floats | None
    ) -> Iterator[ComponentBlock]:
        """Yield a sample or all components, in small blocks of the same columns."""
        k = self.n if numbers is None else numbers.size
        step = max(1, _BLOCK_ENTRIES // max(self.d, self.width))
        for first in range(0, k, step):
            block = slice(first, min(first + step, k))
            yield self._make_block(numbers, weights, block, slice(0, self.columns))

    def _make_block(
        self, numbers: Integers | None, weights: Floats | None, block: slice, columns: slice
    ) -> ComponentBlock:
        shares: Any = 1.0 / self.n
        if weights is not None:
            shares = self.library.as_floats(weights[block])[:, None]
        return ComponentBlock(block if numbers is None else numbers[block], shares, columns)


class SigmoidLoss(ArrayLoss):
    """Loss s^2 of `MultitaskSigmoid`, where s is the sigmoid of a row's signed score.

    So s = 1/(1 + exp(-c (z + b))), where z is the product of a row and its task's column of X. The
    sign c is 1 for the label 1, else -1, and b is the offset of the task. Rows are ordered by task.
    """

    def __init__(self, library: ArrayLibrary, problem: MultitaskSigmoid) -> None:
        data = problem._data
        super().__init__(library, data.values, problem.shape[1], 1)
        self._tasks, self._bounds = data.task, data.bounds
        self._signs = library.as_floats(data.signs[:, None])
        self._offsets = library.as_floats(data.offsets[data.task][:, None])

    def iterate_component_blocks(
        self, numbers: Integers | None, weights: Floats | None
    ) -> Iterator[ComponentBlock]:
        """Yield all components, or those of a sample, as one block for each task."""
        bounds, order = self._bounds, None
        if numbers is not None:
            order = np.argsort(self._tasks[numbers], kind="stable")
            numbers, weights = numbers[order], None if weights is None else weights[order]
            bounds = np.searchsorted(self._tasks[numbers], np.arange(self.columns + 1))
        for task, (first, last) in enumerate(pairwise(bounds.tolist())):
            if last > first:
                yield self._make_block(numbers, weights, slice(first, last), slice(task, task + 1))

    def _sigmoid(self, z: Any, part: ComponentBlock) -> tuple[Any, Any]:
        c = self.take(self._signs, part.components)
        t = -c * (z + self.take(self._offsets, part.components))
        return c, 1.0 / (1.0 + self.xp.exp(self.xp.clip(t, -_FLAT, _FLAT)))

    def values(self, z: Any, part: ComponentBlock) -> Any:
        """Return the losses phi(z) of k components, shape (k,)."""
        return (self._sigmoid(z, part)[1] ** 2)[:, 0]

    def slopes(self, z: Any, part: ComponentBlock) -> Any:
        """Return the derivatives phi'(z) of k components, shape (k, 1)."""
        c, s = self._sigmoid(z, part)
        return 2.0 * c * s * s * (1.0 - s)


class SoftmaxLoss(ArrayLoss):
    """Softmax loss log sum_c exp(z_c) - z_y of a row with label y and class scores z."""

    def __init__(self, library: ArrayLibrary, problem: MulticlassLogistic) -> None:
        rows, labels = problem._data
        super().__init__(library, rows, problem.slopes_per_component, problem.slopes_per_component)
        self._labels = library.as_integers(labels[:, None])
        self._classes = library.as_integers(np.arange(problem.slopes_per_component)[None, :])

    def _one_hot(self, part: ComponentBlock) -> Any:
        """Return the unit vectors e_y for the labels y of k components, shape (k, classes)."""
        same = self.take(self._labels, part.components) == self._classes
        return self.xp.astype(same, self.xp.float64)

    def values(self, z: Any, part: ComponentBlock) -> Any:
        """Return the losses phi(z) of k components, shape (k,)."""
        xp = self.xp
        top = xp.max(z, axis=1, keepdims=True)
        sums = xp.log(xp.sum(xp.exp(z - top), axis=1)) + top[:, 0]
        return sums - xp.sum(z * self._one_hot(part), axis=1)

    def slopes(self, z: Any, part: ComponentBlock) -> Any:
        """Return the loss gradients of k components: softmax(z) minus the label's unit vector."""
        p = self.xp.exp(z - self.xp.max(z, axis=1, keepdims=True))
        return p / self.xp.sum(p, axis=1, keepdims=True) - self._one_hot(part)


class SquareLoss(ArrayLoss):
    """Square loss (z - y)^2/2 of `MatrixRegression`, where z = <Z_i, X> for the sensing matrix Z_i.

    The matrix X is flattened to one column.
    """

    def __init__(self, library: ArrayLibrary, problem: MatrixRegression) -> None:
        super().__init__(library, problem.data.rows, 1, 1)
        self._targets = library.as_floats(problem.data.y[:, None])
        self.ridge = problem.sensing_variance

    def values(self, z: Any, part: ComponentBlock) -> Any:
        """Return the losses (z - y)^2/2 of k components, shape (k,)."""
        return (0.5 * self.slopes(z, part) ** 2)[:, 0]

    def slopes(self, z: Any, part: ComponentBlock) -> Any:
        """Return the derivatives z - y of k components, shape (k, 1)."""
        return z - self.take(self._targets, part.components)


def make_array_loss(library: ArrayLibrary, problem: Dense) -> ArrayLoss:
    """Return the loss of a built-in problem, with its data copied to arrays of `library`."""
    if isinstance(problem, MultitaskSigmoid):
        return SigmoidLoss(library, problem)
    if isinstance(problem, MulticlassLogistic):
        return SoftmaxLoss(library, problem)
    return SquareLoss(library, problem)
