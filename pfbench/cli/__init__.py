"""Command line: one module for each command, and shared modules.

NumPy, numba and pandas are imported inside the commands, so that ``pfbench --help`` is quick.
"""
