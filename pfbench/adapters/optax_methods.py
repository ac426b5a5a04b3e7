"""Optimisers of Optax as algorithms, with counted gradients."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from pfbench.adapters.black_box import BlackBox, Tell, import_optional_library
from pfbench.adapters.flat_oracles import FlatOracles
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, parameter, positive


@dataclass(frozen=True, kw_only=True)
class OptaxOptimizer(BlackBox):
    """Optimiser of `optax`, in double precision.

    Each update takes one gradient, or one batch of S component gradients. An optimiser that also
    needs values, such as `lbfgs`, is not supported.
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
        """Oracles that its updates query."""
        return self.requires | {"gradient" if self.batch is None else "batch"}

    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> None:
        """Run the optimiser from `oracles.start`."""
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
