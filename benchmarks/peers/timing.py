"""Time several functions in turn, in one process, beside the accuracy that each reached."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

OURS = "pfbench"


@dataclass(frozen=True)
class Row:
    """Median seconds of one function, their ratio to pfbench's, and the verified accuracy."""

    name: str
    seconds: float
    ratio: float
    reached: str


@dataclass(frozen=True)
class Comparison:
    """Rows of one problem; `about` says what is timed and how the accuracy was verified."""

    title: str
    about: str
    rows: Sequence[Row]
    left_out: Sequence[str] = ()


def timed_from_outside(function: Callable[..., object], *given: object) -> Callable[[], None]:
    """Return a call, to be timed from outside, of a function that does not time itself."""

    def call() -> None:
        function(*given)

    return call


def compare(
    title: str,
    about: str,
    functions: Mapping[str, Callable[[], float | None]],
    reached: Mapping[str, str],
    repeats: int = 3,
    left_out: Sequence[str] = (),
) -> Comparison:
    """Call each function once to warm up, then all of them in turns; return the times.

    A function that returns a number has timed itself, in order to leave out measures. The ratio is
    the median over the turns of a function's time to the time of pfbench, the first function.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(repeats):
        for name, function in functions.items():
            started = perf_counter()
            own = function()
            times[name].append(perf_counter() - started if own is None else own)
    first = times[next(iter(functions))]
    rows = []
    for name, seconds in times.items():
        ratio = median(a / b for a, b in zip(seconds, first, strict=True))
        rows.append(Row(name, median(seconds), ratio, reached.get(name, "")))
    return Comparison(title, about, rows, left_out)
