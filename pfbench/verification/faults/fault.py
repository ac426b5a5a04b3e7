"""Definition of a generated fault, a source change, and of faults that keep the theorem."""

import inspect
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Edit:
    """A replacement of what stands at a place of a file.

    Attributes
    ----------
    line, column, end_line, end_column
        From where to where: lines from 1, columns in bytes from 0, as in Python's `ast`.
    replacement
        What stands there then.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


@dataclass(frozen=True)
class SourceChange:
    """One change of a source: its edits, and a line with it before and after."""

    edits: tuple[Edit, ...]
    line_before: str
    line_after: str


@dataclass(frozen=True)
class Fault:
    """A generated fault of an algorithm; it says all that is needed to compile it elsewhere.

    Attributes
    ----------
    algorithm
        The right class (or object with its parameters).
    module
        The module whose source is changed: that of the class, or one that it is made of.
    function
        The function that is changed, as Python qualifies it in that module.
    operator
        The name of the operator that made it; see `operators.OPERATORS` and `is_late.OF_LATE`.
    number
        Its number among those of this operator in this function.
    change
        The change.
    """

    algorithm: Any
    module: str
    function: str
    operator: str
    number: int
    change: SourceChange

    @property
    def kind(self) -> type:
        """The right class."""
        kind: type = self.algorithm if inspect.isclass(self.algorithm) else type(self.algorithm)
        return kind

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(getattr(self.kind, "name", self.kind.__qualname__))

    @property
    def name(self) -> str:
        """Its name, unique among the faults of the method."""
        return f"{self.method} {self.function} {self.operator} {self.number}"

    @property
    def is_late(self) -> bool:
        """Whether it acts only after a while, or far out: one of `late.OF_LATE`."""
        return self.operator.startswith("late-")

    @property
    def location(self) -> str:
        """The place of the change, MODULE:LINE:COLUMN with columns from 1."""
        first = self.change.edits[0]
        return f"{self.module}:{first.line}:{first.column + 1}"

    @property
    def format(self) -> str:
        """The operator, the place, and the line before and after."""
        return f"{self.operator} at {self.location}: {self.change.line_before} -> {self.change.line_after}"  # noqa: E501


@dataclass(frozen=True, kw_only=True)
class AdmissibleFault:
    """A kind of fault that keeps a method's theorem.

    Attributes
    ----------
    methods
        The names of the methods; of all if empty.
    operator
        The name of its operator.
    function
        The function that is changed.
    replacement
        What the changed line has; any if empty.
    reason
        The line of the proof that covers it, with its source.
    """

    methods: frozenset[str] = frozenset()
    operator: str
    function: str
    replacement: str = ""
    reason: str

    def covers(self, fault: Fault) -> bool:
        """Return whether this entry covers a fault."""
        return (
            (not self.methods or fault.method in self.methods)
            and fault.operator == self.operator
            and fault.function == self.function
            and self.replacement in fault.change.line_after
        )


def apply_edits(source: str, edits: tuple[Edit, ...]) -> str:
    """Return a source with some replacements made; they must not overlap."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for edit in sorted(edits, key=lambda e: (e.line, e.column), reverse=True):
        first = starts[edit.line - 1] + edit.column
        end = starts[edit.end_line - 1] + edit.end_column
        text = text[:first] + edit.replacement.encode() + text[end:]
    return text.decode()
