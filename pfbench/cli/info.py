"""``pfbench info``: one thing whole."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from pfbench.base.errors import DataError
from pfbench.base.parameters import Parameter
from pfbench.base.selectors import Selector
from pfbench.cli.catalogue import Item, find, first_line, specs
from pfbench.cli.claims import describe, show_claim
from pfbench.cli.printing import (
    AsJson,
    columns,
    heading,
    number,
    plural,
    print_json,
    show,
    size,
)
from pfbench.cli.printing import fields as pairs

Description = dict[str, Any]
"""What is known of one thing, as ``--json`` prints it."""

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
    describe, render = _KINDS[item.kind]
    about = {**item.as_json(), **describe(selector, item)}
    if as_json:
        print_json(about)
        return
    render(about)


def _head(about: Description) -> list[tuple[str, str]]:
    return [
        ("name", f"{about['name']} ({about['kind']})"),
        ("what it is", about["summary"]),
        ("source", about["source"]),
    ]


def result(function: Any) -> str:
    """Return what a function's documentation says that it returns."""
    text = first_line(function).removeprefix("Return ")
    return text.replace("Refuse:", "none:", 1)


def _parameters(known: Mapping[str, Parameter]) -> list[Description]:
    """Describe parameters, of whatever they are."""
    return [
        {
            "name": name,
            "default": None if one.needed else one.default,
            "needed": one.needed,
            "sources": list(one.sources),
            "about": one.about,
        }
        for name, one in known.items()
    ]


def _table(parameters: list[Description]) -> RenderableType:
    """Return the table of described parameters."""
    rows = [
        (
            p["name"],
            p["default"] or "needed",
            p["about"] + (f" (for {', '.join(p['sources'])})" if p["sources"] else ""),
        )
        for p in parameters
    ]
    return heading("parameters", columns(("name", "default", "meaning"), rows))


# --- algorithms -----------------------------------------------------------------------------------


def _algorithm(selector: Selector, item: Item) -> Description:
    from pfbench.algorithms import ALGORITHMS, Algorithm
    from pfbench.algorithms.catalogue import named_algorithm
    from pfbench.claims.catalogue import CLAIMS
    from pfbench.oracles import Oracles

    named_algorithm(replace(selector, name=item.name))
    cls = ALGORITHMS[item.name]
    has_theory = getdoc(cls.theory) != getdoc(Algorithm.theory)
    schedule = [first_line(cls.theory).removeprefix("Return the schedule of ")]
    if hasattr(cls, "sample_sizes"):
        schedule.append(first_line(cls.sample_sizes))
    return {
        "parameters": _parameters(cls.parameters()),
        "theory": "; ".join(schedule) if has_theory else None,
        "requires": {
            verb: _PROBLEMS.get(verb) or result(getattr(Oracles, verb))
            for verb in sorted(cls.requires)
        },
        "assumes": sorted(cls.assumes),
        "counts": cls.counts,
        "deterministic": cls.deterministic,
        "claims": [name for name, claim in CLAIMS.items() if claim.algorithm == item.name],
    }


def _meanings(assumptions: list[str]) -> str:
    from pfbench.base.assumptions import ASSUMPTIONS

    return "; ".join(f"{name} ({ASSUMPTIONS[name]})" for name in assumptions)


def _show_algorithm(about: Description) -> None:
    drawn = "no: it is deterministic" if about["deterministic"] else "yes, from --seed"
    show(
        pairs(
            [
                *_head(about),
                ("counts", about["counts"]),
                ("assumes", _meanings(about["assumes"]) or "nothing beyond smoothness"),
                ("random", drawn),
                *([("claims", ", ".join(about["claims"]))] if about["claims"] else []),
            ]
        ),
        heading("it requires", pairs(about["requires"].items())),
        _table(about["parameters"]),
    )
    if about["theory"]:
        show(
            heading(
                "schedule of its theorem",
                f'Ask for it by the accuracy alone, as in "{about["name"]}[epsilon=0.1]":',
                about["theory"] + ".",
                "A parameter beside epsilon replaces that one; the schedule is then explicit.",
            )
        )


# --- problems -------------------------------------------------------------------------------------


def _problem(selector: Selector, item: Item) -> Description:
    from pfbench.problems import PROBLEMS

    family = PROBLEMS[item.name]
    about: Description = {
        "sources": list(family.sources),
        "parameters": _parameters(family.parameters()),
    }
    try:
        return about | _built(selector, item)
    except DataError as error:
        if selector.parameters:
            raise
        return about | {"selector": item.name, "built": None, "not_built": str(error)}


def _built(selector: Selector, item: Item) -> Description:
    """Describe a problem on its data."""
    from pfbench.base.assumptions import known_of
    from pfbench.base.constants import MEANING as CONSTANTS
    from pfbench.measures import MEANING as MEASURES
    from pfbench.measures import available
    from pfbench.problems.catalogue import named_problem

    built = named_problem(replace(selector, name=item.name))
    constants = built.constants(built.start())
    best = built.best_known
    return {
        "selector": str(Selector(item.name, selector.parameters)),
        "built": {
            "n": built.n,
            "shape": list(built.shape),
            "digest": built.digest,
            "properties": sorted(known_of(built)),
            "best_known": None if best is None else {"value": best[0], "source": best[1]},
            "constants": [
                {
                    "name": name,
                    "value": getattr(constants, name),
                    "derivation": derivation,
                    "meaning": CONSTANTS[name],
                }
                for name, derivation in constants.derivations.items()
            ],
            "measures": {
                name: MEASURES[name].summary if name in MEASURES else ""
                for name in available(built)
            },
        },
    }


def in_words(shape: list[int]) -> str:
    """Return e.g. "200 x 200 matrix", "vector of length 30"."""
    if len(shape) == 1:
        return f"vector of length {shape[0]:,}"
    return " x ".join(f"{side:,}" for side in shape) + " matrix"


def _show_problem(about: Description) -> None:
    data = [("data", ", ".join(about["sources"]))] if about["sources"] else []
    show(
        pairs([*_head(about), *data]),
        _table(about["parameters"]),
    )
    built = about["built"]
    if built is None:
        show(heading("constants", f"Not built: {about['not_built']}"))
        return
    best = built["best_known"]
    known = "not known" if best is None else f"{number(best['value'])} ({best['source']})"
    constants = [
        (c["name"], number(c["value"]), f"{c['meaning']}\nfrom: {c['derivation']}")
        for c in built["constants"]
    ]
    show(
        heading(
            about["selector"],
            pairs(
                [
                    ("points", in_words(built["shape"])),
                    ("components", f"{built['n']:,}"),
                    ("properties", _meanings(built["properties"]) or "none known"),
                    ("best objective", known),
                    ("digest", built["digest"][:16]),
                ]
            ),
        ),
        heading(
            "constants",
            columns(("name", "value", "meaning, and where the value is from"), constants),
        ),
        heading("measures", pairs(built["measures"].items())),
    )


# --- sets, data sets, reports ---------------------------------------------------------------------


def _set(selector: Selector, item: Item) -> Description:
    from pfbench.problems import PROBLEMS
    from pfbench.sets.catalogue import PENALTIES, SETS

    cls: Any = (SETS if item.kind == "set" else PENALTIES)[item.name]
    about: Description = {
        "points": cls.points,
        "parameters": _parameters(cls.parameters()),
        "python": cls.needs or None,
    }
    if item.kind == "set":
        about |= {
            "diameter": first_line(cls.diameter),
            "linear_minimisation": result(cls.lo),
            "projection": result(cls.project),
        }
    else:
        about |= {"prox": result(cls.prox)}
    about["problems"] = {
        one.name: "its only set" if one.own_set == item.name else f"{item.kind}={item.name}"
        for one in PROBLEMS.values()
        if (item.kind == "set" and one.own_set == item.name)
        or (not cls.needs and one.takes(item.kind, cls.points))
    }
    return about


def _show_set(about: Description) -> None:
    known = {
        "diameter": "diameter",
        "LO": "linear_minimisation",
        "projection": "projection",
        "prox": "prox",
    }
    show(
        pairs(
            [
                *_head(about),
                ("points", about["points"]),
                *((title, about[key]) for title, key in known.items() if key in about),
                *(("problem", f"{name} ({how})") for name, how in about["problems"].items()),
                *([("in Python", f"it needs {about['python']}")] if about["python"] else []),
            ]
        ),
        *([_table(about["parameters"])] if about["parameters"] else []),
    )


def _measure(selector: Selector, item: Item) -> Description:
    from pfbench.measures import BRACKETS, MEASURES

    return {"interval": item.name in BRACKETS, "everywhere": item.name in MEASURES}


def _show_measure(about: Description) -> None:
    value = (
        "an interval, certified; a column NAME_lower beside" if about["interval"] else "a number"
    )
    where = "every problem" if about["everywhere"] else "final values, or single problems"
    show(pairs([*_head(about), ("value", value), ("measured on", where)]))


def _data(selector: Selector, item: Item) -> Description:
    from pfbench.problems.data.catalogue import data_set
    from pfbench.problems.data.management import status

    record, state = data_set(item.name), status(item.name)
    return {
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


def _show_data(about: Description) -> None:
    checked = "verified" if about["verified"] else "unverified"
    where = {"embedded": "embedded: it comes with scikit-learn"}.get(
        about["state"],
        f"absent: run `pfbench data fetch {about['name']}`"
        if about["path"] is None
        else f"cached: {about['path']}, {size(about['bytes'])}",
    )
    show(
        pairs(
            [
                *_head(about),
                *([("address", about["url"])] if about["url"] else []),
                ("cite", about["citation"]),
                ("terms", about["terms"]),
                ("kind of data", about["task"]),
                ("shape", in_words(about["shape"])),
                *([("ratings", f"{about['rows']:,}")] if about["task"] == "ratings" else []),
                *([("classes", f"{about['classes']:,}")] if about["classes"] else []),
                ("state", where),
                ("check", f"{checked}, by {about['verified_by']}"),
            ]
        )
    )


def _report(selector: Selector, item: Item) -> Description:
    from pfbench.runs.planning.study import read_spec

    spec = read_spec(Path(specs()[item.name]))
    return {
        "about": " ".join(spec.about.split()),
        "runs": len(spec.runs()),
        "studies": [
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
        ],
    }


def _show_report(about: Description) -> None:
    show(
        pairs(
            [
                *_head(about),
                ("runs", f"{about['runs']:,}"),
                ("about", about["about"]),
            ]
        )
    )
    for study in about["studies"]:
        show(
            heading(
                study["title"],
                pairs(
                    [
                        ("about", study["about"]),
                        ("problem", study["problem"]),
                        ("algorithms", ", ".join(study["algorithms"])),
                        ("settings", ", ".join(study["columns"])),
                        ("measures", ", ".join(study["measures"])),
                        ("runs", f"{study['runs']:,} ({plural(study['seeds'], 'seed')})"),
                    ]
                ),
            )
        )


_KINDS: Mapping[
    str, tuple[Callable[[Selector, Item], Description], Callable[[Description], None]]
] = MappingProxyType(
    {
        "algorithm": (_algorithm, _show_algorithm),
        "problem": (_problem, _show_problem),
        "set": (_set, _show_set),
        "penalty": (_set, _show_set),
        "measure": (_measure, _show_measure),
        "data": (_data, _show_data),
        "report": (_report, _show_report),
        "claim": (lambda selector, item: describe(item.name), show_claim),
    }
)
"""For each kind, what describes it and what shows that description."""
