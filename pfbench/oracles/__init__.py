"""What an algorithm asks: a bundle of oracles that counts every call and keeps the budget."""

from pfbench.oracles.bundle import Oracles, restrict_oracles
from pfbench.oracles.ledger import Ledger

__all__ = ["Ledger", "Oracles", "restrict_oracles"]
