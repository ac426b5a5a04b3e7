"""One claim or erratum whole, for ``pfbench info`` and ``pfbench verify --explain``."""

import math
from typing import TYPE_CHECKING

from rich.console import RenderableType

from pfbench.cli.catalogue_item import CatalogueItem
from pfbench.cli.formatting import duration, number
from pfbench.cli.parameter_listing import Description, constant_table, describe_constants
from pfbench.cli.terminal_tables import READABLE, Fact, heading, show_facts

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.dossier import Dossier
    from pfbench.verification.instances import Instance


def explain(claim: "Claim | Erratum") -> None:
    """Show a claim, or an erratum with its dossier, whole."""
    from pfbench.verification.claim import Claim

    if isinstance(claim, Claim):
        item = CatalogueItem(claim.name, "claim", claim.source, claim.statement)
        facts, parts = describe(claim)
        show_facts([*item.facts, *facts], *parts, as_json=False, limit=READABLE)
        return
    facts = [
        Fact("name", claim.name),
        Fact("claim", claim.claim.name if claim.claim else None, "claim"),
        Fact("as_printed", claim.as_printed, claim.reading),
        Fact("corrected", claim.corrected),
        Fact("objection", claim.objection or None, "how to object"),
    ]
    grounds = _grounds(claim.dossier) if claim.dossier else []
    show_facts([*facts, *grounds], as_json=False, limit=READABLE)


def _grounds(dossier: "Dossier") -> list[Fact]:
    """Return what stands behind an erratum."""
    from pfbench.verification.dossier import CONCLUSIONS

    quotes = [f"{quote.location}: “{quote.text}”" for quote in dossier.quotes]
    readings = [f"{name}: {says}" for name, says in dossier.readings.items()]
    return [
        Fact(
            "ruling",
            dossier.conclusion,
            "ruling",
            f"{dossier.conclusion}: {CONCLUSIONS[dossier.conclusion]}",
        ),
        Fact("quotes", quotes, "printed", "\n".join(quotes)),
        Fact("assumed", dossier.assumption, "assumed", dossier.assumption or "nothing"),
        Fact("derivation", list(dossier.derivation), "why", "\n".join(dossier.derivation)),
        Fact("instance", dossier.instance, "smallest instance"),
        Fact("readings", readings, "tried, too", "\n".join(readings)),
    ]


def describe(claim: "Claim") -> tuple[list[Fact], list[RenderableType]]:
    """Return what is known of a claim, and the instances on which it is tested."""
    from pfbench.claims.catalogue import find_paper
    from pfbench.verification.claim import KINDS
    from pfbench.verification.homogeneity import check_claim

    instances = [_instance(instance) for instance in claim.instances]
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
    times = ", ".join(f"{duration(time)} {effort}" for effort, time in seconds.items())
    assumes = "; ".join(claim.assumptions) or "finite constants"
    units = check_claim(claim).sentence
    facts = [
        Fact("paper", paper.title, "paper"),
        Fact("claim_kind", claim.kind, "kind of claim", f"{claim.kind}: {KINDS[claim.kind]}"),
        Fact("statement", claim.statement),
        Fact("algorithm", claim.method or None, "algorithm", claim.method or "none"),
        Fact("assumes", list(claim.assumptions), "assumes", assumes),
        Fact("instances", instances),
        Fact("schedule", claim.schedule, "schedule"),
        *(
            Fact("admits", message, "admits")
            for message in [_admissible_parameters(claim)]
            if message
        ),
        Fact("disputed", claim.disputed or None, "disputed", claim.disputed or "no"),
        Fact("units", units, "units"),
        Fact("mutants", mutants, "must catch", ", ".join(mutants) or "no planted fault yet"),
        Fact("errata", errata, "errata", ", ".join(errata) or "none"),
        Fact("seconds", seconds, "time", times),
    ]
    complete = {instance["about"]: instance for instance in reversed(instances)}
    return facts, [_part(instance, complete[instance["about"]]) for instance in instances]


def _admissible_parameters(claim: "Claim") -> str:
    """Return which other parameters the theorem admits."""
    return ", ".join(f"{a:g} to {b:g} times the {name}" for name, (a, b) in claim.admits.items())


def _part(item: Description, first: Description) -> RenderableType:
    """Return what an instance is; of one of a family that was shown before what is other."""
    text = ", ".join(f"{name}={value}" for name, value in item["parameters"].items())
    title, constants = f"tested on {item['name']}({text})", item["constants"]
    if item is first:
        displayed = [constant_table("constant", constants)] if constants else []
        return heading(title, item["about"].removeprefix("Return "), *displayed)
    values = {c["name"]: c["value"] for c in first["constants"]}
    other = [
        f"{c['name']} = {number(c['value'])}"
        for c in constants
        if c["value"] != values.get(c["name"])
    ]
    return heading(title, f"the same family; {', '.join(other) or 'the same constants'}")


def _instance(instance: "Instance") -> Description:
    """Return what a problem is, and the constants of an example of it."""
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
