"""Comparison of a user's method with a reference implementation that makes the same draws."""
