"""What became of generated faults, as Markdown."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from pfbench.verification.fault_study import Studied, by_claim, share


def of_methods(studied: Sequence[Studied]) -> Mapping[str, list[Studied]]:
    """Return the studied faults of each method, in their order."""
    found: dict[str, list[Studied]] = {}
    for one in studied:
        found.setdefault(one.fault.method, []).append(one)
    return found


def report(every: Sequence[Studied], command: str, drawn: str) -> str:
    """Return the shares found by method, operator and claim, and each fault that was not found.

    Late faults have a part of their own.

    Parameters
    ----------
    every
        The faults.
    command
        The command that made it.
    drawn
        Which faults these are of all that there are, in words.
    """
    early, late = ([one for one in every if one.fault.late == is_late] for is_late in (False, True))
    lines = ["# Generated faults", "", f"Made by `{command}`: {drawn}.", ""]
    if early:
        lines += [f"Found of those neither equivalent nor admissible: {share(early)}.", ""]
        lines += [*_shares("method", of_methods(early)), "", *_by_operator(early)]
        lines += ["", *_by_claim(early), *_listed(early)]
    if late:
        lines += ["", "## Late faults", "", LATE, ""]
        lines += [f"Found of those that change a run of that size: {share(late)}.", ""]
        lines += [*_by_operator(late), "", *_by_claim(late), *_listed(late)]
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


LATE = (
    "Each acts only beyond a number of iterations, epochs or rounds, beyond an index, or beyond a "
    "norm, which is drawn. Equivalent is one that changes no state and no count of the runs at the "
    "size of use."
)
"""What late faults are."""


def _shares(what: str, of_names: Mapping[str, Sequence[Studied]]) -> list[str]:
    head = f"| {what} | faults | equivalent | admissible | found | that raise |"
    rows = [_row(name, of) for name, of in of_names.items()]
    return [head, "| --- | --- | --- | --- | --- | --- |", *rows]


def _by_operator(studied: Sequence[Studied]) -> list[str]:
    def operator(one: Studied) -> str:
        return one.fault.operator

    ordered = sorted(studied, key=operator)
    return _shares("operator", {name: list(of) for name, of in groupby(ordered, key=operator)})


def _by_claim(studied: Sequence[Studied]) -> list[str]:
    rows = [f"| {name} | {number} |" for name, number in by_claim(studied).items()]
    return ["| claim | found first |", "| --- | --- |", *rows]


def _listed(studied: Sequence[Studied]) -> list[str]:
    lines: list[str] = []
    for title, chosen in (("Not found", missed(studied)), ("Admissible", _admissible(studied))):
        if chosen:
            lines += ["", f"## {title}", "", "| method | place | operator | before | after | why |"]
            lines += ["| --- | --- | --- | --- | --- | --- |", *map(_line, chosen)]
    return lines


def missed(studied: Sequence[Studied]) -> list[Studied]:
    """Return the faults that should be found and were not."""
    return [one for one in studied if one.counts and one.found_by is None]


def _admissible(studied: Sequence[Studied]) -> list[Studied]:
    return [one for one in studied if one.admissible and not one.equivalent]


def _row(name: str, studied: Sequence[Studied]) -> str:
    same = sum(bool(one.equivalent) for one in studied)
    covered = len(_admissible(studied))
    raising = sum(one.raises for one in studied)
    return f"| {name} | {len(studied)} | {same} | {covered} | {share(studied)} | {raising} |"


def _line(one: Studied) -> str:
    fault = one.fault
    why = one.admissible or ("its checks did not end" if one.killed else "")
    cells = (fault.method, fault.where, fault.operator)
    change = (f"`{_safe(fault.change.before)}`", f"`{_safe(fault.change.after)}`")
    return f"| {' | '.join((*cells, *change))} | {_safe(why)} |"


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")
