"""The pages of theory: what each claim says, how it is tested, and what was measured.

Verdicts and power are read from the tables that ``pfbench verify --table`` writes.
"""

import inspect
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

from formulas import typeset
from marking import cell, code, linked, safe, words

import pfbench.claims
from pfbench.base.constants import MEANING
from pfbench.claims.catalogue import PAPERS
from pfbench.verification.claim import CONCLUSIONS, KINDS, Claim, Erratum, Paper
from pfbench.verification.instances import Instance
from pfbench.verification.user_claims import collect_paper

REPORTS = Path(__file__).parents[1] / "reports"
MANY = 40
"""A page of more claims has them as tables."""


# --- what was measured ----------------------------------------------------------------------------


@cache
def _table(name: str, *header: str) -> list[dict[str, str]]:
    """Return the rows of the table of a report whose header begins so, by column."""
    tables: list[list[list[str]]] = [[]]
    for line in (REPORTS / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            tables.append([])
        elif not line.startswith("| ---"):
            cells = re.split(r"(?<!\\)\|", line.strip()[1:-1])
            tables[-1].append([re.sub(r"\\(.)", r"\1", one).strip() for one in cells])
    fitting = (one for one in tables if one and one[0][: len(header)] == list(header))
    return [dict(zip(columns, row, strict=True)) for columns, *rows in fitting for row in rows]


@cache
def measured() -> Mapping[str, Mapping[str, str]]:
    """Return what the last full verification says of each claim."""
    return {row["claim"]: row for row in _table("verification.md", "claim", "verdict")}


@cache
def power() -> Mapping[str, list[str]]:
    """Return the least factor that each claim finds on each parameter of its method."""
    found: dict[str, list[str]] = {}
    for row in _table("power.md", "claim", "method", "parameter"):
        told = (row.get(effort, "-").removeprefix("at most ") for effort in ("quick", "full"))
        factors = [float(one.split()[0]) for one in told if one[0].isdigit()]
        if factors:
            found.setdefault(row["claim"], []).append(f"{min(factors):g} on {row['parameter']}")
    return found


@cache
def shown() -> Mapping[str, str]:
    """Return whether each erratum is shown: it fails as printed, and holds as corrected."""
    return {
        row["erratum"]: row["evidence"].strip("*")
        for row in _table("verification.md", "erratum", "ruling")
    }


# --- a page ---------------------------------------------------------------------------------------


def claims(key: str) -> str:
    """Return all that is said of a paper, or of the methods."""
    paper = PAPERS[key]
    instances = _distinct(one for claim in paper.claims for one in claim.instances)
    parts = [f"{_claims_in_words(paper)}; errata: {_errata_in_words(paper)}.\n"]
    for module in _files(paper):
        parts += [f"## {safe(_title(module))}\n", *_about(module)]
        ours = [claim for claim in paper.claims if claim in _claims_of(module)]
        tell = _as_tables if len(paper.claims) > MANY else _one_by_one
        parts += tell(ours, paper, instances)
        parts += [_erratum(one) for one in _errata_of(module, paper)]
    parts += ["## The problems\n", *_problems(key, list(instances.values()))]
    return "\n".join(parts)


def _claims_in_words(paper: Paper) -> str:
    """Return how many claims a paper has, and their verdicts."""
    known = [
        measured()[claim.name]["verdict"] for claim in paper.claims if claim.name in measured()
    ]
    counts = ", ".join(f"{known.count(word)} {word}" for word in dict.fromkeys(sorted(known)))
    number = len(paper.claims)
    return f"{number} claim{'' if number == 1 else 's'}{f' ({counts})' if counts else ''}"


def _errata_in_words(paper: Paper) -> str:
    """Return how many errata a paper has, by their rulings."""
    rulings = [erratum.ruling for erratum in paper.errata]
    counts = ", ".join(f"{rulings.count(one)} {one}" for one in dict.fromkeys(sorted(rulings)))
    number = len(rulings)
    return f"{number} ({counts})" if number else "none"


def _files(paper: Paper) -> list[ModuleType]:
    """Return the modules that state something, in the order of the paper."""
    prefix = f"pfbench.claims.{paper.key}."
    files = [one for name, one in sys.modules.items() if name.startswith(prefix)]
    order = {id(one): place for place, one in enumerate((*paper.claims, *paper.errata))}
    stating = {
        min(order[id(one)] for one in held): module
        for module in files
        if (held := [*_claims_of(module), *_errata_of(module, paper)])
    }
    return [stating[place] for place in sorted(stating)]


def _claims_of(module: ModuleType) -> tuple[Claim, ...]:
    """Return the claims at the top level of a module."""
    return collect_paper(vars(module).values()).claims


def _errata_of(module: ModuleType, paper: Paper) -> list[Erratum]:
    """Return the errata of a paper that a module examines."""
    return [
        one
        for one in paper.errata
        if getattr(one.examine, "func", one.examine).__module__ == module.__name__
    ]


def _title(module: ModuleType) -> str:
    return words(module.__doc__ or "").partition("\n\n")[0].partition(":")[0].rstrip(".")


def _about(module: ModuleType) -> Iterator[str]:
    """Yield what a file says of itself, and its formulas with their derivation."""
    about = words(module.__doc__ or "")
    yield f"{safe(about)}\n" if about.rstrip(".") != _title(module) else ""
    formulas = [
        one
        for name, one in vars(module).items()
        if inspect.isfunction(one)
        and one.__module__ == module.__name__
        and not name.startswith("_")
        and one.__annotations__.get("return") in (float, "float")
    ]
    for one in formulas:
        yield f"* `{one.__name__}({', '.join(inspect.signature(one).parameters)})`: {_says(one)}"
    yield ""


def _says(thing: Any) -> str:
    """Return what a function's docstring says before its sections, in one paragraph."""
    text = re.split(r"\n\w+\n-{3,}", inspect.getdoc(thing) or "")[0]
    return safe(" ".join(text.split()))


def _one_by_one(
    ours: Iterable[Claim], paper: Paper, instances: Mapping[str, Instance]
) -> Iterator[str]:
    places = {name: number for number, name in enumerate(instances, 1)}
    for claim in ours:
        yield f"(claim-{claim.name})=\n### {claim.name}\n\n{typeset(claim.statement)}\n"
        tests = [
            f"[{safe(_called(each))}](#problem-{paper.key}-{places[_identity(each)]})"
            for each in claim.instances
        ]
        facts = {
            "source": linked(claim.source),
            "verdict": _verdict(claim),
            "kind": f"{claim.kind}: {KINDS[claim.kind]}",
            "method": about_method(claim.method),
            "parameters": safe(claim.schedule),
            "assumes": safe("; ".join(claim.assumptions)),
            "tested on": ", ".join(tests),
            "how": _how(claim),
            "power": _power(claim),
            "must catch": safe("; ".join(_faults(claim, paper))),
            "disputed": safe(claim.disputed),
        }
        yield from (f"* **{name}**: {text}" for name, text in facts.items() if text)
        yield ""


def _as_tables(
    ours: Iterable[Claim], paper: Paper, instances: Mapping[str, Instance]
) -> Iterator[str]:
    for method, held in groupby(ours, key=lambda one: one.method):
        theirs = list(held)
        sources = "; ".join(dict.fromkeys(linked(claim.source) for claim in theirs))
        # To what holds a method to its own source others link; a paper's table has no such name.
        label = f"(method-{method})=\n" if paper is PAPERS["methods"] else ""
        yield f"{label}### {method}\n\n{sources}\n"
        yield "| claim | says | verdict | power |"
        yield "| --- | --- | --- | --- |"
        for claim in theirs:
            says = (code(claim.name), typeset(claim.statement), _verdict(claim), _power(claim))
            yield f"| {' | '.join(map(cell, says))} |"
        yield ""


def about_method(name: str) -> str:
    """Return the name of a method, with a link to what it is held to if it is one of ours."""
    held = {claim.method for claim in PAPERS["methods"].claims}
    return f"[{code(name)}](#method-{name})" if name in held else code(name) if name else ""


def _verdict(claim: Claim) -> str:
    if claim.name not in measured():
        return "not in the last full verification"
    told = measured()[claim.name]
    parts = (f"**{told['verdict']}**", safe(told["measured"]), f"{told['runs']} runs")
    return ", ".join(filter(None, parts))


def _how(claim: Claim) -> str:
    """Return what the check of a claim shows, in words."""
    return re.sub(r"^Return the check (that|of) ", "", _check_says(claim.check))


def _check_says(check: Any) -> str:
    while isinstance(check, partial):
        check = check.func
    if inspect.isfunction(check):
        return _says(check)
    word = re.search(r"see `(\w+)`", inspect.getdoc(type(check)) or "")
    return _says(getattr(pfbench.claims, word[1]) if word else type(check))


def _power(claim: Claim) -> str:
    found = power().get(claim.name)
    return f"finds a factor of {', '.join(found)}" if found else ""


def _faults(claim: Claim, paper: Paper) -> Iterator[str]:
    for mutant in paper.mutants:
        if claim in mutant.expected_claims:
            yield f"{mutant.name} ({' '.join(mutant.description.split()).rstrip('.')})"


def _erratum(one: Erratum) -> str:
    """Return the dossier of an erratum, with what was measured."""
    dossier = one.dossier
    assert dossier is not None
    quotes = "; ".join(f"“{safe(quote.text)}” ({safe(quote.location)})" for quote in dossier.quotes)
    facts = {
        "ruling": f"**{dossier.conclusion}**: {CONCLUSIONS[dossier.conclusion]}",
        "the paper's words": quotes,
        one.quotation_label: typeset(one.as_printed),
        "corrected": typeset(one.corrected),
        "how to object": safe(one.objection),
        "assumed": safe(dossier.assumption),
        "why": "".join(f"\n  {n}. {safe(line)}" for n, line in enumerate(dossier.derivation, 1)),
        "smallest instance": safe(dossier.instance),
        "other readings": "".join(
            f"\n  * {safe(name)}: {safe(says)}" for name, says in dossier.readings.items()
        ),
        "evidence": shown().get(one.name, "not in the last full verification"),
    }
    told = "\n".join(f"* **{name}**: {text}" for name, text in facts.items() if text)
    return f"### Erratum {one.name}\n\n{told}\n"


# --- the problems ---------------------------------------------------------------------------------


def _identity(one: Instance) -> str:
    return f"{one.name} {one.build!r} {sorted(map(str, one.parameters.items()))}"


def _distinct(instances: Iterable[Instance]) -> dict[str, Instance]:
    return {_identity(instance): instance for instance in instances}


def _called(one: Instance) -> str:
    """Return the name of an instance with its parameters."""
    given = ", ".join(f"{name}={value}" for name, value in one.parameters.items())
    return f"{one.name}({given})" if given else one.name


def _problems(key: str, instances: list[Instance]) -> Iterator[str]:
    """Yield what is known of each problem, by what makes it."""
    for name, about in dict.fromkeys(
        (instance.name, instance.description) for instance in instances
    ):
        says = " ".join(about.split()).removeprefix("Return ")
        yield f"### {safe(name)}\n\n{safe(says)}\n"
        for number, instance in enumerate(instances, 1):
            if (instance.name, instance.description) == (name, about):
                yield f"(problem-{key}-{number})=\n{code(_called(instance))}\n"
                yield from _constants(instance)


def _constants(one: Instance) -> Iterator[str]:
    example = one.example()
    if not hasattr(example, "constants"):
        return
    constants = example.constants(example.start())
    yield "<details><summary>constants</summary>\n"
    yield "| constant | value | meaning | from |"
    yield "| --- | --- | --- | --- |"
    for name, meaning in MEANING.items():
        value = getattr(constants, name)
        if math.isfinite(value):
            source = constants.derivations.get(name, "as made")
            yield f"| {code(name)} | {value:.6g} | {cell(safe(meaning))} | {cell(safe(source))} |"
    yield "\n</details>\n"


def verdicts() -> str:
    """Return a line for each paper."""
    lines = ["| paper | claims | errata |", "| --- | --- | --- |"]
    for key, paper in PAPERS.items():
        cells = f"{_claims_in_words(paper)} | {_errata_in_words(paper)}"
        lines.append(f"| [{safe(paper.title)}](theory/{key}.md) | {cells} |")
    return "\n".join(lines)
