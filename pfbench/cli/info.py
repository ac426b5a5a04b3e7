"""``pfbench info``: one item in full."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import DataError, InputError
from pfbench.base.selectors import Selector, is_user_defined
from pfbench.cli.catalogue import find_item, report_spec_paths
from pfbench.cli.catalogue_item import CatalogueItem
from pfbench.cli.claims_command import describe_claim
from pfbench.cli.formatting import (
    docstring_summary,
    format_bytes,
    format_number,
    format_plural,
    format_shape,
    format_size,
)
from pfbench.cli.options import AS_JSON, argument
from pfbench.cli.parameter_listing import (
    constant_table,
    describe_constants,
    describe_parameters,
    parameter_table,
)
from pfbench.cli.terminal import announce_imports
from pfbench.cli.terminal_tables import (
    ReportedFact,
    fact_lines,
    fact_values,
    field_table,
    section_with_title,
    show_facts,
)
from pfbench.cli.user_items import get_parameters, make_user_item

if TYPE_CHECKING:
    from pfbench.runs.planning.study import Study

Described = tuple[Sequence[ReportedFact], Sequence[RenderableType | None]]
"""Facts about an item in addition to name, kind, source and summary, and further sections."""

_PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        "smooth": "a problem without set and penalty",
        "set": "a problem with a feasible set",
        "polytope": "a problem over a polytope",
        "norm": "a problem with a norm in place of a set",
    }
)
"""Requirements of an algorithm in addition to oracles."""


def info(name: str = argument("NAME", default=...), as_json: bool = AS_JSON) -> None:
    """Show an item in full: parameters, constants, counts.

    NAME is an item from `pfbench list`, or your own, FILE.py:NAME. A problem may have parameters,
    as in "robust-matrix-recovery[source=digits]": its constants are then those on these data.
    """
    a_report = name.removeprefix("report:") in report_spec_paths()  # whose name may have a folder
    selector = Selector(name) if a_report else Selector.parse(name)
    own = is_user_defined(selector.name, _KINDS)
    if own:  # it is printed before it is imported
        announce_imports([selector.name])
    item = make_user_item(selector.name) if own else find_item(selector.name)
    if item.error:
        raise InputError(item.error)
    facts, parts = _KINDS[item.kind](replace(selector, name=item.name), item)
    show_facts([*item.facts, *facts], *parts, as_json=as_json)


def _return_description(function: Any) -> str:
    """Return the description of a function's result, from its docstring."""
    text = docstring_summary(function).removeprefix("Return ")
    return text.replace("Refuse:", "none:", 1)


# --- algorithms -----------------------------------------------------------------------------------


def _describe_algorithm(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.algorithms import Algorithm
    from pfbench.claims.catalogue import CLAIMS
    from pfbench.oracles import Oracles

    _check_parameters(selector, item)
    cls = item.object
    existing = get_parameters(cls)
    theory = None
    if getdoc(getattr(cls, "theory", None)) not in (None, getdoc(Algorithm.theory)):
        theory = docstring_summary(cls.theory).removeprefix("Return the schedule of ")
        if hasattr(cls, "estimator_parameters"):
            theory += f"; {docstring_summary(cls.estimator_parameters)}"
    value = getattr(cls, "guarantee", None)
    promises = value.description if value else None
    normalised = getattr(cls, "scale_dependence", "")
    requires = {
        verb: _PROBLEMS.get(verb)
        or (
            f"the {verb}"
            if verb.startswith("norm ")
            else _return_description(getattr(Oracles, verb))
        )
        for verb in sorted(cls.requires)
    }
    assumed: frozenset[str] = getattr(cls, "assumes", frozenset())
    assumes = _explain_assumptions(assumed) or "nothing beyond smoothness"
    claims = [claim.name for claim in CLAIMS.values() if claim.algorithm == item.name]
    deterministic = bool(getattr(cls, "deterministic", False))
    text = "no: it is deterministic" if deterministic else "yes, from --seed"
    facts = [
        ReportedFact("parameters", describe_parameters(existing)),
        ReportedFact("theory", theory),
        ReportedFact("promises", promises),
        ReportedFact("scale_dependence", normalised or None),
        ReportedFact("requires", requires),
        ReportedFact("counts", getattr(cls, "counts", "not stated"), "counts"),
        ReportedFact("assumes", sorted(assumed), "assumes", assumes),
        ReportedFact("deterministic", deterministic, "random", text),
        ReportedFact("claims", claims, "claims"),
    ]
    schedule = section_with_title(
        "schedule of its theorem",
        f'To use it, give only the accuracy, as in "{item.name}[epsilon=0.1]":',
        f"{theory}.",
        *([f"It guarantees {promises}."] if promises else []),
        *([f"It changes with the units of f and x: {normalised}."] if normalised else []),
        "An explicit parameter replaces that of the schedule; the schedule is then `explicit`.",
    )
    needed = section_with_title("it requires", field_table(requires.items()))
    return facts, [needed, parameter_table(existing), schedule if theory else None]


def _check_parameters(selector: Selector, item: CatalogueItem) -> None:
    """Raise for parameters that the item does not have."""
    from pfbench.algorithms import ALGORITHMS
    from pfbench.algorithms.catalogue import select_algorithm
    from pfbench.base.parameters import check_parameter_names

    if item.object is ALGORITHMS.get(item.name):
        select_algorithm(selector)
    else:
        check_parameter_names(item.name, selector.parameters, get_parameters(item.object))


def _explain_assumptions(assumptions: Iterable[str]) -> str:
    from pfbench.base.assumptions import ASSUMPTIONS

    return "; ".join(f"{name} ({ASSUMPTIONS[name]})" for name in sorted(assumptions))


# --- problems -------------------------------------------------------------------------------------


def _describe_problem_item(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.problems import PROBLEMS

    computed = item.object is PROBLEMS.get(item.name)
    existing = get_parameters(item.object) if not computed else item.object.parameters()
    facts = [
        ReportedFact("sources", list(item.object.data_source_names) if computed else [], "data"),
        ReportedFact("parameters", describe_parameters(existing)),
        ReportedFact("selector", str(selector)),
    ]
    table = parameter_table(existing)
    needed = [
        name
        for name, parameter in existing.items()
        if parameter.is_required and name not in selector.parameters
    ]
    if needed and not computed:
        facts += [
            ReportedFact("built", None),
            ReportedFact("not_built", f"it needs {', '.join(needed)}"),
        ]
        return facts, [table]
    try:
        built, parts = _describe_problem(selector)
    except DataError as error:
        if selector.parameters:
            raise
        facts += [ReportedFact("built", None), ReportedFact("not_built", str(error))]
        return facts, [table, section_with_title("constants", f"Not built: {error}")]
    displayed = section_with_title(str(selector), field_table(fact_lines(built)))
    return [*facts, ReportedFact("built", fact_values(built))], [table, displayed, *parts]


def _describe_problem(selector: Selector) -> Described:
    """Describe a problem on its data."""
    from pfbench.base.assumptions import list_known_assumptions
    from pfbench.measures import MEANING, available_measures
    from pfbench.runs.planning.name_resolution import select_problem
    from pfbench.runs.planning.plugin_names import expand_plugin_name

    as_given = Selector(selector.name, selector.texts)
    problem = select_problem(expand_plugin_name("problem", str(as_given)))
    result = problem.constants(problem.start())
    constants = describe_constants(result, result.derivations)
    best, properties = problem.best_known, sorted(list_known_assumptions(problem))
    measures = {
        name: MEANING[name].summary if name in MEANING else ""
        for name in available_measures(problem)
    }
    optimum = None if best is None else {"value": best[0], "source": best[1]}
    text = "not known" if best is None else f"{format_number(best[0])} ({best[1]})"
    facts = [
        ReportedFact("shape", list(problem.shape), "points", format_shape(problem.shape)),
        ReportedFact("n", problem.n, "size", format_size(problem.n)),
        ReportedFact(
            "properties", properties, "properties", _explain_assumptions(properties) or "none known"
        ),
        ReportedFact("best_known", optimum, "best objective", text),
        ReportedFact("digest", problem.digest, "digest", problem.digest[:16]),
        ReportedFact("constants", constants),
        ReportedFact("measures", measures),
    ]
    return facts, [
        section_with_title("constants", constant_table("name", constants)),
        section_with_title("measures", field_table(measures.items())),
    ]


# --- sets, measures, data sets, reports -----------------------------------------------------------


def _describe_set(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.problems import PROBLEMS

    cls = item.object
    if item.kind == "set":
        answers = [
            ReportedFact("diameter", docstring_summary(cls.diameter), "diameter"),
            ReportedFact("linear_minimisation", _return_description(cls.lo), "LO"),
            ReportedFact("projection", _return_description(cls.project), "projection"),
        ]
    else:
        answers = [ReportedFact("prox", _return_description(cls.prox), "prox")]
    problems = {
        entry.name: "its only set" if entry.only_set == item.name else f"{item.kind}={item.name}"
        for entry in PROBLEMS.values()
        if (item.kind == "set" and entry.only_set == item.name)
        or (not cls.required_arguments and entry.accepts_any(item.kind, cls.points))
    }
    existing = get_parameters(cls)
    facts = [
        ReportedFact("points", cls.points, "points"),
        ReportedFact("parameters", describe_parameters(existing)),
        *answers,
        ReportedFact("problems", problems),
        *(ReportedFact("", name, "problem", f"{name} ({how})") for name, how in problems.items()),
        ReportedFact(
            "python",
            cls.required_arguments or None,
            "in Python",
            cls.required_arguments and f"it needs {cls.required_arguments}",
        ),
    ]
    return facts, [parameter_table(existing)] if existing else []


def _describe_estimator(selector: Selector, item: CatalogueItem) -> Described:
    existing = get_parameters(item.object)
    return [ReportedFact("parameters", describe_parameters(existing))], [parameter_table(existing)]


def _describe_measure(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.measures import BRACKETS, MEANING, MEASURES

    own = item.name not in MEANING
    interval, everywhere = item.name in BRACKETS, own or item.name in MEASURES
    value = (
        "a certified interval; its lower end is the column NAME_lower" if interval else "a number"
    )
    value = "returns a number, an interval, or None" if own else value
    location = "every problem" if everywhere else "the output only, or some problems"
    facts = [
        ReportedFact("interval", interval, "value", value),
        ReportedFact("everywhere", everywhere, "measured on", location),
    ]
    return facts, []


def _describe_data_set(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.problems.data.cache import cache_folder, list_paths
    from pfbench.problems.data.catalogue import data_set
    from pfbench.problems.data.management import status

    record, state = data_set(item.name), status(item.name)
    put = f", or store its file as {list_paths(record, cache_folder())[0]}" if record.file else ""
    location = {
        "embedded": "it comes with scikit-learn",
        "absent": f"run `pfbench data fetch {item.name}`{put}",
        "cached": f"{state.path}, {format_bytes(state.size or 0)}",
    }
    checked = "verified" if state.verified else "unverified"
    facts = [
        ReportedFact("url", state.url, "address"),
        ReportedFact("citation", record.citation, "cite"),
        ReportedFact("terms", record.terms, "terms"),
        ReportedFact("task", record.task, "kind of data"),
        ReportedFact("shape", list(record.shape), "shape", format_shape(record.shape)),
        ReportedFact("rows", record.rows, "ratings" if record.task == "ratings" else ""),
        ReportedFact("classes", record.classes, "classes" if record.classes else ""),
        ReportedFact("nonzeros", record.nonzeros),
        ReportedFact("state", state.state, "state", f"{state.state}: {location[state.state]}"),
        ReportedFact("verified", state.verified, "check", f"{checked}, by {state.method}"),
        ReportedFact("verified_by", state.method),
        ReportedFact("path", state.path),
        ReportedFact("bytes", state.size),
    ]
    return facts, []


def _describe_report(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.runs.planning.spec import load_spec

    spec = load_spec(Path(item.source))
    studies = [_study_facts(study) for study in spec.studies]
    facts = [
        ReportedFact("runs", len(spec.runs()), "runs"),
        ReportedFact("about", " ".join(spec.introduction.split()), "about"),
        ReportedFact("studies", [fact_values(study) for study in studies]),
    ]
    displayed = zip(spec.studies, studies, strict=True)
    return facts, [
        section_with_title(study.title, field_table(fact_lines(facts)))
        for study, facts in displayed
    ]


def _describe_suite_with_spec_text(selector: Selector, item: CatalogueItem) -> Described:
    """Return the description of a suite, and the text of its spec file as a template."""
    from pfbench.runs.planning.spec import load_spec

    facts, parts = _describe_report(selector, item)
    text = load_spec(Path(item.source)).text
    return [*facts, ReportedFact("text", text)], [
        *parts,
        section_with_title(item.source, text.rstrip()),
    ]


def _study_facts(study: "Study") -> list[ReportedFact]:
    runs = len(set(study.runs()))
    problems = {entry.label: entry.selector for entry in study.problems}
    algorithms = {entry.label: entry.selector for entry in study.algorithms}
    settings = [setting.title for setting in study.settings]
    return [
        ReportedFact("key", study.key),
        ReportedFact("title", study.title),
        ReportedFact("about", " ".join(study.introduction.split()), "about"),
        ReportedFact("problems", problems, "problems", ", ".join(problems.values())),
        ReportedFact("algorithms", algorithms, "algorithms", ", ".join(study.labels)),
        ReportedFact("settings", settings, "settings"),
        ReportedFact("measures", list(study.measures), "measures"),
        ReportedFact("seeds", list(study.seeds)),
        ReportedFact("runs", runs, "runs", f"{runs:,} ({format_plural(len(study.seeds), 'seed')})"),
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
        "report": _describe_report,
        "suite": _describe_suite_with_spec_text,
        "claim": lambda selector, item: describe_claim(item.object),
    }
)
