"""Losses of a PyTorch module over its parameters, as finite sums or as samplers of a data set."""

import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.adapters.black_box import import_optional_library
from pfbench.adapters.functions import from_functions, sample_function, with_point_norm
from pfbench.base.arrays import Floats
from pfbench.base.checks import check_integer
from pfbench.base.errors import InputError
from pfbench.base.protocols import FeasibleSet
from pfbench.base.user_code import blame_user_code
from pfbench.points import Layers
from pfbench.problems.base import FiniteSum
from pfbench.problems.sampler import Atoms
from pfbench.sets.norms import NormBall

_CHUNK = 256
"""Maximum number of draws that the exact value and gradient of a sampler evaluate together."""

_ATOMS = 256
"""Maximum number of draws of a data set that are listed as atoms."""


class _ModuleLosses:
    """Losses of a PyTorch module in double precision, as functions of its parameters.

    The module is converted to double precision in place.

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
        self._module, self._loss, self._read, self.n = module.cpu().double(), loss, read, n
        self._named = {name: p for name, p in self._module.named_parameters() if p.requires_grad}
        self._parameters = list(self._named.values())
        if not self._parameters:
            raise InputError("no parameter of the module requires a gradient: set requires_grad.")

    def start(self) -> Layers:
        """Return the current values of all parameters that require a gradient, by name."""
        return Layers.from_arrays({name: p.detach().numpy() for name, p in self._named.items()})

    def value(self, x: Floats, indices: Any = slice(None)) -> float:
        """Return the mean of the losses with the given indices, by default of all losses."""
        with self._torch.no_grad():
            return float(self._mean_loss(x, indices))

    def gradient(self, x: Floats, indices: Any = slice(None)) -> Floats:
        """Return the gradient of the mean of the losses with these indices, by default of all."""
        with self._torch.enable_grad():
            mean = self._mean_loss(x, indices)
            grad = self._torch.autograd.grad(mean, self._parameters, allow_unused=True)
        pairs = zip(grad, self._parameters, strict=True)
        flat = [np.zeros(p.numel()) if g is None else g.numpy().ravel() for g, p in pairs]
        return np.concatenate(flat)

    def check_independent_and_deterministic(self) -> None:
        """Raise if the loss of an input is random, or depends on the other inputs."""
        sample = np.arange(min(self.n, 16))  # a random flip may leave one input as it is
        with self._torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of shapes that differ, which is the error below
            first, recomputed = (self._per_input_losses(sample) for _ in range(2))
            if not self._are_equal(first, recomputed):
                raise InputError(
                    "the loss of an input is random, as two evaluations differ: make it "
                    "deterministic, or pass augment=True to from_loader and draw from torch's "
                    "generator alone."
                )
            own, among = (self._per_input_losses(sample[:count])[0] for count in (1, 2))
            if not self._are_equal(own, among, rtol=1e-9, atol=1e-12):
                raise InputError(
                    f"the loss of an input depends on the other inputs: it is {own} in a batch of "
                    f"one, and {among} in a batch of two, so give outputs and targets one shape."
                )

    def _are_equal(self, a: Any, b: Any, rtol: float = 0.0, atol: float = 0.0) -> bool:
        """Return whether two tensors are equal within the tolerances, where NaN equals NaN."""
        return a.shape == b.shape and bool(
            self._torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
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


class _SeededLosses(_ModuleLosses):
    """Losses of a PyTorch module on randomly augmented data; a draw is an index and a seed.

    Each draw is evaluated on its own, with torch's generator set to the seed.
    """

    def _per_input_losses(self, indices: Any) -> Any:
        with self._torch.random.fork_rng(devices=[]):
            return self._torch.cat([self._seed_and_evaluate(number) for number in indices])

    def _seed_and_evaluate(self, number: Any) -> Any:
        self._torch.default_generator.manual_seed(int(number))
        return super()._per_input_losses(np.array([number]))


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
    norm: str | NormBall | None = None,
) -> FiniteSum:
    """Return the loss of a PyTorch module as a finite-sum problem: f_i is the loss of input i.

    A point is `pfbench.points.Layers`: the parameters that require a gradient, by their names and
    in their shapes, in double precision. The start has their current values. The module is copied,
    and the copy is evaluated as after ``eval()``.

    Parameters
    ----------
    module
        A `torch.nn.Module`.
    loss
        ``loss(outputs, targets)``, with ``reduction="none"``.
    inputs, targets
        Tensors or arrays; entry i of the first axis belongs to component i.
    lmo, constants, properties, norm
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
        norm=norm,
    )


def from_loader(
    module: Any,
    loss: Callable[..., Any],
    data: Any,
    lmo: Callable[..., Any] | FeasibleSet | None = None,
    *,
    replacement: bool = False,
    augment: bool = False,
    seeds: int = 16,
    constants: Mapping[str, float] = MappingProxyType({}),
    properties: tuple[str, ...] = (),
    norm: str | NormBall | None = None,
) -> FiniteSum:
    """Return the loss of a PyTorch module as a problem whose draws are examples of a data set.

    Draws are independent and uniform, so with replacement. Points are those of `from_module`, and
    the module is copied in its present mode. The exact value and gradient are means over the whole
    data set; only measures use them.

    Parameters
    ----------
    module, loss
        As in `from_module`.
    data
        Map-style data set of pairs (input, target), or a `torch.utils.data.DataLoader` of it, whose
        `collate_fn` is used; the batches are those of the method.
    lmo, constants, properties, norm
        As in `from_functions`; a set has to contain the module's parameters.
    replacement
        True accepts independent draws in place of the passes of a loader that shuffles or reads in
        order.
    augment
        True if the items or the module are random by torch's generator, as transforms and dropout
        are. Then xi is a pair of an index and j < `seeds`, stored as the number index * seeds + j,
        which is also the seed.
    seeds
        Number of seeds of each index: f is the mean over all pairs.

    Raises
    ------
    InputError
        If torch is not installed, the arguments do not fit together, the loader's draws are not
        independent and uniform, or the loss of an item is random or depends on other items.
    """
    torch = import_optional_library("torch", '"pfbench[torch]"')
    dataset, collate = _dataset_and_collate_function(torch, data, replacement)
    repeats = check_integer("seeds", seeds, minimum=1) if augment else 1
    count = len(dataset) * repeats

    def read(numbers: Any) -> tuple[Any, Any]:
        batch = collate([dataset[int(k) // repeats] for k in numbers])
        is_pair = isinstance(batch, tuple | list) and len(batch) == 2
        if not is_pair or not all(map(torch.is_tensor, batch)):
            raise InputError("an item of the data set must be a pair (input, target) of arrays.")
        inputs, targets = map(_as_double_tensor, batch)
        return inputs, targets

    losses = (_SeededLosses if augment else _ModuleLosses)(deepcopy(module), loss, read, count)
    with blame_user_code("the data set, the module or the loss"):
        losses.check_independent_and_deterministic()
    numbers = np.arange(count)

    def mean(function: Callable[[Floats, Any], Any], x: Floats) -> Any:
        parts = np.array_split(numbers, -(-count // _CHUNK))
        return sum(len(part) / count * function(x, part) for part in parts)

    function = from_functions(
        lambda x: mean(losses.value, x),
        lambda x: mean(losses.gradient, x),
        lmo,
        start=losses.start(),
        constants=constants,
        properties=properties,
    )
    atoms = Atoms(numbers, np.full(count, 1.0 / count)) if count <= _ATOMS else None
    sampler = sample_function(
        function,
        lambda rng, size: rng.integers(count, size=size),
        lambda S, x: losses.gradient(x, S),
        atoms,
    )
    return with_point_norm(sampler, norm)


def _dataset_and_collate_function(
    torch: Any, data: Any, replacement: bool
) -> tuple[Any, Callable[[Any], Any]]:
    """Return the data set of a loader, and the function that collates items to a batch.

    Raise for a loader that does not draw uniformly or independently.
    """
    tools = torch.utils.data
    is_loader = isinstance(data, tools.DataLoader)
    dataset, collate = data.dataset if is_loader else data, tools.default_collate
    has_index = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
    if isinstance(dataset, tools.IterableDataset) or not has_index:
        raise InputError(
            "the items of the data set have no indices, so no sample can be evaluated at two "
            "points: pass a map-style data set, or sampler and sample_grad to from_functions."
        )
    if not len(dataset):
        raise InputError("the data set is empty.")
    if not is_loader:
        return dataset, collate
    order = data.sampler
    if data.batch_sampler is not None:
        collate, order = data.collate_fn, data.batch_sampler
        order = order.sampler if type(order) is tools.BatchSampler else order
    if type(order) not in (tools.RandomSampler, tools.SequentialSampler):
        raise InputError(
            f"the loader draws by {type(order).__name__}, not uniformly from the data set: instead "
            "of the loader, pass the data set or a torch.utils.data.Subset of it."
        )
    if not (replacement or getattr(order, "replacement", False)):
        raise InputError(
            "the loader shuffles or reads in order, but samples must be drawn with replacement: "
            "give replacement=True if you want independent draws."
        )
    return dataset, collate
