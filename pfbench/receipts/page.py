"""A receipt as people read it: HTML, Markdown, macros of LaTeX and a badge."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.visible import visible
from pfbench.receipts.content import BADGE, MACROS, MARKDOWN, PAGE
from pfbench.receipts.markup import document, safe, table
from pfbench.receipts.runs import Row, by_cell
from pfbench.reporting.documents.macros import macro_name
from pfbench.reporting.latex import latex_text
from pfbench.verification.seen import sizes_in_words

_MOST = 6
"""Lines of a list that has more; the rest is counted."""


@dataclass(frozen=True)
class Part:
    """A table of the page, with its title."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Summary:
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
    found, faults
        How many faults are found of those that should be, planted and generated.
    """

    verdict: str
    ratio: float | None
    binding: str
    horizon: int
    units: bool
    found: int
    faults: int

    @property
    def words(self) -> list[str]:
        """What a badge says."""
        ratio = [] if self.ratio is None else [f"{self.ratio:.2f} of it"]
        units = "units ✓" if self.units else "units ✗"
        said = {"holds": "bound holds" if ratio else "holds"}.get(self.verdict, self.verdict)
        tested = [f"T <= {self.horizon}"] if ratio and self.horizon else []
        return [said, *ratio, *tested, units, f"{self.found}/{self.faults} faults"]

    @property
    def colour(self) -> str:
        """That of the badge."""
        return {"holds": "#2e7d32", "violated": "#b71c1c"}.get(self.verdict, "#8d6e00")


def summary(about: Mapping[str, Any], rows: Sequence[Row]) -> Summary:
    """Return the summary of a receipt."""
    verdicts = {one["verdict"] for one in about["verdicts"]}
    order = ("violated", "failed", "inconclusive", "disputed", "holds")
    reached = means(about, rows)
    binding = max(reached, key=lambda name: reached[name], default="")
    counted = [
        one["found_by"]
        for one in about["faults"]["generated"]
        if not (one["equivalent"] or one["admissible"])
    ]
    found = [*(bool(one["caught_by"]) for one in about["faults"]["planted"]), *map(bool, counted)]
    return Summary(
        verdict=next((one for one in order if one in verdicts), "holds"),
        ratio=reached.get(binding),
        binding=binding,
        horizon=min(
            (
                int(one["measured"].get("largest T") or 0)
                for one in about["verdicts"]
                if one["kind"] == "bound"
            ),
            default=0,
        ),
        units=all(one["homogeneous"] is not False or one["normalised"] for one in about["claims"]),
        found=sum(found),
        faults=len(found),
    )


def means(about: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, float]:
    """Return the mean share of its bound of each cell of a bound that has runs, by its name."""
    every = [one for claim in about["claims"] for one in claim["settings"].items()]
    bounds = {name for name, setting in every if setting.get("bounds")}
    runs = by_cell(about["cells"], rows).items()
    return {name: mean(row["measured"] for row in of) for name, of in runs if of and name in bounds}


def share(worst: Mapping[str, Any]) -> float | None:
    """Return a worst case of few steps over its bound; None if there is not both."""
    value, bound = worst.get("worst_case"), worst.get("bound")
    return value / bound if value is not None and bound else None


def shown(about: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, str]:
    """Return the pages of a receipt by their names in it."""
    short, parts, lines = summary(about, rows), list(_parts(about, rows)), _lines(about, rows)
    return {
        **pages(about["theorem"], short.words, short.colour, parts, lines),
        MACROS: _macros(about, short, rows),
    }


# --- what is said ---------------------------------------------------------------------------------


def _parts(about: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[Part]:
    claims, verdicts = about["claims"], about["verdicts"]
    pairs = list(zip(claims, verdicts, strict=True))
    yield Part(
        "claims",
        ("claim", "says", "verdict", "measured", "tested on", "units"),
        list(map(_claim, pairs)),
    )
    errata = [
        tuple(str(one[name]) for name in ("erratum", "as_printed", "corrected", "ruling"))
        for one in about["errata"]
        if one["evidence"]["shown"]
    ]
    yield Part("errata", ("erratum", "as printed or read", "corrected", "ruling"), errata)
    yield Part("constants", ("of", "values"), _first(_constants(claims)))
    counts = [
        row for claim, verdict in pairs if claim["kind"] == "count" for row in _counts(verdict)
    ]
    yield Part("counts", ("formula", "says", "counted"), _first(counts))
    yield Part(
        "runs", ("runs of", "runs", "calls of a run", "measured"), _first(_runs(about, rows))
    )
    worst = [
        (
            str(one["steps"]),
            *map(_number, (one["worst_case"], one["bound"])),
            "" if (part := share(one)) is None else f"{part:.4f}",
            _why(one),
        )
        for one in about["worst"]
        if "steps" in one
    ]
    yield Part(
        "the worst case of few steps", ("steps", "worst", "bound", "share", "none is worse"), worst
    )
    power = [(one["parameter"], _least(one["least"]), one["claim"]) for one in about["power"]]
    head = ("wrong", "least factor that is seen", "by")
    yield Part("the smallest error that would be seen", head, _first(power))


def _first(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the first rows of a table; the others are counted."""
    every = list(rows)
    more = len(every) - _MOST
    return every[:_MOST] + ([(f"and {more} more: receipt.json",)] if more > 0 else [])


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
    seen: dict[str, dict[str, None]] = {}
    for claim in claims:
        for name, instance in claim["instances"].items():
            known = ", ".join(f"{key} = {_number(v)}" for key, v in instance["constants"].items())
            seen.setdefault(known, {})[f"{claim['name']}: {name}"] = None
    for known, names in seen.items():
        yield "; ".join(names), known


def _counts(verdict: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the numbers of a claim on counts that are not 0, as stated and as counted."""
    measured, claimed = verdict["measured"], verdict["claimed"]
    for name, number in claimed.items():
        place, _, kind = name.rpartition(": ")
        counted = next((v for k, v in measured.items() if k in (kind, f"{place}: {kind}")), None)
        if number or counted:
            yield f"{verdict['claim']} {place} {kind}", _number(number), _number(counted)


def _runs(about: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for name, own in by_cell(about["cells"], rows).items():
        if not own:
            yield name, "0", about["without"].get(name, ""), ""
            continue
        spent = {kind: [row[kind] for row in own] for kind in COUNTED}
        calls = ", ".join(f"{_range(of)} {kind.upper()}" for kind, of in spent.items() if any(of))
        measured = [row["measured"] for row in own if row["measured"] == row["measured"]]
        yield name, str(len(own)), calls, _range(measured) if measured else ""


def _lines(about: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    faults, short = about["faults"], summary(about, rows)
    planted = sum(bool(one["caught_by"]) for one in faults["planted"])
    missed = [
        f"{one['where']}: {one['before']} → {one['after']}"
        for one in faults["generated"]
        if not (one["found_by"] or one["equivalent"] or one["admissible"])
    ]
    found = sum(bool(one["found_by"]) for one in faults["generated"])
    drawn = faults["drawn"]
    more = f" and {len(missed) - _MOST} more" if len(missed) > _MOST else ""
    why = {one["why"] for one in about["worst"] if "why" in one}
    versions = ", ".join(f"{name} {of}" for name, of in sorted(about["environment"].items()))
    return [
        f"Faults found: {planted} of {len(faults['planted'])} planted; "
        + (
            f"{found} of {found + len(missed)} generated ({drawn} drawn)"
            if drawn
            else "none are generated"
        )
        + (f"; missed: {'; '.join(missed[:_MOST])}{more}." if missed else "."),
        *([f"The bound is nearest on {short.binding}."] if short.binding else []),
        *([f"No worst case is computed: {'; '.join(sorted(why))}."] if why else []),
        f"{len(rows)} runs, seed {about['seed']}, {about['effort']}; pfbench {about['pfbench']}; "
        f"{versions}. Hashes of all files and versions: receipt.json.",
        "Check it: pfbench receipt --check FILE.zip runs its code again, with new seeds, too.",
    ]


def _why(one: Mapping[str, Any]) -> str:
    """Return how large the proof is that no function is worse, which receipt.json has in full."""
    proof = one.get("proof")
    if not proof:
        return ""
    slack = max(proof["slack"].values())
    return f"by {len(proof['terms'])} multipliers, up to {slack:.1g}"


def _least(factor: float | None) -> str:
    return "none up to 10" if factor is None else f"{factor:g}"


def _range(values: Sequence[float]) -> str:
    low, high = _number(min(values)), _number(max(values))
    return low if low == high else f"{low} – {high}"


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"


# --- how ------------------------------------------------------------------------------------------


def pages(
    of: str, words: Sequence[str], colour: str, parts: Sequence[Part], said: Sequence[str]
) -> dict[str, str]:
    """Return the page as HTML and Markdown, and the badge, by their names in a receipt.

    Parameters
    ----------
    of
        What it is a receipt of.
    words, colour
        What the badge says, and how.
    parts, said
        Tables, and sentences below.
    """
    badge = _badge(words, colour)
    return {
        PAGE: _html(of, badge, parts, said),
        MARKDOWN: _markdown(of, words, parts, said),
        BADGE: badge,
    }


def _html(of: str, badge: str, parts: Sequence[Part], said: Sequence[str]) -> str:
    def cells(row: Sequence[str]) -> list[str]:
        # Names of instances are one long word, which may be broken at its commas.
        return [safe(cell).replace(",", ",<wbr>") for cell in row]

    tables = [table(one.title, cells(one.head), [*map(cells, one.rows)]) for one in parts]
    return document(
        f"Receipt of {of}", [badge, *tables, *(f"<p>{safe(line)}</p>" for line in said)]
    )


def _markdown(of: str, words: Sequence[str], parts: Sequence[Part], said: Sequence[str]) -> str:
    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(_plain(cell) for cell in row) + " |"

    found = [f"# Receipt of {_plain(of)}", "", f"**{_plain(' · '.join(words))}**", ""]
    for part in parts:
        if part.rows:
            rule = "| " + " | ".join("---" for _ in part.head) + " |"
            found += [f"## {part.title}", "", line(part.head), rule, *map(line, part.rows), ""]
    return "\n".join([*found, *(f"{_plain(text)}\n" for text in said)])


_SIGNS = str.maketrans({"|": "\\|", "<": "&lt;", "`": "'", "@": "&#64;"})


def _plain(text: str) -> str:
    """Return a text without mark-up: no link or picture of a stranger's, and nobody is called."""
    return visible(text).translate(_SIGNS).replace("](", "]\\(")


def _macros(about: Mapping[str, Any], short: Summary, rows: Sequence[Row]) -> str:
    """Return its numbers as commands of LaTeX."""
    worst = [part for one in about["worst"] if (part := share(one)) is not None]
    numbers = {
        "Verdict": short.verdict,
        "Ratio": "" if short.ratio is None else f"{short.ratio:.2f}",
        "Found": str(short.found),
        "Faults": str(short.faults),
        "Runs": str(len(rows)),
        "Worst": f"{max(worst):.2f}" if worst else "",
    }
    named = {
        macro_name([*about["name"].split("_"), name]): text
        for name, text in numbers.items()
        if text
    }
    lines = [f"\\newcommand{{\\{name}}}{{{latex_text(text)}}}" for name, text in named.items()]
    return "\n".join([f"% Receipt of {latex_text(about['theorem'])}", *lines, ""])


def _badge(words: Sequence[str], colour: str) -> str:
    """Return the summary as a picture."""
    text = " · ".join(words)
    width = 62 + 6 * len(text)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="{safe(text)}"><rect width="54" height="20" fill="#444"/>'
        f'<rect x="54" width="{width - 54}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11">'
        f'<text x="6" y="14">pfbench</text><text x="59" y="14" textLength="{width - 64}">'
        f"{safe(text)}</text></g></svg>\n"
    )
