"""Checked and counted oracles of a problem, for users who drive a method themselves."""

from typing import Any

from pfbench.base.protocols import Problem
from pfbench.oracles import Ledger, Oracles
from pfbench.points import infer_format


def make_oracles(problem: Problem, backend: Any, ledger: Ledger | None = None) -> Oracles:
    """Return the oracles of a problem's backend; points must have the form of its start.

    Parameters
    ----------
    problem
        The problem.
    backend
        The backend that it opened, possibly observed.
    ledger
        The ledger; by default a new one.

    Raises
    ------
    InputError
        If the problem's start is not a point.
    """
    form = infer_format(problem.start(), problem.name)
    return Oracles(backend, ledger or Ledger(), problem.set.diameter, form)
