"""Check of an archive: re-run a part of its runs, and compare them with runs with new seeds.

The hash of the archive and the checker's salt determine which results are recomputed first, so that
the author of the archive cannot choose them. This process neither imports nor unpickles anything in
the archive. The archive's code runs in confined processes, which answer with JSON.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np

from pfbench.archive.reruns import (
    BY_THE_CLOCK,
    first_difference_name,
    has_builtin_problem_and_measures,
    parse_run_and_problem_digest,
    replace_files_by_modules,
    run_plans,
    values_like_file_names,
)
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector, replace_file_by_module
from pfbench.base.status import Status
from pfbench.reporting.significance import rank_test
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.runs.loop.processes import confinement_sentence
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun, portable_identity
from pfbench.runs.storage.archive import CODE, data_files
from pfbench.runs.storage.serialization import StoredRun

LEVEL = 1e-4
"""Probability that any rank test of an honest archive finds its runs different from runs with new
seeds."""

AT_ONCE = 5
"""Number of runs that one task recomputes."""

NEW = 20
"""Number of runs with new seeds for each cell, i.e. for the runs that differ only in seeds."""

FAULTS = 4
"""Number of faults that are examined again, among those caught and those found equivalent."""

MOST_REQUIRED = 50
"""Number of cells in which a run must be recomputed; in further cells this is optional."""


@dataclass
class CheckOutcome:
    """Result of the check of an archive.

    Attributes
    ----------
    deviations
        One text for each part of the archive that the check contradicts.
    runs, verdicts, faults
        Number of recomputed ones, and number of all in the archive.
    fresh_runs
        Number of runs with new seeds.
    unconfined_runs
        Number of recomputed and new runs that were measured in a process without archived code.
    confined_result_counts
        Number of results, by subject, from processes that may import archived code.
    p_values
        Tests of runs with new seeds against the stored runs: the text of a significant difference,
        and the p-value. Equal numbers are not tested.
    confirmed
        A sentence for each counterexample that is confirmed again.
    unreached_tasks
        Required tasks that failed or that the time limit prevented.
    is_same_environment
        Whether versions and machine are the same as the author's.
    notes
        Remarks on versions and machine.
    """

    deviations: list[str] = field(default_factory=list)
    runs: list[int] = field(default_factory=lambda: [0, 0])
    verdicts: list[int] = field(default_factory=lambda: [0, 0])
    faults: list[int] = field(default_factory=lambda: [0, 0])
    fresh_runs: int = 0
    unconfined_runs: int = 0
    confined_result_counts: Counter[str] = field(default_factory=Counter)
    p_values: list[tuple[str, float]] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)
    unreached_tasks: list[str] = field(default_factory=list)
    is_same_environment: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def min_p_value(self) -> float:
        """Smallest p-value of all tests; 1 if there are none."""
        return min((p for _, p in self.p_values), default=1.0)

    def add_deviation(self, text: Any) -> None:
        """Add a text to the deviations, unless it is empty or false."""
        self.deviations += [str(text)] if text else []

    def compare_distributions(
        self,
        name: str,
        recorded: Sequence[Mapping[str, float]],
        recomputed: Sequence[Mapping[str, float]],
    ) -> None:
        """Test, for each quantity, whether runs with new seeds are distributed like stored runs.

        The p-values are stored in the outcome.
        """
        self.fresh_runs += len(recomputed)
        for kind in recorded[0]:
            old, new = (np.array([run[kind] for run in runs]) for runs in (recorded, recomputed))
            both = np.concatenate([old, new])
            if np.isnan(both).any() or (both == both[0]).all():
                continue  # equal numbers tell nothing
            p = rank_test(old, new)
            text = f"median {np.median(new):g}, in the archive {np.median(old):g}; p = {p:.1g}"
            self.p_values.append((f"with new seeds, {kind} of {name} differs ({text})", p))

    def record_significant_differences(self) -> None:
        """Add a deviation for each tested difference that is significant at `LEVEL`."""
        self.deviations += [text for text, p in self.p_values if p <= LEVEL / len(self.p_values)]


@dataclass(frozen=True)
class CheckTask:
    """Task of an archive's check, with a description and a function that receives its result."""

    task: Task
    on_result: Callable[[Any], object]
    description: str
    is_required: bool = True
    subject: str = "runs"


@dataclass(frozen=True)
class SeedGroup:
    """Stored runs that differ only in their seeds, and planned runs with new seeds."""

    name: str
    stored_runs: Sequence[StoredRun]
    new_seed_plans: Sequence[PlannedRun]


@dataclass(frozen=True)
class Check:
    """Unpacked archive, with everything that its check needs.

    Attributes
    ----------
    manifest
        Manifest of the archive.
    folder
        Folder into which the archive is unpacked.
    engine
        Engine that executes the tasks.
    rng
        Random numbers that choose what is recomputed first, and the new seeds.
    same_versions
        Whether the installed versions are the author's. If a run's environment is the same, too,
        the recomputed run must agree with it bit for bit.
    seconds
        Time limit in seconds.
    outcome
        The results so far.
    """

    manifest: Mapping[str, Any]
    folder: Path
    engine: Engine
    rng: random.Random
    same_versions: bool
    seconds: float
    outcome: CheckOutcome = field(default_factory=CheckOutcome)

    @property
    def code_folder(self) -> str:
        """Folder with the archive's code."""
        return str(self.folder / CODE)

    @property
    def is_same_environment(self) -> bool:
        """Whether versions and machine are the same as when the archive was made."""
        current = [dict(self.engine.environment())]
        return self.same_versions and self.manifest["environments"] == current

    def make_confined_task(self, function: Callable[..., Any], *args: Any) -> Task:
        """Return a task that calls a function, which may import archived code, with few rights."""
        return Task(function, args, self.seconds, "archive", self.code_folder)

    def shuffle_sample(self, items: Sequence[Any], limit: int = 10**9) -> list[Any]:
        """Return a random sample of at most `limit` items, in random order."""
        return self.rng.sample(items, min(limit, len(items)))

    def process_until_time_limit(self, tasks: Sequence[CheckTask]) -> None:
        """Execute tasks and process their results until the time limit.

        Required tasks that fail, or are not reached, are recorded.
        """
        ends, reached = monotonic() + self.seconds, set()
        with closing(self.engine.do([item.task for item in tasks])) as results:  # type: ignore[type-var]
            for result in results:
                reached.add(result.index)
                item = tasks[result.index]
                if result.status == "done":
                    try:
                        item.on_result(result.value)
                        self._count_by_confinement(item, result.value)
                    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
                        self.outcome.add_deviation(
                            f"{item.description}: the code returned a wrong type"
                        )
                elif item.is_required:
                    self.outcome.unreached_tasks.append(
                        f"{item.description}: {result.status}: {result.reason}"
                    )
                if monotonic() > ends:
                    break
        self.outcome.unreached_tasks += [
            f"{item.description}: time limit"
            for index, item in enumerate(tasks)
            if item.is_required and index not in reached
        ]

    def _count_by_confinement(self, item: CheckTask, value: Any) -> None:
        """Add a task's number of results to the total of confined or of unconfined processes."""
        number = len(value) if item.task.function is run_plans else 1
        if item.task.untrusted_code_folder:
            self.outcome.confined_result_counts[item.subject] += number
        elif item.task.function is run_plans:
            self.outcome.unconfined_runs += number

    # --- runs -------------------------------------------------------------------------------------

    def rerun_and_new_seed_tasks(self, stored_runs: Sequence[StoredRun]) -> Iterator[CheckTask]:
        """Yield tasks: a stored run of each setting, then runs with new seeds, then other runs.

        A setting (cell) consists of runs that differ only in their seeds.
        """
        usable = [entry for entry in stored_runs if entry.run.status not in BY_THE_CLOCK]
        self.outcome.runs[1] = len(usable)
        cells = self.shuffle_sample(list(self.iterate_seed_groups(usable)))
        first = [self.rng.choice(cell.stored_runs) for cell in cells]
        for k, (cell, entry) in enumerate(zip(cells, first, strict=True)):
            yield self._rerun_task([entry], f"a run of {cell.name}", needed=k < MOST_REQUIRED)
        for k, cell in enumerate(cells):
            take = partial(self._compare_runs_with_new_seeds, cell)
            description = f"new seeds of {cell.name}"
            yield CheckTask(self._make_run_task(cell.new_seed_plans), take, description, not k)
        rest = self.shuffle_sample([entry for entry in usable if entry not in first])
        for k in range(0, len(rest), AT_ONCE):
            yield self._rerun_task(rest[k : k + AT_ONCE], "further runs", needed=False)

    def iterate_seed_groups(self, stored_runs: Sequence[StoredRun]) -> Iterator[SeedGroup]:
        """Yield groups of runs that differ only in their seeds, with plans of new runs.

        If the runs of a group have different data seeds, each new run has a new data seed, too.
        """
        families: dict[PlannedRun, list[tuple[PlannedRun, StoredRun]]] = defaultdict(list)
        for entry in stored_runs:
            plan = plan_of_stored_run(entry, data_files(self.manifest))
            family = replace(plan, seed=0, problem=_with_data_seed(plan.problem, 0))
            families[family].append((plan, entry))
        for family, members in families.items():
            problems = {plan.problem for plan, _ in members}
            own_data = len(members) > 1 and len(problems) == len(members)
            for problem in [family.problem] if own_data else sorted(problems):
                runs = [entry for plan, entry in members if own_data or plan.problem == problem]
                fresh = [
                    replace(
                        family,
                        seed=self.rng.randrange(2**32),
                        problem=_with_data_seed(problem, self.rng.randrange(2**31))
                        if own_data
                        else problem,
                    )
                    for _ in range(NEW)
                ]
                yield SeedGroup(f"{family.algorithm} on {problem}", runs, fresh)

    def _make_run_task(self, plans: Sequence[PlannedRun]) -> Task:
        """Return a task that executes runs, in a process without archived code if possible."""
        if all(map(has_builtin_problem_and_measures, plans)):
            own = any(plan.user_selectors for plan in plans)
            return Task(run_plans, (list(plans), self.code_folder if own else ""), self.seconds)
        return self.make_confined_task(run_plans, list(plans))

    def _rerun_task(
        self, entries: Sequence[StoredRun], description: str, *, needed: bool
    ) -> CheckTask:
        task = self._make_run_task(
            [plan_of_stored_run(entry, data_files(self.manifest)) for entry in entries]
        )
        return CheckTask(task, partial(self._compare_reruns, entries), description, needed)

    def _compare_reruns(self, entries: Sequence[StoredRun], answers: Sequence[Any]) -> None:
        """Compare recomputed runs with the stored ones, and record deviations."""
        environment = dict(self.engine.environment())
        for entry, answer in zip(entries, answers, strict=True):
            run, digest = parse_run_and_problem_digest(answer)
            self.outcome.runs[0] += 1
            same = self.same_versions and dict(entry.environment) == environment
            exact = same and entry.run.status != Status.ERROR  # its words may differ
            problem = replace_file_by_module(entry.run.problem)
            if self.manifest["problems"].get(problem, digest) != digest:
                reads = ", ".join(data_files(self.manifest))
                which = f" (its author's code reads {reads})" * bool(reads)
                self.outcome.add_deviation(f"the data of {problem} differ on this machine{which}")
            elif differs := first_difference_name(entry.run, run, exact=exact):
                now, before = (run.counts.as_dict().get(differs, "") for run in (run, entry.run))
                numbers = f" ({now}, in the archive {before})" if now != before else ""
                label = f"{run.algorithm} on {run.problem}, seed {run.seed},"
                self.outcome.add_deviation(f"the run of {label} differs here in {differs}{numbers}")

    def _compare_runs_with_new_seeds(self, cell: SeedGroup, answers: Sequence[Any]) -> None:
        """Test whether runs with new seeds are distributed like stored runs of their setting."""
        new = [parse_run_and_problem_digest(answer)[0] for answer in answers]
        old = [entry.run for entry in cell.stored_runs]
        self.outcome.compare_distributions(cell.name, [*map(_numbers, old)], [*map(_numbers, new)])


def _numbers(run: Run) -> dict[str, float]:
    return {"iterations": run.iterations, **run.counts.as_dict()}


def _with_data_seed(problem: str, seed: int) -> str:
    """Return a problem's selector with another data seed, or unchanged if it states no seed."""
    if ":" in problem.partition("[")[0] or "seed=" not in problem:
        return problem
    selector = Selector.parse(problem)
    if "seed" not in selector.parameters:
        return problem
    return str(Selector(selector.name, {**selector.parameters, "seed": seed}))


def plan_of_stored_run(entry: StoredRun, archived_file_names: Collection[str] = ()) -> PlannedRun:
    """Return the plan of a stored run, with MODULE:NAME in place of FILE.py:NAME.

    Raises
    ------
    InputError
        If the run has no plan, or that of another run, or names a file that the archive lacks.
    """
    plan = replace_files_by_modules(PlannedRun.from_json(entry.notes.get("plan", {})))
    if portable_identity(plan) != portable_identity(entry.run):
        raise InputError(f"the run {entry.key} is stored together with the plan of another run.")
    for name in [*values_like_file_names(plan.problem), *values_like_file_names(plan.algorithm)]:
        if PurePath(name).as_posix() not in archived_file_names:
            raise InputError(f"the run {entry.key} names the file {name}, which the archive lacks.")
    return plan


def describe_denied_rights(engine: Engine) -> str:
    """Return a sentence on what archived code cannot do on this machine, by a trial process."""
    with TemporaryDirectory(prefix="pfbench-archive-") as folder:
        (result,) = engine.do([Task(confinement_sentence, (), 60.0, "archive", folder)])
    return str(result.value) if result.status == "done" else f"nothing: {result.reason}"
