"""What a mutant is: a variant with a planted fault, and the claims that must catch it."""

from dataclasses import dataclass

from pfbench.verification.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A variant of an algorithm, estimator, set or oracle with a planted fault.

    Attributes
    ----------
    name
        Its name, unique among all mutants.
    about
        The fault, in words.
    subject
        The variant.
    expected
        The claims that must catch it.
    """

    name: str
    about: str
    subject: Subject
    expected: tuple[str, ...]
