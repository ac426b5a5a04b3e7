"""Compare what two checkouts of pfbench compute: every iterate, count and verdict, bit for bit.

    git worktree add ../before COMMIT
    python tests/tools/compare_checkouts.py ../before . --verify full

Each checkout is run by this Python, its own sources first on the path, through what DESIGN calls
fixed: `pf.problem`, `pf.algorithm`, `pf.solve` and ``pfbench verify --json``. Seconds may differ;
anything else is printed, and the exit status is 1. `--same-but TEXT` leaves out rows whose name
begins with that text, for claims that only one of the two has.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROBLEMS = {
    "dense, set": "log-cosh[rows=60,columns=8,seed=3,set=l1,radius=2]",
    "dense, penalty": "nonconvex-logistic[source=breast-cancer,penalty=l1,weight=0.01]",
    "dense, smooth": "robust-regression[source=breast-cancer,set=none]",
    "factored": "robust-matrix-recovery[source=synthetic,rows=30,columns=25,rank=3,seed=5]",
    "chain": "finite-sum-chain",
    "multitask": "multitask-sigmoid[rows=12,columns=9,kinds=2,copies=3]",
    "multiclass": "multiclass-logistic[source=synthetic,rows=50,columns=9,classes=4]",
    "signs": "log-cosh[rows=60,columns=8,seed=3,set=none,norm=linf]",
    "lengths": "log-cosh[rows=60,columns=8,seed=3,set=none,norm=l2]",
    "orthogonal": "matrix-least-squares[noise=normal,norm=spectral]",
    "sensing": "matrix-regression[rows=8,columns=8,rank=1,n=90]",
}
"""A problem of each kind that methods or their gradients differ by."""

LIST_FORMS = """
from pfbench.algorithms import ALGORITHMS
from pfbench.base.selectors import Selector
from pfbench.verification.replay.forms import list_method_forms
for name, kind in ALGORITHMS.items():
    for form in list_method_forms(kind):
        print(Selector(name, form))
print("nfwu-spiderg[epsilon=0.5]")
"""
"""Prints every algorithm of a catalogue in each of its forms, and one by a theorem's schedule."""


# --- in the process of one checkout ---------------------------------------------------------------


def record() -> None:
    """Print a line of JSON for each algorithm of stdin on each problem: its iterates and counts."""
    import pfbench as pf

    algorithms = sys.stdin.read().splitlines()
    for kind, text in PROBLEMS.items():
        problem = pf.problem(text)
        for chosen in algorithms:
            row = {"name": f"{chosen} on {kind}", **_followed(problem, chosen)}
            print(json.dumps(row), flush=True)


def _followed(problem: Any, algorithm: str) -> dict[str, Any]:
    """Return how a run ended, with a hash of all that it yielded and recorded."""
    import numpy as np

    import pfbench as pf

    shape = problem.gradient(problem.start()).shape
    probes = np.random.default_rng(7).standard_normal((2, *shape))
    seen = hashlib.sha256()
    states = 0

    def look(_: Any, state: Any) -> float:
        nonlocal states
        states += 1
        for point in (state.x, state.at, state.output):
            if point is not None:
                kept = pf.keep(point)
                seen.update(np.array([pf.inner(probe, kept) for probe in probes]).tobytes())
        if isinstance(state.estimate, np.ndarray):
            seen.update(np.ascontiguousarray(state.estimate).tobytes())
        return 0.0

    try:
        enough = pf.Budget(sfo=20_000)
        run = pf.solve(problem, algorithm, seed=11, budget=enough, measures={"look": look})
    except pf.PfbenchError as error:
        return {"refused": type(error).__name__}
    trace = run.trace.drop(columns=["seconds"])
    seen.update(trace.to_csv(float_format="%.17g").encode())
    final = {name: value for name, value in run.final.items() if name != "look"}
    return {
        "status": run.status,
        "iterations": run.iterations,
        "counts": run.counts.as_dict(),
        "final": {name: None if v is None else float(v).hex() for name, v in final.items()},
        "output": [float(pf.inner(probe, run.x)).hex() for probe in probes],
        "states": states,
        "seen": seen.hexdigest(),
    }


# --- comparing ------------------------------------------------------------------------------------


def in_checkout(folder: Path, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python on the sources of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_NUM_THREADS": "2"}
    options = {"env": environment, "input": given, "text": True, "capture_output": True}
    with tempfile.TemporaryDirectory() as empty:
        return subprocess.run([sys.executable, *command], cwd=empty, **options)


def printed_in(folder: Path, *command: str, given: str = "") -> str:
    """Return what Python prints on the sources of a checkout; if it fails, exit with its errors."""
    done = in_checkout(folder, *command, given=given)
    if done.returncode:
        sys.exit(f"{folder} cannot be recorded:\n{done.stderr}")
    return done.stdout


def runs_of(folder: Path, algorithms: str) -> dict[str, Any]:
    """Return what `record` prints for a checkout, by name."""
    lines = printed_in(folder, str(Path(__file__).resolve()), "--record", given=algorithms)
    return {row.pop("name"): row for row in map(json.loads, lines.splitlines())}


def verdicts_of(folder: Path, effort: str) -> dict[str, Any]:
    """Return the rows and findings of ``pfbench verify`` in a checkout, by name."""
    with tempfile.TemporaryDirectory() as store:
        where = ["--store", store, "--json"]
        done = in_checkout(folder, "-m", "pfbench", "verify", f"--{effort}", *where)
        if not done.stdout:
            sys.exit(f"{folder} cannot be verified:\n{done.stderr}")
        return by_name(json.loads(done.stdout))


def by_name(made: dict[str, Any]) -> dict[str, Any]:
    """Return the rows and findings of a verification by their names, without their seconds."""
    rows = {row["claim"]: row for row in made["results"]}
    rows |= {f"erratum {one['erratum']}": one for one in made["findings"]}
    return {name: {k: v for k, v in r.items() if k != "seconds"} for name, r in rows.items()}


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Yield a line for each place where two values are not equal."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            place = f"{where} > {name}" if where else name
            if name in before and name in after:
                yield from differences(before[name], after[name], place)
            else:
                yield f"{place}: only {'before' if name in before else 'after'}"
    elif before != after:
        yield f"{where}: {before!r} became {after!r}"


def main() -> int:
    """Compare two checkouts; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path, nargs="?")
    parser.add_argument("after", type=Path, nargs="?")
    parser.add_argument("--verify", choices=("quick", "full"), help="compare verdicts too")
    parser.add_argument("--verdicts", type=Path, help="a JSON file of the first one's verdicts")
    parser.add_argument("--same-but", action="append", default=[], metavar="TEXT")
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.record:
        record()
        return 0
    if given.before is None or given.after is None:
        parser.error("give two checkouts")
    before, after = given.before.resolve(), given.after.resolve()
    algorithms = printed_in(after, "-c", LIST_FORMS)
    runs = runs_of(before, algorithms), runs_of(after, algorithms)
    lines = list(differences(*runs))
    told = [f"{len(runs[1])} runs"]
    if given.verify:
        if given.verdicts:
            known = by_name(json.loads(given.verdicts.read_text(encoding="utf-8")))
        else:
            known = verdicts_of(before, given.verify)
        now = verdicts_of(after, given.verify)
        lines += differences(known, now)
        told.append(f"{len(now)} verdicts and findings")
    lines = [line for line in lines if not line.startswith(tuple(given.same_but))]
    print("\n".join(lines) if lines else "", end="\n" if lines else "")
    print(f"{' and '.join(told)} compared: {len(lines)} differences")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
