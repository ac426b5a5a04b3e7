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


def report(studied: Sequence[Studied], command: str, drawn: str) -> str:
    """Return the shares found by method, operator and claim, and each fault that was not found.

    Parameters
    ----------
    studied
        The faults.
    command
        The command that made it.
    drawn
        Which faults these are of all that there are, in words.
    """
    lines = ["# Generated faults", "", f"Made by `{command}`: {drawn}.", ""]
    lines += [f"Found of those neither equivalent nor admissible: {share(studied)}.", ""]
    lines += ["| method | faults | equivalent | admissible | found | that raise |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    lines += [_row(name, of) for name, of in of_methods(studied).items()]
    lines += ["", "| operator | faults | equivalent | admissible | found | that raise |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    by_operator = sorted(studied, key=lambda one: one.fault.operator)
    for operator, of in groupby(by_operator, key=lambda one: one.fault.operator):
        lines.append(_row(operator, list(of)))
    lines += ["", "| claim | found first |", "| --- | --- |"]
    lines += [f"| {name} | {number} |" for name, number in by_claim(studied).items()]
    for title, chosen in (("Not found", missed(studied)), ("Admissible", _admissible(studied))):
        if chosen:
            lines += ["", f"## {title}", "", "| method | place | operator | before | after | why |"]
            lines += ["| --- | --- | --- | --- | --- | --- |", *map(_line, chosen)]
    return "\n".join(lines) + "\n"


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
