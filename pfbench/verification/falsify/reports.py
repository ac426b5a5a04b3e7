"""Results of a search: a report, or a confirmed counterexample."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.verification.falsify.genomes import parse_genome
from pfbench.verification.falsify.searched_problem import build_problem

VIOLATED, NOT_FALSIFIED, REFUSED = "violated", "not falsified", "refused"


_FORMULAS = {
    "quadratic": "f(x) = s (x - x_star) + (x - x_star) H (x - x_star)/2, "
    "grad f_i = grad f + offsets[i]",
    "separable": "f_i'(x_j) = v + u (x_j - x_star) + sum of c max(r (x_j - k), 0), "
    "PARTS[j][i] = (v, u, [(k, c, r), ...])",
}
"""The function of an instance of each family, in the names of the script."""

_LONGEST = 24
"""Number of characters after which the text of an exact number is cut."""


@dataclass(frozen=True, kw_only=True)
class SearchReport:
    """Result of a search for a counterexample.

    If the search finds no counterexample, this is no proof of the bound.

    Attributes
    ----------
    claim, label, statement
        The claim, and which of its bounds and settings.
    verdict
        "violated", "not falsified" or "refused".
    reason
        Why the search is refused, or why the last candidate is not confirmed.
    ratio, t, horizon, d, n, family
        The largest ratio of measured to bound, and where.
    seconds
        Seconds in all.
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
    lint: Sequence[str] = ()
    search: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.verdict == VIOLATED

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dictionary for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the report as lines of text, for the terminal."""
        lines = [f"{self.claim}: note: {remark}" for remark in self.lint]
        if self.verdict == REFUSED:
            return [*lines, f"{self.claim}: refused: {self.reason}"]
        search, skipped = self.search, sum(self.search["skipped"].values())
        outcome = "confirmed" if search["unconfirmed"] else "found"
        lines.append(f"{self.claim}: no counterexample {outcome} in {self.seconds:.3g} s")
        if self.ratio:
            lines.append(f"  largest ratio {self.ratio:.4g} at {self.place_of_worst_ratio}")
        T = f"T <= {search['horizon']}" if search["horizon"] else "T as the claim sets it"
        lines.append(
            f"  searched    {search['evaluations']} instances, {T}, "
            f"{len(search['families'])} families; {search['unconfirmed']} unconfirmed candidates; "
            f"{skipped} skipped; {'complete' if search['complete'] else 'ended by the time limit'}"
        )
        lines += [f"  unconfirmed {self.reason}"] if self.reason else []
        return [*lines, "  This is not a proof."]

    @property
    def place_of_worst_ratio(self) -> str:
        """Step, problem family and sizes at which measured/bound is largest, as a text."""
        steps = f" of T = {self.horizon}" if self.horizon else ""
        return f"t = {self.t}{steps}: {self.family}, d = {self.d}, n = {self.n}"


@dataclass(frozen=True, kw_only=True)
class Counterexample(SearchReport):
    """Instance on which a bound fails, confirmed exactly or by an e-process.

    Attributes
    ----------
    measured, bound, ratio_exact
        Both sides as numbers, and the ratio as text.
    quantity
        The measured quantity, if it is not the one that the claim bounds.
    arithmetic
        "rational", "50 digits" (with `error_bound`) or "e-process" (with `e_value` and `runs`).
    instance, run_seed, numbers, before_shrinking
        Genome as exact text; seed of the run; how many numbers are not 0; the candidate before
        shrinking.
    constants, assumptions
        Value of each constant; "computed" or "allowed" for each assumption.
    script, script_path, script_ratio
        Text of the standalone script, its file, and the ratio that it printed.
    """

    measured: float = 0.0
    quantity: str = ""
    bound: float = 0.0
    ratio_exact: str = ""
    arithmetic: str = ""
    error_bound: float = 0.0
    e_value: float = 0.0
    runs: int = 0
    instance: Mapping[str, Any] = field(default_factory=dict)
    run_seed: int = 0
    numbers: int = 0
    before_shrinking: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    assumptions: Mapping[str, str] = field(default_factory=dict)
    script: str = ""
    script_path: str = ""
    script_ratio: float | None = None

    def write(self, path: str | Path) -> Path:
        """Write the script of the counterexample to a file, and return the path of the file.

        Raises
        ------
        InputError
            If there is no script.
        """
        if not self.script:
            raise InputError(f"the counterexample to {self.claim} has no script: {self.reason}.")
        Path(path).write_text(self.script, encoding="utf-8")
        return Path(path)

    def lines(self) -> list[str]:
        """Return the counterexample as lines of text, for the terminal."""
        search, before, arithmetic = self.search, self.before_shrinking, self.arithmetic
        if arithmetic == "e-process":
            arithmetic = f"e-value {self.e_value:.3g}, {self.runs} runs"
        ratio = self.ratio_exact
        if not 0 < len(ratio) <= _LONGEST:
            ratio, _ = format_distinct(self.ratio, 1.0, digits=10)
        measured, bound = format_distinct(self.measured, self.bound, digits=10)
        constants = ", ".join(f"{k} = {v:.{_LONGEST}}" for k, v in self.constants.items())
        assumptions = "; ".join(f"{k} ({v})" for k, v in self.assumptions.items())
        facts = {"measured   ": self.quantity, "constants  ": constants, "assumptions": assumptions}
        location = f"{self.script_path or 'in the JSON'} ({len(self.script.splitlines())} lines)"
        code = list_instance_code_lines(build_problem(parse_genome(dict(self.instance))))
        formula, T = _FORMULAS[self.instance["family"]], self.horizon or "the claim's"
        return [
            *(f"{self.claim}: note: {remark}" for remark in self.lint),
            f"{self.claim}: violated",
            f"  measured {measured} > bound {bound} at t = {self.t}: "
            f"ratio {ratio}, confirmed ({arithmetic})",
            f"  instance    d = {self.d}, n = {self.n}, T = {T}: {self.family} "
            f"({self.numbers} numbers)",
            *(f"              {line:.1000}" for line in (formula, *code)),
            *(f"  {name} {text}" for name, text in facts.items() if text),
            f"  search      hit after {search['seconds_to_hit']:.2g} s at T = {before['T'] or T}, "
            f"d = {before['d']}; seed {search['seed']}, {search['evaluations']} evaluations",
            f"  script      {location if self.script else f'none: {self.reason}'}",
        ]


def format_distinct(*numbers: float, digits: int) -> list[str]:
    """Return numbers as texts of `digits` digits, or of more if different numbers look equal."""
    texts = list[str]()
    for precision in range(digits, 18):
        texts = [f"{number:.{precision}g}" for number in numbers]
        if len(set(texts)) == len(set(numbers)):
            break
    return texts


def format_literal(value: Any) -> str:
    """Return Python code for a number or for lists of numbers.

    A number that equals a simple fraction or root is written as such.
    """
    if isinstance(value, np.ndarray | list | tuple):
        items = [format_literal(item) for item in value]
        is_constant = len(items) > 6 and len(set(items)) == 1
        text = f"[{items[0]}] * {len(items)}" if is_constant else f"[{', '.join(items)}]"
        return f"({', '.join(items)})" if isinstance(value, tuple) else text
    if value is None or isinstance(value, bool | int | str | np.integer):
        return repr(value)
    number = float(value)
    if not math.isfinite(number):
        return "math.inf"
    short, square = (Fraction(x).limit_denominator(1000) for x in (number, number * number))
    if float(short) == number:
        return str(short)
    return f"math.sqrt({square})" if math.sqrt(square) == number else repr(number)


def list_instance_code_lines(problem: Any) -> list[str]:
    """Return lines of Python code that define the arrays and numbers of a problem."""
    body, arrays = problem.set, {"start": problem.x_0, "x_star": problem.minimiser}
    lines = [f"n = {problem.n}"]
    if hasattr(problem, "distinct"):
        coordinates, arrays["x_star"] = problem.distinct, problem.base
        parts = [[(p.value, p.slope, p.changes) for p in item.parts] for item in coordinates]
        lines.append(f"PARTS = {format_literal(parts)}")
    else:
        matrix = np.array([problem.apply(unit) for unit in np.eye(problem.d)]).T
        diagonal = np.diag(matrix)
        is_diagonal = bool((matrix == np.diag(diagonal)).all())
        function, entries = ("diag", diagonal) if is_diagonal else ("array", matrix)
        lines.append(f"H = np.{function}({format_literal(entries)})")
        arrays |= {"s": problem.slope, "offsets": problem.offsets}
    if body.kind == "hull":
        lines.append(
            f"V = np.array({format_literal(body.vertices)}, float)  # ties: the first vertex"
        )
    elif body.kind == "ball":
        lines.append(f"RADIUS = {format_literal(body.radius)}")
    arrays |= {"low": body.low, "high": body.high} if body.kind == "box" else {}
    return lines + [
        f"{key} = np.array({format_literal(value)}, float)" for key, value in arrays.items()
    ]
