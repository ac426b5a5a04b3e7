"""Results of checks, with one result for each tested statement."""

import inspect
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import thread_time
from types import CodeType, MappingProxyType
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.base.errors import BudgetExhausted, PfbenchError, format_error
from pfbench.base.escaping import escape_hidden, html_table
from pfbench.points import FactoredMatrix, RankOne
from pfbench.verification.subject import NotTestable

_PACKAGE = str(Path(__file__).parents[1])

_SHOWN = 6
"""Number of coordinates of a point that are printed."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class CheckFailed(Exception):
    """Exception raised by a check if the tested object violates a requirement.

    Attributes
    ----------
    expected, observed
        The requirement ("x must be ..."), and the observation that violates it.
    arguments
        Arguments that show the violation: arrays, points or numbers by name.
    location
        The methods at fault, as `locate_methods` returns them; empty for those of the check.
    """

    def __init__(
        self,
        expected: str,
        observed: str,
        arguments: Mapping[str, Any] = _NOTHING,
        locations: Sequence[str] = (),
    ) -> None:
        super().__init__(f"{expected}; observed: {observed}")
        self.expected, self.observed = expected, observed
        self.arguments, self.location = dict(arguments), tuple(locations)


class CheckSkipped(Exception):
    """Exception raised by a check that does not apply; its message states the reason."""


def require(condition: object, requirement: str, observed: str, /, **arguments: Any) -> None:
    """Raise `CheckFailed` unless a condition is true.

    Parameters
    ----------
    condition
        Whether the requirement is met; NaN in a comparison makes it false.
    requirement, observed
        The requirement ("x must be ..."), and the observation that violates it.
    arguments
        Arguments that show the violation.
    """
    if not condition:
        raise CheckFailed(requirement, observed, arguments)


def skip_unless_offered(problem: Any, verb: str) -> None:
    """Raise `CheckSkipped` if the problem does not offer the oracle `verb`."""
    if verb in problem.lacks:
        raise CheckSkipped(problem.lacks[verb])


def check_construction(make: Callable[[Any], Any], kind: Any) -> str:
    """Check that a class can be instantiated with test parameters; return these as text."""
    lacking = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
    require(not lacking, f"the class must define {lacking}", "it does not")
    try:
        created = make(kind)
    except NotTestable as error:
        raise CheckFailed(
            "the class must accept the parameters that the check passes: to pass others, write "
            "NAME[parameter=value]",
            str(error.__cause__ or error),
        ) from error
    parameters = get_parameters(created).items()
    return ", ".join(f"{k}={v}" for k, v in parameters if v is not None) or "no parameters"


@dataclass(frozen=True)
class CheckResult:
    """Result of one check: passed, failed or skipped, with the observation.

    Attributes
    ----------
    check
        Name of the check.
    status
        passed, failed, or skipped.
    observed
        The observation; for a skipped check, the reason.
    expected
        The violated requirement, if it failed.
    arguments
        Arguments that show the failure: arrays, points or numbers by name.
    location
        Location to inspect: FILE:LINE with the method's name.
    """

    check: str
    status: str
    observed: str
    expected: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    location: tuple[str, ...] = ()

    @property
    def arguments_text(self) -> str:
        """Arguments for which the check fails, as text."""
        return ", ".join(
            f"{name} = {format_brief(value)}" for name, value in self.arguments.items()
        )

    @property
    def sentence(self) -> str:
        """Requirement, observation, arguments and locations of a failed check, as sentences."""
        end = "" if self.observed.endswith(("?", ".")) else "."
        text = f"{self.check}: {self.expected}; observed: {self.observed}{end}"
        if self.arguments:
            text += f" Example: {self.arguments_text}."
        return text + (f" Look at {', '.join(self.location)}." if self.location else "")

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object, as ``pfbench check --json`` prints it."""
        return {
            "check": self.check,
            "status": self.status,
            "expected": self.expected or None,
            "observed": self.observed,
            "point": self.arguments_text or None,
            "locations": list(self.location),
        }


@dataclass(frozen=True)
class CheckReport:
    """Results of all checks of one object, in order.

    Attributes
    ----------
    name, kind
        Name and kind of the object: algorithm, estimator, set, problem or penalty.
    findings
        One result for each check, in order.
    problem
        The problem that an algorithm or estimator ran on; empty for others.
    seconds
        Total time, in seconds.
    """

    name: str
    kind: str
    findings: tuple[CheckResult, ...]
    problem: str = ""
    seconds: float = 0.0

    @property
    def is_passed(self) -> bool:
        """Whether the object passed or skipped all checks."""
        return not self.failures

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """Results of the checks that failed."""
        return tuple(result for result in self.findings if result.status == "failed")

    def _repr_html_(self) -> str:
        """Return the results as an HTML table for Jupyter, with a row for each check."""
        rows = [
            (
                result.check,
                result.status,
                result.sentence if result.status == "failed" else result.observed,
            )
            for result in self.findings
        ]
        on = f", on {self.problem}" if self.problem else ""
        failed = f"{len(self.failures)} of {len(self.findings)} failed"
        names = ("check", "result", "observation")
        return html_table(names, rows, f"{self.kind} {self.name}{on}: {failed}")

    def as_json(self) -> dict[str, Any]:
        """Return all results as a JSON object, as ``pfbench check --json`` prints it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "problem": self.problem or None,
            "passed": self.is_passed,
            "findings": [result.as_json() for result in self.findings],
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        width = max((len(result.check) for result in self.findings), default=0)
        lines = [
            f"{result.status:7}  {result.check:{width}}  {result.observed}"
            for result in self.findings
        ]
        text = [*lines, *(result.sentence for result in self.failures)]
        return "\n".join(map(escape_hidden, text))


class CheckRunner:
    """Runner of checks that turns each exception of a check into a result.

    Parameters
    ----------
    findings
        List to which the results are added; by default a new one.
    prefix
        Text in front of the names of the checks, for the checks of a component of the object.
    """

    def __init__(self, findings: list[CheckResult] | None = None, prefix: str = "") -> None:
        self.findings = list[CheckResult]() if findings is None else findings
        self.prefix = prefix

    def run_check(
        self, check: str, function: Callable[..., str], *args: Any, locations: Sequence[str] = ()
    ) -> bool:
        """Run a check and record its result; return False if the check failed.

        Parameters
        ----------
        check
            Name of the check.
        function
            Returns the observation, or raises `CheckFailed` or `CheckSkipped`; any other exception
            is a failure of the tested code.
        args
            Arguments of `function`.
        locations
            Locations of the methods at fault, if `function` raises another exception.
        """
        check = self.prefix + check
        try:
            result = CheckResult(check, "passed", function(*args))
        except CheckFailed as wrong:
            fields = wrong.observed, wrong.expected, wrong.arguments
            result = CheckResult(check, "failed", *fields, wrong.location or tuple(locations))
        except CheckSkipped as skipped:
            result = CheckResult(check, "skipped", str(skipped))
        except (Exception, SystemExit, GeneratorExit, BudgetExhausted) as error:
            text = format_error(error).rstrip(".")
            text = text if isinstance(error, PfbenchError) else f"it raised {text}"
            at_fault = _user_locations(error) or tuple(locations)
            result = CheckResult(check, "failed", text, "it must not raise", {}, at_fault)
        self.findings.append(result)
        return result.status != "failed"

    def for_component(self, prefix: str) -> "CheckRunner":
        """Return a runner for the checks of a component, which adds to the same results."""
        return CheckRunner(self.findings, prefix)


class TimeLimit:
    """Time limit of a loop: after it, no further iteration starts."""

    def __init__(self, seconds: float) -> None:
        self._deadline = thread_time() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time limit has passed."""
        return thread_time() > self._deadline

    def rounds(self, limit: int) -> Iterator[int]:
        """Yield 0, 1, ..., limit - 1, but stop as soon as the time limit has passed."""
        for k in range(limit):
            if k and self.is_over:
                return
            yield k


def locate_methods(source: Any, *names: str) -> tuple[str, ...]:
    """Return the source locations of the named methods of an object: those in user code, if any."""
    codes = [code for name in names if (code := _find_code(source, name))]
    own = [code for code in codes if not code[0].co_filename.startswith(_PACKAGE)]
    return tuple(
        format_location(code.co_filename, code.co_firstlineno, label)
        for code, label in own or codes
    )


def _find_code(source: Any, name: str) -> tuple[CodeType, str] | None:
    """Return code and label of a method, or of the user's function that an adapter calls for it."""
    owner = source.__name__ if inspect.isclass(source) else type(source).__name__
    with suppress(Exception):  # a property raises anything, wrappers may go in a circle
        function = getattr(source, "user_functions", {}).get(name)
        label = getattr(function, "__qualname__", f"{owner}.{name}")
        method = function or inspect.getattr_static(source, name, None) or getattr(source, name)
        inside = (getattr(method, part, None) for part in ("fget", "func", "__func__"))
        method = next(filter(None, inside), method)
        code = getattr(inspect.unwrap(method) if callable(method) else method, "__code__", None)
        if code is not None and os.path.exists(code.co_filename):
            return code, label
    return None


def format_brief(value: Any) -> str:
    """Return a short text for a point, an array or a number."""
    if isinstance(value, bool | str | int):
        return str(value)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, RankOne):
        return f"{value.scale:.6g} {format_brief(value.u)} {format_brief(value.v)}'"
    if isinstance(value, FactoredMatrix):
        return f"the matrix with the observed entries {format_brief(value.values())}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiuc":
        entries = [f"{item:.6g}" for item in value.ravel()[:_SHOWN]]
        extra = ["..."] if value.size > _SHOWN else []
        shape = f" of shape {value.shape}" if extra or value.ndim > 1 else ""
        return f"({', '.join(entries + extra)}){shape}"
    return f"a {type(value).__name__}"


def _user_locations(error: BaseException) -> tuple[str, ...]:
    """Return the location in user code at which an error was raised; () if there is none."""
    libraries = _PACKAGE, *sysconfig.get_paths().values()
    causes = [item for item in (error.__cause__, error) if item is not None]
    frames = [
        item for cause in causes for item in reversed(traceback.extract_tb(cause.__traceback__))
    ]
    for frame in frames:
        if not frame.filename.startswith(libraries) and os.path.exists(frame.filename):
            return (format_location(frame.filename, frame.lineno or 0, frame.name),)
    return ()


def format_location(file: str, line: int, name: str) -> str:
    """Return the text "FILE:LINE (NAME)"."""
    return f"{_relative_path(file)}:{line} ({name})"


def _relative_path(file: str) -> str:
    """Return the path of a file relative to the current folder, if it is inside that folder."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
