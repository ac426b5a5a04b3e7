"""Examination of copies of a user's optimiser: dead parameters, steps, orthogonaliser."""

import copy
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import Parameter, signature
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.user_code import list_required_arguments
from pfbench.sets.orthogonalisers import (
    PRESETS,
    Coefficients,
    certify_interval,
    map_singular_values,
)
from pfbench.testing.covariance import covariant
from pfbench.testing.dead_parameters import no_dead_parameter
from pfbench.testing.failure_messages import Layers, max_deviation
from pfbench.testing.inequalities import MomentumBasisDirection, express_in_momentum_basis
from pfbench.testing.published_optimizers import adamw, faulty_variants, muon, sgd
from pfbench.testing.steppers import stepper

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


class OptimizerCopier:
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
        self._parameters = [p for group in optimizer.param_groups for p in group["params"]]
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
            If `step` needs a closure; or if the class cannot be constructed, and the user's
                optimiser keeps parameters in an attribute, or already had state when
                `OptimizerCopier` was created.
        """
        name = self._class.__name__
        if len(list_required_arguments(self._class.step) or ()) > 1:
            raise InputError(f"{name}.step needs a closure, but copies take steps without one.")
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
                    f"{name} cannot be copied: create Watch before the first step of the optimiser."
                )
            optimizer, copied = object.__new__(self._class), dict[int, Any]()
            vars(optimizer).update(copy.deepcopy(self._attributes, copied))
            if any(id(p) in copied for p in self._parameters):
                raise InputError(
                    f"{name} cannot be copied, as it keeps parameters outside `param_groups`."
                )
            optimizer.state = defaultdict(dict)
            optimizer.param_groups = [{"params": parameters}]
        for group in optimizer.param_groups:
            group.update(settings)
        return optimizer

    def make_stepper(
        self, group: Settings, shape: Sequence[tuple[int, ...]], dtype: str = "float64"
    ) -> stepper:
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
        to x+ with gradient 0.
        """
        shape = tuple(min(k, 4) for k in group["params"][0].shape) or (1,)
        make = self.make_stepper(group, [shape])
        x, after = (p[0] for p in make.follow(make.draw(1)[0], [[np.zeros(shape)]], {}))
        ratio = 1.0 - after / x
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


# --- findings -------------------------------------------------------------------------------------

METHODS = ("adam", "adamw", "muon", "sgd")
"""Methods whose published steps pfbench compares."""

_NUMBERS = ("lr", "momentum", "betas", "beta1", "beta2", "eps", "weight_decay", "ns_steps")
_ACCURACY, _SCALE_ACCURACY = 0.05, 0.12
"""Allowed relative errors, if all operations are in bfloat16: of the singular values of directions,
in the root mean square, and of the scale of a layer."""
_MUON_TOLERANCE, _TOLERANCE, _NEARER = 0.15, 1e-3, 0.75
"""Allowed deviation from published steps, relative to the largest step: Muon, others. Of a larger
deviation than a percent, the share below which the deviation of a known bug explains it."""


@dataclass(frozen=True)
class Finding:
    """Sentence about a bug in the optimiser or loop, or a note that is not a bug."""

    text: str
    is_bug: bool = True


Scale = Callable[[int, int], float]
"""Function of the numbers of rows and columns of a layer that returns a factor of lr."""

SCALES: Mapping[str, Scale] = MappingProxyType(
    {
        "original": lambda m, n: max(1.0, m / n) ** 0.5,
        "match_rms_adamw": lambda m, n: 0.2 * max(m, n) ** 0.5,
        "none": lambda m, n: 1.0,
        "spectral": lambda m, n: (m / n) ** 0.5,
        "transposed": lambda m, n: max(1.0, n / m) ** 0.5,
        "applied twice": lambda m, n: max(1.0, m / n),
    }
)
"""Factors of lr for a layer of m rows and n columns, a kernel as rows x (all else)."""

_WRONG_SCALES = ("transposed", "applied twice")


@dataclass(frozen=True)
class Orthogonaliser:
    """Orthogonaliser and scale that a copy of the optimiser uses for a parameter group.

    They are identified from the first step of the copy.
    """

    name: str
    coefficients: Coefficients
    scale: Scale


def method_from_specification_or_class(
    replicas: OptimizerCopier, optimizer: Any, group: Settings, specification: Settings
) -> str:
    """Return the name of the method that a parameter group claims to run; '' if unknown.

    The name comes from the user's specification, or from the class of the optimiser.
    """
    method = str(specification.get("method", type(optimizer).__name__)).lower()
    settings = replicas.settings(group)
    if settings.get("use_muon") is False or settings.get("amsgrad") or settings.get("maximize"):
        return ""
    if method == "adam" and settings.get("decoupled_weight_decay"):
        return "adamw"
    if method == "muon" and not any(p.ndim >= 2 for p in group["params"]):
        return ""
    return method if method in METHODS else ""


def examine(
    replicas: OptimizerCopier, group: Settings, method: str, specification: Settings
) -> list[Finding]:
    """Examine copies of an optimiser for one parameter group, and return the findings."""
    parameter = group["params"][0]
    shape = tuple(min(k, 6) for k in parameter.shape) or (1,)
    dtype = str(parameter.dtype).rpartition(".")[2]
    findings, two_layers = list[Finding](), replicas.make_stepper(group, [shape, shape])
    for subject, lines in (
        ("parameters", _dead_parameters(replicas, group, shape, dtype)),
        ("layers in another order, or without gradient", _layers(two_layers)),
        ("steps", _compare_steps(replicas, group, method, specification, dtype)),
    ):
        try:
            findings += lines
        except InputError as error:
            return [*findings, Finding(f"not examined: {error}", False)]
        except Exception as error:  # of a user's optimiser, on layers that it was not written for
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            findings.append(Finding(f"{subject}: not examined, as a copy raised {reason}", False))
    return findings


def _dead_parameters(
    replicas: OptimizerCopier, group: Settings, shape: tuple[int, ...], dtype: str
) -> Iterator[Finding]:
    settings = replicas.settings(group)
    flags: dict[str, Any] = {}
    if settings.get("momentum") and isinstance(settings.get("nesterov"), bool):
        flags = {"nesterov": [settings["nesterov"], not settings["nesterov"]]}
    for name in _NUMBERS:
        value = settings.get(name)
        if not value or not isinstance(value, int | float | tuple) or isinstance(value, bool):
            continue
        # Of a small constant as eps nothing follows if rounding takes it: of weight decay, it does.
        precision = dtype if name == "weight_decay" else "float64"
        make = replicas.make_stepper(group, [shape], precision)
        try:
            no_dead_parameter(make, **{**(flags if name == "momentum" else {}), name: value})
        except AssertionError as error:
            yield Finding(str(error).partition("\n")[0].removesuffix(" ()"))
        except InputError as error:
            if "not deterministic" in str(error):
                raise


def _layers(make: stepper) -> Iterator[Finding]:
    for group, text in (
        ("order of layers", "steps depend on the order of the layers"),
        ("idle layer", "a parameter without gradient moves, or changes the steps of others"),
    ):
        try:
            covariant(make, group)
        except AssertionError as error:
            yield Finding(f"{text}: {str(error).partition(': ')[2].partition(chr(10))[0]}")


# --- steps ----------------------------------------------------------------------------------------


def _compare_steps(
    replicas: OptimizerCopier, group: Settings, method: str, specification: Settings, dtype: str
) -> Iterator[Finding]:
    if method in ("", "muon"):
        yield from _compare_muon(replicas, group, specification, dtype) if method else ()
        return
    loud = {"lr": 0.1, "weight_decay": 0.5, "eps": 1.0}
    settings = replicas.settings(group)
    settings |= {name: value for name, value in loud.items() if name in settings}
    # A bug may be in a branch for matrices, or for more rows than columns.
    largest = (6, 4, 4, 4, 4), (4, 6, 6, 6, 6)
    shapes = [tuple(map(min, p.shape, sizes)) for p in group["params"] for sizes in largest]
    make = replicas.make_stepper(group, [*dict.fromkeys(shape or (1,) for shape in shapes)][:8])
    if method == "sgd":  # of which there are several right forms
        names = ("lr", "weight_decay", "momentum", "dampening", "nesterov")
        values = {name: settings.get(name, 0.0) for name in names}
        lines = _match_known_method_or_bug(make, loud, "SGD", sgd, **values)
        yield from (replace(line, is_bug=False) for line in lines)
        return
    values = {"lr": settings.get("lr", 0.0), "eps": settings.get("eps", 1e-8)}
    values["betas"] = settings.get("betas") or (settings["beta1"], settings["beta2"])
    decay = settings.get("weight_decay", 0.0)
    lines = _match_known_method_or_bug(make, loud, "AdamW", adamw, **values, weight_decay=decay)
    if method == "adam" and any(line.is_bug for line in lines):
        lines = _match_known_method_or_bug(make, loud, "Adam", adamw, **values, penalty=decay)
    yield from lines


def _compare_muon(
    replicas: OptimizerCopier, group: Settings, specification: Settings, dtype: str
) -> Iterator[Finding]:
    orthogonaliser, findings = identify_orthogonaliser(replicas, group, specification)
    yield from findings
    if not orthogonaliser:
        return
    settings = replicas.settings(group)
    # Newton-Schulz steps converge to the exact polar factor.
    coefficients = orthogonaliser.coefficients or 4 * [*PRESETS["newton-schulz"]]
    options = {"scale": orthogonaliser.scale, "coefficients": coefficients}
    flag = settings.get("nesterov")
    precisions = ["float64"] if dtype in ("float64", "float32") else ["float64", dtype]
    for nesterov, precision in product(
        [flag, not flag] if isinstance(flag, bool) else [True], precisions
    ):
        loud = {"lr": 0.1, "weight_decay": 0.5, "momentum": 0.9, "nesterov": nesterov}
        values = {name: value if name in settings else 0.0 for name, value in loud.items()}
        options["nesterov"] = nesterov
        make = replicas.make_stepper(group, [(4, 6), (6, 4)], precision)
        condition = "" if flag in (None, nesterov) else f"with nesterov={nesterov}: "
        condition += "" if precision == "float64" else f"in {precision}: "
        for line in _match_known_method_or_bug(make, loud, "Muon", muon, **values | options):
            if line.is_bug or not (condition or any(other.is_bug for other in findings)):
                yield Finding(f"{condition}{line.text}", line.is_bug)


def _match_known_method_or_bug(
    make: stepper, loud: Settings, name: str, published: Callable[..., list[Layers]], **values: Any
) -> list[Finding]:
    """Return a finding: which published method or known bug has the same steps as the optimiser.

    The steps of the user's optimiser with the parameters `loud` are compared with those of the
    published method `name` with the parameters `values`, and with those of its known bugs.
    """
    is_muon, is_short = name == "Muon", make.dtype not in ("float64", "float32")
    tolerance = 0.25 if is_short else _MUON_TOLERANCE if is_muon else _TOLERANCE
    x0, grads = make.draw(6 if is_muon else 60)  # some bugs act late
    points = make.follow(x0, grads, loud)
    distance, step, _ = max_deviation(points, published(x0, grads, **values))
    deviations = {
        bug: max_deviation(points, faulty(x0, grads, **values))[0]
        for bug, faulty in faulty_variants(published).items()
    }
    best, nearest = min(deviations.items(), key=lambda item: item[1])
    if distance <= tolerance and not nearest < _NEARER * distance > _NEARER / 100:
        return [Finding(f"the steps are those of {name}", is_bug=False)]
    condition = (
        f"{make.label} differs from the published {name} by {distance:.2g} of the largest step "
        f"at step {step}"
    )
    if nearest <= max(tolerance, distance / 8 if is_muon else 0.0):
        return [Finding(f"{best}: {condition}")]
    return [Finding(f"{condition}; no known bug explains these steps")]


# --- orthogonaliser and scale ---------------------------------------------------------------------


def identify_orthogonaliser(
    replicas: OptimizerCopier, group: Settings, specification: Settings
) -> tuple[Orthogonaliser | None, list[Finding]]:
    """Return orthogonaliser and scale, by the first step of an optimiser's copy, and findings.

    In the first step, every form of momentum is a multiple of the gradient. The orthogonaliser is
    None if it cannot be identified.
    """
    settings = replicas.settings(group)
    shapes: list[tuple[int, ...]] = [(6, 4), (4, 6), (5, 5), (8, 2), (2, 8)]
    if any(p.ndim == 4 for p in group["params"]):
        shapes.append((32, 2, 2, 2))
    x0, grads = (make := replicas.make_stepper(group, shapes)).draw(1)
    before, after = make.follow(x0, grads, {"lr": 0.1, "weight_decay": 0.0})
    directions = [
        express_in_momentum_basis(g.reshape(len(g), -1), ((x - y) / 0.1).reshape(len(g), -1))
        for g, x, y in zip(grads[0], before, after, strict=True)
    ]
    if not all(np.isfinite(d.diagonal).all() and not d.is_rotated for d in directions):
        text = "the first direction does not have the singular vectors of the gradient"
        return None, [Finding(text, is_bug=False)]
    intended = _read_stated_coefficients(settings, specification)
    candidates = {**({"stated": intended} if intended is not None else {}), **PRESETS}
    fits = {name: _fit_layer_scales(directions, c) for name, c in candidates.items()}
    best = min(fits, key=lambda name: fits[name][1])
    if intended is not None and fits["stated"][1] <= _ACCURACY:
        best = "stated"
    scales, error = fits[best]
    findings = []
    if (intended is not None and best != "stated") or error > _ACCURACY:
        images = np.concatenate([d.diagonal for d in directions])
        lo, hi = images.min(), images.max()
        text = f"singular values of the direction lie in [{lo:.3g}, {hi:.3g}]"
        if intended is not None:
            low, high = certify_interval(intended, 1e-2)
            text += f"; the stated coefficients allow [{low:.4g}, {high:.4g}]"
        text += f"; they match {best}" if error <= _ACCURACY else "; they match no preset"
        findings.append(
            Finding(text, is_bug="orthogonaliser" in specification or replicas.is_of_torch)
        )
    if error > _ACCURACY:
        return None, findings
    scale, lines = _identify_scale(settings, specification, [d.shape for d in directions], scales)
    name = next((n for n, c in PRESETS.items() if candidates[best] == c), best)
    return Orthogonaliser(name, candidates[best], scale), findings + lines


def _read_stated_coefficients(settings: Settings, specification: Settings) -> Coefficients | None:
    """Return the coefficients in the specification or in the settings of the group, or None."""
    value = specification.get("orthogonaliser")
    triple: Any = settings.get("ns_coefficients")
    if value is None and "ns_steps" in settings and np.shape(triple) == (3,):
        return [tuple(triple)] * int(settings["ns_steps"])
    return PRESETS[value] if isinstance(value, str) else value


def _fit_layer_scales(
    directions: list[MomentumBasisDirection], coefficients: Coefficients
) -> tuple[list[float], float]:
    """Return the fitted scale of each layer, and the root mean square of the relative errors."""
    ratios = [d.diagonal / map_singular_values(coefficients, d.relative) for d in directions]
    scales = [float(np.median(r)) for r in ratios]
    errors = np.concatenate([r / c - 1 for r, c in zip(ratios, scales, strict=True)])
    return scales, float(np.sqrt(np.mean(errors**2)))


def _identify_scale(
    settings: Settings, specification: Settings, sizes: list[tuple[int, int]], scales: list[float]
) -> tuple[Scale, list[Finding]]:
    def agrees(scale: Scale) -> bool:
        pairs = zip(sizes, scales, strict=True)
        return all(abs(c / scale(*size) - 1) <= _SCALE_ACCURACY for size, c in pairs)

    intended = specification.get("scale")
    if intended is None and "adjust_lr_fn" in settings:
        intended = settings["adjust_lr_fn"] or "original"
    expected = SCALES[intended] if isinstance(intended, str) else intended
    if expected is not None and agrees(expected):
        return expected, []
    rule = next((name for name, scale in SCALES.items() if agrees(scale)), "")
    rows = "; ".join(f"{m} x {n}: {c:.3g}" for (m, n), c in zip(sizes, scales, strict=True))
    text = f"the scale of the layers is {rule}" if rule else f"the scales fit no rule: {rows}"
    if expected is not None:
        text += ", expected " + ", ".join(f"{expected(*size):.3g}" for size in sizes)
    measured = dict(zip(sizes, scales, strict=True))
    scale = SCALES[rule] if rule else lambda m, n: measured.get((m, n), math.nan)
    is_wrong = expected is not None or rule in _WRONG_SCALES
    return scale, [Finding(text)] if is_wrong else [] if rule else [Finding(text, is_bug=False)]
