"""``pfbench compare``: compare one method with the built-in methods on a suite of problems."""

import gc
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.status import Status
from pfbench.cli import options, terminal
from pfbench.cli.catalogue import resolve_spec_path, suite_spec_paths
from pfbench.cli.formatting import format_plural
from pfbench.cli.options import argument, flag, option
from pfbench.cli.report_command import OUTPUT, render_table
from pfbench.cli.report_sources import RunExecution, report_contents
from pfbench.cli.terminal import section_with_title

if TYPE_CHECKING:
    from pfbench.reporting.comparison import Comparison
    from pfbench.reporting.report import Report
    from pfbench.reporting.report_contents import ReportSummary
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec
    from pfbench.runs.storage.serialization import StoredRun
    from pfbench.runs.suite_archive import SuiteArchive


def compare(
    method: str | None = argument(
        "METHOD", "A known method, or your own as FILE.py:NAME; parameters in brackets."
    ),
    suite: str = option(
        "SUITE",
        "quick, standard, norms (`pfbench list suites`), or the SPEC.toml of a suite.",
        default="quick",
    ),
    output: Path = option("DIR", "Folder of the report.", "--output", "-o", default=OUTPUT),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    rerun: bool = flag("Run all methods on this machine, so that times are comparable.", "--rerun"),
    text: bool = flag("Print the result, and write no report.", "--text"),
    problem: str | None = option(
        "PROBLEM",
        "Compare on this problem: pfbench runs every method of the suite that fits the problem.",
        "--problem",
        "-p",
    ),
    price: str | None = option(
        "PRICE", "Cost weights of the calls, as in sfo=1,lo=20, for a comparison by total cost."
    ),
    grid: bool = flag("List the tuned parameters of each method; compare nothing.", "--grid"),
    as_json: bool = options.AS_JSON,
) -> None:
    """Compare a method with the catalogue, on a suite of problems.

    Only the method is run. Missing required parameters take the suite's values, and are tuned by
    the same rule as all others. The runs of the other methods are shipped with the suites of
    pfbench: their counts hold on every machine. On a suite or a problem of your own all methods are
    run here; the number of runs is printed first. The output ends with the problems on which the
    method is better or worse.
    """
    from pfbench.reporting import check_report_can_be_written
    from pfbench.runs.planning.name_resolution import unquote_selector
    from pfbench.runs.planning.suite import add_candidate
    from pfbench.runs.storage.store import Store

    options.check_engine_options(jobs, None)
    if method is None and not grid:
        raise InputError("give a METHOD.")
    spec, path = load_suite(suite, problem, price)
    if method is not None:
        method = unquote_selector(method)
        terminal.announce_imports([method])
    if grid or method is None:
        _show_grids(spec, method, as_json=as_json)
        return
    if not text:
        check_report_can_be_written(output)
    candidate = add_candidate(spec, method)  # raises, if it must, before a store is made
    shipped = None if rerun or problem is not None else path
    with closing(options.make_engine(jobs, None)) as engine:
        execution = RunExecution(Store(store), engine, quiet=as_json)
        report, candidate_outcomes = compare_on_suite(*candidate, method, shipped, execution)
    _report_comparison(report, None if text else output, as_json=as_json)
    terminal.exit_if_failed(candidate_outcomes, ", marked in the report")


def load_suite(suite: str, problem: str | None, price: str | None) -> "tuple[Spec, Path]":
    """Return a suite and the path of its file.

    If `problem` is given, the suite is restricted to this problem. If `price` is given, methods are
    ranked by their total cost at these prices of oracle calls. User-defined code in the suite is
    announced, then imported.
    """
    from pfbench.runs.planning.name_resolution import select_problem, unquote_selector
    from pfbench.runs.planning.spec import load_spec
    from pfbench.runs.planning.suite import adapt_suite_to_problem

    if problem is None:
        path = resolve_spec_path("suite", suite, suite_spec_paths())
        spec = load_spec(path)
        terminal.announce_imports(spec.user_selectors, path)
    elif suite not in suite_spec_paths():
        raise InputError(
            f"--problem works only with a built-in suite ({', '.join(suite_spec_paths())}): leave "
            f"out --problem, and add the problem to the file {suite}."
        )
    else:
        problem = unquote_selector(problem)
        terminal.announce_imports([problem])
        normed = getattr(select_problem(problem), "norm", None) is not None
        path = suite_spec_paths()["norms" if normed and suite == "quick" else suite]
        spec = adapt_suite_to_problem(path, problem)
    return spec if price is None else _set_price(spec, price), path


def _set_price(spec: "Spec", price: str) -> "Spec":
    """Return the suite, changed to rank methods by the total cost of their oracle calls."""
    from pfbench.reporting.runtimes import KNOWN_COSTS
    from pfbench.runs.planning.published import parse_unit_costs

    weights = parse_unit_costs("--price", price, KNOWN_COSTS)
    if "products" in weights and any("lmo_products" not in s.measures for s in spec.studies):
        raise InputError(
            f"the suite {spec.name} does not measure lmo_products, which --price {price} needs: "
            "name a suite that does, e.g. norms."
        )
    return spec.map_studies(lambda study: replace(study, price=weights))


@dataclass(frozen=True)
class SuiteRuns:
    """Runs of a comparison: shipped with the suite, in the store, or executed on this machine.

    Attributes
    ----------
    shipped
        The runs that are shipped with the suite; None if all methods are run here.
    """

    shipped: "SuiteArchive | None"
    execution: RunExecution

    @property
    def _archive_runs(self) -> "Mapping[PlannedRun, StoredRun]":
        return self.shipped.runs if self.shipped else {}

    def find_existing(self, plans: "Sequence[PlannedRun]") -> "set[PlannedRun]":
        """Return the planned runs that are shipped or in the store."""
        from pfbench.runs.execute import predict_origins

        lacking = [plan for plan in plans if plan not in self._archive_runs]
        store, engine = self.execution.store, self.execution.engine
        origins = predict_origins(lacking, store.folder, engine) if lacking else {}
        return {plan for plan in plans if origins.get(plan) != "made"}

    def fetch(
        self, title: str, plans: "Sequence[PlannedRun]", candidate_plans: "Collection[PlannedRun]"
    ) -> "list[PlanOutcome]":
        """Return the outcomes of planned runs; the shipped runs of the candidate are not used."""
        from pfbench.runs.execute import PlanOutcome

        shipped = self._archive_runs
        lacking = [plan for plan in plans if plan not in shipped or plan in candidate_plans]
        executed = self.execution.run(title, lacking) if lacking else []
        outcomes = {outcome.plan: outcome for outcome in executed}
        return [outcomes.get(plan) or PlanOutcome(plan, shipped[plan], "shipped") for plan in plans]

    def describe_origins(
        self, spec: "Spec", outcomes: "Sequence[PlanOutcome]", left_out: Sequence[str]
    ) -> list[str]:
        """Return sentences on which methods have no shipped runs, and which are left out."""
        from pfbench.runs.planning.suite import suite_labels, suite_runs

        away = {outcome.plan for outcome in outcomes if outcome.origin == "shipped"}
        rest = [label for label in suite_labels(spec) if not suite_runs(spec, [label]) <= away]
        sentences = []
        if away and self.shipped:
            runs = f"{format_plural(len(away), 'run')} of pfbench {self.shipped.created}"
            sentences.append(
                f"Archived rows: all but {', '.join(rest)} ({runs}). Counts compare across "
                "machines, seconds do not: --rerun executes all runs here."
            )
        if left_out:
            sentences.append(
                f"Left out, without runs here: {', '.join(left_out)}; --rerun executes them."
            )
        return sentences


def compare_on_suite(
    spec: "Spec", labels: tuple[str, ...], method: str, shipped: Path | None, runner: RunExecution
) -> "tuple[Report, list[PlanOutcome]]":
    """Compare a method with the other methods of a suite; return the report, and its outcomes.

    The method is tuned if its parameters require it. Missing runs of the method are executed.
    Methods whose runs are not shipped are left out; without shipped runs, they are executed.

    Parameters
    ----------
    spec, labels
        The suite with the method, and the labels of the method, as `add_candidate` returns them.
    method
        Selector of the method.
    shipped
        Path of the suite whose shipped runs are used; if None, all methods are run here.

    Raises
    ------
    InputError
        If the method fits no problem of the suite.
    """
    from pfbench.reporting.report import collect_report
    from pfbench.runs.execute import resolve_tuning
    from pfbench.runs.planning import suite as suites

    suite = spec.name
    runs = SuiteRuns(None if shipped is None else _load_suite_archive(shipped), runner)
    if not runner.quiet:
        _announce_seed_warning_and_run_count(spec, labels, runs)
    title = f"{labels[0]} on {suite}"
    spec = replace(spec, name=re.sub(r"[^A-Za-z0-9.-]+", "-", title).strip("-.")[:100], title=title)
    existing = suites.suite_labels(spec)
    if runs.shipped:
        spec = suites.drop_incomplete_methods(spec, labels, runs.find_existing)
    spec = resolve_tuning(
        spec,
        lambda spec, plans: runs.fetch(
            f"{spec.name}, search", plans, suites.tuning_trial_runs(spec, labels)
        ),
    )
    if runs.shipped:
        spec = suites.drop_incomplete_methods(spec, labels, runs.find_existing)
    ordered = tuple(sorted(spec.study.algorithms, key=lambda entry: entry.label not in labels))
    spec = spec.map_studies(lambda study: replace(study, algorithms=ordered))
    own_plans = suites.suite_runs(spec, labels)
    outcomes = runs.fetch(spec.name, spec.runs(), own_plans)
    own = [outcome for outcome in outcomes if outcome.plan in own_plans]
    refused = {o.plan for o in outcomes if o.entry.run.status == Status.REFUSED}
    if own_plans <= refused:
        raise InputError(
            f"{method} fits no problem of the suite {suite}; on the first one the run was "
            f"refused: {own[0].entry.run.stop_reason.rstrip('.')}. Choose another suite, or a spec "
            "file, with --suite."
        )
    left_out = [label for label in existing if label not in suites.suite_labels(spec)]
    rest = [label for label in spec.study.labels if label not in labels]
    unfit = [label for label in rest if suites.suite_runs(spec, [label]) <= refused]
    spec = suites.drop_methods(spec, unfit)
    outcomes = [outcome for outcome in outcomes if outcome.plan in spec.targets]
    texts = [spec.introduction]
    texts += (
        [f"Methods left out, as they fit no problem here: {', '.join(unfit)}."] if unfit else []
    )
    texts += runs.describe_origins(spec, outcomes, left_out)
    spec = replace(spec, introduction="\n\n".join(texts))
    return replace(collect_report(spec, outcomes), candidate_labels=labels), own


def _load_suite_archive(path: Path) -> "SuiteArchive | None":
    """Return the archive of runs next to a suite's file, None if there is no archive."""
    from pfbench.runs.storage.entry_list import gc_disabled
    from pfbench.runs.suite_archive import SUFFIX, read_suite_archive

    neighbour = path.with_name(path.stem + SUFFIX)
    if not neighbour.exists():
        return None
    with gc_disabled():
        archive = read_suite_archive(neighbour)
    gc.freeze()  # its cells live to the end: to look for garbage among them takes a second
    return archive


def _announce_seed_warning_and_run_count(
    spec: "Spec", labels: tuple[str, ...], runs: SuiteRuns
) -> None:
    """Print a warning if the seeds are too few, and print how many runs will be executed."""
    from pfbench.reporting.significance import seed_warning
    from pfbench.runs.planning.suite import suite_labels

    methods = suite_labels(spec)
    family = f"tell {labels[-1]} from no other in a family of"
    if few := seed_warning(len(spec.study.seeds), len({*methods} - {*labels}), family):
        terminal.print_note(f"{spec.name}: {few}")
    if runs.shipped is None:
        plans = [*spec.search_runs(), *spec.runs()]
        lacking = len(plans) - len(runs.find_existing(plans))
        if lacking:
            tuned = ", and those that the search chooses" if spec.study.tune else ""
            number = f"{format_plural(lacking, 'run')} of {format_plural(len(methods), 'method')}"
            terminal.print_note(f"{spec.name}: {number} to execute or to refuse{tuned}")


def _report_comparison(report: "Report", output: Path | None, *, as_json: bool) -> None:
    """Print on which problems the method is faster or slower than others; write the report."""
    from pfbench.reporting.candidate_front import duels_with_best_as_json
    from pfbench.reporting.tuning_effects import choices_as_json

    summary, comparison = write_comparison(report, output)
    labels, spec = report.candidate_labels, report.spec
    comparisons = [
        row for label in labels for row in duels_with_best_as_json(comparison, label, labels)
    ]
    if as_json:
        terminal.print_json(
            {
                "name": spec.name,
                "runs": len(spec.runs()),
                "sentences": list(summary.sentences),
                "comparisons": comparisons,
                "chosen": choices_as_json(spec.study, labels),
                "files": [str(file) for file in summary.files],
            }
        )
        return
    first, *further = summary.sentences
    failed = section_with_title("what failed", *further) if further else None
    tables = map(render_table, summary.tables)
    terminal.print_parts(first, *tables, failed, *map(str, summary.files))


def write_comparison(report: "Report", output: Path | None) -> "tuple[ReportSummary, Comparison]":
    """Return a summary of the comparison, and the `Comparison` by the first cost of oracle calls.

    The price is the cost of oracle calls by which methods are compared. A report is written if
    `output` is given.
    """
    from pfbench.reporting.report_contents import ReportSummary
    from pfbench.reporting.writer import write_contents

    contents = report_contents(report)
    front = contents.parts[0].front
    if front is None:
        raise AssertionError("the report has no section about the method under test")
    tables = filter(None, [front.calls_table, contents.parts[0].candidate_tuning_table])
    files = [] if output is None else write_contents(contents, output)
    sentences = front.outcome_counts_sentence, *front.candidate_failure_texts
    return ReportSummary(sentences, tuple(tables), tuple(files)), front.comparisons[0]


def _show_grids(spec: "Spec", method: str | None, *, as_json: bool) -> None:
    """Print the parameters that are tuned for each method of a suite, and for the candidate."""
    from pfbench.runs.planning.suite import add_candidate

    if method is not None:
        spec = add_candidate(spec, method)[0]
    tune = spec.study.tune
    if tune is None:
        raise InputError(f"the suite {spec.name} has no table [tune]: name a suite that has it.")
    grids: list[dict[str, Any]] = [
        {
            "algorithm": method.tuned_label,
            "selector": method.selector,
            "grid": {name: list(values) for name, values in method.grid.items()},
            "trials": len(method.grid_points(tune.trials)),
        }
        for method in tune.methods
    ]
    record = {"name": spec.name, "candidate": spec.candidate, "grids": grids}
    terminal.show_record(record, as_json=as_json)
