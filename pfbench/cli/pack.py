"""``pfbench pack``: a sweep as one archive, and an archive put to the test."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench import __version__
from pfbench.base.errors import InputError
from pfbench.base.failures import ended
from pfbench.base.files import check_writable
from pfbench.base.visible import visible
from pfbench.cli import options
from pfbench.cli.making import searched
from pfbench.cli.options import argument, option
from pfbench.cli.printing import again, announce, complain, exit_if, exit_if_failed, keeping
from pfbench.cli.progress import Steps
from pfbench.cli.tables import Fact, show_facts
from pfbench.cli.words import plural, size, whole

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.pack import Unpacked
    from pfbench.runs.rerun import Rerun

SHARE = "5%"


def pack(
    spec: Path | None = argument("SPEC.toml"),
    output: Path | None = option("FILE", "The archive to write.", "--output", "-o"),
    check: Path | None = option("FILE", "Put this archive to the test instead."),
    share: str = option(
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
        _check(check, _part(share), jobs, files or Path(), as_json=as_json)
    elif spec is not None:
        if output is None:
            raise InputError("name the archive to write with -o FILE.")
        options.check_place(jobs, scheduler)
        check_writable(output, f"--output {output}")
        with closing(options.engine_of(jobs, scheduler)) as engine:
            _write(spec, output, store, engine, as_json=as_json)


def _write(path: Path, output: Path, folder: Path, engine: "Engine", *, as_json: bool) -> None:
    from pfbench.runs import pack as packing
    from pfbench.runs.execute import execute
    from pfbench.runs.planning.spec import read_spec
    from pfbench.runs.storage.store import Store

    sweep = read_spec(path)
    announce(sweep.own_selectors, path)
    kept = Store(folder)
    sweep = searched(sweep, kept, engine, quiet=as_json)
    with (
        keeping("run", folder),
        Steps(sweep.name, len(sweep.runs()), "runs", quiet=as_json) as steps,
    ):
        outcomes = execute(sweep.runs(), kept, engine=engine, progress=steps.count_run)
        # They are in the store by now.
        outcomes += execute(sweep.searches(), kept, engine=engine)
    about = packing.pack(sweep.name, sweep.text, outcomes, kept, output, version=__version__)
    number, length = len(outcomes), output.stat().st_size
    facts = [
        Fact("archive", str(output), "archive"),
        Fact("runs", number, "runs", whole(number)),
        Fact("bytes", length, "size", size(length)),
        *_facts(about),
    ]
    show_facts(facts, as_json=as_json)
    exit_if_failed(outcomes, ", and the archive has them as such")


def _facts(about: Mapping[str, Any]) -> list[Fact]:
    """Return what an archive says of itself."""
    versions = sorted({one.get("python", "unknown") for one in about["environments"]})
    problems, data = about["problems"], about["data"]
    origins = about.get("origins", {})
    named = [
        f"{name} (not in it: {origins[name]})" if name in origins else name
        for name in about.get("reads", {})
    ]
    return [
        Fact("pfbench", about["pfbench"], "pfbench"),
        Fact("environments", about["environments"], "Python", ", ".join(versions)),
        Fact("problems", problems, "problems", whole(len(problems))),
        Fact("data", data, "data sets", ", ".join(data) or "none"),
        Fact("own", about["own"], "own code", ", ".join(about["own"]) or "none"),
        Fact(
            "reads", about.get("reads", {}), "files read", ", ".join(map(visible, named)) or "none"
        ),
    ]


def _check(path: Path, share: float, jobs: int | None, beside: Path, *, as_json: bool) -> None:
    from pfbench.kernels.libraries import kernels_of
    from pfbench.runs import pack as packing
    from pfbench.runs.lock import other
    from pfbench.runs.storage.archive import opened

    engine = options.strangers_engine(jobs)
    with opened(path) as archive, packing.unpacked(archive) as content:
        facts, lacking = _inside(content, path)
        absent = content.take(beside)
        for name, why in absent.items():
            complain(f"{name}, which is not in {path}, {ended(why)}")
        for name in content.damaged:
            complain(f"{name} in {path} does not match its hash: it was changed.")
        for module in content.modules:
            complain(f"importing {module}, which is in {path}.")
        made = {one.get("blas", "") for one in content.about["environments"]}
        with kernels_of(", ".join(made), engine.environment().get("blas", "")) as kernels:
            if kernels:
                complain(f"OpenBLAS's kernels {kernels} are taken, as its author had them.")
            found = packing.check(content, share, engine, again(quiet=as_json))
    show_facts([*facts, *_outcome(found, other(content.about.get("lock", {})))], as_json=as_json)
    for reason, many in found.left_out.items():
        complain(f"{plural(many, 'run')} of the share cannot be compared: {ended(reason)}")
    for key, what in found.differing:
        complain(f"run {key} is not what the archive says: made again, it differs in its {what}.")
    if lacking:
        complain(f"{plural(lacking, 'run')} that its spec plans are not in the archive.")
    exit_if(found.differing or lacking or found.lost or absent or content.damaged)


def _inside(content: "Unpacked", path: Path) -> tuple[list[Fact], int]:
    """Return what is in an archive, and how many runs of its spec are not."""
    from pfbench.runs import pack as packing
    from pfbench.runs.planning.spec import read_spec

    number = len([*content.store.keys()])
    if not number:
        raise InputError(f"{path} has no run: there is nothing to check.")
    lacking = packing.missing(content, read_spec(content.spec).runs())
    for name, state in content.other_data().items():
        complain(f"the data set {name} of the archive is {state}.")
    facts = [
        Fact("archive", str(path), "archive"),
        Fact("runs", number, "runs", whole(number)),
        Fact("missing", lacking, "planned and missing", whole(lacking)),
        *_facts(content.about),
    ]
    return facts, lacking


def _outcome(found: "Rerun", versions: Mapping[str, str]) -> list[Fact]:
    bits, left = found.agree - found.elsewhere, sum(found.left_out.values())
    differ = "; ".join(visible(f"{name} {how}") for name, how in versions.items())
    return [
        Fact("versions", dict(versions), "other versions here", differ or "none"),
        Fact("agree", found.agree, "made again, same counts", whole(found.agree)),
        Fact("same_bits", bits, "of them, same bits", whole(bits)),
        Fact("elsewhere", found.elsewhere, "of them, measures to 1e-6", whole(found.elsewhere)),
        Fact("differing", dict(found.differing), "differ", whole(len(found.differing))),
        Fact("left_out", dict(found.left_out), "left out", whole(left)),
    ]


def _part(share: str) -> float:
    """Read a share, ``5%`` or ``0.05``."""
    from pfbench.base.checks import real

    number, percent = share.strip().removesuffix("%"), share.strip().endswith("%")
    try:
        part = float(number) / (100 if percent else 1)
    except ValueError:
        raise InputError(f"--share {share!r} must be a part, as in 5% or 0.05.") from None
    return real("--share", part, above=0.0, most=1.0)
