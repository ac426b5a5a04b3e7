"""A confined process ends with all that it started, whichever of its processes ends first."""

import json
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="supervisors are Linux's")

SCRIPT = """
import ctypes, json, os, signal, sys, time
from pathlib import Path

from pfbench.runs.loop import processes

ends, beats = sys.argv[1], Path(sys.argv[2], "beats")
near, far = os.pipe()
supervisor = os.fork()
if not supervisor:
    os.close(far)
    os.setsid()
    processes.confine(sys.argv[2], near)
    ctypes.CDLL(None).prctl(1, 0)  # it no longer ends when its supervisor does
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                with beats.open("a") as file:
                    file.write("x")
                time.sleep(0.01)
        os._exit(0)
    time.sleep(100)
os.close(near)
while not beats.exists():
    time.sleep(0.01)
if ends == "child":
    os.kill(processes._list_descendants(supervisor)[0], signal.SIGKILL)
elif ends == "supervisor":
    os.kill(supervisor, signal.SIGTERM)
else:
    os.close(far)
code = os.waitstatus_to_exitcode(os.waitpid(supervisor, 0)[1])
size = beats.stat().st_size
time.sleep(0.2)
print(json.dumps([code, beats.stat().st_size - size]))
"""
FORBID = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
WITHOUT_NAMESPACES = ("unshare", "-Ur", "sh", "-c", FORBID, "sh")


@pytest.mark.parametrize("before", [(), WITHOUT_NAMESPACES], ids=["usual", "without namespaces"])
@pytest.mark.parametrize("ends", ["child", "supervisor", "parent"])
def test_what_left_its_group_and_its_parent_ends(tmp_path, ends, before):
    if before and shutil.which("unshare") is None:
        pytest.skip("this system has no unshare")
    command = (*before, sys.executable, "-c", SCRIPT, ends, str(tmp_path))
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    if before and done.returncode and "max_user_namespaces" in done.stderr:
        pytest.skip("this system lets no namespace forbid others")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [-9 if ends == "child" else 0, 0]
