"""Measurements of one step of an optimiser: matrix products, step sizes, directions."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.sets.orthogonalisers import certify_interval
from pfbench.testing.inequalities import MomentumBasisDirection, express_in_momentum_basis
from pfbench.torch.examination import (
    Finding,
    OptimizerCopier,
    Orthogonaliser,
    examine,
    identify_orthogonaliser,
    method_from_specification_or_class,
)
from pfbench.torch.replay import ProductNorm

torch: Any = import_module("torch")
_dispatch: Any = import_module("torch.utils._python_dispatch")

_LARGEST = 256
"""Largest smaller side of a matrix that gets spectral measurements."""

_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")
_MARGIN, _SMALLEST = 0.04, 1e-5
"""Relative margin around the certified interval, for directions computed in bfloat16; and smallest
norm of a momentum that orthogonalisers with a usual eps (1e-7) scale up."""


class ProductCounter(_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Torch dispatch mode that counts the matrix products between `start` and `stop`.

    Attributes
    ----------
    count
        Number of products so far.
    is_active
        Whether products are counted now.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count, self._count_at_start = 0, 0
        self.is_active = self._is_paused = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a torch operation; count it if it is a matrix product and counting is not paused."""
        if not self._is_paused and func.overloadpacket.__name__ in _PRODUCTS:
            self.count += 1
        return func(*args, **(kwargs or {}))

    def start(self) -> None:
        """Start counting, or continue the count of a step that ended with an exception."""
        if not self.is_active:
            self.is_active, self._count_at_start = True, self.count
            self.__enter__()

    def stop(self) -> int:
        """Stop counting, and return the number of matrix products since `start`."""
        if not self.is_active:
            return 0
        self.is_active = False
        self.__exit__(None, None, None)
        return self.count - self._count_at_start

    def pause_during(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        """Return a closure that runs `closure` while the matrix products are not counted."""

        def run_paused() -> Any:
            self._is_paused = True
            try:
                return closure()
            finally:
                self._is_paused = False

        return run_paused


@dataclass(frozen=True)
class _LayerCopy:
    """Copy of a layer before a step; for a spectral method, also of its gradient and momentum."""

    point: Any
    is_missing_gradient: bool
    gradient: Any = None
    buffer: Any = None


class StepReader:
    """Reader that measures the layers of an optimiser before and after a step.

    Parameters
    ----------
    optimizer
        The user's optimiser.
    names
        The names of the model's parameters.
    specification
        What the user claims; see `Watch`.
    """

    def __init__(
        self, optimizer: Any, names: Mapping[Any, str], specification: Mapping[str, Any]
    ) -> None:
        self._optimizer, self._specification = optimizer, specification
        self._replicas = OptimizerCopier(optimizer)
        groups = optimizer.param_groups
        self.methods = [
            method_from_specification_or_class(self._replicas, optimizer, g, specification)
            for g in groups
        ]
        self._layers = {
            p: names.get(p, f"group {i}, parameter {k}")
            for i, group in enumerate(groups)
            for k, p in enumerate(group["params"])
        }
        self._untrained = dict.fromkeys(p for p in self._layers if p.requires_grad)
        self._orthogonalisers: dict[int, Orthogonaliser | None] = {}
        self._decays: dict[tuple[int, Any, Any], float | None] = {}
        self._rates: dict[int, float] = {}
        self._before: dict[Any, _LayerCopy] = {}

    @property
    def has_spectral_group(self) -> bool:
        """Whether a parameter group claims to run a spectral method such as Muon."""
        return "muon" in self.methods

    def count_missing_and_spectral_gradients(self) -> tuple[int, int, bool]:
        """Count parameters without a gradient, and layers of spectral methods that have a gradient.

        Spectral methods are those such as Muon. Return both numbers, and whether any parameter has
        a gradient. The largest learning rate of each group is recorded.
        """
        missing = layers = present = 0
        groups = zip(self._optimizer.param_groups, self._methods_of_groups(), strict=True)
        for i, (group, method) in enumerate(groups):
            self._rates[i] = max(self._rates.get(i, 0.0), _learning_rate_or_zero(group))
            for p in group["params"]:
                if p.grad is None:
                    missing += 1
                    continue
                present += 1
                self._untrained.pop(p, None)
                layers += method == "muon" and p.ndim > 1
        return missing, layers, present > 0

    def key_of_products(self) -> Any:
        """Return a key of the next step that determines its number of matrix products.

        It is None for an optimiser that is not of torch, of which every step is counted.
        """
        groups = self._optimizer.param_groups if self._replicas.is_of_torch else ()
        rows = ((g.get("ns_steps"), *(p.grad is None for p in g["params"])) for g in groups)
        return tuple(rows) or None

    def copy_state(self, *, has_closure: bool = False) -> None:
        """Copy the parameters before a step, and the gradients and momentum of spectral layers."""
        self._before = {}
        for i, p in self._pairs():
            is_missing = p.grad is None and not has_closure
            copies = []
            if self._has_direction(i, p) and not has_closure and not is_missing:
                copies = [_clone(p.grad), _clone(self._momentum_buffer(p))]
            self._before[p] = _LayerCopy(_clone(p), is_missing, *copies)

    def measurement_rows(self, norm: ProductNorm) -> tuple[list[dict[str, Any]], list[Finding]]:
        """Return rows of measurements (one for each layer, one for all layers) and the findings."""
        rows, findings, totals = [], [], np.zeros(3)
        for i, p in self._pairs():
            before = self._before.get(p)
            if before is None:
                continue
            d = _as_single_or_double(p.detach()) - _as_single_or_double(before.point)
            sizes = np.array([_length(d), _length(before.point), math.sqrt(d.numel())])
            totals = np.hypot(totals, sizes)
            name = self._layers[p]
            row = {"layer": name, **self._sizes(i, p, d, norm), **_relative_step_columns(*sizes)}
            rows.append(row)
            if before.is_missing_gradient and bool(d.any()):
                findings.append(Finding(f"{name} moves without a gradient"))
            if before.gradient is not None:
                direction = self._step_direction(i, p, before, row["decay"])
                if direction is None:
                    text = (
                        f"{name}: some directions are unknown, as the momentum has another form, "
                        "the decay is not a multiple of the layer, or rounding dominates"
                    )
                    findings.append(Finding(text, is_bug=False))
                    continue
                row |= {"lo": direction.lower, "hi": direction.upper}
                row["orth"] = float(np.abs(direction.diagonal - 1).max())
                row["small"] = direction.small_share
                findings += self._judge(i, name, direction)
        measured = [row["step_norm"] for row in rows]
        together = float(np.max(measured)) if norm.name == "spectral" else float(totals[0])
        rows.append({"layer": "all", "step_norm": together, **_relative_step_columns(*totals)})
        self._before = {}
        return rows, findings

    def examine_groups(self) -> list[Finding]:
        """Examine each parameter group at its largest learning rate, and return the findings.

        Another finding names the parameters that had no gradient in any step.
        """
        findings: list[Finding] = []
        groups = zip(self._optimizer.param_groups, self._methods_of_groups(), strict=True)
        for i, (group, method) in enumerate(groups):
            rate = {"lr": self._rates.get(i) or 1e-3} if group.get("lr") is not None else {}
            lines = examine(self._replicas, {**group, **rate}, method, self._specification)
            findings += [line for line in lines if line not in findings]
        if idle := [self._layers[p] for p in self._untrained if self._rates]:
            rest = f" and {len(idle) - 4} more" if len(idle) > 4 else ""
            text = f"no step had a gradient of {', '.join(idle[:4])}{rest}"
            findings.append(Finding(text, is_bug=False))
        return findings

    # --- a layer ----------------------------------------------------------------------------------

    def _methods_of_groups(self) -> list[str]:
        """Return each parameter group's method; '' for a group added after the reader's start."""
        missing = len(self._optimizer.param_groups) - len(self.methods)
        return [*self.methods, *[""] * missing]

    def _pairs(self) -> Iterator[tuple[int, Any]]:
        for i, group in enumerate(self._optimizer.param_groups):
            for p in group["params"]:
                self._layers.setdefault(p, f"parameter {len(self._layers)}")
                yield i, p

    def _sizes(self, i: int, p: Any, d: Any, norm: ProductNorm) -> dict[str, Any]:
        lr = _learning_rate_or_zero(self._optimizer.param_groups[i])
        is_measured = norm.name == "l2" or p.ndim < 2 or self._is_small(p)
        length = norm.layer_norm(d) if is_measured else math.nan
        over = {"step_over_lr": length / lr if lr else math.nan, "decay": self._decay(i, lr)}
        return {"lr": lr, "step_norm": length, **over}

    def _decay(self, i: int, lr: float) -> float | None:
        group = self._optimizer.param_groups[i]
        key = i, lr, self._replicas.settings(group).get("weight_decay")
        if key not in self._decays:
            self._decays[key] = None
            with suppress(Exception):  # of a user's optimiser on small layers
                self._decays[key] = self._replicas.measure_decay(group)
        return self._decays[key]

    def _step_direction(
        self, i: int, p: Any, before: _LayerCopy, decay: float | None
    ) -> MomentumBasisDirection | None:
        """Return the direction of a layer's last step; None if it is unknown."""
        orthogonaliser, buffer = self._orthogonaliser(i), self._momentum_buffer(p)
        settings = self._replicas.settings(self._optimizer.param_groups[i])
        momentum = float(settings.get("momentum", 0.0))
        g = _as_matrix(before.gradient)
        scale = 1.0 if orthogonaliser is None else orthogonaliser.scale(*g.shape)
        x, y = _as_matrix(before.point), _as_matrix(p)
        size = float(settings.get("lr", 0.0)) * scale
        if decay is None or buffer is None or not size:
            return None
        step = (1 - decay) * x - y
        if float(torch.finfo(p.dtype).eps) * np.abs(x).max() > _MARGIN * np.abs(step).max():
            return None
        after = _as_matrix(buffer)
        earlier = 0.0 * after if before.buffer is None else _as_matrix(before.buffer)
        # The buffer is a sum or an average.
        forms = {w: momentum * earlier + w * g for w in (1.0, 1 - momentum)}
        errors = {w: float(np.abs(form - after).max()) for w, form in forms.items()}
        weight = min(errors, key=errors.__getitem__)
        n = weight * g + momentum * after if settings.get("nesterov") else after
        is_wrong = errors[weight] > _MARGIN * float(np.abs(forms[weight]).max())
        if is_wrong or np.linalg.norm(n) < _SMALLEST:
            return None
        return express_in_momentum_basis(n, step / size)

    def _judge(self, i: int, name: str, direction: MomentumBasisDirection) -> Iterator[Finding]:
        orthogonaliser = self._orthogonaliser(i)
        if direction.is_rotated:
            text = "the direction does not have the singular vectors of the momentum"
            yield Finding(f"{name}: {text}")
        elif orthogonaliser:
            smallest = float(direction.relative.min())
            low, high = certify_interval(orthogonaliser.coefficients, smallest)
            lowest, highest = direction.step_diagonal_range
            if lowest < low - _MARGIN * high or highest > high + _MARGIN * high:
                text = "singular values of the direction leave the certified interval of"
                yield Finding(f"{name}: {text} {orthogonaliser.name}")

    def _orthogonaliser(self, i: int) -> Orthogonaliser | None:
        if i not in self._orthogonalisers:
            self._orthogonalisers[i] = None
            with suppress(Exception):  # of a user's optimiser on small layers
                group = self._optimizer.param_groups[i]
                identified, _ = identify_orthogonaliser(self._replicas, group, self._specification)
                self._orthogonalisers[i] = identified
        return self._orthogonalisers[i]

    def _has_direction(self, i: int, p: Any) -> bool:
        return self._methods_of_groups()[i] == "muon" and p.ndim > 1 and self._is_small(p)

    def _is_small(self, p: Any) -> bool:
        return bool(min(len(p), p.numel() // len(p)) <= _LARGEST)

    def _momentum_buffer(self, p: Any) -> Any:
        """Return the momentum buffer of a parameter; None unless there is exactly one candidate."""
        state = self._optimizer.state.get(p, {})
        tensors = {k: v for k, v in state.items() if torch.is_tensor(v) and v.shape == p.shape}
        named = [v for k, v in tensors.items() if "momentum" in str(k)] or list(tensors.values())
        return named[0] if len(named) == 1 else None


def _learning_rate_or_zero(group: Mapping[str, Any]) -> float:
    """Return the learning rate of a parameter group, or 0 if it has none."""
    lr: Any = group.get("lr")
    return float(lr) if isinstance(lr, int | float) or torch.is_tensor(lr) else 0.0


def _relative_step_columns(
    step_length: float, point_length: float, sqrt_entries: float
) -> dict[str, float]:
    """Return two columns: the root mean square of a step, and step length over point length."""
    relative = float(step_length / point_length) if point_length else math.nan
    return {"step_rms": float(step_length / (sqrt_entries or 1.0)), "step_relative": relative}


def _as_single_or_double(tensor: Any) -> Any:
    """Return a tensor in single or double precision; half precision is converted to single.

    Differences of tensors in half precision would round.
    """
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def _length(tensor: Any) -> float:
    return float(torch.linalg.vector_norm(tensor, dtype=torch.float64))


def _clone(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().clone()


def _as_matrix(tensor: Any) -> Floats:
    """Return a tensor as a double-precision matrix, with all axes but the first flattened."""
    array: Floats = tensor.detach().double().cpu().numpy()
    return array.reshape(len(array), -1)
