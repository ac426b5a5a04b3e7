"""The loop that drives one run: counts, trace, targets, status, output."""
