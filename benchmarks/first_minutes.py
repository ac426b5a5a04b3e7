"""Follow the README's five minutes literally, in a fresh clone with an empty home, and time them.

python -m benchmarks.first_minutes [--installed] [-o FILE.md]

The commands are those of README.md: its installation, its four commands, and the last one again
with the line that puts one's own method beside the others. Prints a table; -o writes it. What pip
needs to find packages comes from the environment. --installed takes the pfbench of this Python.
"""

import argparse
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PART = "## A method of your own"


def told(readme: str) -> tuple[list[str], str]:
    """Return the commands in the README's section `PART`, and its line for `sweep.toml`."""
    part = readme.partition(PART)[2].partition("\n## ")[0]
    commands = re.search(r"^```\n(.*?)^```", part, re.M | re.S)
    line = re.search(r"^```toml\n(.*?)^```", part, re.M | re.S)
    assert commands is not None, f"README.md has no commands below {PART!r}"
    assert line is not None, f"README.md has no line for sweep.toml below {PART!r}"
    return [" ".join(shlex.split(one, comments=True)) for one in commands[1].splitlines()], line[1]


def timed(command: str, folder: Path, env: dict[str, str]) -> tuple[float, float]:
    """Run a command; return its wall-clock seconds and its processor seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(shlex.split(command), cwd=folder, env=env, check=True, capture_output=True)
    after, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begin
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def steps(folder: Path, *, installed: bool) -> list[tuple[str, float, float]]:
    """Execute all steps of the README in a folder; return each step with its seconds."""
    home, clone, made = folder / "home", folder / "pfbench", folder / "environment"
    home.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PFBENCH", "PYTHON"))}
    env |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "PYTHONNOUSERSITE": "1"}
    (install, *rest), line = told((ROOT / "README.md").read_text(encoding="utf-8"))
    found = []

    def step(name: str, command: str) -> None:
        found.append((name, *timed(command, clone, env)))
        print(f"{found[-1][1]:7.1f} s  {name}", flush=True)

    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    if installed:
        env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
        env["PYTHONPATH"] = str(clone)
    else:
        step("an environment", f"{sys.executable} -m venv {made}")
        env["PATH"] = f"{made / 'bin'}{os.pathsep}{env['PATH']}"
        step(install, install)
    for command in rest:
        step(command, command)
    spec = clone / "sweep.toml"
    spec.write_text(spec.read_text().replace("[algorithms]\n", f"[algorithms]\n{line}"))
    step(f"{rest[-1]} (again, with your method)", rest[-1])
    assert "mine" in next((clone / "page").glob("*.html")).read_text(encoding="utf-8")
    return found


def main() -> None:
    """Print the table of steps, or write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--installed", action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        begin = os.getloadavg()[0]
        found = steps(Path(folder), installed=given.installed)
    rows = [f"| `{name}` | {clock:.1f} | {processor:.1f} |" for name, clock, processor in found]
    machine = f"{os.cpu_count()} processors, load {begin:.1f} at the start"
    about = f"{time.strftime('%Y-%m-%d')}, Python {sys.version.split()[0]}, {machine}"
    head = ["| step | s by the clock | s of processor |", "| --- | --- | --- |"]
    text = "\n".join([f"{about}:", "", *head, *rows]) + "\n"
    print(text)
    if given.output:
        given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
