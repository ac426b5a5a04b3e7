"""Faults planted in the methods of qu2018."""

from pfbench.verification.mutants.base import Mutant

MUTANTS: tuple[Mutant, ...] = ()
"""Every mutant of this paper's methods."""
