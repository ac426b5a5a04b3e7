"""``pfbench info``: print one item with its parameters, constants and counts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import DataError
from pfbench.base.selectors import Selector, is_user_defined
from pfbench.cli import descriptions, formatting, terminal
from pfbench.cli.catalogue import (
    CatalogueItem,
    find_item,
    get_parameters,
    make_user_item,
    report_spec_paths,
)
from pfbench.cli.options import AS_JSON, argument
from pfbench.cli.terminal import Fact, field_table, section_with_title

if TYPE_CHECKING:
    from pfbench.runs.planning.study import Study

Described = tuple[Sequence[Fact], Sequence[RenderableType | None]]
"""Facts about an item in addition to name, kind, source and summary, and further sections."""

_PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        "smooth": "a problem without set and penalty",
        "set": "a problem with a feasible set",
        "polytope": "a problem over a polytope",
        "norm": "a problem with a norm in place of a set",
    }
)
"""Kinds of problems that an algorithm may require, in words."""


def info(name: str = argument("NAME", default=...), as_json: bool = AS_JSON) -> None:
    """Show an item in full: parameters, constants, counts.

    NAME is an item from `pfbench list`, or your own, FILE.py:NAME. A problem may have parameters,
    as in "robust-matrix-recovery[source=digits]": its constants are then those on these data.
    """
    a_report = name.removeprefix("report:") in report_spec_paths()  # whose name may have a folder
    selector = Selector(name) if a_report else Selector.parse(name)
    own = is_user_defined(selector.name, _KINDS)
    if own:  # it is printed before it is imported
        terminal.announce_imports([selector.name])
    item = make_user_item(selector.name) if own else find_item(selector.name)
    facts, parts = _KINDS[item.kind](replace(selector, name=item.name), item)
    terminal.show_facts([*item.facts, *facts], *parts, as_json=as_json)


def _return_description(function: Any) -> str:
    """Return the description of a function's result, taken from its docstring."""
    text = formatting.docstring_summary(function).removeprefix("Return ")
    return text.replace("Refuse:", "none:", 1)


# --- algorithms and estimators --------------------------------------------------------------------


def _describe_algorithm(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.claims.catalogue import CLAIMS

    _check_parameters(selector, item)
    cls = item.object
    parameters, theory = get_parameters(cls), _describe_theory(cls)
    guarantee = getattr(cls, "guarantee", None)
    promises = guarantee.description if guarantee else None
    scale_dependence = getattr(cls, "scale_dependence", "") or None
    requires = {verb: _describe_requirement(verb) for verb in sorted(cls.requires)}
    assumed: frozenset[str] = getattr(cls, "assumes", frozenset())
    assumes = _explain_assumptions(assumed) or "nothing beyond smoothness"
    claims = [claim.name for claim in CLAIMS.values() if claim.algorithm == item.name]
    deterministic = bool(getattr(cls, "deterministic", False))
    random = "no: it is deterministic" if deterministic else "yes, from --seed"
    facts = [
        Fact("parameters", descriptions.describe_parameters(parameters)),
        Fact("theory", theory),
        Fact("promises", promises),
        Fact("scale_dependence", scale_dependence),
        Fact("requires", requires),
        Fact("counts", getattr(cls, "counts", "not stated"), "counts"),
        Fact("assumes", sorted(assumed), "assumes", assumes),
        Fact("deterministic", deterministic, "random", random),
        Fact("claims", claims, "claims"),
    ]
    schedule = [
        f'To use it, give only the accuracy, as in "{item.name}[epsilon=0.1]":',
        f"This gives {theory}.",
        f"It guarantees {promises}." if promises else "",
        f"It changes with the units of f and x: {scale_dependence}." if scale_dependence else "",
        "An explicit parameter replaces that of the schedule; the schedule is then `explicit`.",
    ]
    return facts, [
        section_with_title("it requires", field_table(requires.items())),
        descriptions.parameter_table(parameters),
        section_with_title("schedule of its theorem", *filter(None, schedule)) if theory else None,
    ]


def _describe_theory(cls: Any) -> str | None:
    """Describe the parameter schedule of a method's theorem; None if there is no theorem."""
    from pfbench.algorithms import Algorithm

    if getdoc(getattr(cls, "theory", None)) in (None, getdoc(Algorithm.theory)):
        return None
    theory = formatting.docstring_summary(cls.theory)
    if hasattr(cls, "estimator_parameters"):
        theory += f"; {formatting.docstring_summary(cls.estimator_parameters)}"
    return theory.replace("Return ", "")


def _describe_requirement(verb: str) -> str:
    from pfbench.oracles import Oracles

    if verb.startswith("norm "):
        return f"the {verb}"
    return _PROBLEMS.get(verb) or _return_description(getattr(Oracles, verb))


def _check_parameters(selector: Selector, item: CatalogueItem) -> None:
    """Raise an error if the selector sets a parameter that the item does not have."""
    from pfbench.algorithms import ALGORITHMS
    from pfbench.algorithms.catalogue import select_algorithm
    from pfbench.base.parameters import check_parameter_names

    if item.object is ALGORITHMS.get(item.name):
        select_algorithm(selector)
    else:
        check_parameter_names(item.name, selector.parameters, get_parameters(item.object))


def _explain_assumptions(assumptions: Iterable[str]) -> str:
    from pfbench.base.protocols import ASSUMPTIONS

    return "; ".join(f"{name} ({ASSUMPTIONS[name]})" for name in sorted(assumptions))


def _describe_estimator(selector: Selector, item: CatalogueItem) -> Described:
    parameters = get_parameters(item.object)
    return [Fact("parameters", descriptions.describe_parameters(parameters))], [
        descriptions.parameter_table(parameters)
    ]


# --- problems -------------------------------------------------------------------------------------


def _describe_problem_item(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.problems import PROBLEMS

    built_in = item.object is PROBLEMS.get(item.name)
    parameters = item.object.parameters() if built_in else get_parameters(item.object)
    facts = [
        Fact("sources", list(item.object.data_source_names) if built_in else [], "data"),
        Fact("parameters", descriptions.describe_parameters(parameters)),
        Fact("selector", str(selector)),
    ]
    table = descriptions.parameter_table(parameters)
    required = [name for name, parameter in parameters.items() if parameter.is_required]
    missing = [name for name in required if name not in selector.parameters]
    if missing and not built_in:
        reason = f"it needs {', '.join(missing)}"
        return [*facts, Fact("built", None), Fact("not_built", reason)], [table]
    try:
        built, parts = _describe_problem(selector)
    except DataError as error:
        if selector.parameters:
            raise
        remark = section_with_title("constants", f"Not built: {error}")
        return [*facts, Fact("built", None), Fact("not_built", str(error))], [table, remark]
    displayed = section_with_title(str(selector), field_table(terminal.fact_lines(built)))
    return [*facts, Fact("built", terminal.fact_values(built))], [table, displayed, *parts]


def _describe_problem(selector: Selector) -> Described:
    """Return the facts about a problem: size, properties, constants and measures."""
    from pfbench.base.protocols import list_known_assumptions
    from pfbench.measures import MEANING, available_measures
    from pfbench.runs.planning.name_resolution import select_problem

    problem = select_problem(str(Selector(selector.name, selector.texts)))
    result = problem.constants(problem.start())
    constants = descriptions.describe_constants(result, result.derivations)
    assumed = sorted(list_known_assumptions(problem))
    measures = {
        name: MEANING[name].summary if name in MEANING else ""
        for name in available_measures(problem)
    }
    best, optimum, objective = problem.best_known, None, "not known"
    if best is not None:
        optimum = {"value": best[0], "source": best[1]}
        objective = f"{formatting.format_number(best[0])} ({best[1]})"
    facts = [
        Fact("shape", list(problem.shape), "points", formatting.format_shape(problem.shape)),
        Fact("n", problem.n, "size", formatting.format_component_count(problem.n)),
        Fact("properties", assumed, "properties", _explain_assumptions(assumed) or "none known"),
        Fact("best_known", optimum, "best objective", objective),
        Fact("digest", problem.digest, "digest", problem.digest[:16]),
        Fact("constants", constants),
        Fact("measures", measures),
    ]
    return facts, [
        section_with_title("constants", descriptions.constant_table("name", constants)),
        section_with_title("measures", field_table(measures.items())),
    ]


# --- sets, measures, data sets, reports -----------------------------------------------------------


def _describe_set(selector: Selector, item: CatalogueItem) -> Described:
    cls = item.object
    parameters = get_parameters(item.object)
    problems = dict(_problems_and_parameters_accepting(item))
    answers = (
        [Fact("prox", _return_description(cls.prox), "prox")]
        if item.kind != "set"
        else [
            Fact("diameter", formatting.docstring_summary(cls.diameter), "diameter"),
            Fact("linear_minimisation", _return_description(cls.lo), "LO"),
            Fact("projection", _return_description(cls.project), "projection"),
        ]
    )
    needed = cls.required_arguments or None
    facts = [
        Fact("points", cls.points, "points"),
        Fact("parameters", descriptions.describe_parameters(parameters)),
        *answers,
        Fact("problems", problems),
        *(Fact("", name, "problem", f"{name} ({how})") for name, how in problems.items()),
        Fact("python", needed, "in Python", needed and f"it needs {needed}"),
    ]
    return facts, [descriptions.parameter_table(parameters)] if parameters else []


def _problems_and_parameters_accepting(set_or_penalty: CatalogueItem) -> Iterator[tuple[str, str]]:
    """Yield the problems that accept a set or penalty, each with the parameter that selects it."""
    from pfbench.problems import PROBLEMS

    kind, cls = set_or_penalty.kind, set_or_penalty.object
    for problem in PROBLEMS.values():
        is_only_set = problem.only_set == set_or_penalty.name
        if (kind == "set" and is_only_set) or (
            not cls.required_arguments and problem.accepts_every(kind, cls.points)
        ):
            yield problem.name, "its only set" if is_only_set else f"{kind}={set_or_penalty.name}"


def _describe_measure(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.measures import BRACKETS, MEANING, MEASURES

    own = item.name not in MEANING
    interval, everywhere = item.name in BRACKETS, own or item.name in MEASURES
    value = "returns a number, an interval, or None" if own else "a number"
    if interval:
        value = "a certified interval; its lower end is the column NAME_lower"
    location = "every problem" if everywhere else "the output only, or some problems"
    return [
        Fact("interval", interval, "value", value),
        Fact("everywhere", everywhere, "measured on", location),
    ], []


def _describe_data_set(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.problems.data.cache import cache_folder, file_paths
    from pfbench.problems.data.catalogue import data_set
    from pfbench.problems.data.management import status

    record, state = data_set(item.name), status(item.name)
    put = f", or store its file as {file_paths(record, cache_folder())[0]}" if record.file else ""
    location = {
        "embedded": "it comes with scikit-learn",
        "absent": f"run `pfbench data fetch {item.name}`{put}",
        "cached": f"{state.path}, {formatting.format_bytes(state.size or 0)}",
    }[state.state]
    checked = "verified" if state.verified else "unverified"
    return [
        Fact("url", state.url, "address"),
        Fact("citation", record.citation, "cite"),
        Fact("terms", record.terms, "terms"),
        Fact("task", record.task, "kind of data"),
        Fact("shape", list(record.shape), "shape", formatting.format_shape(record.shape)),
        Fact("rows", record.rows, "ratings" if record.task == "ratings" else ""),
        Fact("classes", record.classes, "classes" if record.classes else ""),
        Fact("nonzeros", record.nonzeros),
        Fact("state", state.state, "state", f"{state.state}: {location}"),
        Fact("verified", state.verified, "check", f"{checked}, by {state.method}"),
        Fact("verified_by", state.method),
        Fact("path", state.path),
        Fact("bytes", state.size),
    ], []


def _describe_spec(selector: Selector, item: CatalogueItem) -> Described:
    """Return the facts about a report or a suite; for a suite, also the text of its file."""
    from pfbench.runs.planning.spec import load_spec

    spec = load_spec(Path(item.source))
    studies = [_study_facts(study) for study in spec.studies]
    facts = [
        Fact("runs", len(spec.runs()), "runs"),
        Fact("about", " ".join(spec.introduction.split()), "about"),
        Fact("studies", [terminal.fact_values(study) for study in studies]),
    ]
    parts = [
        section_with_title(study.title, field_table(terminal.fact_lines(facts)))
        for study, facts in zip(spec.studies, studies, strict=True)
    ]
    if item.kind == "suite":
        facts.append(Fact("text", spec.text))
        parts.append(section_with_title(item.source, spec.text.rstrip()))
    return facts, parts


def _study_facts(study: "Study") -> list[Fact]:
    runs, seeds = len(set(study.runs())), formatting.format_plural(len(study.seeds), "seed")
    problems = {entry.label: entry.selector for entry in study.problems}
    algorithms = {entry.label: entry.selector for entry in study.algorithms}
    return [
        Fact("key", study.key),
        Fact("title", study.title),
        Fact("about", " ".join(study.introduction.split()), "about"),
        Fact("problems", problems, "problems", ", ".join(problems.values())),
        Fact("algorithms", algorithms, "algorithms", ", ".join(study.labels)),
        Fact("settings", [setting.title for setting in study.settings], "settings"),
        Fact("measures", list(study.measures), "measures"),
        Fact("seeds", list(study.seeds)),
        Fact("runs", runs, "runs", f"{runs:,} ({seeds})"),
    ]


_KINDS: Mapping[str, Callable[[Selector, CatalogueItem], Described]] = MappingProxyType(
    {
        "algorithm": _describe_algorithm,
        "problem": _describe_problem_item,
        "set": _describe_set,
        "penalty": _describe_set,
        "estimator": _describe_estimator,
        "measure": _describe_measure,
        "data": _describe_data_set,
        "report": _describe_spec,
        "suite": _describe_spec,
        "claim": lambda selector, item: descriptions.describe_claim(item.object),
    }
)
