"""Measure time and memory by size, and write a page: ``python -m benchmarks.scale -o FILE.md``."""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.scale import recovery, stores

PACKAGES = ("pfbench", "numpy", "scipy", "numba")

PARTS = {
    "speed": recovery.speed,
    "recorded": recovery.recorded,
    "memory": recovery.memory,
    "store": lambda runs: stores.store(int(runs)),
}
"""Functions that measure at one size, each in a separate process."""

TARGETS = {
    "iteration, pairs": "at most 4.1, 2.2, 2.5, 3.3",
    "iterations 1 to 60, pairs on average": "at most 3.0, 2.0, 1.8, 2.0",
    "iterations 41 to 60, pairs": "at most 2.5",
    "made and 20 iterations, MB": "at most 600 at 10M, 1200 at 25M",
    "and three runs of 60, MB": "at most 600 at 10M, 1200 at 25M",
    "every minimisation certified, pairs": "at most 8 at 25M",
    "certified where recorded, pairs": "at most 4 at 25M",
    "spider step, pairs": "at most 1.2 at 1M and 10M",
    "ARPACK to 1e-4, times ours": "at least 3 from 1M on",
    "svds on observed entries, times ours": "at least 7",
    "update + gradient, share of copy": "at least 0.8 from 1M on",
}


def measured(part, size):
    """Run the measurement `part` at a size in a new process, and return its numbers."""
    command = [sys.executable, "-m", "benchmarks.scale", "--only", part, size]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def exponent(sizes, found):
    """Return the least-squares slope of log(found) against log(size)."""
    x, y = ([math.log(each) for each in values] for values in (sizes, found))
    middle = sum(x) / len(x)
    return sum((a - middle) * b for a, b in zip(x, y, strict=True)) / sum(
        (a - middle) ** 2 for a in x
    )


def shown(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def table(found, numbers, from_size=0):
    """Return a table of the numbers found at each size, with exponents fitted from a size on."""
    sizes = list(found)
    names = list(dict.fromkeys(name for each in found.values() for name in each))
    fitted = [size for size in sizes if numbers[size] >= from_size]
    yield f"| | {' | '.join(sizes)} | exponent | target |"
    yield f"| --- |{' ---: |' * (len(sizes) + 1)} --- |"
    for name in names:
        values = [found[size].get(name) for size in sizes]
        slope = ""
        pairs = [(numbers[size], found[size][name]) for size in fitted if name in found[size]]
        if len(pairs) > 1 and name.endswith((", s", ", ms")):
            slope = f"{exponent(*zip(*pairs, strict=True)):.2f}"
        cells = " | ".join("" if value is None else shown(value) for value in values)
        yield f"| {name} | {cells} | {slope} | {TARGETS.get(name, '')} |"
    yield ""


def page(recoveries, kept):
    """Yield the lines of the page in Markdown, from measured recoveries and stores."""
    busy = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    yield from (
        "# Time and memory by size",
        "",
        "Made by `python -m benchmarks.scale`; what the rows are, and what follows, is in",
        "`docs/scale.md`. Every size is measured in processes of its own; times are medians.",
        "",
        f"Machine: {processor()}, {os.cpu_count()} cores{busy}; {platform.system()}, Python "
        f"{platform.python_version()}.",
        f"Versions: {', '.join(f'{name} {version(name)}' for name in PACKAGES)}.",
        "",
    )
    if recoveries:
        numbers = {size: recovery.SIZES[size][2] for size in recoveries}
        yield from ("## Matrix recovery, by observed entries", "")
        yield "Exponents are fitted from 1M on."
        yield ""
        yield from table(recoveries, numbers, 10**6)
    if kept:
        yield from ("## A store, by runs of three iterations", "")
        yield from table(kept, {size: int(size) for size in kept}, 1000)


class Measured:
    """Numbers measured so far, by part and size; a file, if given, keeps them between runs."""

    def __init__(self, path):
        self.path = path
        there = path is not None and path.is_file()
        self.found = json.loads(path.read_text(encoding="utf-8")) if there else {}

    def __call__(self, part, size):
        key = f"{part} {size}"
        if key not in self.found:
            self.found[key] = measured(part, size)
            print(key, self.found[key], file=sys.stderr, flush=True)
            if self.path is not None:
                self.path.write_text(json.dumps(self.found, indent=1), encoding="utf-8")
        return self.found[key]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default=",".join(recovery.SIZES), help="observed entries")
    parser.add_argument("--runs", default="10,100,1000,10000", help="runs in a store")
    parser.add_argument("-o", "--output", type=Path, help="the page; printed if not given")
    parser.add_argument("--resume", type=Path, metavar="JSON", help="keep what is measured here")
    parser.add_argument("--only", nargs=2, metavar=("PART", "SIZE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        part, size = given.only
        print(json.dumps(PARTS[part](size)))
        return
    of = Measured(given.resume)
    # Memory last: nothing is compiled any more.
    recoveries = {
        size: of("speed", size) | of("recorded", size) | of("memory", size)
        for size in filter(None, given.sizes.split(","))
    }
    kept = {runs: of("store", runs) for runs in filter(None, given.runs.split(","))}
    text = "\n".join(page(recoveries, kept)).rstrip() + "\n"
    if given.output is None:
        print(text)
    else:
        given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
