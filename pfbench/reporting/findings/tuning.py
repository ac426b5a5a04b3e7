"""What tuning did: what was chosen, how much the parameters matter, and which orderings flip."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pfbench.base.visible import spreadsheet_text
from pfbench.reporting.comparison import Compared, Comparison, Scored
from pfbench.reporting.results import Results
from pfbench.reporting.statistics import Price
from pfbench.reporting.tables import Cell, Row, Table
from pfbench.reporting.words import calls_as_text, counted, inside, whole
from pfbench.runs.planning.labels import title_of
from pfbench.runs.planning.study import Named, Setting, Study
from pfbench.runs.planning.tune import Choice, Tune, Tuned, key_of, tuned_label

CSV_HEAD = (
    "problem",
    "setting",
    "algorithm",
    "values",
    "hits",
    "runs",
    "expected",
    "last",
    "chosen",
)


def tuning_tables(results: Results, compared: Sequence[Comparison]) -> list[Table]:
    """Return what was chosen, all trials, and the orderings that flip; none without tuning."""
    study, tune = results.study, results.study.tune
    if tune is None or not study.choices:
        return []
    flipped = flips(compared, tune)
    last = [flipped.table] if flipped and flipped.table.rows else []
    return [chosen(study, tune), sensitivity(study, tune), *last]


def sentences(results: Results, compared: Sequence[Comparison]) -> list[str]:
    """Return how the methods were tuned, and how many orderings flip."""
    study, tune = results.study, results.study.tune
    if tune is None or not study.choices:
        return []
    made = [len(choice.trials) for choice in study.choices]
    fewer = sum(number < tune.trials for number in made)
    less = f" ({whole(fewer)} of {whole(len(made))} grids have fewer points)" if fewer else ""
    said = (
        f"{counted(len(tune.methods), 'method')} tuned, "
        f"{counted(tune.trials, 'trial')} each on each problem{less}, "
        f"{counted(len(tune.seeds), 'seed')} a trial, {counted(sum(made), 'trial')} in all: the "
        f"fewest expected {tune.count.upper()} to {_level(tune)} decide, and what is chosen is run "
        "on fresh seeds."
    )
    flipped = flips(compared, tune)
    return [said, flipped.sentence] if flipped else [said]


def _level(tune: Tune) -> str:
    return f"{inside(tune.target.measure)} ≤ {tune.target.target:g}"


def _each(study: Study) -> Iterator[tuple[Named, Tuned, Setting, Choice]]:
    known = {choice.key: choice for choice in study.choices}
    for problem, method, setting in study.tuned():
        choice = known.get(key_of(problem.selector, method.selector, setting.values))
        if choice is not None:
            yield problem, method, setting, choice


def _title(problem: Named, setting: Setting) -> str:
    return f"{problem.label}, {setting.title}" if setting.title else problem.label


def chosen(study: Study, tune: Tune) -> Table:
    """Return what was chosen for each method on each problem, and how much it matters."""
    rows = []
    for problem, method, setting, choice in _each(study):
        best, calls = choice.best, [trial.expected for trial in choice.trials]
        reached = sorted(value for value in calls if math.isfinite(value))
        factor = reached[-1] / reached[0] if reached and reached[0] else None
        cells: list[Cell] = [title_of(best.values), len(calls), len(reached)]
        cells += [_finite(best.expected), factor, _finite(best.last)]
        rows.append(Row(_title(problem, setting), method.label, cells))
    return Table(
        f"{study.title}: what tuning chose",
        f"Expected {tune.count.upper()} to {_level(tune)} on the seeds of the search "
        f"({_listed(tune)}). Spread: of the trials that reach it, the most calls over the fewest. "
        "Where none does, the lowest last value decides.",
        ("problem", "method", "chosen", "trials", "of these reach it", "calls", "spread", "last"),
        rows,
    )


def _listed(tune: Tune) -> str:
    return ", ".join(map(str, tune.seeds))


def sensitivity(study: Study, tune: Tune) -> Table:
    """Return the calls to the target against the parameters: every trial."""
    rows = []
    for problem, method, setting, choice in _each(study):
        for trial in choice.trials:
            hits = f"{trial.hits} of {len(tune.seeds)}"
            cells: list[Cell] = [title_of(trial.values), hits, _finite(trial.expected)]
            cells += [_finite(trial.last), "chosen" if trial is choice.best else None]
            rows.append(Row(_title(problem, setting), method.label, cells))
    return Table(
        f"{study.title}: calls to the target against the parameters",
        f"All {whole(len(rows))} trials of the search: expected {tune.count.upper()} to "
        f"{_level(tune)}.",
        ("problem", "method", "tried", "seeds to it", "calls", "last", ""),
        rows,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Flips:
    """The pairs of methods whose order differs between stated and tuned parameters.

    Attributes
    ----------
    table
        These pairs.
    pairs
        How many have an order both ways.
    """

    table: Table
    pairs: int

    @property
    def sentence(self) -> str:
        """How many orderings flip."""
        number = len(self.table.rows)
        verb = "flips" if number == 1 else "flip"
        return (
            f"{whole(number)} of {counted(self.pairs, 'ordering')} of two methods {verb} between "
            "their stated parameters and tuned ones."
        )


def flips(compared: Sequence[Comparison], tune: Tune) -> Flips | None:
    """Return the orderings that flip; None if no two methods stand there both ways."""
    one = next((found for found in compared if found.price == Price.of(tune.count)), None)
    if one is None or not one.targets:
        return None
    at = one.targets.index(tune.target) if tune.target in one.targets else len(one.targets) - 1
    labels = [m.label for m in tune.methods if m.label in one.results.study.labels]
    found = [row for panel in one.panels for row in _pairs(panel, labels, at)]
    if not found:
        return None
    target = one.targets[at]
    table = Table(
        f"{one.results.study.title}: orderings that flip when methods are tuned",
        f"Pairs of methods by their expected {one.price} to {inside(target.measure)} ≤ "
        f"{target.target:g}, who needs fewer first.",
        (one.results.head, "pair", "as stated", "tuned"),
        [row for row in found if row is not None],
    )
    return Flips(table, len(found))


def _pairs(panel: Compared, labels: Sequence[str], at: int) -> Iterator[Row | None]:
    """Yield for each pair that has an order both ways the row of a flip, None if it is none."""
    known = {scored.group.label: scored for scored in panel.scored}
    for first, second in combinations(labels, 2):
        stated = _ordered(known, first, second, at)
        tuned = _ordered(known, tuned_label(first), tuned_label(second), at)
        if stated is None or tuned is None:
            continue
        flips = (stated[0] == first) != (tuned[0] == tuned_label(first))
        cells = [text for _, text in (stated, tuned)]
        yield Row(panel.panel.title, f"{first}, {second}", cells) if flips else None


def _ordered(
    known: Mapping[str, Scored], first: str, second: str, at: int
) -> tuple[str, str] | None:
    """Return who of two needs fewer calls, and the order in words; None if they have none."""
    if first not in known or second not in known:
        return None
    calls = {label: known[label].needs(at) for label in (first, second)}
    less, more = sorted(calls, key=calls.__getitem__)
    if calls[less] == calls[more]:
        return None
    words = [f"{label} ({calls_as_text(calls[label])})" for label in (less, more)]
    return less, ", ".join(words)


def tuning_csv(study: Study) -> str:
    """Return every trial as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    seeds = len(study.tune.seeds) if study.tune else 0
    for problem, method, setting, choice in _each(study):
        for trial in choice.trials:
            texts = (problem.label, setting.title, method.label, title_of(trial.values))
            numbers: list[Any] = [trial.hits, seeds, _finite(trial.expected), _finite(trial.last)]
            mark = "yes" if trial is choice.best else "no"
            writer.writerow([*map(spreadsheet_text, texts), *numbers, mark])
    return file.getvalue()
