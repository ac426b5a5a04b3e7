"""What is made again of a theorem's receipt, each function in a process that can be killed.

Here its author's code is imported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pfbench.claims.admissible import ADMISSIBLE
from pfbench.receipts.receipt_runs import ReceiptCell, Row, cells, run_cell
from pfbench.receipts.recheck import describe_isolated_difference as other_apart
from pfbench.receipts.theorem_receipt import describe_claim, worst_cases
from pfbench.verification.claim import Claim
from pfbench.verification.faults.equivalence import find_equivalence
from pfbench.verification.faults.generate import generate_faults, sample_faults
from pfbench.verification.instances import with_other_data_seed
from pfbench.verification.session import examine, judge
from pfbench.verification.subject import Subject
from pfbench.verification.trial import claim_method
from pfbench.verification.user_claims import load_claims

ALL_SEEDS = 200
"""A run of at most so many steps is made whole with its method in a process of its own."""


def _cells(theorem: str) -> list[ReceiptCell]:
    return [cell for claim in load_claims(theorem).claims for cell in cells(claim)]


def _claim(theorem: str, name: str) -> Claim:
    return next(claim for claim in load_claims(theorem).claims if claim.name == name)


def statements(theorem: str, seed: int, limit: int) -> dict[str, Any]:
    """Return what a theorem states, and the seeds and faults that follow from it.

    Parameters
    ----------
    theorem
        MODULE or MODULE:NAME.
    seed
        Of the runs.
    limit
        Generated faults of each method.
    """
    paper = load_claims(theorem)
    methods = dict.fromkeys(claim_method(claim) for claim in paper.claims if claim.algorithm)
    faults = (
        [fault for method in methods for fault in sample_faults(generate_faults(method), limit)]
        if limit
        else []
    )
    return {
        "claims": [describe_claim(claim) for claim in paper.claims],
        "seeds": {cell.name: cell.seeds(seed) for claim in paper.claims for cell in cells(claim)},
        "planted": [mutant.name for mutant in paper.mutants],
        "generated": [
            [
                fault.name,
                next((existing.reason for existing in ADMISSIBLE if existing.covers(fault)), ""),
            ]
            for fault in faults
        ],
        "errata": [erratum.name for erratum in paper.errata],
    }


def rerun_cell(theorem: str, index: int, seeds: Sequence[tuple[int, int]]) -> Any:
    """Return the runs of a cell with these seeds, or why they cannot be made."""
    return run_cell(_cells(theorem)[index], seeds, index)


def run_cell_with_new_seed(theorem: str, index: int, seed: int) -> Any:
    """Return runs of a cell of another seed, or why they cannot be made."""
    cell = _cells(theorem)[index]
    return run_cell(cell, cell.seeds(seed), index)


def explain_missing_runs(theorem: str, index: int, seed: int, statement: str) -> str:
    """Return what speaks against there being no runs of a cell; empty if nothing does."""
    cell = _cells(theorem)[index]
    if isinstance(run_cell(cell, cell.seeds(seed), index), str):
        return ""
    return f"runs of {cell.name} can be made, and by the receipt not: {statement or 'it says no reason'}"  # noqa: E501


def describe_isolated_difference(theorem: str, index: int, seed: int, row: Row | None) -> str:
    """Return in what a method differs where nothing of the problem is in its memory.

    Compared is a run of the receipt, if one is given, and it is short.
    """
    cell = _cells(theorem)[index]
    row = row if row is not None and row["iteration"] <= ALL_SEEDS else None
    data, sample = (int(row["data"]), int(row["seed"])) if row else cell.seeds(seed)[0]

    def make_method() -> tuple[Any, Any]:
        case = cell.case(data)
        return case.problem, case.algorithm

    return other_apart(make_method, sample, f"the method of {cell.name}", row)


def recompute_verdict(theorem: str, name: str, effort: str, seed: int) -> Mapping[str, Any]:
    """Return the verdict on a claim."""
    return judge(_claim(theorem, name), effort=effort, seed=seed).as_json()


def recheck_redrawn(theorem: str, name: str, effort: str, seed: int) -> str:
    """Return how a claim is wrong on problems drawn anew, under another name; empty if not."""
    claim = _claim(theorem, name)
    called = f"problem-{seed:x}"
    instances = tuple(with_other_data_seed(instance, seed, called) for instance in claim.instances)
    verdict = judge(replace(claim, instances=instances, user_source=None), effort=effort, seed=seed)
    if not verdict.is_wrong:
        return ""
    return (
        f"on problems of the same families drawn anew, under another name, {name} is "
        f"{verdict.verdict}: {verdict.reason.rstrip('.')}"
    )


def recompute_erratum(theorem: str, name: str, effort: str, seed: int) -> Mapping[str, Any]:
    """Return what an erratum shows."""
    erratum = next(erratum for erratum in load_claims(theorem).errata if erratum.name == name)
    return examine(erratum, effort, seed).as_json()


def recompute_worst_cases(theorem: str, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the worst cases of few steps of a claim."""
    return worst_cases(_claim(theorem, name))


def fault_is_caught(
    theorem: str, method: str, name: str, claim: str, effort: str, seed: int
) -> bool:
    """Return whether a claim finds a fault, or, if none is named, whether it changes nothing.

    A planted one is known by its name; a generated one is of the method of a claim.
    """
    paper = load_claims(theorem)
    claims = [item for item in paper.claims if item.name == claim or (item.algorithm and not claim)]
    if not method:
        subject = next(mutant for mutant in paper.mutants if mutant.name == name).subject
        return judge(claims[0], subject, effort, seed).catches_fault
    faults = (fault for claim in claims for fault in generate_faults(claim_method(claim)))
    fault = next(fault for fault in faults if fault.name == name)
    return (
        judge(claims[0], Subject(fault), effort, seed).catches_fault
        if claim
        else bool(find_equivalence(fault))
    )
