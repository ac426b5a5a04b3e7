"""Receipts: a theorem with all its evidence in one archive, which anybody can check."""
