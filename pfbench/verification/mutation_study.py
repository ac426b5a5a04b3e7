"""Mutation study: which claims catch the generated faults of a method, as a Markdown report."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pfbench.base.escaping import markdown_table
from pfbench.base.status import Verdict as VerdictName
from pfbench.verification.claim import Claim
from pfbench.verification.faults.fault import AdmissibleFault, Fault
from pfbench.verification.session import Session, select_by_effort
from pfbench.verification.verdict import Verdict

_MOST_KILLED = 2
"""Number of killed checks after which a fault is tested on no further claim."""


@dataclass(frozen=True, kw_only=True)
class StudiedFault:
    """Fault of a mutation study, with the verdicts of the claims that were tested on it.

    Attributes
    ----------
    fault
        The fault.
    equivalent
        Kind of equivalence; empty if the fault changes something, or that was not decided.
    admissible
        Line of the proof that covers the fault; empty if none does.
    verdicts
        Verdicts on the fault, in the order of the tests. If a claim catches the fault, its verdict
        is the last.
    """

    fault: Fault
    equivalent: str = ""
    admissible: str = ""
    verdicts: Sequence[Verdict] = field(default_factory=tuple)

    @property
    def caught_by(self) -> str | None:
        """Name of the claim that catches the fault, or None if no claim does."""
        names = (verdict.claim.name for verdict in self.verdicts if verdict.catches_fault)
        return next(names, None)

    @property
    def is_caught_by_error(self) -> bool:
        """Whether a claim catches the fault because the method raises an exception."""
        catching = (verdict for verdict in self.verdicts if verdict.catches_fault)
        return any(verdict.verdict == VerdictName.FAILED for verdict in catching)

    @property
    def is_timed_out(self) -> bool:
        """Whether a check of the fault was killed or ended without a verdict."""
        return any(verdict.lost for verdict in self.verdicts)

    @property
    def outcome(self) -> str:
        """Outcome: equivalent, admissible, caught or missed."""
        if self.equivalent or self.admissible:
            return "equivalent" if self.equivalent else "admissible"
        return "missed" if self.caught_by is None else "caught"

    def as_json(self) -> dict[str, Any]:
        """Return the fault and its verdicts as a JSON object."""
        fault = self.fault
        return {
            "fault": fault.name,
            "method": fault.method,
            "function": fault.function,
            "operator": fault.operator,
            "where": fault.location,
            "before": fault.change.line_before,
            "after": fault.change.line_after,
            "found_by": self.caught_by,
            "equivalent": self.equivalent or None,
            "admissible": self.admissible or None,
        }


@dataclass(frozen=True)
class DetectionRate:
    """Number of faults that were caught, and number of faults that should be caught."""

    caught: int
    total: int

    def __str__(self) -> str:
        percent = f" ({100.0 * self.caught / self.total:.1f} %)" if self.total else ""
        return f"{self.caught} of {self.total}{percent}"


def count_caught_and_total(studied_faults: Sequence[StudiedFault]) -> DetectionRate:
    """Return the number of caught faults, and of all faults that claims should catch."""
    counts = Counter(study.outcome for study in studied_faults)
    return DetectionRate(counts["caught"], counts["caught"] + counts["missed"])


def count_first_catches_by_claim(studied_faults: Sequence[StudiedFault]) -> Mapping[str, int]:
    """Return the number of faults that each claim caught first, by name, in descending order."""
    counts = Counter(study.caught_by for study in studied_faults if study.caught_by)
    return dict(counts.most_common())


def run_mutation_study(
    sessions: Sequence[Session],
    faults: Sequence[Fault],
    claims_of: Callable[[Fault], Sequence[Claim]],
    admissible: Sequence[AdmissibleFault] = (),
) -> list[StudiedFault]:
    """Test each fault on claims until one catches it; faults without effect are not tested.

    The result has one entry for each fault, in order.

    Parameters
    ----------
    sessions
        Sessions that run the tests. A fault that the first does not catch is tested by the next,
        which may use more effort.
    faults
        The faults.
    claims_of
        Function that returns the claims to test a fault on. Claims of the session's effort are
        used, the quickest first.
    admissible
        Faults under which the theorem still holds, with the reason.

    Raises
    ------
    StorageError
        If the store cannot be written or read; what is stored already stays.
    """
    same = sessions[0].find_equivalence_kind_of_each(faults)
    studies = [
        StudiedFault(
            fault=fault,
            equivalent=equivalent,
            admissible=next((item.reason for item in admissible if item.covers(fault)), ""),
        )
        for fault, equivalent in zip(faults, same, strict=True)
    ]
    for session in sessions:
        claims = [
            _quickest_first(claims_of(s.fault), session.effort) if s.outcome == "missed" else ()
            for s in studies
        ]
        results = _run_claims_until_caught(session, faults, claims)
        studies = [
            replace(study, verdicts=(*study.verdicts, *verdicts))
            for study, verdicts in zip(studies, results, strict=True)
        ]
    return studies


def _quickest_first(claims: Sequence[Claim], effort: str) -> list[Claim]:
    return sorted(select_by_effort(claims, effort), key=lambda claim: claim.seconds(effort))


def _run_claims_until_caught(
    session: Session, faults: Sequence[Fault], claims: Sequence[Sequence[Claim]]
) -> list[list[Verdict]]:
    """Test each fault on one claim after another until one catches it; return verdicts by fault."""
    verdicts: list[list[Verdict]] = [[] for _ in faults]
    waiting = [k for k in range(len(faults)) if claims[k]]
    while waiting:
        answers = session.test_faults([(claims[k][len(verdicts[k])], faults[k]) for k in waiting])
        for k, verdict in zip(waiting, answers, strict=True):
            verdicts[k].append(verdict)
        waiting = [
            k for k in waiting if len(verdicts[k]) < len(claims[k]) and _is_undecided(verdicts[k])
        ]
    return verdicts


def _is_undecided(verdicts: Sequence[Verdict]) -> bool:
    killed = sum(verdict.lost for verdict in verdicts)
    return not verdicts[-1].catches_fault and killed < _MOST_KILLED


# --- as Markdown ----------------------------------------------------------------------------------


def group_faults(
    attribute: str, studied_faults: Sequence[StudiedFault]
) -> Mapping[str, list[StudiedFault]]:
    """Return the studied faults grouped by an attribute of the fault, "method" or "operator"."""
    faults: dict[str, list[StudiedFault]] = {}
    for study in studied_faults:
        faults.setdefault(getattr(study.fault, attribute), []).append(study)
    return faults


def report(faults: Sequence[StudiedFault], command: str, sample: str) -> str:
    """Return a Markdown report of detection rates by method, operator and claim.

    It also lists the missed faults, and has a separate section on late faults.

    Parameters
    ----------
    faults
        The faults.
    command
        The command that created the report.
    sample
        Description of the selection of the faults, in words.
    """
    lines = ["# Generated faults", "", f"Made by `{command}`: {sample}."]
    for is_late, heading, counted in (
        (False, (), "neither equivalent nor admissible"),
        (True, ("", "## Late faults", "", LATE), "that change a run of that size"),
    ):
        chosen = [study for study in faults if study.fault.is_late == is_late]
        if not chosen:
            continue
        lines += [*heading, "", f"Found of those {counted}: {count_caught_and_total(chosen)}.", ""]
        for attribute in ("method", "operator"):
            head = (attribute, "faults", "equivalent", "admissible", "found", "that raise")
            groups = sorted(group_faults(attribute, chosen).items())
            lines += [*markdown_table(head, (_cells(*group) for group in groups)), ""]
        counts = count_first_catches_by_claim(chosen)
        lines += [*markdown_table(("claim", "found first"), counts.items()), *_fault_rows(chosen)]
    return "\n".join(lines) + "\n"


LATE = (
    "Each acts only beyond a number of iterations, epochs or rounds, beyond an index, or beyond a "
    "norm, which is drawn. Equivalent is one that changes no state (up to rounding) and no count "
    "of the runs at the size of use."
)
"""Explanation of late faults."""


def _fault_rows(studied_faults: Sequence[StudiedFault]) -> list[str]:
    lines: list[str] = []
    for title, outcome in (("Not found", "missed"), ("Admissible", "admissible")):
        chosen = [study for study in studied_faults if study.outcome == outcome]
        if chosen:
            head = ("method", "place", "operator", "before", "after", "why")
            lines += ["", f"## {title}", "", *markdown_table(head, map(_fault_cells, chosen))]
    return lines


def _cells(name: str, studied_faults: Sequence[StudiedFault]) -> tuple[Any, ...]:
    counts = Counter(study.outcome for study in studied_faults)
    raising = sum(study.is_caught_by_error for study in studied_faults)
    kinds = counts["equivalent"], counts["admissible"]
    return name, len(studied_faults), *kinds, count_caught_and_total(studied_faults), raising


def _fault_cells(study: StudiedFault) -> tuple[str, ...]:
    fault, change = study.fault, study.fault.change
    why = study.admissible or ("its checks did not end" if study.is_timed_out else "")
    lines = (f"`{_escape_markdown(line)}`" for line in (change.line_before, change.line_after))
    return fault.method, fault.location, fault.operator, *lines, _escape_markdown(why)


def _escape_markdown(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")
