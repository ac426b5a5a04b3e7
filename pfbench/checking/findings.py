"""What a check finds: one finding for each statement that was put to the test."""

import inspect
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import thread_time
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.errors import BudgetExhausted, PfbenchError, in_words
from pfbench.base.notebook import html_table
from pfbench.base.visible import visible
from pfbench.points import Factored, RankOne
from pfbench.verification.subject import Untestable

_SHOWN = 6
"""So many coordinates of a point are printed."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Wrong(Exception):
    """What was looked at is not as it should be.

    Attributes
    ----------
    expected, seen
        In words, each the rest of a sentence that begins "expected" or "seen".
    at
        A point that shows it: arrays, points or numbers by name.
    where
        The methods at fault, as `place` returns them.
    """

    def __init__(
        self, expected: str, seen: str, at: Mapping[str, Any] = _NOTHING, where: Sequence[str] = ()
    ) -> None:
        super().__init__(f"expected {expected}; seen {seen}")
        self.expected, self.seen = expected, seen
        self.at, self.where = dict(at), tuple(where)


class Skipped(Exception):
    """There is nothing to look at, or no way to; the text says why."""


def check_has(problem: Any, verb: str) -> None:
    """Skip what looks at a verb that a problem lacks."""
    if verb in problem.lacks:
        raise Skipped(problem.lacks[verb])


def as_usual(make: Callable[[Any], Any], kind: Any) -> Any:
    """Return what is made of a class by the usual parameters; it is wrong if it cannot be."""
    try:
        return make(kind)
    except Untestable as error:
        raise Wrong(
            "it to be made with the usual parameters: state others, as NAME[parameter=value]",
            str(error.__cause__ or error),
        ) from error


@dataclass(frozen=True)
class Finding:
    """One statement about an object, put to the test.

    Attributes
    ----------
    check
        What was looked at.
    status
        passed, failed, or skipped.
    seen
        What was seen; of what was skipped, why.
    expected
        What was expected, if it failed.
    at
        A point that shows the failure: arrays, points or numbers by name.
    where
        Where to look: FILE:LINE with the method's name.
    """

    check: str
    status: str
    seen: str
    expected: str = ""
    at: Mapping[str, Any] = field(default_factory=dict)
    where: tuple[str, ...] = ()

    @property
    def point(self) -> str:
        """The point that shows it, in words."""
        return ", ".join(f"{name} = {in_brief(value)}" for name, value in self.at.items())

    @property
    def sentence(self) -> str:
        """All of it in full sentences."""
        end = "" if self.seen.endswith(("?", ".")) else "."
        text = f"{self.check}: expected {self.expected}; seen: {self.seen}{end}"
        if self.at:
            text += f" It shows at {self.point}."
        return text + (f" Look at {', '.join(self.where)}." if self.where else "")

    def as_json(self) -> dict[str, Any]:
        """Return the finding as ``pfbench check --json`` prints it."""
        return {
            "check": self.check,
            "status": self.status,
            "expected": self.expected or None,
            "seen": self.seen,
            "point": self.point or None,
            "where": list(self.where),
        }


@dataclass(frozen=True)
class Findings:
    """All findings about one object.

    Attributes
    ----------
    name, kind
        What was looked at, and what it is: algorithm, estimator, set, problem or penalty.
    findings
        One for each check, in their order.
    problem
        The problem that an algorithm or estimator was tried on; empty for others.
    seconds
        The time of all.
    """

    name: str
    kind: str
    findings: tuple[Finding, ...]
    problem: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that failed."""
        return tuple(one for one in self.findings if one.status == "failed")

    def _repr_html_(self) -> str:
        """Return them as Jupyter shows them: a line each, a failure in full."""
        rows = [
            (one.check, one.status, one.sentence if one.status == "failed" else one.seen)
            for one in self.findings
        ]
        on = f", on {self.problem}" if self.problem else ""
        failed = f"{len(self.failures)} of {len(self.findings)} failed"
        names = ("check", "result", "what was seen")
        return html_table(names, rows, f"{self.kind} {self.name}{on}: {failed}")

    def as_json(self) -> dict[str, Any]:
        """Return them as ``pfbench check --json`` prints them (schema 1)."""
        return {
            "schema": 1,
            "name": self.name,
            "kind": self.kind,
            "problem": self.problem or None,
            "passed": self.passed,
            "findings": [one.as_json() for one in self.findings],
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        width = max((len(one.check) for one in self.findings), default=0)
        lines = [f"{one.status:7}  {one.check:{width}}  {one.seen}" for one in self.findings]
        text = [*lines, *(one.sentence for one in self.failures)]
        return "\n".join(map(visible, text))


class Examination:
    """Looks at one thing after the other; whatever is raised becomes a finding."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def look(
        self, check: str, at: Callable[..., str], *given: Any, where: Sequence[str] = ()
    ) -> bool:
        """Look at something; return whether it did not fail.

        Parameters
        ----------
        check
            What is looked at.
        at
            Returns what was seen, or raises `Wrong` or `Skipped`; what else it raises is a failure
            of the code that it called.
        given
            What `at` is called with.
        where
            The methods at fault, if it raises anything else.
        """
        try:
            found = Finding(check, "passed", at(*given))
        except Wrong as wrong:
            found = Finding(
                check, "failed", wrong.seen, wrong.expected, wrong.at, wrong.where or tuple(where)
            )
        except Skipped as skipped:
            found = Finding(check, "skipped", str(skipped))
        except (Exception, SystemExit, GeneratorExit, BudgetExhausted) as error:
            seen = in_words(error).rstrip(".")
            seen = seen if isinstance(error, PfbenchError) else f"it raised {seen}"
            at_fault = _raised_at(error) or tuple(where)
            found = Finding(check, "failed", seen, "an answer", {}, at_fault)
        self.findings.append(found)
        return found.status != "failed"

    @property
    def failed(self) -> bool:
        """Whether anything failed so far."""
        return any(one.status == "failed" for one in self.findings)

    @contextmanager
    def part(self, of: str) -> Iterator["Examination"]:
        """Look at a part; its findings are taken over, under names that begin with `of`."""
        inside = Examination()
        yield inside
        self.findings += [replace(one, check=of + one.check) for one in inside.findings]


class Patience:
    """So many rounds at most, and none is begun after so many seconds; the first always is."""

    def __init__(self, seconds: float) -> None:
        self._until = thread_time() + seconds

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return thread_time() > self._until

    def rounds(self, most: int) -> Any:
        """Yield 0, 1, ..., at most so many."""
        for k in range(most):
            if k and self.over:
                return
            yield k


def place(of: Any, *names: str) -> str:
    """Return FILE:LINE and the name of the first method that is defined in Python; or ''."""
    for name in names:
        with suppress(Exception):  # a property raises anything, wrappers may go in a circle
            found = inspect.getattr_static(of, name, None) or getattr(of, name, None)
            inside = (getattr(found, part, None) for part in ("fget", "func", "__func__"))
            found = next(filter(None, inside), found)
            code = getattr(inspect.unwrap(found) if callable(found) else found, "__code__", None)
            if code is not None and os.path.exists(code.co_filename):
                owner = type(of).__name__ if not inspect.isclass(of) else of.__name__
                return at_line(code.co_filename, code.co_firstlineno, f"{owner}.{name}")
    return ""


def places(of: Any, *names: str) -> tuple[str, ...]:
    """Return the places of several methods."""
    return tuple(found for name in names if (found := place(of, name)))


def in_brief(value: Any) -> str:
    """Return a point, an array or a number in a few words."""
    if isinstance(value, bool | str | int):
        return str(value)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, RankOne):
        return f"{value.scale:.6g} {in_brief(value.u)} {in_brief(value.v)}'"
    if isinstance(value, Factored):
        return f"the matrix with the observed entries {in_brief(value.values())}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiuc":
        entries = [f"{one:.6g}" for one in value.ravel()[:_SHOWN]]
        more = ["..."] if value.size > _SHOWN else []
        shape = f" of shape {value.shape}" if more or value.ndim > 1 else ""
        return f"({', '.join(entries + more)}){shape}"
    return f"a {type(value).__name__}"


def _raised_at(error: BaseException) -> tuple[str, ...]:
    """Return where an error was raised, in somebody's own code; nothing if it was in none."""
    libraries = *map(str, Path(__file__).parents[1:2]), *sysconfig.get_paths().values()
    causes = [one for one in (error.__cause__, error) if one is not None]
    frames = [
        one for cause in causes for one in reversed(traceback.extract_tb(cause.__traceback__))
    ]
    for one in frames:
        if not one.filename.startswith(libraries) and os.path.exists(one.filename):
            return (at_line(one.filename, one.lineno or 0, one.name),)
    return ()


def at_line(file: str, line: int, name: str) -> str:
    """Return FILE:LINE with a name."""
    return f"{_short(file)}:{line} ({name})"


def _short(file: str) -> str:
    """Return a file's path, from the current folder if it is in it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
