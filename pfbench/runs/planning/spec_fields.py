"""Parsers of the fields of a spec.

Each function takes the location of a field, for error messages, and its value.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from pfbench.base.checks import check_file_name, check_integer, check_real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import ErrorCollector, InputError
from pfbench.base.names import check_names
from pfbench.runs.loop.run import Stop, trace_name
from pfbench.runs.planning.name_resolution import unquote_selector
from pfbench.runs.planning.plan import check_run_count
from pfbench.runs.planning.spec_text import (
    abbreviate,
    format_setting_value,
    placeholder_names,
    setting_title,
)
from pfbench.runs.planning.tune import StudySetting, TunedMethod, TuningPlan

T = TypeVar("T")

Reader = Callable[[str, Any], T]
"""Parser of a field, from its location and its value."""


@dataclass(frozen=True)
class FieldEntry:
    """Entry of a list of texts: its location, its label (empty if it has none), and the text."""

    field: str
    label: str
    text: str


def parse_any_text(field: str, value: Any) -> str:
    """Return the value of a field that must be a string."""
    if not isinstance(value, str):
        raise InputError(f"{field} = {abbreviate(value)} must be a string.")
    return value


def parse_text(field: str, value: Any) -> str:
    """Return the value of a field that must be a nonempty string."""
    if not parse_any_text(field, value).strip():
        raise InputError(f"{field} = {abbreviate(value)} must be a string that is not empty.")
    return str(value)


def parse_file_name(field: str, value: Any) -> str:
    """Return the value of a field that must be a valid file name."""
    return check_file_name(field, parse_text(field, value))


def parse_tables(field: str, value: Any) -> Sequence[Mapping[str, Any]]:
    """Return the value of a field that must be a list of at least one table."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise InputError(f"{field} = {abbreviate(value)} must be a list of tables ([[...]]).")
    if not value:
        raise InputError(f"{field} is empty.")
    return value


def parse_table(field: str, value: Any, expected: str = "a table") -> Mapping[str, Any]:
    """Return the value of a field that must be a table; `expected` describes it in the message."""
    if not isinstance(value, Mapping):
        raise InputError(f"{field} = {abbreviate(value)} must be {expected}.")
    return value


def parse_fields(
    location: str,
    table: Mapping[str, Any],
    readers: Mapping[str, Reader[Any]],
    errors: ErrorCollector,
    required: Collection[str] = (),
    separator: str = ": ",
) -> dict[str, Any]:
    """Return the valid fields of a table by name; collect the errors of all other fields."""
    for name in table:
        with errors():
            check_names(f"field of {location}", [name], readers)
    values: dict[str, Any] = {}
    for name, read in readers.items():
        with errors():
            if name in table:
                values[name] = read(f"{location}{separator}{name}", table[name])
            elif name in required:
                raise InputError(f"{location}: the field {name} is missing.")
    return values


def parse_each_table(
    field: str, value: Any, readers: Mapping[str, Reader[Any]], required: Collection[str]
) -> list[dict[str, Any]]:
    """Return a list of dicts: the parsed fields of each table in a list of tables."""
    errors = ErrorCollector()
    tables = [
        parse_fields(f"{field} {number}", table, readers, errors, required)
        for number, table in enumerate(parse_tables(field, value), 1)
    ]
    errors.raise_collected()
    return tables


def parse_entries(field: str, value: Any) -> Sequence[FieldEntry]:
    """Return the entries of a field: a list of strings, a table by label, or a single string."""
    entries: dict[str, FieldEntry] = {}
    for location, label, entry in _iterate_entries(field, value):
        if parse_text(location, entry) in entries:
            raise InputError(f"{location} = {abbreviate(entry)} appears twice: remove one of them.")
        entries[entry] = FieldEntry(location, label, entry)
    if not entries:
        raise InputError(f"{field} is empty.")
    return [*entries.values()]


def _iterate_entries(field: str, value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the location, the label and the value of each entry of a field."""
    if isinstance(value, Mapping):
        for label, entry in value.items():
            yield f"{field}.{parse_text(f'{field}: a label', label)}", label, entry
    elif isinstance(value, list):
        for k, entry in enumerate(value):
            yield f"{field}[{k}]", "", entry
    elif isinstance(value, str):
        yield field, "", value
    else:
        raise InputError(f"{field} = {abbreviate(value)} must be a list of strings.")


def parse_seeds(field: str, value: Any) -> Sequence[int]:
    """Return the seeds: those that a list contains, or 0, ..., N - 1 for a number N."""
    if not isinstance(value, list):
        return range(check_integer(field, value, minimum=1))
    integers = [check_integer(f"{field}[{k}]", seed, minimum=0) for k, seed in enumerate(value)]
    if not integers or len(set(integers)) < len(integers):
        raise InputError(f"{field} = {abbreviate(value)} must be a list of different seeds.")
    return integers


def parse_grid(field: str, value: Any) -> Mapping[str, Sequence[Any]]:
    """Return a dict from each parameter name in a grid to the list of its values."""
    grid = parse_table(field, value, "a table of lists")
    for key, values in grid.items():
        _check_name(f"{field}.{key}", key)
        if not isinstance(values, list) or not values:
            raise InputError(f"{field}.{key} = {abbreviate(values)} must be a list of values.")
        for k, item in enumerate(values):
            _check_value(f"{field}.{key}[{k}]", item)
        if len(set(map(format_setting_value, values))) < len(values):
            raise InputError(f"{field}.{key} = {abbreviate(values)} has a value twice.")
    return grid


def parse_settings(field: str, value: Any) -> tuple[StudySetting, ...]:
    """Return the settings that a spec lists one by one."""
    settings: dict[str, StudySetting] = {}
    for k, row in enumerate(parse_tables(field, value), 1):
        values = {key: item for key, item in row.items() if key != "title"}
        for subject, other_value in values.items():
            _check_name(f"{field} {k}: {subject}", subject)
            _check_value(f"{field} {k}: {subject}", other_value)
        title = parse_text(f"{field} {k}: title", row.get("title", setting_title(values)))
        if title in settings:
            raise InputError(f"{field} {k}: the title {title!r} appears twice.")
        settings[title] = StudySetting(title, values)
    return tuple(settings.values())


def _check_name(field: str, subject: str) -> None:
    if not subject.isidentifier() or subject == "seed":
        raise InputError(f"{field}: the name must be an identifier other than seed.")


def _check_value(field: str, value: Any) -> None:
    if not isinstance(value, (str, int, float)):
        raise InputError(f"{field} = {abbreviate(value)} must be a number or text.")


def parse_targets(field: str, value: Any) -> tuple[Stop, ...]:
    """Return the targets in a field, sorted from the easiest to the hardest."""
    stops = [_parse_target(entry.field, entry.text) for entry in parse_entries(field, value)]
    if len({target.measure for target in stops}) > 1:
        raise InputError(f"the targets in {field} must all have the same measure.")
    return tuple(sorted(stops, key=lambda target: -target.target))


def _parse_target(field: str, value: Any) -> Stop:
    target = parse_text(field, value)
    try:
        stop = Stop.parse(target)
        return replace(stop, measure=unquote_selector(stop.measure))
    except InputError as error:
        raise InputError(f"{field} = {abbreviate(target)} is wrong: {error}") from None


def parse_recording_interval(field: str, value: Any) -> str:
    """Return the recording interval in iterations, as text that may have names in braces."""
    return value if isinstance(value, str) else str(check_integer(field, value, minimum=1))


parse_positive_number: Reader[float] = partial(check_real, above=0.0)
"""Parser of a field that must be a number above 0."""


def parse_price(field: str, value: Any) -> Mapping[str, float]:
    """Return the cost of a call of each oracle kind; at least one cost is positive."""
    parse_table(field, value, "a table, as in { sfo = 1, lo = 50 }")
    check_names(f"field of {field}", value, COUNTED)
    for key, weight in value.items():
        check_real(f"{field}.{key}", weight, minimum=0.0)
    if not any(value.values()):
        raise InputError(
            f"{field} = {abbreviate(value)} must give at least one oracle kind a cost above 0."
        )
    return {source: float(weight) for source, weight in value.items()}


def parse_tuning(field: str, value: Any) -> TuningPlan:
    """Return the plan of a tuning."""
    parse_table(field, value)
    errors = ErrorCollector()
    readers: dict[str, Reader[Any]] = {
        "trials": partial(check_integer, minimum=1),
        "seeds": parse_seeds,
        "methods": _parse_tuned_methods,
        "target": _parse_target,
    }
    required = ("trials", "seeds", "methods")
    tune = parse_fields(field, value, readers, errors, required, separator=".")
    errors.raise_collected()
    check_run_count(f"{field}.seeds", len(tune["seeds"]))
    for method in tune["methods"]:
        check_run_count(f"{field}.methods.{method.label}", method.size)
    target = tune.get("target")
    target = target and replace(target, measure=trace_name(target.measure))
    return TuningPlan(tune["methods"], tune["trials"], tuple(tune["seeds"]), target)


def _parse_tuned_methods(field: str, value: Any) -> tuple[TunedMethod, ...]:
    """Return the methods to be tuned, each with its label, its selector and its grid."""
    if not isinstance(value, Mapping) or not value:
        raise InputError(f"{field} = {abbreviate(value)} must be a table of methods with grids.")
    methods: dict[str, TunedMethod] = {}
    for label, table in value.items():
        location = f"{field}.{parse_text(f'{field}: a label', label)}"
        if not isinstance(table, Mapping) or "selector" not in table:
            raise InputError(f"{location} needs a selector, and lists of values to try.")
        selector = parse_text(f"{location}.selector", table["selector"])
        if selector in methods:
            raise InputError(f"{location}.selector = {abbreviate(selector)} appears twice.")
        values = {key: item for key, item in table.items() if key != "selector"}
        methods[selector] = TunedMethod(label, selector, parse_grid(location, values))
        unused = values.keys() - placeholder_names(selector, location=location)
        if not values or unused:
            fault = f"{min(unused)} is used nowhere" if unused else "no values are given"
            raise InputError(
                f"{location}: {fault}; use {{NAME}} in the selector, and give NAME = [...]."
            )
    return tuple(methods.values())


PROJECTING = "projecting"
"""Table in ``[candidate]`` of parameters for methods without linear minimisation."""


def parse_candidate_parameters(field: str, value: Any) -> Mapping[str, Any]:
    """Return the parameters of a candidate method by name: numbers, strings, or lists of these.

    The table under `PROJECTING`, if there is one, is for methods that project.
    """
    parse_table(field, value, "a table of parameters")
    own = {key: item for key, item in value.items() if key != PROJECTING}
    parse_grid(
        field, {key: item if isinstance(item, list) else [item] for key, item in own.items()}
    )
    if PROJECTING not in value:
        return own
    return own | {
        PROJECTING: parse_candidate_parameters(f"{field}.{PROJECTING}", value[PROJECTING])
    }


def parse_texts(field: str, value: Any) -> tuple[str, ...]:
    """Return the strings of a field, which is a list of strings or a single string."""
    listed = value if isinstance(value, list) else [value]
    return tuple(parse_text(f"{field}[{k}]", item) for k, item in enumerate(listed))
