"""Writing archives of a sweep or of claims, with their runs, code and versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.archive.claim_tasks import as_module_reference, start_claims_and_list_files
from pfbench.archive.contents import ArchiveContents, collect_contents, collect_declared_files
from pfbench.archive.page import make_archive_page_files
from pfbench.archive.reruns import replace_files_by_modules, values_like_file_names
from pfbench.archive.unpacking import distribution_versions, source_digest
from pfbench.base.files import as_storage_errors
from pfbench.base.selectors import Selector, module_name, replace_file_by_module
from pfbench.base.status import Status
from pfbench.problems.data.cache import file_digest
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.management import status
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.plan import PlannedRun, list_user_code_names, resolve
from pfbench.runs.planning.study import Spec
from pfbench.runs.storage.archive import LOCK, RUNS, SPEC, write_archive
from pfbench.runs.storage.store import Store
from pfbench.verification.claim import Claim
from pfbench.verification.user_claims import import_module_file, load_claims, split_reference

_MOST_NAMED = 3
"""Maximum number of sources that a title names; further ones are counted."""

PROBE_SECONDS = 1.0
"""Time limit in seconds of each run that shows which files user-defined code reads."""


@dataclass(frozen=True)
class ArchiveWriter:
    """Writer of archives from the runs of a store.

    Attributes
    ----------
    path
        File of the archive.
    store
        Store with the runs that `execute` returned.
    environment
        Environment of the engine.
    version
        Version of pfbench.
    """

    path: Path
    store: Store
    environment: Mapping[str, str]
    version: str

    def write_sweep(self, spec: Spec, outcomes: Sequence[PlanOutcome]) -> Mapping[str, Any]:
        """Write an archive of a sweep with all its runs; return the manifest.

        For errors, see `_write`.
        """
        fields = {"kind": "sweep", "title": spec.title or spec.name, "planned": len(outcomes)}
        return self._write(spec.name, fields, outcomes, {SPEC: spec.text.encode()})

    def write_claims(
        self, theorem_reference: str, results: Mapping[str, Any], outcomes: Sequence[PlanOutcome]
    ) -> Mapping[str, Any]:
        """Write an archive of claims, with their runs and the results of their verification.

        Parameters
        ----------
        theorem_reference
            FILE.py, FILE.py:NAME, MODULE or MODULE:NAME.
        results
            Seed, effort, claims, verdicts, counterexamples, errata and faults, as the manifest
            stores them.
        """
        theorem = as_module_reference(theorem_reference)
        fields = {
            "kind": "claim",
            "title": _archive_title(theorem_reference),
            "theorem": theorem,
            **results,
        }
        module = theorem.partition(":")[0]
        contents = collect_contents(
            [module], start_claims_and_list_files, theorem_reference, theorem
        )
        return self._write(module, fields, outcomes, {}, contents=contents)

    def _write(
        self,
        name: str,
        fields: Mapping[str, Any],
        outcomes: Sequence[PlanOutcome],
        files: Mapping[str, bytes],
        contents: ArchiveContents | None = None,
    ) -> Mapping[str, Any]:
        """Write an archive; return its manifest without the hashes of its files.

        Raises
        ------
        InputError
            If a user-defined module, or a file that it reads, cannot be archived; or if its results
            differ in a folder that has only the archive.
        StorageError
            If a file cannot be read or written.
        """
        plans = [outcome.plan for outcome in outcomes]
        if contents is None:
            contents = collect_code_of_runs(plans)
        keys = dict.fromkeys(outcome.entry.key for outcome in outcomes)
        entries = [entry for key in keys if (entry := self.store.get(key)) is not None]
        environments = [dict(self.environment)]
        for entry in entries:
            if dict(entry.environment) not in environments:
                environments.append(dict(entry.environment))
        versions = distribution_versions()
        problems = {
            replace_file_by_module(plan.problem): resolve(plan).built_problem.digest
            for plan in {plan.problem: plan for plan in plans}.values()
        }
        manifest = {
            "pfbench": self.version,
            "name": name,
            **fields,
            "made": datetime.now(UTC).date().isoformat(),
            "user_modules": list_user_code_names(s for p in plans for s in p.user_selectors),
            "environments": environments,
            "problems": problems,
            "data": {**_data_digests(plans), **contents.data},
            "reads": dict(contents.reads),
            "source": source_digest(),
            "lock": versions,
        }
        inside = {
            **files,
            **contents.files,
            **make_archive_page_files(manifest),
            RUNS: self._copy_store([entry.key for entry in entries]),
            LOCK: "".join(f"{name}=={version}\n" for name, version in versions.items()).encode(),
        }
        with as_storage_errors(f"the archive {self.path}"):
            write_archive(self.path, inside, manifest)
        return manifest

    def _copy_store(self, keys: Sequence[str]) -> bytes:
        """Return the bytes of a new store file that contains only the runs with these keys."""
        with TemporaryDirectory(prefix="pfbench-archive-") as temporary:
            copy = Store(temporary)
            copy.write([*filter(None, self.store.read_runs(sorted(keys)))])
            copy.close()
            return copy.path.read_bytes()


def _archive_title(theorem: str) -> str:
    """Return the title of an archive of claims: its paper, sources and author."""
    paper = load_claims(theorem)
    named = dict.fromkeys(
        claim.name if claim.source == Claim.source else claim.source for claim in paper.claims
    )
    parts = [*([paper.title] if paper.key else []), *islice(named, _MOST_NAMED)]
    unnamed_count = len(named) - _MOST_NAMED
    author = getattr(import_module_file(split_reference(theorem)[0]), "__author__", "")
    title = "; ".join(parts) + (f" and {unnamed_count} more" if unnamed_count > 0 else "")
    return f"{title} ({author})" if author else title


def collect_code_of_runs(plans: Sequence[PlannedRun]) -> ArchiveContents:
    """Return the code of planned runs and the files that it reads.

    The code of each selector is probed once.
    """
    visited: set[str] = set()
    chosen = []
    for plan in plans:
        files = [text for text in (plan.problem, plan.algorithm) if values_like_file_names(text)]
        if new := {*plan.user_selectors, *files} - visited:
            visited |= new
            chosen.append(plan)
    if not chosen:
        return ArchiveContents()
    names = list_user_code_names(text for plan in chosen for text in plan.user_selectors)
    elsewhere = [replace_files_by_modules(plan) for plan in chosen]
    return collect_contents(map(module_name, names), _start_runs_and_list_files, chosen, elsewhere)


def _start_runs_and_list_files(plans: Sequence[PlannedRun]) -> tuple[dict[str, Any], set[str]]:
    """Build the problems of runs and start each run; return results and declared files.

    If user-defined code raises, the result of its run has the reason.
    """
    statement: dict[str, Any] = {}
    files: set[str] = set()
    for plan in plans:
        resolved = resolve(plan)
        built = resolved.built_problem
        method = resolved.resolved_run_or_none.algorithm if resolved.resolved_run_or_none else None
        files |= collect_declared_files(built.problem, built.problem.set, method)
        limit = min(PROBE_SECONDS, plan.time_limit or PROBE_SECONDS)
        run = execute_plan(replace(plan, time_limit=limit))
        failed = f", {run.stop_reason}" if run.status == Status.ERROR else ""
        placed = replace_files_by_modules(plan)
        statement[f"{placed.algorithm} on {placed.problem}"] = f"data {built.digest}{failed}"
    return statement, files


def _data_digests(plans: Sequence[PlannedRun]) -> dict[str, str]:
    """Return the SHA-256 of each data set that planned runs use and that is not missing."""
    sources = {Selector.parse(plan.problem).texts.get("source", "") for plan in plans}
    paths = {name: status(name).path for name in sorted(sources & DATA_SETS.keys())}
    return {name: file_digest(path) for name, path in paths.items() if path is not None}
