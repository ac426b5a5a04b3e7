"""The texts of papers, where `PFBENCH_PAPERS` names a folder of them, and what is printed there."""

import os
import re
import unicodedata
from functools import cache
from pathlib import Path

FOLDER = os.environ.get("PFBENCH_PAPERS", "")
WHY = "PFBENCH_PAPERS names no folder with the papers' texts"

TITLES = {
    "shen2019": "complexities in projection-free stochastic non-convex minimization",
    "qu2018": "non-convex conditional gradient sliding",
    "li2019": "projection-free algorithms in statistical estimation",
    "wang2019": "spiderboost and momentum: faster",
    "lacoste2016": "convergence rate of frank-wolfe for non-convex objectives",
}
"""What a paper's text begins with, among other things."""

_BEGINNING = 3000
"""A title stands among so many first letters."""


def letters(text):
    """Return the letters and digits of a text alone, which no extraction from a PDF spoils.

    Texts were extracted with and without spaces, signs and line breaks; ligatures and escapes are
    undone.
    """
    escaped = re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), text)
    plain = unicodedata.normalize("NFKD", escaped).lower()
    return re.sub(r"[\W_]+", "", re.sub(r"\\(mathbf|mathcal)", "", plain))


@cache
def text_of(key):
    """Return the letters of a paper's text; None where no text has its title."""
    for path in sorted(Path(FOLDER).glob("*.txt")) if FOLDER else ():
        text = path.read_text(encoding="utf-8")
        if letters(TITLES[key]) in letters(text[:_BEGINNING]):
            return letters(text)
    return None


SECTIONS = {
    ("wang2019", "section 5.1"): ("51comparison", "52comparison"),
    ("wang2019", "section 5.2"): ("52comparison", "6conclusion"),
    ("qu2018", "section 6.1.1"): ("611matrixcompletion", "612nonconvex"),
    ("qu2018", "section 6.1.2"): ("612nonconvex", "62realdata"),
    ("qu2018", "section 6.2"): ("62realdata", "7conclusion"),
    ("li2019", "section 4"): ("4simulation", "5conclusions"),
    ("shen2019", "section 6"): ("6experiment", "conclusionwedesign"),
}
"""With which letters a section of experiments begins, and what comes after it."""

_CAPTION = 600
"""A caption has so many letters at most."""


def printed_at(key, place, quote):
    """Return whether a quotation stands in a section, or in the caption of a figure."""
    text = text_of(key)
    if place.startswith("figure"):
        captions = (text[m.start() :][:_CAPTION] for m in re.finditer(letters(place), text))
        return any(letters(quote) in caption for caption in captions)
    begin, end = SECTIONS[key, place]
    start = text.index(begin)
    return printed(key, quote, text[start : text.index(end, start + len(begin))])


def printed(key, quote, text=None):
    """Return whether all parts of a quotation stand in a paper, in their order."""
    text, at = text or text_of(key), 0
    for part in re.split(r"\s…\s", quote):
        at = text.find(letters(part), at)
        if at < 0:
            return False
        at += len(letters(part))
    return True
