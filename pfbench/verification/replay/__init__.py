"""Comparison of a user's method with a reference implementation, by replay of its draws."""
