"""Tables and texts on parameters, constants, claims and errata, for ``info`` and ``explain``."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.cli import terminal
from pfbench.cli.catalogue import CatalogueItem
from pfbench.cli.formatting import format_duration, format_number
from pfbench.cli.terminal import Fact, make_table, section_with_title

if TYPE_CHECKING:
    from pfbench.base.constants import Constants
    from pfbench.base.parameters import Parameter
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.dossier import Dossier
    from pfbench.verification.instances import Instance

Record = dict[str, Any]
"""JSON object with which ``--json`` describes a part of an item, such as a parameter."""


# --- parameters and constants ---------------------------------------------------------------------


def describe_parameters(parameters: "Mapping[str, Parameter]") -> list[Record]:
    """Return one JSON record for each parameter of an item."""
    return [
        {
            "name": name,
            "default": None if parameter.is_required else parameter.default,
            "needed": parameter.is_required,
            "sources": list(parameter.sources),
            "about": parameter.description,
        }
        for name, parameter in parameters.items()
    ]


def parameter_table(parameters: "Mapping[str, Parameter]") -> RenderableType:
    """Return a table of the parameters of an item."""
    rows = []
    for name, parameter in parameters.items():
        sources = f" (for {', '.join(parameter.sources)})" if parameter.sources else ""
        rows.append((name, parameter.default or "needed", f"{parameter.description}{sources}"))
    return section_with_title("parameters", make_table(("name", "default", "meaning"), rows))


def describe_constants(constants: "Constants", names: Iterable[str]) -> list[Record]:
    """Return JSON records of some constants of a problem: name, value, derivation, meaning."""
    from pfbench.base.constants import MEANING

    return [
        {
            "name": name,
            "value": getattr(constants, name),
            "derivation": constants.derivations.get(name, "as made"),
            "meaning": MEANING[name],
        }
        for name in names
    ]


def constant_table(title: str, constants: Sequence[Record]) -> RenderableType:
    """Return a table of constants, given by their JSON records."""
    rows = []
    for constant in constants:
        meaning = terminal.multiline_cell(constant["meaning"], f"from: {constant['derivation']}")
        rows.append((constant["name"], format_number(constant["value"]), meaning))
    return make_table((title, "value", "meaning, and where the value is from"), rows)


# --- claims and errata ----------------------------------------------------------------------------


def show_claim_or_erratum(claim: "Claim | Erratum") -> None:
    """Print a claim in full, or an erratum in full with its evidence."""
    from pfbench.verification.claim import Claim

    if isinstance(claim, Claim):
        item = CatalogueItem(claim.name, "claim", claim.source, claim.statement)
        facts, parts = describe_claim(claim)
        terminal.show_facts(
            [*item.facts, *facts], *parts, as_json=False, max_width=terminal.READABLE
        )
        return
    facts = [
        Fact("name", claim.name),
        Fact("claim", claim.claim.name if claim.claim else None, "claim"),
        Fact("as_printed", claim.as_printed, claim.quotation_label),
        Fact("corrected", claim.corrected),
        Fact("objection", claim.objection or None, "how to object"),
        *(_erratum_evidence_facts(claim.dossier) if claim.dossier else []),
    ]
    terminal.show_facts(facts, as_json=False, max_width=terminal.READABLE)


def _erratum_evidence_facts(dossier: "Dossier") -> list[Fact]:
    """Return the evidence for an erratum as facts to print: quotations, derivation, conclusion."""
    from pfbench.verification.dossier import CONCLUSIONS

    conclusion = dossier.conclusion
    quotes = [f"{quote.location}: “{quote.text}”" for quote in dossier.quotes]
    readings = [f"{name}: {says}" for name, says in dossier.readings.items()]
    return [
        Fact("ruling", conclusion, "conclusion", f"{conclusion}: {CONCLUSIONS[conclusion]}"),
        Fact("quotes", quotes, "printed", "\n".join(quotes)),
        Fact("assumed", dossier.assumption, "assumed", dossier.assumption or "nothing"),
        Fact("derivation", list(dossier.derivation), "why", "\n".join(dossier.derivation)),
        Fact("instance", dossier.instance, "smallest instance"),
        Fact("readings", readings, "other readings", "\n".join(readings)),
    ]


def describe_claim(claim: "Claim") -> tuple[list[Fact], list[RenderableType]]:
    """Return the facts about a claim, and descriptions of the instances on which it is tested."""
    from pfbench.claims.catalogue import find_paper
    from pfbench.verification.claim import KINDS
    from pfbench.verification.homogeneity import check_claim_units

    name, kind, paper = claim.name, claim.kind, find_paper(claim)
    mutants = [m.name for m in paper.mutants if name in {c.name for c in m.expected_claims}]
    errata = [e.name for e in paper.errata if e.claim and e.claim.name == name]
    seconds = {effort: claim.seconds(effort) for effort in ("quick", "full")}
    times = ", ".join(f"{format_duration(time)} {effort}" for effort, time in seconds.items())
    assumes = "; ".join(claim.assumptions) or "finite constants"
    admitted = [f"{a:g} to {b:g} times the {name}" for name, (a, b) in claim.admits.items()]
    instances = [_describe_instance(instance) for instance in claim.instances]
    facts = [
        Fact("paper", paper.title, "paper"),
        Fact("claim_kind", kind, "kind of claim", f"{kind}: {KINDS[kind]}"),
        Fact("statement", claim.statement),
        Fact("algorithm", claim.method or None, "algorithm", claim.method or "none"),
        Fact("assumes", list(claim.assumptions), "assumes", assumes),
        Fact("instances", instances),
        Fact("schedule", claim.schedule, "schedule"),
        *([Fact("admits", ", ".join(admitted), "admits")] if admitted else []),
        Fact("disputed", claim.disputed or None, "disputed", claim.disputed or "no"),
        Fact("units", check_claim_units(claim).sentence, "units"),
        Fact("mutants", mutants, "must catch", ", ".join(mutants) or "no planted fault yet"),
        Fact("errata", errata, "errata", ", ".join(errata) or "none"),
        Fact("seconds", seconds, "time", times),
    ]
    first = {instance["about"]: instance for instance in reversed(instances)}
    return facts, [_render_instance(item, first[item["about"]]) for item in instances]


def _describe_instance(instance: "Instance") -> Record:
    """Return a JSON record of a test instance: description, parameters and constants."""
    from pfbench.base.constants import MEANING

    example, constants = instance.example(), list[Record]()
    if hasattr(example, "constants"):
        result = example.constants(example.start())
        constants = describe_constants(
            result, [name for name in MEANING if math.isfinite(getattr(result, name))]
        )
    return {
        "name": instance.name,
        "about": " ".join(instance.description.split()),
        "parameters": {name: str(value) for name, value in instance.parameters.items()},
        "constants": constants,
    }


def _render_instance(item: Record, first_of_family: Record) -> RenderableType:
    """Return the printed description of a test instance.

    `first_of_family` is the first instance of the same family. For another one, only the constants
    that differ from those of `first_of_family` are listed.
    """
    text = ", ".join(f"{name}={value}" for name, value in item["parameters"].items())
    title, constants = f"tested on {item['name']}({text})", item["constants"]
    if item is first_of_family:
        table = [constant_table("constant", constants)] if constants else []
        return section_with_title(title, item["about"].removeprefix("Return "), *table)
    values = {constant["name"]: constant["value"] for constant in first_of_family["constants"]}
    other = [
        f"{constant['name']} = {format_number(constant['value'])}"
        for constant in constants
        if constant["value"] != values.get(constant["name"])
    ]
    return section_with_title(title, f"the same family; {', '.join(other) or 'the same constants'}")
