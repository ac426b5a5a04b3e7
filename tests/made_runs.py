"""Runs made of the numbers that a test is about."""

import json
import math
from dataclasses import replace

from stored import run_of_rows

from pfbench.base.counts import Budget, Counts
from pfbench.reporting.page_data import figure_data_json
from pfbench.reporting.panels import compute_figure
from pfbench.reporting.results import RunGroup, SettingResults, StudyResults
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.tune import StudySetting


def run(values, sfo=None, *, lo=None, seed=0, status="finished", spent=None, algorithm="a"):
    """A run whose measure m takes these values after so many SFO and LO calls.

    `spent` is the SFO of the whole run, where that is more than the last row's.
    """
    sfo = list(range(len(values))) if sfo is None else sfo
    lo = [0] * len(values) if lo is None else lo
    last = (sfo[-1] if sfo else 0) if spent is None else spent
    rows = [
        (k, *Counts(sfo=s, lo=a).as_dict().values(), s / 10, v)
        for k, (s, a, v) in enumerate(zip(sfo, lo, values, strict=True))
    ]
    counts = Counts(sfo=last, lo=lo[-1] if lo else 0)
    fields = {"algorithm": algorithm, "seed": seed, "status": status, "counts": counts}
    return run_of_rows(rows, ("m",), seconds=last / 10, **fields)


def with_run(outcome, **changes):
    """The outcome of a plan with another run, which differs in these fields."""
    entry = outcome.entry
    return replace(outcome, entry=replace(entry, run=replace(entry.run, **changes)))


def figure_data(found, labels, first=None):
    """What the page of a study gets for its figure."""
    spec = Spec("s", "S", "", (found.study,))
    drawn = compute_figure(found) if first is None else first
    return json.loads(figure_data_json(spec, [(found, drawn)], labels))


def plan(budget=None, seed=0, stop=None):
    return PlannedRun("p", "a", seed, ("m",), 1, budget, stop)


# --- a study of methods of which every number is known ---

TARGETS = Stop("m", 4.0), Stop("m", 1.0)
SEEDS = range(8)


def descending(speed, budget=1000, seed=0, **more):
    """A run that halves m each so many SFO, from 16; it stops at 1, or before the budget."""
    steps = [(16 / 2**k, k * speed + (seed if k else 0)) for k in range(12)]
    within = [(m, s) for m, s in steps if s <= budget]
    last = next((k for k, (m, _) in enumerate(within) if m <= 1), None)
    shown = within if last is None else within[: last + 1]
    status = "budget" if last is None else "target"
    return run([m for m, _ in shown], [s for _, s in shown], seed=seed, status=status, **more)


def group(label, runs, budget=1000, panel="easy"):
    plans = tuple(plan(Budget(sfo=budget), one.seed, TARGETS[-1]) for one in runs)
    return RunGroup("p", panel, label, label, plans, tuple(runs))


def fast(budget=1000):
    return group("fast", [descending(20, budget, seed) for seed in SEEDS], budget)


def slow():
    return group("slow", [descending(60, seed=seed) for seed in SEEDS])


def slower():
    return group("slower", [descending(60.5, seed=seed) for seed in SEEDS])


def short(budget):
    """It would reach the hardest target with 1200 SFO calls."""
    return group("short", [descending(300, budget, seed) for seed in SEEDS], budget)


def idle():
    return group("idle", [run([16.0], [0], seed=seed) for seed in SEEDS])


def failing():
    broken = [run([16, 2], [0, 50], seed=seed, status="diverged") for seed in SEEDS]
    return group("failing", broken)


def study_of(labels, targets, problems=("p",), setting="", **fields):
    """A study of m, of algorithms with these labels."""
    return Study(
        key="",
        title="Made",
        introduction="",
        problems=tuple(LabelledSelector(problem, "p") for problem in problems),
        algorithms=tuple(LabelledSelector(label, label) for label in labels),
        settings=(StudySetting(setting, {}),),
        recorded_measures=("m",),
        targets=targets,
        **({"measures": ("m",)} | fields),
    )


def results(*groups, targets=TARGETS, **fields):
    """A study of these groups, which may differ in some of its fields."""
    labels = [one.label for one in groups]
    study = study_of(labels, targets, setting="easy", **{"seeds": tuple(SEEDS)} | fields)
    return StudyResults(study, (SettingResults("p", "easy", "easy", tuple(groups)),))


def results_of(panels, targets=TARGETS, budgets=None):
    """A study of these runs: by problem and algorithm, by seed; a label may have a budget."""
    labels = list(dict.fromkeys(label for groups in panels.values() for label in groups))
    most = max(len(runs) for made in panels.values() for runs in made.values())
    study = study_of(labels, targets, panels, seeds=tuple(range(most)))

    def group_of(problem, label, runs):
        runs = tuple(replace(one, seed=seed) for seed, one in enumerate(runs))
        plans = tuple(plan((budgets or {}).get(label), one.seed) for one in runs)
        return RunGroup(problem, "", label, label, plans, runs)

    found = (
        SettingResults(
            problem, "", problem, tuple(group_of(problem, *item) for item in groups.items())
        )
        for problem, groups in panels.items()
    )
    return StudyResults(study, tuple(found))


# --- runs that diverge ---

HUGE = 1.7e308
WILD = {
    "to 1e300": (1.0, 1e5, 1e150, 1e300),
    "to the largest number": (1.0, 1e155, HUGE, HUGE),
    "to infinity": (1.0, 1e155, 1e308, math.inf),
    "to NaN": (1.0, 1e20, math.nan, math.nan),
    "to -1e300": (1.0, -1e5, -1e150, -1e300),
    "to both sides": (1.0, HUGE, -HUGE, HUGE),
    "within the least numbers": (1e-310, 5e-324, 0.0, 1e-320),
}
"""Values of a measure along a run that diverges, or of extreme size."""
