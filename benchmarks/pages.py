"""Time of a page of `pfbench compare` whose runs are all stored: ``python -m benchmarks.pages``.

    git worktree add ../before COMMIT
    python -m benchmarks.pages --suite quick --method frank-wolfe --before ../before

compares a method on a suite, in a store of its own, and then again, when all runs are there: what
is timed is the second time, in a process of its own, by the clock of the processor and that on
the wall. With `--before` the package of that checkout is timed, too.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter


def timed(checkout, suite, method, folder):
    """Return the processor seconds and wall-clock seconds of a second, fully stored comparison."""
    command = [sys.executable, "-m", "pfbench", "compare", method, "--suite", suite]
    command += ["--jobs", "0", "--store", str(folder / "store"), "-o", str(folder / "out")]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}

    def run():
        # Its folder is not that of this process, whose package would be found first.
        subprocess.run(command, check=True, env=environment, cwd=folder, capture_output=True)

    run()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    run()
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter() - began
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    files = list((folder / "out").iterdir())
    return processor, wall, len(files), sum(file.stat().st_size for file in files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--method", default="frank-wolfe")
    parser.add_argument("--before", type=Path, help="a checkout, which is timed, too")
    given = parser.parse_args()
    checkouts = {"before": given.before} if given.before else {}
    checkouts["now"] = Path(__file__).resolve().parents[1]
    print(f"{'':8}{'processor':>10}{'wall':>10}{'files':>8}{'MB':>8}")
    for name, checkout in checkouts.items():
        with tempfile.TemporaryDirectory() as folder:
            found = timed(checkout.resolve(), given.suite_path, given.method, Path(folder))
        processor, wall, files, size = found
        print(f"{name:8}{processor:>8.1f} s{wall:>8.1f} s{files:>8}{size / 1e6:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
