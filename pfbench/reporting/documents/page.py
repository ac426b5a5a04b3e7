"""The page: one HTML file that holds everything it needs."""

import re
from importlib.resources import files
from typing import Any

from pfbench.base.visible import visible
from pfbench.reporting import tables
from pfbench.reporting.documents.contents import Contents, Part, failure_sentence, seeds_in_words
from pfbench.reporting.figures import html
from pfbench.reporting.figures.front import profile
from pfbench.reporting.figures.style import style
from pfbench.reporting.findings import orders_in_words, summary, versus
from pfbench.reporting.findings.claims import claims_table
from pfbench.reporting.findings.front import Front
from pfbench.reporting.findings.result_tables import results_table
from pfbench.reporting.statistics.curves import Final
from pfbench.reporting.theory import Theory
from pfbench.reporting.words import WORDS, anchor, measure_name

_TEMPLATES = files("pfbench.reporting.documents") / "templates"

_SCRIPTS = (
    "words.js",
    "statistics.js",
    "switches.js",
    "figures.js",
    "tables.js",
    "saved.js",
    "elements.js",
    "workbench.js",
    "report.js",
)
"""The page's script, in the order in which each file needs those before it."""


def page(contents: Contents) -> str:
    """Return the HTML page of a report."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_printable,
    )
    environment.filters |= {
        "anchor": anchor,
        "extent": tables.extent,
        "meaning": tables.meaning,
        "measure_name": measure_name,
        "middle": tables.middle,
        "paragraphs": paragraphs,
        "plain": tables.plain,
        "survivors": tables.survivors,
    }
    environment.tests |= {
        "command": lambda cell: isinstance(cell, tables.Command),
        "final": lambda cell: isinstance(cell, Final),
        "numeric": tables.is_numeric,
    }
    studies = [(part.results, part.figure) for part in contents.parts]
    rates = contents.theory.rates
    # Of very many runs this text is long, and so is what it is made of: neither is kept beside it.
    runs = Markup(html.packed(html.as_json(contents.spec, studies, contents.labels, rates)))
    values: dict[str, Any] = vars(contents) | {
        "date": contents.date,
        "words": WORDS,
        "provenance": contents.provenance(),
        "parts": [_shown(part, contents.theory) for part in contents.parts],
        "styles": [style(number) for number in range(len(contents.labels))],
        # Not escaped: our own files, and base64.
        "css": Markup(_own("report.css")),
        "script": Markup("".join(map(_own, _SCRIPTS))),
        "plotly": Markup(html.packed(html.plotly_js())),
        "runs": runs,
    }
    return environment.from_string(_own("report.html.j2")).render(values)


def _printable(value: Any) -> Any:
    """Return what stands in a page: in a text, nothing that would act. Our own markup stays."""
    plain = isinstance(value, str) and not hasattr(value, "__html__")
    return visible(value, "\n\t") if plain else value


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines divide."""
    # Not by split(): it would take narrow spaces, which keep numbers together, for ends of words.
    return [" ".join(re.findall(r"[^ \t\r\n]+", one)) for one in text.split("\n\n") if one.strip()]


def _own(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _shown(part: Part, theory: Theory) -> dict[str, Any]:
    """Return what the template shows of one study, by the names that it has there."""
    if part.front is not None:
        return _front(part, part.front)
    results = part.results
    return {
        "id": f"study-{part.study.key or 'only'}",
        "study": part.study,
        "in_brief": part.in_brief,
        "judging": part.judging,
        "orders": part.orders,
        "tested": orders_in_words.table(part.study, part.tested),
        "tested_heading": orders_in_words.heading(part.tested),
        "results": part.results_tables,
        "sentences": part.sentences,
        "tuned": part.tuned,
        "tuning": part.tuning_tables,
        "medians": part.medians,
        "ratios": summary.ratio_table(results),
        "extents": summary.extents(results),
        "early": tables.ended_early(results),
        "counts": tables.counts(results),
        "claims": claims_table(results, theory.claims),
        "runs": tables.runs(results),
        "seeds": seeds_in_words(part.study),
        "certified": part.certified,
        "failure": failure_sentence(results),
        "picture": part.picture,
    }


def _front(part: Part, front: Front) -> dict[str, Any]:
    """Return what the template shows of a study of which one method is the subject."""
    return {
        "id": f"study-{part.study.key or 'only'}",
        "study": part.study,
        "front": front,
        "profile": profile(front),
        "in_words": part.in_words,
        "chosen": part.chosen,
        "against": versus.table(front.compared[0], front.label, front.mine),
        "results": [results_table(part.compared[0], only={*front.shown})],
        "runs": tables.runs(part.results.only(front.mine)),
        "early": tables.ended_early(part.results.only(front.mine)),
        "seeds": seeds_in_words(part.study),
        "certified": part.certified,
        "failure": failure_sentence(part.results),
        "picture": part.picture,
    }
