"""Labels in figures for selectors that have none, from their differences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector


def make_labels(selectors: Sequence[str]) -> list[str]:
    """Return a label for each of several different selectors.

    A label is the name, followed by the parameters in which selectors of one name differ. Of
    MODULE:NAME it has only NAME, if that is unique. A selector with braces in its name is its own
    label. If two labels would be equal, all selectors are their own labels.
    """
    parsed = [_parse_selector(text) for text in selectors]
    short = _shorten_names([name for name, _ in parsed])
    namesakes = Counter(name for name, _ in parsed)
    times = Counter((name, *pair) for name, texts in parsed for pair in texts.items())
    labels = []
    for name, texts in parsed:
        reported = [pair for pair in texts.items() if times[name, *pair] < namesakes[name]]
        inside = ",".join(f"{key}={value}" for key, value in reported)
        labels.append(f"{short[name]}[{inside}]" if inside else short[name])
    if len(set(labels)) < len(labels):
        return list(selectors)
    return labels


def setting_title(values: Mapping[str, Any]) -> str:
    """Return the title of a setting: its values by name."""
    return ", ".join(f"{name} = {format_setting_value(value)}" for name, value in values.items())


def format_setting_value(value: Any) -> str:
    """Return a value of a setting as text for titles."""
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)


def _parse_selector(text: str) -> tuple[str, Mapping[str, str]]:
    try:
        selector = Selector.parse(text)
    except InputError:
        return text, {}
    return selector.name, selector.texts


def _shorten_names(names: Sequence[str]) -> dict[str, str]:
    """Return NAME for MODULE:NAME, except where two of these would be equal."""
    last = {name: name.rpartition(":")[2] or name for name in names}
    times = Counter(last.values())
    return {name: short if times[short] == 1 else name for name, short in last.items()}
