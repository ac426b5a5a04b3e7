"""Job of ``pfbench verify``: its claims, seeds and engine, shared by all its modes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import StorageError
from pfbench.base.files import check_writable
from pfbench.cli import options, terminal
from pfbench.cli.progress import StepProgress

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.verification.session import Session


@dataclass
class VerificationJob:
    """Claims to verify, with effort, seeds, engine and output files."""

    names: Sequence[str]
    effort: str
    seeds: range
    engine: "Engine"
    folder: Path
    target: Path | None = None
    table: Path | None = None
    case_seed: int = 0
    task_count: int = 0

    @property
    def is_quiet(self) -> bool:
        """Whether only JSON is printed."""
        return self.target == terminal.STANDARD_OUTPUT

    @contextmanager
    def step_progress(self, title: str, total: int | None) -> Iterator[StepProgress]:
        """Show the progress of a number of checks, and how many were executed."""
        slots = self.engine.slots
        with StepProgress(title, total, "checks", quiet=self.is_quiet, slots=slots) as steps:
            try:
                yield steps
            finally:
                self.task_count = steps.run_count
        if not self.is_quiet:
            terminal.print_note(f"{title}: {steps.format_step_counts()}")

    def make_session(
        self, steps: StepProgress, seed: int | None = None, effort: str | None = None
    ) -> "Session":
        """Return the session that reports to `steps`; seed and effort default to the job's."""
        from pfbench.runs.storage.store import Store
        from pfbench.verification.session import Session

        return Session(
            engine=self.engine,
            effort=effort or self.effort,
            seed=self.seeds[0] if seed is None else seed,
            case_seed=self.case_seed,
            store=Store(self.folder),
            progress=steps.count,
            on_expected_time=lambda _: steps.start_clock(),
        )

    def write_json(self, content: Mapping[str, Any]) -> None:
        """Write the results as JSON, or print them, if requested."""
        if self.target is not None:
            terminal.write_json(content, self.target)


@contextmanager
def open_job(
    names: Sequence[str],
    full: bool,
    seeds: range,
    store: Path,
    jobs: int | None,
    scheduler: str | None,
    markdown_path: Path | None,
    json_path: Path | None,
) -> Iterator[VerificationJob]:
    """Yield a job after checking that its outputs can be written; close its engine at the end.

    A store error after some results ends the command with one sentence.
    """
    options.check_engine_options(jobs, scheduler)
    for name, path in (("--json", json_path), ("--table", markdown_path)):
        if path is not None and path != terminal.STANDARD_OUTPUT:
            check_writable(path, f"{name} {path}", error=StorageError)
    effort = "full" if full else "quick"
    with (
        closing(options.make_engine(jobs, scheduler)) as engine,
        terminal.exit_on_interrupt("check", store),
    ):
        work = VerificationJob(names, effort, seeds, engine, store, json_path, markdown_path)
        try:
            yield work
        except StorageError as error:
            if not work.task_count:
                raise
            terminal.exit_with_error(str(error))
