"""What tuning did: what was chosen, how much the parameters matter, and which orderings flip."""

import csv
import io
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pfbench.base.visible import spreadsheet_text
from pfbench.reporting.comparison import Compared, Comparison
from pfbench.reporting.results import Results
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.tables import Cell, Row, Table
from pfbench.reporting.words import calls_as_text, counted, inside, listed, whole
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.labels import title_of
from pfbench.runs.planning.study import Named, Setting, Study
from pfbench.runs.planning.tune import Choice, Tune, Tuned, key_of, tuned_label

CSV_HEAD = (
    "problem",
    "setting",
    "algorithm",
    "measure",
    "target",
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
    found = list(_each(study))
    made = [len(choice.trials) for *_, choice in found]
    first = [len(choice.trials) - len(choice.beyond) for *_, choice in found]
    fewer = sum(number < tune.trials for number in first)
    less = f" ({whole(fewer)} of {whole(len(made))} grids have fewer points)" if fewer else ""
    beyond = sum(made) - sum(first)
    further = (
        f", and {counted(beyond, 'trial')} one step beyond the ends of a grid at which a choice lay"
        if beyond
        else ""
    )
    said = (
        f"{counted(len(tune.methods), 'method')} tuned, "
        f"{counted(tune.trials, 'trial')} each on each problem{less}, "
        f"{counted(len(tune.seeds), 'seed')} a trial{further}: {counted(sum(made), 'trial')} of "
        f"{whole(sum(cost(choice) for *_, choice in found))} {tune.count.upper()} in all. "
        f"The fewest expected {tune.count.upper()} to {levels(tune)} decide, and what is chosen is "
        "run on fresh seeds."
    )
    flipped = flips(compared, tune)
    return [said, flipped.sentence] if flipped else [said]


def _level(target: Stop) -> str:
    return f"{inside(target.measure)} ≤ {target.target:g}"


def levels(tune: Tune) -> str:
    """Return what is tuned for, in words."""
    if len(tune.targets) == 1:
        return _level(tune.targets[0])
    return f"{listed([_level(target) for target in tune.targets])}, to each of its own,"


def cost(choice: Choice) -> int:
    """Return the calls of a search."""
    return sum(trial.spent for trial in choice.trials)


def _each(study: Study) -> Iterator[tuple[Named, Tuned, Setting, Choice]]:
    known = {choice.key: choice for choice in study.choices}
    for problem, method, setting in study.tuned():
        choice = known.get(key_of(problem.selector, method.selector, setting.values))
        if choice is not None:
            yield problem, method, setting, choice


def _title(problem: Named, setting: Setting) -> str:
    return f"{problem.label}, {setting.title}" if setting.title else problem.label


def chosen(study: Study, tune: Tune, only: Collection[str] | None = None) -> Table:
    """Return what was chosen for each method on each problem to each target, and how it matters.

    Parameters
    ----------
    only
        The labels of the tuned methods that are wanted; all, if it is not given.
    """
    rows = []
    for problem, method, setting, choice in _each(study):
        if only is not None and method.tuned_label not in only:
            continue
        for at, target in enumerate(tune.targets):
            best, calls = choice.best(at), [trial.expected[at] for trial in choice.trials]
            reached = sorted(value for value in calls if math.isfinite(value))
            factor = reached[-1] / reached[0] if reached and reached[0] else None
            cells: list[Cell] = [f"{target.target:g}", title_of(best.values)]
            cells += [", ".join(choice.edges(at)) or None, len(calls), len(reached)]
            cells += [_calls(best.expected[at]), factor, _finite(best.last[at])]
            rows.append(Row(_title(problem, setting), method.label, [*cells, cost(choice)]))
    return Table(
        f"{study.title}: what tuning chose",
        f"Expected {tune.count.upper()} to {levels(tune)} on the seeds of the search "
        f"({', '.join(map(str, tune.seeds))}). At an end: the best may lie beyond all values that "
        "were tried, though the grid went on by one. Spread: of the trials that reach it, the most "
        "calls over the fewest. Where none does, the lowest last value decides. Cost: the "
        f"{tune.count.upper()} of all its trials on the problem, once for all targets.",
        (
            "problem",
            "method",
            "target",
            "chosen",
            "at an end",
            "trials",
            "of these reach it",
            "calls",
            "spread",
            "last",
            "cost",
        ),
        rows,
    )


def at_ends(study: Study, label: str) -> list[str]:
    """Return a sentence on each parameter of a tuned method whose best value lies at an end."""
    found: dict[str, list[str]] = {}
    tune = study.tune
    for problem, method, setting, choice in _each(study):
        if tune is None or method.tuned_label != label:
            continue
        for name in choice.trials[0].values:
            to = [
                f"{target.target:g}"
                for at, target in enumerate(tune.targets)
                if name in choice.edges(at)
            ]
            if to:
                where = f"{_title(problem, setting)} (to {listed(to)})"
                found.setdefault(name, []).append(where)
    return [
        f"{label}: its best {name} lies at an end of all that were tried, and a better one may lie "
        f"beyond, on {listed(where)}."
        for name, where in found.items()
    ]


def as_json(study: Study, only: Collection[str]) -> list[dict[str, Any]]:
    """Return what was chosen for some methods, for programs; what is infinite is None."""
    tune = study.tune
    return [
        {
            "problem": problem.label,
            "algorithm": method.tuned_label,
            "measure": target.measure,
            "target": target.target,
            "values": dict(choice.best(at).values),
            "at_an_end": list(choice.edges(at)),
            "trials": len(choice.trials),
            "reached": sum(hits > 0 for hits in (trial.hits[at] for trial in choice.trials)),
            "cost": cost(choice),
        }
        for problem, method, _, choice in _each(study)
        if tune is not None and method.tuned_label in only
        for at, target in enumerate(tune.targets)
    ]


def sensitivity(study: Study, tune: Tune) -> Table:
    """Return the calls to the targets against the parameters: every trial."""
    rows = []
    for problem, method, setting, choice in _each(study):
        best = [choice.best(at) for at in range(len(tune.targets))]
        for trial in choice.trials:
            cells: list[Cell] = [title_of(trial.values)]
            for at, hits in enumerate(trial.hits):
                cells += [f"{hits} of {len(tune.seeds)}", _calls(trial.expected[at])]
            to = [
                f"{target.target:g}"
                for target, one in zip(tune.targets, best, strict=True)
                if one is trial
            ]
            cells += [_finite(trial.last[-1]), f"chosen for {', '.join(to)}" if to else None]
            rows.append(Row(_title(problem, setting), method.label, cells))
    heads = [head for one in tune.targets for head in (f"seeds to {one.target:g}", "calls")]
    return Table(
        f"{study.title}: calls to the target against the parameters",
        f"All {whole(len(rows))} trials of the search: expected {tune.count.upper()} to "
        f"{levels(tune)}.",
        ("problem", "method", "tried", *heads, "last", ""),
        rows,
    )


def _calls(value: float) -> int | float | None:
    """Return expected calls as tables write them: with every digit, where there are three."""
    return round(value) if 100 <= value < math.inf else _finite(value)


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
    known = [target for target in tune.targets if target in one.targets]
    at = one.targets.index(known[-1]) if known else len(one.targets) - 1
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
    for first, second in combinations(labels, 2):
        stated = _ordered(panel, first, second, at)
        tuned = _ordered(panel, tuned_label(first), tuned_label(second), at)
        if stated is None or tuned is None:
            continue
        flips = (stated[0] == first) != (tuned[0] == tuned_label(first))
        cells = [text for _, text in (stated, tuned)]
        yield Row(panel.panel.title, f"{first}, {second}", cells) if flips else None


def _ordered(panel: Compared, first: str, second: str, at: int) -> tuple[str, str] | None:
    """Return who of two needs fewer calls, and the order in words; None if they have none."""
    one, other = panel.of(first), panel.of(second)
    if one is None or other is None:
        return None
    calls = {first: one.needs(at), second: other.needs(at)}
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
            names = [problem.label, setting.title, method.label]
            for at, target in enumerate(study.tune.targets if study.tune else ()):
                texts = map(spreadsheet_text, (*names, target.measure))
                numbers: list[Any] = [trial.hits[at], seeds, _finite(trial.expected[at])]
                mark = "yes" if trial is choice.best(at) else "no"
                values = spreadsheet_text(title_of(trial.values))
                level = [f"{target.target:g}", values]
                writer.writerow([*texts, *level, *numbers, _finite(trial.last[at]), mark])
    return file.getvalue()
