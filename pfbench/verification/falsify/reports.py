"""Results of a search: a confirmed counterexample, or a report without one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError

VIOLATED, NOT_FALSIFIED, REFUSED = "violated", "not falsified", "refused"


@dataclass(frozen=True, kw_only=True)
class SearchReport:
    """A claim that no instance violates, as far as the search went; it is not a proof.

    Attributes
    ----------
    claim, label, statement
        The claim, and which of its bounds and settings.
    verdict
        "violated", "not falsified" or "refused".
    reason
        Why it was refused, or what remained unconfirmed.
    ratio, t, horizon, d, n, family
        The largest ratio of measured to bound, and where.
    seconds
        Processor seconds in all.
    lint
        Remarks on the claim, made before the search.
    search
        Seed, evaluations, steps, horizons, families, unconfirmed, skipped, complete.
    """

    claim: str
    label: str = ""
    statement: str = ""
    verdict: str = NOT_FALSIFIED
    reason: str = ""
    ratio: float = 0.0
    t: int = 0
    horizon: int = 0
    d: int = 0
    n: int = 0
    family: str = ""
    seconds: float = 0.0
    lint: tuple[str, ...] = ()
    search: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.verdict == VIOLATED

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return asdict(replace(self, lint=list(self.lint)))  # type: ignore[arg-type]

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        lines = [f"{self.claim}: note: {remark}" for remark in self.lint]
        if self.verdict == REFUSED:
            return [*lines, f"{self.claim}: refused: {self.reason}"]
        lines.append(f"{self.claim}: no counterexample found in {self.seconds:.3g} s")
        if self.ratio:
            where = f"{self.family}, d = {self.d}, n = {self.n}"
            lines.append(
                f"  largest ratio {self.ratio:.4g} at t = {self.t} of T = {self.horizon}: {where}"
            )
        lines.append(f"  searched    {self._searched()}")
        if self.reason:
            lines.append(f"  unconfirmed {self.reason}")
        return [*lines, "  This is not a proof."]

    def _searched(self) -> str:
        search = self.search
        skipped = sum(search.get("skipped", {}).values())
        count, families = search.get("evaluations", 0), len(search.get("families", {}))
        return (
            f"{count} instances, T <= {search.get('horizon', 0)}, {families} families; "
            f"{search.get('unconfirmed', 0)} candidates not confirmed; {skipped} skipped"
        )

    @property
    def line(self) -> str:
        """One line, as `verify` shows it."""
        if self.verdict == REFUSED:
            return self.reason
        evaluations, horizon = self.search.get("evaluations", 0), self.search.get("horizon", 0)
        return (
            f"worst ratio found {self.ratio:.3g} at t = {self.t}, d = {self.d}, n = {self.n} "
            f"({evaluations} instances, T <= {horizon}, not a proof)"
        )


@dataclass(frozen=True, kw_only=True)
class Counterexample(SearchReport):
    """An instance on which a bound fails, confirmed exactly or by an e-process.

    Attributes
    ----------
    measured, bound, ratio_exact
        Both sides as numbers, and the ratio as text.
    arithmetic
        "rational", "50 digits" (with `error_bound`) or "e-process" (with `e_value` and `runs`).
    instance, numbers, found
        Genome as exact text; how many of its numbers are not 0; the same before shrinking.
    constants, assumptions
        Value of each constant; how each assumption is met.
    script, script_ratio
        Text of the standalone script, and the ratio that it printed.
    """

    measured: float = 0.0
    bound: float = 0.0
    ratio_exact: str = ""
    arithmetic: str = ""
    error_bound: float = 0.0
    e_value: float = 0.0
    runs: int = 0
    instance: Mapping[str, Any] = field(default_factory=dict)
    run_seed: int = 0
    numbers: int = 0
    found: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    assumptions: Mapping[str, str] = field(default_factory=dict)
    script: str = ""
    script_path: str = ""
    script_ratio: float | None = None

    def write(self, path: str | Path) -> Path:
        """Write the script to a file; return its path.

        Raises
        ------
        InputError
            If there is no script.
        """
        if not self.script:
            raise InputError(
                f"{self.claim} has no script: {self.reason or 'its source is unknown'}."
            )
        Path(path).write_text(self.script, encoding="utf-8")
        return Path(path)

    def lines(self) -> list[str]:
        """Return the counterexample as lines of text."""
        how = self.arithmetic
        if how == "e-process":
            how = f"e-value {self.e_value:.3g}, {self.runs} runs"
        g = self.instance
        place = f"d = {self.d}, n = {self.n}, T = {self.horizon}: {self.family}"
        place += f" ({self.numbers} numbers)"
        stated = ", ".join(f"{k} = {_short(v)}" for k, v in self.constants.items())
        met = "; ".join(f"{k} ({v})" for k, v in self.assumptions.items())
        lines = [f"{self.claim}: note: {remark}" for remark in self.lint]
        lines += [
            f"{self.claim}: violated",
            f"  measured {self.measured:.10g} > bound {self.bound:.10g} at t = {self.t}: "
            f"ratio {_short(self.ratio_exact) or f'{self.ratio:.10g}'}, confirmed ({how})",
            f"  instance    {place}",
            f"              {_in_words(g)}",
        ]
        lines += [f"  constants   {stated}"] if stated else []
        lines += [f"  assumptions {met}"] if met else []
        lines.append(
            f"  search      found after {self.search.get('seconds_to_hit', 0.0):.2g} s at "
            f"T = {self.found.get('T')}, d = {self.found.get('d')}; seed "
            f"{self.search.get('seed')}, {self.search.get('evaluations')} evaluations"
        )
        if self.script:
            count = len(self.script.splitlines())
            lines.append(f"  script      {self.script_path or 'in the JSON'} ({count} lines)")
        elif self.reason:
            lines.append(f"  script      none: {self.reason}")
        return lines

    @property
    def line(self) -> str:
        """One line, as `verify` shows it."""
        return (
            f"counterexample: ratio {_short(self.ratio_exact) or f'{self.ratio:.6g}'} "
            f"at t = {self.t}, d = {self.d}, n = {self.n} ({self.arithmetic}; "
            f"{_in_words(self.instance)})"
        )


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}..."


def _in_words(instance: Mapping[str, Any]) -> str:
    hidden = ("family", "n", "d")
    parts = (f"{k} {v}" for k, v in instance.items() if k not in hidden and v not in ([], "none"))
    return "; ".join(parts).replace("'", "")
