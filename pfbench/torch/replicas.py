"""Copies of a user's optimiser with new state, on small layers."""

import copy
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.testing.steppers import Layers, Stepper, stepper

torch: Any = import_module("torch")

Settings = Mapping[str, Any]
"""Hyperparameters by name."""

_SYNONYMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "lr": ("lr", "learning_rate"),
        "weight_decay": ("weight_decay", "wd"),
        "momentum": ("momentum", "mu", "beta"),
        "eps": ("eps", "epsilon"),
    }
)

_STATE = ("state", "param_groups", "step")
"""Attributes of an optimiser that are not copied."""


class Replicas:
    """Copies of an optimiser that update other parameters, with the settings of one group.

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
        # A scheduler wraps `step` of the instance: the copy uses that of the class.
        self._attributes = {
            name: OrderedDict() if name.startswith("_optimizer_") else value
            for name, value in vars(optimizer).items()
            if name not in _STATE
        }

    def settings(self, group: Settings) -> dict[str, Any]:
        """Return the hyperparameters of a group, including attributes of the optimiser."""
        attributes = {
            name: value
            for name, value in self._attributes.items()
            if name in self._arguments() and isinstance(value, int | float | tuple)
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
        arguments = {name: settings[name] for name in self._arguments() if name in settings}
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

        The copy has the settings of `group`.
        """
        settings = self.settings(group)

        def construct(parameters: list[Any], **changed: Any) -> Any:
            return self.build_copy(parameters, {**settings, **changed})

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
            none = values_under_setting_names(self.settings(group), {"weight_decay": 0.0})
            moved, decayed = (make.follow(x0, grads, h)[1][0] for h in (none, {}))
            ratio = (moved - decayed) / x
        if not np.isfinite(ratio).all() or float(np.ptp(ratio)) > 1e-9:
            return None
        return float(np.median(ratio)) if ratio.any() else 0.0

    def _arguments(self) -> list[str]:
        parameters = list(signature(self._class).parameters.values())[1:]
        kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        return [p.name for p in parameters if p.kind in kinds]


def find_setting_key(settings: Settings, name: str) -> str | None:
    """Return the key of `settings` for a hyperparameter, or None if there is no such key.

    The key may be the usual name or a synonym.
    """
    return next((n for n in _SYNONYMS.get(name, (name,)) if n in settings), None)


def find_setting_value(settings: Settings, name: str, default: Any = 0.0) -> Any:
    """Return the value of a hyperparameter in `settings`, or `default`; synonyms are allowed."""
    key = find_setting_key(settings, name)
    return default if key is None else settings[key]


def values_under_setting_names(settings: Settings, values: Settings) -> dict[str, Any]:
    """Return `values` with each usual name replaced by the key that `settings` uses.

    Names without a key in `settings` are left out.
    """
    return {
        key: value
        for n, value in values.items()
        if (key := find_setting_key(settings, n)) is not None
    }


# --- published steps, right and with known bugs ---------------------------------------------------

RIGHT = ""

ADAM_BUGS: Mapping[str, str] = MappingProxyType(
    {
        "no decay": "weight decay has no effect on the steps",
        "decay of the new point": "weight decay acts on the new point, not on x_t",
        "eps inside": "eps is inside the root",
        "eps corrected": "eps is scaled by the bias correction",
        "next step": "the bias correction is that of step t+1",
        "not counted": "steps are not counted: the bias correction stays that of step 1",
        "counted per tensor": "the step counter grows with each tensor",
    }
)
MUON_BUGS: Mapping[str, str] = MappingProxyType(
    {
        "no decay": "weight decay has no effect on the steps",
        "decay of the new point": "weight decay acts on the new point, not on x_t",
        "momentum dead": "momentum has no effect unless nesterov is set",
        "nesterov ignored": "nesterov is ignored",
        "buffer normalised": "the momentum buffer is normalised in place",
        "average normalised": "the momentum buffer, an average, is normalised in place",
        "mixed": "the buffer is an average, and Nesterov's form takes the gradient unscaled",
    }
)


def _decay(x: Any, move: Any, rate: float, bug: str) -> Any:
    if bug == "decay of the new point":
        return (x - move) * (1 - rate)
    return x - move if bug == "no decay" else x * (1 - rate) - move


def follow_adam(
    settings: Settings, is_coupled: bool, x0: Layers, grads: list[Layers], bug: str
) -> list[Layers]:
    """Return the iterates of AdamW, or of Adam with coupled decay, for given gradients.

    If `bug` is the name of a known bug, the update has that bug.
    """
    lr, eps, wd = (settings[name] for name in ("lr", "eps", "weight_decay"))
    beta1, beta2 = settings["betas"]
    x, points = list(x0), [list(x0)]
    m, v = [0.0 * q for q in x0], [0.0 * q for q in x0]
    for t, gradient in enumerate(grads, start=1):
        for k, layer in enumerate(gradient):
            g = layer + wd * x[k] if is_coupled else layer
            m[k] = beta1 * m[k] + (1 - beta1) * g
            v[k] = beta2 * v[k] + (1 - beta2) * g * g
            count = {"next step": t + 1, "not counted": 1, "counted per tensor": len(x) * (t - 1)}
            count["counted per tensor"] += k + 1
            s = count.get(bug, t)
            correction = 1 - beta2**s
            root = np.sqrt(v[k] / correction) + eps
            if bug == "eps inside":
                root = np.sqrt(v[k] / correction + eps)
            elif bug == "eps corrected":
                root = np.sqrt(v[k] / correction) + eps / np.sqrt(correction)
            move = lr * m[k] / (1 - beta1**s) / root
            x[k] = _decay(x[k], move, 0.0 if is_coupled else lr * wd, bug)
        points.append(list(x))
    return points


def follow_muon(
    settings: Settings,
    orthogonalise: Callable[[int, Any], Any],
    x0: Layers,
    grads: list[Layers],
    bug: str,
) -> list[Layers]:
    """Return the iterates of Muon for given gradients.

    If `bug` is the name of a known bug, the update has that bug.

    Parameters
    ----------
    orthogonalise
        Function of the index of a layer and its momentum that returns the scaled direction.
    """
    lr, wd, beta, nesterov = (
        settings[name] for name in ("lr", "weight_decay", "momentum", "nesterov")
    )
    x, points, buffers = list(x0), [list(x0)], [0.0 * q for q in x0]
    for gradient in grads:
        for k, g in enumerate(gradient):
            is_average = bug == "mixed" or (bug == "average normalised" and not nesterov)
            weight = 1 - beta if is_average else 1.0
            buffers[k] = m = beta * buffers[k] + weight * g
            n = g + beta * m if nesterov and bug != "nesterov ignored" else m
            if bug == "momentum dead" and not nesterov:
                n = g
            if bug.endswith("normalised") and not nesterov:
                buffers[k] = m / np.linalg.norm(m)
            x[k] = _decay(x[k], lr * orthogonalise(k, n), lr * wd, bug)
        points.append(list(x))
    return points
