"""A strict reader of the LaTeX that is written for papers, for machines that have no TeX."""

import re

_COMMENT = re.compile(r"(?<!\\)%.*")
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}$&#^_~%]|[^\\{}$&#^_~%]+", re.DOTALL)
_RULES = ("\\toprule", "\\midrule", "\\bottomrule", "\\addlinespace", "\\centering")


def problems(text):
    """Return what TeX would not take, or not as it is meant; letters of Latin scripts it has."""
    plain = _COMMENT.sub("", text)
    other = sorted({sign for sign in plain if not sign.isascii() and not sign.isalpha()})
    found = [f"no sign of TeX: {other}"] if other else []
    return [*found, *_nesting(plain), *_signs(plain), *_rows(plain), *_macros(plain)]


def _nesting(text):
    """Braces, dollars and environments close what they open, in order."""
    opened = []
    for match in re.finditer(r"\\begin\{(\w+)\}|\\end\{(\w+)\}|\\.|[{}$]", text, re.DOTALL):
        begin, end, sign = match[1], match[2], match[0]
        if begin:
            opened.append(begin)
        elif end or sign == "}" or (sign == "$" and opened[-1:] == ["$"]):
            wanted = end or ("{" if sign == "}" else "$")
            if opened[-1:] != [wanted]:
                yield f"{sign} closes {opened[-1:]}"
                return
            opened.pop()
        elif sign in "{$":
            opened.append(sign)
    if opened:
        yield f"open at the end: {opened}"


def _signs(text):
    """A sign that acts stands escaped, but in mathematics and, of &, in a table."""
    math, tables = False, 0
    for token in re.sub(r"\\(label|includegraphics)(\[[^]]*\])?\{[^}]*\}", "", text).splitlines():
        tables += token.count("\\begin{tabular}") - token.count("\\end{tabular}")
        for sign in _TOKEN.findall(token):
            math ^= sign == "$"
            if sign in ("#", "~", "%") or (sign in ("^", "_") and not math):
                yield f"{sign} acts in {token!r}"
            if sign == "&" and not tables:
                yield f"& outside of a table in {token!r}"
    if math:
        yield "mathematics without an end"


def _rows(text):
    """Each row of a table has as many cells as the table has columns, and ends."""
    for table in re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        columns = re.match(r"\{([lrc]+)\}", table)
        if columns is None:
            yield "columns of a table are not told"
            continue
        for row in table[columns.end() :].strip().splitlines():
            if row in _RULES:
                continue
            if not row.endswith(r"\\"):
                yield f"no end of a row in {row!r}"
            cells = len(re.findall(r"(?<!\\)&", row)) + 1
            cells += sum(int(number) - 1 for number in re.findall(r"\\multicolumn\{(\d+)\}", row))
            if cells != len(columns[1]):
                yield f"{cells} cells of {len(columns[1])} in {row!r}"


def _macros(text):
    """Names of macros have letters alone, and each is there once."""
    names = re.findall(r"\\newcommand\{\\(.*?)\}", text)
    if len(names) != text.count("\\newcommand"):
        yield "a macro without a name"
    yield from (f"the macro {name} has not letters alone" for name in names if not name.isalpha())
    yield from (f"the macro {name} appears twice" for name in names if names.count(name) > 1)
