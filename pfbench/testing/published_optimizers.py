"""Published optimisers as plain functions that map a start and gradients to iterates.

Each function takes and returns arrays or lists of layers. They are references for `same_law`.
"""

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.sets.orthogonalisers import PRESETS

JORDAN = PRESETS["jordan"]
"""Coefficients of Muon's Newton-Schulz iteration."""

Move = Callable[[Floats, Floats, int, dict[str, Floats]], Floats]
"""Function of a layer, its gradient, the step number and the state; returns the new layer."""


def _iterates_of_layerwise_update(x0: Any, grads: Sequence[Any], move: Move) -> list[Any]:
    """Return the iterates of a method whose update `move` acts on each layer separately."""
    layered = isinstance(x0, list)
    x, points = (x0 if layered else [x0]), [x0]
    states: list[dict[str, Floats]] = [{} for _ in x]
    for t, g in enumerate(grads, start=1):
        layers = zip(x, g if layered else [g], states, strict=True)
        x = [p if q is None else move(p, q, t, state) for p, q, state in layers]
        points.append(x if layered else x[0])
    return points


def sgd(
    x0: Any,
    grads: Sequence[Any],
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> list[Any]:
    """Return the iterates of stochastic gradient descent with momentum, as PyTorch defines it."""

    def move(x: Floats, g: Floats, t: int, state: dict[str, Floats]) -> Floats:
        g = g + weight_decay * x
        m = state.get("m")
        state["m"] = m = g if m is None else momentum * m + (1 - dampening) * g
        step = g if momentum == 0.0 else g + momentum * m if nesterov else m
        return x - lr * step

    return _iterates_of_layerwise_update(x0, grads, move)


def adamw(
    x0: Any,
    grads: Sequence[Any],
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    penalty: float = 0.0,
) -> list[Any]:
    """Return the iterates of AdamW (Loshchilov, Hutter 2019, algorithm 2).

    With `weight_decay` 0 this is Adam, and `penalty` is the factor of |x|^2/2 in its objective.
    """
    beta1, beta2 = betas

    def move(x: Floats, g: Floats, t: int, state: dict[str, Floats]) -> Floats:
        g = g + penalty * x
        state["m"] = m = beta1 * state.get("m", 0.0 * g) + (1 - beta1) * g
        state["v"] = v = beta2 * state.get("v", 0.0 * g) + (1 - beta2) * g * g
        root = np.sqrt(v / (1 - beta2**t))
        step = (m / (1 - beta1**t)) / (root + eps)
        return x * (1 - lr * weight_decay) - lr * step

    return _iterates_of_layerwise_update(x0, grads, move)


def muon(
    x0: Any,
    grads: Sequence[Any],
    lr: float,
    momentum: float = 0.95,
    nesterov: bool = True,
    weight_decay: float = 0.0,
    scale: Callable[[int, int], float] = lambda rows, columns: max(1.0, rows / columns) ** 0.5,
    coefficients: Sequence[tuple[float, float, float]] = JORDAN,
) -> list[Any]:
    """Return the iterates of Muon (Jordan et al. 2024) on matrices, in the dtype of the start."""

    def move(x: Floats, g: Floats, t: int, state: dict[str, Floats]) -> Floats:
        state["m"] = m = momentum * state.get("m", 0.0 * g) + g
        n = g + momentum * m if nesterov else m
        n = n.reshape(len(n), -1)
        wide = n if n.shape[0] <= n.shape[1] else n.T
        o = wide / max(float(np.linalg.norm(wide)), 1e-7)
        for a, b, c in coefficients:
            s = o @ o.T
            o = a * o + (b * s + c * s @ s) @ o
        step = scale(*n.shape) * (o if wide is n else o.T).reshape(x.shape)
        return x * (1 - lr * weight_decay) - lr * step

    return _iterates_of_layerwise_update(x0, grads, move)


def faulty_variants(optimizer: Callable[..., list[Any]]) -> dict[str, Callable[..., list[Any]]]:
    """Return variants of a published optimiser with known public bugs, by description of the bug.

    The file ``known_bugs.toml`` has the edits of this module's source that make the bugs.
    """
    source, name = Path(__file__).read_text("utf-8"), optimizer.__name__
    table = tomllib.loads(Path(__file__).with_name("known_bugs.toml").read_text("utf-8"))
    variants = {}
    for text, bug in table.items():
        if name in bug["optimizers"]:
            edited = source
            for right, wrong in bug["edits"].items():
                edited = edited.replace(right, wrong)
            module: dict[str, Any] = {"__name__": __name__}
            exec(compile(edited, f"<{name}: {text}>", "exec"), module)
            variants[text] = module[name]
    return variants
