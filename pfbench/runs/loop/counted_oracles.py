"""The oracles of a problem, checked and counted, for whoever drives a method himself."""

from typing import Any

from pfbench.base.protocols import Problem
from pfbench.oracles import Ledger, Oracles
from pfbench.points import infer_format


def make_oracles(problem: Problem, backend: Any, ledger: Ledger | None = None) -> Oracles:
    """Return the bundle that asks a problem's backend, at points like its start only.

    Parameters
    ----------
    problem
        The problem.
    backend
        What answers for it: what it opened, perhaps watched.
    ledger
        What counts; a fresh one if not given.

    Raises
    ------
    InputError
        If the problem's start is no point.
    """
    form = infer_format(problem.start(), problem.name)
    return Oracles(backend, ledger or Ledger(), problem.set.diameter, form)
