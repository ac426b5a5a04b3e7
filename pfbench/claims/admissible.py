"""Generated faults that keep the theorem of their method, each with one line of proof.

A fault is never admissible if it changes a number that a theorem prints, such as a count or a
parameter of its schedule. If condg stops at a smaller gap than eta, no such number changes, as the
source requires only a gap of at most eta. The faults are in ``admissible.toml``.
"""

import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from pfbench.verification.faults.fault import AdmissibleFault


def _read_admissible_faults() -> Iterator[AdmissibleFault]:
    table = Path(__file__).with_name("admissible.toml").read_text(encoding="utf-8")
    for proof in tomllib.loads(table)["proof"]:
        for group in proof["faults"]:
            for function, (operator, text) in product(group["functions"], group["changes"]):
                yield AdmissibleFault(
                    methods=frozenset(group.get("methods", ())),
                    operator=operator,
                    function=function,
                    replacement=text,
                    reason=proof["reason"],
                )


ADMISSIBLE = tuple(_read_admissible_faults())
"""All admissible faults."""
