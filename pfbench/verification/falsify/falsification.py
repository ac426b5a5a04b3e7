"""The search of a claim, from its statements to a report or a confirmed counterexample."""

import inspect
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from pfbench.base.checks import check_choice, check_integer, check_real
from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import atomic_write
from pfbench.problems.base import content_digest
from pfbench.verification.claim import Claim
from pfbench.verification.falsify import genomes
from pfbench.verification.falsify.confirmation import Confirmation, confirm_entry
from pfbench.verification.falsify.evaluation import Ratio
from pfbench.verification.falsify.exact_numbers import Number
from pfbench.verification.falsify.reports import REFUSED, VIOLATED, Counterexample, SearchReport
from pfbench.verification.falsify.script import compose_and_run_script
from pfbench.verification.falsify.search import MARGIN, Entry, Search, count_steps, describe_error
from pfbench.verification.falsify.statement import SearchedStatement, lint_claim, list_statements
from pfbench.verification.subject import NotTestable

_MEAN_TESTS, _MAX_UNCONFIRMED, _MAX_RUNS = 20, 12, 4000
_NEAR_ATTAINED = 1e-6

_PLAIN = ("work", "evaluations", "unconfirmed", "tests", "reason", "dropped", "largest")
"""Attributes of a search that JSON reads back as they were written."""

_INTERVAL = 2.0
"""Seconds from one save to the next."""


def check_arguments(prefix: str, families: Sequence[str], seconds: float, **sizes: Any) -> None:
    """Check the arguments of a search: `sizes` are its seed, horizon and size.

    Raises
    ------
    InputError
        If an argument is out of range; in its message `prefix` stands before the name.
    """
    check_real(f"{prefix}seconds", seconds, above=0.0)
    for name, value in sizes.items():
        check_integer(f"{prefix}{name}", value, minimum=0 if name == "seed" else 1)
    for name in families:
        check_choice("--family" if prefix else "families", name, genomes.SETS)


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
    """Search for an instance on which a claim's bound fails, shrink it and confirm it.

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
    check_arguments("", families, seconds, seed=seed, horizon=horizon, size=size)
    start = monotonic()
    try:
        remarks, statements = lint_claim(claim), list_statements(claim, tuple(allow))
    except (NotTestable, InputError) as error:
        refused = SearchReport(claim=claim.name, statement=claim.statement, verdict=REFUSED)
        return replace(refused, reason=str(error))
    limits = (seed, horizon, size, tuple(families))
    file = SavedSearch(statements[0], (seconds, *limits, tuple(allow)), *(saved or ()))
    while len(file.reports) < len(statements) and not any(file.reports):
        statement, share = statements[len(file.reports)], seconds / len(statements)
        search = Falsification(statement, *limits, seconds=share, patience=patience, file=file)
        search.remarks = remarks
        file.finish(search.run())
    best = max(file.reports, key=lambda item: (bool(item), item.verdict != REFUSED, item.ratio))
    return replace(best, seconds=monotonic() - start)


@dataclass(kw_only=True)
class Falsification(Search):
    """The search of one statement with its time limit, confirmation and report."""

    seconds: float = 60.0
    patience: float = 1.0
    remarks: Sequence[str] = ()
    file: "SavedSearch"
    start: float = field(default_factory=monotonic)
    tests: int = 0
    reason: str = ""
    complete: bool = True

    def _set_deadline(self, share: float) -> None:
        """Set the deadline to a fraction of the time limit."""
        self.deadline = self.start + share * self.seconds * self.patience

    def run(self) -> SearchReport:
        """Search, and return a counterexample or a report."""
        self.start -= self.file.restore(self)
        self._set_deadline(0.7)
        budget = count_steps(0.6 * self.seconds)
        while self.work < budget and monotonic() < self.deadline:
            self.file.save(self, monotonic() - self.start)
            entry = self.try_next_genome()
            if self.unconfirmed >= _MAX_UNCONFIRMED or (self.evaluations > 300 and not self.pools):
                break
            if entry is None or entry.ratio <= 1.0 + MARGIN:
                continue
            self._set_deadline(0.85)
            if self.statement.refusal:  # no candidate can be confirmed
                self.reason = self.statement.refusal
                return self._report(entry)
            if hit := self._judge(entry):
                return hit
            self._set_deadline(0.7)
        self.complete = monotonic() < self.deadline
        self._set_deadline(0.85)
        near = [entry for entry in self.entries if entry.ratio > 1.0 - _NEAR_ATTAINED]
        for entry in sorted(near, key=lambda entry: entry.T)[:6]:
            # The bound may be too small by less than the margin.
            if hit := self._judge(entry, entry.ratio - 1e-10):
                return hit
        return self._report()

    def _judge(self, entry: Entry, lower: float | None = None) -> Counterexample | None:
        """Shrink a candidate and confirm the result, else the candidate itself.

        `lower` is the least ratio to keep if the bound is nearly attained.
        """
        is_mean = self.statement.is_expectation and lower is None
        if is_mean:
            second = self.measure(entry.genome, entry.T, entry.seed + 1, runs=64)
            if second is None or float(second.ratio) <= 1.0 + MARGIN:
                self.drop(entry)
                return None
        hit, share = monotonic() - self.start, 0.2 if lower is None else 0.05
        seconds, reason = share * self.seconds, self.reason
        work, clock = count_steps(min(seconds, 2.0)), seconds * self.patience
        small = self.shrink(entry, work, clock, lower)
        attempts: list[Any] = [(tried, None) for tried in dict.fromkeys((small, entry))]
        if is_mean and self.tests < _MEAN_TESTS:
            self.tests += 1
            runs = count_steps(0.2 * self.seconds) // max(small.T, 1)
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
        before, conditions = original.genome, self.statement.conditions
        fields = vars(report) | {"verdict": VIOLATED, "reason": "", **confirmed.record}
        fields["search"] = {**report.search, "seconds_to_hit": seconds}
        counterexample = Counterexample(
            **fields,
            measured=_as_float(result.measured),
            bound=_as_float(result.bound),
            instance=genomes.convert_to_text(genome),
            run_seed=entry.seed,
            numbers=sum(bool(box[key]) for box, key in genomes.list_positions(genome)),
            before_shrinking={"T": original.T, "d": before["d"]}
            | {"genome": genomes.convert_to_text(before)},
            assumptions={k: "allowed" if k in allowed else "computed" for k in conditions},
        )
        end = self.start + 0.98 * self.seconds * self.patience
        remaining = max(2.0, end - monotonic())
        try:
            text, printed = compose_and_run_script(self.statement, counterexample, remaining)
        except Exception as error:  # without a script it is still confirmed
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


def replay_counterexample(claim: Claim, record: Any, seconds: float = 60.0) -> Confirmation:
    """Confirm a stored counterexample again, without a search.

    Raises
    ------
    InputError
        If it is no counterexample to the claim.
    """
    try:
        genome, label = genomes.parse_genome(record["instance"]), record["label"]
        entry = Entry(genome, record["horizon"], record["run_seed"], Ratio())
        allowed = tuple(k for k, v in record["assumptions"].items() if v == "allowed")
        is_mean, deadline = record["arithmetic"] == "e-process", monotonic() + seconds
    except (KeyError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"the counterexample cannot be read ({error}).") from error
    for statement in list_statements(claim, allowed):
        if statement.label == label:
            return confirm_entry(statement, entry, deadline, is_mean and (None, _MAX_RUNS))
    raise InputError(f"{claim.name} has no bound {label!r}.")


class SavedSearch:
    """The reports on the finished statements of a claim, and the state of the next one's search.

    The name of the file has a digest of the claim's source and of `options`. Nothing is saved if
    there is no folder.
    """

    def __init__(
        self, first: SearchedStatement, options: Any, folder: Any = None, is_resumed: bool = False
    ) -> None:
        self.path: Path | None = None
        self.state: dict[str, Any] | None = None
        self.reports, self.time = list[SearchReport](), monotonic()
        if folder is None:
            return
        version = sys.modules[__name__.partition(".")[0]].__version__
        name, source = first.claim.name, inspect.getsource(first.module)
        digest = content_digest((version, name, options, source))
        self.path = folder / f"{name}-{digest[:16]}.json"
        if is_resumed and self.path.exists():
            try:
                saved = json.loads(self.path.read_text(encoding="utf-8"), object_hook=_decode)
                self.state, self.reports = saved["state"], saved["reports"]
            except (ValueError, TypeError, KeyError) as error:
                message = f"{self.path} is damaged: delete it, or omit --resume."
                raise StorageError(message) from error

    def finish(self, report: SearchReport) -> None:
        """Add and save the report on a statement."""
        self.reports.append(report)
        self._write(None)

    def save(self, search: Search, elapsed: float) -> None:
        """Save the state of a search, unless the last save is too recent."""
        if self.path is None or monotonic() < self.time + _INTERVAL:
            return
        state = {name: getattr(search, name) for name in (*_PLAIN, "skipped", "pools")}
        self._write(state | {"elapsed": elapsed, "rng": search.rng.bit_generator.state})

    def restore(self, search: Search) -> float:
        """Restore the saved state of a search, if any; return the seconds that it had taken."""
        if self.state is None:
            return 0.0
        state, self.state = self.state, None
        vars(search).update({name: state[name] for name in _PLAIN})
        search.rng.bit_generator.state = state["rng"]
        search.skipped = Counter(state["skipped"])
        search.pools = {int(T): pool for T, pool in state["pools"].items()}
        return float(state["elapsed"])

    def _write(self, state: dict[str, Any] | None) -> None:
        self.time = monotonic()
        if self.path is not None:
            saved = {"reports": self.reports, "state": state}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as file:
                file.write(json.dumps(saved, default=_encode).encode())


def _encode(value: Any) -> Any:
    return vars(value) if isinstance(value, Entry | Ratio | SearchReport) else float(value)


def _decode(record: dict[str, Any]) -> Any:
    """Return the object that `_encode` wrote, which one of its attributes identifies."""
    kinds = {"growth": Ratio, "result": Entry, "script": Counterexample, "verdict": SearchReport}
    return next((kind(**record) for key, kind in kinds.items() if key in record), record)
