"""``pfbench archive``: write runs or claims to one archive file, and check archives."""

import secrets
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfbench import __version__
from pfbench.base.errors import InputError, StorageError, end_sentence
from pfbench.base.files import check_writable
from pfbench.base.selectors import is_user_defined
from pfbench.cli import options, terminal
from pfbench.cli.formatting import format_plural
from pfbench.cli.options import argument, flag, option
from pfbench.cli.terminal import Line, field_table, print_parts

if TYPE_CHECKING:
    from pfbench.archive.make import ArchiveWriter
    from pfbench.cli.verification_job import VerificationJob
    from pfbench.runs.planning.study import Spec
    from pfbench.runs.storage.archive import Archive

app = typer.Typer(no_args_is_help=True, help="Write, check and collect reproducibility archives.")

FAULTS = 20
"""Default number of generated faults for each method of a theorem."""

_SECONDS = option("S", "Time limit of a check in seconds.", default=100.0)


@app.command()
def make(
    subject: str = argument("WHAT", "A SPEC.toml, or FILE.py with claims.", default=...),
    output: Path = option("FILE", "The archive to write.", "--output", "-o", default=...),
    full: bool = flag("For claims: test with full effort.", "--full"),
    faults: int | None = option("N", "For claims: maximum number of faults per method (20)."),
    seed: int = option("N", "For claims: seed of all random streams.", default=0),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    as_json: bool = options.AS_JSON,
) -> None:
    """Write a sweep or claims to one archive.

    An archive has every run, the user-defined modules with the files that they read, the digests
    of problems and data, and the versions. An archive of claims also has verdicts, faults,
    and the counterexamples that a short search finds. Runs that the store lacks are
    executed first. Files that an archive cannot hold are refused. Exit status 1 if a
    run failed or a claim is violated; the archive states this.
    """
    from pfbench.runs.planning.spec import load_spec

    options.check_engine_options(jobs, scheduler)
    check_writable(output, f"--output {output}", error=StorageError)
    if subject.endswith(".toml"):
        if full or faults is not None or seed:
            raise InputError(
                "--full, --faults and --seed apply only to claims: leave out these options."
            )
        spec = load_spec(Path(subject))
        with closing(options.make_engine(jobs, scheduler)) as engine:
            _make_sweep(_writer(output, store, engine), spec, engine, as_json=as_json)
        return
    from pfbench.base.checks import check_integer
    from pfbench.cli.verification_job import open_job

    if not is_user_defined(subject):
        raise InputError(
            f"{subject} must be a SPEC.toml, FILE.py, FILE.py:NAME or MODULE:NAME: write "
            "pfbench.claims.KEY:PAPER for a paper of pfbench."
        )
    limit = FAULTS if faults is None else check_integer("--faults", faults, minimum=0)
    engine_options: dict[str, Any] = {"store": store, "jobs": jobs, "scheduler": scheduler}
    with open_job([subject], as_json, None, full=full, seed=seed, **engine_options) as work:
        _make_claims(_writer(output, store, work.engine), work, limit)


def _writer(output: Path, store: Path, engine: Any) -> "ArchiveWriter":
    from pfbench.archive.make import ArchiveWriter
    from pfbench.runs.storage.store import Store

    return ArchiveWriter(output, Store(store), engine.environment(), __version__)


def _make_sweep(writer: "ArchiveWriter", spec: "Spec", engine: Any, *, as_json: bool) -> None:
    from pfbench.cli.report_sources import RunExecution

    terminal.announce_imports(spec.user_selectors, spec.path)
    execution = RunExecution(writer.store, engine, quiet=as_json)
    spec = execution.tune(spec)
    outcomes = execution.run(spec.name, spec.runs())
    searched = RunExecution(writer.store, engine, quiet=True).run(spec.name, spec.search_runs())
    _show_made(writer.write_sweep(spec, [*outcomes, *searched]), as_json=as_json)
    terminal.exit_if_failed(outcomes, ", archived as failed")


def _make_claims(writer: "ArchiveWriter", work: "VerificationJob", limit: int) -> None:
    from pfbench.archive.claim_tasks import (
        describe_claims,
        plan_claim_runs,
        search_and_add_counterexamples,
    )
    from pfbench.claims.catalogue import select_claims, select_mutants
    from pfbench.cli.faults import generate_faults, study_method_faults
    from pfbench.cli.report_sources import RunExecution
    from pfbench.cli.verify import report_unit_consistency

    (theorem,) = work.names
    claims = select_claims(work.names, work.effort)
    report_unit_consistency(claims, work)
    planted = select_mutants(work.names)
    with work.progress_of_checks("verification", len(claims)) as steps:
        done = work.make_session(steps).verify(claims)
    rows, counterexamples = search_and_add_counterexamples(
        done.rows, work.engine, work.effort, work.seeds[0]
    )
    with work.progress_of_checks("planted faults", len(planted)) as steps:
        caught = work.make_session(steps).catch_mutants(planted)
    faults, _, fault_names = generate_faults(work, limit)
    studied = study_method_faults(work, faults, claims)
    plans = plan_claim_runs(claims, work.seeds[0])
    outcomes = RunExecution(writer.store, work.engine, work.is_quiet).run("runs", plans)
    results = {
        "seed": work.seeds[0],
        "effort": work.effort,
        "claims": describe_claims(theorem, 0)["claims"],
        "verdicts": [verdict.as_json() for verdict in rows],
        "counterexamples": counterexamples,
        "faults": {
            "planted": [outcome.as_json() for outcome in caught],
            "generated": [study.as_json() for study in studied],
            "drawn": fault_names or "none generated",
            "most": limit,
        },
    }
    _show_made(writer.write_claims(theorem, results, outcomes), as_json=work.is_quiet)
    doubtful = [verdict for verdict in rows if verdict.lost or not verdict.verdict.keeps_bound]
    for verdict in doubtful:
        terminal.print_error(f"{verdict.claim.name} is {verdict.verdict}: {verdict.reason}")
    terminal.exit_if(any(verdict.is_violated_or_lost for verdict in doubtful))


def _show_made(archive: "Archive", *, as_json: bool) -> None:
    from pfbench.archive.page import badge_phrases
    from pfbench.runs.storage.archive import data_files

    manifest = archive.manifest
    record = {
        "archive": str(archive.path),
        "kind": manifest["kind"],
        "title": manifest["title"],
        "says": " · ".join(badge_phrases(manifest)),
        "bytes": len(archive.data),
        "problems": manifest["problems"],
        "user_modules": manifest["user_modules"],
        "reads": data_files(manifest),
    }
    if not as_json:
        names = {"user_modules": "user-defined", "reads": "files read"}
        record = terminal.rename_keys(record | {"problems": len(manifest["problems"])}, **names)
    terminal.show_record(record, as_json=as_json)


# --- checking -------------------------------------------------------------------------------------


@app.command()
def check(
    path: Path = argument("FILE", "The archive.", default=...),
    theorem: str | None = option(
        "FILE.py", "Refuse an archive whose theorem is not this version of FILE.py."
    ),
    salt: str | None = option("TEXT", "Text that sets the order of the re-runs (default: random)."),
    seconds: float = _SECONDS,
    jobs: int | None = options.JOBS,
    as_json: bool = options.AS_JSON,
) -> None:
    """Check an archive by recomputing a part of it.

    The hash of the archive and the salt, which its author cannot know, determine what is recomputed
    first. With the same versions on the same machine, runs must agree bit for bit; otherwise in
    their counts, and in their measures to 1e-6. Runs with new seeds must have the distribution of
    the archived runs, by rank tests with a joint level of 1e-4. Verdicts and faults are
    recomputed, and claims are judged with other data. Code of the archive runs only in confined
    processes; what these may not do is printed first. Exit status 1 if a result differs from the
    archive, or a required one could not be recomputed.
    """
    from pfbench.runs.storage.archive import open_archive

    archive = open_archive(path)
    if theorem is not None:
        _check_theorem_is_archived(archive, theorem)
    record = check_archive(archive, salt, seconds, jobs, quiet=as_json)
    for text in (*record["off"], *(f"not checked: {t}" for t in record["unreached"])):
        terminal.print_error(end_sentence(text))
    if as_json:
        terminal.print_json(record)
    else:
        print_parts(field_table(_check_lines(record)))
    terminal.exit_if(record["off"] or record["unreached"])


def _check_theorem_is_archived(archive: "Archive", theorem: str) -> None:
    """Exit with an error unless the archive is about `theorem` and contains its present file."""
    from pfbench.archive.claim_tasks import as_module_reference
    from pfbench.verification.user_claims import split_reference

    module, manifest = as_module_reference(theorem), archive.manifest
    if manifest["kind"] != "claim" or manifest["theorem"] != module:
        terminal.exit_with_error(
            f"{archive.path} is not an archive of {theorem}: name another file."
        )
    home, _ = split_reference(theorem)
    name = f"code/{module.partition(':')[0]}.py"
    if home.endswith(".py") and (
        not Path(home).is_file()
        or name not in archive.names
        or archive.read(name) != Path(home).read_bytes()
    ):
        terminal.exit_with_error(f"{archive.path} has another version of {home}: make it again.")


def check_archive(
    archive: "Archive", salt: str | None, seconds: float, jobs: int | None, *, quiet: bool
) -> dict[str, Any]:
    """Check an archive by recomputing a part of it, and return the results as a JSON record."""
    from pfbench.archive.check import describe_denied_rights
    from pfbench.archive.checker import check_archive as checked
    from pfbench.base.checks import check_real

    check_real("--seconds", seconds, above=0.0)
    salt, engine = salt or secrets.token_hex(8), options.make_untrusted_engine(jobs)
    confinement = describe_denied_rights(engine)
    if not quiet:
        terminal.print_note(f"running the code of {archive.path} in processes with {confinement}")
    outcome = checked(archive, engine, salt=salt, seconds=seconds)
    for text in outcome.notes:
        terminal.print_error(end_sentence(text))
    return {
        "archive": str(archive.path),
        "kind": archive.manifest["kind"],
        "title": archive.manifest["title"],
        "sha256": archive.sha256,
        "salt": salt,
        "pfbench": __version__,
        "same": outcome.is_same_environment,
        "runs": outcome.runs,
        "verdicts": outcome.verdicts,
        "faults": outcome.faults,
        "new": outcome.fresh_runs,
        "least_p": outcome.min_p_value,
        "outside": outcome.unconfined_runs,
        "inside": dict(outcome.confined_result_counts),
        "counterexamples": outcome.confirmed,
        "off": outcome.deviations,
        "unreached": outcome.unreached_tasks,
        "confined": confinement,
    }


def _check_lines(record: Mapping[str, Any]) -> list[Line]:
    """Return the results of a check as lines for the terminal."""
    inside = [f"{name} ({number})" for name, number in sorted(record["inside"].items())]
    recomputed = {"runs": "runs recomputed", "verdicts": "verdicts recomputed"}
    recomputed |= {"faults": "faults caught again"}
    return [
        *((name, record[name]) for name in ("archive", "title", "sha256", "salt", "pfbench")),
        ("versions and machine", "the author's" if record["same"] else "others"),
        *((title, " of ".join(map(str, record[name]))) for name, title in recomputed.items()),
        ("runs with new seeds", f"{record['new']}, least p-value {record['least_p']:.2g}"),
        ("runs measured by pfbench alone", record["outside"]),
        ("computed by archived code", ", ".join(inside) or "nothing"),
        *(("counterexample", text) for text in record["counterexamples"]),
        ("deviations", str(len(record["off"]))),
        ("not checked", str(len(record["unreached"]))),
        ("confinement", record["confined"]),
    ]


# --- collecting -----------------------------------------------------------------------------------


@app.command()
def collect(
    folder: Path = argument("FOLDER", "Folder of the archives, *.zip.", default=...),
    output: Path | None = option("DIR", "Folder of the site (FOLDER/site).", "--output", "-o"),
    again: bool = flag("Check all archives again, with a new salt.", "--again"),
    seconds: float = _SECONDS,
    jobs: int | None = options.JOBS,
    as_json: bool = options.AS_JSON,
) -> None:
    """Check the archives of a folder, and write the site of those that pass.

    The result of a check is stored next to its archive, and is reused until the archive changes.
    Exit status 1 if an archive does not pass; the site leaves it out.
    """
    from pfbench.archive.site import (
        CheckedArchive,
        list_archives,
        read_record,
        write_record,
        write_site,
    )
    from pfbench.runs.storage.archive import open_archive

    paths = list_archives(folder)
    checked, results = [], list[dict[str, Any]]()
    for path in paths:
        try:
            archive = open_archive(path)
            earlier = None if again else read_record(path, archive.sha256)
            record = earlier or check_archive(archive, None, seconds, jobs, quiet=as_json)
            wrong = [*record["off"], *record["unreached"]]
        except InputError as error:
            wrong = [str(error)]
        for text in wrong:
            terminal.print_error(f"{path.name}: {end_sentence(text)}")
        results.append({"archive": path.name, "wrong": wrong})
        if not wrong:
            write_record(path, record)
            checked.append(CheckedArchive(archive, record))
    target = output or folder / "site"
    write_site(checked, target)
    page, failed = str(target / "index.html"), len(paths) - len(checked)
    if as_json:
        terminal.print_json({"site": page, "archives": results})
    else:
        print_parts(f"wrote {page}: {format_plural(len(checked), 'archive')}")
    if failed:
        terminal.exit_with_error(f"{format_plural(failed, 'archive')} left out: see above.")
