"""Methods that go wrong in their fourth iteration, each in its own way."""

import ctypes
import math
import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pfbench.algorithms.base import Algorithm
from pfbench.base.counts import Counts
from pfbench.base.state import State
from pfbench.oracles import Ledger


@dataclass(frozen=True, kw_only=True)
class Descent(Algorithm):
    """Gradient steps; nothing is wrong with these."""

    name = "descent"
    summary = "gradient steps"
    source = "a test"
    counts = "T iterations: FO T, SFO nT"
    requires = frozenset({"gradient"})
    deterministic = True

    iterations: int = 6
    step: float = 0.01

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            g = ask.gradient(x)
            if t == 3:
                g = self.fourth(g)
            x = x - self.step * g
            yield State(x)

    def fourth(self, g):
        return g


class Raises(Descent):
    def fourth(self, g):
        raise ValueError("no good")


@dataclass(frozen=True, kw_only=True)
class RaisesInEpochs(Raises):
    """Has the parameters of a method with epochs."""

    batch: int = 1
    period: int = 1


class Shouts(Descent):
    """What it raises would clear a terminal, rename its window and forge a line."""

    def fourth(self, g):
        raise ValueError("\x1b[2J\x1b]0;x\x07\x1b[1A\rforged\n\u202e")


class NotANumber(Descent):
    def fourth(self, g):
        return math.nan * g


class Loops(Descent):
    def fourth(self, g):
        while True:
            pass


class Crashes(Descent):
    def fourth(self, g):
        return ctypes.string_at(0)


class Eats(Descent):
    def fourth(self, g):
        eaten = []
        while True:
            eaten.append(np.ones(4_000_000))


class Needs(Descent):
    """Asks for 0.8 GB, of which it uses nothing."""

    def fourth(self, g):
        return g + np.empty(100_000_000)[:0].sum()


@dataclass(frozen=True, kw_only=True)
class Odd(Descent):
    """Has parameters that neither JSON nor pickle can write."""

    weights: tuple = (1.0, 2.0)
    rule: object = staticmethod(lambda k: k)


class Leaves(Descent):
    def fourth(self, g):
        raise SystemExit(3)


class IsKilled(Descent):
    """Its process is killed, as somebody else would: always."""

    def fourth(self, g):
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)


@dataclass(frozen=True, kw_only=True)
class IsKilledOnce(Descent):
    """Its process is killed if a file is not there yet."""

    mark: str = ""

    def fourth(self, g):
        if not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(self.victim(), signal.SIGKILL)
            time.sleep(60)
        return g

    def victim(self):
        return os.getpid()


class LosesItsParentOnce(IsKilledOnce):
    """As `IsKilledOnce`, but killed is the process that started its own."""

    def victim(self):
        return multiprocessing.parent_process().pid


class Forks(Descent):
    """Its child goes on, too, and ends after it."""

    def fourth(self, g):
        if os.fork() == 0:
            time.sleep(0.2)
        return g


@dataclass(frozen=True, kw_only=True)
class LeavesOrphans(Descent):
    """Its children stay when it ends; the file `mark` has their numbers."""

    mark: str

    def fourth(self, g):
        for _ in range(3):
            child = os.fork()
            if child == 0:
                time.sleep(3600)
            with open(self.mark, "a") as file:
                file.write(f"{child}\n")
        return g


class Poisons(Descent):
    """Changes what every later run of its process uses."""

    def fourth(self, g):
        Ledger.counts = lambda ledger: Counts(sfo=81_000)
        os.chdir("/")
        return g


class ClosesAll(Descent):
    def fourth(self, g):
        os.closerange(0, 256)
        return g


class SaysMuch(Descent):
    def fourth(self, g):
        raise ValueError("x" * 5_000_000)


class SaysNoText(Descent):
    def fourth(self, g):
        raise RuntimeError("\ud800")


class Mute(Exception):
    def __str__(self):
        raise ZeroDivisionError


class CannotSay(Descent):
    def fourth(self, g):
        raise Mute


class NeedsVariable(Descent):
    def fourth(self, g):
        return g * float(os.environ["PFBENCH_TEST_VARIABLE"])


class LacksMemory(Descent):
    def fourth(self, g):
        raise MemoryError("no more")
