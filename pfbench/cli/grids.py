"""``pfbench compare --grid``: the tuned parameters of the methods of a suite."""

import re
from typing import TYPE_CHECKING

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.cli.terminal import announce_imports
from pfbench.cli.terminal_tables import (
    ReportedFact,
    make_table,
    print_parts,
    section_with_title,
    show_facts,
)

if TYPE_CHECKING:
    from pfbench.runs.planning.study import Spec
    from pfbench.runs.planning.tune import TunedMethod, TuningPlan

_OFTEN = ("step", "batch")
"""Parameters that have a separate column."""


def show_grids(spec: "Spec", method: str | None, *, as_json: bool) -> None:
    """Show the tuned parameters of each method of a suite, and of a named candidate."""
    from pfbench.runs.planning.candidate import add_candidate
    from pfbench.runs.planning.plugin_names import expand_plugin_name

    if method is not None:
        method = expand_plugin_name("algorithm", method)
        announce_imports([method])
        spec = add_candidate(spec, method)[0]
    tune = spec.study.tune
    if tune is None:
        raise InputError(f"the suite {spec.name} has no [tune]: name a suite with tuning.")
    if as_json:
        grids = [
            {
                "algorithm": method.tuned_label,
                "selector": method.selector,
                "grid": {name: list(values) for name, values in method.grid.items()},
                "trials": len(method.grid_points(tune.trials)),
            }
            for method in tune.methods
        ]
        candidate = dict(spec.candidate)
        facts = [
            ReportedFact("name", spec.name),
            ReportedFact("candidate", candidate),
            ReportedFact("grids", grids),
        ]
        show_facts(facts, as_json=True)
        return
    heads = ("method", *_OFTEN, "other parameters", "trials")
    print_parts(
        make_table(heads, [_grid_row(method, tune) for method in tune.methods]),
        section_with_title("rule", *_describe_tuning_rule(tune)),
    )


def _grid_row(method: "TunedMethod", tune: "TuningPlan") -> list[str]:
    from pfbench.base.relative import is_constant_formula

    rest = {
        name: _format_values(values) for name, values in method.grid.items() if name not in _OFTEN
    }
    texts = Selector.parse(method.selector).texts
    plain = {name: re.sub(r"\{\w+\}", "1", text) for name, text in texts.items()}
    rest |= {name: texts[name] for name, text in plain.items() if is_constant_formula(text)}
    return [
        method.tuned_label,
        *(_format_values(method.grid.get(name, ())) for name in _OFTEN),
        "; ".join(f"{name} {words}" for name, words in rest.items()),
        str(len(method.grid_points(tune.trials))),
    ]


def _format_values(values: "object") -> str:
    return ", ".join(map(str, values)) if isinstance(values, list | tuple) else ""


def _describe_tuning_rule(tune: "TuningPlan") -> list[str]:
    targets = ", ".join(f"{stop.measure} <= {stop.target:g}" for stop in tune.targets)
    further = (
        " If the chosen value is at an end of a list of numbers, the list is extended once by one "
        "value, which is tried, too."
    )
    return [
        "On each problem, each method makes these trials with the seeds "
        f"{_format_values(tune.seeds)}. For each of {targets}, the trial with the fewest expected "
        f"{tune.count.upper()} calls is chosen.{further if tune.extends_grid else ''}",
        "3/L is 3 over the problem's L, the larger of L_f and L_ms; ceil(n/{batch}) is one pass "
        "over its components. The step of a method with linear minimisations is a plain number: "
        "the share of the way to a vertex, which has no unit.",
        "Your own method is tuned by the same rule. Required parameters that you do not give take "
        "the values of [candidate] in the suite; for a method without linear minimisation, the "
        "values of [candidate.projecting] come first.",
    ]
