"""One claim whole, for ``pfbench info`` and ``pfbench verify --explain``."""

import math
from typing import TYPE_CHECKING

from pfbench.cli.catalogue import Item
from pfbench.cli.describing import Described, Description, constant_table, described_constants
from pfbench.cli.printing import duration, heading

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim, Instance


def explain(claim: "Claim") -> None:
    """Show a claim whole."""
    describe(claim).show(Item(claim.name, "claim", claim.source, claim.statement))


def describe(claim: "Claim") -> Described:
    """Return what is known of a claim."""
    from pfbench.claims.catalogue import ERRATA, MUTANTS, PAPERS
    from pfbench.verification.claim import KINDS

    paper = PAPERS[claim.paper].title
    instances = [_instance(one) for one in claim.instances]
    mutants = [m.name for m in MUTANTS.values() if claim in m.expected]
    errata = [erratum.name for erratum in ERRATA.values() if erratum.claim is claim]
    seconds = {effort: claim.seconds(effort) for effort in ("quick", "full")}
    about = {
        "paper": paper,
        "claim_kind": claim.kind,
        "statement": claim.statement,
        "algorithm": claim.algorithm or None,
        "assumes": list(claim.assumptions),
        "instances": instances,
        "schedule": claim.schedule,
        "disputed": claim.disputed or None,
        "mutants": mutants,
        "errata": errata,
        "seconds": seconds,
    }
    lines = [
        ("paper", paper),
        ("kind of claim", f"{claim.kind}: {KINDS[claim.kind]}"),
        ("algorithm", claim.algorithm or "none"),
        ("assumes", "; ".join(claim.assumptions) or "finite constants"),
        ("schedule", claim.schedule),
        ("disputed", claim.disputed or "no"),
        ("must catch", ", ".join(mutants) or "no planted fault yet"),
        ("errata", ", ".join(errata) or "none"),
        ("time", ", ".join(f"{duration(time)} {effort}" for effort, time in seconds.items())),
    ]
    parts = []
    for one in instances:
        given = ", ".join(f"{name}={value}" for name, value in one["parameters"].items())
        constants = one["constants"]
        shown = [constant_table("constant", constants)] if constants else []
        title = f"tested on {one['name']}({given})"
        parts.append(heading(title, one["about"].removeprefix("Return "), *shown))
    return Described(about, lines, parts)


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
        "name": one.build.__name__,
        "about": " ".join(one.about.split()),
        "parameters": {name: str(value) for name, value in one.parameters.items()},
        "constants": found,
    }
