"""``pfbench verify --mutants``: which claim catches which planted fault, and generated ones."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.errors import InputError
from pfbench.base.visible import visible
from pfbench.cli import printing
from pfbench.cli.report import command_line
from pfbench.cli.tables import READABLE, columns, heading, show

if TYPE_CHECKING:
    from pfbench.cli.work import Work
    from pfbench.verification.claim import Claim
    from pfbench.verification.fault_study import Studied
    from pfbench.verification.faults.fault import Fault
    from pfbench.verification.outcomes import Caught

MOST = 12
"""So many generated faults of a method are studied if neither --full nor --faults is given."""

MOST_OF_RECEIPTS = 20
"""So many for a receipt."""


def find_faults(work: "Work", algorithm: str | None, most: int | None, late: int = 0) -> None:
    """Show which claim catches which fault: planted ones and of our methods, or of somebody's."""
    if algorithm is None:
        verify_mutants(work, most, late)
        return
    if not work.quiet:
        printing.announce([algorithm])
    verify_faults_of(work, algorithm, most, late)


def verify_mutants(work: "Work", most: int | None, late: int = 0) -> None:
    """Hold planted faults to the claims that must catch them, and generated ones to all claims.

    At most so many generated ones of a method, and so many late ones; without any, nothing is said
    of them.
    """
    from pfbench.claims.catalogue import mutants_of

    planted = mutants_of(work.names)
    alone = most == 0 and not late
    wanted = 0 if most == 0 else _most(work, most), late
    faults, claims, drawn = ([], [], "none") if alone else generated(work, *wanted)
    with work.steps("mutants", sum(len(one.expected) for one in planted)) as steps:
        caught = work.session(steps).catch(planted)
    studied = [] if alone else studied_faults(work, faults, claims)
    _write(work, {"mutants": [one.as_json() for one in caught]}, studied, drawn)
    number = sum(bool(one.by) for one in caught)
    if not work.quiet:
        show(
            columns(("mutant", "planted fault [caught by]"), map(_caught, caught)),
            Text(f"{number} of {len(caught)} planted faults caught"),
            None if alone else heading(f"generated faults, {drawn}", _told(studied)),
            most=READABLE,
        )
    if number < 0.9 * len(caught):
        printing.fail("fewer than 90 % of the planted faults are caught.")


def verify_faults_of(work: "Work", algorithm: str, most: int | None, late: int = 0) -> None:
    """Say which faults in somebody's algorithm the claims would notice that he names."""
    from pfbench.claims.catalogue import algorithm_and_claims
    from pfbench.verification.faults.generate import drawn, faults_of
    from pfbench.verification.subject import Subject

    tested, claims = algorithm_and_claims(algorithm, work.names)
    if not claims:
        raise InputError(
            f"--mutants --algorithm {algorithm} needs claims that its faults are held to: name "
            "them, or let its class say them in an attribute claims."
        )
    Subject(tested).check_importable()
    every = faults_of(tested)
    if not every:
        raise InputError(f"no faults can be made in {algorithm}: its modules hold nothing of it.")
    later = faults_of(tested, late=True) if late else []
    faults = [*drawn(every, _most(work, most)), *drawn(later, late)]
    words = f"{len(faults)} of {len(every) + len(later)}"
    studied = studied_faults(work, faults, claims)
    _write(work, {}, studied, words)
    if not work.quiet:
        show(heading(f"faults in {algorithm}, {words}", _told(studied)), most=READABLE)


def _most(work: "Work", most: int | None) -> int:
    return most or (10**9 if work.effort == "full" else MOST)


def generated(work: "Work", most: int, late: int = 0) -> "tuple[list[Fault], list[Claim], str]":
    """Return faults of the methods of the named claims, these claims, and how many there are.

    At most so many of each method, and so many late ones.
    """
    from pfbench.claims.catalogue import CLAIMS, selected
    from pfbench.verification.faults.generate import drawn, faults_of
    from pfbench.verification.trial import method_of

    claims = selected(work.names, work.effort) if work.names else list(CLAIMS.values())
    about = dict.fromkeys(method_of(one) for one in claims if one.algorithm)
    chosen, words = list["Fault"](), list[str]()
    for number, is_late in ((most, False), (late, True)):
        every = [faults_of(method, late=is_late) for method in about] if number else []
        found = [one for faults in every for one in drawn(faults, number)]
        chosen += found
        if number:
            words.append(f"{len(found)} of {sum(map(len, every))}{' late ones' * is_late}")
    return chosen, claims, " and ".join(words)


def studied_faults(
    work: "Work", faults: "Sequence[Fault]", claims: "Sequence[Claim]"
) -> "list[Studied]":
    """Hold faults to the claims about their method; somebody's to all."""
    from pfbench.claims.admissible import ADMISSIBLE
    from pfbench.verification.fault_study import study
    from pfbench.verification.trial import method_of

    about = {one.name: method_of(one) for one in claims if one.algorithm}

    def claims_of(fault: "Fault") -> "Sequence[Claim]":
        if fault.algorithm not in about.values():
            return claims
        return [one for one in claims if about.get(one.name) is fault.algorithm]

    def at_size(fault: "Fault") -> "Claim | None":
        runs = (one for one in claims_of(fault) if one.name.startswith("methods-run-"))
        return next(runs, None)

    efforts = ("quick", "full") if work.effort == "full" else ("quick",)
    with work.steps("generated faults", None) as steps:
        sessions = [work.session(steps, effort=effort) for effort in efforts]
        return study(sessions, faults, claims_of, ADMISSIBLE, at_size)


def _write(
    work: "Work", found: Mapping[str, Any], studied: "Sequence[Studied]", drawn: str
) -> None:
    """Write what was found as JSON and as Markdown, where that is asked for."""
    from pfbench.verification.fault_study import report
    from pfbench.verification.outcomes import Verification

    nothing = Verification().as_json() | {"findings": []}
    work.write({**nothing, **found, "generated": [one.as_json() for one in studied]})
    if work.table is not None:
        printing.write(report(studied, command_line(), drawn), work.table)


def _told(studied: "Sequence[Studied]") -> RenderableType:
    from pfbench.verification.fault_study import by_claim, missed, of_methods, share

    rows: list[tuple[Any, ...]] = []
    for name, of in of_methods(studied).items():
        same = sum(bool(one.equivalent) for one in of)
        covered = sum(bool(one.admissible) for one in of)
        rows.append((name, str(len(of)), str(same), str(covered), str(share(of))))
    lines = [Text(visible(f"{one.fault.method}: {one.fault.in_words}")) for one in missed(studied)]
    claims = [(name, str(number)) for name, number in by_claim(studied).items()]
    return Group(
        columns(("method", "faults", "equivalent", "admissible", "found"), rows),
        columns(("claim", "found first"), claims),
        *([heading("not found", Group(*lines))] if lines else []),
        Text(f"{share(studied)} found of those neither equivalent nor admissible"),
    )


def _caught(one: "Caught") -> tuple[str, Text]:
    names = visible(", ".join(verdict.claim.name for verdict in one.by))
    by = f"[{names}]" if names else Text(f"[not caught: {_missed(one)}]", "bold red")
    return one.mutant.name, Text.assemble(visible(one.mutant.about, "\n"), "\n", by)


def _missed(one: "Caught") -> str:
    """Return why no claim notices a fault, and which kind of claim would."""
    from pfbench.verification.summaries import room

    why = []
    for row in one.verdicts:
        times = room(row.measured)
        left = f", and its bound has {times:.3g} times room" if times and times > 1.0 else ""
        why.append(f"{row.claim.name} ({row.claim.kind}) says {row.verdict}{left}")
    kinds = {row.claim.kind for row in one.verdicts}
    finer = [kind for kind in ("count", "law", "identity") if kind not in kinds]
    hint = f"; a claim of kind {' or '.join(finer)} leaves no room" if finer else ""
    return visible("; ".join(why) + hint)
