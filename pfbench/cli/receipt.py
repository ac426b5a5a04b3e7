"""``pfbench verify FILE.py --receipt OUT.zip``: a theorem with all its evidence in one archive."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench import __version__
from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import check_writable
from pfbench.base.selectors import is_own
from pfbench.cli import printing
from pfbench.cli.mutants import MOST_OF_RECEIPTS, generated, studied_faults
from pfbench.cli.power import searched
from pfbench.cli.tables import Fact, show_facts
from pfbench.cli.units import say_first
from pfbench.cli.words import size, whole

if TYPE_CHECKING:
    from pfbench.cli.work import Work
    from pfbench.receipts.content import Found
    from pfbench.verification.claim import Claim

_WORST_LIMIT, _RUNS_LIMIT = 120.0, 600.0
"""Seconds after which the worst cases of a claim, and the runs of a cell, are given up."""


def check_receipt(names: Sequence[str], path: Path) -> None:
    """Refuse what no receipt is made of, before any work."""
    if len(names) != 1 or not is_own(names[0]):
        raise InputError("--receipt takes one FILE.py, FILE.py:NAME or MODULE:NAME.")
    check_writable(path, f"--receipt {path}", error=StorageError)


def make_receipt(work: "Work", path: Path, faults: int | None) -> None:
    """Put a theorem to every test, and write what was found into an archive."""
    from pfbench.claims.catalogue import selected
    from pfbench.receipts.content import about, write
    from pfbench.receipts.page import shown, summary

    claims = selected(work.names, work.effort)
    say_first(claims, work)
    found = _found(work, claims, faults)
    said = about(
        work.names[0],
        claims,
        found,
        environment=work.engine.environment(),
        version=__version__,
        seed=work.seeds[0],
        effort=work.effort,
    )
    short = summary(said, found.rows)
    written = write(path, work.names[0], said, found.rows, shown(said, found.rows))
    work.write({"schema": 1, "receipt": str(path), **written})
    if not work.quiet:
        facts = [
            Fact("receipt", str(path), "receipt"),
            Fact("says", " · ".join(short.words), "says"),
            Fact("runs", len(found.rows), "runs", whole(len(found.rows))),
            Fact("bytes", path.stat().st_size, "size", size(path.stat().st_size)),
        ]
        show_facts(facts, as_json=False)
    printing.exit_if(any(one["verdict"] == "violated" for one in found.verdicts))


def _found(work: "Work", claims: "Sequence[Claim]", most: int | None) -> "Found":
    from pfbench.claims.catalogue import mutants_of
    from pfbench.receipts.content import Found, worst_cases
    from pfbench.receipts.runs import cells, tried
    from pfbench.runs.engines.workers import Task

    with work.steps("verification", len(claims)) as steps:
        done = work.session(steps).verify(claims)
    planted = mutants_of(work.names)
    with work.steps("planted faults", sum(len(one.expected) for one in planted)) as steps:
        caught = work.session(steps).catch(planted)
    faults, _, drawn = generated(work, most or MOST_OF_RECEIPTS)
    studied = studied_faults(work, faults, claims)
    power = searched(work, claims, None)["quick"]
    every = [(cell, cell.seeds(work.seeds[0])) for one in claims for cell in cells(one)]
    tasks = [
        *(Task(worst_cases, (one,), _WORST_LIMIT) for one in claims if one.kind == "bound"),
        *(Task(tried, (*pair, at), _RUNS_LIMIT) for at, pair in enumerate(every)),
    ]
    worst, made = dict[int, Any](), dict[int, Any]()
    bounds = len(tasks) - len(every)
    if not work.quiet:
        printing.note(f"worst cases and runs: {len(tasks)} tasks")
    for result in work.engine.do(tasks):
        ended = result.value if result.status == "done" else f"{result.status}: {result.reason}"
        (worst if result.index < bounds else made)[result.index] = ended
    return Found(
        verdicts=[one.as_json() for one in done.rows],
        faults={
            "planted": [one.as_json() for one in caught],
            "generated": [one.as_json() for one in studied],
            "drawn": drawn,
        },
        power=_least(power),
        worst=[
            one
            for _, of in sorted(worst.items())
            for one in ([{"claim": "", "why": of}] if isinstance(of, str) else of)
        ],
        rows=[row for _, of in sorted(made.items()) if not isinstance(of, str) for row in of],
        without={
            every[at - bounds][0].name: of for at, of in sorted(made.items()) if isinstance(of, str)
        },
    )


def _least(searches: "Sequence[Any]") -> list[dict[str, Any]]:
    """Return of each parameter the least error that is found, and by which claim."""
    found: dict[tuple[str, str], Any] = {}
    for one in searches:
        key = (one.claim.method, one.parameter)
        best = found.setdefault(key, one)
        if (one.least or float("inf")) < (best.least or float("inf")):
            found[key] = one
    return [
        {
            "method": method,
            "parameter": parameter,
            "least": one.least,
            "claim": one.claim.name if one.least else "",
        }
        for (method, parameter), one in found.items()
    ]
