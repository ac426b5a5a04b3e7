"""From a claim to a counterexample or a report: search, shrink, confirm, write the script."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from pfbench.base.checks import check_choice, check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.confirmation import Confirmation, confirm_entry
from pfbench.verification.falsify.evaluation import Ratio
from pfbench.verification.falsify.exact_numbers import Number
from pfbench.verification.falsify.genomes import (
    SETS,
    convert_to_text,
    count_nonzero_numbers,
    parse_genome,
)
from pfbench.verification.falsify.reports import REFUSED, VIOLATED, Counterexample, SearchReport
from pfbench.verification.falsify.saved_search import SavedSearch
from pfbench.verification.falsify.script import compose_and_run_script
from pfbench.verification.falsify.search import (
    MARGIN,
    STEPS_PER_SECOND,
    Entry,
    Search,
    describe_error,
    shrink_entry,
)
from pfbench.verification.falsify.statement import lint_claim, list_statements
from pfbench.verification.subject import NotTestable

_MEAN_TESTS, _MAX_UNCONFIRMED, _MAX_RUNS = 20, 12, 4000
_NEAR_ATTAINED = 1e-6


def check_arguments(
    prefix: str, seconds: float, seed: int, horizon: int, size: int, families: Sequence[str]
) -> None:
    """Refuse what is out of range; `prefix` is that of the names of the arguments.

    Raises
    ------
    InputError
        If one is.
    """
    check_real(f"{prefix}seconds", seconds, above=0.0)
    for name, value, minimum in (("seed", seed, 0), ("horizon", horizon, 1), ("size", size, 1)):
        check_integer(f"{prefix}{name}", value, minimum=minimum)
    for name in families:
        check_choice("--family" if prefix else "families", name, SETS)


def search_claim(
    claim: Claim,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    horizon: int = 8192,
    size: int = 200,
    families: Sequence[str] = SETS,
    allow: Sequence[str] = (),
    patience: float = 1.0,
    saved: tuple[Path, bool] | None = None,
) -> SearchReport:
    """Search for an instance on which a claim's bound fails, shrink it and confirm it.

    Parameters
    ----------
    claim
        A claim whose check is a `bound` or an `error_law`.
    seconds
        Seconds by the clock, at most; the search's effort is counted in steps of the method.
    seed
        Seed of the search.
    horizon, size
        Largest number of iterations, and dimension.
    families
        Of "none", "box", "hull", "ball": the sets that are searched.
    allow
        Assumptions in words that every searched instance is taken to meet.
    patience
        Factor on the seconds by the clock, so that the effort alone ends the search.
    saved
        Folder in which the search is saved, and whether it goes on from what is saved there.

    Returns
    -------
    SearchReport
        A `Counterexample`, which is true, or a report, which is false.

    Raises
    ------
    InputError
        If an argument is out of range.
    """
    check_arguments("", seconds, seed, horizon, size, families)
    start = monotonic()
    try:
        remarks, statements = lint_claim(claim), list_statements(claim, tuple(allow))
    except (NotTestable, InputError) as error:
        refused = SearchReport(claim=claim.name, statement=claim.statement, verdict=REFUSED)
        return replace(refused, reason=str(error))
    limits = (seed, horizon, size, tuple(families))
    file = SavedSearch(claim, (seconds, *limits, tuple(allow)), *(saved or ()))
    while len(file.reports) < len(statements) and not any(file.reports):
        statement, share = statements[len(file.reports)], seconds / len(statements)
        search = Falsification(statement, *limits, seconds=share, patience=patience)
        search.remarks, search.file = remarks, file
        file.finish(search.run())
    best = max(file.reports, key=lambda item: (bool(item), item.verdict != REFUSED, item.ratio))
    return replace(best, seconds=monotonic() - start)


@dataclass
class Falsification(Search):
    """The search of a statement with its budget: at most so many seconds."""

    seconds: float = 60.0
    patience: float = 1.0
    remarks: tuple[str, ...] = ()
    file: SavedSearch | None = None
    start: float = field(default_factory=monotonic)
    tests: int = 0
    reason: str = ""
    complete: bool = True

    def _set_deadline(self, share: float) -> None:
        """Set the end of the search to a share of the seconds."""
        self.deadline = self.start + share * self.seconds * self.patience

    def _work(self, seconds: float) -> int:
        return int(seconds * STEPS_PER_SECOND)

    def run(self) -> SearchReport:
        """Search, and return a counterexample or a report."""
        self.start -= self.file.restore(self) if self.file else 0.0
        self._set_deadline(0.7)
        for entry in self.iterate_candidates(self._work(0.6 * self.seconds)):
            self._set_deadline(0.85)
            if self.statement.refusal:  # no candidate can be confirmed
                self.reason = self.statement.refusal
                return self._report(entry)
            if hit := self._judge(entry):
                return hit
            self._set_deadline(0.7)
            if self.unconfirmed >= _MAX_UNCONFIRMED:
                break
        self.complete = monotonic() < self.deadline
        self._set_deadline(0.85)
        near = [entry for entry in self.entries if entry.ratio > 1.0 - _NEAR_ATTAINED]
        for entry in sorted(near, key=lambda entry: entry.T)[:6]:  # false by very little
            if hit := self._judge(entry, entry.ratio - 1e-10):
                return hit
        return self._report()

    def save(self) -> None:
        """Save the state now and then."""
        if self.file is not None:
            self.file.save(self, monotonic() - self.start)

    def _judge(self, entry: Entry, lower: float | None = None) -> Counterexample | None:
        """Shrink and confirm a candidate; the original where the small one is not confirmed.

        With `lower`, an instance on which the bound may be attained.
        """
        is_mean = self.statement.is_expectation and lower is None
        if is_mean:
            second = self.measure(entry.genome, entry.T, entry.seed + 1, runs=64)
            if second is None or float(second.ratio) <= 1.0 + MARGIN:
                self.drop(entry)
                return None
        hit, share = monotonic() - self.start, 0.2 if lower is None else 0.05
        seconds, reason = share * self.seconds, self.reason
        work, clock = self._work(min(seconds, 2.0)), seconds * self.patience
        small = shrink_entry(self, entry, work, clock, lower)
        attempts: list[Any] = [(tried, None) for tried in dict.fromkeys((small, entry))]
        if is_mean and self.tests < _MEAN_TESTS:
            self.tests += 1
            runs = self._work(0.2 * self.seconds) // max(small.T, 1)
            entropy = (self.seed, 5252, self.tests, self.evaluations)
            attempts.append((small, (entropy, max(200, min(_MAX_RUNS, runs)))))
        for tried, mean_test in attempts:
            confirmed = confirm_entry(self.statement, tried, self.deadline, mean_test)
            if confirmed.is_confirmed:
                return self._make_counterexample(tried, entry, confirmed, hit)
            self.reason = confirmed.reason
        if lower is None:
            self.unconfirmed += 1
            self.drop(entry, similar=True)
        else:
            self.reason = reason
        return None

    def _make_counterexample(
        self, entry: Entry, original: Entry, confirmed: Confirmation, seconds: float
    ) -> Counterexample:
        result, genome, allowed = confirmed.result, entry.genome, self.statement.allowed
        report = self._report(entry, result)
        before = {"T": original.T, "d": original.genome["d"]}
        conditions = self.statement.conditions
        fields = vars(report) | {"verdict": VIOLATED, "reason": "", **confirmed.record}
        fields["search"] = {**report.search, "seconds_to_hit": seconds}
        counterexample = Counterexample(
            **fields,
            measured=_as_float(result.measured),
            bound=_as_float(result.bound),
            instance=convert_to_text(genome),
            run_seed=entry.seed,
            numbers=count_nonzero_numbers(genome),
            before_shrinking=before | {"genome": convert_to_text(original.genome)},
            assumptions={k: "allowed" if k in allowed else "computed" for k in conditions},
        )
        end = self.start + 0.98 * self.seconds * self.patience
        remaining = max(2.0, end - monotonic())
        try:
            text, printed = compose_and_run_script(self.statement, counterexample, remaining)
        except Exception as error:  # the counterexample is confirmed all the same
            return replace(counterexample, reason=describe_error(error))
        return replace(counterexample, script=text, script_ratio=printed)

    def _report(self, entry: Entry | None = None, result: Ratio | None = None) -> SearchReport:
        claim, largest, rungs = self.statement.claim, self.largest, [*map(str, self.rungs)]
        best = entry or next(iter(self.entries), self.dropped) or Entry({}, 0, 0, Ratio())
        genome, result = best.genome, result or best.result
        names = ("seed", "evaluations", "work", "unconfirmed")
        report = SearchReport(
            claim=claim.name,
            label=self.statement.label,
            statement=claim.statement,
            reason=self.reason,
            ratio=_as_float(result.ratio),
            t=result.t,
            horizon=best.T,
            d=genome.get("d", 0),
            n=genome.get("n", 0),
            family=f"{genome.get('family', '')}, set {genome.get('set', '')}",
            lint=self.remarks,
            search={name.replace("work", "steps"): getattr(self, name) for name in names}
            | {"horizon": self.rungs[-1], "complete": self.complete}
            | {"horizons": {rung: largest[rung] for rung in rungs if rung in largest}}
            | {"families": {k: v for k, v in largest.items() if k not in rungs}}
            | {"skipped": dict(self.skipped.most_common(8))},
        )
        if self.pools:
            return report
        skipped = "; ".join(f"{k} ({v})" for k, v in self.skipped.most_common(3))
        reason = f"no instance could be measured: {skipped}"
        return replace(report, verdict=REFUSED, reason=reason)


def _as_float(value: Any) -> float:
    return float(value.as_float()) if isinstance(value, Number) else float(value)


def replay_counterexample(
    claim: Claim, record: dict[str, Any], seconds: float = 60.0
) -> Confirmation:
    """Confirm a stored counterexample again, without a search.

    Raises
    ------
    InputError
        If it is no counterexample to the claim.
    """
    try:
        genome, label = parse_genome(record["instance"]), record["label"]
        entry = Entry(genome, record["horizon"], record["run_seed"], Ratio())
        allowed = tuple(k for k, v in record["assumptions"].items() if v == "allowed")
        is_mean, deadline = record["arithmetic"] == "e-process", monotonic() + seconds
    except (KeyError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"the counterexample cannot be read ({error}).") from error
    for statement in list_statements(claim, allowed):
        if statement.label == label:
            return confirm_entry(statement, entry, deadline, is_mean and (None, _MAX_RUNS))
    raise InputError(f"{claim.name} has no bound {label!r}.")
