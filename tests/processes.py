"""Python in a process of its own."""

import subprocess
import sys


def run_python(*arguments, **options):
    """Run Python, which must end well; return what it prints, and what it says on stderr."""
    command = [sys.executable, *map(str, arguments)]
    options = {"capture_output": True, "text": True, "timeout": 300} | options
    done = subprocess.run(command, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout, done.stderr
