"""``pfbench pack``: a sweep as one archive, and an archive put to the test."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench import __version__
from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_text
from pfbench.base.failures import end_sentence
from pfbench.base.files import check_writable
from pfbench.cli import options
from pfbench.cli.formatting import format_count, format_plural, format_size
from pfbench.cli.options import argument, option
from pfbench.cli.progress import StepProgress
from pfbench.cli.spec_runs import resolve_search
from pfbench.cli.terminal import (
    announce_imports,
    exit_if,
    exit_if_failed,
    exit_on_interrupt,
    make_rerun_logger,
    print_error,
)
from pfbench.cli.terminal_tables import ReportedFact, show_facts

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.pack import UnpackedArchive
    from pfbench.runs.rerun import RerunReport

SHARE = "5%"


def pack(
    spec: Path | None = argument("SPEC.toml"),
    output: Path | None = option("FILE", "The archive to write.", "--output", "-o"),
    check: Path | None = option("FILE", "Put this archive to the test instead."),
    fraction: str = option(
        "SHARE", "Of --check: the part of the runs to make again, as in 5% or 0.05.", default=SHARE
    ),
    files: Path | None = option(
        "DIR", "Of --check: where files lie that are not in the archive (the current folder)."
    ),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    as_json: bool = options.AS_JSON,
) -> None:
    """Write a sweep and all its runs to one archive, or check one.

    An archive has the spec, the modules of your own that it names, the files that they read, the
    digests of its problems and data, the versions, and every run; what the store lacks is run
    first. What would not be found again elsewhere is refused.

    With --check, runs of an archive that are chosen at random are made again. Where versions and
    source are the same, they must have the same bits; elsewhere the same counts, and the same
    measures to 1e-6. The modules in the archive are imported for that, and named before. Exit
    status 1 if a run differs or could not be made again, or a file is damaged or missing.
    """
    if (spec is None) == (check is None):
        raise InputError("give a SPEC.toml with -o FILE, or --check FILE.")
    if check is not None:
        if output is not None or scheduler is not None:
            raise InputError("--check takes neither --output nor --scheduler: leave them out.")
        _check_archive(check, _parse_share(fraction), jobs, files or Path(), as_json=as_json)
    elif spec is not None:
        if output is None:
            raise InputError("name the archive to write with -o FILE.")
        options.check_engine_options(jobs, scheduler)
        check_writable(output, f"--output {output}")
        with closing(options.make_engine(jobs, scheduler)) as engine:
            _write_archive(spec, output, store, engine, as_json=as_json)


def _write_archive(
    path: Path, output: Path, folder: Path, engine: "Engine", *, as_json: bool
) -> None:
    from pfbench.runs import pack as packing
    from pfbench.runs.execute import execute
    from pfbench.runs.planning.spec import load_spec
    from pfbench.runs.storage.store import Store

    sweep = load_spec(path)
    announce_imports(sweep.user_selectors, path)
    store = Store(folder)
    sweep = resolve_search(sweep, store, engine, quiet=as_json)
    with (
        exit_on_interrupt("run", folder),
        StepProgress(sweep.name, len(sweep.runs()), "runs", quiet=as_json) as steps,
    ):
        outcomes = execute(sweep.runs(), store, engine=engine, progress=steps.count_run)
        # They are in the store by now.
        outcomes += execute(sweep.search_runs(), store, engine=engine)
    pack = packing.pack(sweep.name, sweep.text, outcomes, store, output, version=__version__)
    number, length = len(outcomes), output.stat().st_size
    facts = [
        ReportedFact("archive", str(output), "archive"),
        ReportedFact("runs", number, "runs", format_count(number)),
        ReportedFact("bytes", length, "size", format_size(length)),
        *_manifest_facts(pack),
    ]
    show_facts(facts, as_json=as_json)
    exit_if_failed(outcomes, ", and the archive has them as such")


def _manifest_facts(fields: Mapping[str, Any]) -> list[ReportedFact]:
    """Return what an archive says of itself."""
    versions = sorted(
        {environment.get("python", "unknown") for environment in fields["environments"]}
    )
    problems, data = fields["problems"], fields["data"]
    origins = fields.get("origins", {})
    named = [
        f"{name} (not in it: {origins[name]})" if name in origins else name
        for name in fields.get("reads", {})
    ]
    return [
        ReportedFact("pfbench", fields["pfbench"], "pfbench"),
        ReportedFact("environments", fields["environments"], "Python", ", ".join(versions)),
        ReportedFact("problems", problems, "problems", format_count(len(problems))),
        ReportedFact("data", data, "data sets", ", ".join(data) or "none"),
        ReportedFact("own", fields["own"], "own code", ", ".join(fields["own"]) or "none"),
        ReportedFact(
            "reads",
            fields.get("reads", {}),
            "files read",
            ", ".join(map(escape_text, named)) or "none",
        ),
    ]


def _check_archive(
    path: Path, share: float, jobs: int | None, neighbour: Path, *, as_json: bool
) -> None:
    from pfbench.kernels.libraries import use_recorded_blas_kernels
    from pfbench.runs import pack as packing
    from pfbench.runs.storage.archive import open_archive
    from pfbench.runs.version_lock import list_changed_versions

    engine = options.make_untrusted_engine(jobs)
    with open_archive(path) as archive, packing.unpack_archive(archive) as content:
        facts, lacking = _archive_facts(content, path)
        absent = content.take(neighbour)
        for name, why in absent.items():
            print_error(f"{name}, which is not in {path}, {end_sentence(why)}")
        for name in content.damaged_files:
            print_error(f"{name} in {path} does not match its hash: it was changed.")
        for module in content.modules:
            print_error(f"importing {module}, which is in {path}.")
        blas = {environment.get("blas", "") for environment in content.manifest["environments"]}
        with use_recorded_blas_kernels(
            ", ".join(blas), engine.environment().get("blas", "")
        ) as kernels:
            if kernels:
                print_error(f"OpenBLAS's kernels {kernels} are taken, as its author had them.")
            report = packing.rerun_share(content, share, engine, make_rerun_logger(quiet=as_json))
    show_facts(
        [*facts, *_rerun_facts(report, list_changed_versions(content.manifest.get("lock", {})))],
        as_json=as_json,
    )
    for reason, many in report.left_out.items():
        print_error(
            f"{format_plural(many, 'run')} of the share cannot be compared: {end_sentence(reason)}"
        )
    for key, subject in report.differing:
        print_error(
            f"run {key} is not what the archive says: made again, it differs in its {subject}."
        )
    if lacking:
        print_error(f"{format_plural(lacking, 'run')} that its spec plans are not in the archive.")
    exit_if(
        report.differing or lacking or report.irreproducible_runs or absent or content.damaged_files
    )


def _archive_facts(content: "UnpackedArchive", path: Path) -> tuple[list[ReportedFact], int]:
    """Return what is in an archive, and how many runs of its spec are not."""
    from pfbench.runs import pack as packing
    from pfbench.runs.planning.spec import load_spec

    number = len([*content.store.keys()])
    if not number:
        raise InputError(f"{path} has no run: there is nothing to check.")
    lacking = packing.count_missing_runs(content, load_spec(content.spec).runs())
    for name, state in content.list_changed_data().items():
        print_error(f"the data set {name} of the archive is {state}.")
    facts = [
        ReportedFact("archive", str(path), "archive"),
        ReportedFact("runs", number, "runs", format_count(number)),
        ReportedFact("missing", lacking, "planned and missing", format_count(lacking)),
        *_manifest_facts(content.manifest),
    ]
    return facts, lacking


def _rerun_facts(report: "RerunReport", versions: Mapping[str, str]) -> list[ReportedFact]:
    bits, left = report.agreeing - report.from_other_environment, sum(report.left_out.values())
    differ = "; ".join(escape_text(f"{name} {how}") for name, how in versions.items())
    return [
        ReportedFact("versions", dict(versions), "other versions here", differ or "none"),
        ReportedFact(
            "agree", report.agreeing, "made again, same counts", format_count(report.agreeing)
        ),
        ReportedFact("same_bits", bits, "of them, same bits", format_count(bits)),
        ReportedFact(
            "elsewhere",
            report.from_other_environment,
            "of them, measures to 1e-6",
            format_count(report.from_other_environment),
        ),
        ReportedFact(
            "differing", dict(report.differing), "differ", format_count(len(report.differing))
        ),
        ReportedFact("left_out", dict(report.left_out), "left out", format_count(left)),
    ]


def _parse_share(share: str) -> float:
    """Read a share, ``5%`` or ``0.05``."""
    from pfbench.base.checks import check_real

    number, percent = share.strip().removesuffix("%"), share.strip().endswith("%")
    try:
        part = float(number) / (100 if percent else 1)
    except ValueError:
        raise InputError(f"--fraction {share!r} must be a part, as in 5% or 0.05.") from None
    return check_real("--fraction", part, above=0.0, upper=1.0)
