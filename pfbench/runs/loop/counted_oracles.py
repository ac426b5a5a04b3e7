"""Checked and counted oracles of a problem, for users who drive a method themselves."""

from typing import Any

from pfbench.base.protocols import Problem
from pfbench.oracles import Ledger, Oracles
from pfbench.points import infer_format


def make_oracles(problem: Problem, backend: Any, ledger: Ledger | None = None) -> Oracles:
    """Return the counted oracles of a problem's backend; points must be like its start.

    Parameters
    ----------
    problem
        The problem.
    backend
        Backend that the problem opened, possibly wrapped by an observer.
    ledger
        Ledger that counts the calls; by default a new one.

    Raises
    ------
    InputError
        If the problem's start is not a point.
    """
    form = infer_format(problem.start(), problem.name)
    return Oracles(backend, ledger or Ledger(), problem.set.diameter, form)
