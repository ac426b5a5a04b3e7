"""Copies of a user's optimiser with new state, on small layers."""

import copy
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.testing.steppers import Stepper, stepper

torch: Any = import_module("torch")

Settings = Mapping[str, Any]
"""Hyperparameters by name."""

_USUAL_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "learning_rate": "lr",
        "wd": "weight_decay",
        "mu": "momentum",
        "beta": "momentum",
        "epsilon": "eps",
    }
)
"""Usual name of a hyperparameter, by other names that optimisers give to it."""

_STATE = ("state", "param_groups", "step")
"""Attributes of an optimiser that are not copied."""

_ARGUMENTS = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class Replicas:
    """Factory of optimiser copies, which update other tensors with the settings of one group.

    Parameters
    ----------
    optimizer
        The user's optimiser. If its class cannot be constructed from the settings of a group, its
        present attributes are copied.
    """

    def __init__(self, optimizer: Any) -> None:
        self._class = type(optimizer)
        self._is_fresh = not optimizer.state
        self.is_of_torch = self._class.__module__.startswith("torch.")
        parameters = list(signature(self._class).parameters.values())[1:]
        self._arguments = [p.name for p in parameters if p.kind in _ARGUMENTS]
        # A scheduler wraps `step` of the instance: the copy uses that of the class.
        self._attributes = {
            name: OrderedDict() if name.startswith("_optimizer_") else value
            for name, value in vars(optimizer).items()
            if name not in _STATE
        }

    def settings(self, group: Settings) -> dict[str, Any]:
        """Return the hyperparameters of a group by their usual names.

        Attributes of the optimiser are included.
        """
        own = self._raw_settings(group)
        return {usual: own[name] for usual, name in _names_in_optimizer(own).items()}

    def _raw_settings(self, group: Settings) -> dict[str, Any]:
        attributes = {
            name: value
            for name, value in self._attributes.items()
            if name in self._arguments and isinstance(value, int | float | tuple)
        }
        entries = {name: value for name, value in group.items() if name != "params"}
        return {
            name: value.item() if torch.is_tensor(value) and value.ndim == 0 else value
            for name, value in {**attributes, **entries}.items()
        }

    def build_copy(self, parameters: list[Any], settings: Settings) -> Any:
        """Return a copy of the optimiser that updates the given parameters.

        Raises
        ------
        InputError
            If the class cannot be constructed, and the user's optimiser already had state when
                `Replicas` was created.
        """
        arguments = {name: settings[name] for name in self._arguments if name in settings}
        for first in ([{**settings, "params": parameters}], parameters):
            try:
                optimizer = self._class(first, **arguments)
            except Exception:
                continue
            break
        else:
            if not self._is_fresh:
                raise InputError(
                    f"{self._class.__name__} cannot be copied: create Watch before the first "
                    "step of the optimiser."
                )
            optimizer = object.__new__(self._class)
            vars(optimizer).update(copy.deepcopy(self._attributes))
            optimizer.state = defaultdict(dict)
            optimizer.param_groups = [{"params": parameters}]
        for group in optimizer.param_groups:
            group.update(settings)
        return optimizer

    def make_stepper(
        self, group: Settings, shape: Sequence[tuple[int, ...]], dtype: str = "float64"
    ) -> Stepper:
        """Return a function that runs a copy of the optimiser on layers of the given shapes.

        The copy has the settings of `group`. Its parameters have their usual names, and those that
        the optimiser lacks are ignored.
        """
        settings = self._raw_settings(group)
        names = _names_in_optimizer(settings)

        def construct(parameters: list[Any], **changed: Any) -> Any:
            values = {names[name]: value for name, value in changed.items() if name in names}
            return self.build_copy(parameters, {**settings, **values})

        construct.__name__ = self._class.__name__
        return stepper(construct, shape=list(shape), kind="torch", dtype=dtype)

    def measure_decay(self, group: Settings) -> float | None:
        """Return the fraction of each parameter that weight decay subtracts in one step.

        Return None if the fraction differs between entries. It is 1 - x+/x in a first step from x
        to x+ with gradient 0. If that step is not finite, it is (y - y')/x, where y and y' are the
        points after one step without and with weight decay.
        """
        shape = tuple(min(k, 4) for k in group["params"][0].shape) or (1,)
        make = self.make_stepper(group, [shape])
        x0, grads = make.draw(1)
        x, after = (p[0] for p in make.follow(x0, [[np.zeros(shape)]], {}))
        ratio = 1.0 - after / x
        if not np.isfinite(ratio).all():
            moved, decayed = (make.follow(x0, grads, h)[1][0] for h in ({"weight_decay": 0.0}, {}))
            ratio = (moved - decayed) / x
        if not np.isfinite(ratio).all() or float(np.ptp(ratio)) > 1e-9:
            return None
        return float(np.median(ratio)) if ratio.any() else 0.0


def _names_in_optimizer(settings: Settings) -> dict[str, str]:
    """Return a dict from the usual name of each hyperparameter to its name in the optimiser."""
    names: dict[str, str] = {}
    for name in settings:
        usual = _USUAL_NAMES.get(name, name)
        names[name if usual in settings or usual in names else usual] = name
    return names
