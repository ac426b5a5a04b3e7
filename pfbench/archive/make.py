"""Writing archives of a sweep or of claims, with their runs, code and versions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.archive.claim_tasks import as_module_reference, start_claims
from pfbench.archive.contents import collect_code_and_data
from pfbench.archive.page import make_archive_page_files
from pfbench.archive.reruns import values_like_file_names
from pfbench.archive.unpacking import distribution_versions, source_digest
from pfbench.base.files import as_storage_errors
from pfbench.base.selectors import module_name, replace_file_by_module
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.plan import PlannedRun, list_user_code_names, resolve
from pfbench.runs.planning.study import Spec
from pfbench.runs.storage.archive import LOCK, RUNS, SPEC, Archive, open_archive, write_archive
from pfbench.runs.storage.store import Store
from pfbench.verification.claim import Claim
from pfbench.verification.user_claims import import_module_file, load_claims, split_reference

_MOST_NAMED = 3
"""Maximum number of sources that a title names; further ones are counted."""


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

    def write_sweep(self, spec: Spec, outcomes: Sequence[PlanOutcome]) -> Archive:
        """Write an archive of a sweep with all its runs; return it.

        For errors, see `_write`.
        """
        fields = {"kind": "sweep", "title": spec.title or spec.name, "planned": len(outcomes)}
        plans = [outcome.plan for outcome in outcomes]
        modules = map(module_name, list_user_code_names(s for p in plans for s in p.user_selectors))
        files = {SPEC: spec.text.encode()}
        return self._write(spec.name, fields, outcomes, files, modules, _resolve_plans, plans)

    def write_claims(
        self, theorem_reference: str, results: Mapping[str, Any], outcomes: Sequence[PlanOutcome]
    ) -> Archive:
        """Write an archive of claims, with their runs and the results of verification; return it.

        Parameters
        ----------
        theorem_reference
            FILE.py, FILE.py:NAME, MODULE or MODULE:NAME.
        results
            Seed, effort, claims, verdicts, counterexamples and faults, as the manifest stores them.
        """
        theorem = as_module_reference(theorem_reference)
        fields = {
            "kind": "claim",
            "title": _archive_title(theorem_reference),
            "theorem": theorem,
            **results,
        }
        module = theorem.partition(":")[0]
        start = start_claims, theorem_reference
        return self._write(module, fields, outcomes, {}, [module], *start)

    def _write(
        self,
        name: str,
        fields: Mapping[str, Any],
        outcomes: Sequence[PlanOutcome],
        files: Mapping[str, bytes],
        modules: Iterable[str],
        start: Callable[[Any], object],
        argument: Any,
    ) -> Archive:
        """Write an archive, and return it.

        For `modules`, `start` and `argument`, see `collect_code_and_data`.

        Raises
        ------
        InputError
            If a user-defined module, or a file that it reads, cannot be archived.
        StorageError
            If a file cannot be read or written.
        """
        plans = [outcome.plan for outcome in outcomes]
        keys = dict.fromkeys(outcome.entry.key for outcome in outcomes)
        entries = [entry for key in keys if (entry := self.store.get(key)) is not None]
        read_files = {name for entry in entries for name in entry.notes.get("files", ())}
        code = collect_code_and_data(modules, start, argument, read_files)
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
            "source": source_digest(),
            "lock": versions,
        }
        inside = {
            **files,
            **code,
            **make_archive_page_files(manifest),
            RUNS: self._copy_store([entry.key for entry in entries]),
            LOCK: "".join(f"{name}=={version}\n" for name, version in versions.items()).encode(),
        }
        with as_storage_errors(f"the archive {self.path}"):
            write_archive(self.path, inside, manifest)
        return open_archive(self.path)

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


def _resolve_plans(plans: Sequence[PlannedRun]) -> None:
    """Build problems and methods of runs; each selector that names code or files once."""
    visited = set[str]()
    for plan in plans:
        named = [text for text in (plan.problem, plan.algorithm) if values_like_file_names(text)]
        if not {*plan.user_selectors, *named} <= visited:
            visited.update(plan.user_selectors, named)
            resolve(plan)
