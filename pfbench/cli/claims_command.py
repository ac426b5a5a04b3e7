"""Full description of a claim or erratum, for ``pfbench info`` and ``pfbench explain``."""

import math
from typing import TYPE_CHECKING

from rich.console import RenderableType

from pfbench.cli.catalogue_item import CatalogueItem
from pfbench.cli.formatting import format_duration, format_number
from pfbench.cli.parameter_listing import Description, constant_table, describe_constants
from pfbench.cli.terminal_tables import READABLE, ReportedFact, section_with_title, show_facts

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.dossier import Dossier
    from pfbench.verification.instances import Instance


def explain(claim: "Claim | Erratum") -> None:
    """Show a claim, or an erratum with its dossier, in full."""
    from pfbench.verification.claim import Claim

    if isinstance(claim, Claim):
        item = CatalogueItem(claim.name, "claim", claim.source, claim.statement)
        facts, parts = describe_claim(claim)
        show_facts([*item.facts, *facts], *parts, as_json=False, max_width=READABLE)
        return
    facts = [
        ReportedFact("name", claim.name),
        ReportedFact("claim", claim.claim.name if claim.claim else None, "claim"),
        ReportedFact("as_printed", claim.as_printed, claim.reading),
        ReportedFact("corrected", claim.corrected),
        ReportedFact("objection", claim.objection or None, "how to object"),
    ]
    grounds = _dossier_facts(claim.dossier) if claim.dossier else []
    show_facts([*facts, *grounds], as_json=False, max_width=READABLE)


def _dossier_facts(dossier: "Dossier") -> list[ReportedFact]:
    """Return the facts of an erratum's dossier."""
    from pfbench.verification.dossier import CONCLUSIONS

    quotes = [f"{quote.location}: “{quote.text}”" for quote in dossier.quotes]
    readings = [f"{name}: {says}" for name, says in dossier.readings.items()]
    return [
        ReportedFact(
            "ruling",
            dossier.conclusion,
            "conclusion",
            f"{dossier.conclusion}: {CONCLUSIONS[dossier.conclusion]}",
        ),
        ReportedFact("quotes", quotes, "printed", "\n".join(quotes)),
        ReportedFact("assumed", dossier.assumption, "assumed", dossier.assumption or "nothing"),
        ReportedFact("derivation", list(dossier.derivation), "why", "\n".join(dossier.derivation)),
        ReportedFact("instance", dossier.instance, "smallest instance"),
        ReportedFact("readings", readings, "other readings", "\n".join(readings)),
    ]


def describe_claim(claim: "Claim") -> tuple[list[ReportedFact], list[RenderableType]]:
    """Return the facts of a claim, and the instances on which it is tested."""
    from pfbench.claims.catalogue import find_paper
    from pfbench.verification.claim import KINDS
    from pfbench.verification.homogeneity import check_claim

    instances = [_describe_instance(instance) for instance in claim.instances]
    paper = find_paper(claim)
    mutants = [
        m.name for m in paper.mutants if claim.name in {claim.name for claim in m.expected_claims}
    ]
    errata = [
        erratum.name
        for erratum in paper.errata
        if erratum.claim and erratum.claim.name == claim.name
    ]
    seconds = {effort: claim.seconds(effort) for effort in ("quick", "full")}
    times = ", ".join(f"{format_duration(time)} {effort}" for effort, time in seconds.items())
    assumes = "; ".join(claim.assumptions) or "finite constants"
    units = check_claim(claim).sentence
    facts = [
        ReportedFact("paper", paper.title, "paper"),
        ReportedFact(
            "claim_kind", claim.kind, "kind of claim", f"{claim.kind}: {KINDS[claim.kind]}"
        ),
        ReportedFact("statement", claim.statement),
        ReportedFact("algorithm", claim.method or None, "algorithm", claim.method or "none"),
        ReportedFact("assumes", list(claim.assumptions), "assumes", assumes),
        ReportedFact("instances", instances),
        ReportedFact("schedule", claim.schedule, "schedule"),
        *(
            ReportedFact("admits", message, "admits")
            for message in [_describe_admissible_parameters(claim)]
            if message
        ),
        ReportedFact("disputed", claim.disputed or None, "disputed", claim.disputed or "no"),
        ReportedFact("units", units, "units"),
        ReportedFact(
            "mutants", mutants, "must catch", ", ".join(mutants) or "no planted fault yet"
        ),
        ReportedFact("errata", errata, "errata", ", ".join(errata) or "none"),
        ReportedFact("seconds", seconds, "time", times),
    ]
    complete = {instance["about"]: instance for instance in reversed(instances)}
    return facts, [
        _render_instance(instance, complete[instance["about"]]) for instance in instances
    ]


def _describe_admissible_parameters(claim: "Claim") -> str:
    """Return the further parameters that the theorem admits."""
    return ", ".join(f"{a:g} to {b:g} times the {name}" for name, (a, b) in claim.admits.items())


def _render_instance(item: Description, first: Description) -> RenderableType:
    """Return an instance's description; for further ones of a family, only constants."""
    text = ", ".join(f"{name}={value}" for name, value in item["parameters"].items())
    title, constants = f"tested on {item['name']}({text})", item["constants"]
    if item is first:
        displayed = [constant_table("constant", constants)] if constants else []
        return section_with_title(title, item["about"].removeprefix("Return "), *displayed)
    values = {c["name"]: c["value"] for c in first["constants"]}
    other = [
        f"{c['name']} = {format_number(c['value'])}"
        for c in constants
        if c["value"] != values.get(c["name"])
    ]
    return section_with_title(title, f"the same family; {', '.join(other) or 'the same constants'}")


def _describe_instance(instance: "Instance") -> Description:
    """Return the description of a problem, and the constants of an example of it."""
    from pfbench.base.constants import MEANING

    example = instance.example()
    results = []
    if hasattr(example, "constants"):
        constants = example.constants(example.start())
        meaning = [name for name in MEANING if math.isfinite(getattr(constants, name))]
        results = describe_constants(constants, meaning)
    return {
        "name": instance.name,
        "about": " ".join(instance.description.split()),
        "parameters": {name: str(value) for name, value in instance.parameters.items()},
        "constants": results,
    }
