"""Constants of a loss, estimated by evaluating each batch of a loop at several points.

Gradients of *different* samples at two points differ by noise and not only by curvature. So each
batch is evaluated at all points. A step depends on its own batch, so the mean square over fresh
samples uses a sample of the next batch.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from importlib import import_module
from itertools import compress
from typing import Any

import numpy as np

from pfbench.base.errors import InputError

torch: Any = import_module("torch")
_tree: Any = import_module("torch.utils._pytree")

_ROUNDING = 128
"""Multiple of the rounding error of its terms up to which a difference is ignored."""

_ENTRIES = 1000
"""Number of entries of a model's output, spread over all samples, by which calls are compared."""

Layers = list[Any]


class ProductNorm:
    """Norm of all layers together, "l2" or "spectral", with its dual norm.

    "spectral" is the maximum over the layers of their norms. The norm of a matrix is its spectral
    norm, where a kernel is reshaped to a matrix of its first axis by all others. The norm of a
    vector is its Euclidean norm. The dual norm is the sum of the dual norms of the layers.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def length(self, layers: Sequence[Any]) -> float:
        """Return the norm of a step, which is a list of layers."""
        values = [self.layer_norm(a) for a in layers]
        return max(values) if self.name == "spectral" else float(np.linalg.norm(values))

    def dual_norm(self, layers: Sequence[Any]) -> float:
        """Return the dual norm of a gradient, which is a list of layers."""
        values = [self.layer_norm(a, "nuc") for a in layers]
        return sum(values) if self.name == "spectral" else float(np.linalg.norm(values))

    def layer_norm(self, a: Any, order: Any = 2) -> float:
        """Return the norm of one layer, or its dual norm if `order` is "nuc"."""
        if self.name == "spectral" and a.ndim > 1:
            return float(torch.linalg.matrix_norm(a.reshape(len(a), -1), ord=order))
        return float(torch.linalg.vector_norm(a, dtype=torch.float64))


class BatchReplay:
    """Estimator of a loss's constants, which re-evaluates stored batches before and after steps.

    Parameters
    ----------
    loss
        Function of a batch that returns its mean loss.
    model
        The model; its buffers are restored after each evaluation.
    norm
        The norm of steps.
    names
        The parameters of the model, with their names.
    """

    def __init__(
        self, loss: Callable[[Any], Any], model: Any, norm: ProductNorm, names: Mapping[Any, str]
    ) -> None:
        self._loss, self._model, self.norm = loss, model, norm
        self._parameters = [p for p in names if p.requires_grad]
        self._devices = list({p.device for p in self._parameters if p.device.type == "cuda"})
        self._batch: Any = None
        self._before: Layers = []
        self._gradients: Layers = []
        self._fresh: tuple[Layers, Layers] | None = None
        self._rng = torch.Generator().manual_seed(0)
        self.store_random_states()
        self.L = self.rho = math.nan
        self.squares: list[float] = []
        self.variances: list[float] = []
        self.curvatures: list[float] = []
        self.gradient_matches: list[tuple[float, float]] = []
        self.below_rounding = 0
        self.is_mean = True
        self._entries: dict[bool, Layers] = {}

    def constants(self) -> dict[str, float]:
        """Return the constants measured so far, out of L, rho, L_ms and sigma2, by name."""
        values = {"L": self.L, "rho": self.rho}
        if self.squares:
            values["L_ms"] = math.sqrt(sum(self.squares) / len(self.squares))
        if self.variances:
            values["sigma2"] = sum(self.variances) / len(self.variances)
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def store_random_states(self) -> None:
        """Store the states of the random generators, from which batches are evaluated again."""
        cuda_states = [torch.cuda.get_rng_state(device) for device in self._devices]
        self._random_states = [torch.get_rng_state(), *cuda_states]

    def store_entries(self, output: Any, *, is_replayed: bool) -> None:
        """Store some entries of the model's outputs, in the loop or evaluated again.

        They show whether the second call draws the random numbers of the first.
        """
        outputs = (a.detach().reshape(-1) for a in iterate_tensors(output) if a.is_floating_point())
        self._entries[is_replayed] = [a[:: max(1, len(a) // _ENTRIES)].clone() for a in outputs]

    def copy_parameters(self, *, has_closure: bool) -> None:
        """Store copies of the parameters before a step, and of their gradients without closure."""
        self._before = [p.detach().clone() for p in self._parameters]
        pairs = [] if has_closure else [(p, p.grad) for p in self._parameters]
        self._gradients = [
            torch.zeros_like(p) if g is None else g.detach().to_dense().clone() for p, g in pairs
        ]

    def store_and_estimate_smoothness(self, batch: Any, counts: Any) -> None:
        """Store a new batch, and estimate the mean-squared smoothness L_ms from one of its samples.

        The sample is drawn uniformly.
        """
        self._batch = batch
        if self._fresh is None:
            return
        (before, after), self._fresh = self._fresh, None
        k = int(torch.randint(batch_length(batch), (1,), generator=self._rng))
        sample = slice_batch(batch, k, k + 1)
        length = self.norm.length(_difference(after, before))
        with self._restore_state():
            first = self._value_and_gradient(sample, before, 1, counts)
            second = self._value_and_gradient(sample, after, 1, counts)
        if first is not None and second is not None:
            self.squares.append(
                (self._dual_distance_above_rounding(second[1], first[1]) / length) ** 2
            )

    def estimate_constants(self, counts: Any) -> dict[str, float]:
        """Return estimates of constants of the loss from the batch of the last step, by name.

        The names are "L", "rho", "sigma2", and "c" for the smallest L with which the descent
        inequality holds on the step.
        """
        if self._batch is None or not self._before:
            return {}
        batch, size = self._batch, batch_length(self._batch)
        before, after = self._before, [p.detach().clone() for p in self._parameters]
        d = _difference(after, before)
        length = self.norm.length(d)
        if not length:
            return {}
        values: dict[str, float] = {}
        back = [x - step for x, step in zip(before, d, strict=True)]
        ends = (0, size // 2), (size // 2, size)
        with self._restore_state():
            first = self._value_and_gradient(batch, before, size, counts)
            is_repeated = self._is_call_repeated()
            second, third = (
                self._value_and_gradient(batch, point, size, counts) for point in (after, back)
            )
            halves = [
                self._value_and_gradient(slice_batch(batch, a, b), before, b - a, counts)
                for a, b in (ends if size > 1 and self.is_mean else ())
            ]
        counts.replay_fv += 2 * size
        if first is None or second is None:
            return {}
        (f, g), (f_after, g_after) = first, second
        values["c"] = self._record_required_smoothness(f, f_after, _inner(g, d), length)
        values["L"] = self._dual_distance_above_rounding(g_after, g) / length
        self.L = max(values["L"], 0.0 if math.isnan(self.L) else self.L)
        if third is not None:
            outer = [a + b for a, b in zip(g_after, third[1], strict=True)]
            # x - d is rounded: of that alone the gradient changes by L u |x|.
            rounding = self.L * self._unit * self.norm.length([x.double() for x in before])
            excess = self._dual_distance_above_rounding(outer, [2 * q for q in g], rounding)
            values["rho"] = excess / length**2
            self.rho = max(values["rho"], 0.0 if math.isnan(self.rho) else self.rho)
        if len(halves) == 2 and None not in halves:
            values |= self._estimate_variance(f, size, halves)
        # Layers that do not move may belong to another optimiser, which clears their gradients.
        used, right = (list(compress(v, map(torch.any, d))) for v in (self._gradients, g))
        lengths = [math.sqrt(_inner(v, v)) for v in (used, right)]
        if all(lengths) and (is_repeated or (size > 1 and self.is_mean)):
            cosine = _inner(used, right) / math.prod(lengths)
            self.gradient_matches.append((cosine, lengths[0] / lengths[1]))
        self._fresh = before, after
        return values

    # --- quantities -------------------------------------------------------------------------------

    def _record_required_smoothness(
        self, f: float, f_after: float, slope: float, length: float
    ) -> float:
        """Record and return the smallest L for which the descent inequality holds on a step.

        Return NaN if rounding errors dominate the result.
        """
        excess = 2 * (f_after - f - slope)
        if abs(excess) < _ROUNDING * self._unit * max(abs(f), abs(f_after)):
            self.below_rounding += 1
            return math.nan
        self.curvatures.append(excess / length**2)
        return self.curvatures[-1]

    def _estimate_variance(self, f: float, size: int, halves: list[Any]) -> dict[str, float]:
        """Return an estimate of the variance of one sample's gradient, as {"sigma2": value}.

        Return {} if the loss of the batch is not the mean of the losses of its halves.
        """
        (f_first, g_first), (f_second, g_second) = halves
        share = size // 2 / size
        mean = share * f_first + (1 - share) * f_second
        if abs(mean - f) > 1e-3 * max(abs(f), abs(mean)):
            self.is_mean = False  # a sum over the batch, or batch normalisation
            self.variances.clear()
            self.gradient_matches.clear()
            return {}
        squared = sum(float(q.square().sum()) for q in _difference(g_first, g_second))
        self.variances.append(share * (1 - share) * size * squared)
        return {"sigma2": self.variances[-1]}

    def _dual_distance_above_rounding(self, a: Layers, b: Layers, rounding: float = 0.0) -> float:
        """Return a lower bound, up to rounding errors, of the dual norm of a - b; at least 0."""
        value = self.norm.dual_norm(_difference(a, b))
        rounding += self._unit * (self.norm.dual_norm(a) + self.norm.dual_norm(b))
        return max(0.0, value - _ROUNDING * rounding)

    @property
    def _unit(self) -> float:
        return max(float(torch.finfo(p.dtype).eps) / 2 for p in self._parameters)

    # --- evaluations ------------------------------------------------------------------------------

    def _value_and_gradient(
        self, batch: Any, point: Layers, size: int, counts: Any
    ) -> tuple[float, Layers] | None:
        """Return value and gradient of a batch's loss at a point.

        The random numbers of the model, as of dropout, are those of its last call in the loop.
        """
        self._move(point)
        torch.set_rng_state(self._random_states[0])
        for device, state in zip(self._devices, self._random_states[1:], strict=True):
            torch.cuda.set_rng_state(state, device)
        with torch.enable_grad():
            loss = self._loss(batch)
            gradients = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        counts.replay_sfo += size
        pairs = zip(gradients, self._parameters, strict=True)
        layers = [torch.zeros_like(p) if g is None else g.detach().to_dense() for g, p in pairs]
        layers = [layer.double() for layer in layers]
        value = float(loss.detach())
        return (value, layers) if math.isfinite(value) else None

    def _is_call_repeated(self) -> bool:
        """Return whether the model's outputs, evaluated again, are those in the loop."""
        pairs = zip(*(self._entries.get(key, ()) for key in (False, True)), strict=False)
        same = [a.shape == b.shape and torch.allclose(a, b, 1e-3, 1e-5) for a, b in pairs]
        return bool(same) and all(same)

    def _move(self, point: Layers) -> None:
        with torch.no_grad():
            for p, x in zip(self._parameters, point, strict=True):
                p.copy_(x)

    @contextmanager
    def _restore_state(self) -> Iterator[None]:
        """Context manager that restores parameters, buffers and random states at its end."""
        point = [p.detach().clone() for p in self._parameters]
        buffers = [(b, b.detach().clone()) for b in self._model.buffers()]
        with torch.random.fork_rng(devices=self._devices):
            try:
                yield
            finally:
                self._move(point)
                with torch.no_grad():
                    for b, value in buffers:
                        b.copy_(value)


def _difference(a: Layers, b: Layers) -> Layers:
    return [p.double() - q.double() for p, q in zip(a, b, strict=True)]


def _inner(a: Layers, b: Layers) -> float:
    return sum(float((p.double() * q).sum()) for p, q in zip(a, b, strict=True))


def slice_batch(batch: Any, start: int, stop: int) -> Any:
    """Return the samples start, ..., stop - 1 of a batch, which may be nested."""

    def part(item: Any) -> Any:
        return item[start:stop] if torch.is_tensor(item) and item.ndim else item

    return _tree.tree_map(part, _as_tree(batch))


def batch_length(batch: Any) -> int:
    """Return the number of samples of a batch, the length of its first tensor."""
    for tensor in iterate_tensors(batch):
        return len(tensor) if tensor.ndim else 1
    raise InputError("the batch has no tensor.")


def iterate_tensors(nested: Any) -> Iterator[Any]:
    """Yield all tensors in nested tuples, lists and mappings, or in an object with fields."""
    yield from filter(torch.is_tensor, _tree.tree_leaves(_as_tree(nested)))


def _as_tree(nested: Any) -> Any:
    """Return mappings of other libraries, and objects with fields, as dicts."""
    if isinstance(nested, Mapping):
        return dict(nested)
    return vars(nested) if is_dataclass(nested) else nested
