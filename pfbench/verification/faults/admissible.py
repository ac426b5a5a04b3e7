"""Faults that keep the theorem: with the line of the proof that covers them."""

from dataclasses import dataclass

from pfbench.verification.faults.fault import Fault


@dataclass(frozen=True, kw_only=True)
class Admissible:
    """A kind of fault that keeps a method's theorem.

    Attributes
    ----------
    methods
        The names of the methods; of all if empty.
    operator
        The name of its operator.
    function
        The function that is changed.
    after
        What the changed line has; any if empty.
    because
        The line of the proof that covers it, with its source.
    """

    methods: frozenset[str] = frozenset()
    operator: str
    function: str
    after: str = ""
    because: str

    def covers(self, fault: Fault) -> bool:
        """Whether a fault is of this kind."""
        return (
            (not self.methods or fault.method in self.methods)
            and fault.operator == self.operator
            and fault.function == self.function
            and self.after in fault.change.after
        )
