"""Settings, outputs and progress shared by ``pfbench verify`` and other commands on claims."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import InputError, StorageError
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
    is_quiet: bool = False
    table: Path | None = None
    case_seed: int = 0
    task_count: int = 0

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
        """Print the results as JSON and write the Markdown file, if requested.

        `make_markdown` is called with the current command line.
        """
        if self.is_quiet:
            terminal.print_json(content)
        if self.table is not None and make_markdown is not None:
            terminal.write_text(make_markdown(terminal.current_command_line()), self.table)

    def print(self, *parts: RenderableType | None) -> None:
        """Print texts and tables, unless JSON goes to the standard output."""
        if not self.is_quiet:
            terminal.print_parts(*parts)


@contextmanager
def open_job(
    claims: Sequence[str] | None,
    is_quiet: bool,
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
    names = announce_claims(claims, is_quiet)
    if markdown_path is not None:
        check_writable(markdown_path, f"--table {markdown_path}", error=StorageError)
    folder, seeds = store or options.default_store_folder(), range(seed, seed + 1)
    with (
        closing(options.make_engine(jobs, scheduler)) as engine,
        terminal.exit_on_interrupt("check", folder),
    ):
        effort = "full" if full else "quick"
        work = VerificationJob(names, effort, seeds, engine, folder, is_quiet, markdown_path)
        try:
            yield work
        except StorageError as error:
            if not work.task_count:
                raise
            terminal.exit_with_error(str(error))


def announce_claims(claims: Sequence[str] | None, is_quiet: bool) -> list[str]:
    """Return the names of the claims; print the user-defined ones, as their code is imported.

    Nothing is printed if `is_quiet`.

    Raises
    ------
    InputError
        If a name is that of a JSON file: `--json` takes none.
    """
    names = list(claims or ())
    for name in dict.fromkeys(names):
        if name == "-" or name.endswith(".json"):
            raise InputError(f"--json takes no file: leave out {name}, and append > FILE.json.")
        if is_user_defined(name) and not is_quiet:
            terminal.print_note(f"importing {name}")
    return names
