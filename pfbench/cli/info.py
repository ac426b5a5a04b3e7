"""``pfbench info``: one thing whole."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from inspect import getdoc
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from pfbench.base.errors import DataError
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


# --- algorithms -----------------------------------------------------------------------------------


def _algorithm(selector: Selector, item: Item) -> Description:
    from pfbench.algorithms import ALGORITHMS, Algorithm, algorithm
    from pfbench.claims.catalogue import CLAIMS
    from pfbench.oracles import Oracles

    algorithm(item.name, **selector.parameters)
    cls = ALGORITHMS[item.name]
    defaults = {field.name: field.default for field in fields(cls)}
    has_theory = getdoc(cls.theory) != getdoc(Algorithm.theory)
    schedule = [first_line(cls.theory).removeprefix("Return the schedule of ")]
    if hasattr(cls, "sample_sizes"):
        schedule.append(first_line(cls.sample_sizes))
    return {
        "parameters": [
            {
                "name": name,
                "default": None if defaults[name] is MISSING else _default(defaults[name]),
                "needed": name in cls.needed(),
                "about": text,
            }
            for name, text in cls.parameters().items()
        ],
        "theory": "; ".join(schedule) if has_theory else None,
        "requires": {
            verb: _PROBLEMS.get(verb) or result(getattr(Oracles, verb))
            for verb in sorted(cls.requires)
        },
        "assumes": sorted(cls.assumes),
        "counts": cls.counts,
        "deterministic": cls.deterministic,
        "longer": dict(zip(("extended", "remark"), cls.longer, strict=True)),
        "claims": [name for name, claim in CLAIMS.items() if claim.algorithm == item.name],
    }


def _default(value: Any) -> Any:
    return "none" if value is None else value


def _meanings(assumptions: list[str]) -> str:
    from pfbench.base.assumptions import ASSUMPTIONS

    return "; ".join(f"{name} ({ASSUMPTIONS[name]})" for name in assumptions)


def _longer(extended: str, remark: str) -> str:
    """Return what a sweep does with a stored run where a longer one is asked for."""
    words = {
        "every iteration": "extended from the last iteration",
        "each epoch": "extended from the start of the last epoch",
        "never": "made again",
    }
    return words[extended] + (f": {remark}" if remark else "")


def _show_algorithm(about: Description) -> None:
    rows = [
        (p["name"], "needed" if p["needed"] else str(p["default"]), p["about"])
        for p in about["parameters"]
    ]
    drawn = "no: it is deterministic" if about["deterministic"] else "yes, from --seed"
    show(
        pairs(
            [
                *_head(about),
                ("counts", about["counts"]),
                ("assumes", _meanings(about["assumes"]) or "nothing beyond smoothness"),
                ("random", drawn),
                ("longer runs", _longer(**about["longer"])),
                *([("claims", ", ".join(about["claims"]))] if about["claims"] else []),
            ]
        ),
        heading("it requires", pairs(about["requires"].items())),
        heading("parameters", columns(("name", "default", "meaning"), rows)),
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
        "parameters": [
            {
                "name": name,
                "default": parameter.default,
                "sources": list(parameter.sources),
                "about": parameter.about,
            }
            for name, parameter in family.parameters().items()
        ],
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
    from pfbench.problems import problem

    built = problem(item.name, **selector.parameters)
    constants = built.constants(built.start())
    best = getattr(built, "best_known", None)
    return {
        "selector": str(Selector(item.name, selector.parameters)),
        "built": {
            "n": built.n,
            "shape": shape_of(built),
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
            "measures": {name: MEASURES.get(name, "") for name in available(built)},
        },
    }


def shape_of(problem: Any) -> list[int]:
    """Return the shape of a problem's points."""
    shape = getattr(problem, "shape", None)
    return [int(side) for side in (shape if shape is not None else (problem.d,))]


def in_words(shape: list[int]) -> str:
    """Return e.g. "200 x 200 matrix", "vector of length 30"."""
    if len(shape) == 1:
        return f"vector of length {shape[0]:,}"
    return " x ".join(f"{side:,}" for side in shape) + " matrix"


def _show_problem(about: Description) -> None:
    rows = [
        (
            p["name"],
            p["default"],
            p["about"] + (f" (for {', '.join(p['sources'])})" if p["sources"] else ""),
        )
        for p in about["parameters"]
    ]
    data = [("data", ", ".join(about["sources"]))] if about["sources"] else []
    show(
        pairs([*_head(about), *data]),
        heading("parameters", columns(("name", "default", "meaning"), rows)),
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
    from pfbench.sets.catalogue import PENALTY_ENTRIES, SET_ENTRIES

    entry = (SET_ENTRIES if item.kind == "set" else PENALTY_ENTRIES)[item.name]
    about: Description = {
        "points": entry.points,
        "parameters": [
            {"name": name, "needed": name in entry.required, "about": text}
            for name, text in entry.parameters.items()
        ],
        "python": entry.needs or None,
    }
    if item.kind == "set":
        about |= {
            "diameter": first_line(entry.cls.diameter),
            "linear_minimisation": result(entry.cls.lo),
            "projection": result(entry.cls.project),
        }
    else:
        about |= {"prox": result(entry.cls.prox)}
    vectors = entry.takes((6,))
    about["problems"] = {
        family.name: "its only set" if family.own_set else f"{item.kind}={item.name}"
        for family in PROBLEMS.values()
        if (item.kind == "set" and family.own_set == item.name)
        or (vectors and item.kind in family.parameters())
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
                *(
                    ("parameter", f"{p['name']}: {p['about']}{', needed' if p['needed'] else ''}")
                    for p in about["parameters"]
                ),
                *(("problem", f"{name} ({how})") for name, how in about["problems"].items()),
                *([("in Python", f"it needs {about['python']}")] if about["python"] else []),
            ]
        )
    )


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
        "data": (_data, _show_data),
        "report": (_report, _show_report),
        "claim": (lambda selector, item: describe(item.name), show_claim),
    }
)
"""For each kind, what describes it and what shows that description."""
