"""Run pfbench from a fresh checkout: ``python3 run.py report``, ``test`` or ``check``.

Needs nothing but Python. It makes a virtual environment in ``.venv``, installs tox there, and
starts the environments of ``tox.ini``, which make their own.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
LOG = ROOT / "build" / "setup.log"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
OLDEST = (3, 11)

VERBS = {"report": ["report"], "test": ["tests"], "check": ["check", "wheel"]}
USAGE = f"Usage: python3 run.py {' | '.join(VERBS)}"


class Failure(Exception):
    """What the user must mend, in one sentence."""


def has_tox() -> bool:
    """Return whether ``.venv`` has a Python that is new enough and can run tox."""
    probe = f"import sys, tox; sys.exit(sys.version_info < {OLDEST})"
    try:
        return subprocess.run([PYTHON, "-c", probe], capture_output=True).returncode == 0
    except OSError:
        return False


def install_tox() -> None:
    """Make ``.venv`` and install tox there."""
    if importlib.util.find_spec("ensurepip") is None:
        raise Failure(
            f"{sys.executable} cannot make virtual environments: install its venv package "
            "(Debian, Ubuntu: sudo apt install python3-venv) and try again."
        )
    print(f"Setting up {VENV} (once, about a minute); its output goes to {LOG}", flush=True)
    if logged([sys.executable, "-m", "venv", VENV]):
        raise Failure(f"{VENV} could not be made: see {LOG}, delete {VENV} and try again.")
    if logged([PYTHON, "-m", "pip", "install", "tox>=4"]):
        raise Failure(f"tox could not be installed: see {LOG}, check the network and try again.")
    if not has_tox():
        raise Failure(f"tox does not run in {VENV}: delete that folder and try again.")


def logged(command: "list[str | Path]") -> int:
    """Run a command whose output is appended to the log, and return its exit status."""
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("ab") as log:
        return subprocess.call(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)


def main(arguments: "list[str]") -> int:
    """Run the environments of one verb and return the exit status."""
    if sys.version_info < OLDEST:
        raise Failure(
            f"pfbench needs Python {OLDEST[0]}.{OLDEST[1]} or newer, and {sys.executable} is "
            f"{sys.version_info[0]}.{sys.version_info[1]}."
        )
    if arguments in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if len(arguments) != 1 or arguments[0] not in VERBS:
        given = " ".join(arguments)
        raise Failure(f"{given!r} is not one of its verbs. {USAGE}" if given else USAGE)
    if not has_tox():
        install_tox()
    environments = ",".join(VERBS[arguments[0]])
    tox: list[str | Path] = [PYTHON, "-m", "tox", "run", "-e", environments]
    print(
        f"Installing what `{arguments[0]}` needs (minutes at the first time); its output goes to "
        f"{LOG}",
        flush=True,
    )
    if status := logged([*tox, "--notest"]):
        print(f"It could not be installed: see {LOG}.", file=sys.stderr)
        return status
    return subprocess.call([*tox, "-q"], cwd=ROOT)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print(failure, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
