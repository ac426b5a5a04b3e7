"""Studies of algorithms on problems, and their runs.

A study is the product of its problems, algorithms, settings and seeds. Selectors, `every` and the
budget may have names in braces, as in ``{batch}``, which stand for the values of a setting. The
name ``{seed}`` stands for the run's seed. A run that does not depend on a setting is planned once.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from pfbench.base.checks import check_integer
from pfbench.base.counts import Budget
from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.name_resolution import unquote_selector
from pfbench.runs.planning.plan import PlannedRun, list_user_code_names
from pfbench.runs.planning.published import CostUnit, PublishedOrdering, parse_unit_costs
from pfbench.runs.planning.spec_text import fill_template
from pfbench.runs.planning.tune import (
    StudySetting,
    TunedMethod,
    TuningChoice,
    TuningPlan,
    Values,
    choice_key,
)


@dataclass(frozen=True)
class LabelledSelector:
    """Problem or algorithm of a study: its name in figures, and its selector."""

    label: str
    selector: str


@dataclass(frozen=True)
class Study:
    """Comparison of algorithms on problems.

    Attributes
    ----------
    key, title, introduction
        A short name (empty for the only study of a spec), a heading, and a paragraph.
    problems, algorithms, settings
        The compared algorithms, the problems, and the settings: at least one of each.
    seeds
        The algorithms' seeds.
    measures
        The measures in figures, in this order, by their names in the trace.
    recorded_measures
        The same measures by their names in the spec, including ``MODULE:NAME``.
    frequency
        Number of iterations between recorded rows: a number, or a name in braces.
    budget
        Maximum numbers of calls, as in ``sfo={calls},lo=100``; empty for no limit.
    targets
        Levels of one measure, by its name in the trace, hardest last; a run stops at the hardest.
    time_limit, memory_limit
        Limits of a run in seconds and bytes; None for no limit.
    price
        Cost of a call of each kind, for a further comparison; empty for none.
    orderings
        Published rankings of the algorithms.
    forms
        Labels of the algorithms that are forms of one method, by the method's name in the rankings.
        A ranking is about the best form of each method.
    units
        Cost units of the paper, its main unit first; empty if the paper counts as pfbench does.
    assumed_settings
        Settings that the paper does not state, a sentence each.
    tune
        Plan of the tuning before the comparison; None if no method is tuned.
    choices
        Parameters chosen for the tuned methods; empty before tuning.
    """

    key: str
    title: str
    introduction: str
    problems: tuple[LabelledSelector, ...] = ()
    algorithms: tuple[LabelledSelector, ...] = ()
    settings: tuple[StudySetting, ...] = (StudySetting("", {}),)
    seeds: tuple[int, ...] = (0,)
    measures: tuple[str, ...] = ()
    recorded_measures: tuple[str, ...] = ()
    frequency: str = "1"
    budget: str = ""
    targets: tuple[Stop, ...] = ()
    time_limit: float | None = None
    memory_limit: float | None = None
    price: Mapping[str, float] = field(default_factory=dict)
    orderings: tuple[PublishedOrdering, ...] = ()
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: tuple[CostUnit, ...] = ()
    assumed_settings: tuple[str, ...] = ()
    tune: TuningPlan | None = None
    choices: tuple[TuningChoice, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the algorithms."""
        return tuple(algorithm.label for algorithm in self.algorithms)

    @property
    def tuned_methods(self) -> tuple[TunedMethod, ...]:
        """Methods that the study tunes."""
        return self.tune.methods if self.tune else ()

    @property
    def all_labels(self) -> tuple[str, ...]:
        """Labels of the algorithms, including those of tuned methods after tuning."""
        return (*self.labels, *(method.tuned_label for method in self.tuned_methods))

    def labels_of_variants(self, name: str) -> tuple[str, ...]:
        """Return the labels of all variants of a method, or only `name` if it has no variants."""
        return self.forms.get(name, (name,))

    @property
    def ordering_test_count(self) -> int:
        """Number of tests of published rankings: one for each pair, problem and setting.

        If a method of a pair has several forms, the pair counts once for each of these forms.
        """
        panels = list(product(self.problems, self.settings))
        return sum(
            max(len(self.labels_of_variants(name)) for name in pair)
            for ordering in self.orderings
            for pair in ordering.pairs
            for on, setting in panels
            if ordering.is_about(on.label, setting.title)
        )

    def unit_costs(
        self, unit: CostUnit, label: str, setting: Mapping[str, Any]
    ) -> dict[str, float]:
        """Return an algorithm's cost of a call of each oracle kind, in the cost unit of a paper.

        Raises
        ------
        InputError
            If a name in braces has no value, or a weight is not a number above 0.
        """
        location = f"unit {unit.name!r}"
        return parse_unit_costs(
            location,
            fill_template(
                unit.algorithm_weights_text(label),
                location=location,
                values_source="the setting",
                values=setting,
            ),
        )

    @property
    def final_target(self) -> Stop | None:
        """Hardest target; None without targets."""
        return self.targets[-1] if self.targets else None

    @property
    def tuning_targets(self) -> tuple[Stop, ...]:
        """Targets for which methods are tuned, hardest last: the study's, or a single one."""
        return (self.tune.target,) if self.tune and self.tune.target else self.targets

    def plans_by_target(
        self, problem: LabelledSelector, algorithm: LabelledSelector, setting: StudySetting
    ) -> dict[Stop | None, tuple[PlannedRun, ...]]:
        """Return, for each target, the runs by which an algorithm is judged: one for each seed.

        Without targets, the only key is None. A run with tuned parameters stops at the hardest
        target for which its parameters were chosen.

        Raises
        ------
        InputError
            If a name in braces has no value, or the filled text is no selector, number or budget.
        """
        targets = self.targets or (None,)
        choice = self._choices_by_key.get(
            choice_key(problem.selector, algorithm.selector, setting.values)
        )
        plan = partial(self._plan_runs, problem, algorithm.selector, setting, self.seeds)
        if choice is None or self.tune is None:
            return dict.fromkeys(targets, plan({}, self.final_target))
        tuned_for = self.tuning_targets
        best = {
            target: choice.best_trial(tuned_for.index(target) if target in tuned_for else -1)
            for target in targets
        }
        hardest = {id(trial): target for target, trial in best.items()}
        return {target: plan(trial.values, hardest[id(trial)]) for target, trial in best.items()}

    def all_target_plans(
        self, problem: LabelledSelector, algorithm: LabelledSelector, setting: StudySetting
    ) -> tuple[PlannedRun, ...]:
        """Return the planned runs of an algorithm on a problem at a setting, for all targets."""
        planned_runs = dict.fromkeys(self.plans_by_target(problem, algorithm, setting).values())
        return tuple(plan for plans in planned_runs for plan in plans)

    def _plan_runs(
        self,
        problem: LabelledSelector,
        algorithm: str,
        setting: StudySetting,
        seeds: Sequence[int],
        tuned: Values,
        stop: Stop | None,
    ) -> tuple[PlannedRun, ...]:
        """Return the planned run for each seed, with the given values of tuned parameters."""
        location, giver = f"study {self.key or self.title!r}", f"the setting {setting.title!r}"
        values = {**setting.values, **tuned}
        templates = (problem.selector, algorithm, self.frequency, self.budget)
        needs_seed = any("{seed}" in template for template in templates)
        planned_runs: list[PlannedRun] = []
        for seed in seeds:
            if needs_seed or not planned_runs:
                pairs = tuple(
                    (name, str(value)) for name, value in {**values, "seed": seed}.items()
                )
                texts = _fill_templates(templates, pairs, location, giver)
                on, method = map(canonical_selector, texts[:2])
                rest = (
                    self.recorded_measures,
                    recording_interval_as_int(location, texts[2]),
                    _budget(texts[3]) if texts[3] else None,
                    stop,
                    self.time_limit,
                    self.memory_limit,
                )
            planned_runs.append(PlannedRun(on, method, seed, *rest))
        return tuple(planned_runs)

    @cached_property
    def _choices_by_key(self) -> dict[tuple[str, ...], TuningChoice]:
        return {choice.key_without_target: choice for choice in self.choices}

    def iterate_trials(
        self, problem: LabelledSelector, method: TunedMethod, setting: StudySetting
    ) -> Iterator[tuple[Values, tuple[PlannedRun, ...]]]:
        """Yield each grid point to be tried for a method, with its runs on the search seeds.

        The runs stop at the hardest target, so that parameters can be chosen for all targets.
        """
        if self.tune is None:
            return
        choice = self._choices_by_key.get(
            choice_key(problem.selector, method.selector, setting.values)
        )
        for point in [
            *method.grid_points(self.tune.trials),
            *(choice.points_beyond if choice else ()),
        ]:
            seeds, stop = self.tune.seeds, self.tuning_targets[-1]
            yield point, self._plan_runs(problem, method.selector, setting, seeds, point, stop)

    def iterate_tuned_methods(self) -> Iterator[tuple[LabelledSelector, TunedMethod, StudySetting]]:
        """Yield each tuned method on each problem at each setting."""
        for setting, problem, method in product(self.settings, self.problems, self.tuned_methods):
            yield problem, method, setting

    def search_runs(self) -> Iterator[PlannedRun]:
        """Yield the planned runs of the search for tuned parameters."""
        for problem, method, setting in self.iterate_tuned_methods():
            for _, runs in self.iterate_trials(problem, method, setting):
                yield from runs

    def runs(self) -> Iterator[PlannedRun]:
        """Yield all planned runs by setting, problem, algorithm and seed, including repetitions."""
        for setting, problem, algorithm in product(self.settings, self.problems, self.algorithms):
            yield from self.all_target_plans(problem, algorithm, setting)


@dataclass(frozen=True)
class Spec:
    """Comparison or sweep that a TOML file describes: its title, introduction and studies.

    Attributes
    ----------
    name
        A short name, which the files of its report have.
    text, path
        The text of the spec, and its path; empty, and None, if it was not read from a file.
    candidate
        Parameters of a method that `pfbench compare` adds to this suite; lists of values are tuned.
    """

    name: str
    title: str
    introduction: str
    studies: tuple[Study, ...]
    text: str = ""
    path: Path | None = None
    candidate: Mapping[str, Any] = field(default_factory=dict)

    @property
    def study(self) -> Study:
        """Only study of a spec with a single study, such as a suite."""
        (study,) = self.studies
        return study

    def map_studies(self, function: Callable[[Study], Study]) -> "Spec":
        """Return the spec with a function applied to each study."""
        return replace(self, studies=tuple(map(function, self.studies)))

    def runs(self) -> list[PlannedRun]:
        """Return all planned runs, each once."""
        return list(self.targets)

    @cached_property
    def targets(self) -> dict[PlannedRun, tuple[Stop, ...]]:
        """Targets of each planned run."""
        stops: dict[PlannedRun, tuple[Stop, ...]] = {}
        for study in self.studies:
            for run in study.runs():
                stops[run] = tuple(dict.fromkeys([*stops.get(run, ()), *study.targets]))
        return stops

    @property
    def user_selectors(self) -> list[str]:
        """Selectors MODULE:NAME that the runs import and call, each once."""
        plans = (*self.targets, *self.search_runs())
        texts = dict.fromkeys(text for plan in plans for text in plan.selectors)
        return [text for text in texts if list_user_code_names([text])]

    def search_runs(self) -> list[PlannedRun]:
        """Return the planned runs that search for tuned parameters in all studies, each once."""
        return list(dict.fromkeys(run for study in self.studies for run in study.search_runs()))


@lru_cache(maxsize=2**15)
def _fill_templates(
    templates: tuple[str, ...],
    values: tuple[tuple[str, str], ...],
    location: str,
    values_source: str,
) -> tuple[str, ...]:
    """Return templates with values in place of the names in braces; the result is cached."""
    existing = dict(values)
    return tuple(
        fill_template(template, location=location, values_source=values_source, values=existing)
        for template in templates
    )


_budget = lru_cache(maxsize=64)(Budget.parse)


@lru_cache(maxsize=2**15)
def canonical_selector(selector: str) -> str:
    """Return the canonical text of a selector; equal selectors have equal texts.

    Raises
    ------
    InputError
        If the selector cannot be read.
    """
    return unquote_selector(str(Selector.parse(selector)))


def recording_interval_as_int(location: str, every: str) -> int:
    """Return, as an integer, the number of iterations between two rows of a trace.

    Raises
    ------
    InputError
        If the text is not an integer of at least 1.
    """
    number = int(every) if re.fullmatch(r"[0-9]{1,18}", every) else every
    return check_integer(f"{location}: every", number, minimum=1)
