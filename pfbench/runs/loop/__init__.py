"""Loop of one run: counts, trace, targets, status and output."""
