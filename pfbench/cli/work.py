"""What ``pfbench verify`` puts to the test, and where: what all its jobs are handed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import StorageError
from pfbench.base.files import check_writable
from pfbench.cli import options, printing
from pfbench.cli.progress import Steps

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.verification.session import Session


@dataclass
class Work:
    """What is verified: by which effort, with which seeds, where; and what is written of it."""

    names: Sequence[str]
    effort: str
    seeds: range
    engine: "Engine"
    folder: Path
    target: Path | None = None
    table: Path | None = None
    at_seed: int = 0
    made: int = 0

    @property
    def quiet(self) -> bool:
        """Whether JSON is printed, and nothing else."""
        return self.target == printing.STANDARD_OUTPUT

    @contextmanager
    def steps(self, title: str, total: int | None) -> Iterator[Steps]:
        """Show the progress of so many checks, and tell how many of them were made now."""
        slots = self.engine.slots
        with Steps(title, total, "checks", quiet=self.quiet, slots=slots) as steps:
            try:
                yield steps
            finally:
                self.made = steps.made
        if not self.quiet:
            printing.note(f"{title}: {steps.made_in_words()}")

    def session(
        self, steps: Steps, seed: int | None = None, effort: str | None = None
    ) -> "Session":
        """Return the session whose outcomes are steps; seed and effort are its own if not given."""
        from pfbench.runs.storage.store import Store
        from pfbench.verification.session import Session

        return Session(
            engine=self.engine,
            effort=effort or self.effort,
            seed=self.seeds[0] if seed is None else seed,
            at_seed=self.at_seed,
            store=Store(self.folder),
            progress=steps.count,
            expect=lambda _: steps.begin(),
        )

    def write(self, content: Mapping[str, Any]) -> None:
        """Write what was found as JSON, or print it, if that is asked for."""
        if self.target is not None:
            printing.write_json(content, self.target)


@contextmanager
def begun(
    names: Sequence[str],
    full: bool,
    seeds: range,
    store: Path,
    jobs: int | None,
    scheduler: str | None,
    table: Path | None,
    target: Path | None,
) -> Iterator[Work]:
    """Give the work to a job, where all can be written that it writes; its engine ends with it.

    An error of the store after something was made is told in one sentence.
    """
    options.check_place(jobs, scheduler)
    for name, path in (("--json", target), ("--table", table)):
        if path is not None and path != printing.STANDARD_OUTPUT:
            check_writable(path, f"{name} {path}", error=StorageError)
    effort = "full" if full else "quick"
    with closing(options.engine_of(jobs, scheduler)) as engine, printing.keeping("check", store):
        work = Work(names, effort, seeds, engine, store, target, table)
        try:
            yield work
        except StorageError as error:
            if not work.made:
                raise
            printing.fail(str(error))
