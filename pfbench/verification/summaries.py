"""One-line texts on the measured values of a verdict."""

import math
from collections.abc import Mapping
from typing import Any

_ROUNDING = 1e-6


def summarise_main_numbers(measured: Mapping[str, Any]) -> str:
    """Return the main measured values as text: exponents and highest ratio, with intervals.

    Values that belong to conditions of a claim are omitted.
    """
    parts, ratios = [], _finite_ratios_by_part(measured)
    for name, value in measured.items():
        if "condition " in name:
            continue
        prefix, _, last = name.rpartition(": ")
        if last == "slope" and value is not None and math.isfinite(value):
            location = f"{prefix}: " if prefix else ""
            low, high = measured.get(f"{location}lower"), measured.get(f"{location}upper")
            label = prefix.replace("exponent in ", "") or "exponent"
            parts.append(f"{label} {format_with_interval(value, low, high)}")
    if ratios:
        parts.append(_format_highest_ratio(ratios, measured))
    return "; ".join(parts)


def describe_worst_ratio(measured: Mapping[str, Any]) -> str:
    """Describe the worst ratio found by a counterexample search, and its location."""
    if "worst ratio" not in measured:
        return ""
    return f"{measured['worst ratio']:.3g} at {measured['worst ratio at']}"


def format_ratio_or_exponents(measured: Mapping[str, Any]) -> str:
    """Return the highest ratio of measured value to bound as text, or else fitted exponents."""
    ratios = _finite_ratios_by_part(measured)
    if not ratios:
        return summarise_main_numbers(measured)
    highest = max(ratios.values())
    return f"{highest:.3g} {'of' if highest <= 1.0 + _ROUNDING else 'times'} the bound"


def _finite_ratios_by_part(measured: Mapping[str, Any]) -> dict[str, float]:
    """Return the finite ratios of measured value to bound, by the name of the claim's part.

    Ratios that belong to conditions of the claim are omitted.
    """
    return {
        name.rpartition(": ")[0]: value
        for name, value in measured.items()
        if name.rpartition(": ")[2] == "ratio" and "condition " not in name
        if isinstance(value, float) and math.isfinite(value)
    }


def _format_highest_ratio(ratios: Mapping[str, float], measured: Mapping[str, Any]) -> str:
    """Return the highest ratio of measured value to bound as text, with confidence limits if any.

    For a mean, these are the one-sided limits on which the verdict rests.
    """
    prefix = max(ratios, key=lambda name: ratios[name])
    location, bound_text = (f"{prefix}: " if prefix else ""), "at most " if len(ratios) > 1 else ""
    highest = f"measured/bound {bound_text}{ratios[prefix]:.3g}"
    for end, words in (("_limit", "{} to {}, each limit at 95 %"), ("", "95 % within {} to {}")):
        ends = [measured.get(f"{location}{side}{end}") for side in ("lower", "upper")]
        if None not in ends and math.inf not in ends:
            return f"{highest}, {words.format(*(f'{end:.3g}' for end in ends))}"
        if ends[0] is not None:  # an infinite limit is null in a store
            return f"{highest}, at least {ends[0]:.3g} at 95 %"
    return highest


def slack_factor(measured: Mapping[str, Any]) -> float | None:
    """Return the smallest factor by which a bound of the claim exceeds its measured value.

    Return None without ratios.
    """
    highest = max(_finite_ratios_by_part(measured).values(), default=0.0)
    return 1.0 / highest if highest else None


def format_with_interval(value: float, low: float | None, high: float | None) -> str:
    """Return a slope as text, with its interval if both ends are known."""
    return f"{value:.3g}" if low is None or high is None else f"{value:.3g} [{low:.3g}, {high:.3g}]"


def format_summary(summary: Mapping[str, int]) -> str:
    """Return the number of claims with each verdict as text, e.g. "2 within-10, 5 holds"."""
    return ", ".join(f"{count} {verdict}" for verdict, count in summary.items() if count)
