"""Faults planted in the methods of lacoste2016."""

from pfbench.verification.mutants.base import Mutant

MUTANTS: tuple[Mutant, ...] = ()
"""Every mutant of this paper's methods."""
