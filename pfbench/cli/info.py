"""``pfbench info``: one thing whole."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from inspect import getdoc
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from pfbench.base.errors import DataError
from pfbench.base.selectors import Selector
from pfbench.cli.catalogue import Item, find, first_line, specs
from pfbench.cli.claims import describe
from pfbench.cli.describing import (
    Described,
    Description,
    constant_table,
    described_constants,
    parameter_table,
    parameters,
)
from pfbench.cli.printing import AsJson, Line, fields, heading, in_words, number, plural, size

_PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        "smooth": "a problem without set and penalty",
        "set": "a problem with a feasible set",
    }
)
"""What an algorithm may require beside oracles."""


def info(
    name: Annotated[str, typer.Argument(metavar="NAME", hidden=True)],
    as_json: AsJson = False,
) -> None:
    """Show one of them whole: parameters, constants, counts.

    NAME is one that `pfbench list` shows. A problem may have parameters, as in
    "robust-matrix-recovery[source=digits]": its constants are then those on these data.
    """
    selector = Selector.parse(name)
    item = find(selector.name)
    _KINDS[item.kind](replace(selector, name=item.name), item).show(item, as_json=as_json)


def _returned(function: Any) -> str:
    """Return what a function's documentation says that it returns."""
    text = first_line(function).removeprefix("Return ")
    return text.replace("Refuse:", "none:", 1)


# --- algorithms -----------------------------------------------------------------------------------


def _algorithm(selector: Selector, item: Item) -> Described:
    from pfbench.algorithms import ALGORITHMS, Algorithm
    from pfbench.algorithms.catalogue import named_algorithm
    from pfbench.claims.catalogue import CLAIMS
    from pfbench.oracles import Oracles

    named_algorithm(selector)
    cls = ALGORITHMS[item.name]
    theory = None
    if getdoc(cls.theory) != getdoc(Algorithm.theory):
        theory = first_line(cls.theory).removeprefix("Return the schedule of ")
        if hasattr(cls, "sample_sizes"):
            theory += f"; {first_line(cls.sample_sizes)}"
    requires = {
        verb: _PROBLEMS.get(verb) or _returned(getattr(Oracles, verb))
        for verb in sorted(cls.requires)
    }
    claims = [name for name, claim in CLAIMS.items() if claim.algorithm == item.name]
    about = {
        "parameters": parameters(cls.parameters()),
        "theory": theory,
        "requires": requires,
        "assumes": sorted(cls.assumes),
        "counts": cls.counts,
        "deterministic": cls.deterministic,
        "claims": claims,
    }
    lines = [
        ("counts", cls.counts),
        ("assumes", _meanings(cls.assumes) or "nothing beyond smoothness"),
        ("random", "no: it is deterministic" if cls.deterministic else "yes, from --seed"),
        ("claims", ", ".join(claims)),
    ]
    schedule = heading(
        "schedule of its theorem",
        f'Ask for it by the accuracy alone, as in "{item.name}[epsilon=0.1]":',
        f"{theory}.",
        "A parameter beside epsilon replaces that one; the schedule is then explicit.",
    )
    return Described(
        about,
        lines,
        [
            heading("it requires", fields(requires.items())),
            parameter_table(cls.parameters()),
            schedule if theory else None,
        ],
    )


def _meanings(assumptions: Iterable[str]) -> str:
    from pfbench.base.assumptions import ASSUMPTIONS

    return "; ".join(f"{name} ({ASSUMPTIONS[name]})" for name in sorted(assumptions))


# --- problems -------------------------------------------------------------------------------------


def _problem(selector: Selector, item: Item) -> Described:
    from pfbench.problems import PROBLEMS

    family = PROBLEMS[item.name]
    about: Description = {
        "sources": list(family.sources),
        "parameters": parameters(family.parameters()),
        "selector": str(selector),
    }
    try:
        built, parts = _built(selector)
        about["built"] = built
    except DataError as error:
        if selector.parameters:
            raise
        about |= {"built": None, "not_built": str(error)}
        parts = [heading("constants", f"Not built: {error}")]
    table = parameter_table(family.parameters())
    return Described(about, [("data", ", ".join(family.sources))], [table, *parts])


def _built(selector: Selector) -> tuple[Description, list[RenderableType]]:
    """Describe a problem on its data."""
    from pfbench.base.assumptions import known_of
    from pfbench.measures import MEANING, available
    from pfbench.problems.catalogue import named_problem

    problem = named_problem(selector)
    found = problem.constants(problem.start())
    constants = described_constants(found, found.derivations)
    best, properties = problem.best_known, sorted(known_of(problem))
    measures = {
        name: MEANING[name].summary if name in MEANING else "" for name in available(problem)
    }
    about = {
        "n": problem.n,
        "shape": list(problem.shape),
        "digest": problem.digest,
        "properties": properties,
        "best_known": None if best is None else {"value": best[0], "source": best[1]},
        "constants": constants,
        "measures": measures,
    }
    lines: list[Line] = [
        ("points", in_words(problem.shape)),
        ("components", problem.n),
        ("properties", _meanings(properties) or "none known"),
        ("best objective", "not known" if best is None else f"{number(best[0])} ({best[1]})"),
        ("digest", problem.digest[:16]),
    ]
    return about, [
        heading(str(selector), fields(lines)),
        heading("constants", constant_table("name", constants)),
        heading("measures", fields(measures.items())),
    ]


# --- sets, measures, data sets, reports -----------------------------------------------------------


def _set(selector: Selector, item: Item) -> Described:
    from pfbench.problems import PROBLEMS
    from pfbench.sets.catalogue import PENALTIES, SETS

    cls: Any = (SETS if item.kind == "set" else PENALTIES)[item.name]
    about: Description = {
        "points": cls.points,
        "parameters": parameters(cls.parameters()),
        "python": cls.needs or None,
    }
    if item.kind == "set":
        about["diameter"] = first_line(cls.diameter)
        about["linear_minimisation"] = _returned(cls.lo)
        about["projection"] = _returned(cls.project)
    else:
        about["prox"] = _returned(cls.prox)
    about["problems"] = {
        one.name: "its only set" if one.own_set == item.name else f"{item.kind}={item.name}"
        for one in PROBLEMS.values()
        if (item.kind == "set" and one.own_set == item.name)
        or (not cls.needs and one.takes(item.kind, cls.points))
    }
    lines = [
        ("points", cls.points),
        ("diameter", about.get("diameter")),
        ("LO", about.get("linear_minimisation")),
        ("projection", about.get("projection")),
        ("prox", about.get("prox")),
        *(("problem", f"{name} ({how})") for name, how in about["problems"].items()),
        ("in Python", f"it needs {cls.needs}" if cls.needs else ""),
    ]
    return Described(about, lines, [parameter_table(cls.parameters())] if cls.parameters() else [])


def _measure(selector: Selector, item: Item) -> Described:
    from pfbench.measures import BRACKETS, MEASURES

    about = {"interval": item.name in BRACKETS, "everywhere": item.name in MEASURES}
    interval = "an interval, certified; a column NAME_lower beside"
    lines = [
        ("value", interval if about["interval"] else "a number"),
        (
            "measured on",
            "every problem" if about["everywhere"] else "final values, or single problems",
        ),
    ]
    return Described(about, lines)


def _data(selector: Selector, item: Item) -> Described:
    from pfbench.problems.data.catalogue import data_set
    from pfbench.problems.data.management import status

    record, state = data_set(item.name), status(item.name)
    about = {
        "citation": record.citation,
        "terms": record.terms,
        "task": record.task,
        "rows": record.rows,
        "shape": list(record.shape),
        "classes": record.classes,
        "nonzeros": record.nonzeros,
        "state": state.state,
        "verified": state.verified,
        "verified_by": state.method,
        "path": None if state.path is None else str(state.path),
        "bytes": state.size,
        "url": state.url,
    }
    where = {
        "embedded": "it comes with scikit-learn",
        "absent": f"run `pfbench data fetch {item.name}`",
        "cached": f"{state.path}, {size(state.size or 0)}",
    }
    checked = "verified" if state.verified else "unverified"
    lines: list[Line] = [
        ("address", state.url),
        ("cite", record.citation),
        ("terms", record.terms),
        ("kind of data", record.task),
        ("shape", in_words(record.shape)),
        ("ratings", record.rows if record.task == "ratings" else None),
        ("classes", record.classes or None),
        ("state", f"{state.state}: {where[state.state]}"),
        ("check", f"{checked}, by {state.method}"),
    ]
    return Described(about, lines)


def _report(selector: Selector, item: Item) -> Described:
    from pfbench.runs.planning.study import read_spec

    spec = read_spec(specs()[item.name])
    studies = [
        {
            "key": study.key,
            "title": study.title,
            "about": " ".join(study.about.split()),
            "problem": study.problem,
            "algorithms": dict(zip(study.labels, study.algorithms, strict=True)),
            "columns": [column.title for column in study.columns],
            "seeds": study.seeds,
            "measures": list(study.measures),
            "runs": len(study.runs()),
        }
        for study in spec.studies
    ]
    words, runs = " ".join(spec.about.split()), len(spec.runs())
    about = {"about": words, "runs": runs, "studies": studies}
    lines: list[Line] = [("runs", runs), ("about", words)]
    return Described(about, lines, [_study(study) for study in studies])


def _study(about: Description) -> RenderableType:
    lines = [
        ("about", about["about"]),
        ("problem", about["problem"]),
        ("algorithms", ", ".join(about["algorithms"])),
        ("settings", ", ".join(about["columns"])),
        ("measures", ", ".join(about["measures"])),
        ("runs", f"{about['runs']:,} ({plural(about['seeds'], 'seed')})"),
    ]
    return heading(about["title"], fields(lines))


def _claim(selector: Selector, item: Item) -> Described:
    from pfbench.claims.catalogue import claim

    return describe(claim(item.name))


_KINDS: Mapping[str, Callable[[Selector, Item], Described]] = MappingProxyType(
    {
        "algorithm": _algorithm,
        "problem": _problem,
        "set": _set,
        "penalty": _set,
        "measure": _measure,
        "data": _data,
        "report": _report,
        "claim": _claim,
    }
)
