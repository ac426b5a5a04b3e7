"""Records of claims and errata, for ``pfbench info`` and ``pfbench explain``."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.instances import Instance

Record = dict[str, Any]


def describe_erratum(erratum: "Erratum") -> Record:
    """Return the record of an erratum, with its evidence."""
    from pfbench.verification.dossier import CONCLUSIONS

    record = {
        "name": erratum.name,
        "claim": erratum.claim.name if erratum.claim else None,
        erratum.quotation_label: erratum.as_printed,
        "corrected": erratum.corrected,
        "how to object": erratum.objection,
    }
    dossier = erratum.dossier
    if dossier is None:
        return record
    return record | {
        "conclusion": f"{dossier.conclusion}: {CONCLUSIONS[dossier.conclusion]}",
        "assumed": dossier.assumption or "nothing",
        "smallest instance": dossier.instance,
        "printed": {quote.location: f"“{quote.text}”" for quote in dossier.quotes},
        "why": " ".join(dossier.derivation),
        "other readings": dict(dossier.readings),
    }


def describe_claim(claim: "Claim") -> Record:
    """Return the record of a claim, with the instances on which it is tested."""
    from pfbench.claims.catalogue import find_paper
    from pfbench.verification.claim import KINDS
    from pfbench.verification.homogeneity import check_claim_units

    name, kind, paper = claim.name, claim.kind, find_paper(claim)
    admitted = [f"{a:g} to {b:g} times the {name}" for name, (a, b) in claim.admits.items()]
    return {
        "paper": paper.title,
        "claim_kind": kind,
        "claim_kind_meaning": KINDS[kind],
        "statement": claim.statement,
        "algorithm": claim.method or None,
        "assumes": list(claim.assumptions) or ["finite constants"],
        "schedule": claim.schedule,
        "admits": ", ".join(admitted),
        "disputed": claim.disputed or None,
        "units": check_claim_units(claim).sentence,
        "mutants": [m.name for m in paper.mutants if name in {c.name for c in m.expected_claims}],
        "errata": [e.name for e in paper.errata if e.claim and e.claim.name == name],
        "seconds": {effort: claim.seconds(effort) for effort in ("quick", "full")},
        "instances": [_describe_instance(instance) for instance in claim.instances],
    }


def _describe_instance(instance: "Instance") -> Record:
    """Return the record of a test instance: description, parameters and finite constants."""
    from pfbench.base.constants import MEANING

    example = instance.example()
    result = example.constants(example.start()) if hasattr(example, "constants") else None
    return {
        "name": instance.name,
        "about": " ".join(instance.description.split()).removeprefix("Return "),
        "parameters": {name: str(value) for name, value in instance.parameters.items()},
        "constants": [
            {
                "name": name,
                "value": getattr(result, name),
                "derivation": result.derivations.get(name, "as made"),
            }
            for name in MEANING
            if result is not None and math.isfinite(getattr(result, name))
        ],
    }
