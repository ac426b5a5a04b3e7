"""``pfbench compare``: one method against the catalogue, on a suite of problems."""

import gc
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pfbench import __version__
from pfbench.base.errors import InputError
from pfbench.base.files import check_writable
from pfbench.cli import options
from pfbench.cli.catalogue import resolve_spec_path, suite_spec_paths
from pfbench.cli.formatting import format_bytes, format_plural
from pfbench.cli.grids import show_grids
from pfbench.cli.options import argument, flag, option
from pfbench.cli.report_command import OUTPUT, checkout_commit, current_command_line
from pfbench.cli.spec_runs import make_runs, resolve_search
from pfbench.cli.terminal import announce_imports, exit_if_failed, print_note
from pfbench.cli.terminal_tables import ReportedFact, print_parts, section_with_title, show_facts

if TYPE_CHECKING:
    from pfbench.reporting.comparison import Comparison
    from pfbench.reporting.report import SuiteComparison
    from pfbench.reporting.report_contents import ReportSummary
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec
    from pfbench.runs.storage.store import Store
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
    text: bool = flag("Write no file.", "--text"),
    problem: str | None = option(
        "PROBLEM",
        "Your problem instead of the suite's: every suitable method of the suite is run here.",
        "--problem",
        "-p",
    ),
    archive: Path | None = option(
        "FILE", "Compare nothing; run the suite's own methods, and write the runs to this archive."
    ),
    price: str | None = option(
        "PRICE", "Cost weights of the calls, as in sfo=1,lo=20, for a comparison by total cost."
    ),
    receipt: Path | None = option("FILE.zip", "Now `pfbench archive make`.", hidden=True),
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
    from pfbench.runs.planning.candidate import add_candidate
    from pfbench.runs.planning.plugin_names import expand_plugin_name
    from pfbench.runs.storage.store import Store

    options.check_engine_options(jobs, None)
    if receipt is not None:
        raise InputError(
            f"--receipt is now `pfbench archive make METHOD --suite {suite} -o {receipt}`."
        )
    if problem is not None and archive is not None:
        raise InputError("--problem cannot be combined with --archive: remove one.")
    if not grid and (method is None) == (archive is None):
        raise InputError("give a METHOD, or --archive FILE.")
    spec, path = load_suite(suite, problem, price)
    if grid:
        show_grids(spec, method, as_json=as_json)
        return
    if method is not None:
        method = expand_plugin_name("algorithm", method)
        announce_imports([method])
        add_candidate(spec, method)  # refuses it, where it must be, before any work
    retained = Store(store)
    with closing(options.make_engine(jobs, None)) as engine:
        if archive is not None:
            _write_suite_archive(spec, archive, retained, engine, as_json=as_json)
        elif method is not None:
            if not text:
                check_report_can_be_written(output)
            shipped = None if rerun or problem is not None else load_suite_archive(path)
            compared = compare_on_suite(
                spec, method, ComparisonRunSource(shipped, retained, engine, as_json)
            )
            _report_comparison(compared, None if text else output, as_json=as_json)
            exit_if_failed(compared.candidate_outcomes, ", marked in the report")


def load_suite(suite: str, problem: str | None, price: str | None) -> "tuple[Spec, Path]":
    """Return a suite and its file, on a problem and with cost weights if these are given.

    User-defined code in it is printed, then imported.
    """
    from pfbench.runs.planning.name_resolution import select_problem
    from pfbench.runs.planning.plugin_names import expand_plugin_name
    from pfbench.runs.planning.spec import load_spec
    from pfbench.runs.planning.suite_on_problem import restrict_to_problem

    if problem is None:
        path = resolve_spec_path("suite", suite, suite_spec_paths())
        spec = load_spec(path)
        announce_imports(spec.user_selectors, path)
    elif suite not in suite_spec_paths():
        raise InputError(
            f"--problem needs a suite of pfbench ({', '.join(suite_spec_paths())}): remove it, and "
            f"add the problem to {suite}."
        )
    else:
        problem = expand_plugin_name("problem", problem)
        announce_imports([problem])
        normed = getattr(select_problem(problem), "norm", None) is not None
        path = suite_spec_paths()["norms" if normed and suite == "quick" else suite]
        spec = restrict_to_problem(path, problem)
    return spec if price is None else _set_price(spec, price), path


def compare_on_suite(spec: "Spec", method: str, runs: "ComparisonRunSource") -> "SuiteComparison":
    """Compare a method on a suite; without shipped runs all are executed here."""
    from pfbench.reporting.report import compare_on_suite

    if not runs.quiet:
        _announce_seed_warning_and_run_count(spec, method, runs)
    return compare_on_suite(spec, method, runs, rerun=runs.shipped is None)


def _announce_seed_warning_and_run_count(
    spec: "Spec", method: str, runs: "ComparisonRunSource"
) -> None:
    """Print a warning if the seeds are too few, and the number of runs to execute."""
    from pfbench.reporting.significance import seed_warning
    from pfbench.runs.planning.candidate import add_candidate
    from pfbench.runs.planning.suite import suite_labels

    entry, labels = add_candidate(spec, method)
    rest = len({*suite_labels(entry)} - {*labels})
    few = seed_warning(
        len(spec.study.seeds), rest, f"tell {labels[-1]} from no other in a family of"
    )
    if few:
        print_note(f"{spec.name}: {few}")
    if runs.shipped is None:
        plans = [*entry.search_runs(), *entry.runs()]
        planned_runs = runs.find_cached(plans)
        lacking = [plan for plan in plans if plan not in planned_runs]
        if lacking:
            tuned = ", and those that the search chooses" if entry.study.tune else ""
            methods = format_plural(len(suite_labels(entry)), "method")
            print_note(
                f"{spec.name}: {format_plural(len(lacking), 'run')} of {methods} to execute{tuned}"
            )


def load_suite_archive(path: Path) -> "SuiteArchive | None":
    """Return the runs shipped with a suite, None if there are none."""
    from pfbench.runs.storage.entry_list import gc_disabled
    from pfbench.runs.suite_archive import SUFFIX, read_suite_archive

    neighbour = path.with_name(path.stem + SUFFIX)
    if not neighbour.exists():
        return None
    with gc_disabled():
        archive = read_suite_archive(neighbour)
    gc.freeze()  # its cells live to the end: to look for garbage among them takes a second
    return archive


def _set_price(spec: "Spec", price: str) -> "Spec":
    """Return a suite that compares by total cost."""
    from pfbench.reporting.runtimes import Cost

    weights = dict(Cost.parse(price).weights)
    if "products" in weights and any("lmo_products" not in s.measures for s in spec.studies):
        raise InputError(
            f"--price {price}: the suite {spec.name} does not measure lmo_products: name a suite "
            "that does, e.g. norms."
        )
    return replace(spec, studies=tuple(replace(study, price=weights) for study in spec.studies))


# --- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparisonRunSource:
    """Source of the runs of a comparison: an archive, or this machine."""

    shipped: "SuiteArchive | None"
    store: "Store"
    engine: "Engine"
    quiet: bool

    def find_cached(self, plans: "Sequence[PlannedRun]") -> "set[PlannedRun]":
        """Return the runs that need not be executed."""
        from pfbench.runs.execute import predict_origins

        stored_runs = self.shipped.runs if self.shipped else {}
        planned_runs = [plan for plan in plans if plan not in stored_runs]
        origins = (
            predict_origins(planned_runs, self.store.folder, self.engine) if planned_runs else {}
        )
        return {plan for plan in plans if origins.get(plan) != "made"}

    def fetch(
        self, title: str, plans: "Sequence[PlannedRun]", candidate_plans: "Collection[PlannedRun]"
    ) -> "list[PlanOutcome]":
        """Return the results of runs; those of the method itself are executed here."""
        from pfbench.runs.execute import PlanOutcome

        stored_runs = self.shipped.runs if self.shipped else {}
        away = [plan for plan in plans if plan in stored_runs and plan not in candidate_plans]
        current = [plan for plan in plans if plan not in stored_runs or plan in candidate_plans]
        outcomes = (
            make_runs(title, current, self.store, self.engine, quiet=self.quiet) if current else []
        )
        results = {outcome.plan: outcome for outcome in outcomes}
        results |= {plan: PlanOutcome(plan, stored_runs[plan], "shipped") for plan in away}
        return [results[plan] for plan in plans]

    def provenance(
        self, spec: "Spec", outcomes: "Sequence[PlanOutcome]", left_out: Sequence[str]
    ) -> list[str]:
        """Return the origin of the runs, in words."""
        from pfbench.runs.planning.suite import suite_labels, suite_runs

        away = {outcome.plan for outcome in outcomes if outcome.origin == "shipped"}
        rows = {label: suite_runs(spec, [label]) <= away for label in suite_labels(spec)}
        statement = []
        if away and self.shipped:
            archived = [label for label in rows if rows[label]]
            rest = [label for label in rows if not rows[label]]
            which = ", ".join(archived)
            if len(rest) < len(archived):
                which = f"all but {', '.join(rest)}"
            statement.append(
                f"Archived rows: {which} "
                f"({format_plural(len(away), 'run')} of pfbench {self.shipped.created}). Counts compare "  # noqa: E501
                "across machines, seconds do not: --rerun executes all runs here."
            )
        if left_out:
            statement.append(
                f"Left out, without runs here: {', '.join(left_out)}; --rerun executes them."
            )
        return statement


# --- telling --------------------------------------------------------------------------------------


def _report_comparison(compared: "SuiteComparison", output: Path | None, *, as_json: bool) -> None:
    """Print where a method is better and worse, and write the report."""
    from pfbench.cli.report_text import render_table
    from pfbench.reporting.candidate_front import duels_as_json
    from pfbench.reporting.tuning_effects import choices_as_json

    reported, comparison = write_comparison(compared, output)
    labels, study = compared.labels, compared.report.spec.study
    files = reported.files
    facts = [
        ReportedFact("name", compared.report.spec.name),
        ReportedFact("runs", len(compared.report.spec.runs())),
        ReportedFact("sentences", list(reported.sentences)),
        ReportedFact(
            "comparisons",
            [row for label in labels for row in duels_as_json(comparison, label, labels)],
        ),
        ReportedFact("chosen", choices_as_json(study, labels)),
        ReportedFact("files", [str(file) for file in files]),
    ]
    if as_json:
        show_facts(facts, as_json=True)
        return
    first, *further = reported.sentences
    print_parts(
        first,
        *map(render_table, reported.tables),
        *([section_with_title("what failed", *further)] if further else []),
        *map(str, files),
    )


def write_comparison(
    compared: "SuiteComparison", output: Path | None
) -> "tuple[ReportSummary, Comparison]":
    """Return the comparison of a method in words and tables; write a requested report."""
    from pfbench.reporting.report_contents import ReportSummary, make_contents
    from pfbench.reporting.writer import write_contents

    report = compared.report
    everything = make_contents(report, current_command_line(), checkout_commit(), datetime.now(UTC))
    front = everything.parts[0].front
    if front is None:
        raise AssertionError("the report has no part on the method")
    comparison = front.comparisons[0]
    tables = filter(None, [front.duels_table, everything.parts[0].tuning_choice_table])
    files = [] if output is None else write_contents(everything, output)
    statement = front.outcome_counts_sentence, *front.failure_sentences
    return ReportSummary(statement, tuple(tables), tuple(files)), comparison


# --- the archive ----------------------------------------------------------------------------------


def _write_suite_archive(
    spec: "Spec", path: Path, store: "Store", engine: "Engine", *, as_json: bool
) -> None:
    """Execute all runs of a suite, and write them to an archive."""
    from pfbench.runs.suite_archive import CURVE, write_suite_archive

    check_writable(path, f"--archive {path}")
    search = resolve_search(spec, store, engine, quiet=as_json)
    outcomes = make_runs(search.name, search.runs(), store, engine, quiet=as_json)
    searches = make_runs(f"{spec.name}, search", search.search_runs(), store, engine, quiet=True)
    tuned_for = {stop for study in search.studies if study.tune for stop in study.tune.targets}
    rows = [(outcome, search.targets[outcome.plan], CURVE) for outcome in outcomes]
    rows += [(outcome, tuple(tuned_for), 0) for outcome in searches]
    today = datetime.now(UTC).date().isoformat()
    write_suite_archive(path, rows, text=f"{__version__}, {today}")
    length = path.stat().st_size
    facts = [
        ReportedFact("archive", str(path), "archive"),
        ReportedFact("runs", len(rows), "runs"),
        ReportedFact("bytes", length, "size", format_bytes(length)),
        ReportedFact("statuses", Counter(outcome.entry.run.status for outcome, _, _ in rows)),
    ]
    show_facts(facts, as_json=as_json)
