"""``pfbench info``: one thing whole."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import DataError, InputError
from pfbench.base.selectors import Selector, is_own
from pfbench.cli.catalogue import find, specs
from pfbench.cli.claims import describe
from pfbench.cli.describing import constant_table, described_constants, parameter_table, parameters
from pfbench.cli.item import Item
from pfbench.cli.options import AS_JSON, argument
from pfbench.cli.own import own_item, parameters_of
from pfbench.cli.printing import announce
from pfbench.cli.tables import Fact, fields, heading, lines_of, show_facts, values_of
from pfbench.cli.words import first_line, in_words, number, plural, size

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
    own = is_own(selector.name, _KINDS)
    if own:  # it is printed before it is imported
        announce([selector.name])
    item = own_item(selector.name) if own else find(selector.name)
    if item.broken:
        raise InputError(item.broken)
    facts, parts = _KINDS[item.kind](replace(selector, name=item.name), item)
    show_facts([*item.facts, *facts], *parts, as_json=as_json)


def _returned(function: Any) -> str:
    """Return what a function's documentation says that it returns."""
    text = first_line(function).removeprefix("Return ")
    return text.replace("Refuse:", "none:", 1)


# --- algorithms -----------------------------------------------------------------------------------


def _algorithm(selector: Selector, item: Item) -> Described:
    from pfbench.algorithms import Algorithm
    from pfbench.claims.catalogue import CLAIMS
    from pfbench.oracles import Oracles

    _check_parameters(selector, item)
    cls = item.thing
    known = parameters_of(cls)
    theory = None
    if getdoc(getattr(cls, "theory", None)) not in (None, getdoc(Algorithm.theory)):
        theory = first_line(cls.theory).removeprefix("Return the schedule of ")
        if hasattr(cls, "sample_sizes"):
            theory += f"; {first_line(cls.sample_sizes)}"
    stated = getattr(cls, "promises", None)
    promises = stated.words if stated else None
    normalised = getattr(cls, "normalised", "")
    requires = {
        verb: _PROBLEMS.get(verb)
        or (f"the {verb}" if verb.startswith("norm ") else _returned(getattr(Oracles, verb)))
        for verb in sorted(cls.requires)
    }
    assumed: frozenset[str] = getattr(cls, "assumes", frozenset())
    assumes = _meanings(assumed) or "nothing beyond smoothness"
    claims = [one.name for one in CLAIMS.values() if one.algorithm == item.name]
    deterministic = bool(getattr(cls, "deterministic", False))
    drawn = "no: it is deterministic" if deterministic else "yes, from --seed"
    facts = [
        Fact("parameters", parameters(known)),
        Fact("theory", theory),
        Fact("promises", promises),
        Fact("normalised", normalised or None),
        Fact("requires", requires),
        Fact("counts", getattr(cls, "counts", "not stated"), "counts"),
        Fact("assumes", sorted(assumed), "assumes", assumes),
        Fact("deterministic", deterministic, "random", drawn),
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
    return facts, [needed, parameter_table(known), schedule if theory else None]


def _check_parameters(selector: Selector, item: Item) -> None:
    """Refuse parameters that an algorithm does not have."""
    from pfbench.algorithms import ALGORITHMS
    from pfbench.algorithms.catalogue import named_algorithm
    from pfbench.base.parameters import check_known

    if item.thing is ALGORITHMS.get(item.name):
        named_algorithm(selector)
    else:
        check_known(item.name, selector.parameters, parameters_of(item.thing))


def _meanings(assumptions: Iterable[str]) -> str:
    from pfbench.base.assumptions import ASSUMPTIONS

    return "; ".join(f"{name} ({ASSUMPTIONS[name]})" for name in sorted(assumptions))


# --- problems -------------------------------------------------------------------------------------


def _problem(selector: Selector, item: Item) -> Described:
    from pfbench.problems import PROBLEMS

    ours = item.thing is PROBLEMS.get(item.name)
    known = parameters_of(item.thing) if not ours else item.thing.parameters()
    facts = [
        Fact("sources", list(item.thing.sources) if ours else [], "data"),
        Fact("parameters", parameters(known)),
        Fact("selector", str(selector)),
    ]
    table = parameter_table(known)
    needed = [name for name, one in known.items() if one.needed and name not in selector.parameters]
    if needed and not ours:
        facts += [Fact("built", None), Fact("not_built", f"it needs {', '.join(needed)}")]
        return facts, [table]
    try:
        built, parts = _built(selector)
    except DataError as error:
        if selector.parameters:
            raise
        facts += [Fact("built", None), Fact("not_built", str(error))]
        return facts, [table, heading("constants", f"Not built: {error}")]
    shown = heading(str(selector), fields(lines_of(built)))
    return [*facts, Fact("built", values_of(built))], [table, shown, *parts]


def _built(selector: Selector) -> Described:
    """Describe a problem on its data."""
    from pfbench.base.assumptions import known_of
    from pfbench.measures import MEANING, available
    from pfbench.runs.planning.plugged import spelled_out
    from pfbench.runs.planning.selecting import chosen_problem

    as_given = Selector(selector.name, selector.texts)
    problem = chosen_problem(spelled_out("problem", str(as_given)))
    found = problem.constants(problem.start())
    constants = described_constants(found, found.derivations)
    best, properties = problem.best_known, sorted(known_of(problem))
    measures = {
        name: MEANING[name].summary if name in MEANING else "" for name in available(problem)
    }
    optimum = None if best is None else {"value": best[0], "source": best[1]}
    known = "not known" if best is None else f"{number(best[0])} ({best[1]})"
    facts = [
        Fact("shape", list(problem.shape), "points", in_words(problem.shape)),
        Fact("n", problem.n, "components"),
        Fact("properties", properties, "properties", _meanings(properties) or "none known"),
        Fact("best_known", optimum, "best objective", known),
        Fact("digest", problem.digest, "digest", problem.digest[:16]),
        Fact("constants", constants),
        Fact("measures", measures),
    ]
    return facts, [
        heading("constants", constant_table("name", constants)),
        heading("measures", fields(measures.items())),
    ]


# --- sets, measures, data sets, reports -----------------------------------------------------------


def _set(selector: Selector, item: Item) -> Described:
    from pfbench.problems import PROBLEMS

    cls = item.thing
    if item.kind == "set":
        answers = [
            Fact("diameter", first_line(cls.diameter), "diameter"),
            Fact("linear_minimisation", _returned(cls.lo), "LO"),
            Fact("projection", _returned(cls.project), "projection"),
        ]
    else:
        answers = [Fact("prox", _returned(cls.prox), "prox")]
    problems = {
        one.name: "its only set" if one.own_set == item.name else f"{item.kind}={item.name}"
        for one in PROBLEMS.values()
        if (item.kind == "set" and one.own_set == item.name)
        or (not cls.needs and one.takes(item.kind, cls.points))
    }
    known = parameters_of(cls)
    facts = [
        Fact("points", cls.points, "points"),
        Fact("parameters", parameters(known)),
        *answers,
        Fact("problems", problems),
        *(Fact("", name, "problem", f"{name} ({how})") for name, how in problems.items()),
        Fact("python", cls.needs or None, "in Python", cls.needs and f"it needs {cls.needs}"),
    ]
    return facts, [parameter_table(known)] if known else []


def _estimator(selector: Selector, item: Item) -> Described:
    known = parameters_of(item.thing)
    return [Fact("parameters", parameters(known))], [parameter_table(known)]


def _measure(selector: Selector, item: Item) -> Described:
    from pfbench.measures import BRACKETS, MEANING, MEASURES

    own = item.name not in MEANING
    interval, everywhere = item.name in BRACKETS, own or item.name in MEASURES
    value = "an interval, certified; a column NAME_lower beside" if interval else "a number"
    value = "what it returns: a number, an interval, or None" if own else value
    where = "every problem" if everywhere else "final values, or single problems"
    facts = [
        Fact("interval", interval, "value", value),
        Fact("everywhere", everywhere, "measured on", where),
    ]
    return facts, []


def _data(selector: Selector, item: Item) -> Described:
    from pfbench.problems.data.cache import cache_folder, places
    from pfbench.problems.data.catalogue import data_set
    from pfbench.problems.data.management import status

    record, state = data_set(item.name), status(item.name)
    put = f", or put its file there as {places(record, cache_folder())[0]}" if record.file else ""
    where = {
        "embedded": "it comes with scikit-learn",
        "absent": f"run `pfbench data fetch {item.name}`{put}",
        "cached": f"{state.path}, {size(state.size or 0)}",
    }
    checked = "verified" if state.verified else "unverified"
    facts = [
        Fact("url", state.url, "address"),
        Fact("citation", record.citation, "cite"),
        Fact("terms", record.terms, "terms"),
        Fact("task", record.task, "kind of data"),
        Fact("shape", list(record.shape), "shape", in_words(record.shape)),
        Fact("rows", record.rows, "ratings" if record.task == "ratings" else ""),
        Fact("classes", record.classes, "classes" if record.classes else ""),
        Fact("nonzeros", record.nonzeros),
        Fact("state", state.state, "state", f"{state.state}: {where[state.state]}"),
        Fact("verified", state.verified, "check", f"{checked}, by {state.method}"),
        Fact("verified_by", state.method),
        Fact("path", state.path),
        Fact("bytes", state.size),
    ]
    return facts, []


def _report(selector: Selector, item: Item) -> Described:
    from pfbench.runs.planning.spec import read_spec

    spec = read_spec(Path(item.source))
    studies = [_study(study) for study in spec.studies]
    facts = [
        Fact("runs", len(spec.runs()), "runs"),
        Fact("about", " ".join(spec.about.split()), "about"),
        Fact("studies", [values_of(study) for study in studies]),
    ]
    shown = zip(spec.studies, studies, strict=True)
    return facts, [heading(study.title, fields(lines_of(known))) for study, known in shown]


def _suite(selector: Selector, item: Item) -> Described:
    """Return what a report is described by, and the file, to be copied from."""
    from pfbench.runs.planning.spec import read_spec

    facts, parts = _report(selector, item)
    text = read_spec(Path(item.source)).text
    return [*facts, Fact("text", text)], [*parts, heading(item.source, text.rstrip())]


def _study(study: "Study") -> list[Fact]:
    runs = len(set(study.runs()))
    problems = {one.label: one.selector for one in study.problems}
    algorithms = {one.label: one.selector for one in study.algorithms}
    settings = [one.title for one in study.settings]
    return [
        Fact("key", study.key),
        Fact("title", study.title),
        Fact("about", " ".join(study.about.split()), "about"),
        Fact("problems", problems, "problems", ", ".join(problems.values())),
        Fact("algorithms", algorithms, "algorithms", ", ".join(study.labels)),
        Fact("settings", settings, "settings"),
        Fact("measures", list(study.measures), "measures"),
        Fact("seeds", list(study.seeds)),
        Fact("runs", runs, "runs", f"{runs:,} ({plural(len(study.seeds), 'seed')})"),
    ]


_KINDS: Mapping[str, Callable[[Selector, Item], Described]] = MappingProxyType(
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
        "claim": lambda selector, item: describe(item.thing),
    }
)
