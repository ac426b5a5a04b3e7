"""Definition of generated faults, their source changes, and admissible faults."""

import inspect
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Edit:
    """Replacement of one passage of a source file by a text.

    Attributes
    ----------
    line, column, end_line, end_column
        Start and end of the passage: lines from 1, columns in bytes from 0, as in Python's `ast`.
    replacement
        The new text.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


@dataclass(frozen=True)
class SourceChange:
    """Change of a source file: its edits, and the changed line before and after."""

    edits: tuple[Edit, ...]
    line_before: str
    line_after: str


@dataclass(frozen=True)
class Fault:
    """Generated fault of an algorithm, with all data to compile it in another process.

    Attributes
    ----------
    algorithm
        The right class (or object with its parameters).
    module
        The module whose source is changed: that of the class, or one that the class uses.
    function
        Qualified name of the changed function in that module.
    operator
        Name of the operator: a key of a table of operators, such as `RUN_OPERATORS`.
    number
        Number of the fault among those of this operator in this function, from 1.
    change
        The change of the source.
    """

    algorithm: Any
    module: str
    function: str
    operator: str
    number: int
    change: SourceChange

    @property
    def correct_algorithm_class(self) -> type:
        """Class of the correct algorithm."""
        kind: type = self.algorithm if inspect.isclass(self.algorithm) else type(self.algorithm)
        return kind

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(
            getattr(self.correct_algorithm_class, "name", self.correct_algorithm_class.__qualname__)
        )

    @property
    def name(self) -> str:
        """Name of the fault, unique among the faults of the method."""
        return f"{self.method} {self.function} {self.operator} {self.number}"

    @property
    def is_late(self) -> bool:
        """Whether the fault acts only after many steps, or on values beyond a threshold."""
        return self.operator.startswith("late-")

    @property
    def location(self) -> str:
        """Position of the change, MODULE:LINE:COLUMN with columns from 1."""
        first = self.change.edits[0]
        return f"{self.module}:{first.line}:{first.column + 1}"

    @property
    def format(self) -> str:
        """Operator and position of the fault, with the changed line before and after."""
        return f"{self.operator} at {self.location}: {self.change.line_before} -> {self.change.line_after}"  # noqa: E501


@dataclass(frozen=True, kw_only=True)
class AdmissibleFault:
    """Description of faults with which a method's theorem still holds.

    Attributes
    ----------
    methods
        Names of the methods; all methods if empty.
    operator
        Name of the operator.
    function
        The function that is changed.
    replacement
        Text that the changed line contains; any if empty.
    reason
        Line of the proof that covers these faults, with its source.
    """

    methods: frozenset[str] = frozenset()
    operator: str
    function: str
    replacement: str = ""
    reason: str

    def covers(self, fault: Fault) -> bool:
        """Return whether this description applies to a fault."""
        kind = (fault.operator, fault.function)
        is_method = not self.methods or fault.method in self.methods
        is_kind = kind == (self.operator, self.function)
        return is_method and is_kind and self.replacement in fault.change.line_after


def apply_edits(source: str, edits: tuple[Edit, ...]) -> str:
    """Return the text of a source file after some edits, whose passages must not overlap."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for edit in sorted(edits, key=lambda e: (e.line, e.column), reverse=True):
        first = starts[edit.line - 1] + edit.column
        end = starts[edit.end_line - 1] + edit.end_column
        text = text[:first] + edit.replacement.encode() + text[end:]
    return text.decode()
