"""Statements of claims, written in plain signs, with their formulas as MathML.

MathML needs no script and no network. What is read are runs of signs between words: a word of two
letters or more is a word, unless it names a letter or a function. Fractions stay in their line, as
the statements write them.
"""

import re
from collections.abc import Iterator
from html import escape

from marking import safe

LETTERS = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε"},
    **{"zeta": "ζ", "eta": "η", "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "xi": "ξ"},
    **{"rho": "ρ", "sigma": "σ", "tau": "τ", "chi": "χ", "psi": "ψ", "omega": "ω", "ell": "ℓ"},
    **{"Delta": "Δ", "Sigma": "Σ", "Omega": "Ω", "grad": "∇", "sum": "∑"},
}
FUNCTIONS = {"min", "max", "log", "ln", "exp", "diag", "Hess", "prox", "lmo", "sign"}
COUNTS = {"FO", "SFO", "SSO", "HVP", "LO", "PO", "FV", "IFO"}
SIGNS = {
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "->": "→",
    "*": "·",
    "-": "−",
    "'": "′",
    "~": "∼",
    "<<": "≪",
}

_TOKEN = re.compile(r"\d+(?:\.\d+)?|\.\d+|[A-Za-z][A-Za-z0-9]*|<<|<=|>=|!=|->|\s+|.")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_COMPOUND = re.compile(r"[A-Za-z]{2,}\d*(?:-[A-Za-z]{2,}|'s\b)+")
_BIG = "([{"
_WRITTEN = (
    (r"<(?=[A-Za-z])([^<>=]*?\S)>(?!=)", r"⟨\1⟩"),  # an inner product
    (r"(?<=[A-Za-z0-9])\*(?![A-Za-z0-9(\s])", "^∗"),  # an optimum
    (r"_\*", "_∗"),  # a dual norm
    (r"\b([ux])\+(?=\)| -)", r"\1^+"),  # the next point
    (r"\bE(?=\s?[|[]|\s(?:V|f\())", "𝔼"),  # elsewhere E is a number of epochs
    (r"\^(-\d+/\d+)", r"^{\1}"),
    (r"(?<=\s)\|(?=\s)", "∣"),  # given
)
"""What spaces and neighbours tell, written as one sign."""
_CLOSING = dict(zip("([{", ")]}", strict=True))


def typeset(statement: str) -> str:
    """Return a statement as Markdown, with its formulas in ``<math>``."""
    parts = []
    for is_formula, text in _parted(statement):
        if is_formula and re.search(r"[A-Za-z0-9]", text):
            inner = re.sub(r"(\s+\(|[\s,;:.])+$", "", text)
            after = text[len(inner) :]
            parts += [f"<math>{''.join(_rendered(inner))}</math>", safe(after)]
        else:
            parts.append(safe(text))
    return "".join(parts)


def _parted(statement: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a statement, and whether each is a formula."""
    at, begin, inside = 0, 0, False
    while at < len(statement):
        word = _word_at(statement, at)
        starts = not word and not statement[at].isspace() and statement[at] not in ",;:."
        if word if inside else starts:
            yield inside, statement[begin:at]
            begin, inside = at, not inside
        name = _NAME.match(statement, at)
        at += len(word or (name[0] if name else statement[at]))
    yield inside, statement[begin:]


def _word_at(statement: str, at: int) -> str:
    """Return the word of the sentence that begins at a place; empty if none does."""
    compound, name = _COMPOUND.match(statement, at), _NAME.match(statement, at)
    if compound and compound[0].partition("-")[0] not in LETTERS:
        return compound[0]
    if name is None or (at > 0 and statement[at - 1] in "_^{/+"):
        return ""
    return name[0] if _is_word(name[0], statement[name.end() :]) else ""


def _is_word(name: str, follows: str) -> bool:
    """Return whether a name is no part of a formula; `follows` is what comes after it."""
    if name == "a":
        return re.match(r"\s+(?!and |with |is )[A-Za-z]{2,}", follows) is not None
    if name == "sum":
        return re.match(r"\s+[A-Za-z][_(]", follows) is None
    stem = name.rstrip("0123456789")
    if follows[:1] in ("^", "_", "+") or stem in {*LETTERS, *FUNCTIONS, *COUNTS, "sqrt", "ceil"}:
        return False
    return len(name) > 1 and not re.fullmatch(r"[A-Z]?[a-z]?\d|nE|ST|ms|jj|bm|[A-Z]{2}", name)


def _rendered(text: str) -> Iterator[str]:
    """Yield the MathML of a formula, an element for each letter with what is attached to it."""
    for pattern, signs in _WRITTEN:
        text = re.sub(pattern, signs, text)
    tokens = [one for one in _TOKEN.findall(text) if not one.isspace()]
    while tokens:
        base = _taken(tokens)
        scripts = {}
        while tokens and tokens[0] in "_^" and len(tokens) > 1:
            where = tokens.pop(0)
            scripts[where] = _script(tokens)
        hat = scripts.pop("_") if scripts.get("_") == "<mtext>hat</mtext>" else ""
        base = f"<mover>{base}<mo>^</mo></mover>" if hat else base
        if len(scripts) == 2:
            yield f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>"
        elif scripts:
            name = "msub" if "_" in scripts else "msup"
            yield f"<{name}>{base}{''.join(scripts.values())}</{name}>"
        else:
            yield base


def _taken(tokens: list[str]) -> str:
    """Take the first element from the tokens."""
    one = tokens.pop(0)
    if one in ("sqrt", "ceil") and tokens and tokens[0] == "(":
        inner = "".join(_rendered(" ".join(_group(tokens))))
        if one == "sqrt":
            return f"<msqrt>{inner}</msqrt>"
        return f"<mrow><mo>⌈</mo>{inner}<mo>⌉</mo></mrow>"
    if one == "sqrt" and tokens:
        return f"<msqrt>{_taken(tokens)}</msqrt>"
    if one[0].isdigit() or (one[0] == "." and len(one) > 1):
        return f"<mn>{one}</mn>"
    if one in COUNTS:
        return f"<mspace width='0.2em'/><mi>{one}</mi>"
    if one[0].isalpha():
        named = one.rstrip("0123456789") in LETTERS
        product = not named and (len(one) == 2 or one == "nE") and one.isalpha()
        made = [_letter(letter) for letter in (one if product else [one])]
        space = "<mspace width='0.15em'/>" if one in FUNCTIONS else ""
        return f"<mrow>{''.join(made)}</mrow>" if product else f"{made[0]}{space}"
    close = " lspace='0' rspace='0'" if one in "|/" else ""
    return f"<mo stretchy='false'{close}>{escape(SIGNS.get(one, one))}</mo>"


def _letter(name: str) -> str:
    """Return a letter, with its number below it if it has one; of more letters the text."""
    stem = name.rstrip("0123456789")
    letter = f"<mi>{LETTERS.get(stem, stem)}</mi>"
    if len(stem) > 1 and stem not in LETTERS and stem not in FUNCTIONS:
        return f"<mtext>{name}</mtext>"
    return letter if stem == name else f"<msub>{letter}<mn>{name[len(stem) :]}</mn></msub>"


def _script(tokens: list[str]) -> str:
    """Take what is attached below or above: a group, a signed number, or one element."""
    if tokens[0] in _BIG:
        shown = tokens[0] == "["
        return f"<mrow>{''.join(_rendered(' '.join(_group(tokens, keep=shown))))}</mrow>"
    if tokens[0] in FUNCTIONS:
        return f"<mi>{tokens.pop(0)}</mi>"
    if tokens[0] == "-" and len(tokens) > 1:
        return f"<mrow>{_taken(tokens)}{_taken(tokens)}</mrow>"
    return _taken(tokens)


def _group(tokens: list[str], *, keep: bool = False) -> list[str]:
    """Take a group in brackets from the tokens; without them, unless they are kept."""
    depth, taken = 0, []
    while tokens:
        taken.append(tokens.pop(0))
        depth += (taken[-1] in _CLOSING) - (taken[-1] in _CLOSING.values())
        if depth == 0:
            break
    return taken if keep else taken[1:-1]
