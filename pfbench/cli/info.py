"""``pfbench info``: one thing whole."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import DataError, InputError
from pfbench.base.selectors import Selector, is_user_defined
from pfbench.cli.catalogue import find, specs
from pfbench.cli.catalogue_item import CatalogueItem
from pfbench.cli.claims_command import describe
from pfbench.cli.formatting import first_line, format_shape, format_size, number, plural
from pfbench.cli.options import AS_JSON, argument
from pfbench.cli.parameter_listing import (
    constant_table,
    describe_constants,
    describe_parameters,
    parameter_table,
)
from pfbench.cli.terminal import announce_imports
from pfbench.cli.terminal_tables import Fact, fact_lines, fact_values, fields, heading, show_facts
from pfbench.cli.user_items import get_parameters, make_user_item

if TYPE_CHECKING:
    from pfbench.runs.planning.study import Study

Described = tuple[Sequence[Fact], Sequence[RenderableType | None]]
"""What is known of one thing beside its name, kind, source and summary; what stands below."""

_PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        "smooth": "a problem without set and penalty",
        "set": "a problem with a feasible set",
        "polytope": "a problem over a polytope",
        "norm": "a problem with a norm in place of a set",
    }
)
"""What an algorithm may require beside oracles."""


def info(name: str = argument("NAME", default=...), as_json: bool = AS_JSON) -> None:
    """Show one of them whole: parameters, constants, counts.

    NAME is one that `pfbench list` shows, or your own, FILE.py:NAME. A problem may have parameters,
    as in "robust-matrix-recovery[source=digits]": its constants are then those on these data.
    """
    a_report = name.removeprefix("report:") in specs()  # whose name may have a folder
    selector = Selector(name) if a_report else Selector.parse(name)
    own = is_user_defined(selector.name, _KINDS)
    if own:  # it is printed before it is imported
        announce_imports([selector.name])
    item = make_user_item(selector.name) if own else find(selector.name)
    if item.error:
        raise InputError(item.error)
    facts, parts = _KINDS[item.kind](replace(selector, name=item.name), item)
    show_facts([*item.facts, *facts], *parts, as_json=as_json)


def _returns_text(function: Any) -> str:
    """Return what a function's documentation says that it returns."""
    text = first_line(function).removeprefix("Return ")
    return text.replace("Refuse:", "none:", 1)


# --- algorithms -----------------------------------------------------------------------------------


def _algorithm(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.algorithms import Algorithm
    from pfbench.claims.catalogue import CLAIMS
    from pfbench.oracles import Oracles

    _check_parameters(selector, item)
    cls = item.object
    existing = get_parameters(cls)
    theory = None
    if getdoc(getattr(cls, "theory", None)) not in (None, getdoc(Algorithm.theory)):
        theory = first_line(cls.theory).removeprefix("Return the schedule of ")
        if hasattr(cls, "estimator_parameters"):
            theory += f"; {first_line(cls.estimator_parameters)}"
    value = getattr(cls, "guarantee", None)
    promises = value.words if value else None
    normalised = getattr(cls, "scale_dependence", "")
    requires = {
        verb: _PROBLEMS.get(verb)
        or (f"the {verb}" if verb.startswith("norm ") else _returns_text(getattr(Oracles, verb)))
        for verb in sorted(cls.requires)
    }
    assumed: frozenset[str] = getattr(cls, "assumes", frozenset())
    assumes = _meanings(assumed) or "nothing beyond smoothness"
    claims = [claim.name for claim in CLAIMS.values() if claim.algorithm == item.name]
    deterministic = bool(getattr(cls, "deterministic", False))
    text = "no: it is deterministic" if deterministic else "yes, from --seed"
    facts = [
        Fact("parameters", describe_parameters(existing)),
        Fact("theory", theory),
        Fact("promises", promises),
        Fact("scale_dependence", normalised or None),
        Fact("requires", requires),
        Fact("counts", getattr(cls, "counts", "not stated"), "counts"),
        Fact("assumes", sorted(assumed), "assumes", assumes),
        Fact("deterministic", deterministic, "random", text),
        Fact("claims", claims, "claims"),
    ]
    schedule = heading(
        "schedule of its theorem",
        f'Ask for it by the accuracy alone, as in "{item.name}[epsilon=0.1]":',
        f"{theory}.",
        *([f"It promises {promises}."] if promises else []),
        *([f"It changes with the units of f and x: {normalised}."] if normalised else []),
        "A parameter beside epsilon replaces that one; the schedule is then explicit.",
    )
    needed = heading("it requires", fields(requires.items()))
    return facts, [needed, parameter_table(existing), schedule if theory else None]


def _check_parameters(selector: Selector, item: CatalogueItem) -> None:
    """Refuse parameters that an algorithm does not have."""
    from pfbench.algorithms import ALGORITHMS
    from pfbench.algorithms.catalogue import select_algorithm
    from pfbench.base.parameters import check_known

    if item.object is ALGORITHMS.get(item.name):
        select_algorithm(selector)
    else:
        check_known(item.name, selector.parameters, get_parameters(item.object))


def _meanings(assumptions: Iterable[str]) -> str:
    from pfbench.base.assumptions import ASSUMPTIONS

    return "; ".join(f"{name} ({ASSUMPTIONS[name]})" for name in sorted(assumptions))


# --- problems -------------------------------------------------------------------------------------


def _problem(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.problems import PROBLEMS

    computed = item.object is PROBLEMS.get(item.name)
    existing = get_parameters(item.object) if not computed else item.object.parameters()
    facts = [
        Fact("sources", list(item.object.sources) if computed else [], "data"),
        Fact("parameters", describe_parameters(existing)),
        Fact("selector", str(selector)),
    ]
    table = parameter_table(existing)
    needed = [
        name
        for name, parameter in existing.items()
        if parameter.is_required and name not in selector.parameters
    ]
    if needed and not computed:
        facts += [Fact("built", None), Fact("not_built", f"it needs {', '.join(needed)}")]
        return facts, [table]
    try:
        built, parts = _describe_problem(selector)
    except DataError as error:
        if selector.parameters:
            raise
        facts += [Fact("built", None), Fact("not_built", str(error))]
        return facts, [table, heading("constants", f"Not built: {error}")]
    displayed = heading(str(selector), fields(fact_lines(built)))
    return [*facts, Fact("built", fact_values(built))], [table, displayed, *parts]


def _describe_problem(selector: Selector) -> Described:
    """Describe a problem on its data."""
    from pfbench.base.assumptions import list_known_assumptions
    from pfbench.measures import MEANING, available
    from pfbench.runs.planning.name_resolution import select_problem
    from pfbench.runs.planning.plugin_names import expand_plugin_name

    as_given = Selector(selector.name, selector.texts)
    problem = select_problem(expand_plugin_name("problem", str(as_given)))
    result = problem.constants(problem.start())
    constants = describe_constants(result, result.derivations)
    best, properties = problem.best_known, sorted(list_known_assumptions(problem))
    measures = {
        name: MEANING[name].summary if name in MEANING else "" for name in available(problem)
    }
    optimum = None if best is None else {"value": best[0], "source": best[1]}
    text = "not known" if best is None else f"{number(best[0])} ({best[1]})"
    facts = [
        Fact("shape", list(problem.shape), "points", format_shape(problem.shape)),
        Fact("n", problem.n, "components"),
        Fact("properties", properties, "properties", _meanings(properties) or "none known"),
        Fact("best_known", optimum, "best objective", text),
        Fact("digest", problem.digest, "digest", problem.digest[:16]),
        Fact("constants", constants),
        Fact("measures", measures),
    ]
    return facts, [
        heading("constants", constant_table("name", constants)),
        heading("measures", fields(measures.items())),
    ]


# --- sets, measures, data sets, reports -----------------------------------------------------------


def _set(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.problems import PROBLEMS

    cls = item.object
    if item.kind == "set":
        answers = [
            Fact("diameter", first_line(cls.diameter), "diameter"),
            Fact("linear_minimisation", _returns_text(cls.lo), "LO"),
            Fact("projection", _returns_text(cls.project), "projection"),
        ]
    else:
        answers = [Fact("prox", _returns_text(cls.prox), "prox")]
    problems = {
        entry.name: "its only set" if entry.only_set == item.name else f"{item.kind}={item.name}"
        for entry in PROBLEMS.values()
        if (item.kind == "set" and entry.only_set == item.name)
        or (not cls.required_arguments and entry.takes(item.kind, cls.points))
    }
    existing = get_parameters(cls)
    facts = [
        Fact("points", cls.points, "points"),
        Fact("parameters", describe_parameters(existing)),
        *answers,
        Fact("problems", problems),
        *(Fact("", name, "problem", f"{name} ({how})") for name, how in problems.items()),
        Fact(
            "python",
            cls.required_arguments or None,
            "in Python",
            cls.required_arguments and f"it needs {cls.required_arguments}",
        ),
    ]
    return facts, [parameter_table(existing)] if existing else []


def _estimator(selector: Selector, item: CatalogueItem) -> Described:
    existing = get_parameters(item.object)
    return [Fact("parameters", describe_parameters(existing))], [parameter_table(existing)]


def _measure(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.measures import BRACKETS, MEANING, MEASURES

    own = item.name not in MEANING
    interval, everywhere = item.name in BRACKETS, own or item.name in MEASURES
    value = "an interval, certified; a column NAME_lower beside" if interval else "a number"
    value = "what it returns: a number, an interval, or None" if own else value
    location = "every problem" if everywhere else "final values, or single problems"
    facts = [
        Fact("interval", interval, "value", value),
        Fact("everywhere", everywhere, "measured on", location),
    ]
    return facts, []


def _data(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.problems.data.cache import cache_folder, list_paths
    from pfbench.problems.data.catalogue import data_set
    from pfbench.problems.data.management import status

    record, state = data_set(item.name), status(item.name)
    put = (
        f", or put its file there as {list_paths(record, cache_folder())[0]}" if record.file else ""
    )
    location = {
        "embedded": "it comes with scikit-learn",
        "absent": f"run `pfbench data fetch {item.name}`{put}",
        "cached": f"{state.path}, {format_size(state.size or 0)}",
    }
    checked = "verified" if state.verified else "unverified"
    facts = [
        Fact("url", state.url, "address"),
        Fact("citation", record.citation, "cite"),
        Fact("terms", record.terms, "terms"),
        Fact("task", record.task, "kind of data"),
        Fact("shape", list(record.shape), "shape", format_shape(record.shape)),
        Fact("rows", record.rows, "ratings" if record.task == "ratings" else ""),
        Fact("classes", record.classes, "classes" if record.classes else ""),
        Fact("nonzeros", record.nonzeros),
        Fact("state", state.state, "state", f"{state.state}: {location[state.state]}"),
        Fact("verified", state.verified, "check", f"{checked}, by {state.method}"),
        Fact("verified_by", state.method),
        Fact("path", state.path),
        Fact("bytes", state.size),
    ]
    return facts, []


def _report(selector: Selector, item: CatalogueItem) -> Described:
    from pfbench.runs.planning.spec import load_spec

    spec = load_spec(Path(item.source))
    studies = [_study(study) for study in spec.studies]
    facts = [
        Fact("runs", len(spec.runs()), "runs"),
        Fact("about", " ".join(spec.introduction.split()), "about"),
        Fact("studies", [fact_values(study) for study in studies]),
    ]
    displayed = zip(spec.studies, studies, strict=True)
    return facts, [heading(study.title, fields(fact_lines(facts))) for study, facts in displayed]


def _suite(selector: Selector, item: CatalogueItem) -> Described:
    """Return what a report is described by, and the file, to be copied from."""
    from pfbench.runs.planning.spec import load_spec

    facts, parts = _report(selector, item)
    text = load_spec(Path(item.source)).text
    return [*facts, Fact("text", text)], [*parts, heading(item.source, text.rstrip())]


def _study(study: "Study") -> list[Fact]:
    runs = len(set(study.runs()))
    problems = {entry.label: entry.selector for entry in study.problems}
    algorithms = {entry.label: entry.selector for entry in study.algorithms}
    settings = [setting.title for setting in study.settings]
    return [
        Fact("key", study.key),
        Fact("title", study.title),
        Fact("about", " ".join(study.introduction.split()), "about"),
        Fact("problems", problems, "problems", ", ".join(problems.values())),
        Fact("algorithms", algorithms, "algorithms", ", ".join(study.labels)),
        Fact("settings", settings, "settings"),
        Fact("measures", list(study.measures), "measures"),
        Fact("seeds", list(study.seeds)),
        Fact("runs", runs, "runs", f"{runs:,} ({plural(len(study.seeds), 'seed')})"),
    ]


_KINDS: Mapping[str, Callable[[Selector, CatalogueItem], Described]] = MappingProxyType(
    {
        "algorithm": _algorithm,
        "problem": _problem,
        "set": _set,
        "penalty": _set,
        "estimator": _estimator,
        "measure": _measure,
        "data": _data,
        "report": _report,
        "suite": _suite,
        "claim": lambda selector, item: describe(item.object),
    }
)
