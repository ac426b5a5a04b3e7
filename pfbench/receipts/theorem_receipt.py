"""What a receipt says of a theorem, and the archive that holds it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pfbench.algorithms.base import get_parameters
from pfbench.base.errors import InputError, PfbenchError, format_error
from pfbench.base.selectors import module_name
from pfbench.base.user_code import is_builtin
from pfbench.receipts.receipt_runs import ReceiptCell, Row, cells, encode_runs
from pfbench.runs.archive_inputs import collect_inputs
from pfbench.runs.file_audit import collect_declared_files
from pfbench.runs.pack import collect_user_sources, write_archive_with_code
from pfbench.runs.storage.archive import ArchiveKind
from pfbench.runs.storage.field_types import integer, list_type, mapping_type, table, text
from pfbench.verification.claim import Claim
from pfbench.verification.homogeneity import check_claim
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.setting import iterate_instances
from pfbench.verification.subject import ClaimBroken, NotTestable
from pfbench.verification.trial import Trial, claim_method
from pfbench.verification.user_claims import load_claims, split_reference
from pfbench.verification.verdict import as_json_value
from pfbench.verification.worst_case import check_installed
from pfbench.verification.worst_case.requests import check_claim as worst_cases_of

RUNS, PAGE, MARKDOWN = "runs.json", "receipt.html", "receipt.md"
MACROS, BADGE = "receipt.tex", "badge.svg"
"""The names inside."""

RECEIPT = ArchiveKind(
    "receipt.json",
    {r"receipt\.json": 2**24, r"receipt\.(html|md|tex)|badge\.svg": 2**22, r"runs\.json": 2**26},
    {
        "theorem": text,
        "seed": integer,
        "effort": text,
        "environment": mapping_type(text),
        "claims": list_type(table),
        "verdicts": list_type(table),
        "errata": list_type(table),
        "faults": table,
        "power": list_type(table),
        "worst": list_type(table),
        "cells": list_type(text),
        "without": mapping_type(text),
    },
    frozenset({RUNS}),
)
"""A theorem with its evidence."""

STEPS = 3
"""Steps of a run by which is seen what somebody's own code reads."""


@dataclass(frozen=True, kw_only=True)
class TheoremEvidence:
    """What was found of a theorem.

    Attributes
    ----------
    verdicts, errata, faults, power, worst
        As ``receipt.json`` has them.
    rows
        The runs.
    without
        Why a cell has no runs, by its name.
    """

    verdicts: Sequence[Mapping[str, Any]]
    errata: Sequence[Mapping[str, Any]]
    faults: Mapping[str, Any]
    power: Sequence[Mapping[str, Any]]
    worst: Sequence[Mapping[str, Any]]
    rows: Sequence[Row]
    without: Mapping[str, str]


def describe_claim(claim: Claim) -> dict[str, Any]:
    """Return what a claim states, in words and numbers: made again, it must be the same."""
    units = check_claim(claim)
    return {
        "name": claim.name,
        "source": claim.source,
        "kind": claim.kind,
        "statement": claim.statement,
        "method": claim.method,
        "assumptions": list(claim.assumptions),
        "disputed": claim.disputed,
        "homogeneous": units.homogeneous,
        "normalised": units.normalised,
        "units": units.description,
        "instances": {
            title or instance.name: {
                "parameters": {name: str(value) for name, value in instance.parameters.items()},
                "constants": _constants(instance.example()),
            }
            for title, instance in (iterate_instances(Trial(claim)) if claim.instances else ())
        },
        "settings": {cell.name: _setting(cell) for cell in cells(claim)},
    }


def _constants(problem: Any) -> dict[str, float]:
    if not hasattr(problem, "constants"):
        return {}
    full_list = vars(problem.constants(problem.start())).items()
    return {name: value for name, value in full_list if _is_finite(value)}


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _setting(cell: ReceiptCell) -> dict[str, Any]:
    """Return the parameters of a cell's method, and the bounds that it is held to."""
    try:
        case = cell.case(0)
    except NotTestable as error:
        return {"refused": str(error)}
    values = {name: _format_value(value) for name, value in get_parameters(case.algorithm).items()}
    check = cell.claim.check
    bounds = as_json_value(check.values(case)) if isinstance(check, Bound) else {}
    return {"parameters": values, "bounds": bounds}


def _format_value(value: Any) -> Any:
    return value if _is_finite(value) or value is None else str(value)


def worst_cases(claim: Claim) -> list[dict[str, Any]]:
    """Return the worst cases of few steps beside the bound, with their proofs; or why none is."""
    try:
        check_installed()
        checks = list(worst_cases_of(claim))
    except (PfbenchError, NotTestable) as error:
        return [{"claim": claim.name, "why": format_error(error).rstrip(".")}]
    return [
        {
            "claim": claim.name,
            "steps": check.worst_case.steps,
            "worst_case": as_json_value(check.worst_case.value),
            "bound": check.bound,
            "proof": None if check.worst_case.proof is None else check.worst_case.proof.as_json(),
        }
        for check in checks
    ]


# --- the archive ----------------------------------------------------------------------------------


def receipt_fields(
    reference: str,
    claims: Sequence[Claim],
    result: TheoremEvidence,
    *,
    environment: Mapping[str, str],
    version: str,
    seed: int,
    effort: str,
) -> dict[str, Any]:
    """Return the fields of ``receipt.json`` that say what was found."""
    theorem = replace_file_by_module(reference)
    return {
        "pfbench": version,
        "name": theorem.partition(":")[0].rpartition(".")[2],
        "theorem": theorem,
        "seed": seed,
        "effort": effort,
        "environment": dict(environment),
        "claims": [describe_claim(claim) for claim in claims],
        **{name: var for name, var in vars(result).items() if name != "rows"},
        "cells": [cell.name for claim in claims for cell in cells(claim)],
    }


def write(
    path: Path,
    reference: str,
    statements: Mapping[str, Any],
    rows: Sequence[Row],
    displayed: Mapping[str, str],
) -> Mapping[str, Any]:
    """Write a receipt; `displayed` are its pages by their names inside.

    Returns
    -------
    mapping of str to object
        ``receipt.json``, without the hashes.

    Raises
    ------
    InputError
        If what its code reads cannot be in an archive, or comes out otherwise elsewhere.
    StorageError
        If it cannot be written.
    """
    module = replace_file_by_module(reference).partition(":")[0]
    code = {} if is_builtin(module) else collect_user_sources(frozenset({module}))
    contents = collect_inputs(_dry, reference, replace_file_by_module(reference), code)
    files = {RUNS: encode_runs(rows), **{name: page.encode() for name, page in displayed.items()}}
    return write_archive_with_code(path, statements, files, code, contents, RECEIPT)


def replace_file_by_module(reference: str) -> str:
    """Return MODULE or MODULE:NAME for FILE.py or FILE.py:NAME, wherever the file lies."""
    home, attribute = split_reference(reference)
    module = module_name(f"{home}:")
    return f"{module}:{attribute}" if attribute else module


def _dry(reference: str) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Make the problems of claims, begin their runs; return what came of it, and what is declared.

    Where somebody's code raises, that is what came of it.
    """
    statement: dict[str, str] = {}
    files: dict[str, tuple[str, str]] = {}
    for claim in load_claims(reference).claims:
        for instance in claim.instances:
            problem = instance.example()
            method = claim_method(claim) if claim.algorithm else None
            files |= collect_declared_files(problem, getattr(problem, "set", None), method)
            statement[f"{claim.name} on {instance.name}"] = repr(_constants(problem))
        for cell in cells(claim):
            try:
                case = cell.case(0)
                for _ in islice(Trial(claim).follow(case.problem, case.algorithm), STEPS):
                    pass
                statement[cell.name] = "begun"
            except (ClaimBroken, NotTestable) as error:
                statement[cell.name] = str(error)
    if not statement:
        raise InputError(f"{reference} states no instance.")
    return statement, files
