"""Data for reports: executed runs of specs, runs in archives and stores, and claims."""

import gc
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pfbench.base.errors import ErrorCollector, InputError
from pfbench.cli import terminal
from pfbench.cli.catalogue import MAIN_REPORT, report_spec_paths, resolve_spec_path
from pfbench.cli.formatting import format_plural
from pfbench.cli.progress import StepProgress

if TYPE_CHECKING:
    from pfbench.reporting.report import RateCurve, Report
    from pfbench.reporting.report_contents import ReportContents
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec
    from pfbench.runs.storage.store import Store
    from pfbench.verification.claim import Claim


@dataclass(frozen=True)
class RunExecution:
    """Execution of the planned runs that a store lacks, with progress on the terminal.

    Attributes
    ----------
    quiet
        Whether nothing is printed.
    recomputed_statuses
        Statuses of stored runs that are executed again.
    """

    store: "Store"
    engine: "Engine"
    quiet: bool = False
    recomputed_statuses: Collection[str] = ()

    def tune(self, spec: "Spec") -> "Spec":
        """Tune the methods of a spec, and return the spec with the chosen parameters."""
        from pfbench.runs.execute import resolve_tuning

        return resolve_tuning(spec, lambda _, plans: self.run(f"{spec.name}, search", plans))

    def run(
        self, title: str, plans: "Sequence[PlannedRun]", next_phase: str = ""
    ) -> "list[PlanOutcome]":
        """Execute the runs that the store lacks, and return the outcomes of all runs.

        `next_phase` is a phrase on what follows these runs.
        """
        from pfbench.runs.execute import execute

        def start(_: object) -> None:
            if not self.quiet:  # names and parameters are right, and nothing is run yet
                terminal.print_note(f"{title}: {format_plural(len(plans), 'run')} planned")
            steps.start_clock()

        slots = self.engine.slots
        progress = StepProgress(title, len(plans), "runs", quiet=self.quiet, slots=slots)
        with terminal.exit_on_interrupt("run", Path(self.store.folder)), progress as steps:
            outcomes = execute(
                plans,
                self.store,
                engine=self.engine,
                progress=steps.count_run,
                on_missing=start,
                recomputed_statuses=self.recomputed_statuses,
            )
        if not self.quiet:
            terminal.print_note(f"{title}: {steps.format_step_counts()}{next_phase}")
        return outcomes


def make_reports(
    names: Sequence[str], folder: Path, engine: "Engine", *, quiet: bool = False
) -> "tuple[list[Report], list[PlanOutcome]]":
    """Return the reports of specs, given by path or name, and the outcomes of all their runs.

    Runs that the store lacks are executed. Without names, only the main report is made.
    """
    from pfbench.reporting import collect_report
    from pfbench.runs.planning.spec import load_spec
    from pfbench.runs.storage.store import Store

    spec_paths, paths = report_spec_paths(), dict[Path, Path]()
    for name in names or [MAIN_REPORT]:
        path = resolve_spec_path("report", name, spec_paths)
        paths.setdefault(path.resolve(), path)
    errors, specs = ErrorCollector(), list["Spec"]()
    for path in paths.values():
        with errors():
            specs.append(load_spec(path))
    errors.raise_collected()
    for name, times in Counter(spec.name for spec in specs).items():
        if times > 1:
            raise InputError(f"two specs have the name {name}: rename or leave out one.")
    execution = RunExecution(Store(folder), engine, quiet)
    for spec in specs:
        terminal.announce_imports(spec.user_selectors, spec.path)
    reports: list[Report] = []
    outcomes: list[PlanOutcome] = []
    for planned in specs:
        spec = execution.tune(planned)
        runs = execution.run(spec.name, spec.runs(), next_phase="; drawing")
        reports.append(collect_report(spec, runs))
        outcomes += runs
    return reports, outcomes


def read_store(folder: Path, problems: Sequence[str], algorithms: Sequence[str]) -> "Report":
    """Return a report on the runs in a store; raise an error if the store does not exist."""
    from pfbench.reporting.stores import load_stored_report
    from pfbench.runs.storage.entry_list import gc_disabled
    from pfbench.runs.storage.store import Store

    store = Store(folder, make=False)
    with gc_disabled():
        report = load_stored_report(store, "store", problems=problems, algorithms=algorithms)
    gc.freeze()  # of very many runs: to look for garbage among them takes long
    return report


def report_contents(report: "Report") -> "ReportContents":
    """Return the computed contents of a report, with the current time, command and commit."""
    from pfbench.reporting.report_contents import make_contents

    return make_contents(
        report, terminal.current_command_line(), checkout_commit(), datetime.now(UTC)
    )


def checkout_commit() -> str | None:
    """Return the git commit of the checkout that pfbench runs from; None without a checkout.

    A ``+`` is appended if files differ from that commit.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


# --- rates ----------------------------------------------------------------------------------------

_MEASURES = {
    "V <= eps": ("fw_gap", 1.0),
    "|G|^2 <= eps": ("gradient_mapping_sq", 1.0),
    "|G| <= eps": ("gradient_mapping_sq", 2.0),
    "f - min f <= eps": ("suboptimality", 1.0),
}
"""For each criterion: its measure in the trace, and p if the criterion is measure <= eps^p."""


def add_published_rates(report: "Report") -> "Report":
    """Return a report with the published rates of its methods."""
    from pfbench.claims.catalogue import claims_about

    methods = dict.fromkeys(group.algorithm for results in report.results for group in results)
    claims = (claim for method in methods for claim in claims_about(method))
    return replace(report, rates=tuple(rate for c in claims for rate in _claim_rate_lines(c)))


def _claim_rate_lines(claim: "Claim") -> "Iterator[RateCurve]":
    """Yield the convergence rates that a claim states, as lines for figures.

    If eps^-a calls reach accuracy eps, the measure decreases as calls^(-1/a). Rates that need
    convexity are left out, as a report does not know whether its problems are convex.
    """
    from pfbench.reporting.report import RateCurve

    if claim.complexity is None or any("convex" in assumed for assumed in claim.assumptions):
        return
    measure, of_eps = _MEASURES[claim.complexity.criterion]
    for kind, order in claim.complexity.orders.items():
        if order.eps > 0.0:
            text = f"{claim.name}, {order} {kind} to {claim.complexity.criterion}"
            power = of_eps / order.eps
            yield RateCurve(claim.name, claim.method, measure, kind.lower(), power, text)
