"""Oracles that an algorithm queries: each call is counted and checked against the budget."""

from pfbench.oracles.bundle import Oracles, restrict_oracles
from pfbench.oracles.ledger import Ledger

__all__ = ["Ledger", "Oracles", "restrict_oracles"]
