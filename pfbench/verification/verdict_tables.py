"""Markdown tables of verdicts, of the power of checks, and of units, for reports."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pfbench.base.escaping import escape_hidden, markdown_table
from pfbench.verification import summaries
from pfbench.verification.claim import CRITERIA
from pfbench.verification.homogeneity import Homogeneity
from pfbench.verification.power import FACTORS, SEEDS, PowerSearch
from pfbench.verification.session import ErratumFinding, Verification
from pfbench.verification.step_record import sizes_in_words
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
    summary = summaries.format_summary(verification.summary)
    lines = ["# Verdicts", "", f"Made by `{command}`. {summary}.", "", LIMITS]
    head = ("claim", "verdict", "says", "measured", WORST_RATIO, "tested on", "runs", "s")
    for title in dict.fromkeys([*titles.values(), "Others"]):
        rows = [row for row in verification.rows if titles.get(row.claim.paper, "Others") == title]
        lines += _table_section(title, head, map(_verdict_cells, rows)) if rows else []
    exponents = [line for row in verification.rows for line in _exponent_rows(row)]
    if exponents:
        criteria = map(escape_markdown, CRITERIA[:2])
        columns = ("claim", "in", "claimed", "measured", "decades", *criteria)
        lines += _table_section("Exponents", columns, exponents, EXPONENTS)
    doubtful = [row for row in verification.rows if not row.verdict.keeps_bound]
    if doubtful:
        lines += ["", "## What does not simply hold", ""]
        lines += [f"* `{r.claim.name}` is {r.verdict}: {escape_hidden(r.reason)}" for r in doubtful]
    if findings:
        parts = ("erratum", "ruling", "as printed or read", "corrected", "evidence")
        lines += _table_section("Findings", parts, map(_finding_cells, findings))
    return "\n".join([*lines, ""])


def _table_section(
    title: str, head: Sequence[str], rows: Iterable[Iterable[Any]], text: Sequence[str] = ()
) -> list[str]:
    """Return the lines of a section with a heading, a text and a table."""
    return ["", f"## {title}", "", *text, *markdown_table(head, rows)]


EXPONENTS = (
    "As claimed and as measured (the median over seeds), with the interval at 95 %, and",
    "the whole complexity under each criterion, by the links between them.",
    "",
)
"""Text above the table of exponents."""


def _verdict_cells(row: Verdict) -> tuple[Any, ...]:
    texts = (
        row.claim.statement,
        summaries.summarise_main_numbers(row.measured),
        summaries.describe_worst_ratio(row.measured),
    )
    sizes = sizes_in_words(row.measured, with_horizons=True)
    numbers = (sizes, row.repetitions, f"{row.seconds:.2g}")
    return (row.claim.name, row.verdict, *map(escape_markdown, texts), *numbers)


def _exponent_rows(row: Verdict) -> Iterator[Iterable[str]]:
    """Yield, for each measured exponent with a claimed value, the cells of a table row."""
    measured = row.measured
    scales = [str(row.claimed.get(criterion, "")) for criterion in CRITERIA[:2]]
    for name, slope in measured.items():
        part, _, last = name.rpartition(": ")
        statement = matching_claimed_exponent(part, row.claimed)
        if last != "slope" or slope is None or statement is None:
            continue
        begin = f"{part}: " if part else ""
        low, high, decades = (measured.get(f"{begin}{k}") for k in ("lower", "upper", "decades"))
        text = summaries.format_with_interval(slope, low, high)
        if measured.get(f"{begin}by_schedule"):
            text += ", by the schedule"
        location = ": ".join(dict.fromkeys(filter(None, (part, statement))))
        claimed = f"{row.claimed[statement]:.3g}"
        cells = (row.claim.name, location, claimed, text, f"{decades:.2g}", *scales)
        yield map(escape_markdown, cells)


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


def _finding_cells(finding: ErratumFinding) -> tuple[str, ...]:
    text = "**not examined**" if finding.failure_reason else "**not shown**"
    if finding.is_shown:
        text = "shown"
    measured = [
        f"{escape_markdown(name)} **{_number(value)}**" for name, value in finding.evidence.items()
    ]
    if measured:
        text += f": {'; '.join(measured)}"
    right = [escape_markdown(name) for name, holds in finding.readings.items() if holds]
    if right:
        text += f"; right if read so: {'; '.join(right)}"
    reported = (finding.erratum.ruling, finding.erratum.as_printed, finding.erratum.corrected)
    return (finding.erratum.name, *map(escape_markdown, reported), text)


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
    rows = (
        (first.claim.name, first.claim.method, first.parameter, *(s.min_factor_text for s in same))
        for same in zip(*searches.values(), strict=True)
        for first in same[:1]
    )
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
        "be built with the error, counts as a miss, and the table gives their number.",
        "",
        *markdown_table(("claim", "method", "parameter", *searches), rows),
    ]
    return "\n".join([*lines, ""])


def units_table(results: Sequence[Homogeneity], command: str) -> str:
    """Return a Markdown table on whether bounds and schedules scale with units, failures first.

    Parameters
    ----------
    results
        Result for each bound and schedule.
    command
        The command that created the table.
    """
    lost, right, none = (
        [item for item in results if item.homogeneous is k] for k in (False, True, None)
    )
    lines = [
        "# Units",
        "",
        f"Made by `{command}`. Under f -> lambda f and x -> mu x a bound must scale like the "
        f"bounded quantity, and a schedule keep its integers: {len(right)} do, {len(lost)} do not, "
        f"and {len(none)} have no units.",
    ]
    for title, items in (("Not homogeneous", lost), ("Homogeneous", right)):
        rows = (
            map(escape_markdown, (item.name, item.kind, item.description, item.normalised))
            for item in items
        )
        lines += _table_section(title, ("name", "of", "what", "why"), rows)
    lines += ["", "## Nothing with a unit", ""]
    for why in dict.fromkeys(item.description for item in none):
        names = ", ".join(escape_markdown(item.name) for item in none if item.description == why)
        lines.append(f"* {escape_markdown(why)}: {names}")
    return "\n".join([*lines, ""])
