"""A planted fault as an edit of the method's own source; all the rest is the method itself."""

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pfbench.verification.faults.compiled import compiled
from pfbench.verification.faults.fault import Change, Edit, Fault
from pfbench.verification.subject import Subject


@dataclass(frozen=True)
class Edited(Subject):
    """A method in whose source something else stands.

    Attributes
    ----------
    algorithm
        The right method, a class.
    within
        The class or function in whose source it stands.
    edits
        Texts that stand there once, each with what stands in its place.
    about
        The fault, in words.
    """

    within: Any = None
    edits: tuple[tuple[str, str], ...] = ()
    about: str = ""

    def tested(self) -> Any:
        """Return the method with the fault, compiled apart."""
        return compiled(self.fault)

    @cached_property
    def fault(self) -> Fault:
        """The fault.

        Raises
        ------
        LookupError
            If a text does not stand there once.
        """
        lines, first = inspect.getsourcelines(self.within)
        places = tuple(_edit("".join(lines), first, *edit) for edit in self.edits)
        change = Change(places, *map("; ".join, zip(*self.edits, strict=True)))
        module, name = self.within.__module__, self.within.__qualname__
        return Fault(self.algorithm, module, name, "edit", 1, change)


def _edit(source: str, first: int, before: str, after: str) -> Edit:
    """Return the edit of a text in a source that begins with this line of its file."""
    if source.count(before) != 1:
        raise LookupError(f"{before!r} stands {source.count(before)} times in {source!r}, not once")
    ahead = source[: source.index(before)]
    ends = ahead, ahead + before
    lines = [first + text.count("\n") for text in ends]
    columns = [len(text.rpartition("\n")[2].encode()) for text in ends]
    return Edit(lines[0], columns[0], lines[1], columns[1], after)
