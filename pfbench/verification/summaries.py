"""What was measured and found, each in a line."""

import math
from collections.abc import Mapping
from typing import Any


def main_numbers(measured: Mapping[str, Any]) -> str:
    """Return what matters most of what was measured: exponents with intervals, highest ratio.

    Conditions of a claim are left out.
    """
    parts, ratios = [], []
    for name, value in measured.items():
        if "condition " in name:
            continue
        prefix, _, last = name.rpartition(": ")
        if last == "slope" and value is not None:
            at = f"{prefix}: " if prefix else ""
            low, high = measured.get(f"{at}lower"), measured.get(f"{at}upper")
            label = prefix.replace("exponent in ", "") or "exponent"
            parts.append(f"{label} {with_interval(value, low, high)}")
        elif last == "ratio" and isinstance(value, float) and math.isfinite(value):
            ratios.append(value)
    if ratios:
        parts.append(f"measured/bound at most {max(ratios):.3g}")
    return "; ".join(parts)


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """Return a slope, with its interval if it has one: a single seed has none."""
    return f"{value:.3g}" if low is None or high is None else f"{value:.3g} [{low:.3g}, {high:.3g}]"


def in_words(summary: Mapping[str, int]) -> str:
    """Return e.g. "2 tight, 5 holds"."""
    return ", ".join(f"{count} {verdict}" for verdict, count in summary.items() if count)
