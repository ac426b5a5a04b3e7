"""Runs: the loop, its trace, studies of many runs, and the store of finished ones."""
