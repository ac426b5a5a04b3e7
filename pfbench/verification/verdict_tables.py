"""Markdown tables of verdicts, of the power of checks, and of units, for reports."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pfbench.base.escaping import escape_hidden
from pfbench.base.status import Verdict as VerdictName
from pfbench.verification.coverage import sizes_in_words
from pfbench.verification.criteria import CRITERIA
from pfbench.verification.outcomes import ErratumFinding, Verification
from pfbench.verification.power import FACTORS, SEEDS, PowerSearch
from pfbench.verification.schedule_homogeneity import Homogeneity
from pfbench.verification.summaries import (
    describe_worst_ratio,
    format_summary,
    format_with_interval,
    summarise_main_numbers,
)
from pfbench.verification.verdict import Verdict

WORST_RATIO = "worst ratio found"
"""Heading of the column with the largest ratio that a search for counterexamples found."""


def verdict_table(
    verification: Verification,
    findings: Sequence[ErratumFinding],
    titles: Mapping[str, str],
    command: str,
) -> str:
    """Return a Markdown report of one verification: verdicts by paper, exponents and errata.

    Parameters
    ----------
    verification
        The verification.
    findings
        Errata with their evidence.
    titles
        Titles of papers by key; claims of other papers come last.
    command
        The command that created the verification.
    """
    lines = [
        "# Verdicts",
        "",
        f"Made by `{command}`. {format_summary(verification.summary)}.",
        "",
        LIMITS,
        "",
    ]
    for title in dict.fromkeys([*titles.values(), "Others"]):
        rows = [row for row in verification.rows if titles.get(row.claim.paper, "Others") == title]
        if rows:
            head = ("claim", "verdict", "says", "measured", WORST_RATIO, "tested on", "runs", "s")
            lines += [f"## {title}", "", *_table(head, map(_verdict_line, rows)), ""]
    exponents = [line for row in verification.rows for line in _exponent_rows(row)]
    if exponents:
        gap, mapping_sq = map(escape_markdown, CRITERIA[:2])
        columns = ("claim", "in", "claimed", "measured", "decades", gap, mapping_sq)
        lines += [
            "## Exponents",
            "",
            "As claimed and as measured (the median over seeds), with the interval at 95 %, and",
            "the whole complexity under each criterion, by the links between them.",
            "",
            *_table(columns, exponents),
            "",
        ]
    doubtful = [row for row in verification.rows if not row.verdict.keeps_bound]
    if doubtful:
        lines += ["## What does not simply hold", ""]
        lines += [
            f"* `{row.claim.name}` is {row.verdict}: {escape_hidden(row.reason)}"
            for row in doubtful
        ]
        lines += [""]
    if findings:
        titles_of_findings = ("erratum", "ruling", "as printed or read", "corrected", "evidence")
        lines += ["## Findings", "", *_table(titles_of_findings, map(_format_finding, findings))]
    return "\n".join(lines).rstrip() + "\n"


def repetition_table(
    seeds: Sequence[int], verifications: Sequence[Verification], command: str
) -> str:
    """Return a Markdown table of repeated verifications: how often each claim got each verdict."""
    counts: dict[str, Counter[str]] = {}
    for done in verifications:
        for row in done.rows:
            counts.setdefault(row.claim.name, Counter())[row.verdict] += 1
    violated = sum(verdicts[VerdictName.VIOLATED] for verdicts in counts.values())
    order = sorted(VerdictName, key=lambda verdict: -verdict.rank_from_worst)
    rows = (
        f"| {name} | {' | '.join(str(verdicts[word] or '') for word in order)} |"
        for name, verdicts in counts.items()
    )
    lines = [
        "# Verdicts, repeated",
        "",
        f"Made by `{command}`: {len(verifications)} verifications with seeds {seeds[0]} to {seeds[-1]}. "  # noqa: E501
        f"{violated} of {sum(v.total() for v in counts.values())} verdicts are *violated*.",
        "",
        *_table(("claim", *order), rows),
    ]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[str]) -> list[str]:
    """Return the lines of a Markdown table with a header and these rows."""
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows]


def _format_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def _verdict_line(row: Verdict) -> str:
    texts = (summarise_main_numbers(row.measured), describe_worst_ratio(row.measured))
    measured, worst = map(escape_markdown, texts)
    return (
        f"| {row.claim.name} | {row.verdict} | {escape_markdown(row.claim.statement)} | "
        f"{measured} | {worst} | {sizes_in_words(row.measured, with_horizons=True)} | "
        f"{row.repetitions} | {row.seconds:.2g} |"
    )


def _exponent_rows(row: Verdict) -> Iterator[str]:
    """Yield a Markdown table row for each measured exponent for which the claim states a value."""
    measured, scales = (
        row.measured,
        [str(row.claimed.get(criterion, "")) for criterion in CRITERIA[:2]],
    )
    for name, slope in measured.items():
        location, _, last = f": {name}".rpartition(": ")
        removeprefix = location.removeprefix(": ")
        statement = matching_claimed_exponent(removeprefix, row.claimed)
        if last != "slope" or slope is None or statement is None:
            continue
        begin = f"{removeprefix}: " if removeprefix else ""
        low, high, decades = (measured.get(f"{begin}{k}") for k in ("lower", "upper", "decades"))
        text = format_with_interval(slope, low, high)
        if measured.get(f"{begin}by_schedule"):
            text += ", by the schedule"
        other_removeprefix = (
            removeprefix
            if statement == removeprefix
            else ": ".join(filter(None, (removeprefix, statement)))
        )
        claimed = f"{row.claimed[statement]:.3g}"
        cells = (row.claim.name, other_removeprefix, claimed, text, f"{decades:.2g}", *scales)
        yield _format_row(cells)


def matching_claimed_exponent(subject: str, claimed: Mapping[str, Any]) -> str | None:
    """Return the name of the claimed exponent that shares most words with a measured exponent.

    Return None if no exponent is claimed.
    """
    if subject in claimed:
        return subject
    words = set(re.findall(r"\w+", subject)) - _COMMON
    names = [name for name in claimed if name.startswith("exponent of ")]
    shared = [len(words & set(re.findall(r"\w+", name))) for name in names]
    return names[shared.index(max(shared))] if names else None


_COMMON = {"exponent", "in", "of"}

LIMITS = (
    "Limits at 95 % of a mean hold if no sample is more than ten times the bound (twice, for "
    "calls): no number of samples bounds a mean from above without a range."
)


def _format_finding(finding: ErratumFinding) -> str:
    text = (
        "shown"
        if finding.is_shown
        else "**not examined**"
        if finding.failure_reason
        else "**not shown**"
    )
    measured = [
        f"{escape_markdown(name)} **{_number(value)}**" for name, value in finding.evidence.items()
    ]
    if measured:
        text += f": {'; '.join(measured)}"
    right = [escape_markdown(name) for name, holds in finding.readings.items() if holds]
    if right:
        text += f"; right if read so: {'; '.join(right)}"
    reported = (finding.erratum.ruling, finding.erratum.as_printed, finding.erratum.corrected)
    return f"| {finding.erratum.name} | {' | '.join(map(escape_markdown, reported))} | {text} |"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value, 0) and abs(value) < 1e6 else f"{value:.3g}"


def escape_markdown(text: str) -> str:
    """Return a text in which the special characters of a Markdown table cell are escaped."""
    return escape_hidden(text).replace("|", "\\|").replace("*", "\\*")


def power_table(searches: Mapping[str, Sequence[PowerSearch]], command: str) -> str:
    """Return a Markdown table of the smallest detected errors, a row per claim and parameter.

    Parameters
    ----------
    searches
        Searches by effort; the lists have the same claims and parameters in the same order.
    command
        The command that created the table.
    """
    rows = []
    for same in zip(*searches.values(), strict=True):
        lower, claim = (search.min_factor_text for search in same), same[0].claim
        rows.append(f"| {' | '.join((claim.name, claim.method, same[0].parameter, *lower))} |")
    lines = [
        "# Power",
        "",
        f"Made by `{command}`. A planted error is a factor on a parameter of a claim's method, or "
        "on the answers of its sampled oracles (`estimate`; of a method that draws nothing, of the "
        "gradient); batch, smoothness and curvature are divided by it. The table has the "
        f"smallest factor of {', '.join(f'{factor:g}' for factor in FACTORS)} that most of {SEEDS} seeds call violated; "  # noqa: E501
        "a dash: none of them, or the bound leaves room for the error. Full effort tests only "
        "errors that quick effort misses; `at most` marks a check too long for full effort. A "
        "trial (one error, one seed) without a verdict, because it was killed or the method cannot "
        "be built with the error, counts as a miss, and the table gives their number. The first "
        "table has, for each method, the claim that detects the smallest error.",
        "",
        *_table(("method", "parameter", *searches), _smallest_error_rows(searches)),
        "",
        *_table(("claim", "method", "parameter", *searches), rows),
    ]
    return "\n".join([*lines, ""])


def _smallest_error_rows(results: Mapping[str, Sequence[PowerSearch]]) -> Iterator[str]:
    """Yield a table row for each method and parameter: the smallest error that a claim detects."""
    everything = [search for searches in results.values() for search in searches]
    for method, parameter in dict.fromkeys(
        (search.claim.method, search.parameter) for search in everything
    ):
        cells = []
        for searches in results.values():
            computed = [
                search
                for search in searches
                if (search.claim.method, search.parameter) == (method, parameter)
            ]
            best = min(
                computed,
                key=lambda search: math.inf if search.min_factor is None else search.min_factor,
            )
            cells.append(
                "-" if best.min_factor is None else f"{best.min_factor:g} ({best.claim.name})"
            )
        yield f"| {method} | {parameter} | {' | '.join(cells)} |"


def units_table(results: Sequence[Homogeneity], command: str) -> str:
    """Return a Markdown table of bounds and schedules: whether each is homogeneous, failures first.

    Parameters
    ----------
    results
        Result for each bound and schedule.
    command
        The command that created the table.
    """
    homogeneities, lost, none = (
        [result for result in results if result.homogeneous is k] for k in (True, False, None)
    )
    printed = "erratum as printed"
    failures = (
        (
            *(item.name, item.kind, item.description),
            item.normalised or ("found by its units alone" if item.kind == printed else ""),
        )
        for item in lost
    )
    lines = [
        "# Units",
        "",
        f"Made by `{command}`. Under f -> lambda f and x -> mu x a bound must scale like the "
        f"bounded quantity, and a schedule keep its integers: {len(homogeneities)} do, {len(lost)} do not, and "  # noqa: E501
        f"{len(none)} have no units.",
        "",
        "## Not homogeneous",
        "",
        *_table(("name", "of", "in what", "why"), map(_format_row, failures)),
        "",
        "## Homogeneous",
        "",
        *_table(
            ("name", "of", "what, with its unit"),
            (_format_row((item.name, item.kind, item.description)) for item in homogeneities),
        ),
    ]
    lines += ["", "## Nothing with a unit", ""]
    for why in dict.fromkeys(item.description for item in none):
        names = ", ".join(escape_markdown(item.name) for item in none if item.description == why)
        lines.append(f"* {escape_markdown(why)}: {names}")
    return "\n".join([*lines, ""])
