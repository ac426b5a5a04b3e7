"""What a receipt says of a theorem, and the archive that holds it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pfbench.algorithms.base import parameters_of
from pfbench.base.errors import InputError, PfbenchError, in_words
from pfbench.base.selectors import module_of
from pfbench.base.user_code import is_ours
from pfbench.receipts.runs import Cell, Row, cells, written
from pfbench.runs.contents import found_by
from pfbench.runs.pack import code_of, sealed
from pfbench.runs.reads import declared
from pfbench.runs.storage.archive import Form
from pfbench.runs.storage.kinds import KINDS
from pfbench.runs.storage.schema import integer, list_of, table, table_of, text
from pfbench.verification.claim import Claim
from pfbench.verification.homogeneous import of_claim
from pfbench.verification.own import parted, stated
from pfbench.verification.stating.bound import Bound
from pfbench.verification.stating.setting import instances
from pfbench.verification.subject import Broken, Untestable
from pfbench.verification.trial import Trial, method_of
from pfbench.verification.verdict import plain
from pfbench.verification.worst_case import check_installed
from pfbench.verification.worst_case.asked import of_claim as worst_cases_of

RUNS, PAGE, MARKDOWN = "runs.parquet", "receipt.html", "receipt.md"
MACROS, BADGE = "receipt.tex", "badge.svg"
"""The names inside."""

RECEIPT = Form(
    "receipt.json",
    {
        r"receipt\.json": 2**24,
        r"receipt\.(html|md|tex)|badge\.svg": 2**22,
        r"runs\.parquet": KINDS["run"].most_bytes,
    },
    {
        "theorem": text,
        "seed": integer,
        "effort": text,
        "environment": table_of(text),
        "claims": list_of(table),
        "verdicts": list_of(table),
        "errata": list_of(table),
        "faults": table,
        "power": list_of(table),
        "worst": list_of(table),
        "cells": list_of(text),
        "without": table_of(text),
    },
    frozenset({RUNS}),
)
"""A theorem with its evidence."""

STEPS = 3
"""Steps of a run by which is seen what somebody's own code reads."""


@dataclass(frozen=True, kw_only=True)
class Found:
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


def described(claim: Claim) -> dict[str, Any]:
    """Return what a claim states, in words and numbers: made again, it must be the same."""
    units = of_claim(claim)
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
        "units": units.found,
        "instances": {
            title or one.name: {
                "parameters": {name: str(value) for name, value in one.parameters.items()},
                "constants": _constants(one.example()),
            }
            for title, one in (instances(Trial(claim)) if claim.instances else ())
        },
        "settings": {cell.name: _setting(cell) for cell in cells(claim)},
    }


def _constants(problem: Any) -> dict[str, float]:
    if not hasattr(problem, "constants"):
        return {}
    every = vars(problem.constants(problem.start())).items()
    return {name: value for name, value in every if _is_finite(value)}


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _setting(cell: Cell) -> dict[str, Any]:
    """Return the parameters of a cell's method, and the bounds that it is held to."""
    try:
        case = cell.case(0)
    except Untestable as error:
        return {"refused": str(error)}
    given = {name: _said(value) for name, value in parameters_of(case.algorithm).items()}
    check = cell.claim.check
    bounds = plain(check.values(case)) if isinstance(check, Bound) else {}
    return {"parameters": given, "bounds": bounds}


def _said(value: Any) -> Any:
    return value if _is_finite(value) or value is None else str(value)


def worst_cases(claim: Claim) -> list[dict[str, Any]]:
    """Return the worst cases of few steps beside the bound, with their proofs; or why none is."""
    try:
        check_installed()
        found = list(worst_cases_of(claim))
    except (PfbenchError, Untestable) as error:
        return [{"claim": claim.name, "why": in_words(error).rstrip(".")}]
    return [
        {
            "claim": claim.name,
            "steps": one.worst.steps,
            "worst_case": plain(one.worst.value),
            "bound": one.bound,
            "proof": None if one.worst.proof is None else one.worst.proof.as_json(),
        }
        for one in found
    ]


# --- the archive ----------------------------------------------------------------------------------


def about(
    reference: str,
    claims: Sequence[Claim],
    found: Found,
    *,
    environment: Mapping[str, str],
    version: str,
    seed: int,
    effort: str,
) -> dict[str, Any]:
    """Return the fields of ``receipt.json`` that say what was found."""
    theorem = by_module(reference)
    return {
        "pfbench": version,
        "name": theorem.partition(":")[0].rpartition(".")[2],
        "theorem": theorem,
        "seed": seed,
        "effort": effort,
        "environment": dict(environment),
        "claims": [described(one) for one in claims],
        **{name: of for name, of in vars(found).items() if name != "rows"},
        "cells": [cell.name for one in claims for cell in cells(one)],
    }


def write(
    path: Path,
    reference: str,
    said: Mapping[str, Any],
    rows: Sequence[Row],
    shown: Mapping[str, str],
) -> Mapping[str, Any]:
    """Write a receipt; `shown` are its pages by their names inside.

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
    module = by_module(reference).partition(":")[0]
    code = {} if is_ours(module) else code_of(frozenset({module}))
    contents = found_by(_dry, reference, by_module(reference), code)
    files = {RUNS: written(rows), **{name: page.encode() for name, page in shown.items()}}
    return sealed(path, said, files, code, contents, RECEIPT)


def by_module(reference: str) -> str:
    """Return MODULE or MODULE:NAME for FILE.py or FILE.py:NAME, wherever the file lies."""
    home, attribute = parted(reference)
    module = module_of(f"{home}:")
    return f"{module}:{attribute}" if attribute else module


def _dry(reference: str) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Make the problems of claims, begin their runs; return what came of it, and what is declared.

    Where somebody's code raises, that is what came of it.
    """
    said: dict[str, str] = {}
    files: dict[str, tuple[str, str]] = {}
    for claim in stated(reference).claims:
        for one in claim.instances:
            problem = one.example()
            method = method_of(claim) if claim.algorithm else None
            files |= declared(problem, getattr(problem, "set", None), method)
            said[f"{claim.name} on {one.name}"] = repr(_constants(problem))
        for cell in cells(claim):
            try:
                case = cell.case(0)
                for _ in islice(Trial(claim).follow(case.problem, case.algorithm), STEPS):
                    pass
                said[cell.name] = "begun"
            except (Broken, Untestable) as error:
                said[cell.name] = str(error)
    if not said:
        raise InputError(f"{reference} states no instance.")
    return said, files
