"""Definition of a claim: a statement of a paper, its check, its planted faults, its errata.

A theorem is one file: its bound as a function, the instances on which it binds, the check, the
`Claim`, its `Mutant` objects, its `Erratum` objects with the examination of each. A paper is a
folder of such files, gathered in one `Paper`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, Self

from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError
from pfbench.verification.dossier import Dossier
from pfbench.verification.instances import make_instance
from pfbench.verification.subject import EditedMethod, Subject
from pfbench.verification.units import Formula, Unit

if TYPE_CHECKING:
    from pfbench.verification.contrast import ExaminationEvidence
    from pfbench.verification.criteria import Complexity
    from pfbench.verification.evidence import Evidence

KINDS = {
    "count": "exact counts by a formula",
    "bound": "an inequality with explicit constants, for every run or in expectation",
    "law": "the error of an estimator: its mean, its mean square, and the exponents of that",
    "rate": "exponents of epsilon, n or the condition number in calls to a target",
    "separation": "one method needs fewer calls than another beyond a stated crossover",
    "identity": "two things coincide",
    "certificate": "a lower bound, proved by a resisting oracle's transcript",
    "computed": "the worst case of a few steps, a semidefinite program, against a bound",
}
"""Every kind of claim, with what it says."""


class ClaimSource(Protocol):
    """File or module in which user-defined claims are stated."""

    @property
    def reference(self) -> str:
        """The file or module."""

    def claim(self, name: str) -> "Claim":
        """Return a claim by its name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Claim:
    """A claim of a paper.

    Attributes
    ----------
    name
        Its key: that of its paper, a hyphen, and what it is there.
    source
        Paper and number.
    kind
        One of `KINDS`; that of the check if it has one, as the words of `stating` have.
    statement
        What it says, in one line, with the constants that are tested.
    check
        Puts it to the test; an importable function of a `Trial`, or a word of `stating`.
    instances
        The problems on which it is tested: each an `Instance`, or what `make_instance` makes one
        of.
    algorithm
        The method that it is about: a catalogue name or a user-defined class; empty if it is about
        none.
    assumptions
        What it assumes of the problem.
    schedule
        The parameters with which the method runs.
    admits
        By parameter of the schedule the least and the largest factor on it that the theorem admits;
        empty where it states one value. No planted fault may be the method within these.
    expected_seconds
        Seconds that the check usually takes on one core, quick (None: not made then) and full;
        those of the word, if it is one.
    complexity
        The complexity that a rate states, under its paper's criterion.
    disputed
        Why its proof is broken; empty if it is not. A disputed claim is measured, never verified.
    formulas
        Its bounds with their units, where the check is no word that has them.
    units
        Units of constants and parameters by name, of a constant that is a number as "constants", of
        what is measured as "of"; those of usual names are known.
    scale_dependence
        Why the bound does not scale with the units of f and x; empty if it does.
    needs_seed
        Whether sizes and start are drawn, by the `case_seed` of a verification.
    user_source
        File or module of a user-defined claim, by which other processes import it.

    Raises
    ------
    InputError
        If the kind is unknown, the check cannot be called, or an instance is none.
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
    user_source: "ClaimSource | None" = None

    def __post_init__(self) -> None:
        if not callable(self.check):
            raise InputError(f"the check of {self.name} must be a function of a trial.")
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
        """The name of the method that it is about; empty if it is about none."""
        if isinstance(self.algorithm, str):
            return self.algorithm
        kind = self.algorithm if inspect.isclass(self.algorithm) else type(self.algorithm)
        return str(getattr(self.algorithm, "name", kind.__name__))

    @property
    def paper(self) -> str:
        """The key of the paper, e.g. "shen2019"."""
        return self.name.split("-")[0]

    def seconds(self, effort: str) -> float:
        """Return the seconds that the check usually takes on one core."""
        quick, full = self.expected_seconds
        return full if effort == "full" or quick is None else quick


@dataclass(frozen=True, eq=False, kw_only=True)
class Mutant:
    """A variant of an algorithm, estimator, set or oracle with a planted fault.

    Attributes
    ----------
    name
        Its name, unique among all mutants.
    subject
        The variant: an edit of the source, or a class whose docstring says the fault.
    expected_claims
        The claims that must catch it.
    """

    name: str
    subject: Subject
    expected_claims: tuple[Claim, ...]

    @classmethod
    def from_variant(cls, name: str, algorithm: Any, *expected: Claim) -> Self:
        """Return the mutant of a faulty algorithm."""
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
        """Return the mutant of a method in the source of whose part other texts stand.

        See `EditedMethod`; `edits` are the texts, each with what stands in its place.
        """
        subject = EditedMethod(
            method, edited_part=edited_part, edits=tuple(edits.items()), description=description
        )
        return cls(name=name, subject=subject, expected_claims=expected)

    @classmethod
    def from_oracles(cls, name: str, oracles: Callable[[Any], Any], *expected: Claim) -> Self:
        """Return the mutant of faulty oracles, a class made of the right ones."""
        return cls(name=name, subject=Subject(oracles=oracles), expected_claims=expected)

    @property
    def description(self) -> str:
        """The fault, in words."""
        if isinstance(self.subject, EditedMethod):
            return self.subject.description
        # Not `getdoc`: a class without a text of its own would have that of the right method.
        algorithm = self.subject.algorithm or self.subject.oracles
        value = (
            getattr(algorithm, "__doc__", None)
            if inspect.isclass(algorithm)
            else inspect.getdoc(algorithm)
        )
        return inspect.cleandoc(value) if value else getattr(algorithm, "__name__", "")


@dataclass(frozen=True, eq=False, kw_only=True)
class Erratum:
    """A statement that is wrong, damaged or ambiguous as printed, or as read in a copy.

    Attributes
    ----------
    name
        Paper and place.
    as_printed, corrected
        The two statements, a line each, in words of ours.
    examine
        A function of effort ("quick" or "full") and seed: what is printed must fail, what is
        corrected must hold, and every reading of the dossier is tried.
    claim
        The claim it concerns; None if none.
    objection
        How its author may object: what would make the statement right.
    dossier
        Its grounds; those of the papers here all have one.
    printed_formula, corrected_formula
        The formula as printed and corrected, each with the unit that it should have; None if it is
        no formula.
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
        """Conclusion of the dossier, one of `dossier.RULINGS`; "wrong" without a dossier."""
        return "wrong" if self.dossier is None else self.dossier.conclusion

    @property
    def reading(self) -> str:
        """Whether the statement is "as printed", or "as read" in a copy that was not compared."""
        return "as read" if self.ruling == "doubtful" else "as printed"

    def is_shown(self, evidence: "ExaminationEvidence") -> bool:
        """Return whether an examination shows it, and its ruling is that of the readings."""
        return evidence.is_shown and (
            self.dossier is None or self.dossier.agrees(evidence.readings)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Paper:
    """A paper: its key, its title, and all that is said of it."""

    key: str
    title: str
    claims: tuple[Claim, ...]
    mutants: tuple[Mutant, ...]
    errata: tuple[Erratum, ...]

    @classmethod
    def from_files(cls, key: str, title: str, files: Sequence[ModuleType]) -> Self:
        """Gather the `CLAIMS`, `MUTANTS` and `ERRATA` of its files, in their order."""
        items = {
            subject: tuple(item for file in files for item in getattr(file, subject.upper(), ()))
            for subject in ("claims", "mutants", "errata")
        }
        return cls(key=key, title=title, **items)
