"""What the tests of the command line share."""

import json
import sys
from dataclasses import dataclass

import pytest

SMALL = "robust-matrix-recovery[rows=12,columns=10,rank=1,density=0.5]"
"""A problem of 60 components that is built and solved in milliseconds."""

INTERRUPTIBLE = (
    sys.executable,
    "-c",
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('pfbench', run_name='__main__', alter_sys=True)",
)
"""The command as a process that SIGINT ends, though the shell of the tests may ignore it."""

SVRG = "nfwu-svrg[batch=7,period=4,iterations=10,step=0.1,output=last]"


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def json(self):
        assert self.status in (0, 1), self.err
        return json.loads(self.out, parse_constant=pytest.fail)

    @property
    def refusal(self):
        """The one line of a refusal."""
        (line,) = self.refusals
        return line

    @property
    def refusals(self):
        """The lines of a refusal, one for each mistake."""
        assert self.status == 2, self.out + self.err
        assert self.out == ""
        assert self.err.endswith("\n")
        assert "Traceback" not in self.err
        assert "this is a bug" not in self.err
        lines = self.err.splitlines()
        assert all(line.startswith("pfbench: ") for line in lines)
        return [line.removeprefix("pfbench: ").strip() for line in lines]
