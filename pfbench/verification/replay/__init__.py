"""Comparison of a method under test with a reference implementation that makes the same draws."""
