"""The study of a method's generated faults: which are noticed, by which claim; as Markdown."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pfbench.verification.claim import Claim
from pfbench.verification.faults.fault import Admissible, Fault
from pfbench.verification.session import Session, of_effort
from pfbench.verification.verdict import Verdict

AtSize = Callable[[Fault], Claim | None]
"""Returns the claim in whose long runs a late fault should change something."""

_MOST_KILLED = 2
"""After so many killed checks a fault is held to no further claim: it does not end."""


@dataclass(frozen=True, kw_only=True)
class Studied:
    """What became of one fault.

    Attributes
    ----------
    fault
        The fault.
    equivalent
        Why it changes nothing, in words; empty if it does, or that was not decided.
    admissible
        The line of proof that covers it; empty if none does.
    verdicts
        The verdicts on it, in the order in which it was held to claims; the last notices it if
        one does.
    """

    fault: Fault
    equivalent: str = ""
    admissible: str = ""
    verdicts: Sequence[Verdict] = field(default_factory=tuple)

    @property
    def found_by(self) -> str | None:
        """The name of the claim that notices it; None if none does."""
        return next((one.claim.name for one in self.verdicts if one.catches), None)

    @property
    def raises(self) -> bool:
        """Whether it was found because it raised, not by a number."""
        return any(one.catches and one.verdict == "failed" for one in self.verdicts)

    @property
    def killed(self) -> bool:
        """Whether a check of it did not come to its end."""
        return any(one.lost for one in self.verdicts)

    @property
    def counts(self) -> bool:
        """Whether it should be found: it is neither equivalent nor admissible."""
        return not (self.equivalent or self.admissible)

    def as_json(self) -> dict[str, Any]:
        """Return it as ``pfbench verify --mutants --json`` writes it."""
        fault = self.fault
        return {
            "fault": fault.name,
            "method": fault.method,
            "function": fault.function,
            "operator": fault.operator,
            "where": fault.where,
            "before": fault.change.before,
            "after": fault.change.after,
            "found_by": self.found_by,
            "equivalent": self.equivalent or None,
            "admissible": self.admissible or None,
        }


@dataclass(frozen=True)
class Share:
    """How many of some faults that should be found were found."""

    found: int
    all: int

    def __str__(self) -> str:
        percent = f" ({100.0 * self.found / self.all:.1f} %)" if self.all else ""
        return f"{self.found} of {self.all}{percent}"


def share(studied: Sequence[Studied]) -> Share:
    """Return the share of the faults found, of those neither equivalent nor admissible."""
    counted = [one for one in studied if one.counts]
    return Share(sum(one.found_by is not None for one in counted), len(counted))


def by_claim(studied: Sequence[Studied]) -> Mapping[str, int]:
    """Return how many faults each claim was the first to find, the most first."""
    return dict(Counter(one.found_by for one in studied if one.found_by).most_common())


def study(
    sessions: Sequence[Session],
    faults: Sequence[Fault],
    claims_of: Callable[[Fault], Sequence[Claim]],
    admissible: Sequence[Admissible] = (),
    at_size: AtSize | None = None,
) -> list[Studied]:
    """Find the faults that change nothing, and hold the others to claims until one notices it.

    Parameters
    ----------
    sessions
        How and where they are put to the test; what the first does not find is put to the next,
        which may make more effort.
    faults
        The faults.
    claims_of
        The claims that a fault is held to, those of a session's effort; the quickest first.
    admissible
        Which faults keep the theorem, and why.
    at_size
        See `AtSize`; late faults are compared nowhere if not given.

    Raises
    ------
    StorageError
        If the store cannot be written or read; what is stored already stays.
    """
    same = _equivalent(sessions[0], faults, at_size)
    known = [
        Studied(
            fault=fault,
            equivalent=equivalent,
            admissible=next((one.because for one in admissible if one.covers(fault)), ""),
        )
        for fault, equivalent in zip(faults, same, strict=True)
    ]
    for session in sessions:
        asked = [
            _quickest_first(claims_of(one.fault), session.effort)
            if one.counts and one.found_by is None
            else ()
            for one in known
        ]
        found = _held(session, faults, asked)
        known = [
            replace(one, verdicts=(*one.verdicts, *verdicts))
            for one, verdicts in zip(known, found, strict=True)
        ]
    return known


def _equivalent(session: Session, faults: Sequence[Fault], at_size: AtSize | None) -> list[str]:
    """Return why each fault changes nothing; a late one changes nothing on small problems."""
    early, late = ([one for one in faults if one.late == is_late] for is_late in (False, True))
    found = dict(zip(early, session.compare(early), strict=True))
    if at_size:
        found |= zip(late, session.compare(late, at_size), strict=True)
    return [found.get(one, "") for one in faults]


def _quickest_first(claims: Sequence[Claim], effort: str) -> list[Claim]:
    return sorted(of_effort(claims, effort), key=lambda one: one.seconds(effort))


def _held(
    session: Session, faults: Sequence[Fault], claims: Sequence[Sequence[Claim]]
) -> list[list[Verdict]]:
    """Hold each fault to its claims, one after the other, until one notices it."""
    verdicts: list[list[Verdict]] = [[] for _ in faults]
    waiting = [k for k in range(len(faults)) if claims[k]]
    while waiting:
        answers = session.hold([(claims[k][len(verdicts[k])], faults[k]) for k in waiting])
        for k, verdict in zip(waiting, answers, strict=True):
            verdicts[k].append(verdict)
        waiting = [
            k for k in waiting if len(verdicts[k]) < len(claims[k]) and _goes_on(verdicts[k])
        ]
    return verdicts


def _goes_on(verdicts: Sequence[Verdict]) -> bool:
    killed = sum(one.lost for one in verdicts)
    return not verdicts[-1].catches and killed < _MOST_KILLED


# --- as Markdown ----------------------------------------------------------------------------------


def of_methods(studied: Sequence[Studied]) -> Mapping[str, list[Studied]]:
    """Return the studied faults of each method, in their order."""
    return _grouped(studied, lambda fault: fault.method)


def _grouped(studied: Sequence[Studied], by: Callable[[Fault], str]) -> dict[str, list[Studied]]:
    found: dict[str, list[Studied]] = {}
    for one in studied:
        found.setdefault(by(one.fault), []).append(one)
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
    found = _grouped(studied, lambda fault: fault.operator)
    return _shares("operator", dict(sorted(found.items())))


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
