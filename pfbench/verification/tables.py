"""Verdicts as Markdown, for files that are read."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pfbench.base.verdicts import Verdict as VerdictName
from pfbench.base.visible import visible
from pfbench.verification.outcomes import Finding, Verification
from pfbench.verification.power import FACTORS, SEEDS, Search
from pfbench.verification.scaled_schedules import Homogeneity
from pfbench.verification.scales import CRITERIA
from pfbench.verification.seen import sizes_in_words
from pfbench.verification.summaries import in_words, main_numbers, with_interval
from pfbench.verification.verdict import Verdict


def verdict_table(
    done: Verification, findings: Sequence[Finding], titles: Mapping[str, str], command: str
) -> str:
    """Return one verification as Markdown: a line for each claim, by paper, and the findings.

    Parameters
    ----------
    done
        The verification.
    findings
        Its findings.
    titles
        The titles of papers by their keys; claims of none of them come last.
    command
        The command that made it.
    """
    lines = ["# Verdicts", "", f"Made by `{command}`. {in_words(done.summary)}.", "", LIMITS, ""]
    for title in dict.fromkeys([*titles.values(), "Others"]):
        rows = [row for row in done.rows if titles.get(row.claim.paper, "Others") == title]
        if rows:
            lines += [
                f"## {title}",
                "",
                "| claim | verdict | says | measured | tested on | runs | s |",
            ]
            lines += [f"|{' --- |' * 7}", *map(_line, rows), ""]
    exponents = [line for row in done.rows for line in _exponents(row)]
    if exponents:
        gap, mapping_sq = map(_safe, CRITERIA[:2])
        lines += [
            "## Exponents",
            "",
            "As claimed and as measured (the median over seeds), with the interval at 95 %, and",
        ]
        lines += ["the whole complexity under each criterion, by the links between them.", ""]
        lines += [f"| claim | in | claimed | measured | decades | {gap} | {mapping_sq} |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- |", *exponents, ""]
    doubtful = [row for row in done.rows if not row.verdict.is_kept]
    if doubtful:
        lines += ["## What does not simply hold", ""]
        lines += [
            f"* `{row.claim.name}` is {row.verdict}: {visible(row.reason)}" for row in doubtful
        ]
        lines += [""]
    if findings:
        lines += [
            "## Findings",
            "",
            "| erratum | ruling | as printed or read | corrected | evidence |",
        ]
        lines += ["| --- | --- | --- | --- | --- |", *map(_found, findings)]
    return "\n".join(lines).rstrip() + "\n"


def repeated_table(seeds: Sequence[int], made: Sequence[Verification], command: str) -> str:
    """Return repeated verifications as Markdown: for each claim how often it had each verdict."""
    counts: dict[str, Counter[str]] = {}
    for done in made:
        for row in done.rows:
            counts.setdefault(row.claim.name, Counter())[row.verdict] += 1
    violated = sum(verdicts[VerdictName.VIOLATED] for verdicts in counts.values())
    order = sorted(VerdictName, key=lambda one: -one.rank)
    lines = [
        "# Verdicts, repeated",
        "",
        f"Made by `{command}`: {len(made)} verifications with seeds {seeds[0]} to {seeds[-1]}. "
        f"{violated} of {sum(v.total() for v in counts.values())} verdicts are *violated*.",
        "",
        f"| claim | {' | '.join(order)} |",
        f"| --- |{' --- |' * len(order)}",
    ]
    for name, verdicts in counts.items():
        cells = " | ".join(str(verdicts[word] or "") for word in order)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def _line(row: Verdict) -> str:
    return (
        f"| {row.claim.name} | {row.verdict} | {_safe(row.claim.statement)} | "
        f"{_safe(main_numbers(row.measured))} | {sizes_in_words(row.measured, horizons=True)} | "
        f"{row.repetitions} | {row.seconds:.2g} |"
    )


def _exponents(row: Verdict) -> Iterator[str]:
    """Yield a line for each exponent that a row claims."""
    measured, scales = row.measured, [str(row.claimed.get(one, "")) for one in CRITERIA[:2]]
    for name, slope in measured.items():
        at, _, last = f": {name}".rpartition(": ")
        what = at.removeprefix(": ")
        stated = claimed_of(what, row.claimed)
        if last != "slope" or slope is None or stated is None:
            continue
        begin = f"{what}: " if what else ""
        low, high, decades = (measured.get(f"{begin}{k}") for k in ("lower", "upper", "decades"))
        told = with_interval(slope, low, high)
        if measured.get(f"{begin}by_schedule"):
            told += ", by the schedule"
        place = what if stated == what else ": ".join(filter(None, (what, stated)))
        claimed = f"{row.claimed[stated]:.3g}"
        cells = (row.claim.name, place, claimed, told, f"{decades:.2g}", *scales)
        yield f"| {' | '.join(map(_safe, cells))} |"


def claimed_of(what: str, claimed: Mapping[str, Any]) -> str | None:
    """Return the claimed exponent that a measured one is of: that which shares most words."""
    if what in claimed:
        return what
    words = set(re.findall(r"\w+", what)) - _COMMON
    names = [name for name in claimed if name.startswith("exponent of ")]
    shared = [len(words & set(re.findall(r"\w+", name))) for name in names]
    return names[shared.index(max(shared))] if names else None


_COMMON = {"exponent", "in", "of"}

LIMITS = (
    "Limits at 95 % of a mean hold if no sample is more than ten times the bound (twice, for "
    "calls): no number of samples bounds a mean from above without a range."
)


def _found(one: Finding) -> str:
    seen = "shown" if one.shown else "**not examined**" if one.lost else "**not shown**"
    measured = [f"{_safe(name)} **{_number(value)}**" for name, value in one.evidence.items()]
    if measured:
        seen += f": {'; '.join(measured)}"
    right = [_safe(name) for name, holds in one.readings.items() if holds]
    if right:
        seen += f"; right if read so: {'; '.join(right)}"
    told = (one.erratum.ruling, one.erratum.as_printed, one.erratum.corrected)
    return f"| {one.erratum.name} | {' | '.join(map(_safe, told))} | {seen} |"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value, 0) and abs(value) < 1e6 else f"{value:.3g}"


def _safe(text: str) -> str:
    return visible(text).replace("|", "\\|").replace("*", "\\*")


def power_table(found: Mapping[str, Sequence[Search]], command: str) -> str:
    """Return the least errors that are found as Markdown, a line for each claim and parameter.

    Parameters
    ----------
    found
        The searches by effort, the same ones in the same order.
    command
        The command that made it.
    """
    efforts = list(found)
    lines = [
        "# Power",
        "",
        f"Made by `{command}`. A planted error is a factor on a parameter of a claim's method, or "
        "on the answers of its sampled oracles (`estimate`; of a method that draws nothing, of the "
        "gradient); batch, smoothness and curvature are divided by it. Told is the least factor of "
        f"{', '.join(f'{one:g}' for one in FACTORS)} that most of {SEEDS} seeds call violated; "
        "a dash: none of them, and an error for which the bound has room is none. Full effort is "
        "asked only about smaller errors than quick effort finds, and finds what that does "
        "where a check takes too long to be asked (`at most`). A trial, a check of one error with "
        "one seed, ends without a verdict where it is killed, or the method cannot be made with "
        "the error: it counts as one that does not find it, and how many do so is said. A claim "
        "asks one thing of a method, and others of the same method the rest: the first table has "
        "the claim of a method that finds the least error.",
        "",
        *_by_method(found),
        "",
        f"| claim | method | parameter | {' | '.join(efforts)} |",
        f"| --- | --- | --- |{' --- |' * len(efforts)}",
    ]
    for same in zip(*found.values(), strict=True):
        least = " | ".join(one.told for one in same)
        one = same[0]
        lines.append(f"| {one.claim.name} | {one.claim.method} | {one.parameter} | {least} |")
    return "\n".join([*lines, ""])


def _by_method(found: Mapping[str, Sequence[Search]]) -> Iterator[str]:
    """Yield a line for each method and parameter: the least error that any of its claims finds."""
    yield f"| method | parameter | {' | '.join(found)} |"
    yield f"| --- | --- |{' --- |' * len(found)}"
    everything = [one for searches in found.values() for one in searches]
    for method, parameter in dict.fromkeys((one.claim.method, one.parameter) for one in everything):
        cells = []
        for searches in found.values():
            ours = [
                one for one in searches if (one.claim.method, one.parameter) == (method, parameter)
            ]
            best = min(ours, key=lambda one: math.inf if one.least is None else one.least)
            cells.append("-" if best.least is None else f"{best.least:g} ({best.claim.name})")
        yield f"| {method} | {parameter} | {' | '.join(cells)} |"


def units_table(found: Sequence[Homogeneity], command: str) -> str:
    """Return which bounds and schedules keep their units as Markdown, those that do not first.

    Parameters
    ----------
    found
        What was found of each.
    command
        The command that made it.
    """
    kept, lost, none = ([one for one in found if one.homogeneous is k] for k in (True, False, None))
    lines = [
        "# Units",
        "",
        f"Made by `{command}`. Under f -> lambda f and x -> mu x a bound must scale like what it "
        f"bounds, and a schedule keep its whole numbers: {len(kept)} do, {len(lost)} do not, and "
        f"{len(none)} have nothing with a unit.",
        "",
        "## Not homogeneous",
        "",
        "| name | of | in what | why |",
        "| --- | --- | --- | --- |",
    ]
    for one in lost:
        printed = "found by its units alone" if one.kind == "erratum as printed" else ""
        cells = (one.name, one.kind, one.found, one.normalised or printed)
        lines.append(f"| {' | '.join(map(_safe, cells))} |")
    lines += [
        "",
        "## Homogeneous",
        "",
        "| name | of | what, with its unit |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {_safe(one.name)} | {one.kind} | {_safe(one.found)} |" for one in kept]
    lines += ["", "## Nothing with a unit", ""]
    for why in dict.fromkeys(one.found for one in none):
        names = ", ".join(_safe(one.name) for one in none if one.found == why)
        lines.append(f"* {_safe(why)}: {names}")
    return "\n".join([*lines, ""])
