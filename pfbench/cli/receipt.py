"""Receipts: ``pfbench verify FILE.py --receipt OUT.zip``, and ``pfbench receipt --check``."""

import hashlib
import random
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench import __version__
from pfbench.base.errors import InputError, StorageError
from pfbench.base.failures import ended
from pfbench.base.files import check_writable
from pfbench.base.selectors import is_own
from pfbench.cli import options, printing
from pfbench.cli.mutants import MOST_OF_RECEIPTS, generated, studied_faults
from pfbench.cli.options import option
from pfbench.cli.power import searched
from pfbench.cli.tables import Fact, show_facts
from pfbench.cli.units import say_first
from pfbench.cli.words import size, whole

if TYPE_CHECKING:
    from pfbench.cli.work import Work
    from pfbench.receipts.again import Checked
    from pfbench.receipts.compared import Suite
    from pfbench.receipts.content import Found
    from pfbench.receipts.runs import Row
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.storage.archive import Archive
    from pfbench.verification.claim import Claim
    from pfbench.verification.outcomes import Finding

_WORST_LIMIT, _RUNS_LIMIT = 120.0, 600.0
"""Seconds after which the worst cases of a claim, and the runs of a cell, are given up."""


def check_receipt(names: Sequence[str], path: Path) -> None:
    """Refuse what no receipt is made of, before any work."""
    if len(names) != 1 or not is_own(names[0]):
        raise InputError(
            "--receipt takes one FILE.py, FILE.py:NAME or MODULE:NAME; of a paper here it takes "
            "pfbench.claims.KEY:PAPER."
        )
    check_writable(path, f"--receipt {path}", error=StorageError)


def make_receipt(
    work: "Work", path: Path, faults: int | None, longest: float | None = None
) -> None:
    """Put a theorem to every test, and write what was found into an archive.

    Generated faults of a method are at most so many; checks that take longer than so many seconds
    are not asked for the least error that they see.
    """
    from pfbench.claims.catalogue import selected
    from pfbench.receipts.content import about, write
    from pfbench.receipts.page import shown, summary

    claims = selected(work.names, work.effort)
    say_first(claims, work)
    most = MOST_OF_RECEIPTS if faults is None else faults
    found, told, wrong = _found(work, claims, most, longest)
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
    for text in told:
        printing.complain(text)
    printing.exit_if(wrong)


def _found(
    work: "Work", claims: "Sequence[Claim]", most: int, longest: float | None
) -> "tuple[Found, list[str], bool]":
    """Return what is found of a theorem, what does not hold in words, and whether that is wrong."""
    from pfbench.claims.catalogue import mutants_of, own_papers
    from pfbench.receipts.content import Found

    errata = [one for paper in own_papers(work.names) for one in paper.errata]
    with work.steps("verification", len(claims) + len(errata)) as steps:
        done = work.session(steps).verify(claims)
        examined = work.session(steps).examine(errata)
    planted = mutants_of(work.names)
    with work.steps("planted faults", sum(len(one.expected) for one in planted)) as steps:
        caught = work.session(steps).catch(planted)
    faults, _, drawn = generated(work, most)
    studied = studied_faults(work, faults, claims)
    power = searched(work, claims, longest)["quick"]
    worst, rows, without = _made(work, claims)
    found = Found(
        verdicts=[one.as_json() for one in done.rows],
        errata=[one.as_json() for one in examined],
        faults={
            "planted": [one.as_json() for one in caught],
            "generated": [one.as_json() for one in studied],
            "drawn": drawn,
            "most": most,
        },
        power=_least(power),
        worst=worst,
        rows=rows,
        without=without,
    )
    doubtful = [one for one in done.rows if one.lost or not one.verdict.is_kept]
    told = [f"{one.claim.name} is {one.verdict}: {one.reason}" for one in doubtful]
    errors = [*unseen(examined)]
    return found, [*told, *errors], bool(errors) or any(one.wrong for one in doubtful)


def _made(
    work: "Work", claims: "Sequence[Claim]"
) -> "tuple[list[dict[str, Any]], list[Row], dict[str, str]]":
    """Return worst cases of few steps, the runs of all cells, and why a cell has none."""
    from pfbench.receipts.content import worst_cases
    from pfbench.receipts.runs import cells, tried
    from pfbench.runs.engines.workers import Task

    bounds = [one for one in claims if one.kind == "bound"]
    every = [(cell, cell.seeds(work.seeds[0])) for one in claims for cell in cells(one)]
    tasks = [Task(worst_cases, (one,), _WORST_LIMIT) for one in bounds]
    tasks += [Task(tried, (*pair, at), _RUNS_LIMIT) for at, pair in enumerate(every)]
    if not work.quiet:
        printing.note(f"worst cases and runs: {len(tasks)} tasks")
    ended: list[Any] = [None] * len(tasks)
    for one in work.engine.do(tasks):
        ended[one.index] = one.value if one.status == "done" else f"{one.status}: {one.reason}"
    worst = [
        row
        for claim, of in zip(bounds, ended, strict=False)
        for row in ([{"claim": claim.name, "why": of}] if isinstance(of, str) else of)
    ]
    made = list(zip(every, ended[len(bounds) :], strict=True))
    rows = [row for _, of in made if not isinstance(of, str) for row in of]
    return worst, rows, {cell.name: of for (cell, _), of in made if isinstance(of, str)}


def unseen(examined: "Sequence[Finding]") -> "Iterator[str]":
    """Yield a sentence for each erratum whose evidence does not show it."""
    for one in examined:
        if one.lost:
            yield f"erratum {one.erratum.name} could not be examined: {one.lost}."
        elif not one.shown:
            yield f"the evidence for erratum {one.erratum.name} no longer shows it."


def _least(searches: "Sequence[Any]") -> list[dict[str, Any]]:
    """Return of each parameter the least error that is found, and by which claim."""
    found: dict[tuple[str, str], Any] = {}
    for one in (search for search in searches if search.asked):
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


# --- the other way --------------------------------------------------------------------------------


def receipt(
    check: Path = option("FILE.zip", "The receipt to put to the test.", default=...),
    salt: str | None = option("TEXT", "Draws what is made again (drawn if not given)."),
    seconds: float = option("S", "The time that it may take.", default=100.0),
    files: Path | None = option(
        "DIR", "Where files lie that are not in the receipt (the current folder)."
    ),
    jobs: int | None = options.JOBS,
    as_json: bool = options.AS_JSON,
) -> None:
    """Check a receipt: a share of it is made again.

    Its runs, verdicts and faults are, and runs with new seeds. What comes first is drawn by the
    hash of the receipt and the salt, which its author cannot know.
    Where versions and machine are the same, runs must have the same bits; elsewhere the same
    counts, and the same measures to 1e-6. Runs with new seeds must have the law of the old ones, by
    rank tests at a level of 1e-4 all together. The modules in the receipt are imported for that in
    processes of their own, and named before. Exit status 1 if something is not as it says, could
    not be made again, or was changed.
    """
    from pfbench.base.checks import real
    from pfbench.receipts.comparison import COMPARISON
    from pfbench.receipts.content import RECEIPT
    from pfbench.runs.storage.archive import opened

    real("--seconds", seconds, above=0.0)
    engine = options.strangers_engine(jobs)
    salt = salt or secrets.token_hex(8)
    with opened(check, RECEIPT, COMPARISON) as archive:
        changed = archive.damaged(archive.names)
        for name in changed:
            printing.complain(f"{name} in {check} does not match its hash: it was changed.")
        printing.exit_if(changed)
        found, same = _checked(archive, check, salt, seconds, engine, files or Path())
        theorem = archive.form is RECEIPT
    for text in found.off:
        printing.complain(ended(text))
    for text in found.unreached:
        printing.complain(f"not checked: {ended(text)}")
    digest = hashlib.sha256(check.read_bytes()).hexdigest()
    text = _paragraph(check, digest, archive.about, salt, found, same=same, theorem=theorem)
    facts = [
        Fact("receipt", str(check), "receipt"),
        Fact("sha256", digest),
        Fact("salt", salt),
        Fact("same", same, "versions and machine", "the same" if same else "others"),
        Fact("runs", found.runs, "runs made again", _of(found.runs)),
        Fact("new", found.new, "runs with new seeds", whole(found.new)),
        Fact(
            "least_p", found.least, "least p-value", f"{found.least:.2g} of {len(found.laws)} tests"
        ),
        Fact("verdicts", found.verdicts, "verdicts made again", _of(found.verdicts)),
        Fact("faults", found.faults, "faults found again", _of(found.faults)),
        Fact("off", found.off, "not as it says", whole(len(found.off))),
        Fact("unreached", found.unreached, "not checked", whole(len(found.unreached))),
        Fact("text", text, "for a review"),
    ]
    show_facts(facts, as_json=as_json)
    printing.exit_if(found.off or found.unreached)


def _checked(
    archive: "Archive", path: Path, salt: str, seconds: float, engine: "Engine", beside: Path
) -> "tuple[Checked, bool]":
    """Return what became of a receipt, and whether versions and machine are its author's."""
    from pfbench.kernels.libraries import kernels_of
    from pfbench.receipts import checking, compared
    from pfbench.receipts.again import How
    from pfbench.receipts.content import RECEIPT
    from pfbench.runs.lock import other
    from pfbench.runs.pack import at_hand, unpacked

    about = archive.about
    there, here = about["environment"], engine.environment()
    differ = {**other(about.get("lock", {})), **_elsewhere(there, here)}
    for name, what in differ.items():
        printing.complain(f"{name}: {what}.")
    rng = random.Random(f"{hashlib.sha256(path.read_bytes()).hexdigest()} {salt}")
    how = How(engine, rng, not differ, seconds)
    taken = kernels_of(there.get("blas", ""), here.get("blas", ""))
    with unpacked(archive) as content, taken as kernels:
        if kernels:
            printing.complain(f"OpenBLAS's kernels {kernels} are taken, as its author had them.")
        for name, why in content.take(beside).items():
            raise InputError(f"{name}, which is not in {path}, {ended(why)}")
        for module in content.modules:
            printing.complain(f"importing {module}, which is in {path}, in processes of its own.")
        with at_hand(content):
            if archive.form is RECEIPT:
                rows, pages = _read(archive)
                found = checking.check(about, rows, how)
            else:
                found, pages = compared.check(
                    content.folder, about, how, shipped_suite(about["suite"])
                )
        for name, state in content.other_data().items():
            found.unreached.append(f"the data set {name} is {state}")
    for name, text in pages.items():
        if name in archive.names and archive.read(name) == text.encode():
            continue
        if "pfbench" in differ:
            printing.complain(f"{name} is of another pfbench, and was not drawn anew.")
            found.undrawn.append(name)
        else:
            found.off.append(f"{name} is not what its numbers give")
    return found, not differ


def _read(archive: "Archive") -> "tuple[list[Row], Mapping[str, str]]":
    """Return the runs of a theorem's receipt, and its pages, drawn anew."""
    from pfbench.receipts.content import RUNS
    from pfbench.receipts.page import shown
    from pfbench.receipts.runs import read
    from pfbench.runs.storage.damaged import Damaged

    about = archive.about
    try:
        rows = read(archive.read(RUNS), len(about["cells"]))
        return rows, shown(about, rows)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, Damaged) as error:
        raise InputError(
            f"it is no whole receipt ({type(error).__name__}: {error}): get it again from its "
            "author."
        ) from error


def shipped_suite(name: str) -> "Suite | None":
    """Return pfbench's suite of this name, if its runs are shipped."""
    from pfbench.cli.catalogue import suites
    from pfbench.cli.compare import shipped_with
    from pfbench.receipts.compared import Suite

    here = suites().get(name)
    shipped = shipped_with(here) if here else None
    return Suite(here.read_text("utf-8"), shipped) if here and shipped else None


def _elsewhere(there: Mapping[str, str], here: Mapping[str, str]) -> dict[str, str]:
    return {
        name: f"{there.get(name, 'nothing')} there, {here.get(name, 'nothing')} here"
        for name in dict.fromkeys([*there, *here])
        if there.get(name) != here.get(name)
    }


def _of(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} of {numbers[1]}"


def _paragraph(
    path: Path,
    digest: str,
    about: Mapping[str, Any],
    salt: str,
    found: "Checked",
    *,
    same: bool,
    theorem: bool,
) -> str:
    """Return what a reviewer can say of it."""
    of = about["theorem"] if theorem else f"{about['method']} on the suite {about['suite']}"
    bits = (
        "counts and bits" if same else "counts (versions or machine differ), and measures to 1e-6"
    )
    also = (
        f"; so were {_of(found.verdicts)} verdicts, and {_of(found.faults)} faults that its checks "
        "find"
    )
    right = (
        "Statements, constants and units were computed anew and are those of the receipt."
        if theorem
        else f"The table was drawn anew from the runs; {found.shipped} of other methods are those "
        "that are shipped with pfbench."
    )
    if found.undrawn:
        right += f" Its pages ({', '.join(found.undrawn)}) are not drawn anew: read the numbers."
    wrong = f"NOT AS IT SAYS, or not checked: {'; '.join([*found.off, *found.unreached])}."
    return (
        f"The receipt {path.name} (sha256 {digest[:16]}) of {of} was checked with "
        f"pfbench {__version__}. In an order drawn by its hash and the salt {salt}, "
        f"{_of(found.runs)} runs were made again and compared in their {bits}{also * theorem}. "
        f"{found.new} runs with new seeds were compared with the old ones by {len(found.laws)} "
        f"rank tests (least p = {found.least:.2g}, level 1e-4 together). "
        f"{wrong if found.off or found.unreached else right}"
    )
