"""Dense losses on the arrays of another library: PyTorch, CuPy, or any other by the standard.

The data stay on the library's device, such as a GPU. Points and gradients are converted to and
from NumPy arrays, so algorithms, counts and measures do not change. Results differ in the order of
summation. Hessians and SAGA tables are those of the compiled loops.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.parameters import DelegatedAttribute
from pfbench.base.protocols import Backend, Table
from pfbench.base.sample import Indices
from pfbench.problems.array_losses import (
    ArrayLibrary,
    ArrayLoss,
    ArrayOperator,
    ComponentBlock,
    Dense,
    make_array_loss,
)
from pfbench.problems.base import (
    BackendWithStatefulLmo,
    ComponentHessiansAtPoint,
    check_dense_point,
    content_digest,
    index_weights,
)
from pfbench.problems.matrix_models import MatrixProblem
from pfbench.problems.wrapper import ProblemWrapper
from pfbench.sets.body import ConvexBody
from pfbench.sets.nuclear import NuclearBall


@dataclass(frozen=True, eq=False)
class ArrayProblem(ProblemWrapper, MatrixProblem):
    """Built-in problem whose sums over components are computed by an array library.

    Parameters
    ----------
    inner
        The problem, which determines the constants, the set and the measures.
    library
        Name of the library; see `load_array_library`.
    """

    inner: Dense
    library: ArrayLibrary

    def __post_init__(self) -> None:
        vars(self).update(name=self.inner.name, source=self.inner.source)
        _ = self.loss  # the data are there before the first call, and it is known that they fit

    # --- what the problem says --------------------------------------------------------------------

    set = DelegatedAttribute[ConvexBody]("inner")
    shape = DelegatedAttribute[tuple[int, int]]("inner")
    tolerance = DelegatedAttribute[float]("inner")

    @cached_property
    def digest(self) -> str:
        """Hash of the data and of the array library, whose summation order affects the results."""
        return content_digest((self.inner.digest, self.library.name))

    # --- the function -----------------------------------------------------------------------------

    @cached_property
    def loss(self) -> ArrayLoss:
        """Loss function of the components, with the data on the device of the array library."""
        return make_array_loss(self.library, self.inner)

    def as_component_matrix(self, x: Floats) -> Any:
        """Copy a point to the device as a matrix of shape (d, columns), as the losses read it."""
        return self.library.as_floats(
            check_dense_point(x, self.shape).reshape(-1, self.loss.columns)
        )

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        loss, recorded, total = self.loss, self.as_component_matrix(x), 0.0
        for part in loss.iterate_component_blocks(None, None):
            z = loss.take(loss.rows, part.components) @ recorded[:, part.columns]
            total += float(loss.xp.sum(loss.values(z, part)))
        return total / self.inner.n - 0.5 * loss.ridge * float(np.vdot(x, x))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x."""
        return self._mean_gradient_or_difference(None, x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        return self._mean_gradient_or_difference(sample, x)

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample; each row is read once."""
        return self._mean_gradient_or_difference(sample, x, y)

    def _mean_gradient_or_difference(
        self, sample: Indices | None, x: Floats, y: Floats | None = None
    ) -> Floats:
        """Return the sample mean of grad f_i(x), minus that of grad f_i(y) unless y is None."""
        loss, point = self.loss, self.as_component_matrix(x)
        before = None if y is None else self.as_component_matrix(y)

        def slopes(rows: Any, part: ComponentBlock) -> Any:
            s = loss.slopes(rows @ point[:, part.columns], part)
            if before is None:
                return s
            return s - loss.slopes(rows @ before[:, part.columns], part)

        g = self.mean_gradient(sample, slopes)
        return g - loss.ridge * (x if y is None else x - y) if loss.ridge else g

    def mean_gradient(self, sample: Indices | None, slope_function: Any) -> Floats:
        """Return the mean gradient over a sample (None: all components), from loss derivatives.

        Parameters
        ----------
        slope_function
            Called with the rows of a block, and the block; returns shape (k, width).
        """
        loss, xp = self.loss, self.loss.xp
        numbers, weights = (None, None) if sample is None else index_weights(sample, self.n)
        sums: dict[int, Any] = {}
        for part in loss.iterate_component_blocks(numbers, weights):
            rows, start = loss.take(loss.rows, part.components), part.columns.start
            g = xp.matrix_transpose(rows) @ (part.weights * slope_function(rows, part))
            sums[start] = sums[start] + g if start in sums else g
        width = loss.width
        zero = xp.zeros((loss.d, width), dtype=xp.float64, device=self.library.device)
        columns = [sums.get(index, zero) for index in range(0, loss.columns, width)]
        return self.library.as_numpy(xp.concat(columns, axis=1)).reshape(self.shape)

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the component Hessians at s, which the compiled loops of `inner` multiply."""
        return self.inner.hessian(s)

    def table(self, x: Floats) -> Table:
        """Return the SAGA table of `inner`, which is in host memory."""
        return self.inner.table(x)

    def open(self, rng: np.random.Generator) -> Backend:
        """Return the oracles of one run: this problem or, over a nuclear-norm ball, a new backend.

        The linear minimisation of the new backend runs on the device and is warm-started.
        """
        if not isinstance(self.set, NuclearBall):
            return self
        minimiser = self.set.make_warm_lmo(rng, self.tolerance)
        return BackendWithStatefulLmo(self, lambda g: minimiser.lo(ArrayOperator(self.library, g)))
