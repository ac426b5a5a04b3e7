"""Methods of a shipped suite on other problems."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pfbench.base.counts import Budget
from pfbench.base.errors import InputError
from pfbench.base.protocols import Problem
from pfbench.base.selectors import Selector
from pfbench.base.state import State
from pfbench.measures import available_measures
from pfbench.runs.planning.name_resolution import select_problem
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.planning.study import Spec

SHARES = (0.3, 0.1, 0.03)
"""Targets, as shares of the measure at the start of the problem."""

PASSES = 20
"""Minimum budget of component gradients, in passes over the data."""

SAMPLES = 20_000
"""Minimum budget of component gradients of a sampler."""

_MEASURES = ("fw_gap", "dual_norm", "gradient_mapping_sq")
"""Candidates for the measure of the targets: the first that is positive at the start."""

_EPSILON = re.compile(r"(?<![\w.])epsilon( ?= ?)[0-9.]+")


def format_suite_text(
    text: str,
    title: str,
    description: str,
    problems: Mapping[str, str],
    targets: Sequence[str] = (),
    budget: str = "",
) -> str:
    """Return the text of a shipped suite with its methods, on other problems.

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
            raise AssertionError(f"a shipped suite has {pattern}")

    substitute(r"^title = .*?$", f"title = {json.dumps(title)}")
    substitute(r'^about = """.*?"""$', f"about = {json.dumps(description)}")
    lines = [f"{json.dumps(label)} = {json.dumps(problem)}" for label, problem in problems.items()]
    substitute(r"^\[problems\]$.*?(?=^\[)", "\n".join(["[problems]", *lines, "", ""]))
    if targets:
        substitute(r"^targets = .*?$", f"targets = {json.dumps(list(targets))}")
    if budget:
        substitute(r"^budget = .*?$", f"budget = {json.dumps(budget)}")
    return text


def restrict_to_problem(suite: Path, selector: str) -> Spec:
    """Return a shipped suite on a single problem, with targets derived from its start.

    The schedules of theorems are those for the middle target. A MODULE:NAME is imported.

    Raises
    ------
    InputError
        If there is no such problem, or no target can be derived from its start.
    """
    problem = select_problem(selector)
    measure, value = _measure_at_start(problem, selector)
    shares = [share**2 if measure.endswith("_sq") else share for share in SHARES]
    levels = [f"{value * share:.2g}" for share in shares]
    text = suite.read_text("utf-8")
    name = Selector.parse(selector).name.rpartition(":")[2]
    suited = load_spec(suite)
    limits = dict(Budget.parse(suited.study.budget).limits)
    limits["sfo"] = max(limits["sfo"], SAMPLES if problem.n is None else PASSES * problem.n)
    text = format_suite_text(
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


def _measure_at_start(problem: Problem, selector: str) -> tuple[str, float]:
    """Return the measure of the targets, and its value at the start."""
    start = State(problem.start())
    existing = available_measures(problem)
    for name in _MEASURES:
        result = existing[name](problem, start) if name in existing else None
        value = result[1] if isinstance(result, tuple) else result
        if value is not None and 0 < value < float("inf"):
            return name, float(value)
    raise InputError(
        f"none of {', '.join(_MEASURES)} is above 0 at the start of {selector}: give it another "
        "start, or name a suite of yours with --suite FILE."
    )
