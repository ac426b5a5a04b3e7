"""Examination of an optimiser on copies: dead parameters, published steps, orthogonaliser."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.testing.covariance import covariant
from pfbench.testing.dead_parameters import no_dead_parameter
from pfbench.testing.failure_messages import deviation
from pfbench.testing.published_optimizers import sgd
from pfbench.testing.steppers import Layers, Stepper
from pfbench.torch.directions import Direction, compare_direction
from pfbench.torch.orthogonalisers import (
    PRESETS,
    Coefficients,
    certified_interval,
    map_singular_values,
)
from pfbench.torch.replicas import (
    ADAM_BUGS,
    MUON_BUGS,
    RIGHT,
    Replicas,
    Settings,
    follow_adam,
    follow_muon,
    name_in,
    override,
    value_in,
)

METHODS = ("adam", "adamw", "muon", "sgd")
"""Methods whose published steps are known."""

_NUMBERS = ("lr", "momentum", "betas", "beta1", "beta2", "eps", "weight_decay", "ns_steps")
_ACCURACY = 0.08
"""Relative error of a direction that is computed in bfloat16, with a margin."""
_MUON_TOLERANCE, _TOLERANCE = 0.08, 1e-3
"""Deviation from the published steps, in units of the largest step; known bugs exceed 0.1."""


@dataclass(frozen=True)
class Finding:
    """A sentence about the optimiser or the loop; a bug, or a note that accuses nothing."""

    text: str
    is_bug: bool = True


Scale = Callable[[int, int], float]
"""Takes the rows and columns of a layer."""

SCALES: Mapping[str, Scale] = MappingProxyType(
    {
        "original": lambda m, n: max(1.0, m / n) ** 0.5,
        "match_rms_adamw": lambda m, n: 0.2 * max(m, n) ** 0.5,
        "none": lambda m, n: 1.0,
        "spectral": lambda m, n: (m / n) ** 0.5,
    }
)
"""Factors of lr for a layer of m rows and n columns, a kernel as rows x (all else)."""
_WRONG_SCALES: Mapping[str, Scale] = MappingProxyType(
    {
        "transposed": lambda m, n: max(1.0, n / m) ** 0.5,
        "applied twice": lambda m, n: max(1.0, m / n),
    }
)


@dataclass(frozen=True)
class Orthogonaliser:
    """The orthogonaliser and the scale of a group, as its first step shows them."""

    name: str
    coefficients: Coefficients | None
    scale_name: str
    scale: Scale
    findings: tuple[Finding, ...]

    def interval(self, low: float) -> tuple[float, float] | None:
        """Return the certified interval for singular values of M/|M|_F of at least `low`."""
        return None if self.coefficients is None else certified_interval(self.coefficients, low)


def resolve_method(replicas: Replicas, optimizer: Any, group: Settings, stated: Settings) -> str:
    """Return the method that a group claims to be: as stated, or the exact name of the class."""
    method = str(stated.get("method", type(optimizer).__name__)).lower()
    settings = replicas.settings(group)
    if settings.get("use_muon") is False or settings.get("amsgrad") or settings.get("maximize"):
        return ""
    if method == "adam" and settings.get("decoupled_weight_decay"):
        return "adamw"
    if method == "muon" and not any(p.ndim >= 2 for p in group["params"]):
        return ""
    return method if method in METHODS else ""


def examine(
    replicas: Replicas, group: Settings, method: str, orthogonaliser: Orthogonaliser | None
) -> list[Finding]:
    """Return the findings about a group of parameters; nothing of the user's loop is changed."""
    parameter = group["params"][0]
    shape = tuple(min(k, 6) for k in parameter.shape) or (1,)
    dtype = str(parameter.dtype).rpartition(".")[2]
    findings = list(orthogonaliser.findings) if orthogonaliser else []
    try:
        findings += _dead_parameters(replicas, group, shape, dtype)
        findings += _layers(replicas.stepper(group, [shape, shape]))
        if method == "muon" and orthogonaliser:
            findings += _compare_muon(replicas, group, orthogonaliser, dtype)
        elif method in METHODS and method != "muon":
            findings += _compare_entrywise(replicas, group, method, shape)
    except Exception as error:  # of a user's optimiser, on layers that it was not written for
        findings.append(Finding(f"not examined further: {type(error).__name__}: {error}", False))
    return findings


def _dead_parameters(
    replicas: Replicas, group: Settings, shape: tuple[int, ...], dtype: str
) -> Iterator[Finding]:
    settings = replicas.settings(group)
    flags: dict[str, Any] = {}
    if value_in(settings, "momentum") and isinstance(settings.get("nesterov"), bool):
        flags = {"nesterov": [settings["nesterov"], not settings["nesterov"]]}
    for name in filter(None, (name_in(settings, n) for n in _NUMBERS)):
        value = settings[name]
        if not value or not isinstance(value, int | float | tuple) or isinstance(value, bool):
            continue
        # Of a small constant as eps nothing follows if rounding takes it: of weight decay, it does.
        is_decay = name == name_in(settings, "weight_decay")
        make = replicas.stepper(group, [shape], dtype if is_decay else "float64")
        try:
            no_dead_parameter(
                make, **{name: value}, **(flags if name == name_in(settings, "momentum") else {})
            )
        except AssertionError as error:
            yield Finding(str(error).partition("\n")[0].removesuffix(" ()"))
        except InputError as error:
            if "not deterministic" in str(error):
                raise


def _layers(make: Stepper) -> Iterator[Finding]:
    for group, text in (
        ("order of layers", "steps depend on the order of the layers"),
        ("idle layer", "a parameter without gradient moves, or changes the steps of others"),
    ):
        try:
            covariant(make, group)
        except AssertionError as error:
            yield Finding(f"{text}: {str(error).partition(': ')[2].partition(chr(10))[0]}")


# --- steps ----------------------------------------------------------------------------------------


def _compare_entrywise(
    replicas: Replicas, group: Settings, method: str, shape: tuple[int, ...]
) -> list[Finding]:
    loud = {"lr": 0.1, "weight_decay": 0.5, "eps": 1.0}
    settings = replicas.settings(group)
    loud = override(settings, loud)
    make = replicas.stepper(group, [shape, shape])
    merged = {**settings, **loud}
    values = {
        "lr": value_in(merged, "lr"),
        "weight_decay": value_in(merged, "weight_decay"),
        "eps": value_in(merged, "eps", 1e-8),
        "betas": merged.get("betas") or (merged.get("beta1", 0.9), merged.get("beta2", 0.999)),
    }
    if method == "sgd":
        hyper = {name: value_in(merged, name) for name in ("lr", "momentum", "weight_decay")}
        hyper |= {name: merged.get(name, 0) for name in ("dampening", "nesterov")}
        return _name_steps(make, loud, "SGD", {}, lambda x0, g, bug: sgd(x0, g, **hyper))
    follow = partial(follow_adam, coupled=method == "adam")
    return _name_steps(
        make,
        loud,
        "AdamW" if method == "adamw" else "Adam",
        ADAM_BUGS,
        lambda x0, g, bug: follow(x0, g, values, bug),
    )


def _compare_muon(
    replicas: Replicas, group: Settings, orthogonaliser: Orthogonaliser, dtype: str
) -> list[Finding]:
    if orthogonaliser.coefficients is None:
        return []
    settings, shape = replicas.settings(group), [(4, 6), (6, 4)]
    coefficients, findings = orthogonaliser.coefficients, list[Finding]()

    def orthogonalise(k: int, n: Floats) -> Floats:
        u, s, v = np.linalg.svd(n, full_matrices=False)
        image = map_singular_values(coefficients, s / np.linalg.norm(s))
        return orthogonaliser.scale(*shape[k]) * (u * image) @ v

    flag = settings.get("nesterov")
    for nesterov in [flag, not flag] if isinstance(flag, bool) else [True]:
        loud = override(
            settings, {"lr": 0.1, "weight_decay": 0.5, "momentum": 0.9, "nesterov": nesterov}
        )
        values = {
            name: value_in({**settings, **loud}, name)
            for name in ("lr", "weight_decay", "momentum")
        }
        values["nesterov"] = nesterov

        def follow(
            x0: Layers, grads: list[Layers], bug: str, values: Settings = values
        ) -> list[Layers]:
            return follow_muon(x0, grads, values, orthogonalise, bug)

        precisions = ["float64"] if dtype in ("float64", "float32") else ["float64", dtype]
        for precision in precisions:
            lines = _name_steps(
                replicas.stepper(group, shape, precision), loud, "Muon", MUON_BUGS, follow
            )
            where = "" if nesterov == flag or flag is None else f"with nesterov={nesterov}: "
            where += f"in {precision}: " if precision == dtype and len(precisions) > 1 else ""
            findings += [
                Finding(f"{where}{line.text}", line.is_bug)
                for line in lines
                if line.is_bug or not where
            ]
            if any(line.is_bug for line in lines):
                break
    return findings


def _name_steps(
    make: Stepper,
    loud: Settings,
    name: str,
    bugs: Mapping[str, str],
    follow: Callable[[Layers, list[Layers], str], list[Layers]],
) -> list[Finding]:
    """Compare steps with the published ones; where they differ, with those of each known bug."""
    is_muon = name == "Muon"
    tolerance = _MUON_TOLERANCE if is_muon else _TOLERANCE
    if make.dtype not in ("float64", "float32"):
        tolerance = 0.25
    x0, grads = make.draw(6 if is_muon else 12)
    points = make.follow(x0, grads, loud)
    distance, step, _ = deviation(points, follow(x0, grads, RIGHT))
    if distance <= tolerance:
        return [Finding(f"the steps are those of {name}", is_bug=False)]
    others = {bug: deviation(points, follow(x0, grads, bug))[0] for bug in bugs}
    best = min(others, key=others.__getitem__, default="")
    where = f"differs from {name} by {distance:.2g} of the largest step at step {step}"
    if best and others[best] <= tolerance:
        return [Finding(f"{bugs[best]}: {make.label} {where}")]
    return [Finding(f"{make.label} {where}; no known bug has these steps")]


# --- orthogonaliser and scale ---------------------------------------------------------------------


def identify_orthogonaliser(
    replicas: Replicas, group: Settings, stated: Settings
) -> Orthogonaliser | None:
    """Return the orthogonaliser and the scale that the first step of a copy shows.

    On the first step every form of momentum is a multiple of the gradient. None if the direction
    does not have the gradient's singular vectors, or the optimiser cannot be copied.
    """
    settings = replicas.settings(group)
    shapes: list[tuple[int, ...]] = [(6, 4), (4, 6), (5, 5), (8, 2), (2, 8)]
    if any(p.ndim == 4 for p in group["params"]):
        shapes.append((32, 2, 2, 2))
    make = replicas.stepper(group, shapes)
    x0, grads = make.draw(1)
    try:
        before, after = make.follow(x0, grads, override(settings, {"lr": 0.1, "weight_decay": 0.0}))
    except Exception:  # of a user's optimiser
        return None
    directions = [
        compare_direction(g.reshape(len(g), -1), ((x - y) / 0.1).reshape(len(g), -1))
        for g, x, y in zip(grads[0], before, after, strict=True)
    ]
    if not all(np.isfinite(d.image).all() and d.off <= 0.1 * d.hi for d in directions):
        return None
    sizes = [d.shape for d in directions]
    stated_coefficients = _stated_coefficients(settings, stated)
    candidates = {**({"stated": stated_coefficients} if stated_coefficients else {}), **PRESETS}
    fits = {name: _fit(directions, c) for name, c in candidates.items()}
    best = min(fits, key=lambda name: fits[name][1])
    if "stated" in fits and fits["stated"][1] <= _ACCURACY:
        best = "stated"
    scales, spread = fits[best]
    findings = []
    if "stated" in fits and best != "stated":
        lo, hi = min(d.lo for d in directions), max(d.hi for d in directions)
        certified = certified_interval(candidates["stated"], 1e-2)
        other = f"; they are those of {best}" if spread <= _ACCURACY else ""
        findings.append(
            Finding(
                f"singular values of the direction lie in [{lo:.3g}, {hi:.3g}]; the stated "
                f"coefficients have [{certified[0]:.4g}, {certified[1]:.4g}]{other}"
            )
        )
    elif spread > _ACCURACY:
        findings.append(Finding("the orthogonaliser is none of the presets", is_bug=False))
    known = spread <= _ACCURACY
    scale_name, scale, more = _identify_scale(settings, stated, sizes, scales)
    findings += more if known else []
    name = next((n for n, c in PRESETS.items() if candidates[best] == c), best)
    return Orthogonaliser(
        name if known else "unknown",
        candidates[best] if known else None,
        scale_name,
        scale,
        tuple(findings),
    )


def _stated_coefficients(settings: Settings, stated: Settings) -> Coefficients | None:
    value = stated.get("orthogonaliser")
    if isinstance(value, str):
        if value not in PRESETS:
            raise InputError(f"orthogonaliser={value!r} is none of {', '.join(PRESETS)}.")
        return PRESETS[value]
    if value is None and {"ns_coefficients", "ns_steps"} <= settings.keys():
        return [tuple(settings["ns_coefficients"])] * int(settings["ns_steps"])
    return value


def _fit(directions: list[Direction], coefficients: Coefficients) -> tuple[list[float], float]:
    """Return the factor of each layer, and the largest relative error that remains."""
    ratios = [d.image / map_singular_values(coefficients, d.relative) for d in directions]
    scales = [float(np.median(r)) for r in ratios]
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = [float(np.abs(r / c - 1).max()) for r, c in zip(ratios, scales, strict=True)]
    return scales, float(np.nan_to_num(max(errors), nan=np.inf))


def _identify_scale(
    settings: Settings, stated: Settings, sizes: list[tuple[int, int]], scales: list[float]
) -> tuple[str, Scale, list[Finding]]:
    def agrees(scale: Scale) -> bool:
        pairs = zip(sizes, scales, strict=True)
        return all(abs(c / scale(*size) - 1) <= _ACCURACY for size, c in pairs)

    expected = stated.get("scale")
    if expected is None and "adjust_lr_fn" in settings:
        expected = settings["adjust_lr_fn"] or "original"
    if isinstance(expected, str) and expected not in SCALES:
        raise InputError(f"scale={expected!r} is none of {', '.join(SCALES)}.")
    found = next((name for name, scale in SCALES.items() if agrees(scale)), "")
    wrong = next((name for name, scale in _WRONG_SCALES.items() if agrees(scale)), "")
    named = SCALES[expected] if isinstance(expected, str) else expected
    if named is not None and agrees(named):
        return str(expected) if isinstance(expected, str) else "stated", named, []
    rows = "; ".join(f"{m} x {n}: {c:.3g}" for (m, n), c in zip(sizes, scales, strict=True))
    if named is not None:
        expectation = ", ".join(f"{named(*size):.3g}" for size in sizes)
        words = f"it is {found or wrong}" if found or wrong else rows
        text = f"the scale of the layers is not the stated one: {words}, expected {expectation}"
        return found or "stated", named, [Finding(text)]
    if found:
        return found, SCALES[found], []
    measured = dict(zip(sizes, scales, strict=True))

    def as_measured(m: int, n: int) -> float:
        return measured.get((m, n), 1.0)

    text = f"the scale of the layers is {wrong}" if wrong else f"the scale follows no rule: {rows}"
    return wrong or "unknown", as_measured, [Finding(text, is_bug=bool(wrong))]
