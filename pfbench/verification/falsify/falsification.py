"""Search for a counterexample to a claim, from its statements to a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from pfbench.base.checks import check_choice, check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.verification.claim import Claim
from pfbench.verification.falsify import genomes
from pfbench.verification.falsify.confirmation import confirm_entry, describe_error
from pfbench.verification.falsify.genomes import MARGIN, Entry
from pfbench.verification.falsify.reports import REFUSED, VIOLATED, Counterexample, SearchReport
from pfbench.verification.falsify.script import compose_and_run_script
from pfbench.verification.falsify.search import SavedSearch, Search, estimate_method_steps
from pfbench.verification.falsify.statement import (
    SearchedStatement,
    list_statements,
    list_wording_remarks,
)
from pfbench.verification.subject import NotTestable

_MAX_UNCONFIRMED, _MAX_RUNS = 12, 4000
_NEAR_ATTAINED = 1e-6


def search_claim(
    claim: Claim,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    horizon: int = 8192,
    size: int = 200,
    families: Sequence[str] = genomes.SETS,
    allow: Sequence[str] = (),
    patience: float = 1.0,
    saved: tuple[Path, bool] | None = None,
) -> SearchReport:
    """Search for an instance on which a claim's bound fails; shrink and confirm it.

    Parameters
    ----------
    claim
        A claim whose check is a `bound` or an `error_law`.
    seconds
        Time limit. The effort is also limited, to so many steps of the method per second, so that
        results do not depend on the machine.
    seed
        Seed of the search.
    horizon, size
        Largest number of iterations, and dimension.
    families
        Of "none", "box", "hull", "ball": the sets that are searched.
    allow
        Assumptions in words that every searched instance is taken to meet.
    patience
        Factor on the time limit, but not on the effort, for slow machines.
    saved
        Folder in which the search is saved, and whether to resume the search saved there.

    Returns
    -------
    SearchReport
        A `Counterexample`, which is true, or a report, which is false.

    Raises
    ------
    InputError
        If an argument is out of range.
    """
    check_real("seconds", seconds, above=0.0)
    for name, value, minimum in (("seed", seed, 0), ("horizon", horizon, 1), ("size", size, 1)):
        check_integer(name, value, minimum=minimum)
    sets = tuple(check_choice("families", name, genomes.SETS) for name in families)
    start = monotonic()
    try:
        statements = list_statements(claim, tuple(allow))
    except (NotTestable, InputError) as error:
        refused = SearchReport(claim=claim.name, statement=claim.statement, verdict=REFUSED)
        return replace(refused, reason=str(error))
    limits = (seed, horizon, size, sets)
    file = SavedSearch(statements[0], (seconds, *limits, tuple(allow)), saved)
    while len(file.reports) < len(statements) and not any(file.reports):
        statement, share = statements[len(file.reports)], seconds / len(statements)
        search = Falsification(statement, *limits, seconds=share, patience=patience, file=file)
        file.reports.append(search.run())
        file.write_with_reports(None)
    best = max(file.reports, key=lambda item: (bool(item), item.verdict != REFUSED, item.ratio))
    return replace(best, seconds=monotonic() - start, lint=list_wording_remarks(statements))


@dataclass(kw_only=True)
class Falsification(Search):
    """Search for a counterexample to one statement, with a time limit and a final report."""

    seconds: float = 60.0
    file: SavedSearch
    reason: str = ""
    complete: bool = True

    def _set_deadline(self, time_share: float) -> None:
        """Set the deadline to a share of the time limit, counted from the start of the search."""
        self.deadline = self.start + time_share * self.seconds * self.patience

    def run(self) -> SearchReport:
        """Search for a counterexample; return it, or a report on the search if none is found."""
        self.file.restore(self)
        self._set_deadline(0.7)
        while self.work < estimate_method_steps(0.6 * self.seconds) and monotonic() < self.deadline:
            self.file.save(self, monotonic() - self.start)
            entry = self.try_next_genome()
            if self.evaluations > 300 and not self.pools:
                break
            if entry is None or entry.ratio <= 1.0 + MARGIN:
                continue
            self._set_deadline(0.85)
            if self.statement.refusal:  # no candidate can be confirmed
                self.reason = f"ratio {entry.ratio:.4g}: {self.statement.refusal}"
                self.unconfirmed = 1
                return self._report(entry)
            if hit := self._confirm(entry):
                return hit
            self._set_deadline(0.7)
            if self.unconfirmed >= _MAX_UNCONFIRMED:
                break
        self.complete = monotonic() < self.deadline
        self._set_deadline(0.85)
        near = [entry for entry in self.entries if entry.ratio > 1.0 - _NEAR_ATTAINED]
        for entry in sorted(near, key=lambda entry: entry.T)[:6]:
            # The bound may be too small by less than the margin.
            if hit := self._confirm(entry, entry.ratio - 1e-10):
                return hit
        return self._report()

    def _confirm(self, entry: Entry, min_ratio: float | None = None) -> Counterexample | None:
        """Try to confirm a candidate, after or without shrinking; return a counterexample or None.

        The result is None if it cannot be confirmed. `min_ratio` is the least ratio measured/bound
        to keep in shrinking, for a bound that is nearly attained.
        """
        is_mean = self.statement.is_expectation and min_ratio is None
        if is_mean:
            second = self.measure(entry.genome, entry.T, entry.seed + 1, runs=64)
            if second is None or second.ratio <= 1.0 + MARGIN:
                self.drop(entry)
                return None
        hit, share = monotonic() - self.start, 0.2 if min_ratio is None else 0.05
        small = self.shrink(entry, share * self.seconds, min_ratio)
        attempts: list[Any] = [(tried, None) for tried in dict.fromkeys((small, entry))]
        for tried, _ in [*attempts] if is_mean else ():
            runs = estimate_method_steps(0.2 * self.seconds) // max(tried.T, 1)
            entropy = (self.seed, 5252, self.unconfirmed + 1, self.evaluations)
            attempts.append((tried, (entropy, max(200, min(_MAX_RUNS, runs)))))
        for tried, mean_test in attempts:
            reason, record = confirm_entry(self.statement, tried, self.deadline, mean_test)
            if not reason:
                self._set_deadline(0.98)
                before = {"T": entry.T, "d": entry.genome["d"]}
                before["genome"] = genomes.genome_as_json(entry.genome)
                record |= {"search": {**self._report().search, "seconds_to_hit": hit}}
                record["before_shrinking"] = before
                return _make_counterexample(self.statement, tried, record, self.deadline)
        if min_ratio is None:
            self.reason = f"ratio {entry.ratio:.4g}: {reason}"
            self.unconfirmed += 1
            self.drop(entry, drops_similar=True)
        return None

    def _report(self, entry: Entry | None = None) -> SearchReport:
        largest, rungs = self.largest, [*map(str, self.rungs)]
        best = entry or next(iter(self.entries), self.dropped) or Entry({}, 0, 0)
        names = ("seed", "evaluations", "work", "unconfirmed")
        skipped = "; ".join(f"{k} ({v})" for k, v in self.skipped.most_common(3))
        unmeasured = f"no instance could be measured: {skipped}"
        return SearchReport(
            **_describe_ratio(self.statement, best),
            verdict=SearchReport.verdict if self.pools else REFUSED,
            reason=(self.reason or self.statement.refusal) if self.pools else unmeasured,
            search={name.replace("work", "steps"): getattr(self, name) for name in names}
            | {"horizon": self.rungs[-1], "complete": self.complete}
            | {"horizons": {rung: largest[rung] for rung in rungs if rung in largest}}
            | {"families": {k: v for k, v in largest.items() if k not in rungs}}
            | {"skipped": dict(self.skipped.most_common(8))},
        )


def _describe_ratio(statement: SearchedStatement, entry: Entry) -> dict[str, Any]:
    """Return fields of a report: statement, largest ratio measured/bound, and problem instance."""
    claim, genome = statement.claim, entry.genome
    fields: dict[str, Any] = {"claim": claim.name, "statement": claim.statement}
    fields |= {"label": statement.label, "t": entry.result.t, "horizon": entry.T}
    fields |= {"ratio": entry.ratio, "d": genome.get("d", 0), "n": genome.get("n", 0)}
    return fields | {"family": f"{genome.get('family', '')}, set {genome.get('set', '')}"}


def _make_counterexample(
    statement: SearchedStatement, entry: Entry, record: Mapping[str, Any], deadline: float
) -> Counterexample:
    """Return a confirmed counterexample, with a script if one can be run before `deadline`.

    `record` has the fields that differ from the search, and those on the confirmation.
    """
    allowed = statement.allowed
    counterexample = Counterexample(
        **_describe_ratio(statement, entry) | dict(record),
        verdict=VIOLATED,
        instance=genomes.genome_as_json(entry.genome),
        run_seed=entry.seed,
        numbers=sum(bool(box[key]) for box, key in genomes.list_number_positions(entry.genome)),
        assumptions={k: "allowed" if k in allowed else "computed" for k in statement.conditions},
    )
    try:
        seconds = max(2.0, deadline - monotonic())
        text, printed = compose_and_run_script(statement, counterexample, seconds)
    except Exception as error:  # without a script it is still confirmed
        return replace(counterexample, reason=describe_error(error))
    return replace(counterexample, script=text, script_ratio=printed)


def replay_counterexample(claim: Claim, record: Any, seconds: float = 60.0) -> SearchReport:
    """Recompute a stored counterexample, and return it if it is confirmed again.

    Otherwise return a report that is false in Boolean context and states the reason.

    Raises
    ------
    InputError
        If it is no counterexample to the claim.
    """
    try:
        genome, label = genomes.parse_genome(record["instance"]), record["label"]
        entry = Entry(genome, record["horizon"], record["run_seed"])
        allowed = tuple(k for k, v in record["assumptions"].items() if v == "allowed")
        is_mean, deadline = record["arithmetic"] == "e-process", monotonic() + seconds
    except (KeyError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"the record is not a readable counterexample ({error}).") from error
    statements = list_statements(claim, allowed)
    statement = next((item for item in statements if item.label == label), None)
    if statement is None:
        raise InputError(f"the claim {claim.name} has no bound with the label {label!r}.")
    reason, fields = confirm_entry(statement, entry, deadline, is_mean and (None, _MAX_RUNS))
    if reason:
        return SearchReport(claim=claim.name, label=label, reason=reason)
    fields["lint"] = list_wording_remarks(statements)
    return _make_counterexample(statement, entry, fields, deadline)


# --- searches in worker processes ---

START_SECONDS = 20.0
"""Seconds that a process may take beyond its time limit, for its start and imports."""


def search_claims(
    engine: Engine, claims: Sequence[Claim], options: Mapping[str, Any], on_done: Any = lambda: None
) -> list[SearchReport]:
    """Search for counterexamples to claims, in processes that are killed at a time limit.

    Parameters
    ----------
    engine
        Executes the searches.
    claims
        The claims.
    options
        The keyword arguments of `search_claim`, with `seconds` among them.
    on_done
        A function without arguments, called after each search.

    Returns
    -------
    list[SearchReport]
        The report on each claim; a search that was killed is refused.
    """
    limit = START_SECONDS + options["seconds"] * options.get("patience", 1.0)
    search = partial(search_claim, **options)
    tasks = [Task(search, (claim,), limit, claim.name) for claim in claims]
    reports = [SearchReport(claim=claim.name, verdict=REFUSED) for claim in claims]
    for result in engine.do(tasks) if tasks else ():
        failed = replace(reports[result.index], reason=f"{result.status}: {result.reason}")
        reports[result.index] = result.value if result.status == "done" else failed
        on_done()
    return reports
