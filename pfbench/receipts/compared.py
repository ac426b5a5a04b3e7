"""A receipt of a comparison put to the test: a share of its runs made again, and new seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pfbench.base.errors import PfbenchError
from pfbench.receipts.again import AT_ONCE, Asked, Checked, How, answered, other_apart
from pfbench.receipts.comparison import RUNS, Drawn, drawn
from pfbench.runs.engines.engine import one_thread
from pfbench.runs.engines.making import make, memory_limited
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.resolve import resolve
from pfbench.runs.rerun import BY_THE_CLOCK, MOST_MEMORY, TOLERANCE, difference_of
from pfbench.runs.shipped import Shipped, read_shipped, thinned
from pfbench.runs.storage.archive import SPEC
from pfbench.runs.storage.content import Entry

NEW = 20
"""Runs of new seeds, of each cell."""


@dataclass(frozen=True)
class Suite:
    """A suite as the checker has it, with the runs that are shipped with it."""

    text: str
    shipped: Shipped


def check(
    folder: Path, about: Mapping[str, Any], how: How, ours: Suite | None
) -> tuple[Checked, Mapping[str, str]]:
    """Make a receipt's content again as far as the time suffices.

    Parameters
    ----------
    folder, about
        The receipt, unpacked, and its ``comparison.json``.
    how
        See `How`.
    ours
        The suite of that name, if pfbench has one.

    Returns
    -------
    Checked, mapping of str to str
        What became of it, and its pages, drawn anew.
    """
    found, read = Checked(), list[Drawn | str]()
    seeds = [how.rng.randrange(2**31) for _ in range(NEW)]
    first = Asked(how.task(_drawn, folder, about, seeds), read.append, "its pages")
    answered([first], how, found)
    there = read[0] if read else ""
    if isinstance(there, str):
        found.off += [there] if there else []
        return found, {}
    known = read_shipped(folder / RUNS).runs
    unknown = list(there.others)
    if ours is not None:
        if (folder / SPEC).read_text("utf-8") != ours.text:
            found.off.append(f"the suite {about['suite']} of pfbench is another one")
        unknown = [plan for plan in there.others if plan not in ours.shipped.runs]
        found.off += _otherwise(there, known, ours.shipped.runs)
        found.shipped = len(there.others) - len(unknown)
    answered(list(_asked(there, known, unknown, found, how)), how, found)
    return found, there.pages


def _otherwise(
    there: Drawn, known: Mapping[PlannedRun, Entry], ours: Mapping[PlannedRun, Entry]
) -> Iterator[str]:
    """Yield the runs of other methods that are not those that are shipped."""
    for plan in there.others:
        if plan in ours:
            right = _kept(ours[plan].run, there.targets, _steps(known[plan].run))
            if what := difference_of(known[plan].run, right, 0.0):
                yield f"the run of {_named(plan)} is not the one that is shipped: {what}"


def _asked(
    there: Drawn,
    known: Mapping[PlannedRun, Entry],
    unknown: Sequence[PlannedRun],
    found: Checked,
    how: How,
) -> Iterator[Asked]:
    """Yield what is asked, what must be known of a receipt first, each in an order drawn."""
    pool = [plan for plan in (*there.mine, *unknown) if known[plan].run.status not in BY_THE_CLOCK]
    found.runs[1] = len(pool)

    def again(plans: Sequence[PlannedRun], what: str, *, needed: bool) -> Asked:
        old = [known[plan].run for plan in plans]
        task = how.task(_made, plans, there.targets, [_steps(run) for run in old])
        return Asked(task, partial(_again, old, plans, found, how.same), what, needed)

    cells = how.mixed(sorted(there.cells))
    first = {
        how.rng.choice([one for one in there.cells[name][0] if one in pool] or pool): name
        for name in cells
    }
    for plan, name in first.items():
        yield again([plan], f"a run of {name}", needed=True)
    alone = {there.cells[name][1][0].problem: name for name in cells}
    for name in alone.values():
        plan = there.cells[name][1][0]
        what = f"the method of {name} in a process of its own"
        yield Asked(how.task(_alone, plan), found.note, what)
    for k, name in enumerate(cells):
        old, new = there.cells[name]
        law = partial(_fresh, [known[plan].run for plan in old], name, found)
        task = how.task(_made, new, there.targets, [()] * len(new))
        yield Asked(task, law, f"new seeds of {name}", not k)
    rest = how.mixed([plan for plan in pool if plan not in first])
    for k in range(0, len(rest), AT_ONCE):
        yield again(rest[k : k + AT_ONCE], "further runs", needed=False)


def _again(
    old: Sequence[Run], plans: Sequence[PlannedRun], found: Checked, same: bool, made: Sequence[Run]
) -> None:
    """Take runs that were made again."""
    for plan, there, here in zip(plans, old, made, strict=True):
        found.runs[0] += 1
        if what := difference_of(there, here, 0.0 if same else TOLERANCE):
            now, before = (run.counts.as_dict().get(what, "") for run in (here, there))
            numbers = f" {now} for {before}" if now != before else ""
            found.note(f"the run of {_named(plan)} made again has {what}{numbers}")


def _fresh(old: Sequence[Run], name: str, found: Checked, made: Sequence[Run]) -> None:
    """Take runs of new seeds, which must have the law of the old ones."""
    found.fresh(name, list(map(_spent, old)), list(map(_spent, made)))


def _spent(run: Run) -> dict[str, float]:
    return {"iterations": run.iterations, **run.counts.as_dict()}


def _named(plan: PlannedRun) -> str:
    return f"{plan.algorithm} on {plan.problem}, seed {plan.seed},"


# --- in a process that can be killed --------------------------------------------------------------


def _drawn(folder: Path, about: Mapping[str, Any], seeds: Sequence[int]) -> Drawn | str:
    try:
        return drawn(folder, about, seeds)
    except PfbenchError as error:
        return str(error).rstrip(".")


def _made(
    plans: Sequence[PlannedRun], targets: Sequence[Any], steps: Sequence[Sequence[int]]
) -> list[Run]:
    """Make runs; of their traces keep some steps, and what tables follow from."""
    with memory_limited(MOST_MEMORY), one_thread():
        return [_kept(make(plan), targets, at) for plan, at in zip(plans, steps, strict=True)]


def _kept(run: Run, targets: Sequence[Any], at: Sequence[int]) -> Run:
    needed = {*_steps(thinned(run, targets, 0)), *at}
    step = run.columns.index("iteration")
    return replace(run, rows=[row for row in run.rows if row[step] in needed])


def _steps(run: Run) -> tuple[int, ...]:
    """Return the iterations of which the trace of a run has a row."""
    step = run.columns.index("iteration")
    return tuple(row[step] for row in run.rows)


def _alone(plan: PlannedRun) -> str:
    """Return in what a method differs where nothing of the problem is in its memory."""
    there = resolve(plan)
    if there.fit is None:
        return ""
    problem, algorithm = there.on.problem, there.fit.algorithm
    return other_apart(lambda: (problem, algorithm), plan.seed, f"the method {plan.algorithm}")
