"""Page of a history: one file without external scripts or styles, so that it opens offline."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from benchmarks.history.results import History, Series, Value

TEMPLATE = Path(__file__).with_name("page.html.j2")

WIDTH, HEIGHT, EDGE = 340, 44, 5

UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def page(history: History, command: str) -> str:
    """Return the HTML page of a history."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    counts = [one for one in history.series if one.exact]
    return (
        template.render(
            history=history,
            command=command,
            machine=described(history.machine),
            counts=counts,
            times=[one for one in history.series if not one.exact],
            changed=list(changed(history, counts)),
            data=embedded(history),
            shown=shown,
            chart=lambda one: chart(one, history),
            named=named,
            ratio=ratio,
        )
        + "\n"
    )


def described(machine: Mapping[str, str]) -> str:
    """Describe a machine by what asv recorded of it; every field may be missing."""
    units = {"cpu": "{}", "num_cpu": "{} cores", "ram": "{} kB", "os": "{}"}
    known = [text.format(machine[name]) for name, text in units.items() if machine.get(name)]
    return ", ".join(known) or "unknown"


def changed(history: History, series: Sequence[Series]) -> Iterator[tuple[int, list[str]]]:
    """Yield, for each commit at which an exact value changed, its index and the changes."""
    for place in range(len(history.commits)):
        told = [
            f"{named(one)}: {shown(_before(one, place), one)} → {shown(one.values[place], one)}"
            for one in series
            if place in one.changes
        ]
        if told:
            yield place, told


def _before(series: Series, place: int) -> Value:
    return next(value for value in reversed(series.values[:place]) if value is not None)


def named(series: Series) -> str:
    """Return the name of a series for readers."""
    module, _, rest = series.benchmark.partition(".")
    words = rest.replace("track_", "").replace("time_", "").replace("peakmem_", "")
    if module == "counts":
        words = {"missed": "targets missed", "lacking": "algorithms without a run"}.get(
            words, words.replace("_", "-")
        )
    return " ".join([words.replace("_", " ").replace(".", ": "), *series.chosen])


def shown(value: Value, series: Series) -> str:
    """Return a value with its unit, as text."""
    if value is None:
        return "–"
    if series.exact:
        return f"{value:,.0f}"
    if series.unit == "bytes":
        return f"{value / 1e6:,.0f} MB"
    if series.unit == "s":
        unit, size = next((pair for pair in UNITS if value >= pair[1]), UNITS[-1])
        return f"{value / size:.3g} {unit}"
    return f"{value:.3g} {series.unit}"


def ratio(series: Series) -> str:
    """Return the ratio of the last value to the median of all values, as text."""
    known = sorted(value for value in series.values if value is not None)
    middle = known[len(known) // 2]
    last = series.values[-1]
    return "–" if last is None or not middle else f"{last / middle:.2f}"


def chart(series: Series, history: History) -> str:
    """Return the values over the commits as an SVG element, in which changes are marked.

    The scale goes from 0 to the largest value. Commits without a value are gaps.
    """
    number = len(history.commits)
    top = max((value for value in series.values if value is not None), default=0.0) or 1.0
    across = (WIDTH - 2 * EDGE) / max(number - 1, 1)
    places = [
        None if v is None else (EDGE + k * across, HEIGHT - EDGE - v / top * (HEIGHT - 2 * EDGE))
        for k, v in enumerate(series.values)
    ]
    parts = [f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT - 1}" y2="{HEIGHT - 1}"/>']
    for one, other in itertools.pairwise(places):
        if one and other:
            level = f"H{other[0]:.1f}V{other[1]:.1f}" if series.exact else f"L{_at(other)}"
            parts.append(f'<path d="M{_at(one)}{level}"/>')
    for k, (value, place) in enumerate(zip(series.values, places, strict=True)):
        if place is not None:
            commit = history.commits[k]
            kind = ' class="changed"' if series.exact and k in series.changes else ""
            about = escape(f"{commit.hash[:8]} {commit.date}: {shown(value, series)}")
            parts.append(
                f'<circle{kind} cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="3">'
                f"<title>{about}</title></circle>"
            )
    label = escape(f"{named(series)} over {number} commits", quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _at(place: tuple[float, float]) -> str:
    return f"{place[0]:.1f},{place[1]:.1f}"


def embedded(history: History) -> str:
    """Return all values as JSON that can be embedded in a script element."""
    data = {
        "commits": [[one.hash[:8], one.date, one.subject] for one in history.commits],
        "series": [
            {"name": named(one), "values": [shown(value, one) for value in one.values]}
            for one in history.series
        ],
    }
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
