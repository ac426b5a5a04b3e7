"""What an algorithm asks: a bundle of oracles that counts every call and keeps the budget."""

from pfbench.oracles.bundle import Oracles, offering
from pfbench.oracles.ledger import Ledger

__all__ = ["Ledger", "Oracles", "offering"]
