"""A receipt as people read it: HTML, Markdown, macros of LaTeX and a badge."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.escaping import escape_text
from pfbench.receipts.markup import document, escape_html, macro_name, table
from pfbench.receipts.receipt_runs import Row, group_by_cell
from pfbench.receipts.theorem_receipt import BADGE, MACROS, MARKDOWN, PAGE
from pfbench.reporting.latex import escape_latex
from pfbench.verification.coverage import sizes_in_words

_MOST = 6
"""Lines of a list that has more; the rest is counted."""


@dataclass(frozen=True)
class PageTable:
    """A table of the page, with its title."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class ReceiptSummary:
    """A receipt in a line.

    Attributes
    ----------
    verdict
        "holds", "violated", "failed", "inconclusive" or "disputed": the worst of its claims.
    ratio
        The largest share of its bound that is reached, in the mean of a cell's runs; None if it
        bounds nothing.
    binding
        The cell where that is.
    horizon
        The iterations up to which every bound was tested; 0 if that is not known.
    units
        Whether every claim keeps its units or says why not.
    caught_faults, faults
        How many faults are found of those that should be, planted and generated.
    """

    verdict: str
    ratio: float | None
    binding: str
    horizon: int
    units: bool
    caught_faults: int
    faults: int

    @property
    def words(self) -> list[str]:
        """What a badge says."""
        ratio = [] if self.ratio is None else [f"{self.ratio:.2f} of it"]
        units = "units ✓" if self.units else "units ✗"
        statement = {"holds": "bound holds" if ratio else "holds"}.get(self.verdict, self.verdict)
        tested = [f"T <= {self.horizon}"] if ratio and self.horizon else []
        return [statement, *ratio, *tested, units, f"{self.caught_faults}/{self.faults} faults"]

    @property
    def colour(self) -> str:
        """That of the badge."""
        return {"holds": "#2e7d32", "violated": "#b71c1c"}.get(self.verdict, "#8d6e00")


def summary(fields: Mapping[str, Any], rows: Sequence[Row]) -> ReceiptSummary:
    """Return the summary of a receipt."""
    verdicts = {verdict["verdict"] for verdict in fields["verdicts"]}
    order = ("violated", "failed", "inconclusive", "disputed", "holds")
    reached = means(fields, rows)
    binding = max(reached, key=lambda name: reached[name], default="")
    counted = [
        item["found_by"]
        for item in fields["faults"]["generated"]
        if not (item["equivalent"] or item["admissible"])
    ]
    results = [
        *(bool(item["caught_by"]) for item in fields["faults"]["planted"]),
        *map(bool, counted),
    ]
    return ReceiptSummary(
        verdict=next((name for name in order if name in verdicts), "holds"),
        ratio=reached.get(binding),
        binding=binding,
        horizon=min(
            (
                int(verdict["measured"].get("largest T") or 0)
                for verdict in fields["verdicts"]
                if verdict["kind"] == "bound"
            ),
            default=0,
        ),
        units=all(
            claim["homogeneous"] is not False or claim["normalised"] for claim in fields["claims"]
        ),
        caught_faults=sum(results),
        faults=len(results),
    )


def means(fields: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, float]:
    """Return the mean share of its bound of each cell of a bound that has runs, by its name."""
    full_list = [item for claim in fields["claims"] for item in claim["settings"].items()]
    bounds = {name for name, setting in full_list if setting.get("bounds")}
    runs = group_by_cell(fields["cells"], rows).items()
    return {
        name: mean(row["measured"] for row in source)
        for name, source in runs
        if source and name in bounds
    }


def share(worst: Mapping[str, Any]) -> float | None:
    """Return a worst case of few steps over its bound; None if there is not both."""
    value, bound = worst.get("worst_case"), worst.get("bound")
    return value / bound if value is not None and bound else None


def render_pages(fields: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, str]:
    """Return the pages of a receipt by their names in it."""
    short, parts, lines = summary(fields, rows), list(_parts(fields, rows)), _lines(fields, rows)
    return {
        **pages(fields["theorem"], short.words, short.colour, parts, lines),
        MACROS: _macros(fields, short, rows),
    }


# --- what is said ---------------------------------------------------------------------------------


def _parts(fields: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[PageTable]:
    claims, verdicts = fields["claims"], fields["verdicts"]
    pairs = list(zip(claims, verdicts, strict=True))
    yield PageTable(
        "claims",
        ("claim", "says", "verdict", "measured", "tested on", "units"),
        list(map(_claim, pairs)),
    )
    errata = [
        tuple(str(erratum[name]) for name in ("erratum", "as_printed", "corrected", "ruling"))
        for erratum in fields["errata"]
        if erratum["evidence"]["shown"]
    ]
    yield PageTable("errata", ("erratum", "as printed or read", "corrected", "ruling"), errata)
    yield PageTable("constants", ("of", "values"), _first(_constants(claims)))
    counts = [
        row for claim, verdict in pairs if claim["kind"] == "count" for row in _counts(verdict)
    ]
    yield PageTable("counts", ("formula", "says", "counted"), _first(counts))
    yield PageTable(
        "runs", ("runs of", "runs", "calls of a run", "measured"), _first(_runs(fields, rows))
    )
    worst = [
        (
            str(item["steps"]),
            *map(_number, (item["worst_case"], item["bound"])),
            "" if (part := share(item)) is None else f"{part:.4f}",
            _proof_size(item),
        )
        for item in fields["worst"]
        if "steps" in item
    ]
    yield PageTable(
        "the worst case of few steps", ("steps", "worst", "bound", "share", "none is worse"), worst
    )
    power = [
        (item["parameter"], _format_factor(item["least"]), item["claim"])
        for item in fields["power"]
    ]
    head = ("wrong", "least factor that is seen", "by")
    yield PageTable("the smallest error that would be seen", head, _first(power))


def _first(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the first rows of a table; the others are counted."""
    full_list = list(rows)
    extra = len(full_list) - _MOST
    return full_list[:_MOST] + ([(f"and {extra} more: receipt.json",)] if extra > 0 else [])


def _claim(pair: tuple[Mapping[str, Any], Mapping[str, Any]]) -> tuple[str, ...]:
    claim, verdict = pair
    measured = verdict["measured"]
    ratio = measured.get("ratio", measured.get("median", measured.get("exponent")))
    limits = [measured.get(f"{side}_limit") for side in ("lower", "upper")]
    text = _number(ratio) if ratio is not None else verdict["reason"].rstrip(".")
    if None not in limits:
        text += f" [{_number(limits[0])}, {_number(limits[1])}]"
    tested = sizes_in_words(measured)
    return claim["name"], claim["statement"], verdict["verdict"], text, tested, units(claim)


def units(claim: Mapping[str, Any]) -> str:
    """Return whether a claim keeps its units, and why it need not."""
    words = {True: "✓", False: "✗", None: "none"}[claim["homogeneous"]]
    return f"{words} {claim['normalised']}".strip()


def _constants(claims: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    visited: dict[str, dict[str, None]] = {}
    for claim in claims:
        for name, instance in claim["instances"].items():
            text = ", ".join(f"{key} = {_number(v)}" for key, v in instance["constants"].items())
            visited.setdefault(text, {})[f"{claim['name']}: {name}"] = None
    for text, names in visited.items():
        yield "; ".join(names), text


def _counts(verdict: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the numbers of a claim on counts that are not 0, as stated and as counted."""
    measured, claimed = verdict["measured"], verdict["claimed"]
    for name, number in claimed.items():
        location, _, kind = name.rpartition(": ")
        counted = next((v for k, v in measured.items() if k in (kind, f"{location}: {kind}")), None)
        if number or counted:
            yield f"{verdict['claim']} {location} {kind}", _number(number), _number(counted)


def _runs(fields: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for name, own in group_by_cell(fields["cells"], rows).items():
        if not own:
            yield name, "0", fields["without"].get(name, ""), ""
            continue
        spent = {kind: [row[kind] for row in own] for kind in COUNTED}
        calls = ", ".join(
            f"{_range(source)} {kind.upper()}" for kind, source in spent.items() if any(source)
        )
        measured = [row["measured"] for row in own if row["measured"] == row["measured"]]
        yield name, str(len(own)), calls, _range(measured) if measured else ""


def _lines(fields: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    faults, short = fields["faults"], summary(fields, rows)
    planted = sum(bool(item["caught_by"]) for item in faults["planted"])
    missed = [
        f"{item['where']}: {item['before']} → {item['after']}"
        for item in faults["generated"]
        if not (item["found_by"] or item["equivalent"] or item["admissible"])
    ]
    total = sum(bool(item["found_by"]) for item in faults["generated"])
    sample = faults["drawn"]
    extra = f" and {len(missed) - _MOST} more" if len(missed) > _MOST else ""
    why = {item["why"] for item in fields["worst"] if "why" in item}
    versions = ", ".join(
        f"{name} {source}" for name, source in sorted(fields["environment"].items())
    )
    return [
        f"Faults found: {planted} of {len(faults['planted'])} planted; "
        + (
            f"{total} of {total + len(missed)} generated ({sample} drawn)"
            if sample
            else "none are generated"
        )
        + (f"; missed: {'; '.join(missed[:_MOST])}{extra}." if missed else "."),
        *([f"The bound is nearest on {short.binding}."] if short.binding else []),
        *([f"No worst case is computed: {'; '.join(sorted(why))}."] if why else []),
        f"{len(rows)} runs, seed {fields['seed']}, {fields['effort']}; pfbench {fields['pfbench']}; "  # noqa: E501
        f"{versions}. Hashes of all files and versions: receipt.json.",
        "Check it: pfbench receipt --check FILE.zip runs its code again, with new seeds, too.",
    ]


def _proof_size(record: Mapping[str, Any]) -> str:
    """Return how large the proof is that no function is worse, which receipt.json has in full."""
    proof = record.get("proof")
    if not proof:
        return ""
    slack = max(proof["slack"].values())
    return f"by {len(proof['terms'])} multipliers, up to {slack:.1g}"


def _format_factor(factor: float | None) -> str:
    return "none up to 10" if factor is None else f"{factor:g}"


def _range(values: Sequence[float]) -> str:
    low, high = _number(min(values)), _number(max(values))
    return low if low == high else f"{low} – {high}"


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"


# --- how ------------------------------------------------------------------------------------------


def pages(
    subject: str,
    words: Sequence[str],
    colour: str,
    parts: Sequence[PageTable],
    sentences: Sequence[str],
) -> dict[str, str]:
    """Return the page as HTML and Markdown, and the badge, by their names in a receipt.

    Parameters
    ----------
    subject
        What it is a receipt of.
    words, colour
        What the badge says, and how.
    parts, sentences
        Tables, and sentences below.
    """
    badge = _badge(words, colour)
    return {
        PAGE: _html(subject, badge, parts, sentences),
        MARKDOWN: _markdown(subject, words, parts, sentences),
        BADGE: badge,
    }


def _html(subject: str, badge: str, parts: Sequence[PageTable], sentences: Sequence[str]) -> str:
    def cells(row: Sequence[str]) -> list[str]:
        # Names of instances are one long word, which may be broken at its commas.
        return [escape_html(cell).replace(",", ",<wbr>") for cell in row]

    tables = [table(part.title, cells(part.head), [*map(cells, part.rows)]) for part in parts]
    return document(
        f"Receipt of {subject}",
        [badge, *tables, *(f"<p>{escape_html(line)}</p>" for line in sentences)],
    )


def _markdown(
    subject: str, words: Sequence[str], parts: Sequence[PageTable], sentences: Sequence[str]
) -> str:
    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(_escape_markdown(cell) for cell in row) + " |"

    results = [
        f"# Receipt of {_escape_markdown(subject)}",
        "",
        f"**{_escape_markdown(' · '.join(words))}**",
        "",
    ]
    for part in parts:
        if part.rows:
            rule = "| " + " | ".join("---" for _ in part.head) + " |"
            results += [f"## {part.title}", "", line(part.head), rule, *map(line, part.rows), ""]
    return "\n".join([*results, *(f"{_escape_markdown(text)}\n" for text in sentences)])


_SIGNS = str.maketrans({"|": "\\|", "<": "&lt;", "`": "'", "@": "&#64;"})


def _escape_markdown(text: str) -> str:
    """Return a text without mark-up: no link or picture of a stranger's, and nobody is called."""
    return escape_text(text).translate(_SIGNS).replace("](", "]\\(")


def _macros(fields: Mapping[str, Any], short: ReceiptSummary, rows: Sequence[Row]) -> str:
    """Return its numbers as commands of LaTeX."""
    worst = [part for item in fields["worst"] if (part := share(item)) is not None]
    numbers = {
        "Verdict": short.verdict,
        "Ratio": "" if short.ratio is None else f"{short.ratio:.2f}",
        "Found": str(short.caught_faults),
        "Faults": str(short.faults),
        "Runs": str(len(rows)),
        "Worst": f"{max(worst):.2f}" if worst else "",
    }
    named = {
        macro_name([*fields["name"].split("_"), name]): text
        for name, text in numbers.items()
        if text
    }
    lines = [f"\\newcommand{{\\{name}}}{{{escape_latex(text)}}}" for name, text in named.items()]
    return "\n".join([f"% Receipt of {escape_latex(fields['theorem'])}", *lines, ""])


def _badge(words: Sequence[str], colour: str) -> str:
    """Return the summary as a picture."""
    text = " · ".join(words)
    width = 62 + 6 * len(text)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="{escape_html(text)}"><rect width="54" height="20" fill="#444"/>'
        f'<rect x="54" width="{width - 54}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11">'
        f'<text x="6" y="14">pfbench</text><text x="59" y="14" textLength="{width - 64}">'
        f"{escape_html(text)}</text></g></svg>\n"
    )
