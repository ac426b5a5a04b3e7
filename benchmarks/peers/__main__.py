"""Time pfbench and its peers, and write a page of ratios: ``python benchmarks/peers -o FILE``."""

import argparse
import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import finite_sums
import frank_wolfe
import minimisation
import projection
import sweep

PACKAGES = ("pfbench", "numpy", "scipy", "numba", "scikit-learn", "copt", "primme", "joblib")


def versions():
    for name in PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"{name}: not installed"


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def shown(number):
    if number < 0.01:
        return f"{number:.2e}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def page(tables, quick):
    """Return the page as Markdown."""
    busy = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    lines = [
        "# pfbench and its peers",
        "",
        "Each table is made in one process: all solve the same problem, in turn, and a ratio is",
        "the median over the turns of a peer's time to ours (the first row); above 1 the peer",
        "takes longer. The accuracy of every result was taken by the same code.",
        f"Made by `tox -e peers{' -- --quick' if quick else ''}`.",
        "",
        f"Machine: {processor()}, {os.cpu_count()} cores{busy}; {platform.system()}, Python "
        f"{platform.python_version()}.",
        f"Versions: {', '.join(versions())}.",
        "",
    ]
    for table in tables:
        lines += [f"## {table.title}", "", table.about, ""]
        lines += ["| | median, ms | ratio | verified |", "| --- | ---: | ---: | --- |"]
        lines += [
            f"| {r.name} | {shown(1e3 * r.seconds)} | {r.ratio:.2f} | {r.reached} |"
            for r in table.rows
        ]
        lines.append("")
        if table.left_out:
            lines += [f"Left out: {'; '.join(table.left_out)}.", ""]
    if not shutil.which("julia"):
        lines += ["FrankWolfe.jl was left out: Julia is not installed.", ""]
    while lines[-1] == "":
        lines.pop()
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, help="the page; printed if not given")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    given = parser.parse_args()
    tables = []
    for suite in (minimisation, projection, frank_wolfe, finite_sums, sweep):
        for table in suite.comparisons(given.quick_steps):
            print(f"{table.title}: {[(r.name, round(r.ratio, 2)) for r in table.rows]}", flush=True)
            tables.append(table)
            if given.output is not None:  # what is done stays, if the rest is interrupted
                given.output.write_text(page(tables, given.quick_steps), encoding="utf-8")
    if given.output is None:
        print(page(tables, given.quick_steps))


if __name__ == "__main__":
    main()
