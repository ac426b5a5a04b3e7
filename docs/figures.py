"""The figures of the gallery: each program is run when the site is built."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "build" / "figures"
"""Where they are drawn; a page finds them from there."""

STYLE = {"figure.figsize": (6.4, 3.6), "savefig.bbox": "tight", "svg.hashsalt": "pfbench"}


def drawn(text: str) -> str:
    """Return a page with the `figure` of each program that a comment asks for, by its words."""
    return re.sub(r"```python\n([^`]*)```\n\n<!-- figure: (.*?) -->", _with_figure, text)


def _with_figure(match: re.Match[str]) -> str:
    import matplotlib as mpl

    program, about = match.groups()
    mpl.use("svg")
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{re.sub(r'[^a-z]+', '-', about.lower())[:40].strip('-')}.svg"
    names = {"__name__": "gallery"}
    with mpl.rc_context(STYLE):
        exec(compile(program, about, "exec"), names)
        names["figure"].savefig(path, metadata={"Date": None})
        mpl.pyplot.close(names["figure"])
    return f"```python\n{program}```\n\n![{about}](/build/figures/{path.name})"
