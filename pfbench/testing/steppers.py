"""Optimisers of any library, wrapped as functions that map a start and gradients to iterates."""

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError
from pfbench.base.user_code import list_required_arguments
from pfbench.testing.failure_messages import Layers, fail, format_call

Update = Callable[[Layers], Any]
"""Function of a gradient that returns the new point as a list of layers."""

_UNIT_ROUNDOFF = {"float64": 2**-53, "float32": 2**-24, "float16": 2**-11, "bfloat16": 2**-8}


@dataclass(frozen=True)
class stepper:  # noqa: N801 - it is used as a function
    """Optimiser of any library, as a function of a start and gradients that returns the iterates.

    Parameters
    ----------
    optimizer
        A class of torch (its instances have ``step()``), a function of optax, a class whose
        instances have ``step(x, g)`` that returns the new point, or a plain function
        ``run(x0, grads, **hyper)`` that returns the list of points, including x0.
    shape
        Shape of a point; with a list of shapes, points are lists of layers.
    dtype
        Type of points and gradients: "float64", "float32", "float16", for torch "bfloat16".
    names
        Names of the optimiser's parameters by the names that a check uses:
            ``{"lr": "learning_rate"}``.
    kind
        "torch", "optax", "class" or "function", if it cannot be inferred.
    steps
        Number of gradients; by default that of each check.
    seed
        Seed of the start and the gradients, which are standard normal.

    Raises
    ------
    InputError
        If an argument is out of range.
    """

    optimizer: Any
    _: KW_ONLY
    shape: Any = (5,)
    dtype: str = "float64"
    names: Mapping[str, str] | None = None
    kind: str = ""
    steps: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        layers = self.shape if self.is_layered else [self.shape]
        if not layers or not all(isinstance(layer, tuple) for layer in layers):
            raise InputError(f"shape={self.shape} must be a tuple, or a list of tuples.")
        if not callable(self.optimizer):
            raise InputError("optimizer must be a class or a function, not an instance.")
        check_choice("dtype", self.dtype, _UNIT_ROUNDOFF)
        check_choice("kind", self.kind, ("", "torch", "optax", "class", "function"))

    def __call__(self, x0: Any, grads: Sequence[Any], **hyper: Any) -> list[Any]:
        """Return the iterates, x0 included; each is an array or a list of layers, as x0 is."""
        layered = self.is_layered
        points = self.follow(
            list(x0) if layered else [x0], [list(g) if layered else [g] for g in grads], hyper
        )
        return points if layered else [point[0] for point in points]

    def __repr__(self) -> str:
        options = dict(vars(self))
        return format_call(stepper, options.pop("optimizer"), **options)

    @property
    def is_layered(self) -> bool:
        """Whether points are lists of layers."""
        return isinstance(self.shape, list)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each layer."""
        return tuple(self.shape) if self.is_layered else (self.shape,)

    @property
    def label(self) -> str:
        """Name of the optimiser in messages."""
        return getattr(self.optimizer, "__name__", type(self.optimizer).__name__)

    @property
    def unit_roundoff(self) -> float:
        """Unit roundoff of the data type in which the optimiser runs."""
        return _UNIT_ROUNDOFF[self.dtype]

    def draw(self, steps: int = 12) -> tuple[Layers, list[Layers]]:
        """Return a random start and a list of random gradients, with standard normal entries."""
        rng, steps = np.random.default_rng(self.seed), self.steps or steps
        points = [[rng.standard_normal(s) for s in self.shapes] for _ in range(steps + 1)]
        return points[0], points[1:]

    def follow(self, x0: Layers, grads: list[Layers], hyper: Mapping[str, Any]) -> list[Layers]:
        """Return the iterates of a run, x0 included, each as a list of layers in double precision.

        Raises
        ------
        InputError
            If the result is not a list of points.
        AssertionError
            If a step changes the gradient of an earlier step, so that its array is also a buffer.
            Only classes of other libraries are tested for this: PyTorch makes a new gradient in
            each step. A step may write into its own gradient, as the published Muon does.
        """
        named = {(self.names or {}).get(name, name): value for name, value in hyper.items()}
        kind = self.kind or self._kind(named)
        if kind == "function":
            return self._from_function(x0, grads, named)
        update = {"torch": self._torch, "optax": self._optax, "class": self._class}[kind](x0, named)
        points = [[self._double(layer) for layer in self._cast_layers(x0)]]
        gradients = []
        for gradient in grads:
            layers = self._cast_layers(gradient)
            point = update(list(layers))
            points.append([self._double(layer) for layer in self._as_layers(point)])
            gradients.append((layers, copy.deepcopy(layers)))
        for t, (after, before) in enumerate(gradients, 1):
            if not all(
                a is None or bool(((a == b) | (b != b)).all())  # b != b if b is NaN
                for a, b in zip(after, before, strict=True)
            ):
                lines = [
                    f"{self.label} changes the gradient of step {t} in a later step: it keeps this "
                    "array as a buffer, without a copy",
                    "steps are wrong if the next gradient is written into the same array",
                ]
                fail(lines, format_call("same_law", self, self, **hyper))
        return points

    def _kind(self, hyper: Mapping[str, Any]) -> str:
        optimizer = self.optimizer
        torch = sys.modules.get("torch")
        if isinstance(optimizer, type):
            is_torch = torch is not None and issubclass(optimizer, torch.optim.Optimizer)
            arguments = list_required_arguments(getattr(optimizer, "step", None))
            return "torch" if is_torch or arguments == ["self"] else "class"
        # A function of (x0, grads), or one that makes a transformation of its parameters.
        first = [name for name in list_required_arguments(optimizer) or () if name not in hyper]
        return "function" if len(first) >= 2 else "optax"

    # --- kinds ------------------------------------------------------------------------------------

    def _from_function(self, x0: Layers, grads: list[Layers], hyper: Any) -> list[Layers]:
        def as_argument(layers: Layers) -> Any:
            typed = self._cast_layers(layers)
            return typed if self.is_layered else typed[0]

        points = list(self.optimizer(as_argument(x0), [as_argument(g) for g in grads], **hyper))
        if len(points) != len(grads) + 1:
            raise InputError(
                f"{self.label} returns {len(points)} points for {len(grads)} gradients: return "
                f"{len(grads) + 1} points, of which x0 is the first."
            )
        if len({id(layer) for p in points for layer in self._as_layers(p)}) < len(points):
            raise InputError(f"{self.label} returns the same array twice: append x.copy().")
        return [[self._double(layer) for layer in self._as_layers(p)] for p in points]

    def _torch(self, x0: Layers, hyper: Any) -> Update:
        torch = import_module("torch")
        dtype = getattr(torch, self.dtype)
        parameters = [torch.nn.Parameter(torch.tensor(layer, dtype=dtype)) for layer in x0]
        optimizer = self.optimizer(parameters, **hyper)

        def update(gradient: Layers) -> Layers:
            for p, g in zip(parameters, gradient, strict=True):
                p.grad = None if g is None else torch.tensor(g, dtype=dtype)
            optimizer.step()
            return [p.detach().to(torch.float64).numpy() for p in parameters]

        return update

    def _optax(self, x0: Layers, hyper: Any) -> Update:
        """Return the update of an optimiser that has the methods `init` and `update` of optax.

        The update maps a gradient to the next iterate.
        """
        optimizer = self.optimizer(**hyper)
        if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
            raise InputError(
                f"{self.label} is not an optimiser: give a class, a function run(x0, grads, "
                "**hyper) that returns points, or one that returns an object with init and update."
            )
        jax = sys.modules.get("jax")
        x = self._cast_layers(x0)
        state: list[Any] = []

        def update(gradient: Layers) -> Layers:
            nonlocal x
            with nullcontext() if jax is None else jax.enable_x64(True):
                lift = (lambda a: a) if jax is None else jax.numpy.asarray
                x = [lift(layer) for layer in x]
                if not state:
                    state.append(optimizer.init(x))
                change, state[0] = optimizer.update([lift(g) for g in gradient], state[0], x)
                x = [(a + b).astype(a.dtype) for a, b in zip(x, change, strict=True)]
            return x

        return update

    def _class(self, x0: Layers, hyper: Any) -> Update:
        """Return the update that calls `step` or `update` of a new instance of the class.

        The update maps a gradient to the next iterate.
        """
        optimizer = self.optimizer(**hyper)
        move = optimizer.step if hasattr(optimizer, "step") else optimizer.update
        x: Any = self._cast_layers(x0)
        x = x if self.is_layered else x[0]

        def update(gradient: Layers) -> Layers:
            nonlocal x
            x = move(x, gradient if self.is_layered else gradient[0])
            if x is None:
                raise InputError(f"{self.label}.{move.__name__}(x, g) returns None, not a point.")
            return self._as_layers(x)

        return update

    # --- types ------------------------------------------------------------------------------------

    def _cast_layers(self, layers: Layers) -> Layers:
        """Return copies of the layers in the stepper's data type.

        For bfloat16 they are in double precision, as torch converts them itself.
        """
        dtype = "float64" if self.dtype == "bfloat16" else self.dtype
        return [None if layer is None else np.array(layer, dtype=dtype) for layer in layers]

    def _as_layers(self, point: Any) -> Layers:
        return list(point) if self.is_layered or isinstance(point, list) else [point]

    def _double(self, layer: Any) -> Floats:
        return np.array(layer, dtype=np.float64)
