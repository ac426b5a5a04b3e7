"""Suites, which are specs of one study: adding methods, and dropping methods without runs.

`pfbench compare` adds a method, with parameters from the suite's ``[candidate]``. The methods of a
shipped suite also run on other problems.
"""

import inspect
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.counts import Budget
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.base.protocols import Problem
from pfbench.base.selectors import Selector
from pfbench.base.state import State
from pfbench.base.user_code import load_user_object
from pfbench.measures.catalogue import available_measures
from pfbench.runs.planning.name_resolution import select_problem
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.planning.spec_fields import PROJECTING
from pfbench.runs.planning.spec_text import fill_template, placeholder_names
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.tune import TunedMethod

AvailableRuns = Callable[[Sequence[PlannedRun]], Collection[PlannedRun]]
"""Function that returns which of some runs exist already."""


def suite_labels(suite: Spec) -> list[str]:
    """Return the labels of all methods of a suite, including tuned ones."""
    return list(dict.fromkeys(suite.study.all_labels))


def suite_runs(suite: Spec, labels: Collection[str]) -> set[PlannedRun]:
    """Return the planned runs of the methods with these labels, but no trial runs of tuning."""
    study = suite.study
    return {
        plan
        for setting in study.settings
        for problem in study.problems
        for entry in study.algorithms
        if entry.label in labels
        for plan in study.all_target_plans(problem, entry, setting)
    }


def tuning_trial_runs(suite: Spec, labels: Collection[str]) -> set[PlannedRun]:
    """Return the trial runs by which the methods with these labels are tuned."""
    study = suite.study
    return {
        plan
        for problem, method, setting in study.iterate_tuned_methods()
        if method.tuned_label in labels
        for _, plans in study.iterate_trials(problem, method, setting)
        for plan in plans
    }


def drop_incomplete_methods(
    suite: Spec, kept_labels: Collection[str], available: AvailableRuns
) -> Spec:
    """Return a suite without the methods for which a run, or a trial run, is missing.

    Methods with labels in `kept_labels` stay.
    """
    plans = {
        label: suite_runs(suite, [label]) | tuning_trial_runs(suite, [label])
        for label in suite_labels(suite)
        if label not in kept_labels
    }
    existing = {*available([plan for planned in plans.values() for plan in planned])}
    incomplete = {label for label, planned in plans.items() if not planned <= existing}
    return drop_methods(suite, incomplete)


def drop_methods(suite: Spec, labels: Collection[str]) -> Spec:
    """Return a suite without the methods with these labels."""
    study, tune = suite.study, suite.study.tune
    algorithms = tuple(entry for entry in study.algorithms if entry.label not in labels)
    methods = [each for each in study.tuned_methods if each.tuned_label not in labels]
    left = replace(tune, methods=tuple(methods)) if tune and methods else None
    return replace(suite, studies=(replace(study, algorithms=algorithms, tune=left),))


def add_candidate(suite: Spec, text: str) -> tuple[Spec, tuple[str, ...]]:
    """Return a suite with a method added, and the labels of the method in the suite.

    A catalogue method without parameters keeps its entries in the suite, if it has any. Required
    parameters that the selector lacks are taken from the suite's ``[candidate]``. For a method
    without linear minimisation, the table ``projecting`` in it takes precedence. If a parameter has
    several values there, the method is tuned over them like all others. A value may contain the
    name of another parameter in braces, as in ``ceil(n/{batch})``. The name stands for the value of
    that parameter, or for 1 if the class has no such parameter. A MODULE:NAME is imported: inform
    the user before.

    Raises
    ------
    InputError
        If there is no such method, or the suite has several studies.
    """
    if len(suite.studies) != 1:
        raise InputError(f"the suite {suite.name} has several studies: name a suite with one.")
    study, selector = suite.study, Selector.parse(text)
    own = ":" in selector.name
    if not own and selector.name not in ALGORITHMS:
        raise unknown_name_error("algorithm", selector.name, ALGORITHMS)
    labels = _labels_of_method(study, selector.name)
    if labels and not selector.texts:
        return suite, labels
    label = selector.name.rpartition(":")[2] if own else str(selector)
    kind: Any = load_user_object(selector.name) if own else ALGORITHMS[selector.name]
    parameters = inspect.signature(kind).parameters if callable(kind) else {}
    required = _values_for_missing_parameters(selector, kind, parameters, suite.candidate)
    defaults = {
        name: item.default for name, item in parameters.items() if isinstance(item.default, int)
    }
    values = _fill_in_untuned_values({**defaults, **selector.texts, **required}, required)
    tried = {name: value for name, value in values.items() if isinstance(value, list)}
    if not tried:
        label = _make_unused_label(label, study.labels)
        added = LabelledSelector(label, _add_parameters(selector, values))
        methods = (*study.algorithms, added)
        return suite.map_studies(lambda study: replace(study, algorithms=methods)), (label,)
    if study.tune is None:
        raise InputError(f"[candidate] of {suite.name} has lists to be tuned: add a table [tune].")
    label = _make_unused_label(label, [method.label for method in study.tune.methods])
    braces = values | {name: f"{{{name}}}" for name in tried}
    tuned = TunedMethod(label, _add_parameters(selector, braces), tried)
    tune = replace(study.tune, methods=(*study.tune.methods, tuned))
    return suite.map_studies(lambda study: replace(study, tune=tune)), (tuned.tuned_label,)


def _labels_of_method(study: Study, name: str) -> tuple[str, ...]:
    """Return the labels of all entries of a method in a study, including tuned ones."""
    named = [(entry.label, entry.selector) for entry in study.algorithms]
    named += [(method.tuned_label, method.selector) for method in study.tuned_methods]
    return tuple(label for label, text in named if text.partition("[")[0].strip() == name)


def _values_for_missing_parameters(
    selector: Selector,
    kind: Any,
    parameters: Mapping[str, inspect.Parameter],
    available: Mapping[str, Any],
) -> dict[str, Any]:
    """Return values for the parameters that a method requires and its selector lacks."""
    if "epsilon" in selector.texts:
        return {}
    if "lo" not in getattr(kind, "requires", ()):
        available = {**available, **available.get(PROJECTING, {})}
    lacking = available.keys() - selector.texts
    required = (name for name, item in parameters.items() if item.default is item.empty)
    return {name: available[name] for name in required if name in lacking}


def _fill_in_untuned_values(values: Mapping[str, Any], templates: dict[str, Any]) -> dict[str, Any]:
    """Replace the names in braces in parameters by values, except names whose value is a list.

    A list means that the name is that of a tuned parameter.
    """
    values = {
        key: f"{{{key}}}" if isinstance(value, list) else value for key, value in values.items()
    }

    def fill(subject: str, text: str) -> str:
        names = placeholder_names(text, location=f"candidate.{subject}")
        existing = dict.fromkeys(names, 1) | values
        return fill_template(
            text, location=f"candidate.{subject}", values_source="the method", values=existing
        )

    return {
        name: fill(name, parameter) if isinstance(parameter, str) else parameter
        for name, parameter in templates.items()
    }


def _add_parameters(selector: Selector, values: Mapping[str, Any]) -> str:
    """Return a selector with additional parameters."""
    pairs = [f"{name}={value}" for name, value in {**selector.texts, **values}.items()]
    return f"{selector.name}[{','.join(pairs)}]" if pairs else selector.name


def _make_unused_label(label: str, used: list[str] | tuple[str, ...]) -> str:
    """Return the label itself if it is unused, else the label with a suffix."""
    return label if label not in used else f"{label} (compared)"


SHARES = (0.3, 0.1, 0.03)
"""Targets on another problem, as shares of the measure at its start."""

PASSES = 20
"""Minimum budget of component gradients, in passes over the data."""

SAMPLES = 20_000
"""Minimum budget of component gradients of a sampler."""

_MEASURES = ("fw_gap", "dual_norm", "gradient_mapping_sq")
"""Measures for the targets on another problem; the first that is positive at its start is used."""

_EPSILON = re.compile(r"(?<![\w.])epsilon( ?= ?)[0-9.]+")


def adapt_suite_text(
    text: str,
    title: str,
    description: str,
    problems: Mapping[str, str],
    targets: Sequence[str] = (),
    budget: str = "",
) -> str:
    """Return the text of a shipped suite, changed so that its methods run on other problems.

    Parameters
    ----------
    problems
        Selectors by label, which may have names in braces.
    targets, budget
        As in a spec; by default those of the suite.
    """

    def substitute(pattern: str, by: str) -> None:
        nonlocal text
        text, number = re.subn(pattern, lambda _: by, text, count=1, flags=re.MULTILINE | re.DOTALL)
        if not number:
            raise AssertionError(f"nothing in the text of the built-in suite matches {pattern}")

    substitute(r"^title = .*?$", f"title = {json.dumps(title)}")
    substitute(r'^about = """.*?"""$', f"about = {json.dumps(description)}")
    lines = [f"{json.dumps(label)} = {json.dumps(problem)}" for label, problem in problems.items()]
    substitute(r"^\[problems\]$.*?(?=^\[)", "\n".join(["[problems]", *lines, "", ""]))
    if targets:
        substitute(r"^targets = .*?$", f"targets = {json.dumps(list(targets))}")
    if budget:
        substitute(r"^budget = .*?$", f"budget = {json.dumps(budget)}")
    return text


def adapt_suite_to_problem(suite: Path, selector: str) -> Spec:
    """Return a shipped suite for one problem; targets are fractions of a measure's start value.

    Schedules that follow from a theorem use the middle target as epsilon. If the selector is
    MODULE:NAME, the module is imported.

    Raises
    ------
    InputError
        If there is no such problem, or no target can be derived from its start.
    """
    problem = select_problem(selector)
    measure, value = _target_measure_at_start(problem, selector)
    shares = [share**2 if measure.endswith("_sq") else share for share in SHARES]
    levels = [f"{value * share:.2g}" for share in shares]
    text = suite.read_text("utf-8")
    name = Selector.parse(selector).name.rpartition(":")[2]
    suited = load_spec(suite)
    limits = dict(Budget.parse(suited.study.budget).limits)
    limits["sfo"] = max(limits["sfo"], SAMPLES if problem.n is None else PASSES * problem.n)
    text = adapt_suite_text(
        _EPSILON.sub(rf"epsilon\g<1>{levels[1]}", text),
        f"{name}: the methods of the suite {suited.name}",
        f"The methods of the suite {suited.name} on {selector}. Targets are shares of {measure} at "
        f"its start, {value:.3g}: {', '.join(f'{share:g}' for share in shares)}. Schedules of "
        "theorems are those for the second target.",
        {name: selector},
        [f"{measure}={level}" for level in levels],
        ",".join(f"{count}={int(limit)}" for count, limit in limits.items()),
    )
    if measure not in suited.study.measures:
        recorded = json.dumps([measure, "objective"])
        text = re.sub(r"(?m)^measures = .*$", lambda _: f"measures = {recorded}", text, count=1)
    return load_spec(Path(f"{name}.toml"), text)


def _target_measure_at_start(problem: Problem, selector: str) -> tuple[str, float]:
    """Return the name of the measure on which targets are set, and its value at the start point."""
    start = State(problem.start())
    existing = available_measures(problem)
    for name in _MEASURES:
        result = existing[name](problem, start) if name in existing else None
        value = result[1] if isinstance(result, tuple) else result
        if value is not None and 0 < value < float("inf"):
            return name, float(value)
    raise InputError(
        f"none of the measures {', '.join(_MEASURES)} is above 0 at the start of {selector}: give "
        "this problem another start, or name a suite of yours with --suite FILE."
    )
