"""HTML of the site of a collection."""

import html
from collections.abc import Sequence

from pfbench.base.escaping import escape_text

_STYLE = """
body { font: 13px/1.35 system-ui, sans-serif; max-width: 76rem; margin: 1rem auto; padding: 0 1rem }
h1 { font-size: 1.2rem; margin: 0 0 .4rem } h2 { font-size: .85rem; margin: .7rem 0 .1rem }
table { border-collapse: collapse } td, th { text-align: left; vertical-align: top;
padding: .08rem .9rem .08rem 0 } th { font-weight: 600; color: #555 } div { overflow-x: auto }
p { margin: .3rem 0; overflow-wrap: anywhere } svg { max-width: 100% }
"""


def escape_html(text: str) -> str:
    """Return a text with control characters and HTML markup escaped."""
    return html.escape(escape_text(text))


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table of escaped cells under its title; empty if it has no rows."""
    lines = [("th", head), *(("td", row) for row in rows)]
    cells = ("".join(f"<{kind}>{cell}</{kind}>" for cell in row) for kind, row in lines)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    above = f"<h2>{escape_html(title)}</h2>" if title else ""
    return f"{above}<div><table>{body}</table></div>" if rows else ""


def document(title: str, body: Sequence[str], style: str = "") -> str:
    """Return an HTML page without scripts and without external resources."""
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape_html(title)}</title><style>{_STYLE}{style}</style></head><body>",
            f"<h1>{escape_html(title)}</h1>",
            *filter(None, body),
            "</body></html>\n",
        ]
    )
