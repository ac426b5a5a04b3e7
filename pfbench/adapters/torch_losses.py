"""Loss of a PyTorch module over its parameters, as a finite sum or as a sampler of a data set."""

import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.adapters.black_box import import_optional_library
from pfbench.adapters.functions import from_functions
from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.base.protocols import FeasibleSet
from pfbench.problems.base import FiniteSum


class _ModuleLosses:
    """Losses of a module, which this converts to double precision.

    Parameters
    ----------
    module, loss
        As in `from_module`.
    read
        Function of indices; returns the inputs and the targets as tensors in double precision.
    n
        Number of indices.
    """

    def __init__(
        self, module: Any, loss: Callable[..., Any], read: Callable[[Any], tuple[Any, Any]], n: int
    ) -> None:
        self._torch = import_optional_library("torch", '"pfbench[torch]"')
        self._module, self._loss, self._read, self.n = module.double(), loss, read, n
        self._parameters = [p for p in self._module.parameters() if p.requires_grad]
        if not self._parameters:
            raise InputError("no parameter of the module requires a gradient: set requires_grad.")

    def start(self) -> Floats:
        """Return all parameters, one after the other, shape (d,)."""
        flat = [p.detach().numpy().ravel() for p in self._parameters]
        return np.concatenate(flat)

    def value(self, x: Floats, indices: Any = slice(None)) -> float:
        """Return the mean of some losses, by default of all."""
        with self._torch.no_grad():
            return float(self._mean_loss(x, indices))

    def gradient(self, x: Floats, indices: Any = slice(None)) -> Floats:
        """Return the gradient of the mean of some losses, by default of all."""
        with self._torch.enable_grad():
            mean = self._mean_loss(x, indices)
            grad = self._torch.autograd.grad(mean, self._parameters, allow_unused=True)
        pairs = zip(grad, self._parameters, strict=True)
        flat = [np.zeros(p.numel()) if g is None else g.numpy().ravel() for g, p in pairs]
        return np.concatenate(flat)

    def check_independent_and_deterministic(self, remedy: str = "make both deterministic") -> None:
        """Raise if the loss is random, or that of an input depends on the other inputs."""
        several = np.arange(min(self.n, 16))  # a random flip may leave one input as it is
        with self._torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of shapes that differ, which is the error below
            first, recomputed = (self._per_input_losses(several) for _ in range(2))
            if not self._are_equal(first, recomputed):
                raise InputError(
                    "the module or the loss is random, as two evaluations at one point differ: "
                    f"{remedy}."
                )
            own, among = (self._per_input_losses(several[:count])[0] for count in (1, 2))
            if not self._are_equal(own, among):
                inputs, targets = self._read(several[:2])
                shapes = [tuple(item.shape) for item in (self._module(inputs), targets)]
                raise InputError(
                    "the loss of an input depends on the other inputs: for two inputs, outputs "
                    f"have shape {shapes[0]} and targets {shapes[1]}, so the loss of the first has "
                    f"shape {tuple(among.shape)}, but {tuple(own.shape)} for it alone; give "
                    "outputs and targets the same shape."
                )

    def _are_equal(self, a: Any, b: Any) -> bool:
        """Return whether two tensors are equal up to rounding."""
        return a.shape == b.shape and bool(
            self._torch.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
        )

    def _per_input_losses(self, indices: Any) -> Any:
        inputs, targets = self._read(indices)
        losses = self._loss(self._module(inputs), targets)
        if losses.ndim == 0 or len(losses) != len(inputs):
            raise InputError(
                "the loss returns one number for all inputs: give it reduction='none', so that it "
                "returns one for each input."
            )
        return losses

    def _mean_loss(self, x: Floats, indices: Any) -> Any:
        torch, k = self._torch, 0
        with torch.no_grad():
            for p in self._parameters:
                p.copy_(torch.from_numpy(x[k : k + p.numel()].copy()).view_as(p))
                k += p.numel()
        return self._per_input_losses(indices).mean()


def _as_double_tensor(tensor: Any) -> Any:
    return tensor.double() if tensor.is_floating_point() else tensor


def from_module(
    module: Any,
    loss: Callable[..., Any],
    inputs: Any,
    targets: Any,
    lmo: Callable[..., Any] | FeasibleSet | None = None,
    *,
    constants: Mapping[str, float] = MappingProxyType({}),
    properties: tuple[str, ...] = (),
) -> FiniteSum:
    """Return the loss of a PyTorch module as a problem: f_i is the loss of input i.

    A point is the vector of all parameters that require a gradient, one after the other, in double
    precision. The start has their current values. The module is copied, and the copy is evaluated
    as after ``eval()``.

    Parameters
    ----------
    module
        A `torch.nn.Module`.
    loss
        ``loss(outputs, targets)``, with ``reduction="none"``.
    inputs, targets
        Tensors or arrays; entry i of the first axis belongs to component i.
    lmo, constants, properties
        As in `from_functions`; a set has to contain the module's parameters.

    Raises
    ------
    InputError
        If torch is not installed, or the arguments do not fit together.
    """
    torch = import_optional_library("torch", '"pfbench[torch]"')
    tensors = [_as_double_tensor(torch.as_tensor(array)) for array in (inputs, targets)]
    losses = _ModuleLosses(
        deepcopy(module).eval(), loss, lambda k: (tensors[0][k], tensors[1][k]), len(inputs)
    )
    losses.check_independent_and_deterministic()
    return from_functions(
        losses.value,
        losses.gradient,
        lmo,
        start=losses.start(),
        components=(losses.n, losses.gradient),
        constants=constants,
        properties=properties,
    )
