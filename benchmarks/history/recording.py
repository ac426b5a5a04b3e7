"""Recording of past commits: asv installs each one, and runs today's benchmarks on it.

A commit that lacks what a benchmark asks for has no value there.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / ".asv/results"

SHORT = (
    r"^counts|^times\.(Machine|Memory|Iterations)|^times\.Oracles.*\('(recovery|sparse)'"
    r"|^whole\.Command\.time_(import|help|solve)|^whole\.(Packed|Strangers)|^times\.Minimisations"
)
"""Benchmarks that are run on past commits; they take about two minutes a commit on an idle core."""


def spread(commits: Sequence[str], number: int) -> list[str]:
    """Return `number` of the commits, evenly spaced, with the first and the last."""
    number = min(number, len(commits))
    if number < 2:
        return list(commits[-number:]) if number else []
    last = len(commits) - 1
    return [commits[round(k * last / (number - 1))] for k in range(number)]


def past(since: str | None) -> list[str]:
    """Return the commits of the main line that changed the package, the oldest first.

    They begin at `since`, or by default where the package could first be installed.
    """
    commits = _git("log", "--first-parent", "--reverse", "--format=%H", "HEAD", "--", "pfbench")
    if since is None:
        first = _git("log", "--diff-filter=A", "--format=%H", "--", "pyproject.toml")[-1:]
    else:
        first = _git("rev-parse", "--verify", f"{since}^{{commit}}")
    later = {*first, *_git("rev-list", f"{first[0]}..HEAD")}
    return [commit for commit in commits if commit in later]


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.split()


def record(commits: Sequence[str], machine: str, bench: str, *, quick: bool) -> int:
    """Run asv on those commits for which it has no results; return its exit status."""
    file = RESULTS.parent / "commits"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(commits) + "\n", encoding="utf-8")
    asv = [sys.executable, "-m", "asv"]
    subprocess.run([*asv, "machine", "--machine", machine, "--yes"], cwd=ROOT, check=True)
    chosen = ["--machine", machine, "--bench", bench, "--skip-existing", f"HASHFILE:{file}"]
    samples = ["--quick"] if quick else []
    return subprocess.run([*asv, "run", *samples, *chosen], cwd=ROOT).returncode
