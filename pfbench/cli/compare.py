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
from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import check_writable
from pfbench.cli import options
from pfbench.cli.catalogue import spec_path, suites
from pfbench.cli.grids import show_grids
from pfbench.cli.making import made, searched
from pfbench.cli.options import argument, flag, option
from pfbench.cli.printing import announce, exit_if_failed, note
from pfbench.cli.report import OUTPUT, command_line, commit
from pfbench.cli.tables import Fact, heading, show, show_facts
from pfbench.cli.words import plural, size

if TYPE_CHECKING:
    from pfbench.reporting.comparison import Comparison
    from pfbench.reporting.documents.told import Told
    from pfbench.reporting.on_suite import OnSuite
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import Outcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec
    from pfbench.runs.shipped import Shipped
    from pfbench.runs.storage.store import Store


def compare(
    method: str | None = argument(
        "METHOD", "A known method, or your own as FILE.py:NAME; parameters in brackets."
    ),
    suite: str = option(
        "SUITE",
        "quick, standard, norms (`pfbench list suites`), or the SPEC.toml of a suite.",
        default="quick",
    ),
    output: Path = option("DIR", "Where the report goes.", "--output", "-o", default=OUTPUT),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    rerun: bool = flag("Make the runs of all methods here, so that seconds compare.", "--rerun"),
    text: bool = flag("Write no file.", "--text"),
    problem: str | None = option(
        "PROBLEM",
        "Your problem in place of the suite's: every method of the suite that fits it is run here.",
        "--problem",
        "-p",
    ),
    archive: Path | None = option(
        "FILE", "Compare nothing; make the suite's own runs, and write them to this archive."
    ),
    price: str | None = option(
        "PRICE", "What a call costs, as in sfo=1,lo=20: all is compared by that, in one scale."
    ),
    receipt: Path | None = option("FILE.zip", "Write it to one archive, which anybody can check."),
    grid: bool = flag("Compare nothing; show what each method is tuned over.", "--grid"),
    as_json: bool = options.AS_JSON,
) -> None:
    """Compare a method with the catalogue, on a suite of problems.

    The method alone is run, with parameters of the suite where it needs some that are not given,
    tuned with as many trials as all others. The runs of the others are shipped with the suites of
    pfbench: their counts hold on every machine. On a suite or a problem of your own all runs are
    made here; how many is printed first. At the end stands where the method wins and loses.
    """
    from pfbench.receipts.comparison import write
    from pfbench.reporting import prepare
    from pfbench.runs.planning.candidate import entered
    from pfbench.runs.planning.plugged import spelled_out
    from pfbench.runs.storage.store import Store

    options.check_place(jobs, None)
    if problem is not None and (receipt is not None or archive is not None):
        raise InputError("--problem goes with neither --receipt nor --archive: leave one out.")
    if not grid and (method is None) == (archive is None):
        raise InputError("give a METHOD, or --archive FILE.")
    if receipt is not None:
        if method is None:
            raise InputError("--receipt is of a METHOD: name one.")
        check_writable(receipt, f"--receipt {receipt}", error=StorageError)
    spec, path = suite_of(suite, problem, price)
    if grid:
        show_grids(spec, method, as_json=as_json)
        return
    if method is not None:
        method = spelled_out("algorithm", method)
        announce([method])
        entered(spec, method)  # refuses it, where it must be, before any work
    kept = Store(store)
    with closing(options.engine_of(jobs, None)) as engine:
        if archive is not None:
            _archive(spec, archive, kept, engine, as_json=as_json)
        elif method is not None:
            if not text:
                prepare(output)
            shipped = None if rerun or problem is not None else shipped_with(path)
            compared = compared_on(spec, method, Runs(shipped, kept, engine, as_json))
            if receipt is not None:
                where = engine.environment()
                write(receipt, spec, method, price or "", compared, where, __version__)
            _tell(compared, None if text else output, receipt, as_json=as_json)
            exit_if_failed(compared.own, ", and the report shows them as such")


def suite_of(suite: str, problem: str | None, price: str | None) -> "tuple[Spec, Path]":
    """Return a suite and its file, on a problem and at a price where these are given.

    What it names of the user's is printed, then imported.
    """
    from pfbench.runs.planning.on_problem import on_problem
    from pfbench.runs.planning.plugged import spelled_out
    from pfbench.runs.planning.selecting import chosen_problem
    from pfbench.runs.planning.spec import read_spec

    if problem is None:
        path = spec_path("suite", suite, suites())
        spec = read_spec(path)
        announce(spec.own_selectors, path)
    elif suite not in suites():
        raise InputError(
            f"--problem takes the methods of a shipped suite ({', '.join(suites())}): put the "
            f"problem into {suite} instead."
        )
    else:
        problem = spelled_out("problem", problem)
        announce([problem])
        normed = getattr(chosen_problem(problem), "norm", None) is not None
        path = suites()["norms" if normed and suite == "quick" else suite]
        spec = on_problem(path, problem)
    return spec if price is None else _priced(spec, price), path


def compared_on(spec: "Spec", method: str, runs: "Runs") -> "OnSuite":
    """Put a method on a suite; without shipped runs all are made here."""
    from pfbench.reporting.on_suite import put_on

    if not runs.quiet:
        _say_first(spec, method, runs)
    return put_on(spec, method, runs, rerun=runs.shipped is None)


def _say_first(spec: "Spec", method: str, runs: "Runs") -> None:
    """Say before any run what the seeds cannot tell, and how many runs are to be made."""
    from pfbench.reporting.findings.seeds import too_few
    from pfbench.runs.planning.candidate import entered
    from pfbench.runs.planning.suite import labels_of

    entry, labels = entered(spec, method)
    others = len({*labels_of(entry)} - {*labels})
    few = too_few(len(spec.study.seeds), others, f"tell {labels[-1]} from no other in a family of")
    if few:
        note(f"{spec.name}: {few}")
    if runs.shipped is None:
        plans = [*entry.searches(), *entry.runs()]
        there = runs.there(plans)
        lacking = [plan for plan in plans if plan not in there]
        if lacking:
            tuned = ", and those of what the search chooses" if entry.study.tune else ""
            methods = plural(len(labels_of(entry)), "method")
            note(f"{spec.name}: {plural(len(lacking), 'run')} of {methods} to make{tuned}")


def shipped_with(path: Path) -> "Shipped | None":
    """Return what is shipped with a suite, None if nothing is."""
    from pfbench.runs.shipped import SUFFIX, read_shipped
    from pfbench.runs.storage.index import uncollected

    beside = path.with_name(path.stem + SUFFIX)
    if not beside.exists():
        return None
    with uncollected():
        found = read_shipped(beside)
    gc.freeze()  # its cells live to the end: to look for garbage among them takes a second
    return found


def _priced(spec: "Spec", price: str) -> "Spec":
    """Return a suite that compares everything in one price."""
    from pfbench.reporting.statistics.prices import Price

    weights = dict(Price.parse(price).weights)
    if "products" in weights and any("lmo_products" not in s.measures for s in spec.studies):
        raise InputError(
            f"--price {price}: the suite {spec.name} does not measure lmo_products: name a suite "
            "that does, as norms."
        )
    return replace(spec, studies=tuple(replace(study, price=weights) for study in spec.studies))


# --- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runs:
    """Where the runs of a comparison come from: an archive, or this machine."""

    shipped: "Shipped | None"
    store: "Store"
    engine: "Engine"
    quiet: bool

    def there(self, plans: "Sequence[PlannedRun]") -> "set[PlannedRun]":
        """Return those runs that need not be made."""
        from pfbench.runs.execute import expected

        known = self.shipped.runs if self.shipped else {}
        others = [plan for plan in plans if plan not in known]
        origins = expected(others, self.store.folder, self.engine) if others else {}
        return {plan for plan in plans if origins.get(plan) != "made"}

    def of(
        self, title: str, plans: "Sequence[PlannedRun]", mine: "Collection[PlannedRun]"
    ) -> "list[Outcome]":
        """Return what became of runs; those of the method itself are made here."""
        from pfbench.runs.execute import Outcome

        known = self.shipped.runs if self.shipped else {}
        away = [plan for plan in plans if plan in known and plan not in mine]
        here = [plan for plan in plans if plan not in known or plan in mine]
        outcomes = made(title, here, self.store, self.engine, quiet=self.quiet) if here else []
        found = {one.plan: one for one in outcomes}
        found |= {plan: Outcome(plan, known[plan], "shipped") for plan in away}
        return [found[plan] for plan in plans]

    def told(
        self, spec: "Spec", outcomes: "Sequence[Outcome]", left_out: Sequence[str]
    ) -> list[str]:
        """Return where the runs come from, in words."""
        from pfbench.runs.planning.suite import labels_of, runs_of

        away = {one.plan for one in outcomes if one.origin == "shipped"}
        rows = {label: runs_of(spec, [label]) <= away for label in labels_of(spec)}
        said = []
        if away and self.shipped:
            archived = [label for label in rows if rows[label]]
            others = [label for label in rows if not rows[label]]
            which = ", ".join(archived)
            if len(others) < len(archived):
                which = f"all but {', '.join(others)}"
            said.append(
                f"Archived rows: {which} "
                f"({plural(len(away), 'run')} of pfbench {self.shipped.made}). Counts compare "
                "across machines, seconds do not: --rerun makes all runs here."
            )
        if left_out:
            said.append(f"Without runs here, and left out: {', '.join(left_out)}; see --rerun.")
        return said


# --- telling --------------------------------------------------------------------------------------


def _tell(compared: "OnSuite", output: Path | None, receipt: Path | None, *, as_json: bool) -> None:
    """Say where a method wins and loses, and write the report; the receipt is there already."""
    from pfbench.cli.report_text import table_of
    from pfbench.reporting.findings import tuning, versus

    told, comparison = told_of(compared, output)
    labels, study = compared.labels, compared.report.spec.study
    files = [*([] if receipt is None else [receipt]), *told.files]
    facts = [
        Fact("name", compared.report.spec.name),
        Fact("runs", len(compared.report.spec.runs())),
        Fact("sentences", list(told.sentences)),
        Fact("duels", [row for one in labels for row in versus.as_json(comparison, one, labels)]),
        Fact("chosen", tuning.as_json(study, labels)),
        Fact("files", [str(file) for file in files]),
    ]
    if as_json:
        show_facts(facts, as_json=True)
        return
    first, *further = told.sentences
    show(first, *map(table_of, told.tables), heading("in words", *further), *map(str, files))


def told_of(compared: "OnSuite", output: Path | None) -> "tuple[Told, Comparison]":
    """Return where a method wins and loses, in words and tables; write the report, if anywhere."""
    from pfbench.reporting.documents.contents import contents
    from pfbench.reporting.documents.told import Told
    from pfbench.reporting.findings import tuning, versus
    from pfbench.reporting.findings.front import front_in_words
    from pfbench.reporting.writing import write_contents

    report, labels = compared.report, compared.labels
    everything = contents(report, command_line(), commit(), datetime.now(UTC))
    about = everything.parts[0].front
    if about is None:
        raise AssertionError("a report on one method begins with it")
    comparison, study = about.compared[0], report.spec.study
    tables = [about.table, *(versus.table(comparison, one, labels) for one in labels)]
    chosen = tuning.chosen(study, study.tune, labels) if study.tune else None
    tables += [chosen] if chosen and chosen.rows else []
    files = [] if output is None else write_contents(everything, output)
    said = about.sentence, *front_in_words(about)
    return Told(said, tuple(tables), tuple(files)), comparison


# --- the archive ----------------------------------------------------------------------------------


def _archive(spec: "Spec", path: Path, store: "Store", engine: "Engine", *, as_json: bool) -> None:
    """Make all runs of a suite, and write them to an archive."""
    from pfbench.runs.shipped import CURVE, ship

    check_writable(path, f"--archive {path}")
    whole = searched(spec, store, engine, quiet=as_json)
    outcomes = made(whole.name, whole.runs(), store, engine, quiet=as_json)
    searches = made(f"{spec.name}, search", whole.searches(), store, engine, quiet=True)
    tuned_for = {stop for study in whole.studies if study.tune for stop in study.tune.targets}
    rows = [(one, whole.targets[one.plan], CURVE) for one in outcomes]
    rows += [(one, tuple(tuned_for), 0) for one in searches]
    today = datetime.now(UTC).date().isoformat()
    ship(path, rows, made=f"{__version__}, {today}")
    length = path.stat().st_size
    facts = [
        Fact("archive", str(path), "archive"),
        Fact("runs", len(rows), "runs"),
        Fact("bytes", length, "size", size(length)),
        Fact("statuses", Counter(one.entry.run.status for one, _, _ in rows)),
    ]
    show_facts(facts, as_json=as_json)
