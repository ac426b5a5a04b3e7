"""Effects of tuning: the chosen parameters, and how much they change the number of calls."""

import math
from collections.abc import Collection
from typing import Any, NamedTuple

from pfbench.reporting.tables import Cell, Table, TableRow
from pfbench.reporting.wording import NOTES, join_items, name_within_sentence
from pfbench.runs.planning.spec_text import setting_title
from pfbench.runs.planning.study import Study
from pfbench.runs.planning.tune import TunedMethod, TuningChoice, choice_key


class _Search(NamedTuple):
    """Tuning of one method on one problem at one setting, with the chosen parameters."""

    problem: str
    title: str
    """Title of the problem and its setting."""
    method: TunedMethod
    choice: TuningChoice

    @property
    def total_calls(self) -> int:
        """Total number of oracle calls in all trials."""
        return sum(trial.total_calls for trial in self.choice.trials)


def _list_finished_tunings(study: Study, labels: Collection[str] | None = None) -> list[_Search]:
    """Return the finished parameter searches, without those of which each run was refused.

    If `labels` is given, only the searches of methods with these tuned labels are returned.
    """
    choices = {choice.key_without_target: choice for choice in study.choices}
    return [
        _Search(problem.label, title, method, choice)
        for problem, method, setting in (study.iterate_tuned_methods() if study.tune else ())
        if labels is None or method.tuned_label in labels
        if (choice := choices.get(choice_key(problem.selector, method.selector, setting.values)))
        if any(trial.total_calls or any(trial.hits) for trial in choice.trials)
        for title in [", ".join(filter(None, (problem.label, setting.title)))]
    ]


def _describe_targets(study: Study) -> str:
    """Return the targets for which methods are tuned, as a phrase."""
    levels = [
        f"{name_within_sentence(stop.measure)} ≤ {stop.target:g}" for stop in study.tuning_targets
    ]
    return levels[0] if len(levels) == 1 else f"{join_items(levels)}, separately for each,"


def choice_table(study: Study, labels: Collection[str] | None = None) -> Table | None:
    """Return a table of the chosen parameters, and of their effect on the number of calls.

    There is one row for each problem, method and target.

    Parameters
    ----------
    labels
        Labels of the tuned methods that have rows; all if not given.

    Returns
    -------
    Table or None
        None if no method was tuned.
    """
    tune, rows = study.tune, []
    for search in _list_finished_tunings(study, labels):
        choice = search.choice
        for index, target in enumerate(study.tuning_targets):
            best = choice.best_trial(index)
            calls = [trial.expected_calls[index] for trial in choice.trials]
            reached = [number for number in calls if math.isfinite(number)]
            spread = max(reached) / min(reached) if reached and min(reached) > 0 else None
            cells: list[Cell] = [
                f"{target.target:g}",
                setting_title(best.values),
                ", ".join(choice.parameters_at_ends(index)) or None,
                len(calls),
                len(reached),
                _round_calls_as_printed(best.expected_calls[index]),
                spread,
                _finite(best.last_values[index]),
                search.total_calls,
            ]
            rows.append(TableRow(search.title, search.method.label, cells))
    if tune is None or not rows:
        return None
    seeds = ", ".join(map(str, tune.seeds))
    note = NOTES["tuning"].format(trials=tune.trials, targets=_describe_targets(study), seeds=seeds)
    first = ("problem", "method", "target", "chosen", "at an end", "trials", "of these reach it")
    head = (*first, "calls", "spread", "last", "cost")
    return Table(f"{study.title}: what tuning chose", note, head, rows)


def choices_as_json(study: Study, labels: Collection[str]) -> list[dict[str, Any]]:
    """Return the tuned parameters of some methods as JSON records."""
    return [
        {
            "problem": search.problem,
            "algorithm": search.method.tuned_label,
            "measure": target.measure,
            "target": target.target,
            "values": dict(search.choice.best_trial(index).values),
            "parameters_at_grid_end": list(search.choice.parameters_at_ends(index)),
            "trials": len(search.choice.trials),
            "reached": sum(trial.hits[index] > 0 for trial in search.choice.trials),
            "cost": search.total_calls,
        }
        for search in _list_finished_tunings(study, labels)
        for index, target in enumerate(study.tuning_targets)
    ]


def _round_calls_as_printed(value: float) -> int | float | None:
    """Return expected calls rounded as in tables.

    Numbers from 100 on are whole, and smaller ones have three significant digits.
    """
    return round(value) if 100 <= value < math.inf else _finite(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
