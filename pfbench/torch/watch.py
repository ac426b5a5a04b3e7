"""Class `Watch`, which counts and measures a user's training loop by hooks."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError
from pfbench.base.names import check_names
from pfbench.sets.orthogonalisers import PRESETS
from pfbench.torch.examination import METHODS, SCALES, Finding
from pfbench.torch.replay import BatchReplay, ProductNorm, iterate_tensors
from pfbench.torch.step_rows import ProductCounter, StepReader

if TYPE_CHECKING:
    import pandas as pd

    from pfbench.torch.watch_report import WatchReport

torch: Any = import_module("torch")

_SHARE = 0.0075
"""Fraction of the loop's time that measurements may take if `every` is not given."""

_STATED = ("method", "orthogonaliser", "scale", "L", "L_ms", "sigma2", "rho", "step_limit")
"""Names that a specification may contain."""

_EVAL_DIFFERS = torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase
"""Classes of modules that compute something else in eval mode."""

_FIRST = 3
"""Number of first steps in which the matrix products of any optimiser are counted."""


@dataclass
class WatchCounts:
    """Counts of the steps, gradients and other operations of a watched loop.

    Attributes
    ----------
    steps, skipped
        Number of steps of the optimiser, and of those without any gradient.
    sfo
        Stochastic gradients: one for each sample at one point.
    lo, lo_layers
        Linear minimisations: one for each step of a spectral method; one for each of its layers.
    products
        Matrix products inside the steps; None if they were not counted from the start.
    without_gradient
        Number of parameters without gradient, summed over the steps.
    replay_sfo, replay_fv
        Gradients and values of Watch's own evaluations, which the other counts do not include.
    """

    steps: int = 0
    skipped: int = 0
    sfo: int = 0
    lo: int = 0
    lo_layers: int = 0
    products: int | None = 0
    without_gradient: int = 0
    replay_sfo: int = 0
    replay_fv: int = 0


class Watch:
    """Observer that counts and measures a PyTorch training loop by hooks.

    Nothing else of the loop changes. A gradient is counted when a backward pass reaches the
    parameters. So evaluations are not counted, and accumulated gradients add up. The report says
    which measurements are exact, and which are lower bounds. The optimiser is examined on copies.

    Parameters
    ----------
    optimizer
        A `torch.optim.Optimizer`.
    model
        The `torch.nn.Module` whose parameters the optimiser updates; its forward calls are counted.
    replay
        ``replay(batch)`` returns the mean loss of a batch. With `replay`, and with ``for batch in
        watch.batches(loader)``, the loss is evaluated again on measured steps: seven gradients of
        at most a batch, and two values.
    every
        Measure every this many steps. By default, as often as 0.75 % of the loop's time allows.
    batch_size
        Function of the model's arguments that returns the number of samples. By default, the
        length of the first tensor.
    specification
        The user's claims by name: "method" ("adam", "adamw", "muon" or "sgd"; by default the name
        of the class if it is one of these), "orthogonaliser" (a name in `PRESETS` or triples of
        coefficients), "scale" (of a layer, a name or a function of rows and columns), and the
        constants "L", "L_ms", "sigma2", "rho" and "step_limit" (c of lr <= c/L).

    Raises
    ------
    InputError
        If an argument is out of range, or the model has no parameter that requires a gradient.
    """

    def __init__(
        self,
        optimizer: Any,
        model: Any,
        *,
        replay: Callable[[Any], Any] | None = None,
        every: int | None = None,
        batch_size: Callable[..., int] | None = None,
        specification: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise InputError("optimizer must be a torch.optim.Optimizer.")
        if every is not None and every < 1:
            raise InputError(f"every={every} must be at least 1.")
        check_names("name in the specification", specification, _STATED)
        for name, choices in (("method", METHODS), ("orthogonaliser", PRESETS), ("scale", SCALES)):
            if isinstance(value := specification.get(name), str):
                check_choice(name, value, choices)
        self.optimizer, self.model, self.specification = optimizer, model, dict(specification)
        self.counts = WatchCounts()
        self._batch_size, self._every = batch_size or _first_axis, every
        self._names = {p: name for name, p in model.named_parameters()}
        self._reader = StepReader(optimizer, self._names, self.specification)
        self.norm = ProductNorm("spectral" if self._reader.has_spectral_group else "l2")
        self._rows: list[dict[str, Any]] = []
        self._notes: list[Finding] = []
        self._pending: dict[object, tuple[int, list[Finding]]] = {}
        self._products, self._products_by_key = ProductCounter(), dict[Any, int]()
        self._key: Any = None
        self._is_measured = False
        self._spent, self._began, self._ended, self._busy = 0.0, math.nan, math.nan, False
        self._replay = BatchReplay(replay, model, self.norm, self._names) if replay else None
        self._handles = list(self._register_hooks())

    def __repr__(self) -> str:
        steps = f"{self.counts.steps} steps, {self.measurement_count} measured"
        return f"Watch({type(self.optimizer).__name__}, {steps})"

    # --- results ----------------------------------------------------------------------------------

    @property
    def table(self) -> "pd.DataFrame":
        """Measurements as a data frame.

        Each measured step has one row for each layer, and one row for all layers together.
        """
        import pandas as pd

        return pd.DataFrame(self._rows)

    @property
    def constants(self) -> dict[str, float]:
        """Measured constants "L", "L_ms", "rho" and "sigma2"; empty without re-evaluation."""
        return self._replay.constants() if self._replay else {}

    @property
    def measurement_count(self) -> int:
        """Number of steps that were measured."""
        return len({row["step"] for row in self._rows})

    @property
    def overhead(self) -> float:
        """Fraction of the loop's time that Watch used, from its start to its last measurement."""
        elapsed = self._ended - self._began
        return self._spent / elapsed if elapsed > 0.0 else 0.0

    def conclude(self, measured: float, bound: Callable[[Mapping[str, float]], float]) -> str:
        """Compare a measured value with a bound in terms of measured constants; return a text.

        Parameters
        ----------
        measured
            Measured value of the bounded quantity.
        bound
            Function of `constants` that does not decrease in any of them.
        """
        value = bound(self.constants)
        if measured <= value:
            return f"confirmed on this run: {measured:.4g} <= {value:.4g}, whatever the constants"
        return f"nothing follows: {measured:.4g} > {value:.4g}, and the constants may be larger"

    def report(self, path: str | None = None) -> "WatchReport":
        """Return the report of the loop; with a path, also write it as an HTML page."""
        from pfbench.torch.watch_report import WatchReport

        with torch.random.fork_rng(devices=[]):
            report = WatchReport.build(self, [*self._notes, *self._reader.examine_groups()])
        if path is not None:
            report.save(path)
        return report

    def batches(self, loader: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches of a loader, and store each one for re-evaluation."""
        self._note(_loader_notes(loader))
        for batch in loader:
            if self._replay:
                with self._time_overhead(), self._note_failures():
                    self._replay.store_and_estimate_smoothness(batch, self.counts)
            yield batch

    def close(self) -> None:
        """Remove all hooks; counts and measurements stay available."""
        for handle in self._handles:
            handle.remove()
        self._products.stop()

    # --- hooks ------------------------------------------------------------------------------------

    def _register_hooks(self) -> Iterator[Any]:
        """Register all hooks and yield their handles.

        Raise if no parameter of the model requires a gradient.
        """
        yield self.model.register_forward_pre_hook(lambda module, args: self._handle_call())
        yield self.model.register_forward_hook(
            lambda module, args, kwargs, output: self._register_output_hooks(args, kwargs, output),
            with_kwargs=True,
        )
        parameters = [p for p in self._names if p.requires_grad]
        if not parameters:
            raise InputError("the model has no parameters that require a gradient.")
        for p in parameters:
            yield p.register_hook(lambda gradient: self._commit())
        yield self.optimizer.register_step_pre_hook(
            lambda optimizer, args, kwargs: self._handle_step_start(args, kwargs)
        )
        yield self.optimizer.register_step_post_hook(
            lambda optimizer, args, kwargs: self._handle_step_end()
        )

    def _handle_call(self) -> None:
        if self._replay and torch.is_grad_enabled() and not self._busy:
            self._replay.store_random_states()

    def _register_output_hooks(self, args: Any, kwargs: Any, output: Any) -> None:
        """Register hooks on a module's outputs, so that a backward pass counts the samples."""
        if self._replay and torch.is_grad_enabled():
            with self._note_failures():
                self._replay.store_entries(output, is_replayed=self._busy)
        if self._busy or not torch.is_grad_enabled():
            return
        self._pending.clear()  # of a backward pass that did not reach the parameters
        size, call = int(self._batch_size(*args, **kwargs)), object()
        notes = [] if self.model.training else _eval_mode_notes(self.model)

        def announce(gradient: Any) -> None:
            if not self._busy:
                self._pending[call] = size, notes

        for tensor in iterate_tensors(output):
            if tensor.requires_grad:
                tensor.register_hook(announce)

    def _commit(self) -> None:
        if self._pending and not self._busy:
            for size, notes in self._pending.values():
                self.counts.sfo += size
                self._note(notes)
            self._pending.clear()

    def _handle_step_start(self, args: Any, kwargs: Any) -> Any:
        with self._time_overhead():
            step = self.counts.steps + 1
            self._is_measured = self._is_due(step)
            closure = kwargs.get("closure") or (args[1] if len(args) > 1 else None)
            if self._is_measured:
                with self._note_failures():
                    self._reader.copy_state(has_closure=closure is not None)
                    if self._replay:
                        self._replay.copy_parameters(has_closure=closure is not None)
            is_whole = closure is None and not self._products.is_active
            self._key = self._reader.key_of_products() if is_whole else None
            is_open = self._key not in self._products_by_key
            if is_open and (self._products.count or self._is_measured or step <= _FIRST):
                self._products.start()
            if closure is None:
                return None
            paused = self._products.pause_during(closure)
            if "closure" in kwargs:
                return args, {**kwargs, "closure": paused}
            return (args[0], paused, *args[2:]), kwargs

    def _handle_step_end(self) -> None:
        with self._time_overhead():
            self._count_step()
            if self._is_measured:
                self._rows += self._measure()
            self._is_measured = False

    def _count_step(self) -> None:
        counts = self.counts
        counts.steps += 1
        product_count = self._products_by_key.get(self._key, self._products.stop())
        if self._key is not None:
            self._products_by_key[self._key] = product_count
        if product_count and counts.products is not None:
            late = counts.products == 0 and counts.steps > _FIRST
            counts.products = None if late else counts.products + product_count
        missing, layers, moved = self._reader.count_missing_and_spectral_gradients()
        counts.without_gradient += missing
        counts.skipped += not moved
        counts.lo += layers > 0
        counts.lo_layers += layers

    def _is_due(self, step: int) -> bool:
        if self._every is not None:
            return step % self._every == 0 or step == 1
        return step == 1 or self._spent < _SHARE * (perf_counter() - self._began)

    def _measure(self) -> Iterator[dict[str, Any]]:
        step, rows, together = self.counts.steps, list[dict[str, Any]](), dict[str, float]()
        with self._note_failures(), torch.random.fork_rng(devices=[]):
            rows, findings = self._reader.measurement_rows(self.norm)
            self._note(findings)
        with self._note_failures():
            together = self._replay.estimate_constants(self.counts) if self._replay else {}
        for row in rows:
            yield {"step": step, **row, **(together if row["layer"] == "all" else {})}

    def _note(self, findings: Iterable[Finding]) -> None:
        self._notes += [finding for finding in findings if finding not in self._notes]

    @contextmanager
    def _note_failures(self) -> Iterator[None]:
        """Context manager that records an exception of a measurement as a finding.

        The training continues.
        """
        try:
            yield
        except Exception as error:
            self._note([Finding(f"not measured: {type(error).__name__}: {error}", is_bug=False)])

    @contextmanager
    def _time_overhead(self) -> Iterator[None]:
        """Context manager that adds the time of its block to the time used by Watch.

        Gradients that are computed inside the block are not counted.
        """
        start, was_busy = perf_counter(), self._busy
        if math.isnan(self._began):
            self._began = start
        self._busy = True
        try:
            yield
        finally:
            self._busy = was_busy
            self._ended = perf_counter()
            self._spent += self._ended - start


def _first_axis(*args: Any, **kwargs: Any) -> int:
    tensor = next(iterate_tensors((args, kwargs)), None)
    if tensor is None or tensor.ndim == 0:
        raise InputError("the model's arguments have no batch axis: pass batch_size= to Watch.")
    return len(tensor)


def _eval_mode_notes(model: Any) -> list[Finding]:
    """Return a note on gradients in eval mode, if a module computes something else in it."""
    differing = [
        m for m in model.modules() if isinstance(m, _EVAL_DIFFERS) and getattr(m, "p", True)
    ]
    names = ", ".join(sorted({type(module).__name__ for module in differing}))
    text = f"some gradients were computed in eval mode, which changes {names}"
    return [Finding(text, is_bug=False)] if names else []


def _loader_notes(loader: Any) -> Iterator[Finding]:
    """Yield a note if a loader draws its batches without replacement."""
    sampler: Any = getattr(loader, "sampler", None)
    if isinstance(sampler, torch.utils.data.RandomSampler) and not sampler.replacement:
        text = (
            "unmet assumption: the loader shuffles, so batches are drawn without replacement; "
            "claims for independent batches do not apply"
        )
        yield Finding(text, is_bug=False)
