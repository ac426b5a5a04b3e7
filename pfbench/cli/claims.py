"""One claim or erratum whole, for ``pfbench info`` and ``pfbench verify --explain``."""

import math
from typing import TYPE_CHECKING

from rich.console import RenderableType

from pfbench.cli.describing import Description, constant_table, described_constants
from pfbench.cli.item import Item
from pfbench.cli.tables import READABLE, Fact, heading, show_facts
from pfbench.cli.words import duration, number

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.dossier import Dossier
    from pfbench.verification.instances import Instance


def explain(one: "Claim | Erratum") -> None:
    """Show a claim, or an erratum with its dossier, whole."""
    from pfbench.verification.claim import Claim

    if isinstance(one, Claim):
        item = Item(one.name, "claim", one.source, one.statement)
        facts, parts = describe(one)
        show_facts([*item.facts, *facts], *parts, as_json=False, most=READABLE)
        return
    facts = [
        Fact("name", one.name),
        Fact("claim", one.claim.name if one.claim else None, "claim"),
        Fact("as_printed", one.as_printed, one.stated),
        Fact("corrected", one.corrected),
        Fact("objection", one.objection or None, "how to object"),
    ]
    grounds = _grounds(one.dossier) if one.dossier else []
    show_facts([*facts, *grounds], as_json=False, most=READABLE)


def _grounds(dossier: "Dossier") -> list[Fact]:
    """Return what stands behind an erratum."""
    from pfbench.verification.dossier import RULINGS

    quotes = [f"{quote.place}: “{quote.text}”" for quote in dossier.quotes]
    readings = [f"{name}: {says}" for name, says in dossier.readings.items()]
    return [
        Fact("ruling", dossier.ruling, "ruling", f"{dossier.ruling}: {RULINGS[dossier.ruling]}"),
        Fact("quotes", quotes, "printed", "\n".join(quotes)),
        Fact("assumed", dossier.assumed, "assumed", dossier.assumed or "nothing"),
        Fact("derivation", list(dossier.derivation), "why", "\n".join(dossier.derivation)),
        Fact("instance", dossier.instance, "smallest instance"),
        Fact("readings", readings, "tried, too", "\n".join(readings)),
    ]


def describe(claim: "Claim") -> tuple[list[Fact], list[RenderableType]]:
    """Return what is known of a claim, and the instances on which it is tested."""
    from pfbench.claims.catalogue import paper_of
    from pfbench.verification.claim import KINDS
    from pfbench.verification.homogeneous import of_claim

    instances = [_instance(one) for one in claim.instances]
    paper = paper_of(claim)
    mutants = [m.name for m in paper.mutants if claim.name in {one.name for one in m.expected}]
    errata = [one.name for one in paper.errata if one.claim and one.claim.name == claim.name]
    seconds = {effort: claim.seconds(effort) for effort in ("quick", "full")}
    times = ", ".join(f"{duration(time)} {effort}" for effort, time in seconds.items())
    assumes = "; ".join(claim.assumptions) or "finite constants"
    units = of_claim(claim).sentence
    facts = [
        Fact("paper", paper.title, "paper"),
        Fact("claim_kind", claim.kind, "kind of claim", f"{claim.kind}: {KINDS[claim.kind]}"),
        Fact("statement", claim.statement),
        Fact("algorithm", claim.method or None, "algorithm", claim.method or "none"),
        Fact("assumes", list(claim.assumptions), "assumes", assumes),
        Fact("instances", instances),
        Fact("schedule", claim.schedule, "schedule"),
        *(Fact("admits", told, "admits") for told in [_admitted(claim)] if told),
        Fact("disputed", claim.disputed or None, "disputed", claim.disputed or "no"),
        Fact("units", units, "units"),
        Fact("mutants", mutants, "must catch", ", ".join(mutants) or "no planted fault yet"),
        Fact("errata", errata, "errata", ", ".join(errata) or "none"),
        Fact("seconds", seconds, "time", times),
    ]
    whole = {one["about"]: one for one in reversed(instances)}
    return facts, [_part(one, whole[one["about"]]) for one in instances]


def _admitted(claim: "Claim") -> str:
    """Return which other parameters the theorem admits."""
    return ", ".join(f"{a:g} to {b:g} times the {name}" for name, (a, b) in claim.admits.items())


def _part(one: Description, first: Description) -> RenderableType:
    """Return what an instance is; of one of a family that was shown before what is other."""
    given = ", ".join(f"{name}={value}" for name, value in one["parameters"].items())
    title, constants = f"tested on {one['name']}({given})", one["constants"]
    if one is first:
        shown = [constant_table("constant", constants)] if constants else []
        return heading(title, one["about"].removeprefix("Return "), *shown)
    known = {c["name"]: c["value"] for c in first["constants"]}
    other = [
        f"{c['name']} = {number(c['value'])}"
        for c in constants
        if c["value"] != known.get(c["name"])
    ]
    return heading(title, f"the same family; {', '.join(other) or 'the same constants'}")


def _instance(one: "Instance") -> Description:
    """Return what a problem is, and the constants of an example of it."""
    from pfbench.base.constants import MEANING

    example = one.example()
    found = []
    if hasattr(example, "constants"):
        constants = example.constants(example.start())
        known = [name for name in MEANING if math.isfinite(getattr(constants, name))]
        found = described_constants(constants, known)
    return {
        "name": one.name,
        "about": " ".join(one.about.split()),
        "parameters": {name: str(value) for name, value in one.parameters.items()},
        "constants": found,
    }
