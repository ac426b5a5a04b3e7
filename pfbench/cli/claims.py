"""One claim whole, for ``pfbench info`` and ``pfbench verify --explain``."""

import math
from typing import TYPE_CHECKING, Any

from pfbench.cli.printing import columns, duration, heading, number, show
from pfbench.cli.printing import fields as pairs

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim, Instance


def describe(name: str) -> dict[str, Any]:
    """Return what is known of a claim beside name, kind, source and summary."""
    from pfbench.claims.catalogue import ERRATA, MUTANTS, PAPERS, claim

    told = claim(name)
    return {
        "paper": PAPERS[told.paper].title,
        "claim_kind": told.kind,
        "statement": told.statement,
        "algorithm": told.algorithm or None,
        "assumes": list(told.assumptions),
        "instances": [_instance(one) for one in told.instances],
        "schedule": told.schedule,
        "disputed": told.disputed or None,
        "mutants": [m.name for m in MUTANTS.values() if told in m.expected],
        "errata": [erratum.name for erratum in ERRATA.values() if erratum.claim is told],
        "seconds": {effort: told.seconds(effort) for effort in ("quick", "full")},
    }


def _instance(one: "Instance") -> dict[str, Any]:
    """Return what a problem is, and the constants of an example of it."""
    from pfbench.base.constants import MEANING

    example = one.example()
    constants = example.constants(example.start()) if hasattr(example, "constants") else None
    known = {name: getattr(constants, name) for name in MEANING} if constants else {}
    return {
        "name": one.build.__name__,
        "about": " ".join(one.about.split()),
        "parameters": {name: str(value) for name, value in one.parameters.items()},
        "constants": [
            {
                "name": name,
                "value": value,
                "derivation": constants.derivations.get(name, "as made"),
                "meaning": MEANING[name],
            }
            for name, value in known.items()
            if constants and math.isfinite(value)
        ],
    }


def explain(claim: "Claim") -> None:
    """Show a claim whole."""
    head = {"name": claim.name, "kind": "claim", "source": claim.source}
    show_claim({**head, "summary": claim.statement, **describe(claim.name)})


def show_claim(about: dict[str, Any]) -> None:
    """Show what `describe` returns, with what every kind of thing has."""
    from pfbench.verification.claim import KINDS

    seconds = about["seconds"]
    show(
        pairs(
            [
                ("name", f"{about['name']} ({about['kind']})"),
                ("what it is", about["statement"]),
                ("source", about["source"]),
                ("paper", about["paper"]),
                ("kind of claim", f"{about['claim_kind']}: {KINDS[about['claim_kind']]}"),
                ("algorithm", about["algorithm"] or "none"),
                ("assumes", "; ".join(about["assumes"]) or "finite constants"),
                ("schedule", about["schedule"]),
                ("disputed", about["disputed"] or "no"),
                ("must catch", ", ".join(about["mutants"]) or "no planted fault yet"),
                ("errata", ", ".join(about["errata"]) or "none"),
                ("time", f"{duration(seconds['quick'])} quick, {duration(seconds['full'])} full"),
            ]
        )
    )
    for one in about["instances"]:
        given = ", ".join(f"{name}={value}" for name, value in one["parameters"].items())
        constants = [
            (c["name"], number(c["value"]), f"{c['meaning']}\nfrom: {c['derivation']}")
            for c in one["constants"]
        ]
        table = columns(("constant", "value", "meaning, and where the value is from"), constants)
        shown = [table] if constants else []
        title = f"tested on {one['name']}({given})"
        show(heading(title, f"{one['about'].removeprefix('Return ')}", *shown))
