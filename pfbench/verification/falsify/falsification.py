"""From a claim to a counterexample or a report: search, shrink, confirm, write the script."""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from pfbench.base.checks import check_choice, check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.confirmation import Confirmation, confirm_entry, test_mean
from pfbench.verification.falsify.evaluation import Ratio
from pfbench.verification.falsify.exact_numbers import Number
from pfbench.verification.falsify.genomes import convert_to_text, count_numbers, parse_genome
from pfbench.verification.falsify.reports import (
    NOT_FALSIFIED,
    REFUSED,
    VIOLATED,
    Counterexample,
    SearchReport,
)
from pfbench.verification.falsify.script import write_script
from pfbench.verification.falsify.search import (
    MARGIN,
    SETS,
    STEPS_PER_SECOND,
    Entry,
    Search,
    shrink_entry,
)
from pfbench.verification.falsify.statement import SearchedStatement, lint_claim, list_statements
from pfbench.verification.subject import NotTestable

_MEAN_TESTS, _MAX_UNCONFIRMED, _MAX_RUNS = 20, 12, 4000
_NEAR_ATTAINED = 1e-6


def search_claim(
    claim: Claim,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    horizon: int = 8192,
    size: int = 200,
    families: Sequence[str] = SETS,
    allow: Sequence[str] = (),
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
    for name in families:
        check_choice("families", name, SETS)
    start, reports = monotonic(), list[SearchReport]()
    try:
        remarks, statements = lint_claim(claim), list_statements(claim, tuple(allow))
    except (NotTestable, InputError) as error:
        refused = SearchReport(claim=claim.name, statement=claim.statement, verdict=REFUSED)
        return replace(refused, reason=str(error))
    for k, statement in enumerate(statements):
        share = (start + seconds - monotonic()) / (len(statements) - k)
        search = Search(statement, 0.0, seed, horizon, size, tuple(families))
        reports.append(_Falsification(search, share, remarks).run())
        if reports[-1]:
            break
    best = max(reports, key=lambda report: (bool(report), report.verdict != REFUSED, report.ratio))
    return replace(best, seconds=monotonic() - start)


class _Falsification:
    """The search of a statement with its budget: at most so many seconds."""

    def __init__(self, search: Search, seconds: float, remarks: tuple[str, ...]) -> None:
        self.search, self.statement, self.remarks = search, search.statement, remarks
        self.seconds, self.start = seconds, monotonic()
        self.tests, self.reason, self.complete = 0, "", True

    def _set_deadline(self, share: float) -> None:
        """Set the end of the search to a share of the seconds."""
        self.search.deadline = self.start + share * self.seconds

    def _work(self, seconds: float) -> int:
        return int(seconds * STEPS_PER_SECOND)

    def run(self) -> SearchReport:
        """Search, and return a counterexample or a report."""
        search = self.search
        self._set_deadline(0.7)
        for entry in search.iterate_candidates(self._work(0.6 * self.seconds)):
            self._set_deadline(0.85)
            if hit := self._judge(entry):
                return hit
            if self.statement.unknown_conditions():  # no candidate can be confirmed
                return self._report(entry)
            self._set_deadline(0.7)
            if search.unconfirmed >= _MAX_UNCONFIRMED:
                break
        self.complete = monotonic() < search.deadline
        self._set_deadline(0.85)
        return self._replay_attained() or self._report()

    def _judge(self, entry: Entry) -> Counterexample | None:
        """Shrink and confirm a candidate; the original where the small one is not confirmed."""
        search, seconds = self.search, monotonic() - self.start
        if self.statement.is_expectation:
            second = search.measure(entry.genome, entry.T, entry.seed + 1, runs=64)
            if second is None or float(second.ratio) <= 1.0 + MARGIN:
                search.drop(entry)
                return None
        work = self._work(min(0.2 * self.seconds, 2.0))
        small = shrink_entry(search, entry, work, 0.2 * self.seconds)
        if hit := self._confirm_first((small, entry), entry, seconds):
            return hit
        if self.statement.is_expectation and self.tests < _MEAN_TESTS:
            self.tests += 1
            entropy = (search.seed, 5252, self.tests, search.evaluations)
            runs = self._work(0.2 * self.seconds) // max(small.T, 1)
            seeds = np.random.SeedSequence(entropy)
            limit = max(200, min(_MAX_RUNS, runs))
            try:
                tested = test_mean(self.statement, small, seeds, limit, search.deadline)
            except Exception as error:  # user code may raise anything
                tested = Confirmation(reason=str(error))
            if tested.is_confirmed:
                return self._make_counterexample(small, entry, tested, seconds)
            self.reason = tested.reason
        search.unconfirmed += 1
        search.drop(entry, similar=True)
        return None

    def _confirm_first(
        self, entries: Sequence[Entry], original: Entry, seconds: float
    ) -> Counterexample | None:
        for entry in dict.fromkeys(entries):
            confirmed = confirm_entry(self.statement, entry, self.search.deadline)
            if confirmed.is_confirmed:
                return self._make_counterexample(entry, original, confirmed, seconds)
            self.reason = confirmed.reason
        return None

    def _replay_attained(self) -> Counterexample | None:
        """Replay the best genomes without a margin: a bound may be false by very little."""
        near = [entry for entry in self.search.entries if entry.ratio > 1.0 - _NEAR_ATTAINED]
        reason = self.reason
        for entry in sorted(near, key=lambda entry: entry.T)[:6]:
            work = self._work(0.02 * self.seconds)
            small = shrink_entry(self.search, entry, work, 0.05 * self.seconds, entry.ratio - 1e-10)
            if hit := self._confirm_first((small, entry), entry, monotonic() - self.start):
                return hit
        self.reason = reason
        return None

    def _make_counterexample(
        self, entry: Entry, original: Entry, confirmed: Confirmation, seconds: float
    ) -> Counterexample:
        result = confirmed.result
        assert result is not None
        allowed, report = self.statement.allowed, self._report(entry, result)
        counterexample = Counterexample(
            **vars(report)
            | {"verdict": VIOLATED, "reason": ""}
            | {"search": {**report.search, "seconds_to_hit": seconds}},
            measured=_as_float(result.measured),
            bound=_as_float(result.bound),
            ratio_exact=confirmed.exact,
            arithmetic=confirmed.arithmetic,
            error_bound=confirmed.error_bound,
            e_value=confirmed.e_value,
            runs=confirmed.runs,
            instance=convert_to_text(entry.genome),
            run_seed=entry.seed,
            numbers=count_numbers(entry.genome),
            before_shrinking={
                "T": original.T,
                "d": original.genome["d"],
                "genome": convert_to_text(original.genome),
            },
            constants=dict(confirmed.constants),
            assumptions={
                text: "allowed" if text in allowed else "computed"
                for text in self.statement.conditions
            },
        )
        remaining = max(2.0, self.start + 0.98 * self.seconds - monotonic())
        try:
            text, printed = write_script(self.statement, counterexample, remaining)
        except Exception as error:  # the counterexample is confirmed all the same
            return replace(counterexample, reason=str(error) or type(error).__name__)
        return replace(counterexample, script=text, script_ratio=printed)

    def _report(self, entry: Entry | None = None, result: Ratio | None = None) -> SearchReport:
        search = self.search
        best = entry or next(iter(search.entries), search.dropped)
        genome = {} if best is None else best.genome
        result = result or (best.result if best else Ratio(0.0, 0.0, 0.0, 0))
        nothing = not search.pools
        skipped = "; ".join(f"{k} ({v})" for k, v in search.skipped.most_common(3))
        return SearchReport(
            claim=self.statement.claim.name,
            label=self.statement.label,
            statement=self.statement.claim.statement,
            verdict=REFUSED if nothing else NOT_FALSIFIED,
            reason=f"no instance could be measured: {skipped}" if nothing else self.reason,
            ratio=_as_float(result.ratio),
            t=result.t,
            horizon=0 if best is None else best.T,
            d=genome.get("d", 0),
            n=genome.get("n", 0),
            family=f"{genome.get('family', '')}, set {genome.get('set', '')}",
            lint=self.remarks,
            search={
                "seed": search.seed,
                "evaluations": search.evaluations,
                "steps": search.work,
                "horizon": search.rungs[-1],
                "horizons": {str(k): v for k, v in sorted(search.largest.items())},
                "families": dict(search.ratio_by_family),
                "unconfirmed": search.unconfirmed,
                "skipped": dict(search.skipped.most_common(8)),
                "complete": self.complete,
            },
        )


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
        entry = Entry(genome, record["horizon"], record["run_seed"], Ratio(0.0, 0.0, 0.0, 0))
        allowed = tuple(k for k, v in record["assumptions"].items() if v == "allowed")
    except (KeyError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"the counterexample cannot be read ({error}).") from error
    deadline = monotonic() + seconds
    for statement in list_statements(claim, allowed):
        if statement.label == label and record.get("arithmetic") == "e-process":
            return test_mean(statement, entry, np.random.SeedSequence(), _MAX_RUNS, deadline)
        if statement.label == label:
            return confirm_entry(statement, entry, deadline)
    raise InputError(f"{claim.name} has no bound {label!r}.")


__all__ = ["SearchedStatement", "replay_counterexample", "search_claim"]
