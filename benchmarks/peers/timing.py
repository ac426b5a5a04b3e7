"""Time several functions in turn and print medians and ratios."""

from statistics import median
from time import perf_counter


def compare(title, functions, repeats=5):
    """Call each function once to warm up, then all of them in turn; print the medians.

    A function that returns a number of seconds has timed itself (to leave out measures).
    """
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(repeats):
        for name, function in functions.items():
            started = perf_counter()
            own = function()
            times[name].append(perf_counter() - started if own is None else own)
    print(title)
    first = next(iter(functions))
    for name, seconds in times.items():
        ratio = median(a / b for a, b in zip(seconds, times[first], strict=True))
        print(f"  {name:<28} {1e3 * median(seconds):10.2f} ms   {ratio:6.1f} x {first}")
