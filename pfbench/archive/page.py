"""Summary of an archive for readers: phrases, a page in Markdown, and a badge in SVG."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from pfbench.base.escaping import escape_hidden, html_text, markdown_table
from pfbench.base.status import Verdict
from pfbench.runs.storage.archive import BADGE, PAGE, SCRIPT
from pfbench.verification.step_record import sizes_in_words

_RIGHT, _WRONG, _OTHER, _NEUTRAL = "#2e7d32", "#b71c1c", "#8d6e00", "#1f4e79"
_SIGNS = str.maketrans({"|": "\\|", "<": "&lt;", "`": "'", "@": "&#64;"})

Row = dict[str, str]
"""Cells of a table by column, as plain text."""


def fill_template(name: str, **values: Any) -> str:
    """Return a file of the folder ``templates`` with its variables replaced by these values."""
    path = files("pfbench.archive") / "templates" / name
    return Template(path.read_text(encoding="utf-8")).substitute(values)


def find_worst_verdict(fields: Mapping[str, Any]) -> Verdict:
    """Return the worst verdict of an archive of claims."""
    verdicts = [Verdict(verdict["verdict"]) for verdict in fields["verdicts"]]
    return min(verdicts, key=lambda verdict: verdict.rank_from_worst)


def count_caught_and_catchable_faults(fields: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of caught faults, and the number of faults that should be caught."""
    generated = [
        item["found_by"]
        for item in fields["faults"]["generated"]
        if not (item["equivalent"] or item["admissible"])
    ]
    caught = [*(item["caught_by"] for item in fields["faults"]["planted"]), *generated]
    return sum(map(bool, caught)), len(caught)


def tightness(verdict: Mapping[str, Any]) -> float | None:
    """Return a verdict's largest ratio of measured value to bound; None if there is no bound."""
    measured = verdict["measured"]
    names = [name for name in measured if name.rpartition(": ")[2] == "ratio"]
    numbers = [measured[name] for name in names if isinstance(measured[name], int | float)]
    return max(numbers, default=None) if verdict["kind"] in ("bound", "certificate") else None


def badge_phrases(fields: Mapping[str, Any]) -> list[str]:
    """Return the phrases on an archive's badge: the result, and what was tested."""
    if fields["kind"] == "sweep":
        return [f"{fields['planned']} runs", f"{len(fields['problems'])} problems"]
    shares = [share for share in map(tightness, fields["verdicts"]) if share is not None]
    horizons = [
        int(verdict["measured"].get("largest T") or 0)
        for verdict in fields["verdicts"]
        if verdict["kind"] == "bound"
    ]
    homogeneous = all(
        claim["homogeneous"] is not False or claim["normalised"] for claim in fields["claims"]
    )
    caught, faults = count_caught_and_catchable_faults(fields)
    shortest = min(horizons, default=0)
    return [
        find_worst_verdict(fields).value,
        *([f"{max(shares):.2f} of its bound"] if shares else []),
        *([f"T <= {shortest}"] if shortest else []),
        "units ✓" if homogeneous else "units ✗",
        f"{caught} of {faults} faults caught",
    ]


def make_archive_page_files(fields: Mapping[str, Any]) -> dict[str, bytes]:
    """Return a dict from file name to bytes: the page, the badge and the scripts of an archive."""
    words = badge_phrases(fields)
    lines = [
        f"# {_escape_markdown(fields['title'])}",
        "",
        f"**{_escape_markdown(' · '.join(words))}**",
        "",
    ]
    for rows in filter(None, result_tables(fields).values()):
        head, *cells = [[*map(_escape_markdown, row)] for row in (rows[0], *map(dict.values, rows))]
        lines += [*markdown_table(head, cells), ""]
    if fields["kind"] == "claim":
        lines += map(_escape_markdown, _sentences_on_faults_and_seed(fields))
    versions = [" ".join(pair) for pair in sorted(fields["environments"][0].items())]
    lines += [
        f"Made on {_escape_markdown(fields['made'])} by pfbench {_escape_markdown(fields['pfbench'])}; "  # noqa: E501
        f"{_escape_markdown(', '.join(versions))}.",
        "Check it: `pfbench archive check FILE.zip` runs its code again, also with new seeds.",
    ]
    colour = _NEUTRAL
    if fields["kind"] == "claim":
        verdict = find_worst_verdict(fields)
        colour = _RIGHT if verdict.keeps_bound else _WRONG if verdict.is_wrong else _OTHER
    scripts = {
        script_name(record): record["script"].encode()
        for record in fields.get("counterexamples", ())
        if record["script"]
    }
    return {PAGE: "\n".join([*lines, ""]).encode(), BADGE: _badge(words, colour), **scripts}


def describe_violation(record: Mapping[str, Any]) -> str:
    """Describe a counterexample: its measured value, bound, iteration and arithmetic."""
    arithmetic = record["arithmetic"]
    if arithmetic == "e-process":
        arithmetic = f"e-value {record['e_value']:.3g}, {record['runs']} runs"
    return (
        f"{record['measured']:.6g} > {record['bound']:.6g} at t = {record['t']} of an instance "
        f"with d = {record['d']}, n = {record['n']} ({arithmetic})"
    )


def script_name(record: Mapping[str, Any]) -> str:
    """Return the file name of the script of a counterexample in an archive."""
    return f"{SCRIPT}{re.sub('[^a-z0-9]+', '-', record['claim'].lower())[:80]}.py"


def result_tables(fields: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Return the rows of the tables of an archive, by the title of the table."""
    if fields["kind"] == "sweep":
        return {"Sweeps": [{"sweep": fields["title"], "runs": str(fields["planned"])}]}
    return {
        "Claims": [*_rows_of_claims(fields)],
        "Counterexamples": [
            {
                "counterexample to": record["claim"],
                "measured > bound": describe_violation(record),
                "script": script_name(record) if record["script"] else "",
            }
            for record in fields["counterexamples"]
        ],
    }


def _rows_of_claims(fields: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each claim of an archive, with its verdict."""
    caught, faults = count_caught_and_catchable_faults(fields)
    for claim, verdict in zip(fields["claims"], fields["verdicts"], strict=True):
        measured, share = verdict["measured"], tightness(verdict)
        number = measured.get("ratio", measured.get("median", measured.get("exponent")))
        kind = ", ".join(claim["assumptions"])
        yield {
            "class of problems": kind or f"not stated, {claim['method'] or 'no method'}",
            "claim": claim["name"],
            "says": claim["statement"],
            "method": claim["method"],
            "verdict": verdict["verdict"],
            "measured": verdict["reason"].rstrip(".") if number is None else f"{number:.4g}",
            "tested on": sizes_in_words(measured),
            "share of its bound": "" if share is None else f"{share:.3f}",
            "units": unit_check_text(claim),
            "faults caught": f"{caught} of {faults}",
        }


def _sentences_on_faults_and_seed(fields: Mapping[str, Any]) -> list[str]:
    missed = [
        f"{item['where']}: {item['before']} → {item['after']}"
        for item in fields["faults"]["generated"]
        if not (item["found_by"] or item["equivalent"] or item["admissible"])
    ] + [item["mutant"] for item in fields["faults"]["planted"] if not item["caught_by"]]
    caught, faults = count_caught_and_catchable_faults(fields)
    listed = f" Missed: {'; '.join(missed)}." if missed else ""
    return [
        f"{caught} of {faults} faults are caught ({fields['faults']['drawn']}).{listed}",
        f"Seed {fields['seed']}, {fields['effort']}.",
    ]


def unit_check_text(claim: Mapping[str, Any]) -> str:
    """Return the result of a claim's unit check ("✓", "✗" or "none"), followed by a remark."""
    words = {True: "✓", False: "✗", None: "none"}[claim["homogeneous"]]
    return f"{words} {claim['normalised']}".strip()


def _escape_markdown(text: str) -> str:
    """Return a text with its markup escaped, so that it has no link, image or mention."""
    return escape_hidden(text).translate(_SIGNS).replace("](", "]\\(")


def _badge(words: Sequence[str], colour: str) -> bytes:
    """Return an SVG badge with these phrases, as bytes."""
    text = html_text(" · ".join(words))
    width = 62 + 6 * len(" · ".join(words))
    sizes = {"width": width, "right": width - 54, "length": width - 64}
    return fill_template("badge.svg", text=text, colour=colour, **sizes).encode()
