"""Receipts: ``pfbench verify FILE.py --receipt OUT.zip``, and ``pfbench receipt --check``."""

import hashlib
import random
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench import __version__
from pfbench.base.errors import InputError, StorageError
from pfbench.base.failures import end_sentence
from pfbench.base.files import check_writable
from pfbench.base.selectors import is_user_defined
from pfbench.cli import options, terminal
from pfbench.cli.formatting import format_count, format_size
from pfbench.cli.mutants import MOST_OF_RECEIPTS, generate_faults, study_faults
from pfbench.cli.options import option
from pfbench.cli.power_command import run_searches
from pfbench.cli.terminal_tables import ReportedFact, show_facts
from pfbench.cli.units_command import report_unit_dependence

if TYPE_CHECKING:
    from pfbench.cli.verification_job import VerificationJob
    from pfbench.receipts.comparison_check import CheckedSuite
    from pfbench.receipts.receipt_runs import Row
    from pfbench.receipts.recheck import CheckOutcome
    from pfbench.receipts.theorem_receipt import TheoremEvidence
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.storage.archive import Archive
    from pfbench.verification.claim import Claim
    from pfbench.verification.outcomes import ErratumFinding

_WORST_LIMIT, _RUNS_LIMIT = 120.0, 600.0
"""Seconds after which the worst cases of a claim, and the runs of a cell, are given up."""


def check_receipt_request(names: Sequence[str], path: Path) -> None:
    """Refuse what no receipt is made of, before any work."""
    if len(names) != 1 or not is_user_defined(names[0]):
        raise InputError(
            "--receipt takes one FILE.py, FILE.py:NAME or MODULE:NAME; of a paper here it takes "
            "pfbench.claims.KEY:PAPER."
        )
    check_writable(path, f"--receipt {path}", error=StorageError)


def make_receipt(
    work: "VerificationJob", path: Path, faults: int | None, longest: float | None = None
) -> None:
    """Put a theorem to every test, and write what was found into an archive.

    Generated faults of a method are at most so many; checks that take longer than so many seconds
    are not asked for the least error that they see.
    """
    from pfbench.claims.catalogue import select_claims
    from pfbench.receipts.receipt_page import render_pages, summary
    from pfbench.receipts.theorem_receipt import receipt_fields, write

    claims = select_claims(work.names, work.effort)
    report_unit_dependence(claims, work)
    most_of_receipts = MOST_OF_RECEIPTS if faults is None else faults
    evidence, reported, wrong = _collect_evidence(work, claims, most_of_receipts, longest)
    statement = receipt_fields(
        work.names[0],
        claims,
        evidence,
        environment=work.engine.environment(),
        version=__version__,
        seed=work.seeds[0],
        effort=work.effort,
    )
    short = summary(statement, evidence.rows)
    written = write(
        path, work.names[0], statement, evidence.rows, render_pages(statement, evidence.rows)
    )
    work.write_json({"receipt": str(path), **written})
    if not work.is_quiet:
        facts = [
            ReportedFact("receipt", str(path), "receipt"),
            ReportedFact("says", " · ".join(short.words), "says"),
            ReportedFact("runs", len(evidence.rows), "runs", format_count(len(evidence.rows))),
            ReportedFact("bytes", path.stat().st_size, "size", format_size(path.stat().st_size)),
        ]
        show_facts(facts, as_json=False)
    for text in reported:
        terminal.print_error(text)
    terminal.exit_if(wrong)


def _collect_evidence(
    work: "VerificationJob", claims: "Sequence[Claim]", limit: int, longest: float | None
) -> "tuple[TheoremEvidence, list[str], bool]":
    """Return what is found of a theorem, what does not hold in words, and whether that is wrong."""
    from pfbench.claims.catalogue import load_user_papers, select_mutants
    from pfbench.receipts.theorem_receipt import TheoremEvidence

    errata = [erratum for paper in load_user_papers(work.names) for erratum in paper.errata]
    with work.step_progress("verification", len(claims) + len(errata)) as steps:
        done = work.make_session(steps).verify(claims)
        examined = work.make_session(steps).examine(errata)
    planted = select_mutants(work.names)
    with work.step_progress(
        "planted faults", sum(len(mutant.expected_claims) for mutant in planted)
    ) as steps:
        caught = work.make_session(steps).catch_mutants(planted)
    faults, _, sample = generate_faults(work, limit)
    studied = study_faults(work, faults, claims)
    power = run_searches(work, claims, longest)["quick"]
    worst, rows, without = _collect_runs(work, claims)
    evidence = TheoremEvidence(
        verdicts=[verdict.as_json() for verdict in done.rows],
        errata=[finding.as_json() for finding in examined],
        faults={
            "planted": [outcome.as_json() for outcome in caught],
            "generated": [study.as_json() for study in studied],
            "drawn": sample,
            "most": limit,
        },
        power=_smallest_detected_errors(power),
        worst=worst,
        rows=rows,
        without=without,
    )
    doubtful = [verdict for verdict in done.rows if verdict.lost or not verdict.verdict.keeps_bound]
    texts = [f"{verdict.claim.name} is {verdict.verdict}: {verdict.reason}" for verdict in doubtful]
    errors = [*sentences_on_unreproduced_errata(examined)]
    return (
        evidence,
        [*texts, *errors],
        bool(errors) or any(verdict.is_wrong for verdict in doubtful),
    )


def _collect_runs(
    work: "VerificationJob", claims: "Sequence[Claim]"
) -> "tuple[list[dict[str, Any]], list[Row], dict[str, str]]":
    """Return worst cases of few steps, the runs of all cells, and why a cell has none."""
    from pfbench.receipts.receipt_runs import cells, run_cell
    from pfbench.receipts.theorem_receipt import worst_cases
    from pfbench.runs.engines.workers import Task

    bounds = [claim for claim in claims if claim.kind == "bound"]
    full_list = [(cell, cell.seeds(work.seeds[0])) for claim in claims for cell in cells(claim)]
    tasks = [Task(worst_cases, (claim,), _WORST_LIMIT) for claim in bounds]
    tasks += [Task(run_cell, (*pair, index), _RUNS_LIMIT) for index, pair in enumerate(full_list)]
    if not work.is_quiet:
        terminal.print_note(f"worst cases and runs: {len(tasks)} tasks")
    ended: list[Any] = [None] * len(tasks)
    for result in work.engine.do(tasks):
        ended[result.index] = (
            result.value if result.status == "done" else f"{result.status}: {result.reason}"
        )
    worst = [
        row
        for claim, source in zip(bounds, ended, strict=False)
        for row in ([{"claim": claim.name, "why": source}] if isinstance(source, str) else source)
    ]
    created = list(zip(full_list, ended[len(bounds) :], strict=True))
    rows = [row for _, source in created if not isinstance(source, str) for row in source]
    return (
        worst,
        rows,
        {cell.name: source for (cell, _), source in created if isinstance(source, str)},
    )


def sentences_on_unreproduced_errata(examined: "Sequence[ErratumFinding]") -> "Iterator[str]":
    """Yield a sentence for each erratum whose evidence does not show it."""
    for finding in examined:
        if finding.failure_reason:
            yield f"erratum {finding.erratum.name} could not be examined: {finding.failure_reason}."
        elif not finding.is_shown:
            yield f"the evidence for erratum {finding.erratum.name} no longer shows it."


def _smallest_detected_errors(searches: "Sequence[Any]") -> list[dict[str, Any]]:
    """Return of each parameter the least error that is found, and by which claim."""
    results: dict[tuple[str, str], Any] = {}
    for item in (search for search in searches if search.was_run):
        key = (item.claim.method, item.parameter)
        best = results.setdefault(key, item)
        if (item.min_factor or float("inf")) < (best.min_factor or float("inf")):
            results[key] = item
    return [
        {
            "method": method,
            "parameter": parameter,
            "least": result.min_factor,
            "claim": result.claim.name if result.min_factor else "",
        }
        for (method, parameter), result in results.items()
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
    from pfbench.base.checks import check_real
    from pfbench.receipts.comparison_receipt import COMPARISON
    from pfbench.receipts.theorem_receipt import RECEIPT
    from pfbench.runs.storage.archive import open_archive

    check_real("--seconds", seconds, above=0.0)
    engine = options.make_untrusted_engine(jobs)
    salt = salt or secrets.token_hex(8)
    with open_archive(check, RECEIPT, COMPARISON) as archive:
        changed = archive.find_damaged(archive.names)
        for name in changed:
            terminal.print_error(f"{name} in {check} does not match its hash: it was changed.")
        terminal.exit_if(changed)
        outcome, same = _check_archive(archive, check, salt, seconds, engine, files or Path())
        theorem = archive.form is RECEIPT
    for text in outcome.deviations:
        terminal.print_error(end_sentence(text))
    for text in outcome.unreached_tasks:
        terminal.print_error(f"not checked: {end_sentence(text)}")
    digest = hashlib.sha256(check.read_bytes()).hexdigest()
    text = _reviewer_paragraph(
        check, digest, archive.manifest, salt, outcome, same=same, theorem=theorem
    )
    facts = [
        ReportedFact("receipt", str(check), "receipt"),
        ReportedFact("sha256", digest),
        ReportedFact("salt", salt),
        ReportedFact("same", same, "versions and machine", "the same" if same else "others"),
        ReportedFact("runs", outcome.runs, "runs made again", _format_numbers(outcome.runs)),
        ReportedFact(
            "new", outcome.fresh_runs, "runs with new seeds", format_count(outcome.fresh_runs)
        ),
        ReportedFact(
            "least_p",
            outcome.min_p_value,
            "least p-value",
            f"{outcome.min_p_value:.2g} of {len(outcome.p_values)} tests"
            if outcome.p_values
            else "no rank test",
        ),
        ReportedFact(
            "verdicts", outcome.verdicts, "verdicts made again", _format_numbers(outcome.verdicts)
        ),
        ReportedFact(
            "faults", outcome.faults, "faults found again", _format_numbers(outcome.faults)
        ),
        ReportedFact(
            "off", outcome.deviations, "not as it says", format_count(len(outcome.deviations))
        ),
        ReportedFact(
            "unreached",
            outcome.unreached_tasks,
            "not checked",
            format_count(len(outcome.unreached_tasks)),
        ),
        ReportedFact("text", text, "for a review"),
    ]
    show_facts(facts, as_json=as_json)
    terminal.exit_if(outcome.deviations or outcome.unreached_tasks)


def _check_archive(
    archive: "Archive", path: Path, salt: str, seconds: float, engine: "Engine", neighbour: Path
) -> "tuple[CheckOutcome, bool]":
    """Return what became of a receipt, and whether versions and machine are its author's."""
    from pfbench.kernels.libraries import use_recorded_blas_kernels
    from pfbench.receipts import comparison_check, theorem_check
    from pfbench.receipts.recheck import CheckPlan
    from pfbench.receipts.theorem_receipt import RECEIPT
    from pfbench.runs.pack import make_archive_importable, unpack_archive
    from pfbench.runs.version_lock import list_changed_versions

    manifest = archive.manifest
    environment, current = manifest["environment"], engine.environment()
    differ = {
        **list_changed_versions(manifest.get("lock", {})),
        **_environment_differences(environment, current),
    }
    for name, subject in differ.items():
        terminal.print_error(f"{name}: {subject}.")
    rng = random.Random(f"{hashlib.sha256(path.read_bytes()).hexdigest()} {salt}")
    how = CheckPlan(engine, rng, not differ, seconds)
    selected = use_recorded_blas_kernels(environment.get("blas", ""), current.get("blas", ""))
    with unpack_archive(archive) as content, selected as kernels:
        if kernels:
            terminal.print_error(f"OpenBLAS's kernels {kernels} are taken, as its author had them.")
        for name, why in content.take(neighbour).items():
            raise InputError(f"{name}, which is not in {path}, {end_sentence(why)}")
        for module in content.modules:
            terminal.print_error(
                f"importing {module}, which is in {path}, in processes of its own."
            )
        with make_archive_importable(content):
            if archive.form is RECEIPT:
                rows, pages = _read_theorem_receipt(archive)
                outcome = theorem_check.check(manifest, rows, how)
            else:
                outcome, pages = comparison_check.check(
                    content.folder, manifest, how, load_shipped_suite(manifest["suite"])
                )
        for name, state in content.list_changed_data().items():
            outcome.unreached_tasks.append(f"the data set {name} is {state}")
    for name, text in pages.items():
        if name in archive.names and archive.read(name) == text.encode():
            continue
        if "pfbench" in differ:
            terminal.print_error(f"{name} is of another pfbench, and was not drawn anew.")
            outcome.unsampled.append(name)
        else:
            outcome.deviations.append(f"{name} is not what its numbers give")
    return outcome, not differ


def _read_theorem_receipt(archive: "Archive") -> "tuple[list[Row], Mapping[str, str]]":
    """Return the runs of a theorem's receipt, and its pages, drawn anew."""
    from pfbench.receipts.receipt_page import render_pages
    from pfbench.receipts.receipt_runs import decode_runs
    from pfbench.receipts.theorem_receipt import RUNS
    from pfbench.runs.storage.damage import DamagedFileError

    manifest = archive.manifest
    try:
        rows = decode_runs(archive.read(RUNS), len(manifest["cells"]))
        return rows, render_pages(manifest, rows)
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        DamagedFileError,
    ) as error:
        raise InputError(
            f"it is no whole receipt ({type(error).__name__}: {error}): get it again from its "
            "author."
        ) from error


def load_shipped_suite(name: str) -> "CheckedSuite | None":
    """Return pfbench's suite of this name, if its runs are shipped."""
    from pfbench.cli.catalogue import suite_spec_paths
    from pfbench.cli.compare import load_suite_archive
    from pfbench.receipts.comparison_check import CheckedSuite

    path = suite_spec_paths().get(name)
    shipped = load_suite_archive(path) if path else None
    return CheckedSuite(path.read_text("utf-8"), shipped) if path and shipped else None


def _environment_differences(
    recorded: Mapping[str, str], current: Mapping[str, str]
) -> dict[str, str]:
    return {
        name: f"{recorded.get(name, 'nothing')} there, {current.get(name, 'nothing')} here"
        for name in dict.fromkeys([*recorded, *current])
        if recorded.get(name) != current.get(name)
    }


def _format_numbers(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} of {numbers[1]}"


def _reviewer_paragraph(
    path: Path,
    digest: str,
    fields: Mapping[str, Any],
    salt: str,
    outcome: "CheckOutcome",
    *,
    same: bool,
    theorem: bool,
) -> str:
    """Return what a reviewer can say of it."""
    subject = fields["theorem"] if theorem else f"{fields['method']} on the suite {fields['suite']}"
    bits = (
        "counts and bits" if same else "counts (versions or machine differ), and measures to 1e-6"
    )
    also = (
        f"; so were {_format_numbers(outcome.verdicts)} verdicts, and {_format_numbers(outcome.faults)} faults that its checks "  # noqa: E501
        "find"
    )
    right = (
        "Statements, constants and units were computed anew and are those of the receipt."
        if theorem
        else f"The table was drawn anew from the runs; {outcome.suite_runs} of other methods are those "  # noqa: E501
        "that are shipped with pfbench."
    )
    if outcome.unsampled:
        right += (
            f" Its pages ({', '.join(outcome.unsampled)}) are not drawn anew: read the numbers."
        )
    fresh = (
        f"{outcome.fresh_runs} runs with new seeds were compared with the old ones by "
        f"{len(outcome.p_values)} rank tests (least p = {outcome.min_p_value:.2g}, level 1e-4 "
        "together)."
        if outcome.p_values
        else "No rank test compared runs with new seeds with the old ones."
    )
    wrong = f"NOT AS IT SAYS, or not checked: {'; '.join([*outcome.deviations, *outcome.unreached_tasks])}."  # noqa: E501
    return (
        f"The receipt {path.name} (sha256 {digest[:16]}) of {subject} was checked with "
        f"pfbench {__version__}. In an order drawn by its hash and the salt {salt}, "
        f"{_format_numbers(outcome.runs)} runs were made again and compared in their {bits}{also * theorem}. "  # noqa: E501
        f"{fresh} {wrong if outcome.deviations or outcome.unreached_tasks else right}"
    )
