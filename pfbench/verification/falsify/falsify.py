"""From a claim to a counterexample or a report: search, shrink, confirm, write the script."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

from pfbench.base.checks import check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.bodies import Skip
from pfbench.verification.falsify.confirmation import Confirmation, confirm, module_of, test_mean
from pfbench.verification.falsify.genomes import as_text, free_numbers, from_text
from pfbench.verification.falsify.lint import lint
from pfbench.verification.falsify.numbers import Inexact
from pfbench.verification.falsify.reports import (
    NOT_FALSIFIED,
    REFUSED,
    VIOLATED,
    Counterexample,
    SearchReport,
)
from pfbench.verification.falsify.script import standalone
from pfbench.verification.falsify.search import MARGIN, WORK, Entry, Search
from pfbench.verification.falsify.shrinking import shrink
from pfbench.verification.falsify.state import restore, save
from pfbench.verification.falsify.statement import Statement, Unsearchable, statements
from pfbench.verification.subject import NotTestable

_TESTS, _REFUTED, _RUNS = 20, 12, 4000
_SHRINKING = 2.0
_NEAR = 1e-6

Progress = Callable[[Search], None]


def falsify(
    claim: Claim,
    *,
    minutes: float = 1.0,
    seed: int = 0,
    horizon: int = 8192,
    size: int = 200,
    families: Sequence[str] | None = None,
    allow: Sequence[str] = (),
    largest: bool = False,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> SearchReport:
    """Search for an instance on which a claim's bound fails, shrink it and confirm it.

    Parameters
    ----------
    claim
        A claim whose check is a `bound` or an `error_law`.
    minutes
        Processor minutes, counted in steps of the method.
    seed
        Seed of the search.
    horizon, size
        Largest number of iterations, and dimension.
    families
        Of "none", "box", "hull", "ball": the sets that are searched; all if not given.
    allow
        Assumptions in words that every searched instance is taken to meet.
    largest
        Whether to go on after a candidate is confirmed, for the largest ratio.
    folder
        Where the state of the search is kept; nowhere if not given.
    progress
        Called with the search after a number of evaluations.

    Returns
    -------
    SearchReport
        A `Counterexample`, which is true, or a report, which is false.

    Raises
    ------
    InputError
        If an argument is out of range.
    """
    check_real("minutes", minutes, above=0.0)
    check_integer("seed", seed, minimum=0)
    check_integer("horizon", horizon, minimum=1)
    check_integer("size", size, minimum=1)
    remarks = lint(claim)
    begun, reports = process_time(), list[SearchReport]()
    try:
        every = statements(claim, tuple(allow))
    except (Unsearchable, NotTestable, InputError) as error:
        return SearchReport(
            claim=claim.name,
            statement=claim.statement,
            verdict=REFUSED,
            reason=str(error),
            lint=remarks,
        )
    for statement in every:
        search = Search(statement, seed, horizon, size, tuple(families) if families else None)
        task = _Task(search, minutes / len(every), remarks, largest, folder, progress)
        report = task.run()
        reports.append(report)
        if report and not largest:
            break
    best = max(reports, key=lambda one: (bool(one), one.verdict != REFUSED, one.ratio))
    return replace(best, seconds=process_time() - begun)


class _Task:
    """The search of one statement with its budget."""

    def __init__(
        self,
        search: Search,
        minutes: float,
        remarks: tuple[str, ...],
        largest: bool,
        folder: Path | None,
        progress: Progress | None,
    ) -> None:
        self.search, self.remarks, self.largest = search, remarks, largest
        self.statement = search.statement
        self.seconds, self.progress = 60.0 * minutes, progress
        self.begun, self.tests, self.reason = process_time(), 0, ""
        self.state = None if folder is None else folder / f"{_key(search)}.json"
        self.until = self.begun + 3.0 * self.seconds

    def run(self) -> SearchReport:
        """Search, and return what was found."""
        search, hit = self.search, None
        if self.state is not None and (stored := restore(search, self.state)) is not None:
            self.tests = stored.get("tests", 0)
        try:
            for entry in search.run(int(0.7 * self.seconds * WORK), self.until, self._pause):
                found = self._judge(entry)
                if found is not None and (hit is None or found.ratio > hit.ratio):
                    hit = found
                if hit is not None and not self.largest:
                    break
                if found is None and search.unconfirmed >= _REFUTED:
                    break
            if hit is None:
                hit = self._polish()
        finally:
            if self.state is not None:
                save(search, self.state, tests=self.tests)
        return self._report() if hit is None else hit

    def _pause(self) -> None:
        if self.state is not None:
            save(self.search, self.state, tests=self.tests)
        if self.progress is not None:
            self.progress(self.search)

    def _judge(self, entry: Entry) -> Counterexample | None:
        """Shrink and confirm a candidate; the original where the small one is not confirmed."""
        search = self.search
        after = process_time() - self.begun
        if self.statement.in_expectation:
            again = search.measure(entry.genome, entry.T, entry.seed + 1, runs=64)
            if again is None or float(again.ratio) <= 1.0 + MARGIN:
                search.drop(entry)
                return None
        small = shrink(search, entry, int(min(0.2 * self.seconds, _SHRINKING) * WORK), self.until)
        for one in dict.fromkeys((small, entry)):
            confirmed = confirm(self.statement, one.genome, one.T, one.seed)
            if confirmed.is_confirmed:
                return self._counterexample(one, entry, confirmed, after)
            self.reason = confirmed.reason
        if self.statement.in_expectation and self.tests < _TESTS:
            self.tests += 1
            entropy = (search.seed, 5252, self.tests, search.evaluations)
            try:
                runs = max(200, min(_RUNS, int(0.2 * self.seconds * WORK) // max(entry.T, 1)))
                tested = test_mean(self.statement, small.genome, small.T, entropy, runs, self.until)
            except Skip as error:
                tested = Confirmation(reason=str(error))
            if tested.is_confirmed:
                return self._counterexample(small, entry, tested, after)
            self.reason = tested.reason
        search.forget(entry)
        return None

    def _polish(self) -> Counterexample | None:
        """Replay the best genomes without a margin: a bound may be false by very little."""
        every = [one for pool in self.search.pools.values() for one in pool]
        near = sorted((one for one in every if one.ratio > 1.0 - _NEAR), key=lambda one: one.T)
        for entry in near[:6]:
            if process_time() > self.until:
                break
            work = int(0.02 * self.seconds * WORK)
            small = shrink(self.search, entry, work, self.until, entry.ratio - 1e-10)
            for one in dict.fromkeys((small, entry)):
                confirmed = confirm(self.statement, one.genome, one.T, one.seed)
                if confirmed.is_confirmed:
                    after = process_time() - self.begun
                    return self._counterexample(one, entry, confirmed, after)
        return None

    def _counterexample(
        self, entry: Entry, original: Entry, confirmed: Confirmation, after: float
    ) -> Counterexample:
        found = confirmed.found
        assert found is not None
        report = self._report(entry)
        met = {
            text: "allowed" if text in self.statement.allowed else "computed"
            for text in self.statement.conditions
        }
        made = Counterexample(
            **{**vars(report), "verdict": VIOLATED, "reason": ""},
            measured=_float(found.measured),
            bound=_float(found.bound),
            ratio_exact=confirmed.exact,
            arithmetic=confirmed.arithmetic,
            error_bound=confirmed.error_bound,
            e_value=confirmed.e_value,
            runs=confirmed.runs,
            instance=as_text(entry.genome),
            run_seed=entry.seed,
            numbers=free_numbers(entry.genome),
            found={"T": original.T, "d": original.genome["d"], "genome": as_text(original.genome)},
            constants=dict(confirmed.constants),
            assumptions=met,
        )
        made = replace(made, ratio=_float(found.ratio), t=found.t)
        made = replace(made, search={**made.search, "seconds_to_hit": after})
        try:
            text, printed = standalone(self.statement, made, entry.genome)
        except (Inexact, Skip, OSError, ValueError) as error:
            return replace(made, reason=f"no script: {error}")
        return replace(made, script=text, script_ratio=printed)

    def _report(self, entry: Entry | None = None) -> SearchReport:
        search = self.search
        best = entry or search.best
        genome = {} if best is None else best.genome
        ended = not search.pools and search.evaluations > 0
        nothing = "; ".join(f"{k} ({v})" for k, v in search.skipped.most_common(3))
        return SearchReport(
            claim=self.statement.claim.name,
            label=self.statement.label,
            statement=self.statement.claim.statement,
            verdict=REFUSED if ended else NOT_FALSIFIED,
            reason=f"no instance could be measured: {nothing}" if ended else self.reason,
            ratio=0.0 if best is None else best.ratio,
            t=0 if best is None else best.found.t,
            horizon=0 if best is None else best.T,
            d=genome.get("d", 0),
            n=genome.get("n", 0),
            family=f"{genome.get('family', '')}, set {genome.get('set', '')}",
            seconds=process_time() - self.begun,
            lint=self.remarks,
            search={
                "seed": search.seed,
                "evaluations": search.evaluations,
                "steps": search.work,
                "horizon": search.rungs[-1],
                "horizons": {str(k): v for k, v in sorted(search.largest.items())},
                "families": dict(search.by_family),
                "unconfirmed": search.unconfirmed,
                "skipped": dict(search.skipped.most_common(8)),
                "complete": process_time() < self.until,
            },
        )


def _float(value: Any) -> float:
    return float(value.to_float()) if hasattr(value, "to_float") else float(value)


def _key(search: Search) -> str:
    """Return the key of a search: the claim with its source, and what is searched."""
    statement = search.statement
    try:
        source = Path(module_of(statement.claim).__file__ or "").read_bytes()
    except OSError:
        source = b""
    parts = [statement.claim.name, statement.label, search.seed, search.horizon, search.size]
    text = json.dumps([*parts, search.families, statement.allowed])
    return hashlib.sha256(source + text.encode()).hexdigest()[:24]


def replay(claim: Claim, stored: dict[str, Any]) -> Confirmation:
    """Confirm a stored counterexample again, without a search.

    Raises
    ------
    InputError
        If it is no counterexample to the claim.
    """
    try:
        genome, T, seed = from_text(stored["instance"]), stored["horizon"], stored["run_seed"]
        label = stored["label"]
    except KeyError as error:
        raise InputError(f"the counterexample lacks {error}.") from error
    for statement in statements(
        claim, tuple(k for k, v in stored["assumptions"].items() if v == "allowed")
    ):
        if statement.label == label:
            return confirm(statement, genome, T, seed)
    raise InputError(f"{claim.name} has no bound {label!r}.")


__all__ = ["Statement", "falsify", "replay"]
