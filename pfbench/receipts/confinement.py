"""A check of a stranger's receipt in a child process with limits, as far as the system has them."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MEMORY, PROCESSES, FILE = 16 * 2**30, 4096, 2**30
"""Bytes of memory of a process, processes of the user, and bytes of a file that is written."""

_KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR", "PFBENCH_DATA")
"""The variables that the child has of this environment, with those of its arithmetic."""

_ARITHMETIC = ("OPENBLAS_", "MKL_", "OMP_", "NUMBA_")
"""How the names begin of those by which threads and kernels are chosen: bits may hang on them."""


@dataclass(frozen=True)
class Confinement:
    """What a child is kept from.

    Attributes
    ----------
    prefix
        The command that it is started by.
    network
        Whether it has no network.
    """

    prefix: tuple[str, ...]
    network: bool

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        network = (
            "no network" if self.network else "the network, as this system cannot take it away"
        )
        return (
            f"it has {network}; an empty home and none of your environment, but it can read and "
            f"write the files that you can; at most {MEMORY // 2**30} GiB of memory a process, "
            f"{PROCESSES} processes, {FILE // 2**30} GiB a file"
        )


def confinement() -> Confinement:
    """Return what this system offers: found by trying."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return Confinement((), False)
    prefix = (unshare, "--map-current-user", "--net")
    done = subprocess.run([*prefix, "true"], capture_output=True, timeout=20)
    return Confinement(prefix, True) if done.returncode == 0 else Confinement((), False)


def run(
    arguments: Sequence[str], seconds: float, confinement: Confinement
) -> tuple[int | None, str, str]:
    """Run the command in a confined child.

    Parameters
    ----------
    arguments
        Of ``pfbench``.
    seconds
        After which it and all that it started are killed.
    confinement
        What it is kept from.

    Returns
    -------
    status, output, errors
        The status is None if it was killed.
    """
    with tempfile.TemporaryDirectory(prefix="pfbench-record-") as home:
        retained = {name: os.environ[name] for name in _KEPT if name in os.environ}
        chosen = {
            name: subject for name, subject in os.environ.items() if name.startswith(_ARITHMETIC)
        }
        environment = retained | chosen | {"HOME": home, "PFBENCH_STORE": str(Path(home) / "store")}
        with subprocess.Popen(
            [*confinement.prefix, sys.executable, "-m", "pfbench", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
            preexec_fn=_limit,
        ) as child:
            try:
                output, errors = child.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                return None, "", f"it took more than {seconds:g} s"
            finally:
                # What it started, too, though it has ended itself.
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        return child.returncode, output, errors


def _limit() -> None:
    for subject, max_count in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_NPROC, PROCESSES),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(subject)
        min_count = max_count if hard == resource.RLIM_INFINITY else min(max_count, hard)
        resource.setrlimit(subject, (min_count, min_count))
