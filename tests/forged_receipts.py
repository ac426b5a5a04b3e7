"""A small theorem, receipts of it, and forged ones with right hashes."""

from typer.testing import CliRunner

from pfbench.cli.main import app
from pfbench.receipts.receipt_page import render_pages
from pfbench.receipts.receipt_runs import decode_runs, encode_runs
from pfbench.receipts.theorem_receipt import RECEIPT, RUNS
from pfbench.runs.storage.archive import open_archive, write_archive

THEOREM = """
from dataclasses import dataclass

import pfbench as pf
from pfbench.claims import Claim, Mutant, bound, counts


@dataclass(frozen=True, kw_only=True)
class Lazy(pf.Algorithm):
    "Gradient descent that rests with probability 1/2."

    name = "lazy"
    requires = frozenset({"gradient", "smooth"})
    iterations: int
    step: float

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            if rng.random() < 0.5:
                x = x - self.step * ask.gradient(x)
            yield pf.State(x)


class Eager(Lazy):
    "Never rests."

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = x - self.step * ask.gradient(x)
            yield pf.State(x)


def steps(c):
    return {"iterations": 4, "step": 1 / c.L_f}


SUMS = "quadratic[rows=20,columns=3,source=synthetic,set=none]"
FALLS = Claim(
    name="lazy-falls",
    statement="f(x_t) - min f <= Delta",
    algorithm=Lazy,
    instances=(SUMS,),
    check=bound(
        lambda c, a, t: c.delta, "suboptimality", statistic="every", parameters=steps, runs=(30, 30)
    ),
)
COUNT = Claim(
    name="lazy-count",
    statement="n T/2 SFO in expectation",
    algorithm=Lazy,
    instances=(SUMS,),
    check=counts(lambda c, a: {"sfo": c.n * a.iterations / 2}, parameters=steps, expected=True),
)
FAULTS = [Mutant.from_variant("lazy-eager", Eager, COUNT)]
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], prog_name="pfbench")


def content(path):
    with open_archive(path, RECEIPT) as archive:
        inside = {name: archive.read(name) for name in archive.names}
        about = dict(archive.manifest)
    return about, decode_runs(inside[RUNS], len(about["cells"])), inside


def forged(path, to, about=lambda about: None, rows=lambda rows: rows):
    """Write a receipt anew, with right hashes and pages, after a change of what it says."""
    said, old, inside = content(path)
    about(said)
    new = rows([dict(row) for row in old])
    fields = {name: of for name, of in said.items() if name not in ("schema", "files")}
    pages = {name: text.encode() for name, text in render_pages(said, new).items()}
    write_archive(to, {**inside, **pages, RUNS: encode_runs(new)}, fields, RECEIPT)
    return to


def lowered(rows):
    rows[7]["sfo"] -= 20
    return rows
