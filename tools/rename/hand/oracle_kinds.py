"""One definition of the oracle kinds: `OracleKind`; lists of kinds derive from it."""

import re
from pathlib import Path


def sub(file: str, old: str, new: str, count: int = 1) -> None:
    path = Path(file)
    text = path.read_text(encoding="utf-8")
    if old not in text:
        print(f"not found in {file}: {old[:60]}")
        return
    path.write_text(text.replace(old, new, count), encoding="utf-8")


# --- the definition
path = Path("pfbench/base/counts.py")
text = path.read_text(encoding="utf-8")
start, end = text.index("COUNTED = "), text.index("@dataclass(frozen=True, slots=True)\nclass Counts")
text = text[:start] + '''
class OracleKind(StrEnum):
    """A kind of counted oracle calls; as text the name of its count.

    A new kind is a member here, a field of `Counts` and `Budget`, a verb of the bundle that counts
    it, and a word of ``cli/schemas/spec.json``. All other lists derive from this one.
    """

    meaning: str
    title: str

    def __new__(cls, name: str, meaning: str, title: str) -> Self:
        """Attach the unit of a count and its title in figures."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.meaning, kind.title = meaning, title
        return kind

    FO = ("fo", "full gradients (their n component gradients are in sfo)", "FO (full gradients)")
    SFO = (
        "sfo",
        "component gradients: n for a full gradient, 2|S| for a difference at two points",
        "SFO (component gradients)",
    )
    SSO = (
        "sso",
        "component Hessians evaluated, however often they are then applied",
        "SSO (component Hessians)",
    )
    HVP = (
        "hvp",
        "component Hessian-vector products: n for the full product, |S| for a batch",
        "HVP (Hessian-vector products)",
    )
    LO = ("lo", "linear minimisations over the feasible set", "LO calls")
    PO = ("po", "proximal maps or projections", "PO calls")
    FV = ("fv", "component function values that the algorithm asks for", "FV (component values)")


COUNTED = tuple(kind.value for kind in OracleKind)
"""The counted oracles, in the order in which tables show them."""

MEANING = {kind.value: kind.meaning for kind in OracleKind}


''' + text[end:]
text = text.replace("from dataclasses import dataclass\n", "from dataclasses import dataclass\nfrom enum import StrEnum\nfrom typing import Self\n", 1)
path.write_text(text, encoding="utf-8")

# --- lists that derive from it
sub("pfbench/oracles/ledger.py", "FO, SFO, SSO, HVP, LO, PO, FV = range(len(COUNTED))", "FO, SFO, SSO, HVP, LO, PO, FV, *_ = range(len(COUNTED))")
sub("pfbench/reporting/findings/ranking.py", 'KINDS = ("sfo", "lo", "po", "sso", "hvp")', 'KINDS = ("sfo", "lo", "po", *(k for k in COUNTED if k not in ("sfo", "lo", "po", "fo", "fv")))')
sub("pfbench/receipts/receipt_runs.py", '("iteration", "fo", "sfo", "sso", "hvp", "lo", "po", "fv", "seconds")', '("iteration", *COUNTED, "seconds")')
sub("pfbench/verification/references/run_costs.py", '("sfo", "sso", "hvp", "lo", "po", "fv")', 'tuple(kind for kind in COUNTED if kind != "fo")')
for file in ("pfbench/reporting/findings/ranking.py", "pfbench/receipts/receipt_runs.py", "pfbench/verification/references/run_costs.py"):
    path = Path(file)
    text = path.read_text(encoding="utf-8")
    found = re.search(r"^from pfbench\.base\.counts import (.*)$", text, re.M)
    if found and "COUNTED" not in found[1]:
        text = text.replace(found[0], f"from pfbench.base.counts import COUNTED, {found[1]}", 1)
    elif not found:
        first = re.search(r"^from pfbench", text, re.M)
        assert first
        text = text[: first.start()] + "from pfbench.base.counts import COUNTED\n" + text[first.start() :]
    path.write_text(text, encoding="utf-8")
path = Path("pfbench/reporting/wording.py")
text = path.read_text(encoding="utf-8")
start = text.index("    {\n        \"sfo\": \"SFO")
end = text.index("        \"seconds\": \"seconds\",\n    }", start)
text = text[:start] + '''    {
        **{kind: OracleKind(kind).title for kind in ("sfo", "lo", "sso", "hvp", "po", "fo")},
        **{kind.value: kind.title for kind in OracleKind},
''' + text[end:]
first = re.search(r"^from types import MappingProxyType\n", text, re.M)
assert first
text = text[: first.end()] + "\nfrom pfbench.base.counts import OracleKind\n" + text[first.end() :]
path.write_text(text, encoding="utf-8")
from pathlib import Path
p=Path('pfbench/base/counts.py'); s=p.read_text()
s=s.replace('    title: str\n','    label: str\n').replace('meaning: str, title: str','meaning: str, label: str').replace('kind.meaning, kind.title = meaning, title','kind.meaning, kind.label = meaning, label').replace('its title in figures','its label in figures')
p.write_text(s)
p=Path('pfbench/reporting/wording.py'); s=p.read_text()
i=s.index('        **{kind: OracleKind(kind).title'); j=s.index('        "seconds": "seconds"')
s=s[:i]+'''        **{kind.value: kind.label for kind in (OracleKind.SFO, OracleKind.LO)},
        **{kind.value: kind.label for kind in (OracleKind.SSO, OracleKind.HVP, OracleKind.PO)},
        **{kind.value: kind.label for kind in OracleKind},
'''+s[j:]
p.write_text(s)
