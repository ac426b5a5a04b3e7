"""Effects of tuning: the chosen parameters, and how much they matter."""

import math
from collections.abc import Collection, Iterator
from typing import Any

from pfbench.reporting.tables import Cell, Table, TableRow
from pfbench.reporting.wording import format_integer, join_items, name_within_sentence, pluralize
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.labels import setting_title
from pfbench.runs.planning.study import LabelledSelector, Setting, Study
from pfbench.runs.planning.tune import TunedMethod, TuningChoice, TuningPlan, choice_key


def tuning_tables(study: Study) -> list[Table]:
    """Return the tables of chosen parameters and of all trials; empty without tuning."""
    if study.tune is None or not study.choices:
        return []
    return [choice_table(study, study.tune), all_trials_table(study, study.tune)]


def tuning_sentences(study: Study) -> list[str]:
    """Return sentences on how the methods were tuned; empty without tuning."""
    tune = study.tune
    if tune is None or not study.choices:
        return []
    result = list(_iterate_tuned(study))
    counts = [len(choice.trials) for *_, choice in result]
    first = [len(choice.trials) - len(choice.points_beyond) for *_, choice in result]
    fewer = sum(number < tune.trials for number in first)
    less = (
        f" ({format_integer(fewer)} of {format_integer(len(counts))} grids have fewer points)"
        if fewer
        else ""
    )
    excess = sum(counts) - sum(first)
    further = (
        f", and {pluralize(excess, 'trial')} one step beyond grids with a choice at their end"
        if excess
        else ""
    )
    return [
        f"{pluralize(len(tune.methods), 'method')} tuned, "
        f"{pluralize(tune.trials, 'trial')} each on each problem{less}, "
        f"{pluralize(len(tune.seeds), 'seed')} a trial{further}: {pluralize(sum(counts), 'trial')} of "  # noqa: E501
        f"{format_integer(sum(search_calls(choice) for *_, choice in result))} {tune.count.upper()} in all. "  # noqa: E501
        f"The fewest expected {tune.count.upper()} to {describe_tuning_targets(tune)} decide, and the chosen parameters "  # noqa: E501
        "are run on fresh seeds."
    ]


def _format_level(target: Stop) -> str:
    return f"{name_within_sentence(target.measure)} ≤ {target.target:g}"


def describe_tuning_targets(tune: TuningPlan) -> str:
    """Return the targets of the tuning as text."""
    if len(tune.targets) == 1:
        return _format_level(tune.targets[0])
    return f"{join_items([_format_level(target) for target in tune.targets])}, separately for each,"


def search_calls(choice: TuningChoice) -> int:
    """Return the total calls of all trials of a search."""
    return sum(trial.total_calls for trial in choice.trials)


def _iterate_tuned(
    study: Study,
) -> Iterator[tuple[LabelledSelector, TunedMethod, Setting, TuningChoice]]:
    choices = {choice.key: choice for choice in study.choices}
    for problem, method, setting in study.iterate_tuned():
        choice = choices.get(choice_key(problem.selector, method.selector, setting.values))
        if choice is not None:
            yield problem, method, setting, choice


def _choice_title(problem: LabelledSelector, setting: Setting) -> str:
    return f"{problem.label}, {setting.title}" if setting.title else problem.label


def choice_table(study: Study, tune: TuningPlan, labels: Collection[str] | None = None) -> Table:
    """Return the chosen parameters by problem, method and target, and their effect on calls.

    Parameters
    ----------
    labels
        Labels of the tuned methods that have rows; all if not given.
    """
    rows = []
    for problem, method, setting, choice in _iterate_tuned(study):
        if labels is not None and method.tuned_label not in labels:
            continue
        for index, target in enumerate(tune.targets):
            best, calls = (
                choice.best_trial(index),
                [trial.expected_calls[index] for trial in choice.trials],
            )
            reached = sorted(value for value in calls if math.isfinite(value))
            factor = reached[-1] / reached[0] if reached and reached[0] else None
            cells: list[Cell] = [f"{target.target:g}", setting_title(best.values)]
            cells += [", ".join(choice.parameters_at_ends(index)) or None, len(calls), len(reached)]
            cells += [
                _round_calls(best.expected_calls[index]),
                factor,
                _finite(best.last_values[index]),
            ]
            rows.append(
                TableRow(
                    _choice_title(problem, setting), method.label, [*cells, search_calls(choice)]
                )
            )
    return Table(
        f"{study.title}: what tuning chose",
        f"Expected {tune.count.upper()} to {describe_tuning_targets(tune)} on the seeds of the search "  # noqa: E501
        f"({', '.join(map(str, tune.seeds))}). At an end: the best value may lie beyond the grid, "
        "though the grid was extended by one step. Spread: the most calls of the trials that reach "
        "the target over the fewest. If none reaches it, the lowest last value decides. Cost: the "
        f"{tune.count.upper()} of all trials of the method on the problem, for all targets.",
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


def as_json(study: Study, labels: Collection[str]) -> list[dict[str, Any]]:
    """Return the tuned parameters of some methods as JSON records."""
    tune = study.tune
    return [
        {
            "problem": problem.label,
            "algorithm": method.tuned_label,
            "measure": target.measure,
            "target": target.target,
            "values": dict(choice.best_trial(index).values),
            "parameters_at_grid_end": list(choice.parameters_at_ends(index)),
            "trials": len(choice.trials),
            "reached": sum(hits > 0 for hits in (trial.hits[index] for trial in choice.trials)),
            "cost": search_calls(choice),
        }
        for problem, method, _, choice in _iterate_tuned(study)
        if tune is not None and method.tuned_label in labels
        for index, target in enumerate(tune.targets)
    ]


def all_trials_table(study: Study, tune: TuningPlan) -> Table:
    """Return the table of all trials: parameters, and expected calls to each target."""
    rows = []
    for problem, method, setting, choice in _iterate_tuned(study):
        best = [choice.best_trial(index) for index in range(len(tune.targets))]
        for trial in choice.trials:
            cells: list[Cell] = [setting_title(trial.values)]
            for point, hits in enumerate(trial.hits):
                cells += [f"{hits} of {len(tune.seeds)}", _round_calls(trial.expected_calls[point])]
            to = [
                f"{target.target:g}"
                for target, item in zip(tune.targets, best, strict=True)
                if item is trial
            ]
            cells += [_finite(trial.last_values[-1]), f"chosen for {', '.join(to)}" if to else None]
            rows.append(TableRow(_choice_title(problem, setting), method.label, cells))
    heads = [head for stop in tune.targets for head in (f"seeds to {stop.target:g}", "calls")]
    return Table(
        f"{study.title}: calls to the target against the parameters",
        f"All {format_integer(len(rows))} trials of the search: expected {tune.count.upper()} to "
        f"{describe_tuning_targets(tune)}.",
        ("problem", "method", "tried", *heads, "last", ""),
        rows,
    )


def _round_calls(value: float) -> int | float | None:
    """Return expected calls rounded as in tables: whole from 100 on, else to three digits."""
    return round(value) if 100 <= value < math.inf else _finite(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
