"""Definition of a claim: a statement of a paper, its check, planted faults and errata.

Each theorem has one file. It contains the bound as a function, instances on which the bound is
tight, and the check. It also contains the `Claim`, and the functions that examine errata. Each
paper has a folder of these files, collected in one `Paper`. Its errata are in ``errata.toml``.
Planted faults that are edits of a method are in ``faults.toml``.

The evidence for an erratum is its dossier: quotations from the paper, and the readings that were
tried. A quotation repeats the paper letter by letter. Paraphrases, as in `Erratum.as_printed`, have
no quotation marks.

Complexities are converted between criteria. V is the Frank-Wolfe gap over a compact set of diameter
D, and G is the gradient mapping with step lambda. The inequality of the projection
implies two relations:

1. |G|^2 <= V/lambda, so V <= lambda eps gives |G|^2 <= eps;
2. V <= (D + lambda |grad f|) |G|, so |G| <= eps/(D + lambda sup|grad f|) gives V <= eps.

A complexity eps^-a n^b under one criterion thus implies one under every other criterion: `_FACTORS`
multiplies the power of eps. A direct proof may give a smaller complexity.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError
from pfbench.verification.instances import make_instance
from pfbench.verification.instruments.overrides import OracleEdit
from pfbench.verification.subject import EditedMethod, Subject
from pfbench.verification.units import Formula, Unit

if TYPE_CHECKING:
    from pfbench.verification.contrast import ExaminationEvidence
    from pfbench.verification.statistics import Evidence

KINDS = {
    "count": "exact counts by a formula",
    "bound": "an inequality with explicit constants, for every run or in expectation",
    "law": "the error of an estimator: its mean, its mean square, and their exponents",
    "rate": "exponents of epsilon, n or the condition number in calls to a target",
    "separation": "one method needs fewer calls than another beyond a stated crossover",
    "identity": "two methods, or two quantities, coincide",
    "certificate": "a lower bound, proved by a resisting oracle's transcript",
    "computed": "the worst case of a few steps, by a semidefinite program, against a bound",
}
"""Kinds of claims, and what a claim of each kind states."""


CONCLUSIONS = {
    "wrong": "a contradiction in the paper, or a counterexample to what it prints; no reading "
    "that was tried makes the statement right",
    "unclear": "the statement is right under one reading, and wrong under another",
    "ours": "the paper does not say, and pfbench made a choice",
    "doubtful": "the statement fails as read in a machine-made copy, which was not compared with "
    "the print",
}
"""Possible conclusions about an erratum, with their meaning."""

MOST_LINES = 5
"""Maximum number of lines of a derivation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Claim:
    """Claim of a paper about a method or a problem class, with the check that tests it.

    Attributes
    ----------
    name
        Key of the claim: the key of its paper, a hyphen, and its place in the paper.
    source
        Paper and number of the theorem.
    kind
        One of `KINDS`; by default the kind of the check, which checks of `statements` have.
    statement
        Statement in one line, with the constants that are tested.
    check
        Check of the claim: an importable function of a `Trial`, or a check of `statements`.
    instances
        Problems on which the claim is tested: each an `Instance`, or an argument of
        `make_instance`.
    algorithm
        Method that the claim is about: a catalogue name or a user-defined class; empty if the claim
        is about no method.
    assumptions
        Assumptions on the problem.
    schedule
        Source of the method's parameters: "explicit", "theory", "practical" or "none".
    admits
        For each parameter of the schedule, the smallest and the largest factor that the theorem
        admits; empty if the theorem states one value. A planted fault must lie outside this range.
    expected_seconds
        Usual seconds of the check on one core, for quick (None: left out) and full effort; by
        default those of a check of `statements`.
    complexity
        Complexity that a rate states, under its paper's criterion.
    disputed
        Reason why the proof is broken; empty if it is not. A disputed claim is measured, but its
        verdict is *disputed*.
    formulas
        Bounds with their units, if the check is not one of `statements`.
    units
        Units of constants and parameters by name. "constants" names the unit of constants that are
        one number, "of" that of the measured quantity. Usual names need no entry; an entry
        replaces their usual unit.
    scale_dependence
        Reason why the bound does not scale with the units of f and x; empty if it does.
    needs_seed
        Whether the `case_seed` of a verification draws the sizes and the start.
    user_source
        `UserClaimFile` of a user-defined claim, from which other processes import the claim; None
        for the catalogue's.

    Raises
    ------
    InputError
        If the kind is unknown, the check is not callable, or an instance is invalid.
    """

    name: str
    source: str = "user-defined"
    kind: str = ""
    statement: str
    check: "Callable[[Any], Evidence]"
    instances: tuple[Any, ...] = ()
    algorithm: Any = ""
    assumptions: tuple[str, ...] = ()
    schedule: str = "explicit"
    admits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    expected_seconds: tuple[float | None, float] = ()  # type: ignore[assignment]
    complexity: "Complexity | None" = None
    disputed: str = ""
    formulas: tuple[Formula, ...] = ()
    units: Mapping[str, Unit] = field(default_factory=dict)
    scale_dependence: str = ""
    needs_seed: bool = False
    user_source: Any = None

    def __post_init__(self) -> None:
        if not callable(self.check):
            raise InputError(f"the check of the claim {self.name} must be a function of a Trial.")
        kind = self.kind or getattr(self.check, "kind", "")
        instances = (self.instances,) if isinstance(self.instances, str) else self.instances
        created = tuple(map(make_instance, instances))
        takes = self.expected_seconds or getattr(self.check, "takes", (1.0, 10.0))
        object.__setattr__(self, "expected_seconds", takes)
        object.__setattr__(self, "kind", check_choice(f"kind of {self.name}", kind, KINDS))
        object.__setattr__(self, "instances", created)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.user_source is None:
            return super().__reduce_ex__(protocol)
        return self.user_source.claim, (self.name,)

    @property
    def method(self) -> str:
        """Name of the method that the claim is about; empty if there is none."""
        if isinstance(self.algorithm, str):
            return self.algorithm
        kind = self.algorithm if inspect.isclass(self.algorithm) else type(self.algorithm)
        return str(getattr(self.algorithm, "name", kind.__name__))

    @property
    def paper(self) -> str:
        """Key of the paper, e.g. "shen2019"."""
        return self.name.split("-")[0]

    def seconds(self, effort: str) -> float:
        """Return the typical duration of the check in seconds on one core, at an effort level."""
        quick, full = self.expected_seconds
        return full if effort == "full" or quick is None else quick


@dataclass(frozen=True, eq=False, kw_only=True)
class Mutant:
    """Algorithm, estimator, set or oracle with a planted fault that certain claims must detect.

    Attributes
    ----------
    name
        Name, unique among all mutants.
    subject
        The variant: an edit of the source, or a class whose docstring describes the fault.
    expected_claims
        Claims that must catch the fault.
    """

    name: str
    subject: Subject
    expected_claims: tuple[Claim, ...]

    @classmethod
    def from_variant(cls, name: str, algorithm: Any, *expected: Claim) -> Self:
        """Return a mutant whose algorithm is the given faulty class or object."""
        return cls(name=name, subject=Subject(algorithm), expected_claims=expected)

    @classmethod
    def from_edits(
        cls,
        method: Any,
        edited_part: Any,
        name: str,
        description: str,
        edits: Mapping[str, str],
        *expected: Claim,
    ) -> Self:
        """Return a mutant of a method, made by editing the source of one of its parts.

        `edits` maps each text of the source to its replacement; see `EditedMethod`.
        """
        subject = EditedMethod(
            method, edited_part=edited_part, edits=tuple(edits.items()), description=description
        )
        return cls(name=name, subject=subject, expected_claims=expected)

    @classmethod
    def from_oracles(cls, name: str, oracles: Callable[[Any], Any], *expected: Claim) -> Self:
        """Return a mutant whose oracles are made faulty by a wrapper, the function `oracles`."""
        return cls(name=name, subject=Subject(oracles=oracles), expected_claims=expected)

    @property
    def description(self) -> str:
        """Description of the planted fault."""
        for edit in (self.subject, self.subject.oracles):
            if isinstance(edit, EditedMethod | OracleEdit):
                return edit.description
        # Not `getdoc`: a class without a text of its own would have that of the right method.
        algorithm = self.subject.algorithm or self.subject.oracles
        value = algorithm.__doc__ if inspect.isclass(algorithm) else inspect.getdoc(algorithm)
        return inspect.cleandoc(value) if value else getattr(algorithm, "__name__", "")


@dataclass(frozen=True, kw_only=True)
class Quote:
    """Literal quotation from a paper, with its location.

    Attributes
    ----------
    text
        Printed text; " … " marks an omission.
    location
        Section, equation, theorem or figure.
    """

    text: str
    location: str


@dataclass(frozen=True, kw_only=True)
class Dossier:
    """Conclusion about an erratum, with quotations, derivation and other readings as evidence.

    Attributes
    ----------
    conclusion
        One of `CONCLUSIONS`.
    quotes
        Quotations of the printed statement.
    assumption
        Assumption where the paper does not say; empty if there is none.
    derivation
        Reason why the printed form fails and what holds instead, at most `MOST_LINES` lines.
    instance
        Smallest instance on which the printed form fails and the corrected form holds.
    readings
        Other readings, units or constants that could make the printed form right, by name. The
        examination tries each, and reports under the same name whether it does.

    Raises
    ------
    InputError
        If the conclusion is unknown, if "wrong" or "unclear" has no quotation, or if the derivation
        is missing or too long.
    """

    conclusion: str
    quotes: tuple[Quote, ...]
    assumption: str = ""
    derivation: tuple[str, ...]
    instance: str
    readings: Mapping[str, str]

    def __post_init__(self) -> None:
        check_choice("conclusion", self.conclusion, CONCLUSIONS)
        if not self.quotes and self.conclusion in ("wrong", "unclear"):
            raise InputError(
                "an erratum with the conclusion wrong or unclear needs a quote of its source."
            )
        if not 0 < len(self.derivation) <= MOST_LINES:
            raise InputError(f"the derivation of an erratum must have 1 to {MOST_LINES} lines.")

    def conclusion_fits(self, readings: Mapping[str, bool]) -> bool:
        """Return whether the conclusion fits the results of trying all readings of the statement.

        All readings must have been tried. The conclusion *wrong* requires that no reading makes the
        printed statement right. The conclusion *unclear* requires that one does.
        """
        if set(readings) != set(self.readings):
            return False
        return self.conclusion in ("ours", "doubtful") or any(readings.values()) == (
            self.conclusion == "unclear"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Erratum:
    """Statement of a paper that is wrong, ambiguous, or possibly damaged in the copy that was read.

    Attributes
    ----------
    name
        Key of the paper, and place in the paper.
    as_printed, corrected
        The two statements, one line each, paraphrased.
    examine
        Function of effort ("quick" or "full") and seed. It must show that the printed statement
        fails and the corrected one holds, and try every reading of the dossier.
    claim
        The claim that the erratum is about; None if there is none.
    objection
        Possible objection of the author: what would make the printed statement right.
    dossier
        Evidence for the erratum; every erratum of the catalogue has one.
    printed_formula, corrected_formula
        Printed and corrected formula, each with the unit that it should have; None if the statement
        is not a formula.
    """

    name: str
    as_printed: str
    corrected: str
    examine: "Callable[[str, int], ExaminationEvidence]"
    claim: Claim | None = None
    objection: str = ""
    dossier: Dossier | None = None
    printed_formula: Formula | None = None
    corrected_formula: Formula | None = None

    @property
    def ruling(self) -> str:
        """Conclusion about the statement, a key of `CONCLUSIONS`; "wrong" if it has no dossier."""
        return "wrong" if self.dossier is None else self.dossier.conclusion

    @property
    def quotation_label(self) -> str:
        """Words before the quotation: "as printed", or "as read" if only a copy was read."""
        return "as read" if self.ruling == "doubtful" else "as printed"

    def is_shown(self, evidence: "ExaminationEvidence") -> bool:
        """Return whether the evidence reproduces the erratum and supports its conclusion."""
        return evidence.is_shown and (
            self.dossier is None or self.dossier.conclusion_fits(evidence.readings)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Paper:
    """Claims, mutants and errata of a paper, with the paper's key and title."""

    key: str
    title: str
    claims: tuple[Claim, ...]
    mutants: tuple[Mutant, ...]
    errata: tuple[Erratum, ...]


# --- complexities ------------------------------------------------------------------------------

GAP, MAPPING_SQ, MAPPING = CRITERIA = ("V <= eps", "|G|^2 <= eps", "|G| <= eps")
"""Criteria of stationarity in the papers."""

EXCESS = "f - min f <= eps"
"""Criterion for convex f; no link leads to it."""

_FACTORS: Mapping[tuple[str, str], float] = {
    ("V <= eps", "|G|^2 <= eps"): 1.0,
    ("V <= eps", "|G| <= eps"): 2.0,
    ("|G|^2 <= eps", "V <= eps"): 2.0,
    ("|G|^2 <= eps", "|G| <= eps"): 2.0,
    ("|G| <= eps", "V <= eps"): 1.0,
    ("|G| <= eps", "|G|^2 <= eps"): 0.5,
}


@dataclass(frozen=True)
class ComplexityOrder:
    """Order of growth eps^-a n^b of oracle calls, where the field `eps` is a and `n` is b.

    Attributes
    ----------
    eps
        Power a of 1/eps; 0 stands for log(1/eps).
    n
        Power b of n.
    """

    eps: float
    n: float = 0.0

    def __str__(self) -> str:
        n = f"n^{self.n:.3g} " if self.n else ""
        return f"{n}eps^-{self.eps:.3g}" if self.eps else f"{n}log(1/eps)"


@dataclass(frozen=True)
class Complexity:
    """Orders of a method's oracle calls to reach accuracy eps under a stationarity criterion."""

    method: str
    criterion: str
    orders: Mapping[str, ComplexityOrder]

    def is_known_under(self, criterion: str) -> bool:
        """Return whether the complexity is known, or can be derived, under another criterion."""
        return criterion == self.criterion or (self.criterion, criterion) in _FACTORS

    def convert(self, criterion: str) -> "Complexity":
        """Convert the numbers of oracle calls to another stationarity criterion."""
        factor = 1.0 if criterion == self.criterion else _FACTORS[self.criterion, criterion]
        orders = {kind: ComplexityOrder(o.eps * factor, o.n) for kind, o in self.orders.items()}
        return Complexity(self.method, criterion, orders)


def complexity(method: str, criterion: str, **orders: tuple[float, float] | float) -> Complexity:
    """Return a complexity from the power of 1/eps, or the powers of 1/eps and n, per oracle kind.

    The powers are keyword arguments, one for each oracle kind.
    """
    pairs = {k: o if isinstance(o, tuple) else (o, 0.0) for k, o in orders.items()}
    return Complexity(method, criterion, {k: ComplexityOrder(*pair) for k, pair in pairs.items()})
