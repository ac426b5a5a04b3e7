"""Settings, outputs and progress shared by ``pfbench verify`` and other commands on claims."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import StorageError
from pfbench.base.files import check_writable
from pfbench.base.selectors import is_user_defined
from pfbench.cli import options, terminal
from pfbench.cli.progress import StepProgress

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.verification.session import Session


@dataclass
class VerificationJob:
    """Claims to verify, with effort, seeds, engine, store and output files."""

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
        """Whether JSON goes to the standard output, so that nothing else is printed."""
        return self.target == terminal.STANDARD_OUTPUT

    @contextmanager
    def progress_of_checks(self, title: str, total: int | None) -> Iterator[StepProgress]:
        """Show the progress of checks, and print at the end how many were executed."""
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
        """Return a verification session that reports its progress to `steps`.

        The seed and the effort are those of the job unless they are given.
        """
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

    def write(
        self, content: Mapping[str, Any], make_markdown: Callable[[str], str] | None = None
    ) -> None:
        """Write the results to the JSON file and the Markdown file, if requested.

        `make_markdown` is called with the current command line.
        """
        if self.target is not None:
            terminal.write_json(content, self.target)
        if self.table is not None and make_markdown is not None:
            terminal.write_text(make_markdown(terminal.current_command_line()), self.table)

    def print(self, *parts: RenderableType | None, max_width: int | None = None) -> None:
        """Print texts and tables, unless JSON goes to the standard output."""
        if not self.is_quiet:
            terminal.print_parts(*parts, max_width=max_width)


@contextmanager
def open_job(
    claims: Sequence[str] | None,
    json_path: Path | None,
    markdown_path: Path | None,
    *,
    full: bool = False,
    seed: int = 0,
    store: Path | None = None,
    jobs: int | None = 0,
    scheduler: str | None = None,
) -> Iterator[VerificationJob]:
    """Yield a job after checking that its output files can be written.

    The engine is closed at the end. An error of the store is reported as one sentence.
    """
    options.check_engine_options(jobs, scheduler)
    names = announce_claims(claims, json_path)
    for name, path in (("--json", json_path), ("--table", markdown_path)):
        if path is not None and path != terminal.STANDARD_OUTPUT:
            check_writable(path, f"{name} {path}", error=StorageError)
    folder, seeds = store or options.default_store_folder(), range(seed, seed + 1)
    with (
        closing(options.make_engine(jobs, scheduler)) as engine,
        terminal.exit_on_interrupt("check", folder),
    ):
        effort = "full" if full else "quick"
        work = VerificationJob(names, effort, seeds, engine, folder, json_path, markdown_path)
        try:
            yield work
        except StorageError as error:
            if not work.task_count:
                raise
            terminal.exit_with_error(str(error))


def announce_claims(claims: Sequence[str] | None, json_path: Path | None) -> list[str]:
    """Return the names of the claims; print the user-defined ones, as their code is imported.

    Nothing is printed if JSON goes to the standard output.
    """
    names = list(claims or ())
    for name in dict.fromkeys(filter(is_user_defined, names)):
        if json_path != terminal.STANDARD_OUTPUT:
            terminal.print_note(f"importing {name}")
    return names
