"""Optimisers of PyTorch and Optax as algorithms, with counted gradients."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from pfbench.adapters.black_box import BlackBox, FlatOracles, Tell, import_optional_library
from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.base.names import find_entry
from pfbench.base.parameters import integer, parameter, positive
from pfbench.base.user_code import load_user_object


@dataclass(frozen=True, kw_only=True)
class TorchOptimizer(BlackBox):
    """Optimiser of `torch.optim`, or with the same interface, run in double precision.

    Its parameters are the layers of a point, or one array in the shape of a point. Each call of
    its closure computes one gradient, or the mean of a batch of S component gradients. Only LBFGS
    reads the function value, and so queries it. A class whose `step` does not call its closure
    gets one gradient before each step.
    """

    name = "torch-optimizer"
    summary = "an optimiser of torch.optim, a black box"
    source = "Paszke et al. 2019, PyTorch"
    counts = "T iterations of all but LBFGS: SFO ST, or FO T and SFO nT"
    libraries = ("torch",)
    requires = frozenset({"smooth"})

    iterations: int = integer(MISSING, "T, the number of steps")
    step: float = positive(MISSING, "lr")
    optimizer: Any = parameter("SGD", "name of a class of torch.optim, FILE.py:NAME, or a class")
    batch: int | None = integer(None, "batch size S; full gradients if not given")
    options: Mapping[str, Any] | None = parameter(None, "further arguments of the class")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch is not None and self._reads_values:
            raise InputError(
                f"{self.optimizer} needs values of f over all components: leave batch out."
            )

    @property
    def _reads_values(self) -> bool:
        return bool(getattr(self.optimizer, "__name__", self.optimizer) == "LBFGS")

    @property
    def asks(self) -> frozenset[str]:
        """Names of the oracles that the optimiser's closure queries."""
        gradients = "gradient" if self.batch is None else "batch"
        return self.requires | {gradients} | ({"value"} if self._reads_values else set())

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> None:
        """Run the optimiser from `oracles.start`, and report each iterate by calling `tell`."""
        torch = import_optional_library("torch", '"pfbench[torch]"')
        data = self.optimizer
        if isinstance(data, str) and ":" in data:
            data = load_user_object(data)
        elif not isinstance(data, type):
            kinds = {name: var for name, var in vars(torch.optim).items() if isinstance(var, type)}
            data = find_entry("optimiser of torch.optim", data, kinds)
        # In the shapes of the layers: Muon takes matrices alone.
        parameters = [
            torch.tensor(layer, dtype=torch.float64, requires_grad=True)
            for layer in oracles.layers(oracles.start)
        ]
        calls = 0

        def read_parameters() -> Floats:
            return np.concatenate([p.detach().numpy().ravel() for p in parameters])

        def closure() -> Any:
            nonlocal calls
            calls += 1
            z = read_parameters()
            if self.batch is None:
                value, g = oracles.value_and_gradient(z)
            else:
                value, g = None, oracles.batch(oracles.sample(rng, self.batch), z)
            for p, layer in zip(parameters, oracles.layers(g), strict=True):
                p.grad = torch.from_numpy(layer)
            return value

        def make_step() -> Callable[..., Any]:
            step: Callable[..., Any] = data(
                parameters, lr=self.step, **dict(self.options or {})
            ).step
            return step

        step = make_step()
        takes_closure = bool(inspect.signature(step).parameters)
        for t in range(self.iterations):
            if takes_closure:
                step(closure)
            if t == 0 and not calls:  # It reads p.grad alone, which was not set: begin again.
                takes_closure, step = False, make_step()
                with torch.no_grad():
                    for p, layer in zip(parameters, oracles.layers(oracles.start), strict=True):
                        p.copy_(torch.from_numpy(layer))
            if not takes_closure:
                closure()
                step()
            tell(read_parameters())


@dataclass(frozen=True, kw_only=True)
class OptaxOptimizer(BlackBox):
    """Optimiser of `optax`, run as an algorithm in double precision.

    Each update takes one gradient, or the mean of a batch of S component gradients. Optimisers
    that also need function values, such as `lbfgs`, are not supported.
    """

    name = "optax-optimizer"
    summary = "an optimiser of optax, a black box"
    source = "DeepMind et al. 2020, optax"
    counts = "T iterations: SFO ST, or FO T and SFO nT"
    libraries = ("optax", "jax")
    requires = frozenset({"smooth"})

    iterations: int = integer(MISSING, "T, the number of updates")
    step: float = positive(MISSING, "learning_rate")
    optimizer: str = parameter("sgd", "a function of optax, such as sgd or contrib.muon")
    batch: int | None = integer(None, "batch size S; full gradients if not given")
    options: Mapping[str, Any] | None = parameter(None, "further arguments of the function")

    @property
    def asks(self) -> frozenset[str]:
        """Names of the oracles that the optimiser's updates query."""
        return self.requires | {"gradient" if self.batch is None else "batch"}

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> None:
        """Run the optimiser from `oracles.start`, and report each iterate by calling `tell`."""
        optax, jax = import_optional_library("optax"), import_optional_library("jax")
        try:
            created = attrgetter(self.optimizer)(optax)
        except AttributeError as error:
            raise InputError(
                f"optax has no {self.optimizer}: name a function such as sgd or contrib.muon."
            ) from error
        with jax.enable_x64(True):
            optimizer = created(self.step, **dict(self.options or {}))
            # In the shape of a point: muon takes matrices alone, and Adam is for all else.
            x = jax.numpy.asarray(oracles.point(oracles.start))
            state = optimizer.init(x)
            for _ in range(self.iterations):
                if self.batch is None:
                    g = oracles.gradient(x)
                else:
                    g = oracles.batch(oracles.sample(rng, self.batch), x)
                update, state = optimizer.update(jax.numpy.asarray(oracles.point(g)), state, x)
                x = optax.apply_updates(x, update)
                tell(x)
