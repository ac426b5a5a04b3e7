"""What is made again of a theorem's receipt, each function in a process that can be killed.

Here its author's code is imported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pfbench.claims.admissible import ADMISSIBLE
from pfbench.receipts.again import other_apart
from pfbench.receipts.content import described, worst_cases
from pfbench.receipts.runs import Cell, Row, cells, tried
from pfbench.verification.claim import Claim
from pfbench.verification.faults.equivalence import equivalent
from pfbench.verification.faults.generate import drawn, faults_of
from pfbench.verification.instances import redrawn
from pfbench.verification.own import stated
from pfbench.verification.session import examine, judge
from pfbench.verification.subject import Subject
from pfbench.verification.trial import method_of

WHOLE = 200
"""A run of at most so many steps is made whole with its method in a process of its own."""


def _cells(theorem: str) -> list[Cell]:
    return [cell for claim in stated(theorem).claims for cell in cells(claim)]


def _claim(theorem: str, name: str) -> Claim:
    return next(one for one in stated(theorem).claims if one.name == name)


def statements(theorem: str, seed: int, most: int) -> dict[str, Any]:
    """Return what a theorem states, and the seeds and faults that follow from it.

    Parameters
    ----------
    theorem
        MODULE or MODULE:NAME.
    seed
        Of the runs.
    most
        Generated faults of each method.
    """
    there = stated(theorem)
    methods = dict.fromkeys(method_of(one) for one in there.claims if one.algorithm)
    faults = [one for of in methods for one in drawn(faults_of(of), most)] if most else []
    return {
        "claims": [described(one) for one in there.claims],
        "seeds": {cell.name: cell.seeds(seed) for one in there.claims for cell in cells(one)},
        "planted": [one.name for one in there.mutants],
        "generated": [
            [one.name, next((known.because for known in ADMISSIBLE if known.covers(one)), "")]
            for one in faults
        ],
        "errata": [one.name for one in there.errata],
    }


def runs_of(theorem: str, at: int, seeds: Sequence[tuple[int, int]]) -> Any:
    """Return the runs of a cell with these seeds, or why they cannot be made."""
    return tried(_cells(theorem)[at], seeds, at)


def new_runs(theorem: str, at: int, seed: int) -> Any:
    """Return runs of a cell of another seed, or why they cannot be made."""
    cell = _cells(theorem)[at]
    return tried(cell, cell.seeds(seed), at)


def none_of(theorem: str, at: int, seed: int, said: str) -> str:
    """Return what speaks against there being no runs of a cell; empty if nothing does."""
    cell = _cells(theorem)[at]
    if isinstance(tried(cell, cell.seeds(seed), at), str):
        return ""
    return f"runs of {cell.name} can be made, and by the receipt not: {said or 'it says no reason'}"


def alone(theorem: str, at: int, seed: int, row: Row | None) -> str:
    """Return in what a method differs where nothing of the problem is in its memory.

    Compared is a run of the receipt, if one is given, and it is short.
    """
    cell = _cells(theorem)[at]
    row = row if row is not None and row["iteration"] <= WHOLE else None
    data, drawn = (int(row["data"]), int(row["seed"])) if row else cell.seeds(seed)[0]

    def made() -> tuple[Any, Any]:
        case = cell.case(data)
        return case.problem, case.algorithm

    return other_apart(made, drawn, f"the method of {cell.name}", row)


def verdict_on(theorem: str, name: str, effort: str, seed: int) -> Mapping[str, Any]:
    """Return the verdict on a claim."""
    return judge(_claim(theorem, name), effort=effort, seed=seed).as_json()


def anew(theorem: str, name: str, effort: str, seed: int) -> str:
    """Return how a claim is wrong on problems drawn anew, under another name; empty if not."""
    claim = _claim(theorem, name)
    called = f"problem-{seed:x}"
    drawn = tuple(redrawn(one, seed, called) for one in claim.instances)
    found = judge(replace(claim, instances=drawn, home=None), effort=effort, seed=seed)
    if not found.wrong:
        return ""
    return (
        f"on problems of the same families drawn anew, under another name, {name} is "
        f"{found.verdict}: {found.reason.rstrip('.')}"
    )


def erratum_again(theorem: str, name: str, effort: str, seed: int) -> Mapping[str, Any]:
    """Return what an erratum shows."""
    erratum = next(one for one in stated(theorem).errata if one.name == name)
    return examine(erratum, effort, seed).as_json()


def worst_again(theorem: str, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the worst cases of few steps of a claim."""
    return worst_cases(_claim(theorem, name))


def is_found(theorem: str, method: str, name: str, claim: str, effort: str, seed: int) -> bool:
    """Return whether a claim finds a fault, or, if none is named, whether it changes nothing.

    A planted one is known by its name; a generated one is of the method of a claim.
    """
    there = stated(theorem)
    held = [one for one in there.claims if one.name == claim or (one.algorithm and not claim)]
    if not method:
        subject = next(one for one in there.mutants if one.name == name).subject
        return judge(held[0], subject, effort, seed).catches
    every = (fault for one in held for fault in faults_of(method_of(one)))
    fault = next(one for one in every if one.name == name)
    return (
        judge(held[0], Subject(fault), effort, seed).catches if claim else bool(equivalent(fault))
    )
