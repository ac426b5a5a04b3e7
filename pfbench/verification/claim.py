"""What a claim is: a statement of a paper, its check, the faults it must catch, its errata.

A theorem is one file: its bound as a function, the instances on which it binds, the check, the
`Claim`, its `Mutant` objects, its `Erratum` objects with the examination of each. A paper is a
folder of such files, gathered in one `Paper`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pfbench.verification.subject import Subject

if TYPE_CHECKING:
    from pfbench.verification.contrast import Contrast
    from pfbench.verification.evidence import Evidence
    from pfbench.verification.scales import Complexity
    from pfbench.verification.trial import Trial

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


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem, or a family of them, on which a claim is tested.

    Attributes
    ----------
    build
        An importable function or class that makes it; its docstring says what it is, and why the
        claim binds there. A first parameter `rng` is a random generator.
    parameters
        What is fixed of its parameters.
    """

    build: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **changed: Any) -> Any:
        """Make the problem; what is given replaces what is fixed."""
        return self.build(*args, **{**self.parameters, **changed})

    @property
    def about(self) -> str:
        """The docstring of what makes it."""
        return inspect.getdoc(self.build) or ""

    def drawn(self, rng: np.random.Generator) -> Any:
        """Make one of the family by a random generator, if that enters it."""
        takes = next(iter(inspect.signature(self.build).parameters), "")
        return self(rng) if takes == "rng" else self()

    def example(self) -> Any:
        """Make one of the family, the same each time."""
        return self.drawn(np.random.default_rng(0))


def instance(build: Callable[..., Any], **parameters: Any) -> Instance:
    """Return an instance with some of its parameters fixed."""
    return Instance(build, parameters)


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
        One of `KINDS`.
    statement
        What it says, in one line, with the constants that are tested.
    check
        Puts it to the test; an importable function.
    instances
        The problems on which it is tested.
    algorithm
        The catalogue's name of the method it is about; empty if it is about none.
    assumptions
        What it assumes of the problem.
    schedule
        The parameters with which the method runs.
    takes
        Seconds that the check usually takes on one core, quick (None: not made then) and full.
    orders
        The complexity that a rate states, under its paper's criterion.
    disputed
        Why its proof is broken; empty if it is not. A disputed claim is measured, never verified.
    """

    name: str
    source: str
    kind: str
    statement: str
    check: "Callable[[Trial], Evidence]"
    instances: tuple[Instance, ...] = ()
    algorithm: str = ""
    assumptions: tuple[str, ...] = ()
    schedule: str
    takes: tuple[float | None, float]
    orders: "Complexity | None" = None
    disputed: str = ""

    @property
    def paper(self) -> str:
        """The key of the paper, e.g. "shen2019"."""
        return self.name.split("-")[0]

    def seconds(self, effort: str) -> float:
        """Return the seconds that the check usually takes on one core."""
        quick, full = self.takes
        return full if effort == "full" or quick is None else quick


@dataclass(frozen=True, eq=False, kw_only=True)
class Mutant:
    """A variant of an algorithm, estimator, set or oracle with a planted fault.

    Attributes
    ----------
    name
        Its name, unique among all mutants.
    subject
        The variant, a class whose docstring says the fault.
    expected
        The claims that must catch it.
    """

    name: str
    subject: Subject
    expected: tuple[Claim, ...]

    @classmethod
    def of(cls, name: str, algorithm: Any, *expected: Claim) -> Self:
        """Return the mutant of a faulty algorithm."""
        return cls(name=name, subject=Subject(algorithm), expected=expected)

    @classmethod
    def answering(cls, name: str, oracles: Callable[[Any], Any], *expected: Claim) -> Self:
        """Return the mutant of faulty oracles, a class made of the right ones."""
        return cls(name=name, subject=Subject(oracles=oracles), expected=expected)

    @property
    def about(self) -> str:
        """The fault, in words."""
        return inspect.getdoc(self.subject.algorithm or self.subject.oracles) or ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Erratum:
    """A statement that is wrong, damaged or ambiguous as printed.

    Attributes
    ----------
    name
        Paper and place.
    as_printed, corrected
        The two statements, a line each.
    examine
        A function of effort ("quick" or "full") and seed: what is printed must fail, what is
        corrected must hold.
    claim
        The claim it concerns; None if none.
    """

    name: str
    as_printed: str
    corrected: str
    examine: "Callable[[str, int], Contrast]"
    claim: Claim | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Paper:
    """A paper: its key, its title, and all that is said of it."""

    key: str
    title: str
    claims: tuple[Claim, ...]
    mutants: tuple[Mutant, ...]
    errata: tuple[Erratum, ...]

    @classmethod
    def of(cls, key: str, title: str, files: Sequence[ModuleType]) -> Self:
        """Gather the `CLAIMS`, `MUTANTS` and `ERRATA` of its files, in their order."""
        found = {
            what: tuple(one for file in files for one in getattr(file, what.upper(), ()))
            for what in ("claims", "mutants", "errata")
        }
        return cls(key=key, title=title, **found)
